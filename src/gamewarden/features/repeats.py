"""Rows that a source holds twice: the same source and the same seq. The first one counts."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from gamewarden.contracts import EventStream

Seqs = NDArray[np.uint64]
_BYTES_A_ROW = 32  # seq and position, and as much again while they are sorted
_SCATTER = np.uint64(0x9E3779B97F4A7C15)


class Rising:
    """Whether the seqs of each source rise: then nothing can be there twice, and nothing has to be remembered."""

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}

    def go_on(self, batch: pa.RecordBatch, column: pa.Array) -> bool:
        """Whether they still rise with this batch; a null seq says nothing."""
        seqs = _not_null(column)
        source = source_of(batch)
        if not len(seqs):
            return True
        last = self._last.get(source)
        self._last[source] = int(seqs[-1])
        return (last is None or int(seqs[0]) > last) and bool(_rises(seqs))


class Repeats:
    """The positions of all rows whose seq their source had before, a bit a row."""

    def __init__(self, events: EventStream, budget: int) -> None:
        """Look through the seqs of `events`, holding at most about `budget` bytes beside the bits."""
        self.rows, lowest, highest, known = _survey(events)
        self._bits = np.zeros(self.rows // 8 + 1, np.uint8)
        compact = sum(highest[source] - lowest[source] for source in lowest) // 8 <= budget
        if compact:
            self._mark_compact(events, lowest, highest)
        else:
            self._mark_sorted(events, max(1, -(-known * _BYTES_A_ROW // budget)))

    def drop(self, numbers: NDArray[np.int32], position: int) -> int:
        """Set the numbers of repeated rows to -1 (the first is row `position` of the source); how many there were."""
        return int(_drop(numbers, self._bits, position))

    def _mark_compact(self, events: EventStream, lowest: dict[bytes, int], highest: dict[bytes, int]) -> None:
        seen = {source: np.zeros((highest[source] - lowest[source]) // 8 + 1, np.uint8) for source in lowest}
        for source, seqs, positions in _seqs(events):
            _mark_seen(seqs, np.uint64(lowest[source]), seen[source], positions, self._bits)

    def _mark_sorted(self, events: EventStream, parts: int) -> None:
        for part in range(parts):
            kept: dict[bytes, list[tuple[Seqs, NDArray[np.int64]]]] = {}
            for source, seqs, positions in _seqs(events):
                mine = ((seqs * _SCATTER) >> np.uint64(33)) % np.uint64(parts) == part
                kept.setdefault(source, []).append((seqs[mine], positions[mine]))
            for pieces in kept.values():
                _set_bits(self._bits, _later_of_equal(pieces))


def source_of(batch: pa.RecordBatch) -> bytes:
    """The source a batch says it is from, in its schema's metadata; streams of one source need not say it."""
    return bytes((batch.schema.metadata or {}).get(b"source", b""))


def _later_of_equal(pieces: Sequence[tuple[Seqs, NDArray[np.int64]]]) -> NDArray[np.int64]:
    seqs = np.concatenate([seqs for seqs, _ in pieces])
    positions = np.concatenate([positions for _, positions in pieces])
    order = np.argsort(seqs, kind="stable")
    ordered = seqs[order]
    return positions[order[1:][ordered[1:] == ordered[:-1]]]


def _seqs(events: EventStream) -> Iterator[tuple[bytes, Seqs, NDArray[np.int64]]]:
    position = 0
    for batch in events.batches(("seq",)):
        column = batch.column(0)
        here = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)) + position
        position += len(column)
        yield source_of(batch), _not_null(column), here


def _survey(events: EventStream) -> tuple[int, dict[bytes, int], dict[bytes, int], int]:
    rows, known = 0, 0
    lowest: dict[bytes, int] = {}
    highest: dict[bytes, int] = {}
    for batch in events.batches(("seq",)):
        rows += batch.num_rows
        seqs = _not_null(batch.column(0))
        if len(seqs):
            source = source_of(batch)
            known += len(seqs)
            lowest[source] = min(lowest.get(source, int(seqs.min())), int(seqs.min()))
            highest[source] = max(highest.get(source, 0), int(seqs.max()))
    return rows, lowest, highest, known


def _not_null(column: pa.Array) -> Seqs:
    seqs: Seqs = (column.drop_null() if column.null_count else column).to_numpy()
    seqs.flags.writeable = False
    return seqs


@njit(cache=True, nogil=True, error_model="numpy")
def _rises(seqs: Seqs) -> bool:
    for row in range(1, len(seqs)):  # noqa: SIM110 - compiled code has no all()
        if seqs[row] <= seqs[row - 1]:
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _mark_seen(
    seqs: Seqs, lowest: np.uint64, seen: NDArray[np.uint8], positions: NDArray[np.int64], bits: NDArray[np.uint8]
) -> None:
    for row in range(len(seqs)):
        place = np.int64(seqs[row] - lowest)
        bit = np.uint8(1 << (place & 7))
        if seen[place >> 3] & bit:
            bits[positions[row] >> 3] |= np.uint8(1 << (positions[row] & 7))
        seen[place >> 3] |= bit


@njit(cache=True, nogil=True, error_model="numpy")
def _set_bits(bits: NDArray[np.uint8], positions: NDArray[np.int64]) -> None:
    for position in positions:
        bits[position >> 3] |= np.uint8(1 << (position & 7))


@njit(cache=True, nogil=True, error_model="numpy")
def _drop(numbers: NDArray[np.int32], bits: NDArray[np.uint8], position: int) -> int:
    dropped = 0
    for row in range(len(numbers)):
        if bits[(position + row) >> 3] & np.uint8(1 << ((position + row) & 7)):
            numbers[row] = -1
            dropped += 1
    return dropped
