"""An inbox: batches that somebody sends are on the disk before anybody is told so, and each counts once.

Batches that come at the same time share one write and one sync. One process at a time writes to an inbox. Whoever
sends a batch again under its key is told what was told before, also after a crash, and nothing is added.
"""

import os
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from gamewarden.core.files import make_directory, sync_name, unwritable
from gamewarden.core.text import counted
from gamewarden.errors import GamewardenError, WriteError
from gamewarden.store.inbox_segments import (
    OPEN,
    Told,
    close_left,
    forget_keys,
    framed,
    hold_inbox,
    kept_keys,
    new_name,
    publish,
)

_AT_ONCE = 64 << 20  # bytes that share a sync
_AGAIN = 1.0  # seconds until a segment that could not be closed is tried again


class BusyError(WriteError):
    """Another process takes batches for this inbox."""


class OtherBatchError(GamewardenError):
    """A key that names another batch already."""


@dataclass(frozen=True)
class Rotation:
    """When a segment is closed, so that it can be read, and how long keys are remembered."""

    size: int = 64 << 20  # bytes
    age: float = 10.0  # seconds since its first batch
    keys_for: float = 86_400.0  # seconds
    keys: int = 250_000  # at the most


@dataclass(frozen=True)
class Kept:
    """A batch that is on the disk."""

    told: Told
    again: bool = False  # it was there before, under its key


@dataclass
class _Waiting:
    told: Told
    content: bytes
    done: Future[Kept] = field(default_factory=Future)


class Inbox:
    """The one writer of a directory of segments.

    Raises:
        BusyError: another process is.
        WriteError: the directory cannot be written.
    """

    def __init__(self, directory: Path, rotation: Rotation | None = None) -> None:
        self.directory = directory
        self._rotation = rotation or Rotation()
        handle = hold_inbox(directory)
        if handle is None:
            raise BusyError(f"{directory}: another process takes batches for this workspace; send them to that one")
        self._lock = handle
        try:
            close_left(directory)
            self._keys = self._remembered()
        except OSError as error:
            os.close(handle)
            raise unwritable(directory, error) from error
        self._coming: dict[str, _Waiting] = {}
        self._queue: list[_Waiting] = []
        self._turn = threading.Condition()
        self._ended = False
        self._segment = _Segment(directory)
        self._writer = threading.Thread(target=self._write_all, name="inbox", daemon=True)
        self._writer.start()

    def put(self, told: Told, content: bytes) -> Future[Kept]:
        """Take a batch; the answer comes once it is on the disk.

        Raises:
            OtherBatchError: its key names another batch.
            WriteError: the inbox is closed.
        """
        with self._turn:
            if self._ended:
                raise WriteError(f"{self.directory}: is closed; send the batch again to whoever opens it next")
            if told.key and (before := self._before(told)) is not None:
                return before
            waiting = _Waiting(told, content)
            if told.key:
                self._coming[told.key] = waiting
            self._queue.append(waiting)
            self._turn.notify()
        return waiting.done

    def close(self) -> None:
        """Write what has come, close the segment, and let others in."""
        with self._turn:
            self._ended = True
            self._turn.notify()
        self._writer.join()
        os.close(self._lock)

    def _before(self, told: Told) -> Future[Kept] | None:
        """What is said of a batch that is there, or on its way, under this key."""
        coming = self._coming.get(told.key)
        known = coming.told if coming is not None else self._keys.get(told.key)
        if known is None:
            return None
        if known.digest != told.digest:
            raise OtherBatchError(
                f"key {told.key!r} names another batch of {counted(known.rows, 'row')}; give each a key of its own"
            )
        if coming is not None:
            return coming.done
        done: Future[Kept] = Future()
        done.set_result(Kept(known, again=True))
        return done

    def _remembered(self) -> dict[str, Told]:
        rotation = self._rotation
        return kept_keys(self.directory, time.time() - rotation.keys_for, rotation.keys)

    def _write_all(self) -> None:
        try:
            while not self._is_over:
                if waiting := self._next():
                    self._write(waiting)
                if self._segment.is_due(self._rotation) or self._is_over:
                    self._rotate()
        finally:
            self._give_up()

    @property
    def _is_over(self) -> bool:
        return self._ended and not self._queue

    def _give_up(self) -> None:
        """Nobody waits for a writer that is gone."""
        with self._turn:
            self._ended = True
            left = [*self._queue, *self._coming.values()]
            self._queue.clear()
        for one in left:
            if not one.done.done():
                one.done.set_exception(
                    WriteError(f"{self.directory}: cannot be written any more; start the server anew")
                )

    def _next(self) -> list[_Waiting]:
        """What waits to be written; nothing when it is time to close a segment."""
        with self._turn:
            if not self._queue and not self._ended:
                self._turn.wait(self._segment.left(self._rotation))
            taken, size = [], 0
            while self._queue and size < _AT_ONCE:
                taken.append(self._queue.pop(0))
                size += len(taken[-1].content)
        return taken

    def _write(self, waiting: list[_Waiting]) -> None:
        try:
            self._segment.append([one.told for one in waiting], [framed(one.told, one.content) for one in waiting])
        except OSError as error:
            self._answer(waiting, unwritable(self.directory, error))
        else:
            self._answer(waiting)

    def _answer(self, waiting: list[_Waiting], failure: WriteError | None = None) -> None:
        with self._turn:
            for one in waiting:
                self._coming.pop(one.told.key, None)
                if failure is None and one.told.key:
                    self._keys[one.told.key] = one.told
            while len(self._keys) > self._rotation.keys:
                self._keys.pop(next(iter(self._keys)))
        for one in waiting:
            if failure is None:
                one.done.set_result(Kept(one.told))
            else:
                one.done.set_exception(failure)

    def _rotate(self) -> None:
        try:
            self._segment.publish()
        except (OSError, WriteError):
            return  # its batches are on the disk: it is closed at the next turn, or by whoever comes next
        self._segment = _Segment(self.directory)
        forget_keys(self.directory, time.time() - self._rotation.keys_for)


