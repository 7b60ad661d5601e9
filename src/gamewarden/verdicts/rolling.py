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
    scores = day_scores(periods, last, discount, bots, newest=newest)
    return table.join(scores.select("actor", *DAYS), on="actor", how="left")


def day_scores(
    periods: pl.DataFrame, last: int, discount: float, bots: float, *, newest: datetime | None = None
) -> pl.DataFrame:
    """One row per actor that was judged: its highest period, and what those of the last time say together.

    `highest` is the probability of the highest one and `highest_day` when that began, the latest of several; `rolling`
    is the score of the last time, null for who was not judged then, and `days` how many periods it rests on.

    `periods` has one row per actor and period, with a probability or null: SCORES of a model of days, or VERDICTS.
    The last time are the periods that end within `last` microseconds before the end of the newest; where `periods` are
    of some actors alone, `newest` says when the newest period of all ends.

    The evidence of the highest period counts whole. Every further one counts `discount` of what it says of an account
    that plays by hand on every second day: nearly its own evidence where it looks like a bot's, and never less than
    ln 1/2 where it looks like a person's. `bots` is the share of bots that the probabilities suppose.
    """
    prior, share = log(bots / (1 - bots)), pl.col("probability")
    evidence = pl.when(_among_the_last(last, newest)).then(log_odds(share) - prior)
    judged = periods.select("actor", "since", "probability", e=evidence).drop_nulls("probability")
    by_hand = pl.col("by_hand")
    return (
        judged.with_columns(by_hand=(_BY_HAND + (1 - _BY_HAND) * pl.col("e").exp()).log())
        .group_by("actor")  # once: at 300,000 accounts most of the time is spent here
        .agg(
            share.max().alias("highest"),
            pl.col("since").filter(share == share.max()).max().alias("highest_day"),
            # The highest period says most of somebody who plays by hand, too.
            (prior + pl.col("e").max() + discount * (by_hand.sum() - by_hand.max())).alias("z"),
            pl.col("e").count().cast(pl.Int64).alias("days"),
        )
        .select("actor", "highest", "highest_day", (1 / (1 + (-pl.col("z")).exp())).alias("rolling"), "days")
        .sort("actor")
    )


def _among_the_last(micros: int, newest: datetime | None) -> pl.Expr:
    """Whether a period ends so shortly before the newest; a day of 23 or 25 hours is one day."""
    slack = pl.min_horizontal((pl.col("until") - pl.col("since")) / 2, pl.lit(timedelta(hours=2)))
    end = pl.col("until").max() if newest is None else pl.lit(newest, TIME)
    return end - LAST_MOMENT <= pl.lit(timedelta(microseconds=micros)) - slack
