"""Pictures of what the traffic test looks at: gaps between packets, lengths, and how lengths follow each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.presentation.plots import BOT, HUMAN, INK, save_picture
from gamewarden.tables import PACKETS, check

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Panel = Callable[[Axes, str, str], None]  # the axes, the actor and the colour of its class

Floats = NDArray[np.float64]

LAGS = 12
_SHOWN = 1500  # packets: about ten minutes
_LONG_GAPS, _LENGTHS = (2.0, 6.0), (50.0, 59.0)  # the thresholds of Table II
_LONGEST = 130  # bytes that are drawn


def plot_gaps(packets: pl.DataFrame, bots: Mapping[str, bool], path: Path, title: str = "") -> None:
    """The gap before each client packet, a panel an actor; lines are the limits of a long gap and of a peak.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def panel(axes: "Axes", actor: str, colour: str) -> None:
        at = _client(packets, actor)["at"].to_physical().to_numpy()[: _SHOWN + 1]
        gaps = np.maximum(np.diff(at) / 1e6, 1e-3)
        axes.plot(gaps, ".", color=colour, ms=2.5, alpha=0.7)
        axes.set_yscale("log")
        axes.set_ylim(0.02, 30)
        _limits(axes, _LONG_GAPS, "s")

    _panels(panel, bots, path, ("packet", "gap before it (s)", f"Interarrival times · {title}"))


def plot_sizes(packets: pl.DataFrame, bots: Mapping[str, bool], path: Path, title: str = "") -> None:
    """The length of each client packet, a panel an actor; lines are the two limits of lengths.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def panel(axes: "Axes", actor: str, colour: str) -> None:
        sizes = _client(packets, actor)["size"].to_numpy()[:_SHOWN]
        axes.plot(np.minimum(sizes, _LONGEST), ".", color=colour, ms=2.5, alpha=0.7)
        axes.set_ylim(0, _LONGEST + 5)
        _limits(axes, _LENGTHS, "B")

    _panels(panel, bots, path, ("packet", "payload (bytes)", f"Data lengths · {title}"))


def plot_correlations(packets: pl.DataFrame, bots: Mapping[str, bool], path: Path, title: str = "") -> None:
    """How lengths go together with those some packets before, a panel an actor.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def panel(axes: "Axes", actor: str, colour: str) -> None:
        sizes = np.minimum(_client(packets, actor)["size"].to_numpy(), _LONGEST).astype(np.float64)
        values = [_correlation(sizes, lag) for lag in range(1, LAGS + 1)]
        axes.axhline(0, color=INK, lw=0.8)
        axes.bar(range(1, LAGS + 1), values, color=colour, width=0.6)
        axes.set_ylim(-0.5, 0.5)

    _panels(panel, bots, path, ("lag (packets)", "autocorrelation", f"Autocorrelation of data lengths · {title}"))


def plot_experience(people: pl.DataFrame, path: Path, title: str = "") -> None:
    """How often each person's windows are called bot, by the hours played; a panel a `difference`.

    `people` has a row a person: difference, hours and flagged (a share).

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        parts = people.partition_by("difference", maintain_order=True)
        grid = figure.subplots(1, max(1, len(parts)), sharey=True, squeeze=False).ravel()
        for axes, part in zip(grid, parts, strict=False):
            means = part.group_by("hours").agg(pl.col("flagged").mean()).sort("hours")
            axes.plot(part["hours"], 100 * part["flagged"], ".", color=HUMAN, ms=5, alpha=0.45, label="one person")
            axes.plot(means["hours"], 100 * means["flagged"], "-", color=INK, lw=1.6, label="mean")
            axes.set_xscale("log")
            axes.set(xlabel="hours played", title=f"difference: {part['difference'][0]}", ylim=(0, None))
        grid[0].set_ylabel("windows called bot (%)")
        grid[0].legend(loc="upper left")
        figure.suptitle(f"Do experts look more like bots? · {title}", x=0.01, ha="left", color=INK)

    save_picture(draw, path, (9.5, 4.0))


def _client(packets: pl.DataFrame, actor: str) -> pl.DataFrame:
    return check(packets, PACKETS, "plot").filter("up", actor=actor)


def _correlation(values: Floats, lag: int) -> float:
    later, earlier = values[lag:], values[:-lag]
    both = later.std() * earlier.std()
    return float(((later - later.mean()) * (earlier - earlier.mean())).mean() / both) if both else 0.0


def _limits(axes: "Axes", limits: tuple[float, float], unit: str) -> None:
    for limit, height in zip(limits, ("top", "bottom"), strict=True):
        axes.axhline(limit, color=INK, lw=0.8, ls=":")
        axes.annotate(
            f"{limit:g} {unit}", (1.0, limit), xycoords=("axes fraction", "data"), ha="right", va=height, fontsize=8
        )


def _panels(panel: "Panel", bots: Mapping[str, bool], path: Path, words: tuple[str, str, str]) -> None:
    across, up, title = words

    def draw(figure: "Figure") -> None:
        grid = figure.subplots(2, -(-len(bots) // 2), sharex=True, sharey=True, squeeze=False).ravel()
        for axes, (actor, bot) in zip(grid, bots.items(), strict=False):
            panel(axes, actor, BOT if bot else HUMAN)
            axes.set_title(actor)
        for axes in grid:
            axes.set(xlabel=across, ylabel=up)
            axes.label_outer()
        figure.suptitle(title, x=0.01, ha="left", color=INK)

    save_picture(draw, path, (9.5, 5.6))
