"""What stands in the headers of a captured frame: link, IP, then TCP or UDP, nothing wrapped in anything else."""

from typing import NamedTuple

import numpy as np

from gamewarden.readers.captures import counts
from gamewarden.readers.captures import link_types as links
from gamewarden.readers.captures.byte_numbers import net16, net32, u32
from gamewarden.readers.kernels import Pointer, part

MOST_CAPTURED = 262_144  # libpcap's largest snapshot length
LONGEST_HEADER_CHAIN = 8
MOST_TAGS = 4
TCP, UDP = 6, 17
ETHER_IPV4, ETHER_IPV6 = 0x0800, 0x86DD
ETHERNET_HEADER, MAC_ADDRESSES = 14, 12
TCP_NEEDED, UDP_HEADER = 14, 8  # bytes of their headers that must have been captured


class Packet(NamedTuple):
    """What stands in the headers of one TCP segment or UDP datagram."""

    version: int
    net: int  # where the IP header starts
    is_tcp: bool
    place: int  # where the TCP or UDP header starts
    flags: int
    payload: int
    source_port: int
    target_port: int
    end: int  # of its captured bytes
    overlong: bool  # it claimed more payload than its frame had room for


@part
def is_tag(kind: int) -> bool:
    """Whether an Ethernet type is that of a VLAN tag."""
    return kind in (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300)


@part
def by_ether_type(data: Pointer, type_at: int, end: int) -> tuple[int, int]:
    """(IP version or minus a counter, where the IP header starts), stepping over VLAN tags."""
    at = type_at
    for _ in range(MOST_TAGS + 1):
        if at + 2 > end:
            return -counts.CUT_HEADERS, at
        kind = net16(data, at)
        at += 2
        if kind == ETHER_IPV4:
            return 4, at
        if kind == ETHER_IPV6:
            return 6, at
        if not is_tag(kind):
            break
        at += 2
    return -counts.NOT_IP, at


@part
def by_family(data: Pointer, start: int, end: int) -> tuple[int, int]:
    """The same by the address family of a loopback frame, as the several systems number AF_INET6."""
    if start + 4 > end:
        return -counts.CUT_HEADERS, start
    family = u32(data, start, False)
    if family > 0xFFFF:  # written by a machine of the other byte order, or DLT_LOOP, which is big-endian
        family = net32(data, start)
    if family == 2:
        return 4, start + 4
    return (6 if family in (10, 23, 24, 26, 28, 30) else -counts.NOT_IP), start + 4


@part
def _by_cooked_2(data: Pointer, start: int, end: int) -> tuple[int, int]:
    """The same for Linux cooked captures of version 2: a tag stands behind the 20 bytes of their header."""
    if start + 20 > end:
        return -counts.CUT_HEADERS, start
    version, _ = by_ether_type(data, start, start + 2)
    if version == -counts.CUT_HEADERS:
        return by_ether_type(data, start + 22, end)
    return version, start + 20


@part
def by_version(data: Pointer, start: int, end: int) -> tuple[int, int]:
    """The same where the IP header comes first."""
    if start >= end:
        return -counts.CUT_HEADERS, start
    version = np.int64(data[start]) >> 4
    return (version if version in (4, 6) else -counts.NOT_IP), start


@part
def _network(data: Pointer, start: int, end: int, link: int) -> tuple[int, int]:
    """(IP version or minus a counter, where the IP header starts); taps are left to a closer look."""
    if link == links.ETHERNET:
        return by_ether_type(data, start + MAC_ADDRESSES, end)
    if link == links.LINUX_SLL:
        return by_ether_type(data, start + 14, end)
    if link == links.LINUX_SLL2:
        return _by_cooked_2(data, start, end)
    if link in (links.RAW, links.RAW_BSD, links.RAW_OPENBSD, links.IPV4, links.IPV6):
        return by_version(data, start, end)
    if link in (links.NULL, links.LOOP):
        return by_family(data, start, end)
    return -counts.UNKNOWN_LINK, start


