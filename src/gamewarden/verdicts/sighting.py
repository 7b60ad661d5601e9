"""Rows beside what their source could show at all, and when it was there: what a model is shown of a source."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl

from gamewarden.contracts import Feature
from gamewarden.core.coverage import Coverage
from gamewarden.tables import Table
from gamewarden.verdicts.likeness import Likeness
from gamewarden.verdicts.meeting import Limits


def sighted(told: Table, feature: Feature, coverage: Coverage | None, shows: Mapping[str, int] | None) -> Table:
    """FEATURES with the share that the source covers of each row's time, or of its day, and what it can show."""
    if coverage is None:
        return replace(told, shows=shows)
    day = (pl.col("until") - pl.duration(microseconds=1)).dt.truncate("1d")
    days = told.frame.select(day.alias("since"), day.dt.offset_by("1d").alias("until"))
    covered = coverage.of(days if feature.part_of_day else told.frame)
    return replace(told, frame=told.frame.with_columns(covered), shows=shows)


def told_alike(told: Table, feature: Feature) -> bool:
    """Whether it is known which kinds there should be, and how common."""
    learned = feature.learned
    return not (told.shows is None or learned is None or learned.kinds is None or learned.shares is None)


def alike(told: Table, feature: Feature, kinds: Callable[[], pl.DataFrame], limits: Limits) -> Table:
    """FEATURES in which nothing is said of what a source did not show in a period; `kinds` counts events by period.

    A kind that was common in training and never occurs in a period is null there, not 0. A period most of whose events
    are of other kinds, or in which too much is missing, is not measured at all. What the source can show is then told
    by the other periods; where there are none, by what did occur, whatever a mapping promises.
    """
    learned = feature.learned
    if learned is None or not told_alike(told, feature):
        return told
    return Likeness.of(learned, kinds(), limits).applied(told)
