"""Features that look back: a tiny one, which tells whom an account met in some days."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden.contracts import Sight
from gamewarden.core.clock import Period
from gamewarden.core.durations import DAY
from gamewarden.errors import MeasureError
from gamewarden.features.folding import OnePass, feed
from gamewarden.features.looking_back import LooksBack, days_of
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.tables import FEATURES, FrameEvents


class MeetingsOfADay(OnePass):
    """How often an account met another on a day."""

    columns = ("actor", "at", "other")

    def __init__(self, recipe):
        self.recipe = recipe
        self.seen = [pl.DataFrame(schema=recipe.parts_schema)]

    def push(self, batch):
        since, until = self.recipe.clock.borders(pl.col("at"))
        rows = pl.DataFrame(pl.from_arrow(batch)).with_columns(since=since, until=until)
        self.seen.append(rows.group_by("since", "until", "actor", "other").agg(n=pl.len().cast(pl.Int64)))

    def frame(self):
        names = list(self.recipe.parts_schema)
        parts = pl.concat([one.select(names) for one in self.seen])
        return parts.group_by(names[:-1]).agg(pl.col("n").sum()).sort(names)


@dataclass(frozen=True)
class Meetings(LooksBack):
    """Whom an account met."""

    name: ClassVar[str] = "meetings"
    schema: ClassVar[Mapping[str, pl.DataType]] = {"met": pl.Int64()}
    parts: ClassVar[Mapping[str, pl.DataType]] = {"actor": pl.String(), "other": pl.String(), "n": pl.Int64()}

    def part_fold(self, sight=ANY_SIGHT):
        del sight
        return MeetingsOfADay(self)

    def rows_of(self, parts, since, until):
        today = parts.filter(since=since, until=until).group_by("actor", "since", "until").agg(events=pl.col("n").sum())
        met = parts.group_by("actor").agg(met=pl.col("other").drop_nulls().n_unique())
        return today.join(met, on="actor")

    def unseen(self, sight):
        return () if sight.has("other") else ("met",)


FIRST = datetime(2026, 3, 2, 12, tzinfo=UTC)
LOG = pl.DataFrame(
    [
        ("a", 0, "b"),
        ("a", 1, "c"),
        ("b", 1, "a"),
        ("a", 3, None),
        ("a", 9, "d"),
        ("a", 9, "d"),
    ],
    schema=["actor", "day", "other"],
    orient="row",
).select(
    "actor",
    pl.col("other"),
    at=(pl.lit(FIRST) + pl.duration(days=pl.col("day"))).cast(pl.Datetime("us", "UTC")),
    kind=pl.lit("trade.give"),
)


def told(rows):
    return rows.select("actor", pl.col("since").dt.day(), "events", "met").rows()


def test_a_row_speaks_of_the_days_that_end_with_its_own():
    assert told(Meetings().measure(FrameEvents(LOG))) == [
        ("a", 2, 1, 1),
        ("a", 3, 1, 2),
        ("a", 5, 1, 2),
        ("a", 11, 2, 1),
        ("b", 3, 1, 1),
    ]
    assert told(Meetings(back=1).measure(FrameEvents(LOG))) == [
        ("a", 2, 1, 1),
        ("a", 3, 1, 1),
        ("a", 5, 1, 0),
        ("a", 11, 2, 1),
        ("b", 3, 1, 1),
    ]


def test_rows_of_a_day_are_the_same_from_parts_that_were_measured_day_by_day():
    recipe = Meetings()
    apart = []
    for day in LOG.with_columns(day=pl.col("at").dt.date()).partition_by("day", include_key=False):
        fold = recipe.part_fold()
        feed(fold, FrameEvents(day))
        apart.append(fold.frame())

    parts = pl.concat(apart).sample(fraction=1.0, shuffle=True, seed=1)
    rows = pl.concat([recipe.rows_from(parts, day) for day in days_of(parts)]).sort("actor", "since")

    assert_frame_equal(rows, recipe.measure(FrameEvents(LOG)))


def test_what_a_source_cannot_show_is_null_whatever_its_parts_hold():
    recipe = Meetings()
    fold = recipe.fold(Sight(columns=("actor", "at")))

    for batch in FrameEvents(LOG).batches(fold.columns):
        fold.push(batch)

    assert fold.frame()["met"].null_count() == 5


def test_no_events_give_no_rows_but_every_column():
    nothing = Meetings().measure(FrameEvents(LOG.clear()))

    assert nothing.schema == {**FEATURES.columns, "met": pl.Int64}
    assert not nothing.height


def test_days_are_those_of_the_time_zone():
    recipe = Meetings(time_zone="Asia/Seoul")
    since = datetime(2026, 3, 1, 15, tzinfo=UTC)

    assert recipe.clock.every == DAY
    assert recipe.measure(FrameEvents(LOG))["since"].min() == since
    assert recipe.window(Period(since, since + timedelta(days=1))).since == since - timedelta(days=6)


def test_nobody_looks_back_on_no_day():
    with pytest.raises(MeasureError, match="meetings: back is 0; it is from 1 to 366 days"):
        Meetings(back=0)
