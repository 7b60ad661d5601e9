"""Bringing a ledger up to date: Alembic's migrations, asked for only where the version is not the newest."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from gamewarden.core.outside import cut, visible
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.engines import WRITES

if TYPE_CHECKING:
    from alembic.config import Config

NEWEST = "003"  # a test compares it with the migrations that are there
VERSIONS = "gamewarden_version"  # the table with the version: no other program's Alembic has one of this name
_LOCK = 7_224_161  # PostgreSQL: any number that is ours


def migrate(engine: Engine, name: str) -> bool:
    """Make the tables of a new ledger, or bring an older one up to date; whether anything was to be done.

    Raises:
        LedgerError: a newer gamewarden has written it, or another program has.
    """
    with engine.connect() as connection:
        if _is_newest(connection, name):
            return False
    from alembic import command

    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        if not _is_newest(connection, name):  # another process may have been faster
            command.upgrade(alembic_config(connection), "head")
    return True


def alembic_config(connection: Connection) -> "Config":
    """What Alembic needs to know."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _is_newest(connection: Connection, name: str) -> bool:
    tables = inspect(connection).get_table_names()
    if VERSIONS not in tables:
        if tables:
            others = visible(cut(", ".join(sorted(tables)), 60))
            raise LedgerError(f"{name}: has tables of another program ({others}); name another file or database")
        return False
    version = connection.execute(text(f"SELECT version_num FROM {VERSIONS}")).scalar()  # noqa: S608  our own name
    if not isinstance(version, str):
        raise LedgerError(f"{name}: is damaged: it does not say its version; put a copy back")
    if version > NEWEST:
        told = visible(cut(version, 40))
        raise LedgerError(f"{name}: a newer gamewarden has written it (version {told}); install that one")
    return version == NEWEST
