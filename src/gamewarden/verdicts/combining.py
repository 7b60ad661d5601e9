"""Several detectors' answers on a period as one, without labels to learn from, whatever the detectors have in common.

Twice a weighted mean of FPRs is again an FPR, however the FPRs depend on each other (Rüschendorf 1982; Vovk &
Wang 2020), and a mean needs all of them to be low: one family of features that sees a human outweighs another that does
not. Methods that follow the lowest FPR instead (Bonferroni, harmonic mean) would let one weak detector accuse.
"""

from math import log

import polars as pl

from gamewarden.verdicts.periods import KEY, discounted

WHATEVER_DEPENDENCE = 2.0  # what a mean of FPRs is multiplied by to be an FPR again


def by_family(parts: pl.DataFrame) -> pl.DataFrame:
    """One row an actor, period and family: detectors fed by the same evidence share one voice.

    Their evidence is its mean, but the FPR is that of the one that sees most, which stands before any score: the
    first of the models, whom `rank` asks too. A mean of their FPRs would have to be doubled to be one again, and the
    weakest of them would keep the strongest from ever reaching a point.
    """
    first = pl.col("fpr", "voices").sort_by("order").first()
    return (
        parts.group_by(*KEY, "family", maintain_order=True)
        .agg(pl.col("evidence").mean(), first)
        .with_columns(own_fpr=_fpr(pl.col("fpr"), pl.col("voices")))
    )


def combine(parts: pl.DataFrame, discount: float, bots: float) -> pl.DataFrame:
    """One row per actor and period: probability and FPR of all families at hand, each with the same weight.

    The probability is that of an account of which nothing is known but that the share `bots` of all are bots, and the
    evidence added to it.
    """
    families = by_family(parts)
    evidence = discounted(pl.col("evidence").sum(), pl.len(), discount)
    prior = log(bots / (1 - bots))
    return (
        families.group_by(KEY, maintain_order=True)
        .agg(
            (1 / (1 + (-(prior + evidence)).exp())).alias("probability"),
            _fpr(pl.col("fpr").mean(), pl.col("voices").sum()).alias("fpr"),
        )
        .sort("actor", "since")
    )


def _fpr(mean: pl.Expr, voices: pl.Expr) -> pl.Expr:
    """A lone FPR is one already."""
    return pl.when(voices > 1).then((WHATEVER_DEPENDENCE * mean).clip(upper_bound=1.0)).otherwise(mean)
