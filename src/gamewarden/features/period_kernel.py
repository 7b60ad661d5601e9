"""What kernels over actors and periods share: what they remember of everybody, which place counts, and its number."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Records = NDArray[Any]
Record = Any  # a row of such an array

NO_DAY = -(1 << 62)
DONE_USED, DISORDERED = range(2)  # counters of the state
COUNTERS = 2
MIX, PRIME = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class State(NamedTuple):
    """All that is remembered between batches."""

    actors: Records
    seen: NDArray[Any]  # a row an actor: what it did, and how often
    counters: Ints
    done: Records


streaming = kernel(_nrt=False)
inlined = kernel(_nrt=False, inline="always")


@streaming
def clear_all(state: State, slots: Ints) -> None:
    """Actors nothing is known of."""
    for slot in slots:
        state.actors[slot].disordered = 0
        state.actors[slot].day = NO_DAY
        state.actors[slot].at = NO_DAY


@inlined
def comes_first(actor: Record, rows: Any, row: int) -> bool:  # noqa: ANN401 - each family has rows of its own
    """Of several places at one moment the first by its numbers counts, in whatever order they came."""
    if rows.zone[row] != actor.zone:
        return rows.zone[row] < actor.zone
    if rows.x[row] != actor.x:
        return rows.x[row] < actor.x
    return rows.y[row] < actor.y


@inlined
def place_of(x: float, y: float, zone: np.uint32, cell: float) -> np.uint64:
    """A number of the cell of a zone that a place lies in."""
    across, along = np.uint64(np.int64(np.floor(x / cell))), np.uint64(np.int64(np.floor(y / cell)))
    return mixed((across * PRIME ^ along) * MIX ^ np.uint64(zone))


@inlined
def mixed(value: np.uint64) -> np.uint64:
    """A number in which every bit depends on every bit of another."""
    value = (value ^ (value >> HALF)) * PRIME
    value = (value ^ (value >> np.uint64(29))) * MIX
    return value ^ (value >> HALF)
