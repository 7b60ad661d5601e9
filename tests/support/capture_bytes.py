"""Captures written by hand, byte by byte, so that a test knows what every byte of them says."""

import struct
from ipaddress import ip_address

CLIENT, SERVER = "192.0.2.7", "198.51.100.1"
CLIENT6, SERVER6 = "2001:db8::7", "2001:db8::1"
SYN, ACK, PUSH, FIN, RST = 0x02, 0x10, 0x18, 0x11, 0x04
AT = 1_700_000_000_123_456


def tcp(source, target, seq, payload=0, flags=PUSH, *, options=b""):
    size = 5 + len(options) // 4
    head = struct.pack(">HHIIBBHHH", source, target, seq % 2**32, 0, size << 4, flags, 1024, 0, 0)
    return head + options + b"x" * payload


def udp(source, target, payload=0, length=None):
    return struct.pack(">HHHH", source, target, 8 + payload if length is None else length, 0) + b"x" * payload


def ipv4(body, source=CLIENT, target=SERVER, protocol=6, *, fragment=0, options=b"", total=None):
    size = 20 + len(options)
    head = struct.pack(
        ">BBHHHBBH",
        0x40 | size // 4,
        0,
        size + len(body) if total is None else total,
        1,
        fragment,
        64,
        protocol,
        0,
    )
    return head + ip_address(source).packed + ip_address(target).packed + options + body


def ipv6(body, source=CLIENT6, target=SERVER6, protocol=6, length=None):
    head = struct.pack(">IHBB", 0x60000000, len(body) if length is None else length, protocol, 64)
    return head + ip_address(source).packed + ip_address(target).packed + body


def ethernet(body, kind=0x0800, tags=b""):
    return b"\x02" * 12 + tags + struct.pack(">H", kind) + body


def up(seq, payload=0, flags=PUSH, port=50000):
    return ethernet(ipv4(tcp(port, 3724, seq, payload, flags)))


def down(seq, payload=0, flags=PUSH, port=50000):
    return ethernet(ipv4(tcp(3724, port, seq, payload, flags), SERVER, CLIENT))


def pcap(frames, link=1, order="<", *, nanos=False, captured=None):
    """Frames a second apart, beginning at AT; `captured` cuts them as a snap length does."""
    out = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nanos else 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)]
    for number, frame in enumerate(frames):
        seconds, micros = divmod(AT + number * 1_000_000, 1_000_000)
        part = micros * 1000 + 999 if nanos else micros
        kept = frame[:captured]
        out.append(struct.pack(order + "IIII", seconds, part, len(kept), len(frame)) + kept)
    return b"".join(out)


def block(kind, body, order="<"):
    body += b"\0" * (-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order="<"):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link=1, order="<", resolution=None, shift=None):
    options = b""
    if resolution is not None:
        options += struct.pack(order + "HHB3x", 9, 1, resolution)
    if shift is not None:
        options += struct.pack(order + "HHq", 14, 8, shift)
    return block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)


def enhanced(frame, ticks=AT, face=0, order="<"):
    body = struct.pack(order + "IIIII", face, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame)) + frame
    return block(6, body, order)
