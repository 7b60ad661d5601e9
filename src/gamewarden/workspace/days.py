"""The lake by period: each is measured once, for all who want it in one reading, and again when its events change."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from hashlib import sha256
from types import MappingProxyType

import polars as pl

from gamewarden.contracts import Feature, Fingerprint, Notes, Progress, canonical_json, no_progress, sight_of
from gamewarden.core.clock import Clock, Period
from gamewarden.core.coverage import Coverage
from gamewarden.core.durations import DAY, from_micros, parse_zone, to_micros
from gamewarden.engine import Engine
from gamewarden.features.folding import feed_together
from gamewarden.features.looking_back import LooksBack
from gamewarden.pipeline.measuring import MeasuredBefore
from gamewarden.spreading.jobs import Job, Spreading
from gamewarden.spreading.slices import LakeSlices
from gamewarden.spreading.tasks import Ask
from gamewarden.store.lake import Lake
from gamewarden.store.lake_events import LakeEvents
from gamewarden.store.partitions import Partition, Partitions
from gamewarden.store.source import LakeSource
from gamewarden.store.stretches import Stretches, content_of
from gamewarden.workspace.kept import Kept
from gamewarden.workspace.rest import Rest, came_from, recipe_of

Window = tuple[datetime | None, datetime | None]  # [since, until), either end open
EVER: Window = (None, None)


def day_name(period: Period, clock: Clock) -> str:
    """The partition of a period, by the date on which it begins where its clock hangs."""
    return f"day={period.since.astimezone(parse_zone(clock.time_zone)):%Y-%m-%d}"


def is_within(one: Partition, window: Window) -> bool:
    """Whether a partition is about a part of the window."""
    since, until = window
    return (since is None or one.until > to_micros(since)) and (until is None or one.since < to_micros(until))


def _touches(window: Window, period: Period) -> bool:
    since, until = window
    return (since is None or period.until > since) and (until is None or period.since < until)


def by_days(clock: Clock) -> Clock:
    """The same clock, of whole days at least."""
    return clock if clock.every % DAY == 0 else Clock(DAY, clock.time_zone)


@dataclass(frozen=True)
class _Wanted:
    """A table that a period is to be measured for."""

    table: Partitions
    came_from: str
    ask: Ask
    actors: frozenset[str] | None = None  # of whom; None: of everybody

    def holds_in(self, there: Partition | None) -> bool:
        """Whether just this is there already."""
        return self.table.still_holds(there, self.came_from)


@dataclass(frozen=True)
class LakeDays:
    """A lake as it was when this was made, cut into periods that are over, and what was measured of each."""

    lake: Lake
    rest: Rest
    now: datetime
    time_zone: str = "UTC"  # of the days of features that have no clock of their own
    kept: Kept = field(default_factory=Kept)
    engine: Engine | None = None  # who measures; None: this process

    @cached_property
    def events(self) -> LakeEvents:
        """All events.

        Raises:
            ReadError: there is no lake, or its manifest is damaged.
        """
        return self.lake.events()

    @cached_property
    def stretches(self) -> Stretches:
        """When there are events; never, where there is no lake yet."""
        return self.events.stretches if Lake.is_at(self.lake.directory) else Stretches(())

    @cached_property
    def coverage(self) -> Coverage:
        """When the lake's sources were there, also in the time whose events are gone."""
        return self.kept.gone.coverage(self.events.coverage)

    def lake_fingerprint(self) -> Fingerprint:
        """What the lake holds; nothing, where there is none."""
        if Lake.is_at(self.lake.directory):
            return LakeSource(self.lake.directory).fingerprint()
        return Fingerprint("lake", self.lake.directory.name, sha256(canonical_json([]).encode()).hexdigest())

    def clock_of(self, feature: Feature) -> Clock:
        """By which clock a feature's rows are kept: its own, of whole days at least.

        What a feature without one measures across midnight, such as chunks of play, begins anew with every day.
        """
        own = feature.clock if isinstance(feature, LooksBack) else feature.divides.clock
        return Clock(DAY, feature.time_zone or self.time_zone) if own is None else by_days(own)

    @cached_property
    def horizon(self) -> datetime:
        """Up to when periods are over: by the clock on the wall, or because later events are there."""
        return max([self.now, *(from_micros(last) for _, last in self.stretches)])

    def periods(self, clock: Clock, window: Window = EVER) -> list[Period]:
        """The periods with events that are over, touch the window, and may be measured."""
        return [
            period
            for period in clock.over(self.stretches, self.horizon)
            if _touches(window, period) and self.kept.may_measure(to_micros(period.since), to_micros(period.until))
        ]

    def content(self, period: Period) -> str | None:
        """What names the events of a period."""
        return content_of(self.stretches, period)

    def measure(
        self,
        features: Sequence[Feature],
        window: Window = EVER,
        *,
        only: Mapping[str, frozenset[str]] = MappingProxyType({}),
        fresh: bool = False,
        progress: Progress = no_progress,
    ) -> set[str]:
        """Measure what is missing of these features, and of their kinds; the days that had to be read for it.

        `only` names the actors of whom a feature (by its repr) is measured; a day that was measured of some is not
        measured again because there are others now.

        Raises:
            ReadError: a part of the lake is missing or damaged.
            WriteError: the results cannot be written.
        """
        read: set[str] = set()
        due_days: list[_Due] = []
        counted = {one.learned.clock for one in features if one.learned is not None}
        looking = [one for one in features if isinstance(one, LooksBack)]
        for clock in dict.fromkeys((*map(self.clock_of, features), *map(by_days, counted))):
            mine = [one for one in features if self.clock_of(one) == clock]
            kinds = [one for one in counted if by_days(one) == clock]
            resting = {one.directory: one.all() for one in self._tables(mine, kinds)}
            for period in self.periods(clock, self._widened(clock, looking, window)):
                inside = _touches(window, period)
                name, asked = day_name(period, clock), list(self._wanted(period, mine, kinds, only, inside=inside))
                due = [
                    one
                    for one in asked
                    if fresh or not one.table.still_holds(resting[one.table.directory].get(name), one.came_from)
                ]
                due_days += [_Due(period, name, tuple(due))] if due else []
                read |= {name} if due else set()
        self._measure(due_days, progress)
        for one in looking:
            read |= self._look_back(one, window, fresh=fresh)
        return read

    def _widened(self, clock: Clock, looking: Sequence[LooksBack], window: Window) -> Window:
        """The window with the days that rows of its first day look back on."""
        back = [one.back for one in looking if self.clock_of(one) == clock]
        since, until = window
        if since is None or not back:
            return window
        return clock.before(clock.holding(since), max(back) - 1).since, until

    def _look_back(self, feature: LooksBack, window: Window, *, fresh: bool) -> set[str]:
        """Make the rows of days from the parts that rest; which days those were."""
        made, clock, table = _Looked.at(self, feature), self.clock_of(feature), self.rest.features(recipe_of(feature))
        there, done = table.all(), set()
        for period in self.periods(clock, window):
            name, days = day_name(period, clock), made.days(period)
            if fresh or not made.is_true(there.get(name), days):
                rows = feature.rows_from(made.parts(days), period, sight_of("events", self.events))
                ends = to_micros(period.since), to_micros(period.until)
                told = {"notes": [], "days": [one.name for one in days]}
                table.put(name, rows, came_from=made.came_from(days), since=ends[0], until=ends[1], about=told)
                done.add(name)
        return done

    def partitions(self, feature: Feature, window: Window = EVER) -> list[Partition]:
        """What rests of a feature and is still true, period by period; what cannot be measured anew stays true."""
        clock = self.clock_of(feature)
        table = self.rest.features(recipe_of(feature)).all()
        if isinstance(feature, LooksBack):
            made = _Looked.at(self, feature)
            true = {day_name(one, clock): made.days(one) for one in self.periods(clock, window)}
            return [one for one in table.values() if made.is_true(one, true.get(one.name)) and is_within(one, window)]
        wanted = {day_name(one, clock): self._of_rows(feature, one) for one in self.periods(clock, window)}
        return [one for one in table.values() if self._is_true(one, wanted) and is_within(one, window)]

    def table(self, feature: Feature, window: Window = EVER, actors: Collection[str] | None = None) -> pl.DataFrame:
        """FEATURES that rest of a feature and are still true, of these actors or of everybody.

        Where nothing rests there is no row, but every column.
        """
        found = self.partitions(feature, window)
        if not found:
            return feature.fold(sight_of("events", self.events)).frame()
        return self.rest.features(recipe_of(feature)).table(found, actors=actors)

    def missing(self, feature: Feature, window: Window = EVER) -> list[Period]:
        """The periods of which nothing true rests."""
        clock, there = self.clock_of(feature), {one.name for one in self.partitions(feature, window)}
        return [one for one in self.periods(clock, window) if day_name(one, clock) not in there]

    def kinds(self, clock: Clock) -> pl.DataFrame:
        """How many events of each kind there were in each period of a clock, as far as they were counted."""
        days = by_days(clock)
        table = self.rest.kinds(clock)
        wanted = {day_name(one, days): self._of_kinds(one) for one in self.periods(days)}
        return table.table([one for one in table.all().values() if self._is_true(one, wanted)])

    def true_parts(self, feature: LooksBack, there: Mapping[str, Partition]) -> dict[str, Partition]:
        """The parts of days that still say what the lake holds, or of which nothing can be measured anew."""
        clock = self.clock_of(feature)
        wanted = {day_name(one, clock): self._of_rows(feature, one) for one in self.periods(clock)}
        return {name: one for name, one in there.items() if self._is_true(one, wanted)}

    def _is_true(self, one: Partition, wanted: Mapping[str, str]) -> bool:
        return wanted.get(one.name) == one.came_from or not self.kept.may_measure(one.since, one.until)

    def measured_before(self, feature: Feature, period: Period) -> MeasuredBefore | None:
        """What rests of a period: None unless all of it rests, and nothing that a border of the period cuts."""
        clock, learned = self.clock_of(feature), feature.learned
        rows = self._whole(period, clock, self._origin_of(feature), self.rest.features(recipe_of(feature)))
        within = self.periods(clock, (period.since, period.until))
        cut = feature.divides.clock is None and not isinstance(feature, LooksBack)
        if rows is None or (cut and len(within) > 1):
            return None
        rows = rows.sort("actor", "since", maintain_order=True)
        if learned is None:
            return MeasuredBefore(rows, pl.DataFrame())
        kinds = self._whole(period, by_days(learned.clock), self._of_kinds, self.rest.kinds(learned.clock))
        return None if kinds is None else MeasuredBefore(rows, kinds)

    def _origin_of(self, feature: Feature) -> Callable[[Period], str]:
        """What the rows of a period are made of."""
        if not isinstance(feature, LooksBack):
            return partial(self._of_rows, feature)
        made = _Looked.at(self, feature)
        return lambda period: made.came_from(made.days(period))

    def _whole(
        self, period: Period, clock: Clock, came: Callable[[Period], str], table: Partitions
    ) -> pl.DataFrame | None:
        """The rows of all partitions of a period, where they are there and lie in it."""
        wanted = self.periods(clock, (period.since, period.until))
        resting = table.all()
        there = [resting.get(day_name(one, clock)) for one in wanted]
        fits = [one.since >= period.since and one.until <= period.until for one in wanted]
        holds = [table.still_holds(one, came(day)) for one, day in zip(there, wanted, strict=True)]
        return table.table([one for one in there if one]) if wanted and all(fits) and all(holds) else None

    def _tables(self, features: Sequence[Feature], clocks: Sequence[Clock]) -> Iterator[Partitions]:
        for one in features:
            yield (self.rest.parts if isinstance(one, LooksBack) else self.rest.features)(recipe_of(one))
        yield from map(self.rest.kinds, clocks)

    def _wanted(
        self,
        period: Period,
        features: Sequence[Feature],
        clocks: Sequence[Clock],
        only: Mapping[str, frozenset[str]],
        *,
        inside: bool,
    ) -> Iterator[_Wanted]:
        """What is measured of a period; parts alone, where it is not asked for and later days look back on it."""
        for one in features:
            recipe, rows = recipe_of(one), self._of_rows(one, period)
            if isinstance(one, LooksBack):
                yield _Wanted(self.rest.parts(recipe), rows, Ask(parts=one))
            elif inside:
                yield _Wanted(self.rest.features(recipe), rows, Ask(rows=one), only.get(repr(recipe)))
        for clock in clocks if inside else ():
            yield _Wanted(self.rest.kinds(clock), self._of_kinds(period), Ask(kinds=clock))

    def _of_rows(self, feature: Feature, period: Period) -> str:
        """Rows depend on the events, on the columns that there are, and on the kinds that can be shown at all."""
        known = () if feature.learned is None else feature.learned.kinds or ()
        shown = sorted(set(known) & self.events.shows.keys())
        return came_from(self.content(period), sorted(self.events.columns), shown)

    def _of_kinds(self, period: Period) -> str:
        return came_from(self.content(period))

    def _measure(self, days: Sequence["_Due"], progress: Progress) -> None:
        if self.engine is None:
            for day in days:
                self._measure_here(day, progress)
            return
        for day in days:
            self._measure_here(day.where(lambda one: one.actors is not None), progress)  # of few there is little to do
        others = [day for one in days if (day := one.where(lambda one: one.actors is None)).wanted]
        jobs = [Job(tuple(one.ask for one in day.wanted), LakeSlices(day.part_of(self.events))) for day in others]
        spreading = Spreading(self.engine, sight_of("events", self.events), progress)
        for number, found in spreading.run(jobs):
            for one, (frame, notes) in zip(others[number].wanted, found.tables, strict=True):
                others[number].put(one, frame, notes)

    def _measure_here(self, day: "_Due", progress: Progress) -> None:
        sight, events = sight_of("events", self.events), day.part_of(self.events)
        folds = [one.ask.fold(sight) for one in day.wanted]
        for actors in dict.fromkeys(one.actors for one in day.wanted):
            mine = [fold for one, fold in zip(day.wanted, folds, strict=True) if one.actors == actors]
            feed_together(mine, events if actors is None else events.of(actors), progress)
        for one, fold in zip(day.wanted, folds, strict=True):
            day.put(one, fold.frame(), fold.notes())


