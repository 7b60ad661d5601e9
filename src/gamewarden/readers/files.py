"""One file, or standard input, as a source: what it can be read as, its first bytes say."""

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gamewarden.contracts import (
    Bounds,
    EventStream,
    Fingerprint,
    LogSource,
    MessageStream,
    PacketStream,
    PartedEvents,
    RowStream,
    StreamKind,
)
from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers import Locator
from gamewarden.readers.logs.layout import PLAIN, Layout
from gamewarden.readers.logs.mapping import LogMap, load_mapping
from gamewarden.readers.logs.shapes import peek
from gamewarden.readers.logs.tables import EventFile, open_events
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.places import STANDARD_INPUT, File, Place, open_bytes, spooled
from gamewarden.readers.remote import RemoteFile
from gamewarden.streams import of_actors, within
from gamewarden.tables import FrameRows

if TYPE_CHECKING:
    from gamewarden.readers.captures.introductions import Listen
    from gamewarden.readers.ragnarok.message_table import MessageTable


class OneFile:
    """A file that may be read as anything; whoever tries what it is not is told so by that reader."""

    sure: bool = True
    nameable: bool = True

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        self.path = path_of(locator)
        self.partitions = dict(locator.partitions) if isinstance(locator, Place) else {}
        self.name = str(self.path)
        self.options = options

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """Nobody has looked."""
        return ("events", "packets", "messages", "table")

    @property
    def flags(self) -> tuple[str, ...]:
        """The mapping, where one was named."""
        mapping = self.options.logs.mapping
        return () if mapping is None else ("--map", mapping)

    @property
    def columns(self) -> tuple[str, ...]:
        """None, unless it is a table."""
        return ()

    @property
    def parts(self) -> Sequence[Self]:
        """Itself alone."""
        return (self,)

    def fingerprint(self) -> Fingerprint:
        """The SHA-256 of its bytes.

        Raises:
            ReadError: it cannot be read.
        """
        return Fingerprint("file", self.path.name, file_digest(self.path))

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Its rows as events.

        Raises:
            ReadError: it is no log, or a column is missing.
            ConfigError: the mapping or the zone is none.
        """
        some = within(self._event_file(), since, until)
        return some if actors is None else of_actors(some, actors)

    def parted(self) -> PartedEvents | None:
        """None: a file is read from its beginning."""
        return None

    def log(self) -> LogSource:
        """Its rows as events, each with its place in the file where it has no number of its own."""
        return self._event_file(number_rows=True)

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """Its packets, as a capture or a packet log has them.

        Raises:
            ReadError: it cannot be read.
            ConfigError: a port, the zone or the mapping is none.
        """
        from gamewarden.readers.captures.packets import open_packets

        captures, logs = self.options.captures, self.options.logs
        return open_packets(
            self.path,
            captures.server_ports,
            captures.accounts,
            listen=self._listen() if captures.connect_messages else None,
            include_empty=captures.include_empty,
            mapping=logs.mapping,
            time_zone=logs.time_zone,
            bounds=bounds,
        )

    def _listen(self) -> "Listen":
        from gamewarden.readers.ragnarok.introductions import connect_messages

        return connect_messages(self.message_table)

    def messages(self, *, strict: bool = False) -> MessageStream:
        """What clients said in it, as a packetstream or a capture has it.

        Raises:
            ReadError: it or the message table cannot be read, or it is text.
            ConfigError: a capture without a port, or a version the table does not have.
        """
        from gamewarden.readers.ragnarok.messages import open_messages

        strictly = strict or self.options.messages.strict
        return open_messages(self.path, self.message_table, self.options.captures.server_ports, strict=strictly)

    def rows(self) -> RowStream:
        """Its rows as an operator's own table; of a mapping only [file] matters.

        Raises:
            ReadError: it cannot be read.
        """
        from gamewarden.readers.logs.operator_tables import read_table

        return FrameRows(read_table(spooled(self.path), self._layout), self.name)

    @cached_property
    def message_table(self) -> "MessageTable":
        """What the messages in it mean.

        Raises:
            ReadError: the message table cannot be read.
            ConfigError: it has no such version.
        """
        from gamewarden.readers.ragnarok.messages import message_table

        messages = self.options.messages
        return message_table(messages.packet_db, messages.packet_version, messages.packet_client)

    @property
    def mapping(self) -> LogMap | None:
        """What its columns and kinds are called.

        Raises:
            ConfigError: there is no such mapping.
        """
        named = self.options.logs.mapping
        return None if named is None else load_mapping(named)

    @property
    def _layout(self) -> Layout:
        return PLAIN if self.mapping is None else self.mapping.layout

    def _event_file(self, *, number_rows: bool = False) -> EventFile:
        logs = self.options.logs
        return open_events(
            spooled(self.path),
            self.mapping,
            time_zone=logs.time_zone,
            max_bad_share=logs.max_bad_share,
            keep_truncated=logs.keep_truncated,
            number_rows=number_rows,
            plausible=logs.plausible,
            partitions=self.partitions,
            name="standard input" if self.path == STANDARD_INPUT else None,
        )


class Capture(OneFile):
    """A network capture: packets, and in them what clients said."""

    kinds: tuple[StreamKind, ...] = ("packets", "messages")

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it begins as a capture does; what can be read only once is not looked at."""
        from gamewarden.readers.captures.packets import is_capture

        return is_file_locator(locator) and is_capture(path_of(locator))


