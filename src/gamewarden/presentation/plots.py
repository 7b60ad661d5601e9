"""Pictures of how well bots and humans are told apart, and of one actor's windows."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.extras import need
from gamewarden.core.files import whole_file
from gamewarden.errors import TableError, WriteError
from gamewarden.evaluation.baselines import BASELINES
from gamewarden.evaluation.metrics import Flags, Floats, Ranked
from gamewarden.learning.labels import label_periods
from gamewarden.presentation.lettering import lettering, spelled_out
from gamewarden.tables import FEATURES, LABELS, check

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Times = NDArray[np.datetime64]

# Table apart by people who see few colours, and in print by their lightness.
BOT, HUMAN, GREY, INK = "#c8553d", "#2f6690", "#9aa5b1", "#22303c"
LINES = ("#2f6690", "#c8553d", "#3a7d44", "#8e5aa8", "#b8860b")
_STYLE = {
    "font.size": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e7eb",
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.dpi": 130,
}
_RATES = np.geomspace(1e-3, 1, 900)  # false positive rates of the logarithmic panel
_SEED = 0  # of the jitter: a picture is the same each time


def plot_roc(scores: pl.DataFrame, path: Path, title: str = "Held-out periods") -> None:
    """Bots caught against humans flagged, for each detector of an evaluation; right, the corner that matters.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        whole, corner = figure.subplots(1, 2)
        for name, look in _looks(scores["detector"].unique(maintain_order=True).to_list()).items():
            rows = scores.filter(detector=name)
            ranked = Ranked(rows["evidence"].to_numpy(), rows["bot"].to_numpy())
            false, true = ranked.curve()
            whole.plot(false, true, label=f"{name}  (AUC {_decimals(ranked.auc())})", **look)
            corner.plot(_RATES, np.interp(_RATES, false, true), **look)
        whole.set(xlabel="humans flagged", ylabel="bots caught", title=title, xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))
        whole.legend(loc="lower right")
        corner.set_xscale("log")
        corner.set(xlabel="humans flagged (logarithmic)", xlim=(_RATES[0], 1), ylim=(-0.01, 1.02))
        corner.set_title("Few humans flagged")
        for axes in (whole, corner):
            percent(axes, "xy")

    save_picture(draw, path, (9.5, 4.4))


def plot_self_similarity(features: pl.DataFrame, labels: pl.DataFrame, path: Path, title: str = "") -> None:
    """Self-similarity of labelled bots and humans: every period a dot, with median and quartiles.

    Raises:
        TableError: the table has no self-similarity.
        WriteError: the place or the ending of the file cannot be used.
    """
    if "self_sim" not in features.columns:
        raise TableError("plot: FEATURES lacks self_sim; measure self-similarity first")
    rows = label_periods(check(features, FEATURES, "plot"), check(labels, LABELS, "plot"), "plot").rows
    rows = rows.filter(pl.col("self_sim").is_not_null())

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        for place, (bot, name, colour) in enumerate(((False, "humans", HUMAN), (True, "bots", BOT))):
            values = rows.filter(bot=bot)["self_sim"].to_numpy()
            _raincloud(axes, values, place, colour)
            _quartiles(axes, values, place, colour)
            axes.text(
                -0.01,
                place,
                f"{name}\n{values.size:,} periods",
                ha="right",
                va="center",
                color=colour,
                transform=axes.get_yaxis_transform(),
            )
        axes.set(yticks=[], xlabel="self-similarity (1: every window like every other)", ylim=(-0.5, 1.75))
        axes.set_title(title or "Self-similarity by class")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)

    save_picture(draw, path, (8.0, 3.8))


def plot_scores(scores: pl.DataFrame, path: Path, title: str = "", threshold: float | None = None) -> None:
    """How the held-out probabilities of bots and of humans spread, a panel a detector (dummies aside).

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """
    baselines = [recipe.name for recipe in BASELINES]
    names = scores.filter(pl.col("detector").is_in(baselines).not_())["detector"].unique(maintain_order=True).to_list()

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(1, max(len(names), 1), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=False):
            rows = scores.filter(detector=name)
            for bot, label, colour in ((False, "humans", HUMAN), (True, "bots", BOT)):
                values = rows.filter(bot=bot)["probability"].to_numpy()
                share = np.full(values.size, 1 / max(values.size, 1))
                axes.hist(values, bins=np.linspace(0, 1, 26), weights=share, color=colour, alpha=0.55, label=label)
            if threshold is not None:
                axes.axvline(threshold, color=INK, lw=1, ls=":")
                axes.text(
                    threshold, 1.0, f" {threshold:g}", transform=axes.get_xaxis_transform(), ha="right", va="bottom"
                )
            axes.set(xlabel="bot probability", title=title or name, xlim=(0, 1))
            percent(axes, "y")
        panels[0].set_ylabel("share of the class")
        if names:
            panels[-1].legend(loc="upper center")

    save_picture(draw, path, (4.6 * max(len(names), 1) + 0.6, 3.8))


