"""The days of one account as one score: the highest of them, and what the last seven say together."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import log

import polars as pl

from gamewarden.core.clock import LAST_MOMENT
from gamewarden.learning.days import log_odds
from gamewarden.tables import TIME, DataType

# Of a bot user's days so many are played by hand: a day that looks human speaks against one by a factor of two at the
# most, so that six of them do not hide a seventh.
_BY_HAND = 0.5


DAYS: Mapping[str, DataType] = {"highest": pl.Float64, "highest_day": TIME, "rolling": pl.Float64}


def with_days(
    table: pl.DataFrame,
    periods: pl.DataFrame,
    last: int,
    discount: float,
    bots: float,
    *,
    newest: datetime | None = None,
) -> pl.DataFrame:
    """A table with one row per actor, beside it what the actor's days say: the columns of DAYS."""
    rolled = rolling_scores(periods, last, discount, bots, newest=newest).drop("days")
    return table.join(highest_days(periods), on="actor", how="left").join(rolled, on="actor", how="left")


def highest_days(periods: pl.DataFrame) -> pl.DataFrame:
    """One row per actor: `highest`, the probability of its highest period, and `highest_day`, when that began.

    Of several the latest counts. `periods` has one row per actor and period, with a probability or null: SCORES of a
    model of days, or VERDICTS.
    """
    judged = periods.drop_nulls("probability").sort("probability", "since", descending=[True, True])
    return judged.group_by("actor", maintain_order=True).agg(
        pl.col("probability").first().alias("highest"), pl.col("since").first().alias("highest_day")
    )


def rolling_scores(
    periods: pl.DataFrame, last: int, discount: float, bots: float, *, newest: datetime | None = None
) -> pl.DataFrame:
    """One row per actor judged in the `last` microseconds before the end of the newest period: `rolling`, `days`.

    Where `periods` are of some actors alone, `newest` says when the newest period of all ends.

    The evidence of the highest period counts whole. Every further one counts `discount` of what it says of an account
    that plays by hand on every second day: nearly its own evidence where it looks like a bot's, and never less than
    ln 1/2 where it looks like a person's. `bots` is the share of bots that the probabilities suppose.
    """
    prior = log(bots / (1 - bots))
    recent = periods.filter(_among_the_last(last, newest)).drop_nulls("probability")
    evidence = recent.select("actor", e=log_odds(pl.col("probability")) - prior)
    by_hand = (_BY_HAND + (1 - _BY_HAND) * pl.col("e").exp()).log()
    highest = pl.col("e").max()
    further = by_hand.sum() - by_hand.sort_by("e").last()
    return (
        evidence.group_by("actor")
        .agg((prior + highest + discount * further).alias("z"), pl.len().cast(pl.Int64).alias("days"))
        .select("actor", (1 / (1 + (-pl.col("z")).exp())).alias("rolling"), "days")
        .sort("actor")
    )


def _among_the_last(micros: int, newest: datetime | None) -> pl.Expr:
    """Whether a period ends so shortly before the newest; a day of 23 or 25 hours is one day."""
    slack = pl.min_horizontal((pl.col("until") - pl.col("since")) / 2, pl.lit(timedelta(hours=2)))
    end = pl.col("until").max() if newest is None else pl.lit(newest, TIME)
    return end - LAST_MOMENT <= pl.lit(timedelta(microseconds=micros)) - slack
