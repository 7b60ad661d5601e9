"""Taking in: what is new, grown or rotated of every source, each file read once, whatever happens between."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import inf

from gamewarden.config import SourceSettings
from gamewarden.contracts import Growing, Progress, Source, no_progress
from gamewarden.core.database_urls import Address, address_of, is_database
from gamewarden.core.durations import parse_span, to_micros
from gamewarden.core.text import counted
from gamewarden.errors import EmptyError, GamewardenError
from gamewarden.pipeline.measuring import NO_ROWS, read_into, write_profiles
from gamewarden.readers.arrivals import TO_READ, Arrival, arrivals
from gamewarden.readers.places import Place, places
from gamewarden.store import manifest as manifests
from gamewarden.store.lake import Lake, LakeBatch
from gamewarden.workspace.parts import FilePart, SourceState
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.pushed import EVENTS_NAME, PACKETS_NAME, PushedEvents, gather_packets, pushed_sources

_AT_ONCE_SETTLED = ("", "0s")
_GATHERED = timedelta(hours=1)  # pushed packets that are younger wait, so that few files are made of them
_AT_ONCE = 256  # files between two writings of what is known


@dataclass(frozen=True)
class Taken:
    """What came of looking at one source."""

    source: str
    files: int = 0  # that were read
    databases: int = 0  # that had something new
    rows: int = 0  # that are new
    unsettled: int = 0  # files that are still being written
    empty: tuple[str, ...] = ()  # logs without a row; they are read once they have grown
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for a person."""
        if self.failed:
            return "; ".join(self.failed)
        beside = f"{self._waiting()}{self._without_rows()}"
        if not self.files and not self.databases:
            return f"nothing new{beside}"
        read = [(self.files, "file"), (self.databases, "database")]
        rows = f", {self.rows:,} new rows" if self.rows else ""
        return f"{' and '.join(counted(n, what) for n, what in read if n)}{rows}{beside}"

    def _waiting(self) -> str:
        return f", {self.unsettled} still being written" if self.unsettled else ""

    def _without_rows(self) -> str:
        if not self.empty:
            return ""
        if len(self.empty) == 1:
            return f"; {self.empty[0]} has no rows to take in"
        return f"; {len(self.empty)} files have no rows to take in, the first is {self.empty[0]}"


def take_in(workspace: Workspace, source: SourceSettings, at: datetime, progress: Progress = no_progress) -> Taken:
    """Read what is new of one source; a file that cannot be read is named, and the others are read."""
    if source.name == PACKETS_NAME:
        gather_packets(workspace.inbox / "packets", before=(at - _GATHERED).timestamp())
    databases = [one for one in source.locator if is_database(one)]
    files = [one for one in source.locator if not is_database(one)]
    try:
        found = list(places(files, workspace.root))
        state = workspace.states.load(source.name)
    except GamewardenError as error:
        return Taken(source.name, failed=(str(error),))
    with Lake(workspace.lake).batch() as batch:
        intake = _Intake(workspace, source, at, progress, state, batch=batch)
        try:
            intake.look_at(found)
            intake.look_into(databases)
            if source.name == EVENTS_NAME:
                intake.empty_inbox()
        finally:
            intake.save()
    return intake.taken()


def take_in_pushed(workspace: Workspace, at: datetime) -> tuple[Taken, ...]:
    """Take in all that was pushed, whatever its age."""
    if (workspace.inbox / "packets").is_dir():
        gather_packets(workspace.inbox / "packets", before=inf)
    return tuple(take_in(workspace, one, at) for one in pushed_sources(workspace.inbox))


