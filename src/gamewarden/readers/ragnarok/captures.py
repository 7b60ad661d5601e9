"""Decoded messages from a capture: the client's side of every TCP connection to the game's port.

Messages do not care for segments: one may be split over several, several may share one. After a loss, or an id nobody
knows, reading goes on at the next segment that begins like a message; everything before it is skipped and counted.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gamewarden.errors import ConfigError
from gamewarden.readers.byte_sources import Origin
from gamewarden.readers.captures.kernel import Rows
from gamewarden.readers.captures.stream import CaptureReport, segment_reading
from gamewarden.readers.captures.tcp_streams import SYN, Assembly, Ints
from gamewarden.readers.ragnarok import kernel
from gamewarden.readers.ragnarok.batches import BATCH_ROWS, BatchBuffers, layout_of
from gamewarden.readers.ragnarok.message_table import MessageTable
from gamewarden.readers.ragnarok.report import AFTER_LOSS, CUT_OFF, JOINED, REASONS, REUSED, MessageReport, Reported
from gamewarden.readers.ragnarok.thesis_profile import advice_on_unknown

Clients: TypeAlias = Callable[[npt.NDArray[np.int32], Ints], pa.DictionaryArray]

ENOUGH_MESSAGES = 3  # that follow each other: then messages really begin there


class MessageCapture(Reported):
    """The messages of all clients in one capture, as often as needed; `report` speaks of the latest reading."""

    rows: int | None = None

    def __init__(
        self,
        origin: Origin,
        db: MessageTable,
        server_ports: Sequence[int],
        *,
        strict: bool = False,
        batch: int = BATCH_ROWS,
    ) -> None:
        """Take a capture.

        Raises:
            ConfigError: no port says which side is the game.
        """
        if not server_ports:
            raise ConfigError(f"{origin.name}: a capture needs the port of the game; name it with --server-port")
        self._advice = advice_on_unknown(db)
        self.report = MessageReport(origin.name, self._advice)
        self._origin = origin
        self._layout = layout_of(db)
        self._ports = tuple(server_ports)
        self._strict = strict
        self._batch = batch

    def only(self, size: int, digest: str) -> None:
        """Read so many first bytes from now on, and refuse others than those of the digest."""
        self._origin.only(size, digest)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The messages of each connection in their order, connections side by side."""
        self.report = MessageReport(self._origin.name, self._advice)
        captured = CaptureReport()
        with self._origin.opened() as source:
            segments = segment_reading(source, self._origin.name, self._ports, captured)
            reading = _Reading(BatchBuffers(self._layout, self._batch), self.report, strict=self._strict)
            for rows, count in segments.fills():
                for _ in reading.take(rows, count):
                    yield reading.batch(columns, segments.clients)
            for _ in reading.finish():
                yield reading.batch(columns, segments.clients)
        self.report.further = tuple(captured.lines())


