"""What a capture's frames begin with: the link types of libpcap, by name."""

from collections.abc import Iterable

NULL = 0
ETHERNET = 1
PPP = 9
RAW_BSD = 12
RAW_OPENBSD = 14
PPP_HDLC = 50
PPP_ETHER = 51
RAW = 101
C_HDLC = 104
WIFI = 105
LOOP = 108
LINUX_SLL = 113
WIFI_RADIOTAP = 127
PPI = 192
IPV4 = 228
IPV6 = 229
NFLOG = 239
LINUX_SLL2 = 276

READ = {
    ETHERNET: "Ethernet",
    LINUX_SLL: "Linux cooked",
    LINUX_SLL2: "Linux cooked 2",
    RAW: "raw IP",
    RAW_BSD: "raw IP",
    RAW_OPENBSD: "raw IP",
    IPV4: "raw IP",
    IPV6: "raw IP",
    NULL: "loopback",
    LOOP: "loopback",
    PPP: "PPP",
    PPP_HDLC: "PPP",
    PPP_ETHER: "PPPoE",
    C_HDLC: "Cisco HDLC",
    WIFI: "802.11",
    WIFI_RADIOTAP: "802.11 with radiotap",
    PPI: "802.11 with PPI",
    NFLOG: "NFLOG",
}

NOT_READ = {
    6: "token ring",
    7: "ARCNET",
    8: "SLIP",
    10: "FDDI",
    11: "ATM",
    19: "ATM CLIP",
    107: "frame relay",
    109: "OpenBSD enc",
    117: "OpenBSD pflog",
    119: "802.11 with Prism",
    138: "IP over FireWire",
    163: "802.11 with AVS",
    166: "pppd",
    187: "Bluetooth",
    189: "USB",
    195: "802.15.4",
    201: "Bluetooth",
    204: "PPP with direction",
    220: "USB",
    226: "Solaris ipnet",
    227: "CAN bus",
    240: "netANALYZER",
    247: "InfiniBand",
    249: "USB",
    251: "Bluetooth Low Energy",
    253: "netlink",
    272: "nRF sniffer",
}

_MOST_NAMED = 3


def name_of(link: int) -> str:
    """A link type as people know it."""
    known = READ.get(link) or NOT_READ.get(link)
    return f"{known} ({link})" if known else str(link)


def refusal(links: Iterable[int]) -> str | None:
    """What to say of link types that are not read, if any are not."""
    strange = sorted(set(links) - READ.keys())
    if not strange:
        return None
    named = ", ".join(name_of(link) for link in strange[:_MOST_NAMED])
    more = f" and {len(strange) - _MOST_NAMED} more" if len(strange) > _MOST_NAMED else ""
    return f"link type {named}{more} is not read; captures of {', '.join(dict.fromkeys(READ.values()))} are"