class _Intake:
    """One look at a source."""

    def __init__(
        self,
        workspace: Workspace,
        source: SourceSettings,
        at: datetime,
        progress: Progress,
        state: SourceState,
        *,
        batch: LakeBatch,
    ) -> None:
        self._workspace, self._source, self._at, self._progress = workspace, source, at, progress
        self._batch = batch
        self._known = state.known
        self._parts = {_key(one): one for one in state.files}
        self._unsaved = 0
        self._files = self._rows = self._unsettled = self._databases = 0
        self._empty: list[str] = []
        self._notes: list[str] = []
        self._failed: list[str] = []

    def taken(self) -> Taken:
        """What came of it."""
        told = tuple(self._empty), tuple(self._notes), tuple(self._failed)
        return Taken(self._source.name, self._files, self._databases, self._rows, self._unsettled, *told)

    def look_at(self, found: Sequence[Place]) -> None:
        """Take in what has to be read of the files that there are."""
        is_log = "events" in self._kinds(found)
        settled = 0 if is_log or self._source.settled in _AT_ONCE_SETTLED else parse_span(self._source.settled)
        for arrival in arrivals(found, self._known, to_micros(self._at), settled, by_content=not is_log):
            try:
                self._take(arrival)
            except GamewardenError as error:
                self._fail(arrival.name, str(error))

    def look_into(self, databases: Sequence[str]) -> None:
        """Take in what came into databases since they were last read."""
        for locator in databases:
            name = self._source.name
            try:
                address = address_of(locator, self._workspace.root)
                name = address.name
                self._follow(address)
            except GamewardenError as error:
                self._fail(name, str(error))

    def empty_inbox(self) -> None:
        """Take in the events that were pushed."""
        try:
            if self._into_lake(EVENTS_NAME, PushedEvents(self._workspace.inbox / "events")):
                self._files += 1
            self._count_pushed()
        except GamewardenError as error:
            self._fail(EVENTS_NAME, str(error))

    def _count_pushed(self) -> None:
        """As the lake has them: it knows them for good before this is written down."""
        if not Lake.is_at(self._workspace.lake):
            return
        known = manifests.load(self._workspace.lake)
        for place, one in enumerate(known.sources):
            if one.name == EVENTS_NAME:
                self._keep(replace(self._parts[EVENTS_NAME], rows=one.rows, last=known.last_of(place)))

    def _follow(self, address: Address) -> None:
        source = self._workspace.open(self._source, address)
        if self._into_lake(address.name, source):
            self._databases += 1
        if self._source.profiles:
            write_profiles(source, self._workspace.root / self._source.profiles, self._workspace.forgotten)

    def _take(self, arrival: Arrival) -> None:
        if arrival.state == "failed":
            self._fail(arrival.name, arrival.why)
            return
        if arrival.state == "unsettled" and arrival.place is not None:
            self._wait(arrival.place)
        elif arrival.state in TO_READ and arrival.place is not None:
            self._read(arrival, arrival.place)
        elif arrival.state == "rotated":
            self._rename(arrival)
        self._remember(arrival)

    def _wait(self, place: Place) -> None:
        if place.size:
            self._unsettled += 1
        else:
            self._empty.append(place.name)

    def _read(self, arrival: Arrival, place: Place) -> None:
        source = self._workspace.open(self._source, place)
        kinds = self._kinds_of(source)
        if "events" in kinds:
            self._log(place, source)
        else:
            self._files += 1
            if arrival.state == "grown":  # what was taken in before is part of it
                self._parts = {key: one for key, one in self._parts.items() if one.name != place.name}
            looks = place.size or 0, place.mtime or 0
            self._keep(FilePart(place.name, arrival.digest, kinds, to_micros(self._at), *looks))

    def _log(self, place: Place, source: Source) -> None:
        try:
            if self._into_lake(place.name, source):
                self._files += 1
        except EmptyError:
            self._empty.append(place.name)
            self._keep(FilePart(place.name, "", ("events",), to_micros(self._at), notes=(NO_ROWS,)))

    def _into_lake(self, name: str, source: Source) -> int:
        """Take a log into the lake; how many of its rows are new."""
        told = read_into(self._batch, source, self._progress, self._workspace.config.privacy)
        row = told.frame.row(0, named=True)
        new: int = row["new"]
        self._rows += new
        if told.notes == (NO_ROWS,):
            self._empty.append(name)
        self._notes += [f"{name}: {line}" for line in told.notes]
        before = self._parts.get(name)
        known = [] if before is None or before.last is None else [before.last]
        last = max(known if row["last"] is None else [*known, to_micros(row["last"])], default=None)
        there = before.rows if before is not None and isinstance(source, Growing) else row["already_there"]
        notes = tuple(told.notes)
        self._keep(FilePart(name, "", ("events",), to_micros(self._at), rows=new + there, last=last, notes=notes))
        return new

    def _rename(self, arrival: Arrival) -> None:
        """A file that is known under another name is found under its new one from now on."""
        known = self._parts.get(arrival.digest) if arrival.digest else None
        if known is not None and arrival.place is not None:
            size, changed = arrival.place.size or 0, arrival.place.mtime or 0
            self._keep(replace(known, name=arrival.name, size=size, changed=changed))

    def _fail(self, name: str, why: str) -> None:
        self._failed.append(why)
        before = self._parts.get(name)
        tried = FilePart(name, "", (), to_micros(self._at)) if before is None else before
        self._keep(replace(tried, error=why))

    def _kinds(self, found: Sequence[Place]) -> tuple[str, ...]:
        """What a source is read as: by its settings, else by the first of its files that can be opened."""
        if self._source.kind:
            return (self._source.kind,)
        for place in found:
            with suppress(GamewardenError):
                return self._kinds_of(self._workspace.open(self._source, place))
        return ()

    def _kinds_of(self, source: Source) -> tuple[str, ...]:
        """What a file is read as: what the settings say, else all that it surely holds, else the likeliest."""
        if self._source.kind:
            return (self._source.kind,)
        return tuple(source.kinds) if source.sure else tuple(source.kinds[:1])

    def _keep(self, part: FilePart) -> None:
        self._parts.pop(part.name, None)  # what kept it from being taken in
        self._parts[_key(part)] = part
        self._unsaved += 1

    def _remember(self, arrival: Arrival) -> None:
        if arrival.note is None:
            return
        self._known = self._known.after(arrival)
        self._unsaved += 1
        if self._unsaved >= _AT_ONCE or self._batch.is_due:
            self.save()

    def save(self) -> None:
        """Let what is known reach the disk; what a crash takes of it is looked at again.

        The lake comes first: a file that the state calls taken in is there. The state follows at once, since a second
        reading would not say again what was wrong in a file that the lake knows.
        """
        self._batch.save()
        if self._unsaved:
            self._workspace.states.save(self._source.name, SourceState(tuple(self._parts.values()), self._known))
            self._unsaved = 0


def _key(part: FilePart) -> str:
    """A log is one file under its name; any other content is one file, whatever came under that name since."""
    return part.digest or part.name
