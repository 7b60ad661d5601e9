"""What a community looks like, by the measures of the published work: degrees, betweenness, clustering and the rest.

Kwon et al. (TIFS 2017) measure mean and variance of degree and betweenness, degree assortativity, clustering
coefficient, radius and size. Each community is measured as a graph of its own, without ties that leave it.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from gamewarden.groups.graphs import Floats, Graph, Ints, clustering_of
from gamewarden.groups.measure_kernel import FEW, measures_of, within_communities
from gamewarden.tables import DataType

MEASURES: Mapping[str, DataType] = {
    "n": pl.Int64,
    "ties": pl.Int64,
    "degree_mean": pl.Float64,
    "degree_variance": pl.Float64,
    "betweenness_mean": pl.Float64,
    "betweenness_variance": pl.Float64,
    "assortativity": pl.Float64,  # null where all have as many ties
    "clustering": pl.Float64,
    "radius": pl.Int64,
    "centralisation": pl.Float64,  # null below three accounts
    "exact": pl.Boolean,  # else betweenness is estimated, and the radius is at most so large
}
EXACT = 600  # accounts: above, ways are looked at from some of them only
SOURCES = 64  # from so many at least, and the more the smaller the community is


def centralisation_of(degrees: Ints) -> float | None:
    """Freeman's centralisation of degrees: 1 for a star, 0 where all have as many ties.

    The denominator is that of an undirected simple graph, where a star has the largest sum of differences; by arrows
    that come in it would be (n - 1)².
    """
    n = len(degrees)
    if n < FEW:
        return None
    return float((degrees.max() - degrees).sum() / ((n - 1) * (n - 2)))


def measured(graph: Graph, labels: Ints) -> tuple[pl.DataFrame, Floats]:
    """MEASURES of each community by number, and how much each account is between others of its community."""
    inside, order, begins = within(graph, labels)
    numbers, betweenness = measures_of(inside.start, inside.near, clustering_of(inside), begins, EXACT, SOURCES)
    columns = {name: numbers[:, place] for place, name in enumerate(MEASURES)}
    table = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
    back = np.empty(graph.n)
    back[order] = betweenness
    return table.select(pl.col(name).cast(dtype) for name, dtype in MEASURES.items()), back


def within(graph: Graph, labels: Ints) -> tuple[Graph, Ints, Ints]:
    """The graph without ties between communities, accounts in the order of communities; that order, and its borders."""
    order = np.lexsort((np.arange(graph.n), labels)).astype(np.int64)
    place = np.empty(graph.n, np.int64)
    place[order] = np.arange(graph.n)
    counts = np.bincount(labels, minlength=int(labels.max(initial=-1)) + 1)
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.int64)
    start, near, weight = within_communities(graph.start, graph.near, graph.weight, labels, order, place)
    return Graph(start, near, weight), order, begins
