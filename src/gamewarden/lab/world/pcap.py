"""Packets as a real capture file, so that what the world plays can be read like a game's own traffic."""

from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl

from gamewarden.core.files import whole_file
from gamewarden.errors import WriteError
from gamewarden.tables import PACKETS, check

SERVER = "198.51.100.1:3724"
_CHUNK = 1 << 16
_RECORD, _ETHERNET, _IP, _TCP = 16, 14, 20, 20
_HEADERS = _ETHERNET + _IP + _TCP
_FIRST_MADE_UP = int(IPv4Address("10.0.0.1"))
_MADE_UP_PORT = 49_152
_LARGEST = 0xFFFF - _IP - _TCP
_SYN, _SYN_ACK, _PUSH_ACK = 0x02, 0x12, 0x18

Words = npt.NDArray[np.int64]


def write_pcap(packets: pl.DataFrame, path: Path, server: str = SERVER) -> pl.DataFrame:
    """Write PACKETS as a microsecond pcap: Ethernet, IPv4, TCP with valid checksums, each actor one connection.

    An actor named like an IPv4 end (`192.0.2.7:50000`) has that address, any other gets one of its own. Rows keep their
    order; before an actor's first packet stand a SYN and its answer at the same time. Payloads are the bytes of the
    column `payload`, where there is one, and zeros otherwise. Returns `address, port, from, until, account`, the table
    that leads back from addresses to actors.

    Raises:
        WriteError: a packet is larger than IPv4 allows or was sent before 1970, its payload is of another size, or the
            place cannot be written.
    """
    rows = check(packets, PACKETS, "write_pcap")
    if "payload" in packets.columns:
        rows = rows.with_columns(packets["payload"].cast(pl.Binary))
    _refuse_unwritable(rows, path)
    actors = rows["actor"].unique(maintain_order=True).to_list()
    ends = _ends(actors)
    segments = _segments(rows, actors)
    with whole_file(path) as draft, draft.open("wb") as file:
        _write(file, segments, np.array(ends, np.int64).reshape(-1, 2), _end(server))
    return pl.DataFrame(
        {
            "address": [str(IPv4Address(address)) for address, _ in ends],
            "port": [port for _, port in ends],
            "from": [None] * len(ends),
            "until": [None] * len(ends),
            "account": actors,
        },
        schema={"address": pl.String, "port": pl.Int64, "from": pl.String, "until": pl.String, "account": pl.String},
    )


def _refuse_unwritable(rows: pl.DataFrame, path: Path) -> None:
    if rows.filter((pl.col("size") < 0) | (pl.col("size") > _LARGEST)).height:
        raise WriteError(f"{path}: a packet has fewer than 0 or more than {_LARGEST} bytes; IPv4 cannot carry it")
    if "payload" in rows.columns and not (rows["payload"].bin.size() == rows["size"]).all():
        raise WriteError(f"{path}: a payload has another number of bytes than its packet's size; give it whole")
    seconds = rows["at"].dt.epoch("s")
    if rows.height and not seconds.is_between(0, 2**32 - 1).all():
        raise WriteError(f"{path}: a packet was sent before 1970 or after 2106; a pcap cannot say so")


def _ends(actors: list[str]) -> list[tuple[int, int]]:
    """Address and port of each actor; made-up ones avoid those that are taken."""
    named = {actor: _end_or_none(actor) for actor in actors}
    taken = {end for end in named.values() if end}
    free = ((_FIRST_MADE_UP + number, _MADE_UP_PORT) for number in range(2**24))
    unused = (end for end in free if end not in taken)
    return [named[actor] or next(unused) for actor in actors]


def _end_or_none(actor: str) -> tuple[int, int] | None:
    try:
        return _end(actor)
    except ValueError:
        return None


def _end(text: str) -> tuple[int, int]:
    address, _, port = text.rpartition(":")
    number = int(port) if port.isdecimal() else -1
    if not 0 <= number <= 0xFFFF:  # noqa: PLR2004 - ports have 16 bits
        raise AddressValueError(f"{text!r} is not an IPv4 address:port")
    return int(IPv4Address(address)), number


def _segments(rows: pl.DataFrame, actors: list[str]) -> pl.DataFrame:
    """One row a TCP segment, with the handshakes: actor number, at, up, size, flags, seq and ack."""
    numbers = pl.DataFrame({"actor": actors, "end": range(len(actors))}, schema={"actor": pl.String, "end": pl.Int64})
    data = (
        rows.select("actor", pl.col("at").dt.epoch("us"), "up", pl.col("size").cast(pl.Int64), _payload(rows))
        .join(numbers, on="actor", how="left", maintain_order="left")
        .with_row_index("row")
        .with_columns(flags=pl.lit(_PUSH_ACK, pl.Int64), step=pl.lit(2, pl.Int64))
    )
    first = data.group_by("end", maintain_order=True).first().select(data.columns)
    opening = [
        first.with_columns(
            up=pl.lit(step == 0),
            size=pl.lit(0, pl.Int64),
            payload=pl.lit(None, pl.Binary),
            flags=pl.lit((_SYN, _SYN_ACK)[step], pl.Int64),
            step=pl.lit(step, pl.Int64),
        )
        for step in (0, 1)
    ]
    taken = pl.col("size") + (pl.col("step") < 2).cast(pl.Int64)  # a SYN takes one number  # noqa: PLR2004
    sent_up = pl.when("up").then(taken).otherwise(0)
    sent_down = pl.when("up").then(0).otherwise(taken)
    # Some initial number, different for each actor and direction; half of all streams wrap around early.
    isn_up = pl.col("end") * 2_654_435_761 + 4_294_960_000
    isn_down = pl.col("end") * 40_503 + 1_000
    return (
        pl.concat([*opening, data])
        .sort("row", "step", maintain_order=True)
        .with_columns(
            before_up=sent_up.cum_sum().over("end") - sent_up + isn_up,
            before_down=sent_down.cum_sum().over("end") - sent_down + isn_down,
        )
        .with_columns(
            seq=pl.when("up").then("before_up").otherwise("before_down"),
            ack=pl.when(pl.col("step") == 0).then(0).when("up").then("before_down").otherwise("before_up"),
        )
        .select("end", "at", "up", "size", "flags", "seq", "ack", "payload")
    )


