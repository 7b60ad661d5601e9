"""Work that takes longer than anybody waits for a page: done beside, one at a time, and kept with its time."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock, Thread
from typing import Any

from gamewarden.desk.desk import Desk
from gamewarden.errors import GamewardenError

RUNNING, READY, FAILED = "running", "ready", "failed"
_KEPT = 8  # results of each kind


@dataclass(frozen=True)
class Job:
    """A piece of work, and what came of it."""

    state: str  # running, ready, failed
    begun: datetime
    ended: datetime | None = None
    value: Any = None
    error: str | None = None


@dataclass
class Jobs:
    """The work of a desk."""

    _jobs: dict[str, dict[Hashable, Job]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _turn: Lock = field(default_factory=Lock)  # one at a time: pages need the machine too

    def last(self, name: str, key: Hashable) -> Job | None:
        """What is known of a piece of work; None where nobody asked for it."""
        with self._lock:
            return self._jobs.get(name, {}).get(key)

    def begin(self, desk: Desk, name: str, key: Hashable, work: Callable[[], Any]) -> Job:
        """Let it be done, unless it is at work already."""
        with self._lock:
            shelf = self._jobs.setdefault(name, {})
            known = shelf.get(key)
            if known is not None and known.state == RUNNING:
                return known
            shelf.pop(key, None)
            made = shelf[key] = Job(RUNNING, desk.now())
            for old in list(shelf)[:-_KEPT]:
                del shelf[old]
        Thread(target=self._work, args=(desk, name, key, work), daemon=True, name=f"desk {name}").start()
        return made

    def _work(self, desk: Desk, name: str, key: Hashable, work: Callable[[], Any]) -> None:
        with self._turn:
            try:
                value, error = work(), None
            except GamewardenError as failed:
                value, error = None, str(failed)
            except Exception as failed:  # noqa: BLE001  whoever waits for it is told; nobody else would be
                value, error = None, f"it failed ({type(failed).__name__})"
        with self._lock:
            begun = self._jobs[name].get(key)
            if begun is not None:
                state = READY if error is None else FAILED
                self._jobs[name][key] = replace(begun, state=state, ended=desk.now(), value=value, error=error)


def jobs(desk: Desk) -> Jobs:
    """The work of a desk."""
    return desk.memory.of("jobs", "all", Jobs)
