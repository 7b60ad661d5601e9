"""Decisions at rest and the state they came from, so that a crash loses none and doubles none.

A snapshot says how many packets were taken in and how long the file of decisions was then. After a crash the file is
cut to that length and the packets since are taken in again: the same decisions come out, since the fold depends on
nothing else.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from gamewarden.core.files import make_directory, sync_name, unwritable, whole_file
from gamewarden.errors import ReadError, WriteError
from gamewarden.features.traffic.fold import MOST_PLAYERS, Fold

if TYPE_CHECKING:
    from gamewarden.features.traffic.recipe import TrafficTest

_SAMPLE = 1024  # packets by which a source is recognised
LARGEST = 1 << 30  # bytes of a state: ten million players


class Origin:
    """The first packets of a source, as a digest: another source is noticed before anything is mixed."""

    def __init__(self) -> None:
        self.packets = 0
        self._running = hashlib.sha256()

    def take(self, batch: pa.RecordBatch) -> None:
        """Look at the packets of a batch, until there are enough."""
        if self.packets < _SAMPLE:
            for row in batch.slice(0, _SAMPLE - self.packets).to_pylist():
                text = "\t".join((row["actor"], row["at"].isoformat(), str(row["up"]), str(row["size"])))
                self._running.update(f"{text}\n".encode())
                self.packets += 1

    @property
    def digest(self) -> str:
        """What names the packets seen so far."""
        return self._running.hexdigest()


class Journal:
    """A file of decisions that grows, and a state file that is replaced whole."""

    def __init__(self, out: Path, state: Path) -> None:
        self.out = out
        self.state = state
        self._length = 0

    def __enter__(self) -> Self:
        try:
            make_directory(self.out.parent)
            self._file = self.out.open("ab", buffering=0)
            sync_name(self.out)
        except OSError as error:
            raise unwritable(self.out, error) from error
        self._keep_others_out()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def resume(self, test: "TrafficTest", most: int = MOST_PLAYERS) -> tuple[Fold, dict[str, Any]]:
        """The fold as the last snapshot has it, with the decisions after it taken back; a fresh one without a snapshot.

        Raises:
            ReadError: the state is damaged, or does not belong to this profile or this file of decisions.
            WriteError: there are decisions but no state.
        """
        present = os.fstat(self._file.fileno()).st_size
        if not self.state.exists():
            if present:
                raise WriteError(
                    f"{self.out}: it has decisions already, but there is no state {self.state} to go on from; "
                    "move the file away or name another"
                )
            return Fold(test, most), {}
        fold, note = load_state(self.state, test, most)
        if not isinstance(note.get("out"), int) or present < note["out"]:
            raise ReadError(
                f"{self.state}: the state knows {note.get('out', 'no')} bytes of decisions, but {self.out} has "
                f"{present}; name the file it was made with, or remove both to start anew"
            )
        self._length = note["out"]
        self._file.truncate(self._length)
        return fold, note

    def write(self, lines: str) -> None:
        """Decisions, at once."""
        data = lines.encode()
        _write_all(self._file, data, self.out)
        self._length += len(data)

    def snapshot(self, fold: Fold, origin: Origin, **note: int) -> None:
        """From here a restart goes on."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritable(self.out, error) from error
        save_state(self.state, fold, origin, out=self._length, **note)

    def _keep_others_out(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise WriteError(
                f"{self.out}: another watch is writing to it; stop that one or name another file"
            ) from error


@contextmanager
def appending(out: Path, *, anew: bool) -> Iterator[Callable[[str], None]]:
    """A file that takes decisions at once, without a state that would tell how many are in it.

    Raises:
        WriteError: it cannot be written.
    """
    try:
        make_directory(out.parent)
        file = out.open("wb" if anew else "ab", buffering=0)
    except OSError as error:
        raise unwritable(out, error) from error
    with file:
        yield lambda lines: _write_all(file, lines.encode(), out)


def _write_all(file: FileIO, data: bytes, out: Path) -> None:
    """All of it: a disk that is nearly full takes a part, and says so only when asked again."""
    left = memoryview(data)
    try:
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        raise unwritable(out, error) from error


def save_state(path: Path, fold: Fold, origin: Origin, **note: int) -> None:
    """Write the state whole, or leave the one that was there."""
    whole = fold.to_bytes({"origin": origin.digest, "origin_packets": origin.packets, **note})
    with whole_file(path) as draft:
        draft.write_bytes(whole)


def load_state(path: Path, test: "TrafficTest", most: int = MOST_PLAYERS) -> tuple[Fold, dict[str, Any]]:
    """The fold as it was saved, and the note beside it.

    Raises:
        ReadError: the file cannot be read, is damaged, or was made with another profile.
    """
    try:
        size = path.stat().st_size
        state = path.read_bytes() if size <= LARGEST else b""
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error}); name another file") from error
    if size > LARGEST:
        raise ReadError(f"{path}: {size:,} bytes are too many for a state (at most {LARGEST:,}); name another file")
    try:
        return Fold.from_bytes(state, test, most)
    except ReadError as error:
        raise ReadError(f"{path}: {error}") from error
