"""A picture of one actor's hours: its windows, how alike those of each hour are, and where it beats as a clock does."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from gamewarden.features.pulses.stretches import Stretches
from gamewarden.presentation.plots import BOT, GREY, HUMAN, INK, draw_windows, percent, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHADE = 0.13


def plot_stretches(windows: pl.DataFrame, told: Stretches, path: Path, title: str, time_zone: str = "UTC") -> None:
    """The windows above, H and the beat of each span below, beside the actor's own level; pulses are shaded.

    Raises:
        TableError: the windows lack a column.
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        above, alike, beat = figure.subplots(3, 1, sharex=True, height_ratios=(2.2, 1.4, 1.4))
        draw_windows(above, windows, title, time_zone)
        above.set_xlabel("")
        _level(alike, told, "self_sim", told.own_self_sim, time_zone)
        alike.set(ylabel="alike (H)")
        alike.ticklabel_format(axis="y", useOffset=False)
        _level(beat, told, "steady", told.own_steady, time_zone)
        beat.axhline(told.steady, color=BOT, lw=1, ls=":")
        beat.set(ylabel="steady beats", ylim=(-0.02, 1.02), xlabel=f"time ({time_zone})")
        percent(beat, "y")
        for axes in (above, alike, beat):
            _shade(axes, told.pulses, time_zone)
        _key(beat, told)

    save_picture(draw, path, (9.5, 6.4))


def _level(axes: "Axes", told: Stretches, column: str, own: float | None, time_zone: str) -> None:
    """A number of every span at its middle, interrupted where spans do not follow each other; and the own level."""
    for run in _runs(told.spans.drop_nulls(column)):
        middles = run.select(pl.col("since") + (pl.col("until") - pl.col("since")) / 2).to_series()
        axes.plot(_shown(middles.to_list(), time_zone), run[column].to_numpy(), ".-", color=HUMAN, lw=1.4, ms=4)
    if own is not None:
        axes.axhline(own, color=INK, lw=1, ls="--")


def _runs(spans: pl.DataFrame) -> list[pl.DataFrame]:
    """Spans that follow each other a step apart."""
    if spans.height < 1:
        return []
    gaps = spans["since"].diff()
    parts = spans.with_columns(run=(gaps > gaps.min()).fill_null(value=False).cum_sum()).partition_by("run")
    return list(parts)


def _shade(axes: "Axes", pulses: pl.DataFrame, time_zone: str) -> None:
    from matplotlib.dates import date2num

    for since, until in pulses.select("since", "until").iter_rows():
        begin, end = date2num(_shown([since, until], time_zone))  # type: ignore[no-untyped-call]  # its dates have none
        axes.axvspan(begin, end, color=BOT, alpha=_SHADE, lw=0)


def _key(axes: "Axes", told: Stretches) -> None:
    """What the lines are, below the picture, where nothing is covered."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    lines = [
        Line2D([], [], color=HUMAN, marker=".", label="each span of play"),
        Line2D([], [], color=BOT, ls=":", label=f"clockwork from {100 * told.steady:.0f} %"),
    ]
    if told.own_steady is not None:
        lines.append(Line2D([], [], color=INK, ls="--", label="its own level, outside pulses"))
    count = told.pulses.height
    shade = Patch(color=BOT if count else GREY, alpha=_SHADE, label=f"{count} pulse{'' if count == 1 else 's'}")
    axes.legend(handles=[*lines, shade], loc="upper center", bbox_to_anchor=(0.5, -0.42), ncols=4)


def _shown(moments: Sequence[datetime], time_zone: str) -> np.ndarray[tuple[int], np.dtype[np.datetime64]]:
    """What the clock of a zone shows: the picture knows no zones."""
    zone = ZoneInfo(time_zone)
    local = [moment.astimezone(zone).replace(tzinfo=None) for moment in moments]
    return np.array(local, "datetime64[us]")
