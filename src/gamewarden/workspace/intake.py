"""Taking in: what is new, grown or rotated of every source, each file read once, whatever happens between."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gamewarden.config import SourceSettings
from gamewarden.contracts import Progress, Source, no_progress
from gamewarden.core.durations import parse_span, to_micros
from gamewarden.errors import GamewardenError
from gamewarden.pipeline.measuring import read
from gamewarden.readers.places import STANDARD_INPUT, File, Place, open_bytes, places
from gamewarden.workspace.parts import FilePart, SourceState
from gamewarden.workspace.place import Workspace

_AT_ONCE = 256  # files between two writings of what is known


@dataclass(frozen=True)
class Taken:
    """What came of looking at one source."""

    source: str
    files: int = 0  # that were read
    rows: int = 0  # that are new
    unsettled: int = 0  # files that are still being written
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for a person."""
        if self.failed:
            return "; ".join(self.failed)
        waiting = f", {self.unsettled} still being written" if self.unsettled else ""
        if not self.files:
            return f"nothing new{waiting}"
        return f"{self.files:,} {'file' if self.files == 1 else 'files'}, {self.rows:,} new rows{waiting}"


def take_in(workspace: Workspace, source: SourceSettings, at: datetime, progress: Progress = no_progress) -> Taken:
    """Read what is new of one source; a file that cannot be read is named, and the others are read."""
    try:
        found = list(places(source.locator, workspace.root))
        state = workspace.states.load(source.name)
    except GamewardenError as error:
        return Taken(source.name, failed=(str(error),))
    intake = _Intake(workspace, source, at, progress, state)
    try:
        for place in found:
            intake.look_at(place)
    finally:
        intake.save()
    return intake.taken()


class _Intake:
    """One look at a source."""

    def __init__(
        self, workspace: Workspace, source: SourceSettings, at: datetime, progress: Progress, state: SourceState
    ) -> None:
        self._workspace, self._source, self._at, self._progress = workspace, source, at, progress
        self._known = {one.name: one for one in state.files}
        self._digests = {one.digest for one in state.files}
        self._unsaved = 0
        self._files = self._rows = self._unsettled = 0
        self._notes: list[str] = []
        self._failed: list[str] = []

    def taken(self) -> Taken:
        """What came of it."""
        told = tuple(self._notes), tuple(self._failed)
        return Taken(self._source.name, self._files, self._rows, self._unsettled, *told)

    def look_at(self, place: Place) -> None:
        """Take one file in unless it is known as it stands."""
        known = self._known.get(place.name)
        if known is not None and not known.error and (known.size, known.changed) == (place.size, place.mtime):
            return
        try:
            self._take(place)
        except GamewardenError as error:
            self._failed.append(str(error))
            self._remember(self._part(place, "", (), error=str(error)))

    def _take(self, place: Place) -> None:
        source = self._workspace.open(self._source, place.file)
        kinds = self._kinds(source)
        if "events" in kinds:
            self._into_lake(place, source)
        elif self._is_settled(place):
            self._beside(place, kinds)
        else:
            self._unsettled += 1

    def _into_lake(self, place: Place, source: Source) -> None:
        told = read(source, self._workspace.lake, self._progress)
        row = told.frame.row(0, named=True)
        if row["new"]:
            self._files += 1
            self._rows += row["new"]
        self._notes += [f"{place.name}: {line}" for line in told.notes]
        part = self._part(place, "", ("events",), rows=row["new"] + row["already_there"], notes=told.notes)
        self._remember(part)

    def _beside(self, place: Place, kinds: tuple[str, ...]) -> None:
        """A file that stays where it is; one that is known under another name was rotated."""
        digest = _digest_of(place.file)
        self._files += digest not in self._digests
        self._remember(self._part(place, digest, kinds))

    def _kinds(self, source: Source) -> tuple[str, ...]:
        """What a file is read as: what the settings say, else all that it surely holds, else the likeliest."""
        if self._source.kind:
            return (self._source.kind,)
        return tuple(source.kinds) if source.sure else tuple(source.kinds[:1])

    def _is_settled(self, place: Place) -> bool:
        wait = 0 if self._source.settled in {"", "0s"} else parse_span(self._source.settled)
        return place.mtime is None or to_micros(self._at) - place.mtime >= wait

    def _part(
        self,
        place: Place,
        digest: str,
        kinds: tuple[str, ...],
        *,
        rows: int = 0,
        last: int | None = None,
        notes: Sequence[str] = (),
        error: str = "",
    ) -> FilePart:
        size, changed = place.size or 0, place.mtime or 0
        taken = to_micros(self._at)
        return FilePart(place.name, digest, size, changed, kinds, taken, rows, last, tuple(notes), error)

    def _remember(self, part: FilePart) -> None:
        if part.name == str(STANDARD_INPUT):
            return  # what comes there next is something else
        self._known[part.name] = part
        self._digests.add(part.digest)
        self._unsaved += 1
        if self._unsaved >= _AT_ONCE:
            self.save()

    def save(self) -> None:
        """Let what is known reach the disk; what a crash takes of it is looked at again."""
        if self._unsaved:
            self._workspace.states.save(self._source.name, SourceState(tuple(self._known.values())))
            self._unsaved = 0


def _digest_of(file: File) -> str:
    with open_bytes(file) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
