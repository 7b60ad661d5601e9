"""Numbers with one meaning each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.evaluation.metrics import Confusion, Ranked, auc, brier, precision_at, tpr_at_fpr

scored = st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=40)


def arrays(pairs):
    return np.array([float(score) for score, _ in pairs]), np.array([bot for _, bot in pairs])


def test_the_four_counts_give_each_metric_its_published_meaning():
    seen = Confusion(tp=6, fp=2, tn=88, fn=4)

    assert seen.accuracy == 0.94
    assert seen.false_alarm == 0.25
    assert seen.fpr == pytest.approx(2 / 90)
    assert seen.recall == 0.6
    assert seen.precision == 0.75
    assert seen.mcc == pytest.approx((6 * 88 - 2 * 4) / (8 * 10 * 90 * 92) ** 0.5)


def test_counting_puts_bots_on_the_positive_side():
    flagged, bot = np.array([True, True, False, False, False]), np.array([True, False, False, False, True])

    assert Confusion.count(flagged, bot) == Confusion(tp=1, fp=1, tn=2, fn=1)


@pytest.mark.parametrize(
    "seen", [Confusion(0, 0, 5, 5), Confusion(5, 5, 0, 0), Confusion(0, 5, 5, 0), Confusion(5, 0, 0, 5)]
)
def test_mcc_with_a_zero_margin_is_nought(seen):
    assert seen.mcc == 0.0


def test_what_is_undefined_is_none():
    nothing = Confusion(0, 0, 0, 0)

    assert [nothing.accuracy, nothing.false_alarm, nothing.fpr, nothing.recall, nothing.precision] == [None] * 5
    assert Confusion(0, 0, 5, 5).false_alarm is None
    assert auc(np.array([1.0, 2.0]), np.array([True, True])) is None
    assert tpr_at_fpr(np.array([1.0]), np.array([True]), 0.1) is None
    assert tpr_at_fpr(np.array([1.0]), np.array([False]), 0.1) is None
    assert precision_at(0.05, None, 0.01) is None
    assert precision_at(0.05, 0.0, 0.0) is None
    assert brier(np.array([]), np.array([], dtype=bool)) is None


@given(scored)
def test_auc_is_the_share_of_pairs_in_the_right_order_ties_half(pairs):
    scores, bot = arrays(pairs)
    bots, humans = scores[bot], scores[~bot]
    if not bots.size or not humans.size:
        return

    pairwise = np.mean([(b > h) + 0.5 * (b == h) for b in bots for h in humans])

    assert auc(scores, bot) == pytest.approx(pairwise, abs=1e-12)
    assert auc(-scores, bot) == pytest.approx(1 - pairwise, abs=1e-12)


@given(pairs=scored, fpr=st.sampled_from([0.0, 0.001, 0.01, 0.07, 0.1, 0.25, 0.5, 1.0]))
def test_tpr_at_fpr_is_the_best_threshold_that_keeps_the_promise(pairs, fpr):
    scores, bot = arrays(pairs)
    bots, humans = scores[bot], scores[~bot]
    if not bots.size or not humans.size:
        return
    thresholds = [*np.unique(scores), np.inf]

    best = max(np.mean(bots >= t) for t in thresholds if np.mean(humans >= t) <= fpr + 1e-12)

    assert tpr_at_fpr(scores, bot, fpr) == pytest.approx(best)


def test_tpr_allows_floor_of_fpr_times_n_humans():
    humans = np.arange(100.0)
    bots = np.array([98.5, 99.5])
    scores, bot = np.append(humans, bots), np.arange(102) >= 100

    assert tpr_at_fpr(scores, bot, 0.0099) == 0.5
    assert tpr_at_fpr(scores, bot, 0.01) == 1.0
    assert tpr_at_fpr(scores, bot, 0.001) == 0.5


@given(scored)
def test_the_area_under_the_curve_is_the_auc(pairs):
    scores, bot = arrays(pairs)
    if bot.all() or not bot.any():
        return

    false, true = Ranked(scores, bot).curve()

    assert np.trapezoid(true, false) == pytest.approx(auc(scores, bot), abs=1e-12)
    assert (false[0], true[0], false[-1], true[-1]) == (0.0, 0.0, 1.0, 1.0)


def test_precision_falls_with_the_prevalence():
    assert precision_at(0.5, 0.8, 0.01) == pytest.approx(0.8 / 0.81)
    assert precision_at(0.01, 0.8, 0.01) == pytest.approx(0.008 / (0.008 + 0.0099))


def test_brier_of_a_coin_is_a_quarter():
    assert brier(np.array([0.5, 0.5]), np.array([True, False])) == 0.25
