"""One client's TCP segments put back in order: what arrives late is waited for, what comes twice is taken once.

A hole is waited for until so much is held behind it that it will not be filled any more; then its bytes count as lost.
"""

from bisect import insort
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gamewarden.readers.captures.flows import FAR
from gamewarden.readers.captures.kernel import Rows
from gamewarden.readers.kernels import kernel

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

MOST_HELD = 256  # segments behind a hole
MOST_HELD_BYTES = 1 << 18
SYN = 0x02
_M32 = 0xFFFFFFFF
_HALF = 1 << 31


class Piece(NamedTuple):
    """A segment that waits, by how far it lies ahead of where the stream began."""

    place: int
    data: Bytes
    at: int


class Ordered:
    """Bytes in their order, with where each segment's share of them ends and when it was captured."""

    __slots__ = ("_ends", "_parts", "_times", "length")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._parts: list[Bytes] = []
        self._ends: list[Ints] = []
        self._times: list[Ints] = []
        self.length = 0

    def add(self, data: Bytes, at: int) -> None:
        """One segment's share."""
        self.add_many(data, np.array([len(data)], np.int64), np.array([at], np.int64))

    def add_many(self, data: Bytes, ends: Ints, times: Ints) -> None:
        """The shares of several segments, `ends` counted from the beginning of `data`."""
        if len(data):
            self._parts.append(data)
            self._ends.append(ends + self.length)
            self._times.append(times)
            self.length += len(data)

    def whole(self) -> tuple[Bytes, Ints, Ints]:
        """All bytes, ends and times."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
            self._ends = [np.concatenate(self._ends)]
            self._times = [np.concatenate(self._times)]
        if not self._parts:
            return np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)
        return self._parts[0], self._ends[0], self._times[0]

    def keep_from(self, offset: int) -> None:
        """Forget what stands before an offset."""
        data, ends, times = self.whole()
        rest = ends > offset
        self._clear()
        # A copy: what is kept must not keep the whole piece alive.
        self.add_many(data[offset:].copy(), ends[rest] - offset, times[rest])


class Assembly:
    """The order of one direction of a connection: where it is, and what waits."""

    __slots__ = ("_held", "_held_bytes", "_place", "doubled", "first", "opened", "ordered")

    def __init__(self) -> None:
        self.ordered = Ordered()
        self.first: int | None = None  # sequence number of the first byte that counts
        self.opened = False  # that number was told by a SYN
        self.doubled = 0  # bytes that had come before
        self._place = 0  # of the next byte, counted from the first; never wraps
        self._held: list[Piece] = []
        self._held_bytes = 0

    def begin(self, seq: int, *, opened: bool) -> None:
        """The connection begins with this number."""
        self.first, self.opened = seq & _M32, opened

    @property
    def begun(self) -> bool:
        """Whether bytes have come in their order: a SYN that is sent once more comes before them."""
        return self._place > 0

    def is_far(self, seq: int) -> bool:
        """Whether a segment lies so far off that it must belong to another connection."""
        return abs(self._place_of(seq) - self._place) > FAR

    def take(self, seq: int, data: Bytes, at: int) -> None:
        """One segment, wherever it belongs."""
        place = self._place_of(seq)
        if place > self._place:
            insort(self._held, Piece(place, data.copy(), at), key=lambda piece: piece.place)
            self._held_bytes += len(data)
            return
        self._append(place, data, at)
        self._release()

    @property
    def overfull(self) -> bool:
        """Whether more is held than should wait for a hole to be filled."""
        return len(self._held) > MOST_HELD or self._held_bytes > MOST_HELD_BYTES

    @property
    def holds(self) -> bool:
        """Whether anything waits for a hole to be filled."""
        return bool(self._held)

    def give_up(self) -> int:
        """Go on behind the first hole; how many bytes are lost in it."""
        lost = self._held[0].place - self._place
        self._place = self._held[0].place
        self._release()
        return lost

    def take_in_order(self, rows: Rows, which: Ints, start: int) -> int:
        """As many of a batch's segments as simply follow each other; the first that does not."""
        if self._held or self.first is None:
            return start
        expected = (self.first + self._place) & _M32
        stop, total = _in_order(rows.seq, rows.size, rows.flags, which, start, expected)
        if stop > start:
            data, ends = np.empty(total, np.uint8), np.empty(stop - start, np.int64)
            _copy(rows.pool, rows.begin, rows.size, which, start, data, ends)
            self.ordered.add_many(data, ends, rows.at[which[start:stop]])
            self._place += int(total)
        return int(stop)

    def _place_of(self, seq: int) -> int:
        ahead = (seq - (self.first or 0) - self._place) & _M32
        return self._place + (ahead - (1 << 32) if ahead >= _HALF else ahead)

    def _append(self, place: int, data: Bytes, at: int) -> None:
        fresh = data[self._place - place :]
        self.doubled += len(data) - len(fresh)
        self.ordered.add(fresh.copy(), at)
        self._place += len(fresh)

    def _release(self) -> None:
        while self._held and self._held[0].place <= self._place:
            piece = self._held.pop(0)
            self._held_bytes -= len(piece.data)
            self._append(*piece)


@kernel
def _in_order(
    seq: Ints,
    size: npt.NDArray[np.int32],
    flags: Bytes,
    which: Ints,
    start: int,
    expected: int,
) -> tuple[int, int]:
    """(the first segment that does not simply follow the one before, bytes of those that do)."""
    total = np.int64(0)
    for number in range(start, len(which)):
        row = which[number]
        if seq[row] != expected or (flags[row] & SYN) != 0:
            return number, total
        total += size[row]
        expected = (expected + np.int64(size[row])) & _M32
    return len(which), total


@kernel
def _copy(
    pool: Bytes, begin: Ints, size: npt.NDArray[np.int32], which: Ints, start: int, data: Bytes, ends: Ints
) -> None:
    filled = np.int64(0)
    for number in range(len(ends)):
        row = which[start + number]
        for place in range(size[row]):
            data[filled + place] = pool[begin[row] + place]
        filled += size[row]
        ends[number] = filled
