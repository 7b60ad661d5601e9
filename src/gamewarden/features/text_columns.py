"""Texts to small whole numbers, so that kernels never see a string."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

_BLOCK = 256  # look-ups made together, so that their cache misses overlap
_STRIDE = 1 << 14  # rows a call of the kernel, which bounds how many new texts one call can bring
_ID = np.int64((1 << 32) - 1)  # low half of a table entry: number + 1, so that 0 means empty; high half: hash
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_BYTE = np.uint64(8)


class _Texts(NamedTuple):
    """A column of texts: text i is data[offsets[i] : offsets[i + 1]]."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class _Known(NamedTuple):
    """The different texts so far, and the table that finds them."""

    table: NDArray[np.int64]
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class Names:
    """A growing list of different texts, numbered in the order in which they were first seen.

    Equal bytes decide what is the same text; a hash only says where to look.
    """

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        self.count = 0
        self._table = np.zeros(1 << 16, np.int64)
        self.starts = np.zeros(_STRIDE + 1, np.int64)  # text i is data[starts[i] : starts[i + 1]]
        self.data = np.zeros(1 << 16, np.uint8)
        self._dictionary: pa.Array | None = None
        self._numbers = np.empty(0, np.int32)
        if texts:
            self.numbers(pa.array(texts, pa.large_string()))

    def numbers(self, column: pa.Array) -> NDArray[np.int32]:
        """The number of each text, -1 for null; texts not seen before get the next numbers."""
        if pa.types.is_dictionary(column.type):
            return self._of_dictionary(column)
        return self._of_texts(column)

    def texts(self) -> pa.Array:
        """All texts in the order of their numbers."""
        # Copies, since the originals move when they grow.
        starts = self.starts[: self.count + 1].copy()
        data = self.data[: starts[-1]].copy()
        buffers = [None, pa.py_buffer(starts), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_string(), self.count, buffers)

    def _of_dictionary(self, column: pa.DictionaryArray) -> NDArray[np.int32]:
        if len(column.dictionary) == 0:
            return np.full(len(column), -1, np.int32)
        if not self._is_known(column.dictionary):
            self._numbers = self._of_texts(column.dictionary)
            self._dictionary = column.dictionary
        indices = column.indices
        if not indices.null_count:
            return self._numbers.take(indices.to_numpy())
        found = self._numbers.take(indices.fill_null(0).to_numpy())
        found[indices.is_null().to_numpy(zero_copy_only=False)] = -1
        return found

    def _is_known(self, dictionary: pa.Array) -> bool:
        """Batches of one row group have equal dictionaries: the one looked up last is recognised."""
        return self._dictionary is not None and self._dictionary.equals(dictionary)

    def _of_texts(self, column: pa.Array) -> NDArray[np.int32]:
        texts = _texts_of(column)
        found = np.empty(len(column), np.int32)
        for begin in range(0, len(column), _STRIDE):
            end = min(begin + _STRIDE, len(column))
            self._make_room(end - begin, int(texts.offsets[end] - texts.offsets[begin]))
            known = _Known(self._table, self.data, self.starts)
            self.count = _intern(texts, found[begin:end], begin, known, self.count)
        if column.null_count:
            found[column.is_null().to_numpy(zero_copy_only=False)] = -1
        return found

    def _make_room(self, texts: int, size: int) -> None:
        most = self.count + texts
        if 2 * most > len(self._table):
            self._table = _spread(_Texts(self.data, self.starts), self.count, 1 << (4 * most).bit_length())
        if most + 1 > len(self.starts):
            self.starts.resize(2 * most + 1, refcheck=False)
        if self.starts[self.count] + size > len(self.data):
            self.data.resize(2 * (int(self.starts[self.count]) + size), refcheck=False)


