"""Pictures of how many bots there are: by day with their share, and by zone."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gamewarden.presentation.plots import BOT, GREY, HUMAN, INK, percent, save_picture
from gamewarden.verdicts.points import ACT, WATCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_MOST_ZONES = 25
_NO_ZONE = "(no zone)"
_BAND = "#f3ddd7"
_LONGEST_NAME = 30
_FEW = 9  # dates that stand side by side


def plot_trend(days: pl.DataFrame, path: Path, listed_from: float, time_zone: str = "UTC") -> None:
    """Above, bots by day and how many reach an operating point; below, their share with its interval.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    local = days.with_columns(pl.col("since").dt.convert_time_zone(time_zone).dt.replace_time_zone(None))

    def draw(figure: "Figure") -> None:
        numbers, shares = figure.subplots(2, 1, sharex=True)
        _numbers(numbers, local, listed_from)
        _shares(shares, local)
        _dates(shares, local)
        figure.align_ylabels()

    save_picture(draw, path, (9.0, 5.6))


def plot_zones(zones: pl.DataFrame, path: Path, listed_from: float) -> None:
    """Bots and all accounts judged by main zone, the zone with most bots on top.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    shown = zones.head(_MOST_ZONES).reverse()
    names = [_short(name) for name in shown["zone"].fill_null(_NO_ZONE)]
    places = np.arange(shown.height)
    height = 1.8 + 0.27 * max(shown.height, 4)

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.barh(places, shown["judged"], color="#e4e7eb", label="accounts judged")
        axes.barh(places, shown["bots"], color=BOT, label=f"probability of {listed_from:g} or more")
        for place, (bots, judged, share) in enumerate(shown.select("bots", "judged", "share").iter_rows()):
            axes.annotate(
                f"{bots:,} of {judged:,}, {share:.0%}".replace("%", " %"),
                (judged, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=INK,
            )
        axes.set_yticks(places, names)
        most = f", the {shown.height} of {zones.height} with most" if shown.height < zones.height else ""
        axes.set(xlabel="accounts", title=f"Accounts that look like bots, by main zone{most}")
        _whole_numbers(axes.xaxis)
        axes.margins(x=0.18, y=0.01)
        axes.grid(axis="y", visible=False)
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.62 / height), ncols=2, fontsize=8)

    save_picture(draw, path, (9.0, height))


def _numbers(axes: "Axes", days: pl.DataFrame, listed_from: float) -> None:
    lines = (
        ("expected", "expected: sum of all probabilities", GREY, "--", "."),
        ("bots", f"probability of {listed_from:g} or more", BOT, "-", "o"),
        (WATCH, "reach the point to watch", HUMAN, "-", "s"),
        (ACT, "reach the point to act", INK, "-", "^"),
    )
    for column, label, colour, style, marker in lines:
        values = days[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        axes.plot(
            days["since"],
            values,
            color=colour,
            linestyle=style,
            marker=marker,
            markersize=4,
            clip_on=False,
            label=label,
        )
    axes.set(ylabel="accounts", title="Accounts that look like bots, by day")
    axes.set_ylim(bottom=0)
    _whole_numbers(axes.yaxis)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2, fontsize=8)


def _shares(axes: "Axes", days: pl.DataFrame) -> None:
    share, low, high = (days[name].fill_null(np.nan).to_numpy() for name in ("share", "share_low", "share_high"))
    axes.fill_between(days["since"], low, high, color=_BAND, linewidth=0)
    axes.vlines(days["since"], low, high, color=_BAND, linewidth=4)  # a day alone has no band
    axes.plot(days["since"], share, color=BOT, marker="o", markersize=4, clip_on=False)
    axes.set(ylabel="share of accounts")
    axes.set_title("Their share of those judged, with its 95 % interval", fontsize=10)
    axes.set_ylim(bottom=0)
    percent(axes, "y")


def _dates(axes: "Axes", days: pl.DataFrame) -> None:
    """Few days by their dates; no hours between days."""
    from matplotlib import dates

    untyped: Any = dates
    if days.height <= _FEW:
        axes.set_xticks(days["since"].to_list(), [_date(at) for at in days["since"]])
        axes.margins(x=0.06)
        return
    locator = untyped.AutoDateLocator(maxticks=_FEW)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))


def _date(at: datetime) -> str:
    return f"{at:%Y-%m-%d}" if at.time() == datetime.min.time() else f"{at:%m-%d %H:%M}"


def _whole_numbers(axis: "Axis") -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
