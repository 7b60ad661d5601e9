"""Rows that a source has twice: those whose seq was there already."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]


class Seen:
    """The seq numbers met so far, kept as ranges: a log in order needs one range, whatever its length."""

    def __init__(self) -> None:
        self._starts = np.empty(0, dtype=np.uint64)
        self._ends = np.empty(0, dtype=np.uint64)  # the last number of each range

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
        if not len(self._starts) or ordered[0] > self._ends[-1]:
            return None
        place = np.searchsorted(self._starts, ordered, side="right")
        known: npt.NDArray[np.bool_] = (place > 0) & (ordered <= self._ends[np.maximum(place, 1) - 1])
        return known if known.any() else None

    def _add(self, ordered: Numbers) -> None:
        if not len(ordered):
            return
        breaks = np.flatnonzero(ordered[1:] - ordered[:-1] != 1)
        starts = np.concatenate([self._starts, ordered[:1], ordered[breaks + 1]])
        ends = np.concatenate([self._ends, ordered[breaks], ordered[-1:]])
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        apart = starts[1:] - ends[:-1] != 1  # the ranges never overlap, so this is where they do not touch
        self._starts = starts[np.concatenate([[True], apart])]
        self._ends = ends[np.concatenate([apart, [True]])]
