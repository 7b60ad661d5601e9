"""A model that has to do without a column keeps its promises without it."""

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.logistic.model import LogisticModel
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.phrases.days import PHRASES
from made_up import GivenNumbers, account_days, labels_of

ROLE = "npc_kill_count"


def fitted(days: pl.DataFrame) -> LogisticModel:
    return AccountDay(feature=GivenNumbers(table=days)).fit(days, labels_of(200, 200))


@pytest.fixture(scope="module")
def model() -> LogisticModel:
    return fitted(account_days(200, 200, days=1))


def without(days: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return days.with_columns(pl.lit(None, days.schema[name]).alias(name) for name in columns)


def test_absent_is_not_zero(model):
    fresh = account_days(40, 40, days=1, seed=99)
    absent, zero = without(fresh, ROLE), fresh.with_columns(pl.lit(0).alias(ROLE))

    assert model.score(absent)["probability"].to_list() != model.score(zero)["probability"].to_list()
    said = model.explain(absent).filter(feature=ROLE)
    assert said["weight"].unique().to_list() == [0.0]
    assert said["says"].unique().to_list() == [PHRASES[ROLE].unseen]


def test_fresh_people_without_the_column_reach_an_fpr_as_often_as_it_says(model):
    people = account_days(0, 1500, days=1, seed=77)

    for shown in (people, without(people, ROLE), without(people, ROLE, "main_char_level")):
        fprs = model.score(shown)["fpr"].to_numpy()
        for promised in (0.05, 0.1, 0.3):
            assert np.mean(fprs <= promised) <= promised + 4 * np.sqrt(promised * (1 - promised) / 200)


def test_rows_with_nothing_missing_score_as_if_no_column_could_abstain(model):
    from dataclasses import replace

    fresh = account_days(30, 30, days=1, seed=5)

    assert model.score(fresh).equals(replace(model, held_out=None).score(fresh))


def test_a_row_scores_the_same_whoever_abstains_beside_it(model):
    fresh = account_days(10, 10, days=1, seed=5)
    mixed = pl.concat([fresh.head(10), without(fresh.tail(10), ROLE)])

    assert model.score(mixed).tail(10).equals(model.score(without(fresh.tail(10), ROLE)))
    assert model.score(mixed).head(10).equals(model.score(fresh.head(10)))


def test_weights_and_base_add_up_to_the_log_odds_without_the_column_too(model):
    fresh = without(account_days(5, 5, days=1, seed=5), ROLE)

    weights = model.explain(fresh).group_by("actor", maintain_order=True).agg(pl.col("weight").sum()).sort("actor")
    scores = model.score(fresh).sort("actor")["probability"].to_numpy()

    found = weights["weight"].to_numpy() + model.base
    assert found == pytest.approx(np.log(scores / (1 - scores)), abs=1e-9)


def test_a_model_that_can_abstain_comes_back_from_json(model):
    fresh = without(account_days(10, 10, days=1, seed=5), ROLE)
    again = LogisticModel.from_dict(model.to_dict())

    assert again.score(fresh).equals(model.score(fresh))
