"""A database that is looked at and never changed: its tables, its clock, and rows in small batches."""

import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import (
    ColumnClause,
    Connection,
    Engine,
    LargeBinary,
    Select,
    bindparam,
    cast,
    column,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    or_,
    select,
    table,
    text,
)
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from gamewarden.core.database_urls import Address, password_for
from gamewarden.core.extras import need
from gamewarden.core.outside import cut, visible
from gamewarden.errors import ReadError
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.databases.values import LARGEST, series_of

Row = tuple[Any, ...]
_DRIVERS = {
    "mysql": ("mysql+pymysql", "pymysql"),
    "mariadb": ("mariadb+pymysql", "pymysql"),
    "postgresql": ("postgresql+psycopg", "psycopg"),
}
_CONNECT, _ANSWER = 10, 120  # seconds that we wait
_SAID = 200  # letters of what a database says
_ALL = 1 << 62  # rows
_AT_ONCE = 50  # ranges of keys in one question


@dataclass(frozen=True)
class Clock:
    """What a database's clock says, and what it calls its zone."""

    utc: datetime
    local: datetime  # without a zone
    zone: str = ""

    @property
    def ahead(self) -> timedelta:
        """Of UTC, to the minute."""
        return timedelta(minutes=round((self.local - self.utc.replace(tzinfo=None)).total_seconds() / 60))


@dataclass(frozen=True)
class TableAt:
    """Where a table is: its database or schema, and its name."""

    schema: str | None
    name: str


@dataclass(frozen=True)
class Asked:
    """Which rows of a table: those of keys above or times from on, in order, so many at the most."""

    columns: Sequence[str]
    order: str  # by which column; empty: in any
    above: int | None = None
    since: str | int | datetime | None = None
    limit: int | None = None
    ranges: Sequence[tuple[int, int]] = ()
    latest: bool = False  # the last ones instead of the first
    unique: bool = True  # whether the column tells rows apart, so that they can be asked for batch by batch


