"""What maintenance does not trust, said wherever scores of those periods are shown."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from gamewarden.contracts import Card, Model
from gamewarden.drift.trust import untrusted
from gamewarden.errors import ReadError
from gamewarden.store.upkeep import Upkeep


def doubted(models: Path, found: Iterable[Model], scores: pl.DataFrame) -> tuple[str, ...]:
    """A line for each model whose SCORES here are of periods that maintenance does not trust."""
    shown = scores.drop_nulls(["since", "until"])
    if not shown.height:
        return ()
    return tuple(line for model in found for line in _lines(models, model.card, shown))


def _lines(models: Path, card: Card, scores: pl.DataFrame) -> Iterator[str]:
    try:
        records = Upkeep(models, card.detector).history().records
    except ReadError as error:
        yield f"whether maintenance trusts {card.id} is unknown: {error}"
        return
    yield from untrusted(records, card.id, scores)
