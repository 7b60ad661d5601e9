"""One partition at rest and in hand: a directory that one worker has at a time, with state, decisions and a lock.

The state's note says which message comes next and how long the file of decisions was. Whoever opens the directory cuts
the file to that length and goes on from that message, so that any worker may die at any moment. The lock is the
system's: it goes with the process that has it, and while it is there nobody else writes.
"""

import os
import secrets
import socket
from collections.abc import Mapping
from io import FileIO
from pathlib import Path

import pyarrow as pa

from gamewarden.core.files import is_alone, make_directory, unwritable
from gamewarden.errors import ReadError, WriteError
from gamewarden.online.journal import Grown
from gamewarden.online.work import Note, OpenWork, Work

DECISIONS = "decisions.jsonl"
LOCK = "lock"
_NUMBERS = ("offset", "out", "bad")
_TEXTS = ("lineage", "source")


class Lock:
    """A partition's directory, held by this process alone."""

    def __init__(self, directory: Path, file: FileIO) -> None:
        self.directory = directory
        self._file = file

    @property
    def is_there(self) -> bool:
        """Whether what we hold is still what others would have to ask for."""
        try:
            there, ours = os.stat(self.directory / LOCK), os.fstat(self._file.fileno())  # noqa: PTH116  beside fstat
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        """Let somebody else have it."""
        self._file.close()


def locked(directory: Path) -> Lock | None:
    """The lock of a partition's directory, which is made if need be; None while another process has it.

    Raises:
        WriteError: the directory cannot be written.
    """
    path = directory / LOCK
    try:
        make_directory(directory)
        file = path.open("a+b", buffering=0)
        lock = Lock(directory, file)
        if not is_alone(file.fileno()) or not lock.is_there:
            file.close()
            return None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        raise unwritable(path, error) from error
    return lock


def holder(directory: Path) -> str:
    """Who has the lock, as it says."""
    try:
        return (directory / LOCK).read_text(encoding="utf-8", errors="replace").strip()[:200] or "another process"
    except OSError:
        return "another process"


class Held:
    """A partition under way: what it stands at, and the file that its decisions are in."""

    def __init__(self, lock: Lock, work: Work, out: Grown, note: Note) -> None:
        self.directory = lock.directory
        self.work = work
        self._lock = lock
        self._out = out
        self.offset = int(note.get("offset", -1))  # of the message that comes next
        self.bad = int(note.get("bad", 0))  # messages that were left out
        self.lineage = str(note.get("lineage", ""))  # names this state, from its first message on
        self.source = str(note.get("source", ""))
        self.settled = int(note.get("out", 0))  # bytes of decisions that no crash takes back
        self._saved = (self.offset, self.settled)

    @property
    def is_new(self) -> bool:
        """Whether nobody has begun with it."""
        return self.offset < 0

    @property
    def is_saved(self) -> bool:
        """Whether there is nothing that a saving would add."""
        return self._saved == (self.offset, self._out.length)

    @property
    def decisions(self) -> Path:
        """The file that its decisions are in."""
        return self._out.path

    @property
    def counts(self) -> Mapping[str, int]:
        """What was counted in it."""
        return {**self.work.counts, "bad_messages": self.bad}

    def begin(self, offset: int, source: str) -> None:
        """Begin with a message; this is kept before anything else is.

        Raises:
            WriteError: it cannot be written.
        """
        self.offset, self.source, self.lineage = offset, source, secrets.token_hex(8)
        self.save()

    def take(self, rows: pa.RecordBatch, following: int) -> None:
        """Take the rows of messages in; `following` is the offset after theirs.

        Raises:
            MeasureError: a row cannot be measured; then nothing of them counts.
            WriteError: decisions cannot be written, or somebody took the directory away.
        """
        self._write(self.work.take(rows))
        self.offset = following

    def leave_out(self, following: int) -> None:
        """A message that says nothing: it is counted, and the next one comes."""
        self.bad += 1
        self.offset = following

    def idle(self, empty_until: int | None) -> None:
        """Nothing comes: what can be said by now, and that there is nothing before an offset."""
        self._write(self.work.idle())
        self.offset = max(self.offset, empty_until or 0)

    def save(self) -> None:
        """From here whoever has the partition next goes on.

        Raises:
            WriteError: it cannot be written, or somebody took the directory away.
        """
        self._refuse_lost()
        self._out.sync()
        length = self._out.length
        self.work.save(
            {"offset": self.offset, "out": length, "bad": self.bad, "lineage": self.lineage, "source": self.source}
        )
        self.settled = length
        self._saved = (self.offset, length)

    def close(self) -> None:
        """Let go of it, as it was saved last."""
        self.work.close()
        self._out.__exit__()
        self._lock.release()

    def _write(self, lines: str) -> None:
        if lines:
            self._refuse_lost()
            self._out.write(lines)

    def _refuse_lost(self) -> None:
        if not self._lock.is_there:
            raise WriteError(
                f"{self.directory}: its lock was removed while it was in use, so that another worker may have it; "
                "nothing more is written; stop all workers before a state is moved"
            )


def opened(lock: Lock, open_work: OpenWork) -> Held:
    """A partition as its directory has it, with what was written after its last saving taken back.

    Raises:
        ReadError: its state is damaged, or does not belong to these decisions or this work.
        WriteError: it cannot be written, or has decisions and no state.
    """
    work, note = open_work(lock.directory)
    try:
        _refuse_odd(note, lock.directory)
        out = Grown(lock.directory / DECISIONS, "decisions")
        out.__enter__()
    except BaseException:
        work.close()
        raise
    held = Held(lock, work, out, note)
    try:
        if held.is_new:
            out.refuse_unknown("there is no state to go on from")
        else:
            out.cut(note.get("out"), lock.directory)
    except BaseException:
        held.close()
        raise
    return held


def _refuse_odd(note: Note, directory: Path) -> None:
    """A note is whole, or there is none of ours."""
    ours = {name: note[name] for name in (*_NUMBERS, *_TEXTS) if name in note}
    fits = (
        len(ours) in {0, len(_NUMBERS) + len(_TEXTS)}
        and all(isinstance(value, int) and value >= 0 for name, value in ours.items() if name in _NUMBERS)
        and all(isinstance(value, str) for name, value in ours.items() if name in _TEXTS)
    )
    if not fits:
        raise ReadError(
            f"{directory}: the state does not say where it stands in a topic; restore it, or move it away to begin anew"
        )
