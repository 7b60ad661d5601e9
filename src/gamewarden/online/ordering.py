"""Packets of a file in the order of time: a capture of several interfaces, or several captures in one, is not."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import PACKET_COLUMNS, PacketStream
from gamewarden.core.durations import MINUTE, span_text

BUFFER = 1 << 20  # packets
LIVE_TOLERANCE = MINUTE


class InTimeOrder:
    """A packet stream that is sorted by time within a buffer of packets.

    A packet that comes more than the buffer too late is passed on where it comes, and counted. Without a buffer a live
    stream is passed on as it comes: packets count that are earlier than another one by more than `tolerance`
    microseconds.
    """

    def __init__(self, packets: PacketStream, buffer: int = BUFFER, tolerance: int = 0) -> None:
        self._packets = packets
        self._buffer = buffer
        self._tolerance = tolerance
        self._late = 0

    @property
    def rows(self) -> int | None:
        """As many as the stream has."""
        return self._packets.rows

    @property
    def counts(self) -> Mapping[str, int]:
        """What the stream counted, and the packets that came too late."""
        return {**self._packets.counts, **({"packets out of time order": self._late} if self._late else {})}

    @property
    def withheld(self) -> int:
        """As many as the stream withheld."""
        return self._packets.withheld

    @property
    def notes(self) -> tuple[str, ...]:
        """What the stream says, and how many packets came too late."""
        if not self._late:
            return self._packets.notes
        by = f"the {self._buffer:,} packets that are sorted here" if self._buffer else span_text(self._tolerance)
        late = (
            f"{self._late:,} packets are out of time order by more than {by}, and windows of their senders may be "
            "lost; sort the file by time first, for example with reordercap"
        )
        return (*self._packets.notes, late)

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Iterator[pa.RecordBatch]:
        """The packets, sorted within the buffer."""
        self._late = 0
        buffer: list[pa.RecordBatch] = []
        clock = -(1 << 62)  # the latest time that was passed on
        for batch in self._packets.batches(columns):
            buffer.append(batch)
            while self._buffer and sum(one.num_rows for one in buffer[1:]) >= self._buffer:
                buffer = _sorted(buffer)
                clock = self._pass(buffer[0], clock)
                yield buffer.pop(0)
            if not self._buffer:
                clock = self._pass(buffer[0], clock)
                yield buffer.pop(0)
        for one in _sorted(buffer):
            clock = self._pass(one, clock)
            yield one

    def _pass(self, batch: pa.RecordBatch, clock: int) -> int:
        times = _times(batch)
        latest = np.maximum.accumulate(np.concatenate([[clock], times]))
        self._late += int((times < latest[:-1] - self._tolerance).sum())
        return int(latest[-1])


def _times(batch: pa.RecordBatch) -> NDArray[np.int64]:
    times: NDArray[np.int64] = batch.column("at").cast(pa.int64()).to_numpy()
    return times


def _sorted(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The same packets in the order of time, those of one time as they came."""
    lengths = [one.num_rows for one in batches if one.num_rows]
    if not lengths:
        return []
    times = np.concatenate([_times(one) for one in batches])
    if (times[1:] >= times[:-1]).all():
        return [one for one in batches if one.num_rows]
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    ordered = table.take(pa.array(np.argsort(times, kind="stable"))).combine_chunks()
    (whole,) = ordered.to_batches()
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    return [whole.slice(start, length) for start, length in zip(starts, lengths, strict=True)]
