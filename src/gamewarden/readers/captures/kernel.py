"""Capture bytes to packet columns: one pass over a buffer, no Python object a packet.

Each scanner takes a buffer and where to start, fills the columns, and returns (offset, rows, status), so that its
caller can hand in more bytes, take the rows away or make room, and go on at the offset.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gamewarden.readers.captures import counts, unproven
from gamewarden.readers.captures import flows as table
from gamewarden.readers.captures.byte_numbers import net32, net64, u16, u32
from gamewarden.readers.captures.flows import HELD, FlowPointers, Flows, Ints, flow_pointers, waiting_pointers
from gamewarden.readers.captures.headers import MOST_CAPTURED, Packet, headers
from gamewarden.readers.captures.tunnels import SERVER_PORT, TUNNEL_PORT, unwrapped
from gamewarden.readers.captures.unproven import GuardPointers, guard_pointers
from gamewarden.readers.kernels import Pointer, apart, kernel, part, pointer_to

Bytes = npt.NDArray[np.uint8]

# Why a scanner came back.
NEEDS_BYTES, ROWS_FULL, NEEDS_ROOM, BAD_LENGTH, SECTION, INTERFACE, FORGETS = range(7)

MOST_BLOCK = 16 << 20
LAST_SECOND = 253_402_300_799  # the year 9999 ends
FIRST_SECOND = -62_135_596_800

_SYN, _ACK = 0x02, 0x10
# Words of a packet in which first bytes came: its row, the number with which its stream began, where in the stream its
# bytes stand, how many bytes the server has sent by then (NOT_COUNTED where its beginning was not captured), and where
# in the pool the bytes are.
FIRST_ROW, STREAM, OFFSET, ANSWERED, FIRST_BEGIN, FIRST_SIZE = range(6)
FIRST_WORDS = 6
NOT_COUNTED = 1 << 40
_FIRST_PACKETS = 1 << 12  # in one batch, at most
_POWERS = np.array([10**n for n in range(20)], np.uint64)


class Rules(NamedTuple):
    """What the reader was asked for."""

    ports: Bytes  # 65,536 marks, SERVER_PORT for those of the game and TUNNEL_PORT for those of tunnels
    by_port: bool
    include_empty: bool
    only_up: bool
    segments: bool  # the client's TCP segments with their bytes, copies and all, instead of packets
    first_bytes: int = 0  # of each client's stream, handed on beside the packets


class Rows(NamedTuple):
    """The columns being filled; those after `size` are for segments or first bytes, and empty without them."""

    end: npt.NDArray[np.int32]  # number of the client's end
    at: Ints
    up: Bytes
    size: npt.NDArray[np.int32]  # of a segment: bytes that were captured
    flow: npt.NDArray[np.int32]
    seq: Ints
    flags: Bytes
    begin: Ints  # where in the pool its bytes begin
    pool: Bytes
    first: Ints  # rows of `FIRST_WORDS`: packets in which first bytes of a stream came
    first_used: Ints  # how many of them there are, and how many bytes their pool has
    first_pool: Bytes


class ScanBuffers(NamedTuple):
    """All that lies before a kernel, as pointers."""

    data: Pointer
    ports: Pointer
    by_port: bool
    include_empty: bool
    only_up: bool
    segments: bool
    tally: Pointer
    end: Pointer
    at: Pointer
    up: Pointer
    size: Pointer
    flow: Pointer
    seq: Pointer
    segment_flags: Pointer
    begin: Pointer
    pool: Pointer
    most_begin: int  # from here on the pool might not have room for one more segment
    first_bytes: int
    first: Pointer
    first_used: Pointer
    first_pool: Pointer
    flows: FlowPointers
    waiting: FlowPointers  # of a bounded table: flows that have proven nothing
    guard: GuardPointers


class Key(NamedTuple):
    """What names a flow: its two ends, the one that sorts first before the other."""

    a_hi: np.int64
    a_lo: np.int64
    b_hi: np.int64
    b_lo: np.int64
    ports: np.int64


def new_rows(capacity: int, pool: int = 0, first_bytes: int = 0) -> Rows:
    """Empty columns; with a pool of so many bytes they have room for segments, or with some for first bytes."""
    own = capacity if pool else 0
    early = _FIRST_PACKETS if first_bytes else 0
    return Rows(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.uint8),
        np.empty(capacity, np.int32),
        np.empty(own, np.int32),
        np.empty(own, np.int64),
        np.empty(own, np.uint8),
        np.empty(own, np.int64),
        np.empty(pool, np.uint8),
        np.empty((early, FIRST_WORDS), np.int64),
        np.zeros(2, np.int64),
        np.empty(early * first_bytes, np.uint8),
    )


@part
def _desk(data: Bytes, rules: Rules, flows: Flows, tally: Ints, rows: Rows) -> ScanBuffers:
    return ScanBuffers(
        pointer_to(data),
        pointer_to(rules.ports),
        rules.by_port,
        rules.include_empty,
        rules.only_up,
        rules.segments,
        pointer_to(tally),
        pointer_to(rows.end),
        pointer_to(rows.at),
        pointer_to(rows.up),
        pointer_to(rows.size),
        pointer_to(rows.flow),
        pointer_to(rows.seq),
        pointer_to(rows.flags),
        pointer_to(rows.begin),
        pointer_to(rows.pool),
        len(rows.pool) - MOST_CAPTURED,
        rules.first_bytes,
        pointer_to(rows.first),
        pointer_to(rows.first_used),
        pointer_to(rows.first_pool),
        flow_pointers(flows),
        waiting_pointers(flows),
        guard_pointers(flows),
    )


@part
def _key_and_side(data: Pointer, packet: Packet) -> tuple[Key, int]:
    """(what names the flow, which of its two ends sent this)."""
    net = packet.net
    if packet.version == 4:
        source_hi = np.int64(0)
        target_hi = np.int64(0)
        source_lo = net32(data, net + 12)
        target_lo = net32(data, net + 16)
    else:
        source_hi = net64(data, net + 8)
        source_lo = net64(data, net + 16)
        target_hi = net64(data, net + 24)
        target_lo = net64(data, net + 32)
    kind = np.int64(packet.is_tcp) | np.int64(packet.version == 6) << 1
    source_first = source_lo < target_lo
    if source_lo == target_lo:
        source_first = source_hi < target_hi
        if source_hi == target_hi:
            source_first = packet.source_port <= packet.target_port
    if source_first:
        ports = packet.source_port << 32 | packet.target_port << 16 | kind
        return Key(source_hi, source_lo, target_hi, target_lo, ports), np.int64(0)
    ports = packet.target_port << 32 | packet.source_port << 16 | kind
    return Key(target_hi, target_lo, source_hi, source_lo, ports), np.int64(1)


@part
def _row(desk: ScanBuffers, key: Key) -> int:
    """The flow's row, -1 when it has proven nothing in a table with bounds."""
    if desk.guard.on:
        return unproven.known_row(desk.flows, key.a_hi, key.a_lo, key.b_hi, key.b_lo, key.ports)
    return table.flow_row(desk.flows, key.a_hi, key.a_lo, key.b_hi, key.b_lo, key.ports)


