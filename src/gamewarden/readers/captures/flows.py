"""Who talks to whom in a capture: flows, their clients, and which bytes of a TCP stream are new.

A flow is a pair of address:port ends under one protocol; both directions share one row. The rows live in plain
arrays that kernels search by open addressing with the whole key compared, so a collision can never merge two players.

Which TCP bytes are new is kept per direction as the next expected sequence number and the gaps before it:

* a segment at the expected number is new, one ahead of it is new and leaves a gap, one behind it is a retransmission
  or a captured duplicate, except for bytes that fill a gap or reach beyond what was seen; only those are counted;
* gaps have lists of their own (`stream_gaps`), of so many gaps that only a hostile stream opens more;
* a jump of more than `FAR` bytes either way is a new connection whose SYN was not captured, not a retransmission;
* a new SYN with another initial number starts both directions afresh, the same SYN again changes nothing.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gamewarden.contracts import Bounds
from gamewarden.readers.captures import stream_gaps
from gamewarden.readers.captures.stream_gaps import GapPointers, Spans, signed
from gamewarden.readers.kernels import Pointer, kernel, part, pointer_to

Ints: TypeAlias = npt.NDArray[np.int64]

_FAR_BITS = 24
FAR = 1 << _FAR_BITS  # more than any window a game client has in flight, 1/256 of the sequence space
_M32 = 0xFFFFFFFF
_MOST_GAPS = (1 << 24) - 1  # the row of gaps is named in 24 bits
_NO_GAPS = _MOST_GAPS + 1  # of flows that have proven nothing: none is remembered, and none is missed

# Words of a flow's row: the key …
A_HI, A_LO, B_HI, B_LO, PORTS = 0, 1, 2, 3, 4
ROW_WORDS = 8
# … and its state, as half words of the same row.
NEXT, ISN, CLIENT, FLAGS = 10, 12, 14, 15

SEQ_KNOWN, ISN_KNOWN, CLIENT_KNOWN, CLIENT_IS_B = 1, 4, 16, 32  # the first two are shifted by the side, 0 or 1
STATE_FLAGS = 63  # all of these
SEEN = 64  # of a bounded table: since the last time that silent flows were forgotten

FLOWS_USED, ENDS_USED, GAPS_USED = 0, 1, 2


ROW_HALVES, END_WORDS = 2 * ROW_WORDS, 3
SIDE_WORDS, GAP_WORDS = stream_gaps.HEAD_WORDS, 2 * stream_gaps.HEAD_WORDS


class Waiting(NamedTuple):
    """The place of flows that have proven nothing yet: a ring of fixed size in which the oldest makes room.

    `unproven` has what these arrays mean; a table without bounds has them empty.
    """

    rows: Ints  # as those of flows
    halves: npt.NDArray[np.uint32]
    slots: npt.NDArray[np.int32]
    held: Ints  # (time, size) of the client's latest packets
    count: Ints  # how many packets of the client were held, those that made room too
    used: Ints  # as of flows; none has gaps
    clock: Ints  # words of the clock by which silent flows are forgotten, and where the ring goes on
    on: bool
    one_sided: bool
    keep: int  # microseconds
    most: int  # flows beside these, at most


class Flows(NamedTuple):
    """The arrays of a flow table."""

    rows: Ints  # one row a flow
    halves: npt.NDArray[np.uint32]  # the same memory, by half words
    slots: npt.NDArray[np.int32]  # hash -> row + 1; 0 is empty
    ends: Ints  # one row a client end: address (2 words), port and IP version
    end_slots: npt.NDArray[np.int32]
    gaps: Ints  # rows of the heads of two lists of gaps, a side each, only for flows that ever had one
    spans: Spans  # those lists
    used: Ints  # how many rows of flows, ends and gaps are taken
    seed: int
    waiting: Waiting


VACANT = -1  # stands for the ports of a row that nobody has
NEXT_PLACE, LAST_AT, DUE, NOW = range(4)  # words of the clock
LONG_AGO = -(1 << 62)
HELD = 4  # packets of a client that are kept until it has proven itself


def new_waiting(bounds: Bounds | None) -> Waiting:
    """An empty place for flows that have proven nothing, as large as it will ever be."""
    places = 1 if bounds is None else max(bounds.unproven, 1)
    rows = np.zeros((places, ROW_WORDS), np.int64)
    rows[:, PORTS] = VACANT
    return Waiting(
        rows=rows,
        halves=rows.view(np.uint32),
        slots=np.zeros(4 << (places - 1).bit_length(), np.int32),
        held=np.zeros((places, 2 * HELD), np.int64),
        count=np.zeros(places, np.int64),
        used=np.array([0, 0, _NO_GAPS], np.int64),
        clock=np.array([0, LONG_AGO, LONG_AGO, LONG_AGO], np.int64),
        on=bounds is not None,
        one_sided=bounds is not None and bounds.one_sided,
        keep=0 if bounds is None else bounds.keep,
        most=0 if bounds is None else bounds.players,
    )


def new_flows(seed: int, capacity: int = 1 << 10, bounds: Bounds | None = None) -> Flows:
    """An empty table; with bounds one that cannot grow for ever.

    The seed keeps strangers from choosing addresses that collide; no result depends on it.
    """
    rows = np.zeros((capacity, ROW_WORDS), np.int64)
    return Flows(
        rows=rows,
        halves=rows.view(np.uint32),
        slots=np.zeros(capacity * 4, np.int32),
        ends=np.zeros((capacity, END_WORDS), np.int64),
        end_slots=np.zeros(capacity * 4, np.int32),
        gaps=np.zeros((64, GAP_WORDS), np.int64),
        spans=stream_gaps.new_spans(),
        used=np.zeros(3, np.int64),
        seed=seed,
        waiting=new_waiting(bounds),
    )


def with_more_room(flows: Flows) -> Flows:
    """The same table with room for at least one more of everything."""
    if flows.used[FLOWS_USED] == len(flows.rows):
        rows = _doubled(flows.rows)
        slots = np.zeros(len(rows) * 4, np.int32)
        _place_flows(rows, slots, int(flows.used[FLOWS_USED]), flows.seed)
        flows = flows._replace(rows=rows, halves=rows.view(np.uint32), slots=slots)
    if flows.used[ENDS_USED] == len(flows.ends):
        ends = _doubled(flows.ends)
        end_slots = np.zeros(len(ends) * 4, np.int32)
        _place_ends(ends, end_slots, int(flows.used[ENDS_USED]), flows.seed)
        flows = flows._replace(ends=ends, end_slots=end_slots)
    if flows.used[GAPS_USED] == len(flows.gaps):
        flows = flows._replace(gaps=_doubled(flows.gaps))
    return flows._replace(spans=stream_gaps.with_more_spans(flows.spans))


def ends_that_stay(flows: Flows) -> Ints:
    """The numbers of the client ends that a bounded table keeps when silent flows go; those get 0, 1, 2 … then."""
    halves = flows.halves[: int(flows.used[FLOWS_USED])]
    clients = halves[(halves[:, FLAGS] & SEEN) != 0, CLIENT]
    return np.unique(clients[clients > 0]).astype(np.int64) - 1


def without_silent(flows: Flows) -> Flows:
    """A bounded table without the flows that were not seen since the last time, and without what only they needed."""
    used = int(flows.used[FLOWS_USED])
    stays = (flows.halves[:used, FLAGS] & SEEN) != 0
    kept = int(stays.sum())
    rows = np.zeros((_room(kept), ROW_WORDS), np.int64)
    rows[:kept] = flows.rows[:used][stays]
    halves = rows.view(np.uint32)
    ends, halves[:kept, CLIENT] = _renumbered(flows.ends, halves[:kept, CLIENT])
    gaps, numbers = _renumbered(flows.gaps, halves[:kept, FLAGS] >> 8)
    _give_gaps_back(flows, halves[:kept, FLAGS] >> 8)
    halves[:kept, FLAGS] = halves[:kept, FLAGS] & STATE_FLAGS | numbers << 8
    taken = np.array([kept, len(ends), len(gaps)], np.int64)
    fresh = flows._replace(
        rows=rows,
        halves=halves,
        slots=np.zeros(len(rows) * 4, np.int32),
        ends=_with_room(ends),
        end_slots=np.zeros(_room(len(ends)) * 4, np.int32),
        gaps=_with_room(gaps),
        used=taken,
    )
    _place_flows(fresh.rows, fresh.slots, kept, flows.seed)
    _place_ends(fresh.ends, fresh.end_slots, len(ends), flows.seed)
    return fresh


def _give_gaps_back(flows: Flows, stay: npt.NDArray[np.integer[Any]]) -> None:
    """Let the lists of gaps of all flows but those that stay serve others."""
    gone = np.setdiff1d(np.arange(flows.used[GAPS_USED]), stay.astype(np.int64) - 1)
    stream_gaps.give_back_all(flows.spans, flows.gaps[gone].reshape(-1, stream_gaps.HEAD_WORDS))


def _renumbered(table: Ints, numbers: npt.NDArray[np.integer[Any]]) -> tuple[Ints, npt.NDArray[np.uint32]]:
    """The rows that are named, in their order, and their names anew; a row's name is its place + 1, 0 names none."""
    named = np.unique(numbers[numbers > 0])
    anew = np.searchsorted(named, numbers).astype(np.uint32) + np.uint32(1)
    return table[named.astype(np.int64) - 1], np.where(numbers > 0, anew, 0).astype(np.uint32)