class Packetstream(OneFile):
    """What a server wrote of its clients' bytes."""

    kinds: tuple[StreamKind, ...] = ("messages",)

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it begins with a time tag; a stream without tags is not told from other bytes."""
        from gamewarden.readers.ragnarok.messages import is_packetstream

        return is_file_locator(locator) and is_packetstream(path_of(locator))


class RagnarokLog(OneFile):
    """A packetstream or a capture whose messages become events; only where somebody says so."""

    kinds: tuple[StreamKind, ...] = ("events", "messages")

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Never: it has to be named."""
        del locator
        return False

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """The events that its messages tell."""
        some = within(self.log(), since, until)
        return some if actors is None else of_actors(some, actors)

    def log(self) -> LogSource:
        """The same, to be known again when they come a second time."""
        from gamewarden.readers.ragnarok.events import MessageEvents
        from gamewarden.readers.ragnarok.messages import open_messages

        db, ports, strict = self.message_table, self.options.captures.server_ports, self.options.messages.strict
        messages = open_messages(self.path, db, ports, strict=strict)
        return MessageEvents(self.path, messages, db, list(ports), strict, plausible=self.options.logs.plausible)


class LogFile(OneFile):
    """Any other file, and standard input: a table of events, of packets or of accounts, or bytes of a client."""

    sure = False

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Whether it has a place."""
        return is_file_locator(locator)

    @cached_property
    def kinds(self) -> tuple[StreamKind, ...]:
        """Text holds no messages; of other bytes nobody knows."""
        from gamewarden.readers.ragnarok.messages import holds_messages

        text = self.path.is_file() and not holds_messages(self.path)
        return ("events", "packets", "table") if text else ("events", "packets", "messages", "table")

    @property
    def columns(self) -> tuple[str, ...]:
        """As its header or its first objects name them.

        Raises:
            ReadError: it is empty, or no table we read.
        """
        try:
            layout = self._layout
        except ConfigError:  # a mapping of packets says nothing of how the text is written
            layout = PLAIN
        return peek(self.path, layout=layout).names if self.path.is_file() else ()


def is_file_locator(locator: Locator) -> bool:
    """Whether it names one file, here or in a store."""
    return isinstance(locator, Path | RemoteFile | Place)


def path_of(locator: Locator) -> File:
    """The place of a file.

    Raises:
        ReadError: it is something else.
    """
    if isinstance(locator, Place):
        return locator.file
    if not isinstance(locator, Path | RemoteFile):
        raise ReadError(f"{type(locator).__name__}: is no file; name one")
    return locator


def file_digest(path: File) -> str:
    """The SHA-256 of a file's bytes.

    Raises:
        ReadError: it cannot be read.
    """
    try:
        with open_bytes(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error