class _Segment:
    """The segment that is written; its file is made with the first batch."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / f"{new_name()}{OPEN}"
        self._file: int | None = None
        self._begun = 0.0
        self._size = 0  # bytes that are on the disk
        self._torn = False
        self._told: list[Told] = []

    def append(self, told: list[Told], frames: list[bytes]) -> None:
        """Write batches, all of them or none.

        Raises:
            OSError: they cannot be written.
        """
        file = self._opened()
        try:
            for frame in frames:
                _write_whole(file, frame)
            os.fsync(file)
        except OSError:
            self._torn = True
            self._cut(file)
            raise
        self._told += told
        self._size += sum(map(len, frames))

    def is_due(self, rotation: Rotation) -> bool:
        """Whether it is to be closed."""
        if self._file is None:
            return False
        return self._torn or self._size >= rotation.size or time.monotonic() - self._begun >= rotation.age

    def left(self, rotation: Rotation) -> float | None:
        """Seconds until it is to be closed; None while it has no batch."""
        if self._file is None:
            return None
        left = self._begun + rotation.age - time.monotonic()
        return left if left > 0 else _AGAIN

    def publish(self) -> None:
        """Let it be read.

        Raises:
            OSError: it cannot be written.
        """
        if self._file is None:
            return
        if self._torn:
            self._cut(self._file)
        publish(self._path, self._told)
        os.close(self._file)
        self._file = None

    def _opened(self) -> int:
        if self._torn:  # what nobody was told of must not be read: nothing comes behind it
            raise OSError(None, "the last batch could not be written, nor taken back", str(self._path))
        if self._file is None:
            make_directory(self._path.parent)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            sync_name(self._path)
            self._begun = time.monotonic()
        return self._file

    def _cut(self, file: int) -> None:
        """Take back what was not told to anybody."""
        os.ftruncate(file, self._size)
        os.lseek(file, self._size, os.SEEK_SET)
        os.fsync(file)


def _write_whole(file: int, frame: bytes) -> None:
    view = memoryview(frame)
    while view:
        view = view[os.write(file, view) :]
