"""Packets: captures in pcap and pcapng, and tables of packets."""

import struct

from capture_bytes import AT, block, enhanced, ethernet, interface, ipv4, ipv6, pcap, section, tcp, udp
from fuzz import values
from fuzz.case import Case, command, perhaps, shown
from fuzz.kit import Kit
from fuzz.logs import parquet_bytes
from fuzz.mutate import Dice, Row, chance, csv_text, json_rows, odd_toml, pack, spoil_bytes, spoil_rows, toml_text

_LINKS = (1, 1, 1, 101, 0, 113, 276, 12, 14, 228, 229, 105, 127, 9, 50, 104, 239, 147, 65_535)
_SHIMS = {0: b"\x02\0\0\0", 113: bytes(14) + b"\x08\0", 276: b"\x08\0" + bytes(18), 127: b"\0\0\x08\0" + bytes(4)}
_ADDRESSES = ("192.0.2.7", "192.0.2.8", "198.51.100.1", "10.0.0.1", "0.0.0.0", "255.255.255.255")  # noqa: S104
_SIZES = (0, 0, 1, 20, 20, 34, 60, 700, 1400)
_FLAGS = (0x02, 0x12, 0x10, 0x18, 0x18, 0x18, 0x11, 0x04, 0xFF, 0)


def _transport(dice: Dice) -> tuple[bytes, int]:
    up = chance(dice, 0.7)
    ports = (dice.choice((50_000, 50_001)), dice.choice((3724, 5121, 4789, 6081, 2152)))
    source, target = ports if up else ports[::-1]
    if chance(dice, 0.7):
        seq = dice.choice((0, 100, 120, 140, 2**32 - 10, dice.randrange(2**32)))
        options = dice.choice((b"", b"", b"\1" * 8, b"\2\4\5\xb4", b"\x05\0\0\0"))
        return tcp(source, target, seq, dice.choice(_SIZES), dice.choice(_FLAGS), options=options), 6
    length = dice.choice((None, None, 0, 7, 8, 65_535))
    return udp(source, target, dice.choice(_SIZES), length), 17


def _network(dice: Dice) -> tuple[bytes, int]:
    body, protocol = _transport(dice)
    if chance(dice, 0.2):
        return ipv6(body, protocol=protocol, length=dice.choice((None, None, 0, 65_535))), 0x86DD
    fragment = dice.choice((0, 0, 0, 0x2000, 0x4000, 0x1FFF))
    total = dice.choice((None, None, None, 0, 19, 65_535))
    source, target = dice.choice(_ADDRESSES), dice.choice(_ADDRESSES)
    if chance(dice, 0.06):
        body, protocol = ipv4(body, source, target, protocol), dice.choice((4, 41, 47, 50, 132))
    return ipv4(body, source, target, protocol, fragment=fragment, total=total), 0x0800


def _frame(dice: Dice, link: int) -> bytes:
    packet, kind = _network(dice)
    if link == 1:
        tags = dice.choice(
            (b"", b"", b"\x81\0\0\5", b"\x88\xa8\0\5\x81\0\0\6", b"\x88\x47\0\1\1\xff", b"\x81\0\0\5" * 9)
        )
        return ethernet(packet, dice.choice((kind, kind, kind, 0x0806, 0x8864, 0x8847, 3)), tags)
    return _SHIMS.get(link, b"") + packet


def _frames(dice: Dice, link: int) -> list[bytes]:
    return [_frame(dice, link) for _ in range(dice.choice((0, 1, 3, 8, 20)))]


def classic(dice: Dice, _kit: Kit) -> Case:
    """A capture in pcap."""
    link = dice.choice(_LINKS)
    cut = dice.choice((None, None, None, 60, 20, 1))
    data = pcap(_frames(dice, link), link, dice.choice("<>"), nanos=chance(dice, 0.3), captured=cut)
    return _capture(dice, "net.pcap", data, "pcap")


def nextgen(dice: Dice, _kit: Kit) -> Case:
    """A capture in pcapng: sections, interfaces, packets, and blocks nobody knows."""
    data = b"".join(_section(dice) for _ in range(dice.choice((1, 1, 1, 2))))
    return _capture(dice, "net.pcapng", data, "pcapng")


def _section(dice: Dice) -> bytes:
    order, link = dice.choice("<<>"), dice.choice(_LINKS)
    faces = [_face(dice, link, order) for _ in range(dice.choice((0, 1, 1, 1, 2)))]
    blocks = [_block(dice, frame, number, order) for number, frame in enumerate(_frames(dice, link))]
    if chance(dice, 0.1):
        dice.shuffle(blocks)
    return section(order) + b"".join([*faces, *blocks])


def _face(dice: Dice, link: int, order: str) -> bytes:
    resolution = dice.choice((None, None, 6, 9, 0, 0x80 | 30, 0xFF, 63))
    shift = dice.choice((None, None, 0, -3, 2**62, -(2**62)))
    return interface(link, order, resolution, shift)


