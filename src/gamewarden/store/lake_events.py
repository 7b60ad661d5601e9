"""Reading a lake: its events day by day, as they were when it was opened."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.core.durations import to_micros
from gamewarden.errors import ReadError
from gamewarden.store.lake_actors import Actors, NamedActors
from gamewarden.store.lake_merging import TOGETHER, merged
from gamewarden.store.lake_parts import micros, open_part, part_batches, refuse_no_text, refuse_other_times
from gamewarden.store.manifest import Manifest, Part
from gamewarden.store.stretches import Stretches
from gamewarden.tables import BATCH, EVENTS, EVENTS_ARROW, kinds_in

LEAST_BATCH = 1 << 14  # rows, however many parts are read together


class HasManifest(Protocol):
    """Whoever knows which parts count, and sees to it that they stay."""

    @property
    def manifest(self) -> Manifest:
        """What a lake held when it was looked at."""


class LakeEvents:
    """A lake as an EventStream: the days in order, each day's parts merged by time where times are asked for.

    It shows the lake as it was when it was made, at every reading, whatever is added or replaced meanwhile.
    """

    notes: tuple[str, ...] = ()  # what was wrong was said when it was read in

    def __init__(self, directory: Path, held: HasManifest, earliest: int, latest: int, actors: Actors | None) -> None:
        self.directory = self._directory = directory
        self._held = held
        self._known = known = held.manifest
        self._earliest, self._latest = earliest, latest
        self._actors = actors
        inside = [part for part in known.parts if part.last >= earliest and part.since <= latest]
        self._parts = sorted(inside, key=lambda part: part.day)
        self.columns = frozenset(EVENTS.required).union(*(one.columns for one in known.sources))
        whole = all(part.since >= earliest and part.last <= latest for part in inside) and actors is None
        self.rows = sum(part.rows for part in inside) if whole else None

    @property
    def counted(self) -> Mapping[str, int] | None:
        """How many events it has of each kind, where that is known without reading; None of a part of the lake."""
        return (
            self._known.kinds
            if self._actors is None and self.rows == sum(one.rows for one in self._known.parts)
            else None
        )

    @cached_property
    def shows(self) -> Mapping[str, int]:
        """The kinds that the lake's sources can show, and how many events it has of each.

        Raises:
            ReadError: the manifest does not say, and a part is missing or damaged.
        """
        counted = self._known.kinds
        if counted is not None:
            return counted
        kinds: Counter[str] = Counter()
        for batch in self._all.batches(("kind",)):
            kinds.update(kinds_in(batch.column("kind")))
        return kinds

    @cached_property
    def coverage(self) -> Coverage:
        """When the lake's sources were there, taken together.

        Raises:
            ReadError: the manifest does not say, and a part is missing or damaged.
        """
        try:
            pulse = self._known.pulse()
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            pulse = None
        return (pulse or Pulse.of(self._all.batches(("actor", "at", "kind")))).coverage()

    @property
    def whole(self) -> "LakeEvents":
        """The same time with everybody in it."""
        if self._actors is None:
            return self
        return LakeEvents(self._directory, self._held, self._earliest, self._latest, None)

    @property
    def _all(self) -> "LakeEvents":
        """The whole lake, whatever part of it this is."""
        return LakeEvents(self._directory, self._held, -(1 << 62), 1 << 62, None)

    def between(self, since: int, until: int) -> "LakeEvents":
        """The events of [since, until) in microseconds, of the lake as it was when this was opened."""
        return LakeEvents(self._directory, self._held, since, until - 1, None)

    def of(self, actors: Collection[str]) -> "LakeEvents":
        """Those of these actors only."""
        return self.among(NamedActors(actors))

    def among(self, actors: Actors) -> "LakeEvents":
        """Those of these actors only, however they are told apart."""
        return LakeEvents(self._directory, self._held, self._earliest, self._latest, actors)

    @property
    def parts(self) -> Sequence[Part]:
        """The parts with events of its time."""
        return self._parts

    @property
    def micros(self) -> tuple[int, int]:
        """The first and the last moment that are looked at."""
        return self._earliest, self._latest

    @property
    def stretches(self) -> Stretches:
        """When there are events."""
        return Stretches.of(self._parts).within(self._earliest, self._latest)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, `columns` only.

        Raises:
            ReadError: a part is missing or damaged.
        """
        if unknown := [name for name in columns if name not in EVENTS.columns]:
            raise ReadError(f"{self._directory}: EVENTS has no column {unknown[0]!r}")
        for together in self._read_together(TOGETHER if "at" in columns else 1):
            yield from merged([self._named_part(part, list(columns), len(together)) for part in together])

    def _read_together(self, most: int) -> Iterator[list[Part]]:
        """The parts of each day, not too many at a time."""
        for _, of_day in groupby(self._parts, lambda part: part.day):
            days = list(of_day)
            yield from ([part] for part in days if part.is_compact)  # in another order than that of time
            parts = [part for part in days if not part.is_compact]
            yield from (parts[begin : begin + most] for begin in range(0, len(parts), most))

    def _named_part(self, part: Part, columns: list[str], together: int) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._part(part, columns, max(BATCH // together, LEAST_BATCH))
        except ReadError as error:
            raise ReadError(f"{self._directory / part.file}: {error}") from error

    def _part(self, part: Part, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        cut = part.since < self._earliest or part.last > self._latest
        sieve = ["at"] * cut + ["actor"] * (self._actors is not None)
        read = list(dict.fromkeys([*columns, *sieve]))
        file = open_part(self._directory / part.file, read)
        for batch in part_batches(file, read, self._groups(file, cut=cut) if sieve else None, size):
            refuse_other_times(batch, part)
            refuse_no_text(batch)
            kept = batch.filter(self._keeps(batch, cut=cut)) if sieve else batch
            if kept.num_rows:
                yield kept.select(columns)

    def _groups(self, file: pq.ParquetFile, *, cut: bool) -> list[int]:
        """The row groups whose times touch the window, and whose actors may be among those asked for."""
        groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
        return [
            number
            for number, group in enumerate(groups)
            if (not cut or self._touches(group)) and (self._actors is None or self._names_one(group, self._actors))
        ]

    def _touches(self, group: pq.RowGroupMetaData) -> bool:
        found = group.column(EVENTS_ARROW.names.index("at")).statistics
        if found is None or not found.has_min_max:
            return True
        return bool(to_micros(found.max) >= self._earliest and to_micros(found.min) <= self._latest)

    def _names_one(self, group: pq.RowGroupMetaData, actors: Actors) -> bool:
        """In a part that is sorted by actor, few row groups may hold one of them."""
        found = names_in(group)
        return found is None or actors.may_be_between(*found)

    def _keeps(self, batch: pa.RecordBatch, *, cut: bool) -> pa.Array:
        keeps = pa.array(np.ones(batch.num_rows, dtype=np.bool_))
        if cut:
            at = micros(batch)
            keeps = pa.array((at >= self._earliest) & (at <= self._latest))
        if self._actors is not None:
            actor = batch.column("actor")
            wanted = self._actors.among(actor.dictionary)
            keeps = pc.and_(keeps, wanted.take(actor.indices))
        return keeps


def names_in(group: pq.RowGroupMetaData) -> tuple[str, str] | None:
    """The first and the last actor of a row group, where it says so."""
    found = group.column(EVENTS_ARROW.names.index("actor")).statistics
    return None if found is None or not found.has_min_max else (found.min, found.max)
