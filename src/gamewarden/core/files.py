"""Files that are whole or not there: written under a temporary name, then renamed.

A draft is locked by its writer as long as that one lives. One that nobody holds was left by a crash, and goes when the
next process writes into its directory.
"""

import errno
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from gamewarden.errors import WriteError

_DRAFT = ".gamewarden-"
_LOCK = ".lock"
_IS_DRAFT = re.compile(re.escape(_DRAFT) + r"[a-z0-9_]{8}(\..*)?", re.DOTALL)
_waiting: ContextVar[set[Path] | None] = ContextVar("directories whose new names are to reach the disk", default=None)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; on success it becomes `path`, on failure nothing is left.

    Raises:
        WriteError: the directory cannot be written, or the disk is full.
    """
    try:
        make_directory(path.parent)
        _sweep_once(path.parent.absolute())
        handle, draft = _new_draft(path)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield draft
        _publish(draft, path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
        os.close(handle)


@contextmanager
def names_kept_together() -> Iterator[None]:
    """Let the names of the files written within reach the disk at the end, once a directory and not once a file.

    Until then a crash of the machine may leave a file out, never a part of one.

    Raises:
        WriteError: a directory cannot be synced.
    """
    mark = _waiting.set(set())
    try:
        yield
        waiting = _waiting.get() or ()
    finally:
        _waiting.reset(mark)
    for directory in sorted(waiting):
        try:
            _sync_names(directory)
        except OSError as error:
            raise unwritable(directory, error) from error


def make_directory(directory: Path) -> None:
    """Make a directory and those above it, and let their names reach the disk.

    Raises:
        OSError: it cannot be made.
    """
    missing = list(takewhile(lambda place: not place.exists(), (directory, *directory.parents)))
    directory.mkdir(parents=True, exist_ok=True)
    for place in reversed(missing):
        sync_name(place)


def sync_name(path: Path) -> None:
    """Let a new name reach the disk.

    Raises:
        OSError: it cannot.
    """
    waiting = _waiting.get()
    if waiting is None:
        _sync_names(path.parent)
    else:
        waiting.add(path.parent)


def sync(path: Path) -> None:
    """Let what is in a file reach the disk.

    Raises:
        OSError: it cannot.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_names(directory: Path) -> None:
    """What is in a directory; one that may only be written, or of a system that syncs no directories, is left."""
    if sys.platform == "win32":
        return
    try:
        sync(directory)
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP}:
            raise


def is_draft(name: str) -> bool:
    """Whether a file of this name is one that was never finished."""
    return _IS_DRAFT.fullmatch(name) is not None


def sweep_drafts(directory: Path) -> None:
    """Remove the drafts in a directory that nobody writes any more.

    Raises:
        OSError: the directory cannot be read.
    """
    with os.scandir(directory) as entries:
        drafts = [entry.path for entry in entries if is_draft(entry.name) and entry.is_file(follow_symlinks=False)]
    for draft in drafts:
        with suppress(OSError):  # somebody else's, or gone
            _remove_if_left(draft)


@lru_cache(maxsize=1024)
def _sweep_once(directory: Path) -> None:
    """Once a process: a directory may hold a hundred thousand verdicts."""
    with suppress(PermissionError):  # a directory that may only be written
        sweep_drafts(directory)


def _remove_if_left(draft: str) -> None:
    handle = os.open(draft, os.O_RDWR)
    try:
        if _LOCKS and is_alone(handle):
            Path(draft).unlink()
    finally:
        os.close(handle)


def _new_draft(path: Path) -> tuple[int, Path]:
    """A draft that is ours: another process may have swept it up between making it and locking it."""
    while True:
        handle, name = tempfile.mkstemp(prefix=_DRAFT, suffix=path.suffix, dir=path.parent)
        if _ours(handle) and os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _ours(handle: int) -> bool:
    try:
        return is_alone(handle)
    except OSError:
        return True  # where files cannot be locked, nobody sweeps


TABLE_ENDINGS = (".csv", ".parquet", ".json", ".jsonl")


def bad_ending(path: Path, endings: Sequence[str] = TABLE_ENDINGS) -> WriteError:
    """What to say of a file whose ending names none of these formats."""
    *first, last = endings
    known = f"{', '.join(first)} or {last}"
    return WriteError(f"{path}: the ending {path.suffix!r} names no format; end the name in {known}")


def refuse_bad_place(path: Path, endings: Sequence[str] = TABLE_ENDINGS) -> None:
    """Find out before long work that its table could not be written.

    Raises:
        WriteError: the ending names no format, or the directory cannot be written.
    """
    if path.suffix.lower() not in endings:
        raise bad_ending(path, endings)
    nearest = next(place for place in path.absolute().parents if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise WriteError(f"{path}: {nearest} cannot be written; choose another place")


def write_text(path: Path, text: str) -> None:
    """Write a whole text file, or leave what was there."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


_LOCKS = sys.platform != "win32"  # no advisory locks there: it is on people not to do things twice at once


def hold_alone(handle: int, place: Path, doing: str) -> None:
    """Keep other processes out for as long as this file is open.

    Raises:
        WriteError: another one is in already.
    """
    if not is_alone(handle):
        raise WriteError(f"{place}: another process is {doing}; wait for it to end")


def is_alone(handle: int) -> bool:
    """Whether nobody else holds this file; then we do, alone, for as long as it is open.

    Raises:
        OSError: files cannot be locked here.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def hold(handle: int) -> None:
    """Keep other processes out for as long as this file is open; waits until no other one is in.

    Raises:
        OSError: files cannot be locked here.
    """
    if sys.platform == "win32":
        return
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX)


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Make a directory if need be, and be its only writer; waits for others, and whoever dies lets go.

    Raises:
        WriteError: it cannot be written.
    """
    try:
        make_directory(directory)
        with (directory / _LOCK).open("a") as lock:
            hold(lock.fileno())
            yield
    except OSError as error:
        raise unwritable(directory, error) from error


def hold_with_others(handle: int) -> None:
    """Hold a file together with others who do, for as long as it is open; waits for one who holds it alone."""
    if sys.platform == "win32":
        return
    import fcntl

    with suppress(OSError):  # where files cannot be locked, nobody can write beside us either
        fcntl.flock(handle, fcntl.LOCK_SH)


def unwritable(path: Path, error: OSError) -> WriteError:
    """The one line for a place that cannot be written."""
    return WriteError(f"{path}: cannot be written ({error.strerror or error}); choose another place or free some space")


def _publish(draft: Path, path: Path) -> None:
    sync(draft)
    draft.chmod(0o666 & ~_umask())
    draft.replace(path)
    sync_name(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
