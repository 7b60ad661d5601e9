"""Walking rows down trees that stand in plain arrays; a tree's children always come after their parent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel
from gamewarden.learning.calibration import Floats


@kernel
def walk(
    rows: Floats,
    starts: NDArray[np.int64],
    column: NDArray[np.int16],
    threshold: Floats,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    missing_left: NDArray[np.uint8],
    value: Floats,
    decisions: NDArray[Any],
) -> None:
    """Add to `decisions` the leaf of each tree that a row comes to, in the same order whoever stands beside it."""
    for tree in range(starts.size):  # one tree at a time stays in the processor's cache
        start = starts[tree]
        for row in range(rows.shape[0]):
            node = start
            while left[node]:
                number = rows[row, column[node]]
                goes_left = missing_left[node] != 0 if np.isnan(number) else number <= threshold[node]
                node = start + (left[node] if goes_left else right[node])
            decisions[row] += value[node]


@kernel
def expect(
    inner: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    count: NDArray[np.int64],
    expected: NDArray[Any],
) -> None:
    """Fill in what is expected at the inner nodes, from the leaves up."""
    for at in range(inner.size - 1, -1, -1):
        one, other = left[at], right[at]
        both = expected[one] * count[one] + expected[other] * count[other]
        expected[inner[at]] = both / (count[one] + count[other])


@kernel
def follow(
    rows: Floats,
    starts: NDArray[np.int64],
    column: NDArray[np.int16],
    threshold: Floats,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    missing_left: NDArray[np.uint8],
    _value: Floats,
    steps: NDArray[Any],
    expected: Floats,
) -> None:
    """Add to `steps` what each step down each tree changes in the expected decision, at the column that was asked."""
    for tree in range(starts.size):
        start = starts[tree]
        for row in range(rows.shape[0]):
            node = start
            while left[node]:
                asked = column[node]
                number = rows[row, asked]
                goes_left = missing_left[node] != 0 if np.isnan(number) else number <= threshold[node]
                step = start + (left[node] if goes_left else right[node])
                steps[row, asked] += expected[step] - expected[node]
                node = step


@kernel
def share_out(
    rows: Floats,
    _starts: NDArray[np.int64],
    column: NDArray[np.int16],
    threshold: Floats,
    left: NDArray[np.int32],
    _right: NDArray[np.int32],
    missing_left: NDArray[np.uint8],
    value: Floats,
    parts: NDArray[Any],
    count: NDArray[np.int64],
    parent: NDArray[np.int64],
    on_left: NDArray[np.bool_],
) -> None:
    """Add to `parts` the Shapley values of each column.

    With a set S of columns known, a leaf is reached to the share of the product, over the columns asked on its way, of
    1 or 0 for those in S (the row answers as the leaf needs, or not) and of z for the others (the share of training
    rows that did). Of k columns on the way let a have the answer 1. Over the sizes s of S without one column, which
    weigh s! (k - s - 1)! / k!, the products add up to a polynomial of those a columns' z: its coefficients e_s.
    A column with the answer 0 takes away the same as any other such column; for one with the answer 1 its own factor
    (z + t) is divided out of the polynomial, from the highest power down, which is steady since z is at most 1.
    """
    columns = rows.shape[1]
    way = np.empty(columns, np.int64)  # the columns asked on the way to a leaf, and where each stands there
    place = np.full(columns, -1)
    share, agrees = np.empty(columns), np.empty(columns, np.bool_)
    sums, rest = np.empty(columns + 1), np.empty(columns + 1)
    for leaf in range(value.size):
        if left[leaf]:
            continue
        for row in range(rows.shape[0]):
            asked = 0
            node = leaf
            while parent[node] >= 0:
                above = parent[node]
                which = column[above]
                if place[which] < 0:
                    place[which] = asked
                    way[asked], share[asked], agrees[asked] = which, 1.0, True
                    asked += 1
                number = rows[row, which]
                goes_left = missing_left[above] != 0 if np.isnan(number) else number <= threshold[above]
                share[place[which]] *= count[node] / count[above]
                agrees[place[which]] &= goes_left == on_left[node]
                node = above
            for at in range(asked):
                place[way[at]] = -1
            _add_leaf(value[leaf], asked, way, share, agrees, sums, rest, parts[row])


@kernel
def _add_leaf(
    value: float,
    asked: int,
    way: NDArray[np.int64],
    share: Floats,
    agrees: NDArray[np.bool_],
    sums: Floats,
    rest: Floats,
    parts: Floats,
) -> None:
    """Add the Shapley values of one leaf."""
    outside, order = value, 0
    sums[0] = 1.0
    for at in range(asked):
        if agrees[at]:  # times (share + t)
            sums[order + 1] = sums[order]
            for power in range(order, 0, -1):
                sums[power] = share[at] * sums[power] + sums[power - 1]
            sums[0] *= share[at]
            order += 1
        else:
            outside *= share[at]
    against = outside * _weighed(sums, order, asked) if order < asked else 0.0
    for at in range(asked):
        if not agrees[at]:
            parts[way[at]] -= against
            continue
        rest[order - 1] = sums[order]
        for power in range(order - 1, 0, -1):
            rest[power - 1] = sums[power] - share[at] * rest[power]
        parts[way[at]] += outside * (1.0 - share[at]) * _weighed(rest, order - 1, asked)


@kernel
def _weighed(sums: Floats, order: int, asked: int) -> float:
    """The coefficients, each times s! (k - s - 1)! / k!."""
    weight, total = 1.0 / asked, 0.0
    for size in range(order + 1):
        total += weight * sums[size]
        weight *= (size + 1) / max(asked - size - 1, 1)
    return total
