"""Decisions at rest and the state they came from, so that a crash loses none and doubles none.

A snapshot says how many packets were taken in and how long the files of decisions and of scores were then. After a
crash each is cut to that length and the packets since are taken in again: the same rows come out, since the fold
depends on nothing else.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
    """A file of decisions that grows, one of scores beside it where they are wanted, and a state replaced whole."""

    def __init__(self, out: Path, state: Path, scores: Path | None = None) -> None:
        self.state = state
        self._out = Grown(out, "decisions")
        self._scores = None if scores is None else Grown(scores, "scores")

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for grown in self._files:
                opened.enter_context(grown)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def _files(self) -> list["Grown"]:
        return [self._out] if self._scores is None else [self._out, self._scores]

    def resume(self, test: "TrafficTest", most: int = MOST_PLAYERS) -> tuple[Fold, dict[str, Any]]:
        """The fold as the last snapshot has it, with what was written after it taken back; a fresh one without one.

        Raises:
            ReadError: the state is damaged, or does not belong to this profile or these files.
            WriteError: there are decisions or scores but no state that knows them.
        """
        if not self.state.exists():
            for grown in self._files:
                grown.refuse_unknown(f"there is no state {self.state} to go on from")
            return Fold(test, most), {}
        fold, note = load_state(self.state, test, most)
        self._out.cut(note.get("out"), self.state)
        if self._scores is not None:
            note = self._with_scores(self._scores, fold, note)
        return fold, note

    def _with_scores(self, scores: "Grown", fold: Fold, note: dict[str, Any]) -> dict[str, Any]:
        """Scores go on as the state knows them; one that knows none learns, before any is written, that they begin."""
        if "scores" in note:
            scores.cut(note["scores"], self.state)
            return note
        scores.refuse_unknown("the state knows none")
        begun = note | {"scores": 0}
        _write_state(self.state, fold, begun)
        return begun

    def write(self, lines: str) -> None:
        """Decisions, at once."""
        self._out.write(lines)

    def write_scores(self, lines: str) -> None:
        """Scores, at once; nothing where none are wanted."""
        if self._scores is not None:
            self._scores.write(lines)

    def snapshot(self, fold: Fold, origin: Origin, **note: int) -> None:
        """From here a restart goes on."""
        for grown in self._files:
            grown.sync()
        scores = {} if self._scores is None else {"scores": self._scores.length}
        save_state(self.state, fold, origin, out=self._out.length, **scores, **note)


class Grown:
    """A file that is only appended to, and of which a state knows how long it was."""

    def __init__(self, path: Path, holds: str) -> None:
        self.path = path
        self.length = 0
        self._holds = holds

    def __enter__(self) -> Self:
        try:
            make_directory(self.path.parent)
            self._file = self.path.open("ab", buffering=0)
            sync_name(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._keep_others_out()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def _present(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def refuse_unknown(self, why: str) -> None:
        """Stop where there is something already that no state knows."""
        if self._present:
            raise WriteError(
                f"{self.path}: it has {self._holds} already, but {why}; move the file away or name another"
            )

    def cut(self, known: object, state: Path) -> None:
        """Take back what was written after the state was."""
        if not isinstance(known, int) or self._present < known:
            raise ReadError(
                f"{state}: the state knows {'no' if known is None else known} bytes of {self._holds}, but {self.path} "
                f"has {self._present}; name the file it was made with, or remove both to start anew"
            )
        self.length = known
        self._file.truncate(known)

    def write(self, lines: str) -> None:
        """At once."""
        data = lines.encode()
        _write_all(self._file, data, self.path)
        self.length += len(data)

    def sync(self) -> None:
        """What was written stays, whatever happens to the machine."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from error

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
                f"{self.path}: another watch is writing to it; stop that one or name another file"
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
    _write_state(path, fold, {"origin": origin.digest, "origin_packets": origin.packets, **note})


def _write_state(path: Path, fold: Fold, note: dict[str, Any]) -> None:
    with whole_file(path) as draft, draft.open("wb") as file:
        fold.write_to(file, note)


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