@dataclass(eq=False)
class Database:
    """One database; whoever has it reads small batches, each for itself, so that nobody waits for us."""

    address: Address
    options: DatabaseOptions = field(default_factory=DatabaseOptions)
    file: Path | None = None  # a database of our own in a temporary file, in place of the one that is named

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self.address.name

    @property
    def backend(self) -> str:
        """Which kind of database answers."""
        return "sqlite" if self.file is not None else self.address.scheme

    @cached_property
    def engine(self) -> Engine:
        """How it is asked; nothing is opened yet.

        Raises:
            InstallError: its library is not installed.
            ReadError: the URL is none.
        """
        if self.backend == "sqlite":
            return _sqlite(self.file or Path(self.name.removeprefix("sqlite:///")), self.name)
        driver, library = _DRIVERS[self.backend]
        need(f"{self.backend}://", library)
        try:
            url = make_url(self.address.url).set(drivername=driver)
        except (ArgumentError, ValueError) as error:
            raise ReadError(f"{self.name}: is no URL of a database; write {self.backend}://user@host/name") from error
        secret = password_for(self.address, self.options.password_from, self.options.password_file)
        # One connection is kept while there is something to ask: with TLS each takes a tenth of a second.
        engine = create_engine(
            url.set(password=None),
            pool_size=1,
            pool_pre_ping=True,
            hide_parameters=True,
            isolation_level="AUTOCOMMIT",
            connect_args={**_limits(self.backend), **({} if secret is None else {"password": secret.encode()})},
        )
        weakref.finalize(self, engine.dispose)
        event.listen(engine, "connect", _read_only(self.backend))
        return engine

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A connection that cannot write.

        Raises:
            ReadError: it cannot be reached, or does not answer.
        """
        try:
            with self._connection() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._said(getattr(error, "orig", None) or error) from error

    def _connection(self) -> Connection:
        try:
            return self.engine.connect()
        except (TypeError, ValueError, RuntimeError) as error:
            # PyMySQL's words for a host that is none, for what a URL asks of it, and for a library that it lacks.
            raise self._said(error) from error

    def _said(self, cause: object) -> ReadError:
        return ReadError(f"{self.name}: {visible(cut(str(cause).strip().split(chr(10), 1)[0], _SAID))}")

    def ask(self, statement: str, **values: object) -> list[Row]:
        """The rows that a statement of ours gives."""
        with self.connected() as connection:
            return [tuple(row) for row in connection.execute(text(statement), values)]

    @cached_property
    def places(self) -> Mapping[str, TableAt]:
        """Its tables, and those beside it that no other database beside it has too: servers keep logs apart."""
        with self.connected() as connection:
            looking = inspect(connection)
            own = {name: TableAt(None, name) for name in (*looking.get_table_names(), *looking.get_view_names())}
            if self.backend in {"sqlite", "postgresql"}:
                return own
            asked = text(
                "SELECT table_name, MIN(table_schema), COUNT(*) FROM information_schema.tables WHERE table_schema"
                " NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema', DATABASE()) GROUP BY table_name"
            )
            beside = {
                str(name): TableAt(str(schema), str(name)) for name, schema, n in connection.execute(asked) if n == 1
            }
        return {**beside, **own}

    def owns(self, name: str) -> bool:
        """Whether a table is in the database that was named, and not in one beside it."""
        return name in self.places and self.places[name].schema is None

    def columns(self, name: str) -> Mapping[str, str]:
        """A table's columns with their types as the database writes them; none where there is no such table."""
        if name not in self.places:
            return {}
        if name not in self._columns:
            at = self.places[name]
            with self.connected() as connection:
                found = inspect(connection).get_columns(at.name, schema=at.schema)
                self._columns[name] = {one["name"]: _type(one["type"], connection) for one in found}
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Mapping[str, str]]:
        return {}

    def holds(self, name: str) -> bool:
        """Whether a table is there and has a row."""
        if name not in self.places:
            return False
        first = next(iter(self.columns(name)))
        return bool(self._batch(name, Asked((first,), "", limit=1)))

    def key(self, name: str) -> str | None:
        """The one column that is a table's primary key, where it is a number."""
        at = self.places[name]
        with self.connected() as connection:
            found = inspect(connection).get_pk_constraint(at.name, schema=at.schema)["constrained_columns"]
        return found[0] if len(found) == 1 and "INT" in self.columns(name)[found[0]].upper() else None

    def indexed(self, name: str) -> frozenset[str]:
        """The columns of a table that an index begins with: by these it is read without a full scan."""
        at = self.places[name]
        with self.connected() as connection:
            looking = inspect(connection)
            key = looking.get_pk_constraint(at.name, schema=at.schema)["constrained_columns"]
            first = {
                str(name) for one in looking.get_indexes(at.name, schema=at.schema) for name in one["column_names"][:1]
            }
        return frozenset({*first, *key[:1]})

    def tells_apart(self, name: str, key: str) -> bool:
        """Whether each row of a table has a value of its own there; of a view nobody knows, and it is believed."""
        at = self.places[name]
        with self.connected() as connection:
            looking = inspect(connection)
            if at.name in looking.get_view_names(schema=at.schema):
                return True
            alone = [looking.get_pk_constraint(at.name, schema=at.schema)["constrained_columns"]]
            unique = [one for one in looking.get_indexes(at.name, schema=at.schema) if one["unique"]]
            full = {one["name"] for one in looking.get_columns(at.name, schema=at.schema) if not one["nullable"]}
        return [key] in [*alone, *(one["column_names"] for one in unique if full.issuperset(one["column_names"]))]

    def _indexes(self, name: str) -> Mapping[str, str]:
        """By which index, as it is named in a statement, MariaDB finds rows by a column."""
        if self.backend not in {"mysql", "mariadb"}:
            return {}
        if name not in self._found_by:
            at = self.places[name]
            with self.connected() as connection:
                looking = inspect(connection)
                key = looking.get_pk_constraint(at.name, schema=at.schema)["constrained_columns"]
                others = looking.get_indexes(at.name, schema=at.schema)
            found = {str(one["column_names"][0]): _quoted(str(one["name"])) for one in others if one["column_names"]}
            self._found_by[name] = {**found, **dict.fromkeys(key[:1], "PRIMARY")}
        return self._found_by[name]

    @cached_property
    def _found_by(self) -> dict[str, Mapping[str, str]]:
        return {}

    def rows(self, name: str, asked: Asked) -> list[Row]:
        """Rows of a table, a batch at a time with a pause between, none of them held longer than it takes.

        Raises:
            ReadError: the database does not answer.
        """
        if asked.ranges and not asked.latest:
            return self._in_ranges(name, asked)
        if asked.limit is None or asked.latest or (not asked.unique and asked.since is None):
            return self._batch(name, asked)
        if not asked.unique:
            return self._by_time(name, asked, asked.limit)
        found: list[Row] = []
        above, place = asked.above, list(asked.columns).index(asked.order)
        while len(found) < asked.limit:
            size = min(self.options.batch, asked.limit - len(found))
            batch = self._batch(name, Asked(asked.columns, asked.order, above, limit=size))
            self._refuse_shared(
                name, asked.order, [*([] if above is None else [above]), *(row[place] for row in batch)]
            )
            found += batch
            if len(batch) < size:
                break
            above = batch[-1][place]
            time.sleep(self.options.pause)
        return found

    def least(self, name: str, wanted: str) -> Any:  # noqa: ANN401  whatever the column holds
        """The least value of a column; with an index that is one look."""
        at = self.places[name]
        lowest: Select[Any] = select(func.min(column(wanted))).select_from(table(at.name, schema=at.schema))
        with self.connected() as connection:
            return connection.execute(lowest).scalar()

    def _by_time(self, name: str, asked: Asked, limit: int) -> list[Row]:
        """Rows of times from one on: the next question begins with the time that the one before ended in."""
        found: list[Row] = []
        since, size, place = asked.since, self.options.batch, list(asked.columns).index(asked.order)
        while len(found) < limit:
            batch = self._batch(name, replace(asked, since=since, limit=size))
            if len(batch) < size:
                return found + batch
            last = batch[-1][place]
            earlier = [row for row in batch if row[place] != last]
            size = self.options.batch if earlier else 2 * size  # so many of one time
            found += earlier
            since = last
            time.sleep(self.options.pause)
        return found

    def _refuse_shared(self, name: str, key: str, values: Sequence[object]) -> None:
        """Refuse a column by which rows would be lost between two batches: one with nulls, texts, or equal numbers."""
        for value in values:
            if type(value) is not int or abs(value) > LARGEST:
                raise self._no_key(name, key, f"has {visible(cut(repr(value), _SAID))}")
        if twice := next((one for one, other in pairwise(values) if one == other), None):
            raise self._no_key(name, key, f"has {twice} twice")

    def _no_key(self, name: str, key: str, why: str) -> ReadError:
        return ReadError(
            f"{self.name}: {visible(name)}.{visible(key)} {why}, and rows are read by a whole number that each has "
            "alone; name such a column as key of the mapping, or none: then they are read by their time"
        )

    def _in_ranges(self, name: str, asked: Asked) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(asked.ranges), _AT_ONCE):
            some = asked.ranges[start : start + _AT_ONCE]
            found += self._batch(name, Asked(asked.columns, asked.order, ranges=some))
        return found

    def _batch(self, name: str, asked: Asked) -> list[Row]:
        at = self.places[name]
        key: ColumnClause[Any] = column(asked.order)
        statement = select(*(self._selected(name, one) for one in asked.columns))
        place = table(at.name, schema=at.schema)
        statement = statement.select_from(place)
        if index := self._indexes(name).get(asked.order):
            # Of a batch from the beginning on, MariaDB would rather read and sort all of the table.
            statement = statement.with_hint(place, f"FORCE INDEX ({index})", self.engine.dialect.name)
        if asked.order:
            statement = statement.order_by(key.desc() if asked.latest else key)
        if asked.above is not None:
            statement = statement.where(key > asked.above)
        if asked.since is not None:
            statement = statement.where(key >= bindparam("since", self._moment(asked.since)))
        if asked.ranges:
            statement = statement.where(or_(*(key.between(first, last) for first, last in asked.ranges)))
        with self.connected() as connection:
            return [tuple(row) for row in connection.execute(statement.limit(asked.limit))]

    def _moment(self, since: str | int | datetime) -> str | int | datetime:
        """A time as the database compares it; SQLite keeps times as texts."""
        written = isinstance(since, str) and self.backend != "sqlite"
        return datetime.fromisoformat(str(since)) if written else since

    def _selected(self, name: str, wanted: str) -> Any:  # noqa: ANN401  an expression of SQLAlchemy's
        """A column; texts as bytes where somebody said in which letters they were written."""
        kind = self.columns(name).get(wanted, "").upper()
        if self.options.encoding and self.backend != "sqlite" and any(one in kind for one in ("CHAR", "TEXT", "ENUM")):
            return cast(column(wanted), LargeBinary).label(wanted)
        return column(wanted)

    def frame(self, name: str, columns: Sequence[str]) -> pl.DataFrame:
        """A whole table of what is there now, of accounts or characters: batch by batch where it has a key.

        Raises:
            ReadError: there is no such table, or the database does not answer.
        """
        have = self.columns(name)
        wanted = [one for one in columns if one in have]
        if not wanted:
            raise ReadError(f"{self.name}: there is no table {name} with {columns[0]}, which says who is who")
        key = self.key(name)
        if key is None:
            return self.framed(wanted, self.rows(name, Asked(wanted, "")))
        every = list(dict.fromkeys([key, *wanted]))
        return self.framed(every, self.rows(name, Asked(every, key, limit=_ALL))).select(wanted)

    def framed(self, columns: Sequence[str], rows: Sequence[Row]) -> pl.DataFrame:
        """Rows as a frame; texts that are bytes as the letters that somebody said they are."""
        parts = zip(*rows, strict=True) if rows else [()] * len(columns)
        return pl.DataFrame(
            [series_of(name, part, self.options.encoding) for name, part in zip(columns, parts, strict=True)]
        )

    @cached_property
    def clock(self) -> Clock:
        """What its clock said when it was first asked."""
        return self.now()

    def now(self) -> Clock:
        """What its clock says; a file has none, and there it is this machine's."""
        if self.backend == "sqlite":
            return Clock(datetime.now(UTC), datetime.now(UTC).replace(tzinfo=None))
        if self.backend == "postgresql":
            ((utc, local, zone),) = self.ask(
                "SELECT timezone('utc', now()), localtimestamp, current_setting('TimeZone')"
            )
            return Clock(utc.replace(tzinfo=UTC), local, str(zone))
        ((utc, local, zone, system),) = self.ask("SELECT UTC_TIMESTAMP(6), NOW(6), @@time_zone, @@system_time_zone")
        return Clock(utc.replace(tzinfo=UTC), local, str(system if zone == "SYSTEM" else zone))

    def close(self) -> None:
        """Let it go."""
        if "engine" in self.__dict__:
            self.engine.dispose()


