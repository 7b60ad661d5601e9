"""The events of one account on one day, read from the lake once for all that a page shows of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Entity, PartedEvents
from gamewarden.core.durations import to_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.memory import looks_of
from gamewarden.store.lake import Lake
from gamewarden.store.manifest import MANIFEST
from gamewarden.streams import only
from gamewarden.tables import EVENTS, FrameEvents

MOST_ROWS = 1_000_000  # of one account on one day that are held at once


@dataclass(frozen=True)
class DayEvents:
    """The events of one account in [since, until), in the order of time."""

    frame: pl.DataFrame  # EVENTS
    columns: frozenset[str]  # that the lake's sources have at all
    cut: bool = False  # there are more than can be shown

    def stream(self) -> FrameEvents:
        """For whoever measures them."""
        return FrameEvents(self.frame)


def look(desk: Desk) -> object:
    """What changes whenever the lake does."""
    return looks_of(desk.workspace.lake / MANIFEST)


def events_of(desk: Desk, actor: str, since: datetime, until: datetime, entity: Entity = "actor") -> DayEvents:
    """What an account did in a time; nothing where there is no lake, or its events are gone.

    Raises:
        ReadError: a part of the lake is missing or damaged.
    """
    key = look(desk), actor, since, until, entity
    return desk.memory.of("events", key, partial(_read, desk, actor, since, until, entity), most=6)


def lake_between(desk: Desk, since: datetime, until: datetime) -> PartedEvents | None:
    """All events of a time; None where there is no lake."""
    lake = desk.workspace.lake
    return Lake(lake).events().between(to_micros(since), to_micros(until)) if Lake.is_at(lake) else None


def _read(desk: Desk, actor: str, since: datetime, until: datetime, entity: Entity) -> DayEvents:
    nothing = pl.DataFrame(schema=dict(EVENTS.columns))
    lake = desk.workspace.lake
    if not Lake.is_at(lake):
        return DayEvents(nothing, frozenset())
    events = Lake(lake).events().between(to_micros(since), to_micros(until))
    mine = events.of([actor]) if entity == "actor" else only(events, entity, actor)
    parts = list(_up_to(mine.batches(tuple(EVENTS.columns)), MOST_ROWS))
    rows = pl.concat([nothing, *parts]).sort("at", "seq", maintain_order=True)
    return DayEvents(rows.head(MOST_ROWS), events.columns, rows.height > MOST_ROWS)


def _up_to(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pl.DataFrame]:
    """The rows of batches, until there are more than so many."""
    seen = 0
    for batch in batches:
        frame = pl.DataFrame(pl.from_arrow(batch))
        yield frame.select(pl.col(name).cast(kind) for name, kind in EVENTS.columns.items())
        seen += batch.num_rows
        if seen > most:
            return
