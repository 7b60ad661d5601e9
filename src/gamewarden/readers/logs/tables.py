"""Logs that are tables: CSV, JSON Lines and Parquet, plain or packed with gzip or zstd, as streams of EVENTS."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.config import Read
from gamewarden.contracts import canonical_json, digest
from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.errors import ReadError
from gamewarden.readers.compression import Content, Unpacked, content_in, content_of
from gamewarden.readers.logs.columns import foreign, frame_of, picked
from gamewarden.readers.logs.convert import Convert, reads, recipe_of
from gamewarden.readers.logs.duplicates import SeenRows
from gamewarden.readers.logs.fitting import present_sides
from gamewarden.readers.logs.joins import joined
from gamewarden.readers.logs.layout import advice
from gamewarden.readers.logs.mapping import IDENTITY, LogMap
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.rows import text_rows
from gamewarden.readers.logs.shapes import Peek, open_parquet, peek, unpacked_parquet
from gamewarden.readers.places import File, arrow_file, blame_store
from gamewarden.readers.remote import RemoteFile
from gamewarden.readers.row_report import Report, Tally
from gamewarden.readers.sameness import moved
from gamewarden.tables import (
    EVENTS,
    EVENTS_ARROW,
    TEXT_COLUMNS,
    kinds_in,
    parquet_batches,
    signed_seq,
)

MAX_BAD_SHARE = Read.max_bad_share
FORMATS = ("csv", "jsonl", "parquet")
_EXACT = {"at": pa.decimal128(38, 9), "x": pa.float64(), "y": pa.float64(), "amount": pa.float64()}


class EventFile:
    """One log file as an EventStream: read as often as needed, a batch at a time.

    A row without actor, kind or a readable time that can be true is bad: left out, and counted by reason in `report`.
    Any other value that cannot be read becomes null and is counted; its row stays. Of rows with the same seq the first
    counts.

    Raises:
        ReadError: it is no table, a column is missing, or more than `max_bad_share` of its rows are bad.
        ConfigError: the zone is unknown.
    """

    stretch = None

    def __init__(
        self,
        path: File,
        mapping: LogMap | None = None,
        *,
        time_zone: str | None = None,
        max_bad_share: float = MAX_BAD_SHARE,
        keep_truncated: bool = False,
        number_rows: bool = False,
        plausible: Plausible = ANY_TIME,
        partitions: Mapping[str, str | None] | None = None,
        name: str | None = None,
    ) -> None:
        self.path = path
        self.name = name or str(self.path.resolve())
        self.mapping = mapping or IDENTITY
        self.clock = self.mapping.clock(time_zone)
        self.max_bad_share = max_bad_share
        self.keep_truncated = keep_truncated
        self.plausible = plausible
        self.peek = self._peeked()
        self._partitions = {name: said for name, said in (partitions or {}).items() if name not in self.peek.names}
        self._tables = joined(self.mapping)
        looked_up = {column for table in self._tables for column in table.columns}
        self._sides = present_sides(self._shape(), self.mapping, looked_up)
        self.own_seq = "seq" in self._sides[0].columns
        self._number_rows = number_rows and not self.own_seq
        self._report: Report | None = None
        self._seq_is_unique = not self.own_seq
        self._content: Content | None = None  # what its rows must come from, once somebody knows it by that
        self._held: pa.NativeFile | None = None  # the Parquet file whose digest was taken, whatever its name means now
        self._kinds: Mapping[str, int] | None = None

    @property
    def columns(self) -> frozenset[str]:
        """The EVENTS columns this file has."""
        shape, named = self._shape(), {*self.mapping.columns}
        found = {"kind"} | ({"seq"} if self._number_rows else set())
        for side, own in zip(self._sides, ({}, *(one.columns for one in self.mapping.also)), strict=True):
            found |= {ours for ours, name in side.columns.items() if shape.has(name) or ours in named or ours in own}
        return frozenset(found)

    @cached_property
    def rows(self) -> int | None:
        """How many events there are at most, where the file says so."""
        one_each = self.peek.format == "parquet" and not self.mapping.also
        return int(self._parquet([]).metadata.num_rows) if one_each else None

    @property
    def report(self) -> Report:
        """What the last reading gave, up to where it stopped.

        Raises:
            ReadError: the file has not been read.
        """
        if self._report is None:
            raise ReadError(f"{self.path}: has not been read yet; there is nothing to report")
        return self._report

    @property
    def notes(self) -> tuple[str, ...]:
        """What was wrong in the file, after the latest reading; the report's first sentence only counts the rows."""
        return tuple(self.report.sentences()[1:])

    @property
    def recipe(self) -> str:
        """Names all that decides what a row of this file becomes."""
        return recipe_of(self.mapping, self.clock, self._tables)

    @property
    def time_zone(self) -> str | None:
        """The time zone that was given, or else that of the mapping."""
        return self.clock.time_zone

    @property
    def promised(self) -> frozenset[str]:
        """The kinds that the mapping can give, seen or not."""
        return self.mapping.promised

    @property
    def shows(self) -> Mapping[str, int]:
        """The kinds that were seen in the file, or that its mapping promises, with how often they occur.

        Raises:
            ReadError: the file has to be read for it and is damaged.
        """
        if self._kinds is None:
            for _ in self.batches(("kind",)):
                pass
        return dict.fromkeys(self.promised, 0) | dict(self._kinds or {})

    @cached_property
    def coverage(self) -> Coverage:
        """When the file was there.

        Raises:
            ReadError: it is damaged.
        """
        return Pulse.of(self.batches(("actor", "at", "kind"))).coverage()

    @property
    def whole(self) -> Self:
        """It leaves nothing out."""
        return self

    def content(self, beginnings: Sequence[int] = ()) -> Content:
        """A digest of the unpacked bytes, and of as many first bytes as asked for.

        From then on the rows are those of the digest: what is appended to a text log is not read, and a file that
        holds other bytes by the time its rows are read is refused.

        Raises:
            ReadError: the file cannot be read to its end, or is another one than it was when it was opened.
        """
        if self.peek.format == "parquet":
            self._held = _hold(self.path)
            self._content = content_in(self._held, beginnings)
        else:
            self._content = content_of(self.path, beginnings, keep_truncated=self.keep_truncated)
        self._refuse_another()
        return self._placed(self._content)

    def _placed(self, content: Content) -> Content:
        """The same bytes at another place of a dataset are other rows, where the place is a column of them."""
        said = {name: self._partitions[theirs] for name, theirs in self._uses() if theirs in self._partitions}
        if not said:
            return content
        known = canonical_json(said)
        beginnings = {size: digest(one, known) for size, one in content.beginnings.items()}
        return replace(content, digest=digest(content.digest, known), beginnings=beginnings)

    def _shape(self) -> Peek:
        """The file's columns, and those that its place in a dataset gives all its rows."""
        return replace(self.peek, names=(*self.peek.names, *self._partitions))

    def _refuse_another(self) -> None:
        """Its columns were looked at when it was opened; a log of JSON objects may have got more of them since."""
        now = self._schema.names if self.peek.format == "parquet" else self._peeked().names
        if tuple(now[: len(self.peek.names)]) != self.peek.names or (
            len(now) != len(self.peek.names) and self.peek.format != "jsonl"
        ):
            raise moved(self.path)

    def _peeked(self) -> Peek:
        return peek(self.path, self.mapping.references, self.mapping.layout)

    def numbered(self) -> "EventFile":
        """The same file with each row's place in it as seq, where it has no seq of its own."""
        return EventFile(
            self.path,
            self.mapping,
            time_zone=self.clock.time_zone,
            max_bad_share=self.max_bad_share,
            keep_truncated=self.keep_truncated,
            number_rows=True,
            plausible=self.plausible,
            partitions=self._partitions,
            name=self.name,
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The good rows in the file's order, `columns` only.

        Raises:
            ReadError: the file is damaged, or too many rows are bad.
        """
        if unknown := [name for name in columns if name not in EVENTS.columns]:
            raise ReadError(f"{self.path}: EVENTS has no column {unknown[0]!r}; it has {', '.join(EVENTS.columns)}")
        return self._batches(tuple(columns))

    def _batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        tally = Tally(str(self.path), self.max_bad_share)
        seen = None if self._seq_is_unique else SeenRows()
        rows = self._from_parquet(columns, tally) if self.peek.format == "parquet" else self._from_text(columns, tally)
        kinds: Counter[str] = Counter()
        try:
            for batch in rows:
                kept = _first_of_each_seq(batch, seen, tally)
                tally.kept += kept.num_rows
                if self._kinds is None:
                    kinds.update(kinds_in(kept.column("kind")))
                tally.judge(ended=False)
                if kept.num_rows:
                    yield _select(kept, columns)
            tally.judge(ended=True)
            self._seq_is_unique |= tally.duplicates == 0
            self._kinds = kinds if self._kinds is None else self._kinds
        except ReadError as error:
            raise self._with_advice(error, tally) from error
        finally:
            for ours, theirs in self.mapping.columns.items():
                if ours not in self._sides[0].columns:
                    tally.add("notes", f"our {ours} is null: the file has no column {theirs!r}", tally.rows, 1, None)
            self._report = tally.report()

    def _with_advice(self, error: ReadError, tally: Tally) -> ReadError:
        unreadable = f"is not {self.peek.encoding or 'UTF-8'}"
        if self.peek.format == "parquet" or not any(reason.endswith(unreadable) for reason in tally.faults["bad"]):
            return error
        return ReadError(f"{error}; {advice(self.path, self.peek.encoding)}")

    def _uses(self) -> list[tuple[str, str]]:
        """What each column of theirs is read for: a column of ours, or a rule, as (for, theirs)."""
        columns = [pair for side in self._sides for pair in side.columns.items()]
        tested = [*self.mapping.where, *(one for side in self._sides for one in side.where)]
        rules = [*((f"where {one.column}", one.column) for one in tested)]
        return [*columns, *rules, *((f"join {table.join.name}", table.join.on) for table in self._tables)]

    def _decoded(self, columns: tuple[str, ...]) -> list[str]:
        """Our columns to be read whatever is asked for: the rows must not depend on the columns."""
        always = {*self.mapping.needed} if self._seq_is_unique else {*self.mapping.needed, "seq"}
        there = {ours for side in self._sides for ours in side.columns}
        return [name for name in EVENTS.columns if name in there and (name in always or name in columns)]

    def _convert(self, tally: Tally) -> Convert:
        return Convert(
            self.mapping,
            self.clock,
            tally,
            self._sides,
            self._tables,
            self.peek.encoding,
            self.plausible,
            number_rows=self._number_rows,
        )

    def _converted(self, raw: pl.DataFrame, convert: Convert, ours: Sequence[str]) -> pa.RecordBatch:
        with foreign(self.path):
            frame = convert(self._with_partitions(raw), ours)
        return _to_batch(frame[[name for name in frame.columns if name != ROW]])

    def _from_text(self, columns: tuple[str, ...], tally: Tally) -> Iterator[pa.RecordBatch]:
        convert, ours = self._convert(tally), self._decoded(columns)
        wanted = self._wanted(ours)
        with Unpacked(
            self.path, keep_truncated=self.keep_truncated, only=self._content, encoding=self.peek.encoding
        ) as stream:
            for raw in text_rows(stream, self.peek, self.mapping.layout, wanted, tally, exact=self._exact()):
                yield self._converted(raw, convert, ours)
            if stream.ended_early:
                tally.add("notes", "the file ends early; its last whole line ends it", 1, tally.rows, None)

    def _exact(self) -> dict[str, pa.DataType]:
        """The types in which a JSON number of these keys loses nothing that we keep; others are whole numbers."""
        uses: dict[str, set[str]] = {}
        for use, theirs in self._uses():
            uses.setdefault(theirs, set()).add(use)
        return {
            theirs: _EXACT[next(iter(ours))] for theirs, ours in uses.items() if len(ours) == 1 and ours <= {*_EXACT}
        }

    def _from_parquet(self, columns: tuple[str, ...], tally: Tally) -> Iterator[pa.RecordBatch]:
        convert, ours = self._convert(tally), self._decoded(columns)
        wanted = self._wanted(ours)
        placed = any(theirs in self._partitions for _, theirs in self._uses())
        straight = self.mapping.renames_nothing and not placed and _fits(self._schema, ours)
        file = self._parquet([name for name in ours if name in TEXT_COLUMNS] if straight else [])
        done = 0
        try:
            for batch in parquet_batches(file, wanted):
                clean = _clean(batch, self.plausible) if straight else None
                if clean is not None:
                    tally.rows += clean.num_rows
                    yield self._with_numbers(clean, done)
                else:
                    raw = self._foreign_frame(batch, wanted)
                    row = pl.Series(ROW, np.arange(done, done + raw.height, dtype=np.int64))
                    yield self._converted(raw.with_columns(row), convert, ours)
                done += batch.num_rows
            self._refuse_overwritten()
        except ReadError as error:
            blame_store(self.path, error.__cause__)
            raise error if str(self.path) in str(error) else ReadError(f"{self.path}: {error}") from error

    def _foreign_frame(self, batch: pa.RecordBatch, wanted: Sequence[str]) -> pl.DataFrame:
        times = [side.columns["at"] for side in self._sides]
        with foreign(self.path):
            return frame_of(picked(batch, wanted), times)

    def _wanted(self, ours: Sequence[str]) -> list[str]:
        """Their names of columns that are read from the file itself."""
        asked = reads(self.mapping, self._sides, self._tables, ours)
        found = [name for name in asked if name not in self._partitions]
        return found or list(self.peek.sound[:1])  # where its place says all there is, the rows must still be counted

    def _with_partitions(self, raw: pl.DataFrame) -> pl.DataFrame:
        """The rows, and what the file's place says of all of them."""
        used = [name for _, name in self._uses() if name in self._partitions]
        return raw.with_columns(pl.lit(self._partitions[name], pl.String).alias(name) for name in used) if used else raw

    def _with_numbers(self, batch: pa.RecordBatch, done: int) -> pa.RecordBatch:
        if not self._number_rows:
            return batch
        numbers = pa.array(np.arange(done, done + batch.num_rows, dtype=np.int64))
        return batch.append_column("seq", numbers)

    @cached_property
    def _unpacked(self) -> pa.NativeFile | None:
        return unpacked_parquet(self.path)

    @property
    def _schema(self) -> pa.Schema:
        return self._parquet([]).schema_arrow

    def _parquet(self, dictionaries: Sequence[str]) -> pq.ParquetFile:
        return open_parquet(self.path, self._held or self._unpacked, dictionaries)

    def _refuse_overwritten(self) -> None:
        """Parquet is read here and there, so its digest is taken once more; of a packed one we have our own copy."""
        if isinstance(self.path, RemoteFile):
            self.path.confirm()
            if self.path.tagged:
                return
        if self._held is None or self._content is None or self.peek.packing:
            return
        self._held.seek(0)
        if content_in(self._held).digest != self._content.digest:
            raise moved(self.path)


def open_events(
    path: File,
    mapping: LogMap | None = None,
    *,
    time_zone: str | None = None,
    max_bad_share: float = MAX_BAD_SHARE,
    keep_truncated: bool = False,
    number_rows: bool = False,
    plausible: Plausible = ANY_TIME,
    partitions: Mapping[str, str | None] | None = None,
    name: str | None = None,
) -> EventFile:
    """A log file as a stream of events, under its path as its name or under another.

    With `number_rows` a row's place in the file is its seq, where it has none of its own.

    Raises:
        ReadError: it is no table, or a column is missing.
    """
    return EventFile(
        path,
        mapping,
        time_zone=time_zone,
        max_bad_share=max_bad_share,
        keep_truncated=keep_truncated,
        number_rows=number_rows,
        plausible=plausible,
        partitions=partitions,
        name=name,
    )


def _hold(path: File) -> pa.NativeFile:
    """A Parquet file that stays the same file when another takes its name."""
    try:
        return unpacked_parquet(path) or arrow_file(path)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error


def _fits(schema: pa.Schema, ours: Sequence[str]) -> bool:
    """Whether the columns already have our types, so that nothing need be looked at twice."""
    return all(_same_type(schema.field(name).type, name) for name in ours)


def _same_type(dtype: pa.DataType, name: str) -> bool:
    if name in TEXT_COLUMNS:
        plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))
    unsigned = name == "seq" and dtype == pa.uint64()  # as worlds and lakes wrote it once
    return unsigned or bool(dtype == EVENTS_ARROW.field(name).type)