def _room(used: int) -> int:
    """A power of two with room for as many more, at least 1,024."""
    return 1 << max(10, (2 * used).bit_length())


def _with_room(table: Ints) -> Ints:
    larger = np.zeros((_room(len(table)), table.shape[1]), np.int64)
    larger[: len(table)] = table
    return larger


def _doubled(array: Ints) -> Ints:
    larger = np.zeros((len(array) * 2, array.shape[1]), array.dtype)
    larger[: len(array)] = array
    return larger


class FlowPointers(NamedTuple):
    """A flow table inside a kernel: where the elements of its arrays are, and how many fit."""

    rows: Pointer
    halves: Pointer
    slots: Pointer
    ends: Pointer
    end_slots: Pointer
    gaps: GapPointers
    used: Pointer
    seed: int
    slot_mask: int
    end_mask: int
    most_flows: int
    most_ends: int
    most_gaps: int


@part
def _gap_pointers(flows: Flows) -> GapPointers:
    return GapPointers(
        pointer_to(flows.gaps),
        pointer_to(flows.spans.words),
        pointer_to(flows.spans.used),
        stream_gaps.most_words(len(flows.spans.words)),
    )


@part
def flow_pointers(flows: Flows) -> FlowPointers:
    """The table for a kernel's parts."""
    return FlowPointers(
        pointer_to(flows.rows),
        pointer_to(flows.halves),
        pointer_to(flows.slots),
        pointer_to(flows.ends),
        pointer_to(flows.end_slots),
        _gap_pointers(flows),
        pointer_to(flows.used),
        flows.seed,
        len(flows.slots) - 1,
        len(flows.end_slots) - 1,
        len(flows.rows),
        len(flows.ends),
        len(flows.gaps),
    )


