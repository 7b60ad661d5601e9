"""Pictures of a model under maintenance: its control chart, and how good it stayed under several policies."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gamewarden.presentation.plots import BOT, GREY, HUMAN, INK, LINES, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEW_MODEL = "promoted a new model"  # what stands under answer
_BAND, _PROVISIONAL = "#dbe6f0", "#f1e3cf"


def plot_control_chart(
    periods: pl.DataFrame, path: Path, title: str = "", happenings: Mapping[str, Any] | None = None, axis: str = ""
) -> None:
    """X_t as dots, Z_t as a line within its limits; signals and new models are marked, gaps are missing periods.

    `periods` has period, drawn, z, lower, upper, provisional, status and answer; `happenings` names moments there.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        _limits(axes, periods)
        axes.plot(
            periods["period"],
            periods["drawn"],
            "o",
            color=GREY,
            markersize=3.5,
            label="X: likeness to the one before",
        )
        for place, part in enumerate(_runs(periods)):
            name = None if place else "Z: its moving average"
            axes.plot(part["period"], _line(part["z"]), color=HUMAN, linewidth=1.8, label=name)
        _marks(axes, periods)
        for place, (name, moment) in enumerate((happenings or {}).items()):
            axes.axvline(moment, color=INK, linewidth=0.8, linestyle=":")
            axes.annotate(
                name,
                (moment, 1 - 0.06 * (place % 2)),
                xycoords=("data", "axes fraction"),
                xytext=(3, -9),
                textcoords="offset points",
                fontsize=8,
                color=INK,
            )
        axes.set(xlabel=axis, ylabel="correlation of scores", title=title)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14 if axis else -0.1), ncols=3, fontsize=8)
        figure.autofmt_xdate(rotation=0, ha="center")

    save_picture(draw, path, (9.5, 4.6))


def plot_policies(by_period: pl.DataFrame, path: Path, happenings: Mapping[str, float], title: str = "") -> None:
    """The AUC of every policy over the periods; a tick below marks each retraining.

    `by_period` has policy, week, auc and retrained.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        curves, ticks = figure.subplots(2, 1, sharex=True, height_ratios=(5, 1))
        names = by_period["policy"].unique(maintain_order=True).to_list()
        for place, name in enumerate(names):
            rows = by_period.filter(policy=name)
            colour = LINES[place % len(LINES)]
            curves.plot(rows["week"], rows["auc"], color=colour, linewidth=1.6, label=name)
            when = rows.filter("retrained")["week"].to_numpy()
            ticks.plot(when, np.full(when.size, -place), "|", color=colour, markersize=9, markeredgewidth=1.6)
        for name, week in happenings.items():
            for axes in (curves, ticks):
                axes.axvline(week, color=INK, linewidth=0.8, linestyle=":")
            curves.annotate(
                name,
                (week, 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, -9),
                textcoords="offset points",
                fontsize=8,
                color=INK,
            )
        curves.set(ylabel="AUC on accounts nobody judged", title=title)
        curves.legend(loc="lower left", fontsize=8)
        ticks.set(xlabel="week", yticks=[-place for place in range(len(names))], ylim=(-len(names) + 0.4, 0.6))
        ticks.set_yticklabels(names, fontsize=8)
        ticks.set_title("retrained", fontsize=9)
        ticks.grid(axis="y", visible=False)

    save_picture(draw, path, (9.5, 5.6))


def _runs(periods: pl.DataFrame) -> list[pl.DataFrame]:
    """The periods of each model: after a new one Z begins anew, and no line leads there."""
    new = (periods["answer"] == NEW_MODEL).fill_null(value=False).shift(1, fill_value=False).cum_sum()
    return periods.with_columns(new.alias("_run")).partition_by("_run", maintain_order=True)


def _line(values: pl.Series) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _limits(axes: "Axes", periods: pl.DataFrame) -> None:
    lower, upper = _line(periods["lower"]), _line(periods["upper"])
    where = ~np.isnan(lower)
    for kind, colour, name in ((False, _BAND, "limits"), (True, _PROVISIONAL, "provisional limits")):
        mine = where & (periods["provisional"].to_numpy() == kind)
        if mine.any():
            # A band reaches to its neighbour, so that two kinds of limits meet.
            wide = mine | (np.append(False, mine[:-1]) & where)
            axes.fill_between(periods["period"], lower, upper, where=wide.tolist(), color=colour, label=name, zorder=0)
    axes.plot(periods["period"], lower, color=GREY, linewidth=0.8)
    axes.plot(periods["period"], upper, color=GREY, linewidth=0.8)


def _marks(axes: "Axes", periods: pl.DataFrame) -> None:
    signals = periods.filter(pl.col("status").is_in(["below", "above"]))
    axes.plot(signals["period"], signals["z"], "o", color=BOT, markersize=6, label="out of control")
    promoted = periods.filter(pl.col("answer") == NEW_MODEL)
    axes.plot(
        promoted["period"], promoted["z"], "s", color="none", markeredgecolor=BOT, markersize=11, label="new model"
    )
