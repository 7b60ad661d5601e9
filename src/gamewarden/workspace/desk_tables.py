"""The tables that the desk reads: of every judged day what accounts did and what was said of it; no page measures.

A day is written again when its verdicts, its events or what was measured of it change. A day whose events or features
retention has removed stays as it was written.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import polars as pl

from gamewarden.contracts import Feature, Progress, no_progress
from gamewarden.core.clock import Period
from gamewarden.core.durations import from_micros
from gamewarden.features.activity import Activity
from gamewarden.features.day_counts import DayCounts
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.notices import now
from gamewarden.store.lake import Lake
from gamewarden.store.partitions import Partition, Partitions
from gamewarden.store.verdict_days import DaySeal
from gamewarden.tables import TIME
from gamewarden.verdicts.facts import sharing_of
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.verdicts.ranking import usual_number
from gamewarden.workspace.beside import verdicts_of
from gamewarden.workspace.days import EVER, LakeDays, Window, is_within
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import ACCOUNT_DAYS, DESK, OTHER_KINDS, Rest, came_from, recipe_of

METHOD = 1  # raised when a later version counts otherwise
MOST_KINDS = 60  # that are counted apart: a day may show thousands
_OF_EVENTS = ("hours", "mix", "edges", "addresses", "cells")


@dataclass(frozen=True)
class DeskTables:
    """The desk's tables of a workspace, as they rest."""

    workspace: Workspace

    def rest(self, name: str) -> Partitions:
        """Where one of the tables rests."""
        return Rest(self.workspace.results).desk(name)

    def days(self, window: Window = EVER, name: str = "accounts") -> list[Partition]:
        """What rests of a table, the earliest day first.

        Raises:
            ReadError: its index is damaged.
        """
        return [one for one in self.rest(name).all().values() if is_within(one, window)]

    def table(
        self,
        name: str,
        window: Window = EVER,
        actors: Collection[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """The rows of a table in a time, of these actors or of everybody.

        `name` is accounts, hours, mix, edges, addresses or cells; of some actors only the row groups are read that
        may hold them.

        Raises:
            ReadError: a file is missing or damaged.
        """
        days = self.days(window, name)
        found = _quickly(self.rest(name), days, columns, actors) if actors is not None and days else None
        return self.rest(name).table(days, columns, actors) if found is None else found


def _quickly(
    table: Partitions, days: Sequence[Partition], columns: Sequence[str] | None, actors: Collection[str]
) -> pl.DataFrame | None:
    """The rows of some actors, read at once; None where something is wrong, which a closer look will tell."""
    names = list(columns or table.schema.columns)
    try:
        rows = pl.scan_parquet([table.directory / one.file for one in days], glob=False)
        found = rows.filter(pl.col("actor").is_in(list(actors))).select(names).collect()
    except (OSError, UnicodeEncodeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    as_it_is = all(found.schema[name] == table.schema.columns[name] for name in names)
    return found if as_it_is else None


@dataclass(frozen=True)
class DeskWriting:
    """Writes what the desk reads."""

    workspace: Workspace
    at: datetime

    def write(self, *, fresh: bool = False, progress: Progress = no_progress) -> list[str]:
        """Write the days that are missing or no longer true; which those were.

        Raises:
            ReadError: something that rests is damaged.
            WriteError: the results cannot be written.
        """
        sealed = self.workspace.verdicts.current()
        return [seal.day for seal in sealed.values() if self._write(seal, fresh=fresh, progress=progress)]

    def _write(self, seal: DaySeal, *, fresh: bool, progress: Progress) -> bool:
        read = self._count(seal, fresh=fresh, progress=progress)
        table, origin, there = self._table("accounts"), self._origin(seal), self.resting("accounts", seal)
        gone = there is not None and not self._days.kept.may_measure(seal.since, seal.until)
        if gone or (not fresh and table.still_holds(there, origin)):
            return read
        rows, about = _Row(self, seal).rows(), {"kinds": list(self._kinds)}
        table.put(seal.day, rows, came_from=origin, since=seal.since, until=seal.until, about=about)
        return True

    def _count(self, seal: DaySeal, *, fresh: bool, progress: Progress) -> bool:
        """Read a day's events where that is due; whether it was."""
        origin = self._origin_of_events(seal)
        if origin is None:
            return False
        if not fresh and all(self._table(name).still_holds(self.resting(name, seal), origin) for name in _OF_EVENTS):
            return False
        counts = DayCounts(
            self._kinds,
            other_kinds=OTHER_KINDS,
            time_zone=self._days.time_zone,
            entity=self._entity,
            suspected=self.verdicts(seal).filter(pl.col("point").is_in([ACT, WATCH]))["actor"],
        ).read(self._days.events.between(seal.since, seal.until), progress)
        for name in _OF_EVENTS:
            rows = getattr(counts, name)().with_columns(since=pl.lit(from_micros(seal.since), TIME))
            made = self._table(name).put(seal.day, rows, came_from=origin, since=seal.since, until=seal.until)
            self._there[name][seal.day] = made
        return True

    def verdicts(self, seal: DaySeal) -> pl.DataFrame:
        """The verdicts of those who were not forgotten."""
        found = verdicts_of(self.workspace.verdicts, seal)
        gone = self.workspace.verdicts.stubs(seal)
        return found.filter(~pl.col("actor").is_in(gone)) if gone else found

    def sealed(self, seal: DaySeal, name: str) -> pl.DataFrame:
        """Another table of a sealed day."""
        return self.workspace.verdicts.table(seal, name)

    def resting(self, name: str, seal: DaySeal) -> Partition | None:
        """What rests of a table of a day."""
        return self._there[name].get(seal.day)

    def counted(self, name: str, seal: DaySeal) -> pl.DataFrame:
        """What was counted of a day; nothing where its events were gone before."""
        there = self.resting(name, seal)
        return self._table(name).table([] if there is None else [there])

    def measured(self, feature: Feature, seal: DaySeal) -> pl.DataFrame:
        """What rests of a feature about a day."""
        found = self._partitions(feature, seal)
        return Rest(self.workspace.results).features(recipe_of(feature)).table(found)

    @cached_property
    def activity(self) -> Activity | None:
        """The recipe of main zones, addresses and money."""
        return next((one for one in self._features if isinstance(one, Activity)), None)

    @cached_property
    def similarity(self) -> SelfSimilarity | None:
        """The recipe of self-similarity by the same days."""
        of = self.activity
        found = [one for one in self._features if isinstance(one, SelfSimilarity)]
        alike = [one for one in found if of is not None and (one.every, one.by) == (of.every, of.by)]
        return next(iter((*alike, *found)), None)

    def bits(self, mix: pl.DataFrame) -> pl.DataFrame:
        """A bit per kind that an actor has events of."""
        places = {kind: 1 << place for place, kind in enumerate(self._kinds)}
        bit = pl.col("kind").replace_strict(places, default=0, return_dtype=pl.UInt64)
        return mix.group_by("actor").agg(bit.sum().alias("kinds"))

    @cached_property
    def _features(self) -> list[Feature]:
        return self.workspace.features(self.workspace.models_in_force())

    @property
    def _entity(self) -> str:
        return "actor" if self.activity is None else self.activity.entity

    @cached_property
    def _days(self) -> LakeDays:
        return self.workspace.days(self.at)

    @cached_property
    def _kinds(self) -> tuple[str, ...]:
        """The most common kinds of the lake, by name: their order does not change with every event."""
        if not Lake.is_at(self.workspace.lake):
            return ()
        counted = self._days.events.shows
        return tuple(sorted(sorted(counted, key=lambda kind: (-counted[kind], kind))[:MOST_KINDS]))

    @cached_property
    def _there(self) -> dict[str, dict[str, Partition]]:
        return {name: self._table(name).all() for name in DESK}

    def _table(self, name: str) -> Partitions:
        return Rest(self.workspace.results).desk(name)

    def _partitions(self, feature: Feature, seal: DaySeal) -> list[Partition]:
        true = self._true.setdefault(feature.name, self._days.partitions(feature))
        return [one for one in true if one.since < seal.until and one.until > seal.since]

    @cached_property
    def _true(self) -> dict[str, list[Partition]]:
        return {}

    def _origin_of_events(self, seal: DaySeal) -> str | None:
        """What names all that the counts of events depend on; None where events are gone, or never were there."""
        days = self._days
        if not Lake.is_at(self.workspace.lake) or not days.kept.may_measure(seal.since, seal.until):
            return None
        content = days.content(Period(from_micros(seal.since), from_micros(seal.until)))
        columns = sorted(days.events.columns)
        return came_from("desk", METHOD, content, columns, days.time_zone, self._entity, seal.bundle)

    def _origin(self, seal: DaySeal) -> str:
        beside = [feature for feature in (self.activity, self.similarity) if feature is not None]
        measured = [one.came_from for feature in beside for one in self._partitions(feature, seal)]
        counted = [there.came_from for name in _OF_EVENTS if (there := self.resting(name, seal)) is not None]
        return came_from("desk", METHOD, seal.bundle, measured, counted)


@dataclass(frozen=True)
class _Row:
    """Puts the rows of a day together."""

    writing: DeskWriting
    seal: DaySeal

    def rows(self) -> pl.DataFrame:
        """ACCOUNT_DAYS, a row a verdict."""
        rows = self.writing.verdicts(self.seal).drop("streak")
        parts = (self._loudest(), self._reasons(), self._similar(), self._active(), self._counted(), self._shared())
        for part in (*parts, self._mixed()):
            rows = rows.join(part, on="actor", how="left", maintain_order="left")
        return rows.select(pl.col(name).cast(kind) for name, kind in ACCOUNT_DAYS.columns.items())

    def _loudest(self) -> pl.DataFrame:
        """The detector whose false positives are rarest at this score; of several the one most sure."""
        ordered = self.writing.sealed(self.seal, "scores").sort(
            "actor", "fpr", "probability", "detector", descending=[False, False, True, False], nulls_last=True
        )
        return ordered.group_by("actor", maintain_order=True).agg(pl.col("detector").first())

    def _reasons(self) -> pl.DataFrame:
        said = self.writing.sealed(self.seal, "evidence").filter(pl.col("says").is_not_null(), ~usual_number())
        ordered = said.sort("actor", "weight", "feature", descending=[False, True, False], nulls_last=True)
        return ordered.group_by("actor", maintain_order=True).agg(pl.col("says").first().alias("reason"))

    def _similar(self) -> pl.DataFrame:
        return self._measured(self.writing.similarity, {"self_sim": "self_sim", "play_minutes": "total_use_time_min"})

    def _active(self) -> pl.DataFrame:
        same = {name: name for name in ("zones", "addresses", "money_gained")}
        return self._measured(self.writing.activity, {"zone": "main_zone", **same})

    def _measured(self, feature: Feature | None, columns: Mapping[str, str]) -> pl.DataFrame:
        """Columns of a feature under other names; null where nothing rests of it."""
        nobody = pl.DataFrame(schema={"actor": pl.String})
        rows = nobody if feature is None else _fullest(self.writing.measured(feature, self.seal))
        there = {mine: pl.col(name) if name in rows.columns else pl.lit(None) for mine, name in columns.items()}
        return rows.select("actor", **there)

    def _counted(self) -> pl.DataFrame:
        return self.writing.counted("hours", self.seal).select("actor", "events", "level")

    def _shared(self) -> pl.DataFrame:
        return sharing_of(self.writing.counted("addresses", self.seal))

    def _mixed(self) -> pl.DataFrame:
        return self.writing.bits(self.writing.counted("mix", self.seal))


def _fullest(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per actor: where a day has several, the one made of most events, and of equal ones the first."""
    ordered = rows.sort("actor", "events", "since", descending=[False, True, False], nulls_last=True)
    return ordered.unique("actor", keep="first", maintain_order=True)


def write_desk(workspace: Workspace, at: datetime | None = None, *, fresh: bool = False) -> list[str]:
    """Write what the desk reads of days that were judged before; which days those were.

    Raises:
        ReadError: something that rests is damaged.
        WriteError: the results cannot be written.
    """
    return DeskWriting(workspace, at or now()).write(fresh=fresh)
