"""What maintenance does not trust, said wherever scores of those periods are shown."""

from collections.abc import Iterable, Iterator

import polars as pl

from gamewarden.drift.flow import Doubted, Record, standing_doubts


def untrusted(records: Iterable[Record], model: str, scores: pl.DataFrame) -> Iterator[str]:
    """Which of these SCORES of a model are of periods whose doubts still stand, where some are."""
    periods = [one for one in standing_doubts(records) if one.model == model and _shows(scores, one)]
    if periods:
        named = f"{periods[0].since:%Y-%m-%d}" + (f" to {periods[-1].since:%Y-%m-%d}" if len(periods) > 1 else "")
        yield f"maintenance does not trust the scores {model} gives {named}: {periods[-1].says}"


def _shows(scores: pl.DataFrame, period: Doubted) -> bool:
    """Whether some row lies in a period."""
    inside = pl.col("until") > period.since
    if period.until is not None:
        inside &= pl.col("since") < period.until
    return not scores.filter(inside).is_empty()