def _block(dice: Dice, frame: bytes, number: int, order: str) -> bytes:
    match dice.randrange(8):
        case 0:
            return block(3, struct.pack(order + "I", len(frame)) + frame, order)
        case 1:
            return block(dice.choice((2, 4, 5, 10, 0xBAD, 0x80000001)), dice.choice((b"", b"x" * 9, frame)), order)
        case _:
            ticks = dice.choice((AT, AT, AT, 0, 2**64 - 1)) + (number if chance(dice, 0.9) else 0)
            return enhanced(frame, ticks % 2**64, dice.choice((0, 0, 0, 1, 2**32 - 1)), order)


def _capture(dice: Dice, name: str, data: bytes, words: str) -> Case:
    if chance(dice, 0.7):
        data = spoil_bytes(data, dice, values.WORDS[words])
    if chance(dice, 0.05):
        data = pack(data, dice)
    files = {name: data}
    asked = command(
        dice,
        (60, f"watch {name}"),
        (12, f"measure traffic {name}"),
        (6, f"watch {name} --state st --out decisions"),
        (8, f"measure session {name} --server-port 3724"),
        (6, f"packets {name} --server-port 3724"),
        (4, f"read {name} --to lake --as ragnarok --server-port 3724"),
        (3, f"lint {name}"),
        (2, f"score {name} --models {{kit}}/shelf --server-port 3724"),
    )
    if asked[0] in {"watch", "measure"} and asked[1] != "session":
        asked += perhaps(dice, 0.4, "--server-port", dice.choice(("3724", "5121", "0", "65536")))
        asked += perhaps(dice, 0.2, "--include-empty")
        if chance(dice, 0.1):
            files["who.csv"] = _finished(spoil_rows(_accounts(dice), dice), dice)
            asked += ["--accounts", "who.csv"]
    return Case(asked, files)


def _accounts(dice: Dice) -> list[Row]:
    return [
        {
            "address": dice.choice(_ADDRESSES),
            "port": "",
            "from": "2023-11-14T00:00:00Z",
            "until": "",
            "account": f"a{number}",
        }
        for number in range(dice.choice((0, 1, 3)))
    ]


def log(dice: Dice, _kit: Kit) -> Case:
    """A table of packets, sometimes under a mapping of its own."""
    rows = [_packet(dice, number) for number in range(dice.choice((0, 1, 3, 12, 60)))]
    name = dice.choice(("p.csv", "p.csv", "p.jsonl", "p.parquet"))
    files = {name: _written(name, spoil_rows(rows, dice), dice)}
    asked = command(
        dice, (50, f"watch {name}"), (35, f"measure traffic {name}"), (10, f"watch {name} --state st --out decisions"),
        (1, f"score {name} --models {{kit}}/shelf"),
    )  # fmt: skip
    if chance(dice, 0.25):
        files["map.toml"] = packet_mapping(dice)
        asked += ["--map", "map.toml"] if asked[0] != "score" else []
    if asked[0] != "score":
        asked += perhaps(dice, 0.1, "--zone", dice.choice(("Asia/Seoul", "localtime")))
    return Case([*asked, *(shown(dice) if asked[0] == "measure" else [])], files)


def _packet(dice: Dice, number: int) -> Row:
    at = f"2026-03-01T12:{number // 60 % 60:02}:{number % 60:02}.{dice.randrange(10**6):06}Z"
    return {
        "actor": dice.choice(("p", "q", "é")),
        "at": at,
        "up": dice.choice(("true", "false", "1")),
        "size": str(dice.choice(_SIZES)),
    }


def _written(name: str, rows: list[Row], dice: Dice) -> bytes:
    if name.endswith("parquet"):
        data = parquet_bytes(rows, dice)
        return spoil_bytes(data, dice, values.WORDS["parquet"]) if chance(dice, 0.2) else data
    if name.endswith("jsonl"):
        return _packed(json_rows(rows, dice).encode("utf-8", "surrogatepass"), dice, "jsonl")
    return _finished(rows, dice)


def _finished(rows: list[Row], dice: Dice) -> bytes:
    return _packed(csv_text(rows, dice).encode("utf-8", "surrogatepass"), dice, "csv")


def _packed(data: bytes, dice: Dice, words: str) -> bytes:
    if chance(dice, 0.3):
        data = spoil_bytes(data, dice, values.WORDS[words])
    return pack(data, dice) if chance(dice, 0.12) else data


def packet_mapping(dice: Dice) -> bytes:
    """What the columns of a packet log are called, with something wrong."""
    tree = {
        "columns": {"actor": "actor", "at": "at", "size": "size"},
        "up": {"column": "up", "is": dice.choice(("true", "1", ["true", "1"]))},
        "time": {"format": dice.choice(("auto", "unix", "unix_ms", "%Y-%m-%dT%H:%M:%S.%fZ")), "zone": "UTC"},
    }
    for name in list(tree):
        if chance(dice, 0.4):
            del tree[name]
    for part in tree.values():
        if chance(dice, 0.5):
            part[dice.choice((*part, "more"))] = odd_toml(dice)
    if chance(dice, 0.1):
        tree[dice.choice(("columns", "up", "other"))] = odd_toml(dice)
    data = toml_text(tree).encode("utf-8", "surrogatepass")
    return spoil_bytes(data, dice, values.WORDS["toml"]) if chance(dice, 0.2) else data
