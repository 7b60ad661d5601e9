"""A graph in arrays: accounts by number in the order of their names, and for each account its neighbours."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.kernels import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Graph:
    """An undirected simple graph: neighbours of `v` are `near[start[v]:start[v + 1]]`, in ascending order."""

    start: Ints
    near: NDArray[np.int32]
    weight: Floats

    @property
    def n(self) -> int:
        """How many accounts."""
        return len(self.start) - 1

    @property
    def degrees(self) -> Ints:
        """How many neighbours each account has."""
        return np.diff(self.start)


def coded(frame: pl.DataFrame, names: pl.Series, *columns: str) -> pl.DataFrame:
    """The columns as numbers of `names`, which are in order and hold them all."""
    kinds = pl.Enum(names)
    return frame.with_columns(pl.col(name).cast(kinds).to_physical().cast(pl.Int64) for name in columns)


def names_in(*columns: pl.Series) -> pl.Series:
    """All names, each once, in order: so no number depends on the order of rows."""
    return pl.concat([column.cast(pl.String).rename("name") for column in columns]).drop_nulls().unique().sort()


def graph_of(one: Ints, other: Ints, weight: Floats, n: int) -> Graph:
    """The graph of these pairs, whatever their direction and however often; nobody is tied to itself."""
    low, high = np.minimum(one, other).astype(np.int32), np.maximum(one, other).astype(np.int32)
    pairs = pl.DataFrame({"a": low, "b": high, "weight": weight})
    once = pairs.filter(pl.col("a") != pl.col("b")).group_by("a", "b").agg(pl.col("weight").sum())
    twice = pl.concat([once, once.select(a="b", b="a", weight="weight")]).sort("a", "b")
    counts = np.bincount(twice["a"].to_numpy(), minlength=n)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.int64)
    return Graph(start, twice["b"].to_numpy().astype(np.int32), twice["weight"].to_numpy().astype(np.float64))


def triangles(graph: Graph) -> Ints:
    """In how many triangles each account is."""
    order = np.lexsort((np.arange(graph.n), graph.degrees))
    rank = np.empty(graph.n, np.int64)
    rank[order] = np.arange(graph.n)
    found: Ints = _triangles(graph.start, graph.near, rank)
    return found


@kernel
def _triangles(start: Ints, near: NDArray[np.int32], rank: Ints) -> Ints:
    """Each triangle is found once, from its corner of lowest rank: hubs are never gone through pair by pair.

    Of each account only neighbours of higher rank are gone through, of whom nobody has many.
    """
    n = len(start) - 1
    begin = np.zeros(n + 1, np.int64)
    above = np.empty(len(near) // 2, np.int32)
    used = 0
    for v in range(n):
        for i in range(start[v], start[v + 1]):
            if rank[near[i]] > rank[v]:
                above[used] = near[i]
                used += 1
        begin[v + 1] = used
    found = np.zeros(n, np.int64)
    marked = np.full(n, -1, np.int64)
    for u in range(n):
        for v in above[begin[u] : begin[u + 1]]:
            marked[v] = u
        for v in above[begin[u] : begin[u + 1]]:
            for w in above[begin[v] : begin[v + 1]]:
                if marked[w] == u:
                    found[u] += 1
                    found[v] += 1
                    found[w] += 1
    return found


def clustering_of(graph: Graph) -> Floats:
    """Which share of the pairs of an account's neighbours are neighbours themselves; 0 where there is no pair."""
    degrees = graph.degrees
    pairs = degrees * (degrees - 1) / 2
    return np.divide(triangles(graph), pairs, out=np.zeros(graph.n), where=pairs > 0)