@part
def _new_payload(data: Pointer, flows: FlowPointers, packet: Packet, row: int, side: int, told_by_port: bool) -> int:
    """Bytes of a TCP segment not seen before; a SYN sets the stream, and the client where no port tells."""
    seq = net32(data, packet.place + 4)
    if (packet.flags & _SYN) != 0:
        opens = (packet.flags & _ACK) == 0
        if table.begin_stream(flows, row, side, seq, opens) and not told_by_port:
            table.set_client(flows, row, side if opens else 1 - side)
        seq = (seq + 1) & 0xFFFFFFFF
    if packet.payload == 0:
        return 0
    return table.new_bytes(flows, row, side, seq, packet.payload)


@part
def _goes_up(
    desk: ScanBuffers, flows: FlowPointers, packet: Packet, row: int, side: int, to_server: bool, told_by_port: bool
) -> bool:
    """Whether the client sent this; settles who the client is when nothing has told yet."""
    if not table.knows_client(flows, row):
        if told_by_port:
            table.set_client(flows, row, side if to_server else 1 - side)
        else:
            desk.tally[counts.GUESSED_FLOWS] += 1
            table.set_client(flows, row, side if packet.source_port >= packet.target_port else 1 - side)
    return table.is_client(flows, row, side)


@apart
def _take_segment(desk: ScanBuffers, packet: Packet, at: int, count: int) -> int:
    """One TCP segment to the server, with its bytes; the number of rows after it."""
    key, side = _key_and_side(desk.data, packet)
    row = _row(desk, key)
    if not table.knows_client(desk.flows, row):
        table.set_client(desk.flows, row, side)
    first = packet.place + (np.int64(desk.data[packet.place + 12]) >> 4) * 4
    captured: int = max(min(packet.end - first, packet.payload), 0)
    begin = desk.begin[count - 1] + desk.size[count - 1] if count > 0 else np.int64(0)
    for place in range(captured):
        desk.pool[begin + place] = desk.data[first + place]
    desk.end[count] = table.client_end(desk.flows, row)
    desk.at[count] = at
    desk.up[count] = 1
    desk.size[count] = captured
    desk.flow[count] = row
    desk.seq[count] = net32(desk.data, packet.place + 4)
    desk.segment_flags[count] = packet.flags
    desk.begin[count] = begin
    desk.tally[counts.DELIVERED] += 1
    return count + 1


