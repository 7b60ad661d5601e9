"""Events as they come: SCORES of whoever has changed at every tick, and the final ones of a period once it is over.

The folds of the batch run take the rows of the open period in, and are told at the end what the batch run of that
period's events is told; so the final SCORES are those of the batch run, bit for bit. A tick disturbs nothing.

A tick depends on the rows of the partition alone. A final depends on everybody's: a period is over when each partition
of the stream has passed its end by a grace, and what they counted of it, added up, decides.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from gamewarden.core.durations import MINUTE, span_text
from gamewarden.errors import ReadError, Remark
from gamewarden.online.closing import Closing, remove_others, states_of
from gamewarden.online.live_judges import Judges, with_keys
from gamewarden.online.live_period import LivePeriod, plan_of
from gamewarden.online.live_rows import at_the_door
from gamewarden.online.open_periods import OpenPeriods, reopened
from gamewarden.online.partitions import FILE, Others, Saved
from gamewarden.online.stream_time import LONG_AGO, StreamTime
from gamewarden.online.work import Note, OpenWork
from gamewarden.tables import json_lines

_COUNTS = ("events", "ticks", "provisional", "final")
_SECOND = 1_000_000


@dataclass(frozen=True)
class Pace:
    """When a live run speaks, in microseconds of the stream's own time."""

    tick: int = 5 * MINUTE
    late: int = 10 * MINUTE  # after its end, a period waits so long for events
    partitions: int | None = None  # of the stream; None: as many as have a directory beside this one's


def opening(judges: Judges, pace: Pace, wall: Callable[[], float] = time.time) -> OpenWork:
    """What opens the work of a partition in its directory."""

    def open_work(directory: Path) -> tuple[LiveEvents, Note]:
        work = LiveEvents(directory, judges, pace, wall)
        return work, work.note

    return open_work


