"""X_t: the correlation of the same actors' scores in two periods."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from gamewarden.drift.correlation import agreement


def scores(values, names=None):
    names = names or [f"u{at}" for at in range(len(values))]
    return pl.DataFrame({"actor": names, "probability": values}, schema_overrides={"probability": pl.Float64})


@pytest.fixture
def two():
    dice = np.random.default_rng(1)
    before = np.round(dice.random(300), 2)
    return before, np.round(np.clip(before + dice.normal(0, 0.2, 300), 0, 1), 2)


def test_it_is_pearsons_correlation_or_spearmans_with_ties(two):
    before, now = two

    assert agreement(scores(before), scores(now)).x == pytest.approx(stats.pearsonr(before, now).statistic)
    found = agreement(scores(before), scores(now), "spearman").x
    assert found == pytest.approx(stats.spearmanr(before, now).statistic)


def test_only_actors_judged_in_both_periods_count(two):
    before, now = two
    more = pl.concat([scores(before), scores([0.0] * 50, [f"gone{at}" for at in range(50)])])
    unsure = pl.concat([scores(now), scores([None] * 3, ["gone0", "gone1", "gone2"])])

    assert agreement(more, unsure) == agreement(scores(before), scores(now))


def test_fewer_than_a_hundred_common_actors_give_no_correlation():
    values = np.linspace(0, 1, 99)

    found = agreement(scores(values), scores(values))
    assert (found.x, found.common) == (None, 99)
    assert found.why == "99 actors were judged in both periods, and 100 are needed"
    assert agreement(scores(values), scores(values), least_common=99).x == pytest.approx(1.0)


def test_scores_without_any_variance_give_no_correlation():
    found = agreement(scores([0.5] * 200), scores(np.linspace(0, 1, 200)))

    assert found.x is None
    assert "all actors score alike" in found.why


def test_an_actor_with_several_scores_in_a_period_counts_with_their_mean(two):
    before, now = two
    halves = pl.concat([scores(before - 0.1), scores(before + 0.1)])

    assert agreement(halves, scores(now)).x == pytest.approx(agreement(scores(before), scores(now)).x)
