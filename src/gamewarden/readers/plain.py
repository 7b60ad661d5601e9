"""A file of events that is read whole: what a reader of a game's own format needs, so that it says only its rows."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property
from io import BytesIO
from typing import ClassVar

import polars as pl

from gamewarden.contracts import Content, EventStream, Fingerprint, StreamKind, digest
from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.readers import Locator
from gamewarden.readers.compression import Unpacked, content_in
from gamewarden.readers.files import file_digest, is_file_locator, path_of
from gamewarden.readers.memory import EventsInMemory
from gamewarden.readers.options import SourceOptions
from gamewarden.sources import PlainSource
from gamewarden.streams import of_actors, within
from gamewarden.tables import EVENTS

_NEEDED = {"actor": "no actor", "at": "no time that can be read", "kind": "no kind"}


class PlainFile(PlainSource, ABC):
    """A file of events, told by the ending of its name; a reader of one overrides `table`.

    All of it is held in memory, a few hundred bytes per event; one that shall read more gives streams of its own.
    """

    suffix: ClassVar[str]  # of its name, such as .ticks
    version: ClassVar[int] = 1  # counts up when the same bytes become other rows: a lake then refuses to mix them
    kinds: tuple[StreamKind, ...] = ("events",)

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        super().__init__(str(locator))
        self.path = path_of(locator)
        self.options = options

    @abstractmethod
    def table(self, data: bytes) -> pl.DataFrame:
        """The file's rows in its order as columns of EVENTS: actor, at, kind and whichever else there are.

        A row without one of these three is left out and counted.
        """

    @classmethod
    def matches(cls, locator: Locator) -> bool:
        """Whether its name ends so."""
        return is_file_locator(locator) and path_of(locator).suffix == cls.suffix

    def fingerprint(self) -> Fingerprint:
        """The SHA-256 of its bytes."""
        return Fingerprint("file", self.path.name, file_digest(self.path))

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Its rows as events.

        Raises:
            ReadError: it cannot be read, or too many of its rows are bad.
        """
        some = within(self._read, since, until)
        return some if actors is None else of_actors(some, actors)

    def log(self) -> "FileEvents":
        """The same, to be known again when they come a second time."""
        return self._read

    @cached_property
    def _read(self) -> "FileEvents":
        with Unpacked(self.path) as stream:
            data = b"".join(iter(lambda: stream.read(1 << 20), b""))
        rows = self.table(data)
        if missing := [name for name in _NEEDED if name not in rows.columns]:
            raise ReadError(f"{self.name}: its reader gives no {', '.join(missing)}; mend {type(self).__module__}")
        numbered = rows if "seq" in rows.columns else rows.with_row_index("seq")
        kept, notes = self._kept(numbered)
        recipe = digest(f"{type(self).__module__}:{type(self).__qualname__}", str(self.version))
        return FileEvents(kept, self.name, data, recipe, notes, own_seq="seq" in rows.columns)

    def _kept(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """The rows that can be used, and how many cannot and why."""
        kept, notes = rows.with_row_index("place", 1), []
        reasons = {why: pl.col(name).is_null() for name, why in _NEEDED.items()} | self.options.logs.plausible.beyond
        for why, unfit in reasons.items():
            out, kept = kept.filter(unfit), kept.filter(~unfit)
            notes += (
                [f"{counted(out.height, 'row')} left out: {why}, first row {out['place'][0]:,}"] if out.height else []
            )
        bad = rows.height - kept.height
        if bad and (not kept.height or bad > self.options.logs.max_bad_share * rows.height):
            raise ReadError(
                f"{self.name}: {bad:,} of {rows.height:,} rows are bad ({'; '.join(notes)}); mend them, or allow more "
                "by --max-bad-share"
            )
        return kept, tuple(notes)


class FileEvents(EventsInMemory):
    """The events of a file that a lake can take in and know again."""

    promised: frozenset[str] = frozenset()
    time_zone: str | None = None
    stretch = None

    def __init__(
        self, frame: pl.DataFrame, name: str, data: bytes, recipe: str, notes: tuple[str, ...], *, own_seq: bool
    ) -> None:
        super().__init__(frame.select(column for column in EVENTS.columns if column in frame.columns))
        self.name = name
        self.recipe = recipe
        self.notes = notes
        self.own_seq = own_seq
        self._data = data

    def content(self, beginnings: Sequence[int] = ()) -> Content:
        """A digest of the bytes that the rows were made from."""
        return content_in(BytesIO(self._data), beginnings)
