"""The database of a game server as a source: its log tables as one log that grows without end."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

import polars as pl
import pyarrow as pa

from gamewarden.contracts import (
    Content,
    EventStream,
    Fingerprint,
    LogSource,
    Remembered,
    StreamKind,
    Stretch,
    canonical_json,
    digest,
    nobody_remembered,
)
from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.core.database_urls import Address
from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers import Locator, servers
from gamewarden.readers.compression import Content as FileContent
from gamewarden.readers.databases.cursors import KeyReached, Reached
from gamewarden.readers.databases.database import Asked, Database
from gamewarden.readers.databases.increments import Increments, Piece
from gamewarden.readers.databases.mapped import preset_of_mapping
from gamewarden.readers.databases.readable import Refused, readable
from gamewarden.readers.logs.mapping import LogMap, load_mapping
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.servers.preset import LogTable, Preset
from gamewarden.sources import PlainSource
from gamewarden.streams import PlainEvents, of_actors, within
from gamewarden.tables import EVENTS, EVENTS_ARROW, kinds_in

RECENT = 20_000  # rows of a table that a first look reads
_UTC = ("UTC", "Etc/UTC", "GMT", "+00:00", "Universal", "Zulu")


class DatabaseSource(PlainSource):
    """All log tables of a game's database that we know how to read, as one source."""

    kinds: tuple[StreamKind, ...] = ("events",)
    is_a = "is a database"

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        if not isinstance(locator, Address):
            raise ReadError(f"{locator}: is no database; write mysql://user@host/name")
        self.options = options
        self._address = locator
        table = None if self.mapping is None else self.mapping.table
        super().__init__(locator.name if table is None else f"{locator.name}/{table}")

    @cached_property
    def mapping(self) -> LogMap | None:
        """What a mapping file says of one of its tables; None where a server that we know wrote them.

        Raises:
            ConfigError: there is no such mapping.
        """
        named = self.options.logs.mapping
        if named is None or named in servers.NAMES:
            return None
        try:
            return load_mapping(named)
        except ConfigError as error:
            if Path(named).exists():
                raise
            known = ", ".join(sorted(servers.NAMES))
            raise ConfigError(f"{visible(named)}: is neither a server ({known}) nor a mapping file") from error

    @cached_property
    def database(self) -> Database:
        """Where its rows are read from."""
        return Database(self._address, self.options.databases)

    @property
    def _looked_at(self) -> Database:
        """Where it is seen which tables there are."""
        return self.database

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it is the URL of a database."""
        return isinstance(locator, Address)

    @property
    def flags(self) -> tuple[str, ...]:
        """The preset, where one was named."""
        return () if self.options.logs.mapping is None else ("--map", self.options.logs.mapping)

    @cached_property
    def preset(self) -> Preset:
        """What wrote the database: as somebody said, else told from its tables.

        Raises:
            ReadError: nobody knows.
            ConfigError: there is no such preset.
        """
        if self.mapping is not None:
            return preset_of_mapping(self.mapping, self._looked_at, self.options.logs.time_zone)
        if (named := self.options.logs.mapping) is not None:
            return servers.load(named)
        found = servers.preset_of(self._looked_at)
        if found is None:
            some = visible(", ".join(sorted(self._looked_at.places)[:8])) or "none"
            raise ReadError(
                f"{self.name}: its tables ({some} …) are of no server that we know; name the preset with --map "
                f"({', '.join(sorted(servers.NAMES))}), or write a mapping file with [table] for one of them"
            )
        return found

    @cached_property
    def time_zone(self) -> str | None:
        """Where the clock stood that wrote local times: as somebody said, or UTC where the database is on it.

        Raises:
            ReadError: a table has local times, and nobody said where they were written.
        """
        said = self.options.logs.time_zone or (None if self.mapping is None else self.mapping.time_zone)
        local = next((one for one in self.tables if self._is_local(one)), None)
        if said is not None or local is None:
            return said
        clock = self.database.clock
        if clock.zone in _UTC:
            return "UTC"
        told = f" (its clock says {clock.zone}, {_ahead(clock.ahead.total_seconds() / 3600)})" if clock.zone else ""
        raise ReadError(
            f"{self.name}: {local.name}.{local.time} is written in the server's local time{told}; name its zone with "
            "--time-zone, such as Europe/Berlin"
        )

    def _is_local(self, table: LogTable) -> bool:
        written = self.database.columns(table.name).get(table.time, "").upper()
        return (
            table.format == "auto"
            and "INT" not in written
            and "TIME ZONE" not in written.replace("WITHOUT TIME ZONE", "")
        )

    @cached_property
    def _readable(self) -> tuple[tuple[LogTable, ...], tuple[Refused, ...]]:
        return readable(self.database, self.preset)

    @property
    def tables(self) -> tuple[LogTable, ...]:
        """Its tables that are read.

        Raises:
            ReadError: none can be read.
        """
        tables, refused = self._readable
        if not tables:
            why = "; ".join(str(one) for one in refused) or f"it has no log table of {self.preset.title}"
            raise ReadError(f"{self.name}: nothing can be read of it: {why}")
        return tables

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Its tables that are left alone, and why."""
        return self._readable[1]

    @cached_property
    def promised(self) -> frozenset[str]:
        """The kinds that its tables can give, as the server is set up."""
        kinds = frozenset[str]().union(*(one.kinds - one.muted(self.database) for one in self.tables))
        return kinds | ({"session.login", "session.logout"} if self.preset.sessions else set())

    @property
    def recipe(self) -> str:
        """Names all that decides what a row becomes."""
        return digest(canonical_json(["database", self.preset.name, self.preset.version, self.time_zone]))

    def fingerprint(self) -> Fingerprint:
        """Which database it is: what it holds changes with every moment."""
        return Fingerprint("database", self.name, hashlib.sha256(self.name.encode()).hexdigest())

    def pieces(self, reached: str, remembered: Remembered = nobody_remembered) -> Iterator[LogSource]:
        """What came since, in pieces.

        Raises:
            ReadError: the database does not answer, or a time zone has to be named.
        """
        logs = self.options.logs
        who = remembered if reached else nobody_remembered  # of a game that was never read nobody remembers anything
        increments = Increments(
            self.database, self.preset, self.tables, self.time_zone, logs.plausible, logs.max_bad_share, who
        )
        try:
            for piece in increments.pieces(reached):
                yield PieceLog(self, piece)
        finally:
            self.database.close()

    def log(self) -> LogSource:
        """Refused: it has no end."""
        raise ReadError(f"{self.name}: is a database, which is read into a lake piece by piece")

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """All of its events, from the first row on."""
        some = within(DatabaseEvents(self), since, until)
        return some if actors is None else of_actors(some, actors)

    def recent(self, rows: int = RECENT) -> EventStream:
        """The events of the last so many rows of each table."""
        reached = {
            table.name: KeyReached(max(int(last[0][0]) - rows, 0), max(int(last[0][0]) - rows, 0))
            for table in self.tables
            if table.key
            and (last := self.database.rows(table.name, Asked((table.key,), table.key, limit=1, latest=True)))
        }
        return DatabaseEvents(self, str(Reached(reached)))

    def profiles(self) -> pl.DataFrame:
        """PROFILES of its accounts, as they are now."""
        try:
            return self.preset.profiles(self.database)
        finally:
            self.database.close()


