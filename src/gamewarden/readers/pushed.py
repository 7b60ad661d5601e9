"""A batch that a game server pushes: one JSON object a line, perhaps packed with gzip, checked row by row.

Rows follow the rules of JSON Lines logs in our own column names. Lines that are all plain go through Arrow at once; a
block of lines that surprises it is looked at line by line, so that it can be said which row is at fault and why.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.errors import ReadError
from gamewarden.readers.logs.jsonlines import first_object, line_by_line, parsed
from gamewarden.readers.logs.mapping import IDENTITY
from gamewarden.readers.logs.normalize import ROW, Conform
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.row_report import Fault, Report, Tally, shorten
from gamewarden.readers.timestamps import EARLIEST, LATEST, Mask, TimeReader
from gamewarden.tables import EVENTS, EVENTS_ARROW, TEXT_COLUMNS

LONGEST_LINE = 64 << 10
LARGEST_UNPACKED = 256 << 20
_BLOCK = 1 << 20
_SHOWN_KEYS = 10
_SAMPLE = 16  # lines
_EPOCH = pa.decimal128(38, 6)
_UTC = pa.timestamp("us", "UTC")
_WITH_MINUTES = len("2026-11-17T01:02Z")  # shorter ones Arrow takes for times and we do not
_ESCAPED = (b"\\n", b"\\r", b"\\u0000")  # line ends and NUL in a text, which names must not have
_FLOATS = ("x", "y", "amount")
_WHOLE = {"seq": pa.int64(), "level": pa.int64()}
_EVENT_KEYS = tuple(EVENTS.columns)
PACKETS_ARROW = pa.schema([("actor", pa.string()), ("at", _UTC), ("up", pa.bool_()), ("size", pa.int32())])
_LARGEST_SIZE = (1 << 31) - 1


@dataclass(frozen=True)
class Clock:
    """What the times of pushed rows are read by: a zone for those that have none, and which of them can be true."""

    time_zone: str | None = None
    plausible: Plausible = ANY_TIME


@dataclass(frozen=True)
class Pushed:
    """A batch that was read: its good rows, what was wrong with others, and what nobody asked for."""

    rows: pa.Table
    report: Report
    ignored: tuple[str, ...]  # keys of the first line that no column is called
    digest: str  # of the unpacked lines

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with some of its rows."""
        return (*self.report.bad, *self.report.nulled)


class Shape(Protocol):
    """A table that is pushed."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What its rows may have."""

    def at_once(self, block: bytes, tally: Tally) -> pa.Table | None:
        """The rows of a block whose every line is plain and good; None where one is not."""

    def looked_at(self, block: bytes, row: int, tally: Tally) -> pa.Table:
        """The good rows of any block; what is wrong with the others is counted."""


@dataclass(frozen=True)
class EventRows:
    """Events."""

    clock: Clock = field(default_factory=Clock)
    keys: tuple[str, ...] = _EVENT_KEYS

    def at_once(self, block: bytes, tally: Tally) -> pa.Table | None:
        """The events of a block whose every line is plain and good."""
        if any(sign in block for sign in _ESCAPED):
            return None
        table = parsed(block, _plain_schema(block))
        if table is None or not all(_is_good(table.column(name), name) for name in table.column_names):
            return None
        at = _moments(table.column("at"))
        if at is None or not self.clock.plausible.hold(at.cast(pa.int64()).to_numpy()):
            return None
        try:
            rows = table.set_column(table.column_names.index("at"), "at", at).cast(EVENTS_ARROW)
        except pa.ArrowInvalid:
            return None
        if not all(_is_finite(rows.column(name)) for name in _FLOATS):
            return None
        tally.rows += rows.num_rows
        return rows

    def looked_at(self, block: bytes, row: int, tally: Tally) -> pa.Table:
        """The good events of any block."""
        raw = line_by_line(block, row, self.keys, tally)
        conform = Conform(IDENTITY, TimeReader(time_zone=self.clock.time_zone), tally, plausible=self.clock.plausible)
        frame = conform(raw, self.keys).select(self.keys)
        return frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(EVENTS_ARROW)


