"""X_t: how alike a model's scores of the same actors are in two periods (Lee et al., NDSS 2016)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
How = Literal["pearson", "spearman"]

LEAST_COMMON = 100  # fewer actors in both periods say too little (our rule)
_CONSTANT = 1e-12  # a deviation this small is rounding


@dataclass(frozen=True)
class Agreement:
    """The correlation of two periods' scores, or why there is none."""

    x: float | None
    common: int  # actors scored in both periods
    why: str | None = None  # it is missing


def by_actor(scores: pl.DataFrame) -> pl.DataFrame:
    """One row an actor: its mean probability over the period; who could not be judged is left out."""
    judged = scores.drop_nulls("probability")
    return judged.group_by("actor").agg(pl.col("probability").mean()).sort("actor")


def agreement(
    before: pl.DataFrame, now: pl.DataFrame, how: How = "pearson", least_common: int = LEAST_COMMON
) -> Agreement:
    """The correlation of SCORES of two periods under one model, over the actors judged in both."""
    both = by_actor(before).join(by_actor(now), on="actor", suffix="_now", maintain_order="left")
    if both.height < least_common:
        return Agreement(
            None, both.height, f"{both.height:,} actors were judged in both periods, and {least_common:,} are needed"
        )
    one, two = both["probability"].to_numpy(), both["probability_now"].to_numpy()
    if how == "spearman":
        one, two = _ranks(one), _ranks(two)
    spread = one.std(), two.std()
    if min(spread) <= _CONSTANT:
        return Agreement(None, both.height, "all actors score alike in one of the periods")
    x = float(np.mean((one - one.mean()) * (two - two.mean())) / (spread[0] * spread[1]))
    return Agreement(min(1.0, max(-1.0, x)), both.height)


def _ranks(values: Floats) -> Floats:
    """Places from the lowest on; equal values share the mean of their places."""
    _, level, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[level], dtype=np.float64)


def most_moved(before: pl.DataFrame, now: pl.DataFrame) -> list[str]:
    """The actors whose probability changed most between two periods, five at the most."""
    both = by_actor(before).join(by_actor(now), on="actor", suffix="_now")
    far = both.with_columns(far=(pl.col("probability_now") - pl.col("probability")).abs())
    return far.sort("far", "actor", descending=[True, False])["actor"].head(5).to_list()
