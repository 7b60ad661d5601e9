"""The compiled half of the session features: one pass over decoded messages, a row of counters a session.

Times are whole microseconds and their sums whole numbers, so that no order of batches changes a mean. Distances and
turns are sums of floats in the order of the session, which is the same in any batch.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

Ints = NDArray[np.int64]
States = NDArray[Any]
State = Any  # a row of such an array

WALK, TAKE, ACTION, FACE, LOADED = 1, 2, 3, 4, 5
# Cornelissen, appendix D: what the last byte of an action request means.
ATTACK_ONCE, ATTACK_ON = 0, 7
# Cornelissen, appendix E: means are over values strictly below these.
TIME_LIMIT = 7_000_000  # µs
DISTANCE_LIMIT = 1000  # cells

# A mean in the making: how many values, and their sum in µs.
MEAN = np.dtype([("count", "i8"), ("sum", "i8")])
# A moment that may not have come yet, or whose time was not told.
MOMENT = np.dtype([("at", "i8"), ("timed", "u1"), ("come", "u1")], align=True)
STATE = np.dtype(
    [
        ("packets", "i8"),
        ("first", MOMENT),
        ("last", MOMENT),
        ("moves", "i8"),
        ("takes", "i8"),
        ("once", "i8"),
        ("continuous", "i8"),
        ("move", MOMENT),  # the move before, if the chain is not cut
        ("x", "i8"),
        ("y", "i8"),
        ("pairs", "i8"),
        ("dx", "i8"),
        ("dy", "i8"),
        ("distance", "f8"),
        ("move_gap", MEAN),
        ("take", MOMENT),
        ("take_gap", MEAN),
        ("face", MOMENT),
        ("face_to_take", MEAN),
        ("attack", MOMENT),  # the attack since the last pick-up
        ("attack_to_take", MEAN),
        ("step_x", "i8"),
        ("step_y", "i8"),
        ("stepped", "u1"),
        ("turns", "i8"),
        ("back", "i8"),
        ("angle", "f8"),
        ("cosine", "f8"),
        ("sine", "f8"),
    ],
    align=True,
)


class Rows(NamedTuple):
    """A batch as numbers."""

    slot: NDArray[np.int32]
    role: NDArray[np.uint8]  # 0: counted only
    at: Ints
    timed: NDArray[np.bool_]
    x: Ints  # -1: not told
    y: Ints
    action: Ints


@njit(inline="always")
def _mark(moment: State, at: int, timed: bool) -> None:  # noqa: FBT001 - a kernel's part has no keywords
    moment.at = at
    moment.timed = timed
    moment.come = True


@njit(inline="always")
def _add_gap(mean: State, moment: State, at: int, timed: bool) -> None:  # noqa: FBT001 - as above
    """Count the time since a moment, if both times are known and it is short enough."""
    if moment.come and moment.timed and timed and at - moment.at < TIME_LIMIT:
        mean.count += 1
        mean.sum += at - moment.at


@njit(error_model="numpy")
def _turn(state: State, step_x: int, step_y: int) -> None:
    """Count the angle between the step before and this one; a step of no length is none."""
    if step_x == 0 and step_y == 0:
        return
    if state.stepped:
        dot = state.step_x * step_x + state.step_y * step_y
        cross = state.step_x * step_y - state.step_y * step_x
        size = np.sqrt(np.float64(dot * dot + cross * cross))  # |a|·|b|, by Lagrange's identity
        state.turns += 1
        state.back += dot < 0  # more than 90°, exactly
        state.angle += abs(np.arctan2(np.float64(cross), np.float64(dot)))
        state.cosine += dot / size
        state.sine += cross / size
    state.step_x = step_x
    state.step_y = step_y
    state.stepped = True


@njit(error_model="numpy")
def _walk(state: State, x: int, y: int, at: int, timed: bool) -> None:  # noqa: FBT001 - as above
    state.moves += 1
    if state.move.come:
        step_x = x - state.x
        step_y = y - state.y
        distance = np.sqrt(np.float64(step_x * step_x + step_y * step_y))
        if abs(step_x) < DISTANCE_LIMIT and abs(step_y) < DISTANCE_LIMIT and distance < DISTANCE_LIMIT:
            state.pairs += 1
            state.dx += abs(step_x)
            state.dy += abs(step_y)
            state.distance += distance
        _add_gap(state.move_gap, state.move, at, timed)
        _turn(state, step_x, step_y)
    state.x = x
    state.y = y
    _mark(state.move, at, timed)


@njit(error_model="numpy")
def _take(state: State, at: int, timed: bool) -> None:  # noqa: FBT001 - as above
    state.takes += 1
    _add_gap(state.take_gap, state.take, at, timed)
    _mark(state.take, at, timed)
    _add_gap(state.face_to_take, state.face, at, timed)
    _add_gap(state.attack_to_take, state.attack, at, timed)
    state.attack.come = False


@njit(error_model="numpy")
def _act(state: State, action: int, at: int, timed: bool) -> None:  # noqa: FBT001 - as above
    if action == ATTACK_ONCE:
        state.once += 1
    elif action == ATTACK_ON:
        state.continuous += 1
    else:
        return
    _mark(state.attack, at, timed)


@njit(error_model="numpy")
def _apply(state: State, rows: Rows, row: int, at: int, timed: bool) -> None:  # noqa: FBT001 - as above
    """Count what a message says beyond that it came."""
    role = rows.role[row]
    if role == WALK:
        if rows.x[row] >= 0:
            _walk(state, rows.x[row], rows.y[row], at, timed)
    elif role == TAKE:
        _take(state, at, timed)
    elif role == ACTION:
        _act(state, rows.action[row], at, timed)
    elif role == FACE:
        _mark(state.face, at, timed)


@kernel
def fold(states: States, rows: Rows, paper: bool) -> None:  # noqa: FBT001 - as above
    """Add a batch to the counters of its sessions."""
    for row in range(len(rows.slot)):
        state = states[rows.slot[row]]
        at = rows.at[row]
        timed = rows.timed[row]
        state.packets += 1
        if timed:
            if not state.first.come:
                _mark(state.first, at, timed)
            _mark(state.last, at, timed)
        elif paper:  # the published reader starts its clock at 0
            at = np.int64(0)
            timed = True
        _apply(state, rows, row, at, timed)
        if rows.role[row] == LOADED and not paper:
            state.move.come = False
            state.stepped = False
