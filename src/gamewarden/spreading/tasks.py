"""A measurement as a task: recipes, a slice of a source and what the whole source shows as JSON in, tables out.

The same folds run here that run in one process, over a part of the rows; `spreading/jobs.py` says which parts and
puts the tables together. A task reads its slice itself, and nothing of ours is pickled on its way.
"""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from io import BytesIO
from typing import Any
from zlib import crc32

import polars as pl
import pyarrow as pa

from gamewarden import features, readers
from gamewarden.contracts import EventStream, Feature, Fold, Notes, Sight, canonical_json
from gamewarden.core.clock import Clock
from gamewarden.core.durations import from_micros
from gamewarden.errors import Remark
from gamewarden.features.folding import Lines, NotesOfSeveral, feed_together
from gamewarden.features.kinds import KindFold
from gamewarden.features.looking_back import LooksBack
from gamewarden.features.self_similarity.recipe import Usage
from gamewarden.features.strangers import AmongAll
from gamewarden.readers.logs.plausible import Plausible
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.store.lake_slices import sliced
from gamewarden.streams import ChosenEvents, Unquestioned

ENTRY = f"{__name__}:done"
_HEAD = 8  # bytes in which the length of an answer's head stands


@dataclass(frozen=True)
class Ask:
    """One table that is wanted of a slice: rows of a feature, the parts it keeps of days, or events by kind."""

    rows: Feature | None = None
    parts: LooksBack | None = None
    kinds: Clock | None = None
    among: tuple[str, ...] = ()  # the kinds of the whole source, where the rows of a feature depend on them

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        if self.kinds is not None:
            return {"kinds": [self.kinds.every, self.kinds.time_zone]}
        recipe = self.rows or self.parts
        if recipe is None:
            raise ValueError("nothing is asked")
        return {"parts" if self.rows is None else "rows": [recipe.name, recipe.to_dict()], "among": list(self.among)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Ask":
        """Back from JSON values."""
        if "kinds" in values:
            return cls(kinds=Clock(*values["kinds"]))
        name, options = values["parts"] if "parts" in values else values["rows"]
        recipe = features.load(name).from_dict(options)
        if "parts" in values and isinstance(recipe, LooksBack):
            return cls(parts=recipe)
        return cls(rows=recipe, among=tuple(values["among"]))

    def fold(self, sight: Sight) -> Fold:
        """The measurement."""
        if self.kinds is not None:
            return KindFold(self.kinds)
        if self.parts is not None:
            return self.parts.part_fold(sight)
        if self.rows is None:
            raise ValueError("nothing is asked")
        fold = self.rows.fold(sight)
        return AmongAll(fold, self.among) if self.among else fold

    @property
    def divides_by_actor(self) -> bool:
        """Whether some accounts can be measured without the others."""
        if self.rows is None:
            return self.kinds is not None
        return self.rows.divides.actors and self.rows.entity == "actor"

    def together(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The tables of several slices, none of which has an actor's period in common, as one."""
        # A slice without rows has no columns for kinds that nobody has told its feature of.
        table = pl.concat([one for one in frames if one.height] or frames[:1])
        if self.kinds is not None:
            return table.group_by("since", "until", "kind").agg(pl.col("n").sum()).sort("since", "kind")
        return table if self.parts is not None else table.sort("actor", "since", maintain_order=True)


@dataclass(frozen=True)
class Answer:
    """What a task found: a table for each that was asked, what is to be said of it, and how many rows it read."""

    frames: tuple[pl.DataFrame, ...]
    notes: tuple[Notes, ...]
    rows: int
    source: tuple[str, ...] = ()  # what the source has to say of its reading
    remarks: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """As Arrow streams behind a head of JSON."""
        blobs = [_ipc(frame) for frame in self.frames]
        notes = list(map(_said, self.notes))
        beside = {"rows": self.rows, "source": self.source, "remarks": self.remarks}
        said = canonical_json({"lengths": [len(one) for one in blobs], "notes": notes, **beside}).encode()
        return b"".join((len(said).to_bytes(_HEAD, "little"), said, *blobs))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Answer":
        """Back from these."""
        end = _HEAD + int.from_bytes(data[:_HEAD], "little")
        head = json.loads(data[_HEAD:end])
        frames = []
        for length in head["lengths"]:
            frames.append(pl.DataFrame(pl.from_arrow(pa.ipc.open_stream(data[end : end + length]).read_all())))
            end += length
        return cls(
            tuple(frames),
            tuple(map(_heard, head["notes"])),
            head["rows"],
            tuple(head["source"]),
            tuple(head["remarks"]),
        )


def _said(notes: Notes) -> list[Any]:
    """Notes as JSON values; those of a stranger's kind are their sentences."""
    if isinstance(notes, NotesOfSeveral):
        return ["several", list(map(_said, notes.each))]
    if isinstance(notes, Usage):
        return ["usage", asdict(notes)]
    return ["lines", list(notes.sentences())]


def _heard(said: Sequence[Any]) -> Notes:
    kind, values = said
    if kind == "several":
        return NotesOfSeveral(tuple(map(_heard, values)))
    return Usage(**_tuples(values)) if kind == "usage" else Lines(tuple(values))


def _ipc(frame: pl.DataFrame) -> bytes:
    sink = BytesIO()
    table = frame.to_arrow()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def words_of(asks: Sequence[Ask], source: Mapping[str, Any], sight: Sight) -> str:
    """A task as text."""
    shown = sight.shows()
    return canonical_json(
        {
            "asks": [one.to_dict() for one in asks],
            "source": dict(source),
            "columns": None if sight.columns is None else list(sight.columns),
            "shows": None if shown is None else dict(shown),
        }
    )


def done(words: str) -> bytes:
    """Do a task, wherever this is.

    Raises:
        GamewardenError: its slice cannot be read or measured.
    """
    task = json.loads(words)
    asks = [Ask.from_dict(one) for one in task["asks"]]
    columns = None if task["columns"] is None else tuple(task["columns"])
    sight = Sight(columns=columns, shows=lambda: task["shows"])
    folds = [ask.fold(sight) for ask in asks]
    read: list[int] = []
    with warnings.catch_warnings(record=True, action="always", category=Remark) as said:
        events = _events(task["source"])
        feed_together(folds, events, read.append)
        frames, notes = tuple(fold.frame() for fold in folds), tuple(fold.notes() for fold in folds)
    return Answer(frames, notes, sum(read), events.notes, tuple(str(one.message) for one in said)).to_bytes()


def _events(source: Mapping[str, Any]) -> EventStream:
    """The slice of a source that a task is about."""
    if "lake" in source:
        return sliced(source)
    since, until = (None if at is None else from_micros(at) for at in (source["since"], source["until"]))
    found = readers.open(source["locator"], options_of(source["options"]), source["reader"])
    return Unquestioned(sharded(found.events(since, until), *source["shard"]))


def sharded(events: EventStream, shard: int, of: int) -> EventStream:
    """The events of every actor whose name falls into one of so many shards."""
    return events if of == 1 else ChosenEvents(events, "actor", partial(_of_shard, shard, of))


def _of_shard(shard: int, of: int, actors: pa.Array) -> pa.Array:
    coded = actors if pa.types.is_dictionary(actors.type) else actors.dictionary_encode()
    mine: Iterable[bool] = (crc32(name.encode()) % of == shard for name in coded.dictionary.to_pylist())
    return pa.array(mine, pa.bool_()).take(coded.indices)


def options_of(values: Mapping[str, Any]) -> SourceOptions:
    """How a log is read, back from JSON values."""
    return SourceOptions(LogOptions(**{**values, "plausible": Plausible(**_tuples(values["plausible"]))}))
