"""Rows that a source has twice: those whose seq was there already."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


class SeenRows:
    """The seq numbers met so far, kept as ranges: a log in order needs one range, whatever its length.

    Numbers in disorder make many ranges. They lie in heaps, each more than twice as large as the next, so that a
    range is merged into a larger heap only now and then.
    """

    def __init__(self) -> None:
        self._heaps: list[_Ranges] = []

    @property
    def ranges(self) -> int:
        """How many ranges it takes."""
        return sum(len(heap.starts) for heap in self._heaps)

    def first_time(self, numbers: Numbers) -> npt.NDArray[np.bool_] | None:
        """Which of the numbers are met for the first time; None says all of them. They count as met from now on."""
        if not len(numbers):
            return None
        if (numbers[1:] > numbers[:-1]).all():
            known = self._known(numbers)
            fresh = None if known is None else ~known
            self._add(numbers if fresh is None else numbers[fresh])
            return fresh
        ordered, places = np.unique(numbers, return_index=True)  # the first place of each number
        known = self._known(ordered)
        if known is not None:
            ordered, places = ordered[~known], places[~known]
        self._add(ordered)
        if len(places) == len(numbers):
            return None
        fresh = np.zeros(len(numbers), dtype=np.bool_)
        fresh[places] = True
        return fresh

    def _known(self, ordered: Numbers) -> npt.NDArray[np.bool_] | None:
        found = [known for heap in self._heaps if (known := heap.holds(ordered)) is not None]
        return np.logical_or.reduce(found) if found else None

    def _add(self, ordered: Numbers) -> None:
        if not len(ordered):
            return
        heap = _Ranges.of(ordered)
        while self._heaps and len(self._heaps[-1].starts) <= 2 * len(heap.starts):
            heap = heap.merged(self._heaps.pop())
        self._heaps.append(heap)


@dataclass(frozen=True)
class _Ranges:
    """Numbers as ranges in order that neither overlap nor touch."""

    starts: Numbers
    ends: Numbers  # the last number of each

    @classmethod
    def of(cls, ordered: Numbers) -> "_Ranges":
        breaks = np.flatnonzero(ordered[1:] - ordered[:-1] != 1)
        return cls(np.concatenate([ordered[:1], ordered[breaks + 1]]), np.concatenate([ordered[breaks], ordered[-1:]]))

    def holds(self, ordered: Numbers) -> npt.NDArray[np.bool_] | None:
        """Which of the numbers lie in a range; None says none of them."""
        if ordered[0] > self.ends[-1] or ordered[-1] < self.starts[0]:
            return None
        place = np.searchsorted(self.starts, ordered, side="right")
        known: npt.NDArray[np.bool_] = (place > 0) & (ordered <= self.ends[np.maximum(place, 1) - 1])
        return known if known.any() else None

    def merged(self, other: "_Ranges") -> "_Ranges":
        """Both, which share no number, as one."""
        starts = np.concatenate([other.starts, self.starts])
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.concatenate([other.ends, self.ends])[order]
        apart = starts[1:] - ends[:-1] != 1
        return _Ranges(starts[np.concatenate([[True], apart])], ends[np.concatenate([apart, [True]])])
