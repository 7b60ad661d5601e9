"""The logistic trend: its slope, and its error when answers come in bundles."""

import numpy as np
import pytest

from gamewarden.evaluation.trends import trend


def answers(slope, bundles=60, each=40, seed=1, shared=0.0):
    draw = np.random.default_rng(seed)
    number = np.repeat(draw.uniform(0, 3, bundles), each)
    own = np.repeat(draw.normal(0, shared, bundles), each)
    said = draw.random(bundles * each) < 1 / (1 + np.exp(2 - slope * number - own))
    return number, said, np.repeat(np.arange(bundles).astype(str), each)


def test_the_slope_is_that_of_an_unpenalised_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    number, said, bundle = answers(0.5)
    other = LogisticRegression(C=1e12, tol=1e-10).fit(number[:, None], said)

    assert trend(number, said, bundle).slope == pytest.approx(other.coef_[0, 0], rel=1e-4)


def test_a_trend_that_is_there_is_found_and_one_that_is_not_is_not():
    assert trend(*answers(0.5)).p < 0.001
    found = [trend(*answers(0.0, seed=seed, shared=0.7)).p < 0.05 for seed in range(40)]
    assert sum(found) <= 6


def test_answers_that_are_repeated_within_bundles_make_nothing_more_certain():
    number, said, bundle = answers(0.3, each=1, bundles=200)
    again = trend(np.repeat(number, 9), np.repeat(said, 9), np.repeat(bundle, 9))

    assert again.error == pytest.approx(trend(number, said, bundle).error, rel=1e-6)


def test_it_reads_as_odds_with_an_interval():
    assert str(trend(*answers(0.5))).startswith("odds × 1.")


def test_where_every_answer_is_the_same_there_is_no_trend():
    number, said, bundle = answers(0.5)

    assert trend(number, np.zeros_like(said), bundle).p > 0.99
