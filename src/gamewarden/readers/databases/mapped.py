"""A table of any database, by a mapping file: what its columns and kinds are called, as of any other log."""

from collections.abc import Collection

import polars as pl

from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.databases.database import Database
from gamewarden.readers.logs.convert import Convert
from gamewarden.readers.logs.joins import joined
from gamewarden.readers.logs.mapping import LogMap
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.row_report import Tally
from gamewarden.readers.servers.preset import COUNTS, KEY, Directory, LogTable, Preset, Rows
from gamewarden.tables import EVENTS


def preset_of_mapping(mapping: LogMap, database: Database, time_zone: str | None) -> Preset:
    """What a mapping says of one table, as if it were a server that we know.

    Raises:
        ConfigError: the mapping names no table.
        ReadError: there is no such table.
    """
    if mapping.table is None:
        raise ConfigError(f'{mapping.name}: names no table of the database; write [table] and name = "…"')
    if mapping.table not in database.places:
        some = ", ".join(sorted(database.places)[:8]) or "none"
        raise ReadError(f"{database.name}: has no table {mapping.table!r}; it has {some} …")
    key = mapping.key or database.key(mapping.table)
    have = database.columns(mapping.table)
    sides = [{name: theirs for name, theirs in side.columns.items() if theirs in have} for side in mapping.sides]
    written = sides[0].get("at", mapping.theirs()["at"])
    meaning = _Meaning(mapping, time_zone, database.name)
    table = LogTable(
        mapping.table,
        written,
        tuple(name for name in meaning.reads(have) if name not in {key, written}),
        meaning,
        mapping.promised,
        key=key,
        format=mapping.format,
    )
    return Preset(
        f"mapping {mapping.digest}",
        f"tables that {mapping.name} describes",
        (table,),
        lambda _: Directory(pl.DataFrame(schema={"character": pl.String, "actor": pl.String})),
        _no_profiles,
        lambda _: False,
        lambda _: (),
        sessions=None,
    )


class _Meaning:
    """What rows of the table mean: each for itself, so that only those are looked at that count."""

    def __init__(self, mapping: LogMap, time_zone: str | None, source: str) -> None:
        self._source, self._mapping = source, mapping
        self._clock, self._tables = mapping.clock(time_zone), joined(mapping)

    def reads(self, have: Collection[str]) -> list[str]:
        """The columns of the table that are needed."""
        return [name for name in self._convert().reads(EVENTS.columns) if name in have]

    def __call__(self, rows: Rows) -> pl.DataFrame:
        """The events of the rows."""
        convert = self._convert()
        counted = rows.frame.filter(COUNTS)
        events = convert(counted.with_columns(pl.col(KEY).alias(ROW)), tuple(EVENTS.columns))
        for fault in (*convert.tally.report().bad, *convert.tally.report().skipped):
            rows.left_out[fault.reason] += fault.count
        return events.rename({ROW: KEY}).drop("seq", strict=False)

    def _convert(self) -> Convert:
        return Convert(self._mapping, self._clock, Tally(self._source, 1.0), tables=self._tables)


def _no_profiles(database: Database) -> pl.DataFrame:
    raise ReadError(f"{database.name}: a mapping says nothing of accounts; profiles come from a server that we know")
