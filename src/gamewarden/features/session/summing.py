"""Client messages summed up as they pass."""

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from gamewarden.contracts import MessageStream, Progress, no_progress
from gamewarden.features.session.recipe import Sessions
from gamewarden.tables import MESSAGES


class SummedUp:
    """Messages that pass by once, as from standard input, and are measured as they pass."""

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream
        self._fold = Sessions().fold()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All columns of the messages."""
        for batch in self._stream.batches(tuple(MESSAGES.columns)):
            self._fold.push(batch.select(list(self._fold.columns)))
            yield batch

    def read(self, progress: Progress = no_progress) -> None:
        """Let them all pass."""
        for batch in self.batches():
            progress(batch.num_rows)

    def sessions(self) -> pl.DataFrame:
        """SESSIONS of what has passed, in the order they began."""
        return self._fold.sessions()
