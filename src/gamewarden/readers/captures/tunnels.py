"""Packets inside packets: tunnels and mirrors are opened, and the frames of rarer taps, layer by layer.

Only what the plain reading of headers has no answer for comes here. A datagram to the port of a tunnel is opened only
when all that follows fits (fixed bits, types, versions, lengths); otherwise it is a datagram like any other, since a
game may use that port. The frame inside a mirror may have been cut by it: there the inner lengths are believed, as
those of a capture with a snap length are.
"""

from typing import NamedTuple

import numpy as np

from gamewarden.readers.captures import counts
from gamewarden.readers.captures import link_types as links
from gamewarden.readers.captures.byte_numbers import net16, u16, u32
from gamewarden.readers.captures.headers import (
    ETHER_IPV4,
    ETHER_IPV6,
    ETHERNET_HEADER,
    LONGEST_HEADER_CHAIN,
    MAC_ADDRESSES,
    MOST_TAGS,
    TCP,
    UDP,
    UDP_HEADER,
    Packet,
    by_family,
    by_version,
    ip_header,
    is_tag,
    transport,
)
from gamewarden.readers.kernels import Pointer, apart, part

# Marks of ports.
SERVER_PORT, TUNNEL_PORT = 1, 2
VXLAN, VXLAN_OF_LINUX, GENEVE, GTP_U = 4789, 8472, 6081, 2152
TUNNEL_PORTS = (VXLAN, VXLAN_OF_LINUX, GENEVE, GTP_U)

MOST_LAYERS = 16
MOST_LABELS = 16
_UNLIMITED = 1 << 17  # longer than any IP packet

# What a layer begins with; `_PLAIN` ends the walk: nothing is wrapped in this datagram.
_PLAIN, _ETHERNET, _LLC, _IPV4, _IPV6, _MPLS, _PPPOE, _PPP, _GRE = range(9)

_BRIDGED = 0x6558
_ERSPAN, _ERSPAN_3 = 0x88BE, 0x22EB
_LARGEST_802_3 = 1500


class Layer(NamedTuple):
    """What comes next in a frame."""

    step: int  # what it is, or minus the counter of why the walk ends
    at: int
    end: int  # of the bytes that were captured
    wire: int  # of the bytes that were sent
    limit: int  # of what lengths inside may claim
    wraps: int  # a bit for each kind of wrapping so far


@part
def _layer(step: int, at: int, end: int, wire: int, limit: int, wraps: int) -> Layer:
    return Layer(step, at, end, wire, limit, wraps)


@part
def _go(layer: Layer, step: int, at: int) -> Layer:
    return _layer(step, at, layer.end, layer.wire, layer.limit, layer.wraps)


@part
def _stop(layer: Layer, why: int) -> Layer:
    return _layer(-why, layer.at, layer.end, layer.wire, layer.limit, layer.wraps)


@part
def _in(layer: Layer, counter: int) -> Layer:
    """The same, known to be wrapped."""
    bit = 1 << (counter - counts.IN_VXLAN)
    return _layer(layer.step, layer.at, layer.end, layer.wire, layer.limit, layer.wraps | bit)


@part
def _ending(layer: Layer, wire: int, limit: int) -> Layer:
    """The same, ending where a length says."""
    return _layer(layer.step, layer.at, min(layer.end, wire), wire, limit, layer.wraps)


@part
def _mirrored(layer: Layer, at: int) -> Layer:
    """A whole Ethernet frame, which a mirror may have cut."""
    return _layer(_ETHERNET, at, layer.end, layer.wire, at + _UNLIMITED, layer.wraps)


@part
def _lacks(layer: Layer, count: int) -> bool:
    """Whether fewer bytes of a layer were captured."""
    return layer.at + count > layer.end


@part
def _of_type(layer: Layer, kind: int, at: int) -> Layer:
    """What an Ethernet type announces."""
    if kind == ETHER_IPV4:
        return _go(layer, _IPV4, at)
    if kind == ETHER_IPV6:
        return _go(layer, _IPV6, at)
    if kind in (0x8847, 0x8848):
        return _go(layer, _MPLS, at)
    if kind == 0x8864:
        return _go(layer, _PPPOE, at)
    if kind <= _LARGEST_802_3:
        return _go(layer, _LLC, at)
    return _stop(layer, counts.ENCRYPTED if kind == 0x88E5 else counts.NOT_IP)


