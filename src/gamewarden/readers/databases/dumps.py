"""What mysqldump, mariadb-dump, phpMyAdmin or pg_dump wrote of a game's database, as a source like the database."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Protocol

from gamewarden.contracts import Fingerprint
from gamewarden.core.database_urls import Address
from gamewarden.core.outside import cut, visible
from gamewarden.errors import ReadError
from gamewarden.readers import Locator
from gamewarden.readers.compression import EndsEarly, Unpacked
from gamewarden.readers.databases import dump_values
from gamewarden.readers.databases.dump_tables import NAME, Column, columns_in, names_in, plain_name
from gamewarden.readers.databases.dump_text import DumpText
from gamewarden.readers.databases.dump_values import VALUES, Convert, Plain, Value, converter, letters_of
from gamewarden.readers.databases.loaded import LoadedDatabase, Scratch, StoredTable, whole_key
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.databases.readable import Refused
from gamewarden.readers.databases.source import DatabaseSource
from gamewarden.readers.files import file_digest, is_file_locator, path_of
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.places import STANDARD_INPUT, File, spooled
from gamewarden.readers.servers.preset import LogTable
from gamewarden.sources import PlainSource

_HEAD = 16 << 10
_MOST_TABLES = 20_000
_CUSTOM = b"PGDMP"  # pg_dump's own format
_BEGINNINGS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:/\*M?!999999\\- enable the sandbox mode \*/\s*)?--\s*(?:--\s*)?"
    rb"(?:MySQL dump|MariaDB dump|mysqldump|phpMyAdmin SQL Dump|PostgreSQL database (?:cluster )?dump)"
)
_CALLED = re.compile(r"\.sql(?:\.gz|\.zst)?$")
_OF_POSTGRESQL = re.compile(rb"^-- PostgreSQL database", re.MULTILINE)
_HAS_AN_END = re.compile(rb"^-- (?:MySQL dump|MariaDB dump|PostgreSQL database)", re.MULTILINE)
_HOST = re.compile(rb"^-- Host: (\S+)", re.MULTILINE)
_DATABASE = re.compile(rb"^-- .*\bDatabase: `?([^`\r\n]+)`?", re.MULTILINE)
_ENDED = re.compile(rb"-- (?:Dump completed|PostgreSQL database (?:cluster )?dump complete)(?: on ([\d :-]+))?")

_LIST = rb"\((?:[^()'`\"]|`[^`]*`|\"[^\"]*\")*+\)"
_TABLE = rb"((?:" + NAME + rb"\s*\.\s*)?" + NAME + rb")"
_BLANK = re.compile(rb"(?:\s++|;)*+")
_COMMENT = re.compile(rb"--|#")
_REMARK = re.compile(rb"/\*(?!M?!(?!999999))")
_DELIMITER = re.compile(rb"DELIMITER\s+\S+", re.IGNORECASE)
_OF_PSQL = re.compile(rb"\\(\w+)(?:\s+(?:-reuse-previous=\w+\s+)?(\S+))?")
_USE = re.compile(rb"USE\s+(" + NAME + rb")\s*;", re.IGNORECASE)
_SET = re.compile(
    rb"(?=(?:/\*M?!\d*\s*)?SET\s+(?:NAMES\s+'?(?P<names>\w+)|client_encoding\s*=\s*'(?P<letters>\w+)'"
    rb"|TIME_ZONE\s*=\s*[\"']?(?P<zone>\+00:00|UTC)))",
    re.IGNORECASE,
)
_CREATE = re.compile(
    rb"CREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?" + _TABLE + rb"\s*(?=\()", re.IGNORECASE
)
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*INTO\s+" + _TABLE
    + rb"\s*(" + _LIST + rb")?\s*(?:OVERRIDING\s+\w+\s+VALUE\s+)?VALUES\b", re.IGNORECASE
)  # fmt: skip
_COPY = re.compile(rb"COPY\s+" + _TABLE + rb"\s*(" + _LIST + rb")?\s+FROM\s+stdin;[ \t]*\r?\n", re.IGNORECASE)
_SYSTEM = {"mysql", "sys", "information_schema", "performance_schema", "pg_catalog"}


@dataclass(frozen=True)
class Header:
    """What the first lines of a dump say."""

    dialect: str
    host: str = ""
    database: str = ""
    has_an_end: bool = True  # whether who wrote it says so at its end

    @classmethod
    def of(cls, head: bytes) -> "Header":
        """From its first bytes."""
        postgresql = _OF_POSTGRESQL.search(head) is not None
        host, database = _HOST.search(head), _DATABASE.search(head)
        return cls(
            "postgresql" if postgresql else "mysql",
            visible(host[1].decode(errors="replace")) if host else "",
            visible(database[1].strip().decode(errors="replace")) if database else "",
            _HAS_AN_END.search(head) is not None,
        )


class Wants(Protocol):
    """Which tables somebody wants."""

    def wants(self, table: str) -> bool:
        """Whether the rows of a table are of use."""

    def logged(self, table: str) -> LogTable | None:
        """What is known of a table that is a log."""


class Declared:
    """Somebody who wants no rows, only to know which tables there are."""

    def wants(self, table: str) -> bool:
        """None."""
        del table
        return False

    def logged(self, table: str) -> LogTable | None:
        """Nothing."""
        del table
        return None


@dataclass(frozen=True)
class _Rows:
    """How the rows of one kind of statement are read."""

    table: StoredTable
    names: tuple[str, ...]  # of the columns that are taken
    places: tuple[int, ...]  # where each stands in a row
    converts: tuple[Convert, ...]
    width: int  # how many values a row has
    pattern: re.Pattern[bytes]

    def values(self, tokens: Sequence[bytes]) -> list[Value]:
        """A row's values from what was written of them."""
        return [convert(token) for convert, token in zip(self.converts, tokens, strict=True)]