@part
def waiting_pointers(flows: Flows) -> FlowPointers:
    """The place of flows that have proven nothing, as if it were a table: what is done to a flow is done to both."""
    waiting = flows.waiting
    return FlowPointers(
        pointer_to(waiting.rows),
        pointer_to(waiting.halves),
        pointer_to(waiting.slots),
        pointer_to(flows.ends),
        pointer_to(flows.end_slots),
        _gap_pointers(flows),
        pointer_to(waiting.used),
        flows.seed,
        len(waiting.slots) - 1,
        len(flows.end_slots) - 1,
        len(waiting.rows),
        len(flows.ends),
        len(flows.gaps),
    )


@part
def _mixed(seed: int, first: int, second: int, third: int) -> int:
    mixed = (seed ^ first) * 0x5851F42D4C957F2D
    mixed = (mixed ^ (mixed >> 29) ^ second) * 0x14057B7EF767814F
    mixed = (mixed ^ (mixed >> 31) ^ third) * 0x27220A95FE4D2B35
    return mixed ^ (mixed >> 32)


@part
def _flow_hash(seed: int, a_hi: int, a_lo: int, b_hi: int, b_lo: int, ports: int) -> int:
    if (a_hi | b_hi) == 0:
        return _mixed(seed, a_lo, b_lo, ports)
    return _mixed(_mixed(seed, a_hi, b_hi, 0), a_lo, b_lo, ports)