@part
def _typed(data: Pointer, layer: Layer, type_at: int) -> Layer:
    """The same, with the type still to be read, behind tags."""
    at = type_at
    for _ in range(MOST_TAGS + 1):
        if at + 2 > layer.end:
            return _stop(layer, counts.CUT_HEADERS)
        kind = net16(data, at)
        at += 2
        if not is_tag(kind):
            return _of_type(layer, kind, at)
        at += 2
    return _stop(layer, counts.NOT_IP)


@part
def _llc(data: Pointer, layer: Layer) -> Layer:
    """802.2 with SNAP (RFC 1042): an Ethernet type behind six fixed bytes."""
    at = layer.at
    if _lacks(layer, 8) or net16(data, at) != 0xAAAA or net16(data, at + 2) != 0x0300 or net16(data, at + 4) != 0:
        return _stop(layer, counts.NOT_IP)
    kind = net16(data, at + 6)
    if kind <= _LARGEST_802_3:
        return _stop(layer, counts.NOT_IP)
    return _typed(data, layer, at + 6)


@part
def _of_version(layer: Layer, version: int, at: int) -> Layer:
    """IP of a version, or minus the counter of why it is none."""
    if version == 4:
        return _go(layer, _IPV4, at)
    if version == 6:
        return _go(layer, _IPV6, at)
    return _stop(layer, -version)


@part
def _by_nibble(data: Pointer, layer: Layer) -> Layer:
    version, at = by_version(data, layer.at, layer.end)
    return _of_version(layer, version, at)


@part
def _fits_ip(data: Pointer, layer: Layer, at: int, version: int) -> bool:
    """Whether an IP header of this version may begin here, as far as it was captured."""
    if at >= layer.end:
        return at < layer.wire
    if np.int64(data[at]) >> 4 != version:
        return False
    if version == 4:
        header = (np.int64(data[at]) & 15) * 4
        if header < 20 or at + 4 > layer.end:
            return header >= 20
        total = net16(data, at + 2)
        return total == 0 or (total >= header and at + total <= layer.limit)
    return at + 6 > layer.end or at + 40 + net16(data, at + 4) <= layer.limit


@part
def _is_usual(kind: int) -> bool:
    """Ethernet types, beside IP, that are seen on the lines of servers."""
    return kind in (
        0x0806,  # ARP
        0x8035,  # RARP
        0x8847,  # MPLS
        0x8848,
        0x8863,  # PPPoE
        0x8864,
        0x8809,  # LACP
        0x888E,  # EAPOL
        0x88CC,  # LLDP
        0x88E5,  # MACsec
        0x88F7,  # PTP
        0x8902,  # CFM
        0x9000,  # loopback
    )


@part
def _fits_llc(data: Pointer, layer: Layer, at: int) -> bool:
    """Whether this begins as spanning trees, SNAP and IS-IS do, as far as it was captured."""
    if at + 3 > layer.end:
        return True
    return net16(data, at) in (0x4242, 0xAAAA, 0xFEFE) and np.int64(data[at + 2]) == 3


@part
def _fits_ethernet(data: Pointer, layer: Layer, at: int) -> bool:
    """Whether an Ethernet frame may begin here, as far as it was captured."""
    if at + ETHERNET_HEADER > layer.wire:
        return False
    place = at + MAC_ADDRESSES
    kind = np.int64(0x8100)
    for _ in range(MOST_TAGS + 1):
        if place + 2 > layer.end:
            return place + 2 <= layer.wire
        kind = net16(data, place)
        place += 2
        if not is_tag(kind):
            break
        place += 2
    if kind == ETHER_IPV4:
        return _fits_ip(data, layer, place, 4)
    if kind == ETHER_IPV6:
        return _fits_ip(data, layer, place, 6)
    if kind <= _LARGEST_802_3:
        return kind >= 3 and place + kind <= layer.wire and _fits_llc(data, layer, place)
    return _is_usual(kind)


