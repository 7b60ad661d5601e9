"""A source of which only a stretch of time is looked at, whatever kind of source it is."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from gamewarden.contracts import (
    Bounds,
    EventStream,
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
from gamewarden.sources import SourceView
from gamewarden.streams import EventsOfRange, MessagesOfRange, PacketsOfRange, PartedEventsOfRange, newest


def limited(source: Source, asked: TimeRange) -> Source:
    """The source, or a stretch of it where one is asked for."""
    return SourceOfRange(source, asked) if asked.asks else source


class SourceOfRange(SourceView):
    """A source without the events, packets and messages outside a stretch of time.

    Where the stretch is counted back from the newest row, a lake's parts say when that was; any other source is read
    once for it.
    """

    def __init__(self, source: Source, asked: TimeRange) -> None:
        super().__init__(source)
        self._asked = asked
        self._range = cache(self._counted_back)

    @property
    def flags(self) -> tuple[str, ...]:
        """What the source needs, and the stretch as moments, so that it is the same when there are newer rows."""
        return (*self.source.flags, *self._range("events").flags)

    @property
    def parts(self) -> Sequence[Source]:
        """The files of a folder, of the same stretch all of them."""
        return [SourceOfRange(part, self._range("messages")) for part in self.source.parts]

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Its events of the stretch."""
        found = self._range("events")
        return EventsOfRange(self.source.events(*found.met(since, until), actors), found)

    def parted(self) -> PartedEvents | None:
        """Its events of the stretch where parts of their time can be read alone."""
        events = self.source.parted()
        if events is None:
            return None
        found = self._range("events")
        return PartedEventsOfRange(events.between(*found.micros), found)

    def log(self) -> LogSource:
        """Refused."""
        raise ReadError(f"{self.name}: a lake takes a log whole; leave since, until and last out")

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """Its packets of the stretch."""
        return PacketsOfRange(self.source.packets(bounds), self._range("packets"))

    def messages(self, *, strict: bool = False) -> MessageStream:
        """Its messages of the stretch."""
        return MessagesOfRange(self.source.messages(strict=strict), self._range("messages"))

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
            return newest(self.source.packets().batches())
        if kind == "messages":
            return newest(self.source.messages().batches(("at",)))
        parted = self.source.parted()
        if parted is None:
            return newest(self.source.events().batches(("at",)))
        return max((last for _, last in parted.stretches), default=None)
