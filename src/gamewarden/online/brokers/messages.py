"""What a message holds: rows as an Arrow stream, or as JSON, an object a line; hostile until it was looked at.

A message is judged by its own bytes alone. So whoever reads it again, after a crash or in another process, takes the
same rows of it and leaves the same ones out.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.errors import GamewardenError, ReadError
from gamewarden.readers.pushed import EventRows, PacketRows, Shape, read_batch
from gamewarden.readers.timestamps import EARLIEST, LATEST
from gamewarden.tables import EVENTS, EVENTS_ARROW, PACKETS, TEXT_COLUMNS

LARGEST = 8 << 20  # bytes
MOST_ROWS = 1 << 20
LONGEST_TEXT = 4 << 10  # bytes
_ARROW = b"\xff\xff\xff\xff"  # how every Arrow stream begins
_COMPRESSION = 3  # the field of a record batch that says so
# A number of 13 digits or more is no second of our calendar (the year 9980 has twelve): it is microseconds.
_MICROSECONDS = re.compile(rb'("at"\s*:\s*)([0-9]{7,13})([0-9]{6})(?=\s*[,}])')
_NAME = pa.dictionary(pa.int32(), pa.string())
_UTC = pa.timestamp("us", "UTC")
_PACKET_TYPES = {"actor": _NAME, "at": _UTC, "up": pa.bool_(), "size": pa.int32()}
_NOT_IN_A_NAME = "[\n\r\x00]"


@dataclass(frozen=True)
class Rows:
    """The good rows of a message, and why others were left out."""

    batch: pa.RecordBatch
    left_out: tuple[str, ...] = ()


class Decoder:
    """Messages of packets or of events, as a work wants them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        packets = set(columns) <= set(PACKETS.columns) and "up" in columns
        self._shape: Shape = PacketRows() if packets else EventRows()
        self._types = _PACKET_TYPES if packets else {field.name: field.type for field in EVENTS_ARROW}
        self._required = frozenset(_PACKET_TYPES if packets else EVENTS.required)

    def __call__(self, message: bytes) -> Rows:
        """The rows of a message.

        Raises:
            ReadError: there is nothing in it that can be read; then it is left out whole.
        """
        if len(message) > LARGEST:
            raise ReadError(f"{len(message):,} bytes are too many for a message (at most {LARGEST:,})")
        if message.startswith(_ARROW):
            return Rows(self._from_arrow(message))
        if message.lstrip()[:1] == b"{":
            return self._from_json(message)
        raise ReadError(f"it begins with {message[:8]!r}, which is neither an Arrow stream nor JSON")

    def _from_json(self, message: bytes) -> Rows:
        said = _MICROSECONDS.sub(rb"\1\2.\3", message)
        try:
            pushed = read_batch([said], self._shape)
        except GamewardenError as error:
            raise ReadError(str(error)) from error
        if not pushed.rows.num_rows:
            raise ReadError("; ".join(map(str, pushed.report.bad)) or "it has no row")
        batch = self._chosen(pushed.rows.combine_chunks().to_batches()[0])
        return Rows(batch, tuple(map(str, pushed.report.bad)))

    def _from_arrow(self, message: bytes) -> pa.RecordBatch:
        try:
            _refuse_compressed(message)
            with pa.ipc.open_stream(message, options=pa.ipc.IpcReadOptions(use_threads=False)) as stream:
                self._refuse_types(stream.schema)
                table = stream.read_all().select([name for name in self._types if name in stream.schema.names])
            table.validate(full=True)
        except (pa.ArrowException, struct.error, OSError, ValueError, KeyError, IndexError, OverflowError) as error:
            raise ReadError(f"its Arrow stream is damaged ({' '.join(str(error).split())[:200]})") from error
        if not 0 < table.num_rows <= MOST_ROWS:
            raise ReadError(f"it has {table.num_rows:,} rows; from 1 to {MOST_ROWS:,} can be")
        return self._chosen(table.combine_chunks().to_batches()[0])

    def _refuse_types(self, schema: pa.Schema) -> None:
        """Before anything of the columns is read."""
        if len(set(schema.names)) != len(schema.names):
            raise ReadError("two of its columns have the same name")
        for field in schema:
            if field.name in self._types and not _may_become(field.type, self._types[field.name]):
                wanted = self._types[field.name]
                raise ReadError(f"its {field.name} is {str(field.type)[:80]}; it must be {wanted}")
        if missing := [name for name in self._types if name in self._required and name not in schema.names]:
            raise ReadError(f"it lacks the column {missing[0]}")

    def _chosen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns that are wanted, in their types, all values possible."""
        columns = {name: self._column(batch, name) for name in self._columns}
        return pa.record_batch(list(columns.values()), names=list(columns))

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        kind = self._types[name]
        if name not in batch.schema.names:
            return pa.nulls(batch.num_rows, kind)
        column = _as(batch.column(name), kind, name)
        if name in self._required and column.null_count:
            raise ReadError(f"{column.null_count:,} of its rows have no {name}")
        _refuse_impossible(column, name)
        return column


def _may_become(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if _is_text(wanted):
        return _is_text(kind)
    if pa.types.is_timestamp(wanted):
        return pa.types.is_timestamp(kind) and kind.tz is not None
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
    return bool(kind == wanted or (pa.types.is_integer(wanted) and pa.types.is_integer(kind)))


def _is_text(kind: pa.DataType) -> bool:
    """Text, or a dictionary of texts by their number."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _as(column: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    """A column in the type that is wanted; of events' texts a dictionary may stay one."""
    try:
        if _is_text(wanted) and pa.types.is_dictionary(column.type):
            return column if column.type == _NAME else column.cast(_NAME)
        finer = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        return column if column.type == wanted else column.cast(wanted, safe=not finer)
    except (pa.ArrowException, NotImplementedError) as error:
        raise ReadError(f"its {name} cannot be {wanted} ({' '.join(str(error).split())[:120]})") from error


