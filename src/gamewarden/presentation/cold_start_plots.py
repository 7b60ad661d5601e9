"""Pictures of a first day: who is found without labels, and what reviewed accounts add."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.presentation.plots import GREY, INK, LINES, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 4


def plot_precision(figures: pl.DataFrame, path: Path) -> None:
    """One panel per population, one bar per method: the share of bots among the first hundred, with its interval.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    names = figures["population"].unique(maintain_order=True).to_list()

    def draw(figure: "Figure") -> None:
        for axes, name in zip(_panels(figure, len(names)), names, strict=True):
            _bars(axes, figures.filter(population=name)[::-1])
            axes.set(title=name, xlim=(0, 1.02))
        figure.supxlabel("share of bots among the first 100 of the list (grey line: among all accounts)")

    save_picture(draw, path, (3.6 * _ACROSS, 2.2 * -(-len(names) // _ACROSS) + 0.8))


def _bars(axes: "Axes", mine: pl.DataFrame) -> None:
    places = list(range(mine.height))
    first, low, high = mine["first_100"], mine["first_100_low"], mine["first_100_high"]
    ours = [LINES[0] if method.startswith("oddness") else GREY for method in mine["method"]]
    axes.barh(places, first, color=ours)
    axes.errorbar(first, places, xerr=[first - low, high - first], fmt="none", ecolor=INK, capsize=2, linewidth=1)
    axes.axvline(mine["bots"][0], color=GREY, linewidth=1)
    axes.set_yticks(places, mine["method"].to_list())


def plot_reviews(worth: pl.DataFrame, path: Path) -> None:
    """One panel per population: AUC on accounts held out by the number reviewed, active and random order, all labels.

    `worth` has population, order, errors, reviewed and auc, a mean over orders each.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    names = worth["population"].unique(maintain_order=True).to_list()

    def draw(figure: "Figure") -> None:
        panels = _panels(figure, len(names))
        for axes, name in zip(panels, names, strict=True):
            _curves(axes, worth.filter(population=name))
            axes.set(title=name, xscale="log")
            axes.set_xticks([20, 50, 100, 200], ["20", "50", "100", "200"])
            axes.minorticks_off()
            axes.grid(axis="y", color=GREY, alpha=0.3)
        figure.supxlabel("reviewed accounts")
        figure.supylabel("AUC on accounts never reviewed")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)

    save_picture(draw, path, (3.6 * _ACROSS, 2.6 * -(-len(names) // _ACROSS) + 1.2))


def _curves(axes: "Axes", mine: pl.DataFrame) -> None:
    full = mine.filter(order="all labels")["auc"].to_list()
    middle = sum(full) / len(full)
    axes.axhline(middle, color=INK, linewidth=1, label="all labels")
    axes.axhline(0.95 * middle, color=INK, linewidth=1, linestyle=":", label="95 % of it")
    ways = (("active", 0.0, LINES[0], "-"), ("random", 0.0, LINES[1], "-"), ("active", 0.1, LINES[0], "--"))
    for way, errors, color, line in ways:
        told = mine.filter(pl.col("order") == way, pl.col("errors") == errors).sort("reviewed")
        label = f"{way} order" + (", 1 answer in 10 wrong" if errors else "")
        axes.plot(told["reviewed"], told["auc"], color=color, linestyle=line, marker="o", markersize=3, label=label)


def _panels(figure: "Figure", count: int) -> "list[Axes]":
    rows = -(-count // _ACROSS)
    grid = figure.subplots(rows, _ACROSS, squeeze=False)
    panels = [axes for line in grid for axes in line]
    for axes in panels[count:]:
        axes.set_visible(False)
    return panels[:count]
