"""The lake: every event ever read, as Parquet files by day, safe against crashes and against reading twice."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.contracts import Content, LogSource
from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.core.durations import DAY, to_micros
from gamewarden.core.files import hold_alone, is_draft, make_directory, sweep_drafts, sync, sync_name, unwritable
from gamewarden.errors import ReadError, WriteError
from gamewarden.store import manifest as manifests
from gamewarden.store.manifest import MANIFEST, PART, Held, Known, Manifest, Part
from gamewarden.store.stretches import Stretches
from gamewarden.tables import (
    EVENTS,
    EVENTS_ARROW,
    PARQUET_FAULTS,
    TEXT_COLUMNS,
    first_line,
    kinds_in,
    parquet_batches,
)

ROW_GROUP = 1 << 20
HELD_ROWS = 4 << 20  # rows waiting in memory for a row group of their own, all days together
OPEN_FILES = 32
_DRAFTS = ".drafts"
_LOCK = ".lock"
DAY_NAME = re.compile(r"day=\d{4}-\d\d-\d\d")
_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [(name, _TEXT if name in TEXT_COLUMNS else EVENTS_ARROW.field(name).type) for name in EVENTS.columns]
)

Micros = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Added:
    """What reading one source into a lake came to."""

    name: str
    new: int
    known: int  # rows that were there already
    days: tuple[str, ...]
    note: str | None = None

    def __str__(self) -> str:
        """One line for a person."""
        span = f" over {len(self.days)} day{'' if len(self.days) == 1 else 's'}" if self.days else ""
        note = f"; {self.note}" if self.note else ""
        return f"{self.name}: {self.new:,} new rows{span}, {self.known:,} already there{note}"


class Lake:
    """A directory of events: `day=YYYY-MM-DD/part-….parquet`, and a manifest that names the parts that count."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)

    @staticmethod
    def is_at(directory: Path) -> bool:
        """Whether there is a lake at this place."""
        return (directory / MANIFEST).is_file()

    @property
    def sources(self) -> tuple[Known, ...]:
        """What has been read into it."""
        return manifests.load(self.directory).sources

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last moment of its events in microseconds, or nothing while it is empty."""
        parts = manifests.load(self.directory).parts
        return (min(part.since for part in parts), max(part.last for part in parts)) if parts else None

    @property
    def stretches(self) -> Stretches:
        """When it has events.

        Raises:
            ReadError: there is no lake here, or its manifest is damaged.
        """
        return Stretches.of(manifests.load(self.directory).parts)

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> "LakeEvents":
        """The events of [since, until), day by day, of these actors only or of all.

        Raises:
            ReadError: there is no lake here, or its manifest is damaged.
        """
        earliest = to_micros(since) if since else -(1 << 62)
        latest = to_micros(until) - 1 if until else 1 << 62
        return LakeEvents(self.directory, Held(self.directory), earliest, latest, actors)

    @property
    def shows(self) -> Mapping[str, int]:
        """The kinds its sources can show, and how many events it has of each.

        Raises:
            ReadError: its manifest or, where that does not say, a part is damaged.
        """
        return self.events().shows

    def add(self, source: LogSource) -> Added:
        """Take in the rows of a source that are not there yet: all of them, or after any failure none.

        A file is known again by its content, whatever its name, and adds nothing. A file that has grown adds its new
        rows. Under a known name, a row is there already if a row with its seq and its values is.

        Raises:
            ReadError: the source cannot be read, or was read before with another mapping.
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        if "seq" not in source.columns:
            raise ReadError(f"{source.name}: its rows are not numbered; a lake could not know them again")
        with self._writing() as known:
            # A log may have been renamed before it grew: any source with rows can be its beginning.
            sizes = [one.size for one in known.sources if one.rows or one.name == source.name]
            plan = _plan(known, source, source.content(sizes))
            if plan.nothing_new is not None:
                return plan.nothing_new
            with self._nothing_left_on_failure():
                return self._take_in(source, known, plan)

    def _take_in(self, source: LogSource, known: Manifest, plan: "_Plan") -> Added:
        filter_ = _Filter(self.directory, known, plan, source)
        writers = _Writers(self.directory, plan.content.digest[:12])
        try:
            have = [name for name in SCHEMA.names if name in source.columns]
            kinds = Counter(dict.fromkeys(sorted(source.promised), 0))
            for batch in source.batches(have):
                new = filter_.new_rows(_as_stored(batch))
                kinds.update(kinds_in(new.column("kind")))
                writers.write(new)
            parts = writers.publish(plan.place if plan.place is not None else len(known.sources))
            manifests.save(plan.after(known, parts, source, dict(kinds)), self.directory)
        except pa.ArrowException as error:
            raise WriteError(f"{self.directory}: rows cannot be written ({first_line(error)})") from error
        except OSError as error:
            raise unwritable(self.directory, error) from error
        finally:
            writers.abandon()
        if plan.replaces:
            self._sweep(manifests.load(self.directory))
        days = tuple(sorted({part.day for part in parts}))
        return Added(source.name, writers.rows, filter_.skipped, days, filter_.note or plan.note)

    @contextmanager
    def _writing(self) -> Iterator[Manifest]:
        try:
            self._refuse_strange_ground()
            with (self.directory / _LOCK).open("a") as lock:
                hold_alone(lock.fileno(), self.directory, "writing to this lake")
                if not self.is_at(self.directory):
                    manifests.save(Manifest(), self.directory)
                known = manifests.load(self.directory)
                self._sweep(known)
                yield known
        except OSError as error:
            raise unwritable(self.directory, error) from error

    @contextmanager
    def _nothing_left_on_failure(self) -> Iterator[None]:
        """Take back parts that were given their names before the manifest could be written."""
        try:
            yield
        except BaseException:
            with suppress(OSError):
                self._sweep(manifests.load(self.directory))
            raise

    def _refuse_strange_ground(self) -> None:
        """Never make a lake in a directory that holds something else: the broom could take it for ours."""
        make_directory(self.directory)
        inside = (entry.name for entry in self.directory.iterdir())
        if self.is_at(self.directory) or all(name == _LOCK or is_draft(name) for name in inside):
            return
        raise WriteError(f"{self.directory}: holds files and is not a lake; choose an empty or a new directory")

    def _sweep(self, known: Manifest) -> None:
        """Remove what a crash has left, and what nobody reads any more: whatever no manifest names."""
        shutil.rmtree(self.directory / _DRAFTS, ignore_errors=True)
        named = {part.file for part in known.parts} | manifests.still_read(self.directory)
        for day in _days_of_its_own(self.directory):
            _sweep_day(day, named)
        sweep_drafts(self.directory)
        for draft in self.directory.glob(f".{MANIFEST}.*"):  # as drafts were called once
            draft.unlink()


