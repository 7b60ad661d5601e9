"""What has to be known of all events together, counted by Spark itself: their span, their kinds, and their pulse.

The driver gets sums: a few rows a day, whatever the number of events.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from pyspark.sql import functions

from gamewarden.core.clock import Clock
from gamewarden.core.coverage import BEAT, Pulse
from gamewarden.core.durations import DAY
from gamewarden.errors import TableError
from gamewarden.features.census import Census
from gamewarden.features.kinds import SCHEMA
from gamewarden.spark.clocks import Span, number_of, whole_parts
from gamewarden.spark.frames import MICROS, Events
from gamewarden.tables import EVENTS, TIME

if TYPE_CHECKING:
    from pyspark.sql import Column, Row

_CAME, _LEFT = "session.login", "session.logout"


def span_of(events: Events, door: str) -> Span:
    """The first and the last moment of all events.

    Raises:
        TableError: an event has no actor, time or kind.
    """
    holes = {name: functions.count(functions.when(functions.col(name).isNull(), 1)) for name in EVENTS.required}
    ends = {"first": functions.min(_micros()), "last": functions.max(_micros()), "n": functions.count(functions.lit(1))}
    (told,) = events.frame.agg(*(column.alias(name) for name, column in (holes | ends).items())).collect()
    for name in EVENTS.required:
        if told[name]:
            raise TableError(
                f"{door}: EVENTS.{name} is null in {told[name]:,} of {told['n']:,} rows; it must always be there"
            )
    return (0, 0) if told["first"] is None else (told["first"], told["last"])


def kinds_in(events: Events) -> tuple[str, ...]:
    """The different kinds, sorted; a null among them is left to whoever reads the rows."""
    found = events.frame.select("kind").distinct().collect()
    return tuple(sorted(row["kind"] for row in found if row["kind"] is not None))


def census_of(events: Events, clocks: Collection[Clock], span: Span) -> Census:
    """The census of all events over some clocks."""
    wanted = tuple(dict.fromkeys(clocks or (Clock(DAY),)))
    return Census(_kinds(events, wanted, span), _pulse(events))


def _kinds(events: Events, clocks: tuple[Clock, ...], span: Span) -> dict[Clock, pl.DataFrame]:
    """Events by kind and period of every clock, from one reading."""
    numbers = {f"period{place}": number_of(clock, span) for place, clock in enumerate(clocks)}
    counted = events.select(("kind",), **numbers).groupBy("kind", *numbers).count().collect()
    return {clock: _by_period(clock, counted, name) for name, clock in zip(numbers, clocks, strict=True)}


def _by_period(clock: Clock, counted: "list[Row]", name: str) -> pl.DataFrame:
    rows = [(row[name], row["kind"], row["count"]) for row in counted]
    number, kind, n = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    periods = np.array(number, np.int64)
    table = pl.DataFrame(
        {
            "since": pl.Series(clock.begins(periods)).cast(TIME),
            "until": pl.Series(clock.begins(periods + 1)).cast(TIME),
            "kind": kind,
            "n": n,
        },
        schema=SCHEMA,
    )
    return table.group_by("since", "until", "kind").agg(pl.col("n").sum()).sort("since", "kind")


def _pulse(events: Events) -> Pulse:
    """Who was there when: everybody once a beat, and of each beat how many."""
    beat = functions.expr(whole_parts(MICROS, BEAT))
    kind = functions.col("kind")
    pairs = events.select(("actor",), beat=beat, came=kind == _CAME, left=kind == _LEFT).groupBy("beat", "actor")
    each = pairs.agg(functions.max("came").alias("came"), functions.max("left").alias("left"))
    beats = each.groupBy("beat").agg(
        functions.count(functions.lit(1)).alias("active"), _not("came").alias("before"), _not("left").alias("after")
    )
    rows = sorted(tuple(row) for row in beats.collect())
    return Pulse(*zip(*rows, strict=True)) if rows else Pulse()


def _not(name: str) -> "Column":
    return functions.count(functions.when(~functions.col(name), 1))


def _micros() -> "Column":
    return functions.expr(MICROS)
