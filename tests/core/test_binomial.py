from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.binomial import chance_beside, chance_of_at_most, lower_bound, upper_bound


def test_chances_are_those_of_the_binomial():
    assert chance_of_at_most(1, 5, 0.2) == pytest.approx(0.8**5 + 5 * 0.2 * 0.8**4)
    assert chance_of_at_most(5, 5, 0.2) == 1.0
    assert chance_of_at_most(0, 5, 0.0) == 1.0


def test_bounds_are_the_published_ones():
    # Clopper & Pearson (1934): 0 of 10 leave at most 1 − 0.05^(1/10); 1 of 20 leaves 0.216 at 95 % one-sided.
    assert upper_bound(0, 10, 0.05) == pytest.approx(1 - 0.05**0.1)
    assert upper_bound(1, 20, 0.05) == pytest.approx(0.2161, abs=5e-5)
    assert lower_bound(0, 10, 0.05) == pytest.approx(0.0, abs=1e-12)
    assert lower_bound(10, 10, 0.05) == pytest.approx(0.05**0.1)


@given(st.integers(1, 200), st.data())
def test_a_bound_leaves_exactly_the_doubt(people, data):
    counted = data.draw(st.integers(0, people - 1))

    assert chance_of_at_most(counted, people, upper_bound(counted, people, 0.05)) == pytest.approx(0.05, rel=1e-6)


def test_beside_a_reference_the_chance_counts_the_orders_of_all_people():
    # 3 known, 2 new, none allowed: at least one new one stands above all known in 1 − C(4, 2)·… = 2/5 of the orders.
    assert chance_beside(1, 2, 0, 3) == pytest.approx(1 - (3 * comb(4, 1)) / (5 * 4))
    assert chance_beside(0, 2, 0, 3) == 1.0
    assert (chance_beside(0, 9, -1, 5), chance_beside(1, 9, -1, 5)) == (1.0, 0.0)