def _days_of_its_own(directory: Path) -> list[Path]:
    """The directories of days; a link leads to what is not ours, perhaps into another lake."""
    with os.scandir(directory) as entries:
        return [
            Path(entry.path)
            for entry in entries
            if DAY_NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        ]


def _sweep_day(day: Path, named: Collection[str]) -> None:
    with os.scandir(day) as entries:
        names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    left = [name for name in names if PART.fullmatch(f"{day.name}/{name}") and f"{day.name}/{name}" not in named]
    for name in left:
        (day / name).unlink()
    if len(left) == len(names):
        with suppress(OSError):
            day.rmdir()


class LakeEvents:
    """A lake as an EventStream: the days in order, each day's parts in the order they came.

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
        for part in self._parts:
            try:
                yield from self._part(part, list(columns))
            except ReadError as error:
                raise ReadError(f"{self._directory / part.file}: {error}") from error

    def _part(self, part: Part, columns: list[str]) -> Iterator[pa.RecordBatch]:
        cut = part.since < self._earliest or part.last > self._latest
        sieve = ["at"] * cut + ["actor"] * (self._actors is not None)
        read = list(dict.fromkeys([*columns, *sieve]))
        file = _open(self._directory / part.file, read)
        for batch in parquet_batches(file, read, self._groups(file) if cut else None):
            _refuse_other_times(batch, part)
            _refuse_no_text(batch)
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

    def _keeps(self, batch: pa.RecordBatch, *, cut: bool) -> pa.Array:
        keeps = pa.array(np.ones(batch.num_rows, dtype=np.bool_))
        if cut:
            at = _micros(batch)
            keeps = pa.array((at >= self._earliest) & (at <= self._latest))
        if self._actors is not None:
            actor = batch.column("actor")
            wanted = pc.is_in(actor.dictionary, self._actors)
            keeps = pc.and_(keeps, wanted.take(actor.indices))
        return keeps


@dataclass(frozen=True)
class _Plan:
    """What is to be done with a source, seen what the lake already has."""

    content: Content
    place: int | None = None  # among the known sources, if it is one of them
    replaces: bool = False  # its old rows go
    after_seq: int | None = None  # its rows up to this place are there
    nothing_new: Added | None = None
    note: str | None = None

    def after(self, known: Manifest, parts: tuple[Part, ...], source: LogSource, kinds: Mapping[str, int]) -> Manifest:
        """The manifest once the rows are there."""
        ends = [part.last_seq for part in parts if part.last_seq is not None]
        before = [self.after_seq] if self.after_seq is not None else []
        entry = Known(
            source.name,
            self.content.digest,
            self.content.size,
            self.content.ends_with_newline,
            source.recipe,
            source.own_seq,
            tuple(sorted(source.columns)),
            sum(part.rows for part in parts),
            max([*ends, *before], default=None),
            earlier=()
            if self.place is None
            else (*known.sources[self.place].earlier, known.sources[self.place].digest),
            kinds=kinds,
        )
        if self.place is None or self.replaces:
            return known.with_source(entry, parts, instead_of=self.place)
        return known.with_more(self.place, entry, parts)


def _plan(known: Manifest, source: LogSource, content: Content) -> _Plan:
    for one in known.sources:
        if content.digest in (one.digest, *one.earlier) and content.size:
            return _Plan(content, nothing_new=_already_there(one, source))
    grown = [
        (one.size, place)
        for place, one in enumerate(known.sources)
        if content.beginnings.get(one.size) == one.digest and one.size < content.size
    ]
    if grown:
        _, place = max(grown)
        return _grown(place, known.sources[place], source, content)
    named = any(one.name == source.name for one in known.sources)
    note = "other content under a known name: kept beside it" if named and not source.own_seq else None
    return _Plan(content, note=note)


def _already_there(one: Known, source: LogSource) -> Added:
    if one.recipe != source.recipe:
        raise _other_recipe(source)
    note = f"it is {one.name} under another name" if one.name != source.name else "it has not changed"
    return Added(source.name, 0, one.rows, (), note)


def _grown(place: int, one: Known, source: LogSource, content: Content) -> _Plan:
    if one.recipe != source.recipe:
        raise _other_recipe(source)
    if not one.ends_with_newline:
        return _Plan(content, place, replaces=True, note="its last line had been cut; its rows were read anew")
    note = f"it is {one.name}, grown" if one.name != source.name else None
    return _Plan(content, place, after_seq=None if source.own_seq else one.last_seq, note=note)


def _other_recipe(source: LogSource) -> ReadError:
    return ReadError(
        f"{source.name}: is in the lake already, read with another mapping or zone; read it into a new lake, "
        "since its rows would count twice here"
    )


class _Filter:
    """Tells the new rows of a source from those the lake has."""

    def __init__(self, directory: Path, known: Manifest, plan: _Plan, source: LogSource) -> None:
        self.skipped = 0
        self.note: str | None = None
        self._after = plan.after_seq
        self._conflicts = 0
        replaced = {plan.place} if plan.replaces else set()
        mine = [place for place, one in enumerate(known.sources) if one.name == source.name or place == plan.place]
        same = {place for place in mine if known.sources[place].own_seq} - replaced
        self._parts = [part for part in known.parts if part.source in same] if source.own_seq else []
        self._directory = directory
        self._loaded: dict[str, pl.DataFrame] = {}
        self._touching: list[Part] = []
        self._old: _Rows | None = None

    def new_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are not in the lake."""
        new = self._mask(batch)
        if new is None:
            return batch
        kept = batch.filter(pa.array(new))
        self.skipped += batch.num_rows - kept.num_rows
        return kept

    def _mask(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_] | None:
        if self._after is not None:
            return np.asarray(batch.column("seq").to_numpy() > self._after)
        old = self._old_rows(batch)
        if old is None:
            return None
        taken, there = old.has(_fingerprints(batch))
        self._conflicts += int((taken & ~there).sum())
        if self._conflicts:
            self.note = f"{self._conflicts:,} rows share their seq with rows of other values: both are kept"
        return ~there

    def _old_rows(self, batch: pa.RecordBatch) -> "_Rows | None":
        span = pc.min_max(batch.column("seq")).as_py()
        if span["min"] is None:
            return None
        touching = [
            part
            for part in self._parts
            if part.first_seq is not None
            and part.last_seq is not None
            and part.first_seq <= span["max"]
            and part.last_seq >= span["min"]
        ]
        if not touching:
            return None
        if touching != self._touching:  # in a source without any order every batch touches all parts: the same ones
            self._touching, self._old = touching, _Rows(pl.concat([self._load(part) for part in touching]))
        return self._old

    def _load(self, part: Part) -> pl.DataFrame:
        # 16 bytes a row, twice, of a source that comes again under its name with other content; nothing otherwise.
        if part.file not in self._loaded:
            batches = parquet_batches(_open(self._directory / part.file, SCHEMA.names), SCHEMA.names)
            frames = [_fingerprints(batch).drop_nulls() for batch in batches]
            self._loaded[part.file] = pl.concat(frames)
        return self._loaded[part.file]


