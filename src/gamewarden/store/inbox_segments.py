"""Segments of an inbox: batches one after the other in a file, each with its length and a checksum.

A batch that a crash cut short is not there: it was told to nobody. A segment is closed by getting another name; only
closed ones are read. What is known of the batches' keys stays beside them when the batches themselves are gone.
"""

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO

from gamewarden.core.files import (
    is_alone,
    is_draft,
    make_directory,
    sweep_drafts,
    sync,
    sync_name,
    unwritable,
    write_text,
)
from gamewarden.errors import ReadError

CLOSED, OPEN, KEYS = ".segment", ".open", ".keys"
_LOCK = ".lock"
_HEAD = struct.Struct("<4sIQI")  # magic, bytes of what is told of a batch, bytes of the batch, checksum of both
_MAGIC = b"GWB1"
_LONGEST_TOLD = 1 << 16
_LONGEST_BATCH = 1 << 32
_numbers = count()


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a batch: how many rows it has, and by what it is known again."""

    rows: int
    digest: str  # of what was sent
    key: str = ""  # empty: the sender named none


@dataclass(frozen=True)
class Batch:
    """One batch of a segment, where it stands there, and where it ends."""

    told: Told
    begins: int  # of its content
    ends: int


@dataclass(frozen=True)
class Closed:
    """A segment that nobody writes any more; its batches are whole."""

    path: Path
    batches: tuple[Batch, ...]

    @property
    def name(self) -> str:
        """By which it is known."""
        return self.path.stem

    @property
    def rows(self) -> int:
        """All rows of its batches."""
        return sum(one.told.rows for one in self.batches)

    def contents(self) -> Iterator[bytes]:
        """What the batches hold, in their order.

        Raises:
            ReadError: the segment cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                for one in self.batches:
                    file.seek(one.begins)
                    yield file.read(one.ends - one.begins)
        except OSError as error:
            raise ReadError(f"{self.path}: cannot be read ({error.strerror or error})") from error


def framed(told: Told, content: bytes) -> bytes:
    """A batch as it stands in a segment."""
    said = json.dumps([told.rows, told.digest, told.key], ensure_ascii=False).encode()
    checksum = zlib.crc32(content, zlib.crc32(said))
    return b"".join((_HEAD.pack(_MAGIC, len(said), len(content), checksum), said, content))


def new_name() -> str:
    """A name for a segment, later ones behind earlier ones."""
    return f"{time.time_ns():020d}-{os.getpid()}-{next(_numbers)}"


def made_at(name: str) -> float:
    """When a segment was begun, in seconds; 0 where its name does not say."""
    first = name.partition("-")[0]
    return int(first) / 1e9 if first.isdecimal() else 0.0


def whole_batches(file: BinaryIO) -> Iterator[Batch]:
    """The batches of a segment up to the first that is not whole."""
    while True:
        begins = file.tell()
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return
        magic, told_bytes, size, checksum = _HEAD.unpack(head)
        if magic != _MAGIC or told_bytes > _LONGEST_TOLD or size > _LONGEST_BATCH:
            return
        said, content = file.read(told_bytes), file.read(size)
        if len(content) < size or zlib.crc32(content, zlib.crc32(said)) != checksum:
            return
        yield Batch(Told(*json.loads(said)), begins + _HEAD.size + told_bytes, file.tell())


def files_of(directory: Path, ending: str) -> list[Path]:
    """The files of an inbox with an ending, the earliest first, but for what was never finished."""
    return sorted(path for path in directory.glob(f"*{ending}") if not is_draft(path.name))


def closed_segments(directory: Path) -> list[Path]:
    """The segments that can be read, the earliest first."""
    return files_of(directory, CLOSED)


def checked(path: Path) -> Closed:
    """A closed segment whose every byte is as it was written.

    Raises:
        ReadError: it is damaged.
    """
    try:
        with path.open("rb") as file:
            batches = tuple(whole_batches(file))
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise ReadError(f"{path}: cannot be read ({error})") from error
    ends = batches[-1].ends if batches else 0
    if ends != size:
        raise ReadError(f"{path}: is damaged after {ends:,} of {size:,} bytes; restore it, or move it away")
    return Closed(path, batches)


def close(path: Path) -> None:
    """Let a segment be read: what is whole in it stays, its keys are written beside it, and it gets its name.

    Raises:
        OSError: it cannot be written.
    """
    with path.open("r+b") as file:
        batches = tuple(whole_batches(file))
        file.truncate(batches[-1].ends if batches else 0)
        os.fsync(file.fileno())
    publish(path, [one.told for one in batches])


def publish(path: Path, batches: Sequence[Told]) -> None:
    """Give a segment whose bytes are all on the disk the name under which it is read; an empty one goes.

    Raises:
        OSError: it cannot be written.
    """
    if not batches:
        path.unlink()
        return
    if lines := [json.dumps([one.rows, one.digest, one.key], ensure_ascii=False) for one in batches if one.key]:
        write_text(path.with_suffix(KEYS), "\n".join(lines) + "\n")
    path.rename(path.with_suffix(CLOSED))
    sync_name(path)


def kept_keys(directory: Path, since: float, most: int) -> dict[str, Told]:
    """The batches known by a key whose segments were begun since, the latest ones; older lists are removed."""
    forget_keys(directory, since)
    latest: list[list[Told]] = []
    for path in reversed(files_of(directory, KEYS)):
        if sum(map(len, latest)) < most:
            lines = path.read_text(encoding="utf-8").splitlines()
            latest.append([Told(*json.loads(line)) for line in lines])
    return {one.key: one for told in reversed(latest) for one in told}


def forget_keys(directory: Path, since: float) -> None:
    """Remove the keys of segments that were begun before."""
    for path in files_of(directory, KEYS):
        if made_at(path.stem) < since:
            path.unlink(missing_ok=True)


def hold_inbox(directory: Path) -> int | None:
    """Be the only one who writes to an inbox, for as long as the file returned is open; None where another is.

    Raises:
        WriteError: it cannot be written.
    """
    try:
        make_directory(directory)
        handle = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        if is_alone(handle):
            return handle
        os.close(handle)
    except OSError as error:
        raise unwritable(directory, error) from error
    return None


def close_left(directory: Path) -> None:
    """Close the segments that a crash has left open; only whoever holds the inbox may.

    Raises:
        OSError: they cannot be written.
    """
    sweep_drafts(directory)
    for path in files_of(directory, OPEN):
        close(path)


def settle(directory: Path) -> None:
    """Close what a crash has left, unless somebody is writing.

    Raises:
        WriteError: it cannot be written.
    """
    if not directory.is_dir():
        return
    handle = hold_inbox(directory)
    if handle is None:
        return
    try:
        close_left(directory)
    except OSError as error:
        raise unwritable(directory, error) from error
    finally:
        os.close(handle)


def pending_bytes(directory: Path) -> int:
    """How much waits to be taken in."""
    if not directory.is_dir():
        return 0
    with os.scandir(directory) as entries:
        return sum(_size(Path(one.path)) for one in entries if one.name.endswith((CLOSED, OPEN)))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # it was just taken in
        return 0


def remove(segments: Sequence[Path]) -> None:
    """Remove segments whose rows are elsewhere for good.

    Raises:
        OSError: they cannot be removed.
    """
    for path in segments:
        path.unlink(missing_ok=True)
    if segments:
        sync(segments[0].parent)
