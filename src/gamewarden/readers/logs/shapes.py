"""What a file's first bytes show: its format and the names of its columns."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from gamewarden.errors import EmptyError, ReadError
from gamewarden.readers.compression import UNREADABLE, Unpacked, foreign_format, unpack_to_disk
from gamewarden.readers.logs import delimited, jsonlines
from gamewarden.readers.logs.layout import PLAIN, Layout, advice, encoding_of
from gamewarden.readers.logs.paths import DEEPEST
from gamewarden.readers.places import File, blame_store, parquet_source
from gamewarden.readers.remote import RemoteFile
from gamewarden.tables import PARQUET_FAULTS, first_line

_HEAD = 1 << 20
_LONGEST_HEADER = 1 << 20
_PEEKED_LINES = 1_000  # JSON objects that are looked at for their keys
_MOST_PATHS = 1_000
_SHOWN = 30


@dataclass(frozen=True)
class Peek:
    """What a file's first bytes show: its format and the names of its columns."""

    path: File
    format: str
    packing: str | None
    names: tuple[str, ...]
    delimiter: str = ","
    encoding: str | None = None  # where it is not UTF-8
    nested: tuple[str, ...] = ()  # paths to what stands in columns that hold more than one value

    def has(self, name: str) -> bool:
        """Whether there is a column, or a nested value, of that name."""
        return name in self.names or name in self.nested

    @property
    def sound(self) -> tuple[str, ...]:
        """The columns that have a name of their own."""
        times = Counter(self.names)
        return tuple(name for name in self.names if name and times[name] == 1)

    @property
    def some(self) -> str:
        """The columns in one line."""
        return ", ".join(self.names[:_SHOWN]) + (" …" if len(self.names) > _SHOWN else "")


def peek(path: File, wanted: Sequence[str] = (), layout: Layout = PLAIN) -> Peek:
    """A file's format, by its content and not by its name, and the names of its columns.

    Raises:
        ReadError: it is empty, or not a table we read.
    """
    with Unpacked(path) as stream:
        head = stream.read(8)
        if not head:
            raise EmptyError(f"{path}: is empty; a log needs at least a header line")
        if foreign := foreign_format(head):
            raise ReadError(
                f"{path}: is {foreign}; write CSV, JSON Lines or Parquet, plain or packed with gzip or zstd"
            )
        if head.startswith(b"PAR1"):
            return _peek_parquet(path, stream.packing)
        encoding = encoding_of(head, layout.encoding)
        stream.put_back(head)
        stream.decode(encoding)
        line = first_line_of(stream)
        if b"\0" in line:
            raise ReadError(
                f"{path}: is not a table: its first line holds NUL bytes; if it is UTF-16, say encoding = "
                '"utf-16-le" or "utf-16-be" under [file] in a mapping file'
            )
        if b"\r" in line.rstrip(b"\r\n"):
            raise ReadError(f"{path}: its lines end with carriage returns alone; convert them to line feeds")
        if layout.line is not None:
            return Peek(path, "lines", stream.packing, layout.line.names, encoding=encoding)
        start = line.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith(b"{"):
            objects = _objects(line, stream)
            names = tuple(dict.fromkeys(key for found in objects for key in found))
            return Peek(path, "jsonl", stream.packing, names, encoding=encoding, nested=_paths(objects))
        if start.startswith(b"["):
            raise ReadError(
                f"{path}: begins like a JSON array; write one object a line, or say under [line] how lines read"
            )
        if encoding and UNREADABLE.encode() in line:
            raise ReadError(f"{path}: the first line is not {encoding}; {advice(path, encoding)}")
        delimiter, names = delimited.split_header(line, wanted, path, layout)
        return Peek(path, "csv", stream.packing, names, delimiter, encoding)


def open_parquet(path: File, unpacked: pa.NativeFile | None, dictionaries: Sequence[str]) -> pq.ParquetFile:
    """A Parquet file, its text columns in `dictionaries` as dictionaries.

    Raises:
        ReadError: it ends early or is damaged.
    """
    try:
        # Buffering ahead costs twice the processor time of decoding, and memory for whole row groups; from afar it is
        # one request for a row group instead of one for each of its columns.
        far = isinstance(path, RemoteFile) and not isinstance(unpacked, pa.OSFile)
        file = pq.ParquetFile(unpacked or parquet_source(path), read_dictionary=list(dictionaries), pre_buffer=far)
        _ = file.schema_arrow  # one that cannot be read shows only when asked for
    except PARQUET_FAULTS as error:
        blame_store(path, error)
        cut = any(words in str(error) for words in ("magic bytes", "smaller than", "file size"))
        what = "the Parquet file ends early or was not written whole" if cut else "the Parquet file is damaged"
        raise ReadError(f"{path}: {what} ({first_line(error)}); fetch it again") from error
    return file


def unpacked_parquet(path: File) -> pa.NativeFile | None:
    """A packed Parquet file, unpacked for jumping about; None if it is plain already."""
    with Unpacked(path) as stream:
        packing = stream.packing
    return unpack_to_disk(path) if packing else None


def _peek_parquet(path: File, packing: str | None) -> Peek:
    schema = open_parquet(path, unpacked_parquet(path), []).schema_arrow
    nested = (found for field in schema if pa.types.is_struct(field.type) for found in _fields(field, field.name, 1))
    return Peek(path, "parquet", packing, tuple(schema.names), nested=tuple(islice(nested, _MOST_PATHS)))


def _fields(field: pa.Field, path: str, depth: int) -> Iterator[str]:
    """The paths to the values in a struct."""
    for place in range(field.type.num_fields) if depth < DEEPEST else ():
        inner = field.type.field(place)
        below = f"{path}.{inner.name}"
        if pa.types.is_struct(inner.type):
            yield from _fields(inner, below, depth + 1)
        else:
            yield below


def _objects(line: bytes, stream: Unpacked) -> list[dict[str, object]]:
    lines = [line, *stream.read(_HEAD).split(b"\n")[:-1]][:_PEEKED_LINES]
    return [found for line in lines if (found := jsonlines.first_object(line))]


def _paths(objects: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """The paths to the values in objects within objects."""
    every = (
        below
        for found in objects
        for key, value in found.items()
        if isinstance(value, dict)
        for below in _keys_below(value, key, 1)
    )
    seen: dict[str, None] = {}
    for path in every:
        seen[path] = None
        if len(seen) == _MOST_PATHS:
            break
    return tuple(seen)


def _keys_below(found: Mapping[str, object], path: str, depth: int) -> Iterator[str]:
    for key, value in found.items() if depth < DEEPEST else ():
        below = f"{path}.{key}"
        if isinstance(value, dict):
            yield from _keys_below(value, below, depth + 1)
        else:
            yield below


def first_line_of(stream: Unpacked) -> bytes:
    """Read a stream up to and with the end of its first line that is not blank."""
    found, blank = b"", 0
    while not found.strip() and blank < _LONGEST_HEADER and (more := stream.read_line(_LONGEST_HEADER)):
        found = more
        blank += len(more)
    if len(found) >= _LONGEST_HEADER:
        raise ReadError(f"{stream.path}: is not a table: its first line is longer than {_LONGEST_HEADER >> 20} MiB")
    if not found.strip():
        where = "its first MiB holds" if blank >= _LONGEST_HEADER else "holds"
        raise EmptyError(f"{stream.path}: {where} only blank lines; a log needs at least a header line")
    return found
