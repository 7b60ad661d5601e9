"""Who a client says it is: the first bytes of its connection name the account, and its later packets carry it.

Anybody who can reach a game server can name any account in the first message; only the server knows whether that is
true. It says so by going on: one that it refuses gets a few bytes and no more. So a name counts once the server has
sent more than that, from the client's next packet on. What the connection sent in between is not delivered, and
counted: it would else stand under an address that nobody else uses, or under a name that may be somebody else's.

A connection that names nobody, or that the server does not go on with, keeps its address. So does one whose beginning
was not captured. All of it depends on the packets and their order alone, not on how they came in batches.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gamewarden.readers.captures import kernel
from gamewarden.readers.captures.client_ends import Codes
from gamewarden.readers.captures.flows import Ints
from gamewarden.readers.kernels import kernel as compiled

FIRST_BYTES = 512  # of a connection; within them its client must have named itself and have been answered
GOES_ON = 64  # bytes from the server; a refusal has about 10, a welcome hundreds
PATIENCE = 64  # packets of one connection that wait for that, at most
MOST_LISTENED = 1 << 16  # connections at a time that have not said yet who they are; the oldest makes room
_BY_ADDRESS, _UNANSWERED = -1, -2
_NO_STREAM = -1


class Said(NamedTuple):
    """What the first bytes of a connection tell."""

    account: str | None = None
    more: bool = False  # further bytes might tell


Listen = Callable[[bytes], Said]  # how a game's clients name themselves


class _Hearing:
    """The first bytes of one connection, as far as they have come."""

    __slots__ = ("account", "came", "data")

    def __init__(self) -> None:
        self.data = bytearray(FIRST_BYTES)
        self.came = bytearray(FIRST_BYTES)  # 1 where a byte has come
        self.account: str | None = None

    def take(self, offset: int, data: bytes) -> None:
        for place, byte in enumerate(data, offset):
            if not self.came[place]:
                self.data[place], self.came[place] = byte, 1

    @property
    def so_far(self) -> bytes:
        """The bytes without a hole before them."""
        hole = self.came.find(0)
        return bytes(self.data if hole < 0 else self.data[:hole])


class Introductions:
    """The names that the client ends of one reading have given themselves."""

    def __init__(self, listen: Listen, *, believe: bool) -> None:
        """Listen; whoever does `believe`, since the tap shows no answers, takes a name at once."""
        self.names: list[str] = []
        self.by_address = 0  # packets delivered without a name
        self.waited = 0  # packets not delivered, since the server had not gone on yet
        self.refused = 0  # names with which no server went on
        self.crowded_out = 0  # connections no longer listened to, since too many had said nothing
        self._listen = listen
        self._enough = 0 if believe else GOES_ON
        self._numbers: dict[str, int] = {}
        self._open: dict[int, _Hearing] = {}
        self._ends = _new_ends(0)
        self._codes = np.empty(0, np.int32)  # of the names

    def codes(self, rows: kernel.Rows, count: int, addresses: Codes, codes_of: Callable[[list[str]], Codes]) -> Codes:
        """The code of each row's actor, -1 for those that are not delivered."""
        self._ends = _with_room(self._ends, len(addresses))
        turns = self._turns(rows)
        self._codes = np.concatenate([self._codes, codes_of(self.names[len(self._codes) :])])
        out = np.empty(count, np.int32)
        waited, by_address, given_up = _told(rows.end[:count], turns, self._ends, self._codes, addresses, out)
        self.waited += int(waited)
        self.by_address += int(by_address)
        self.refused += int(given_up)
        return out

    def renumber(self, stayed: Ints) -> None:
        """Go on when ends and actors have other numbers: `stayed` are the old ones of the ends that are left."""
        numbers = {int(old): new for new, old in enumerate(stayed)}
        self._open = {numbers[end]: hearing for end, hearing in self._open.items() if end in numbers}
        self._ends = _Ends(*(column[stayed] for column in _with_room(self._ends, int(stayed.max(initial=-1)) + 1)))
        self._keep_names()

    def _keep_names(self) -> None:
        """Only the names that somebody still has."""
        state = self._ends.state
        used, places = np.unique(state[state >= 0], return_inverse=True)
        self.names = [self.names[number] for number in used]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        state[state >= 0] = places
        self._codes = np.empty(0, np.int32)

    def _turns(self, rows: kernel.Rows) -> Ints:
        """(row, end, what its packets are from there on) of every change in these rows, in their order."""
        turns: list[tuple[int, int, int]] = []
        for row, stream, offset, answered, begin, size in rows.first[: int(rows.first_used[0])].tolist():
            end = int(rows.end[row])
            if self._ends.stream[end] != stream:
                self._begin(end, stream)
                turns.append((row, end, _BY_ADDRESS))
            if (hearing := self._open.get(end)) is not None:
                hearing.take(offset, rows.first_pool[begin : begin + size].tobytes())
                turns += [(row, end, state) for state in self._heard(end, hearing, answered)]
        return np.array(turns, np.int64).reshape(-1, 3)

    def _begin(self, end: int, stream: int) -> None:
        self._ends.stream[end] = stream
        self._open.pop(end, None)
        if len(self._open) >= MOST_LISTENED:
            del self._open[next(iter(self._open))]
            self.crowded_out += 1
        self._open[end] = _Hearing()

    def _heard(self, end: int, hearing: _Hearing, answered: int) -> list[int]:
        """What an end's packets are from now on, when the bytes that came make a difference."""
        changes: list[int] = []
        if hearing.account is None:
            said = self._listen(hearing.so_far)
            hearing.account = said.account
            if said.account is not None:
                changes.append(_UNANSWERED)
            elif not said.more:
                del self._open[end]
        if hearing.account is not None and answered >= self._enough:
            del self._open[end]
            changes.append(self._number(hearing.account))
        return changes

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]


class _Ends(NamedTuple):
    """What is known of each client end."""

    stream: Ints  # the number with which its connection began
    state: Ints  # the number of its name, or why it has none
    patience: Ints  # how many more of its packets wait


def _new_ends(count: int) -> _Ends:
    return _Ends(np.full(count, _NO_STREAM, np.int64), np.full(count, _BY_ADDRESS, np.int64), np.zeros(count, np.int64))


def _with_room(ends: _Ends, count: int) -> _Ends:
    if count <= len(ends.state):
        return ends
    more = _new_ends(max(count - len(ends.state), len(ends.state)))
    return _Ends(*(np.concatenate(columns) for columns in zip(ends, more, strict=True)))


@compiled
def _told(  # noqa: PLR0917  a kernel takes columns, not objects
    which: Codes, turns: Ints, ends: _Ends, names: Codes, addresses: Codes, out: Codes
) -> tuple[int, int, int]:
    """(rows that wait, rows by address, names given up)."""
    waited, by_address, given_up, turn = 0, 0, 0, 0
    for row in range(len(which)):
        while turn < len(turns) and turns[turn, 0] <= row:
            ends.state[turns[turn, 1]] = turns[turn, 2]
            ends.patience[turns[turn, 1]] = PATIENCE
            turn += 1
        end = which[row]
        state = ends.state[end]
        if state == _UNANSWERED:
            if ends.patience[end] > 0:
                ends.patience[end] -= 1
                waited += 1
                out[row] = -1
                continue
            ends.state[end] = _BY_ADDRESS
            given_up += 1
        if state >= 0:
            out[row] = names[state]
        else:
            by_address += 1
            out[row] = addresses[end]
    return waited, by_address, given_up
