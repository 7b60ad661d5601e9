"""What a lake holds, in one small file that is replaced as a whole: whatever it does not name is not there."""

import json
import os
import re
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from gamewarden.core.coverage import Pulse
from gamewarden.core.durations import DAY
from gamewarden.core.files import hold_with_others, is_alone, write_text
from gamewarden.errors import ReadError, WriteError, short
from gamewarden.learning.validation import Count, Moment, TimeZone, misfit

MANIFEST = "lake.json"
FORMAT = 1
_FIRST_DAY = date(1970, 1, 1)
LARGEST = 128 << 20  # bytes: a hundred thousand parts
# Also keeps a manifest from a stranger inside its own directory, and our broom off files that are not ours.
EARLIER = re.compile(r"\.earlier-\d+\.json")  # a manifest that was replaced while somebody was reading by it
_HEXADECIMAL = re.compile(r"([0-9a-f]{2}){0,64}")
PART = re.compile(r"day=(\d{4}-\d\d-\d\d)/part-[0-9a-f]{12}-\d{4,}\.parquet")


@dataclass(frozen=True)
class Known:
    """A source that has been read, and how to know it again."""

    name: str
    digest: str
    size: Count
    ends_with_newline: bool
    recipe: str
    own_seq: bool
    columns: tuple[str, ...]
    rows: Count
    last_seq: int | None
    earlier: tuple[str, ...] = ()  # digests it had before it grew
    kinds: Mapping[str, Count] | None = None  # how many rows of each kind, 0 where the mapping only promises it
    reached: str = ""  # of a source without end: where its reading stands, as its reader wrote it


@dataclass(frozen=True)
class Piece:
    """What one source brought into one day: a part, or what became of it when the parts of a day were made one."""

    source: Count  # its place among the manifest's sources
    rows: Count
    since: Moment  # microseconds of the earliest row
    last: Moment  # and of the latest
    first_seq: int | None
    last_seq: int | None
    pulse: Mapping[str, str] | None = None  # how many actors were active when


@dataclass(frozen=True)
class Part:
    """One Parquet file: rows of one day from one source, in the source's order.

    A compacted part has rows of several sources, told apart by a column, and is sorted by actor and time. What it was
    made of stays known as pieces: they say what a period holds, and by them rows are known again.
    """

    file: str
    source: Count  # its place among the manifest's sources; of a compacted part, the first of its sources
    rows: Count
    since: Moment
    last: Moment
    first_seq: int | None
    last_seq: int | None
    pulse: Mapping[str, str] | None = None
    pieces: tuple[Piece, ...] = ()

    @property
    def day(self) -> str:
        """The day its rows are of, in UTC."""
        return self.file[len("day=") :].partition("/")[0]

    @property
    def is_compact(self) -> bool:
        """Whether it was made of other parts, and is sorted by actor."""
        return bool(self.pieces)

    @property
    def origins(self) -> tuple[Piece, ...]:
        """What it was made of, or the part itself as a piece."""
        own = Piece(self.source, self.rows, self.since, self.last, self.first_seq, self.last_seq, self.pulse)
        return self.pieces or (own,)

    @classmethod
    def of_pieces(cls, file: str, pieces: tuple[Piece, ...]) -> "Part":
        """A compacted part."""
        seqs = [seq for one in pieces for seq in (one.first_seq, one.last_seq) if seq is not None]
        return cls(
            file,
            min(one.source for one in pieces),
            sum(one.rows for one in pieces),
            min(one.since for one in pieces),
            max(one.last for one in pieces),
            min(seqs, default=None),
            max(seqs, default=None),
            pieces=pieces,
        )


