"""How many did nobody find?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.evaluation.capture_recapture import chapman, missed_between


def test_chapmans_estimate_of_a_lake_of_fish():
    """10 marked, 15 caught, 5 of them marked: 11 × 16 / 6 − 1."""
    seen = chapman(10, 15, 5)

    assert seen.total == pytest.approx(28.333, abs=1e-3)
    assert seen.found == 20
    assert seen.missed == pytest.approx(8.333, abs=1e-3)


@given(st.integers(0, 300), st.integers(0, 300), st.data())
def test_there_are_never_fewer_than_were_found(one, two, data):
    seen = chapman(one, two, data.draw(st.integers(0, min(one, two))))

    assert seen.found <= seen.low <= seen.total + 1e-9
    assert seen.high is None or seen.total <= seen.high + 1e-9


def test_the_interval_holds_the_truth_about_as_often_as_it_says_where_the_two_are_independent():
    draw = np.random.default_rng(5)
    holds = 0
    for _ in range(400):
        one, two = draw.random(150) < 0.5, draw.random(150) < 0.4
        seen = chapman(int(one.sum()), int(two.sum()), int((one & two).sum()))
        holds += seen.low <= 150 <= (seen.high or np.inf)

    assert 0.9 < holds / 400 <= 1


def test_detectors_that_find_the_same_bots_estimate_too_few():
    """Half of the bots are easy for both: dependence makes a floor of the estimate."""
    draw = np.random.default_rng(5)
    easy = np.arange(400) < 200
    one, two = (draw.random(400) < np.where(easy, 0.9, 0.1) for _ in range(2))

    seen = chapman(int(one.sum()), int(two.sum()), int((one & two).sum()))

    assert seen.high < 400


def test_nested_catches_of_few_leave_the_number_open():
    assert chapman(66, 3, 3).high == pytest.approx(66 / 0.025 ** (1 / 3))
    assert chapman(100, 100, 100).high == pytest.approx(103.8, abs=0.1)
    assert chapman(66, 0, 0).high is None


def test_more_in_common_than_one_found_is_refused():
    with pytest.raises(ValueError, match="5 found by both are more than the 4 or 9"):
        chapman(4, 9, 5)


def test_every_pair_of_detectors_is_a_row_beside_the_truth():
    flagged = {"a": {"x", "y", "z"}, "b": {"x", "y"}, "c": {"x"}}

    seen = missed_between(flagged, "known bots", bots=7)

    assert seen["detectors"].to_list() == ["a + b", "a + c", "b + c"]
    assert seen.row(0, named=True)["both"] == 2
    assert seen["known"].unique().to_list() == [7]