@kernel
def _place_flows(rows: Ints, slots: npt.NDArray[np.int32], used: int, seed: int) -> None:
    mask = len(slots) - 1
    for row in range(used):
        key = rows[row]
        slot = _flow_hash(seed, key[A_HI], key[A_LO], key[B_HI], key[B_LO], key[PORTS]) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = row + 1


@kernel
def _place_ends(ends: Ints, slots: npt.NDArray[np.int32], used: int, seed: int) -> None:
    mask = len(slots) - 1
    for row in range(used):
        slot = _mixed(seed, ends[row, 0], ends[row, 1], ends[row, 2]) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = row + 1


@part
def lacks_room(flows: FlowPointers) -> bool:
    """Whether the next packet might not find a free row."""
    return (
        flows.used[FLOWS_USED] == flows.most_flows
        or flows.used[ENDS_USED] == flows.most_ends
        or flows.used[GAPS_USED] == flows.most_gaps
        or stream_gaps.lacks_spans(flows.gaps)
    )


@part
def slot_of(flows: FlowPointers, a_hi: int, a_lo: int, b_hi: int, b_lo: int, ports: int) -> int:
    """The slot that names the row of a flow, or the empty one where its name would stand."""
    mask = flows.slot_mask
    slot = _flow_hash(flows.seed, a_hi, a_lo, b_hi, b_lo, ports) & mask
    while True:
        row = np.int64(flows.slots[slot]) - 1
        if row < 0:
            return slot
        if (
            flows.rows[row * ROW_WORDS + PORTS] == ports
            and flows.rows[row * ROW_WORDS + A_LO] == a_lo
            and flows.rows[row * ROW_WORDS + B_LO] == b_lo
            and flows.rows[row * ROW_WORDS + A_HI] == a_hi
            and flows.rows[row * ROW_WORDS + B_HI] == b_hi
        ):
            return slot
        slot = (slot + 1) & mask


@part
def flow_row(flows: FlowPointers, a_hi: int, a_lo: int, b_hi: int, b_lo: int, ports: int) -> int:
    """The row of a flow, added when it is new."""
    slot = slot_of(flows, a_hi, a_lo, b_hi, b_lo, ports)
    row = np.int64(flows.slots[slot]) - 1
    if row >= 0:
        return row
    row = flows.used[FLOWS_USED]
    flows.used[FLOWS_USED] = row + 1
    write_key(flows, slot, row, a_hi, a_lo, b_hi, b_lo, ports)
    return row


@part
def write_key(flows: FlowPointers, slot: int, row: int, a_hi: int, a_lo: int, b_hi: int, b_lo: int, ports: int) -> None:
    """Let a free row be that of a flow."""
    flows.slots[slot] = row + 1
    flows.rows[row * ROW_WORDS + A_HI] = a_hi
    flows.rows[row * ROW_WORDS + A_LO] = a_lo
    flows.rows[row * ROW_WORDS + B_HI] = b_hi
    flows.rows[row * ROW_WORDS + B_LO] = b_lo
    flows.rows[row * ROW_WORDS + PORTS] = ports