def _payload(rows: pl.DataFrame) -> pl.Expr:
    """The bytes of each packet; null for zeros."""
    return pl.col("payload") if "payload" in rows.columns else pl.lit(None, pl.Binary).alias("payload")


def _write(file: BinaryIO, segments: pl.DataFrame, ends: Words, server: tuple[int, int]) -> None:
    header = np.array([0xA1B2C3D4, 0x00040002, 0, 0, 262_144, 1], "<u4")
    file.write(header.tobytes())
    pieces = enumerate(segments.iter_slices(_CHUNK))
    file.writelines(_records(piece, ends, server, number * _CHUNK).tobytes() for number, piece in pieces)


def _records(segments: pl.DataFrame, ends: Words, server: tuple[int, int], number: int) -> npt.NDArray[np.uint8]:
    at, size = segments["at"].to_numpy(), segments["size"].to_numpy()
    heads = np.zeros((segments.height, _RECORD + _HEADERS), np.uint8)
    for place, value in enumerate((at // 1_000_000, at % 1_000_000, size + _HEADERS, size + _HEADERS)):
        heads[:, place * 4 : place * 4 + 4] = value.astype("<u4")[:, None].view(np.uint8)
    frame = _frames(segments, ends, server, number)
    heads[:, _RECORD:] = frame.astype(">u2").view(np.uint8)
    starts = np.cumsum(size + heads.shape[1]) - (size + heads.shape[1])
    out = np.zeros(int((size + heads.shape[1]).sum()), np.uint8)
    out[starts[:, None] + np.arange(heads.shape[1])] = heads
    for start, payload in zip((starts + heads.shape[1]).tolist(), segments["payload"], strict=True):
        if payload:
            out[start : start + len(payload)] = np.frombuffer(payload, np.uint8)
    return out


def _frames(segments: pl.DataFrame, ends: Words, server: tuple[int, int], number: int) -> Words:
    """Ethernet, IPv4 and TCP headers as 16-bit words, one row a segment, checksums filled in."""
    up, size = segments["up"].to_numpy(), segments["size"].to_numpy()
    address, port = ends[segments["end"].to_numpy()].T
    source, target = np.where(up, address, server[0]), np.where(up, server[0], address)
    words = np.zeros((segments.height, _HEADERS // 2), np.int64)
    ether, ip, tcp = words[:, :7], words[:, 7:17], words[:, 17:]
    ether[:] = [0x0200, 0, 1, 0x0200, 0, 2, 0x0800]
    ip[:, 0] = 0x4500
    ip[:, 1] = size + _IP + _TCP
    ip[:, 2] = (np.arange(segments.height) + number) & 0xFFFF
    ip[:, 3] = 0x4000  # must not be fragmented
    ip[:, 4] = 64 << 8 | 6
    ip[:, 6:8], ip[:, 8:10] = _halves(source), _halves(target)
    ip[:, 5] = _checksum(ip.sum(axis=1))
    tcp[:, 0], tcp[:, 1] = np.where(up, port, server[1]), np.where(up, server[1], port)
    tcp[:, 2:4], tcp[:, 4:6] = _halves(segments["seq"].to_numpy()), _halves(segments["ack"].to_numpy())
    tcp[:, 6] = 5 << 12 | segments["flags"].to_numpy()
    tcp[:, 7] = 0xFFFF
    # The pseudo header: addresses, protocol, length. A payload of zeros adds nothing.
    said = np.array([_words(payload) for payload in segments["payload"]], np.int64)
    tcp[:, 8] = _checksum(tcp.sum(axis=1) + ip[:, 6:10].sum(axis=1) + 6 + size + _TCP + said)
    return words


def _words(payload: bytes | None) -> int:
    """The sum of the payload's 16-bit words, an odd last byte followed by zero."""
    if not payload:
        return 0
    return int(np.frombuffer(payload + b"\0" * (len(payload) % 2), ">u2").sum(dtype=np.int64))


def _halves(numbers: Words) -> Words:
    return np.stack([numbers >> 16 & 0xFFFF, numbers & 0xFFFF], axis=1)


def _checksum(total: Words) -> Words:
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