@part
def _answered(flows: FlowPointers, flags: int, row: int, side: int) -> int:
    """How many bytes the other side has sent so far."""
    if (flags & (table.SEQ_KNOWN << side)) == 0:
        return 0
    if (flags & (table.ISN_KNOWN << side)) == 0:
        return NOT_COUNTED
    first = np.int64(flows.halves[row * table.ROW_HALVES + table.ISN + side]) + 1
    return (np.int64(flows.halves[row * table.ROW_HALVES + table.NEXT + side]) - first) & 0xFFFFFFFF


@apart
def _take_first_bytes(desk: ScanBuffers, packet: Packet, row: int, side: int, count: int) -> None:
    """Hand on what a client's packet, about to be delivered, has of the first bytes of its stream."""
    flags = np.int64(desk.flows.halves[row * table.ROW_HALVES + table.FLAGS])
    if (flags & (table.ISN_KNOWN << side)) == 0:
        return
    began = np.int64(desk.flows.halves[row * table.ROW_HALVES + table.ISN + side])
    seq = net32(desk.data, packet.place + 4) + ((packet.flags & _SYN) != 0)
    offset = (seq - began - 1) & 0xFFFFFFFF
    if offset >= desk.first_bytes:
        return
    payload = packet.place + (np.int64(desk.data[packet.place + 12]) >> 4) * 4
    size: int = max(min(packet.end - payload, packet.payload, desk.first_bytes - offset), 0)
    place = desk.first_used[0] * FIRST_WORDS
    begin = desk.first_used[1]
    for at in range(size):
        desk.first_pool[begin + at] = desk.data[payload + at]
    desk.first[place + FIRST_ROW] = count
    desk.first[place + STREAM] = began
    desk.first[place + OFFSET] = offset
    desk.first[place + ANSWERED] = _answered(desk.flows, flags, row, 1 - side)
    desk.first[place + FIRST_BEGIN] = begin
    desk.first[place + FIRST_SIZE] = size
    desk.first_used[0] += 1
    desk.first_used[1] = begin + size


@part
def _full(desk: ScanBuffers, capacity: int, count: int) -> bool:
    """Whether the next packet might not find room among the rows."""
    if count >= capacity or (desk.first_bytes > 0 and desk.first_used[0] == _FIRST_PACKETS):
        return True
    return desk.segments and count > 0 and desk.begin[count - 1] + desk.size[count - 1] > desk.most_begin


@part
def _take(desk: ScanBuffers, start: int, end: int, wire_end: int, link: int, at: int, count: int) -> int:
    """One captured packet; the number of rows after it."""
    tally = desk.tally
    tally[counts.PACKETS] += 1
    why, packet = headers(desk.data, start, end, wire_end, link)
    if why != 0 or desk.ports[packet.target_port] == TUNNEL_PORT:
        if counts.UNKNOWN_LINK <= why <= counts.NOT_TCP_UDP or (why == 0 and not packet.is_tcp):
            why, packet = unwrapped(desk.data, desk.ports, tally, start, end, wire_end, link)
        if why != 0:
            tally[why] += 1
            return count
    if packet.overlong:
        tally[counts.OVERLONG] += 1
    from_server = desk.ports[packet.source_port] == SERVER_PORT
    to_server = desk.ports[packet.target_port] == SERVER_PORT
    if desk.by_port and not from_server and not to_server:
        tally[counts.OTHER_PORTS] += 1
        return count
    if packet.payload == 0 and not desk.include_empty and (packet.flags & _SYN) == 0:
        tally[counts.EMPTY] += 1
        return count
    if desk.only_up and desk.by_port and not to_server:
        tally[counts.DOWNWARD] += 1
        return count
    if desk.segments:
        if not packet.is_tcp:
            tally[counts.NOT_TCP_UDP] += 1
            return count
        return _take_segment(desk, packet, at, count)
    key, side = _key_and_side(desk.data, packet)
    told_by_port = from_server != to_server
    row = _row(desk, key)
    if row < 0:
        return _take_unproven(desk, packet, key, side, to_server, told_by_port, at, count)
    wanted, up, size = _told(desk, desk.flows, packet, row, side, to_server, told_by_port)
    if wanted and up and desk.first_bytes > 0 and packet.is_tcp:
        _take_first_bytes(desk, packet, row, side, count)
    return _put(desk, row, at, up, size, count) if wanted else count


