"""Golden arithmetic of the budget, and what it refuses to promise."""

from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamewarden.chances import chance_of_at_most
from gamewarden.errors import ConfigError
from gamewarden.verdicts.budget import Budget, Humans, cost_threshold, threshold


def humans(count, days=30.0, alarms=None):
    """So many humans with one row each: the most bot-like has the alarm 2 / (n + 1)."""
    own = [(place + 2) / (count + 1) for place in range(count)] if alarms is None else alarms
    return Humans("account-day@1", own, [1 / (count + 1), *own], count, days)


def test_two_in_300_000_a_month_need_some_450_000_reviewed_humans():
    budget = Budget(2, 300_000, 95)

    assert budget.humans_needed() == 449_359
    assert budget.humans_needed() == ceil(log(0.05) / log(1 - 2 / 300_000))


def test_humans_who_were_watched_for_a_day_are_needed_thirty_times_as_often():
    assert Budget(2, 300_000, 95).humans_needed(days=1) == pytest.approx(30 * 449_359, rel=1e-5)
    assert Budget(2, 300_000, 95).humans_needed(days=90) == 449_359


def test_too_few_humans_allow_nothing_above_review_and_say_how_many_are_missing():
    row = threshold(Budget(2, 300_000), humans(5_000))

    assert (row["alarm"], row["above_review"], row["humans_needed"]) == (None, False, 449_359)
    assert "449,359" in row["says"]
    assert "review everything the model flags" in row["says"]


def test_the_sample_sizes_are_the_published_ones():
    # One in a hundred at 95 %: 298 humans without a false alarm are too few, 299 are enough (the rule of three).
    assert Budget(10, 1000).allowed(298, 30) is None
    assert Budget(10, 1000).allowed(299, 30) == 0
    # With one false alarm 473 are needed, with two 628 (published sample sizes of attribute testing).
    assert [Budget(10, 1000).allowed(n, 30) for n in (472, 473, 627, 628)] == [0, 1, 1, 2]


def test_a_threshold_lies_above_as_many_humans_as_the_budget_allows():
    row = threshold(Budget(10, 1000), humans(628))

    assert row["accused"] == 2
    assert row["alarm"] == pytest.approx(3 / 629)
    assert row["upper_bound"] == pytest.approx(0.01, abs=1e-4)
    assert row["upper_bound"] <= row["may_be_accused"]


def test_humans_who_look_alike_are_accused_together_or_not_at_all():
    row = threshold(Budget(10, 1000), humans(628, alarms=[0.008] * 628))

    assert row["accused"] == 0
    assert row["alarm"] == pytest.approx(1 / 629)


@settings(max_examples=50)
@given(st.integers(1, 3000), st.floats(0.001, 0.5), st.floats(50, 99.9))
def test_what_is_allowed_keeps_the_promise_and_one_more_would_not(count, rate, confidence):
    budget = Budget(rate * 1000, 1000, confidence)

    allowed = budget.allowed(count, 30)

    if allowed is None:
        assert chance_of_at_most(0, count, budget.rate) > budget.doubt
    else:
        assert chance_of_at_most(allowed, count, budget.rate) <= budget.doubt
        assert chance_of_at_most(allowed + 1, count, budget.rate) > budget.doubt


def test_the_promise_is_kept_as_often_as_it_says():
    budget, draw = Budget(50, 1000, 90), np.random.default_rng(3)
    kept = 0
    for _ in range(400):
        known = np.sort(draw.random(200))[::-1]  # how bot-like, uniform: the true rate above t is 1 − t
        row = threshold(budget, humans(200))
        border = known[row["accused"]]  # the first human who is not accused
        kept += (1 - border) <= budget.rate

    # Coverage is at least 90 %: fewer than 335 of 400 would happen once in a hundred thousand times.
    assert kept >= 335


def test_accusing_costs_less_than_missing_from_the_share_of_the_costs_on():
    assert cost_threshold((10, 1)) == pytest.approx(10 / 11)
    assert cost_threshold((1, 1)) == pytest.approx(0.5)


@pytest.mark.parametrize("wrong", [(0, 100, 95), (-1, 100, 95), (200, 100, 95), (1, 100, 0), (1, 100, 100)], ids=str)
def test_a_budget_that_is_none_is_refused(wrong):
    with pytest.raises(ConfigError, match="budget: "):
        Budget(*wrong)


@pytest.mark.parametrize("wrong", [(0, 1), (1, -1)], ids=["no cost", "a gain"])
def test_costs_that_decide_nothing_are_refused(wrong):
    with pytest.raises(ConfigError, match="budget: costs"):
        cost_threshold(wrong)
