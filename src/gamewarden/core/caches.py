"""Where compiled code is kept. What is loaded from there runs, so nobody else may be able to put anything there."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Places(NamedTuple):
    """Where the code compiled from one file of ours is kept, and where it may stand already."""

    kept: Path | None  # None where nothing can be written that is ours alone
    found: tuple[Path, ...]  # to look into, the first one first
    private: bool  # whether it is kept apart from the installation because that cannot be written


def places_of(source: Path, named: str = "") -> Places:
    """Where somebody says, else beside the file, as Python's own bytecode; else in a directory of this user alone.

    An installation that was compiled ahead (`gamewarden warm`) is read from even where it cannot be written.
    """
    beside = source.parent / "__pycache__"
    standing = ([Path(named) / _folder(source)] if named else []) + [beside]
    kept = next((place for place in standing if _writable(place)), None)
    if kept is not None:
        return Places(kept, (kept, *(place for place in standing if place != kept)), private=False)
    own = private()
    if own is None:
        return Places(None, tuple(standing), private=True)
    return Places(own / _folder(source), (*standing, own / _folder(source)), private=True)


@cache
def private() -> Path | None:
    """A directory that belongs to this user and that nobody else can write: in the home, or among temporary files."""
    return next((place for place in _candidates() if _made_private(place)), None)


def _candidates() -> Iterator[Path]:
    home, caches = Path("~").expanduser(), os.environ.get("XDG_CACHE_HOME", "")
    if Path(caches).is_absolute():
        yield Path(caches) / "gamewarden"
    if home.is_absolute() and home.is_dir():  # a home that is only named is not made
        yield home / ".cache" / "gamewarden"
    with suppress(FileNotFoundError):  # not one directory for temporary files can be written
        yield Path(tempfile.gettempdir()) / f"gamewarden-{_user()}"


def _made_private(place: Path) -> bool:
    """Whether this is a directory of ours alone, made if need be; one that somebody else made first is none."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            place.mkdir(mode=stat.S_IRWXU)
        return _is_ours(place.lstat()) and not _may_be_swapped(place.parent.stat()) and _writable(place)
    except OSError:
        return False


def _is_ours(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and found.st_uid == _user() and not _others_write(found)


def _may_be_swapped(parent: os.stat_result) -> bool:
    """Whether others could put a directory of theirs in the place of ours after we looked at it."""
    foreign = parent.st_uid not in (0, _user())
    return foreign or (_others_write(parent) and not parent.st_mode & stat.S_ISVTX)


def _others_write(found: os.stat_result) -> bool:
    return os.name != "nt" and bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))  # Windows has no such bits


def _writable(place: Path) -> bool:
    nearest = next(one for one in (place, *place.absolute().parents) if one.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _folder(source: Path) -> str:
    """A name for the directory a file stands in: two installations never share one."""
    directory = source.absolute().parent
    return f"{directory.name}_{hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]}"


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0  # on Windows a home belongs to its user by itself