@dataclass(frozen=True)
class PacketRows:
    """Packets: who, when, whether from the client to the server, and how many bytes of payload."""

    clock: Clock = field(default_factory=Clock)
    keys: tuple[str, ...] = tuple(PACKETS_ARROW.names)

    def at_once(self, block: bytes, tally: Tally) -> pa.Table | None:
        """The packets of a block whose every line is plain and good."""
        if any(sign in block for sign in _ESCAPED):
            return None
        numbers = _numbers(block)
        types = {name: pa.int64() if name == "actor" and name in numbers else pa.string() for name in ("actor", "at")}
        times = {"at": _EPOCH} if "at" in numbers else {}
        table = parsed(block, pa.schema({**types, **times, "up": pa.bool_(), "size": pa.int64()}))
        if table is None or any(table.column(name).null_count for name in self.keys):
            return None
        at = _moments(table.column("at"))
        sizes = pc.min_max(table.column("size")).as_py()
        if (
            at is None
            or not _is_good(table.column("actor"), "actor")
            or not 0 <= sizes["min"] <= sizes["max"] <= _LARGEST_SIZE
        ):
            return None
        if not self.clock.plausible.hold(at.cast(pa.int64()).to_numpy()):
            return None
        tally.rows += table.num_rows
        return table.set_column(1, "at", at).cast(PACKETS_ARROW)

    def looked_at(self, block: bytes, row: int, tally: Tally) -> pa.Table:
        """The good packets of any block."""
        raw = line_by_line(block, row, self.keys, tally)
        tally.rows += raw.height
        moments = TimeReader(time_zone=self.clock.time_zone).read(raw["at"])
        size = raw["size"].str.strip_chars().cast(pl.Int64, strict=False)
        up = raw["up"].replace_strict({"true": True, "false": False, "1": True, "0": False}, default=None)
        name = raw["actor"]
        faults = {
            "actor is missing": ("actor", (name.fill_null("") == "").to_numpy()),
            "actor holds a line break or a NUL byte": ("actor", _broken(name)),
            "time is missing": ("at", raw["at"].is_null().to_numpy()),
            **{
                why: ("at", mask) for why, mask in {**moments.faults, **self.clock.plausible.faults(moments.at)}.items()
            },
            "up is neither true nor false": ("up", up.is_null().to_numpy()),
            "size is not a whole number of bytes": ("size", ~_fits(size)),
        }
        bad = np.zeros(raw.height, np.bool_)
        for reason, (column, mask) in faults.items():
            if count := int(np.count_nonzero(mask & ~bad)):
                first = int(np.argmax(mask & ~bad))
                tally.add("bad", reason, count, int(raw[ROW][first]) + 1, raw[column][first])
            bad |= mask
        good = pl.DataFrame({"actor": name, "at": moments.at, "up": up.cast(pl.Boolean), "size": size})
        kept = good.filter(pl.Series(~bad))
        return kept.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(PACKETS_ARROW)


SHAPES: Mapping[str, type[EventRows] | type[PacketRows]] = {"events": EventRows, "packets": PacketRows}


def read_batch(body: Iterable[bytes], shape: Shape, *, packed: bool = False) -> Pushed:
    """Read a batch; what is wrong with its rows stands in the report.

    Raises:
        ReadError: it is damaged, too large, has a line that is too long, or no line at all.
    """
    tally, parts, digest = Tally("the batch", 1.0), list[pa.Table](), hashlib.blake2b(digest_size=16)
    ignored: tuple[str, ...] = ()
    row = 0
    for block in _blocks(_unpacked(body) if packed else _limited(body)):
        digest.update(block)
        digest.update(b"\n")
        if not row:
            ignored = _ignored(block, shape.keys)
        found = shape.at_once(block, tally)
        parts.append(shape.looked_at(block, row, tally) if found is None else found)
        row += sum(1 for line in block.split(b"\n") if line.strip()) if found is None else found.num_rows
    if not row:
        raise ReadError("the batch has no line; send one JSON object a line")
    rows = pa.concat_tables(parts).combine_chunks()
    tally.kept = rows.num_rows
    return Pushed(rows, tally.report(), ignored, digest.hexdigest())