@apart
def _mpls(data: Pointer, layer: Layer) -> Layer:
    """Labels down to the last; what follows has no type and is told by its first bits (RFC 4928, RFC 4385)."""
    at = layer.at
    last = False
    for _ in range(MOST_LABELS):
        if at + 4 > layer.end:
            return _stop(layer, counts.CUT_HEADERS)
        last = (np.int64(data[at + 2]) & 1) != 0
        at += 4
        if last:
            break
    if not last:
        return _stop(layer, counts.TOO_DEEP)
    if at >= layer.end:
        return _stop(layer, counts.CUT_HEADERS)
    nibble = np.int64(data[at]) >> 4
    if nibble in (4, 6) and _fits_ip(data, layer, at, nibble):
        return _of_version(layer, nibble, at)
    if nibble == 0 and _fits_ethernet(data, layer, at + 4):  # behind the control word of a pseudo-wire
        return _go(layer, _ETHERNET, at + 4)
    if _fits_ethernet(data, layer, at):
        return _go(layer, _ETHERNET, at)
    return _stop(layer, counts.NOT_IP)


@apart
def _pppoe(data: Pointer, layer: Layer) -> Layer:
    """A PPPoE session (RFC 2516)."""
    at = layer.at
    if _lacks(layer, 6):
        return _stop(layer, counts.CUT_HEADERS)
    if np.int64(data[at]) != 0x11:
        return _stop(layer, counts.MALFORMED)
    if np.int64(data[at + 1]) != 0:
        return _stop(layer, counts.NOT_IP)
    last = at + 6 + net16(data, at + 4)
    return _go(_ending(layer, min(layer.wire, last), min(layer.limit, last)), _PPP, at + 6)


@apart
def _ppp(data: Pointer, layer: Layer) -> Layer:
    """PPP's protocol, in two bytes or compressed to one (RFC 1661)."""
    at = layer.at
    if _lacks(layer, 1):
        return _stop(layer, counts.CUT_HEADERS)
    protocol = np.int64(data[at])
    after = at + 1
    if (protocol & 1) == 0:
        if _lacks(layer, 2):
            return _stop(layer, counts.CUT_HEADERS)
        protocol = net16(data, at)
        after = at + 2
    if protocol == 0x21:
        return _go(layer, _IPV4, after)
    if protocol == 0x57:
        return _go(layer, _IPV6, after)
    if protocol in (0x281, 0x283):
        return _go(layer, _MPLS, after)
    # compressed headers, several links as one, encrypted, compressed
    unopened = protocol in (0x2D, 0x2F, 0x3D, 0x53, 0x55, 0xFB, 0xFD)
    return _stop(layer, counts.UNOPENED if unopened else counts.NOT_IP)


@part
def _erspan_3(data: Pointer, layer: Layer) -> Layer:
    """ERSPAN of version 3: twelve bytes, eight more when its last bit says so."""
    at = layer.at
    if _lacks(layer, 12):
        return _stop(layer, counts.CUT_HEADERS)
    tail = net16(data, at + 10)
    after = at + (20 if (tail & 1) != 0 else 12)
    kind = (tail >> 10) & 31
    if np.int64(data[at]) >> 4 != 2 or kind not in (0, 2):
        return _stop(layer, counts.UNOPENED)
    if kind == 0:
        return _mirrored(layer, after)
    return _by_nibble(data, _layer(0, after, layer.end, layer.wire, after + _UNLIMITED, layer.wraps))


@part
def _erspan(data: Pointer, layer: Layer, numbered: bool) -> Layer:
    """ERSPAN of version 1, which has no header of its own, or of version 2, which numbers its packets."""
    if not numbered:
        return _mirrored(layer, layer.at)
    if _lacks(layer, 8):
        return _stop(layer, counts.CUT_HEADERS)
    if np.int64(data[layer.at]) >> 4 != 1:
        return _stop(layer, counts.UNOPENED)
    return _mirrored(layer, layer.at + 8)


