"""The database of a game server: named in the environment, opened for one piece of work, and no wait without an end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, inspect, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from gamewarden.core.durations import SECOND, parse_span
from gamewarden.core.extras import need
from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import TryLaterError

_LIBRARY = "pymysql"
_DRIVERS = {"mysql": f"mysql+{_LIBRARY}", "mariadb": f"mariadb+{_LIBRARY}"}


@dataclass(frozen=True)
class Database:
    """Where a game keeps its accounts."""

    name: str  # the adapter's, for whoever reads what went wrong
    engine: Engine

    @classmethod
    def of(cls, settings: AdapterSettings) -> "Database":
        """The database that the environment names; nothing is opened yet.

        Raises:
            ConfigError: the environment has no URL of a database that game servers have.
            InstallError: its library is not installed.
        """
        who = f"[[response.adapter]] {visible(settings.name)}: {visible(settings.database_from)}"
        try:
            url = make_url(os.environ.get(settings.database_from, ""))
            backend = url.get_backend_name()
        except (ArgumentError, ValueError) as error:
            raise ConfigError(f"{who} has no URL of a database; set it to mysql://user:password@host/name") from error
        if backend not in _DRIVERS:
            raise ConfigError(f"{who} names a database of {visible(backend)}; {settings.kind} has MariaDB or MySQL")
        need(f"adapter {visible(settings.name)}", _LIBRARY)
        seconds = max(1, round(parse_span(settings.timeout) / SECOND))
        waits: dict[str, Any] = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), seconds)
        url = url.set(drivername=_DRIVERS[backend])
        return cls(settings.name, create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=waits))

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """A transaction, where the tables have any.

        Raises:
            TryLaterError: the database does not answer, or does not do what it is told.
        """
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).strip().split("\n", 1)[0]
            raise TryLaterError(f"{self.name}: the game's database: {visible(cause)}") from error


def tables_of(connection: Connection) -> set[str]:
    """The tables that are there, also as views of other databases, as far as the user may see them."""
    there = inspect(connection)
    return {*there.get_table_names(), *there.get_view_names()}
