"""Estimates from accounts that chance chose: the exact interval, in sentences, and silence where there are too few."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gamewarden.reviewing.estimates import missed_by, share_of_bots
from reviews_made_up import said


def reviews(bots, people, **changed):
    return [said(number, "bot" if number < bots else "human", **changed) for number in range(bots + people)]


def test_three_of_twenty_as_a_sentence():
    assert share_of_bots(reviews(3, 17)).says == (
        "Of 20 accounts that chance chose 3 are bots: 15 % of all accounts, between 3 and 38 %."
    )


@pytest.mark.parametrize(
    ("bots", "people", "says"),
    [
        (0, 30, "Of 30 accounts that chance chose none is a bot: 0 % of all accounts, between 0 and 12 %."),
        (1, 9, "Of 10 accounts that chance chose 1 is a bot: 10 % of all accounts, between 0.3 and 45 %."),
        (12, 0, "Of 12 accounts that chance chose 12 are bots: 100 % of all accounts, between 74 and 100 %."),
    ],
)
def test_none_one_and_all(bots, people, says):
    assert share_of_bots(reviews(bots, people)).says == says


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_is_that_of_clopper_and_pearson(bots, people):
    found = share_of_bots(reviews(bots, people))

    assert (found.share is None) == (bots + people < 10)
    if found.share is not None:
        low, high = binomtest(bots, bots + people).proportion_ci(method="exact")
        assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
        assert found.low <= found.share == bots / (bots + people) <= found.high


def test_too_few_are_said_to_be_too_few():
    found = share_of_bots(reviews(1, 8))

    assert (found.share, found.counted, found.of) == (None, 1, 9)
    assert found.says.startswith("Chance chose 9 accounts so far")


def test_only_what_chance_named_and_nobody_took_back_counts():
    others = [said(number, drawn=drawn) for number, drawn in ((50, False), (51, None))]
    gone = [said(52, undone_at=said(60).at)]

    assert share_of_bots([*reviews(3, 17), *others, *gone]) == share_of_bots(reviews(3, 17))


def test_accounts_of_which_nobody_is_sure_are_told_beside():
    open_ = [said(50, "unsure"), said(51, "bot"), said(51, "human", "Ben"), said(52, "skip")]

    found = share_of_bots([*reviews(3, 17), *open_])

    assert (found.counted, found.of) == (3, 20)
    assert found.says.endswith(" Of 3 more that it chose nobody is sure.")


def test_an_account_counts_once_and_as_most_raters_say():
    found = share_of_bots([*reviews(3, 17), *reviews(20, 0, rater="Ben", drawn=None), *reviews(0, 20, rater="Cy")])

    assert (found.counted, found.of) == (3, 20)


def test_what_a_list_misses():
    found = missed_by(reviews(8, 40), [f"a{number:02}" for number in range(6)])

    assert (found.counted, found.of, found.share) == (2, 8, 0.25)
    assert found.says == (
        "Of 8 bots that chance found 2 are not among the 6 oddest accounts: such a list misses 25 % of all bots, "
        "between 3 and 65 %."
    )


def test_of_four_bots_nobody_says_what_a_list_misses():
    found = missed_by(reviews(4, 100), ["a00"])

    assert found.share is None
    assert found.says == "Chance found 4 bots so far; from 5 on they say how many a list misses."
