"""Where a period begins and ends on a clock that people live by."""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.spans import DAY, parse_zone, to_micros

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = to_micros(datetime(1, 1, 3, tzinfo=UTC))  # the outermost moments that can be shown in every zone
_LAST = to_micros(datetime(9999, 12, 29, tzinfo=UTC))
_ALWAYS = -(1 << 62)
_MARGIN = 400 * DAY


class Offsets(NamedTuple):
    """Pieces of time in which the local clock runs at a fixed distance from UTC."""

    since: NDArray[np.int64]
    offset: NDArray[np.int64]
    least: NDArray[np.int64]  # the number of the period that had begun when the piece began


class Clock:
    """Periods of `every` microseconds on the clock of a zone, counted from midnight of 1970-01-01 on that clock.

    A period begins when its clock first shows its number times `every` or later: an hour that a clock repeats belongs
    to the period that was running, and a border inside an hour that a clock leaves out is the moment of the jump.
    """

    def __init__(self, zone: str | None, every: int) -> None:
        self._zone = None if zone is None else parse_zone(zone)
        self._every = every
        self._known: tuple[int, int] | None = None
        self._offsets = _pieces([_ALWAYS], [0], every)

    def offsets(self, first: int, last: int) -> Offsets:
        """The pieces of time needed for moments from `first` to `last`."""
        if self._zone is not None and not (self._known and self._known[0] <= first <= last <= self._known[1]):
            known = self._known or (first, last)
            self._known = begin, end = min(first, known[0]), max(last, known[1])
            self._offsets = self._search(max(begin - _MARGIN, _FIRST), min(end + _MARGIN, _LAST))
        return self._offsets

    def _search(self, first: int, last: int) -> Offsets:
        since, offset = [_ALWAYS], [self._offset(first)]
        for before, after in pairwise([*range(first, last, DAY), last]):
            if self._offset(after) != offset[-1]:
                since.append(self._change(before, after))
                offset.append(self._offset(after))
        return _pieces(since, offset, self._every)

    def _change(self, before: int, after: int) -> int:
        old = self._offset(before)
        return before + bisect_right(range(before, after), 0, key=lambda at: int(self._offset(at) != old))

    def _offset(self, at: int) -> int:
        moment = (_EPOCH + timedelta(microseconds=at)).astimezone(self._zone)
        return (moment.utcoffset() or timedelta()) // timedelta(microseconds=1)


def _pieces(since: list[int], offset: list[int], every: int) -> Offsets:
    shown = [
        end + moved for end, moved in zip(since[1:], offset, strict=False)
    ]  # what the clock reached, piece by piece
    reached = [max(shown[:piece], default=_ALWAYS) for piece in range(len(since))]
    least = [(most - 1) // every for most in reached]
    return Offsets(np.array(since, np.int64), np.array(offset, np.int64), np.array(least, np.int64))
