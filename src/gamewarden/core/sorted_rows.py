"""Rows put aside and given back in order: in memory while they are few, in a file without a name when they are many."""

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel
from gamewarden.errors import WriteError

Ints = NDArray[np.int64]
Records = NDArray[Any]


class SortedRows:
    """Records that have the fields `slot` and `at`, sorted by both; rows that are equal in both come in any order.

    At most about `most` rows are in memory at a time, three times while they are sorted. What is more is sorted by
    pieces, and the pieces are merged from a file that the system removes with this process, whatever happens to it.
    """

    def __init__(self, dtype: np.dtype[Any], most: int) -> None:
        self._dtype = dtype
        self._most = max(1, most)
        self._held: list[Records] = []
        self._held_rows = 0
        self._runs: list[tuple[int, int]] = []  # first and last record of each sorted piece in the file
        self._file: IO[bytes] | None = None

    def add(self, columns: Sequence[NDArray[Any]]) -> None:
        """Put rows aside: a column for each field, in their order.

        Raises:
            WriteError: there is no room left for a temporary file.
        """
        rows = np.empty(len(columns[0]), self._dtype)
        for name, column in zip(self._dtype.names or (), columns, strict=True):
            rows[name] = column
        for begin in range(0, len(rows), self._most):
            self._hold(rows[begin : begin + self._most])

    def batches(self) -> Iterator[Records]:
        """All rows in order, once.

        Raises:
            WriteError: there is no room left for a temporary file.
        """
        if self._runs:
            self._store()
            yield from self._merged()
        elif self._held_rows:
            yield self._in_order()

    def _hold(self, rows: Records) -> None:
        if self._held_rows + len(rows) > self._most:
            self._store()
        self._held.append(rows)
        self._held_rows += len(rows)

    def _in_order(self) -> Records:
        rows = joined(self._held)
        self._held, self._held_rows = [], 0
        order = np.lexsort((np.ascontiguousarray(rows["at"]), np.ascontiguousarray(rows["slot"])))
        return rows.take(order)

    def _store(self) -> None:
        if not self._held_rows:
            return
        rows = self._in_order()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed, and so gone, with this object
                weakref.finalize(self, self._file.close)
            self._file.write(rows.tobytes())
            self._file.flush()
        except OSError as error:
            raise WriteError(
                f"{tempfile.gettempdir()}: rows that came out of order cannot be put aside there "
                f"({error.strerror or error}); free some space, or set TMPDIR to another place"
            ) from error
        begin = self._runs[-1][1] if self._runs else 0
        self._runs.append((begin, begin + len(rows)))

    def _merged(self) -> Iterator[Records]:
        block = max(1, self._most // len(self._runs))
        buffer = np.empty(block * len(self._runs), self._dtype)
        left = np.array(self._runs, np.int64)
        begin = np.arange(0, len(buffer), block)
        end = begin.copy()
        order = np.empty(len(buffer), np.int64)
        while True:
            for run in np.flatnonzero((begin == end) & (left[:, 0] < left[:, 1])):
                begin[run] = run * block
                end[run] = begin[run] + self._fill(buffer[begin[run] : begin[run] + block], left[run])
            count = _merge(buffer["slot"], buffer["at"], (begin, end, left), order)
            if not count:
                return
            yield buffer.take(order[:count])

    def _fill(self, place: Records, left: Ints) -> int:
        """Read the next records of a piece; how many."""
        count = min(len(place), int(left[1] - left[0]))
        if self._file is not None:
            self._file.seek(int(left[0]) * self._dtype.itemsize)
            place[:count] = np.frombuffer(self._file.read(count * self._dtype.itemsize), self._dtype)
        left[0] += count
        return count


def joined(rows: Sequence[Records]) -> Records:
    """Records one after the other; as plain bytes, since NumPy copies records field by field."""
    dtype = rows[0].dtype
    return np.concatenate([np.ascontiguousarray(one).view(f"V{dtype.itemsize}") for one in rows]).view(dtype)


@kernel
def _merge(slot: NDArray[np.int32], at: Ints, runs: tuple[Ints, Ints, Ints], order: Ints) -> int:
    """The order of the rows of several sorted runs, until one of them has to be filled again; how many rows."""
    begin, end, left = runs
    heap = np.empty(len(begin), np.int64)
    size = 0
    for run in range(len(begin)):
        if begin[run] < end[run]:
            heap[size] = run
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sink(heap, size, place, begin, slot, at)
    count = 0
    while size > 0:
        run = heap[0]
        order[count] = begin[run]
        count += 1
        begin[run] += 1
        if begin[run] == end[run]:
            if left[run, 0] < left[run, 1]:
                return count
            size -= 1
            heap[0] = heap[size]
        _sink(heap, size, 0, begin, slot, at)
    return count


@kernel
def _sink(heap: Ints, size: int, place: int, begin: Ints, slot: NDArray[np.int32], at: Ints) -> None:  # noqa: PLR0917
    """Let a run go down the heap until no run below it comes first."""
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _first(begin[heap[below + 1]], begin[heap[below]], slot, at):
            below += 1
        if not _first(begin[heap[below]], begin[heap[place]], slot, at):
            return
        heap[place], heap[below] = heap[below], heap[place]
        place = below


@kernel
def _first(one: int, other: int, slot: NDArray[np.int32], at: Ints) -> bool:
    return bool(slot[one] < slot[other] or (slot[one] == slot[other] and at[one] < at[other]))
