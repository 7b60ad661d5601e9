"""Rows that belong to no period: what is known of an account at all times, such as an operator's own table.

A verdict is about a period. What holds of an account at all times is evidence in each of its periods that another
source has judged, and in no other: it gives no period by itself.
"""

import polars as pl

from gamewarden.core.clock import Clock
from gamewarden.verdicts.periods import KEY, periods_of

TIMELESS = pl.col("until").is_null()


def in_periods(scores: pl.DataFrame, cut: Clock) -> pl.DataFrame:
    """SCORES in which those without a time stand once in each period of their actor that other scores speak of."""
    if not scores["until"].null_count():
        return scores
    timed = scores.filter(~TIMELESS)
    spoken = periods_of(timed.filter(pl.col("probability").is_not_null()), cut).unique().sort(KEY)
    always = scores.filter(TIMELESS).drop("since", "until")
    placed = spoken.join(always, on="actor", maintain_order="left_right").select(scores.columns)
    return pl.concat([timed, placed])
