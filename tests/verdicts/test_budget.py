"""Golden arithmetic of the budget, and what it refuses to promise."""

from math import ceil, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.binomial import chance_of_at_most, chance_of_mean_at_most
from gamewarden.errors import ConfigError
from gamewarden.verdicts.budget import Budget, Humans, cost_threshold, threshold


def humans(count, days=30.0, fprs=None, smallest=()):
    """So many people: the most bot-like has the FPR 2 / (n + 1)."""
    own = [(place + 2) / (count + 1) for place in range(count)] if fprs is None else fprs
    return Humans("account-day@1", own, [days] * count, smallest)


def allowed(budget, count, days=30.0):
    """How many of so many people, all with FPRs of their own, the threshold reaches."""
    return threshold(budget, humans(count, days))["accused"]


def test_two_in_300_000_a_month_need_some_450_000_reviewed_humans():
    budget = Budget(2, 300_000, 95)

    assert budget.humans_needed() == 449_359
    assert budget.humans_needed() == ceil(log(0.05) / log(1 - 2 / 300_000))


def test_humans_who_were_seen_on_a_day_are_needed_thirty_times_as_often():
    assert Budget(2, 300_000, 95).humans_needed(days=1) == pytest.approx(30 * 449_359, rel=1e-5)
    assert Budget(2, 300_000, 95).humans_needed(days=90) == 449_359


def test_too_few_humans_allow_nothing_above_review_and_say_how_many_are_missing():
    row = threshold(Budget(2, 300_000), humans(5_000))

    assert (row["fpr"], row["above_review"], row["humans_needed"]) == (None, False, 449_359)
    assert "449,359" in row["says"]
    assert "review everything the model flags" in row["says"]


def test_the_sample_sizes_are_the_published_ones():
    # One in a hundred at 95 %: 298 humans without a false alarm are too few, 299 are enough (the rule of three).
    assert allowed(Budget(10, 1000), 298) is None
    assert allowed(Budget(10, 1000), 299) == 0
    # With one false alarm 473 are needed, with two 628 (published sample sizes of attribute testing).
    assert [allowed(Budget(10, 1000), n) for n in (472, 473, 627, 628)] == [0, 1, 1, 2]


def test_a_threshold_lies_just_below_the_first_human_too_many():
    row = threshold(Budget(10, 1000), humans(628))

    assert row["accused"] == 2
    assert 3 / 629 < row["fpr"] < 4 / 629
    assert row["fpr"] == 0.00635  # 4 / 629 is 0.00636
    assert row["upper_bound"] == pytest.approx(0.01, abs=1e-4)
    assert row["upper_bound"] <= row["may_be_accused"]


def test_humans_who_look_alike_are_accused_together_or_not_at_all():
    row = threshold(Budget(10, 1000), humans(628, fprs=[0.008] * 628))

    assert row["accused"] == 0
    assert row["fpr"] < 0.008


def test_the_number_a_person_reads_reaches_nobody_more_than_the_threshold():
    row = threshold(Budget(10, 1000), humans(628, fprs=[0.0012341, 0.0012342, *[0.0012343] * 626]))

    read = float(row["says"].split("an FPR of ")[1].split(" ")[0])
    assert row["accused"] == 2
    assert 0.0012342 <= read < 0.0012343


def test_every_further_style_counts_as_one_more_accused():
    styles = [1 / 629, 1 / 629]

    assert allowed(Budget(10, 1000), 628) == 2
    assert threshold(Budget(10, 1000), humans(628, smallest=styles[:1]))["accused"] == 2
    assert threshold(Budget(10, 1000), humans(628, smallest=styles))["accused"] == 1


def test_a_style_that_cannot_reach_the_threshold_costs_nothing():
    assert threshold(Budget(10, 1000), humans(628, smallest=[1 / 629, 0.2]))["accused"] == 2


def test_a_threshold_under_which_nobody_can_be_accused_is_none():
    assert threshold(Budget(10, 1000), humans(628, smallest=[0.2]))["above_review"] is False


def test_an_accusation_of_somebody_seen_on_a_day_weighs_thirty_times_as_much():
    fprs, month = [0.1, *[0.5] * 199], [30.0] * 199
    regular = Humans("d", fprs, [30.0, *month[:-1], 1.0])
    casual = Humans("d", fprs, [1.0, *month])

    assert regular.chance(0.1, 0.5) < casual.chance(0.1, 0.5)
    assert casual.chance(0.1, 0.5) == pytest.approx(chance_of_mean_at_most(1 / 200, 200, 0.5 / 30))
    assert regular.chance(0.1, 0.5) == pytest.approx(chance_of_mean_at_most(1 / 30 / 200, 200, 0.5 / 30))


@given(st.integers(1, 300), st.integers(0, 300), st.floats(0.001, 0.5))
def test_the_bound_of_a_mean_is_never_below_the_binomial_chance_and_exact_without_an_accusation(people, counted, rate):
    exact, bound = chance_of_at_most(counted, people, rate), chance_of_mean_at_most(counted / people, people, rate)

    assert bound >= exact - 1e-12
    assert chance_of_mean_at_most(0.0, people, rate) == pytest.approx(chance_of_at_most(0, people, rate))


@given(st.integers(1, 3000), st.floats(0.001, 0.5), st.floats(50, 99.9))
def test_what_is_allowed_keeps_the_promise_and_one_more_would_not(count, rate, confidence):
    budget = Budget(rate * 1000, 1000, confidence)

    found = allowed(budget, count)

    if found is None:
        assert chance_of_at_most(0, count, budget.rate) > budget.doubt
    else:
        assert chance_of_at_most(found, count, budget.rate) <= budget.doubt
        assert chance_of_at_most(found + 1, count, budget.rate) > budget.doubt


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