class _Reading:
    """All connections of one pass over a capture, and the rows they fill together."""

    def __init__(self, desk: BatchBuffers, report: MessageReport, *, strict: bool) -> None:
        self.desk = desk
        self.report = report
        self.strict = strict
        self._connections: dict[int, _Connection] = {}
        self._greeted: dict[int, int] = {}  # flows of which only a SYN was seen: floods of them must cost little
        self._streams = 0
        # Of every session there was: account, character, stream, client end.
        self._who = np.empty((64, 4), np.int64)
        self._sessions = 0
        self._opened = 0  # of them in the rows being filled

    def take(self, rows: Rows, count: int) -> Iterator[None]:
        """A batch of segments; stops whenever the rows are full, and when those of this batch should go."""
        flows = rows.flow[:count]
        order = np.argsort(flows, kind="stable")
        borders = np.flatnonzero(np.diff(flows[order])) + 1
        for which in np.split(order, borders):
            flow = int(flows[which[0]])
            if flow in self._connections or rows.size[which].any():
                yield from self._connection(flow, int(rows.end[which[0]])).take(rows, which)
            else:
                self._greeted[flow] = int(rows.seq[which[-1]])
        if self.desk.count:
            yield

    def _connection(self, flow: int, end: int) -> "_Connection":
        if flow not in self._connections:
            self._connections[flow] = _Connection(self, end, self._greeted.pop(flow, None))
        return self._connections[flow]

    def finish(self) -> Iterator[None]:
        """Nothing more will come."""
        for connection in self._connections.values():
            yield from connection.finish()
        self._connections.clear()  # they know us: without this both would wait for the garbage collector
        if self.desk.count:
            yield

    def new_stream(self) -> int:
        """A number for one more connection."""
        self._streams += 1
        return self._streams - 1

    def lend(self, state: Ints) -> None:
        """Give a connection's state the number its next session will have."""
        state[kernel.NEXT_SESSION], state[kernel.OPENED] = self._sessions, self._opened

    def note(self, state: Ints, stream: int, end: int) -> None:
        """Learn from a connection's state which sessions began."""
        opened = int(state[kernel.OPENED])
        for place in range(self._opened, opened):
            if self._sessions == len(self._who):
                self._who = np.concatenate([self._who, np.empty_like(self._who)])
            rows = self.desk.rows
            self._who[self._sessions] = rows.account[place], rows.character[place], stream, end
            self._sessions += 1
        self._opened = opened

    def batch(self, columns: Sequence[str], clients: Clients) -> pa.RecordBatch:
        """The rows so far as columns of MESSAGES."""
        desk = self.desk
        who = self._who[desk.rows.session[: desk.count]]
        self.report.messages += desk.count
        self.report.sessions, self._opened = self._sessions, 0
        known = clients(who[:, 3].astype(np.int32), desk.rows.at[: desk.count])
        return desk.batch(columns, who[:, 0], who[:, 1], who[:, 2].astype(np.int32), known)


