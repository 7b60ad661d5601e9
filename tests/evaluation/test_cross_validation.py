"""Evaluation that cannot flatter."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.errors import ConfigError, FitError, TableError
from gamewarden.evaluation.baselines import Constant
from gamewarden.evaluation.cross_validation import evaluate
from gamewarden.evaluation.splits import Split, by_group, refuse_shared
from gamewarden.learning.labels import label_periods
from made_up import GivenNumbers, account_days, actor_names, labels_of

NUMBERS = GivenNumbers()
BOTH = (SelfSimilarityAlone(NUMBERS), AccountDay(NUMBERS))


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(BOTH, account_days(25, 30), labels_of(25, 30), folds=5)


def line(evaluation, detector, unit="period"):
    return evaluation.summary.filter(detector=detector, unit=unit).row(0, named=True)


@dataclass(frozen=True)
class KnowsItsActors:
    """Remembers the actors of its training set: perfect on those, blind on others."""

    name: ClassVar[str] = "memory"

    def fit(self, _features, labels):
        return Remembered(dict(labels.select("actor", "bot").iter_rows()))


@dataclass(frozen=True)
class Remembered:
    bots: dict[str, bool]

    def score(self, features):
        known = [float(self.bots.get(actor, 0.5)) for actor in features["actor"]]
        return Constant(0.5).score(features).with_columns(probability=pl.Series(known))


def test_the_dummy_stands_at_one_half_by_the_same_code(evaluation):
    for unit in ("period", "actor"):
        dummy = line(evaluation, "dummy", unit)
        assert (dummy["auc"], dummy["auc_low"], dummy["auc_high"]) == (0.5, 0.5, 0.5)
        assert dummy["auc_fold_mean"] == 0.5
        assert dummy["tpr_at_1pct"] == 0.0


def test_the_dummy_stands_at_one_half_even_when_folds_differ_in_their_share_of_bots():
    names = actor_names(6, 9)
    groups = pl.DataFrame({"actor": names, "group": [0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5, 6, 6, 7, 8]})

    uneven = evaluate((), account_days(6, 9), labels_of(6, 9), groups=groups, folds=3)

    assert line(uneven, "dummy")["auc"] == 0.5


def test_fourteen_features_beat_one_and_both_beat_the_dummy(evaluation):
    one, fourteen = line(evaluation, "self-similarity"), line(evaluation, "account-day")

    assert 0.6 < one["auc"] < fourteen["auc"]
    assert fourteen["auc_low"] > 0.5
    assert one["auc_low"] <= one["auc"] <= one["auc_high"]


def test_every_detector_is_judged_on_the_same_periods():
    table = account_days(25, 30).with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise("self_sim").alias("self_sim")
    )

    seen = evaluate(BOTH, table, labels_of(25, 30), folds=3)

    assert seen.summary.filter(unit="period")["bots"].n_unique() == 1
    assert seen.scores["probability"].null_count() == 0
    assert line(seen, "events alone")["bots"] + line(seen, "events alone")["humans"] == 88
    assert "Left out, periods with too little play to judge: 22." in seen.notes


def test_a_detector_that_only_remembers_actors_is_no_better_than_the_dummy():
    seen = evaluate((KnowsItsActors(),), account_days(25, 30), labels_of(25, 30))

    assert line(seen, "memory")["auc"] == pytest.approx(0.5)


def test_a_farm_on_both_sides_would_flatter_and_holding_it_out_shows_it():
    """Each farm of six has its own self-similarity, and its class is a coin toss."""
    draw = np.random.default_rng(11)
    coin, place = np.repeat(draw.random(30) < 0.5, 6), np.repeat(draw.permutation(30), 6)
    actors = [f"a{at:03}" for at in range(180)]
    table = account_days(0, 180, 1).with_columns(
        pl.Series("actor", actors), *(pl.Series(f"p{k}", (place == k) * 1.0) for k in range(30))
    )
    labels = pl.DataFrame({"actor": actors, "bot": coin})
    farms = pl.DataFrame({"actor": actors, "group": np.repeat(np.arange(30), 6)})
    recipe = AccountDay(NUMBERS, columns=tuple(f"p{k}" for k in range(30)), strengths=(1.0,))

    by_actor = evaluate((recipe,), table, labels, folds=5)
    by_farm = evaluate((recipe,), table, labels, groups=farms, folds=5)

    assert line(by_actor, "account-day")["auc"] > 0.95
    assert line(by_farm, "account-day")["auc"] < 0.6


def test_a_split_with_someone_on_both_sides_is_refused():
    rows = label_periods(account_days(3, 3), labels_of(3, 3), "test").rows

    with pytest.raises(FitError, match="1 actors are on both sides, first 'bot001'"):
        Split(0, rows.head(3), rows.slice(3, 5))
    with pytest.raises(FitError, match="groups are on both sides"):
        refuse_shared(rows.with_columns(group=pl.lit("farm")), rows.with_columns(group=pl.lit("farm")), "group")


def test_every_period_is_held_out_exactly_once():
    rows = label_periods(account_days(8, 9), labels_of(8, 9), "test").rows

    tests = pl.concat([split.test for split in by_group(rows, 4, seed=0)])

    assert tests.sort("actor", "since").equals(rows)


def test_few_groups_give_fewer_folds_and_a_wide_interval_and_say_so():
    names = actor_names(12, 12)
    groups = pl.DataFrame({"actor": names, "group": [at % 3 if at < 12 else 3 + at % 3 for at in range(24)]})

    seen = evaluate((AccountDay(NUMBERS),), account_days(12, 12), labels_of(12, 12), groups=groups)

    result = line(seen, "account-day")
    assert result["groups"] == 6
    assert result["folds"] == 3
    assert result["auc_high"] - result["auc_low"] > 0.1
    assert any("10 folds were asked for" in note for note in seen.notes)
    assert any("AUC is only known to lie in" in note for note in seen.notes)


def test_too_few_humans_for_a_rate_are_named_and_give_no_precision(evaluation):
    assert line(evaluation, "account-day")["precision_at_0_1pct"] is None
    assert any(note.startswith("30 human actors cannot show an FPR of 1.0% (100 would)") for note in evaluation.notes)


def test_precision_is_that_of_the_stated_prevalence():
    common, rare = (
        line(
            evaluate(BOTH[1:], account_days(20, 110, 1), labels_of(20, 110), folds=2, prevalence=p),
            "account-day",
        )
        for p in (0.5, 0.001)
    )

    tpr = common["tpr_at_1pct"]
    assert common["precision_at_1pct"] == pytest.approx(tpr / (tpr + 0.01))
    assert rare["precision_at_1pct"] == pytest.approx(0.001 * tpr / (0.001 * tpr + 0.999 * 0.01))


def test_a_perfect_ranking_of_few_actors_is_not_called_certain():
    table = account_days(9, 9, 1).with_columns(
        self_sim=pl.when(pl.col("actor").str.starts_with("bot")).then(0.999).otherwise(0.95) + pl.col("self_sim") * 1e-4
    )

    seen = line(evaluate(BOTH[:1], table, labels_of(9, 9), folds=3), "self-similarity")

    assert seen["auc"] == 1.0
    assert seen["auc_low"] < 0.025 ** (1 / 9)  # nine right of nine leave this rate possible
    assert seen["auc_high"] == 1.0


def test_the_interval_widens_when_periods_come_from_fewer_groups():
    table, labels = account_days(24, 24), labels_of(24, 24)
    names = actor_names(24, 24)
    pairs = pl.DataFrame({"actor": names, "group": [at // 6 for at in range(48)]})
    alike = table.with_columns(
        pl.col("self_sim").first().over(pl.col("actor").replace_strict(names, [at // 6 for at in range(48)]))
    )

    lines = [
        line(evaluate(BOTH[:1], alike, labels, groups=groups, folds=4), "self-similarity") for groups in (None, pairs)
    ]

    widths = [seen["auc_high"] - seen["auc_low"] for seen in lines]
    assert widths[1] > 1.3 * widths[0]


def test_an_actor_has_the_mean_evidence_of_its_periods(evaluation):
    mine = evaluation.scores.filter(detector="account-day")
    by_actor = mine.group_by("actor").agg(pl.col("evidence").mean(), pl.col("bot").first())
    bots, humans = (by_actor.filter(bot=side)["evidence"].to_numpy() for side in (True, False))

    assert line(evaluation, "account-day", "actor")["auc"] == pytest.approx(np.mean(bots[:, None] > humans[None, :]))


def test_the_order_of_rows_does_not_change_the_result(evaluation):
    mixed = evaluate(
        BOTH,
        account_days(25, 30).sample(fraction=1, shuffle=True, seed=1),
        labels_of(25, 30).sample(fraction=1, shuffle=True, seed=2),
        folds=5,
    )

    assert mixed.summary.equals(evaluation.summary)


def test_impossible_wishes_are_refused():
    with pytest.raises(ConfigError, match="prevalence 5 is not a share"):
        evaluate(BOTH, account_days(5, 5), labels_of(5, 5), prevalence=5)
    with pytest.raises(TableError, match="the groups lack group"):
        evaluate(BOTH, account_days(5, 5), labels_of(5, 5), groups=pl.DataFrame({"actor": ["bot000"]}))
    with pytest.raises(ConfigError, match="named twice"):
        evaluate(BOTH * 2, account_days(5, 5), labels_of(5, 5))
    with pytest.raises(FitError, match="1 groups have a bot and 5 a human"):
        evaluate(BOTH, account_days(1, 5), labels_of(1, 5))