def _quoted(index: str) -> str:
    return "`" + index.replace("`", "``").replace("%", "%%") + "`"


def _type(kind: Any, connection: Connection) -> str:  # noqa: ANN401  a type of SQLAlchemy's
    try:
        return str(kind.compile(connection.dialect))
    except SQLAlchemyError:
        return str(kind)


def _sqlite(path: Path, name: str) -> Engine:
    if not path.is_file():
        raise ReadError(f"{name}: there is no such file")
    # Opened as a URI, so that a typing error makes no new file and nothing can be written.
    uri = path.absolute().as_uri().replace("?", "%3f")
    engine = create_engine(f"sqlite:///{uri}?mode=ro&uri=true", poolclass=StaticPool, hide_parameters=True)
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    return engine


def _limits(backend: str) -> dict[str, Any]:
    if backend == "postgresql":
        return {"connect_timeout": _CONNECT, "options": f"-c statement_timeout={_ANSWER}s -c lock_timeout={_CONNECT}s"}
    return {"connect_timeout": _CONNECT, "read_timeout": _ANSWER, "write_timeout": _CONNECT, "charset": "utf8mb4"}


def _read_only(backend: str) -> Any:  # noqa: ANN401  a listener of SQLAlchemy's
    """Let a session refuse to write, whatever its user may do, and see each statement's own state of things."""
    statements = {
        "postgresql": ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",),
    }.get(backend, ("SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))

    def prepare(connection: Any, _record: object) -> None:  # noqa: ANN401  of either library
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()
        connection.commit()

    return prepare
