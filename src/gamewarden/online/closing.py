"""Periods that are over in a partition, until everybody's part of them is known and their final SCORES are said.

Two things are waited for. When every partition has passed the end of a period, what they counted of it adds up, and
each can say what its models make of its own rows. When each has said of how many rows the models lie far from what they
learned, it is known whether a model judges the period at all. Partitions see of each other what was saved.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.core.durations import from_micros
from gamewarden.errors import Remark
from gamewarden.features.census import Census
from gamewarden.online.live_judges import Judges
from gamewarden.online.live_period import LivePeriod
from gamewarden.online.partitions import Closed, Saved
from gamewarden.verdicts.meeting import Far
from gamewarden.verdicts.saying import Said


@dataclass
class _Waiting:
    """A period that is over here: what was counted, its rows until they are judged, and what the models say of them."""

    until: int
    closed: Closed
    period: LivePeriod | None
    said: dict[str, Said] | None = None


class Closing:
    """Periods on their way from being over to being said."""

    def __init__(self, judges: Judges, grace: int) -> None:
        self._judges = judges
        self._grace = grace
        self._periods: dict[str, _Waiting] = {}

    @property
    def closed(self) -> dict[str, Closed]:
        """What the others have to know, by the period's name."""
        return {name: one.closed for name, one in self._periods.items()}

    @property
    def waiting(self) -> list[LivePeriod]:
        """Those of which nothing final is said yet."""
        return [one.period for one in self._periods.values() if one.period is not None]

    @property
    def ends(self) -> dict[str, int]:
        """When each of them ends."""
        return {name: one.until for name, one in self._periods.items()}

    def load(self, closed: Mapping[str, Closed], ends: Mapping[str, int], periods: Sequence[LivePeriod]) -> None:
        """Go on with what a state knows."""
        rows = {period.name: period for period in periods}
        self._periods = {name: _Waiting(int(ends[name]), one, rows.get(name)) for name, one in closed.items()}
        for one in self._periods.values():
            if one.period is None and not one.closed.said:  # its models are gone: nobody waits for what they would say
                one.closed.far, one.closed.said = one.closed.far or {}, True

    def take(self, period: LivePeriod) -> None:
        """A period is over; whichever was before it lets go of its folds, which can be made again."""
        for before in self.waiting:
            before.sleep()
        self._periods[period.name] = _Waiting(period.until, Closed(period.census()), period)

    def said(self, others: Sequence[Saved] | None) -> list[pl.DataFrame]:
        """The final SCORES that can be said by now, of each period once."""
        ready = [one for one in self._periods.items() if not one[1].closed.said]
        found = [self._final(name, one, others) for name, one in ready] if others is not None else []
        return [scores for scores in found if scores is not None]

    def forget(self, others: Sequence[Saved] | None) -> None:
        """Let go of periods that everybody has said; the others need nothing of them any more."""
        if others is not None:
            done = [
                name for name, one in self._periods.items() if one.closed.said and self._all_said(name, one, others)
            ]
            for name in done:
                del self._periods[name]

    def _all_said(self, name: str, one: _Waiting, others: Sequence[Saved]) -> bool:
        past = all(other.reached >= one.until + self._grace for other in others)
        return past and all(other.closed[name].said for other in others if name in other.closed)

    def _final(self, name: str, one: _Waiting, others: Sequence[Saved]) -> pl.DataFrame | None:
        if one.period is None or any(other.reached < one.until + self._grace for other in others):
            return None
        beside = [other.closed[name] for other in others if name in other.closed]
        if one.said is None:
            one.said = self._heard(one.period, reduce(add, (part.census for part in beside), one.closed.census))
            one.closed.far = {model: Far.of(said.scores) for model, said in one.said.items()}
        fars = [part.far for part in (one.closed, *beside)]
        if any(far is None for far in fars):
            return None
        together = {
            model: reduce(add, (far.get(model, Far()) for far in fars if far is not None)) for model in one.said
        }
        scores, refusals = self._judges.final(one.said, together)
        _remark(one.period, refusals)
        one.period.kept.close()
        one.closed.said, one.said, one.period = True, None, None
        return scores

    def _heard(self, period: LivePeriod, census: Census) -> dict[str, Said]:
        frames = period.finals(self._judges.shows(census.shows))
        period.sleep()
        return self._judges.of_part(period.plan.cut, frames, census)


def _remark(period: LivePeriod, refusals: Sequence[str]) -> None:
    for line in refusals:
        warnings.warn(f"the period from {from_micros(period.since):%Y-%m-%d %H:%M}: {line}", Remark, stacklevel=2)


def states_of(periods: Sequence[LivePeriod]) -> list[dict[str, Any]]:
    """What a state has to know of the rows of periods."""
    return [period.to_dict() for period in periods]


def remove_others(directory: Path, periods: Sequence[LivePeriod]) -> None:
    """Remove rows of periods that nobody needs any more, or that no state knows."""
    needed = {period.kept.path.name for period in periods}
    for path in directory.glob("*.rows"):
        if path.name not in needed:
            path.unlink(missing_ok=True)