@apart
def _gre(data: Pointer, layer: Layer) -> Layer:
    """GRE (RFC 2784, RFC 2890) with checksum, key and number; NVGRE (RFC 7637) and mirrors inside it."""
    at = layer.at
    if _lacks(layer, 4):
        return _stop(layer, counts.CUT_HEADERS)
    flags = net16(data, at)
    kind = net16(data, at + 2)
    if (flags & 0x4FFF) != 0:  # routing, or another version: PPTP is version 1
        return _stop(layer, counts.UNOPENED)
    options = ((flags >> 15) & 1) + ((flags >> 13) & 1) + ((flags >> 12) & 1)
    inner = _go(layer, _PLAIN, at + 4 + 4 * options)
    if kind == _ERSPAN:
        return _in(_erspan(data, inner, (flags & 0x1000) != 0), counts.IN_ERSPAN)
    if kind == _ERSPAN_3:
        return _in(_erspan_3(data, inner), counts.IN_ERSPAN)
    inner = _in(inner, counts.IN_GRE)
    if kind == _BRIDGED:
        return _mirrored(inner, inner.at)
    if kind in (ETHER_IPV4, ETHER_IPV6, 0x8847, 0x8848):
        return _of_type(inner, kind, inner.at)
    return _stop(layer, counts.UNOPENED)


@apart
def _vxlan(data: Pointer, layer: Layer) -> Layer:
    """VXLAN (RFC 7348), also with group policies: all bits that are not in use must be zero."""
    at = layer.at
    if _lacks(layer, 8):
        return _go(layer, _PLAIN, at)
    first, second = np.int64(data[at]), np.int64(data[at + 1])
    plain = first == 0x08 and second == 0 and net16(data, at + 2) == 0
    grouped = first == 0x88 and (second & 0xB7) == 0
    inner = _mirrored(layer, at + 8)
    if (plain or grouped) and np.int64(data[at + 7]) == 0 and _fits_ethernet(data, inner, at + 8):
        return _in(inner, counts.IN_VXLAN)
    return _go(layer, _PLAIN, at)


@part
def _geneve_options(data: Pointer, layer: Layer, stop: int) -> int:
    """0 when the options end where they should, minus a counter when they were cut off, 1 otherwise."""
    place = layer.at + 8
    while place < stop:
        if place + 4 > layer.end:
            return -counts.CUT_HEADERS
        place += 4 + 4 * (np.int64(data[place + 3]) & 31)
    if place != stop:
        return 1
    return -counts.CUT_HEADERS if stop > layer.end else 0


@apart
def _geneve(data: Pointer, layer: Layer) -> Layer:
    """GENEVE (RFC 8926)."""
    at = layer.at
    plain = _go(layer, _PLAIN, at)
    if _lacks(layer, 8):
        return plain
    flags = np.int64(data[at + 1])
    kind = net16(data, at + 2)
    after = at + 8 + 4 * np.int64(data[at])
    if np.int64(data[at]) > 63 or (flags & 0x3F) != 0 or np.int64(data[at + 7]) != 0 or after > layer.wire:
        return plain
    if kind not in (_BRIDGED, ETHER_IPV4, ETHER_IPV6):
        return plain
    options = _geneve_options(data, layer, after)
    if options > 0:
        return plain
    wrapped = _in(layer, counts.IN_GENEVE)
    if options < 0:
        return _stop(wrapped, -options)
    if (flags & 0x80) != 0:  # a word from one end of the tunnel to the other
        return _stop(wrapped, counts.NOT_IP)
    if kind == _BRIDGED:
        inner = _mirrored(wrapped, after)
        return inner if _fits_ethernet(data, inner, after) else plain
    fits = _fits_ip(data, layer, after, 4 if kind == ETHER_IPV4 else 6)
    return _of_type(wrapped, kind, after) if fits else plain


@part
def _gtp_extensions(data: Pointer, layer: Layer, place: int, last: int) -> int:
    """Where the extension headers end, minus a counter when they were cut off, 0 when they cannot be."""
    for _ in range(LONGEST_HEADER_CHAIN):
        if place > layer.end:
            return -counts.CUT_HEADERS
        if np.int64(data[place - 1]) == 0:
            return place
        if place >= last:
            return 0
        if place >= layer.end:
            return -counts.CUT_HEADERS
        size = np.int64(data[place]) * 4
        place += size
        if size == 0 or place > last:
            return 0
    return 0


