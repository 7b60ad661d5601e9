"""How two models differ: in what they were made of, and in what they learned."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import polars as pl

from gamewarden.contracts import Card, Model
from gamewarden.presentation.card import actors_of, value_text

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