class _Rows:
    """Rows of a lake by seq and fingerprint, to be looked up."""

    def __init__(self, rows: pl.DataFrame) -> None:
        ordered = rows.unique().sort("seq", "row")
        self._seq, self._row = ordered["seq"].to_numpy(), ordered["row"].to_numpy()

    def has(self, rows: pl.DataFrame) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Of each row, whether its seq is there, and whether it is there with all its values."""
        given = rows["seq"].is_not_null().to_numpy()
        seq, row = rows["seq"].fill_null(0).to_numpy(), rows["row"].to_numpy()
        first, end = np.searchsorted(self._seq, seq, "left"), np.searchsorted(self._seq, seq, "right")
        taken = given & (end > first)
        there = np.zeros(len(seq), np.bool_)
        for step in range(int((end - first).max(initial=0))):  # rows of one seq: as many as there were versions of it
            place = np.minimum(first + step, len(self._row) - 1)
            there |= taken & (first + step < end) & (self._row[place] == row)
        return taken, there


class _Writers:
    """Draft parts of the days a source touches: one open file a day, row groups of one day."""

    def __init__(self, directory: Path, name: str) -> None:
        self.rows = 0
        self._directory = directory
        self._name = name
        self._held: dict[int, list[pa.RecordBatch]] = {}
        self._held_rows: dict[int, int] = {}
        self._open: dict[int, _Draft] = {}
        self._done: list[_Draft] = []
        self._count: dict[int, int] = {}
        (directory / _DRAFTS).mkdir(exist_ok=True)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of any days, as it shall be stored."""
        if not batch.num_rows:
            return
        self.rows += batch.num_rows
        for day, piece in _by_day(batch):
            self._held.setdefault(day, []).append(piece)
            self._held_rows[day] = self._held_rows.get(day, 0) + piece.num_rows
            if self._held_rows[day] >= ROW_GROUP:
                self._flush(day)
        while sum(self._held_rows.values()) > HELD_ROWS:
            self._flush(max(self._held_rows, key=lambda day: self._held_rows[day]))

    def publish(self, source: int) -> tuple[Part, ...]:
        """Close all drafts and give them their names; they count once a manifest names them."""
        for day in sorted(self._held):
            self._flush(day)
        for day in sorted(self._open):
            self._close(day)
        for draft in self._done:
            target = self._directory / draft.file
            _make_day(target.parent)
            sync(draft.path)
            draft.path.replace(target)
            sync_name(target)
        return tuple(draft.part(source) for draft in sorted(self._done, key=lambda draft: draft.file))

    def abandon(self) -> None:
        """Leave nothing behind but what was published."""
        for draft in self._open.values():
            with suppress(OSError, pa.ArrowException):
                draft.writer.close()
        shutil.rmtree(self._directory / _DRAFTS, ignore_errors=True)

    def _flush(self, day: int) -> None:
        batches = self._held.pop(day)
        del self._held_rows[day]
        if day not in self._open:
            if len(self._open) >= OPEN_FILES:
                self._close(next(iter(self._open)))
            self._open[day] = self._draft(day)
        draft = self._open.pop(day)
        self._open[day] = draft  # the last in line to be closed
        draft.write(pa.Table.from_batches(batches, SCHEMA))

    def _draft(self, day: int) -> "_Draft":
        count = self._count.get(day, 0)
        self._count[day] = count + 1
        file = f"day={np.datetime64(day, 'D')}/part-{self._name}-{count:04d}.parquet"
        return _Draft(file, self._directory / _DRAFTS / file.replace("/", "-"))

    def _close(self, day: int) -> None:
        draft = self._open.pop(day)
        draft.writer.close()
        self._done.append(draft)