@part
def empty_slot_of(flows: FlowPointers, row: int) -> None:
    """Take a row's name out of the slots; those behind it move up, so that each is still found from its hash on."""
    mask = flows.slot_mask
    place = row * ROW_WORDS
    hole = slot_of(
        flows,
        flows.rows[place + A_HI],
        flows.rows[place + A_LO],
        flows.rows[place + B_HI],
        flows.rows[place + B_LO],
        flows.rows[place + PORTS],
    )
    probe = (hole + 1) & mask
    while flows.slots[probe] != 0:
        place = (np.int64(flows.slots[probe]) - 1) * ROW_WORDS
        home = _flow_hash(
            flows.seed,
            flows.rows[place + A_HI],
            flows.rows[place + A_LO],
            flows.rows[place + B_HI],
            flows.rows[place + B_LO],
            flows.rows[place + PORTS],
        )
        if ((probe - home) & mask) >= ((probe - hole) & mask):
            flows.slots[hole] = flows.slots[probe]
            hole = probe
        probe = (probe + 1) & mask
    flows.slots[hole] = 0


@part
def _end_row(flows: FlowPointers, high: int, low: int, port: int) -> int:
    mask = flows.end_mask
    slot = _mixed(flows.seed, high, low, port) & mask
    while True:
        row = np.int64(flows.end_slots[slot]) - 1
        if row < 0:
            break
        if (
            flows.ends[row * END_WORDS + 0] == high
            and flows.ends[row * END_WORDS + 1] == low
            and flows.ends[row * END_WORDS + 2] == port
        ):
            return row
        slot = (slot + 1) & mask
    row = flows.used[ENDS_USED]
    flows.used[ENDS_USED] = row + 1
    flows.end_slots[slot] = row + 1
    flows.ends[row * END_WORDS + 0] = high
    flows.ends[row * END_WORDS + 1] = low
    flows.ends[row * END_WORDS + 2] = port
    return row


@part
def set_client(flows: FlowPointers, row: int, side: int) -> None:
    """Say which side of a flow is the client; `side` 0 is the end that sorts first.

    Nothing but the flags change here: the end gets a number with its first delivered packet (`client_end`), so
    that numbers follow the order of the rows that are seen.
    """
    flags = np.int64(flows.halves[row * ROW_HALVES + FLAGS])
    flags = (flags | CLIENT_KNOWN | CLIENT_IS_B) if side == 1 else ((flags | CLIENT_KNOWN) & ~CLIENT_IS_B)
    flows.halves[row * ROW_HALVES + FLAGS] = flags
    flows.halves[row * ROW_HALVES + CLIENT] = 0


@part
def knows_client(flows: FlowPointers, row: int) -> bool:
    """Whether it was said which side is the client."""
    return (np.int64(flows.halves[row * ROW_HALVES + FLAGS]) & CLIENT_KNOWN) != 0


@part
def is_client(flows: FlowPointers, row: int, side: int) -> bool:
    """Whether this side is the client."""
    return (side == 1) == ((np.int64(flows.halves[row * ROW_HALVES + FLAGS]) & CLIENT_IS_B) != 0)


@part
def client_end(flows: FlowPointers, row: int) -> int:
    """The number of the client's end of a flow."""
    known = np.int64(flows.halves[row * ROW_HALVES + CLIENT])
    if known != 0:
        return known - 1
    ports = flows.rows[row * ROW_WORDS + PORTS]
    version = ports & 0x2
    if (np.int64(flows.halves[row * ROW_HALVES + FLAGS]) & CLIENT_IS_B) != 0:
        end = _end_row(
            flows,
            flows.rows[row * ROW_WORDS + B_HI],
            flows.rows[row * ROW_WORDS + B_LO],
            ((ports >> 16) & 0xFFFF) << 2 | version,
        )
    else:
        end = _end_row(
            flows,
            flows.rows[row * ROW_WORDS + A_HI],
            flows.rows[row * ROW_WORDS + A_LO],
            ((ports >> 32) & 0xFFFF) << 2 | version,
        )
    flows.halves[row * ROW_HALVES + CLIENT] = end + 1
    return end


