"""The report's pictures as SVG text that takes its colours from the page, so that they suit light and dark alike."""

import re
from collections.abc import Callable, Iterator
from io import StringIO
from statistics import NormalDist
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import numpy as np
import polars as pl

from gamewarden.core.extras import need
from gamewarden.core.outside import visible
from gamewarden.evaluation.breakdowns import FPR, detectors_in
from gamewarden.evaluation.metrics import Floats, Ranked
from gamewarden.presentation.lettering import lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[["Figure"], None]
# What is drawn in these colours takes the page's own instead.
INK, SOFT, GRID, FIRST, SECOND, THIRD, ALERT = (
    "#101010", "#707070", "#d0d0d0", "#0000a1", "#0000a2", "#0000a3", "#a00000",
)  # fmt: skip
_PAGE = {INK: "ink", SOFT: "soft", GRID: "grid", FIRST: "one", SECOND: "two", THIRD: "three", ALERT: "alert"}
_LINES = (FIRST, SECOND, THIRD)
_STYLE: dict[str, Any] = {
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,  # names come from data: a dollar sign is no formula
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
}
_DET_TICKS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
_LONGEST_NAME = 28


def curves(scores: pl.DataFrame) -> str:
    """ROC, and the detection-error trade-off: misses against false alarms, both stretched where they are small."""

    def draw(figure: "Figure") -> None:
        roc, det = figure.subplots(1, 2)
        for name, look in _looks(scores):
            rows = scores.filter(detector=name)
            ranked = Ranked(rows["evidence"].to_numpy(), rows["bot"].to_numpy())
            false, true = ranked.curve()
            roc.plot(false, true, label=_short(name), **look)
            det.plot(_stretched(false, rows.height), _stretched(1 - true, rows.height), **look)
        roc.set(xlabel="people flagged", ylabel="bots caught", title="ROC", xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))
        roc.legend(loc="lower right")
        _percent(roc, "xy")
        places = _stretched(np.array(_DET_TICKS), None)
        det.set(title="Detection-error trade-off (lower left is better)", xlabel="people flagged", ylabel="bots missed")
        det.set_xticks(places, [f"{100 * tick:g} %" for tick in _DET_TICKS], rotation=45)
        det.set_yticks(places, [f"{100 * tick:g} %" for tick in _DET_TICKS])
        det.set(xlim=(places[0], places[-1]), ylim=(places[0], places[-1]))

    return _svg(draw, (9.2, 4.2), "curves")


def splits_compared(summary: pl.DataFrame, detector: str) -> str:
    """One detector under each split: AUC and bots caught at one in a hundred people flagged, with intervals."""
    rows = summary.filter(detector=detector, unit="actor")

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(1, 2, sharey=True)
        for axes, measure, title in zip(
            panels, ("auc", "tpr_at_1pct"), ("AUC", "bots caught, 1 % of people flagged"), strict=True
        ):
            for place, row in enumerate(rows.iter_rows(named=True)):
                colour = ALERT if row["flatters"] else FIRST
                _whisker(axes, row, measure, place, colour)
            axes.set(title=title, ylim=(rows.height - 0.5, -0.5))
            axes.grid(axis="y", visible=False)
        names = [
            f"{split} (flatters)" if kind else split for split, kind in rows.select("split", "flatters").iter_rows()
        ]
        panels[0].set_yticks(range(rows.height), names)
        panels[0].set_xlim(min([0.5, *rows["auc_low"].drop_nulls()]) - 0.02, 1.02)
        panels[1].set_xlim(-0.02, 1.02)
        _percent(panels[1], "x")

    return _svg(draw, (9.2, 0.9 + 0.42 * rows.height), "splits")


def reliability(frame: pl.DataFrame) -> str:
    """What was said beside what was so."""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=SOFT, lw=1, ls=":")
        for (name, rows), colour in zip(_parts(frame), _LINES * frame.height, strict=False):
            low, high = ((rows["bots"] - rows["bots_low"]).to_numpy(), (rows["bots_high"] - rows["bots"]).to_numpy())
            look: dict[str, Any] = {"color": colour, "ms": 4, "lw": 1.5, "elinewidth": 0.8, "label": _short(name)}
            axes.errorbar(rows["said"], rows["bots"], np.maximum([low, high], 0), fmt="o-", **look)
        axes.set(xlabel="bot probability that was said", ylabel="share that were bots", title="Reliability")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.legend(loc="upper left")
        _percent(axes, "xy")

    return _svg(draw, (4.5, 4.0), "reliability")


def fprs(frame: pl.DataFrame) -> str:
    """The share of people promised to look at least as bot-like, beside the share that did."""
    floor = 1e-4

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.plot([floor, 1], [floor, 1], color=SOFT, lw=1, ls=":")
        for place, ((name, rows), colour) in enumerate(zip(_parts(frame), _LINES * frame.height, strict=False)):
            where = rows["promised"].to_numpy() * 1.12**place
            low, middle, high = (np.maximum(rows[f"realised{end}"].to_numpy(), floor) for end in ("_low", "", "_high"))
            axes.errorbar(
                where,
                middle,
                [middle - low, high - middle],
                fmt="o",
                color=colour,
                ms=5,
                elinewidth=1,
                label=_short(name),
            )
        axes.set(xscale="log", yscale="log", xlim=(5e-4, 0.3), ylim=(floor, 0.5))
        axes.set(xlabel="FPR promised", ylabel="people at or below it", title="FPRs: promised and realised")
        ticks = (0.0001, 0.001, 0.01, 0.1)
        axes.set_yticks(ticks, ["0", "0.1 %", "1 %", "10 %"])
        axes.set_xticks(ticks[1:], ["0.1 %", "1 %", "10 %"])
        axes.legend(loc="upper left")

    return _svg(draw, (4.5, 4.0), "fprs")


