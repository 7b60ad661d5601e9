"""How a ledger's database is opened: SQLite so that what was acknowledged survives a crash, PostgreSQL by URL."""

import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from weakref import WeakSet

from sqlalchemy import URL, Connection, Engine, Pool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, OperationalError

from gamewarden.core.extras import need
from gamewarden.core.files import make_directory
from gamewarden.core.outside import visible
from gamewarden.errors import LedgerError

WRITES = "gamewarden_writes"  # an execution option: the transaction writes from its beginning on
_KIND, _PAUSE = 0xFF, 0.02  # the lower byte of SQLite's codes says what kind of failure; seconds
PATIENCE = 60.0  # seconds that a writer waits for another one
_CONNECTING = 15  # seconds that a server may take to answer
_NO_URL = "the ledger's URL cannot be read; write a file, or for example postgresql://user@host/name"
_engines: WeakSet[Engine] = WeakSet()
_inherited: list[Pool] = []  # of the process that this one was forked from: never used here, and never closed


def engine_of(place: Path | str, patience: float = PATIENCE) -> Engine:
    """The database of a file or a URL; nothing is opened yet.

    Raises:
        LedgerError: the URL is none, or names a database that no ledger can be in.
        OSError: the directory of a file cannot be made.
    """
    made = _by_url(place, patience) if _is_url(place) else _sqlite(Path(place), patience)
    _engines.add(made)
    return made


def shown(place: Path | str) -> str:
    """What people read of a place: never a password, nor what else a URL may carry behind its question mark."""
    if not _is_url(place):
        return visible(str(place))
    try:
        url = make_url(str(place))
        host = {name: value for name, value in url.query.items() if name == "host"}
        return visible(url.set(query=host).render_as_string(hide_password=True))
    except (ArgumentError, ValueError):
        return "the ledger's URL"


def file_of(engine: Engine) -> Path | None:
    """The file of a ledger; None where it is on a server."""
    return Path(str(engine.url.database)) if engine.dialect.name == "sqlite" else None


def one_moment(engine: Engine) -> dict[str, Any]:
    """The options of a connection whose statements all see the same state, as SQLite's always do."""
    return {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}


def _is_url(place: Path | str) -> bool:
    return isinstance(place, str) and "://" in place


def _by_url(text: Path | str, patience: float) -> Engine:
    try:
        url = make_url(str(text))
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise LedgerError(_NO_URL) from None  # the cause has the URL in it
    if backend == "sqlite" and url.database:
        return _sqlite(Path(url.database), patience)
    if backend not in {"postgresql", "postgres"}:
        raise LedgerError(f"{shown(text)}: a ledger is in a file or in PostgreSQL; write postgresql://user@host/name")
    need("a ledger on PostgreSQL", "psycopg")
    return _postgresql(url.set(drivername="postgresql+psycopg"), patience)


def _postgresql(url: URL, patience: float) -> Engine:
    waits = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECTING}
    engine = create_engine(url, pool_pre_ping=True, connect_args=waits)
    event.listen(engine, "connect", partial(_opened, _durable_server, patience))
    return engine


def _sqlite(path: Path, patience: float) -> Engine:
    path = path.absolute()
    if path.is_dir():
        raise LedgerError(f"{visible(str(path))}: is a directory; name a file in [workspace] ledger")
    make_directory(path.parent)
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": patience})
    event.listen(engine, "connect", partial(_opened, _durable_file, patience))
    event.listen(engine, "begin", partial(_begin, patience))
    return engine


def _opened(prepare: Callable[[Any, float], None], patience: float, connection: Any, _record: object) -> None:  # noqa: ANN401  a driver's own
    try:
        prepare(connection, patience)
    except Exception as error:  # as SQLAlchemy does with what a driver raises elsewhere
        connection.close()
        raise OperationalError("opening", None, error) from error


def _durable_file(connection: Any, patience: float) -> None:  # noqa: ANN401  sqlite3's own connection
    """A log ahead of the file, on the disk before a transaction is over; transactions begin where we say."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "cell_size_check=ON"):
        _patiently(connection, f"PRAGMA {pragma}", patience)


def _patiently(connection: Any, statement: str, patience: float) -> None:  # noqa: ANN401  sqlite3's own connection
    """Run a statement, again while another process holds the file.

    SQLite waits by itself, but neither while another process opens or closes the log, nor with any turn-taking.
    """
    until = monotonic() + patience
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _KIND != sqlite3.SQLITE_BUSY or monotonic() >= until:
                raise
            sleep(_PAUSE)
        else:
            return


def _durable_server(connection: Any, patience: float) -> None:  # noqa: ANN401  psycopg's own connection
    """Waiting has an end, and a transaction that is over is on the server's disk, whatever the server's default."""
    connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{int(patience * 1000)}ms",))
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


def _begin(patience: float, connection: Connection) -> None:
    """Whoever writes holds the file from the start, so that nothing that was read changes under it."""
    writes = connection.get_execution_options().get(WRITES, False)
    statement = "BEGIN IMMEDIATE" if writes else "BEGIN"
    try:
        _patiently(connection.connection.dbapi_connection, statement, patience)
    except sqlite3.Error as error:
        raise OperationalError(statement, None, error) from error


def _after_fork() -> None:
    """A forked process opens connections of its own: locks of SQLite and sessions of servers belong to its parent."""
    for engine in list(_engines):
        _inherited.append(engine.pool)
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
