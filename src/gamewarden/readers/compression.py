"""The bytes of a log file, unpacked while they are read, so that no file is ever whole in memory."""

import codecs
import hashlib
import io
import re
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Protocol

import pyarrow as pa

from gamewarden.errors import ReadError
from gamewarden.readers.places import File, open_bytes, size_of
from gamewarden.readers.sameness import Expected
from gamewarden.tables import first_line

CHUNK = 1 << 20
# Parquet is compressed already: packed once more it hardly shrinks, so a file beyond this was made to fill a disk.
LARGEST_PARQUET_RATIO = 100
_BY_HANDLE = Path("/dev/fd").is_dir()  # whether an open file can be opened again when it has no name
_LONGEST_LINE = 8 << 20  # beyond this it is no row, as every reader of rows says; so it need not be kept whole
_ZEROS = re.compile(rb"\0*")
_FIRST_BITE = 1 << 8  # of a gzip member; what is left after its end is copied, so that a short one must not see much
_ZSTD_CHUNK = 1 << 16  # on a damaged file everything before the last chunk is still there

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_FOREIGN = {
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ\x00": "packed with xz",
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x04\x22\x4d\x18": "packed with lz4",
    b"ARROW1": "an Arrow file",
    b"ORC": "an ORC file",
    b"SQLite format 3": "an SQLite database",
    b"PARE": "an encrypted Parquet file",
}


UNREADABLE = "\ufdd0\ufdef\ufdd1"  # Unicode keeps these from all text; together they stand for bytes that are none
MARKING = "gamewarden-mark-bytes"  # as a way to meet errors, known to every codec
codecs.register_error(MARKING, lambda error: (UNREADABLE, getattr(error, "end", 0)))


class EndsEarly(ReadError):  # noqa: N818 - it says what happened, as our messages do
    """A packed file stops before its end."""


@dataclass(frozen=True)
class Content:
    """What a file holds, told apart from any other: a digest of its unpacked bytes and of its known beginnings."""

    digest: str
    size: int
    ends_with_newline: bool
    beginnings: dict[int, str]  # length -> digest of that many first bytes


class Unpacked(io.RawIOBase):
    """A file's unpacked bytes, to be read once from start to end.

    A packed file that stops before its end raises EndsEarly at that place; with `keep_truncated` the whole lines
    before it are all there is, and `ended_early` says so afterwards. With `only` a file is read as far as that
    content goes, and refused at its end if it holds anything else. Text in another `encoding` comes out as UTF-8, with
    a mark for bytes that are none of it.
    """

    def __init__(
        self, path: File, *, keep_truncated: bool = False, only: Content | None = None, encoding: str | None = None
    ) -> None:
        super().__init__()
        self.path = path
        self.ended_early = False
        # Where it cannot be opened, Python closes what there is of us, and since 3.13 says aloud what fails in that.
        self._file: IO[bytes] = io.BytesIO()
        self._file = open_file(path)
        self.packing = packing_of(self._file.read(8))
        self._file.seek(0)
        chunks = self._whole_lines() if keep_truncated else self._unpack()
        self._chunks = chunks if only is None else Expected(str(path), only.size, only.digest).only(chunks)
        self._chunk, self._start = b"", 0  # what was unpacked last, and how much of it was given out
        self.decode(encoding)

    def readable(self) -> bool:
        """Always, until closed."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        parts, have = [], 0
        while (size < 0 or have < size) and self._filled():
            parts.append(self._take(len(self._chunk) if size < 0 else size - have))
            have += len(parts[-1])
        return b"".join(parts)

    def read_line(self, longest: int) -> bytes:
        """Up to and with the next end of line, or `longest` bytes."""
        parts, have = [], 0
        while have < longest and self._filled():
            end = self._chunk.find(b"\n", self._start, self._start + longest - have) + 1
            parts.append(self._take(end - self._start if end else longest - have))
            have += len(parts[-1])
            if end:
                break
        return b"".join(parts)

    def put_back(self, data: bytes) -> None:
        """Let the next reading begin with these bytes."""
        self._chunk, self._start = data + self._chunk[self._start :], 0

    def decode(self, encoding: str | None) -> None:
        """Give out what is left as UTF-8, where it is in another encoding."""
        if encoding is not None:
            self._chunks = _as_utf8(chain([self._chunk[self._start :]], self._chunks), encoding)
            self._chunk, self._start = b"", 0

    def _filled(self) -> bool:
        """Whether there is anything left to give out."""
        while self._start >= len(self._chunk):
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._chunk, self._start = chunk, 0
        return True

    def _take(self, size: int) -> bytes:
        piece = self._chunk[self._start : self._start + size]
        self._start += len(piece)
        return piece

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        super().close()

    def _unpack(self) -> Iterator[bytes]:
        match self.packing:
            case "gzip":
                return _gunzip(self._file, self.path)
            case "zstd":
                return _unzstd(self._file, self.path)
            case _:
                return _plain(self._file, self.path)

    def _whole_lines(self) -> Iterator[bytes]:
        held = bytearray()  # of a line whose end has not come yet
        try:
            for chunk in self._unpack():
                end = chunk.rfind(b"\n") + 1
                held += chunk[:end]
                if end or len(held) > _LONGEST_LINE:
                    yield bytes(held)
                    held.clear()
                held += chunk[end:]
        except EndsEarly:
            self.ended_early = True
        else:
            yield bytes(held)


def _as_utf8(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(MARKING)
    for chunk in chunks:
        if text := decoder.decode(chunk):
            yield text.encode(errors=MARKING)
    if text := decoder.decode(b"", final=True):
        yield text.encode(errors=MARKING)


def open_file(path: File) -> IO[bytes]:
    """A regular file or an object of a store, opened.

    Raises:
        ReadError: there is none, it is a directory or a pipe, or it may not be read.
    """
    if isinstance(path, Path) and path.is_dir():
        inside = "holds nothing" if not any(path.iterdir()) else "is a directory, not a log file"
        raise ReadError(f"{path}: {inside}; name the files to read")
    if isinstance(path, Path) and path.exists() and not path.is_file():
        raise ReadError(f"{path}: is not a regular file; write it to a file first, since it is read more than once")
    try:
        return open_bytes(path)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error


def packing_of(head: bytes) -> str | None:
    """The packing a file's first bytes show, whatever its name says."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def foreign_format(head: bytes) -> str | None:
    """What else a file is that we do not read, in words."""
    return next((words for magic, words in _FOREIGN.items() if head.startswith(magic)), None)