@part
def _told(
    desk: ScanBuffers, flows: FlowPointers, packet: Packet, row: int, side: int, to_server: bool, told_by_port: bool
) -> tuple[bool, bool, int]:
    """(whether it is delivered, the client sent it, bytes that are new)."""
    tally = desk.tally
    size = packet.payload
    if packet.is_tcp:
        size = _new_payload(desk.data, flows, packet, row, side, told_by_port)
        if size < packet.payload:
            tally[counts.DUPLICATES if size == 0 else counts.OVERLAPS] += 1
            if size == 0:
                return False, False, 0
    if size == 0 and not desk.include_empty:
        tally[counts.EMPTY] += 1
        return False, False, 0
    up = _goes_up(desk, flows, packet, row, side, to_server, told_by_port)
    if desk.only_up and not up:
        tally[counts.DOWNWARD] += 1
        return False, False, 0
    return True, up, size


@part
def _put(desk: ScanBuffers, row: int, at: int, up: bool, size: int, count: int) -> int:
    """One packet delivered; the number of rows after it."""
    desk.end[count] = table.client_end(desk.flows, row)
    desk.at[count] = at
    desk.up[count] = np.uint8(up)
    desk.size[count] = size
    desk.tally[counts.DELIVERED] += 1
    return count + 1


@apart
def _take_unproven(
    desk: ScanBuffers, packet: Packet, key: Key, side: int, to_server: bool, told_by_port: bool, at: int, count: int
) -> int:
    """One packet of a flow that has proven nothing so far; the number of rows after it."""
    tally, waiting, guard = desk.tally, desk.waiting, desk.guard
    row, crowded = unproven.waiting_row(waiting, guard, key.a_hi, key.a_lo, key.b_hi, key.b_lo, key.ports)
    tally[counts.CROWDED_OUT] += crowded
    wanted, up, size = _told(desk, waiting, packet, row, side, to_server, told_by_port)
    if not wanted:
        return count
    if size > 0:
        unproven.sends_payload(waiting, row, side)
    acknowledges = packet.is_tcp and (packet.flags & _ACK) != 0
    acknowledged = net32(desk.data, packet.place + 8) if acknowledges else np.int64(0)
    if not unproven.is_proven(waiting, guard, row, side, acknowledges, acknowledged):
        tally[counts.UNPROVEN] += 1
        if up:
            unproven.hold(guard, row, at, size)
        return count
    if desk.flows.used[table.FLOWS_USED] >= guard.most:
        tally[counts.NO_PLACE] += 1
        return count
    held = guard.count[row]
    known = unproven.moved(desk.flows, waiting, row)
    for number in range(max(held - HELD, 0), held):
        place = row * 2 * HELD + 2 * (number % HELD)
        count = _put(desk, known, guard.held[place], True, guard.held[place + 1], count)
        tally[counts.UNPROVEN] -= 1
    if up and desk.first_bytes > 0 and packet.is_tcp:
        _take_first_bytes(desk, packet, known, side, count)
    return _put(desk, known, at, up, size, count)


@kernel
def scan_records(
    data: Bytes,
    offset: int,
    end: int,
    big: bool,
    nanos: bool,
    link: int,
    rules: Rules,
    flows: Flows,
    tally: Ints,
    rows: Rows,
    count: int,
) -> tuple[int, int, int]:
    """Classic pcap: records one after the other."""
    capacity = len(rows.at) - HELD if flows.waiting.on else len(rows.at)
    desk = _desk(data, rules, flows, tally, rows)
    bytes_ = desk.data
    while True:
        if _full(desk, capacity, count):
            return offset, count, ROWS_FULL
        if table.lacks_room(desk.flows):
            return offset, count, NEEDS_ROOM
        start = offset + 16
        if start > end:
            return offset, count, NEEDS_BYTES
        captured = u32(bytes_, offset + 8, big)
        if captured > MOST_CAPTURED:
            return offset, count, BAD_LENGTH
        if start + captured > end:
            return offset, count, NEEDS_BYTES
        fraction = u32(bytes_, offset + 4, big)
        if nanos:
            fraction //= 1000
        at = u32(bytes_, offset, big) * 1_000_000 + fraction
        if unproven.time_to_forget(desk.guard, at):
            return offset, count, FORGETS
        wire_end = start + max(captured, u32(bytes_, offset + 12, big))
        count = _take(desk, start, start + captured, wire_end, link, at, count)
        offset = start + captured


