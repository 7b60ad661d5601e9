"""What a source is that can be read as nothing: whoever opens one says what it can be read as instead."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import ClassVar, NoReturn, Self

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
from gamewarden.errors import ReadError

_FROM = {
    "events": "events are read from a log or a lake",
    "packets": "packets are read from a capture or a packet log",
    "messages": "messages are read from a packetstream, a capture or a folder of them",
    "table": "an account table is one CSV, JSON Lines or Parquet file",
}


class PlainSource:
    """A source that refuses every kind of stream, in words; a real one overrides those it can give."""

    is_a: ClassVar[str]  # what it is, in the words of a refusal

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """None."""
        return ()

    @property
    def sure(self) -> bool:
        """It is what it is."""
        return True

    @property
    def nameable(self) -> bool:
        """By its name."""
        return True

    @property
    def flags(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def parts(self) -> Sequence[Source] | tuple[Self]:
        """Itself alone."""
        return (self,)

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Refused."""
        del since, until, actors
        self._refuse("events")

    def parted(self) -> PartedEvents | None:
        """None: it has no parts."""
        return None

    def log(self) -> LogSource:
        """Refused."""
        raise ReadError(f"{self.name}: {self.is_a}, not a log file; name the files to read")

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """Refused."""
        del bounds
        self._refuse("packets")

    def messages(self, *, strict: bool = False) -> MessageStream:
        """Refused."""
        del strict
        self._refuse("messages")

    def rows(self) -> RowStream:
        """Refused."""
        self._refuse("table")

    def _refuse(self, kind: StreamKind) -> NoReturn:
        raise ReadError(f"{self.name}: {self.is_a}; {_FROM[kind]}")


class SourceView:
    """A source seen through something: all of it is that of the source behind, but for what a view changes."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """What the source can be read as."""
        return self.source.kinds

    @property
    def sure(self) -> bool:
        """As the source says."""
        return self.source.sure

    @property
    def name(self) -> str:
        """That of the source."""
        return self.source.name

    @property
    def nameable(self) -> bool:
        """As the source."""
        return self.source.nameable

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of the source."""
        return self.source.flags

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the source."""
        return self.source.columns

    @property
    def parts(self) -> Sequence[Source]:
        """Those of the source."""
        return self.source.parts

    def fingerprint(self) -> Fingerprint:
        """What the source holds."""
        return self.source.fingerprint()

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Those of the source."""
        return self.source.events(since, until, actors)

    def parted(self) -> PartedEvents | None:
        """Those of the source."""
        return self.source.parted()

    def log(self) -> LogSource:
        """That of the source."""
        return self.source.log()

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """Those of the source."""
        return self.source.packets(bounds)

    def messages(self, *, strict: bool = False) -> MessageStream:
        """Those of the source."""
        return self.source.messages(strict=strict)

    def rows(self) -> RowStream:
        """Those of the source."""
        return self.source.rows()
