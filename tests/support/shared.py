"""Directories that several tests read, built once for all worker processes and again only when the code changes.

A builder fills the directory it is given. Whoever writes into the result takes a copy.
"""

import fcntl
import hashlib
import inspect
import shutil
from functools import cache
from pathlib import Path

from costs import counted_apart
from paths import ROOT, SUPPORT

CACHE = ROOT / ".pytest_cache" / "shared"
_MOST = 3  # states of the code whose directories stay


@cache
def _state():
    """A digest of all that a builder may depend on: the package, the tests' helpers and the versions of libraries."""
    digest = hashlib.sha256((ROOT / "constraints.txt").read_bytes())
    for path in sorted([*(ROOT / "src").rglob("*.py"), *SUPPORT.rglob("*.py")]):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def shared_directory(build, *arguments):
    """The directory that `build(path, *arguments)` fills, built by the first process that asks."""
    source = hashlib.sha256(Path(inspect.getfile(build)).read_bytes() + repr(arguments).encode()).hexdigest()[:12]
    home = CACHE / _state()
    home.mkdir(parents=True, exist_ok=True)
    directory = home / f"{build.__module__.rpartition('.')[2]}-{build.__name__}-{source}"
    with (home / f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            building = directory.with_suffix(".building")
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            with counted_apart():
                build(building, *arguments)
            building.rename(directory)
    return directory


def copy_of(directory, target):
    """A copy that a test may change."""
    return Path(shutil.copytree(directory, target, symlinks=True, dirs_exist_ok=True))


def forget_older_states():
    """Remove the directories of code that is no longer there, except the last few."""
    states = sorted((path for path in CACHE.glob("*") if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in states[:-_MOST]:
        shutil.rmtree(path, ignore_errors=True)
