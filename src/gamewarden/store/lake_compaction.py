"""The parts of one day made one: sorted by actor and time, so that one actor's rows are found without reading all.

Rows pass as numbers: each text is kept once, and what does not fit into memory is sorted by pieces. The order is that
of actor, time, seq and then all values, so that the same rows give the same file, whatever parts they were in.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Progress
from gamewarden.core.sorted_rows import SortedRows, joined
from gamewarden.errors import ReadError
from gamewarden.store.lake_parts import COMPACT, SCHEMA, micros, open_part, part_batches
from gamewarden.store.lake_writing import compact_writer
from gamewarden.store.manifest import Part
from gamewarden.tables import TEXT_COLUMNS

ROW_GROUP = 1 << 18  # rows: an actor is found by row groups, so they are not too large
HELD_ROWS = 1 << 20  # rows sorted in memory at a time, about 100 bytes each
_TEXTS = tuple(name for name in SCHEMA.names if name in TEXT_COLUMNS and name != "actor")
_NUMBERS = {"seq": "i8", "x": "f4", "y": "f4", "level": "i2", "amount": "f8"}
_NULLS = {name: 1 << place for place, name in enumerate(_NUMBERS)}  # bits of the numbers that are null
_RECORD = np.dtype(
    [
        ("slot", "i4"),  # the actor's place among all of the day, by name
        ("at", "i8"),
        *((name, "i4") for name in _TEXTS),
        *_NUMBERS.items(),
        ("nulls", "u1"),
        ("source", "i4"),
    ]
)
Records = NDArray[Any]


class Texts:
    """Different texts, numbered as they come; -1 is null."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._numbers = {text: number for number, text in enumerate(texts)}
        self._texts = pa.array(texts, pa.string())
        self._dictionary: pa.Array | None = None  # the one looked up last, and the numbers of its texts
        self._known = np.empty(0, np.int32)

    def numbers(self, column: pa.DictionaryArray) -> NDArray[np.int32]:
        """The number of each text of a column."""
        dictionary = column.dictionary
        if self._dictionary is None or not self._dictionary.equals(dictionary):  # one for each row group
            known = [self._numbers.setdefault(text, len(self._numbers)) for text in dictionary.to_pylist()]
            self._dictionary, self._known = dictionary, np.array([*known, -1], np.int32)
        return np.asarray(self._known.take(column.indices.fill_null(len(dictionary)).to_numpy()), np.int32)

    def column(self, numbers: NDArray[np.int32]) -> pa.DictionaryArray:
        """Numbers as a column whose dictionary has only the texts that are in it."""
        if len(self._texts) < len(self._numbers):
            self._texts = pa.array(self._numbers, pa.string())
        used = np.zeros(len(self._numbers) + 1, np.bool_)
        used[numbers] = True  # null is the last
        used[-1] = False
        place = np.cumsum(used, dtype=np.int32) - np.int32(1)
        indices = pa.array(place[numbers], mask=numbers < 0)
        return pa.DictionaryArray.from_arrays(indices, self._texts.take(pa.array(np.flatnonzero(used))))


def compacted(directory: Path, parts: Sequence[Part], draft: Path, progress: Progress) -> Part:
    """Write the rows of the parts of one day as one part, under the name of a draft.

    Raises:
        ReadError: a part is missing or damaged.
        WriteError: there is no room left.
    """
    rows = _Day(directory, parts)
    with compact_writer(draft) as writer:
        for batch in rows.batches(ROW_GROUP):
            writer.write_batch(batch, row_group_size=batch.num_rows)
            progress(batch.num_rows)
    pieces = sorted((one for part in parts for one in part.origins), key=lambda one: (one.source, one.since, one.last))
    return Part.of_pieces(_name_of(parts), tuple(pieces))


def _name_of(parts: Sequence[Part]) -> str:
    """The name of the part that takes the place of these: the same for the same parts."""
    names = "\n".join(sorted(part.file for part in parts))
    return f"day={parts[0].day}/part-{blake2b(names.encode(), digest_size=6).hexdigest()}-0000.parquet"


