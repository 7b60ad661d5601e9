"""What a look at a game server's database tells its operator: what is there, since when, and what it keeps back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gamewarden.readers.databases.database import Asked, Database
from gamewarden.readers.databases.readable import Refused, readable
from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.preset import LogTable
from gamewarden.readers.servers.settings import compared, settings_in

if TYPE_CHECKING:
    from gamewarden.readers.databases.source import DatabaseSource

_SLOW = 5  # seconds by which two clocks may differ
_HARMLESS = ("USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "REPLICATION CLIENT", "BINLOG MONITOR", "PROXY")


@dataclass(frozen=True)
class TableFound:
    """One log table: how much is in it, and how far it reaches back."""

    table: str
    rows: int | None  # None: nobody counts them
    first: str = ""  # as the table writes it
    last: str = ""
    engine: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All that was found."""

    name: str
    server: str
    seen: str  # with which real data the preset was tried
    tables: tuple[TableFound, ...]
    purges: str
    clock: tuple[str, ...]
    rights: tuple[str, ...]
    advice: tuple[Advice, ...]


def diagnose(source: "DatabaseSource", settings: Iterable[Path] = ()) -> Diagnosis:
    """Look at a database and at files of its server's settings; nothing is changed, and no table is read in full.

    Raises:
        ReadError: it cannot be reached, nobody knows its tables, or a file cannot be read.
    """
    database, preset = source.database, source.preset
    _, refused = readable(database, preset)
    tables = tuple(_found(database, one, refused) for one in preset.tables if one.name in database.places)
    return Diagnosis(
        source.name,
        preset.title,
        preset.seen,
        tables,
        preset.purges,
        (*_clock(database, source.options.logs.time_zone), *_letters(database)),
        tuple(_rights(database)),
        tuple(compared(preset.advice(database), settings_in(settings))),
    )


def _found(database: Database, table: LogTable, refused: tuple[Refused, ...]) -> TableFound:
    rows, engine = _size(database, table.name)
    problem = next((one.why for one in refused if one.table == table.name), "")
    if table.time not in database.columns(table.name):
        return TableFound(table.name, rows, engine=engine, problem=problem)
    first, last = ("", "") if problem else _ends(database, table)
    return TableFound(table.name, rows, first, last, engine, problem)


def _size(database: Database, name: str) -> tuple[int | None, str]:
    """How many rows a table has as the database knows without counting, and how it keeps them."""
    at = database.places[name]
    if database.backend in {"mysql", "mariadb"}:
        asked = (
            "SELECT table_rows, engine FROM information_schema.tables "
            "WHERE table_schema = COALESCE(:schema, DATABASE()) AND table_name = :name"
        )
        found = database.ask(asked, schema=at.schema, name=at.name)
        return (int(found[0][0] or 0), str(found[0][1] or "")) if found else (None, "")
    if database.backend == "postgresql":
        found = database.ask("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = :name", name=at.name)
        return (int(found[0][0]), "") if found else (None, "")
    return None, ""


def _ends(database: Database, table: LogTable) -> tuple[str, str]:
    """The times of the first and the last row."""
    by = table.key or table.time
    ends = [database.rows(table.name, Asked((by, table.time), by, limit=1, latest=latest)) for latest in (False, True)]
    return tuple(_written(rows[0][1], table.format) if rows else "" for rows in ends)  # type: ignore[return-value]


def _written(value: object, form: str) -> str:
    """A time as people read it."""
    if isinstance(value, int):
        seconds = value / {"epoch_ms": 1e3, "epoch_us": 1e6}.get(form, 1)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return str(value)


def _clock(database: Database, said: str | None) -> list[str]:
    if database.backend == "sqlite":
        return ["a file has no clock; the zone of its local times has to be named"] if said is None else []
    clock = database.now()
    off = (clock.utc - datetime.now(UTC)).total_seconds()
    hours = clock.ahead.total_seconds() / 3600
    lines = [f"its clock is {'UTC' if not hours else f'{hours:+g} h from UTC'} ({clock.zone})"]
    if abs(off) > _SLOW:
        lines.append(f"its clock is {abs(off):,.0f} s {'ahead of' if off > 0 else 'behind'} ours; set both by NTP")
    if said is None and hours:
        lines.append("its tables have local times: name the zone with --time-zone, such as Europe/Berlin")
    return lines


def _letters(database: Database) -> list[str]:
    """In which letters its texts are kept, where that may not be those in which they were written."""
    if database.backend not in {"mysql", "mariadb"} or database.options.encoding:
        return []
    asked = (
        "SELECT DISTINCT character_set_name FROM information_schema.columns WHERE table_schema = DATABASE()"
        " AND character_set_name IS NOT NULL AND character_set_name NOT LIKE 'utf8%' AND character_set_name <> 'ascii'"
    )
    found = ", ".join(str(row[0]) for row in database.ask(asked))
    advice = "where names look odd, say in which letters they were written: --encoding cp949"
    return [f"its texts are kept as {found}; {advice}"] if found else []


def _rights(database: Database) -> list[str]:
    """What the user of the database may do beyond reading."""
    if database.backend in {"mysql", "mariadb"}:
        grants = [str(row[0]) for row in database.ask("SHOW GRANTS")]
        more = sorted({one for grant in grants for one in _beyond(grant)})
        shown = ", ".join(more[:6]) + (" …" if len(more) > 6 else "")  # noqa: PLR2004  a line
        return [f"its user may also {shown}; SELECT is enough: make one that may do no more"] if more else []
    if database.backend == "postgresql":
        ((powerful,),) = database.ask("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return ["its user is a superuser; make one that may SELECT and no more"] if powerful else []
    return []


def _beyond(grant: str) -> list[str]:
    """The rights of one line of SHOW GRANTS that reading does not need."""
    rights = grant.removeprefix("GRANT ").partition(" ON ")[0]
    return [one for one in (part.strip() for part in rights.split(",")) if one.partition(" (")[0] not in _HARMLESS]