@dataclass
class Loading:
    """A dump on its way into a database of our own."""

    text: DumpText
    header: Header
    scratch: Scratch
    wanted: Wants
    encoding: str = ""
    tables: dict[str, StoredTable] = field(default_factory=dict)
    doubled: dict[str, str] = field(default_factory=dict)  # tables that are in several databases: where else
    completed: bool = False
    written: datetime | None = None
    _origin: str | None = None
    _connected: str = ""  # of a whole cluster: the database that the tables are in
    _letters: str = "utf-8"
    _utc: bool = False
    _made: int = 0
    _known: dict[tuple[str, bytes | None, Plain], _Rows] = field(default_factory=dict)

    def run(self) -> None:
        """Read all of it.

        Raises:
            ReadError: it is damaged, or ends in the middle of a statement.
        """
        for pattern, act in iter(self._next, None):
            found = self.text.match(pattern)
            if found is not None:
                act(found)

    def _next(self) -> tuple[re.Pattern[bytes], Callable[[re.Match[bytes]], None]] | None:
        """What stands here, and what is done with it; None at the end."""
        self.text.match(_BLANK)
        if self.text.done:
            return None
        every = (
            (_INSERT, self._insert), (_COMMENT, self._comment), (_COPY, self._copy), (_CREATE, self._create),
            (_SET, self._set), (_USE, self._use), (_REMARK, lambda _: self.text.past(b"*/")),
            (_DELIMITER, self._routine), (_OF_PSQL, self._of_psql),
        )  # fmt: skip
        here = next(((pattern, act) for pattern, act in every if self.text.ahead(pattern)), None)
        return here or (_NOTHING, lambda _: self.text.skip())

    def _comment(self, _found: re.Match[bytes]) -> None:
        ended = _ENDED.match(b"--" + self.text.line())
        if ended:
            self.completed = True
            with suppress(ValueError):
                self.written = datetime.fromisoformat((ended[1] or b"").decode().strip())

    def _set(self, found: re.Match[bytes]) -> None:
        if letters := found["names"] or found["letters"]:
            self._letters = letters.decode()
        self._utc = self._utc or found["zone"] is not None
        self.text.skip()

    def _use(self, found: re.Match[bytes]) -> None:
        self._origin = plain_name(found[1])

    def _routine(self, _found: re.Match[bytes]) -> None:
        """Triggers and procedures, which have semicolons of their own."""
        self.text.line()
        self.text.past(b"DELIMITER ;")

    def _of_psql(self, found: re.Match[bytes]) -> None:
        if found[1] == b"connect" and found[2]:
            self._connected = f"{plain_name(found[2])}."
        self.text.line()

    def _named(self, written: bytes) -> tuple[str, str]:
        """The database or schema of a table, and its name."""
        parts = [plain_name(part) for part in re.findall(NAME, written)]
        own = self._own if self._origin is None else self._origin
        return self._connected + (parts[0] if len(parts) > 1 else own), parts[-1]

    @property
    def _own(self) -> str:
        return "public" if self.header.dialect == "postgresql" else self.header.database

    def _create(self, found: re.Match[bytes]) -> None:
        origin, name = self._named(found[1])
        columns = columns_in(self.text.statement(), f"{self.text.name}: {visible(name)}")
        if origin.lower() not in _SYSTEM and columns and self._is_first(origin, name):
            self._make(StoredTable(name, f"t{self._made}", columns, self.wanted.logged(name), origin))

    def _is_first(self, origin: str, name: str) -> bool:
        """Whether a table is the one of its name: that of the dump's own database, or of the first that has it."""
        known = self.tables.get(name)
        if known is None or known.origin == origin:
            return True
        own = origin == self._own
        self.doubled[name] = known.origin if own else origin
        return own

    def _make(self, table: StoredTable) -> None:
        if self._made >= _MOST_TABLES:
            raise ReadError(f"{self.text.name}: has more than {_MOST_TABLES:,} tables; dump those of the game alone")
        if (before := self.tables.get(table.name)) is not None:
            self.scratch.drop(before)
        self.scratch.create(table)
        self.tables[table.name] = table
        self._made += 1

    def _insert(self, found: re.Match[bytes]) -> None:
        plain = dump_values.of_mysql if self.text.dialect == "mysql" else dump_values.of_postgresql
        rows = self._rows(found[1], found[2], plain)
        if rows is None:
            self.text.skip()
        else:
            self.scratch.add(rows.table, rows.names, self._inserted(rows))

    def _inserted(self, rows: _Rows) -> Iterator[list[Value]]:
        number = 0
        for number, found in enumerate(self.text.matches(rows.pattern), 1):  # noqa: B007  said of a bad row
            yield rows.values(found.groups())
            if found[0].endswith(b";"):
                return
        raise ReadError(
            f"{self.text.name}: row {number + 1:,} of a statement with rows of {visible(rows.table.name)} cannot be "
            f"read, the dump is damaged or ends in it: {self.text.shown}"
        )

    def _copy(self, found: re.Match[bytes]) -> None:
        rows = self._rows(found[1], found[2], dump_values.of_copy)
        if rows is None:
            for _ in self.text.lines():
                pass
        else:
            self.scratch.add(rows.table, rows.names, self._copied(rows))

    def _copied(self, rows: _Rows) -> Iterator[list[Value]]:
        for lines in self.text.lines():
            for line in lines:
                tokens = line.rstrip(b"\r").split(b"\t")
                if len(tokens) != rows.width:
                    raise ReadError(
                        f"{self.text.name}: a row of {visible(rows.table.name)} has {len(tokens):,} values, and "
                        f"{rows.width:,} are needed: {visible(line[:60].decode(errors='replace'))}"
                    )
                yield rows.values([tokens[place] for place in rows.places])

    def _rows(self, written: bytes, listed: bytes | None, plain: Plain) -> _Rows | None:
        """How rows of a table are read; None where nobody wants them."""
        origin, name = self._named(written)
        if origin.lower() in _SYSTEM:
            return None
        wanted, table = self.wanted.wants(name), self.tables.get(name)
        if table is None and (wanted or listed is not None):
            table = self._undeclared(name, listed, origin)
        if table is None or not wanted or table.origin != origin:
            return None
        known = (table.stored, listed, plain)
        if known not in self._known:
            self._known[known] = self._how(table, listed, plain)
        return self._known[known]

    def _undeclared(self, name: str, listed: bytes | None, origin: str) -> StoredTable:
        """A table of a dump that holds rows alone."""
        if listed is None:
            raise ReadError(
                f"{self.text.name}: nothing says which columns {visible(name)} has; dump it with its CREATE TABLE, or "
                "with --complete-insert"
            )
        columns = tuple(Column(column) for column in names_in(listed))
        self._make(StoredTable(name, f"t{self._made}", columns, self.wanted.logged(name), origin))
        return self.tables[name]

    def _how(self, table: StoredTable, listed: bytes | None, plain: Plain) -> _Rows:
        declared = {column.name: column for column in table.columns}
        names = names_in(listed) if listed is not None else tuple(declared)
        if strange := [name for name in names if name not in declared]:
            raise ReadError(f"{self.text.name}: {visible(table.name)} has no column {visible(strange[0])}")
        places = tuple(place for place, name in enumerate(names) if name in table.taken)
        taken = tuple(names[place] for place in places)
        value, needed = VALUES[self.text.dialect], set(places)
        wanted = [rb"(" + value + rb")" if place in needed else value for place in range(len(names))]
        pattern = re.compile(
            rb"\s*+\(\s*+" + rb"\s*+,\s*+".join(wanted) + rb"\s*+\)\s*+[,;]", re.DOTALL
        )  # fmt: skip
        converts = tuple(self._convert(table, declared[name], plain) for name in taken)
        return _Rows(table, taken, places, converts, len(names), pattern)

    def _convert(self, table: StoredTable, column: Column, plain: Plain) -> Convert:
        utc = self._utc and self.text.dialect == "mysql"
        key = table.logged is not None and column.name == table.logged.key
        read_as = replace(column, type="BIGINT") if key else column
        made = converter(read_as, plain, letters_of(self._letters), kept=bool(self.encoding), utc=utc)
        return whole_key(made, f"{self.text.name}: {visible(table.name)}.{visible(column.name)}") if key else made

    def as_database_has_them(self) -> dict[str, StoredTable]:
        """The tables; a moment that the dump wrote in UTC has a zone."""
        if not self._utc:
            return self.tables
        return {name: replace(one, columns=tuple(map(_in_utc, one.columns))) for name, one in self.tables.items()}


