"""The compiled half of the sketches: what an actor does most in a day, as three moments in a row and their pace.

An actor has two small tables, the same few bytes for everybody: its most frequent stretches of three moments with the
classes of the two times between them, and its most frequent ways from one place it stopped at to the next. Where a
table is full, what was seen least is forgotten.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.durations import MINUTE, SECOND
from gamewarden.features.period_kernel import (
    DISORDERED,
    DONE_USED,
    MIX,
    NO_DAY,
    PRIME,
    Floats,
    Ints,
    Record,
    State,
    comes_first,
    inlined,
    mixed,
    place_of,
    streaming,
)

Words = NDArray[np.uint64]

KEPT_STRETCHES, KEPT_WAYS = 16, 16  # of a day
STRETCHES, WAYS = 64, 64  # entries of an actor's tables
ENTRIES = STRETCHES + WAYS
_PLACES = 4  # entries that something may stand in
COUNT_BITS = 14  # low bits of an entry: how often; the rest: what
COUNT = np.uint64((1 << COUNT_BITS) - 1)
KIND_BITS, CLASS_BITS = 14, 4
MOST_KINDS = 1 << KIND_BITS
CLASSES = 8  # of times between two moments: up to 1/2, 1, 2, 4, 8, 16, 32 and 64 seconds
LONGEST = 64 * SECOND  # a longer time begins a new stretch
SEEN = 3  # what was seen less often is nobody's habit
TENTH = 10 * MINUTE  # online or not is told for each of these of a day
_TENTHS = 144
TENTH_WORDS = 3

ACTOR = np.dtype(
    [
        ("at", "i8"),  # its latest event
        ("day", "i8"),  # number of the open period, or NO_DAY
        ("moment", "i8"),  # when what waits happened
        ("word", "u8"),  # the kind that stands for it, as a number of its name
        ("before_at", "i8"),  # the moment before
        ("word_1", "u8"),  # the moment before, and the one before that
        ("word_2", "u8"),
        ("kind", "i4"),  # the same as numbers of this source
        ("kind_1", "i4"),
        ("kind_2", "i4"),
        ("gap", "i4"),  # class of the time between those two
        ("known", "i4"),  # how many of the two are known
        ("x", "f4"),  # where it was at the moment that waits
        ("y", "f4"),
        ("zone", "u4"),
        ("last_x", "f4"),
        ("last_y", "f4"),
        ("last_zone", "u4"),
        ("stop", "u8"),  # where it stopped last
        ("waits", "u1"),
        ("placed", "u1"),  # whether the moment that waits has a place
        ("was_placed", "u1"),
        ("stopped", "u1"),
        ("disordered", "u1"),
        ("level", "i2"),
        ("main_votes", "i4"),
        ("main_zone", "u4"),
        ("events", "i4"),
        ("moments", "i4"),
        ("stretches", "i4"),
        ("ways", "i4"),
        ("tenths", "u8", (TENTH_WORDS,)),  # a bit for each ten minutes in which it did something
    ],
    align=True,
)
DONE = np.dtype(
    [
        ("slot", "i4"),
        ("events", "i4"),
        ("day", "i8"),
        ("stretches", "i4"),
        ("ways", "i4"),
        ("zone", "u4"),
        ("level", "i2"),
        ("tenths", "u8", (TENTH_WORDS,)),
        ("stretch", "u8", (KEPT_STRETCHES,)),
        ("way", "u8", (KEPT_WAYS,)),
    ],
    align=True,
)
NO_LEVEL = -(1 << 15)
_BEFORE = 2  # moments that make a stretch together with the next one


class Rows(NamedTuple):
    """A batch as numbers; slot -1 is a row that cannot be used, kind -1 one that is nothing anybody did."""

    at: Ints
    slot: NDArray[np.int32]
    day: Ints
    kind: NDArray[np.int32]
    level: NDArray[np.int16]
    zone: NDArray[np.uint32]
    x: Floats  # not finite: not known
    y: Floats


@streaming
def ingest(rows: Rows, begin: int, end: int, words: Words, cell: float, state: State) -> None:  # noqa: PLR0917 - a batch
    """Take in some rows; `done` has room for one a row, `words` has a number of each kind's name."""
    for row in range(begin, end):
        slot = rows.slot[row]
        if slot >= 0 and not state.actors[slot].disordered:
            _take_in(state, slot, rows, row, words, cell)


