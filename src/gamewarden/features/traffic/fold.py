"""The traffic test under way: every player's state, batches in, completed windows out.

`measure` and `watch` both call this, so the two cannot disagree.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gamewarden.contracts import PACKET_COLUMNS, canonical_json
from gamewarden.errors import MeasureError, ReadError
from gamewarden.features.folding import OnePass
from gamewarden.features.traffic.kernel import (
    DONE,
    PLAYER,
    STRIDE,
    Dictionary,
    Known,
    Packets,
    Small,
    Whole,
    fold,
    spread,
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
_LINE = 64  # bytes a cache line: a record that straddles two costs two waits
MOST_PLAYERS = 2**31 - 1  # their numbers have 32 bits
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


class _Head(NamedTuple):
    """What stands before the arrays of a state, beside the profile."""

    tally: Tally
    note: Mapping[str, str | int]


@dataclass(slots=True)
class Windows:
    """Windows completed by one push, in the order of their completion."""

    done: NDArray[np.void]
    fold: "Fold"

    def __len__(self) -> int:
        return len(self.done)

    def frame(self) -> pl.DataFrame:
        """TRAFFIC rows."""
        done = self.done
        whole = {name: done[name].astype(np.int64) for name in TRAFFIC.columns if name in _COUNTS}
        flags = {name: done[name] for name in ("lengths", "regular", "peak", "bot")}
        autocorrelation = pl.Series(done["autocorrelation"])
        columns = {
            "actor": pl.Series(self.fold.names(done["player"])),
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


_COUNTS = frozenset({"window", "gaps_over_1", "gaps_over_2", "sizes_over_1", "sizes_over_2", "votes", "valid"})


class Fold:
    """Every player's state. What comes out does not depend on how the packets were cut into batches."""

    def __init__(self, test: "TrafficTest", most: int = MOST_PLAYERS) -> None:
        """With `most` players at a time; who comes beyond them is counted and not judged."""
        self.test = test
        self.most = most
        self.tally = Tally()
        self._limits = test.limits()
        self._records = _lines(0)
        self._starts = np.zeros(1, np.int64)
        self._text = np.zeros(0, np.uint8)
        self._table = np.zeros(1 << 10, np.uint64)
        self._done = np.empty(STRIDE, DONE)
        self._names = pa.array([], pa.string())  # of the last batch; kept, so that no other takes its place in memory
        self._dictionary = Dictionary(*_text_of(self._names), np.zeros(0, np.int32))
        self._unmet = 0  # names of the dictionary that may be new players, at most
        self._longest_name = 0

    def push(self, batch: pa.RecordBatch) -> Windows:
        """Take the packets of a batch in; the windows they complete, in that order.

        Raises:
            MeasureError: a packet lacks a value or has a size that no payload has; then nothing of the batch counts.
        """
        rows = batch.num_rows
        packets = self._columns(batch)
        parts = [self._stride(packets, begin, min(begin + STRIDE, rows)) for begin in range(0, rows, STRIDE)]
        return Windows(parts[0] if len(parts) == 1 else np.concatenate([self._done[:0], *parts]), self)

    def forget(self, now: int, keep: int) -> None:
        """Let go of the players silent for longer than `keep` microseconds before `now`; they would start afresh.

        Who has not completed a window and would begin a new session goes too: nothing of them would be remembered.
        Windows that were completed before must have been read by then.
        """
        players = self.tally.players
        records = self._records[:players]
        gone = (records["at"] < now - keep) | ((records["window"] == 0) & (records["at"] < now - self.test.session_gap))
        count = int(np.count_nonzero(gone))
        if count:
            self._keep(~gone)
            self.tally = self.tally._replace(players=players - count, forgotten=self.tally.forgotten + count)

    def _keep(self, stays: NDArray[np.bool_]) -> None:
        lengths = np.diff(self._starts[: len(stays) + 1])
        self._text = self._text[: self._starts[len(stays)]][np.repeat(stays, lengths)]
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[stays])])
        records = _lines(int(np.count_nonzero(stays)))
        records[:] = self._records[: len(stays)][stays]
        self._records = records
        self._table = spread(self._starts, self._text, len(records), _places(len(records)))
        self._dictionary.player.fill(-1)
        self._unmet = len(self._names)

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
        players = self.tally.players
        head = {"test": self.test.to_dict(), "tally": self.tally._asdict(), "note": dict(note or {})}
        body = io.BytesIO()
        body.write(canonical_json(head).encode() + b"\n")
        for array in (self._records[:players], self._starts[: players + 1], self._text[: self._starts[players]]):
            np.lib.format.write_array(body, array, allow_pickle=False)
        content = body.getbuffer()
        return b"".join((_MAGIC, _seal(content), content))

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
        self._starts = starts
        self._text = text
        self._table = spread(starts, text, len(records), _places(len(records)))
        return self, head["note"]

    def _stride(self, packets: Packets, begin: int, end: int) -> NDArray[np.void]:
        self._make_room(end - begin)
        known = Known(self._table, self._starts, self._text)
        tally = self.tally
        players, finished, counted, backwards, refused = fold(
            packets,
            begin,
            end,
            self._dictionary,
            known,
            tally.players,
            self._records,
            self._limits,
            self._done,
            self.most,
        )
        self._unmet -= players - tally.players
        done = self._done[:finished].copy()
        self.tally = Tally(
            players=players,
            packets=tally.packets + end - begin,
            counted=tally.counted + counted,
            decisions=tally.decisions + finished,
            bots=tally.bots + int(np.count_nonzero(done["bot"])),
            backwards=tally.backwards + backwards,
            refused=tally.refused + refused,
            forgotten=tally.forgotten,
        )
        return done

    def _columns(self, batch: pa.RecordBatch) -> Packets:
        if batch.schema != _SCHEMA:
            batch = _with_types(batch)
        actor, at, up, size = batch.columns
        for name, column in zip(_TYPES, batch.columns, strict=True):
            if column.null_count:
                raise MeasureError(f"traffic: {column.null_count} packets have no {name}; every packet must have one")
        self._check(actor.dictionary)
        sizes = _values(size, np.int32)
        if sizes.view(np.uint32).max(initial=0) > self.test.longest:  # below 0 is beyond 2^31 here
            self._refuse_size(batch)
        return Packets(_values(actor.indices, np.int32), _values(at, np.int64), *_bits(up), sizes)

    def _check(self, names: pa.Array) -> None:
        """Batches often share a dictionary: who its names are is looked up once."""
        if _same_place(names, self._names):
            return
        text, starts = _text_of(names)
        self._dictionary = Dictionary(text, starts, np.full(len(names), -1, np.int32))
        self._unmet = len(names)
        self._longest_name = int(np.diff(starts).max(initial=0))
        self._names = names

    def _refuse_size(self, batch: pa.RecordBatch) -> None:
        size = batch.column("size")
        odd = pc.and_(batch.column("up"), pc.or_(pc.less(size, 0), pc.greater(size, self.test.longest)))
        for row in batch.filter(odd).slice(0, 1).to_pylist():
            raise MeasureError(
                f"traffic: a packet of {row['actor']} at {row['at'].isoformat()} has a payload of {row['size']} bytes; "
                f"from 0 to {self.test.longest} can be"
            )

    def _make_room(self, packets: int) -> None:
        players = self.tally.players
        newcomers = max(min(packets, self._unmet, self.most - players), 0)
        most = players + newcomers
        text = int(self._starts[players]) + newcomers * self._longest_name
        if most > len(self._records):
            records = _lines(_more(most))
            records[:players] = self._records[:players]
            self._records = records
        self._starts = _grown(self._starts, players + 1, most + 1)
        self._text = _grown(self._text, int(self._starts[players]), text)
        if 2 * most > len(self._table):
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


