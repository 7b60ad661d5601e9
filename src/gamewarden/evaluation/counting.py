"""Where counting log entries alone does as well as a detector, said in a sentence: nobody shall overlook it.

A detector that is beaten by the plainest baseline there is has learned less than how much somebody plays.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from gamewarden.evaluation.baselines import BASELINES, EventsAlone
from gamewarden.evaluation.summaries import distinct_units

SAYS = "says"  # the column of a summary with the sentence, null where counting does worse
COUNTING = EventsAlone.name
_LEAST_HUMANS = 100  # fewer cannot show an FPR of 1 %
_MEASURES = {
    "auc": "ranks bots higher: AUC {theirs:.3f} beside {own:.3f}",
    "tpr_at_1pct": "catches more at 1 % FPR: {theirs:.1%} beside {own:.1%}",
    "mcc": "decides better: MCC {theirs:.2f} beside {own:.2f}",
}
RANKED, DECIDED = ("auc", "tpr_at_1pct"), ("mcc",)


def beside_counting(summary: pl.DataFrame, measures: tuple[str, ...]) -> pl.DataFrame:
    """The summary with a sentence on every row of a detector that counting beats in one of the measures."""
    units = ("unit",) if "unit" in summary.columns else ()
    counted = {tuple(row[name] for name in units): row for row in summary.filter(detector=COUNTING).to_dicts()}
    told = [
        _sentence(row, counted.get(tuple(row[name] for name in units)), measures)
        for row in summary.iter_rows(named=True)
    ]
    return summary.with_columns(pl.Series(SAYS, told, pl.String))


def _sentence(row: dict[str, Any], counted: dict[str, Any] | None, measures: tuple[str, ...]) -> str | None:
    if counted is None or row["detector"] in {recipe.name for recipe in BASELINES}:
        return None
    lost = [
        words.format(theirs=counted[name], own=row[name])
        for name, words in _MEASURES.items()
        if name in measures and _is_beaten(row, counted, name)
    ]
    return f"Counting log entries alone {', and '.join(lost)}." if lost else None


def _is_beaten(row: dict[str, Any], counted: dict[str, Any], measure: str) -> bool:
    """Whether counting has more of it, and there were people enough to see it."""
    if row[measure] is None or counted[measure] is None:
        return False
    shown = measure != "tpr_at_1pct" or row["humans"] >= _LEAST_HUMANS
    return shown and bool(counted[measure] > row[measure])


def beaten(summary: pl.DataFrame) -> Iterator[str]:
    """One line per detector that counting beats, with every split and unit in which it does."""
    splits = summary.partition_by("split", maintain_order=True) if "split" in summary.columns else [summary]
    told = pl.concat([distinct_units(part) for part in splits]).filter(pl.col(SAYS).is_not_null())
    for (detector,), rows in told.group_by("detector", maintain_order=True):
        where = "; ".join(f"{_where(row)}, {row[SAYS][0].lower()}{row[SAYS][1:-1]}" for row in rows.to_dicts())
        yield f"{detector} does worse than how much somebody plays: {where}."


def _where(row: dict[str, Any]) -> str:
    return f"by {row['unit']}" + (f" in the split by {row['split']}" if "split" in row else "")