def _texts_of(column: pa.Array) -> _Texts:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        column = column.cast(pa.large_string())
    width: type[np.signedinteger[Any]] = np.int64 if pa.types.is_large_string(column.type) else np.int32
    _, places, texts = column.buffers()
    if places is None or len(column) == 0:
        return _Texts(_frozen(np.zeros(1, np.uint8)), np.zeros(len(column) + 1, np.int64))
    offsets = np.frombuffer(places, width, len(column) + 1, column.offset * np.dtype(width).itemsize)
    data = np.frombuffer(texts, np.uint8) if texts is not None and texts.size else np.zeros(1, np.uint8)
    return _Texts(_frozen(data), offsets.astype(np.int64))


def _frozen(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Arrow's buffers are read-only, another type to the compiler: give it only that one."""
    data.flags.writeable = False
    return data


@kernel
def _hash(data: NDArray[np.uint8], begin: int, end: int) -> np.uint64:
    value = np.uint64(end - begin) * _PRIME
    for place in range(begin, end):
        value = (value ^ np.uint64(data[place])) * _MIX
        value ^= value >> _HALF
    return value * _PRIME


@kernel
def _same(texts: _Texts, row: int, known: _Known, number: int) -> bool:
    begin, size = texts.offsets[row], texts.offsets[row + 1] - texts.offsets[row]
    start = known.offsets[number]
    if known.offsets[number + 1] - start != size:
        return False
    for place in range(size):  # noqa: SIM110 - compiled code has no all()
        if texts.data[begin + place] != known.data[start + place]:
            return False
    return True


@kernel
def _append(texts: _Texts, row: int, known: _Known, number: int) -> None:
    begin, size = texts.offsets[row], texts.offsets[row + 1] - texts.offsets[row]
    start = known.offsets[number]
    for place in range(size):
        known.data[start + place] = texts.data[begin + place]
    known.offsets[number + 1] = start + size


@kernel
def _intern(texts: _Texts, found: NDArray[np.int32], first: int, known: _Known, count: int) -> int:
    """Find the numbers of the rows from `first` on; the new count of different texts."""
    mask = np.uint64(len(known.table) - 1)
    hashes = np.empty(_BLOCK, np.uint64)
    entries = np.empty(_BLOCK, np.int64)
    for block in range(0, len(found), _BLOCK):
        rows = min(_BLOCK, len(found) - block)
        for row in range(rows):
            begin = texts.offsets[first + block + row]
            hashes[row] = _hash(texts.data, begin, texts.offsets[first + block + row + 1])
        for row in range(rows):
            entries[row] = known.table[hashes[row] & mask]
        for row in range(rows):
            number = _resolve(texts, first + block + row, known, count, hashes[row], entries[row])
            found[block + row] = number
            count = max(count, number + 1)
    return count


@kernel
def _resolve(texts: _Texts, row: int, known: _Known, count: int, value: np.uint64, entry: int) -> int:  # noqa: PLR0917 - one look-up
    """Walk the table from where the hash points, whose entry is at hand, to the text or to a free place."""
    mask = np.uint64(len(known.table) - 1)
    tag = np.int64(value >> _HALF)
    place = value & mask
    if entry == 0:
        entry = known.table[place]  # a text of this very block may have just moved in
    while entry != 0:
        number = int(entry & _ID) - 1
        if ((entry >> 32) & _ID) == tag and _same(texts, row, known, number):
            return number
        place = (place + np.uint64(1)) & mask
        entry = known.table[place]
    known.table[place] = (tag << 32) | np.int64(count + 1)
    _append(texts, row, known, count)
    return count


@kernel
def _spread(texts: _Texts, count: int, size: int) -> NDArray[np.int64]:
    """A larger table for the same texts."""
    table = np.zeros(size, np.int64)
    mask = np.uint64(size - 1)
    for number in range(count):
        value = _hash(texts.data, texts.offsets[number], texts.offsets[number + 1])
        place = value & mask
        while table[place] != 0:
            place = (place + np.uint64(1)) & mask
        table[place] = (np.int64(value >> _HALF) << 32) | np.int64(number + 1)
    return table
