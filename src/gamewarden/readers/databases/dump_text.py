"""The text of a dump or an export piece by piece: statements, rows of values and lines, none of it whole in memory."""

import re
from collections.abc import Iterator

from gamewarden.core.outside import visible
from gamewarden.errors import ReadError
from gamewarden.readers.compression import CHUNK, Readable

LONGEST_ROW = 16 << 20  # bytes; no server sends a row of a log that is longer
LONGEST_STATEMENT = 1 << 20  # of those that are looked at whole: what a table is like
LONGEST_LINE = 4 << 10  # of comments
_HEAD = 64 << 10  # how much of a statement is there before it is looked at
_SHOWN = 60
_END = ord(";")
# Up to what ends a statement or begins a string that is not whole. Two quotes in a string are here two strings.
_STRINGS = {
    "mysql": rb"'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|`[^`]*+`",
    "postgresql": rb"'[^']*+'|\"[^\"]*+\"",
}
_SPECIAL = {"mysql": rb"'\"`;", "postgresql": rb"'\"$;"}
_OUTSIDE = {
    dialect: re.compile(rb"(?:[^" + _SPECIAL[dialect] + rb"]++|" + strings + rb")*+", re.DOTALL)
    for dialect, strings in _STRINGS.items()
}
_INSIDE = {
    "mysql": re.compile(rb"[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL),
    "postgresql": re.compile(rb"[^']*+"),
}
_WHOLE = {
    dialect: re.compile(rb"(?:[^'\"`;]++|" + strings + rb")*+;", re.DOTALL) for dialect, strings in _STRINGS.items()
}
_DOLLARS = re.compile(rb"\$\w*\$")
_LAST_COPIED = re.compile(rb"^\\\.\r?$", re.MULTILINE)


class DumpText:
    """Bytes that come, and a place in them; what lies before it is gone."""

    def __init__(self, stream: Readable, name: str, dialect: str = "mysql") -> None:
        self._stream, self.name, self.dialect = stream, name, dialect
        self._buffer, self._place = b"", 0
        self.ended = False  # whether all of it has come

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self._place >= len(self._buffer) and not self._more()

    def match(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """Go past what stands here, if it is this."""
        found = self.ahead(pattern)
        if found is not None:
            self._place = found.end()
        return found

    def ahead(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """What stands here, if it is this."""
        while len(self._buffer) - self._place < _HEAD and self._more():
            pass
        return pattern.match(self._buffer, self._place)

    def line(self) -> bytes:
        """The rest of this line; of a very long one its beginning."""
        while (end := self._buffer.find(b"\n", self._place)) < 0 and self._left <= LONGEST_LINE and self._more():
            pass
        begin = self._buffer[self._place : self._place + LONGEST_LINE if end < 0 else end]
        if end >= 0:
            self._place = end + 1
        else:
            self._past_or_end(b"\n")
        return begin.rstrip(b"\r")

    def past(self, needle: bytes) -> None:
        """Go past the next of these bytes.

        Raises:
            ReadError: there are none.
        """
        if not self._past_or_end(needle):
            raise self.cut()

    def skip(self) -> None:
        """Go past the end of this statement, whatever is in it.

        Raises:
            ReadError: it has none.
        """
        while True:
            outside = _OUTSIDE[self.dialect].match(self._buffer, self._place)
            self._place = outside.end() if outside else self._place
            if self._place >= len(self._buffer):
                if not self._more():
                    raise self.cut()
            elif self._buffer[self._place] == _END:
                self._place += 1
                return
            else:
                self._past_quoted()

    def statement(self) -> bytes:
        """This statement as a whole.

        Raises:
            ReadError: it does not end, or not soon.
        """
        while (found := _WHOLE[self.dialect].match(self._buffer, self._place)) is None:
            if self._left > LONGEST_STATEMENT:
                raise ReadError(f"{self.name}: a statement is longer than {LONGEST_STATEMENT:,} bytes: {self.shown}")
            if not self._more():
                raise self.cut()
        self._place = found.end()
        return found[0]

    def matches(self, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
        """One after the other, as long as they come."""
        while True:
            found = pattern.match(self._buffer, self._place)
            if found is not None:
                self._place = found.end()
                yield found
            elif self._left > LONGEST_ROW or not self._more():
                return

    def lines(self) -> Iterator[list[bytes]]:
        r"""The lines before the one that is \. alone, as PostgreSQL copies rows; many at a time.

        Raises:
            ReadError: there is no such line.
        """
        while True:
            end = self._buffer.rfind(b"\n", self._place) + 1
            last = _LAST_COPIED.search(self._buffer, self._place, end) if end else None
            whole = self._buffer[self._place : last.start() if last else end]
            if whole:
                yield whole.split(b"\n")[:-1]
            if last is not None:
                self._place = last.end() + 1
                return
            self._place = max(end, self._place)
            if self._left > LONGEST_ROW or not self._more():
                raise self.cut()

    @property
    def shown(self) -> str:
        """What stands here, as somebody can read it."""
        return visible(self._buffer[self._place : self._place + _SHOWN].decode(errors="replace"))

    def cut(self) -> ReadError:
        """What to say of a text that ends where it must not."""
        return ReadError(
            f"{self.name}: ends in the middle of a statement, the dump was not written or copied whole; make it again, "
            "or keep its whole rows with --keep-truncated"
        )

    @property
    def _left(self) -> int:
        return len(self._buffer) - self._place

    def _more(self) -> bool:
        """Whether more came; as much again as there is, so that looking at a long row again costs little."""
        if self.ended:
            return False
        chunk = self._stream.read(max(CHUNK, self._left))
        self.ended = not chunk
        self._buffer, self._place = self._buffer[self._place :] + chunk, 0
        return bool(chunk)

    def _past_or_end(self, needle: bytes) -> bool:
        while (at := self._buffer.find(needle, self._place)) < 0:
            self._place = max(self._place, len(self._buffer) - len(needle) + 1)
            if not self._more():
                self._place = len(self._buffer)
                return False
        self._place = at + len(needle)
        return True

    def _past_quoted(self) -> None:
        """Go past a string that is longer than what is here, or of another kind."""
        quote = self._buffer[self._place : self._place + 1]
        if quote == b"$":
            found = self.match(_DOLLARS)
            if found is None:
                self._place += 1
            else:
                self.past(found[0])
            return
        self._place += 1
        if quote != b"'":
            self.past(quote)
            return
        while True:
            inside = _INSIDE[self.dialect].match(self._buffer, self._place)
            self._place = inside.end() if inside else self._place
            if self._buffer[self._place : self._place + 1] == quote:
                self._place += 1
                return
            if not self._more():
                raise self.cut()
