"""How much each number moved a decision, for machines that are no sums: exact Shapley values.

A number that is left out stands at its typical value. Over all orders in which the numbers of a session can be put in
place of the typical ones, a number's share is the mean step that it makes; the shares add up to the whole way.
"""

from collections.abc import Callable
from functools import cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST = 16  # numbers: every subset of them is tried


def shapley(decide: Callable[[Floats], Floats], values: Floats, typical: Floats) -> Floats:
    """The shares of one row's numbers; with the decision over `typical` they add up to that over `values`."""
    inside = _subsets(values.size)
    decisions = decide(np.where(inside, values, typical))
    shares = np.zeros(values.size)
    numbers = np.arange(inside.shape[0])
    for place in range(values.size):
        without = numbers[~inside[:, place]]
        steps = decisions[without | 1 << place] - decisions[without]
        shares[place] = float((_weights(values.size)[without] * steps).sum())
    return shares


@cache
def _subsets(count: int) -> NDArray[np.bool_]:
    """Which numbers are in each subset, a row a subset."""
    inside: NDArray[np.bool_] = (np.arange(1 << count)[:, None] >> np.arange(count) & 1).astype(np.bool_)
    return inside


@cache
def _weights(count: int) -> Floats:
    """How many of all orders put exactly this subset before one further number, as a share."""
    sizes = _subsets(count).sum(axis=1)
    ways = [factorial(size) * factorial(max(count - size - 1, 0)) / factorial(count) for size in range(count + 1)]
    weights: Floats = np.array(ways)[sizes]
    return weights
