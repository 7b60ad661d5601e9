"""A source of which only a stretch of time is looked at, whatever kind of source it is."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from gamewarden.contracts import (
    Bounds,
    EventStream,
    Fingerprint,
    LogSource,
    MessageStream,
    PacketStream,
    PartedEvents,
    RowStream,
    Source,
    StreamKind,
)
from gamewarden.core.time_ranges import TimeRange
from gamewarden.errors import ReadError
from gamewarden.streams import EventsOfRange, MessagesOfRange, PacketsOfRange, PartedEventsOfRange, newest


def limited(source: Source, asked: TimeRange) -> Source:
    """The source, or a stretch of it where one is asked for."""
    return SourceOfRange(source, asked) if asked.asks else source


class SourceOfRange:
    """A source without the events, packets and messages outside a stretch of time.

    Where the stretch is counted back from the newest row, a lake's parts say when that was; any other source is read
    once for it.
    """

    def __init__(self, source: Source, asked: TimeRange) -> None:
        self._source = source
        self._asked = asked
        self._range = cache(self._counted_back)

    @property
    def name(self) -> str:
        """That of the source."""
        return self._source.name

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """What the source can be read as."""
        return self._source.kinds

    @property
    def sure(self) -> bool:
        """As the source says."""
        return self._source.sure

    @property
    def nameable(self) -> bool:
        """As the source says."""
        return self._source.nameable

    @property
    def flags(self) -> tuple[str, ...]:
        """What the source needs, and the stretch as moments, so that it is the same when there are newer rows."""
        return (*self._source.flags, *self._range("events").flags)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the source."""
        return self._source.columns

    @property
    def parts(self) -> Sequence[Source]:
        """The files of a folder, of the same stretch all of them."""
        return [SourceOfRange(part, self._range("messages")) for part in self._source.parts]

    def fingerprint(self) -> Fingerprint:
        """What the source holds, outside the stretch too."""
        return self._source.fingerprint()

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Its events of the stretch."""
        found = self._range("events")
        return EventsOfRange(self._source.events(*found.met(since, until), actors), found)

    def parted(self) -> PartedEvents | None:
        """Its events of the stretch where parts of their time can be read alone."""
        events = self._source.parted()
        if events is None:
            return None
        found = self._range("events")
        return PartedEventsOfRange(events.between(*found.micros), found)

    def log(self) -> LogSource:
        """Refused."""
        raise ReadError(f"{self.name}: a lake takes a log whole; leave since, until and last out")

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """Its packets of the stretch."""
        return PacketsOfRange(self._source.packets(bounds), self._range("packets"))

    def messages(self, *, strict: bool = False) -> MessageStream:
        """Its messages of the stretch."""
        return MessagesOfRange(self._source.messages(strict=strict), self._range("messages"))

    def rows(self) -> RowStream:
        """Refused: they have no time."""
        raise ReadError(f"{self.name}: rows of an account table have no time; leave --since, --until and --last out")

    def _counted_back(self, kind: StreamKind) -> TimeRange:
        if not self._asked.needs_newest:
            return self._asked.counted_back(None)
        if self.name == "-" or (self.nameable and Path(self.name).is_fifo()):
            raise ReadError(f"{self.name}: is read only once, and --last needs its newest row first; give --since")
        return self._asked.counted_back(self._newest(kind))

    def _newest(self, kind: StreamKind) -> int | None:
        if kind == "packets":
            return newest(self._source.packets().batches())
        if kind == "messages":
            return newest(self._source.messages().batches(("at",)))
        parted = self._source.parted()
        if parted is None:
            return newest(self._source.events().batches(("at",)))
        return max((last for _, last in parted.stretches), default=None)
