"""The events of a task as Spark sends them: given the types that folds expect, and cut where somebody's rows end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.errors import TableError
from gamewarden.features.folding import whole
from gamewarden.tables import EVENTS

TOGETHER = 1 << 16  # rows that are looked at together; Spark sends far fewer
_UTC = pa.timestamp("us", "UTC")
_TYPES: Mapping[str, pa.DataType] = {"at": _UTC, "seq": pa.int64(), "level": pa.int16(), "amount": pa.float64()} | {
    name: pa.float32() for name in ("x", "y")
}

Batches = Iterable[pa.RecordBatch]
Pieces = Iterator[tuple[bool, pa.RecordBatch]]  # whether it begins anew, and some rows


def gathered(batches: Batches, rows: int = TOGETHER) -> Iterator[pa.RecordBatch]:
    """The same rows in larger batches."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        if held >= rows:
            yield _joined(waiting)
            waiting, held = [], 0
    if held:
        yield _joined(waiting)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def pieces(batches: Batches, key: str, least: int = 1) -> Pieces:
    """Batches sorted by a key, cut between two keys once `least` rows have come; each with whether it begins anew.

    The rows of one key are never parted.
    """
    passed, last = 0, None
    for batch in batches:
        begin, anew = 0, False
        for border in _borders(batch.column(key), last):
            if passed + border - begin >= least:
                if border > begin:
                    yield anew, batch.slice(begin, border - begin)
                begin, anew, passed = border, True, 0
        yield anew, batch.slice(begin)
        passed += batch.num_rows - begin
        last = batch.column(key)[-1]


def _borders(keys: pa.Array, last: pa.Scalar | None) -> list[int]:
    """Where another key begins, the first row included where it follows on another one."""
    changes = pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(zero_copy_only=False)
    first = [0] if last is not None and last != keys[0] else []
    return [*first, *(np.flatnonzero(changes) + 1).tolist()]


def conformed(batches: Batches, door: str) -> Iterator[pa.RecordBatch]:
    """EVENTS as folds expect them; columns that are none of EVENTS stay as they are.

    Raises:
        TableError: an event has no actor, time or kind, or a number that EVENTS cannot hold.
    """
    for batch in batches:
        names = batch.schema.names
        columns = [_typed(batch.column(name), name, door) for name in names]
        for name, column in zip(names, columns, strict=True):
            if name in EVENTS.required:
                whole(column, name, door)
        yield pa.RecordBatch.from_arrays(columns, names)


def _typed(column: pa.Array, name: str, door: str) -> pa.Array:
    wanted = _TYPES.get(name)
    if name not in EVENTS.columns or wanted is None:
        return column
    if wanted == _UTC:  # the same moment, whatever zone the session shows it in
        return column.view(pa.int64()).view(_UTC)
    if pa.types.is_floating(wanted) and pc.any(pc.is_nan(column)).as_py():
        raise TableError(f"{door}: EVENTS.{name} holds NaN; write null for what was not measured")
    try:
        return column.cast(wanted)
    except pa.ArrowInvalid as error:
        ends = pc.min_max(column).as_py()
        raise TableError(
            f"{door}: EVENTS.{name} reaches from {ends['min']:,} to {ends['max']:,}; it must fit {wanted}"
        ) from error


def chosen(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """The columns that a fold asks for, null where there is none."""
    there = batch.schema.names
    arrays = [
        batch.column(name) if name in there else pa.nulls(batch.num_rows, _TYPES.get(name, pa.string()))
        for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, list(columns))
