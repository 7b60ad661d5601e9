"""Captures, client messages and account tables: files that stay where they are, each measured once and known again."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.contracts import Feature, Progress, Source, no_progress
from gamewarden.core.files import write_text
from gamewarden.errors import ReadError
from gamewarden.learning.validation import Count, Moment, misfit
from gamewarden.pipeline.measuring import RunOptions, rows_to_judge
from gamewarden.readers.arrivals import Known, look
from gamewarden.readers.compression import content_of
from gamewarden.readers.places import Place
from gamewarden.store.forgotten import Forgotten
from gamewarden.store.partitions import Partition
from gamewarden.workspace.kept import Kept
from gamewarden.workspace.rest import Rest, came_from, recipe_of

ALWAYS = (-62_135_596_800_000_000, 253_402_300_799_999_999)  # the first and the last moment of a calendar
_LARGEST = 64 << 20


class GoneError(ReadError):
    """A file is not there any more as it was taken in."""


@dataclass(frozen=True)
class FilePart:
    """One file of a source as it was when it was taken in."""

    name: str  # of its place
    digest: str  # of its content; empty for a log, which the lake knows by itself
    kinds: tuple[str, ...]  # what it can be read as
    taken: Moment  # when it was taken in
    size: Count = 0  # how it looked then
    changed: int = 0
    rows: Count = 0
    last: Moment | None = None  # its latest event
    notes: tuple[str, ...] = ()  # what was wrong in it: rows left out, by reason
    error: str = ""  # why it could not be taken in


@dataclass(frozen=True)
class SourceState:
    """What was taken in from one source, file by file; what failed last is named, and tried again."""

    files: tuple[FilePart, ...] = ()
    known: Known = field(default_factory=Known)  # how its files looked, and what was in them

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"files": [vars(one) for one in self.files], "known": self.known.as_json()}


def with_looks(state: SourceState, places: Mapping[str, Place], at: int) -> SourceState:
    """What is known of a source whose files we have rewritten ourselves: they are the ones that were taken in.

    Raises:
        ReadError: one of them cannot be read.
    """
    rewritten = [one for one in state.files if one.name in places and one.size != places[one.name].size]
    contents = {found.digest: found.size for one in rewritten for found in (content_of(places[one.name].file),)}
    files = tuple(
        replace(one, size=places[one.name].size or 0, changed=places[one.name].mtime or 0)
        if one.name in places
        else one
        for one in state.files
    )
    notes = {
        name: replace(look(places[name], None, at), taken=note.taken) if name in places else note
        for name, note in state.known.notes.items()
    }
    return SourceState(files, Known(notes, {**state.known.contents, **contents}))


class SourceStates:
    """A small file per source."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, source: str) -> SourceState:
        """What is known of a source.

        Raises:
            ReadError: the file is damaged.
        """
        path = self._directory / f"{source}.json"
        try:
            if not path.exists():
                return SourceState()
            if path.stat().st_size > _LARGEST:
                raise ReadError(f"{path}: is too large to be what is known of a source")
            values = json.loads(path.read_bytes())
        except OSError as error:
            raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error
        except (ValueError, RecursionError) as error:
            raise ReadError(f"{path}: is not JSON; remove it, and the source is looked at anew") from error
        if not isinstance(values, dict) or values.keys() != {"files", "known"}:
            raise ReadError(f"{path}: is not what is known of a source; remove it, and the source is looked at anew")
        if wrong := misfit(tuple[FilePart, ...], values["files"], "files"):
            raise ReadError(f"{path}: {wrong}; remove it, and the source is looked at anew")
        return SourceState(tuple(_file(one) for one in values["files"]), Known.from_json(values["known"], str(path)))

    def save(self, source: str, state: SourceState) -> None:
        """Replace what is known of a source.

        Raises:
            WriteError: the place cannot be written.
        """
        text = json.dumps(state.to_dict(), sort_keys=True, ensure_ascii=False)
        write_text(self._directory / f"{source}.json", text + "\n")


def _file(values: Mapping[str, Any]) -> FilePart:
    return FilePart(**{**values, "kinds": tuple(values["kinds"]), "notes": tuple(values.get("notes", ()))})


