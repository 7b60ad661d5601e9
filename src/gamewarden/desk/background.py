"""What goes on behind the desk: `gamewarden run` again and again in a process of its own, and actions as they are due.

A run is a child process with less claim on the processor: pages stay as quick as they are, and whatever becomes of it,
the desk goes on. Actions that are due leave between two runs, as far as the settings allow it at that moment.
"""

import os
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from gamewarden.errors import GamewardenError
from gamewarden.notices import now
from gamewarden.workspace.carrying_book import LedgerBook
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.responding import Responding

_KEPT_LINES = 200
_FAILED = "gamewarden: "  # how a line begins that tells of a failure
_NICE = 10
_LOOK = 5.0  # seconds between two looks for actions that are due
_PATIENCE = 10.0  # seconds in which a run may end by itself when it is stopped


@dataclass(frozen=True)
class Ran:
    """One run, and what its steps said."""

    started: datetime
    ended: datetime | None = None  # None: it goes on
    lines: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    code: int | None = None  # what it ended with: 0 when nothing failed


@dataclass(frozen=True)
class Behind:
    """What goes on behind the desk."""

    running: bool
    every: timedelta | None  # None: it runs when somebody asks
    last: Ran | None
    next: datetime | None
    carried: str  # what became of actions between runs, in a line
    trouble: str  # why they could not be carried out


class Background:
    """Runs a workspace, never twice at once, from `start` to `stop`."""

    def __init__(self, workspace: Workspace, every: timedelta | None = None, look: float = _LOOK) -> None:
        self._root, self._settings = workspace.root, workspace.settings
        self.every = every
        self._look = look
        self._asked = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._last: Ran | None = None
        self._next: datetime | None = None
        self._carried = self._trouble = ""

    def start(self) -> None:
        """Begin; the first run comes at once where runs come by themselves."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._go_on, name="behind the desk", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End, and with it a run that goes on: whatever it leaves half done the next one does."""
        self._ended.set()
        self._asked.set()
        thread = self._thread
        if thread is not None:
            thread.join(2 * _PATIENCE)

    def run_now(self) -> bool:
        """Run as soon as it can be; whether that is a run of its own, since one that goes on is not done twice."""
        self.start()
        with self._lock:
            new = self._child is None and not self._asked.is_set()
        self._asked.set()
        return new

    def state(self) -> Behind:
        """What goes on."""
        with self._lock:
            return Behind(self._child is not None, self.every, self._last, self._next, self._carried, self._trouble)

    def _go_on(self) -> None:
        due = time.monotonic() if self.every is not None else None
        while not self._ended.is_set():
            if self._asked.is_set() or (due is not None and time.monotonic() >= due):
                self._asked.clear()
                self._run()
                due = self._in(self.every)
            self._carry()
            left = self._look if due is None else min(self._look, max(due - time.monotonic(), 0.0))
            self._asked.wait(left)

    def _in(self, every: timedelta | None) -> float | None:
        with self._lock:
            self._next = None if every is None else now() + every
        return None if every is None else time.monotonic() + every.total_seconds()

    def _run(self) -> None:
        with self._lock:
            self._last, self._child = Ran(now()), _started(self._root, self._settings)
        lines: deque[str] = deque(maxlen=_KEPT_LINES)
        reader = threading.Thread(target=_listen, args=(self._child, lines), daemon=True)
        reader.start()
        code = self._waited_for(self._child)
        reader.join(_PATIENCE)
        said = tuple(lines)
        failures = tuple(line.removeprefix(_FAILED) for line in said if line.startswith(_FAILED))
        with self._lock:
            self._child = None
            self._last = replace(self._last, ended=now(), lines=said, failures=failures, code=code)

    def _waited_for(self, child: "subprocess.Popen[str]") -> int:
        while not self._ended.is_set():
            with suppress(subprocess.TimeoutExpired):
                return child.wait(0.2)
        child.terminate()
        try:
            return child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()

    def _carry(self) -> None:
        """Carry out what is due, by the settings as they are now: somebody may have disarmed it a moment ago."""
        try:
            carried = carry_due(self._root, self._settings)
        except GamewardenError as error:
            carried, trouble = "", str(error)
        else:
            trouble = ""
        with self._lock:
            self._carried, self._trouble = carried or self._carried, trouble


def carry_due(root: Path, settings: Path | None = None) -> str:
    """Carry out what is due where the response is armed; what became of it, or nothing where nothing was due.

    Raises:
        GamewardenError: the settings or the ledger cannot be read, or actions went wrong.
    """
    workspace = Workspace.at(root, settings)
    if not workspace.config.response.armed or not workspace.has_ledger:
        return ""
    try:
        book = LedgerBook(workspace.ledger)
        if book.halted() or not book.due(now()):
            return ""
        return str(Responding(workspace, now()).carry())
    finally:
        workspace.ledger.close()


def _started(root: Path, settings: Path | None) -> "subprocess.Popen[str]":
    named = [] if settings is None else ["--config", str(settings.absolute())]
    child = subprocess.Popen(  # noqa: S603  ourselves
        [sys.executable, "-m", "gamewarden", *named, "--workspace", str(root.absolute()), "run"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    with suppress(OSError, AttributeError):  # gone already, or a system without such a thing
        os.setpriority(os.PRIO_PROCESS, child.pid, _NICE)
    return child


def _listen(child: "subprocess.Popen[str]", lines: deque[str]) -> None:
    if child.stdout is not None:
        with child.stdout as said:
            lines.extend(text for line in said if (text := line.strip()))
