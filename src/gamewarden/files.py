"""Files that are whole or not there: written under a temporary name, then renamed."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gamewarden.errors import WriteError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; on success it becomes `path`, on failure nothing is left.

    Raises:
        WriteError: the directory cannot be written, or the disk is full.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise unwritable(path, error) from error
    draft = Path(name)
    try:
        yield draft
        _publish(draft, path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


TABLE_ENDINGS = (".csv", ".parquet", ".json")


def refuse_bad_place(path: Path) -> None:
    """Find out before long work that its table could not be written.

    Raises:
        WriteError: the ending names no format, or the directory cannot be written.
    """
    if path.suffix.lower() not in TABLE_ENDINGS:
        raise WriteError(f"{path}: the ending {path.suffix!r} names no format; end the name in .csv, .parquet or .json")
    nearest = next(place for place in path.absolute().parents if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise WriteError(f"{path}: {nearest} cannot be written; choose another place")


def write_text(path: Path, text: str) -> None:
    """Write a whole text file, or leave what was there."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def hold_alone(handle: int, place: Path, doing: str) -> None:
    """Keep other processes out for as long as this file is open.

    Raises:
        WriteError: another one is in already.
    """
    if sys.platform == "win32":
        return  # no advisory locks: there it is on people not to do it twice at once
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise WriteError(f"{place}: another process is {doing}; wait for it to end") from error


def unwritable(path: Path, error: OSError) -> WriteError:
    """The one line for a place that cannot be written."""
    return WriteError(f"{path}: cannot be written ({error.strerror or error}); choose another place or free some space")


def _publish(draft: Path, path: Path) -> None:
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.chmod(0o666 & ~_umask())
    draft.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
