"""Which group of players a period belongs to, so that an error that falls on one group is not hidden in the mean."""

import polars as pl

from gamewarden.evaluation.splits import PERIOD

HARD_CORE, NEWBIE, VETERAN = "hard-core", "newbie", "veteran"
_HARD_CORE_HOURS = 10.0  # a day; bots' favourite company (hard-core users versus bots, 2015)
_NEWBIE_LEVEL = 15
_STYLE_COLUMN = "style"  # of the labels, where the operator has groups of its own
_MINUTES, _LEVEL = "total_use_time_min", "main_char_level"


def styles_of(features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The group of each measured period (actor, since, until, style): as the labels say, else by play time and level.

    Null where neither tells.
    """
    periods = features.select(*PERIOD, _told_by_play(features).alias(_STYLE_COLUMN))
    if _STYLE_COLUMN not in labels.columns:
        return periods
    given = labels.group_by("actor").agg(pl.col(_STYLE_COLUMN).cast(pl.String).drop_nulls().min())
    return periods.drop(_STYLE_COLUMN).join(given, on="actor", how="left", maintain_order="left")


def _told_by_play(features: pl.DataFrame) -> pl.Expr:
    if not {_MINUTES, _LEVEL} <= set(features.columns):
        return pl.lit(None, pl.String)
    days = (pl.col("until") - pl.col("since")).dt.total_microseconds() / 86_400e6
    hours = pl.col(_MINUTES) / 60 / days
    return (
        pl.when(hours >= _HARD_CORE_HOURS)
        .then(pl.lit(HARD_CORE))
        .when(pl.col(_LEVEL) <= _NEWBIE_LEVEL)
        .then(pl.lit(NEWBIE))
        .when(hours.is_not_null())
        .then(pl.lit(VETERAN))
    )
