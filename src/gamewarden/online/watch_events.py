"""Watch events that come from one plain source: a file that can be read again, or a pipe that cannot.

What was said stands in a file once each, whatever is killed: the state knows how long the file was and how many rows
were taken in, and what was written after it is taken back.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from gamewarden.errors import ReadError
from gamewarden.online.journal import Grown
from gamewarden.online.live_events import LiveEvents
from gamewarden.online.partitions import FILE

SAVED_EVERY = 10.0  # seconds
_SAMPLE = 256  # rows by which a source is recognised
Write = Callable[[str], object]


def watch(
    work: LiveEvents, batches: Iterator[pa.RecordBatch | None], write: Write, *, ended: Callable[[], bool]
) -> None:
    """Say what there is to say of batches until they end; where they `ended` by themselves, the last periods too.

    None among them means that nothing has come for a while.
    """
    for batch in batches:
        write(work.idle() if batch is None else work.take(batch))
    if ended():
        write(work.finish())


class Journal:
    """The state of a watch in a directory, and a file of what was said that the state knows the length of."""

    def __init__(self, work: LiveEvents, directory: Path, out: Path | None, *, replayed: bool) -> None:
        """Take back what was written to `out` after the state was saved.

        Raises:
            ReadError: the state knows more of the file than there is.
            WriteError: the file cannot be written, or has something and there is no state.
        """
        self._work = work
        self._replayed = replayed
        self._state = directory / FILE
        self._rows = int(work.note.get("rows", 0))
        self._first = _First(str(work.note.get("first", "")))
        self._saved = time.monotonic()
        self._opened = ExitStack()
        self._out = None if out is None else self._opened.enter_context(Grown(out, "SCORES"))
        if self._out is not None and self._state.exists():
            self._out.cut(work.note.get("length"), self._state)
        elif self._out is not None:
            self._out.refuse_unknown(f"there is no state {self._state} to go on from")
        self.save()

    def watch(self, batches: Iterator[pa.RecordBatch | None], write: Write) -> None:
        """Say what there is to say of the rows that were not taken in before; the last periods stay open.

        Raises:
            ReadError: the source is not the one that the state was made with.
        """
        hand_over = write if self._out is None else self._out.write
        for batch in self._new(batches):
            hand_over(self._work.idle() if batch is None else self._work.take(batch))
            self._rows += 0 if batch is None else batch.num_rows
            if time.monotonic() - self._saved >= SAVED_EVERY:
                self.save()
        self.save()

    def save(self) -> None:
        """From here a restart goes on."""
        if self._out is not None:
            self._out.sync()
        length = {} if self._out is None else {"length": self._out.length}
        self._work.save({"rows": self._rows, "first": self._first.digest, **length})
        self._saved = time.monotonic()

    def close(self) -> None:
        """Let go of files."""
        self._opened.close()

    def _new(self, batches: Iterator[pa.RecordBatch | None]) -> Iterator[pa.RecordBatch | None]:
        """Rows that the state has not seen; those of a pipe all are."""
        skip = self._rows if self._replayed else 0
        for batch in batches:
            if batch is None:
                yield None
                continue
            if self._replayed:
                self._first.take(batch)
            passed = min(skip, batch.num_rows)
            skip -= passed
            if passed < batch.num_rows:
                yield batch.slice(passed)
        if skip:
            raise ReadError(
                f"the source has {self._rows - skip:,} events, but the state has taken in {self._rows:,}; name the "
                "source it was made with, or remove the state to start anew"
            )


class _First:
    """The first rows of a source as a digest: another source is noticed before anything is mixed."""

    def __init__(self, known: str) -> None:
        self._known = known
        self._rows = 0
        self._running = hashlib.sha256()
        self.digest = known

    def take(self, batch: pa.RecordBatch) -> None:
        if self._rows >= _SAMPLE:
            return
        some = batch.slice(0, _SAMPLE - self._rows)
        for row in some.select(["actor", "at", "kind"]).to_pylist():
            self._running.update(f"{row['actor']}\t{row['at'].isoformat()}\t{row['kind']}\n".encode())
        self._rows += some.num_rows
        found = f"{self._rows}:{self._running.hexdigest()}"
        if self._rows >= _SAMPLE and self._known.startswith(f"{_SAMPLE}:") and found != self._known:
            raise ReadError(
                f"the first {_SAMPLE} events are not those the state was made with; name the source it was made with, "
                "or remove the state to start anew"
            )
        self.digest = found