class _Draft:
    """A part that is being written."""

    def __init__(self, file: str, path: Path) -> None:
        self.file, self.path = file, path
        self.rows, self.since, self.last = 0, 1 << 62, -(1 << 62)
        self.seqs: list[int] = []
        self.pulse = Pulse()
        self.writer = pq.ParquetWriter(path, SCHEMA, compression="zstd", write_statistics=True)

    def write(self, table: pa.Table) -> None:
        """Add one row group."""
        times = pc.min_max(table.column("at").cast(pa.int64())).as_py()
        self.since, self.last = min(self.since, times["min"]), max(self.last, times["max"])
        seqs = pc.min_max(table.column("seq")).as_py()
        self.seqs += [seq for seq in seqs.values() if seq is not None]
        self.rows += table.num_rows
        self.pulse += Pulse.of(table.select(["actor", "at", "kind"]).to_batches())
        self.writer.write_table(table, row_group_size=table.num_rows)

    def part(self, source: int) -> Part:
        """What the manifest says of it."""
        first, last = min(self.seqs, default=None), max(self.seqs, default=None)
        return Part(self.file, source, self.rows, self.since, self.last, first, last, self.pulse.to_dict())


def _make_day(day: Path) -> None:
    if day.is_symlink():
        raise WriteError(f"{day}: is a link; a lake writes only into days of its own, so put a directory in its place")
    make_directory(day)