@dataclass(frozen=True)
class Part:
    """A file that was taken in, and how to open it again."""

    source: str
    file: FilePart
    reading: str  # a digest of how it is read
    opened: Callable[[], Source]  # raises ReadError where the file is not the one that was taken in
    valid: tuple[int, int] = ALWAYS  # rows without a time count for the periods that end in [since, until)

    @property
    def name(self) -> str:
        """The partition of what is measured of it."""
        return f"part={self.file.digest[:32]}"


@dataclass(frozen=True)
class Parts:
    """All files that stay where they are."""

    rest: Rest
    parts: tuple[Part, ...] = ()
    run: RunOptions = field(default_factory=RunOptions)
    kept: Kept = field(default_factory=Kept)
    forgotten: Forgotten = field(default_factory=lambda: Forgotten("", frozenset()))

    def of(self, feature: Feature) -> list[Part]:
        """The files that a feature can be measured from."""
        return [one for one in self.parts if feature.input in one.file.kinds]

    def measure(
        self, features: Sequence[Feature], *, fresh: bool = False, progress: Progress = no_progress
    ) -> tuple[int, tuple[str, ...]]:
        """Measure what is missing; how many partitions were written, and which files could not be read.

        Raises:
            WriteError: the results cannot be written.
        """
        written, failed = 0, []
        for feature in features:
            for part in self._due(feature, fresh=fresh):
                try:
                    self._measure(feature, part, progress)
                    written += 1
                except GoneError:
                    continue  # what rests of it stays; more cannot be measured
                except ReadError as error:
                    failed.append(str(error))
        return written, tuple(failed)

    def partitions(self, feature: Feature) -> list[Partition]:
        """What rests of a feature and is still true."""
        table = self.rest.features(recipe_of(feature)).all()
        wanted = {one.name: one for one in self.of(feature)}
        found = (
            (one, wanted[name])
            for name, one in table.items()
            if name in wanted and _came_from(wanted[name]) == one.came_from
        )
        return [_valid(one, part) for one, part in found]

    def _due(self, feature: Feature, *, fresh: bool) -> list[Part]:
        there = {one.name: one.until for one in self.partitions(feature)}
        again = {name for name, until in there.items() if fresh and until > self.kept.features}
        return [one for one in self.of(feature) if one.name not in there or one.name in again]

    def _measure(self, feature: Feature, part: Part, progress: Progress) -> None:
        told = rows_to_judge(feature, part.opened(), self.run, progress)
        rows = self._known(told.frame)
        since, until = _span(rows)
        self.rest.features(recipe_of(feature)).put(
            part.name,
            rows,
            came_from=_came_from(part),
            since=since,
            until=until,
            about={"source": part.source, "file": part.file.name, "notes": list(told.notes)},
        )

    def _known(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of those who were not forgotten."""
        if not self.forgotten.digests:
            return rows
        names = rows["actor"].drop_nulls().unique().to_list()
        gone = [name for name in names if self.forgotten.digest(name) in self.forgotten.digests]
        return rows.filter(pl.col("actor").is_null() | ~pl.col("actor").is_in(gone)) if gone else rows


def _valid(one: Partition, part: Part) -> Partition:
    """A partition without times of its own is about those in which its file counts."""
    return replace(one, since=part.valid[0], until=part.valid[1]) if (one.since, one.until) == ALWAYS else one


def validities(files: Sequence[FilePart]) -> list[tuple[int, int]]:
    """For which periods each of a source's account tables counts: from when it was taken in until the next one was.

    The first counts for everything before it, too. A day that was judged keeps the table that it was judged by.
    """
    borders = [ALWAYS[0], *(one.taken for one in files[1:]), ALWAYS[1]]
    return list(pairwise(borders))[: len(files)]


def _came_from(part: Part) -> str:
    return came_from(part.file.digest, part.reading)


def _span(rows: pl.DataFrame) -> tuple[int, int]:
    """The time that rows are about; rows without a time are about all of it."""
    timed = rows.select(pl.col("since").dt.epoch("us"), pl.col("until").dt.epoch("us"))
    if not timed.height or timed["since"].null_count():
        return ALWAYS
    return int(timed["since"].to_numpy().min()), int(timed["until"].to_numpy().max())
