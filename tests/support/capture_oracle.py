"""Captures read by plain Python, a packet at a time, after the RFCs: what the compiled reader must agree with.

Nothing here is shared with the reader. A `View` is what is left of a frame: the bytes that were captured, how many
were sent, and how many a length inside of it may claim (more than were sent where a mirror may have cut).
"""

import struct
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

ANY = 1 << 17
TAGS = {0x8100, 0x88A8, 0x9100, 0x9200, 0x9300}
USUAL = {0x0806, 0x8035, 0x8847, 0x8848, 0x8863, 0x8864, 0x8809, 0x888E, 0x88CC, 0x88E5, 0x88F7, 0x8902, 0x9000}
FAR = 1 << 24


class Stop(Exception):  # noqa: N818 - no error: the reason is counted
    """Why a frame is no packet of ours."""


class Plain(Exception):  # noqa: N818 - no error
    """A datagram to the port of a tunnel that is none of the tunnel's."""


@dataclass(frozen=True)
class View:
    data: bytes
    wire: int
    room: int

    def need(self, count):
        if len(self.data) < count:
            raise Stop("CUT_HEADERS")

    def after(self, count):
        return View(self.data[count:], self.wire - count, self.room - count)

    def ending(self, count, room=None):
        wire = min(self.wire, count)
        return View(self.data[: max(wire, 0)], wire, min(self.room, count) if room is None else room)

    def mirrored(self):
        return replace(self, room=ANY)

    def u16(self, place, order=">"):
        return struct.unpack_from(order + "H", self.data, place)[0]


