"""Flows that have proven nothing yet, in a place of fixed size: anybody can write any sender on a packet.

A sender has proven to be there when it could only know from an answer what it says, or when somebody answers it:

* a client's TCP packet that acknowledges the number with which the server's side of the handshake began;
* payload from both sides.

With `one_sided` no answer can be seen, and payload that is new has to be enough.

Until then a flow stands in a ring: whoever came first makes room for the next, so that what is kept depends on the
order of the packets alone, not on a hash, a clock of ours or how the packets were cut into batches. The latest `HELD`
packets of its client wait with it and are delivered with the proof; what a server sent before it is only counted.

A bounded table also forgets: whenever `keep` of the packets' own time has passed, the flows that were not seen in it
go. The clock is the lower of two neighbouring packets' times, so that one odd time does not move it.
"""

from typing import NamedTuple

import numpy as np

from gamewarden.readers.captures import flows as table
from gamewarden.readers.captures.flows import (
    DUE,
    FLAGS,
    HELD,
    ISN,
    ISN_KNOWN,
    LAST_AT,
    LONG_AGO,
    NEXT,
    NEXT_PLACE,
    NOW,
    PORTS,
    ROW_HALVES,
    ROW_WORDS,
    SEEN,
    STATE_FLAGS,
    VACANT,
    FlowPointers,
    Flows,
)
from gamewarden.readers.kernels import Pointer, part, pointer_to

_M32 = 0xFFFFFFFF
_PAYLOAD = 64  # shifted by the side: it has sent some
_BOTH = 3 * _PAYLOAD


class GuardPointers(NamedTuple):
    """What a bounded table has beside its flows, inside a kernel."""

    held: Pointer
    count: Pointer
    clock: Pointer
    on: bool
    one_sided: bool
    keep: int
    most: int


@part
def guard_pointers(flows: Flows) -> GuardPointers:
    """The guard for a kernel's parts."""
    waiting = flows.waiting
    return GuardPointers(
        pointer_to(waiting.held),
        pointer_to(waiting.count),
        pointer_to(waiting.clock),
        waiting.on,
        waiting.one_sided,
        waiting.keep,
        waiting.most,
    )


@part
def time_to_forget(guard: GuardPointers, at: int) -> bool:
    """Whether silent flows have to go before the packet of this time is taken; then the clock says since when."""
    if not guard.on:
        return False
    clock = guard.clock
    last = clock[LAST_AT]
    due = clock[DUE]
    now = min(last, at)
    if now >= due and last != LONG_AGO:
        clock[NOW] = now
        clock[DUE] = now + guard.keep
        return True
    if last != LONG_AGO and max(last, at) + 2 * guard.keep < due:  # the packets' clock was set back
        clock[DUE] = max(last, at) + guard.keep
    clock[LAST_AT] = at
    return False


@part
def known_row(flows: FlowPointers, a_hi: int, a_lo: int, b_hi: int, b_lo: int, ports: int) -> int:
    """The row of a flow that has proven itself, marked as seen; -1 when there is none."""
    row = np.int64(flows.slots[table.slot_of(flows, a_hi, a_lo, b_hi, b_lo, ports)]) - 1
    if row >= 0:
        flags = np.int64(flows.halves[row * ROW_HALVES + FLAGS])
        if (flags & SEEN) == 0:
            flows.halves[row * ROW_HALVES + FLAGS] = flags | SEEN
    return row


@part
def waiting_row(
    waiting: FlowPointers, guard: GuardPointers, a_hi: int, a_lo: int, b_hi: int, b_lo: int, ports: int
) -> tuple[int, bool]:
    """(the row of a flow that has proven nothing, whether the oldest had to make room for it)."""
    slot = table.slot_of(waiting, a_hi, a_lo, b_hi, b_lo, ports)
    row = np.int64(waiting.slots[slot]) - 1
    if row >= 0:
        return row, False
    row = guard.clock[NEXT_PLACE]
    guard.clock[NEXT_PLACE] = row + 1 if row + 1 < waiting.most_flows else np.int64(0)
    crowded = waiting.rows[row * ROW_WORDS + PORTS] != VACANT
    if crowded:
        table.empty_slot_of(waiting, row)
        slot = table.slot_of(waiting, a_hi, a_lo, b_hi, b_lo, ports)
    table.write_key(waiting, slot, row, a_hi, a_lo, b_hi, b_lo, ports)
    for word in range(PORTS + 1, ROW_WORDS):
        waiting.rows[row * ROW_WORDS + word] = 0
    guard.count[row] = 0
    return row, crowded


@part
def sends_payload(waiting: FlowPointers, row: int, side: int) -> None:
    """Note that this side of a flow has sent bytes that were not seen before."""
    flags = np.int64(waiting.halves[row * ROW_HALVES + FLAGS])
    waiting.halves[row * ROW_HALVES + FLAGS] = flags | _PAYLOAD << side


@part
def is_proven(
    waiting: FlowPointers, guard: GuardPointers, row: int, side: int, acknowledges: bool, acknowledged: int
) -> bool:
    """Whether this packet, just taken, proves that the flow's client is there."""
    flags = np.int64(waiting.halves[row * ROW_HALVES + FLAGS])
    if (flags & _BOTH) == _BOTH:
        return True
    if guard.one_sided:
        return (flags & _BOTH) != 0
    if not acknowledges or not table.is_client(waiting, row, side) or (flags & (ISN_KNOWN << (1 - side))) == 0:
        return False
    first = np.int64(waiting.halves[row * ROW_HALVES + ISN + 1 - side]) + 1
    sent = (np.int64(waiting.halves[row * ROW_HALVES + NEXT + 1 - side]) - first) & _M32
    return ((acknowledged - first) & _M32) <= sent


@part
def hold(guard: GuardPointers, row: int, at: int, size: int) -> None:
    """Keep a client's packet until there is proof, over the oldest that is kept."""
    place = row * 2 * HELD + 2 * (guard.count[row] % HELD)
    guard.held[place] = at
    guard.held[place + 1] = size
    guard.count[row] += 1


@part
def moved(flows: FlowPointers, waiting: FlowPointers, row: int) -> int:
    """The row among the flows that are known, with all that was known of it; its place in the ring is free."""
    place = row * ROW_WORDS
    new = table.flow_row(
        flows,
        waiting.rows[place],
        waiting.rows[place + 1],
        waiting.rows[place + 2],
        waiting.rows[place + 3],
        waiting.rows[place + PORTS],
    )
    for word in range(PORTS + 1, ROW_WORDS):
        flows.rows[new * ROW_WORDS + word] = waiting.rows[place + word]
    flags = np.int64(flows.halves[new * ROW_HALVES + FLAGS])
    flows.halves[new * ROW_HALVES + FLAGS] = flags & STATE_FLAGS | SEEN
    table.empty_slot_of(waiting, row)
    waiting.rows[place + PORTS] = VACANT
    return new
