"""The compiled half of the rhythm: one pass over each actor's moments in time, the same few bytes an actor.

Of the open day of an actor there are its counts per two minutes, from which periods are found when the day is over, and
how often each length of a gap between two moments occurred.
"""

from math import frexp, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.durations import HOUR, MINUTE
from gamewarden.features.period_kernel import DISORDERED, DONE_USED, NO_DAY, Ints, Record, State, inlined, streaming

Counts = NDArray[np.uint16]

ACTOR = np.dtype(
    [
        ("at", "i8"),  # its latest event
        ("day", "i8"),  # when the open day began, or NO_DAY
        ("end", "i8"),  # and when it ends
        ("hours", "i8"),  # a bit for each hour of the day with an event
        ("in_minute", "i4"),
        ("in_hour", "i4"),
        ("events", "i4"),
        ("busiest_min", "i4"),
        ("busiest_hour", "i4"),
        ("minute", "i2"),  # of the day, in which its latest event was
        ("hour", "i2"),
        ("active", "i2"),  # minutes that are over and had an event
        ("disordered", "u1"),
    ],
    align=True,
)

MOST_HOURS = 26  # of a day on which a clock is put back, by two hours where nobody does so by more
STEP = 2  # minutes that are counted together
STEPS = MOST_HOURS * 60 // STEP
BREAK = 30 * MINUTE  # whoever does nothing for longer is away
GAPS = 84  # lengths of gaps from a millisecond to a break, four of them to twice the length
ENTRIES = STEPS + GAPS
MIN_GAPS = 100  # with fewer nothing is said of how they vary
_FULL = np.uint16((1 << 16) - 1)
_MILLISECOND = 1000.0
_QUARTERS = (2**-0.75, 2**-0.5, 2**-0.25)

DONE = np.dtype(
    [
        ("slot", "i4"),
        ("events", "i4"),
        ("since", "i8"),
        ("until", "i8"),
        ("hours", "i8"),
        ("active", "i4"),
        ("busiest_min", "i4"),
        ("busiest_hour", "i4"),
        ("gap_entropy", "f8"),  # NaN: there were too few
        ("counts", "u2", (STEPS,)),
    ],
    align=True,
)


class Rows(NamedTuple):
    """A batch as numbers."""

    at: Ints
    slot: NDArray[np.int32]
    borders: Ints  # when the days of these rows begin, and the end of each


@streaming
def ingest(rows: Rows, begin: int, end: int, state: State) -> None:
    """Take in some rows; `done` has room for one a row."""
    for row in range(begin, end):
        slot = rows.slot[row]
        if slot >= 0 and not state.actors[slot].disordered:
            _take_in(state, slot, rows.at[row], rows.borders)


@inlined
def _take_in(state: State, slot: int, at: int, borders: Ints) -> None:
    actor = state.actors[slot]
    if at < actor.at:
        actor.disordered = 1
        state.counters[DISORDERED] += 1
        return
    if actor.day == NO_DAY or at >= actor.end:
        _close(state, slot)
        _open(state, slot, at, borders)
    elif at > actor.at:
        _count_gap(state.seen[slot], at - actor.at)
    actor.at = at
    actor.events += 1
    minute = (at - actor.day) // MINUTE
    if minute != actor.minute:
        _end_minute(actor, state.seen[slot])
        actor.minute = minute
        actor.in_minute = 0
    actor.in_minute += 1


@streaming
def _open(state: State, slot: int, at: int, borders: Ints) -> None:
    actor = state.actors[slot]
    day = _before(borders, at)
    actor.day = borders[day]
    actor.end = borders[day + 1]
    actor.hours = 0
    actor.in_minute = 0
    actor.in_hour = 0
    actor.events = 0
    actor.busiest_min = 0
    actor.busiest_hour = 0
    actor.minute = (at - actor.day) // MINUTE
    actor.hour = -1
    actor.active = 0
    for entry in range(ENTRIES):
        state.seen[slot, entry] = 0


