"""Which rows of a source a lake has already: by the source's content, by its name and by each row's seq and values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import Content, LogSource, Stretch
from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.store.forgotten import Forgotten
from gamewarden.store.lake_parts import COMPACT, SCHEMA, micros, open_part, part_batches
from gamewarden.store.manifest import Known, Manifest, Part
from gamewarden.tables import EVENTS


@dataclass(frozen=True)
class Added:
    """What reading one source into a lake came to."""

    name: str
    new: int
    known: int  # rows that were there already
    days: tuple[str, ...]
    note: str | None = None
    last: int | None = None  # the latest of the new rows, or where there is none of those known, in microseconds
    read: bool = True  # False: its content was known, and no row had to be looked at

    def __add__(self, more: "Added") -> "Added":
        """Both together, of two pieces of one source."""
        last = max((one for one in (self.last, more.last) if one is not None), default=None)
        notes = dict.fromkeys(note for note in (self.note, more.note) if note)
        days = tuple(sorted({*self.days, *more.days}))
        return Added(self.name, self.new + more.new, self.known + more.known, days, "; ".join(notes) or None, last)

    def __str__(self) -> str:
        """One line for a person."""
        span = f" over {len(self.days)} day{'' if len(self.days) == 1 else 's'}" if self.days else ""
        note = f"; {self.note}" if self.note else ""
        return f"{self.name}: {self.new:,} new rows{span}, {self.known:,} already there{note}"


@dataclass(frozen=True)
class Plan:
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
            if self.place is None or source.stretch is not None
            else (*known.sources[self.place].earlier, known.sources[self.place].digest),
            kinds=kinds,
            reached="" if source.stretch is None else _remembered(known, source.stretch.after),
        )
        if self.place is None or self.replaces:
            return known.with_source(entry, parts, instead_of=self.place)
        return known.with_more(self.place, entry, parts)


class SourceIndex:
    """The sources of a manifest by content and by name, so that a new file is not compared with each of them.

    An entry may be outdated after its source has changed; whoever uses one compares it with the manifest.
    """

    def __init__(self, sources: Sequence[Known]) -> None:
        self._any_digest: dict[str, int] = {}  # of a present or an earlier content
        self._present_digest: dict[str, int] = {}
        self._sizes: set[int] = set()  # of contents with rows
        self._names: dict[str, list[int]] = {}
        for place, one in enumerate(sources):
            self.put(place, one)

    def put(self, place: int, one: Known) -> None:
        """Add a source, or what became of it."""
        for digest in (one.digest, *one.earlier):
            self._any_digest.setdefault(digest, place)
        self._present_digest[one.digest] = place
        if one.rows:
            self._sizes.add(one.size)
        if place not in self._names.setdefault(one.name, []):
            self._names[one.name].append(place)

    def named(self, known: Manifest, name: str) -> list[int]:
        """The places of the sources with this name."""
        return [place for place in self._names.get(name, ()) if known.sources[place].name == name]

    def sizes_for(self, known: Manifest, name: str) -> list[int]:
        """The sizes of the contents that a source of this name may begin with."""
        return [*self._sizes, *(known.sources[place].size for place in self.named(known, name))]

    def with_content(self, digest: str) -> int | None:
        """The place of a source that has, or had, this content."""
        return self._any_digest.get(digest)

    def beginning_of(self, known: Manifest, content: Content) -> int | None:
        """The place of the source with the longest content that this one begins with."""
        for size, digest in sorted(content.beginnings.items(), reverse=True):
            place = self._present_digest.get(digest)
            if place is not None and size < content.size and known.sources[place].digest == digest:
                return place
        return None


def plan_for(known: Manifest, index: SourceIndex, source: LogSource, content: Content) -> Plan:
    """Whether a source is known, grown or new.

    Raises:
        ReadError: it was read before with another mapping.
    """
    if source.stretch is not None:
        return _further(known, source, source.stretch, content)
    same = index.with_content(content.digest) if content.size else None
    if same is not None:
        return Plan(content, nothing_new=_already_there(known.sources[same], source, known.last_of(same)))
    grown = index.beginning_of(known, content)
    if grown is not None:
        return _grown(grown, known.sources[grown], source, content)
    named = bool(index.named(known, source.name))
    note = "other content under a known name: kept beside it" if named and not source.own_seq else None
    return Plan(content, note=note)


def _remembered(known: Manifest, reached: str) -> str:
    """Where reading stands, as a lake may keep it."""
    return Forgotten(known.salt, frozenset(known.forgotten)).left_out_of(reached)


def _further(known: Manifest, source: LogSource, stretch: Stretch, content: Content) -> Plan:
    """What comes after where the reading of a source without end stands."""
    place = next((at for at, one in enumerate(known.sources) if one.name == source.name and one.reached), None)
    if place is not None and known.sources[place].recipe != source.recipe:
        raise _other_recipe(source)
    if known.reached_of(source.name) != _remembered(known, stretch.before):
        raise ReadError(f"{source.name}: somebody else has read it into this lake meanwhile; read it again")
    return Plan(content, place)


def _already_there(one: Known, source: LogSource, last: int | None) -> Added:
    if one.recipe != source.recipe:
        raise _other_recipe(source)
    note = f"it is {one.name} under another name" if one.name != source.name else "it has not changed"
    return Added(source.name, 0, one.rows, (), note, last, read=False)


def _grown(place: int, one: Known, source: LogSource, content: Content) -> Plan:
    if one.recipe != source.recipe:
        raise _other_recipe(source)
    if not one.ends_with_newline:
        return Plan(content, place, replaces=True, note="its last line had been cut; its rows were read anew")
    note = f"it is {one.name}, grown" if one.name != source.name else None
    return Plan(content, place, after_seq=None if source.own_seq else one.last_seq, note=note)


def _other_recipe(source: LogSource) -> ReadError:
    return ReadError(
        f"{source.name}: is in the lake already, read with another mapping or zone; read it into a new lake, "
        "since its rows would count twice here"
    )


class GoneRows:
    """Leaves out what a lake shall not have again: rows of days that were dropped, and of forgotten actors."""

    def __init__(self, known: Manifest) -> None:
        self._dropped = known.dropped
        self._forgotten = Forgotten(known.salt, frozenset(known.forgotten))
        self._old = self._theirs = 0

    def left_out(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that may come in."""
        rows = batch.num_rows
        if self._dropped is not None:
            batch = batch.filter(pa.array(micros(batch) >= self._dropped))
        self._old += rows - batch.num_rows
        kept = self._forgotten.left_out(batch) if self._forgotten.digests else batch
        self._theirs += batch.num_rows - kept.num_rows
        return kept

    @property
    def notes(self) -> tuple[str, ...]:
        """How many were left out."""
        said = {"of days that were dropped": self._old, "of forgotten actors": self._theirs}
        return tuple(f"{counted(rows, 'row')} {why} left out" for why, rows in said.items() if rows)


