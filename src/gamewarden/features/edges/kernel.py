"""The compiled half of EDGES: every event counts for its account, its day and the address it came from."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

TENS = 192  # stretches of ten minutes that one day can have, one more hour than the longest included
TEN = 600_000_000  # microseconds
_WORD = 64
_ONE = np.uint64(1)
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)

# An account's day at one address: 64 bytes, a cache line.
ENTRY = np.dtype(
    [
        ("actor", "i4"),
        ("address", "i4"),  # -1: none was told
        ("day", "i8"),
        ("n", "i8"),
        ("first", "i8"),
        ("last", "i8"),
        ("tens0", "u8"),  # a bit per ten minutes of the day with an event
        ("tens1", "u8"),
        ("tens2", "u8"),
    ],
    align=True,
)
Entries = NDArray[Any]


class Rows(NamedTuple):
    """A batch as numbers."""

    actor: NDArray[np.int32]  # -1: nobody
    address: NDArray[np.int32]
    at: NDArray[np.int64]
    days: NDArray[np.int64]  # the numbers of days, the earliest first
    begins: NDArray[np.int64]  # when each of them begins; every row lies in one of them


class Lying(NamedTuple):
    """What was dropped or picked up, by place and time."""

    place: NDArray[np.int64]  # where, and what it was, as one number
    at: NDArray[np.int64]
    x: NDArray[np.float64]  # NaN: not told
    y: NDArray[np.float64]


@kernel
def _hash(actor: int, address: int, day: int) -> np.uint64:
    value = (np.uint64(actor) * _PRIME) ^ (np.uint64(address + 1) * _MIX)
    value = (value ^ (value >> _HALF)) * _MIX
    value = (value ^ np.uint64(day)) * _PRIME
    return (value ^ (value >> _HALF)) * _MIX


@kernel
def _found(actor: int, address: int, day: int, table: NDArray[np.int64], entries: Entries, count: int) -> int:  # noqa: PLR0917 - one look-up
    """Where an entry is, or the place of a new one, which the table then names."""
    mask = np.uint64(len(table) - 1)
    place = _hash(actor, address, day) & mask
    while table[place] != 0:
        number = table[place] - 1
        entry = entries[number]
        if entry.actor == actor and entry.address == address and entry.day == day:
            return int(number)
        place = (place + _ONE) & mask
    table[place] = count + 1
    return count


@kernel
def _mark(entry: Any, ten: int) -> None:  # noqa: ANN401 - a row of entries
    bit = _ONE << np.uint64(ten % _WORD)
    if ten < _WORD:
        entry.tens0 |= bit
    elif ten < 2 * _WORD:
        entry.tens1 |= bit
    else:
        entry.tens2 |= bit


@kernel
def tally(rows: Rows, begin: int, end: int, table: NDArray[np.int64], entries: Entries, count: int) -> int:  # noqa: PLR0917
    """Count the rows [begin, end); how many entries there are then."""
    place = 0  # of the day that the row before was in: mostly the next one is in it as well
    for row in range(begin, end):
        if rows.actor[row] < 0:
            continue
        at = rows.at[row]
        if at < rows.begins[place] or (place + 1 < len(rows.begins) and at >= rows.begins[place + 1]):
            place = np.searchsorted(rows.begins, at, side="right") - 1
        actor, address, day = rows.actor[row], rows.address[row], rows.days[place]
        number = _found(actor, address, day, table, entries, count)
        entry = entries[number]
        if number == count:
            count += 1
            entry.actor, entry.address, entry.day = actor, address, day
            entry.n, entry.first, entry.last = 0, at, at
            entry.tens0, entry.tens1, entry.tens2 = np.uint64(0), np.uint64(0), np.uint64(0)
        entry.n += 1
        entry.first, entry.last = min(entry.first, at), max(entry.last, at)
        _mark(entry, min((at - rows.begins[place]) // TEN, TENS - 1))
    return count


@kernel
def spread(entries: Entries, count: int, size: int) -> NDArray[np.int64]:
    """A larger table for the same entries."""
    table = np.zeros(size, np.int64)
    mask = np.uint64(size - 1)
    for number in range(count):
        entry = entries[number]
        place = _hash(entry.actor, entry.address, entry.day) & mask
        while table[place] != 0:
            place = (place + _ONE) & mask
        table[place] = number + 1
    return table


@kernel
def latest_drops(drops: Lying, pickups: Lying, soon: int, near: float) -> NDArray[np.int64]:
    """For each pick-up the last drop at its place that is before it, not long ago and near, or -1."""
    found = np.full(len(pickups.at), -1)
    end = 0  # drops before this one are of an earlier place, or from before the pick-up
    for row in range(len(pickups.at)):
        place, at = pickups.place[row], pickups.at[row]
        while end < len(drops.at) and (drops.place[end] < place or (drops.place[end] == place and drops.at[end] < at)):
            end += 1
        drop = end - 1
        while drop >= 0 and drops.place[drop] == place and at - drops.at[drop] <= soon:
            apart = (pickups.x[row] - drops.x[drop]) ** 2 + (pickups.y[row] - drops.y[drop]) ** 2
            if not apart > near**2:  # nor where a place is not told
                found[row] = drop
                break
            drop -= 1
    return found
