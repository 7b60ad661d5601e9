"""Message tables from files: a server's `packet_db.txt`, or the headers of today's servers, told by their content."""

from collections.abc import Sequence

from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.compression import Unpacked
from gamewarden.readers.places import File
from gamewarden.readers.ragnarok.headers.table import looks_like_header, parse_headers
from gamewarden.readers.ragnarok.message_table import (
    MessageTable,
    looks_like_bytes,
    looks_like_packet_table,
    parsed,
    stacked,
)

_LARGEST_TABLE = 16 << 20
_LARGEST_HEADER = 4 << 20
_LOOKED_AT = 1 << 16


def read_packet_db(
    paths: File | Sequence[File], max_version: int | None = None, client: str | None = None
) -> MessageTable:
    """A message table from a file, gzipped or not, with the blocks up to `max_version`; of several the later wins.

    Headers among them are one table together, at the place of the first: that of clients of the date `max_version` and
    of the kind `client`.

    Raises:
        ReadError: a file cannot be read, or names no packet.
        ConfigError: no table has such a version, or headers lack a date.
    """
    files = paths if isinstance(paths, Sequence) else [paths]
    texts = [(str(path), _text(path)) for path in files]
    headers = {name: text for name, text in texts if is_header(text[:_LOOKED_AT].encode())}
    if client is not None and not headers:
        names = " with ".join(name for name, _ in texts)
        raise ConfigError(f"{names}: is of one kind of client, so {client} cannot be chosen; leave it out")
    tables = [parsed(text.splitlines(), name, max_version) for name, text in texts if name not in headers]
    if headers:
        first = next(place for place, (name, _) in enumerate(texts) if name in headers)
        tables.insert(first, parse_headers(headers, max_version, client))
    return stacked(tables, max_version)


def is_header(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a C header, and not of a `packet_db.txt`."""
    return looks_like_header(head) and not looks_like_packet_table(head) and not looks_like_bytes(head)


def _text(path: File) -> str:
    with Unpacked(path) as stream:
        data = stream.read(_LARGEST_TABLE + 1)
    largest = _LARGEST_HEADER if is_header(data[:_LOOKED_AT]) else _LARGEST_TABLE
    if len(data) > largest:
        raise ReadError(f"{path}: is larger than {largest >> 20} MiB; a message table has a few thousand lines")
    return data.decode("utf-8-sig", errors="replace")
