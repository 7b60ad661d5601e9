"""Pictures of several traces of the same players: what each catches alone, and all together."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.presentation.plots import GREY, INK, LINES, save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 0.8  # of all bars of a family


def plot_caught(figures: pl.DataFrame, path: Path, title: str = "") -> None:
    """One group of bars per family, one bar per way with the lowest and highest of several worlds.

    `figures` has family, way, mean, lowest and highest; the first family is all of them.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    families = figures["family"].unique(maintain_order=True).to_list()
    ways = figures["way"].unique(maintain_order=True).to_list()
    colours = dict(zip(ways, LINES, strict=False))

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        width = _WIDTH / len(ways)
        for at, way in enumerate(ways):
            mine = figures.filter(way=way)
            places = [place - _WIDTH / 2 + (at + 0.5) * width for place in range(len(families))]
            spread = [mine["mean"] - mine["lowest"], mine["highest"] - mine["mean"]]
            axes.bar(places, mine["mean"], width * 0.92, color=colours[way], label=way)
            axes.errorbar(places, mine["mean"], spread, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
        axes.set_xticks(range(len(families)), families)
        axes.set(ylabel="share of bot days caught", ylim=(0, 1.02), title=title)
        axes.axvline(0.5, color=GREY, linewidth=0.8)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=len(ways))

    save_picture(draw, path, (9.5, 4.6))
