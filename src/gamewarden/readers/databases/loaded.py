"""Tables of a dump or of exports, put into a database of our own: from there on they are read as any other is."""

import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Self
from weakref import finalize
from zoneinfo import ZoneInfo

from gamewarden.core.outside import visible
from gamewarden.errors import ReadError
from gamewarden.readers.databases.database import Clock, Database, TableAt
from gamewarden.readers.databases.dump_tables import Column
from gamewarden.readers.databases.dump_values import Convert, Value
from gamewarden.readers.servers.preset import LogTable

# Where nobody knows when levels were so, no event is of the day before.
_UNKNOWN = datetime(9999, 1, 1, tzinfo=UTC)
_FILE = "tables.db"


@dataclass(frozen=True)
class StoredTable:
    """A table, and what it is called in our database: its own name may be anything."""

    name: str
    stored: str
    columns: tuple[Column, ...]
    logged: LogTable | None = None  # what is known of it, where it is a log
    origin: str = ""  # the database or schema that it was in

    @property
    def taken(self) -> frozenset[str]:
        """The columns whose values are of use."""
        if self.logged is None:
            return frozenset(column.name for column in self.columns)
        return frozenset({*self.logged.read, *self.logged.may})

    @property
    def ordered(self) -> str | None:
        """The column that it is read by."""
        return None if self.logged is None else self.logged.key or self.logged.time


class Scratch:
    """Our database while it is filled; what fails leaves nothing behind."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.file = Path(mkdtemp(prefix="gamewarden-tables-")) / _FILE
        self._connection = sqlite3.connect(self.file, isolation_level=None)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cell_size_check = OFF"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, _error: object, _trace: object) -> None:
        self._connection.close()
        if kind is not None:
            shutil.rmtree(self.file.parent, ignore_errors=True)

    def create(self, table: StoredTable) -> None:
        """A table without rows; its columns have no types, so that each value stays what it is."""
        names = ", ".join(quoted(column.name) for column in table.columns)
        with self._telling():
            self._connection.execute(f"CREATE TABLE {table.stored} ({names})")

    def drop(self, table: StoredTable) -> None:
        """Without a table."""
        with self._telling():
            self._connection.execute(f"DROP TABLE {table.stored}")

    def add(self, table: StoredTable, names: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
        """Rows of some of a table's columns.

        Raises:
            ReadError: they cannot be kept.
        """
        columns, places = ", ".join(map(quoted, names)), ", ".join("?" * len(names))
        with self._telling():
            self._connection.executemany(f"INSERT INTO {table.stored} ({columns}) VALUES ({places})", rows)  # noqa: S608  our own names, and quoted ones

    def finish(self, tables: Iterable[StoredTable]) -> None:
        """All rows are there."""
        with self._telling():
            for table in tables:
                if table.ordered in {column.name for column in table.columns}:
                    self._connection.execute(
                        f"CREATE INDEX {table.stored}_order ON {table.stored} ({quoted(str(table.ordered))})"
                    )
            self._connection.execute("COMMIT")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            raise ReadError(f"{self._name}: cannot be put into a temporary database ({visible(str(error))})") from error


@dataclass
class LoadedDatabase(Database):
    """A database of our own, in place of the one that its tables came from."""

    called: str = ""
    tables: Mapping[str, StoredTable] = field(default_factory=dict)
    written: datetime | None = None  # when its tables were so, by the server's clock
    time_zone: str | None = None  # in which that clock stood

    @property
    def name(self) -> str:
        """What the lake and messages call it."""
        return self.called

    @cached_property
    def places(self) -> Mapping[str, TableAt]:
        """Its tables."""
        return {name: TableAt(None, table.stored) for name, table in self.tables.items()}

    def columns(self, name: str) -> Mapping[str, str]:
        """A table's columns with their types, as they were declared."""
        return {column.name: column.type for column in self.tables[name].columns} if name in self.tables else {}

    def now(self) -> Clock:
        """When its tables were so: for it there is no later time."""
        if self.written is None or self.time_zone is None:
            return Clock(_UNKNOWN, _UNKNOWN.replace(tzinfo=None))
        with suppress(OverflowError):
            return Clock(self.written.replace(tzinfo=ZoneInfo(self.time_zone)).astimezone(UTC), self.written)
        return Clock(_UNKNOWN, _UNKNOWN.replace(tzinfo=None))

    def __post_init__(self) -> None:
        """The file goes when nobody has the database any more."""
        if self.file is not None:
            finalize(self, shutil.rmtree, self.file.parent, ignore_errors=True)


def quoted(name: str) -> str:
    """A name as SQLite takes any."""
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def whole_key(convert: Convert, where: str) -> Convert:
    """The same for a column that rows are ordered by, which must be a whole number in each."""

    def checked(token: bytes) -> Value:
        value = convert(token)
        if not isinstance(value, int):
            shown = visible(token[:40].decode(errors="replace"))
            raise ReadError(f"{where} is {shown}, and must be a whole number in every row")
        return value

    return checked
