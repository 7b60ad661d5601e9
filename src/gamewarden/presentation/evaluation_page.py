"""The evaluation as one HTML page for people: findings first, then every split side by side, then what it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from gamewarden.evaluation.breakdowns import detectors_in
from gamewarden.evaluation.compare_splits import Part, SideBySide
from gamewarden.evaluation.split_schemes import FAMILY, SAYS
from gamewarden.presentation import report_plots
from gamewarden.presentation.findings import DOES_NOT_SHOW, best_detector, headlines, is_synthetic
from gamewarden.presentation.pages import Figure, figure, fragment, page, table_view

_HEAD = (
    *("detector", "bots", "people", "caught at 1 %", "95 %", "at 0.1 %", "precision", "AUC", "95 %"),
    *("ever caught", "hours"),
)
_CURVES = "Held-out periods. The further a line is from the dotted one, the better; right, small rates are stretched."
_RELIABILITY = "On the dotted line a probability means what it says, at the share of bots among these labels."
_FPRS = "An FPR of 1 % promises that 1 of 100 people looks at least as bot-like. Above the line more did."


@dataclass(frozen=True)
class _Row:
    """One detector under one split."""

    detector: str
    look: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class _Split:
    """A split and what the detectors did under it."""

    name: str
    says: str
    known: str
    flatters: bool
    rows: tuple[_Row, ...]


def evaluation_page(result: SideBySide, source: str, labels: str) -> str:
    """The whole page; everything that comes from data is escaped."""
    best, main = best_detector(result), result.main
    return page(
        "evaluation.html",
        kind="evaluation",
        title=f"How good are the detectors on {source}?",
        labels=labels,
        detectors=detectors_in(result.scores),
        synthetic=is_synthetic(result),
        findings=list(headlines(result)),
        warnings=result.warnings,
        head=_HEAD,
        prevalence=f"{100 * result.summary['prevalence'][0]:.1f} %",
        compared=_compared(result, best),
        splits=[_split(result, part, best) for part in result.parts],
        main={"name": main.name, "says": SAYS[main.name]},
        curves=figure(report_plots.curves(main.scores), _CURVES),
        promises=[
            figure(report_plots.reliability(main.reliability), _RELIABILITY),
            figure(report_plots.fprs(main.promises), _FPRS),
        ],
        families=_families(result, best),
        farms=table_view(_farms(main.farms)) if main.farms.height else None,
        people=list(_people(main, best)),
        provenance=table_view(result.provenance),
        missed=table_view(_missed(result.missed)) if result.missed.height else None,
        does_not_show=DOES_NOT_SHOW,
        notes=result.notes,
    )


def evaluation_fragment(result: SideBySide, source: str, notes: Sequence[str]) -> str:
    """What it found and every split side by side, as a part of a notebook."""
    best = best_detector(result)
    return fragment(
        "evaluation_short.html",
        kind="evaluation",
        title=f"How good are the detectors on {source}?" if source else "How good are the detectors?",
        synthetic=is_synthetic(result),
        findings=list(headlines(result)),
        warnings=result.warnings,
        head=_HEAD,
        prevalence=f"{100 * result.summary['prevalence'][0]:.1f} %",
        splits=[_split(result, part, best) for part in result.parts],
        notes=notes,
    )


def _compared(result: SideBySide, best: str) -> Figure | None:
    if len(result.parts) == 1:
        return None
    caption = f"{best} under each split; lines are 95 % intervals."
    return figure(report_plots.splits_compared(result.summary, best), caption)


def _split(result: SideBySide, part: Part, best: str) -> _Split:
    rows = result.summary.filter(split=part.name, unit="actor")
    tied = rows["tied"][0]
    known = "ties unknown" if tied is None else f"{100 * tied:.0f} % tied to somebody learned from"
    detectors = detectors_in(result.scores)
    told = (
        _Row(
            row["detector"],
            "best" if row["detector"] == best else "" if row["detector"] in detectors else "baseline",
            _cells(row),
        )
        for row in rows.iter_rows(named=True)
    )
    return _Split(part.name, SAYS[part.name], known, part.plan.flatters, tuple(told))


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    hours = row["hours_to_detection"]
    return (
        *(f"{row[name]:,}" for name in ("bots", "humans")),
        *(_share(row["tpr_at_1pct"]), _ends(row, "tpr_at_1pct", 100, 0)),
        *(_share(row[name]) for name in ("tpr_at_0_1pct", "precision_at_1pct")),
        *(_decimals(row["auc"]), _ends(row, "auc", 1, 2)),
        *(_share(row["ever_flagged"]), "–" if hours is None else f"{hours:,.0f}"),
    )


def _ends(row: dict[str, Any], name: str, times: int, digits: int) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None else f"{times * low:.{digits}f}–{times * high:.{digits}f}"


def _families(result: SideBySide, best: str) -> Figure | None:
    known = result.main.families
    if not known.filter(detector=best).height:
        return None
    unseen = next((part.families for part in result.parts if part.name == FAMILY), None)
    shown = None if unseen is None or result.main.name == FAMILY else unseen
    return figure(
        report_plots.families(known, shown, best),
        "In brackets the number of bots; thin lines are 95 % intervals. A family never seen is what comes next year.",
    )


def _farms(farms: pl.DataFrame) -> pl.DataFrame:
    shares = ("somebody", "half", "everybody")
    return farms.select(
        "detector",
        "farms",
        *(pl.format("{} %", (100 * pl.col(name)).round(0).cast(pl.Int64)).alias(f"{name} caught") for name in shares),
    )


def _people(main: Part, best: str) -> Iterator[Figure]:
    pictures = ((main.people, "by style of play"), (main.personas, "by kind of player, as the labels name them"))
    for frame, title in pictures:
        if frame.filter(detector=best).height:
            yield figure(
                report_plots.people(frame, best, f"People wrongly flagged, {title}"),
                f"{best}, at the threshold that 1 % of all people's periods pass (dotted). In brackets how many "
                "people; red where a group surely has more than its share.",
            )


def _missed(missed: pl.DataFrame) -> pl.DataFrame:
    return missed.select(
        "among",
        "detectors",
        pl.col("first").alias("first finds"),
        pl.col("second").alias("second finds"),
        "both",
        pl.col("found").alias("together"),
        pl.col("estimated").round(0).cast(pl.Int64).alias("estimate of all"),
        pl.format(
            "{} to {}",
            pl.col("estimated_low").round(0).cast(pl.Int64),
            pl.col("estimated_high").round(0).cast(pl.Int64).cast(pl.String).fill_null("?"),
        ).alias("95 %"),
        pl.col("known").alias("really there"),
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _decimals(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