@dataclass
class Walk:
    """One frame on its way to the innermost packet."""

    ports: frozenset = frozenset()
    wraps: set = field(default_factory=set)
    layers: int = 0

    def step(self):
        self.layers += 1
        if self.layers > 16:
            raise Stop("TOO_DEEP")

    # Links.

    def link(self, kind, view):  # noqa: C901, PLR0911, PLR0912 - a case for each link type
        match kind:
            case 1:
                return self.ethernet(view)
            case 113:
                return self.typed(view, 14)
            case 276:
                view.need(20)
                kind = view.u16(0)
                return self.typed(view, 22) if kind in TAGS else self.of_type(kind, view.after(20))
            case 12 | 14 | 101 | 228 | 229:
                return self.by_nibble(view)
            case 0 | 108:
                view.need(4)
                families = {int.from_bytes(view.data[:4], order) for order in ("little", "big")}
                family = min(families)
                if family == 2:
                    return self.ip(view.after(4), 4)
                if family in (10, 23, 24, 26, 28, 30):
                    return self.ip(view.after(4), 6)
                raise Stop("NOT_IP")
            case 9 | 50 | 104:
                return self.serial(view, cisco=kind == 104)
            case 51:
                return self.pppoe(view)
            case 105:
                return self.wifi(view)
            case 127:
                return self.radiotap(view)
            case 192:
                return self.ppi(view)
            case 239:
                return self.nflog(view)
        raise Stop("UNKNOWN_LINK")

    def serial(self, view, *, cisco):
        view.need(2)
        start = view.data[:2]
        if start in (b"\x0f\0", b"\x8f\0"):
            return self.typed(view, 2)
        if cisco:
            raise Stop("NOT_IP")
        return self.ppp(view.after(2) if start == b"\xff\x03" else view)

    def radiotap(self, view):
        view.need(8)
        size, present = struct.unpack_from("<HI", view.data, 2)
        if view.data[0] or size < 8:
            raise Stop("MALFORMED")
        view.need(size)
        place, word = 8, present
        while word & 0x80000000:
            if place + 4 > size:
                raise Stop("MALFORMED")
            (word,) = struct.unpack_from("<I", view.data, place)
            place += 4
        flags = 0
        if present & 2:
            if present & 1:
                place = -(-place // 8) * 8 + 8
            if place >= size:
                raise Stop("MALFORMED")
            flags = view.data[place]
        if flags & 0x40:
            raise Stop("MALFORMED")
        if flags & 0x10:
            view = view.ending(view.wire - 4, view.room - 4)
        return self.wifi(view.after(size), padded=bool(flags & 0x20))

    def ppi(self, view):
        view.need(8)
        size, link = struct.unpack_from("<HI", view.data, 2)
        if view.data[0] or size < 8:
            raise Stop("MALFORMED")
        if link == 105:
            return self.wifi(view.after(size))
        if link == 1:
            return self.ethernet(view.after(size))
        raise Stop("UNKNOWN_LINK")

    def wifi(self, view, *, padded=False):
        view.need(2)
        control, flags = view.data[:2]
        if control & 3 or (control >> 2) & 3 != 2 or (control >> 4) & 4:
            raise Stop("NOT_IP")
        if flags & 0x40:
            raise Stop("ENCRYPTED")
        size = 24 + 6 * (flags & 3 == 3)
        quality_at = size
        quality = control >> 7
        size += (2 + 4 * bool(flags & 0x80)) * quality
        view.need(size)
        if view.data[22] & 15:
            raise Stop("FRAGMENTS")
        if quality and view.data[quality_at] & 0x80:
            raise Stop("UNOPENED")
        size += -size % 4 if padded else 0
        if flags & 4:
            view = replace(view, room=ANY)
        return self.llc(view.after(size))

    def nflog(self, view):
        view.need(4)
        if view.data[1]:
            raise Stop("MALFORMED")
        view = view.after(4)
        while len(view.data) >= 4:
            order = "<" if view.data[2] else ">"
            size, kind = struct.unpack_from(order + "HH", view.data)
            if size < 4:
                raise Stop("MALFORMED")
            if kind & 0x7FFF == 9:
                return self.by_nibble(view.ending(size, ANY).after(4))
            view = view.after(size + -size % 4)
        raise Stop("NOT_IP" if view.wire <= 0 else "CUT_HEADERS")

    # What Ethernet types and their like announce.

    def ethernet(self, view):
        self.step()
        return self.typed(view, 12)

    def typed(self, view, place):
        for _ in range(5):
            view.need(place + 2)
            kind = view.u16(place)
            if kind not in TAGS:
                return self.of_type(kind, view.after(place + 2))
            place += 4
        raise Stop("NOT_IP")

    def of_type(self, kind, view):
        if kind == 0x0800:
            return self.ip(view, 4)
        if kind == 0x86DD:
            return self.ip(view, 6)
        if kind in (0x8847, 0x8848):
            return self.mpls(view)
        if kind == 0x8864:
            return self.pppoe(view)
        if kind <= 1500:
            return self.llc(view)
        raise Stop("ENCRYPTED" if kind == 0x88E5 else "NOT_IP")

    def llc(self, view):
        self.step()
        if len(view.data) < 8 or view.data[:6] != b"\xaa\xaa\x03\0\0\0" or view.u16(6) <= 1500:
            raise Stop("NOT_IP")
        return self.typed(view, 6)

    def by_nibble(self, view):
        view.need(1)
        version = view.data[0] >> 4
        if version not in (4, 6):
            raise Stop("NOT_IP")
        return self.ip(view, version)

    def mpls(self, view):
        self.step()
        self.wraps.add("IN_MPLS")
        for _ in range(16):
            view.need(4)
            bottom = view.data[2] & 1
            view = view.after(4)
            if bottom:
                break
        else:
            raise Stop("TOO_DEEP")
        view.need(1)
        nibble = view.data[0] >> 4
        if nibble in (4, 6) and fits_ip(view, nibble):
            return self.ip(view, nibble)
        if nibble == 0 and fits_ethernet(view.after(4)):
            return self.ethernet(view.after(4))
        if fits_ethernet(view):
            return self.ethernet(view)
        raise Stop("NOT_IP")

    def pppoe(self, view):
        self.step()
        self.wraps.add("IN_PPPOE")
        view.need(6)
        if view.data[0] != 0x11:
            raise Stop("MALFORMED")
        if view.data[1]:
            raise Stop("NOT_IP")
        return self.ppp(view.ending(6 + view.u16(4)).after(6))

    def ppp(self, view):
        self.step()
        view.need(1)
        if view.data[0] & 1:
            protocol, view = view.data[0], view.after(1)
        else:
            view.need(2)
            protocol, view = view.u16(0), view.after(2)
        if protocol in (0x0021, 0x0057):
            return self.ip(view, 4 if protocol == 0x0021 else 6)
        if protocol in (0x0281, 0x0283):
            return self.mpls(view)
        raise Stop("UNOPENED" if protocol in (0x2D, 0x2F, 0x3D, 0x53, 0x55, 0xFB, 0xFD) else "NOT_IP")

    # IP and what is inside it.

    def ip(self, view, version):
        self.step()
        whole = view
        protocol, view, length, more = ipv4(view) if version == 4 else ipv6(view)
        if protocol in (6, 17):
            return self.transport(whole, view, version, protocol, length, more=more)
        inner = view.ending(length, ANY if more else None)
        if protocol in (4, 41):
            self.wraps.add("IN_IP")
            return self.ip(inner, 4 if protocol == 4 else 6)
        if protocol == 47:
            return self.gre(inner)
        if protocol == 137:
            return self.mpls(inner)
        raise Stop({50: "ENCRYPTED", 97: "UNOPENED", 115: "UNOPENED"}.get(protocol, "NOT_TCP_UDP"))

    def transport(self, whole, view, version, protocol, length, *, more):
        view.need(14 if protocol == 6 else 8)
        source, target = struct.unpack_from(">HH", view.data)
        flags = seq = 0
        if protocol == 6:
            header, flags = (view.data[12] >> 4) * 4, view.data[13]
            seq = int.from_bytes(view.data[4:8], "big")
            if header < 20 or length < header:
                raise Stop("MALFORMED")
            payload, allowed = length - header, view.room - header
        else:
            said = view.u16(4) or length
            if said < 8 or (said > length and not more):
                raise Stop("MALFORMED")
            payload, allowed = said - 8, (ANY if more else view.room - 8)
        if allowed < 0:
            raise Stop("MALFORMED")
        ends = whole.data[12:20] if version == 4 else whole.data[8:40]
        half = len(ends) // 2
        found = {
            "ends": (text(ends[:half], source), text(ends[half:], target)),
            "ports": (source, target),
            "kind": (protocol, version),
            "flags": flags,
            "seq": seq,
            "payload": min(payload, allowed),
            "overlong": payload > allowed,
        }
        if protocol == 17 and target in (4789, 8472, 6081, 2152) and target not in self.ports:
            return self.datagram(view, target, said, more=more, otherwise=found)
        return found

    def datagram(self, view, port, said, *, more, otherwise):
        inner = view.ending(said, said if more else None).after(8)
        before = set(self.wraps)
        try:
            if port == 6081:
                go = self.geneve(inner)
            elif port == 2152:
                go = self.gtp(inner, said - 8)
            else:
                go = self.vxlan(inner)
        except Plain:
            self.wraps = before
            return otherwise
        return go()

    def vxlan(self, view):
        if len(view.data) < 8:
            raise Plain
        flags, reserved, last = view.data[0], view.data[1:4], view.data[7]
        usual = flags == 0x08 and not any(reserved)
        grouped = flags == 0x88 and not reserved[0] & ~0x48
        inner = view.after(8).mirrored()
        if not (usual or grouped) or last or not fits_ethernet(inner):
            raise Plain
        self.wraps.add("IN_VXLAN")
        return lambda: self.ethernet(inner)

    def geneve(self, view):  # noqa: C901 - as the RFC has it
        if len(view.data) < 8:
            raise Plain
        version, options = view.data[0] >> 6, 4 * (view.data[0] & 63)
        kind = view.u16(2)
        if version or view.data[1] & 0x3F or view.data[7] or 8 + options > view.wire:
            raise Plain
        if kind not in (0x6558, 0x0800, 0x86DD):
            raise Plain
        place = 8
        while place < 8 + options:
            if len(view.data) < place + 4:
                self.wraps.add("IN_GENEVE")
                raise Stop("CUT_HEADERS")
            place += 4 + 4 * (view.data[place + 3] & 31)
        if place != 8 + options:
            raise Plain
        self.wraps.add("IN_GENEVE")
        view.need(place)
        if view.data[1] & 0x80:
            raise Stop("NOT_IP")
        inner = view.after(place)
        if kind == 0x6558:
            inner = inner.mirrored()
            if not fits_ethernet(inner):
                raise Plain
            return lambda: self.ethernet(inner)
        version = 4 if kind == 0x0800 else 6
        if not fits_ip(inner, version):
            raise Plain
        return lambda: self.ip(inner, version)

    def gtp(self, view, length):
        if len(view.data) < 8 or view.data[0] >> 5 != 1 or view.data[0] & 0x18 != 0x10 or view.u16(2) != length - 8:
            raise Plain
        kind, options = view.data[1], view.data[0] & 7
        if kind in (1, 2, 26, 31, 254):
            self.wraps.add("IN_GTP")
            raise Stop("NOT_IP")
        if kind != 255:
            raise Plain
        place = 8
        if options:
            place = 12
            if length < 12:
                raise Plain
        if options & 4:
            place = self.gtp_extensions(view, place, length)
        inner = view.after(place)
        if not inner.data:
            if inner.wire <= 0:
                raise Plain
            self.wraps.add("IN_GTP")
            raise Stop("CUT_HEADERS")
        version = inner.data[0] >> 4
        if version not in (4, 6) or not fits_ip(inner, version):
            raise Plain
        self.wraps.add("IN_GTP")
        return lambda: self.ip(inner, version)

    def gtp_extensions(self, view, place, length):
        for _ in range(8):
            if len(view.data) < place:
                self.wraps.add("IN_GTP")
                raise Stop("CUT_HEADERS")
            if view.data[place - 1] == 0:
                return place
            if place >= length:
                raise Plain
            if len(view.data) <= place:
                self.wraps.add("IN_GTP")
                raise Stop("CUT_HEADERS")
            size = 4 * view.data[place]
            place += size
            if not size or place > length:
                raise Plain
        raise Plain

    def gre(self, view):
        self.step()
        view.need(4)
        flags, kind = struct.unpack_from(">HH", view.data)
        if flags & 0x4FFF:
            raise Stop("UNOPENED")
        numbered = bool(flags & 0x1000)
        inner = view.after(4 + 4 * (bool(flags & 0x8000) + bool(flags & 0x2000) + numbered))
        if kind in (0x88BE, 0x22EB):
            self.wraps.add("IN_ERSPAN")
            return self.erspan(inner, numbered=numbered) if kind == 0x88BE else self.erspan3(inner)
        if kind not in (0x6558, 0x0800, 0x86DD, 0x8847, 0x8848):
            raise Stop("UNOPENED")
        self.wraps.add("IN_GRE")
        return self.ethernet(inner.mirrored()) if kind == 0x6558 else self.of_type(kind, inner)

    def erspan(self, view, *, numbered):
        if not numbered:
            return self.ethernet(view.mirrored())
        view.need(8)
        if view.data[0] >> 4 != 1:
            raise Stop("UNOPENED")
        return self.ethernet(view.after(8).mirrored())

    def erspan3(self, view):
        view.need(12)
        tail = view.u16(10)
        kind = tail >> 10 & 31
        if view.data[0] >> 4 != 2 or kind not in (0, 2):
            raise Stop("UNOPENED")
        inner = view.after(12 + 8 * (tail & 1)).mirrored()
        return self.ethernet(inner) if kind == 0 else self.by_nibble(inner)


def ipv4(view):
    view.need(20)
    header = (view.data[0] & 15) * 4
    total = view.u16(2) or view.wire
    if view.data[0] >> 4 != 4 or not 20 <= header <= total or total > 262_144:
        raise Stop("MALFORMED")
    fragment = view.u16(6)
    if fragment & 0x1FFF:
        raise Stop("FRAGMENTS")
    return view.data[9], view.after(header), total - header, bool(fragment & 0x2000)


def ipv6(view):
    view.need(40)
    length = view.u16(4) or view.wire - 40
    if view.data[0] >> 4 != 6 or not 0 <= length <= 262_144:
        raise Stop("MALFORMED")
    protocol, more = view.data[6], False
    view = view.after(40)
    for _ in range(8):
        if protocol not in (0, 43, 44, 51, 60, 135, 139, 140):
            return protocol, view, length, more
        view.need(8)
        size = 8 * (view.data[1] + 1)
        if protocol == 51:
            size = 4 * (view.data[1] + 2)
        elif protocol == 44:
            size = 8
            if view.u16(2) >> 3:
                raise Stop("FRAGMENTS")
            more = bool(view.u16(2) & 1)
        protocol, view, length = view.data[0], view.after(size), length - size
        if length < 0:
            break
    raise Stop("MALFORMED")


def fits_ip(view, version):
    if not view.data:
        return view.wire > 0
    if view.data[0] >> 4 != version:
        return False
    if version == 4:
        header = 4 * (view.data[0] & 15)
        if header < 20:
            return False
        if len(view.data) < 4 or view.u16(2) == 0:
            return True
        return header <= view.u16(2) <= view.room
    return len(view.data) < 6 or 40 + view.u16(4) <= view.room


def fits_ethernet(view):
    if view.wire < 14:
        return False
    place = 12
    for _ in range(5):
        if len(view.data) < place + 2:
            return place + 2 <= view.wire
        kind = view.u16(place)
        if kind not in TAGS:
            break
        place += 4
    else:
        return False
    inner = view.after(place + 2)
    if kind in (0x0800, 0x86DD):
        return fits_ip(inner, 4 if kind == 0x0800 else 6)
    if kind <= 1500:
        known = len(inner.data) < 3 or inner.data[:3] in (b"\x42\x42\3", b"\xaa\xaa\3", b"\xfe\xfe\3")
        return 3 <= kind <= inner.wire and known
    return kind in USUAL


def text(address, port):
    return f"{ip_address(address)}:{port}" if len(address) == 4 else f"[{ip_address(address)}]:{port}"


class Stream:
    """The bytes of one direction that were seen, by places that never wrap around."""

    def __init__(self):
        self.begin(None)
        self.first = None

    def begin(self, seq):
        self.next, self.seen = seq, set()

    def fresh(self, seq, length):
        if self.next is None:
            self.next = seq
        ahead = (seq - self.next + 2**31) % 2**32 - 2**31
        if abs(ahead) > FAR:
            self.begin(seq)
            self.oldest = seq
            ahead = 0
        if not self.seen:
            self.oldest = self.next
        place = self.next + ahead
        new = {n for n in range(place, place + length) if n >= self.oldest} - self.seen
        self.seen |= new
        self.next = max(self.next, place + length)
        return len(new)


def frames_of(data):
    """(link, captured bytes, length sent) of each record of a little-endian capture."""
    (link,) = struct.unpack_from("<I", data, 20)
    place = 24
    while place < len(data):
        captured, sent = struct.unpack_from("<II", data, place + 8)
        yield link, data[place + 16 : place + 16 + captured], max(sent, captured)
        place += 16 + captured


def read(data, ports=()):
    """([(actor, up, size)], {counter: count}) of a capture."""
    rows, tally, flows = [], {}, {}

    def count(name):
        tally[name] = tally.get(name, 0) + 1

    for link, captured, sent in frames_of(data):
        count("PACKETS")
        walk = Walk(frozenset(ports))
        try:
            packet = walk.link(link, View(captured, sent, sent))
        except Stop as reason:
            count(str(reason))
            packet = None
        for name in walk.wraps:
            count(name)
        if packet is not None:
            take(packet, flows, rows, count)
    return rows, tally


def take(packet, flows, rows, count):
    size, flags = packet["payload"], packet["flags"]
    if packet["overlong"]:
        count("OVERLONG")
    if not size and not flags & 2:
        return count("EMPTY")
    source, target = packet["ends"]
    flow = flows.setdefault((frozenset((source, target)), packet["kind"]), {"client": None})
    if packet["kind"][0] == 6:
        size = fresh_of(packet, flow, source, target)
        if size < packet["payload"]:
            count("OVERLAPS" if size else "DUPLICATES")
        if not size and packet["payload"]:
            return None
    if not size:
        return count("EMPTY")
    if flow["client"] is None:
        count("GUESSED_FLOWS")
        flow["client"] = source if packet["ports"][0] >= packet["ports"][1] else target
    count("DELIVERED")
    rows.append((flow["client"], source == flow["client"], size))
    return None


def fresh_of(packet, flow, source, target):
    ours, theirs = flow.setdefault(source, Stream()), flow.setdefault(target, Stream())
    seq = packet["seq"]
    if packet["flags"] & 2:
        opens = not packet["flags"] & 16
        if ours.first != seq:
            ours.first = seq
            ours.begin(seq + 1)
            if opens:
                theirs.begin(None)
                theirs.first = None
            flow["client"] = source if opens else target
        seq += 1
    return ours.fresh(seq, packet["payload"]) if packet["payload"] else 0
