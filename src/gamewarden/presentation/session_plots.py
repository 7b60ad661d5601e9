"""Pictures of sessions: what a network says of each, what tells them apart, and how they go over the map."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gamewarden.presentation.plots import BOT, GREY, HUMAN, INK, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SEED = 0  # of the jitter: a picture is the same each time
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def plot_activations(answers: pl.DataFrame, published: tuple[Sequence[float], Sequence[float]], path: Path) -> None:
    """Each session's activation when all others taught the network: the thesis above, our personas below.

    `answers` has persona, bot and activation.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    personas = answers.select("persona", "bot").unique().sort("bot", "persona")["persona"].to_list()
    rows = [("thesis: players", np.array(published[0]), HUMAN), ("thesis: bots", np.array(published[1]), BOT)]
    for persona in personas:
        mine = answers.filter(persona=persona)
        rows.append((persona, mine["activation"].to_numpy(), BOT if mine["bot"][0] else HUMAN))

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        random = np.random.default_rng(_SEED)
        for place, (_, values, colour) in enumerate(reversed(rows)):
            axes.plot(
                values, place + random.uniform(-0.22, 0.22, values.size), "o", color=colour, ms=5, alpha=0.6, mew=0
            )
        axes.axvline(0.5, color=INK, lw=1, ls=":")
        axes.axhline(len(rows) - 2.5, color=GREY, lw=1)
        axes.set_yticks(range(len(rows)), [name for name, *_ in reversed(rows)])
        axes.set(xlabel="activation with all other sessions taught (0 player, 1 bot)", xlim=(-0.03, 1.03))
        axes.set_title("What the network says of each session: the thesis above, synthetic sessions below")

    save_picture(draw, path, (8.6, 5.2))


def plot_numbers(sessions: pl.DataFrame, path: Path) -> None:
    """Two pairs of a session's numbers against each other, a mark a persona.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    pairs = (
        ("move_gap_ms", "move_distance", "time between two moves (ms)", "cells at a move"),
        ("turn_to_take_ms", "packets_per_s", "from turning to picking up (ms)", "packets a second"),
    )

    def draw(figure: "Figure") -> None:
        grid = figure.subplots(1, len(pairs))
        for axes, (across, up, across_name, up_name) in zip(grid, pairs, strict=True):
            _scatter(axes, sessions, across, up)
            axes.set(xlabel=across_name, ylabel=up_name, xscale="log", yscale="log")
            _plain_ticks(axes)
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside right center")
        figure.suptitle("Synthetic sessions: people blue, bots red", x=0.01, ha="left", color=INK)

    save_picture(draw, path, (10.5, 4.4))


def _scatter(axes: "Axes", sessions: pl.DataFrame, across: str, up: str) -> None:
    for bot, colour in ((False, HUMAN), (True, BOT)):
        personas = sessions.filter(bot=bot)["persona"].unique().sort()
        for persona, mark in zip(personas, _MARKS, strict=False):
            mine = sessions.filter(persona=persona).drop_nulls([across, up])
            axes.plot(mine[across], mine[up], mark, color=colour, ms=6, alpha=0.7, mec="white", mew=0.5, label=persona)


def _plain_ticks(axes: "Axes") -> None:
    """1, 2 and 5 times a power of ten, written out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())


def plot_tracks(tracks: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Five minutes of walking of some sessions on the map, light to dark as time passes.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        grid = figure.subplots(2, -(-len(tracks) // 2), squeeze=False).ravel()
        for axes, (persona, track) in zip(grid, tracks.items(), strict=False):
            axes.plot(track["x"], track["y"], "-", color=GREY, lw=0.7)
            axes.scatter(track["x"], track["y"], c=np.arange(track.height), cmap="viridis_r", s=7, zorder=3)
            axes.set_title(f"{persona} ({track.height:,} walk orders)")
            axes.set_aspect("equal", "datalim")
            axes.tick_params(labelsize=7)
        for axes in grid[len(tracks) :]:
            axes.set_visible(False)
        figure.suptitle("Five minutes on the map (synthetic): above people, below bots", x=0.01, ha="left", color=INK)

    save_picture(draw, path, (9.5, 6.2))
