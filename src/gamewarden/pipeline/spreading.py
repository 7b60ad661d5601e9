"""A source whose features are measured by many at once, with the numbers that one reading of it gives.

What a feature says of itself (`Divides`) decides how it may be cut: by whole periods of its clock, by actor, or, where
it speaks of others, only into the parts that it keeps of each day. What cannot be cut is measured here. A lake gives
every task a range of its row groups; of any other source each task reads everything and keeps its own actors.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from gamewarden.contracts import (
    EventStream,
    Feature,
    Notes,
    PartedEvents,
    Progress,
    Sight,
    Source,
    no_progress,
    sight_of,
)
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, to_micros
from gamewarden.engine import Engine
from gamewarden.engine.answers import remark_again
from gamewarden.features.folding import NotesOfSeveral, feed
from gamewarden.features.looking_back import LooksBack, days_of
from gamewarden.features.self_similarity.recipe import Usage
from gamewarden.features.signs import Signs
from gamewarden.features.vocabulary import CountsKinds
from gamewarden.pipeline.tasks import ENTRY, Answer, Ask, words_of
from gamewarden.readers.options import SourceOptions
from gamewarden.sources import SourceView
from gamewarden.store.lake_events import LakeEvents
from gamewarden.store.lake_slices import actor_borders, slice_of
from gamewarden.streams import EventView
from gamewarden.tables import FEATURES

_EVENTS_A_TASK = 5_000_000  # about: where a range of names ends inside a row group, two tasks read that group
_MOST_WAVES = 4  # tasks for each slot of an engine, so that the last one is not waited for alone
_EVER = 1 << 62

Slice = dict[str, Any]  # of a source, as JSON values


def spread(source: Source, engine: Engine, options: SourceOptions | None = None, reader: str | None = None) -> Source:
    """The source, measured by an engine."""
    return SpreadSource(source, engine, options or SourceOptions(), reader)


class SpreadSource(SourceView):
    """A source whose events are measured by an engine; what else it is read as is read here."""

    def __init__(self, source: Source, engine: Engine, options: SourceOptions, reader: str | None) -> None:
        super().__init__(source)
        self._engine = engine
        self._options = options
        self._reader = reader

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Its events."""
        found = self.source.events(since, until, actors)
        if actors is not None:
            return found  # of few there is little to spread
        return spread_events(found, self._engine, self._files(found, since, until))

    def parted(self) -> PartedEvents | None:
        """Its events where parts of their time can be read alone."""
        found = self.source.parted()
        return None if found is None else cast("PartedEvents", spread_events(found, self._engine, None))

    def _files(self, events: EventStream, since: datetime | None, until: datetime | None) -> "FileSlices | None":
        if isinstance(_behind(events), LakeEvents) or not self.nameable or self.source.name == "-":
            return None
        ends = [None if at is None else to_micros(at) for at in self._options.time_range.met(since, until)]
        return FileSlices(self.source.name, self._options, self._reader, ends[0], ends[1])


def spread_events(events: EventStream, engine: Engine, files: "FileSlices | None" = None) -> EventStream:
    """Events that are measured by an engine, where they can be cut; else as they are."""
    lake = _behind(events)
    if isinstance(lake, LakeEvents):
        return SpreadEvents(events, engine, LakeSlices(lake))
    return events if files is None else SpreadEvents(events, engine, files)


def _behind(events: EventStream) -> EventStream:
    while isinstance(events, EventView):
        events = events.behind
    return events


@dataclass(frozen=True)
class LakeSlices:
    """How a lake is cut: by the time and the names of actors."""

    events: LakeEvents

    def between(self, since: int, until: int) -> "LakeSlices":
        """Of [since, until) only."""
        first, last = self.events.micros
        return LakeSlices(self.events.between(max(since, first), min(until, last + 1)))

    @property
    def rows(self) -> int:
        """About how many there are."""
        return sum(part.rows for part in self.events.parts)

    def spans(self, clock: Clock, most: int) -> list[tuple[int, int]]:
        """Stretches of whole periods with about as many events each, at most so many."""
        first, last = self.events.micros
        numbers = clock.touched((max(begin, first), min(end, last)) for begin, end in self.events.stretches)
        if not len(numbers):
            return []
        groups = [group for group in np.array_split(numbers, min(most, len(numbers))) if len(group)]
        begins = [int(clock.begins(group[:1])[0]) for group in groups]
        ends = [int(clock.begins(group[-1:] + 1)[0]) for group in groups]
        return list(zip(begins, ends, strict=True))

    def slices(self, most: int, *, by_actor: bool) -> list[Slice]:
        """JSON of slices that together are all of it."""
        ranges = actor_borders(self.events, most) if by_actor and most > 1 else [None]
        return [slice_of(self.events, one) for one in ranges]