class PieceLog(PlainEvents):
    """A piece of a database's log on its way into a lake."""

    own_seq = True

    def __init__(self, source: DatabaseSource, piece: Piece) -> None:
        self.name, self.recipe, self.promised = source.name, source.recipe, source.promised
        self.time_zone = source.time_zone
        self._piece = piece
        self._refused = source.refused
        self.stretch = Stretch(piece.before, piece.after)

    @property
    def columns(self) -> frozenset[str]:
        """All that a database can tell."""
        return frozenset(EVENTS.columns)

    @property
    def rows(self) -> int:
        """Its events."""
        return self._piece.events.height

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of it."""
        return (*(str(one) for one in self._refused), *self._piece.notes)

    def content(self, beginnings: Sequence[int] = ()) -> Content:
        """Known by where it stands, not by its bytes."""
        del beginnings
        return FileContent(hashlib.sha256(f"{self.name}\0{self._piece.after}".encode()).hexdigest(), 0, True, {})

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its events."""
        yield from batches_of(self._piece.events, columns)


class DatabaseEvents(PlainEvents):
    """All events of a database, from its first row on; as it grows, a later reading gives more."""

    def __init__(self, source: DatabaseSource, reached: str = "") -> None:
        self._source = source
        self._reached = reached
        self._notes: tuple[str, ...] = ()
        self._kinds: dict[str, int] | None = None

    @property
    def columns(self) -> frozenset[str]:
        """All that a database can tell."""
        return frozenset(EVENTS.columns)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading left out."""
        return self._notes

    @property
    def shows(self) -> Mapping[str, int]:
        """The kinds that its tables can give, and how many events there are of each."""
        if self._kinds is None:
            for _ in self.batches(("kind",)):
                pass
        return dict.fromkeys(self._source.promised, 0) | (self._kinds or {})

    @cached_property
    def coverage(self) -> Coverage:
        """When it was there."""
        return Pulse.of(self.batches(("actor", "at", "kind"))).coverage()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its events, piece by piece."""
        kinds: dict[str, int] = {}
        notes: dict[str, None] = {}
        for piece in self._source.pieces(self._reached):
            notes.update(dict.fromkeys(piece.notes))
            self._notes = tuple(notes)
            for batch in piece.batches(tuple(dict.fromkeys([*columns, "kind"]))):
                for kind, count in kinds_in(batch.column("kind")).items():
                    kinds[kind] = kinds.get(kind, 0) + count
                yield batch.select(list(columns))
        self._kinds = kinds


def batches_of(events: pl.DataFrame, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A frame of EVENTS as batches of some of its columns."""
    whole = events.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
    schema = pa.schema([EVENTS_ARROW.field(name) for name in columns])
    yield from whole.cast(schema).combine_chunks().to_batches()


def _ahead(hours: float) -> str:
    if not hours:
        return "UTC by now"
    return f"{abs(hours):g} h {'ahead of' if hours > 0 else 'behind'} UTC"
