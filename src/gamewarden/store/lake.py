"""The lake: every event ever read, as Parquet files by day, safe against crashes and against reading twice."""

import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import LogSource, Progress, no_progress
from gamewarden.core.durations import to_micros
from gamewarden.core.files import hold_alone, is_draft, make_directory, sweep_drafts, unwritable
from gamewarden.errors import ReadError, WriteError
from gamewarden.store import delta_log
from gamewarden.store import manifest as manifests
from gamewarden.store.forgotten import Forgotten
from gamewarden.store.known_rows import Added, GoneRows, Plan, RowFilter, SourceIndex, plan_for
from gamewarden.store.lake_actors import NamedActors
from gamewarden.store.lake_events import LakeEvents
from gamewarden.store.lake_parts import SCHEMA, as_stored
from gamewarden.store.lake_rewriting import Rewritten, kinds_of, read_part, rewritten
from gamewarden.store.lake_writing import DRAFTS, Writers, publish
from gamewarden.store.manifest import MANIFEST, PART, Held, Known, Manifest, Part
from gamewarden.store.stretches import Stretches
from gamewarden.tables import first_line, kinds_in

_LOCK = ".lock"
_NEVER = -(1 << 62)
_UNSAVED_SOURCES = 256  # a manifest of 7,200 files takes a second to write, reading a small file a few milliseconds
_UNSAVED_ROWS = 1 << 20
DAY_NAME = re.compile(r"day=\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class CompactedDay:
    """A day whose parts were made one."""

    day: str
    parts: int  # how many there were
    rows: int


@dataclass(frozen=True)
class Dropped:
    """What was removed from a lake, and in how many days."""

    rows: int
    days: int


class Lake:
    """A directory of events: `day=YYYY-MM-DD/part-….parquet`, and a manifest that names the parts that count."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)

    @staticmethod
    def is_at(directory: Path) -> bool:
        """Whether there is a lake at this place."""
        return (directory / MANIFEST).is_file()

    @staticmethod
    def time_zone_at(directory: Path) -> str | None:
        """The time zone of the days of a lake; None where there is no lake, or its first log named none.

        None also where the manifest is damaged: reading the events says so.
        """
        try:
            seen = (directory / MANIFEST).stat()
            return _time_zone(directory, seen.st_ino, seen.st_mtime_ns)
        except (OSError, ReadError):
            return None

    @property
    def sources(self) -> tuple[Known, ...]:
        """What has been read into it."""
        return manifests.load(self.directory).sources

    def reached(self, source: str) -> str:
        """Where the reading of a source without end stands; empty where nothing of it was read.

        Raises:
            ReadError: its manifest is damaged.
        """
        return manifests.load(self.directory).reached_of(source) if self.is_at(self.directory) else ""

    def actors_of(self, characters: Collection[str]) -> dict[str, str]:
        """The actors who had these characters when they last did something: all its events are looked at.

        Raises:
            ReadError: its manifest or a part is damaged.
        """
        if not self.is_at(self.directory):
            return {}
        asked, found = pa.array(sorted(characters), pa.string()), dict[str, str]()
        for batch in self.events().batches(("actor", "character")):
            mine = batch.filter(pc.is_in(batch.column("character").cast(pa.string()), asked))
            actors, names = (mine.column(name).cast(pa.string()).to_pylist() for name in ("actor", "character"))
            found.update(zip(names, actors, strict=True))
        return found

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
    ) -> LakeEvents:
        """The events of [since, until), day by day, of these actors only or of all.

        Raises:
            ReadError: there is no lake here, or its manifest is damaged.
        """
        earliest = to_micros(since) if since else -(1 << 62)
        latest = to_micros(until) - 1 if until else 1 << 62
        some = None if actors is None else NamedActors(actors)
        return LakeEvents(self.directory, Held(self.directory), earliest, latest, some)

    @property
    def shows(self) -> Mapping[str, int]:
        """The kinds its sources can show, and how many events it has of each.

        Raises:
            ReadError: its manifest or, where that does not say, a part is damaged.
        """
        return self.events().shows

    def add(self, source: LogSource, key: str = "") -> Added:
        """Take in the rows of one source; see `LakeBatch.add`."""
        with self.batch() as batch:
            return batch.add(source, key)

    @contextmanager
    def batch(self) -> Iterator["LakeBatch"]:
        """Take in many sources under one lock; what was added is saved at the end, also after a failure.

        Raises:
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        with ExitStack() as stack:
            batch = LakeBatch(self, stack)
            try:
                yield batch
            finally:
                batch.save()

    def without_source(self, known: Manifest, place: int) -> tuple[Part, ...]:
        """Compacted parts with rows of a source that is read anew, without these rows."""

        def others(batch: pa.RecordBatch) -> pa.RecordBatch:
            return batch.filter(pc.not_equal(batch.column("source"), place))

        mixed = [part for part in known.parts if part.is_compact and any(one.source == place for one in part.pieces)]
        because = f"without source {place}"
        done = [rewritten(self.directory, part, others, self._draft(part), because) for part in mixed]
        return self._published(done)

    def compact(
        self, days: Collection[str] | None = None, before: date | None = None, progress: Progress = no_progress
    ) -> tuple[CompactedDay, ...]:
        """Make the parts of each day one, sorted by actor and time; a day that is one such part is left alone.

        `days` names some days, `before` leaves out those from that day on. What the lake holds stays the same.

        Raises:
            ReadError: there is no lake here, or a part is missing or damaged.
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        with self._changing() as known:
            due = [parts for parts in _by_day(known.parts).values() if _is_due(parts, days, before)]
            return tuple(self._compact_day(parts, progress) for parts in due)

    def _compact_day(self, parts: list[Part], progress: Progress) -> CompactedDay:
        from gamewarden.store.lake_compaction import compacted  # and so the compiler, which nobody else here needs

        draft = self._draft(parts[0])
        one = compacted(self.directory, parts, draft, progress)
        publish(draft, self.directory / one.file)
        self._replace(manifests.load(self.directory).with_parts((one,), instead_of=parts))
        return CompactedDay(one.day, len(parts), one.rows)

    def drop_days(self, before: date) -> Dropped:
        """Remove the rows of all days before this one, in UTC; their sources stay known, and bring none of them back.

        Raises:
            ReadError: there is no lake here, or a part is missing or damaged.
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        with self._changing() as known:
            gone = [part for part in known.parts if part.day < before.isoformat()]
            border = max(
                to_micros(datetime(before.year, before.month, before.day, tzinfo=UTC)), known.dropped or _NEVER
            )
            removed = sum((kinds_of(self.directory, part) for part in gone), Counter())
            left = known.with_parts((), instead_of=gone).without_rows(removed)
            self._replace(replace(left, dropped=border))
        return Dropped(removed.total(), len({part.day for part in gone}))

    def forget(self, actor: str) -> Dropped:
        """Remove the rows of an actor, and the actor's name where rows of others have it as `other` or `target`.

        The lake keeps a keyed digest of the name, by which no log brings the actor back.

        Raises:
            ReadError: there is no lake here, or a part is missing or damaged.
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        with self._changing() as known:
            salt = known.salt or secrets.token_hex(16)
            digest = Forgotten(salt, frozenset()).digest(actor)
            one = Forgotten(salt, frozenset({digest}))
            named = [part for part in known.parts if self._names(part, one)]
            done = [rewritten(self.directory, part, one.left_out, self._draft(part), digest) for part in named]
            removed = sum((part.removed for part in done), Counter())
            left = known.with_parts(self._published(done), instead_of=named).without_rows(removed)
            sources = tuple(replace(source, reached=one.left_out_of(source.reached)) for source in left.sources)
            self._replace(
                replace(left, sources=sources, salt=salt, forgotten=tuple(sorted({*known.forgotten, digest})))
            )
        return Dropped(removed.total(), len({part.day for part in named}))

    def _names(self, part: Part, forgotten: Forgotten) -> bool:
        return any(forgotten.named_in(batch) for batch in read_part(self.directory, part, ("actor", "other", "target")))

    def _draft(self, part: Part) -> Path:
        (self.directory / DRAFTS).mkdir(exist_ok=True)
        return self.directory / DRAFTS / part.file.replace("/", "-")

    def _published(self, done: Iterable[Rewritten]) -> tuple[Part, ...]:
        parts = []
        for one in done:
            if one.part is not None:
                publish(one.draft, self.directory / one.part.file)
                parts.append(one.part)
        return tuple(parts)

    def keep_delta_log(self) -> int:
        """Keep a Delta log from now on, so that other systems read the lake as a table; the number of its last commit.

        Raises:
            ReadError: there is no lake here, or its Delta log is damaged.
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        with self._changing() as known:
            return delta_log.begin(self.directory, known)

    def save(self, after: Manifest) -> None:
        """Let this manifest be the one that counts; the Delta log follows it, where there is one."""
        manifests.save(after, self.directory)
        delta_log.follow(self.directory, after)

    def _replace(self, after: Manifest) -> None:
        """Let this manifest be the one that counts, and remove the parts that nobody reads any more."""
        self.save(after)
        self.sweep(after)

    @contextmanager
    def _changing(self) -> Iterator[Manifest]:
        """Hold a lake that is there; after a failure it is as the last manifest says."""
        manifests.load(self.directory)
        with self.writing() as known, self._nothing_left_on_failure():
            try:
                yield known
            except pa.ArrowException as error:
                raise WriteError(f"{self.directory}: rows cannot be written ({first_line(error)})") from error
            except OSError as error:
                raise unwritable(self.directory, error) from error

    @contextmanager
    def writing(self) -> Iterator[Manifest]:
        """Lock the lake, make it if need be, and remove what a crash has left; its manifest.

        Raises:
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        with ExitStack() as stack:
            try:
                self._refuse_strange_ground()
                lock = stack.enter_context((self.directory / _LOCK).open("a"))
                hold_alone(lock.fileno(), self.directory, "writing to this lake")
                if not self.is_at(self.directory):
                    manifests.save(Manifest(), self.directory)
                known = manifests.load(self.directory)
                delta_log.follow(self.directory, known)  # a crash may have left it behind
                self.sweep(known)
            except OSError as error:
                raise unwritable(self.directory, error) from error
            yield known

    @contextmanager
    def _nothing_left_on_failure(self) -> Iterator[None]:
        """Take back parts that were given their names before the manifest could be written."""
        try:
            yield
        except BaseException:
            with suppress(OSError):
                self.sweep(manifests.load(self.directory))
            raise

    def _refuse_strange_ground(self) -> None:
        """Never make a lake in a directory that holds something else: the broom could take it for ours."""
        make_directory(self.directory)
        inside = (entry.name for entry in self.directory.iterdir())
        if self.is_at(self.directory) or all(name == _LOCK or is_draft(name) for name in inside):
            return
        raise WriteError(f"{self.directory}: holds files and is not a lake; choose an empty or a new directory")

    def sweep(self, known: Manifest) -> None:
        """Remove what a crash has left, and what nobody reads any more: whatever no manifest names."""
        shutil.rmtree(self.directory / DRAFTS, ignore_errors=True)
        named = {part.file for part in known.parts} | manifests.still_read(self.directory)
        for day in _days_of_its_own(self.directory):
            _sweep_day(day, named)
        sweep_drafts(self.directory)
        for draft in self.directory.glob(f".{MANIFEST}.*"):  # as drafts were called once
            draft.unlink()


class LakeBatch:
    """Sources that are added to a lake while it stays locked.

    The manifest of a lake grows with every file ever read, so writing it once per file is quadratic in the number of
    files. A source is in the lake for good once `save` has returned: whatever tells others that a source was taken in
    must wait for it. A process killed before leaves the lake as the last `save` did.
    """

    def __init__(self, lake: Lake, stack: ExitStack) -> None:
        self.lake = lake
        self._stack = stack  # holds the lock, from the first source on
        self._manifest: Manifest | None = None
        self._index = SourceIndex(())
        self._unsaved_sources = self._unsaved_rows = 0
        self._named_zones: set[str] = set()  # other zones than the lake's that were named already

    @property
    def is_due(self) -> bool:
        """Whether so much was added since the last `save` that losing it would hurt."""
        return self._unsaved_sources >= _UNSAVED_SOURCES or self._unsaved_rows >= _UNSAVED_ROWS

    def save(self) -> None:
        """Write the manifest, if anything was added since it was written last.

        Raises:
            WriteError: it cannot be written.
        """
        if self._manifest is not None and self._unsaved_sources:
            self._write(self._manifest)

    def add(self, source: LogSource, key: str = "") -> Added:
        """Take in the rows of a source that are not there yet: all of them, or after any failure none.

        A file is known again by its content, whatever its name, and adds nothing. A file that has grown adds its new
        rows. Under a known name, a row is there already if a row with its seq and its values is. Of a source without
        end the rows of a stretch come in together with where reading stands after them. `key` is a digest of the key
        with which identifiers in the source were hashed.

        Raises:
            ReadError: the source cannot be read, or was read before with another mapping.
            WriteError: the lake cannot be written, or another process is writing to it.
        """
        if "seq" not in source.columns:
            raise ReadError(f"{source.name}: its rows are not numbered; a lake could not know them again")
        known = self._keyed(self._open(), key)
        # A log may have been renamed before it grew: any source with rows can be its beginning.
        plan = plan_for(known, self._index, source, source.content(self._index.sizes_for(known, source.name)))
        if plan.nothing_new is not None:
            return plan.nothing_new
        try:
            return self._take_in(source, known, plan)
        except BaseException:
            with suppress(OSError):  # parts of this source may have got their names already
                self.lake.sweep(self._open())
            raise

    def zone_notes(self, source: LogSource) -> tuple[str, ...]:
        """That a log was written in another time zone than the lake's days are in; once in a batch for each zone."""
        theirs, own = source.time_zone, self._open().time_zone or "UTC"
        if theirs is None or theirs == own or theirs in self._named_zones:
            return ()
        self._named_zones.add(theirs)
        return (f"its times are in {theirs}, and the days of this lake stay in {own}; --time-zone names another",)

    def _open(self) -> Manifest:
        """The manifest with all that was added; the lake is locked from here on."""
        if self._manifest is None:
            self._manifest = self._stack.enter_context(self.lake.writing())
            self._index = SourceIndex(self._manifest.sources)
        return self._manifest

    def _write(self, manifest: Manifest) -> None:
        self.lake.save(manifest)
        self._manifest = manifest
        self._unsaved_sources = self._unsaved_rows = 0

    def _keyed(self, known: Manifest, key: str) -> Manifest:
        """The manifest with the key that its identifiers are hashed with from now on."""
        if key and known.key and key != known.key:
            raise ReadError(
                f"{self.lake.directory}: its identifiers were hashed with another key, so that equal ones would "
                "differ; set the key that was used before, or read into a new lake"
            )
        return replace(known, key=key or known.key)

    def _take_in(self, source: LogSource, known: Manifest, plan: Plan) -> Added:
        directory = self.lake.directory
        filter_ = RowFilter(directory, known, plan, source, self._index.named(known, source.name))
        gone = GoneRows(known)
        writers = Writers(directory, plan.content.digest[:12])
        place = plan.place if plan.place is not None else len(known.sources)
        try:
            columns = source.columns
            have = [name for name in SCHEMA.names if name in columns]
            kinds = Counter(dict.fromkeys(sorted(source.promised), 0))
            for batch in source.batches(have):
                new = filter_.new_rows(gone.left_out(as_stored(batch)))
                kinds.update(kinds_in(new.column("kind")))
                writers.write(new)
            parts = writers.publish(place)
            without = self.lake.without_source(known, place) if plan.replaces else ()
            after = plan.after(known, parts, source, dict(kinds))
            zone = known.time_zone or (None if known.parts else source.time_zone)
            after = replace(after, parts=(*after.parts, *without), time_zone=zone)
            if plan.replaces:  # parts that the manifest on disk names are removed only after it was replaced
                self._write(after)
        except pa.ArrowException as error:
            raise WriteError(f"{directory}: rows cannot be written ({first_line(error)})") from error
        except OSError as error:
            raise unwritable(directory, error) from error
        finally:
            writers.abandon()
        if plan.replaces:
            self.lake.sweep(after)
        else:
            self._manifest = after
            self._unsaved_sources += 1
            self._unsaved_rows += writers.rows
        self._index.put(place, after.sources[place])
        days = tuple(sorted({part.day for part in parts}))
        last = max((part.last for part in parts), default=None)
        notes = [note for note in (filter_.note or plan.note, *gone.notes) if note]
        return Added(source.name, writers.rows, filter_.skipped, days, "; ".join(notes) or None, last)


@lru_cache(maxsize=8)
def _time_zone(directory: Path, _inode: int, _changed: int) -> str | None:
    """Pages ask for it many times, and a manifest may be large; one that was replaced is another file."""
    return manifests.load(directory).time_zone


def _by_day(parts: Iterable[Part]) -> dict[str, list[Part]]:
    days: dict[str, list[Part]] = {}
    for part in parts:
        days.setdefault(part.day, []).append(part)
    return dict(sorted(days.items()))


def _is_due(parts: list[Part], days: Collection[str] | None, before: date | None) -> bool:
    """Whether the parts of one day are wanted as one, and are not yet."""
    day = parts[0].day
    if (days is not None and day not in days) or (before is not None and day >= before.isoformat()):
        return False
    return len(parts) > 1 or not parts[0].is_compact


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