def _as_stored(batch: pa.RecordBatch) -> pa.RecordBatch:
    have = set(batch.schema.names)
    arrays = [
        _stored(batch.column(name), name) if name in have else _nulls(SCHEMA.field(name).type, batch.num_rows)
        for name in SCHEMA.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _nulls(dtype: pa.DataType, rows: int) -> pa.Array:
    return _many_nulls(dtype, 1 << max(rows - 1, 1).bit_length()).slice(0, rows)


@lru_cache(maxsize=32)
def _many_nulls(dtype: pa.DataType, rows: int) -> pa.Array:
    return pa.nulls(rows, dtype)


def _stored(column: pa.Array, name: str) -> pa.Array:
    if name not in TEXT_COLUMNS or column.type == _TEXT:
        return column
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return column.cast(_TEXT)


def _by_day(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The batch cut by day, each piece in the source's order."""
    days = _micros(batch) // DAY
    if days[0] == days[-1] and (days == days[0]).all():
        yield int(days[0]), batch
        return
    order = np.argsort(days, kind="stable")
    in_order = bool((days[1:] >= days[:-1]).all())
    cuts = [0, *(np.flatnonzero(np.diff(days[order])) + 1).tolist(), len(days)]
    for start, end in pairwise(cuts):
        day = int(days[order[start]])
        yield day, batch.slice(start, end - start) if in_order else batch.take(pa.array(order[start:end]))


def _micros(batch: pa.RecordBatch) -> Micros:
    return np.asarray(batch.column("at").cast(pa.int64()).to_numpy())


def _fingerprints(batch: pa.RecordBatch) -> pl.DataFrame:
    """A row's seq and a hash of all its values, the same for the same values within this process."""
    texts = {name: _plain(batch.column(name)) for name in batch.schema.names}
    frame = pl.DataFrame(pl.from_arrow(pa.table(texts))).select(list(EVENTS.columns))
    return pl.DataFrame({"seq": frame["seq"], "row": frame.hash_rows()})


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string()) if pa.types.is_string(column.type) else column


def _open(path: Path, columns: Sequence[str]) -> pq.ParquetFile:
    try:
        texts = [name for name in columns if name in TEXT_COLUMNS]
        file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False)
    except FileNotFoundError as error:
        raise ReadError("is missing from the lake; restore it, or read its source into a new lake") from error
    except PARQUET_FAULTS as error:
        raise ReadError(f"is damaged ({first_line(error)}); restore it, or read its source into a new lake") from error
    _refuse_other_columns(file.schema_arrow, columns)
    return file


