"""One part of a lake: how rows stand in a Parquet file, and how damage is found when it is read."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.errors import ReadError
from gamewarden.store.manifest import Part
from gamewarden.tables import (
    BATCH,
    EVENTS,
    EVENTS_ARROW,
    PARQUET_FAULTS,
    TEXT_COLUMNS,
    first_line,
    parquet_batches,
    signed_seq,
)

TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema([(name, TEXT if name in TEXT_COLUMNS else EVENTS_ARROW.field(name).type) for name in EVENTS.columns])
COMPACT = SCHEMA.append(pa.field("source", pa.int32()))  # which source a row came from, by its place in the manifest

Micros = npt.NDArray[np.int64]


def as_stored(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with all columns of EVENTS, of the types that parts have."""
    have = set(batch.schema.names)
    arrays = [
        _stored(batch.column(name), name) if name in have else _nulls(SCHEMA.field(name).type, batch.num_rows)
        for name in SCHEMA.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _nulls(dtype: pa.DataType, rows: int) -> pa.Array:
    return _many_nulls(dtype, 1 << max(rows - 1, 1).bit_length()).slice(0, rows)


@lru_cache(maxsize=32)
def _many_nulls(dtype: pa.DataType, rows: int) -> pa.Array:
    return pa.nulls(rows, dtype)


def _stored(column: pa.Array, name: str) -> pa.Array:
    if name not in TEXT_COLUMNS or column.type == TEXT:
        return column
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return column.cast(TEXT)


def micros(batch: pa.RecordBatch) -> Micros:
    """The times of a batch."""
    return np.asarray(batch.column("at").cast(pa.int64()).to_numpy())


def without_unused(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The column with a dictionary of nothing but the texts that are in it."""
    texts = len(column.dictionary)
    indices = column.indices.fill_null(texts).to_numpy()
    used = np.zeros(texts + 1, np.bool_)
    used[indices] = True
    used[-1] = False  # null
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    kept = pa.array(place[indices], mask=indices == texts)
    return pa.DictionaryArray.from_arrays(kept, column.dictionary.take(pa.array(np.flatnonzero(used))))


def open_part(path: Path, columns: Sequence[str]) -> pq.ParquetFile:
    """A part, ready to be read.

    Raises:
        ReadError: it is missing or damaged, or lacks one of the columns.
    """
    try:
        texts = [name for name in columns if name in TEXT_COLUMNS]
        file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False)
    except FileNotFoundError as error:
        raise ReadError("is missing from the lake; restore it, or read its source into a new lake") from error
    except PARQUET_FAULTS as error:
        raise ReadError(f"is damaged ({first_line(error)}); restore it, or read its source into a new lake") from error
    _refuse_other_columns(file.schema_arrow, columns)
    return file


def _refuse_other_columns(schema: pa.Schema, columns: Sequence[str]) -> None:
    """A part has all columns as we write them, or somebody else wrote it."""
    for name in dict.fromkeys((*columns, "at")):
        at = schema.get_field_index(name)
        if at < 0 or not _is_as_stored(schema.field(at).type, name):
            seen = f"no column {name}" if at < 0 else f"{name} as {schema.field(at).type}"
            raise ReadError(f"has {seen}, which no part of a lake has; restore it, or read its source into a new lake")


def part_batches(
    file: pq.ParquetFile, columns: Sequence[str], groups: Sequence[int] | None = None, size: int = BATCH
) -> Iterator[pa.RecordBatch]:
    """The rows of a part in their order, `columns` only; no batch is across two row groups.

    Raises:
        ReadError: a page is damaged, or an old part has a seq that no longer fits.
    """
    for batch in parquet_batches(file, columns, groups, size):
        try:
            yield signed_seq(batch)
        except pa.ArrowInvalid as error:
            raise ReadError(f"holds a seq beyond {(1 << 63) - 1}; read its source into a new lake") from error


def refuse_other_times(batch: pa.RecordBatch, part: Part) -> None:
    """Damaged bytes can be times that no calendar shows; a part's own times lie where the manifest says."""
    at = batch.schema.get_field_index("at")
    found = pc.min_max(batch.column(at).cast(pa.int64())).as_py() if at >= 0 and batch.num_rows else None
    if found is not None and not part.since <= found["min"] <= found["max"] <= part.last:
        raise ReadError("holds times that it did not have; restore it, or read its source into a new lake")


def refuse_no_text(batch: pa.RecordBatch) -> None:
    """Damaged bytes can be text that is none, which libraries behind us would believe."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in TEXT_COLUMNS:
            try:
                (column.dictionary if pa.types.is_dictionary(column.type) else column).validate(full=True)
            except pa.ArrowInvalid as error:
                raise ReadError(
                    f"holds bytes that are no text in {name}; restore it, or read its source into a new lake"
                ) from error


def _is_as_stored(dtype: pa.DataType, name: str) -> bool:
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    if name == "seq" and plain == pa.uint64():  # as it was once
        return True
    return bool(plain == (pa.string() if name in TEXT_COLUMNS else COMPACT.field(name).type))
