"""Second tables that a log's rows look something up in: whose account a character is, for one."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.contracts import frame_digest
from gamewarden.errors import ReadError
from gamewarden.readers.logs.layout import PLAIN
from gamewarden.readers.logs.mapping import LogMap
from gamewarden.readers.logs.normalize import as_text
from gamewarden.readers.logs.rows import rows_of
from gamewarden.readers.logs.rules import Join
from gamewarden.readers.logs.shapes import peek
from gamewarden.readers.row_report import Tally, shorten

MOST_ROWS = 20_000_000  # they are held in memory
_KEY = "\0key"
_THERE = "\0there"


@dataclass(frozen=True)
class Joined:
    """One such table: by key what the mapping wants of it, as text, each under the join's name and its own."""

    join: Join
    frame: pl.DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """Those it gives a row."""
        return tuple(name for name in self.frame.columns if name not in {_KEY, _THERE})

    @property
    def unknown(self) -> str:
        """The column that says where a row's key is not in the table."""
        return f"\0unknown {self.join.name}"

    @property
    def reason(self) -> str:
        """What is to be said of such a row."""
        return f"{self.join.on} is not in {self.join.file.name}"

    @property
    def digest(self) -> str:
        """Names what rows become by it; a table that grows changes nothing that was read."""
        return "" if self.join.grows else frame_digest(self.frame)

    def below(self, raw: pl.DataFrame) -> pl.DataFrame:
        """The rows with what the table says of them, null where it says nothing."""
        keys, faults = as_text(raw[self.join.on])
        found = keys.alias(_KEY).to_frame().join(self.frame, on=_KEY, how="left", maintain_order="left")
        unknown = keys.is_not_null() & found[_THERE].is_null()
        for mask in faults.values():
            unknown |= pl.Series(mask)
        return raw.with_columns(*(found[name] for name in self.columns), unknown.alias(self.unknown))


def joined(mapping: LogMap) -> tuple[Joined, ...]:
    """The tables that a mapping looks something up in.

    Raises:
        ReadError: one cannot be read, lacks a column, or has a key twice with other values.
    """
    found = []
    for join in mapping.joins:
        prefix = f"{join.name}."
        wanted = [name.removeprefix(prefix) for name in mapping.references if name.startswith(prefix)]
        if wanted:
            found.append(Joined(join, _table(join, wanted)))
    return tuple(found)


def _table(join: Join, wanted: Sequence[str]) -> pl.DataFrame:
    shape = peek(join.file, (join.key, *wanted))
    if missing := [name for name in (join.key, *wanted) if not shape.has(name)]:
        raise ReadError(f"{join.file}: lacks {missing[0]!r}, which [join.{join.name}] names; it has {shape.some}")
    if twice := [name for name in (join.key, *wanted) if shape.names.count(name) > 1]:
        raise ReadError(f"{join.file}: has two columns named {twice[0]!r}; give each its own name")
    tally, frames, rows = Tally(str(join.file), 0.0), [], 0
    columns = list(dict.fromkeys((join.key, *wanted)))
    for raw in rows_of(shape, PLAIN, columns, tally):
        rows += raw.height
        if rows > MOST_ROWS:
            raise ReadError(f"{join.file}: has more than {MOST_ROWS:,} rows; join a table of accounts, not a log")
        frames.append(pl.DataFrame([_text(raw[name], join) for name in columns]))
    tally.rows += rows
    tally.judge(ended=True)
    whole = pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return _by_key(whole, join, wanted)


def _text(column: pl.Series, join: Join) -> pl.Series:
    text, faults = as_text(column)
    if faults:
        raise ReadError(f"{join.file}: column {column.name!r} {next(iter(faults))}; write it as plain text in UTF-8")
    return text


def _by_key(whole: pl.DataFrame, join: Join, wanted: Sequence[str]) -> pl.DataFrame:
    key = pl.col(join.key).alias(_KEY)
    columns = [pl.col(name).alias(f"{join.name}.{name}") for name in wanted]
    frame = whole.select(key, *columns).filter(pl.col(_KEY).is_not_null()).unique(maintain_order=True)
    twice = frame.filter(pl.col(_KEY).is_duplicated())[_KEY]
    if len(twice):
        raise ReadError(
            f"{join.file}: {join.key} {shorten(twice[0])} is there more than once with other values; a key has one row"
        )
    return frame.with_columns(pl.lit(value=True).alias(_THERE))
