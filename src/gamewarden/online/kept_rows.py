"""The events of one period under way, in a file that only grows: a restart reads them again, and nobody else does.

The file is a row of blocks. Each has its length and a checksum before it, so that a damaged one is noticed. How much of
the file counts is known to the state that was saved with it; what was written after that is cut off.
"""

import os
import struct
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO
from zlib import crc32

import pyarrow as pa

from gamewarden.core.files import make_directory, sync_name, unwritable
from gamewarden.errors import ReadError
from gamewarden.streams import PlainEvents
from gamewarden.tables import first_line

_HEAD = struct.Struct("<4sQI")  # who wrote it, how many bytes follow, their checksum
_MAGIC = b"gwlr"
_ANEW = "restore it, or remove the partition's directory and read the stream again"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class KeptRows:
    """Blocks of rows at rest; a new file, or one of which so many bytes and rows count."""

    def __init__(self, path: Path, length: int = 0, rows: int = 0) -> None:
        """Open the file, without what was written after the state was.

        Raises:
            ReadError: it is shorter than the state knows.
            WriteError: it cannot be written.
        """
        self.path = path
        self.length = length
        self.rows = rows
        try:
            make_directory(path.parent)
            self._file = path.open("ab", buffering=0)
            weakref.finalize(self, self._file.close)
            sync_name(path)
            there = os.fstat(self._file.fileno()).st_size
            if there >= length:
                self._file.truncate(length)
        except OSError as error:
            raise unwritable(path, error) from error
        if there < length:
            self._file.close()
            raise ReadError(f"{path}: has {there:,} bytes of the {length:,} that its state knows; {_ANEW}")

    def append(self, block: pa.RecordBatch) -> None:
        """Write rows behind the others.

        Raises:
            WriteError: the disk is full, or fails otherwise.
        """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, block.schema, options=_OPTIONS) as writer:
            writer.write_batch(block)
        data = sink.getvalue()
        left = memoryview(_HEAD.pack(_MAGIC, data.size, crc32(data)) + data.to_pybytes())
        self.length += len(left)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise unwritable(self.path, error) from error
        self.rows += block.num_rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in the order in which they came.

        Raises:
            ReadError: the file is damaged, or has no such column.
        """
        try:
            with self.path.open("rb") as file:
                place = 0
                while place < self.length:
                    head = file.read(_HEAD.size)
                    block = self._block(head, file, place)
                    place += _HEAD.size + block.size
                    yield from self._rows_of(block, columns)
        except OSError as error:
            raise ReadError(f"{self.path}: cannot be read ({error.strerror or error}); {_ANEW}") from error

    def sync(self) -> None:
        """What was written stays, whatever happens to the machine.

        Raises:
            WriteError: it cannot.
        """
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from error

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _block(self, head: bytes, file: IO[bytes], place: int) -> pa.Buffer:
        magic, size, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"", 0, 0)
        data = file.read(size) if magic == _MAGIC and place + _HEAD.size + size <= self.length else b""
        if magic != _MAGIC or len(data) != size or crc32(data) != checksum:
            raise ReadError(f"{self.path}: is damaged at byte {place:,}; {_ANEW}")
        return pa.py_buffer(data)

    def _rows_of(self, block: pa.Buffer, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in pa.ipc.open_stream(block):
                yield batch.select(list(columns))
        except KeyError:
            raise ReadError(
                f"{self.path}: was written without one of {', '.join(columns)}, which the models in force need; finish "
                "it with the models it was begun with, or remove the partition's directory and read the stream again"
            ) from None
        except pa.ArrowException as error:
            raise ReadError(f"{self.path}: is damaged ({first_line(error)}); {_ANEW}") from error


class KeptEvents(PlainEvents):
    """The same rows as a stream that a feature can be measured from."""

    def __init__(self, kept: KeptRows, columns: Sequence[str], shows: Callable[[], Mapping[str, int]]) -> None:
        self.columns = frozenset(columns)
        self._kept = kept
        self._shows = shows

    @property
    def shows(self) -> Mapping[str, int]:
        """What their source can show."""
        return self._shows()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows as they came."""
        return self._kept.batches(columns)