def _clean(batch: pa.RecordBatch, plausible: Plausible) -> pa.RecordBatch | None:
    """A batch of our types whose every row is good, told without looking at each text; None where one is not."""
    if not all(_column_is_clean(name, batch.column(name), plausible) for name in batch.schema.names):
        return None
    try:
        return signed_seq(batch)
    except pa.ArrowInvalid:
        return None


def _column_is_clean(name: str, column: pa.Array, plausible: Plausible) -> bool:
    if name in EVENTS.required and column.null_count:
        return False
    if name in TEXT_COLUMNS:
        return _text_is_clean(column.dictionary)
    if name == "at":
        return plausible.hold(column.cast(pa.int64()).to_numpy())
    if pa.types.is_floating(column.type):
        return bool(np.isfinite(column.fill_null(0).to_numpy()).all())
    return True


def _text_is_clean(values: pa.Array) -> bool:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return int(pc.index(values, "").as_py()) < 0


def _to_batch(frame: pl.DataFrame) -> pa.RecordBatch:
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
    if not table.num_rows:
        return pa.RecordBatch.from_pylist([], schema=table.schema)
    return table.to_batches()[0]


def _first_of_each_seq(batch: pa.RecordBatch, seen: SeenRows | None, tally: Tally) -> pa.RecordBatch:
    if seen is None:
        return batch
    seq = batch.column("seq")
    if seq.null_count:
        given = seq.is_valid().to_numpy(zero_copy_only=False)
        fresh = ~given
        new = seen.first_time(seq.drop_null().to_numpy())
        fresh[given] = True if new is None else new
    else:
        new = seen.first_time(seq.to_numpy())
        if new is None:
            return batch
        fresh = new
    tally.duplicates += int(np.count_nonzero(~fresh))
    return batch.filter(pa.array(fresh))


def _select(batch: pa.RecordBatch, columns: tuple[str, ...]) -> pa.RecordBatch:
    have = set(batch.schema.names)
    arrays = [
        batch.column(name) if name in have else pa.nulls(batch.num_rows, EVENTS_ARROW.field(name).type)
        for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
