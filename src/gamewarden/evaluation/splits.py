"""Splits that cannot flatter: who belongs together is held out together."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from gamewarden.errors import FitError
from gamewarden.folds import deal, possible

_LEAST = 2


@dataclass(frozen=True)
class Split:
    """One fold: the periods to learn from, and the periods held out."""

    fold: int
    train: pl.DataFrame
    test: pl.DataFrame

    def __post_init__(self) -> None:
        for unit in ("actor", "group"):
            refuse_shared(self.train, self.test, unit)


def refuse_shared(train: pl.DataFrame, test: pl.DataFrame, unit: str) -> None:
    """Stop when someone is on both sides.

    Raises:
        FitError: an actor or a group is to be learned from and tested on.
    """
    shared = sorted(set(train[unit]) & set(test[unit]))
    if shared:
        raise FitError(
            f"split: {len(shared)} {unit}s are on both sides, first {shared[0]!r}; testing on known {unit}s flatters"
        )


def by_group(rows: pl.DataFrame, folds: int, seed: int) -> Iterator[Split]:
    """Grouped and stratified folds of labelled periods (actor, group, bot); fewer where groups are few.

    Raises:
        FitError: a class has fewer than two groups, so that it cannot be learned from and tested on.
    """
    groups, bot = rows["group"].to_numpy().astype(np.str_), rows["bot"].to_numpy()
    parts = possible(groups, bot, folds)
    if parts < _LEAST:
        counts = [np.unique(groups[side]).size for side in (bot, ~bot)]
        raise FitError(
            f"evaluate: {counts[0]} groups have a bot and {counts[1]} a human; 2 of each are needed to hold one out"
        )
    fold = pl.Series(deal(groups, bot, parts, seed))
    for part in range(parts):
        yield Split(part, rows.filter(fold != part), rows.filter(fold == part))