@part
def _head(flags: int, side: int) -> int:
    """Where among the heads that of a side is, for a flow that has gaps."""
    return ((flags >> 8) - 1) * GAP_WORDS + side * SIDE_WORDS


@part
def _forget_gaps(flows: FlowPointers, row: int, side: int) -> None:
    flags = np.int64(flows.halves[row * ROW_HALVES + FLAGS])
    if (flags >> 8) != 0:
        stream_gaps.forget_all(flows.gaps, _head(flags, side))


@part
def begin_stream(flows: FlowPointers, row: int, side: int, first: int, opens: bool) -> bool:
    """A SYN with initial number `first`; False when this very SYN was seen before.

    One that opens a connection (no ACK) makes the other side's numbers unknown too.
    """
    flags = np.int64(flows.halves[row * ROW_HALVES + FLAGS])
    if (flags & (ISN_KNOWN << side)) != 0 and np.int64(flows.halves[row * ROW_HALVES + ISN + side]) == first:
        return False
    flags |= (ISN_KNOWN | SEQ_KNOWN) << side
    if opens:
        flags &= ~((ISN_KNOWN | SEQ_KNOWN) << (1 - side))
        _forget_gaps(flows, row, 1 - side)
    flows.halves[row * ROW_HALVES + FLAGS] = flags
    flows.halves[row * ROW_HALVES + ISN + side] = first
    flows.halves[row * ROW_HALVES + NEXT + side] = (first + 1) & _M32
    _forget_gaps(flows, row, side)
    return True


@part
def new_bytes(flows: FlowPointers, row: int, side: int, seq: int, length: int) -> int:
    """How many of a segment's bytes were not seen before; they count as seen from now on."""
    flags = np.int64(flows.halves[row * ROW_HALVES + FLAGS])
    end = (seq + length) & _M32
    expected = np.int64(flows.halves[row * ROW_HALVES + NEXT + side])
    if (flags & (SEQ_KNOWN << side)) == 0:
        flows.halves[row * ROW_HALVES + FLAGS] = flags | (SEQ_KNOWN << side)
        flows.halves[row * ROW_HALVES + NEXT + side] = end
        return length
    ahead = signed(seq - expected)
    if ahead == 0:
        _expect(flows, row, side, expected, end)
        return length
    if ahead > FAR or ahead < -FAR:
        _forget_gaps(flows, row, side)
        flows.halves[row * ROW_HALVES + NEXT + side] = end
        return length
    if ahead > 0:
        _remember_gap(flows, row, side, expected, ahead)
        _expect(flows, row, side, expected, end)
        return length
    fresh = 0
    if (flags >> 8) != 0:
        fresh = stream_gaps.fill(flows.gaps, _head(flags, side), seq, min(length, -ahead))
    beyond = length + ahead
    if beyond > 0:
        _expect(flows, row, side, expected, end)
        fresh += beyond
    return fresh


@part
def _expect(flows: FlowPointers, row: int, side: int, expected: int, end: int) -> None:
    """Go on at `end`; now and then look for gaps that are too old, long before their numbers come round again."""
    flows.halves[row * ROW_HALVES + NEXT + side] = end
    if ((expected ^ end) >> _FAR_BITS) != 0:
        flags = np.int64(flows.halves[row * ROW_HALVES + FLAGS])
        if (flags >> 8) != 0:
            stream_gaps.forget_before(flows.gaps, _head(flags, side), (end - FAR) & _M32)


@part
def _remember_gap(flows: FlowPointers, row: int, side: int, start: int, length: int) -> None:
    flags = np.int64(flows.halves[row * ROW_HALVES + FLAGS])
    if (flags >> 8) == 0:
        if flows.used[GAPS_USED] >= _MOST_GAPS:
            flows.gaps.used[stream_gaps.FORGOTTEN] += flows.used[GAPS_USED] == _MOST_GAPS
            return
        flows.used[GAPS_USED] += 1
        flags |= flows.used[GAPS_USED] << 8
        flows.halves[row * ROW_HALVES + FLAGS] = flags
    stream_gaps.add(flows.gaps, _head(flags, side), start, length)
