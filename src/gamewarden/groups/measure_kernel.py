"""The loops behind the measures of communities."""

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel
from gamewarden.groups.graphs import Floats, Ints

FEW = 3  # accounts, from which on somebody can be between others


@kernel
def within_communities(
    start: Ints, near: NDArray[np.int32], weight: Floats, labels: Ints, order: Ints, place: Ints
) -> tuple[Ints, NDArray[np.int32], Floats]:
    """Neighbours of the same community only, by places in another order."""
    n = len(order)
    begin = np.zeros(n + 1, np.int64)
    for to in range(n):
        v = order[to]
        kept = 0
        for i in range(start[v], start[v + 1]):
            kept += labels[near[i]] == labels[v]
        begin[to + 1] = begin[to] + kept
    inside, how_much = np.empty(begin[n], np.int32), np.empty(begin[n], np.float64)
    for to in range(n):
        v, at = order[to], begin[to]
        for i in range(start[v], start[v + 1]):
            if labels[near[i]] == labels[v]:
                inside[at] = place[near[i]]
                how_much[at] = weight[i]
                at += 1
    return begin, inside, how_much


@kernel
def measures_of(
    start: Ints, near: NDArray[np.int32], clustering: Floats, begins: Ints, exact: int, sources: int
) -> tuple[Floats, Floats]:
    """A row of measures for each community, NaN where there is none, and betweenness by account."""
    found = np.full((len(begins) - 1, 11), np.nan)
    betweenness = np.zeros(len(start) - 1)
    distance = np.full(len(start) - 1, -1, np.int64)
    ways, owed = np.zeros(len(start) - 1), np.zeros(len(start) - 1)
    queue = np.zeros(len(start) - 1, np.int64)
    for c in range(len(begins) - 1):
        low, high = begins[c], begins[c + 1]
        n = high - low
        row = found[c]
        _degrees(start, near, low, high, row)
        row[7] = clustering[low:high].mean() if n else 0.0
        take = n if n <= exact else max(sources, min(n, exact * exact // n))
        row[8] = _between(start, near, low, high, take, betweenness, distance, ways, owed, queue)
        row[10] = take == n
        row[4] = betweenness[low:high].mean()
        row[5] = betweenness[low:high].var()
    return found, betweenness


@kernel
def _degrees(start: Ints, near: NDArray[np.int32], low: int, high: int, row: Floats) -> None:
    """Size, ties, mean and variance of degrees, their correlation across a tie, and centralisation."""
    n = high - low
    total, squares, cubes, most, products = 0.0, 0.0, 0.0, 0.0, 0.0
    for v in range(low, high):
        d = float(start[v + 1] - start[v])
        total += d
        squares += d * d
        cubes += d * d * d
        most = max(most, d)
        for i in range(start[v], start[v + 1]):
            products += d * (start[near[i] + 1] - start[near[i]])
    row[0], row[1] = n, total / 2
    row[2] = total / n
    row[3] = squares / n - (total / n) ** 2
    if total > 0:
        # Pearson's correlation of the degrees at both ends, each tie taken in both directions.
        mean = squares / total
        spread = cubes / total - mean * mean
        if spread > 1e-9 * mean * mean:
            row[6] = (products / total - mean * mean) / spread
    if n >= FEW:
        row[9] = (most * n - total) / ((n - 1.0) * (n - 2.0))


@kernel
def _between(
    start: Ints,
    near: NDArray[np.int32],
    low: int,
    high: int,
    take: int,
    betweenness: Floats,
    distance: Ints,
    ways: Floats,
    owed: Floats,
    queue: Ints,
) -> int:
    """Betweenness (Brandes 2001) from `take` accounts, spread evenly; the radius as seen from them.

    It is normalised by the pairs of others, and scaled up where not all were sources.
    """
    n = high - low
    radius = n
    for number in range(take):
        distance[low:high] = -1
        ways[low:high] = 0.0
        owed[low:high] = 0.0
        queue[0] = low + number * n // take
        there = _spread(start, near, distance, ways, queue)
        radius = min(radius, distance[queue[there - 1]])
        _gather(start, near, distance, ways, owed, queue[:there], betweenness)
    if n >= FEW:
        betweenness[low:high] *= n / (take * (n - 1.0) * (n - 2.0))
    return radius


@kernel
def _spread(start: Ints, near: NDArray[np.int32], distance: Ints, ways: Floats, queue: Ints) -> int:
    """Shortest ways from the first in the queue: how far, how many, and all that were reached in their order."""
    distance[queue[0]], ways[queue[0]] = 0, 1.0
    done, there = 0, 1
    while done < there:
        v = queue[done]
        done += 1
        for i in range(start[v], start[v + 1]):
            w = near[i]
            if distance[w] < 0:
                distance[w] = distance[v] + 1
                queue[there] = w
                there += 1
            if distance[w] == distance[v] + 1:
                ways[w] += ways[v]
    return there


@kernel
def _gather(
    start: Ints,
    near: NDArray[np.int32],
    distance: Ints,
    ways: Floats,
    owed: Floats,
    reached: Ints,
    betweenness: Floats,
) -> None:
    """What each owes to be on shortest ways from the source, from the farthest back."""
    for place in range(len(reached) - 1, 0, -1):
        w = reached[place]
        for i in range(start[w], start[w + 1]):
            v = near[i]
            if distance[v] == distance[w] - 1:
                owed[v] += ways[v] / ways[w] * (1.0 + owed[w])
        betweenness[w] += owed[w]