def _refuse_impossible(column: pa.Array, name: str) -> None:
    if name == "at":
        span = pc.min_max(column.cast(pa.int64())).as_py()
        if span["min"] is not None and not EARLIEST <= span["min"] <= span["max"] <= LATEST:
            raise ReadError("one of its times is outside the years 20 to 9979")
    elif name in TEXT_COLUMNS:
        _refuse_texts(column.dictionary if pa.types.is_dictionary(column.type) else column, name)
    elif pa.types.is_floating(column.type) and pc.all(pc.is_finite(column)).as_py() is False:
        raise ReadError(f"one of its values of {name} is no finite number")


def _refuse_texts(texts: pa.Array, name: str) -> None:
    """Texts as long as a name, in which no line ends; who acts has one."""
    lengths = pc.min_max(pc.binary_length(texts)).as_py()
    if lengths["max"] is not None and lengths["max"] > LONGEST_TEXT:
        raise ReadError(f"one of its texts of {name} has more than {LONGEST_TEXT:,} bytes")
    if name in {"actor", "kind"} and (lengths["min"] == 0 or texts.null_count):
        raise ReadError(f"one of its texts of {name} is empty")
    if pc.any(pc.match_substring_regex(texts, _NOT_IN_A_NAME)).as_py():
        raise ReadError(f"one of its texts of {name} holds a line break or a NUL byte")


def _refuse_compressed(message: bytes) -> None:
    """A few bytes can claim to unpack to terabytes; who wants to pack lets the broker do it."""
    reader = pa.ipc.MessageReader.open_stream(message)
    while True:
        try:
            part = reader.read_next_message()
        except StopIteration:
            return
        if part.type in {"record batch", "dictionary"} and _is_compressed(part.metadata.to_pybytes(), part.type):
            raise ReadError("its Arrow buffers are compressed; send them plain, and let the producer compress messages")


def _is_compressed(metadata: bytes, kind: str) -> bool:
    """Whether a record batch says that its buffers are compressed: a field of a flatbuffer that Arrow has verified."""
    (root,) = struct.unpack_from("<I", metadata, 0)
    header = _inner(metadata, root, 2)
    batch = _inner(metadata, header, 1) if kind == "dictionary" else header
    return _place(metadata, batch, _COMPRESSION) is not None


def _place(data: bytes, table: int, field: int) -> int | None:
    """Where a field of a flatbuffer's table stands, if the table has it."""
    (back,) = struct.unpack_from("<i", data, table)
    (size,) = struct.unpack_from("<H", data, table - back)
    entry = 4 + 2 * field
    (place,) = struct.unpack_from("<H", data, table - back + entry) if entry < size else (0,)
    return table + place if place else None


def _inner(data: bytes, table: int, field: int) -> int:
    place = _place(data, table, field)
    if place is None:
        raise ValueError("a part has no content")
    (ahead,) = struct.unpack_from("<I", data, place)
    return place + int(ahead)


def encoded(rows: pa.RecordBatch) -> bytes:
    """Rows as a message: an Arrow stream, in which dictionaries hold only the names that occur."""
    columns = [_trimmed(column) for column in rows.columns]
    batch = pa.record_batch(columns, names=rows.schema.names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _trimmed(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        plain = column.cast(column.type.value_type)
        return plain.dictionary_encode()
    return column