@dataclass(frozen=True)
class FileSlices:
    """How logs are cut: every task reads all of them, and keeps the actors of its shard."""

    locator: str
    options: SourceOptions
    reader: str | None
    since: int | None = None
    until: int | None = None
    rows = 0

    def between(self, since: int, until: int) -> "FileSlices":
        """Of [since, until) only."""
        first, last = -_EVER if self.since is None else self.since, _EVER if self.until is None else self.until
        return replace(self, since=max(first, since), until=min(last, until))

    def spans(self, clock: Clock, most: int) -> list[tuple[int, int]]:
        """None: reading all of it for every period would be a waste."""
        del clock, most
        return []

    def slices(self, most: int, *, by_actor: bool) -> list[Slice]:
        """JSON of slices that together are all of it."""
        of = most if by_actor else 1
        mapping = self.options.logs.mapping
        logs = {**asdict(self.options.logs), "mapping": _absolute(mapping) if mapping else mapping}
        shared = {"options": logs, "reader": self.reader, "since": self.since, "until": self.until}
        return [{**shared, "locator": _absolute(self.locator), "shard": [one, of]} for one in range(of)]


def _absolute(name: str) -> str:
    return str(Path(name).absolute()) if Path(name).exists() else name


Slices = LakeSlices | FileSlices


