"""Pictures of what further evidence adds, family by family."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.presentation.plots import GREY, INK, LINES, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_families(figures: pl.DataFrame, bars: Mapping[str, float], path: Path, title: str = "") -> None:
    """One panel per game, one line per family: from the AUC without to the AUC with, and the bar it should reach.

    `figures` has game, family, without, with, and no_ways: with all but ways.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    games = figures["game"].unique(maintain_order=True).to_list()
    families = figures["family"].unique(maintain_order=True).to_list()[::-1]
    least = min(figures.select(pl.min_horizontal("without", "with").min()).item(), *bars.values()) - 0.02

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(1, len(games), sharey=True, squeeze=False)[0]
        for axes, game in zip(panels, games, strict=True):
            _panel(axes, figures.filter(game=game), families, bars)
            axes.set(title=game, xlim=(least, 1.01), xlabel="AUC")
        panels[0].set_yticks(range(len(families)), families)
        figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        figure.suptitle(title)

    save_picture(draw, path, (3.6 * len(games) + 1.4, 1.6 + 0.36 * len(families)))


def _panel(axes: "Axes", mine: pl.DataFrame, families: list[str], bars: Mapping[str, float]) -> None:
    places = [families.index(name) for name in mine["family"]]
    axes.hlines(places, mine["without"], mine["with"], color=GREY, linewidth=2, zorder=1)
    axes.scatter(mine["without"], places, color=LINES[1], label="without", zorder=2)
    axes.scatter(mine["no_ways"], places, facecolor="white", edgecolor=LINES[0], label="with all but ways", zorder=3)
    axes.scatter(mine["with"], places, color=LINES[0], label="with", zorder=3)
    wanted = [(bars[name], families.index(name)) for name in mine["family"] if name in bars]
    axes.scatter([x for x, _ in wanted], [y for _, y in wanted], marker="|", s=160, color=INK, label="bar", zorder=4)
    axes.grid(axis="x", color=GREY, alpha=0.3)
