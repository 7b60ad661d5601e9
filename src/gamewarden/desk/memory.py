"""What was slow to find and is kept for the next look, until what it rests on changes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class _Kept:
    """One answer, found once however many ask at the same time."""

    lock: Lock = field(default_factory=Lock)
    found: bool = False
    value: Any = None


@dataclass
class Memory:
    """Answers by name and key, the latest few of each name; for several threads at once."""

    _shelves: dict[str, OrderedDict[Hashable, _Kept]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, name: str, key: Hashable, make: Callable[[], T], most: int = 64) -> T:
        """The answer under a key, made where there is none; of each name the `most` latest asked for are kept."""
        kept = self._kept(name, key, most)
        with kept.lock:
            if not kept.found:
                kept.value = make()
                kept.found = True
            value: T = kept.value
            return value

    def _kept(self, name: str, key: Hashable, most: int) -> _Kept:
        with self._lock:
            shelf = self._shelves.setdefault(name, OrderedDict())
            kept = shelf.setdefault(key, _Kept())
            shelf.move_to_end(key)
            while len(shelf) > most:
                shelf.popitem(last=False)
            return kept


def looks_of(*paths: Path | None) -> tuple[tuple[int, int, int] | None, ...]:
    """How files look from outside: another look, another content."""
    return tuple(None if path is None else _look(path) for path in paths)


def _look(path: Path) -> tuple[int, int, int] | None:
    try:
        there = path.stat()
    except OSError:
        return None
    return there.st_ino, there.st_mtime_ns, there.st_size
