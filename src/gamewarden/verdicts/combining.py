"""Several families' false-positive rates of a period as one, without labels to learn from (decision 162).

The families are those that can judge the sources that show the account, whether or not they had enough to speak: n
does not depend on the rates. One family's rate stays as it is, of two it is twice the lower, of n ≥ 3 n/2 times the
second lowest (Rüger 1978). Each is a false-positive rate again, however the families depend on each other. From three
on no family accuses alone, and a further one that sees nothing costs a factor of n/(n − 1).
"""

from collections.abc import Mapping
from math import log
from typing import NamedTuple

import polars as pl

from gamewarden.core.clock import Clock
from gamewarden.verdicts.periods import KEY, discounted, periods_of

COMBINATION = "ruger"  # what rules call it that are kept with verdicts
_MEAN = 2.0  # what a mean of rates is multiplied by to be one again (Rüschendorf 1982; Vovk & Wang 2020)
_TWO = 2  # families


class Family(NamedTuple):
    """The family of evidence that a model belongs to, and the kind of source that feeds it."""

    name: str
    source: str


def by_family(parts: pl.DataFrame) -> pl.DataFrame:
    """One row an actor, period and family: detectors fed by the same evidence share one voice.

    Their evidence is its mean, but the FPR is that of the one that sees most, which stands before any score: the
    first of the models, whom `rank` asks too. A mean of their FPRs would have to be doubled to be one again, and the
    weakest of them would keep the strongest from ever reaching a point.
    """
    first = pl.col("fpr", "voices").sort_by("order").first()
    doubled = pl.when(pl.col("voices") > 1).then((_MEAN * pl.col("fpr")).clip(upper_bound=1.0))
    return (
        parts.group_by(*KEY, "family", maintain_order=True)
        .agg(pl.col("evidence").mean(), first)
        .with_columns(own_fpr=doubled.otherwise(pl.col("fpr")))
    )


def able_families(scores: pl.DataFrame, models: Mapping[str, Family], cut: Clock) -> pl.DataFrame:
    """How many `families` can judge each actor and period: all that are fed by a kind of source that shows it.

    A source that does not show an account in a period has no row of it; a family with a row but without an answer
    counts.
    """
    sizes = pl.DataFrame(list(set(models.values())), schema=list(Family._fields), orient="row").group_by("source")
    known = pl.DataFrame({"model": list(models), "source": [one.source for one in models.values()]})
    shown = periods_of(scores, cut).with_columns(scores["model"]).join(known, on="model")
    counts = shown.unique([*KEY, "source"]).join(sizes.agg(pl.len().alias("families")), on="source")
    return counts.group_by(KEY).agg(pl.col("families").sum().cast(pl.Int64))


def combine(parts: pl.DataFrame, able: pl.DataFrame, discount: float, bots: float) -> pl.DataFrame:
    """One row per actor and period: the probability of all families that spoke, and the FPR of all that could.

    The probability is that of an account of which nothing is known but that the share `bots` of all are bots, and the
    evidence added to it. The FPR is null where no family that spoke has one.
    """
    evidence = discounted(pl.col("evidence").sum(), pl.len(), discount)
    prior = log(bots / (1 - bots))
    rates = pl.col("own_fpr").drop_nulls().sort()
    return (
        by_family(parts)
        .group_by(KEY, maintain_order=True)
        .agg(
            (1 / (1 + (-(prior + evidence)).exp())).alias("probability"),
            rates.first().alias("lowest"),
            rates.get(1, null_on_oob=True).alias("second"),
        )
        .join(able, on=KEY, how="left", maintain_order="left")
        .select(*KEY, "probability", fpr=_combined(pl.col("families"), pl.col("lowest"), pl.col("second")))
        .sort("actor", "since")
    )


def combined(rates: list[float]) -> float:
    """The combined rate of as many families as there are rates, a silent one's being 1."""
    row = pl.DataFrame({"n": [len(rates)], "lowest": [min(rates)], "second": [sorted([*rates, 1.0])[1]]})
    return float(row.select(_combined(pl.col("n"), pl.col("lowest"), pl.col("second"))).item())


def _combined(families: pl.Expr, lowest: pl.Expr, second: pl.Expr) -> pl.Expr:
    ruger = pl.when(lowest.is_not_null()).then(families / 2 * second.fill_null(1.0))
    several = pl.when(families == _TWO).then(2 * lowest).otherwise(ruger)
    return pl.when(families == 1).then(lowest).otherwise(several.clip(upper_bound=1.0))
