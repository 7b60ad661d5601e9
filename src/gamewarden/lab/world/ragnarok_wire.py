"""What a Ragnarok client's messages look like on the wire, and the packetstream file of the thesis (Appendix B)."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TAG = b"ADAM"  # before a message or several of one time; then seconds and microseconds, little endian
DYNAMIC = -1


@dataclass(frozen=True)
class Layout:
    """A message's number, its length, and where its numbers stand: name -> (offset, struct code)."""

    id: int
    length: int
    fields: Mapping[str, tuple[int, str]]


# The table the thesis used (eAthena's blocks of 2005-05-09 and 2007-02-12), by the server's function.
LAYOUTS: Mapping[str, Layout] = {
    "wanttoconnection": Layout(0x009B, 26, {"actor": (4, "<I"), "character": (9, "<I"), "tick": (21, "<I")}),
    "lesseffect": Layout(0x021D, 6, {}),
    "loadendack": Layout(0x007D, 2, {}),
    "guildcheckmaster": Layout(0x014D, 2, {}),
    "guildrequestinfo": Layout(0x014F, 6, {}),
    "ticksend": Layout(0x0089, 8, {"tick": (4, "<I")}),
    "getcharnamerequest": Layout(0x008C, 11, {"target": (7, "<I")}),
    "walktoxy": Layout(0x00A7, 8, {}),
    "changedir": Layout(0x0085, 11, {"action": (10, "<B")}),
    "actionrequest": Layout(0x0190, 19, {"target": (5, "<I"), "action": (18, "<B")}),
    "takeitem": Layout(0x00F5, 8, {"target": (4, "<I")}),
    "useitem": Layout(0x009F, 14, {"target": (10, "<I")}),
    "npcclicked": Layout(0x0090, 7, {"target": (2, "<I")}),
    "npcnextclicked": Layout(0x00B9, 6, {"target": (2, "<I")}),
    "npccloseclicked": Layout(0x0146, 6, {"target": (2, "<I")}),
    "wis": Layout(0x0096, DYNAMIC, {}),
    "restart": Layout(0x00B2, 3, {}),
}
_POSITION = 5  # of walktoxy
_NAME = 24  # bytes of the name a whisper goes to
_WIS_HEAD = 4 + _NAME


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a client: when (µs), what the server does with it, and its numbers."""

    at: int
    function: str
    x: int | None = None
    y: int | None = None
    target: int | None = None
    action: int | None = None
    actor: int | None = None
    character: int | None = None
    text: str = ""


def encode(message: Message) -> bytes:
    """The bytes a client sends."""
    layout = LAYOUTS[message.function]
    if layout.length == DYNAMIC:
        return _whisper(layout.id, message.text)
    data = bytearray(layout.length)
    struct.pack_into("<H", data, 0, layout.id)
    for name, (offset, code) in layout.fields.items():
        value = message.at // 1000 & 0xFFFFFFFF if name == "tick" else getattr(message, name)
        struct.pack_into(code, data, offset, value or 0)
    if message.x is not None and message.y is not None:
        data[_POSITION : _POSITION + 3] = packed_position(message.x, message.y)
    return bytes(data)


def packed_position(x: int, y: int, direction: int = 0) -> bytes:
    """Ten bits east, ten bits north, four bits of direction."""
    return bytes((x >> 2, (x & 3) << 6 | y >> 4, (y & 15) << 4 | direction))


def packetstream(messages: Iterable[Message]) -> bytes:
    """A file of the thesis: the tag and the time before every message."""
    parts: list[bytes] = []
    for message in messages:
        seconds, micros = divmod(message.at, 1_000_000)
        parts += (TAG, struct.pack("<II", seconds, micros), encode(message))
    return b"".join(parts)


def _whisper(number: int, text: str) -> bytes:
    said = text.encode() + b"\0"
    return struct.pack("<HH", number, _WIS_HEAD + len(said)) + b"friend".ljust(_NAME, b"\0") + said
