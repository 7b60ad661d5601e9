"""How many accounts look like bots, by day and by zone: what a dashboard draws.

Lee et al. (NDSS 2016) show the number and the rate of bots by day, and bots by main activity zone.
"""

from collections.abc import Mapping
from statistics import NormalDist

import polars as pl

from gamewarden.tables import TIME, DataType
from gamewarden.verdicts.points import ACT, WATCH

BY_DAY: Mapping[str, DataType] = {
    "since": TIME,
    "until": TIME,
    "played": pl.Int64,
    "judged": pl.Int64,
    "bots": pl.Int64,
    "share": pl.Float64,
    "share_low": pl.Float64,
    "share_high": pl.Float64,
    "expected": pl.Float64,
    WATCH: pl.Int64,
    ACT: pl.Int64,
}
BY_ZONE: Mapping[str, DataType] = {
    "zone": pl.String,
    "judged": pl.Int64,
    "bots": pl.Int64,
    "share": pl.Float64,
    "share_low": pl.Float64,
    "share_high": pl.Float64,
    WATCH: pl.Int64,
    ACT: pl.Int64,
}
_SURE = NormalDist().inv_cdf(0.975)


def trend_by_day(periods: pl.DataFrame, listed_from: float) -> pl.DataFrame:
    """One row per period that somebody played in, the earliest first.

    `periods` has one row per actor and period, with its probability and operating point: VERDICTS with `point`.
    `played` counts accounts, `judged` those with enough to say, `bots` those from the probability `listed_from` on,
    `share` is bots of judged with its 95 % interval, `expected` the sum of all probabilities: far from the share of
    bots that they suppose, that share is not the game's. `watch` counts those who reach that point or the one to act,
    `act` the latter. Where nobody was judged, nothing is known but `played`.
    """
    counted = periods.group_by("since", "until").agg(
        pl.len().alias("played"), pl.col("probability").sum().alias("expected"), *_counts(listed_from)
    )
    known = [name for name in BY_DAY if name not in {"since", "until", "played", "judged", *_INTERVAL}]
    unsaid = counted.with_columns(pl.when(pl.col("judged") > 0).then(pl.col(name)).alias(name) for name in known)
    return _typed(unsaid.with_columns(*_interval()), BY_DAY).sort("since")


def trend_by_zone(periods: pl.DataFrame, zones: pl.DataFrame, listed_from: float) -> pl.DataFrame:
    """One row per main zone, that with most bots first; where the log says no zone it is null.

    `zones` has actor, since and zone. An account counts once in each zone that was the main one of a judged period of
    it, and among the bots there if it was listed, or reached a point, in such a period.
    """
    placed = periods.drop_nulls("probability").join(zones, on=["actor", "since"], how="left")
    accounts = placed.group_by("zone", "actor").agg(
        pl.col("probability").max(),
        pl.when((pl.col("point") == ACT).any())
        .then(pl.lit(ACT))
        .when((pl.col("point") == WATCH).any())
        .then(pl.lit(WATCH))
        .alias("point"),
    )
    counted = accounts.group_by("zone").agg(*_counts(listed_from)).with_columns(*_interval())
    return _typed(counted, BY_ZONE).sort(["bots", "judged", "zone"], descending=[True, True, False], nulls_last=True)


_INTERVAL = ("share", "share_low", "share_high")


def _counts(listed_from: float) -> list[pl.Expr]:
    return [
        pl.col("probability").count().alias("judged"),
        (pl.col("probability") >= listed_from).sum().alias("bots"),
        pl.col("point").is_in([ACT, WATCH]).sum().alias(WATCH),
        (pl.col("point") == ACT).sum().alias(ACT),
    ]


def _interval() -> list[pl.Expr]:
    """The share of bots among those judged, and where it lies with 95 % (Wilson 1927)."""
    judged, bots = pl.col("judged"), pl.col("bots")
    share, extra = bots / judged, _SURE**2 / judged
    middle = (share + extra / 2) / (1 + extra)
    half = _SURE / (1 + extra) * (share * (1 - share) / judged + extra / (4 * judged)).sqrt()
    ends = {
        "share": share,
        "share_low": pl.min_horizontal(share, (middle - half).clip(lower_bound=0)),  # rounding must not cross it
        "share_high": pl.max_horizontal(share, (middle + half).clip(upper_bound=1)),
    }
    return [pl.when(judged > 0).then(what).alias(name) for name, what in ends.items()]


def _typed(table: pl.DataFrame, schema: Mapping[str, DataType]) -> pl.DataFrame:
    return table.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
