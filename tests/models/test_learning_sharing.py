"""How the decision of a regression is shared out among numbers that go together."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.learning.sharing import SHRUNK, alone, shares


def as_rows(matrix):
    return tuple(tuple(float(value) for value in row) for row in matrix)


@st.composite
def regressions(draw):
    """Weights, the correlations of a sample, a row, and up to three topics of up to five columns."""
    count = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 10**6))
    sample = np.random.default_rng(seed).normal(size=(40, count)) @ np.random.default_rng(seed + 1).normal(
        size=(count, count)
    )
    numbers = st.floats(-3, 3)
    return (
        draw(st.lists(numbers, min_size=count, max_size=count)),
        as_rows(np.atleast_2d(np.corrcoef(sample.T))),
        np.array(draw(st.lists(numbers, min_size=count, max_size=count))),
        draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=count, max_size=count)),
    )


def expected(known, row, weights, correlations):
    """The decision expected of a normal vector with these correlations when the columns `known` are."""
    table = (1 - SHRUNK) * np.array(correlations) + SHRUNK * np.eye(len(weights))
    known = sorted(known)
    if not known:
        return 0.0
    filled = table[:, known] @ np.linalg.inv(table[np.ix_(known, known)]) @ row[known]
    return float(np.array(weights) @ filled)


def owen(row, weights, correlations, topics):
    """Straight from the definition: the mean over all orders that keep every topic together."""
    orders = [
        order
        for order in permutations(range(len(weights)))
        if all(
            max(places) - min(places) == len(places) - 1
            for name in set(topics)
            for places in [[order.index(at) for at in range(len(weights)) if topics[at] == name]]
        )
    ]
    total = np.zeros(len(weights))
    for order in orders:
        for place, column in enumerate(order):
            before, after = order[:place], order[: place + 1]
            total[column] += expected(after, row, weights, correlations) - expected(before, row, weights, correlations)
    return total / len(orders)


@given(regressions())
def test_shares_are_owen_values_of_the_expected_decision(case):
    weights, correlations, row, topics = case

    told = shares(row[None, :], weights, correlations, topics)[0]

    np.testing.assert_allclose(told, owen(row, weights, correlations, topics), atol=1e-8)
    assert told.sum() == pytest.approx(float(np.dot(weights, row)), abs=1e-8)


@given(regressions())
def test_what_a_number_says_alone_is_expected_of_it_alone(case):
    weights, correlations, row, _ = case

    told = alone(row[None, :], weights, correlations)[0]

    np.testing.assert_allclose(told, [expected([at], row, weights, correlations) for at in range(row.size)], atol=1e-8)


def test_two_copies_of_one_column_share_alike_whatever_their_weights():
    copies = ((1.0, 1.0), (1.0, 1.0))

    one = shares(np.array([[2.0, 2.0]]), (3.0, -1.0), copies, ("a", "a"))[0]

    np.testing.assert_allclose(one, [2.0, 2.0], rtol=0.03)


def test_columns_that_do_not_go_together_keep_their_own_terms():
    row = np.array([[1.0, -2.0, 0.5]])

    told = shares(row, (1.0, 2.0, -4.0), as_rows(np.eye(3)), ("a", "a", "b"))

    np.testing.assert_allclose(told, [[1.0, -4.0, -2.0]], atol=1e-12)


def test_a_number_that_was_not_measured_has_no_share_and_the_others_have_all():
    correlations = ((1.0, 0.8, 0.1), (0.8, 1.0, 0.0), (0.1, 0.0, 1.0))
    rows = np.array([[1.0, np.nan, 2.0], [1.0, 1.0, 2.0], [np.nan, np.nan, np.nan]])

    told = shares(rows, (1.0, 2.0, 3.0), correlations, ("a", "a", "b"))

    assert told[0, 1] == 0.0
    np.testing.assert_allclose(told.sum(axis=1), [7.0, 9.0, 0.0])
    assert np.array_equal(told[1:2], shares(rows[1:2], (1.0, 2.0, 3.0), correlations, ("a", "a", "b")))


def test_more_columns_than_can_be_shared_out_keep_their_own_terms():
    count = 24
    rows = np.random.default_rng(1).normal(size=(2, count))
    weights = tuple(float(at) for at in range(count))
    close = 0.5 * np.eye(count) + 0.5

    assert np.allclose(shares(rows, weights, as_rows(close), ("a",) * count), rows * np.array(weights))
