"""A source whose features are measured by many at once, with the numbers that one reading of it gives.

What a feature says of itself (`Divides`) decides how it may be cut: by whole periods of its clock, by actor, or, where
it speaks of others, only into the parts that it keeps of each day. What cannot be cut is measured here. A lake gives
every task a range of its row groups; of any other source each task reads everything and keeps its own actors.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import cast

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
from gamewarden.features.folding import NotesOfSeveral, feed
from gamewarden.features.looking_back import LooksBack, days_of
from gamewarden.features.self_similarity.recipe import Usage
from gamewarden.features.signs import Signs
from gamewarden.features.vocabulary import CountsKinds
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.remote import is_remote
from gamewarden.sources import SourceView
from gamewarden.spreading.jobs import Job, Spreading
from gamewarden.spreading.slices import FileSlices, LakeSlices, Slices
from gamewarden.spreading.tasks import Ask
from gamewarden.store.lake_events import LakeEvents
from gamewarden.streams import EventView
from gamewarden.tables import FEATURES


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

    def _files(self, events: EventStream, since: datetime | None, until: datetime | None) -> FileSlices | None:
        name = self.source.name
        if isinstance(_behind(events), LakeEvents) or not (Path(name).is_file() or is_remote(name)):
            return None  # what no other process could open by its name, such as a database, is measured here
        ends = [None if at is None else to_micros(at) for at in self._options.time_range.met(since, until)]
        return FileSlices(self.source.name, self._options, self._reader, ends[0], ends[1])


def spread_events(events: EventStream, engine: Engine, files: FileSlices | None = None) -> EventStream:
    """Events that are measured by an engine, where they can be cut; else as they are."""
    lake = _behind(events)
    if isinstance(lake, LakeEvents):
        return SpreadEvents(events, engine, LakeSlices(lake))
    return events if files is None else SpreadEvents(events, engine, files)


def _behind(events: EventStream) -> EventStream:
    while isinstance(events, EventView):
        events = events.behind
    return events


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
        learned = feature.learned
        counts = self.kinds() if learned is not None and learned.kinds is None else {}
        if isinstance(feature, LooksBack):
            spoken = feature.counting(counts) if counts and isinstance(feature, Signs) else feature
            frame, notes = self._looked_back(spoken, sight, progress)
            return frame, notes if spoken is feature else own_kinds(notes)
        ask = Ask(rows=feature, among=tuple(counts))
        clock = (feature.counting(counts) if counts and isinstance(feature, CountsKinds) else feature).divides.clock
        if not ask.divides_by_actor and clock is None:
            return self._here(feature, progress)
        return self._asked(ask, sight, progress, clock)

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
        ((_, found),) = Spreading(self._engine, sight, progress).run([job])
        self._said = found.source
        return found.tables[0]


def own_kinds(notes: Notes) -> Notes:
    """The same notes, of a recipe to which nobody gave the kinds of the source."""
    if isinstance(notes, NotesOfSeveral):
        return NotesOfSeveral(tuple(map(own_kinds, notes.each)))
    return replace(notes, own=True) if isinstance(notes, Usage) else notes