@dataclass(frozen=True)
class Manifest:
    """All sources ever read and all parts that are live."""

    sources: tuple[Known, ...] = ()
    parts: tuple[Part, ...] = ()
    dropped: Moment | None = None  # microseconds: all rows before were dropped, and none comes back
    salt: str = ""  # of the digests of forgotten actors, as hexadecimal digits
    forgotten: tuple[str, ...] = ()
    key: str = ""  # a digest of the key with which identifiers were hashed
    time_zone: TimeZone | None = None  # of its days: that of its first log; None means UTC

    @property
    def kinds(self) -> Mapping[str, int] | None:
        """Rows of each kind that some source can show; None where one was read before kinds were counted."""
        total: Mapping[str, int] | None = {}
        for one in self.sources:
            total = _together(total, one.kinds)
        return total

    def last_of(self, place: int) -> int | None:
        """The latest row of a source, by its place among them; None where no row of it is left."""
        pieces = (one for part in self.parts for one in part.pieces or (part,))
        return max((one.last for one in pieces if one.source == place), default=None)

    def pulse(self) -> Pulse | None:
        """How many actors were active when; None where a part was written before anybody looked.

        Raises:
            ValueError: a part says what is no pulse.
        """
        pulses = [one.pulse for part in self.parts for one in part.origins]
        told = [pulse for pulse in pulses if pulse is not None]
        return Pulse.total(map(Pulse.from_dict, told)) if len(told) == len(pulses) else None

    def reached_of(self, name: str) -> str:
        """Where the reading of a source without end stands; empty where nothing of it was read."""
        return next((one.reached for one in self.sources if one.name == name and one.reached), "")

    def without_rows(self, removed: Mapping[tuple[int, str], int]) -> "Manifest":
        """The manifest when so many rows of sources and kinds are gone; a kind that was seen stays one to be seen."""
        gone: dict[int, dict[str, int]] = {}
        for (place, kind), count in removed.items():
            gone.setdefault(place, {})[kind] = -count
        sources = [replace(one, kinds=_together(one.kinds, gone.get(at, {}))) for at, one in enumerate(self.sources)]
        return replace(self, sources=tuple(sources))

    def with_parts(self, parts: tuple[Part, ...], *, instead_of: Collection[Part]) -> "Manifest":
        """The manifest with some parts in the place of others."""
        replaced = {part.file for part in instead_of}
        return replace(self, parts=(*(part for part in self.parts if part.file not in replaced), *parts))

    def with_source(self, known: Known, parts: tuple[Part, ...], *, instead_of: int | None = None) -> "Manifest":
        """The manifest with a source more, or with one source's rows replaced."""
        if instead_of is None:
            return replace(self, sources=(*self.sources, known), parts=(*self.parts, *parts))
        sources = (*self.sources[:instead_of], known, *self.sources[instead_of + 1 :])
        kept = tuple(part for part in self.parts if all(one.source != instead_of for one in part.origins))
        return replace(self, sources=sources, parts=(*kept, *parts))

    def with_more(self, place: int, known: Known, parts: tuple[Part, ...]) -> "Manifest":
        """The manifest with rows added to a source that has grown."""
        before = self.sources[place]
        grown = replace(known, rows=known.rows + before.rows, kinds=_together(known.kinds, before.kinds))
        sources = (*self.sources[:place], grown, *self.sources[place + 1 :])
        return replace(self, sources=sources, parts=(*self.parts, *parts))


