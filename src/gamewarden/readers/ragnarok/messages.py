"""Any source of decoded client messages, by its name: a packetstream or a capture, a file or standard input."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.byte_sources import Origin, peeked
from gamewarden.readers.captures.blocks import looks_like_capture
from gamewarden.readers.places import File
from gamewarden.readers.ragnarok.message_table import (
    TAG,
    MessageTable,
    looks_like_bytes,
    looks_like_empty_table,
    looks_like_packet_table,
)
from gamewarden.readers.ragnarok.table_files import is_header, read_packet_db
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile

if TYPE_CHECKING:
    from gamewarden.readers.ragnarok.captures import MessageCapture
    from gamewarden.readers.ragnarok.streams import MessageFile

Tables: TypeAlias = MessageTable | File | Sequence[File] | None  # files lie on top of each other, the last uppermost
_LOOKED_AT = 1 << 16


def open_messages(
    source: str | File,
    db: Tables = None,
    server_ports: Sequence[int] = (),
    *,
    version: int | None = None,
    client: str | None = None,
    strict: bool = False,
) -> "MessageFile | MessageCapture":
    """The messages of a packetstream or a capture, gzipped or not, read with a message table or the thesis' profile.

    What it is, its first bytes say. `-` is standard input. The stream's `report` accounts for every byte.

    Raises:
        ReadError: the source or the message table cannot be read, or the source is text.
        ConfigError: a capture without a port, or a version the table does not have.
    """
    table = message_table(db, version, client)
    origin = Origin(source)
    head = origin.head()
    if not head:
        raise ReadError(f"{origin.name}: is empty; a packetstream or a capture has bytes")
    if looks_like_capture(head):
        from gamewarden.readers.ragnarok.captures import MessageCapture

        return MessageCapture(origin, table, server_ports, strict=strict)
    if origin.rereadable and origin.path is not None:
        _refuse_text(origin.path)
    from gamewarden.readers.ragnarok.streams import MessageFile

    return MessageFile(origin, table, strict=strict)


def message_table(db: Tables, version: int | None = None, client: str | None = None) -> MessageTable:
    """The message table of a file, or of several on top of each other, or the thesis' profile where there is none."""
    if isinstance(db, MessageTable):
        return db
    if db:
        return read_packet_db(db, version, client)
    if client is not None:
        raise ConfigError(f"packet client {client}: says nothing without a message table; name it with --packet-db")
    return thesis_profile()


def is_message_table(path: File) -> bool:
    """Whether a file is a message table, maybe an empty one, and not a packetstream or a capture."""
    return path.is_file() and any(
        looks(_beginning(path)) for looks in (looks_like_packet_table, looks_like_empty_table, is_header)
    )


def holds_messages(path: File) -> bool:
    """Whether a file can be a packetstream or a capture: it is not empty, and not text."""
    return looks_like_bytes(_beginning(path))


def is_packetstream(path: File) -> bool:
    """Whether a file begins with the time tag of a packetstream; a stream without tags is not told from other bytes."""
    return path.is_file() and _beginning(path).startswith(TAG)


def _refuse_text(path: File) -> None:
    head = _beginning(path)
    if looks_like_packet_table(head) or is_header(head):
        raise ReadError(
            f"{path}: is a message table, not a client's messages; name it with --packet-db beside a stream"
        )
    if looks_like_empty_table(head):
        raise ReadError(f"{path}: is an empty message table, not a client's messages; name a stream or a capture")
    if not looks_like_bytes(head) and not is_packetstream(path):
        raise ReadError(
            f"{path}: is text, not a packetstream or a capture; name one of these, and a message table with --packet-db"
        )


def _beginning(path: File) -> bytes:
    with Origin(path).opened() as source:
        return peeked(source, _LOOKED_AT)[0]