@inlined
def _take_in(state: State, slot: int, rows: Rows, row: int, words: Words, cell: float) -> None:  # noqa: PLR0917 - a row
    actor = state.actors[slot]
    at = rows.at[row]
    if at < actor.at:
        actor.disordered = 1
        state.counters[DISORDERED] += 1
        return
    if rows.day[row] != actor.day:
        _close(state, slot, cell)
        _open(state, slot, rows.day[row])
    actor.at = at
    actor.events += 1
    tenth = at // TENTH % _TENTHS
    actor.tenths[tenth // 64] |= np.uint64(1) << np.uint64(tenth % 64)
    actor.level = max(actor.level, rows.level[row])
    kind = rows.kind[row]
    if kind < 0:
        return
    if actor.waits and at > actor.moment:
        _live(state, slot, cell)
        actor.waits = 0
    if not actor.waits:
        actor.waits = 1
        actor.placed = 0
        actor.moment = at
        actor.word = words[kind]
        actor.kind = kind
    elif words[kind] < actor.word:  # of what happens at one moment the first by its number counts, in any order
        actor.word = words[kind]
        actor.kind = kind
    if np.isfinite(rows.x[row]) and np.isfinite(rows.y[row]):
        _see_place(actor, rows, row)


@inlined
def _see_place(actor: Record, rows: Rows, row: int) -> None:
    if not actor.placed or comes_first(actor, rows, row):
        actor.placed = 1
        actor.zone = rows.zone[row]
        actor.x = rows.x[row]
        actor.y = rows.y[row]


@streaming
def _open(state: State, slot: int, day: int) -> None:
    actor = state.actors[slot]
    actor.day = day
    actor.waits = 0
    actor.was_placed = 0
    actor.stopped = 0
    actor.known = 0
    actor.level = NO_LEVEL
    actor.main_votes = 0
    actor.main_zone = 0
    actor.events = 0
    actor.stretches = 0
    actor.ways = 0
    for word in range(TENTH_WORDS):
        actor.tenths[word] = 0
    for entry in range(ENTRIES):
        state.seen[slot, entry] = 0


@streaming
def _live(state: State, slot: int, cell: float) -> None:
    """A moment is over: it ends a stretch, and maybe a way."""
    actor = state.actors[slot]
    gap = actor.moment - actor.before_at
    if actor.known and gap > LONGEST:
        actor.known = 0
    pace = _class(gap)
    if actor.known == _BEFORE:
        what = np.uint64(actor.kind_2) << np.uint64(2 * KIND_BITS) | np.uint64(actor.kind_1) << np.uint64(KIND_BITS)
        what = (what | np.uint64(actor.kind)) << np.uint64(2 * CLASS_BITS)
        what |= np.uint64(actor.gap) << np.uint64(CLASS_BITS) | np.uint64(pace)
        number = mixed(mixed(actor.word_2 ^ np.uint64(actor.gap) * PRIME) ^ mixed(actor.word_1 * MIX) * PRIME)
        _count(state.seen[slot], 0, STRETCHES, what, mixed(number ^ actor.word ^ np.uint64(pace)))
        actor.stretches += 1
    actor.known = min(_BEFORE, actor.known + 1)
    actor.kind_2, actor.word_2 = actor.kind_1, actor.word_1
    actor.kind_1, actor.word_1 = actor.kind, actor.word
    actor.gap = pace
    actor.before_at = actor.moment
    if actor.placed:
        _be_there(state, slot, cell)


@inlined
def _class(gap: int) -> int:
    """The class of a time between two moments: each is twice as long as the one before."""
    pace, limit = 0, SECOND // 2
    while gap > limit and pace < CLASSES - 1:
        limit *= 2
        pace += 1
    return pace


@streaming
def _be_there(state: State, slot: int, cell: float) -> None:
    """Whoever is where it was a moment before has stopped there; the way from the stop before is counted."""
    actor = state.actors[slot]
    if actor.main_votes == 0:
        actor.main_zone = actor.zone
    actor.main_votes += 1 if actor.main_zone == actor.zone else -1
    x, y = np.float64(actor.x), np.float64(actor.y)
    near = abs(x - actor.last_x) < cell and abs(y - actor.last_y) < cell
    if actor.was_placed and actor.zone == actor.last_zone and near:
        stop = place_of(x, y, actor.zone, cell)
        if actor.stopped and stop != actor.stop:
            way = mixed(actor.stop * PRIME ^ stop)
            _count(state.seen[slot], STRETCHES, WAYS, way >> np.uint64(COUNT_BITS), way)
            actor.ways += 1
        actor.stopped = 1
        actor.stop = stop
    actor.was_placed = 1
    actor.last_x = actor.x
    actor.last_y = actor.y
    actor.last_zone = actor.zone


@inlined
def _count(seen: Words, first: int, entries: int, what: np.uint64, number: np.uint64) -> None:
    """Count something, in place of what was seen least where there is no room; its number says where it may stand."""
    begin = first + int(number % np.uint64(entries // _PLACES)) * _PLACES
    least = begin
    for entry in range(begin, begin + _PLACES):
        count = seen[entry] & COUNT
        if count > 0 and seen[entry] >> np.uint64(COUNT_BITS) == what:
            if count < COUNT:
                seen[entry] += np.uint64(1)
            return
        if count < seen[least] & COUNT:
            least = entry
    seen[least] = what << np.uint64(COUNT_BITS) | np.uint64(1)


@streaming
def _close(state: State, slot: int, cell: float) -> None:
    """Write down the open period, if there is one."""
    actor = state.actors[slot]
    if actor.day == NO_DAY:
        return
    if actor.waits:
        _live(state, slot, cell)
    done = state.done[state.counters[DONE_USED]]
    state.counters[DONE_USED] += 1
    done.slot = slot
    done.events = actor.events
    done.day = actor.day
    done.stretches = actor.stretches
    done.ways = actor.ways
    done.zone = actor.main_zone
    done.level = actor.level
    for word in range(TENTH_WORDS):
        done.tenths[word] = actor.tenths[word]
    _keep(state.seen[slot], 0, STRETCHES, done.stretch)
    _keep(state.seen[slot], STRETCHES, WAYS, done.way)


@streaming
def _keep(seen: Words, first: int, entries: int, kept: Words) -> None:
    """The most frequent ones; of several that are as frequent those that stand first."""
    for place in range(len(kept)):
        most = first
        for entry in range(first, first + entries):
            if seen[entry] & COUNT > seen[most] & COUNT:
                most = entry
        enough = seen[most] & COUNT >= np.uint64(SEEN)
        kept[place] = seen[most] if enough else np.uint64(0)
        seen[most] = np.uint64(0)


@streaming
def close_all(state: State, slots: Ints, cell: float) -> None:
    """No more rows of these actors will come; `done` has room for one each."""
    for slot in slots:
        if not state.actors[slot].disordered:
            _close(state, slot, cell)
            state.actors[slot].day = NO_DAY
