"""Tunnels, mirrors and taps written by hand: each takes an IP packet (and its version) and wraps it."""

import struct

from capture_bytes import ethernet, ipv4, ipv6, udp

OUTER, MIRROR = "203.0.113.9", "203.0.113.1"
VLAN = bytes.fromhex("81000005")
QINQ = bytes.fromhex("88a8000581000006")
TYPES = {4: 0x0800, 6: 0x86DD}


def over4(body, protocol, **options):
    return ipv4(body, OUTER, MIRROR, protocol=protocol, **options)


def over6(body, protocol):
    return ipv6(body, "2001:db8:9::9", "2001:db8:9::1", protocol=protocol)


def datagram(port, body):
    return over4(udp(40_000, port, 0, 8 + len(body)) + body, 17)


def frame(inner, version, tags=b""):
    return ethernet(inner, TYPES[version], tags)


def vxlan(inner, version, port=4789, head="0800000000002a00", tags=b""):
    return datagram(port, bytes.fromhex(head) + frame(inner, version, tags))


def geneve(inner, version, options=b"", kind=None, flags=0):
    kind = TYPES[version] if kind is None else kind
    body = inner if kind != 0x6558 else frame(inner, version)
    return datagram(6081, struct.pack(">BBHI", len(options) // 4, flags, kind, 0x2A00) + options + body)


def gtp(inner, _version, options=b"", flags=0x30, kind=255):
    return datagram(2152, struct.pack(">BBHI", flags, kind, len(options) + len(inner), 7) + options + inner)


def gre(inner, version, flags=0, kind=None, fields=b"", *, outer=over4):
    kind = TYPES[version] if kind is None else kind
    body = frame(inner, version) if kind in (0x6558, 0x88BE, 0x22EB) else inner
    return outer(struct.pack(">HH", flags, kind) + fields + body, 47)


def labels(*numbers):
    last = len(numbers) - 1
    return b"".join(struct.pack(">I", number << 12 | (place == last) << 8 | 64) for place, number in enumerate(numbers))


def pppoe(inner, version, protocol=None):
    protocol = {4: b"\0\x21", 6: b"\0\x57"}[version] if protocol is None else protocol
    return struct.pack(">BBHH", 0x11, 0, 3, len(protocol + inner)) + protocol + inner


# Name -> (what is counted, the frame's Ethernet type, what stands behind it).
TUNNELS = {
    "vxlan": ("VXLAN", 0x0800, vxlan),
    "vxlan of linux": ("VXLAN", 0x0800, lambda p, v: vxlan(p, v, 8472)),
    "vxlan with groups": ("VXLAN", 0x0800, lambda p, v: vxlan(p, v, head="8848000700002a00")),
    "vxlan with a tag inside": ("VXLAN", 0x0800, lambda p, v: vxlan(p, v, tags=VLAN)),
    "geneve": ("GENEVE", 0x0800, geneve),
    "geneve of Ethernet": ("GENEVE", 0x0800, lambda p, v: geneve(p, v, kind=0x6558)),
    "geneve with options": (
        "GENEVE",
        0x0800,
        lambda p, v: geneve(p, v, bytes.fromhex("0108010200000001000000020108030100000003"), flags=0x40),
    ),
    "gtp": ("GTP-U", 0x0800, gtp),
    "gtp with a number": ("GTP-U", 0x0800, lambda p, v: gtp(p, v, bytes(4), 0x32)),
    "gtp with extensions": (
        "GTP-U",
        0x0800,
        lambda p, v: gtp(p, v, bytes.fromhex("00000085" + "01100900" + "00000000")[:8], 0x34),
    ),
    "gtp with two extensions": (
        "GTP-U",
        0x0800,
        lambda p, v: gtp(p, v, bytes.fromhex("00000085" + "01100985" + "0201020304050600"), 0x36),
    ),
    "gre": ("GRE", 0x0800, gre),
    "gre with everything": ("GRE", 0x0800, lambda p, v: gre(p, v, 0xB000, fields=bytes(12))),
    "gre over IPv6": ("GRE", 0x86DD, lambda p, v: gre(p, v, outer=over6)),
    "nvgre": ("GRE", 0x0800, lambda p, v: gre(p, v, 0x2000, 0x6558, bytes.fromhex("00002a00"))),
    "erspan 1": ("ERSPAN", 0x0800, lambda p, v: gre(p, v, 0, 0x88BE)),
    "erspan 2": ("ERSPAN", 0x0800, lambda p, v: gre(p, v, 0x1000, 0x88BE, bytes(4) + b"\x10\x05" + bytes(6))),
    "erspan 3": ("ERSPAN", 0x0800, lambda p, v: gre(p, v, 0x1000, 0x22EB, bytes(4) + b"\x20\x05" + bytes(10))),
    "erspan 3 with more": (
        "ERSPAN",
        0x0800,
        lambda p, v: gre(p, v, 0x1000, 0x22EB, bytes(4) + b"\x20\x05" + bytes(9) + b"\1" + bytes(8)),
    ),
    "ip in ip": ("IP-in-IP", 0x0800, lambda p, v: over4(p, 4 if v == 4 else 41)),
    "ip in ipv6": ("IP-in-IP", 0x86DD, lambda p, v: over6(p, 4 if v == 4 else 41)),
    "mpls": ("MPLS", 0x8847, lambda p, _: labels(17) + p),
    "mpls of three labels": ("MPLS", 0x8848, lambda p, _: labels(17, 18, 19) + p),
    "mpls with a control word": ("MPLS", 0x8847, lambda p, v: labels(17) + bytes(4) + frame(p, v)),
    "mpls with Ethernet": ("MPLS", 0x8847, lambda p, v: labels(17) + frame(p, v, VLAN)),
    "mpls in gre": ("GRE", 0x0800, lambda p, v: gre(labels(5) + p, v, kind=0x8847)),
    "mpls in ip": ("MPLS", 0x0800, lambda p, _: over4(labels(5) + p, 137)),
    "pppoe": ("PPPoE", 0x8864, pppoe),
    "pppoe with a short protocol": ("PPPoE", 0x8864, lambda p, v: pppoe(p, v, b"\x21" if v == 4 else b"\x57")),
    "pppoe of mpls": ("PPPoE", 0x8864, lambda p, v: pppoe(labels(9) + p, v, b"\x02\x81")),
    "vxlan in gre in vxlan": ("VXLAN", 0x0800, lambda p, v: vxlan(gre(vxlan(p, v), 4), 4)),
    "gtp in mpls": ("MPLS", 0x8847, lambda p, v: labels(3) + gtp(p, v)),
}


def snap(inner, version):
    return bytes.fromhex("aaaa03000000") + struct.pack(">H", TYPES[version]) + inner


def wifi(inner, version, control=0x08, flags=0x01, extra=b"", *, pad=b""):
    return bytes([control, flags]) + bytes(20) + b"\x10\0" + extra + pad + snap(inner, version)


def radiotap(body, present=0, fields=b""):
    return struct.pack("<BBHI", 0, 0, 8 + len(fields), present) + fields + body


def nflog(inner, version, order="<"):
    def attribute(kind, data):
        return struct.pack(order + "HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)

    head = struct.pack(">BBH", 2 if version == 4 else 10, 0, 5)
    return head + attribute(1, bytes(4)) + attribute(10, b"a\0") + attribute(9, inner)


# Name -> (link type, the frame).
TAPS = {
    "ppp": (9, lambda p, v: b"\xff\x03\0" + (b"\x21" if v == 4 else b"\x57") + p),
    "ppp without address": (9, lambda p, v: b"\0" + (b"\x21" if v == 4 else b"\x57") + p),
    "ppp in hdlc": (50, lambda p, v: b"\xff\x03\0" + (b"\x21" if v == 4 else b"\x57") + p),
    "cisco in hdlc": (50, lambda p, v: b"\x0f\0" + struct.pack(">H", TYPES[v]) + p),
    "pppoe alone": (51, pppoe),
    "cisco hdlc": (104, lambda p, v: b"\x8f\0" + struct.pack(">H", TYPES[v]) + p),
    "802.11": (105, wifi),
    "802.11 between bridges": (105, lambda p, v: wifi(p, v, 0x08, 0x03, bytes(6))),
    "802.11 with quality": (105, lambda p, v: wifi(p, v, 0x88, 0x02, bytes(2))),
    "802.11 with quality and control": (105, lambda p, v: wifi(p, v, 0x88, 0x82, bytes(6))),
    "radiotap": (127, lambda p, v: radiotap(wifi(p, v))),
    "radiotap with a check": (127, lambda p, v: radiotap(wifi(p, v) + b"\1\2\3\4", 2, b"\x10")),
    "radiotap with a clock": (127, lambda p, v: radiotap(wifi(p, v) + bytes(4), 3, bytes(8) + b"\x10")),
    "radiotap with padding": (127, lambda p, v: radiotap(wifi(p, v, 0x88, 1, bytes(2), pad=bytes(2)), 2, b"\x20")),
    "radiotap of several words": (
        127,
        lambda p, v: radiotap(wifi(p, v), 0x80000003, struct.pack("<II", 0x80000000, 0) + bytes(8) + b"\0"),
    ),
    "ppi": (192, lambda p, v: struct.pack("<BBHI", 0, 0, 12, 105) + bytes(4) + wifi(p, v)),
    "nflog": (239, nflog),
    "nflog of a big machine": (239, lambda p, v: nflog(p, v, ">")),
    "cooked with mpls": (113, lambda p, _: bytes(14) + b"\x88\x47" + labels(4) + p),
    "cooked 2 with pppoe": (276, lambda p, v: b"\x88\x64" + bytes(18) + pppoe(p, v)),
    "802.3": (1, lambda p, v: bytes(12) + struct.pack(">H", len(p) + 8) + snap(p, v)),
}