class _Connection:
    """One client's stream: its segments in order, the messages in it, and where reading stands."""

    def __init__(self, reading: _Reading, end: int, syn: int | None) -> None:
        self._reading = reading
        self._end = end
        self._begin_anew()
        if syn is not None:
            self._assembly.begin(syn + 1, opened=True)

    def _begin_anew(self) -> None:
        self._stream = self._reading.new_stream()
        self._assembly = Assembly()
        self._state = np.zeros(kernel.STATE_WORDS, np.int64)
        self._lost_because: str | None = None  # why the next message has to be looked for
        self._reused: int | None = None  # bytes that had come twice when the same SYN came late
        self._dead = False  # a strict reading ended here

    def take(self, rows: Rows, which: Ints) -> Iterator[None]:
        """This connection's segments of a batch, in the order they were captured."""
        number = 0
        while number < len(which):
            number = self._assembly.take_in_order(rows, which, number)
            if number < len(which):
                yield from self._take_one(rows, int(which[number]))
                number += 1
        yield from self._decode()

    def finish(self) -> Iterator[None]:
        """Nothing more will come: what waits is read without what it waited for."""
        while self._assembly.holds:
            yield from self._lose()
        yield from self._decode(final=True)
        self._skip(self._assembly.ordered.length, self._lost_because or CUT_OFF)
        if self._reused is not None:
            self._skip(self._assembly.doubled - self._reused, REUSED)

    def _take_one(self, rows: Rows, row: int) -> Iterator[None]:
        seq = int(rows.seq[row])
        begin, size = int(rows.begin[row]), int(rows.size[row])
        if rows.flags[row] & SYN:
            yield from self._open(seq)
            seq += 1
        if not size:
            return
        assembly = self._assembly
        if assembly.first is not None and assembly.is_far(seq):
            yield from self._replace()
        if self._assembly.first is None:
            self._assembly.begin(seq, opened=False)
            self._lost_because = JOINED
        self._assembly.take(seq, rows.pool[begin : begin + size], int(rows.at[row]))
        while self._assembly.overfull:
            yield from self._lose()

    def _open(self, seq: int) -> Iterator[None]:
        """A SYN: a new connection, unless it is the one we have once more."""
        begins = (seq + 1) & 0xFFFFFFFF
        if self._assembly.opened and self._assembly.first == begins:
            if self._reused is None and self._assembly.begun:
                self._reused = self._assembly.doubled
            return
        if self._assembly.first is not None:
            yield from self._replace()
        self._assembly.begin(begins, opened=True)

    def _replace(self) -> Iterator[None]:
        yield from self.finish()
        self._begin_anew()

    def _lose(self) -> Iterator[None]:
        """Go on behind a hole that nothing has filled."""
        yield from self._decode()
        self._skip_all(AFTER_LOSS)
        self._reading.report.lost += self._assembly.give_up()
        self._lost_because = AFTER_LOSS
        self._notice("bytes were not captured")

    def _skip_all(self, reason: str) -> None:
        ordered = self._assembly.ordered
        self._skip(ordered.length, reason)
        ordered.keep_from(ordered.length)

    def _skip(self, count: int, reason: str) -> None:
        self._reading.report.skip(count, reason)

    def _notice(self, what: str, status: int | None = None) -> None:
        self._reading.report.notice_unread(f"connection {self._stream}: {what}", status)
        self._dead = self._dead or self._reading.strict

    def _decode(self, *, final: bool = False) -> Iterator[None]:
        """Read what messages there are in the bytes that stand in order."""
        data, ends, times = self._assembly.ordered.whole()
        data.flags.writeable = False  # one kind of array, one compiled kernel
        offset = 0
        while offset < len(data) and not self._dead:
            if self._lost_because is not None:
                offset = self._find_begin(data, ends, offset, final=final)
                if self._lost_because is not None:
                    break
            offset, status = self._scan(data, ends, times, offset)
            if status == kernel.ROWS_FULL:
                yield
            elif status == kernel.NEEDS_BYTES:
                break
            else:
                offset = self._past(data, ends, offset, status)
        if self._dead:
            self._skip(len(data) - offset, self._lost_because or AFTER_LOSS)
            offset = len(data)
        self._assembly.ordered.keep_from(offset)

    def _scan(self, data: kernel.Bytes, ends: Ints, times: Ints, offset: int) -> tuple[int, int]:
        reading, desk, state = self._reading, self._reading.desk, self._state
        reading.lend(state)
        before = int(state[kernel.MESSAGE_BYTES])
        segment = int(np.searchsorted(ends, offset, side="right"))
        start, count, status, _ = kernel.scan_plain(
            data, offset, len(data), ends, times, segment, desk.layout.array, state, desk.rows, desk.count
        )
        desk.count = int(count)
        reading.report.taken += int(state[kernel.MESSAGE_BYTES]) - before
        reading.note(state, self._stream, self._end)
        return int(start), int(status)

    def _past(self, data: kernel.Bytes, ends: Ints, offset: int, status: int) -> int:
        """Over something that cannot be read, to the end of its segment; messages have to be looked for from there."""
        status = kernel.UNKNOWN_ID if status == kernel.END_MARK else status  # no mark ends a connection
        identity = int(data[offset]) | int(data[offset + 1]) << 8
        self._lost_because = REASONS[status]
        self._notice(f"a message of id 0x{identity:04x} cannot be read", status)
        return offset if self._dead else self._skip_segment(ends, offset)

    def _skip_segment(self, ends: Ints, offset: int) -> int:
        after = int(ends[np.searchsorted(ends, offset, side="right")])
        self._skip(after - offset, self._lost_because or AFTER_LOSS)
        return after

    def _find_begin(self, data: kernel.Bytes, ends: Ints, offset: int, *, final: bool) -> int:
        """The next segment that begins like a message; `_lost_because` is None once it is found."""
        while offset < len(data):
            segment_end = int(ends[np.searchsorted(ends, offset, side="right")])
            layout = self._reading.desk.layout.array
            found = int(kernel.begins_here(data, offset, segment_end, len(data), layout, ENOUGH_MESSAGES))
            if found > 0:
                self._reading.report.resumed += self._lost_because != JOINED
                self._lost_because = None
                return offset
            if found < 0 and not final:
                return offset
            offset = self._skip_segment(ends, offset)
        return offset