def _more(need: int) -> int:
    """Room to grow by half beyond the need: rarely copied, never twice the size."""
    return need + need // 2


def _grown(array: NDArray[Any], used: int, need: int) -> NDArray[Any]:
    if need <= len(array):
        return array
    larger = np.zeros(_more(need), array.dtype)
    larger[:used] = array[:used]
    return larger


def _places(players: int) -> int:
    """A power of two, at least twice the players and 1,024."""
    return 1 << max(10, (2 * players).bit_length())


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Arrow's buffers are mostly read-only, another type to the compiler: give it only that one."""
    array.flags.writeable = False
    return array


def _values(column: pa.Array, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return _frozen(np.zeros(0, dtype))
    return _frozen(np.frombuffer(buffer, dtype, len(column), column.offset * np.dtype(dtype).itemsize))


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


def _same_place(one: pa.Array, other: pa.Array) -> bool:
    def place(array: pa.Array) -> list[int]:
        return [len(array), array.offset, *(buffer.address if buffer else 0 for buffer in array.buffers())]

    return one.type == other.type and place(one) == place(other)


def _seal(content: memoryview) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


_SEAL = len(_seal(memoryview(b"")))


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
    body = io.BytesIO(content)
    head = _head(body.readline())
    try:
        records, starts, text = (_array(body) for _ in range(3))
    except (ValueError, TypeError, EOFError, OverflowError, SyntaxError, TokenError) as error:
        raise _contradicts() from error
    _refuse_misfits(head, records, starts, text)
    return head, records, starts, text


def _head(line: bytes) -> dict[str, Any]:
    try:
        head: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _contradicts() from error
    if misfit(
        _Head, {name: part for name, part in head.items() if name != "test"} if isinstance(head, dict) else head, "it"
    ):
        raise _contradicts()
    return head


def _array(body: io.BytesIO) -> NDArray[Any]:
    """The next array, if as many bytes follow as it claims."""
    begin = body.tell()
    version = np.lib.format.read_magic(body)
    shape, _, dtype = np.lib.format.read_array_header_1_0(body) if version == (1, 0) else ((-1,), False, None)
    if len(shape) != 1 or dtype is None or not 0 <= shape[0] * dtype.itemsize <= len(body.getbuffer()) - body.tell():
        raise ValueError("an array of another size than its bytes")
    body.seek(begin)
    array: NDArray[Any] = np.lib.format.read_array(body, allow_pickle=False)
    return array


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
