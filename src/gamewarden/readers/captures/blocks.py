"""The parts of a capture file that say how to read the rest: pcap headers, pcapng sections and interfaces."""

import struct
from dataclasses import dataclass

from gamewarden.errors import ReadError

PCAP_HEADER = 24
SECTION_MAGIC = b"\x0a\x0d\x0d\x0a"
SECTION_SHORTEST = 28
INTERFACE_SHORTEST = 20
MICROSECONDS = 6  # the resolution of an interface that does not say
_PCAP_MAJOR = 2
_LINK_MASK = 0x03FFFFFF  # the upper bits say how long the frame check sequence is
_OPTION_END, _OPTION_RESOLUTION, _OPTION_OFFSET = 0, 9, 14

_PCAP_MAGICS = {
    b"\xd4\xc3\xb2\xa1": (False, False),
    b"\xa1\xb2\xc3\xd4": (True, False),
    b"\x4d\x3c\xb2\xa1": (False, True),
    b"\xa1\xb2\x3c\x4d": (True, True),
}


class BadBlockError(ReadError):
    """A header contradicts itself; the text is a phrase for the remark that says where."""


@dataclass(frozen=True)
class PcapHeader:
    """How the records of a classic capture are written."""

    big: bool
    nanos: bool
    link: int


@dataclass(frozen=True)
class Interface:
    """How the packets of one pcapng interface are written."""

    link: int
    resolution: int
    shift: int  # seconds to add to each time


def looks_like_capture(head: bytes) -> bool:
    """Whether the first four bytes are those of a capture we read."""
    return head[:4] in _PCAP_MAGICS or head[:4] == SECTION_MAGIC


def pcap_header(head: bytes) -> PcapHeader:
    """Read the 24 bytes a classic capture starts with."""
    if head[:4] not in _PCAP_MAGICS:
        raise BadBlockError("begins neither like pcap nor like pcapng")
    big, nanos = _PCAP_MAGICS[head[:4]]
    order = ">" if big else "<"
    major, _minor = struct.unpack_from(order + "HH", head, 4)
    if major != _PCAP_MAJOR:
        raise BadBlockError(f"is written in pcap version {major}; only version 2 is known")
    (link,) = struct.unpack_from(order + "I", head, 20)
    return PcapHeader(big, nanos, link & _LINK_MASK)


def section_length(block: bytes) -> tuple[bool, int]:
    """(big-endian, length) of the section header that starts with these 16 bytes."""
    if block[8:12] == b"\x4d\x3c\x2b\x1a":
        big = False
    elif block[8:12] == b"\x1a\x2b\x3c\x4d":
        big = True
    else:
        raise BadBlockError("is a section header without a byte-order mark")
    length, _, major = struct.unpack_from((">" if big else "<") + "IIH", block, 4)
    if length < SECTION_SHORTEST or length % 4:
        raise BadBlockError(f"is a section header that says it is {length} bytes long")
    if major != 1:
        raise BadBlockError(f"is a section in pcapng version {major}; only version 1 is known")
    return big, length


def interface(block: bytes, *, big: bool) -> Interface:
    """Read an interface description block, from its type to its second length."""
    order = ">" if big else "<"
    if len(block) < INTERFACE_SHORTEST:
        raise BadBlockError(f"is an interface description of only {len(block)} bytes")
    (link,) = struct.unpack_from(order + "H", block, 8)
    resolution, shift = MICROSECONDS, 0
    place, end = 16, len(block) - 4
    while place + 4 <= end:
        code, length = struct.unpack_from(order + "HH", block, place)
        place += 4
        if code == _OPTION_END:
            break
        if place + length > end:
            raise BadBlockError("is an interface description with an option that runs past its end")
        if code == _OPTION_RESOLUTION and length == 1:
            resolution = block[place]
        elif code == _OPTION_OFFSET and length == 8:  # noqa: PLR2004 - a 64-bit number
            (shift,) = struct.unpack_from(order + "q", block, place)
        place += (length + 3) // 4 * 4
    return Interface(link, resolution, shift)
