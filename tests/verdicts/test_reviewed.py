"""Budgets over reviewed flags: what a small server can be promised."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from gamewarden.cli import root
from gamewarden.errors import ConfigError
from gamewarden.verdicts.reviewed import Accepted, clean_reviews, flags_promised, offer


def run(*arguments):
    return CliRunner().invoke(root, ["budget", *map(str, arguments)], catch_exceptions=False)


def test_flags_without_a_person_among_them_allow_as_many_flags_as_the_exact_bound_says():
    row = flags_promised(Accepted(1), 29, 0)

    # 0.9 ** 29 is 4.7 %: were one flag in ten wrong, twenty-nine clean ones would hardly ever be seen.
    assert row["wrong_at_most"] == pytest.approx(1 - 0.05 ** (1 / 29))
    assert row["flags_a_month"] == 10
    assert flags_promised(Accepted(1), 28, 0)["flags_a_month"] == 9


@pytest.mark.parametrize("flags", [3, 10, 50])
@pytest.mark.parametrize("wrong", [0.5, 1, 1.9])
def test_what_is_offered_is_what_is_promised_then(flags, wrong):
    accepted = Accepted(wrong)
    needed = clean_reviews(accepted, flags)

    assert flags_promised(accepted, needed, 0)["flags_a_month"] >= flags
    assert flags_promised(accepted, needed - 1, 0)["flags_a_month"] < flags


@pytest.mark.parametrize(("reviewed", "wrong"), [(30, 0.02), (30, 0.2), (100, 0.05), (300, 0.4)])
def test_the_promise_fails_in_at_most_one_of_twenty_reviews(reviewed, wrong):
    accepted, draw = Accepted(2), np.random.default_rng(5)
    people = draw.binomial(reviewed, wrong, size=2000)

    # Of F flags a month F × wrong are people in the mean, and 2 were promised.
    allowed = {k: flags_promised(accepted, reviewed, int(k))["flags_a_month"] for k in np.unique(people)}
    broken = np.mean([allowed[k] * wrong > 2 for k in people])

    # 5 % of 2,000 draws; 6.5 % and more would happen once in five hundred times.
    assert broken <= 0.065


def test_many_people_among_the_flags_allow_none():
    row = flags_promised(Accepted(0.5), 20, 15)

    assert row["flags_a_month"] == 0
    assert "not one flag a month" in row["says"]


def test_a_server_of_five_hundred_is_told_plainly_and_offered_what_it_can_have():
    ended = run("--wrong-per-month", 1, "--players", 500)

    assert ended.exit_code == 0
    assert "1,497 humans are more than the 500 people who play: nobody can promise it of them all" in ended.stderr
    assert "without a person among them 29 reviews allow 10 flags a month" in ended.stderr
    assert "--reviewed FILE" in ended.stderr


def test_reviewed_flags_are_read_from_their_outcomes(tmp_path):
    flags = tmp_path / "flags.csv"
    pl.DataFrame({"actor": [f"a{at}" for at in range(40)], "bot": [at > 0 for at in range(40)]}).write_csv(flags)

    ended = run("--wrong-per-month", 1, "--reviewed", flags, "--json")

    (row,) = json.loads(ended.stdout)
    assert (row["reviewed"], row["people"]) == (40, 1)
    assert row["flags_a_month"] == 8


def test_whom_one_rater_of_three_called_a_bot_counts_as_a_person_and_a_models_word_not_at_all(tmp_path):
    flags = tmp_path / "flags.csv"
    flags.write_text(
        "actor,bot,votes,source\na,true,3,rater\nb,true,1,rater\nc,true,,account-day@0123456789ab\nd,false,3,rater\n"
    )

    (row,) = json.loads(run("--wrong-per-month", 1, "--reviewed", flags, "--json").stdout)

    assert (row["reviewed"], row["people"]) == (3, 2)


def test_a_table_in_which_nobody_was_reviewed_is_our_error(tmp_path):
    (tmp_path / "flags.csv").write_text("actor,bot,source\na,false,ban\n")

    with pytest.raises(Exception, match="nobody in it was reviewed by a person"):
        run("--wrong-per-month", 1, "--reviewed", tmp_path / "flags.csv")


def test_numbers_that_promise_nothing_are_refused():
    with pytest.raises(ConfigError, match="wrong flags a month"):
        Accepted(0)
    with pytest.raises(ConfigError, match="reviewed flags cannot be used"):
        flags_promised(Accepted(1), 0, 0)


def test_an_offer_names_no_example_that_would_be_all_wrong():
    assert "10 flags a month" not in offer(Accepted(20))
    assert "50 flags a month" in offer(Accepted(20))
