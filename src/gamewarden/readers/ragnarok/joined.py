"""The messages of several packetstreams and captures as those of one."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import MessageStream

_NUMBERS = ("session", "stream")  # columns whose numbers a source counts by itself


class JoinedMessages:
    """The messages of several sources, one after the other, under numbers of their own."""

    rows: int | None = None

    def __init__(self, streams: Mapping[str, MessageStream]) -> None:
        self._streams = streams

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading of each source counted."""
        several = len(self._streams) > 1
        return tuple(
            f"{name}: {line}" if several and not line.startswith(name) else line
            for name, stream in self._streams.items()
            for line in stream.notes
        )

    @property
    def messages(self) -> int:
        """How many they are together."""
        return sum(stream.messages for stream in self._streams.values())

    @property
    def sessions(self) -> int:
        """Their sessions together."""
        return sum(stream.sessions for stream in self._streams.values())

    @property
    def damaged(self) -> bool:
        """Whether something was skipped in one of them."""
        return any(stream.damaged for stream in self._streams.values())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Source by source; a number of a session or a stream never means two of them."""
        used: dict[str, int] = dict.fromkeys(_NUMBERS, 0)
        for stream in self._streams.values():
            before = dict(used)
            for batch in stream.batches(columns):
                moved = _moved(batch, before)
                used |= {name: max(used[name], _highest(moved, name) + 1) for name in _NUMBERS if name in columns}
                yield moved


def _moved(batch: pa.RecordBatch, by: Mapping[str, int]) -> pa.RecordBatch:
    for name in (name for name in _NUMBERS if name in batch.schema.names):
        column = batch.column(name)
        moved = pc.add(column, pa.scalar(by[name], column.type))
        batch = batch.set_column(batch.schema.get_field_index(name), name, moved)
    return batch


def _highest(batch: pa.RecordBatch, name: str) -> int:
    found = pc.max(batch.column(name)).as_py()
    return -1 if found is None else int(found)