def content_of(path: File, beginnings: Sequence[int] = (), *, keep_truncated: bool = False) -> Content:
    """Digest a file's unpacked bytes in one pass, and its first bytes at each of the lengths asked for.

    Raises:
        ReadError: the file cannot be read to its end.
    """
    with Unpacked(path, keep_truncated=keep_truncated) as stream:
        return content_in(stream, beginnings)


class Readable(Protocol):
    """What gives the next bytes, none at its end."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` of them."""


def content_in(stream: Readable, beginnings: Sequence[int] = ()) -> Content:
    """Digest what is left of a stream, and its first bytes at each of the lengths asked for."""
    running, size, last, found = hashlib.sha256(), 0, b"", {}
    marks = sorted(set(beginnings), reverse=True)
    while chunk := stream.read(CHUNK):
        begin = size
        while marks and marks[-1] <= begin + len(chunk):
            mark = marks.pop()
            running.update(chunk[size - begin : mark - begin])
            found[mark], size = running.hexdigest(), mark
        running.update(chunk[size - begin :])
        size = begin + len(chunk)
        last = chunk[-1:]
    return Content(running.hexdigest(), size, last == b"\n", found)


def unpack_to_disk(path: File) -> pa.NativeFile:
    """The unpacked file as a temporary file without a name, for formats that need to jump about.

    Raises:
        ReadError: the file is damaged, unpacks to far more than its size, or the disk is full.
    """
    try:
        # Without a name from the start, where that can be: then not even a kill leaves it behind.
        with tempfile.TemporaryFile() if _BY_HANDLE else tempfile.NamedTemporaryFile() as file:
            _unpack_into(file, path)
            file.flush()
            return pa.OSFile(f"/dev/fd/{file.fileno()}" if _BY_HANDLE else file.name, "rb")
    except OSError as error:
        raise ReadError(f"{path}: cannot be unpacked to the temporary directory ({error.strerror or error})") from error


def _unpack_into(file: IO[bytes], path: File) -> None:
    limit = size_of(path) * LARGEST_PARQUET_RATIO + CHUNK
    with Unpacked(path) as stream:
        while chunk := stream.read(CHUNK):
            file.write(chunk)
            if file.tell() > limit:
                raise ReadError(
                    f"{path}: unpacks to more than {LARGEST_PARQUET_RATIO} times its size, which no honest Parquet "
                    "file does; unpack it yourself if you trust it"
                )


def _plain(file: IO[bytes], path: File) -> Iterator[bytes]:
    try:
        while chunk := file.read(CHUNK):
            yield chunk
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error


def _gunzip(file: IO[bytes], path: File) -> Iterator[bytes]:
    member = _Member()
    try:
        for packed in _plain(file, path):
            place = 0
            while (place := _after_padding(packed, place) if member.ended else place) < len(packed):
                member = _Member() if member.ended else member
                yield from member.unpacked(packed, place)
                place += member.eaten
        yield from member.unpacked(b"", 0)
    except zlib.error as error:
        raise _damaged(path, "gzip", file, error) from error
    if not member.ended:
        raise _ends_early(path, "gzip")


def _after_padding(packed: bytes, place: int) -> int:
    found = _ZEROS.match(packed, place)
    return found.end() if found else place


class _Member:
    """One of the parts of a gzip file, each packed for itself; the file may end after any, or be padded with zeros."""

    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(wbits=31)
        self._bite = _FIRST_BITE
        self.eaten = 0  # of what was offered last

    @property
    def ended(self) -> bool:
        return self._unpacker.eof

    def unpacked(self, packed: bytes, place: int) -> Iterator[bytes]:
        """What comes out of the next bite, pieces of a bounded size."""
        bite = packed[place : place + self._bite]
        self.eaten = len(bite)
        self._bite = min(2 * self._bite, CHUNK)
        while not self.ended and (piece := self._unpacker.decompress(bite, CHUNK)):
            yield piece
            bite = self._unpacker.unconsumed_tail
        self.eaten -= len(self._unpacker.unused_data)


def _unzstd(file: IO[bytes], path: File) -> Iterator[bytes]:
    stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
    try:
        while chunk := stream.read(_ZSTD_CHUNK):
            yield chunk
    except (OSError, pa.ArrowException) as error:
        if "truncated" in str(error).lower():
            raise _ends_early(path, "zstd") from error
        raise _damaged(path, "zstd", file, error) from error


def _ends_early(path: File, packing: str) -> EndsEarly:
    return EndsEarly(
        f"{path}: the {packing} data ends early, the file was not written or copied whole; "
        "fetch it again, or keep its whole lines with `gamewarden read --keep-truncated`"
    )


def _damaged(path: File, packing: str, file: IO[bytes], error: Exception) -> ReadError:
    place = f" near byte {file.tell():,}" if not file.closed else ""
    return ReadError(f"{path}: the {packing} data is damaged{place} ({first_line(error)}); fetch the file again")
