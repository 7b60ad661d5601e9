"""Parts of some days to what they say together of each actor."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.clock import Clock
from gamewarden.core.durations import HOUR
from gamewarden.features.rhythm.kernel import MOST_HOURS, Days, longest_awake

_ENOUGH_DAYS = 5  # with fewer nothing is said of how days differ
_HOURS = 24
_DIGITS = 9

Ints = NDArray[np.int64]


def told(parts: pl.DataFrame, clock: Clock, days_seen: int, rest: int) -> pl.DataFrame:
    """One row per actor; `days_seen` are all days of which something is known, with its parts or without."""
    ordered = parts.with_columns(_clock_hours(parts, clock)).sort("actor", "since")
    minutes, squares = pl.col("active_min").sum(), (pl.col("active_min") ** 2).sum()
    rows = ordered.group_by("actor", maintain_order=True).agg(
        days_seen=pl.lit(days_seen),
        days_played=pl.len(),
        play_hours=minutes / 60 / days_seen,
        hours_of_day=pl.col("clock_hours").bitwise_or().bitwise_count_ones(),
        day_spread=(days_seen * squares - minutes**2).sqrt() / minutes if days_seen >= _ENOUGH_DAYS else None,
        gap_entropy=pl.col("gap_entropy").median(),
        busiest_min=pl.col("busiest_min").max(),
        busiest_hour=pl.col("busiest_hour").max(),
    )
    awake = rows.with_columns(_awake(ordered, rest)).join(_in_the_middle(ordered), on="actor", how="left")
    return awake.with_columns(pl.col(pl.Float64).round(_DIGITS))


def _clock_hours(parts: pl.DataFrame, clock: Clock) -> pl.Series:
    """Which hours of the day were used, as a clock shows them: on some days it is put forward or back."""
    since, hours = parts["since"].to_physical().to_numpy(), parts["hours"].to_numpy()
    begins, day = np.unique(since, return_inverse=True)
    shown = Clock(HOUR, clock.time_zone).numbers(begins[:, None] + HOUR * np.arange(MOST_HOURS)) % _HOURS
    found = np.zeros(len(hours), np.int64)
    for hour in range(MOST_HOURS):
        found |= ((hours >> hour) & 1) << shown[day, hour]
    return pl.Series("clock_hours", found)


def _awake(ordered: pl.DataFrame, rest: int) -> pl.Series:
    """The longest time without rest of each actor, in hours."""
    who = ordered["actor"].rle_id().to_numpy().astype(np.int64)
    times = (ordered[name].to_physical().to_numpy().copy() for name in ("since", "until", "hours"))
    longest = np.zeros(ordered["actor"].n_unique(), np.int64)
    longest_awake(Days(who, *times), rest * HOUR, longest)
    return pl.Series("awake_hours", longest / HOUR)


def _in_the_middle(ordered: pl.DataFrame) -> pl.DataFrame:
    """Of each actor the day in the middle of those with a period, by its share; of two such days the lesser."""
    by_share = ordered.drop_nulls("periodic").sort("actor", "periodic", "period_min", "since")
    middle = (pl.len() - 1) // 2
    return by_share.group_by("actor").agg(pl.col("periodic", "period_min").gather(middle).first())