class _Day:
    """All rows of some parts of one day."""

    def __init__(self, directory: Path, parts: Sequence[Part]) -> None:
        self._directory, self._parts = directory, parts
        names = {name for part in parts for batch in self._read(part, ["actor"]) for name in _different(batch)}
        self._actors = Texts(sorted(names))
        self._texts = {name: Texts() for name in _TEXTS}

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """The rows by actor, time, seq and values, so many in each batch but the last."""
        held = np.empty(0, _RECORD)
        for more in self._in_order():
            rows = joined([held, more])
            whole = len(rows) // size * size
            yield from (self._batch(rows[begin : begin + size]) for begin in range(0, whole, size))
            held = rows[whole:]
        if len(held):
            yield self._batch(held)

    def _in_order(self) -> Iterator[Records]:
        aside = SortedRows(_RECORD, HELD_ROWS)
        for part in self._parts:
            for batch in self._read(part, COMPACT.names if part.is_compact else SCHEMA.names):
                aside.add(self._columns(batch, part))
        for rows in _whole_ties(aside.batches()):
            _ties_by_seq(rows)
            self._ties_by_value(rows)
            yield rows

    def _read(self, part: Part, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from part_batches(open_part(self._directory / part.file, columns), columns)
        except ReadError as error:
            raise ReadError(f"{self._directory / part.file}: {error}") from error

    def _columns(self, batch: pa.RecordBatch, part: Part) -> list[NDArray[Any]]:
        nulls = np.zeros(batch.num_rows, np.uint8)
        for name, bit in _NULLS.items():
            nulls |= batch.column(name).is_null().to_numpy(zero_copy_only=False) * np.uint8(bit)
        source = batch.column("source").to_numpy() if part.is_compact else np.full(batch.num_rows, part.source)
        return [
            self._actors.numbers(batch.column("actor")),
            micros(batch),
            *(texts.numbers(batch.column(name)) for name, texts in self._texts.items()),
            *(batch.column(name).fill_null(0).to_numpy() for name in _NUMBERS),
            nulls,
            source,
        ]

    def _ties_by_value(self, rows: Records) -> None:
        """Sort those that share actor, time and seq by their values."""
        places = _tied(rows, "slot", "at", "seq")
        if len(places):
            tied = rows.take(places)
            values = pl.DataFrame(pl.from_arrow(self._batch(tied)))
            texts = values.with_columns(pl.col(pl.Categorical).cast(pl.String))
            rows[places] = tied.take(texts.select(pl.arg_sort_by("actor", "at", *_REST)).to_series().to_numpy())

    def _batch(self, rows: Records) -> pa.RecordBatch:
        columns = {
            "actor": self._actors.column(np.ascontiguousarray(rows["slot"])),
            "at": pa.array(rows["at"], pa.timestamp("us", "UTC")),
            **{name: texts.column(np.ascontiguousarray(rows[name])) for name, texts in self._texts.items()},
            **{name: pa.array(rows[name], mask=rows["nulls"] & bit != 0) for name, bit in _NULLS.items()},
            "source": pa.array(rows["source"]),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in COMPACT.names], schema=COMPACT)


_REST = ("seq", *(name for name in COMPACT.names if name not in {"actor", "at", "seq"}))


def _different(batch: pa.RecordBatch) -> list[str]:
    """The texts of a batch's only column; its dictionary may have more than are in it."""
    names: list[str] = batch.column(0).unique().dictionary_decode().to_pylist()
    return names


def _ties_by_seq(rows: Records) -> None:
    """Sort those that share actor and time by their seq."""
    places = _tied(rows, "slot", "at")
    if len(places):
        tied = rows.take(places)
        rows[places] = tied.take(np.lexsort((tied["seq"], tied["at"], tied["slot"])))


def _tied(rows: Records, *names: str) -> NDArray[np.int64]:
    """The places of rows that have the same in these fields as the row before or after."""
    as_before = np.zeros(len(rows) + 1, np.bool_)
    as_before[1:-1] = True
    for name in names:
        as_before[1:-1] &= rows[name][1:] == rows[name][:-1]
    return np.flatnonzero(as_before[1:] | as_before[:-1])


def _whole_ties(batches: Iterator[Records]) -> Iterator[Records]:
    """The same rows cut so that rows of one actor and time are never in two batches."""
    held = np.empty(0, _RECORD)
    for batch in batches:
        rows = joined([held, batch])
        last = (rows["slot"] == rows["slot"][-1]) & (rows["at"] == rows["at"][-1])
        begin = 0 if last.all() else len(rows) - int(np.argmin(last[::-1]))
        held = rows[begin:]
        if begin:
            yield rows[:begin]
    if len(held):
        yield held
