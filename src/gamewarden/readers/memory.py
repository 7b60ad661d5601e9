"""A table that already stands in memory as a source: what it can be read as, its columns say."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Self, TypeGuard

import polars as pl

from gamewarden.contracts import (
    Bounds,
    EventStream,
    Fingerprint,
    MessageStream,
    PacketStream,
    RowStream,
    StreamKind,
    frame_digest,
)
from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.errors import ConfigError, ReadError, TableError
from gamewarden.readers import ArrowTable, Locator
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.timestamps import NO_ZONE, TimeReader
from gamewarden.sources import PlainSource
from gamewarden.streams import of_actors, within
from gamewarden.tables import (
    EVENTS,
    MESSAGES,
    PACKETS,
    TIME,
    FrameEvents,
    FrameMessages,
    FramePackets,
    FrameRows,
    Schema,
    check,
    first_line,
)

_TABLES: Mapping[StreamKind, Schema] = {"events": EVENTS, "packets": PACKETS, "messages": MESSAGES}


class TableInMemory(PlainSource):
    """A table of Polars, pandas, Arrow or whoever else hands over Arrow columns."""

    sure = False
    nameable = False
    is_a = "is a table in memory"

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        super().__init__("table in memory")
        self.frame = _frame_of(locator)
        self.options = options

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it hands over Arrow columns."""
        return _is_table(locator)

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """Those whose columns are all there; it always is a table."""
        named = [kind for kind, table in _TABLES.items() if set(table.required) <= set(self.frame.columns)]
        return (*named, "table")

    @property
    def columns(self) -> tuple[str, ...]:
        """Its own."""
        return tuple(self.frame.columns)

    @property
    def parts(self) -> Sequence[Self]:
        """Itself alone."""
        return (self,)

    def fingerprint(self) -> Fingerprint:
        """A digest of its values, whatever the order of its rows."""
        return Fingerprint("table", self.name, frame_digest(self.frame))

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Its rows as EVENTS.

        Raises:
            ReadError: a column is missing, or does not convert.
        """
        some = within(EventsInMemory(self._as("events")), since, until)
        return some if actors is None else of_actors(some, actors)

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """Its rows as PACKETS; they are all there, so that nothing bounds them."""
        del bounds
        return FramePackets(self._as("packets"))

    def messages(self, *, strict: bool = False) -> MessageStream:
        """Its rows as MESSAGES, decoded already."""
        del strict
        return FrameMessages(self._as("messages"))

    def rows(self) -> RowStream:
        """Its rows as they are."""
        return FrameRows(self.frame, self.name)

    def _as(self, kind: StreamKind) -> pl.DataFrame:
        if self.options.logs.mapping is not None:
            raise ConfigError(f"{self.name}: takes no mapping; rename its columns, and leave the mapping to files")
        try:
            return check(self._timed(), _TABLES[kind], self.name)
        except TableError as error:
            raise ReadError(str(error)) from error

    def _timed(self) -> pl.DataFrame:
        """With its times in UTC, however they are written."""
        if "at" not in self.frame.columns or self.frame.schema["at"] == TIME:
            return self.frame
        moments = TimeReader(time_zone=self.options.logs.time_zone).read(self.frame["at"])
        if NO_ZONE in moments.faults and moments.faults[NO_ZONE].any():
            raise ReadError(f"{self.name}: a time in 'at' has no zone; name it as time_zone in the options of logs")
        return self.frame.with_columns(moments.at.alias("at"))


class EventsInMemory(FrameEvents):
    """Events in memory that say what they show and when they were there, as those of a file do."""

    @cached_property
    def shows(self) -> Mapping[str, int]:
        """The kinds among them."""
        return dict(self.frame["kind"].value_counts().sort("kind").iter_rows())

    @cached_property
    def coverage(self) -> Coverage:
        """When they were there."""
        return Pulse.of(self.batches(("actor", "at", "kind"))).coverage()


def _is_table(locator: object) -> TypeGuard[ArrowTable]:
    return hasattr(locator, "__arrow_c_stream__")


def _frame_of(locator: Locator) -> pl.DataFrame:
    if not _is_table(locator):
        raise ReadError(f"{type(locator).__name__}: is no table in memory; give one of Polars, pandas or Arrow")
    try:
        return pl.DataFrame(locator)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise ReadError(f"table in memory: cannot be taken over ({first_line(error)}); convert it to Arrow") from error
