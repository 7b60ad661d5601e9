"""Any source of packets, by its name: a capture or a packet log, a file or standard input."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from gamewarden.contracts import Bounds
from gamewarden.core.durations import parse_zone
from gamewarden.errors import ReadError
from gamewarden.readers.byte_sources import Origin
from gamewarden.readers.captures.blocks import looks_like_capture
from gamewarden.readers.captures.packet_log import PacketMapping, TableStream, frames_of
from gamewarden.readers.places import File
from gamewarden.readers.row_report import shorten
from gamewarden.readers.timestamps import NO_ZONE, TimeReader

if TYPE_CHECKING:
    from gamewarden.readers.captures.client_ends import Accounts
    from gamewarden.readers.captures.stream import CaptureStream

_MOST_ACCOUNT_ROWS = 5_000_000  # all of them are in memory, about 300 bytes each
_ACCOUNT_COLUMNS = ("address", "port", "from", "until", "account")


def open_packets(
    source: str | File,
    server_ports: Sequence[int] = (),
    accounts: str | File | pl.DataFrame | None = None,
    *,
    include_empty: bool = False,
    only_up: bool = False,
    mapping: str | Path | Mapping[str, Any] | PacketMapping | None = None,
    time_zone: str | None = None,
    bounds: Bounds | None = None,
) -> "CaptureStream | TableStream":
    """The packets of a capture (pcap, pcapng) or a packet log (CSV, JSON Lines, Parquet), gzipped or not.

    What it is, its first bytes say. `-` is standard input; packets are delivered as they arrive. The stream's `report`
    has `counts`, `problem` (where reading had to stop) and `lines()`, all of it for people.
    `server_ports` and `accounts` speak of captures, `mapping` of packet logs, `time_zone` of times that name none.
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


def _accounts(accounts: str | File | pl.DataFrame | None, time_zone: str | None) -> "Accounts | None":
    if accounts is None:
        return None
    from gamewarden.readers.captures.client_ends import Accounts

    if isinstance(accounts, pl.DataFrame):
        return Accounts(_readable(accounts, time_zone, "account table"))
    frames = list(_not_too_many(frames_of(Origin(accounts), _ACCOUNT_COLUMNS), accounts))
    if not frames:
        raise ReadError(f"{accounts}: has a header but no rows; it should say who used which address when")
    return Accounts(_readable(pl.concat(frames), time_zone, str(accounts)))


def _not_too_many(frames: Iterable[pl.DataFrame], name: str | File) -> Iterator[pl.DataFrame]:
    rows = 0
    for frame in frames:
        rows += frame.height
        if rows > _MOST_ACCOUNT_ROWS:
            raise ReadError(
                f"{name}: has more than {_MOST_ACCOUNT_ROWS:,} rows; give those of the time that the capture covers"
            )
        yield frame


def _readable(frame: pl.DataFrame, time_zone: str | None, name: str) -> pl.DataFrame:
    """Ports as numbers, times as microseconds, nothing unreadable.

    Raises:
        ReadError: a column is missing, or a value is not what its column needs.
    """
    missing = [column for column in _ACCOUNT_COLUMNS if column not in frame.columns]
    if missing:
        raise ReadError(f"{name}: lacks {', '.join(missing)}; an account table has {', '.join(_ACCOUNT_COLUMNS)}")
    raw = frame.select(_ACCOUNT_COLUMNS).with_columns(pl.col(pl.String).replace("", None))
    read = raw.with_columns(
        pl.col("address", "account").cast(pl.String),
        pl.col("port").cast(pl.Int64, strict=False),
        _micros(raw["from"], time_zone, name),
        _micros(raw["until"], time_zone, name),
    )
    for column in _ACCOUNT_COLUMNS:
        lost = read[column].is_null() & (raw[column].is_not_null() | (column in ("address", "account")))
        if lost.any():
            row = int(lost.arg_true()[0])
            raise ReadError(f"{name}: row {row + 1}: {column} {shorten(raw[column][row])} cannot be read")
    return read


def _micros(times: pl.Series, time_zone: str | None, name: str) -> pl.Series:
    moments = TimeReader(time_zone=time_zone).read(times if times.dtype != pl.Null else times.cast(pl.String))
    if NO_ZONE in moments.faults:
        raise ReadError(f"{name}: a time in {times.name!r} has no zone; name it with --time-zone")
    return moments.at.to_physical()
