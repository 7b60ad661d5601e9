"""The traffic test under way: every player's state, batches in, completed windows out.

`measure` and `watch` both call this, so the two cannot disagree.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gamewarden.contracts import PACKET_COLUMNS, canonical_json
from gamewarden.core.durations import SECOND
from gamewarden.errors import MeasureError, ReadError
from gamewarden.features.folding import OnePass
from gamewarden.features.traffic.kernel import (
    CLEARED,
    DONE,
    PLAYER,
    STRIDE,
    UNKNOWN,
    Dictionary,
    Door,
    Known,
    Packets,
    Small,
    Whole,
    compact,
    enter,
    fold,
    settle,
    spread,
    strangers,
)
from gamewarden.learning.validation import Count, misfit
from gamewarden.tables import TRAFFIC

if TYPE_CHECKING:
    from gamewarden.features.traffic.recipe import TrafficTest

_TYPES = {
    "actor": pa.dictionary(pa.int32(), pa.string()),
    "at": pa.timestamp("us", "UTC"),
    "up": pa.bool_(),
    "size": pa.int32(),
}
_SCHEMA = pa.schema(_TYPES)
_BYTES = {np.int32: 4, np.int64: 8}
_LINE = 64  # bytes a cache line: a record that straddles two costs two waits
MOST_PLAYERS = 2**31 - 1  # their numbers have 32 bits
MOST_LETTERS = 1 << 50  # bytes of names: as many as there are
_STALE = 15 * SECOND  # who is new and silent for so long makes room where there is none; players send more often
_SHARE = 16  # so much of the players makes room at a time: one look at all of them is enough for a while
_ASKED_AGAIN = SECOND  # by the packets' clock: where nobody makes room, newcomers are refused for so long
_TOGETHER = 1 << 14  # players that go to sleep at a time
_ALWAYS = int(np.iinfo(np.int64).max)
_MAGIC = b"gamewarden traffic state 1\n"


class Tally(NamedTuple):
    """What a fold has seen so far."""

    players: Count = 0
    packets: Count = 0  # taken in, either way
    counted: Count = 0  # client packets
    decisions: Count = 0
    bots: Count = 0  # decisions that say bot
    backwards: Count = 0  # times that went backwards
    refused: Count = 0  # client packets of players for whom there was no place
    forgotten: Count = 0  # players that were silent for too long
    asleep: Count = 0  # players whose state is on disk
    woken: Count = 0  # times that one of them came back
    dropped: Count = 0  # silent players without a completed window that made room for others


_LATER = ("asleep", "woken", "dropped")  # what a state did not count before players could sleep


class _Head(NamedTuple):
    """What stands before the arrays of a state, beside the profile."""

    tally: Tally
    note: Mapping[str, str | int]


class Sleepers(Protocol):
    """Where players are who left memory with their state."""

    idle: int  # microseconds of silence after which a player with a completed window goes to sleep
    filter: NDArray[np.uint64]  # who is not in it does not sleep

    def lay(self, names: pa.Array, records: NDArray[np.void]) -> None:
        """Let these sleep."""

    def wake(self, names: pa.Array) -> tuple[Small, NDArray[np.void]]:
        """Which of these names slept, and their records; they do so no more."""

    def forget(self, before: int) -> int:
        """Let go of those whose last packet was before this time; how many there were."""


@dataclass(slots=True)
class Windows:
    """Windows completed by one push, in the order of their completion."""

    done: NDArray[np.void]
    fold: "Fold"
    names: pa.Array  # the batch's dictionary

    def __len__(self) -> int:
        return len(self.done)

    def frame(self) -> pl.DataFrame:
        """TRAFFIC rows."""
        done = self.done
        whole = {name: done[name].astype(np.int64) for name in TRAFFIC.columns if name in _COUNTS}
        flags = {name: done[name] for name in ("lengths", "regular", "peak", "bot")}
        autocorrelation = pl.Series(done["autocorrelation"])
        columns = {
            "actor": pl.Series(self.names.take(pa.array(done["actor"]))),
            "since": done["since"],
            "until": done["until"],
            "events": np.full(len(done), self.fold.test.win, np.int64),
            "autocorrelation": (autocorrelation == 1).set(autocorrelation < 0, None),
            "interarrival": done["regular"] | done["peak"],
            **whole,
            **flags,
        }
        table = pl.DataFrame({name: columns[name] for name in TRAFFIC.columns})
        return table.with_columns(pl.col("since", "until").cast(TRAFFIC.columns["since"]))


_NOBODY = np.zeros(1, np.uint64)  # the filter that has no name in it
_COUNTS = frozenset({"window", "gaps_over_1", "gaps_over_2", "sizes_over_1", "sizes_over_2", "votes", "valid"})


class Fold:
    """Every player's state. What comes out does not depend on how the packets were cut into batches."""

    def __init__(self, test: "TrafficTest", most: int = MOST_PLAYERS) -> None:
        """With `most` players at a time; who comes beyond them is counted and not judged."""
        self.test = test
        self.most = most
        self.letters = MOST_LETTERS  # bytes of their names, at most
        self.sleepers: Sleepers | None = None
        self.tally = Tally()
        self._limits = test.limits()
        self._records = _lines(0)
        self._starts = np.zeros(1, np.int64)
        self._text = np.zeros(0, np.uint8)
        self._table = np.zeros(1 << 10, np.uint64)
        self._done = np.empty(STRIDE, DONE)
        self._names = pa.array([], pa.string())  # of the last batch; kept, so that no other takes its place in memory
        self._place = _place_of(self._names)
        self._dictionary = Dictionary(*_text_of(self._names), np.zeros(0, np.int32))
        self._unmet = 0  # names of the dictionary that may be new players, at most
        self._longest_name = 0
        self._closed_until = -_ALWAYS  # newcomers beyond the most are refused before this time, and asked about then

    def push(self, batch: pa.RecordBatch) -> Windows:
        """Take the packets of a batch in; the windows they complete, in that order.

        Raises:
            MeasureError: a packet lacks a value or has a size that no payload has; then nothing of the batch counts.
        """
        rows = batch.num_rows
        packets = self._columns(batch)
        parts: list[NDArray[np.void]] = []
        for begin in range(0, rows, STRIDE):
            self._stride(packets, begin, min(begin + STRIDE, rows), parts)
        return Windows(parts[0] if len(parts) == 1 else np.concatenate([self._done[:0], *parts]), self, self._names)

    def forget(self, now: int, keep: int) -> None:
        """Let go of the players silent for longer than `keep` microseconds before `now`; they would start afresh.

        Who has not completed a window and would begin a new session goes too: nothing of them would be remembered.
        Where players may sleep, those who are idle go to sleep then.
        """
        records = self._records[: self.tally.players]
        gone = (records["at"] < now - keep) | ((records["window"] == 0) & (records["at"] < now - self.test.session_gap))
        count = int(np.count_nonzero(gone))
        if count:
            self._keep(~gone)
        if self.sleepers is not None:
            asleep = self.sleepers.forget(now - keep)
            self.tally = self.tally._replace(asleep=self.tally.asleep - asleep)
            count += asleep
            self._lay(self._with_history(now - self.sleepers.idle))
        self.tally = self.tally._replace(forgotten=self.tally.forgotten + count)

    def _with_history(self, before: int) -> NDArray[np.bool_]:
        """The players that have completed a window, and whose last packet was before this time."""
        records = self._records[: self.tally.players]
        found: NDArray[np.bool_] = (records["window"] > 0) & (records["at"] < before)
        return found

    def _lay(self, tired: NDArray[np.bool_]) -> None:
        """Let these players go to sleep."""
        players = np.flatnonzero(tired).astype(np.int32)
        if self.sleepers is None or not len(players):
            return
        for begin in range(0, len(players), _TOGETHER):
            part = players[begin : begin + _TOGETHER]
            self.sleepers.lay(self.names(part), self._records[part])
        self._keep(~tired)
        self.tally = self.tally._replace(asleep=self.tally.asleep + len(players))

    def _keep(self, stays: NDArray[np.bool_]) -> None:
        """Only these players stay; their number is counted anew."""
        count = compact(stays, self._known, self._records)
        self.tally = self.tally._replace(players=count)
        if 4 * count + 1024 < len(self._records):
            self._shrink(count)
        size = _places(count)
        if size == len(self._table):
            self._table.fill(0)
            enter(self._starts, self._text, count, self._table)
        else:
            self._table = spread(self._starts, self._text, count, size)
        self._dictionary.player.fill(UNKNOWN)
        self._unmet = len(self._names)
        self._closed_until = -_ALWAYS

    def _shrink(self, count: int) -> None:
        """Most have left: memory goes back."""
        records = _lines(count)
        records[:] = self._records[:count]
        self._records = records
        self._starts = self._starts[: count + 1].copy()
        self._text = self._text[: self._starts[count]].copy()

    @property
    def _known(self) -> Known:
        return Known(self._table, self._starts, self._text)

    def names(self, players: Small) -> pa.Array:
        """The actors of these players."""
        texts = pa.py_buffer(self._text[: self._starts[self.tally.players]])
        known = [None, pa.py_buffer(self._starts), texts]
        return pa.Array.from_buffers(pa.large_string(), self.tally.players, known).take(pa.array(players))

    @property
    def nbytes(self) -> int:
        """The memory all players take together: records, names and the table that finds them."""
        return self._records.nbytes + self._starts.nbytes + self._text.nbytes + self._table.nbytes

    def to_bytes(self, note: Mapping[str, Any] | None = None) -> bytes:
        """The whole state, to go on from later; `note` is what the caller wants to find beside it."""
        body = io.BytesIO()
        self.write_to(body, note)
        return body.getvalue()

    def write_to(self, file: BinaryIO, note: Mapping[str, Any] | None = None) -> None:
        """The same into a file, without a copy of the state in memory."""
        players = self.tally.players
        head = {"test": self.test.to_dict(), "tally": self.tally._asdict(), "note": dict(note or {})}
        arrays = (self._records[:players], self._starts[: players + 1], self._text[: self._starts[players]])
        parts = [canonical_json(head).encode() + b"\n", *(part for array in arrays for part in _written(array))]
        seal = hashlib.sha256()
        for part in parts:
            seal.update(part)
        file.write(_MAGIC + seal.hexdigest().encode() + b"\n")
        for part in parts:
            file.write(part)

    @classmethod
    def from_bytes(cls, state: bytes, test: "TrafficTest", most: int = MOST_PLAYERS) -> tuple[Self, dict[str, Any]]:
        """The fold as it was, and the caller's note.

        Raises:
            ReadError: these are not the bytes of a state, or the state is of another profile.
        """
        head, records, starts, text = _parts(state)
        if head.get("test") != json.loads(canonical_json(test.to_dict())):
            raise ReadError("the state was made with another profile of the traffic test; use that one, or start anew")
        self = cls(test, most)
        self.tally = Tally(**head["tally"])
        self._records = _lines(len(records))
        self._records[:] = records
        self._starts = starts.copy()
        self._text = text.copy()
        self._table = spread(self._starts, self._text, len(records), _places(len(records)))
        return self, head["note"]

    def _stride(self, packets: Packets, begin: int, end: int, parts: list[NDArray[np.void]]) -> None:
        """Take these packets in; where somebody may be asleep, or has to make room, that is settled in between."""
        while begin < end:
            self._make_room(end - begin)
            taken = fold(
                packets,
                begin,
                end,
                self._dictionary,
                self._known,
                self.tally.players,
                self._records,
                self._limits,
                self._done,
                self._door,
            )
            row, players, finished, counted, backwards, refused, bots = taken
            tally = self.tally
            self._unmet -= players - tally.players
            self.tally = Tally(
                players,
                tally.packets + row - begin,
                tally.counted + counted,
                tally.decisions + finished,
                tally.bots + bots,
                tally.backwards + backwards,
                tally.refused + refused,
                *tally[7:],
            )
            parts.append(_copied(self._done, finished))
            if row < end:
                self._answer(packets, row, end)
            begin = row

    @property
    def _door(self) -> Door:
        if self.sleepers is None:
            return Door(self.most, self.letters, _NOBODY, _ALWAYS)
        return Door(self.most, self.letters, self.sleepers.filter, self._closed_until)

    def _answer(self, packets: Packets, row: int, end: int) -> None:
        """The packet in this row is of somebody who may be asleep, or for whom there is no room."""
        asked = strangers(packets, row, end, self._dictionary, self._known, self._door.asleep)
        if len(asked) and asked[0] == packets.actor[row]:
            self._wake(asked, end - row)
        else:
            self._make_place(int(packets.at[row]))

    def _wake(self, asked: Small, packets: int) -> None:
        """Those of these names who sleep come back; all at once where nobody has to make room for them."""
        assert self.sleepers is not None  # noqa: S101  only they have a filter with somebody in it
        room = len(asked) + packets
        if self.tally.players + room > self.most or self._text_used + room * self._longest_name > self.letters:
            asked = asked[:1]
        names = self._names.take(pa.array(asked))
        found, records = self.sleepers.wake(names)
        if len(found):
            self._settle(names.take(pa.array(found)), records)
        self._dictionary.player[asked] = CLEARED

    def _settle(self, names: pa.Array, records: NDArray[np.void]) -> None:
        text, starts = _text_of(names)
        count, letters = len(records), int(starts[-1] - starts[0])
        while self.tally.players and (
            self.tally.players + count > self.most or self._text_used + letters > self.letters
        ):
            self._make_place_for_known()
        self._reserve(self.tally.players + count, self._text_used + letters)
        settle(starts, text, records, self._known, self.tally.players, self._records)
        tally = self.tally
        self.tally = tally._replace(
            players=tally.players + count, asleep=tally.asleep - count, woken=tally.woken + count
        )

    def _make_place(self, now: int) -> None:
        """Newcomers that fell silent make room for others; where none did, others are refused for a while."""
        silent = np.flatnonzero(self._fresh & (self._records["at"][: self.tally.players] <= now - _STALE))
        if len(silent):
            self._drop(silent)
        self._closed_until = _ALWAYS if now > _ALWAYS - _ASKED_AGAIN else now + _ASKED_AGAIN

    def _make_place_for_known(self) -> None:
        """Who comes back has a history: others with one go to sleep, which changes nothing, or newcomers go."""
        at = self._records["at"][: self.tally.players]
        old = at[~self._fresh]
        if len(old):
            latest = int(np.partition(old, min(self._share, len(old)) - 1)[min(self._share, len(old)) - 1])
            self._lay(self._with_history(latest + 1))
        else:
            self._drop(np.arange(self.tally.players))

    @property
    def _fresh(self) -> NDArray[np.bool_]:
        """The players without a completed window."""
        fresh: NDArray[np.bool_] = self._records["window"][: self.tally.players] == 0
        return fresh

    @property
    def _share(self) -> int:
        return max(self.tally.players // _SHARE, 1)

    def _drop(self, candidates: NDArray[np.intp]) -> None:
        """Those silent for longest among these newcomers go, of equal ones those that came first."""
        order = np.argsort(self._records["at"][candidates], kind="stable")
        stays = np.ones(self.tally.players, np.bool_)
        stays[candidates[order[: self._share]]] = False
        before = self.tally.players
        self._keep(stays)
        self.tally = self.tally._replace(dropped=self.tally.dropped + before - self.tally.players)

    @property
    def _text_used(self) -> int:
        return int(self._starts[self.tally.players])

    def _columns(self, batch: pa.RecordBatch) -> Packets:
        if batch.schema != _SCHEMA:
            batch = _with_types(batch)
        actor, at, up, size = batch.columns
        if actor.null_count or at.null_count or up.null_count or size.null_count:
            raise _lacking(batch)
        self._check(actor.dictionary)
        sizes = _values(size, np.int32)
        if sizes.view(np.uint32).max(initial=0) > self.test.longest:  # below 0 is beyond 2^31 here
            self._refuse_size(batch)
        return Packets(_values(actor, np.int32), _values(at, np.int64), *_bits(up), sizes)

    def _check(self, names: pa.Array) -> None:
        """Batches often share a dictionary: who its names are is looked up once."""
        place = _place_of(names)
        if place == self._place:
            return
        text, starts = _text_of(names)
        self._dictionary = Dictionary(text, starts, np.full(len(names), UNKNOWN, np.int32))
        self._unmet = len(names)
        self._longest_name = int(np.diff(starts).max(initial=0))
        self._names, self._place = names, place

    def _refuse_size(self, batch: pa.RecordBatch) -> None:
        size = batch.column("size")
        odd = pc.and_(batch.column("up"), pc.or_(pc.less(size, 0), pc.greater(size, self.test.longest)))
        for row in batch.filter(odd).slice(0, 1).to_pylist():
            raise MeasureError(
                f"traffic: a packet of {row['actor']} at {row['at'].isoformat()} has a payload of {row['size']} bytes; "
                f"from 0 to {self.test.longest} can be"
            )

    def _make_room(self, packets: int) -> None:
        if not self._unmet:
            return
        newcomers = max(min(packets, self._unmet, self.most - self.tally.players), 0)
        text = min(self._text_used + newcomers * self._longest_name, max(self.letters, self._text_used))
        self._reserve(self.tally.players + newcomers, text)

    def _reserve(self, most: int, text: int) -> None:
        """Memory for so many players, and so many bytes of their names."""
        players = self.tally.players
        if most > len(self._records):
            records = _lines(_more(most, self.most))
            records[:players] = self._records[:players]
            self._records = records
        self._starts = _grown(self._starts, players + 1, most + 1, self.most + 1)
        self._text = _grown(self._text, self._text_used, text, self.letters)
        if _places(most) > len(self._table):
            self._table = spread(self._starts, self._text, players, _places(most))


class WindowFold(OnePass):
    """The test over a stream that ends: every player's state, and all windows that were completed."""

    columns = PACKET_COLUMNS

    def __init__(self, test: "TrafficTest") -> None:
        self._fold = Fold(test)
        self._parts = [pl.DataFrame(schema=dict(TRAFFIC.columns))]

    def push(self, batch: pa.RecordBatch) -> None:
        """Take the packets of a batch in.

        Raises:
            MeasureError: a packet lacks a value or has a size that no payload has.
        """
        if windows := self._fold.push(batch):
            self._parts.append(windows.frame())

    def frame(self) -> pl.DataFrame:
        """TRAFFIC: one row per completed window, sorted by actor, then since."""
        return pl.concat(self._parts).sort("actor", "since", "window")


def _lacking(batch: pa.RecordBatch) -> MeasureError:
    name, column = next((name, batch.column(name)) for name in _TYPES if batch.column(name).null_count)
    return MeasureError(f"traffic: {column.null_count} packets have no {name}; every packet must have one")


def _with_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns needed, in their order; actors may come as plain text."""
    columns = {name: batch.column(name) for name in _TYPES}
    if columns["actor"].type != _TYPES["actor"]:
        columns["actor"] = columns["actor"].cast(_TYPES["actor"])
    for name, kind in _TYPES.items():
        if columns[name].type != kind:
            raise MeasureError(f"traffic: the packets' {name} is {columns[name].type}; it must be {kind}")
    return pa.record_batch(columns)


def _lines(count: int) -> NDArray[np.void]:
    """Records that each fill one cache line."""
    room = np.zeros(count * PLAYER.itemsize + _LINE, np.uint8)
    begin = -room.ctypes.data % _LINE
    return room[begin : begin + count * PLAYER.itemsize].view(PLAYER)


def _more(need: int, most: int) -> int:
    """Room to grow: a quarter beyond the need, and all there can be once that is less than twice the need.

    What is not touched takes no memory, and what need not grow again is not copied again.
    """
    return most if need <= most <= 2 * need else need + need // 4


def _grown(array: NDArray[Any], used: int, need: int, most: int) -> NDArray[Any]:
    if need <= len(array):
        return array
    larger = np.zeros(_more(need, most), array.dtype)
    larger[:used] = array[:used]
    return larger


def _places(players: int) -> int:
    """A power of two, at least 1,024, of which players take three quarters at most."""
    return 1 << max(10, (4 * players // 3).bit_length())


def _copied(done: NDArray[np.void], count: int) -> NDArray[np.void]:
    """The first of them as bytes, which takes less time than field by field."""
    return np.frombuffer(done[:count].tobytes(), DONE)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Arrow's buffers are mostly read-only, another type to the compiler: give it only that one."""
    if array.flags.writeable:
        array.flags.writeable = False
    return array


def _values(column: pa.Array, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """The numbers of a column, or those by which a dictionary's names are meant."""
    buffer, rows = column.buffers()[1], len(column)
    if buffer is None or not rows:
        return _frozen(np.zeros(0, dtype))
    return _frozen(np.frombuffer(buffer, dtype, rows, column.offset * _BYTES[dtype]))


def _bits(column: pa.BooleanArray) -> tuple[NDArray[np.uint8], int]:
    buffer = column.buffers()[1]
    return _frozen(np.zeros(1, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)), column.offset


def _text_of(names: pa.Array) -> tuple[NDArray[np.uint8], Whole]:
    if names.null_count:
        raise MeasureError(f"traffic: {names.null_count} actors of a batch have no name; every packet must have one")
    if not pa.types.is_string(names.type):
        names = names.cast(pa.string())
    _, places, texts = names.buffers()
    if places is None or texts is None or not len(names):
        return _frozen(np.zeros(1, np.uint8)), np.zeros(len(names) + 1, np.int64)
    starts = np.frombuffer(places, np.int32, len(names) + 1, names.offset * 4).astype(np.int64)
    return _frozen(np.frombuffer(texts, np.uint8)), starts


def _place_of(names: pa.Array) -> tuple[int, ...]:
    """Where they lie in memory."""
    return (len(names), names.offset, *(buffer.address if buffer else 0 for buffer in names.buffers()))


def _written(array: NDArray[Any]) -> tuple[bytes, memoryview]:
    """An array as NumPy writes it: what it is, and its bytes where they are."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    return head.getvalue(), np.ascontiguousarray(array).view(np.uint8).data


def _seal(content: memoryview) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


_SEAL = len(_seal(memoryview(b"")))
_LONGEST_HEAD = 4096  # bytes of the description of an array


def _parts(state: bytes) -> tuple[dict[str, Any], NDArray[np.void], Whole, NDArray[np.uint8]]:
    """Header and arrays, believed only when the digest fits."""
    magic = _MAGIC
    if not state.startswith(magic[: magic.rindex(b" ") + 1]):
        raise ReadError("this is no state of the traffic test; name another file, or remove it to start anew")
    if not state.startswith(magic):
        raise ReadError(f"the state is of another format than {magic.decode().strip()!r}; remove it to start anew")
    said, content = state[len(magic) : len(magic) + _SEAL], memoryview(state)[len(magic) + _SEAL :]
    if _seal(content) != said:
        raise ReadError("the state is damaged: its digest does not fit; restore it, or remove it to start anew")
    line = bytes(content[: state.find(b"\n", len(magic) + _SEAL) + 1 - len(magic) - _SEAL])
    head = _head(line)
    try:
        body = _Arrays(content[len(line) :])
        records, starts, text = (body.next() for _ in range(3))
    except (ValueError, TypeError, EOFError, OverflowError, SyntaxError, TokenError) as error:
        raise _contradicts() from error
    _refuse_misfits(head, records, starts, text)
    return head, records, starts, text


def _head(line: bytes) -> dict[str, Any]:
    try:
        head: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _contradicts() from error
    if isinstance(head, dict) and isinstance(head.get("tally"), dict):
        head["tally"] = dict.fromkeys(_LATER, 0) | head["tally"]
    if misfit(
        _Head, {name: part for name, part in head.items() if name != "test"} if isinstance(head, dict) else head, "it"
    ):
        raise _contradicts()
    return head


class _Arrays:
    """Arrays as NumPy writes them, one after the other; they stay where they are."""

    def __init__(self, content: memoryview) -> None:
        self._left = content

    def next(self) -> NDArray[Any]:
        """The next one, if as many bytes follow as it claims."""
        head = io.BytesIO(self._left[:_LONGEST_HEAD])
        version = np.lib.format.read_magic(head)
        shape, _, dtype = np.lib.format.read_array_header_1_0(head) if version == (1, 0) else ((-1,), False, None)
        if len(shape) != 1 or dtype is None or dtype.hasobject:
            raise ValueError("not a row of plain numbers")
        size = shape[0] * dtype.itemsize
        if not 0 <= size <= len(self._left) - head.tell():
            raise ValueError("an array of another size than its bytes")
        begin = head.tell()
        content, self._left = self._left[begin : begin + size], self._left[begin + size :]
        return np.frombuffer(content, dtype, shape[0]) if size else np.zeros(shape, dtype)


def _contradicts() -> ReadError:
    return ReadError("the state contradicts itself; restore it, or remove it to start anew")


def _refuse_misfits(head: dict[str, Any], records: NDArray[np.void], starts: Whole, text: NDArray[np.uint8]) -> None:
    fits = (
        records.dtype == PLAYER
        and starts.dtype == np.int64
        and text.dtype == np.uint8
        and records.shape == (head["tally"]["players"],)
        and starts.shape == (len(records) + 1,)
        and text.shape == (starts[-1],)
        and starts[0] == 0
        and bool((np.diff(starts) >= 0).all())
        and _are_names(starts, text)
    )
    if not fits:
        raise _contradicts()


def _are_names(starts: Whole, text: NDArray[np.uint8]) -> bool:
    """Whether the bytes between the starts are texts, which Arrow believes without looking."""
    names = pa.Array.from_buffers(pa.large_string(), len(starts) - 1, [None, pa.py_buffer(starts), pa.py_buffer(text)])
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
