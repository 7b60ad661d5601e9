"""How two models differ: in what they were made of, in what they learned, and in whom they would suspect."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import polars as pl

from gamewarden import detectors
from gamewarden.contracts import Card, Model, Progress, Source, no_progress
from gamewarden.errors import ModelError
from gamewarden.pipeline.scoring import hear
from gamewarden.pipeline.shelving import actors_of
from gamewarden.pipeline.sources import USUAL, RunOptions, Table
from gamewarden.presentation.card import value_text
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence

# The parts of a card, and what each is called in a comparison.
_PARTS = {
    "recipe": "recipe",
    "feature": "what they look at",
    "training": "training data",
    "parameters": "what they learned",
    "validation": "results",
}
_ROW = {"part": pl.String, "what": pl.String, "first": pl.String, "second": pl.String, "change": pl.Float64}
_NAMED = 4  # differences that a sentence names one by one
_KEY = ["actor", "since", "until"]
_APART = 0.1  # a difference of probability that a person would notice


@dataclass(frozen=True)
class Difference:
    """Two models beside each other: in sentences, and every value that is not the same."""

    sentences: tuple[str, ...]
    table: pl.DataFrame  # part, what, first, second, change


def compare(first: Model, second: Model) -> Difference:
    """Where two models differ."""
    cards = first.card, second.card
    rows = [row for part in _PARTS for row in _differences(part, *cards)]
    same_data = first.to_dict()["data"] == second.to_dict()["data"]
    sentences = (
        _detectors(*cards),
        _made(rows, "recipe", "The recipe is the same."),
        _made(rows, "what they look at", f"Both look at {cards[0].feature['name']}, measured in the same way."),
        "Both learned from the same rows and labels." if same_data else _data(*cards),
        _learned(rows),
        _results(*cards, same_data=same_data),
        *_weaknesses(*cards),
    )
    return Difference(tuple(filter(None, sentences)), pl.DataFrame(rows, schema=_ROW, orient="row"))


def compare_on(
    models: tuple[Model, Model],
    source: Source,
    listed_from: float,
    run: RunOptions = USUAL,
    *,
    prevalence: Prevalence = SUPPOSED,
    progress: Progress = no_progress,
) -> Table:
    """Who scores differently under two models: both probabilities and FPRs, the largest difference first.

    `listed_from` is the probability from which an account would be listed.

    Raises:
        ModelError: one is a fusion, which scores no source by itself.
    """
    for model in models:
        if detectors.fuses(model.card.detector):
            raise ModelError(f"{model.id} judges scores, not a source; compare the models it hears")
    heard = hear(models, source, run, progress)
    if {model.card.id for model in models} != {model.card.id for model in heard.models}:
        raise ModelError(f"{source.name}: {heard.caveats[0]}")
    shown = heard.at(prevalence)
    table = _side_by_side(*(shown.filter(model=model.card.id) for model in models))
    return Table(table, (*heard.notes, *heard.caveats, prevalence.sentence, *_crossings(table, listed_from)))


def _side_by_side(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    wanted = [*_KEY, "probability", "fpr"]
    both = first.select(wanted).join(second.select(wanted), on=_KEY, how="full", coalesce=True, suffix="_second")
    named = both.rename({"probability": "probability_first", "fpr": "fpr_first"})
    change = (pl.col("probability_second") - pl.col("probability_first")).alias("change")
    return (
        named.with_columns(change)
        .sort(pl.col("change").abs(), "actor", "since", descending=[True, False, False], nulls_last=True)
        .select(*_KEY, "probability_first", "probability_second", "change", "fpr_first", "fpr_second")
    )


def _crossings(table: pl.DataFrame, listed_from: float) -> tuple[str, ...]:
    judged = table.drop_nulls("change")
    apart = judged.filter(pl.col("change").abs() > _APART).height
    over = {side: (table[f"probability_{side}"] >= listed_from).fill_null(value=False) for side in ("first", "second")}
    only = {side: int((over[side] & ~over[other]).sum()) for side, other in (("first", "second"), ("second", "first"))}
    both = int((over["first"] & over["second"]).sum())
    alone = table.height - judged.height
    lines = [
        f"{apart:,} of {judged.height:,} periods that both judge differ by more than {_APART} in probability",
        f"From {listed_from} on both list {both:,}, only the first {only['first']:,}, the second {only['second']:,}",
    ]
    if alone:
        lines.append(f"{alone:,} periods are judged by one at the most: too little evidence, or other periods")
    return tuple(lines)


def _differences(part: str, first: Card, second: Card) -> list[tuple[Any, ...]]:
    ours, theirs = (_flat(asdict(card)[part]) for card in (first, second))
    rows = []
    for way in dict.fromkeys(chain(ours, theirs)):
        left, right = ours.get(way), theirs.get(way)
        if left != right:
            texts = [None if value is None else value_text(value) for value in (left, right)]
            rows.append((_PARTS[part], " ".join(way), *texts, _change(left, right)))
    return rows


def _flat(values: Mapping[str, Any], way: Sequence[str] = ()) -> dict[tuple[str, ...], Any]:
    """Nested values as one level: the way to each, and what stands there."""
    found: dict[tuple[str, ...], Any] = {}
    for name, value in values.items():
        here = (*way, str(name).replace("_", " ") if not way else str(name))
        found |= _flat(value, here) if isinstance(value, Mapping) and value else {here: value}
    return found


def _change(left: object, right: object) -> float | None:
    numbers = [value for value in (left, right) if isinstance(value, int | float) and not isinstance(value, bool)]
    return float(numbers[1] - numbers[0]) if len(numbers) == len((left, right)) else None


def _detectors(first: Card, second: Card) -> str:
    if first.id == second.id:
        return f"Both are {first.id}: the same model."
    if first.detector != second.detector:
        return f"{first.id} and {second.id} are of different methods: their numbers do not compare one by one."
    return f"{first.id} (first) and {second.id} (second) are both {first.detector}."


def _made(rows: Sequence[tuple[Any, ...]], part: str, same: str) -> str:
    found = [row for row in rows if row[0] == part]
    if not found:
        return same
    named = [f"{what} ({left or 'none'}, {right or 'none'})" for _, what, left, right, _ in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    head = "The recipe differs" if part == "recipe" else "What they look at differs"
    return f"{head} in {', '.join(named)}{more}."


def _data(first: Card, second: Card) -> str:
    if _crowd(first) == _crowd(second):
        return f"Both learned from {_crowd(first)}, but not from the same numbers or labels of theirs."
    return f"The first learned from {_crowd(first)}, the second from {_crowd(second)}."


def _crowd(card: Card) -> str:
    bots, humans = ("?" if number is None else number for number in actors_of(card))
    days = " – ".join(str(card.training.get(name, "?"))[:10] for name in ("since", "until"))
    return f"{bots} bots and {humans} humans of {days}"


def _learned(rows: Sequence[tuple[Any, ...]]) -> str:
    found = [row for row in rows if row[0] == "what they learned"]
    weights = [row for row in found if row[1].endswith(" weight") and row[4] is not None]
    if not found:
        return "They learned the same numbers."
    if not weights:
        return f"{len(found)} learned numbers differ."
    _, what, left, right, _ = max(weights, key=lambda row: abs(row[4]))
    name = what.removeprefix("columns ").removesuffix(" weight")
    return f"{len(found)} learned numbers differ; the weight that changes most is {name}'s ({left}, {right})."


def _results(first: Card, second: Card, *, same_data: bool) -> str:
    ours, theirs = (card.validation.get("auc") for card in (first, second))
    if ours is None or theirs is None:
        return ""
    own = "" if same_data else ", each on actors of its own data, so that the two do not compare directly"
    return f"On held-out actors the AUC was {ours:.3f} and {theirs:.3f}{own}."


def _weaknesses(first: Card, second: Card) -> list[str]:
    ours, theirs = first.weaknesses, second.weaknesses
    return [
        *(f"Only the first: {line}" for line in ours if line not in theirs),
        *(f"Only the second: {line}" for line in theirs if line not in ours),
    ]
