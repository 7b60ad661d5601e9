"""The compiled half of the action chunks: one pass over each actor's actions in time, a few counters an actor.

Chunks overlap by one half, so an actor's time is cut into cells of half a chunk and a chunk is two cells that follow
each other: every action is counted once. A cell's counters are those of its number's parity, so that two rows an actor
suffice. An interval from one cell into the next belongs to the one chunk that holds both, and waits as `bridge`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.durations import SECOND
from gamewarden.core.kernels import kernel

Ints = NDArray[np.int64]
Records = NDArray[Any]
Record = Any  # a row of such an array

ACTOR = np.dtype(
    [
        ("first", "i8"),  # its first action
        ("last", "i8"),  # the action before
        ("until", "i8"),  # where the open cell ends
        ("cell", "i8"),  # number of the open cell, -1 = no action yet
        ("bridge", "i4"),  # bin of the interval that leads into the open cell from the one before, or -1
        ("actions", "i4", (2,)),  # by parity of the cell
        ("disordered", "u1"),
        ("spare", "u1", (15,)),  # to a whole line of the cache
    ],
    align=True,
)
CHUNK = np.dtype([("since", "i8"), ("events", "i8"), ("slot", "i4")], align=True)
# What a kind's own intervals come to: how many, their sum and the sum of their squares.
OWN = np.dtype([("count", "u4"), ("sum", "u8"), ("squares", "u8")], align=True)
OWN_LAST = np.dtype([("at", "i8"), ("cell", "i8"), ("bridge", "i8")], align=True)
CHUNKS_A_ROW = 2  # an action after a silence closes the chunk that ends in the open cell and the one that begins there

_ROWS_TOGETHER = 64  # chunks that become columns together: a line of the cache each column, all in the first cache
SMALL = 256  # counts whose roots are kept

DONE_USED, DISORDERED = range(2)  # counters of the state
COUNTERS = 2


class Rows(NamedTuple):
    """A batch as numbers; slot -1 is a row that cannot be used."""

    at: Ints
    slot: NDArray[np.int32]
    kind: NDArray[np.int32]


class Rules(NamedTuple):
    """What the recipe says."""

    step: int  # half a chunk
    last_bin: int  # t: the bin of all longer intervals
    min_actions: int
    tick: int  # microseconds a unit of own intervals, so that squares fit into 64 bits
    place: NDArray[np.int32]  # where a kind is counted, -1 = it is no action


class State(NamedTuple):
    """All that is remembered between batches; bins first, then kinds in every row of counts."""

    actors: Records
    counts: NDArray[np.uint32]  # slot, parity, bin or kind
    own: Records  # slot, parity, kind: empty where own intervals are not asked for
    own_last: Records  # slot, kind
    counters: Ints
    done: Records
    done_counts: NDArray[np.uint32]
    done_own: Records


_compiled = kernel
# Streaming allocates nothing, so it goes without reference counts, and its path for every row is one function to the
# compiler.
_streaming = kernel(_nrt=False)
_inlined = kernel(_nrt=False, inline="always")


@_streaming
def clear_all(state: State, slots: Ints) -> None:
    """Actors nothing is known of."""
    for slot in slots:
        actor = state.actors[slot]
        actor.cell = -1
        actor.disordered = 0
        for parity in range(2):
            _clear_cell(state, slot, parity)
        for kind in range(state.own_last.shape[1]):
            state.own_last[slot, kind].cell = -1
            state.own_last[slot, kind].bridge = -1


@_streaming
def ingest(rows: Rows, begin: int, end: int, rules: Rules, state: State) -> None:
    """Count the actions of some rows; `done` has room for two chunks a row."""
    for row in range(begin, end):
        slot = rows.slot[row]
        place = rules.place[rows.kind[row]]
        if slot >= 0 and place >= 0:
            _count(state, slot, place, rows.at[row], rules)


@_inlined
def _count(state: State, slot: int, place: int, at: int, rules: Rules) -> None:
    actor = state.actors[slot]
    if actor.disordered:
        return
    if actor.cell >= 0 and at < actor.last:
        actor.disordered = 1
        state.counters[DISORDERED] += 1
    else:
        if actor.cell < 0:
            _begin(actor, at, rules.step)
        else:
            _interval(state, slot, at, rules)
        parity = actor.cell & 1
        actor.last = at
        actor.actions[parity] += 1
        state.counts[slot, parity, rules.last_bin + 1 + place] += 1
        if state.own_last.shape[1]:
            _own_interval(state, slot, place, at, rules.tick)


@_inlined
def _begin(actor: Record, at: int, step: int) -> None:
    actor.first = at
    actor.cell = 0
    actor.until = at + step
    actor.bridge = -1


@_inlined
def _interval(state: State, slot: int, at: int, rules: Rules) -> None:
    """Count the interval that this action ends, after closing what it shows to be over."""
    actor = state.actors[slot]
    gap = min((at - actor.last) // SECOND, rules.last_bin)
    if at < actor.until:
        state.counts[slot, actor.cell & 1, gap] += 1
        return
    before = actor.cell
    cell = (at - actor.first) // rules.step
    _close(state, slot, cell, rules)
    actor.cell = cell
    actor.until = actor.first + (cell + 1) * rules.step
    actor.bridge = gap if cell == before + 1 else -1


@_streaming
def _close(state: State, slot: int, cell: int, rules: Rules) -> None:
    """The chunk of the open cell and the one before ends at or before an action in `cell`; so may the next one."""
    actor = state.actors[slot]
    now = actor.cell & 1
    if actor.cell > 0:
        _emit(state, slot, actor.cell - 1, rules)
    _clear_cell(state, slot, 1 - now)
    if cell > actor.cell + 1:
        actor.bridge = -1
        _emit(state, slot, actor.cell, rules)
        _clear_cell(state, slot, now)


@_streaming
def _emit(state: State, slot: int, number: int, rules: Rules) -> None:
    """Write down chunk `number`: the sum of both cells, and what leads from the one into the other."""
    actor = state.actors[slot]
    events = actor.actions[0] + actor.actions[1]
    if events < rules.min_actions:
        return
    place = state.counters[DONE_USED]
    state.counters[DONE_USED] += 1
    chunk = state.done[place]
    chunk.slot = slot
    chunk.since = actor.first + number * rules.step
    chunk.events = events
    for column in range(state.counts.shape[2]):
        state.done_counts[place, column] = state.counts[slot, 0, column] + state.counts[slot, 1, column]
    if actor.bridge >= 0:
        state.done_counts[place, actor.bridge] += 1
    for kind in range(state.own_last.shape[1]):
        _emit_own(state.done_own[place, kind], state.own[slot, 0, kind], state.own[slot, 1, kind])
        last = state.own_last[slot, kind]
        if last.cell == number + 1 and last.bridge >= 0:
            _add_own(state.done_own[place, kind], last.bridge)


@_streaming
def _clear_cell(state: State, slot: int, parity: int) -> None:
    state.actors[slot].actions[parity] = 0
    for column in range(state.counts.shape[2]):
        state.counts[slot, parity, column] = 0
    for kind in range(state.own_last.shape[1]):
        own = state.own[slot, parity, kind]
        own.count = 0
        own.sum = 0
        own.squares = 0


@_streaming
def _own_interval(state: State, slot: int, kind: int, at: int, tick: int) -> None:
    """The interval since the same kind of action, if one chunk holds both."""
    last = state.own_last[slot, kind]
    cell = state.actors[slot].cell
    if last.cell == cell:
        _add_own(state.own[slot, cell & 1, kind], (at - last.at) // tick)
    else:
        last.bridge = (at - last.at) // tick if last.cell >= 0 and last.cell == cell - 1 else -1
    last.at = at
    last.cell = cell


@_streaming
def _add_own(own: Record, interval: int) -> None:
    own.count += 1
    own.sum += np.uint64(interval)
    own.squares += np.uint64(interval) * np.uint64(interval)


@_streaming
def _emit_own(total: Record, one: Record, other: Record) -> None:
    total.count = one.count + other.count
    total.sum = one.sum + other.sum
    total.squares = one.squares + other.squares


@_compiled
def roots() -> NDArray[np.float64]:
    """The fourth root of part / most for small counts, which are nearly all."""
    table = np.zeros((SMALL, SMALL))
    for most in range(1, SMALL):
        for part in range(1, most + 1):
            table[most, part] = (part / most) ** 0.25
    return table


@_compiled
def shape(
    counts: NDArray[np.uint32],
    kinds: NDArray[np.int64],
    begin: int,
    known: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Equations 7 and 8: kinds by the chunk's most frequent action, intervals by its most frequent bin.

    `out` has a row a column of the table, kinds first, and one more for the frequency of the most frequent action;
    `known` are the roots.
    """
    bins = len(out) - len(kinds) - 1
    most = np.empty((2, _ROWS_TOGETHER), np.uint32)
    for block in range(0, len(counts), _ROWS_TOGETHER):
        rows = min(_ROWS_TOGETHER, len(counts) - block)
        for row in range(rows):
            most[0, row] = _most(counts, block + row, bins, counts.shape[1])
            most[1, row] = _most(counts, block + row, 0, bins)
            out[len(kinds) + bins, begin + block + row] = most[0, row]
        for column in range(len(kinds) + bins):
            gaps = column >= len(kinds)
            source = column - len(kinds) if gaps else bins + kinds[column]
            for row in range(rows):
                part = counts[block + row, source]
                out[column, begin + block + row] = _root(part, most[int(gaps), row], known)


@_compiled
def _most(counts: NDArray[np.uint32], row: int, begin: int, end: int) -> np.uint32:
    most = np.uint32(0)
    for column in range(begin, end):
        most = max(most, counts[row, column])
    return most


@_compiled
def _root(part: int, most: int, known: NDArray[np.float64]) -> float:
    if part == 0:
        return 0.0
    return known[most, part] if most < SMALL else (part / most) ** 0.25
