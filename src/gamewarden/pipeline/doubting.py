"""What maintenance does not trust, said wherever scores of those periods are shown."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from gamewarden.contracts import Card, Model
from gamewarden.drift.flow import Doubted, standing_doubts
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
    periods = [one for one in standing_doubts(records) if one.model == card.id and _shows(scores, one)]
    if periods:
        named = f"{periods[0].since:%Y-%m-%d}" + (f" to {periods[-1].since:%Y-%m-%d}" if len(periods) > 1 else "")
        yield f"maintenance does not trust the scores {card.id} gives {named}: {periods[-1].says}"


def _shows(scores: pl.DataFrame, period: Doubted) -> bool:
    """Whether some row lies in a period."""
    inside = pl.col("until") > period.since
    if period.until is not None:
        inside &= pl.col("since") < period.until
    return not scores.filter(inside).is_empty()
