"""Bytes from a file, a pipe or standard input, gzipped or not: what has arrived is handed on at once."""

import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import numpy.typing as npt

from gamewarden.errors import ReadError
from gamewarden.readers.places import STANDARD_INPUT, File, file_at
from gamewarden.readers.remote import RemoteFile
from gamewarden.readers.sameness import Expected

GZIP_MAGIC = b"\x1f\x8b"
MAGIC_LENGTH = 4
_PACKED_CHUNK = 1 << 18
_FIRST_BITE = 1 << 8  # of a member: what is left after its end is copied, so that a short one must not see much
_ZEROS = re.compile(rb"\0*")
_CHUNK = 1 << 20  # fits into a core's second cache together with a flow table


class ByteSource(Protocol):
    """Bytes in their order."""

    @property
    def live(self) -> bool:
        """Whether waiting for more bytes can take long, so that what is there should be used first."""

    @property
    def problem(self) -> str | None:
        """Why the bytes ended early, if they did."""

    def read_into(self, room: memoryview) -> int:
        """Fill some of `room`, at least a byte unless the end is reached (0)."""


class DescriptorSource:
    """A file, pipe, socket or terminal by its descriptor."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self.problem: str | None = None
        self.live = not stat.S_ISREG(os.fstat(descriptor).st_mode)

    def read_into(self, room: memoryview) -> int:
        """What is there now; waits only when nothing is."""
        filled = self._read(room)
        while self.live and 0 < filled < len(room) and self._ready():
            more = self._read(room[filled:])
            if more == 0:
                break
            filled += more
        return filled

    def _read(self, room: memoryview) -> int:
        try:
            return os.readv(self._descriptor, [room])
        except OSError as error:
            raise ReadError(f"{self._name}: cannot be read ({error.strerror or error})") from error

    def _ready(self) -> bool:
        return bool(select.select([self._descriptor], [], [], 0)[0])


class Prefixed:
    """A source with the bytes put back that were read to see what it is."""

    def __init__(self, prefix: bytes, source: ByteSource) -> None:
        self._prefix = memoryview(prefix)
        self._source = source

    @property
    def live(self) -> bool:
        """As live as what follows."""
        return self._source.live

    @property
    def problem(self) -> str | None:
        """What troubles what follows."""
        return self._source.problem

    def read_into(self, room: memoryview) -> int:
        """The prefix first."""
        if not self._prefix:
            return self._source.read_into(room)
        taken = min(len(room), len(self._prefix))
        room[:taken] = self._prefix[:taken]
        self._prefix = self._prefix[taken:]
        return taken


class Gunzipped:
    """The unpacked bytes of a gzip source of any number of members, a bounded piece at a time."""

    def __init__(self, packed: ByteSource, name: str) -> None:
        self._packed = packed
        self._name = name
        self._buffer = bytearray(_PACKED_CHUNK)
        self._pending = memoryview(b"")
        self._member = zlib.decompressobj(wbits=31)
        self._bite = _FIRST_BITE
        self._fresh = True  # no byte of this member was seen
        self.problem: str | None = None

    @property
    def live(self) -> bool:
        """As live as the packed bytes."""
        return self._packed.live

    def read_into(self, room: memoryview) -> int:
        """Unpacked bytes; a damaged or cut-off end is kept in `problem` and ends the bytes."""
        while self.problem is None:
            if self._member.eof:
                if not self._skip_padding():
                    return 0
                self._member, self._bite = zlib.decompressobj(wbits=31), _FIRST_BITE
                self._fresh = True
            elif not self._pending:
                self._pending = self._more()
                if not self._pending:
                    if not self._fresh:
                        self.problem = f"{self._name}: the gzip data is cut off; what was unpacked before is kept"
                    return 0
            piece = self._unpack(len(room))
            if piece:
                room[: len(piece)] = piece
                return len(piece)
        return 0

    def _more(self) -> memoryview:
        return memoryview(bytes(self._buffer[: self._packed.read_into(memoryview(self._buffer))]))

    def _skip_padding(self) -> bool:
        """Whether another member follows, after the zeros that may stand between two."""
        while True:
            padding = _ZEROS.match(self._pending)
            self._pending = self._pending[padding.end() if padding else 0 :] or self._more()
            if not self._pending or self._pending[0]:
                return bool(self._pending)

    def _unpack(self, most: int) -> bytes:
        self._fresh = False
        bite = self._pending[: self._bite]
        self._bite = min(2 * self._bite, _PACKED_CHUNK)
        before = self._member.copy()
        try:
            return self._eat(bite, most)
        except zlib.error as error:
            self._member = before
            return self._salvage(len(bite), most, str(error))

    def _eat(self, bite: memoryview, most: int) -> bytes:
        piece = self._member.decompress(bite, most)
        left = len(self._member.unused_data) + len(self._member.unconsumed_tail)
        self._pending = self._pending[len(bite) - left :]
        return piece

    def _salvage(self, size: int, most: int, reason: str) -> bytes:
        """What can be unpacked before the damage, in ever smaller bites: zlib forgets what came out of a bad one."""
        pieces = bytearray()
        while len(pieces) < most and self._pending:
            before = self._member.copy()
            try:
                pieces += self._eat(self._pending[:size], most - len(pieces))
            except zlib.error:
                self._member = before
                if size == 1:
                    self.problem = (
                        f"{self._name}: the gzip data is damaged ({reason}); what was unpacked before is kept"
                    )
                    break
                size //= 2
        return bytes(pieces)


class Confirmed:
    """A source of which some first bytes are known by their digest: no others are handed on."""

    def __init__(self, source: ByteSource, expected: Expected) -> None:
        self._source = source
        self._expected = expected

    @property
    def live(self) -> bool:
        """As live as what it looks at."""
        return self._source.live

    @property
    def problem(self) -> str | None:
        """What troubles what it looks at."""
        return self._source.problem

    def read_into(self, room: memoryview) -> int:
        """The next of the known bytes."""
        if not self._expected.left:
            return 0
        filled = self._source.read_into(room[: self._expected.left])
        if filled:
            self._expected.take(room[:filled])
        else:
            self._expected.end()
        return filled

    def confirm(self) -> None:
        """Look at what nobody asked for, too.

        Raises:
            ReadError: the bytes are not the known ones.
        """
        room = memoryview(bytearray(_CHUNK))
        while self.read_into(room):
            pass


class _FileObject:
    """What has no descriptor: an object of a store, or standard input when a program replaces it."""

    live = False
    problem: str | None = None

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read_into(self, room: memoryview) -> int:
        """The next bytes."""
        data = self._file.read(len(room))
        room[: len(data)] = data
        return len(data)


class Origin:
    """Where bytes come from: a file, an object of a store, a named pipe, or standard input for "-".

    A file is opened anew for every reading, anything else can be read once. Gzip is unpacked on the way.
    """

    def __init__(self, place: str | File) -> None:
        """Open what can be read only once.

        Raises:
            ReadError: it cannot be read.
        """
        file = file_at(place) if isinstance(place, str) else place
        self.name = "standard input" if file == STANDARD_INPUT else str(file)
        self.path = None if file == STANDARD_INPUT else file
        self.rereadable = self.path is not None and (self.path.is_file() or not self.path.exists())
        self._once = None if self.rereadable else peeked(self._unpacked(self._only_source()), MAGIC_LENGTH)
        self._known: tuple[int, str] | None = None

    def only(self, size: int, digest: str) -> None:
        """From now on hand on so many first bytes, and refuse them at their end if they have another digest."""
        self._known = size, digest

    def head(self) -> bytes:
        """The first four unpacked bytes, fewer when there are no more.

        Raises:
            ReadError: there is no such file, or it cannot be read.
        """
        if self._once:
            return self._once[0]
        with self.opened() as source:
            return peeked(source, MAGIC_LENGTH)[0]

    @contextmanager
    def opened(self) -> Iterator[ByteSource]:
        """The unpacked bytes from their beginning.

        Raises:
            ReadError: there is no such file, it cannot be read, or it was read before and is no file.
        """
        if self.path is None or not self.rereadable:
            if self._once is None:
                raise ReadError(f"{self.name} can be read only once; save it to a file first")
            (_, source), self._once = self._once, None
            yield source
            return
        with _opened(self.path) as packed:
            source = self._unpacked(packed)
            if self._known is None:
                yield source
                return
            confirmed = Confirmed(source, Expected(self.name, *self._known))
            yield confirmed
            confirmed.confirm()

    def _only_source(self) -> ByteSource:
        if isinstance(self.path, Path):
            return DescriptorSource(_descriptor(self.path), self.name)
        try:
            return DescriptorSource(sys.stdin.fileno(), self.name)
        except (OSError, ValueError):
            return _FileObject(sys.stdin.buffer)

    def _unpacked(self, source: ByteSource) -> ByteSource:
        head, source = peeked(source, len(GZIP_MAGIC))
        return Gunzipped(source, self.name) if head == GZIP_MAGIC else source


class Window:
    """The bytes of a source that are in memory now: those from `start` on still have to be read."""

    def __init__(self, source: ByteSource, chunk: int = _CHUNK) -> None:
        self.start = 0
        self.end = 0
        self._before = 0  # bytes that have left the window
        self._source = source
        self._use(np.empty(chunk, np.uint8))

    def _use(self, buffer: npt.NDArray[np.uint8]) -> None:
        self._buffer = buffer
        self.data = buffer.view()
        self.data.flags.writeable = False  # one kind of array, one compiled kernel

    @property
    def position(self) -> int:
        """Where `start` is in the whole source."""
        return self._before + self.start

    @property
    def left(self) -> int:
        """How many bytes are there to be read."""
        return self.end - self.start

    def take(self, count: int) -> bytes:
        """The next bytes, without moving on."""
        return self.data[self.start : self.start + count].tobytes()

    def fill(self) -> bool:
        """Get more bytes behind those that are left; False at the end of the source."""
        left = self.left
        room = self._buffer
        if left > len(room) // 2:
            room = np.empty(len(room) * 2, np.uint8)
        room[:left] = self._buffer[self.start : self.end]
        self._before += self.start
        self.start, self.end = 0, left
        if room is not self._buffer:
            self._use(room)
        got = self._source.read_into(self._buffer.data[left:])
        self.end += got
        return got > 0

    def holds(self, count: int) -> bool:
        """Fill until `count` bytes are there; False when the source ends before."""
        while self.left < count:
            if not self.fill():
                return False
        return True


def peeked(source: ByteSource, count: int) -> tuple[bytes, ByteSource]:
    """The first bytes, fewer only when the source ends, and the source with them still in front."""
    buffer = bytearray(count)
    filled = 0
    while filled < count:
        got = source.read_into(memoryview(buffer)[filled:])
        if got == 0:
            break
        filled += got
    head = bytes(buffer[:filled])
    return head, Prefixed(head, source)


@contextmanager
def _opened(file: File) -> Iterator[ByteSource]:
    if isinstance(file, RemoteFile):
        with file.open() as stream:
            yield _FileObject(stream)
        return
    descriptor = _descriptor(file)
    try:
        yield DescriptorSource(descriptor, str(file))
    finally:
        os.close(descriptor)


def _descriptor(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise ReadError(f"{path}: cannot be opened ({error.strerror or error})") from error
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ReadError(f"{path}: is a directory; name a capture or a packet log")
    return descriptor
