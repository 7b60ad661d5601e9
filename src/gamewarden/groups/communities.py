"""Which accounts belong together by their ties: communities by the Leiden algorithm (Traag et al. 2019).

Its quality function is the constant Potts model, whose scale is said in accounts. Modularity has none: in a game of
many accounts it puts every star of a dozen into the community of some buyer, since the whole is so large.
"""

import numpy as np
from numpy.typing import NDArray

from gamewarden.core.extras import need
from gamewarden.core.kernels import kernel
from gamewarden.groups.graphs import Graph, Ints

SCALE = 100  # accounts: two communities join where they have more ties than one per so many pairs
_SEED = 17  # any; with it and numbers in the order of names a graph has one answer


def communities(graph: Graph, scale: int = SCALE) -> Ints:
    """The number of each account's community; numbers are in the order of their first accounts.

    An account without a tie is alone. One with a single tie that was left alone, as in a star of more leaves than
    `scale`, belongs where its tie leads.

    Raises:
        InstallError: the library is not installed.
    """
    need("groups", "graspologic_native")
    from graspologic_native import leiden_csr

    if not len(graph.near):
        return np.arange(graph.n)
    _, found = leiden_csr(
        graph.start,
        graph.near,
        graph.weight,
        graph.n,
        resolution=1 / scale,
        use_modularity=False,
        seed=_SEED,
    )
    labels = np.fromiter((found[number] for number in range(graph.n)), np.int64, graph.n)
    return numbered(gathered(graph, labels))


def alone(graph: Graph) -> Ints:
    """Everybody by itself: where the library is missing, and only stars and chains are looked for."""
    return np.arange(graph.n)


def gathered(graph: Graph, labels: Ints) -> Ints:
    """Communities in which nobody with a single tie is alone."""
    alone = np.bincount(labels)[labels] == 1
    left = np.flatnonzero(alone & (graph.degrees == 1))
    together = labels.copy()
    together[left] = labels[graph.near[graph.start[left]]]
    return together


def pieces(graph: Graph, labels: Ints) -> Ints:
    """Communities cut apart where no tie inside them holds them together."""
    found: Ints = _pieces(graph.start, graph.near, labels)
    return found


@kernel
def _pieces(start: Ints, near: NDArray[np.int32], labels: Ints) -> Ints:
    piece = np.full(len(labels), -1, np.int64)
    queue = np.empty(len(labels), np.int64)
    for first in range(len(labels)):
        if piece[first] >= 0:
            continue
        piece[first], queue[0] = first, first
        done, there = 0, 1
        while done < there:
            v = queue[done]
            done += 1
            for i in range(start[v], start[v + 1]):
                if piece[near[i]] < 0 and labels[near[i]] == labels[v]:
                    piece[near[i]] = first
                    queue[there] = near[i]
                    there += 1
    return piece


def numbered(labels: Ints) -> Ints:
    """The same communities with numbers from 0 on, in the order of their first accounts."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: Ints = rank[inverse]
    return numbers
