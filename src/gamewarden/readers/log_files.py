"""Several files as one source: those of a pattern, of a directory of logs, of a dataset, here or in a store."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from gamewarden.contracts import EventStream, Fingerprint, LogSource, MessageStream, StreamKind, canonical_json
from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.readers import Locator
from gamewarden.readers.captures.packets import is_capture
from gamewarden.readers.files import LogFile, file_digest
from gamewarden.readers.logs.shapes import peek
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.places import Place, not_empty, places
from gamewarden.readers.ragnarok.messages import is_packetstream
from gamewarden.sources import PlainSource


class LogFiles(PlainSource):
    """Files of which each is a log, or else each what clients said; they are read one after the other."""

    kinds: tuple[StreamKind, ...] = ("events", "messages")
    sure = False
    is_a = "is several files"

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        self._places = not_empty(places(str(locator)) if isinstance(locator, Path) else _places(locator))
        first = self._places[0].name
        super().__init__(str(locator) if isinstance(locator, Path) else f"{first} and {len(self._places) - 1:,} more")
        self.options = options

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it is several places that were listed, or a directory with nothing but tables."""
        if isinstance(locator, Path):
            return locator.is_dir() and _holds_tables(locator)
        return isinstance(locator, Sequence) and bool(locator) and all(isinstance(one, Place) for one in locator)

    @cached_property
    def parts(self) -> Sequence[LogFile]:
        """Its files."""
        return [LogFile(place, self.options) for place in self._places]

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of its first file."""
        return self.parts[0].columns

    def fingerprint(self) -> Fingerprint:
        """A digest of the files' names and bytes."""
        files = sorted([part.path.name, file_digest(part.path)] for part in self.parts)
        return Fingerprint("folder", self.name, hashlib.sha256(canonical_json(files).encode()).hexdigest())

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """The events of all files, one after the other.

        Raises:
            ReadError: one of them is no log, or cannot be read.
        """
        return JoinedEvents({part.name: part.events(since, until, actors) for part in self.parts})

    def log(self) -> LogSource:
        """Refused: each of its files is a log of its own."""
        raise ReadError(f"{self.name}: {counted(len(self._places), 'file')} cannot be one log; read each of them")

    def messages(self, *, strict: bool = False) -> MessageStream:
        """The messages of all files, one after the other.

        Raises:
            ReadError: one of them holds none, or the message table cannot be read.
            ConfigError: a capture without a port, or a version the table does not have.
        """
        from gamewarden.readers.ragnarok.joined import JoinedMessages

        return JoinedMessages({part.name: part.messages(strict=strict) for part in self.parts})


class JoinedEvents:
    """The events of several sources, one after the other."""

    def __init__(self, streams: Mapping[str, EventStream]) -> None:
        self._streams = streams

    @property
    def columns(self) -> frozenset[str]:
        """Those that any of them has."""
        return frozenset[str]().union(*(stream.columns for stream in self._streams.values()))

    @property
    def rows(self) -> int | None:
        """Theirs together, where each knows its own."""
        counts = [stream.rows for stream in self._streams.values()]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading of each has to say."""
        return tuple(f"{name}: {line}" for name, stream in self._streams.items() for line in stream.notes)

    @property
    def shows(self) -> Mapping[str, int] | None:
        """The kinds that any of them can show, and how many events they have of each."""
        kinds: Counter[str] = Counter()
        for stream in self._streams.values():
            shown = stream.shows
            if shown is None:
                return None
            kinds.update(shown)
        return kinds

    @cached_property
    def coverage(self) -> Coverage | None:
        """When they were there, taken together."""
        return Pulse.of(self.whole.batches(("actor", "at", "kind"))).coverage()

    @property
    def whole(self) -> EventStream:
        """The whole of each."""
        return JoinedEvents({name: stream.whole for name, stream in self._streams.items()})

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Source by source."""
        for stream in self._streams.values():
            yield from stream.batches(columns)


def _places(locator: Locator) -> list[Place]:
    if not isinstance(locator, Sequence):
        raise ReadError(f"{type(locator).__name__}: is no list of files; name several")
    return [one if isinstance(one, Place) else Place(one) for one in locator]


def _holds_tables(directory: Path) -> bool:
    """Whether every file of a directory is a table."""
    try:
        return all(_is_table(place) for place in not_empty(places(str(directory))))
    except ReadError:
        return False


def _is_table(place: Place) -> bool:
    """Whether its columns can be told.

    Raises:
        ReadError: they cannot.
    """
    return not is_capture(place.file) and not is_packetstream(place.file) and bool(peek(place.file).names)