@dataclass(frozen=True)
class _Due:
    """A period, and the tables that are missing of it."""

    period: Period
    name: str
    wanted: tuple[_Wanted, ...]

    def where(self, which: Callable[[_Wanted], bool]) -> "_Due":
        """Some of the tables."""
        return replace(self, wanted=tuple(one for one in self.wanted if which(one)))

    def part_of(self, events: LakeEvents) -> LakeEvents:
        """The events of the period."""
        return events.between(to_micros(self.period.since), to_micros(self.period.until))

    def put(self, one: _Wanted, frame: pl.DataFrame, notes: Notes) -> None:
        """Let a table rest."""
        since, until = to_micros(self.period.since), to_micros(self.period.until)
        told = {"notes": list(notes.sentences())}
        one.table.put(self.name, frame, came_from=one.came_from, since=since, until=until, about=told)


@dataclass(frozen=True)
class _Looked:
    """The parts that rest of a feature that looks back, and what the rows of a day are made of."""

    feature: LooksBack
    table: Partitions
    there: Mapping[str, Partition]
    true: Mapping[str, Partition]  # of them those that say what the lake holds
    unseen: tuple[str, ...]
    kept: Kept

    @classmethod
    def at(cls, days: LakeDays, feature: LooksBack) -> "_Looked":
        """As they rest now."""
        table = days.rest.parts(recipe_of(feature))
        there, unseen = table.all(), tuple(feature.unseen(sight_of("events", days.events)))
        return cls(feature, table, there, days.true_parts(feature, there), unseen, days.kept)

    def days(self, period: Period) -> list[Partition]:
        """The parts that the rows of a day are made of."""
        window = self.feature.window(period)
        since, until = to_micros(window.since), to_micros(window.until)
        return [one for one in self.true.values() if one.since >= since and one.until <= until]

    def came_from(self, days: Sequence[Partition]) -> str:
        """What names all of them."""
        return came_from("looking back", [[one.name, one.came_from] for one in days], list(self.unseen))

    def parts(self, days: Sequence[Partition]) -> pl.DataFrame:
        """What they hold."""
        return self.table.table(days).select(list(self.feature.parts_schema))

    def is_true(self, rows: Partition | None, days: Sequence[Partition] | None) -> bool:
        """Whether rows still say what is known: nobody can make them anew once a day that they look back on is gone."""
        if rows is None:
            return False
        if days is None:
            return not self.kept.may_measure(rows.since, rows.until)
        gone = any(name not in self.there for name in rows.about.get("days", ()))
        return gone or self.came_from(days) == rows.came_from
