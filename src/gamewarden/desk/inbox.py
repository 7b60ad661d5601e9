"""The door through which game servers push: what comes is checked, kept for good, and only then acknowledged.

Whatever is sent, memory and disk stay bounded: so many bytes may be on their way at a time, so many may wait for the
next run, and so much of the disk stays free. Beyond that a sender is told to come back later.
"""

import secrets
import shutil
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from gamewarden.errors import GamewardenError, ReadError
from gamewarden.notices import now
from gamewarden.readers.logs.plausible import Plausible
from gamewarden.readers.pushed import SHAPES, Clock, Pushed, read_batch
from gamewarden.store.inbox import Inbox, Kept, Rotation
from gamewarden.store.inbox_segments import Told, pending_bytes
from gamewarden.workspace.place import Workspace

LONGEST_KEY = 200
_HANDS = 2  # batches that are read at a time: the others wait as bytes, whose number is bounded
_LOOK_AGAIN = 1.0  # seconds until the disk is looked at again
_SOON, _LATER = 1, 30  # seconds after which somebody may come back
_NO_KEY = "no Idempotency-Key: if this answer is lost and the batch sent again, its rows count twice"


class RefusedBatchError(GamewardenError):
    """A batch with something wrong in it; nothing of it was taken."""


class TooMuchError(GamewardenError):
    """More than can be taken now; nothing was taken, and it may be sent again after so many seconds."""

    def __init__(self, says: str, retry_after: int) -> None:
        super().__init__(says)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Limits:
    """How much is taken."""

    body: int = 32 << 20  # bytes of one batch as it is sent
    in_flight: int = 128 << 20  # bytes of all batches that are being received and read
    backlog: int = 8 << 30  # bytes that wait for a run
    free: int = 1 << 30  # bytes of the disk that stay free


@dataclass(frozen=True)
class Fault:
    """Why rows of a batch were left out, or taken without a value."""

    reason: str
    rows: int
    example: str


@dataclass(frozen=True)
class Receipt:
    """What a sender is told of a batch that is on the disk."""

    rows: int  # that will be taken in, once
    batch: str  # the key it was sent under, or a name that it was given
    durable: bool
    pending: int  # bytes that wait for the next run
    again: bool = False  # it had come before, under this key, and nothing was added
    ignored: tuple[str, ...] = ()  # keys of its first line that no column is called
    faults: tuple[Fault, ...] = ()  # with ?bad=count: what was left out
    note: str = ""


@dataclass(frozen=True)
class Sent:
    """A batch as it came."""

    body: Sequence[bytes]
    packed: bool = False
    key: str = ""
    by: str = ""  # who sent it: keys of different senders have nothing to do with each other
    count_bad: bool = False  # leave bad rows out and count them, instead of refusing the batch