def _refuse_other_columns(schema: pa.Schema, columns: Sequence[str]) -> None:
    """A part has all columns as we write them, or somebody else wrote it."""
    for name in dict.fromkeys((*columns, "at")):
        at = schema.get_field_index(name)
        if at < 0 or not _is_as_stored(schema.field(at).type, name):
            seen = f"no column {name}" if at < 0 else f"{name} as {schema.field(at).type}"
            raise ReadError(f"has {seen}, which no part of a lake has; restore it, or read its source into a new lake")


def _refuse_other_times(batch: pa.RecordBatch, part: Part) -> None:
    """Damaged bytes can be times that no calendar shows; a part's own times lie where the manifest says."""
    at = batch.schema.get_field_index("at")
    found = pc.min_max(batch.column(at).cast(pa.int64())).as_py() if at >= 0 and batch.num_rows else None
    if found is not None and not part.since <= found["min"] <= found["max"] <= part.last:
        raise ReadError("holds times that it did not have; restore it, or read its source into a new lake")


def _refuse_no_text(batch: pa.RecordBatch) -> None:
    """Damaged bytes can be text that is none, which libraries behind us would believe."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in TEXT_COLUMNS:
            try:
                (column.dictionary if pa.types.is_dictionary(column.type) else column).validate(full=True)
            except pa.ArrowInvalid as error:
                raise ReadError(
                    f"holds bytes that are no text in {name}; restore it, or read its source into a new lake"
                ) from error


def _is_as_stored(dtype: pa.DataType, name: str) -> bool:
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return bool(plain == (pa.string() if name in TEXT_COLUMNS else SCHEMA.field(name).type))
