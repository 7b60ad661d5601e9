"""Any source of packets, by its name: a capture or a packet log, a file or standard input."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from gamewarden.contracts import Bounds
from gamewarden.core.durations import parse_zone
from gamewarden.readers.byte_sources import Origin
from gamewarden.readers.captures.blocks import looks_like_capture
from gamewarden.readers.captures.packet_log import PacketMapping, TableStream
from gamewarden.readers.places import File
from gamewarden.readers.remote import RemoteFile

if TYPE_CHECKING:
    from gamewarden.readers.captures.account_sources import AccountFeed, AccountSource
    from gamewarden.readers.captures.introductions import Listen
    from gamewarden.readers.captures.stream import CaptureStream

Known: TypeAlias = "str | File | pl.DataFrame | AccountFeed"  # who is behind an address: a table, or messages


def open_packets(
    source: str | File,
    server_ports: Sequence[int] = (),
    accounts: "Known | None" = None,
    *,
    listen: "Listen | None" = None,
    include_empty: bool = False,
    only_up: bool = False,
    mapping: str | Path | Mapping[str, Any] | PacketMapping | None = None,
    time_zone: str | None = None,
    bounds: Bounds | None = None,
) -> "CaptureStream | TableStream":
    """The packets of a capture (pcap, pcapng) or a packet log (CSV, JSON Lines, Parquet), gzipped or not.

    What it is, its first bytes say. `-` is standard input; packets are delivered as they arrive. The stream's `report`
    has `counts`, `problem` (where reading had to stop) and `lines()`, all of it for people.
    `server_ports` and `accounts` speak of captures, as does `listen`: it finds the account in what a client says first.
    `mapping` speaks of packet logs, `time_zone` of times that name none.
    With `bounds` memory has a limit however long it goes on; a dictionary of actors then speaks for its batch alone.

    Raises:
        ReadError: the source or the account table cannot be read.
        ConfigError: a port, the zone or the mapping is none.
    """
    if time_zone is not None:
        parse_zone(time_zone)
    origin = Origin(source)
    if not looks_like_capture(origin.head()):
        return TableStream(
            origin, _mapping(mapping), time_zone, include_empty=include_empty, only_up=only_up, bounds=bounds
        )
    from gamewarden.readers.captures.stream import CaptureStream

    return CaptureStream(
        origin,
        server_ports,
        _accounts(accounts, time_zone),
        listen=listen,
        include_empty=include_empty,
        only_up=only_up,
        bounds=bounds,
    )


def is_capture(source: File) -> bool:
    """Whether a file begins as a capture does; what is no file, or can be read only once, is not looked at."""
    return source.is_file() and looks_like_capture(Origin(source).head())


def _mapping(mapping: str | Path | Mapping[str, Any] | PacketMapping | None) -> PacketMapping | None:
    match mapping:
        case None | PacketMapping():
            return mapping
        case str() | Path():
            return PacketMapping.from_toml(Path(mapping))
        case _:
            return PacketMapping.from_dict(mapping)


def _accounts(accounts: "Known | None", time_zone: str | None) -> "AccountSource | None":
    from gamewarden.readers.captures.account_sources import AccountFile, AccountTable, FedAccounts

    match accounts:
        case None:
            return None
        case pl.DataFrame():
            return AccountTable(accounts, time_zone)
        case str() | Path() | RemoteFile():
            return AccountFile(accounts, time_zone)
        case _:
            return FedAccounts(accounts, time_zone)
