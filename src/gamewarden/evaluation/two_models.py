"""Two models on the same source: both numbers of every period, and whom only one would list."""

import polars as pl

_KEY = ["actor", "since", "until"]
_APART = 0.1  # a difference of probability that a person would notice


def by_both(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Both probabilities and FPRs of each actor and period, the largest difference first."""
    wanted = [*_KEY, "probability", "fpr"]
    both = first.select(wanted).join(second.select(wanted), on=_KEY, how="full", coalesce=True, suffix="_second")
    named = both.rename({"probability": "probability_first", "fpr": "fpr_first"})
    change = (pl.col("probability_second") - pl.col("probability_first")).alias("change")
    return (
        named.with_columns(change)
        .sort(pl.col("change").abs(), "actor", "since", descending=[True, False, False], nulls_last=True)
        .select(*_KEY, "probability_first", "probability_second", "change", "fpr_first", "fpr_second")
    )


def crossings(table: pl.DataFrame, listed_from: float) -> tuple[str, ...]:
    """How often two models are apart, and whom only one of them would list."""
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