@apart
def _gtp(data: Pointer, layer: Layer, length: int) -> Layer:
    """GTP-U (3GPP TS 29.281): its length must be that of the datagram, what it carries must begin as IP does."""
    at = layer.at
    plain = _go(layer, _PLAIN, at)
    if _lacks(layer, 8) or (np.int64(data[at]) & 0xF8) != 0x30 or net16(data, at + 2) != length - 8:
        return plain
    wrapped = _in(layer, counts.IN_GTP)
    kind = np.int64(data[at + 1])
    if kind in (1, 2, 26, 31, 254):  # the tunnel speaks of itself
        return _stop(wrapped, counts.NOT_IP)
    if kind != 255:
        return plain
    after, last = at + 8, at + length
    flags = np.int64(data[at]) & 7
    if flags != 0:
        after += 4
        if after > last:
            return plain
    if (flags & 4) != 0:
        after = _gtp_extensions(data, layer, after, last)
        if after <= 0:
            return _stop(wrapped, -after) if after < 0 else plain
    if after >= layer.end:
        return _stop(wrapped, counts.CUT_HEADERS) if after < layer.wire else plain
    nibble = np.int64(data[after]) >> 4
    fits = nibble in (4, 6) and _fits_ip(data, layer, after, nibble)
    return _of_version(wrapped, nibble, after) if fits else plain


@apart
def _inside_udp(data: Pointer, layer: Layer, length: int, more: bool, port: int) -> Layer:
    """What a datagram to the port of a tunnel wraps; `_PLAIN` when it is no tunnel's."""
    said = net16(data, layer.at + 4)
    if said == 0:
        said = length
    last = layer.at + said
    wire = min(layer.wire, last)
    payload = _go(_ending(layer, wire, last if more else min(layer.limit, last)), _PLAIN, layer.at + UDP_HEADER)
    if port == GENEVE:
        return _geneve(data, payload)
    if port == GTP_U:
        return _gtp(data, payload, said - UDP_HEADER)
    return _vxlan(data, payload)


@apart
def _inside_ip(layer: Layer, protocol: int, length: int, more: bool) -> Layer:
    """What an IP packet wraps that carries neither TCP nor UDP."""
    last = layer.at + length
    limit = layer.at + _UNLIMITED if more else min(layer.limit, last)
    inner = _ending(layer, min(layer.wire, last), limit)
    if protocol == 4:
        return _in(_go(inner, _IPV4, inner.at), counts.IN_IP)
    if protocol == 41:
        return _in(_go(inner, _IPV6, inner.at), counts.IN_IP)
    if protocol == 47:
        return _go(inner, _GRE, inner.at)
    if protocol == 137:
        return _go(inner, _MPLS, inner.at)
    if protocol == 50:
        return _stop(inner, counts.ENCRYPTED)
    if protocol in (97, 115):  # EtherIP, L2TP of version 3
        return _stop(inner, counts.UNOPENED)
    return _stop(inner, -protocol if protocol < 0 else counts.NOT_TCP_UDP)


@apart
def _wifi(data: Pointer, layer: Layer, padded: bool) -> Layer:
    """A frame of 802.11: only data in the clear, one packet a frame, leads on."""
    at = layer.at
    if _lacks(layer, 2):
        return _stop(layer, counts.CUT_HEADERS)
    control, flags = np.int64(data[at]), np.int64(data[at + 1])
    if (control & 0x0F) != 0x08 or (control & 0x40) != 0:  # no data frame, or one without data
        return _stop(layer, counts.NOT_IP)
    if (flags & 0x40) != 0:
        return _stop(layer, counts.ENCRYPTED)
    size = 30 if (flags & 3) == 3 else 24
    quality = (control & 0x80) != 0
    if quality:
        size += 6 if (flags & 0x80) != 0 else 2
    if _lacks(layer, size):
        return _stop(layer, counts.CUT_HEADERS)
    if (np.int64(data[at + 22]) & 15) != 0:
        return _stop(layer, counts.FRAGMENTS)
    if quality and (np.int64(data[at + (30 if (flags & 3) == 3 else 24)]) & 0x80) != 0:  # several packets in one
        return _stop(layer, counts.UNOPENED)
    if padded:
        size = (size + 3) & ~3
    limit = at + _UNLIMITED if (flags & 4) != 0 else layer.limit
    return _go(_ending(layer, layer.wire, limit), _LLC, at + size)


