"""Play that is suddenly even: somebody who plays, and lets a program play for some hours (spec §2.10 after Lee et al.).

A day as a whole says nothing about such an account, since its own minutes of play are as uneven as anybody's.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from gamewarden.features.self_similarity.rolling import rolling

SPAN = 60  # windows of a span
STEP = 10  # windows from the beginning of one span to that of the next
RUN = 3  # spans that follow each other without which there is no pulse
DEVIATIONS = 4  # median absolute deviations above the account's own median


@dataclass(frozen=True)
class Pulse:
    """A stretch in which somebody's windows are as alike as a bot's, and far more so than their own usually are."""

    since: datetime
    until: datetime
    self_sim: float  # the lowest of its spans
    share: float  # of the windows with an event


def spans(windows: pl.DataFrame, span: int = SPAN, step: int = STEP) -> pl.DataFrame:
    """H of every so many windows, a few windows further each time: since, until, self_sim, run and place.

    A span lies within windows that follow each other (`run`), counted from the first of them (`place`); one that is
    nearly empty is left out, since silence is alike, too.
    """
    new_run = (pl.col("since") != pl.col("until").shift(1)).fill_null(value=True)
    runs = windows.select("since", run=new_run.cum_sum().cast(pl.Int64))
    placed = runs.with_columns(place=pl.int_range(pl.len()).over("run"))
    told = rolling(windows, span).join(placed, on="since", how="left", maintain_order="left")
    return told.filter(pl.col("place") % step == 0)


def pulses(windows: pl.DataFrame, bot_median: float, span: int = SPAN, step: int = STEP) -> list[Pulse]:
    """The pulses in one actor's windows, as `windows.windows` gives them; `bot_median` is a usual bot's H."""
    told = spans(windows, span, step)
    high = told.filter(pl.col("self_sim") >= max(bot_median, own_border(told))) if told.height else told
    follows = (pl.col("run") == pl.col("run").shift(1)) & (pl.col("place") == pl.col("place").shift(1) + step)
    stretches = high.with_columns(stretch=(~follows.fill_null(value=False)).cum_sum()).group_by(
        "stretch", maintain_order=True
    )
    found = stretches.agg(
        pl.col("since").first(), pl.col("until").last(), pl.col("self_sim").min(), pl.len().alias("spans")
    )
    rows = found.filter(pl.col("spans") >= RUN).select("since", "until", "self_sim").iter_rows()
    return [Pulse(since, until, lowest, _share(windows, since, until)) for since, until, lowest in rows]


def own_border(told: pl.DataFrame) -> float:
    """How even a span must be to stand out from the account's others."""
    values = told["self_sim"].to_numpy()
    middle = float(np.median(values))
    return middle + DEVIATIONS * float(np.median(np.abs(values - middle)))


def _share(windows: pl.DataFrame, since: datetime, until: datetime) -> float:
    filled = windows.filter(pl.col("events") > 0)
    inside = filled.filter(pl.col("since") >= since, pl.col("since") < until)
    return inside.height / filled.height
