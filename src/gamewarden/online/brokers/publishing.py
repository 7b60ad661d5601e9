"""Rows on their way to a broker: batched, each player's in one partition and in their order.

A player's partition is the CRC-32 of the name in UTF-8, modulo the number of partitions: what librdkafka calls the
`consistent` partitioner, so that a producer of another make with the player as key agrees.
"""

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gamewarden.online.brokers.broker import Publisher
from gamewarden.online.brokers.messages import encoded

ROWS = 10_000  # of a message, at most
LARGEST = 900_000  # bytes of a message: both brokers take a million unless they are told otherwise
_LINGER = 1.0  # seconds that rows wait for others


@dataclass
class Sent:
    """What has left."""

    rows: int = 0
    messages: int = 0
    bytes: int = 0


def partition_of(actor: str, partitions: int) -> int:
    """The partition that a player's rows are in."""
    return zlib.crc32(actor.encode()) % partitions


def publish(
    batches: Iterable[pa.RecordBatch],
    publisher: Publisher,
    *,
    rows: int = ROWS,
    rate: float | None = None,
    progress: Callable[[int], object] = lambda _rows: None,
) -> Sent:
    """Send all rows, at most `rate` a second, and wait until they have arrived.

    Raises:
        WriteError: the broker does not take them.
    """
    sent, begun = Sent(), time.monotonic()
    for partition, ready in _grouped(batches, publisher.partitions, rows):
        for message, count in _messages(ready):
            publisher.send(partition, message)
            sent.rows, sent.messages, sent.bytes = sent.rows + count, sent.messages + 1, sent.bytes + len(message)
            progress(count)
        if rate is not None:
            time.sleep(max(begun + sent.rows / rate - time.monotonic(), 0))
    publisher.flush()
    return sent


def _grouped(batches: Iterable[pa.RecordBatch], partitions: int, rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows by partition, as many together as a message may have, or as came within a moment.

    What waits leaves together: a partition of few rows would else be far behind the others in time.
    """
    waiting: dict[int, list[pa.RecordBatch]] = {}
    places, since = _Places(partitions), time.monotonic()
    for batch in batches:
        for piece in (batch.slice(begin, rows) for begin in range(0, batch.num_rows, rows)):
            for partition, some in places.parted(piece):
                waiting.setdefault(partition, []).append(some)
            most = max((sum(one.num_rows for one in some) for some in waiting.values()), default=0)
            if most >= rows or time.monotonic() - since > _LINGER:
                yield from _leaving(waiting, rows)
                waiting, since = {}, time.monotonic()
    yield from _leaving(waiting, rows)


def _leaving(waiting: dict[int, list[pa.RecordBatch]], rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    for partition, some in waiting.items():
        yield from ((partition, part) for part in _cut(some, rows))


def _cut(batches: list[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    yield from table.to_batches(max_chunksize=rows)


def _messages(batch: pa.RecordBatch) -> Iterator[tuple[bytes, int]]:
    """The rows as messages that a broker takes."""
    message = encoded(batch)
    if len(message) <= LARGEST or batch.num_rows == 1:
        yield message, batch.num_rows
        return
    half = batch.num_rows // 2
    yield from _messages(batch.slice(0, half))
    yield from _messages(batch.slice(half))


class _Places:
    """Which partition each name is in."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._known: dict[str, int] = {}

    def parted(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of a batch by their partition, each in their order."""
        actor = batch.column("actor")
        if not pa.types.is_dictionary(actor.type):
            actor = actor.dictionary_encode()
        codes = actor.indices.to_numpy(zero_copy_only=False)
        used, where = np.unique(codes, return_inverse=True)
        names = actor.dictionary.take(pa.array(used)).to_pylist()
        partitions = np.array([self._place(name) for name in names], np.int64)[where]
        for partition in np.unique(partitions).tolist():
            yield partition, batch.take(pa.array(np.flatnonzero(partitions == partition)))

    def _place(self, name: str) -> int:
        if len(self._known) > 1 << 20:
            self._known.clear()
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = partition_of(name, self._partitions)
        return found