@part
def _radiotap_flags(data: Pointer, at: int, size: int) -> int:
    """The flags that radiotap says a frame has, 0 when it does not, -1 when they cannot be."""
    present = u32(data, at + 4, False)
    place = 8
    more = present >> 31
    while more != 0:
        if place + 4 > size:
            return -1
        more = u32(data, at + place, False) >> 31
        place += 4
    if (present & 2) == 0:
        return 0
    if (present & 1) != 0:
        place = ((place + 7) & ~7) + 8
    return np.int64(data[at + place]) if place < size else np.int64(-1)


@apart
def _radiotap(data: Pointer, layer: Layer) -> Layer:
    """802.11 behind what the radio knew of it."""
    at = layer.at
    if _lacks(layer, 8):
        return _stop(layer, counts.CUT_HEADERS)
    size = u16(data, at + 2, False)
    if np.int64(data[at]) != 0 or size < 8:
        return _stop(layer, counts.MALFORMED)
    if _lacks(layer, size):
        return _stop(layer, counts.CUT_HEADERS)
    flags = _radiotap_flags(data, at, size)
    if flags < 0 or (flags & 0x40) != 0:  # the frame was not received well
        return _stop(layer, counts.MALFORMED)
    check = 4 if (flags & 0x10) != 0 else 0
    inner = _go(_ending(layer, layer.wire - check, layer.limit - check), _PLAIN, at + size)
    return _wifi(data, inner, (flags & 0x20) != 0)


@part
def _ppi(data: Pointer, layer: Layer) -> Layer:
    """802.11 or Ethernet behind the information that PPI writes."""
    at = layer.at
    if _lacks(layer, 8):
        return _stop(layer, counts.CUT_HEADERS)
    size = u16(data, at + 2, False)
    if np.int64(data[at]) != 0 or size < 8:
        return _stop(layer, counts.MALFORMED)
    link = u32(data, at + 4, False)
    if link == links.WIFI:
        return _wifi(data, _go(layer, _PLAIN, at + size), False)
    if link == links.ETHERNET:
        return _go(layer, _ETHERNET, at + size)
    return _stop(layer, counts.UNKNOWN_LINK)


@apart
def _nflog(data: Pointer, layer: Layer) -> Layer:
    """The packet among the attributes of Linux' NFLOG, which are in the order of the machine that wrote them."""
    at = layer.at
    if _lacks(layer, 4):
        return _stop(layer, counts.CUT_HEADERS)
    if np.int64(data[at + 1]) != 0:
        return _stop(layer, counts.MALFORMED)
    at += 4
    while at + 4 <= layer.end:
        big = np.int64(data[at + 2]) == 0
        size = u16(data, at, big)
        if size < 4:
            return _stop(layer, counts.MALFORMED)
        if (u16(data, at + 2, big) & 0x7FFF) == 9:
            inner = _go(_ending(layer, min(layer.wire, at + size), at + _UNLIMITED), _PLAIN, at + 4)
            return _by_nibble(data, inner)
        at += (size + 3) & ~3
    return _stop(layer, counts.NOT_IP if at >= layer.wire else counts.CUT_HEADERS)


@part
def _serial(data: Pointer, layer: Layer, cisco: bool) -> Layer:
    """PPP with or without its address, or Cisco's HDLC, on a serial line."""
    at = layer.at
    if _lacks(layer, 2):
        return _stop(layer, counts.CUT_HEADERS)
    address = net16(data, at)
    if address in (0x0F00, 0x8F00):
        return _typed(data, layer, at + 2)
    if cisco:
        return _stop(layer, counts.NOT_IP)
    return _go(layer, _PPP, at + 2 if address == 0xFF03 else at)


