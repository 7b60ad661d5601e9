"""Reading a lake: its events day by day, as they were when it was opened."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.core.durations import to_micros
from gamewarden.errors import ReadError
from gamewarden.store.lake_merging import TOGETHER, merged
from gamewarden.store.lake_parts import micros, open_part, part_batches, refuse_no_text, refuse_other_times
from gamewarden.store.manifest import Held, Part
from gamewarden.store.stretches import Stretches
from gamewarden.tables import BATCH, EVENTS, EVENTS_ARROW, kinds_in

FEW_ACTORS = 64  # whose row groups are looked for before anything else is read
LEAST_BATCH = 1 << 14  # rows, however many parts are read together


class LakeEvents:
    """A lake as an EventStream: the days in order, each day's parts merged by time where times are asked for.

    It shows the lake as it was when it was made, at every reading, whatever is added or replaced meanwhile.
    """

    notes: tuple[str, ...] = ()  # what was wrong was said when it was read in

    def __init__(self, directory: Path, held: Held, earliest: int, latest: int, actors: Collection[str] | None) -> None:
        self._directory = directory
        self._held = held
        self._known = known = held.manifest
        self._earliest, self._latest = earliest, latest
        self._actors = None if actors is None else pa.array(sorted(set(actors)), pa.string())
        inside = [part for part in known.parts if part.last >= earliest and part.since <= latest]
        self._parts = sorted(inside, key=lambda part: part.day)
        self.columns = frozenset(EVENTS.required).union(*(one.columns for one in known.sources))
        whole = all(part.since >= earliest and part.last <= latest for part in inside) and actors is None
        self.rows = sum(part.rows for part in inside) if whole else None

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
        return LakeEvents(self._directory, self._held, self._earliest, self._latest, actors)

    @property
    def stretches(self) -> Stretches:
        """When there are events."""
        return Stretches.of(tuple(self._parts))

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
            parts = list(of_day)
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
        groups = self._groups(file) if cut else range(file.num_row_groups)
        for batch in part_batches(file, read, self._with_actors(file, groups), size):
            refuse_other_times(batch, part)
            refuse_no_text(batch)
            kept = batch.filter(self._keeps(batch, cut=cut)) if sieve else batch
            if kept.num_rows:
                yield kept.select(columns)

    def _groups(self, file: pq.ParquetFile) -> list[int]:
        """The row groups whose times touch the window."""
        place = EVENTS_ARROW.names.index("at")
        ranges = [file.metadata.row_group(group).column(place).statistics for group in range(file.num_row_groups)]
        return [
            group
            for group, found in enumerate(ranges)
            if found is None
            or not found.has_min_max
            or (to_micros(found.max) >= self._earliest and to_micros(found.min) <= self._latest)
        ]

    def _with_actors(self, file: pq.ParquetFile, groups: Sequence[int]) -> Sequence[int]:
        """The row groups in which one of the actors stands; of many actors nearly every one has some."""
        if self._actors is None or len(self._actors) > FEW_ACTORS:
            return groups
        names = self._actors.to_pylist()
        return [group for group in groups if _may_hold(file, group, names) and self._holds(file, group)]

    def _holds(self, file: pq.ParquetFile, group: int) -> bool:
        """Whether a name stands in a row group, whose other columns need not be read to know it."""
        batches = part_batches(file, ["actor"], [group], file.metadata.row_group(group).num_rows)
        return any(_stands_in(batch.column(0), self._actors) for batch in batches)

    def _keeps(self, batch: pa.RecordBatch, *, cut: bool) -> pa.Array:
        keeps = pa.array(np.ones(batch.num_rows, dtype=np.bool_))
        if cut:
            at = micros(batch)
            keeps = pa.array((at >= self._earliest) & (at <= self._latest))
        if self._actors is not None:
            actor = batch.column("actor")
            wanted = pc.is_in(actor.dictionary, self._actors)
            keeps = pc.and_(keeps, wanted.take(actor.indices))
        return keeps


def _may_hold(file: pq.ParquetFile, group: int, names: Sequence[str]) -> bool:
    """Whether one of the names lies between the first and the last actor of a row group."""
    told = file.metadata.row_group(group).column(EVENTS_ARROW.names.index("actor")).statistics
    if told is None or not told.has_min_max:
        return True
    return any(str(told.min) <= name <= str(told.max) for name in names)


def _stands_in(column: pa.DictionaryArray, names: pa.Array) -> bool:
    """Whether a row names one of them; a dictionary may hold names that no row has."""
    codes = pc.indices_nonzero(pc.is_in(column.dictionary, names)).to_numpy()
    rows = column.indices.to_numpy(zero_copy_only=False)
    return any(bool((rows == code).any()) for code in codes)
