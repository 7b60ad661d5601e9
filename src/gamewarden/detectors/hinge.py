"""Many linear machines over nearly the same chunks: one table of inner products serves all folds of an evaluation.

Each machine is the one that `actions` makes with libsvm (hinge loss, free intercept, C = 1 / mean(x·x)). Holding out 49
pairs needs 49 of them, and from the second on most of the answer is known.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from gamewarden.detectors.calibration import Flags, Floats

TOLERANCE = 1e-4  # how far the optimality conditions may be missed, as `actions` allows libsvm
_FLAT = 1e-12  # two rows no farther apart than this are the same
_MOST_STEPS = 10_000_000


class Machines:
    """Chunks to learn from, of which every machine leaves some out."""

    def __init__(self, values: Floats, bot: Flags) -> None:
        self._values = values
        self._side = np.where(bot, 1.0, -1.0)
        self._products = values @ values.T
        self._start = np.zeros(len(values))  # multipliers of the last machine: the next one is not far

    def margins(self, learned_from: Flags, asked: Floats) -> Floats:
        """The signed margins of other chunks by the machine of some of the rows; one class alone is the answer."""
        sides = self._side[learned_from]
        if not sides.size or abs(sides.sum()) == sides.size:
            return np.full(len(asked), sides[0] if sides.size else -1.0)
        squares = float(np.diagonal(self._products)[learned_from].mean())
        bound = np.where(learned_from, 1.0 / squares if squares else 1.0, 0.0)
        self._start = _balanced(np.minimum(self._start, bound), self._side)
        problem = _Problem(self._products, self._side, bound, self._start, self._side.copy())
        intercept = _solve(problem, TOLERANCE)
        weights = (self._start * self._side) @ self._values
        margins: Floats = asked @ weights + intercept
        return margins


def _balanced(multipliers: Floats, side: Floats) -> Floats:
    """Both classes must pull alike; the stronger one is scaled down."""
    bots, humans = multipliers[side > 0].sum(), multipliers[side < 0].sum()
    least = min(bots, humans)
    scale = np.where(side > 0, least / bots if bots else 0.0, least / humans if humans else 0.0)
    balanced: Floats = multipliers * scale
    return balanced


class _Problem(NamedTuple):
    """What the kernels share, a number a row."""

    products: Floats  # of each row with each other
    side: Floats  # 1 a bot's, -1 a human's
    bound: Floats  # no multiplier may be larger; 0 for rows left out
    multipliers: Floats
    miss: Floats  # side less decision, without intercept


_jit = njit(cache=True, nogil=True, error_model="numpy")


@_jit
def _solve(problem: _Problem, tolerance: float) -> float:
    """Move pairs of multipliers until none violates the optimality conditions (Fan, Chen & Lin 2005); the intercept."""
    products, miss = problem.products, problem.miss
    for row in range(len(miss)):
        if problem.multipliers[row] > 0.0:
            miss -= problem.multipliers[row] * problem.side[row] * products[row]
    highest = lowest = 0.0
    for _ in range(_MOST_STEPS):
        one = _first(problem)
        highest = miss[one]
        two, lowest = _second(problem, one)
        if highest - lowest < tolerance or two < 0:
            break
        step = _move(problem, one, two)
        here, there = products[one], products[two]
        for k in range(len(miss)):
            miss[k] -= step * (here[k] - there[k])
    return _intercept(problem, (highest + lowest) / 2.0)


@_jit
def _first(problem: _Problem) -> int:
    """The row that misses its side most and may be pulled further; with both classes balanced there always is one."""
    side, bound, multipliers, miss = problem.side, problem.bound, problem.multipliers, problem.miss
    highest, one = -np.inf, 0
    for k in range(len(side)):
        free = multipliers[k] < bound[k] if side[k] > 0.0 else multipliers[k] > 0.0
        if free and miss[k] > highest:
            highest, one = miss[k], k
    return one


@_jit
def _second(problem: _Problem, one: int) -> tuple[int, float]:
    """The row that gains most when moved against the first (-1: none does), and the least miss of those that may."""
    side, bound, multipliers, miss = problem.side, problem.bound, problem.multipliers, problem.miss
    products, here = problem.products, problem.products[one]
    lowest, gain, two = np.inf, 0.0, -1
    for k in range(len(side)):
        free = multipliers[k] > 0.0 if side[k] > 0.0 else multipliers[k] < bound[k]
        if free:
            lowest = min(lowest, miss[k])
            apart = miss[one] - miss[k]
            if apart > 0.0:
                won = apart * apart / max(here[one] + products[k, k] - 2.0 * here[k], _FLAT)
                if won > gain:
                    gain, two = won, k
    return two, lowest


@_jit
def _move(problem: _Problem, one: int, two: int) -> float:
    """Move the pair as far as it pays and its bounds allow; how far."""
    products, side, bound, multipliers = problem.products, problem.side, problem.bound, problem.multipliers
    apart = problem.miss[one] - problem.miss[two]
    best = apart / max(products[one, one] + products[two, two] - 2.0 * products[one, two], _FLAT)
    room = bound[one] - multipliers[one] if side[one] > 0.0 else multipliers[one]
    other_room = multipliers[two] if side[two] > 0.0 else bound[two] - multipliers[two]
    step: float = min(best, room, other_room)
    multipliers[one] += side[one] * step
    multipliers[two] -= side[two] * step
    # Exactly at the bound, or rounding would let the same pair move by nothing for ever.
    if step == room:
        multipliers[one] = bound[one] if side[one] > 0.0 else 0.0
    if step == other_room:
        multipliers[two] = 0.0 if side[two] > 0.0 else bound[two]
    return step


@_jit
def _intercept(problem: _Problem, otherwise: float) -> float:
    """What puts the free rows on the margin, on average."""
    total, free = 0.0, 0
    for k in range(len(problem.miss)):
        if 0.0 < problem.multipliers[k] < problem.bound[k]:
            total += problem.miss[k]
            free += 1
    return total / free if free else otherwise
