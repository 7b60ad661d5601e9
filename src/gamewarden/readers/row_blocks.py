"""Text cut into whole rows as its bytes come: each byte is looked at once, and no row is longer than a bound.

A line end inside quotes ends no row. A quote that is never closed would make one row of all that follows: after
`LONGEST_ROW` bytes, or at the end, the line that has it is left out, and reading goes on behind it.
"""

from collections.abc import Callable, Iterator

import numpy as np

from gamewarden.errors import ReadError
from gamewarden.readers.byte_sources import ByteSource

LONGEST_ROW = 1 << 20
UNCLOSED = "with a quote that is not closed"
TOO_LONG = f"longer than {LONGEST_ROW >> 20} MiB"
_CHUNK = 1 << 20

LeaveOut = Callable[[str, bytes], None]  # a reason, and how the row begins


class RowBlocks:
    """The rows of a text, as many at a time as are there."""

    def __init__(self, source: ByteSource, leave_out: LeaveOut, *, quotes: bool) -> None:
        self._source = source
        self._leave_out = leave_out
        self._quotes = quotes
        self._room = bytearray(_CHUNK)
        self._parts: list[bytes] = []  # a row under way
        self._held = 0  # bytes of it
        self._inside = False  # of quotes
        self._skipping = False  # the rest of a line that is too long

    def first_line(self, name: str) -> bytes:
        """The first line that is not empty; what follows it comes with the blocks.

        Raises:
            ReadError: there is no line end as far as any header goes.
        """
        held = b""
        while b"\n" not in held and len(held) <= LONGEST_ROW and (chunk := self._more()):
            held = (held + chunk).lstrip(b"\r\n")
        line, newline, rest = held.partition(b"\n")
        if len(line) > LONGEST_ROW:
            raise ReadError(f"{name}: its first line is {TOO_LONG}; it should name the columns")
        self._parts = [rest] if rest else []
        return line + newline

    def __iter__(self) -> Iterator[bytes]:
        """Whole rows; the last may lack its line end."""
        chunk = b"".join(self._parts)
        self._parts = []
        while chunk or (chunk := self._more()):
            yield from self._take(chunk)
            chunk = b""
        yield from self._end()

    def _more(self) -> bytes:
        return bytes(self._room[: self._source.read_into(memoryview(self._room))])

    def _take(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._skipping:
                _, newline, chunk = chunk.partition(b"\n")
                self._skipping = not newline
                continue
            size = self._whole(chunk)
            if size:
                yield b"".join([*self._parts, chunk[:size]])
                self._parts, self._held = [], 0
            self._parts.append(chunk[size:])
            self._held += len(chunk) - size
            chunk = self._without_first_line() if self._held > LONGEST_ROW else b""

    def _whole(self, chunk: bytes) -> int:
        """How many of these bytes belong to rows that are complete."""
        if not self._quotes or (not self._inside and b'"' not in chunk):
            return chunk.rfind(b"\n") + 1
        letters = np.frombuffer(chunk, np.uint8)
        quotes, ends = np.flatnonzero(letters == ord('"')), np.flatnonzero(letters == ord("\n"))
        outside = ends[(np.searchsorted(quotes, ends) + self._inside) % 2 == 0]
        self._inside = bool((len(quotes) + self._inside) % 2)
        return int(outside[-1]) + 1 if len(outside) else 0

    def _without_first_line(self) -> bytes:
        """What stands behind the line that cannot be read; nothing when it goes on."""
        whole = b"".join(self._parts)
        line, newline, rest = whole.partition(b"\n")
        self._leave_out(UNCLOSED if newline or self._held <= LONGEST_ROW else TOO_LONG, line)
        self._parts, self._held, self._inside = [], 0, False
        self._skipping = not newline
        return rest

    def _end(self) -> Iterator[bytes]:
        while self._held and self._inside:
            yield from self._take(self._without_first_line())
        if self._held:
            yield b"".join(self._parts)