class RowFilter:
    """Tells the new rows of a source from those the lake has."""

    def __init__(self, directory: Path, known: Manifest, plan: Plan, source: LogSource, named: Sequence[int]) -> None:
        """`named` are the places of the sources with this one's name."""
        self.skipped = 0
        self.note: str | None = None
        self._after = plan.after_seq
        self._conflicts = 0
        replaced = {plan.place} if plan.replaces else set()
        own = {*named} if plan.place is None else {*named, plan.place}
        same = {place for place in own if known.sources[place].own_seq} - replaced
        wanted = same if source.own_seq else set()
        self._parts = (
            [part for part in known.parts if any(one.source in wanted for one in part.origins)] if wanted else []
        )
        self._same = pa.array(sorted(same), pa.int32())
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
            self._loaded[part.file] = pl.concat(_fingerprints(batch).drop_nulls() for batch in self._of_source(part))
        return self._loaded[part.file]

    def _of_source(self, part: Part) -> Iterator[pa.RecordBatch]:
        """The rows of a part that came from the source."""
        columns = COMPACT.names if part.is_compact else SCHEMA.names
        for batch in part_batches(open_part(self._directory / part.file, columns), columns):
            mine = batch.filter(pc.is_in(batch.column("source"), self._same)) if part.is_compact else batch
            yield mine.select(SCHEMA.names)


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


def _fingerprints(batch: pa.RecordBatch) -> pl.DataFrame:
    """A row's seq and a hash of all its values, the same for the same values within this process."""
    texts = {name: _plain(batch.column(name)) for name in batch.schema.names}
    frame = pl.DataFrame(pl.from_arrow(pa.table(texts))).select(list(EVENTS.columns))
    return pl.DataFrame({"seq": frame["seq"], "row": frame.hash_rows()})


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string()) if pa.types.is_string(column.type) else column
