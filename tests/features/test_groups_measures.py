"""The published measures of a community agree with NetworkX on random graphs."""

from time import process_time

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.groups import measures
from gamewarden.groups.graphs import clustering_of, graph_of, triangles
from gamewarden.groups.measures import MEASURES, centralisation_of, measured


@st.composite
def connected_graphs(draw, most=14):
    """A tree of some accounts, and further ties."""
    n = draw(st.integers(2, most))
    tree = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=2 * n))
    return n, [(a, b) for a, b in [*tree, *more] if a != b]


def ours(n, pairs):
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return graph_of(one, other, np.ones(len(pairs)), n)


def theirs(n, pairs):
    graph = nx.Graph(pairs)
    graph.add_nodes_from(range(n))
    return graph


def one_row(n, pairs):
    table, _ = measured(ours(n, pairs), np.zeros(n, np.int64))
    return table.row(0, named=True)


@given(connected_graphs())
def test_measures_are_those_of_networkx(drawn):
    n, pairs = drawn
    graph, found = theirs(n, pairs), one_row(n, pairs)
    degrees = [degree for _, degree in graph.degree]
    between = list(nx.betweenness_centrality(graph).values())

    assert (found["n"], found["ties"], found["radius"]) == (n, graph.number_of_edges(), nx.radius(graph))
    assert found["degree_mean"] == pytest.approx(np.mean(degrees))
    assert found["degree_variance"] == pytest.approx(np.var(degrees), abs=1e-9)
    assert found["betweenness_mean"] == pytest.approx(np.mean(between), abs=1e-12)
    assert found["betweenness_variance"] == pytest.approx(np.var(between), abs=1e-12)
    assert found["clustering"] == pytest.approx(nx.average_clustering(graph))
    assert found["exact"]


@given(connected_graphs())
def test_assortativity_is_that_of_networkx_and_null_where_it_is_not_defined(drawn):
    n, pairs = drawn
    graph, found = theirs(n, pairs), one_row(n, pairs)["assortativity"]

    if len({degree for _, degree in graph.degree}) == 1:
        assert found is None
    else:
        assert found == pytest.approx(nx.degree_assortativity_coefficient(graph), abs=1e-9)


@given(connected_graphs())
def test_centralisation_is_freemans(drawn):
    n, pairs = drawn
    degrees = np.array([degree for _, degree in theirs(n, pairs).degree])

    assert one_row(n, pairs)["centralisation"] == pytest.approx(centralisation_of(degrees))


def test_a_star_is_centralised_and_a_ring_is_not():
    star = one_row(12, [(0, leaf) for leaf in range(1, 12)])
    ring = one_row(12, [(v, (v + 1) % 12) for v in range(12)])

    assert (star["centralisation"], star["clustering"], star["radius"]) == (1.0, 0.0, 1)
    assert star["assortativity"] == pytest.approx(-1)
    assert (ring["centralisation"], ring["radius"], ring["assortativity"]) == (0.0, 6, None)


@given(connected_graphs(), connected_graphs())
def test_communities_are_measured_each_by_itself(first, second):
    (n, pairs), (m, others) = first, second
    moved = [(a + n, b + n) for a, b in others]
    labels = np.repeat([0, 1], [n, m])

    table, _ = measured(ours(n + m, [*pairs, *moved, (0, n)]), labels)

    assert table.row(0, named=True) == one_row(n, pairs)
    assert table.row(1, named=True) == one_row(m, others)


@given(connected_graphs())
def test_triangles_and_clustering_are_those_of_networkx(drawn):
    n, pairs = drawn
    graph = theirs(n, pairs)

    assert triangles(ours(n, pairs)).tolist() == [nx.triangles(graph)[v] for v in range(n)]
    assert clustering_of(ours(n, pairs)) == pytest.approx([nx.clustering(graph)[v] for v in range(n)])


def test_triangles_of_a_hub_that_everybody_gives_to_take_no_time():
    leaves = 60_000
    star = graph_of(np.zeros(leaves, np.int64), np.arange(1, leaves + 1), np.ones(leaves), leaves + 1)
    triangles(ours(3, [(0, 1), (1, 2)]))  # compiled

    before = process_time()

    assert not triangles(star).any()
    assert process_time() - before < 1


def test_how_much_each_is_between_others_comes_back_in_the_order_of_accounts():
    pairs = [(0, 5), (5, 2), (1, 3), (3, 4)]

    _, between = measured(ours(6, pairs), np.array([0, 1, 0, 1, 1, 0]))

    assert between.tolist() == [0, 0, 0, 1, 0, 1]


def test_large_communities_are_estimated_and_say_so(monkeypatch):
    monkeypatch.setattr(measures, "EXACT", 40)
    graph = nx.barabasi_albert_graph(300, 3, seed=1)

    found = one_row(300, list(graph.edges))

    assert not found["exact"]
    assert found["betweenness_mean"] == pytest.approx(np.mean(list(nx.betweenness_centrality(graph).values())), rel=0.1)
    assert nx.radius(graph) <= found["radius"] <= nx.radius(graph) + 1


def test_measures_have_their_columns():
    table, _ = measured(ours(3, [(0, 1), (1, 2)]), np.zeros(3, np.int64))

    assert dict(table.schema) == dict(MEASURES)
    assert not any(table[name].is_nan().any() for name, dtype in MEASURES.items() if dtype == pl.Float64)
