"""Several parts of one day read as one log: their rows merged by time, as far as each part is in order itself.

Two logs of one game, such as one of fights and one of trades, have the same players. Read one after the other, every
player of the second would go back in time; whoever measures would have to sort them all.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from gamewarden.store.lake_parts import Micros, micros

TOGETHER = 64  # parts that are open at a time


def merged(parts: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The batches of several parts, which have the column `at`, merged by time."""
    if len(parts) == 1:
        yield from parts[0]
        return
    open_parts = [part for part in map(_Part, parts) if part.fill()]
    while open_parts:
        until = min(part.last for part in open_parts)
        yield _together([piece for part in open_parts if (piece := part.take(until)).num_rows])
        open_parts = [part for part in open_parts if part.fill()]


class _Part:
    """A part with the rows of it that come next, in the order of time."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rows = pa.RecordBatch.from_pylist([], schema=pa.schema([]))
        self._at: Micros = np.empty(0, np.int64)

    @property
    def last(self) -> int:
        """The latest time of the rows at hand; what is to come is mostly later."""
        return int(self._at[-1])

    def fill(self) -> bool:
        """Have rows at hand; False at the end."""
        while not len(self._at):
            batch = next(self._batches, None)
            if batch is None:
                return False
            self._rows, self._at = _in_order(batch, micros(batch))
        return True

    def take(self, until: int) -> pa.RecordBatch:
        """The rows at hand up to a time."""
        count = int(np.searchsorted(self._at, until, side="right"))
        taken = self._rows.slice(0, count)
        self._rows, self._at = self._rows.slice(count), self._at[count:]
        return taken


def _in_order(batch: pa.RecordBatch, at: Micros) -> tuple[pa.RecordBatch, Micros]:
    if (at[1:] >= at[:-1]).all():
        return batch, at
    order = np.argsort(at, kind="stable")
    return batch.take(pa.array(order)), at[order]


def _together(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(pieces) == 1:
        return pieces[0]
    columns = [pa.concat_arrays(list(column)) for column in zip(*(piece.columns for piece in pieces), strict=True)]
    rows = pa.RecordBatch.from_arrays(columns, names=pieces[0].schema.names)
    return rows.take(pa.array(np.argsort(micros(rows), kind="stable")))  # runs in order: merged, not sorted
