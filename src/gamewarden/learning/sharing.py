"""What numbers that go together say, shared out among them: Owen values of the decision expected from some of them.

A regression gives its weight to one of several columns that measure nearly the same, almost at will, and may even weigh
the next one the other way. With correlations R and weights w, what is expected of the decision when only the columns S
of a row are known is v(S) = z_S · R_SS⁻¹ (R w)_S. A column's share is the mean of what it adds to v over the orders
that put the columns of a topic one after the other (Owen 1977), so that a topic's shares add up to the topic's own
Shapley value and all of them to w · z.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from gamewarden.learning.calibration import Floats

SHRUNK = 0.01  # towards no correlation: columns that are copies of one another share alike
MOST = 1 << 14  # sets of columns looked at; a model of more columns shares nothing out
_Rows = tuple[tuple[float, ...], ...]


def shares(standard: Floats, weights: Sequence[float], correlations: _Rows, topics: Sequence[str]) -> Floats:
    """The share of each column in each row's decision; a column that was not measured (NaN) has none.

    The numbers of a row are added in the same order whoever stands beside it.
    """
    parts = np.zeros(standard.shape)
    measured = ~np.isnan(standard)
    for pattern in np.unique(measured, axis=0):
        rows = np.flatnonzero((measured == pattern).all(axis=1))
        known = np.flatnonzero(pattern)
        if known.size:
            mixed = _mixing(*_of(known, weights, correlations, topics))
            for at, column in enumerate(known):
                parts[rows, column] = _added(standard[rows][:, known], mixed[:, at])
    return parts


def alone(standard: Floats, weights: Sequence[float], correlations: _Rows) -> Floats:
    """What is expected of the decision when one number of a row is all that is known of it, for each number."""
    parts: Floats = np.where(np.isnan(standard), 0.0, standard * _covariances(weights, _shrunk(correlations)))
    return parts


def _of(
    known: NDArray[np.intp], weights: Sequence[float], correlations: _Rows, topics: Sequence[str]
) -> tuple[tuple[float, ...], _Rows, tuple[str, ...]]:
    """The columns that were measured."""
    own = tuple(float(weights[at]) for at in known)
    return own, tuple(tuple(correlations[at][to] for to in known) for at in known), tuple(topics[at] for at in known)


def _added(numbers: Floats, factors: Floats) -> Floats:
    total = np.zeros(numbers.shape[0])
    for number, factor in zip(numbers.T, factors, strict=True):
        total = total + number * factor
    return total


@lru_cache(maxsize=64)
def _mixing(weights: tuple[float, ...], correlations: _Rows, topics: tuple[str, ...]) -> Floats:
    """How much of each number (row) belongs to each column's share (column)."""
    groups = [[at for at, topic in enumerate(topics) if topic == name] for name in dict.fromkeys(topics)]
    steps = 2 ** (len(groups) - 1) * sum(2 ** len(group) for group in groups)
    table = _shrunk(correlations) if steps <= MOST else np.eye(len(weights))
    orders = [step for group in groups for step in _steps(group, groups)] if steps <= MOST else _single(len(weights))
    sets = dict.fromkeys(part for before, column, _ in orders for part in (before, before | {column}))
    expected = dict(zip(sets, _expected(list(sets), table, _covariances(weights, table)), strict=True))
    mixing = np.zeros(table.shape)
    for before, column, share in orders:
        mixing[:, column] += share * (expected[before | {column}] - expected[before])
    return mixing


def _single(count: int) -> list[tuple[frozenset[int], int, float]]:
    return [(frozenset(), column, 1.0) for column in range(count)]


def _steps(group: list[int], groups: list[list[int]]) -> list[tuple[frozenset[int], int, float]]:
    """Every column of a group with every set that may stand before it, and the share of orders in which it does."""
    others = [other for other in groups if other is not group]
    return [
        (frozenset(inside).union(*outside), column, _share(len(outside), len(groups)) * _share(len(inside), len(group)))
        for many in range(len(others) + 1)
        for outside in combinations(others, many)
        for column in group
        for some in range(len(group))
        for inside in combinations([at for at in group if at != column], some)
    ]


def _share(before: int, count: int) -> float:
    return factorial(before) * factorial(count - before - 1) / factorial(count)


def _shrunk(correlations: _Rows) -> Floats:
    table: Floats = (1 - SHRUNK) * np.array(correlations) + SHRUNK * np.eye(len(correlations))
    return table


def _covariances(weights: Sequence[float], table: Floats) -> Floats:
    return _added(table, np.asarray(weights))


def _expected(sets: list[frozenset[int]], table: Floats, covariances: Floats) -> Floats:
    """R_SS⁻¹ c_S of every set at once, 0 outside of it.

    By elimination in plain array steps: a matrix library may round otherwise on another machine.
    """
    count = covariances.size
    inside = np.array([[at in part for at in range(count)] for part in sets])
    left = np.where(inside[:, :, None] & inside[:, None, :], table, np.eye(count))
    right = np.where(inside, covariances, 0.0)
    for at in range(count):
        factor = left[:, :, at] / left[:, at, at][:, None]
        factor[:, at] = 0.0
        left = left - factor[:, :, None] * left[:, at, :][:, None, :]
        right = right - factor * right[:, at][:, None]
    solved: Floats = right / np.einsum("kii->ki", left)
    return solved
