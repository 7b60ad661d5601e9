"""Self-similarity of short spans of play: whether somebody was a program for a while, or a person for a minute."""

import numpy as np
import polars as pl

from gamewarden.tables import TIME, DataType

SPAN = 5  # windows of a span
_FULL = 0.8  # the share of windows with an event without which a span says nothing: silence is alike, too
_ROWS: dict[str, DataType] = {"since": TIME, "until": TIME, "self_sim": pl.Float64}


def rolling(windows: pl.DataFrame, span: int = SPAN) -> pl.DataFrame:
    """H of every so many windows that follow each other without a break: since, until, self_sim.

    `windows` are those of one actor, as `windows.windows` gives them.
    """
    if windows.height < span:
        return pl.DataFrame(schema=_ROWS)
    moments = windows.select(pl.col("since", "until").dt.epoch("us"))
    since, until = moments["since"].to_numpy(), moments["until"].to_numpy()
    first = np.arange(windows.height - span + 1)
    last = first + span - 1
    breaks = np.concatenate([[0], np.cumsum(since[1:] != until[:-1])])
    empty = np.concatenate([[0], np.cumsum(windows["events"].to_numpy() == 0)])
    whole = breaks[first] == breaks[last]
    full = empty[last + 1] - empty[first] <= (1 - _FULL) * span + 1e-9
    cosines = np.lib.stride_tricks.sliding_window_view(windows["cosine"].to_numpy(), span)
    told = {"since": windows["since"].gather(first), "until": windows["until"].gather(last)}
    return pl.DataFrame(told | {"self_sim": 1 - cosines.std(axis=1) / 2}).filter(pl.Series(whole & full))