_NOTHING = re.compile(rb"")


def _in_utc(column: Column) -> Column:
    return replace(column, type="TIMESTAMP WITH TIME ZONE") if column.type.startswith("TIMESTAMP") else column


class DumpSource(DatabaseSource):
    """A dump of a game's database: read as the database would be, if nobody played on it."""

    is_a = "is a dump of a database"

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        self.path = path_of(locator)
        self.options = replace(options, databases=offline(options))
        head = head_of(spooled(self.path))
        if head.startswith(_CUSTOM):
            raise ReadError(f"{self.path}: is in pg_dump's own format; write it as text: pg_restore -f dump.sql FILE")
        self._header = Header.of(head)
        PlainSource.__init__(self, _named(self._header, self.path))

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it begins as a dump does, or is called *.sql."""
        if not is_file_locator(locator) or path_of(locator) == STANDARD_INPUT or not path_of(locator).is_file():
            return False
        head = head_of(path_of(locator))
        begins = _BEGINNINGS.match(head) is not None or head.startswith(_CUSTOM)
        return begins or _CALLED.search(path_of(locator).name) is not None

    def fingerprint(self) -> Fingerprint:
        """The SHA-256 of its bytes."""
        return Fingerprint("file", self.path.name, file_digest(self.path))

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Its tables that are left alone, and why."""
        _ = self.database
        return (*super().refused, *self._doubled)

    @cached_property
    def _looked_at(self) -> LoadedDatabase:
        return self._loaded(Declared())

    @cached_property
    def database(self) -> LoadedDatabase:
        """Its tables in a database of our own, those that the preset wants with their rows.

        Raises:
            ReadError: it cannot be read, or was not written to its end.
        """
        return self._loaded(self.preset)

    _doubled: tuple[Refused, ...] = ()

    def _loaded(self, wanted: Wants) -> LoadedDatabase:
        keep, path = self.options.logs.keep_truncated, spooled(self.path)
        with Unpacked(path, keep_truncated=keep) as stream, Scratch(str(self.path)) as scratch:
            text = DumpText(stream, str(self.path), self._header.dialect)
            loading = Loading(text, self._header, scratch, wanted, self.options.databases.encoding)
            try:
                loading.run()
                if self._header.has_an_end and not loading.completed:
                    raise text.cut()
            except ReadError as error:
                if not keep or isinstance(error, EndsEarly) or not text.ended:
                    raise
            scratch.finish(loading.tables.values())
        self._doubled = tuple(
            Refused(f"{where}.{name}", "another database of this dump has a table of that name, which is read")
            for name, where in loading.doubled.items()
            if wanted.wants(name)
        )
        return LoadedDatabase(
            Address("sqlite://"), self.options.databases, scratch.file, self.name, loading.as_database_has_them(),
            loading.written, self.options.logs.time_zone,
        )  # fmt: skip


def _named(header: Header, path: File) -> str:
    """What a lake knows a dump by: the database that it is of, whatever the file of tonight is called."""
    if header.database:
        return cut(f"dump:{header.host or 'localhost'}/{header.database}", 200)
    return f"dump:{path.absolute() if isinstance(path, Path) else path}"


def offline(options: SourceOptions) -> DatabaseOptions:
    """Nobody plays on our own database: it need not be spared."""
    return replace(options.databases, offline=True, pause=0.0, batch=options.databases.piece)


def head_of(path: File) -> bytes:
    """A file's first bytes, unpacked; none where it cannot be."""
    try:
        with Unpacked(path) as stream:
            return stream.read(_HEAD)
    except ReadError:
        return b""