def families(known: pl.DataFrame, unseen: pl.DataFrame | None, detector: str) -> str:
    """Bots caught by family, where the family was learned from and where it never was."""
    rows = known.filter(detector=detector).sort("tpr", "family", descending=[True, False])
    names = rows["family"].to_list()
    never = (
        {} if unseen is None else {row["family"]: row for row in unseen.filter(detector=detector).iter_rows(named=True)}
    )

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        thick = 0.36 if never else 0.6
        for place, row in enumerate(rows.iter_rows(named=True)):
            seen, new = ("family seen in training", "family never seen") if not place else (None, None)
            _bar(axes, row, place - thick / 2 if never else place, height=thick, color=FIRST, label=seen)
            if row["family"] in never:
                _bar(axes, never[row["family"]], place + thick / 2, height=thick, color=SECOND, label=new)
        counts = rows["bots"].to_list()
        axes.set_yticks(range(len(names)), [f"{_short(name)} ({n})" for name, n in zip(names, counts, strict=True)])
        axes.set(ylim=(len(names) - 0.4, -0.6), xlim=(0, 1.02), xlabel="bots caught where 1 % of people are flagged")
        axes.set_title(f"{_short(detector)}: bots caught by family")
        axes.grid(axis="y", visible=False)
        if never:
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1)
        _percent(axes, "x")

    return _svg(draw, (9.2, 1.2 + 0.42 * max(len(names), 1)), "families")


def people(frame: pl.DataFrame, detector: str, title: str) -> str:
    """The share of each group of people that is flagged where one in a hundred of all is."""
    rows = frame.filter(detector=detector).sort("fpr", "style", descending=[True, False])

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.axvline(FPR, color=SOFT, lw=1, ls=":")
        for place, row in enumerate(rows.iter_rows(named=True)):
            over = row["fpr_low"] > FPR
            _whisker(axes, row, "fpr", place, ALERT if over else FIRST)
        names = [f"{_short(style)} ({humans})" for style, humans in rows.select("style", "humans").iter_rows()]
        axes.set_yticks(range(rows.height), names)
        right = max(0.05, *(1.05 * high for high in rows["fpr_high"].drop_nulls()))
        axes.set(ylim=(rows.height - 0.5, -0.5), xlim=(-0.002, right), xlabel="people's periods flagged", title=title)
        axes.grid(axis="y", visible=False)
        _percent(axes, "x")

    return _svg(draw, (9.2, 1.1 + 0.36 * max(rows.height, 1)), f"people {title}")


def _whisker(axes: "Axes", row: dict[str, Any], name: str, place: float, colour: str) -> None:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None:
        return
    if low is not None and high is not None:
        axes.plot([low, high], [place, place], color=colour, lw=2.5, solid_capstyle="round", alpha=0.45)
    axes.plot([value], [place], "o", color=colour, ms=7)


def _bar(axes: "Axes", row: dict[str, Any], place: float, **look: Any) -> None:  # noqa: ANN401  matplotlib's own
    axes.barh([place], [row["tpr"]], alpha=0.85, **look)
    axes.plot([row["tpr_low"], row["tpr_high"]], [place, place], color=INK, lw=1)


def _looks(scores: pl.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    detectors = detectors_in(scores)
    for name, colour in zip(detectors, _LINES * len(detectors), strict=False):
        yield name, {"color": colour, "lw": 2}
    others = [name for name in scores["detector"].unique(maintain_order=True) if name not in detectors]
    for name, line in zip(others, (":", "--") * len(others), strict=False):
        yield name, {"color": SOFT, "lw": 1.4, "ls": line}


def _parts(frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in frame["detector"].unique(maintain_order=True):
        rows = frame.filter(detector=name).drop_nulls()
        if rows.height:
            yield name, rows


def _stretched(rates: Floats, rows: int | None) -> Floats:
    """Rates on the scale on which normal scores make a straight line; none and all as half a row."""
    edge = _DET_TICKS[0] / 2 if rows is None else 0.5 / max(rows, 1)
    inside = np.clip(rates, edge, 1 - edge)
    return np.array([NormalDist().inv_cdf(float(rate)) for rate in inside])


def _percent(axes: "Axes", which: str) -> None:
    from matplotlib.ticker import FuncFormatter

    for letter in which:
        axis = axes.xaxis if letter == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))


def _short(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 1] + "…"


def _svg(draw: Draw, inches: tuple[float, float], salt: str) -> str:
    """The picture as an <svg> element; `salt` keeps its inner names apart from those of other pictures of the page."""
    need("a report's picture", "matplotlib")
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {**_STYLE, **lettering(), "svg.hashsalt": salt}  # matplotlib names every setting in a Literal
    with rc_context(style), catch_warnings():
        filterwarnings("ignore", "Glyph", UserWarning)  # the browser draws the letters: here they are only measured
        figure = Figure(figsize=inches, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _at_home(out.getvalue(), salt.replace(" ", "-"))


def _at_home(text: str, name: str) -> str:
    """The picture as a part of a page: the page's colours, inner names of its own, no addresses of namespaces."""
    for drawn, named in _PAGE.items():
        text = text.replace(drawn, f"var(--{named})")
    for mark in ('id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{name}-")
    opening, rest = text[text.index("<svg") :].split(">", 1)
    return re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", opening) + ">" + rest