@part
def block_time(high: int, low: int, resolution: int, shift: int) -> tuple[bool, int]:
    """(in the calendar, microseconds since 1970) of a pcapng time: whole microseconds, cut, exactly."""
    ticks = np.uint64(high) << np.uint64(32) | np.uint64(low)
    exponent = resolution & 0x7F
    seconds = np.uint64(0)
    micros = np.uint64(0)
    million = np.uint64(1_000_000)
    if (resolution & 0x80) != 0:
        if exponent < 64:
            seconds = ticks >> np.uint64(exponent)
            ticks &= (np.uint64(1) << np.uint64(exponent)) - np.uint64(1)
        # ticks × 10⁶ / 2^exponent in two halves, so that nothing overflows
        low_part = (ticks & np.uint64(0xFFFFFFFF)) * million
        high_part = (ticks >> np.uint64(32)) * million + (low_part >> np.uint64(32))
        if exponent < 32:
            micros = low_part >> np.uint64(exponent)
        elif exponent < 96:
            micros = high_part >> np.uint64(exponent - 32)
    elif exponent <= 19:
        seconds = ticks // _POWERS[exponent]
        rest = ticks - seconds * _POWERS[exponent]
        micros = rest * _POWERS[6 - exponent] if exponent <= 6 else rest // _POWERS[exponent - 6]
    elif exponent <= 25:
        micros = ticks // _POWERS[exponent - 6]
    if seconds > np.uint64(LAST_SECOND) or shift > LAST_SECOND or shift < FIRST_SECOND:
        return False, np.int64(0)
    whole = np.int64(seconds) + shift
    return FIRST_SECOND <= whole <= LAST_SECOND, whole * 1_000_000 + np.int64(micros)


@part
def _take_block(
    desk: ScanBuffers, offset: int, total: int, big: bool, old: bool, interfaces: Ints, known: int, count: int
) -> int:
    """One enhanced (or old) packet block; the rows after it, -1 when its lengths cannot be, -2 to forget first."""
    data = desk.data
    if total < 32:
        return -1
    captured = u32(data, offset + 20, big)
    if captured > total - 32:
        return -1
    face = u16(data, offset + 8, big) if old else u32(data, offset + 8, big)
    why = counts.BAD_INTERFACE
    if face < known:
        good, at = block_time(
            u32(data, offset + 12, big), u32(data, offset + 16, big), interfaces[face, 1], interfaces[face, 2]
        )
        if good:
            if unproven.time_to_forget(desk.guard, at):
                return -2
            start = offset + 28
            wire_end = start + max(captured, u32(data, offset + 24, big))
            return _take(desk, start, start + captured, wire_end, interfaces[face, 0], at, count)
        why = counts.BAD_TIME
    desk.tally[counts.PACKETS] += 1
    desk.tally[why] += 1
    return count


@kernel
def scan_blocks(
    data: Bytes,
    offset: int,
    end: int,
    big: bool,
    interfaces: Ints,
    known: int,
    rules: Rules,
    flows: Flows,
    tally: Ints,
    rows: Rows,
    count: int,
) -> tuple[int, int, int]:
    """Blocks of one pcapng section, up to the next block that changes how to read (section, interface).

    `interfaces` has a row (link type, time resolution, seconds to add) for each of the `known` interfaces.
    """
    capacity = len(rows.at) - HELD if flows.waiting.on else len(rows.at)
    desk = _desk(data, rules, flows, tally, rows)
    bytes_ = desk.data
    while True:
        if _full(desk, capacity, count):
            return offset, count, ROWS_FULL
        if table.lacks_room(desk.flows):
            return offset, count, NEEDS_ROOM
        if offset + 12 > end:
            return offset, count, NEEDS_BYTES
        kind = u32(bytes_, offset, big)
        if kind == 0x0A0D0D0A:
            return offset, count, SECTION
        total = u32(bytes_, offset + 4, big)
        if total < 12 or total % 4 != 0 or total > MOST_BLOCK:
            return offset, count, BAD_LENGTH
        if offset + total > end:
            return offset, count, NEEDS_BYTES
        if u32(bytes_, offset + total - 4, big) != total:
            return offset, count, BAD_LENGTH
        if kind == 1:
            return offset, count, INTERFACE
        if kind in (2, 6):
            after = _take_block(desk, offset, total, big, kind == 2, interfaces, known, count)
            if after < 0:
                return offset, count, BAD_LENGTH if after == -1 else FORGETS
            count = after
        elif kind == 3:
            tally[counts.PACKETS] += 1
            tally[counts.WITHOUT_TIME] += 1
        else:
            tally[counts.OTHER_BLOCKS] += 1
        offset += total