@inlined
def _before(borders: Ints, at: int) -> int:
    """The place of the last border that is not after a moment."""
    low, high = 0, len(borders)
    while high - low > 1:
        middle = (low + high) // 2
        if borders[middle] <= at:
            low = middle
        else:
            high = middle
    return low


@inlined
def _count_gap(seen: Counts, gap: int) -> None:
    if gap <= BREAK:
        _add(seen, STEPS + _length(gap), 1)


@inlined
def _length(gap: int) -> int:
    """Which of the lengths a gap has; whatever is shorter than a millisecond has the first."""
    part, octave = frexp(gap / _MILLISECOND)
    quarter = int(part >= _QUARTERS[0]) + int(part >= _QUARTERS[1]) + int(part >= _QUARTERS[2])
    return max(0, 4 * (octave - 1) + quarter)


@inlined
def _add(seen: Counts, entry: int, more: int) -> None:
    """Count some more, as far as there is room."""
    seen[entry] = np.uint16(min(int(seen[entry]) + more, int(_FULL)))


@inlined
def _end_minute(actor: Record, seen: Counts) -> None:
    """What was counted in a minute that is over goes to its two minutes and to its hour."""
    actor.active += 1
    actor.busiest_min = max(actor.busiest_min, actor.in_minute)
    _add(seen, min(actor.minute // STEP, STEPS - 1), actor.in_minute)
    hour = min(actor.minute // 60, MOST_HOURS - 1)
    if hour != actor.hour:
        actor.hour = hour
        actor.in_hour = 0
        actor.hours |= np.int64(1) << np.int64(hour)
    actor.in_hour += actor.in_minute
    actor.busiest_hour = max(actor.busiest_hour, actor.in_hour)


@streaming
def _close(state: State, slot: int) -> None:
    """Write down the open day, if there is one."""
    actor = state.actors[slot]
    if actor.day == NO_DAY:
        return
    _end_minute(actor, state.seen[slot])
    done = state.done[state.counters[DONE_USED]]
    state.counters[DONE_USED] += 1
    done.slot = slot
    done.events = actor.events
    done.since = actor.day
    done.until = actor.end
    done.hours = actor.hours
    done.active = actor.active
    done.busiest_min = actor.busiest_min
    done.busiest_hour = actor.busiest_hour
    done.gap_entropy = _entropy(state.seen[slot])
    for step in range(STEPS):
        done.counts[step] = state.seen[slot, step]


@streaming
def _entropy(seen: Counts) -> float:
    """Of the lengths of gaps, in bits (Shannon)."""
    gaps, weighted = 0, 0.0
    for entry in range(STEPS, ENTRIES):
        count = int(seen[entry])
        if count > 0:
            gaps += count
            weighted += count * log2(count)
    if gaps < MIN_GAPS:
        return np.nan
    return max(0.0, log2(gaps) - weighted / gaps)


@streaming
def close_all(state: State, slots: Ints) -> None:
    """No more rows of these actors will come; `done` has room for one each."""
    for slot in slots:
        if not state.actors[slot].disordered:
            _close(state, slot)
            state.actors[slot].day = NO_DAY


class Days(NamedTuple):
    """Parts of days as numbers, by actor and day."""

    who: Ints  # 0, 1, 2 …
    since: Ints
    until: Ints
    hours: Ints


@streaming
def longest_awake(days: Days, rest: int, longest: Ints) -> None:
    """Of each actor the longest time, in microseconds, from an hour with an event on until a rest that is so long."""
    before, begin, end = -1, 0, 0
    for day in range(len(days.who)):
        who = days.who[day]
        for hour in range(MOST_HOURS):
            if (days.hours[day] >> hour) & 1:
                since = days.since[day] + hour * HOUR
                if who != before or since - end >= rest:
                    begin = since
                before = who
                end = min(since + HOUR, days.until[day])
                longest[who] = max(longest[who], end - begin)