@dataclass
class Door:
    """Takes batches for a workspace.

    The inboxes are opened with the first batch: one process at a time takes batches for a workspace.
    """

    workspace: Workspace
    limits: Limits = field(default_factory=Limits)
    rotation: Rotation = field(default_factory=Rotation)
    hands: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_HANDS, "door"))  # who read batches
    counts: Counter[str] = field(default_factory=Counter)  # what happened so far: rows, batches and refusals by kind
    _inboxes: dict[str, Inbox] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _in_flight: int = 0
    _looked: Mapping[str, tuple[float, int, int]] = field(default_factory=dict)  # when, pending and free bytes

    def reserve(self, size: int) -> None:
        """Make room for bytes that are coming; `release` gives it back.

        Raises:
            TooMuchError: there is none.
        """
        with self._lock:
            if self._in_flight + size > self.limits.in_flight:
                raise TooMuchError(
                    f"{self._in_flight:,} bytes are on their way already, of at most {self.limits.in_flight:,}", _SOON
                )
            self._in_flight += size

    def release(self, size: int) -> None:
        """Give room back."""
        with self._lock:
            self._in_flight -= size

    def refuse_if_full(self, kind: str) -> None:
        """Refuse before a byte is read when there is no place.

        Raises:
            TooMuchError: too much waits already, or the disk is nearly full.
        """
        pending, free = self._look(kind)
        if pending >= self.limits.backlog:
            says = f"{pending:,} bytes wait for `gamewarden run`, of at most {self.limits.backlog:,}"
            raise TooMuchError(says, _LATER)
        if free < self.limits.free:
            raise TooMuchError(f"the disk has {free:,} bytes left, and {self.limits.free:,} stay free", _LATER)

    def pending(self, kind: str) -> int:
        """How many bytes wait for a run."""
        return self._look(kind)[0]

    def free(self) -> int:
        """How many bytes of the disk are left."""
        return self._look("events")[1]

    def turned_away(self, kind: str) -> None:
        """Count a batch that has to come back later."""
        self._count(kind, too_much=1)

    def take(self, kind: str, sent: Sent) -> Future[Receipt]:
        """Check a batch and put it into the inbox; the receipt comes once it is on the disk.

        Raises:
            RefusedBatchError: something is wrong in it, or its key names another batch.
            BusyError: another process takes batches for this workspace.
            WriteError: the inbox cannot be written.
        """
        pushed = self._read(kind, sent)
        batch = sent.key or secrets.token_hex(8)
        key = f"{sent.by}/{sent.key}" if sent.key else ""
        faults = tuple(Fault(one.reason, one.count, one.example) for one in pushed.faults)
        receipt: Future[Receipt] = Future()

        def told(done: Future[Kept]) -> None:
            if (failure := done.exception()) is not None:
                receipt.set_exception(failure)
                return
            kept = done.result()
            self._count(kind, batches=1, again=int(kept.again), rows=0 if kept.again else kept.told.rows)
            note = "" if key else _NO_KEY
            pending = self.pending(kind)
            receipt.set_result(
                Receipt(
                    rows=kept.told.rows,
                    batch=batch,
                    durable=True,
                    pending=pending,
                    again=kept.again,
                    ignored=pushed.ignored,
                    faults=faults,
                    note=note,
                )
            )

        content = _as_bytes(_ordered(pushed.rows))
        self._inbox(kind).put(Told(pushed.rows.num_rows, pushed.digest, key), content).add_done_callback(told)
        return receipt

    def close(self) -> None:
        """Let others take batches."""
        with self._lock:
            inboxes, self._inboxes = self._inboxes, {}
        for inbox in inboxes.values():
            inbox.close()

    def _read(self, kind: str, sent: Sent) -> Pushed:
        if len(sent.key) > LONGEST_KEY or not sent.key.isprintable():
            raise RefusedBatchError(f"the key {sent.key[:40]!r} is not up to {LONGEST_KEY} printable letters")
        try:
            pushed = read_batch(sent.body, SHAPES[kind](self._clock()), packed=sent.packed)
        except ReadError as error:
            self._count(kind, refused=1)
            raise RefusedBatchError(str(error)) from error
        if pushed.faults and not sent.count_bad:
            self._count(kind, refused=1, refused_rows=pushed.report.rows)
            raise RefusedBatchError(f"{pushed.faults[0]}; nothing of the batch was taken")
        self._count(kind, refused_rows=sum(one.count for one in pushed.report.bad))
        return pushed

    def _clock(self) -> Clock:
        settings = self.workspace.config.read
        return Clock(settings.time_zone or None, Plausible.of(settings, now()))

    def _inbox(self, kind: str) -> Inbox:
        with self._lock:
            if kind not in self._inboxes:
                self._inboxes[kind] = Inbox(self.workspace.inbox / kind, self.rotation)
            return self._inboxes[kind]

    def _look(self, kind: str) -> tuple[int, int]:
        """How much waits and how much of the disk is left, as it was a moment ago."""
        seen = self._looked.get(kind)
        if seen is None or time.monotonic() - seen[0] > _LOOK_AGAIN:
            free = shutil.disk_usage(_existing(self.workspace.inbox)).free
            seen = time.monotonic(), pending_bytes(self.workspace.inbox / kind), free
            self._looked = {**self._looked, kind: seen}
        return seen[1], seen[2]

    def _count(self, kind: str, **happened: int) -> None:
        with self._lock:
            self.counts.update({f"{kind} {what}": n for what, n in happened.items()})


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.absolute().parents) if place.exists())


def _ordered(rows: pa.Table) -> pa.Table:
    """Rows in the order that their own seq gives them, where every one has it."""
    if "seq" not in rows.column_names or rows.column("seq").null_count:
        return rows
    seq = rows.column("seq").to_numpy()
    return rows if (np.diff(seq) >= 0).all() else rows.take(pa.array(np.argsort(seq, kind="stable")))


def _as_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, rows.schema, options=options) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())