def _together(some: Mapping[str, int] | None, more: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """Rows of each kind in both; nothing is known of them where one of both was never counted."""
    if some is None or more is None:
        return None
    return {kind: some.get(kind, 0) + more.get(kind, 0) for kind in sorted({*some, *more})}


def load(directory: Path) -> Manifest:
    """The manifest of a lake.

    Raises:
        ReadError: there is no lake here, or its manifest is damaged.
    """
    return Held(directory).manifest


class Held:
    """The manifest as it is now, and the hold on it: as long as this lives, no part it names goes away.

    Raises:
        ReadError: there is no lake here, or its manifest is damaged.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / MANIFEST
        try:
            handle = _hold(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ReadError(
                f"{directory}: is not a lake (it has no {MANIFEST}); make one with gamewarden read"
            ) from error
        except OSError as error:
            raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error
        weakref.finalize(self, os.close, handle)
        self.manifest = _read(handle, path)


def _hold(path: Path) -> int:
    """The manifest, open and held; one that was replaced before we held it is let go again."""
    while True:
        handle = os.open(path, os.O_RDONLY)
        hold_with_others(handle)
        if os.path.samestat(os.fstat(handle), path.stat()):
            return handle
        os.close(handle)


def _read(handle: int, path: Path) -> Manifest:
    try:
        with open(handle, "rb", closefd=False) as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(content) > LARGEST:
        raise ReadError(
            f"{path}: {path.stat().st_size:,} bytes are too many for what a lake holds (at most {LARGEST:,})"
        )
    return _parsed(content, path)


@lru_cache(maxsize=4)
def _parsed(content: bytes, path: Path) -> Manifest:
    """Maintenance asks for one period after the other: the same manifest each time."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "it is not JSON") from error
    return _from_values(values, path)


def save(manifest: Manifest, directory: Path) -> None:
    """Replace the manifest as a whole.

    Raises:
        WriteError: the place cannot be written.
    """
    # `asdict` and an indent take ten times as long, and a lake may have read thousands of files.
    values = {
        "format": FORMAT,
        **vars(manifest),
        "sources": [vars(one) for one in manifest.sources],
        "parts": [{**vars(one), "pieces": [vars(piece) for piece in one.pieces]} for one in manifest.parts],
    }
    with _kept_for_readers(directory):
        write_text(directory / MANIFEST, json.dumps(values, sort_keys=True, ensure_ascii=False) + "\n")


@contextmanager
def _kept_for_readers(directory: Path) -> Iterator[None]:
    """Keep the manifest that is about to be replaced under another name, if somebody reads by it.

    If nobody does, nobody can begin to before it is replaced: whoever tries waits, and finds the new one.
    """
    path = directory / MANIFEST
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        yield
        return
    try:
        if not is_alone(handle):
            _keep(path, os.fstat(handle).st_ino)
        yield
    finally:
        os.close(handle)


def _keep(path: Path, inode: int) -> None:
    try:
        os.link(path, path.with_name(f".earlier-{inode}.json"))
    except FileExistsError:
        return  # kept already, by a writer that got no further
    except OSError as error:
        raise WriteError(
            f"{path.parent}: is being read, and this file system cannot keep what is read ({error.strerror or error}); "
            "wait until nobody reads it"
        ) from error


def still_read(directory: Path) -> set[str]:
    """The parts that readers of replaced manifests may still open; manifests that nobody reads by are removed."""
    parts: set[str] = set()
    with os.scandir(directory) as entries:
        earlier = [
            Path(entry.path)
            for entry in entries
            if EARLIER.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
        ]
    for path in earlier:
        handle = os.open(path, os.O_RDWR)
        try:
            if is_alone(handle):
                path.unlink()
            else:
                parts |= {part.file for part in _read(handle, path).parts}
        finally:
            os.close(handle)
    return parts


def _from_values(values: Any, path: Path) -> Manifest:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise _damaged(path, f"its format is not {FORMAT}")
    if missing := [name for name in ("sources", "parts") if name not in values]:
        raise _damaged(path, f"it lacks {missing[0]!r}")
    if wrong := misfit(Manifest, {name: part for name, part in values.items() if name != "format"}, "it"):
        raise _damaged(path, wrong)
    sources = tuple(
        Known(**{**one, "columns": tuple(one["columns"]), "earlier": tuple(one.get("earlier", ()))})
        for one in values["sources"]
    )
    for one in sources:
        if one.reached and not _is_object(one.reached):
            raise _damaged(path, f"where the reading of {short(one.name)} stands cannot be read")
    parts = tuple(_part(one) for one in values["parts"])
    strange = [part for part in parts if not _is_part(part, len(sources))]
    if strange:
        raise _damaged(path, f"{short(strange[0].file)} is no part of a lake")
    rest = {name: values[name] for name in ("dropped", "salt", "key", "time_zone") if name in values}
    if any(not _HEXADECIMAL.fullmatch(text) for text in (values.get("salt", ""), *values.get("forgotten", ()))):
        raise _damaged(path, "a digest of a forgotten actor is none")
    return Manifest(sources, parts, **rest, forgotten=tuple(values.get("forgotten", ())))


def _is_object(text: str) -> bool:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and isinstance(values.get("actors", {}), dict)


def _part(values: Mapping[str, Any]) -> Part:
    return Part(**{**values, "pieces": tuple(Piece(**one) for one in values.get("pieces", ()))})


def _is_part(part: Part, sources: int) -> bool:
    """Whether its name is one of ours, its sources are known, and its times are of the day it names, in order."""
    try:
        begin = (date.fromisoformat(part.day) - _FIRST_DAY).days * DAY
    except ValueError:
        return False
    whole: tuple[Part | Piece, ...] = (part, *part.pieces)
    return bool(PART.fullmatch(part.file)) and all(
        begin <= one.since <= one.last < begin + DAY and one.source < sources for one in whole
    )


def _damaged(path: Path, why: str) -> ReadError:
    return ReadError(f"{path}: {why}; it was not written by this version of gamewarden, or has been damaged")