def _limited(body: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in body:
        for begin in range(0, len(chunk), _BLOCK):
            yield chunk[begin : begin + _BLOCK]


def _unpacked(body: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes in gzip members, as many at a time as a block, and not more in all than is allowed."""
    unpack, total, ended = zlib.decompressobj(wbits=31), 0, True
    for chunk in body:
        rest = chunk
        while rest:
            if unpack.eof:
                unpack = zlib.decompressobj(wbits=31)
            ended = False
            try:
                some = unpack.decompress(rest, _BLOCK)
            except zlib.error as error:
                raise ReadError(f"the batch is not gzip ({error}); pack it again, or send it plain") from error
            total += len(some)
            if total > LARGEST_UNPACKED:
                raise ReadError(f"the batch unpacks to more than {LARGEST_UNPACKED >> 20} MiB; send smaller batches")
            if some:
                yield some
            ended = unpack.eof
            rest = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
    if not ended:
        raise ReadError("the batch ends early: its gzip has no end; send it again whole")


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, about a block at a time.

    Raises:
        ReadError: a line is too long.
    """
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size < _BLOCK:
            continue
        head, newline, tail = b"".join(held).rpartition(b"\n")
        held, size = [tail], len(tail)
        if newline:
            yield from _lines(head)
        if len(tail) > LONGEST_LINE:
            raise _too_long(tail)
    yield from _lines(b"".join(held))


def _lines(block: bytes) -> Iterator[bytes]:
    """A block without empty lines at its ends, if anything is in it."""
    block = block.strip(b"\r\n")
    if not block.strip():
        return
    breaks = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    lengths = np.diff(breaks, prepend=-1, append=len(block)) - 1
    if lengths.max() > LONGEST_LINE:
        longest = int(lengths.argmax())
        raise _too_long(block[int(breaks[longest - 1]) + 1 if longest else 0 :][: LONGEST_LINE + 1])
    yield block


def _too_long(line: bytes) -> ReadError:
    return ReadError(
        f"the batch has a line of more than {LONGEST_LINE >> 10} KiB that begins {shorten(line)}; one event a line"
    )


def _ignored(block: bytes, keys: tuple[str, ...]) -> tuple[str, ...]:
    first = first_object(block.partition(b"\n")[0]) or {}
    return tuple(name for name in first if name not in keys)[:_SHOWN_KEYS]


def _plain_schema(block: bytes) -> pa.Schema:
    """What plain lines of events look like: ids and times may be numbers, as the first lines have them."""
    numbers = _numbers(block)
    types: dict[str, pa.DataType] = {name: pa.int64() if name in numbers else pa.string() for name in TEXT_COLUMNS}
    types |= {"at": _EPOCH if "at" in numbers else pa.string(), **_WHOLE, **dict.fromkeys(_FLOATS, pa.float64())}
    return pa.schema([(name, types[name]) for name in EVENTS.columns])


def _numbers(block: bytes) -> set[str]:
    """The keys that are numbers in the first lines."""
    found: set[str] = set()
    for line in block.split(b"\n", _SAMPLE)[:_SAMPLE]:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict):
                found |= {key for key, one in value.items() if isinstance(one, int | float)}
    return found


def _is_good(column: pa.ChunkedArray, name: str) -> bool:
    """Whether a column of parsed lines has all that it needs, and no empty text, which would be none."""
    if name in EVENTS.required and column.null_count:
        return False
    return not (pa.types.is_string(column.type) and _has_empty(column))


def _has_empty(column: pa.ChunkedArray) -> bool:
    return bool(pc.min(pc.binary_length(column)).as_py() == 0)


def _is_finite(column: pa.ChunkedArray) -> bool:
    return column.null_count == len(column) or bool(pc.all(pc.is_finite(column)).as_py())


def _moments(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The times of a column: ISO 8601 with a zone, or seconds since 1970; None where one is written otherwise."""
    try:
        if pa.types.is_decimal(column.type):
            return _since_1970(column)
        if pc.min(pc.binary_length(column)).as_py() < _WITH_MINUTES:
            return None
        return column.cast(_UTC)  # which refuses a time without a zone
    except pa.ArrowInvalid:
        return None


def _since_1970(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Seconds with six decimals are whole microseconds, the lower half of each number as it stands in memory."""
    narrow = column.cast(pa.decimal128(18, 6)).cast(_EPOCH).combine_chunks()
    words = np.frombuffer(narrow.buffers()[1], np.int64)[2 * narrow.offset :]
    micros = words[: 2 * len(narrow) : 2]
    if len(micros) and not EARLIEST <= micros.min() <= micros.max() <= LATEST:
        return None
    return pa.chunked_array([pa.array(micros).cast(_UTC)])


def _broken(names: pl.Series) -> Mask:
    return names.str.contains("[\n\r\x00]").fill_null(False).to_numpy()


def _fits(sizes: pl.Series) -> Mask:
    return sizes.is_between(0, _LARGEST_SIZE).fill_null(False).to_numpy()