def plot_windows(windows: pl.DataFrame, path: Path, title: str = "", time_zone: str = "UTC") -> None:
    """The cosine of each window of one actor over time; a flat line is a machine's habit, a restless one a person's.

    `windows` has since and cosine, empty windows with 0; they are drawn as ticks on the floor.

    Raises:
        TableError: a column is missing.
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        draw_windows(figure.subplots(), windows, title, time_zone)

    save_picture(draw, path, (9.5, 3.4))


def draw_windows(axes: "Axes", windows: pl.DataFrame, title: str, time_zone: str) -> None:
    """The same as a part of a picture, by the clock of a zone."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    missing = [name for name in ("since", "cosine") if name not in windows.columns]
    if missing:
        raise TableError(f"plot: the windows lack {', '.join(missing)}; they need since and cosine")
    ordered = windows.drop_nulls(["since", "cosine"]).sort("since")
    shown = ordered["since"].dt.replace_time_zone(None).dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    times, cosines = shown.dt.replace_time_zone(None).to_numpy(), ordered["cosine"].to_numpy()
    empty = cosines == 0
    axes.plot(*_broken(times, cosines, empty), color=HUMAN, lw=0.9, alpha=0.75)
    axes.plot(times[~empty], cosines[~empty], ".", color=HUMAN, ms=3.5)
    axes.plot(
        times[empty], np.zeros(int(empty.sum())), "|", color=BOT, ms=7, label=f"{int(empty.sum()):,} empty windows"
    )
    if empty.any():
        axes.legend(loc="upper right")
    ticks = AutoDateLocator()  # type: ignore[no-untyped-call]  # matplotlib's dates have no types
    axes.xaxis.set_major_locator(ticks)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(ticks))  # type: ignore[no-untyped-call]  # the same
    top = 1.15 * float(cosines.max(initial=0.0)) or 1.0
    axes.set(ylabel="how varied (cosine)", xlabel=f"time ({time_zone})", ylim=(-0.05 * top, top))
    axes.set_title(title or f"{cosines.size:,} windows")


def plot_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    path: Path,
    title: str,
    axis_names: tuple[str, str],
    *,
    heights: tuple[float, float] | None = None,
) -> None:
    """A line each name over a logarithmic axis, as the papers draw a measure over a parameter.

    With `heights` several pictures can be compared by eye.

    Raises:
        WriteError: the place or the ending of the file cannot be used.
    """

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        for (name, (places, values)), colour in zip(curves.items(), LINES * len(curves), strict=False):
            axes.plot(places, values, "o-", color=colour, lw=2, ms=4, label=name)
        axes.set_xscale("log")
        ticks = sorted({place for places, _ in curves.values() for place in places})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set(xlabel=axis_names[0], ylabel=axis_names[1], title=title)
        if heights is not None:
            axes.set_ylim(*heights)
        axes.legend(loc="best")

    save_picture(draw, path, (6.4, 4.0))


def _looks(names: list[str]) -> dict[str, dict[str, Any]]:
    """Detectors in colours, baselines grey and broken."""
    baselines = dict(zip((recipe.name for recipe in BASELINES), (":", "--"), strict=True))
    colours = iter(LINES * len(names))
    return {
        name: {"color": GREY, "lw": 1.6, "ls": baselines[name]}
        if name in baselines
        else {"color": next(colours), "lw": 2.2}
        for name in names
    }


def _broken(times: Times, cosines: Floats, empty: Flags) -> tuple[Times, Floats]:
    """The line, interrupted at empty windows and wherever windows do not follow each other."""
    values = np.where(empty, np.nan, cosines)
    steps = np.diff(times)
    if not steps.size:
        return times, values
    breaks = np.flatnonzero(steps > steps.min()) + 1
    return np.insert(times, breaks, times[breaks]), np.insert(values, breaks, np.nan)


def _raincloud(axes: "Axes", values: Floats, place: int, colour: str) -> None:
    """A density above and every value below, as dots that do not hide each other."""
    jitter = np.random.default_rng(_SEED).uniform(-0.26, -0.06, values.size)
    axes.plot(values, place + jitter, ".", color=colour, ms=4, alpha=min(0.7, max(0.08, 60 / max(values.size, 1))))
    spread = np.ptp(values) if values.size else 0.0
    if spread:
        heights, edges = np.histogram(values, bins=min(60, max(12, values.size // 12)))
        smooth = np.convolve(np.pad(heights, 2), [1, 3, 4, 3, 1], mode="same")[2:-2] / 12
        middles = (edges[:-1] + edges[1:]) / 2
        axes.fill_between(
            middles, place + 0.05, place + 0.05 + 0.5 * smooth / smooth.max(), color=colour, alpha=0.35, lw=0
        )


def _quartiles(axes: "Axes", values: Floats, place: int, colour: str) -> None:
    if not values.size:
        return
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    axes.plot([low, high], [place, place], color=colour, lw=5, solid_capstyle="butt")
    axes.plot([middle], [place], "o", color="white", mec=colour, mew=2, ms=8)
    axes.annotate(
        f"median {middle:.4f}", (middle, place + 0.05), (0, 5), textcoords="offset points", ha="center", color=INK
    )


def percent(axes: "Axes", which: str) -> None:
    """Shares along these axes as per cent."""
    from matplotlib.ticker import FuncFormatter

    for letter in which:
        axis = axes.xaxis if letter == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))


def _decimals(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def save_picture(draw: "Callable[[Figure], None]", path: Path, inches: tuple[float, float]) -> None:
    """Draw without a screen and without a trace in matplotlib's global state; whole or not at all."""
    need("a picture", "matplotlib")
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    endings = FigureCanvasAgg.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in endings:
        raise WriteError(f"{path}: the ending {path.suffix!r} names no picture; end the name in .png, .svg or .pdf")
    style: Any = {**_STYLE, **lettering()}  # matplotlib names every setting in a Literal
    with rc_context(style):
        figure = Figure(figsize=inches, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        with spelled_out(figure, path), whole_file(path) as draft:
            figure.savefig(draft)
