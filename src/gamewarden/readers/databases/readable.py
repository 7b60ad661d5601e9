"""Which log tables of a database can be read without harm to the game that writes them."""

from dataclasses import dataclass

from gamewarden.core.outside import visible
from gamewarden.readers.databases.database import Database
from gamewarden.readers.servers.preset import LogTable, Preset


@dataclass(frozen=True)
class Refused:
    """A table that is left alone, and why."""

    table: str
    why: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{visible(self.table)} is not read: {self.why}{f'; {self.remedy}' if self.remedy else ''}"


def readable(database: Database, preset: Preset) -> tuple[tuple[LogTable, ...], tuple[Refused, ...]]:
    """The tables of a server that are there and can be read, and those that are there and cannot."""
    tables, refused = [], []
    for table in preset.tables:
        if table.name in database.places:
            problem = _problem(database, table)
            if problem is None:
                tables.append(table)
            else:
                refused.append(problem)
    return tuple(tables), tuple(refused)


def _problem(database: Database, table: LogTable) -> Refused | None:
    have = database.columns(table.name)
    missing = [name for name in table.read if name not in have]
    if missing:
        return Refused(table.name, f"it lacks the column {missing[0]}", "is it of another server? name it with --map")
    if database.backend == "sqlite":
        return None
    if table.key and not database.tells_apart(table.name, table.key):
        remedy = "name another column as key of the mapping, or none: then it is read by its time"
        return Refused(table.name, f"rows may share their {table.key}, and some would be lost", remedy)
    if database.options.offline:
        return None
    by = table.key or table.time
    if by in database.indexed(table.name):
        return None
    return Refused(
        table.name,
        f"without an index on {by} each look would read all of it, and the game would wait",
        f"ALTER TABLE {table.name} ADD INDEX ({by}), or read a copy of the database with --offline",
    )