class LiveEvents:
    """The events of one partition under way."""

    def __init__(self, directory: Path, judges: Judges, pace: Pace, wall: Callable[[], float] = time.time) -> None:
        """Go on as the directory was saved last.

        Raises:
            ReadError: what is there is damaged.
            WriteError: the directory cannot be written.
        """
        self._directory = directory
        self._judges = judges
        self._pace = pace
        self._wall = wall
        self._others = Others(directory, pace.partitions)
        self._plans = {cut: plan_of(cut, judges.features(cut), judges.clocks(cut)) for cut in judges.cuts}
        self._open = OpenPeriods(directory, list(self._plans.values()), pace.late)
        self._closing = Closing(judges, pace.late)
        self.note: dict[str, int | str] = {}
        self._is_idle = False
        self._unsaved = False  # whether rows were taken in, or something said, since the state was saved
        self._late_told = 0
        self._known_to_others: object = None  # as it was saved last
        self.columns = tuple(dict.fromkeys(name for plan in self._plans.values() for name in plan.columns))
        self._load()

    @property
    def counts(self) -> Mapping[str, int]:
        """Rows taken in, too late or too far ahead; ticks; lines said; periods that are open, or over and not said."""
        lost = {"late": self._open.late, "ahead": self._open.ahead}
        return {**self._counts, **lost, "open": len(self._open), "waiting": len(self._closing.waiting)}

    def take(self, batch: pa.RecordBatch) -> str:
        """Take rows in; SCORES of the ticks that they pass, and final ones that can be said by now.

        Raises:
            MeasureError: a row cannot be measured; then nothing of the batch counts.
        """
        rows = at_the_door(batch, self.columns)
        at = rows.column("at").cast(pa.int64()).to_numpy()
        said, begin = [], 0
        for end, now in self._time.strikes(at):
            self._open.take(rows.slice(begin, end - begin), at[begin:end])
            said.append(self._strike(now))
            begin = end
        self._open.take(rows.slice(begin), at[begin:])
        self._counts["events"] += len(at)
        self._is_idle, self._unsaved = self._is_idle and not len(at), self._unsaved or bool(len(at))
        return "".join((*said, self._settle()))

    def idle(self) -> str:
        """Asked while nothing comes: finals that the others have made possible meanwhile."""
        if not self._unsaved:
            self._follow()
        said = self._settle()
        self._let_others_know()
        return said

    def finish(self) -> str:
        """No row will come any more: the final SCORES of the periods that are open too."""
        last = max((period.until for period in self._open), default=LONG_AGO)
        self._close_until(last + self._pace.late)
        return self._settle()

    def save(self, note: Note) -> None:
        """Keep all of it, and the note.

        Raises:
            WriteError: it cannot be written.
        """
        for period in self._open:
            period.write()
        for period in self._needed:
            period.kept.sync()
        self.note = dict(note)
        self._closing.forget(self._others.saved())
        self._state().write(self._directory / FILE)
        self._unsaved, self._known_to_others = False, self._news()
        remove_others(self._directory, self._needed)

    def close(self) -> None:
        """Let go of files."""
        for period in self._needed:
            period.kept.close()

    def _let_others_know(self) -> None:
        """Save what they wait for, where nothing was taken in or said since, so that the note is still true."""
        if not self._unsaved and self._news() != self._known_to_others:
            self.save(self.note)

    def _news(self) -> object:
        """What others wait for."""
        closed = {name: (one.far is not None, one.said) for name, one in self._closing.closed.items()}
        return self._open.reached, self._is_idle, closed

    @property
    def _needed(self) -> list[LivePeriod]:
        return [*self._open, *self._closing.waiting]

    def _strike(self, now: int) -> str:
        """Provisional SCORES of whoever has changed; then what is over is closed, and said where that can be."""
        tick = now // self._pace.tick * self._pace.tick
        said = [self._provisional(period, tick) for period in self._open if period.has_changed and period.since <= now]
        self._counts["ticks"] += 1
        self._close_until(now)
        if self._open.late > 2 * self._late_told:  # once, and when there are more than twice as many
            self._late_told = self._open.late
            warnings.warn(
                f"{self._open.late:,} events came later than {span_text(self._pace.late)} after the end of their "
                "period ([watch] late): final SCORES are without them",
                Remark,
                stacklevel=2,
            )
        return "".join((*said, self._settle()))

    def _provisional(self, period: LivePeriod, tick: int) -> str:
        census = period.kinds()
        self._seen |= census.shows.keys() & self._judges.kinds
        shows = dict.fromkeys(sorted(self._seen), 0) | self._judges.shows(census.shows)
        scores = self._judges.now(period.plan.cut, period.glimpses(shows), census, shows)
        return self._lines(scores, tick)

    def _close_until(self, now: int) -> None:
        for period in self._open.close_until(now):
            self._closing.take(period)

    def _settle(self) -> str:
        """What is final by now."""
        if not self._closing.waiting:
            return ""
        return "".join(self._lines(scores, None) for scores in self._closing.said(self._others.saved()))

    def _lines(self, scores: pl.DataFrame, tick: int | None) -> str:
        self._counts["final" if tick is None else "provisional"] += scores.height
        self._unsaved = self._unsaved or bool(scores.height)
        return json_lines(with_keys(scores, tick)) if scores.height else ""

    def _follow(self) -> None:
        """Where nothing comes, pass what the others have passed, as far as it is over by the clock on the wall.

        What was passed is saved before anything is said of it, so that no crash takes it back.
        """
        others = self._others.saved()
        if not others:
            return
        busy = [other.reached for other in others if not other.idle]
        passed = min(busy) if busy else max(other.reached for other in others)
        self._is_idle = True
        self._close_until(min(passed, int(self._wall() * _SECOND)))
        self._let_others_know()

    def _state(self) -> Saved:
        rest = {
            "note": self.note,
            "time": self._time.to_dict(),
            "counts": self._counts,
            "seen": sorted(self._seen),
            "late": self._open.late,
            "ahead": self._open.ahead,
            "opened": self._open.opened,
            "open": states_of(list(self._open)),
            "waiting": states_of(self._closing.waiting),
            "ends": self._closing.ends,
        }
        return Saved(self._open.reached, self._is_idle, self._closing.closed, rest)

    def _load(self) -> None:
        place = self._directory / FILE
        saved = Saved.read(place) if place.exists() else Saved(LONG_AGO, idle=False, closed={})
        rest: Mapping[str, Any] = saved.rest
        try:
            self.note = dict(rest.get("note", {}))
            self._time = StreamTime(self._pace.tick, rest.get("time"))
            self._counts = dict.fromkeys(_COUNTS, 0) | {name: int(n) for name, n in rest.get("counts", {}).items()}
            self._seen = set(map(str, rest.get("seen", ())))
            self._open.reached = saved.reached
            self._open.late, self._open.ahead, self._open.opened = (
                int(rest.get(name, 0)) for name in ("late", "ahead", "opened")
            )
            self._open.load(rest.get("open", ()))
            waiting = [reopened(self._directory, self._plans, values) for values in rest.get("waiting", ())]
            found = [period for period in waiting if period is not None]
            self._closing.load(saved.closed, rest.get("ends", {}), found)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ReadError(
                f"{place}: is damaged ({type(error).__name__}); restore it, or remove the partition's directory and "
                "read the stream again"
            ) from error
        self._is_idle, self._late_told = saved.idle, self._open.late
        self._known_to_others = self._news() if saved.rest else None
        remove_others(self._directory, self._needed)