@part
def _cooked_2(data: Pointer, layer: Layer) -> Layer:
    """Linux cooked captures of version 2: a tag stands behind the 20 bytes of their header."""
    if _lacks(layer, 20):
        return _stop(layer, counts.CUT_HEADERS)
    kind = net16(data, layer.at)
    if is_tag(kind):
        return _typed(data, layer, layer.at + 22)
    return _of_type(layer, kind, layer.at + 20)


@apart
def _from_link(data: Pointer, layer: Layer, link: int) -> Layer:
    """What a frame begins with, behind what its link type says of it."""
    if link == links.ETHERNET:
        return _go(layer, _ETHERNET, layer.at)
    if link == links.LINUX_SLL:
        return _typed(data, layer, layer.at + 14)
    if link == links.LINUX_SLL2:
        return _cooked_2(data, layer)
    if link in (links.RAW, links.RAW_BSD, links.RAW_OPENBSD, links.IPV4, links.IPV6):
        return _by_nibble(data, layer)
    if link in (links.NULL, links.LOOP):
        version, at = by_family(data, layer.at, layer.end)
        return _of_version(layer, version, at)
    return _from_tap(data, layer, link)


@apart
def _from_tap(data: Pointer, layer: Layer, link: int) -> Layer:
    """The same for link types that are rarely seen."""
    if link in (links.PPP, links.PPP_HDLC, links.C_HDLC):
        return _serial(data, layer, link == links.C_HDLC)
    if link == links.PPP_ETHER:
        return _go(layer, _PPPOE, layer.at)
    if link == links.WIFI:
        return _wifi(data, layer, False)
    if link == links.WIFI_RADIOTAP:
        return _radiotap(data, layer)
    if link == links.PPI:
        return _ppi(data, layer)
    if link == links.NFLOG:
        return _nflog(data, layer)
    return _stop(layer, counts.UNKNOWN_LINK)


@apart
def _next(data: Pointer, layer: Layer) -> Layer:
    """What lies behind a layer that is not IP."""
    if layer.step == _ETHERNET:
        return _typed(data, layer, layer.at + MAC_ADDRESSES)
    if layer.step == _LLC:
        return _llc(data, layer)
    if layer.step == _MPLS:
        return _mpls(data, _in(layer, counts.IN_MPLS))
    if layer.step == _PPPOE:
        return _pppoe(data, _in(layer, counts.IN_PPPOE))
    if layer.step == _PPP:
        return _ppp(data, layer)
    return _gre(data, layer)


@part
def _count(tally: Pointer, wraps: int) -> None:
    for kind in range(counts.COUNTERS - counts.IN_VXLAN):
        if ((wraps >> kind) & 1) != 0:
            tally[counts.IN_VXLAN + kind] += 1


@apart
def unwrapped(
    data: Pointer, ports: Pointer, tally: Pointer, start: int, end: int, wire_end: int, link: int
) -> tuple[int, Packet]:
    """(0 or why this is no packet of ours, what the innermost headers say)."""
    layer = _from_link(data, _layer(0, start, end, wire_end, wire_end, 0), link)
    why, packet = transport(data, 0, start, end, end, -counts.TOO_DEEP, start, 0, False)
    for _ in range(MOST_LAYERS):
        if layer.step not in (_IPV4, _IPV6):
            if layer.step <= 0:
                break
            layer = _next(data, layer)
            continue
        version, net = (4 if layer.step == _IPV4 else 6), layer.at
        protocol, place, length, more = ip_header(data, version, net, layer.end, layer.wire)
        layer = _go(layer, layer.step, place)
        if protocol not in (TCP, UDP):
            layer = _inside_ip(layer, protocol, length, more)
            continue
        why, packet = transport(data, version, net, layer.end, layer.limit, protocol, place, length, more)
        if why == 0 and not packet.is_tcp and ports[packet.target_port] == TUNNEL_PORT:
            layer = _inside_udp(data, layer, length, more, packet.target_port)
            if layer.step != _PLAIN:
                continue
        _count(tally, layer.wraps)
        return why, packet
    _count(tally, layer.wraps)
    return (counts.TOO_DEEP if layer.step > 0 else -layer.step), packet
