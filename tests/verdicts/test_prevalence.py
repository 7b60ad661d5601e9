"""How common bots are moves every probability, and nothing else."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.config import Config, Population, config_from
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.errors import ConfigError
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.prevalence import Prevalence, moved, scored
from made_up import GivenNumbers, account_days, labels_of

SHARES = st.floats(0.001, 0.999)


def fitted(**options):
    rows = account_days(100, 100, 1, seed=3)
    return AccountDay(feature=GivenNumbers(table=rows), **options).fit(rows, labels_of(100, 100))


def test_probabilities_add_up_to_as_many_bots_as_there_are():
    model, crowd = fitted(), account_days(40, 1960, 1, seed=4)

    rare = scored(model, crowd, Prevalence(0.02))["probability"].sum()
    as_labelled = model.score(crowd)["probability"].sum()

    # The model learned from as many bots as people, and alone would find several times as many as there are.
    assert as_labelled > 4 * 40
    assert rare == pytest.approx(40, rel=0.35)


def test_a_list_holds_as_many_bots_as_its_probabilities_say():
    model, crowd = fitted(), account_days(400, 7600, 1, seed=5)

    at_five = scored(model, crowd, Prevalence(0.05))
    listed = at_five.filter(pl.col("probability") >= 0.5)

    right = listed["actor"].str.starts_with("bot").mean()
    assert listed.height > 50
    assert right == pytest.approx(listed["probability"].mean(), abs=0.12)


def test_ninety_nine_of_a_hundred_among_equals_is_one_in_two_where_one_in_a_hundred_is_a_bot():
    assert moved(0.99, 0.5, 0.01) == pytest.approx(0.5)


@given(st.floats(0, 1), SHARES, SHARES)
def test_moving_there_and_back_changes_nothing(probability, prior, bots):
    assert moved(moved(probability, prior, bots), bots, prior) == pytest.approx(probability, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2), SHARES, SHARES)
def test_the_order_stays_and_every_value_is_a_probability(values, prior, bots):
    table = pl.DataFrame({"p": sorted(values)}).with_columns(moved(pl.col("p"), prior, bots))

    assert table["p"].is_sorted()
    assert table["p"].is_between(0, 1).all()
    assert table["p"].null_count() == 0
    assert not table["p"].is_nan().any()


def test_a_score_that_is_missing_stays_missing():
    assert pl.DataFrame({"p": [None, 0.5]}).select(moved(pl.col("p"), 0.5, 0.1))["p"].to_list() == [None, 0.1]


def test_fprs_do_not_depend_on_how_common_bots_are():
    model, rows = fitted(), account_days(20, 20, 2, seed=6)

    few, many = (scored(model, rows, Prevalence(share)) for share in (0.001, 0.9))

    assert few.drop("probability").equals(many.drop("probability"))
    assert (few["probability"] < many["probability"]).all()


def test_a_model_without_calibration_that_weighs_both_classes_alike_supposes_one_half():
    rows, labels = account_days(30, 90, 1), labels_of(30, 90)
    recipe = AccountDay(feature=GivenNumbers(table=rows))

    assert prior_of(recipe.fit(rows, labels).card) == 0.25
    assert prior_of(AccountDay(feature=recipe.feature, calibration="none").fit(rows, labels).card) == 0.5
    unweighted = AccountDay(feature=recipe.feature, calibration="none", balanced=False)
    assert prior_of(unweighted.fit(rows, labels).card) == 0.25


def test_the_command_line_comes_before_the_settings_and_these_before_the_default():
    written = config_from({"population": {"bots": 0.02}}, "warden.toml")

    assert Prevalence.of(written, 0.1) == Prevalence(0.1, "--prevalence")
    assert Prevalence.of(written) == Prevalence(0.02, "[population] bots")
    assert Prevalence.of(Config()) == Prevalence(Population.bots, None)


def test_a_share_that_nobody_gave_is_called_so_with_how_to_give_it():
    told = Prevalence.of(Config()).sentence

    assert "suppose that 5 % of all accounts are bots, which nobody has said of this game" in told
    assert "[population] bots" in told
    assert "--prevalence" in told
    # Writing the default down is saying it.
    assert "nobody" not in Prevalence.of(config_from({"population": {"bots": 0.05}}, "warden.toml")).sentence


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 5.0])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ConfigError, match="is not a share"):
        Prevalence(share)
    with pytest.raises(ConfigError, match=r"warden\.toml \[population\] bots"):
        config_from({"population": {"bots": share}}, "warden.toml")


def test_the_old_name_of_the_setting_is_answered_with_the_new_one():
    with pytest.raises(ConfigError, match=r"\[evaluate\] prevalence is now \[population\] bots") as refused:
        config_from({"evaluate": {"prevalence": 0.05}}, "warden.toml")

    assert "\n" not in str(refused.value)


def test_small_shares_are_not_rounded_away():
    assert Prevalence(0.0004).text == "0.04 %"
    assert Prevalence(0.125).text == "12.5 %"
    assert np.isclose(moved(0.5, 0.5, 0.0004), 0.0004)
