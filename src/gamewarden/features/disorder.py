"""Actors whose rows came out of order: their rows are put aside once, and given back in the order of time.

Somebody is known to be out of order only when a row comes too late. From then on the rows are put aside as they come;
those that came before are picked up in one more pass over the source, which reads nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.sorted_rows import SortedRows

Columns = Sequence[NDArray[Any]]  # of a record, in the order of its fields
_NEVER = np.int64(-1)


class LateRows:
    """The rows of whoever is out of order, by slot; a record has the fields `slot` and `at`."""

    def __init__(self, dtype: np.dtype[Any], most: int) -> None:
        self._rows = SortedRows(dtype, most)
        self._since = np.empty(0, np.int64)  # by slot: the place in the source from which on rows were put aside
        self._place = 0  # how many rows of the source have passed

    def pass_by(self, rows: int) -> None:
        """So many rows of the source have passed."""
        self._place += rows

    def put_aside(self, slot: NDArray[np.int32], disordered: NDArray[np.bool_], columns: Callable[[], Columns]) -> None:
        """In the first pass, the rows of those who are out of order by now."""
        longer = np.full(len(disordered), _NEVER)
        longer[: len(self._since)] = self._since
        longer[disordered & (longer == _NEVER)] = self._place
        self._since = longer
        self._add(slot, longer >= 0, columns)

    def begin_again(self) -> bool:
        """Whether rows had come before anybody knew; then all rows come once more."""
        self._place = 0
        return self.lacks_rows

    @property
    def lacks_rows(self) -> bool:
        """Whether a row to come now may be one of those that are missing."""
        return bool((self._since > self._place).any())

    def pick_up(self, slot: NDArray[np.int32], columns: Callable[[], Columns]) -> None:
        """In the second pass, the rows that had come before."""
        wanted = self._since > self._place
        borders = self._since[wanted]
        if len(borders) and borders.min() < self._place + len(slot):  # cut into other batches than the first time
            place = self._place + np.arange(len(slot))
            slot = np.where(self._since.take(slot, mode="clip") > place, slot, np.int32(-1))
        self._add(slot, wanted, columns)

    def in_order(self) -> Iterator[NDArray[Any]]:
        """All rows, by slot and time."""
        return self._rows.batches()

    def _add(self, slot: NDArray[np.int32], wanted: NDArray[np.bool_], columns: Callable[[], Columns]) -> None:
        mine = chosen(slot, wanted)
        if mine.any():
            self._rows.add([column[mine] for column in columns()])


def chosen(slot: NDArray[np.int32], wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows are of a wanted slot."""
    mine = (slot >= 0) & (slot < len(wanted))
    mine[mine] = wanted[slot[mine]]
    return mine
