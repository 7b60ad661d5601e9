"""The compiled half of the ways: one pass over each actor's positions in time, the same few bytes an actor.

A way-point is where an actor turns: positions between two turns lie on the line between them, wherever on it an event
happened to be logged. The place of a way-point is a cell of the map. Every three way-points in a row are looked up in
a small table of the actor's own, which forgets what was walked least when it is full.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.features.period_kernel import (
    DISORDERED,
    DONE_USED,
    HALF,
    MIX,
    NO_DAY,
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

ACTOR = np.dtype(
    [
        ("at", "i8"),  # its latest event
        ("day", "i8"),  # number of the open period, or NO_DAY
        ("point_at", "i8"),  # when it was where it was seen last
        ("x", "f4"),  # there; what else was seen at the same moment decides which of two places counts
        ("y", "f4"),
        ("zone", "u4"),
        ("has", "u1"),  # 0: no position waits; 1: one does
        ("way", "u1"),  # NOWHERE, STANDS or WALKS
        ("disordered", "u1"),
        ("known", "u1"),  # how many of the two way-points before are known
        ("turn_x", "f4"),  # the way-point before
        ("turn_y", "f4"),
        ("last_x", "f4"),  # the place before
        ("last_y", "f4"),
        ("last_zone", "u4"),
        ("before", "u4"),  # the way-point before, and the one before that, as numbers
        ("earlier", "u4"),
        ("events", "i4"),
        ("points", "i4"),
        ("again", "i4"),  # way-points in places where it had been twice before
        ("repeated", "i4"),  # way-points that end a stretch walked twice before
        ("run", "i4"),  # how many of them in a row just now
        ("longest", "i4"),
        ("laps", "i4"),
        ("length", "f8"),  # of the way
    ],
    align=True,
)
DONE = np.dtype(
    [
        ("slot", "i4"),
        ("events", "i4"),
        ("day", "i8"),
        ("points", "i4"),
        ("again", "i4"),
        ("repeated", "i4"),
        ("longest", "i4"),
        ("laps", "i4"),
        ("length", "f8"),
    ],
    align=True,
)
DONE_A_ROW = 1

STRETCHES, SPOTS = 128, 64  # entries of an actor's table: three way-points in a row, and single ones
ENTRIES = STRETCHES + SPOTS
_WAYS = 4  # entries that a number may stand in
_COUNT = np.uint32((1 << 10) - 1)  # low bits of an entry: how often; the rest: which
_SEEN = 2  # walked so often before, it is a repetition
_STRAIGHT = 0.9  # cosine of the sharpest turn that is still straight on, about 26 degrees

NOWHERE, STANDS, WALKS = range(3)  # no way has begun; it stands where the way begins; it walks
_BEFORE = 2  # way-points that make a stretch together with the next one


class Rows(NamedTuple):
    """A batch as numbers; slot -1 is a row that cannot be used, a place that is not known is not finite."""

    at: Ints
    slot: NDArray[np.int32]
    day: Ints
    zone: NDArray[np.uint32]  # a number of the zone's name
    x: Floats
    y: Floats


@streaming
def ingest(rows: Rows, begin: int, end: int, cell: float, state: State) -> None:
    """Take in some rows; `done` has room for one a row."""
    for row in range(begin, end):
        slot = rows.slot[row]
        if slot >= 0 and not state.actors[slot].disordered:
            _take_in(state, slot, rows, row, cell)


@inlined
def _take_in(state: State, slot: int, rows: Rows, row: int, cell: float) -> None:
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
    if np.isfinite(rows.x[row]) and np.isfinite(rows.y[row]):
        if actor.has and at > actor.point_at:
            _arrive(state, slot, cell)
            actor.has = 0
        if not actor.has or comes_first(actor, rows, row):
            actor.has = 1
            actor.point_at = at
            actor.x = rows.x[row]
            actor.y = rows.y[row]
            actor.zone = rows.zone[row]


@streaming
def _open(state: State, slot: int, day: int) -> None:
    actor = state.actors[slot]
    actor.day = day
    actor.has = 0
    actor.way = NOWHERE
    actor.known = 0
    actor.events = 0
    actor.points = 0
    actor.again = 0
    actor.repeated = 0
    actor.run = 0
    actor.longest = 0
    actor.laps = 0
    actor.length = 0.0
    for entry in range(ENTRIES):
        state.seen[slot, entry] = 0


@streaming
def _close(state: State, slot: int, cell: float) -> None:
    """Write down the open period, if there is one."""
    actor = state.actors[slot]
    if actor.day == NO_DAY:
        return
    if actor.has:
        _arrive(state, slot, cell)
    done = state.done[state.counters[DONE_USED]]
    state.counters[DONE_USED] += 1
    done.slot = slot
    done.events = actor.events
    done.day = actor.day
    done.points = actor.points
    done.again = actor.again
    done.repeated = actor.repeated
    done.longest = actor.longest
    done.laps = actor.laps
    done.length = actor.length


@streaming
def close_all(state: State, slots: Ints, cell: float) -> None:
    """No more rows of these actors will come; `done` has room for one each."""
    for slot in slots:
        if not state.actors[slot].disordered:
            _close(state, slot, cell)
            state.actors[slot].day = NO_DAY


@streaming
def _arrive(state: State, slot: int, cell: float) -> None:
    """The actor is where it was seen last; whether it turned before shows now."""
    actor = state.actors[slot]
    if actor.way == NOWHERE or actor.zone != actor.last_zone:
        actor.way = STANDS
        actor.known = 0
        actor.run = 0
        _stand(actor)
        return
    step_x, step_y = np.float64(actor.x) - actor.last_x, np.float64(actor.y) - actor.last_y
    step = np.sqrt(step_x * step_x + step_y * step_y)
    if step < cell:  # it stands, as far as the map is this fine
        actor.last_x = actor.x
        actor.last_y = actor.y
        return
    if actor.way == WALKS and _turns(actor, step_x, step_y, step):
        _mark(state, slot, cell)
    if actor.way == STANDS:
        actor.turn_x = actor.last_x
        actor.turn_y = actor.last_y
    actor.way = WALKS
    actor.length += step
    _stand(actor)


@inlined
def _stand(actor: Record) -> None:
    actor.last_x = actor.x
    actor.last_y = actor.y
    actor.last_zone = actor.zone


@inlined
def _turns(actor: Record, step_x: float, step_y: float, step: float) -> bool:
    """Whether the way to the place before and the way on from there are not one straight line."""
    way_x, way_y = np.float64(actor.last_x) - actor.turn_x, np.float64(actor.last_y) - actor.turn_y
    way = np.sqrt(way_x * way_x + way_y * way_y)
    return way_x * step_x + way_y * step_y < _STRAIGHT * way * step


@streaming
def _mark(state: State, slot: int, cell: float) -> None:
    """The place before is a way-point: look up where and by which way."""
    actor = state.actors[slot]
    spot = _half(place_of(actor.last_x, actor.last_y, actor.last_zone, cell))
    actor.points += 1
    if _count(state.seen[slot], STRETCHES, SPOTS, spot) >= _SEEN:
        actor.again += 1
    before = 0
    if actor.known == _BEFORE:
        stretch = _half(mixed((np.uint64(actor.earlier) << HALF | np.uint64(actor.before)) * MIX ^ np.uint64(spot)))
        before = _count(state.seen[slot], 0, STRETCHES, stretch)
        actor.laps = max(actor.laps, before + 1)
    if before >= _SEEN:
        actor.repeated += 1
        actor.run += 1
        actor.longest = max(actor.longest, actor.run)
    else:
        actor.run = 0
    actor.known = min(_BEFORE, actor.known + 1)
    actor.earlier = actor.before
    actor.before = spot
    actor.turn_x = actor.last_x
    actor.turn_y = actor.last_y


@inlined
def _half(number: np.uint64) -> np.uint32:
    return np.uint32(number >> HALF)


@inlined
def _count(seen: NDArray[np.uint32], first: int, entries: int, number: np.uint32) -> int:
    """How often a number was counted before; it is counted once more, in place of the rarest where there is no room."""
    begin = first + int(number) % (entries // _WAYS) * _WAYS
    which = number & ~_COUNT
    rarest = begin
    for entry in range(begin, begin + _WAYS):
        count = seen[entry] & _COUNT
        if count > 0 and (seen[entry] & ~_COUNT) == which:
            if count < _COUNT:
                seen[entry] += np.uint32(1)
            return int(count)
        if count < seen[rarest] & _COUNT:
            rarest = entry
    seen[rarest] = which | np.uint32(1)
    return 0
