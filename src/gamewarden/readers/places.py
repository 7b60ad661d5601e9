"""Where sources are: a file, a glob, a directory, a dataset, an object store or standard input, as places in order."""

import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from io import BufferedReader
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Protocol, TypeAlias
from urllib.parse import unquote

from gamewarden.errors import ReadError, short
from gamewarden.readers.remote import (
    RemoteFile,
    Seen,
    explaining,
    file_system,
    is_remote,
    require_bucket,
    seen_in,
    split,
)

if TYPE_CHECKING:
    import pyarrow as pa

File: TypeAlias = Path | RemoteFile  # what readers read: they open it by `open_bytes` and by nothing else
STANDARD_INPUT = Path("-")
_MAGIC = frozenset("*?[")
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_ANY_DEPTH = "**"
_KEPT: list[object] = []  # open files that go when the process does


@dataclass(frozen=True)
class Place:
    """One file of a source, as it was listed."""

    file: File
    size: int | None = None  # None: nobody can say, as of standard input
    mtime: int | None = None  # microseconds
    identity: str = ""  # of a file of this machine: which one it is, whatever its name
    partitions: tuple[tuple[str, str | None], ...] = ()  # of a dataset: what its directories say of all its rows

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Its path or address: the same from wherever it is looked for."""
        return str(self.file)


def file_at(locator: str, base: Path | None = None) -> File:
    """The one file that a text names, here or in a store.

    Raises:
        ReadError: it is no address of an object.
    """
    return RemoteFile(locator) if is_remote(locator) else (base or Path()) / locator


def open_bytes(file: File) -> BufferedReader:
    """A file's bytes, to be read from the start and to be sought in.

    Raises:
        OSError: a local one cannot be read.
        ReadError: a remote one cannot be read.
    """
    return file.open() if isinstance(file, RemoteFile) else file.open("rb")


def spooled(file: File) -> File:
    """A file that can be read more than once: standard input is kept in a temporary file, any other is itself.

    Raises:
        ReadError: standard input cannot be read, or the disk is full.
    """
    return _standard_input() if file == STANDARD_INPUT else file


@cache
def _standard_input() -> Path:
    """All of standard input in a file of its own, for as long as the process runs."""
    try:
        kept = NamedTemporaryFile(prefix="gamewarden-stdin-")  # noqa: SIM115  it goes with the process
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ReadError(f"standard input: cannot be kept in the temporary directory ({reason})") from error
    _KEPT.append(kept)
    return Path(kept.name)


def arrow_file(file: File) -> "pa.NativeFile":
    """The same for Arrow, which jumps about in it.

    Raises:
        OSError: a local one cannot be read.
        ReadError: a remote one cannot be read.
    """
    import pyarrow as pa

    return file.native() if isinstance(file, RemoteFile) else pa.OSFile(str(file), "rb")


def parquet_source(file: File) -> "Path | pa.NativeFile":
    """What a reader of Parquet takes: a local file by its path, any other opened.

    Raises:
        ReadError: a remote one cannot be read.
    """
    return file.native() if isinstance(file, RemoteFile) else file


def blame_store(file: File, error: BaseException | None) -> None:
    """Say what really happened where a file only seems damaged: the server failed, or the object was replaced.

    Raises:
        ReadError: one of these.
    """
    if isinstance(file, RemoteFile) and (reason := file.blamed(error)) is not None:
        raise reason from error


def confirm(file: File) -> None:
    """Look whether a remote file is still what was opened; a local one stays open as what it was.

    Raises:
        ReadError: it is another one by now.
    """
    if isinstance(file, RemoteFile):
        file.confirm()


def size_of(file: File) -> int:
    """How many bytes it has.

    Raises:
        OSError: a local one is not there.
        ReadError: a remote one is not there.
    """
    return file.seen.size if isinstance(file, RemoteFile) else file.stat().st_size


def places(locator: str | Sequence[str], base: Path | None = None) -> Iterator[Place]:
    """The files that a locator, or each of several, names; those of one in the order of their names, each once.

    A path that is relative begins at `base`. What vanishes while it is listed is not there.

    Raises:
        ReadError: a locator names nothing that there is, or a store cannot be read.
        ConfigError: a store's settings are missing.
    """
    seen: set[str] = set()
    for one in [locator] if isinstance(locator, str) else locator:
        for place in _of(one, base or Path()):
            if place.name not in seen:
                seen.add(place.name)
                yield place


def not_empty(found: Iterable[Place]) -> list[Place]:
    """Without files that have no byte yet, unless all are such: then the first is refused as any empty one is."""
    every = list(found)
    return [place for place in every if place.size != 0] or every[:1]


def has_magic(locator: str) -> bool:
    """Whether a text is a pattern, unless a file is called just so."""
    return not _MAGIC.isdisjoint(locator)


def located(locator: str, base: Path | None = None) -> File | list[Place]:
    """What one text names: a local path, whether it is there or not, or one object; else all places that hold a byte.

    Raises:
        ReadError: a pattern names no file, there is no such object, or a store cannot be read.
    """
    if is_remote(locator):
        file = RemoteFile(locator)
        return file if not has_magic(locator) and file.is_file() else _some(locator, base)
    if locator == str(STANDARD_INPUT):
        return STANDARD_INPUT
    path = (base or Path()) / locator
    return _some(locator, base) if has_magic(locator) and not _is_there(path) else path


def _some(locator: str, base: Path | None) -> list[Place]:
    found = not_empty(places(locator, base))
    if not found:
        raise ReadError(f"{short(locator)}: no file is called so; check the pattern")
    return found


def files_at(locator: str) -> list[File]:
    """Every file that a text names, those of a pattern or of a directory in a store one by one.

    Raises:
        ReadError: a pattern names no file, or a store cannot be read.
    """
    found = located(locator)
    return [place.file for place in found] if isinstance(found, list) else [found]


def _of(locator: str, base: Path) -> Iterable[Place]:
    if locator == str(STANDARD_INPUT):
        return [Place(STANDARD_INPUT)]
    if is_remote(locator):
        found = _found(_Store(locator), split(locator)[1])
        if not found:
            require_bucket(locator)
        if not found and not has_magic(locator):
            raise RemoteFile(locator).missing()
        return found
    found = _found(_Disk(), str((base / locator).absolute()).replace(os.sep, "/"))
    if not found and not has_magic(locator):
        raise ReadError(f"{short(locator)}: there is no file here; name a file, a directory with files, or a pattern")
    return found


def _found(tree: "_Tree", start: str) -> list[Place]:
    if (alone := tree.file(start)) is not None:
        return [alone]
    root, pattern = _rooted(start)
    entries = _matching(tree, root, pattern) if pattern else _inside(tree, start)
    return sorted((tree.place(entry, root) for entry in entries), key=lambda place: place.name)


def _rooted(path: str) -> tuple[str, list[str]]:
    """A pattern's parts before its first sign, and those from there on."""
    parts = path.split("/")
    first = next((number for number, part in enumerate(parts) if has_magic(part)), len(parts))
    return "/".join(parts[:first]) or ("/" if path.startswith("/") else ""), parts[first:]