class SpreadEvents(EventView):
    """Events that an engine measures; whoever reads their rows reads them here."""

    def __init__(self, events: EventStream, engine: Engine, slices: Slices) -> None:
        super().__init__(events)
        self._engine = engine
        self._slices = slices
        self._said: tuple[str, ...] | None = None  # of the latest reading elsewhere

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading has to say, here or elsewhere; every task reads all of a log."""
        return self._events.notes if self._said is None or isinstance(self._slices, LakeSlices) else self._said

    @property
    def whole(self) -> EventStream:
        """The whole of the stream, spread too."""
        whole = self._events.whole
        return self if whole is self._events else spread_events(whole, self._engine)

    @property
    def stretches(self) -> Iterable[tuple[int, int]]:
        """When there are events."""
        return cast("PartedEvents", self._events).stretches

    def between(self, since: int, until: int) -> "SpreadEvents":
        """Its events of [since, until) in microseconds."""
        parted = cast("PartedEvents", self._events).between(since, until)
        return SpreadEvents(parted, self._engine, self._slices.between(since, until))

    def of(self, actors: Collection[str]) -> EventStream:
        """Its events of these actors, measured here: there is little to spread."""
        return cast("PartedEvents", self._events).of(actors)

    def kinds(self) -> dict[str, int]:
        """The kinds that occur, and how often: a sum over slices."""
        table = self.kinds_by_period(Clock(DAY))
        return dict(table.group_by("kind").agg(pl.col("n").sum()).sort("kind").iter_rows())

    def kinds_by_period(self, clock: Clock) -> pl.DataFrame:
        """Events of everybody by kind and period: a sum over slices."""
        return self._asked(Ask(kinds=clock), Sight(), no_progress)[0]

    def folded(self, feature: Feature, sight: Sight, progress: Progress) -> tuple[pl.DataFrame, Notes]:
        """What a feature measures in these events."""
        spoken = self._speaking(feature)
        if isinstance(spoken, LooksBack):
            frame, notes = self._looked_back(spoken, sight, progress)
            return frame, notes if spoken is feature else own_kinds(notes)
        ask = Ask(rows=spoken)
        if not ask.divides_by_actor and spoken.divides.clock is None:
            return self._here(feature, progress)
        frame, notes = self._asked(ask, sight, progress, spoken.divides.clock)
        return frame, notes if spoken is feature else own_kinds(notes)

    def _speaking(self, feature: Feature) -> Feature:
        """The recipe with the kinds of all these events, where its rows depend on them."""
        learned = feature.learned
        if learned is None or learned.kinds is not None or not isinstance(feature, CountsKinds | Signs):
            return feature
        counts = self.kinds()
        return feature.counting(counts) if counts else feature

    def _looked_back(self, feature: LooksBack, sight: Sight, progress: Progress) -> tuple[pl.DataFrame, Notes]:
        """The parts of every day by slices of days, and the rows of each day from them."""
        parts, notes = self._asked(Ask(parts=feature), sight, progress, feature.clock)
        nobody = pl.DataFrame(schema={**FEATURES.columns, **feature.schema})
        days = [feature.rows_from(parts, day, sight) for day in days_of(parts)]
        return pl.concat([nobody, *days]).sort("actor", "since"), notes

    def _here(self, feature: Feature, progress: Progress) -> tuple[pl.DataFrame, Notes]:
        fold = feature.fold(sight_of(feature.input, self._events))
        feed(fold, self._events, progress)
        return fold.frame(), fold.notes()

    def _asked(
        self, ask: Ask, sight: Sight, progress: Progress, clock: Clock | None = None
    ) -> tuple[pl.DataFrame, Notes]:
        job = Job((ask,), self._slices, clock)
        (found,) = Spreading(self._engine, sight, progress).run([job])
        self._said = found.source
        return found.tables[0]


def own_kinds(notes: Notes) -> Notes:
    """The same notes, of a recipe to which nobody gave the kinds of the source."""
    if isinstance(notes, NotesOfSeveral):
        return NotesOfSeveral(tuple(map(own_kinds, notes.each)))
    return replace(notes, own=True) if isinstance(notes, Usage) else notes


@dataclass(frozen=True)
class Job:
    """Tables that are wanted of one stretch of events; a clock says which periods can be measured apart."""

    asks: tuple[Ask, ...]
    slices: Slices
    clock: Clock | None = None


@dataclass(frozen=True)
class Found:
    """What came of a job: a table and notes for each that was asked, and what the source says of its reading."""

    tables: tuple[tuple[pl.DataFrame, Notes], ...]
    source: tuple[str, ...]


@dataclass(frozen=True)
class Spreading:
    """Jobs as tasks of an engine, and their answers put together."""

    engine: Engine
    sight: Sight
    progress: Progress = no_progress

    def run(self, jobs: Sequence[Job]) -> Iterator[Found]:
        """What was found, job by job in their order; all tasks of all jobs are done at once.

        Raises:
            GamewardenError: a task says so, or was lost too often.
        """
        tasks: list[tuple[int, tuple[int, ...], str]] = []  # job, places of its asks, words
        for number, job in enumerate(jobs):
            tasks += [(number, places, words) for places, words in self._tasks(job, len(jobs))]
        found: dict[int, list[tuple[int, tuple[int, ...], Answer]]] = {number: [] for number in range(len(jobs))}
        for place, data in self.engine.run(ENTRY, [words for _, _, words in tasks]):
            number, places, _ = tasks[place]
            answer = Answer.from_bytes(data)
            remark_again(list(answer.remarks))
            self.progress(answer.rows)
            found[number].append((place, places, answer))
        for number, job in enumerate(jobs):
            yield self._together(job, sorted(found[number], key=lambda one: one[0]))

    def _tasks(self, job: Job, jobs: int) -> Iterator[tuple[tuple[int, ...], str]]:
        """Asks that can be cut by actor share their slices, and so one reading; the others have days of their own."""
        most = -(-self._most(job.slices.rows) // jobs)
        for by_actor in (True, False):
            places = tuple(place for place, ask in enumerate(job.asks) if ask.divides_by_actor == by_actor)
            asks = [job.asks[place] for place in places]
            if asks:
                for one in self._slices(job, most, by_actor=by_actor):
                    yield places, words_of(asks, one, self.sight)

    def _slices(self, job: Job, most: int, *, by_actor: bool) -> Iterator[Slice]:
        spans = job.slices.spans(job.clock, most) if job.clock is not None else []
        if not spans:
            yield from job.slices.slices(most, by_actor=by_actor)
            return
        each = max(1, most // len(spans))
        for since, until in spans:
            yield from job.slices.between(since, until).slices(each, by_actor=by_actor)

    def _most(self, rows: int) -> int:
        slots = self.engine.slots
        return max(slots, min(_MOST_WAVES * slots, rows // _EVENTS_A_TASK))

    @staticmethod
    def _together(job: Job, answers: Sequence[tuple[int, tuple[int, ...], Answer]]) -> Found:
        tables: list[tuple[pl.DataFrame, Notes]] = []
        for place, ask in enumerate(job.asks):
            mine = [(one, places.index(place)) for _, places, one in answers if place in places]
            notes = [one.notes[at] for one, at in mine]
            total = notes[0]
            for more in notes[1:]:
                total = total + more
            tables.append((ask.together([one.frames[at] for one, at in mine]), total))
        return Found(tuple(tables), answers[0][2].source)
