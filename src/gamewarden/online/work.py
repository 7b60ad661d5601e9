"""What a worker does with one partition of a live stream, and what it keeps so that nothing is lost or doubled.

A work is a pure function of the rows of its partition in their order: not of how they came in batches, of the clock on
the wall, or of other partitions. So whoever takes a partition over goes on from what was saved, takes the rows since
then in again, and says the same words again.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa

Note = Mapping[str, int | str]  # what a worker wants to find again: the next offset, how long the file of decisions was


class Work(Protocol):
    """The state of one partition under way."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows it takes in; those that a message lacks come as null where that may be."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What it has counted so far, by the names that metrics have."""

    def take(self, batch: pa.RecordBatch) -> str:
        """Take rows in; what is decided by them, as JSON Lines, each with a key of its own.

        Raises:
            MeasureError: a row cannot be measured; then nothing of the batch counts.
        """

    def idle(self) -> str:
        """Asked now and then while nothing comes: what can be said by now that could not before, as JSON Lines."""

    def save(self, note: Note) -> None:
        """Keep all of it, and the note, in the work's directory: whole, or as it was saved before.

        Raises:
            WriteError: it cannot be written.
        """

    def close(self) -> None:
        """Let go of files."""


# The work of a partition as its directory has it, and the note it was saved with last; an empty one where it is new.
OpenWork = Callable[[Path], tuple[Work, Note]]
