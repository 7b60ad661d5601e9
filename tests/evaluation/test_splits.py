"""Who is held out, and who must not be learned from then."""

from datetime import timedelta

import polars as pl
import pytest

from gamewarden.errors import FitError
from gamewarden.evaluation.splits import Forward, by_family, by_period, forward, middle_of
from gamewarden.learning.labels import label_periods
from made_up import DAY, START, account_days, labels_of


def rows_of(bots=6, humans=6, days=4, **columns):
    return label_periods(account_days(bots, humans, days), labels_of(bots, humans, **columns), "test").rows


def families(rows, names=("farmer", "mimic", "cheat")):
    number = pl.col("actor").str.slice(-3).cast(pl.Int64) % len(names)
    named = number.replace_strict(range(len(names)), names, return_dtype=pl.String)
    return rows.with_columns(family=pl.when("bot").then(named))


def test_a_random_split_lets_actors_stand_on_both_sides():
    splits = list(by_period(rows_of(), 4, seed=0))

    assert all(set(split.train["actor"]) & set(split.test["actor"]) for split in splits)
    assert pl.concat([split.test for split in splits]).height == rows_of().height


def test_forward_in_time_learns_from_the_past_of_strangers_only():
    rows, cut = rows_of(), START + 2 * DAY

    splits = list(forward(rows, rows, cut, 3, seed=0))

    for split in splits:
        assert split.train["until"].max() <= cut <= split.test["since"].min()
        assert not set(split.train["actor"]) & set(split.test["actor"])
    assert pl.concat([split.test for split in splits]).height == rows.filter(pl.col("since") >= cut).height


def test_a_split_that_learns_from_what_came_later_is_refused():
    rows = rows_of(2, 2)
    train, test = rows.filter(pl.col("actor").str.ends_with("000")), rows.filter(pl.col("actor").str.ends_with("001"))

    with pytest.raises(FitError, match="reach into the time of the test, first that of 'bot000'"):
        Forward(0, train, test.filter(pl.col("since") >= START + DAY))


def test_a_cut_with_nobody_of_a_class_after_it_is_refused():
    rows = rows_of().filter(~pl.col("bot") | (pl.col("since") < START + DAY))

    with pytest.raises(FitError, match="no bot has a labelled period begun after"):
        list(forward(rows, rows, START + 2 * DAY, 3, seed=0))


def test_the_middle_is_where_about_as_much_lies_before_as_after():
    assert middle_of(rows_of(days=4)) == START + 2 * DAY


def test_periods_of_one_time_have_no_middle():
    with pytest.raises(FitError, match="all periods are of one time"):
        middle_of(rows_of(days=1))


def test_each_family_is_held_out_once_with_humans_that_are_not_learned_from():
    rows = families(rows_of(9, 9))

    splits = list(by_family(rows, seed=0))

    assert [split.test["family"].drop_nulls().unique().to_list() for split in splits] == [
        ["cheat"],
        ["farmer"],
        ["mimic"],
    ]
    for split in splits:
        assert not set(split.train["family"]) & set(split.test["family"].drop_nulls())
        assert not split.test.filter(~pl.col("bot")).is_empty()
    assert pl.concat([split.test for split in splits]).height == rows.height


def test_a_farm_mate_of_another_family_is_not_learned_from():
    rows = families(rows_of(9, 9)).with_columns(
        group=pl.when(pl.col("actor").is_in(["bot000", "bot001"])).then(pl.lit("one farm")).otherwise("group")
    )

    held_out = {split.test.filter("bot")["family"][0]: split for split in by_family(rows, seed=0)}

    assert "bot001" not in set(held_out["farmer"].train["actor"])
    assert "bot001" in set(held_out["mimic"].test["actor"])


def test_one_family_cannot_be_held_out():
    with pytest.raises(FitError, match="the labels name 1 bot families and 6 humans"):
        list(by_family(families(rows_of(), ("farmer",)), seed=0))


def test_chunks_across_the_cut_are_on_no_side():
    rows = rows_of()
    cut = START + 2 * DAY - timedelta(hours=1)

    splits = list(forward(rows, rows, cut, 3, seed=0))

    sides = {(row[0], row[1]) for split in splits for side in (split.train, split.test) for row in side.iter_rows()}
    assert START + DAY not in {since for _, since in sides}
