"""Whether a retrained model may take over, and what it learns from."""

import polars as pl
import pytest

from gamewarden.drift import retraining
from gamewarden.drift.validation import Comparison, ValidationRules, judge

GOOD = {
    "new_auc": 0.93,
    "old_auc": 0.90,
    "new_share": 0.1,
    "old_share": 0.1,
    "old_share_in_control": None,
    "bots": 60,
    "humans": 60,
}


def failures(**other):
    return judge(Comparison(**{**GOOD, **other})).failures


def test_a_model_that_is_good_and_flags_as_many_is_valid():
    assert judge(Comparison(**GOOD)).valid


def test_an_auc_below_the_floor_is_invalid_even_if_the_old_one_is_worse():
    assert failures(new_auc=0.849, old_auc=0.6) == ("its AUC of 0.849 is below the floor of 0.85",)
    assert failures(new_auc=0.85, old_auc=0.6) == ()


def test_a_model_may_be_a_little_worse_than_the_old_one_and_no_more():
    assert failures(new_auc=0.90, old_auc=0.919) == ()
    assert "more than 0.02 below the 0.921" in failures(new_auc=0.90, old_auc=0.921)[0]


@pytest.mark.parametrize(("share", "valid"), [(0.05, True), (0.2, True), (0.049, False), (0.201, False), (0.0, False)])
def test_it_flags_between_half_and_twice_what_the_old_one_flags(share, valid):
    assert judge(Comparison(**{**GOOD, "new_share": share})).valid is valid


def test_a_model_that_drift_has_blinded_is_measured_by_what_it_flagged_in_control():
    blind = {"new_share": 0.5, "old_share": 0.06}

    assert failures(**blind, old_share_in_control=0.5) == ()
    assert failures(**blind, old_share_in_control=0.1) == (
        "it flags 50.0% of actors, and 3.0% to 12.0% or 5.0% to 20.0% would be in proportion to the old model",
    )


def test_all_failures_are_told_at_once():
    assert len(failures(new_auc=0.5, new_share=0.9)) == 3


def test_without_held_out_actors_of_both_classes_nothing_is_valid():
    assert failures(new_auc=None, old_auc=None, bots=0) == ("its AUC is unknown: 0 bots and 60 humans are held out",)


def test_the_limits_are_policy():
    assert judge(Comparison(**{**GOOD, "new_auc": 0.7}), ValidationRules(auc_floor=0.6, slack=0.3)).valid


def labels(bots, humans):
    names = [f"b{at}" for at in range(bots)] + [f"h{at}" for at in range(humans)]
    return pl.DataFrame({"actor": names, "bot": [name[0] == "b" for name in names]})


def test_the_window_is_the_shortest_of_four_to_eight_periods_with_fifty_of_each_class():
    known = labels(50, 80)
    everybody = list(known["actor"])
    some = everybody[10:]

    assert retraining.window([everybody] * 9, known, retraining.RetrainingRules()).periods == 4
    assert retraining.window([some] * 5 + [everybody] * 4, known, retraining.RetrainingRules()).periods == 6


def test_too_few_labelled_actors_or_periods_give_no_window_and_the_reason():
    few = retraining.window([list(labels(49, 80)["actor"])] * 9, labels(49, 80), retraining.RetrainingRules())
    assert few.why_not == "the last 8 periods hold 49 labelled bots and 80 humans; 50 of each are needed"

    short = retraining.window([["b1"]] * 3, labels(60, 60), retraining.RetrainingRules())
    assert short.why_not == "3 periods were scored and 4 are needed"


def test_held_out_actors_are_the_same_at_every_retraining_and_about_three_in_ten():
    train, held = retraining.split(labels(500, 500))
    later_train, later_held = retraining.split(labels(900, 500))

    assert set(held["actor"]) <= set(later_held["actor"])
    assert set(train["actor"]) <= set(later_train["actor"])
    assert held.height == pytest.approx(300, abs=50)


def test_a_group_is_held_out_as_a_whole():
    farm = labels(40, 0).with_columns(group=pl.lit("farm"))
    train, held = retraining.split(farm)

    assert {train.height, held.height} == {0, 40}


def test_only_periods_that_both_models_judge_are_compared():
    known = labels(2, 2)
    rows = known.select("actor", since=pl.lit(1), probability=pl.Series([0.9, 0.8, 0.2, 0.1]))
    unsure = rows.with_columns(probability=pl.Series([0.1, None, 0.2, 0.3]))

    found = retraining.compare(rows, unsure, known, (rows, unsure, rows), 0.5)
    assert (found.new_auc, found.old_auc) == (1.0, 0.0)
    assert (found.bots, found.humans) == (1, 2)
    assert (found.new_share, found.old_share, found.old_share_in_control) == (0.5, 0.0, 0.5)
