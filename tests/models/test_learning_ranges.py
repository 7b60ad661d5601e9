"""Rows far from what a model learned from are said to be so, and rows like it are not."""

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.learning.ranges import Ranges
from gamewarden.verdicts.points import ACT, WATCH, OperatingPoints
from made_up import GivenNumbers, account_days, labels_of


def test_a_number_more_than_a_deviation_beyond_training_is_far_and_named():
    ranges = Ranges.of(pl.DataFrame({"kills": [10.0, 20.0, 40.0], "level": [1.0, 2.0, 3.0]}), ("kills", "level"))

    far = ranges.far(pl.DataFrame({"kills": [15.0, 50.0, 4000.0, None], "level": [2.0, 3.1, 2.0, 2.0]}))

    assert far.to_list() == [None, None, "kills", None]


def test_of_rows_like_those_in_training_about_none_is_far():
    draw = np.random.default_rng(3)
    names = [f"n{at}" for at in range(9)]
    rows = [
        pl.DataFrame({name: draw.lognormal(3, 1, 50 if known else 4000) for name in names}) for known in (True, False)
    ]

    far = Ranges.of(rows[0], names).far(rows[1])

    assert far.count() / far.len() < 0.03


def test_ranges_survive_json():
    ranges = Ranges.of(pl.DataFrame({"a": [1.0, 2.0], "b": [None, None], "c": [5.0, 5.0]}), ("a", "b", "c"))

    assert Ranges.from_dict(ranges.to_dict()) == ranges
    assert ranges.columns == ("a",)


def test_a_day_beyond_all_training_days_is_marked_in_its_score_and_stays_the_same_in_a_crowd():
    days = account_days()
    model = AccountDay(feature=GivenNumbers(table=days)).fit(days, labels_of())
    strange = days.head(3).with_columns(total_log_count=pl.Series([10**9, 3000, 3000]))

    crowd, alone = model.score(pl.concat([strange, days])), model.score(strange.head(1))

    assert crowd["far"].head(1).to_list() == alone["far"].to_list() == ["total_log_count"]
    assert crowd["far"].null_count() == crowd.height - 1


@pytest.mark.parametrize(("far", "point"), [(None, ACT), ("account-day", WATCH)])
def test_what_lies_far_from_training_reaches_no_more_than_watching(far, point):
    row = {"probability": [0.99], "fpr": [0.0001], "agree": [2], "far": [far]}
    verdict = pl.DataFrame(row, schema_overrides={"far": pl.String})

    assert OperatingPoints().reached(verdict).to_list() == [point]
