"""Packetstreams: what a server wrote of one client's bytes, with tags that tell the time (Cornelissen, appendix B).

A tag may stand before every message or before several, may be doubled (the last counts) or missing altogether (then no
time is known). Damage ends a strict reading; a lenient one goes on at the next tag. Memory does not grow with the file.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from gamewarden.readers.byte_sources import Origin, Window
from gamewarden.readers.ragnarok import kernel
from gamewarden.readers.ragnarok.batches import BATCH_ROWS, BatchBuffers, layout_of
from gamewarden.readers.ragnarok.message_table import TAG, MessageTable
from gamewarden.readers.ragnarok.report import CUT_OFF, REASONS, MessageReport, Reported
from gamewarden.readers.ragnarok.thesis_profile import advice_on_unknown


class MessageFile(Reported):
    """The messages of one packetstream, as often as needed; `report` speaks of the latest reading."""

    rows: int | None = None

    def __init__(self, origin: Origin, db: MessageTable, *, strict: bool = False, batch: int = BATCH_ROWS) -> None:
        self._advice = advice_on_unknown(db)
        self.report = MessageReport(origin.name, self._advice)
        self._origin = origin
        self._layout = layout_of(db)
        self._strict = strict
        self._batch = batch

    def only(self, size: int, digest: str) -> None:
        """Read so many first bytes from now on, and refuse others than those of the digest."""
        self._origin.only(size, digest)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All messages in the order they were sent."""
        self.report = MessageReport(self._origin.name, self._advice)
        with self._origin.opened() as source:
            reading = _Reading(
                Window(source), BatchBuffers(self._layout, self._batch), self.report, strict=self._strict
            )
            yield from reading.batches(columns, live=source.live)
            if source.problem:
                self.report.notice(source.problem)


class _Reading:
    """One pass over a packetstream."""

    def __init__(self, window: Window, desk: BatchBuffers, report: MessageReport, *, strict: bool) -> None:
        self._window = window
        self._desk = desk
        self._report = report
        self._strict = strict
        self._state = np.zeros(kernel.STATE_WORDS, np.int64)
        self._who = np.array([[kernel.NOT_TOLD, kernel.NOT_TOLD]], np.int64)  # of the session that is open

    def batches(self, columns: Sequence[str], *, live: bool) -> Iterator[pa.RecordBatch]:
        """Rows when there are enough of them, or when the source makes us wait."""
        going = True
        while going:
            status = self._scan()
            waits = status == kernel.NEEDS_BYTES and live
            if self._desk.count and (status == kernel.ROWS_FULL or waits):
                yield self._batch(columns)
            if status == kernel.NEEDS_BYTES:
                going = self._window.fill() or self._past_the_end()
            elif status != kernel.ROWS_FULL:
                going = self._past(status)
        if self._desk.count:
            yield self._batch(columns)

    def _scan(self) -> int:
        window, desk = self._window, self._desk
        start, count, status = kernel.scan_tagged(
            window.data, window.start, window.end, desk.layout.array, self._state, desk.rows, desk.count
        )
        window.start, desk.count = int(start), int(count)
        self._report.taken = int(self._state[kernel.MESSAGE_BYTES])
        self._report.tags = int(self._state[kernel.TAGGED_BYTES])
        return int(status)

    def _past_the_end(self) -> bool:
        """Whether there is anything to go on with behind what the source's end cut off."""
        if not self._window.left:
            return False
        self._report.notice(
            f"the message at byte {self._window.position:,} is cut off; {self._window.left:,} bytes of it are there"
        )
        return self._skip_to_tag(CUT_OFF)

    def _past(self, status: int) -> bool:
        """Whether there is anything to go on with behind something that cannot be read."""
        identity = int.from_bytes(self._window.take(2), "little")
        if status != kernel.END_MARK:
            self._report.notice_unread(f"id 0x{identity:04x} at byte {self._window.position:,} {_why(status)}", status)
        if status == kernel.END_MARK:
            self._skip_rest(REASONS[status])
            return False
        return self._skip_to_tag(REASONS[status])

    def _skip_to_tag(self, reason: str) -> bool:
        if self._strict:
            self._skip_rest(reason)
            return False
        window, first = self._window, 1  # a tag at the very place would have been read
        while True:
            found = int(kernel.find_tag(window.data, window.start + first, window.end))
            step = found - window.start if found >= 0 else max(window.left - len(TAG) + 1, 0)
            self._report.skip(step, reason)
            window.start += step
            if found >= 0:
                self._report.resumed += 1
                return True
            first = 0 if step else first
            if not window.fill():
                self._skip_rest(reason)
                return False

    def _skip_rest(self, reason: str) -> None:
        while True:
            self._report.skip(self._window.left, reason)
            self._window.start = self._window.end
            if not self._window.fill():
                return

    def _batch(self, columns: Sequence[str]) -> pa.RecordBatch:
        desk, state = self._desk, self._state
        opened, count = int(state[kernel.OPENED]), desk.count
        new = np.stack([desk.rows.account[:opened], desk.rows.character[:opened]], axis=1)
        who = np.concatenate([self._who, new])
        first = int(state[kernel.NEXT_SESSION]) - opened  # number of the first session of these rows
        places = desk.rows.session[:count] - first + 1
        self._who, state[kernel.OPENED] = who[-1:], 0
        self._report.messages += count
        self._report.sessions += opened
        streams = np.zeros(count, np.int32)
        return desk.batch(columns, who[places, 0], who[places, 1], streams)


def _why(status: int) -> str:
    return {
        kernel.UNKNOWN_ID: "is not in the message table",
        kernel.ZERO_LENGTH: "has no length in the message table",
        kernel.BAD_LENGTH: "has a length no message can have",
    }[status]