@dataclass(frozen=True)
class Entry:
    """What a directory holds under one name."""

    path: str
    seen: Seen | None  # None: a directory

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.rpartition("/")[2]


class _Tree(Protocol):
    """Where files are looked for."""

    def file(self, path: str) -> Place | None:
        """The file at a path; None where there is none."""

    def entries(self, directory: str) -> Iterable[Entry]:
        """What a directory holds; nothing where it is none, or not any more."""

    def below(self, directory: str) -> Iterable[Entry]:
        """All files in it and in its directories."""

    def place(self, entry: Entry, root: str) -> Place:
        """An entry as a place of the dataset that begins at `root`."""


class _Disk:
    """Files of this machine."""

    def file(self, path: str) -> Place | None:
        entry = _entry(path)
        return None if entry is None or entry.seen is None else self.place(entry, path)

    def entries(self, directory: str) -> Iterator[Entry]:
        try:
            with os.scandir(directory) as inside:
                paths = [f"{directory.rstrip('/')}/{entry.name}" for entry in inside]
        except OSError:
            return
        yield from (entry for entry in map(_entry, paths) if entry is not None)

    def below(self, directory: str) -> Iterator[Entry]:
        for entry in self.entries(directory):
            if entry.seen is not None:
                yield entry
            elif not os.path.islink(entry.path):  # noqa: PTH114  a path of text, as all here; a link may lead back
                yield from self.below(entry.path)

    def place(self, entry: Entry, root: str) -> Place:
        seen = entry.seen or Seen(0, 0)
        return Place(Path(entry.path), seen.size, seen.mtime, seen.identity, _partitions(entry.path, root))


