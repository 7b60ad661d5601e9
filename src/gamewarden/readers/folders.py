"""Several files with messages of clients as one source: a folder, read recursively, or whatever files are named."""

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

from gamewarden.contracts import EventStream, Fingerprint, LogSource, MessageStream, StreamKind, canonical_json
from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.readers import Locator
from gamewarden.readers.files import Packetstream, file_digest, is_file_locator, path_of
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.places import File
from gamewarden.readers.ragnarok.message_table import MessageTable
from gamewarden.readers.ragnarok.messages import holds_messages, message_table
from gamewarden.sources import PlainSource


class MessageFolder(PlainSource):
    """A folder of packetstreams and captures, or several such files and folders."""

    kinds: tuple[StreamKind, ...] = ("messages", "events")  # a directory may have been meant as a lake
    sure = False
    is_a = "is a directory"

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        self._places = [locator] if isinstance(locator, Path) else _files(locator)
        super().__init__(", ".join(map(str, self._places)))
        self.options = options

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it is a folder, or several places."""
        return locator.is_dir() if isinstance(locator, Path) else isinstance(locator, Sequence)

    @cached_property
    def message_table(self) -> MessageTable:
        """What the messages in all of its files mean, read once."""
        messages = self.options.messages
        return message_table(messages.packet_db, messages.packet_version, messages.packet_client)

    @cached_property
    def parts(self) -> Sequence["FileOfFolder"]:
        """Its files.

        Raises:
            ReadError: a folder holds no messages.
        """
        return [FileOfFolder(file, self) for file in message_files(self._places)]

    def fingerprint(self) -> Fingerprint:
        """A digest of the files' names and bytes."""
        root = self._places[0] if len(self._places) == 1 else None
        files = sorted([_named(part.path, root), file_digest(part.path)] for part in self.parts)
        name = self.name if root is None else root.name
        return Fingerprint("folder", name, hashlib.sha256(canonical_json(files).encode()).hexdigest())

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Refused: a lake would have been opened as one."""
        del since, until, actors
        raise ReadError(
            f"{self.name}: is a directory and not a lake; `gamewarden read FILE… --to {self.name}` makes one"
        )

    def log(self) -> LogSource:
        """Refused: each of its files is a log."""
        there = any(any(place.iterdir()) for place in self._places if isinstance(place, Path) and place.is_dir())
        inside = "is a directory, not a log file" if there else "holds nothing"
        raise ReadError(f"{self.name}: {inside}; name the files to read")

    def messages(self, *, strict: bool = False) -> MessageStream:
        """The messages of all files, one after the other.

        Raises:
            ReadError: a source or the message table cannot be read.
            ConfigError: a capture without a port, or a version the table does not have.
        """
        from gamewarden.readers.ragnarok.joined import JoinedMessages

        return JoinedMessages({part.name: part.messages(strict=strict) for part in self.parts})


class FileOfFolder(Packetstream):
    """One file of a folder, which shares its message table."""

    def __init__(self, path: File, folder: MessageFolder) -> None:
        super().__init__(path, folder.options)
        self._folder = folder

    @property
    def message_table(self) -> MessageTable:
        """That of the folder."""
        return self._folder.message_table


def message_files(places: Sequence[File]) -> list[File]:
    """The packetstreams and captures among these places, folders read recursively.

    In a folder, hidden files and text such as labels and notes are passed over. A file named twice is there once.

    Raises:
        ReadError: a folder holds no messages.
    """
    found = [file for place in places for file in _files_at(place)]
    return list(dict.fromkeys(found))


def _files_at(place: File) -> Sequence[File]:
    return _inside(place) if isinstance(place, Path) and place.is_dir() else [place]


def _named(file: File, root: File | None) -> str:
    """What a file is called in a digest of the folder that it stands in."""
    return file.relative_to(root).as_posix() if isinstance(file, Path) and isinstance(root, Path) else str(file)


def _inside(folder: Path) -> list[Path]:
    files = sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )
    kept = [file for file in files if holds_messages(file)]
    if not kept:
        there = f"only {counted(len(files), 'other file')}" if files else "it is empty"
        raise ReadError(f"{folder}: holds no packetstream and no capture, {there}; name a folder that does")
    return kept


def _files(locator: Locator) -> list[File]:
    if not isinstance(locator, Sequence) or not all(map(is_file_locator, locator)):
        raise ReadError(f"{type(locator).__name__}: is neither a folder nor a list of files; name one of these")
    return [path_of(place) for place in locator]
