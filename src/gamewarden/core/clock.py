"""Where periods begin and end on the clock that people live by: the one place that says so.

A period begins when the clock of its time zone first shows its number times its length, counted from midnight of
1970-01-01, or later: an hour that a clock repeats belongs to the period that was running, and a border inside an hour
that a clock leaves out is the moment of the jump.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.durations import DAY, LONGEST_PERIOD, parse_zone, to_micros
from gamewarden.errors import ConfigError

LAST_MOMENT = pl.col("until") - pl.duration(microseconds=1)  # a row belongs to the period it ends in
_TIME = pl.Datetime("us", "UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_YEAR, _LAST_YEAR = 1, 9999  # that a calendar shows
_ALWAYS = -(1 << 62)
_FIRST_CHANGES = 1800  # before, every place kept its own mean time (the earliest change in tzdata is of 1844)
_SETTLED = 2100  # from here on tzdata knows rules alone, and weekdays come again with the calendar
_CYCLE, _CYCLE_DAYS = 400, 146_097  # of the Gregorian calendar, in years and in days

Micros = NDArray[np.int64]


class Offsets(NamedTuple):
    """Pieces of time in which the local clock runs at a fixed distance from UTC."""

    since: Micros
    offset: Micros
    least: Micros  # the number of the period that had begun when the piece began
    reached: Micros  # the latest that the clock has shown when a piece ends, for each but the last


@dataclass(frozen=True, order=True)
class Period:
    """A stretch of time [since, until) that is scored, watched and answered as one."""

    since: datetime
    until: datetime

    @property
    def name(self) -> str:
        """How the history calls it."""
        return f"{self.since.year:04}-{self.since:%m-%dT%H:%M:%SZ}"  # strftime pads no year


@dataclass(frozen=True)
class Clock:
    """Periods of `every` microseconds on the clock of a time zone: for integers, for Polars and for Python."""

    every: int
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        """Look at the length.

        Raises:
            ConfigError: no period is that long.
        """
        if not 1 <= self.every <= LONGEST_PERIOD:
            raise ConfigError(f"a period of {self.every:,} microseconds cannot be; give from 1us to ten years")

    def offsets(self, first: int, last: int) -> Offsets:
        """The pieces of time needed for the periods of moments from `first` to `last`, as kernels take them."""
        margin = self.every + 400 * DAY
        return _pieces(self.time_zone, _year(first - margin), _year(last + margin), self.every)

    def numbers(self, at: Micros) -> Micros:
        """The numbers of the periods that hold these moments."""
        if not at.size:
            return at.astype(np.int64)
        pieces = self.offsets(int(at.min()), int(at.max()))
        piece = np.searchsorted(pieces.since, at, side="right") - 1
        shown: Micros = np.maximum((at + pieces.offset[piece]) // self.every, pieces.least[piece])
        return shown

    def begins(self, numbers: Micros) -> Micros:
        """The moments at which the periods of these numbers begin."""
        if not numbers.size:
            return numbers.astype(np.int64)
        shown = numbers * self.every
        pieces = self.offsets(int(shown.min()), int(shown.max()))
        piece = np.searchsorted(pieces.reached, shown, side="right")
        begins: Micros = np.maximum(pieces.since[piece], shown - pieces.offset[piece])
        return begins

    def borders(self, at: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        """The beginning and the end of the period that holds a moment."""
        return self._border(at, 0), self._border(at, 1)

    def holding(self, moment: datetime) -> Period:
        """The period that a moment lies in."""
        return self._period(int(self.numbers(np.array([to_micros(moment)]))[0]))

    def before(self, period: Period, back: int = 1) -> Period:
        """The period so many before."""
        return self._period(self._number(period) - back)

    def touched(self, stretches: Iterable[tuple[int, int]], after: int = 0) -> Micros:
        """The numbers of the periods that hold a part of a stretch [first, last], and of the next `after` of each.

        However far two stretches lie apart, what lies between them is not walked through.
        """
        ends = np.array(list(stretches), np.int64).reshape(-1, 2)
        touched = np.unique(np.column_stack([self.numbers(ends[:, 0]), self.numbers(ends[:, 1]) + after]), axis=0)
        spans = [np.arange(first, last + 1) for first, last in touched.tolist()]
        return np.unique(np.concatenate([np.empty(0, np.int64), *spans]))

    def over(self, stretches: Iterable[tuple[int, int]], until: datetime, after: int = 0) -> list[Period]:
        """The periods of `touched` that end by `until`, in their order."""
        end = to_micros(until)
        numbers = self.touched(((first, min(last, end)) for first, last in stretches if first <= end), after)
        return [self._period(number) for number in numbers[self.begins(numbers + 1) <= end].tolist()]

    def _border(self, at: pl.Expr, later: int) -> pl.Expr:
        def border(moments: pl.Series) -> pl.Series:
            known = moments.to_physical()
            found = pl.Series(moments.name, self.begins(self.numbers(known.fill_null(0).to_numpy()) + later))
            return pl.select(pl.when(known.is_not_null()).then(found).alias(moments.name)).to_series().cast(_TIME)

        return at.cast(_TIME).map_batches(border, return_dtype=_TIME, is_elementwise=True)

    def _number(self, period: Period) -> int:
        return int(self.numbers(np.array([to_micros(period.since)]))[0])

    def _period(self, number: int) -> Period:
        begin, end = self.begins(np.array([number, number + 1])).tolist()
        return Period(_EPOCH + timedelta(microseconds=begin), _EPOCH + timedelta(microseconds=end))


def _year(at: int) -> int:
    """The year of a moment, as far as a calendar goes; every time zone shows the year after the first."""
    year = 1970 + at // (365 * DAY + DAY // 4)
    return min(max(year, _FIRST_YEAR + 1), _LAST_YEAR - 1)


@lru_cache(maxsize=64)
def _pieces(time_zone: str, first: int, last: int, every: int) -> Offsets:
    changes = [change for year in range(first, last + 1) for change in _changes(time_zone, year)]
    before = _offset(time_zone, _new_year(first))
    since = np.array([_ALWAYS, *(at for at, _ in changes)], np.int64)
    offset = np.array([before, *(moved for _, moved in changes)], np.int64)
    reached = np.maximum.accumulate(since[1:] + offset[:-1])
    least = np.array([_ALWAYS, *reached]) - 1
    return Offsets(since, offset, least // every, reached)


@lru_cache(maxsize=1 << 14)
def _changes(time_zone: str, year: int) -> tuple[tuple[int, int], ...]:
    """When a time zone changes its distance from UTC in a year, and to what; no zone does so twice a day."""
    if time_zone == "UTC" or year < _FIRST_CHANGES:
        return ()
    if year >= _SETTLED + _CYCLE:
        cycles = (year - _SETTLED) // _CYCLE
        return tuple((at + cycles * _CYCLE_DAYS * DAY, new) for at, new in _changes(time_zone, year - cycles * _CYCLE))
    found = []
    for before, after in pairwise([*range(_new_year(year), _new_year(year + 1), DAY), _new_year(year + 1)]):
        old, new = _offset(time_zone, before), _offset(time_zone, after)
        if old != new:
            at = bisect_right(range(before, after), 0, key=lambda at: int(_offset(time_zone, at) != old))
            found.append((before + at, new))
    return tuple(found)


def _new_year(year: int) -> int:
    return to_micros(datetime(year, 1, 1, tzinfo=UTC))


def _offset(time_zone: str, at: int) -> int:
    moment = (_EPOCH + timedelta(microseconds=at)).astimezone(parse_zone(time_zone))
    return (moment.utcoffset() or timedelta()) // timedelta(microseconds=1)
