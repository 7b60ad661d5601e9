"""Of whom the ledger has to know: only of those whose evidence could ever lead to anything."""

from math import log

import polars as pl

from gamewarden.response.evidence import FOR_A_PERSON, SUREST, log_odds
from gamewarden.response.suspicion import Scale


def upper_llrs(verdicts: pl.DataFrame, bots: float) -> pl.DataFrame:
    """How much each verdict speaks for a bot, nothing where it does not: actor and llr."""
    odds = pl.col("probability").clip(1e-9, 1 - 1e-9)
    surest = -pl.col("fpr").clip(SUREST, 1.0).log()
    llr = pl.min_horizontal((odds / (1 - odds)).log() - log_odds(bots), surest).fill_null(0.0)
    return verdicts.select("actor", llr=llr.clip(FOR_A_PERSON, -log(SUREST)).clip(lower_bound=0.0))


def upper_bounds(llrs: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """What suspicion could be if no evidence decayed and nothing spoke against it: actor and bound, highest first."""
    most = pl.col("llr").max()
    bound = scale.prior + most + scale.discount * (pl.col("llr").sum() - most)
    return llrs.group_by("actor").agg(bound=bound).sort("bound", "actor", descending=[True, False])


def who_could_reach(llrs: pl.DataFrame, scale: Scale) -> set[str]:
    """Whose evidence could reach the first rung if none of it decayed and nothing spoke against it."""
    if not scale.enters:
        return set()
    reached = upper_bounds(llrs, scale).filter(pl.col("bound") >= scale.enters[0] - 1e-6)
    return set(reached["actor"].to_list())
