"""From a partition's own file its decisions go on: to a topic, a web server, a file or standard output.

Only what a saved state knows leaves, so that no crash takes back what somebody has seen. How far each output has got
is kept beside the decisions, and an output that can be asked how far it goes is asked when a partition is opened.
"""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from gamewarden.core.files import whole_file
from gamewarden.errors import ReadError
from gamewarden.online.brokers.held import Held

_AT_ONCE = 1 << 20  # bytes read at a time
_WITHOUT_PAUSE = 2.0  # seconds of sending before somebody else has a turn
_PATIENCE = 5.0  # seconds before an output that did not answer is tried again


class Origin(NamedTuple):
    """Whose decisions they are: a partition, and the state that they came of."""

    topic: str
    partition: int
    lineage: str


class Line(NamedTuple):
    """A decision, and how long the file is with it: its number in the order of all."""

    through: int
    text: bytes


@dataclass(frozen=True)
class Cursor:
    """How far an output has got."""

    lineage: str = ""
    sent: int = 0  # bytes that have arrived
    trying: int = 0  # bytes that a request under way would bring it to, so that it is repeated as it was
    mark: int = 0  # what the output itself wants to know again


class Sink(Protocol):
    """Where decisions go."""

    @property
    def label(self) -> str:
        """What names it in a file's name."""

    def resume(self, origin: Origin, decisions: Path, cursor: Cursor) -> Cursor:
        """How far the output goes already, which may be further than the cursor knows.

        Raises:
            ReadError: the output cannot be asked.
            WriteError: it holds something else.
        """

    paused_until: float  # when it may be tried again

    def tend(self) -> None:
        """Asked now and then while nothing is sent, so that a connection stays alive."""

    def most(self) -> int:
        """How many decisions it takes at once."""

    def send(self, origin: Origin, lines: list[Line], cursor: Cursor) -> Cursor | None:
        """Send them all; None where they have not arrived, and are to be tried later.

        Raises:
            WriteError: they cannot.
        """

    def close(self) -> None:
        """Let go of it."""


class PlainSink:
    """What an output has in common with others: one that does not answer is left alone for a while, by everybody."""

    paused_until = 0.0  # by the clock of the process

    def tend(self) -> None:
        """Nothing has to be done while nothing is sent."""


class Relay:
    """The decisions of one partition on their way to one output."""

    def __init__(self, sink: Sink, held: Held, partition: int) -> None:
        self._sink = sink
        self._held = held
        self._path = held.directory / f"sent-{sink.label}.json"
        self._origin = Origin(held.directory.parent.name, partition, held.lineage)
        known = _read(self._path)
        if known is None or known.lineage != held.lineage:
            known = Cursor(held.lineage)
        self._cursor = sink.resume(self._origin, held.decisions, known)
        self._keep()

    def send_on(self) -> None:
        """What is settled and has not arrived, for a while.

        Raises:
            WriteError: the output does not take it.
        """
        until = time.monotonic() + _WITHOUT_PAUSE
        while self._cursor.sent < self._held.settled and self._sink.paused_until <= time.monotonic() < until:
            lines = self._next()
            if self._cursor.trying != lines[-1].through:
                self._cursor = replace(self._cursor, trying=lines[-1].through)
                self._keep()
            cursor = self._sink.send(self._origin, lines, self._cursor)
            if cursor is None:
                self._sink.paused_until = time.monotonic() + _PATIENCE
                return
            self._cursor = replace(cursor, sent=lines[-1].through)
            self._keep()

    def _next(self) -> list[Line]:
        """Whole lines after those that have arrived; a request that was under way is made again as it was."""
        begin = self._cursor.sent
        end = self._cursor.trying if self._cursor.trying > begin else self._held.settled
        with self._held.decisions.open("rb") as file:
            file.seek(begin)
            data = file.read(min(end - begin, _AT_ONCE))
            while not data.endswith(b"\n") and (rest := file.readline()):
                data += rest
        return _lines(data, begin)[: self._sink.most()]

    def _keep(self) -> None:
        with whole_file(self._path) as draft:
            draft.write_text(json.dumps(asdict(self._cursor)) + "\n", encoding="utf-8")


def _lines(data: bytes, begin: int) -> list[Line]:
    lines, place = [], begin
    for text in data.split(b"\n")[:-1]:
        place += len(text) + 1
        lines.append(Line(place, text))
    return lines


def key_of(line: bytes) -> bytes:
    """The key of a decision; empty where a work gave none."""
    found = json.loads(line)
    return str(found.get("key", "")).encode() if isinstance(found, dict) else b""


def _read(path: Path) -> Cursor | None:
    """The cursor that was kept; None where there is none.

    Raises:
        ReadError: there is something else in its place.
    """
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _no_cursor(path) from error
    numbers = ("sent", "trying", "mark")
    if not (
        isinstance(found, dict)
        and found.keys() == Cursor.__dataclass_fields__.keys()
        and isinstance(found["lineage"], str)
        and all(isinstance(found[name], int) and found[name] >= 0 for name in numbers)
    ):
        raise _no_cursor(path)
    return Cursor(**found)


def _no_cursor(path: Path) -> ReadError:
    return ReadError(f"{path}: it does not say how far an output has got; remove it to send all decisions again")
