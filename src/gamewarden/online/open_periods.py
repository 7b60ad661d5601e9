"""The periods of a partition that are under way, and which of them a row belongs to, if it does not come too late."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.core.clock import Clock
from gamewarden.online.kept_rows import KeptRows
from gamewarden.online.live_period import LivePeriod, Plan
from gamewarden.online.stream_time import LONG_AGO

MOST = 40  # of one clock at a time; beyond, the one furthest ahead is given up: nobody lives so far ahead
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_800_000_000  # the years 1 to 9999, which a calendar shows
_Marks = NDArray[np.bool_]


class OpenPeriods:
    """Rows come in; periods that are over go out."""

    def __init__(self, directory: Path, plans: Sequence[Plan], grace: int) -> None:
        self._directory = directory
        self._plans = {plan.cut: plan for plan in plans}
        self._grace = grace
        self._open: dict[tuple[Clock, int], LivePeriod] = {}
        self.reached = LONG_AGO  # what the clock showed when it struck last
        self.opened = 0  # periods, ever
        self.late = 0  # rows of periods that were over
        self.ahead = 0  # rows of periods that were given up, or that no calendar shows

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[LivePeriod]:
        """In the order of time."""
        return iter(sorted(self._open.values(), key=lambda one: (one.until, one.name)))

    def load(self, kept: Sequence[Mapping[str, Any]]) -> None:
        """Open periods as a state knows them.

        Raises:
            ReadError: rows are missing.
        """
        for values in kept:
            period = reopened(self._directory, self._plans, values)
            if period is not None:
                self._open[period.plan.cut, period.number] = period

    def take(self, rows: pa.RecordBatch, at: NDArray[np.int64]) -> None:
        """Give each row to its period, of each clock."""
        if not len(at):
            return
        late, ahead = at < _FIRST, at >= _LAST
        known = ~(late | ahead)
        for cut in self._plans:
            numbers = cut.numbers(np.where(known, at, 0))
            for number in _different(numbers):
                self._give((cut, number), rows, known & (numbers == number), (late, ahead))
        self.late += int(late.sum())
        self.ahead += int(ahead.sum())

    def close_until(self, reached: int) -> list[LivePeriod]:
        """The clock shows so much: the periods that are over take no further row."""
        self.reached = max(self.reached, reached)
        over = [period for period in self if self.is_over(period.until)]
        for period in over:
            del self._open[period.plan.cut, period.number]
        return over

    def is_over(self, until: int) -> bool:
        """Whether the end of a period was passed by the grace."""
        return until + self._grace <= self.reached

    def _give(self, place: tuple[Clock, int], rows: pa.RecordBatch, mine: _Marks, lost: tuple[_Marks, _Marks]) -> None:
        late, ahead = lost
        if not mine.any():
            return
        if place not in self._open and self.is_over(self._plans[place[0]].borders(place[1])[1]):
            late |= mine
        elif place not in self._open and not self._has_room(place):
            ahead |= mine
        else:
            self._at(place).take(rows if mine.all() else rows.filter(pa.array(mine)))

    def _at(self, place: tuple[Clock, int]) -> LivePeriod:
        if place not in self._open:
            plan = self._plans[place[0]]
            # A number of its own: a file that a state knows is never written anew before the next state is saved.
            self.opened += 1
            file = self._directory / f"{plan.name_of(place[1])}-{self.opened}.rows"
            self._open[place] = LivePeriod(plan, place[1], KeptRows(file))
        return self._open[place]

    def _has_room(self, place: tuple[Clock, int]) -> bool:
        """Whether a period may be opened: those that are nearer come first."""
        others = [number for cut, number in self._open if cut == place[0]]
        if len(others) < MOST:
            return True
        furthest = max(others)
        if place[1] > furthest:
            return False
        given_up = self._open.pop((place[0], furthest))
        self.ahead += given_up.rows
        given_up.kept.close()
        return True


def reopened(directory: Path, plans: Mapping[Clock, Plan], values: Mapping[str, Any]) -> LivePeriod | None:
    """A period as a state knows it; None where no model looks at such periods any more.

    Raises:
        ReadError: its rows are missing.
    """
    plan = plans.get(Clock(*values["cut"]))
    if plan is None:
        return None
    rows = KeptRows(directory / Path(values["file"]).name, int(values["length"]), int(values["rows"]))
    return LivePeriod(plan, int(values["number"]), rows, int(values["ticked"]), int(values["again"]))


def _different(numbers: NDArray[np.int64]) -> list[int]:
    """Mostly it is one: rows of one day come together."""
    first = int(numbers[0])
    return [first] if (numbers == first).all() else [int(one) for one in np.unique(numbers)]