@part
def _ipv4(data: Pointer, at: int, end: int, wire_end: int) -> tuple[int, int, int, bool]:
    """(protocol or minus a counter, where its header starts, its length with payload, more fragments follow)."""
    if at + 20 > end:
        return -counts.CUT_HEADERS, at, 0, False
    header = (np.int64(data[at]) & 15) * 4
    total = net16(data, at + 2)
    if total == 0:  # segmentation offload: the card fills it in after the capture
        total = wire_end - at
    if np.int64(data[at]) >> 4 != 4 or header < 20 or total < header or total > MOST_CAPTURED:
        return -counts.MALFORMED, at, 0, False
    fragment = net16(data, at + 6)
    if (fragment & 0x1FFF) != 0:
        return -counts.FRAGMENTS, at, 0, False
    return np.int64(data[at + 9]), at + header, total - header, (fragment & 0x2000) != 0


@part
def _ipv6(data: Pointer, at: int, end: int, wire_end: int) -> tuple[int, int, int, bool]:
    """As `_ipv4`, with the extension headers stepped over."""
    if at + 40 > end:
        return -counts.CUT_HEADERS, at, 0, False
    length = net16(data, at + 4)
    if length == 0:  # segmentation offload, or a jumbogram
        length = wire_end - at - 40
    if np.int64(data[at]) >> 4 != 6 or length < 0 or length > MOST_CAPTURED:
        return -counts.MALFORMED, at, 0, False
    protocol = np.int64(data[at + 6])
    at += 40
    more = False
    for _ in range(LONGEST_HEADER_CHAIN):
        if protocol not in (0, 43, 44, 51, 60, 135, 139, 140):
            return protocol, at, length, more
        if at + 8 > end:
            return -counts.CUT_HEADERS, at, 0, False
        size = (np.int64(data[at + 1]) + 1) * 8
        if protocol == 51:
            size = (np.int64(data[at + 1]) + 2) * 4
        if protocol == 44:
            size = np.int64(8)
            fragment = net16(data, at + 2)
            if (fragment >> 3) != 0:
                return -counts.FRAGMENTS, at, 0, False
            more = (fragment & 1) != 0
        protocol = np.int64(data[at])
        at += size
        length -= size
        if length < 0:
            break
    return -counts.MALFORMED, at, 0, False


@part
def ip_header(data: Pointer, version: int, at: int, end: int, wire_end: int) -> tuple[int, int, int, bool]:
    """(protocol or minus a counter, where its header starts, its length with payload, more fragments follow)."""
    if version == 4:
        return _ipv4(data, at, end, wire_end)
    if version == 6:
        return _ipv6(data, at, end, wire_end)
    return version, at, 0, False


@part
def _udp_payload(data: Pointer, at: int, length: int, more: bool) -> int:
    """Payload bytes of a datagram, negative when its lengths contradict each other.

    Its own length speaks for the whole datagram when this is the first of its fragments.
    """
    said = net16(data, at + 4)
    if said == 0:
        said = length
    if said > length and not more:
        return -1
    return said - UDP_HEADER


@part
def transport(
    data: Pointer,
    version: int,
    net: int,
    end: int,
    limit: int,
    protocol: int,
    place: int,
    length: int,
    more: bool,
) -> tuple[int, Packet]:
    """(0 or why this is no packet of ours, what its headers say); no payload is taken to reach beyond the limit."""
    is_tcp = protocol == TCP
    payload = source_port = target_port = flags = 0
    overlong = False
    why = 0
    if protocol < 0:
        why = -protocol
    elif protocol not in (TCP, UDP):
        why = counts.NOT_TCP_UDP
    elif place + (TCP_NEEDED if is_tcp else UDP_HEADER) > end:
        why = counts.CUT_HEADERS
    else:
        source_port = net16(data, place)
        target_port = net16(data, place + 2)
        header = np.int64(UDP_HEADER)
        if is_tcp:
            header = (np.int64(data[place + 12]) >> 4) * 4
            flags = np.int64(data[place + 13])
            payload = length - header if header >= 20 else np.int64(-1)
        else:
            payload = _udp_payload(data, place, length, more)
        if payload > limit - place - header and (is_tcp or not more):
            payload = limit - place - header
            overlong = True
        if payload < 0:
            why = counts.MALFORMED
    return why, Packet(version, net, is_tcp, place, flags, payload, source_port, target_port, end, overlong)


@part
def headers(data: Pointer, start: int, end: int, wire_end: int, link: int) -> tuple[int, Packet]:
    """(0 or why this is no packet of ours, what its headers say)."""
    version, net = _network(data, start, end, link)
    protocol, place, length, more = ip_header(data, version, net, end, wire_end)
    return transport(data, version, net, end, wire_end, protocol, place, length, more)
