"""Decoded messages on their way out of a kernel: what a table means to it, and its rows as Arrow columns."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from gamewarden.readers.ragnarok import kernel
from gamewarden.readers.ragnarok.message_fields import amount_width
from gamewarden.readers.ragnarok.message_table import MessageTable
from gamewarden.tables import MESSAGES

BATCH_ROWS = 1 << 16
CONNECT = "wanttoconnection"
_PARTS = {
    "place": kernel.PLACE,
    "x": kernel.X,
    "y": kernel.Y,
    "target": kernel.TARGET,
    "action": kernel.ACTION,
    "item": kernel.ITEM,
    "skill": kernel.SKILL,
    "amount": kernel.AMOUNT,
}
_TYPES = {name: pl.Series([], dtype=dtype).to_arrow().type for name, dtype in MESSAGES.columns.items()}
_TEXT = pa.dictionary(pa.int32(), pa.string())


class Layout:
    """A message table as the kernels read it."""

    def __init__(self, db: MessageTable) -> None:
        self.db = db
        self.functions = sorted({entry.function for entry in db.entries.values() if entry.function is not None})
        self._codes = {name: code for code, name in enumerate(self.functions, 1)}

    @cached_property
    def array(self) -> npt.NDArray[np.int32]:
        """One row for every id there can be."""
        layout = np.zeros((1 << 16, kernel.LAYOUT_COLUMNS), np.int32)
        for entry in self.db.entries.values():
            row = layout[entry.id]
            row[kernel.LENGTH] = kernel.layout_length(entry.length)
            row[kernel.FUNCTION] = self._codes.get(entry.function or "", 0)
            for part, place in entry.fields.items():
                if part in _PARTS:
                    row[_PARTS[part]] = place
            if "amount" in entry.fields:
                row[kernel.AMOUNT_WIDTH] = amount_width(entry.function)
            if entry.function == CONNECT:
                row[kernel.CONNECT] = 1
                row[kernel.ACCOUNT] = entry.fields.get("account", 0)
                row[kernel.CHARACTER] = entry.fields.get("character", 0)
        return layout

    def function_codes(self, ids: npt.NDArray[np.uint16]) -> npt.NDArray[np.int32]:
        """The function of each id, from 1; 0 for none."""
        codes: npt.NDArray[np.int32] = self.array[:, kernel.FUNCTION][ids]
        return codes


@lru_cache(maxsize=4)
def layout_of(db: MessageTable) -> Layout:
    """The layout of a table, made once for all the streams that are read with it."""
    return Layout(db)


class BatchBuffers:
    """The rows being filled, and what names the sessions in them."""

    def __init__(self, layout: Layout, capacity: int = BATCH_ROWS) -> None:
        self.layout = layout
        self.rows = kernel.new_rows(capacity)
        self.count = 0
        self._capacity = capacity

    def batch(
        self,
        columns: Sequence[str],
        accounts: npt.NDArray[np.int64],
        characters: npt.NDArray[np.int64],
        streams: npt.NDArray[np.int32],
        clients: pa.DictionaryArray | None = None,
    ) -> pa.RecordBatch:
        """The rows as columns of MESSAGES; who speaks is given for every row, -1 for nobody known."""
        rows, count = self.rows, self.count
        self.rows, self.count = kernel.new_rows(self._capacity), 0
        made = {
            "stream": lambda: pa.array(streams),
            "client": lambda: pa.nulls(count, _TEXT) if clients is None else clients,
            "session": lambda: pa.array(rows.session[:count]),
            "actor": lambda: _number_texts(accounts),
            "character": lambda: _number_texts(characters),
            "at": lambda: _or_null(rows.at[:count], rows.timed[:count], "at"),
            "id": lambda: pa.array(rows.id[:count]),
            "function": lambda: self._functions(rows.id[:count]),
            "size": lambda: pa.array(rows.size[:count]),
        }
        arrays = [made[name]() if name in made else _numbers(rows, name, count) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _functions(self, ids: npt.NDArray[np.uint16]) -> pa.DictionaryArray:
        codes = self.layout.function_codes(ids)
        return pa.DictionaryArray.from_arrays(
            pa.array(codes - 1, mask=codes == 0), pa.array(self.layout.functions, pa.string())
        )


def _numbers(rows: kernel.Rows, name: str, count: int) -> pa.Array:
    values = getattr(rows, name)[:count]
    return _or_null(values, values >= 0, name)


def _or_null(values: npt.NDArray[Any], told: npt.NDArray[Any], name: str) -> pa.Array:
    """A column over the memory it stands in, or over a narrower copy; null where it is not told."""
    dtype = _TYPES[name]
    narrow = values if pa.types.is_timestamp(dtype) else values.astype(dtype.to_pandas_dtype(), copy=False)
    bits = pa.py_buffer(np.packbits(told, bitorder="little"))
    return pa.Array.from_buffers(dtype, len(values), [bits, pa.py_buffer(narrow)])


def _number_texts(numbers: npt.NDArray[np.int64]) -> pa.DictionaryArray:
    """Ids as text; -1 is null."""
    known, codes = np.unique(numbers, return_inverse=True)
    texts = pa.array([str(number) for number in known.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=numbers < 0), texts)