def _entry(path: str) -> Entry | None:
    """What stands at a path of this machine: a regular file or a directory, or nothing that we read."""
    try:
        found = os.stat(path)  # noqa: PTH116  a path of text, as all here
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(found.st_mode):
        return Entry(path, None)
    seen = Seen(found.st_size, found.st_mtime_ns // 1_000, f"{found.st_dev}:{found.st_ino}")
    return Entry(path, seen) if stat.S_ISREG(found.st_mode) else None


def _is_there(path: Path) -> bool:
    return _entry(str(path)) is not None


class _Store:
    """Objects of a store; what lies before a slash in their names is a directory."""

    def __init__(self, locator: str) -> None:
        self._locator = locator
        self._scheme, key = split(locator)
        if has_magic(key.partition("/")[0]):
            raise ReadError(f"{short(locator)}: the name of a bucket cannot be a pattern; name one bucket")
        self._system = file_system(self._scheme, key)

    def file(self, path: str) -> Place | None:
        with explaining(self._locator):
            seen = seen_in(self._system.get_file_info(path))
        return None if seen is None else self.place(Entry(path, seen), path)

    def entries(self, directory: str) -> Iterator[Entry]:
        return self._listed(directory, recursive=False)

    def below(self, directory: str) -> Iterator[Entry]:
        return (entry for entry in self._listed(directory, recursive=True) if entry.seen is not None)

    def place(self, entry: Entry, root: str) -> Place:
        seen = entry.seen or Seen(0, 0)
        file = RemoteFile(f"{self._scheme}://{entry.path}", seen)
        return Place(file, seen.size, seen.mtime, seen.identity, _partitions(entry.path, root))

    def _listed(self, directory: str, *, recursive: bool) -> Iterator[Entry]:
        from pyarrow.fs import FileSelector

        with explaining(self._locator):
            found = self._system.get_file_info(FileSelector(directory, allow_not_found=True, recursive=recursive))
        yield from (Entry(info.path, seen_in(info)) for info in found)


def _inside(tree: _Tree, directory: str) -> Iterator[Entry]:
    """The files of a directory, but for those that programs keep there for themselves."""
    for entry in tree.below(directory):
        inner = PurePosixPath(entry.path).relative_to(directory or ".").parts
        if not any(part.startswith((".", "_")) for part in inner):
            yield entry


def _matching(tree: _Tree, root: str, pattern: Sequence[str]) -> Iterator[Entry]:
    first, *rest = pattern
    if first == _ANY_DEPTH:
        depth = len(PurePosixPath(root).parts)
        yield from (one for one in tree.below(root) if _fits(PurePosixPath(one.path).parts[depth:], pattern))
    elif not has_magic(first) and rest:
        yield from _matching(tree, f"{root.rstrip('/')}/{first}", rest)
    else:
        for entry in tree.entries(root):
            if _named(entry.name, first):
                yield from _matching(tree, entry.path, rest) if rest else [entry] * (entry.seen is not None)


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern, of which ** is any number of them."""
    if not pattern:
        return not parts
    if pattern[0] == _ANY_DEPTH:
        deeper = bool(parts) and not parts[0].startswith(".") and _fits(parts[1:], pattern)
        return deeper or _fits(parts, pattern[1:])
    return bool(parts) and _named(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _named(name: str, pattern: str) -> bool:
    """Whether a name matches; one that begins with a dot has to be asked for."""
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _partitions(path: str, root: str) -> tuple[tuple[str, str | None], ...]:
    """What the directories between a dataset's root and a file say, as Hive writes it: day=2026-03-01."""
    inner = path.removeprefix(root).split("/")[:-1]
    said = (part.partition("=") for part in inner)
    return tuple(
        (unquote(name), None if value == _HIVE_NULL else unquote(value)) for name, sign, value in said if sign and name
    )
