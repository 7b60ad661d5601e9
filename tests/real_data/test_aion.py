"""Real characters of Aion, as an operator would bring them; `benchmarks/real_aion.py` has the published figures."""

import math
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from gamewarden.core.binomial import chance_beside, lower_bound, upper_bound
from gamewarden.detectors.account_table.recipe import AccountTableDetector
from gamewarden.evaluation.metrics import auc, tpr_at_fpr
from gamewarden.features.account_table.labels import labels_of_table
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.learning import folds
from gamewarden.learning.ladders import Ladder
from gamewarden.readers.logs.operator_tables import read_table
from gamewarden.tables import FrameRows

DATA = os.environ.get("GAMEWARDEN_DATA")
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the characters of Aion are not here"),
]


@pytest.fixture(scope="module")
def rows():
    return FrameRows(read_table(Path(DATA) / "aion" / "characters.csv"), "characters.csv")


@pytest.fixture(scope="module")
def recipe(rows):
    return AccountTable(actor="Actor", group="A_Acc", label="Type").learn(rows)


def test_all_twelve_honest_columns_are_fed_play_time_among_them(recipe):
    assert len(recipe.names) == 12 + 1
    assert {"Playtime", "playtime_per_day"} <= set(recipe.names)
    assert recipe.left_out == {}


def test_days_of_more_than_86400_seconds_are_flagged(recipe, rows):
    (line,) = recipe.remarks_on(recipe.measure(rows))

    assert line.startswith("playtime_per_day cannot be true in 57 rows (a day has 86,400 seconds)")


def test_numbers_of_accounts_and_characters_are_caught_where_nobody_names_them(rows):
    numbered = rows.frame.with_columns(key=pl.int_range(pl.len()).cast(pl.String), blob=pl.col("A_Acc"))

    caught = AccountTable(actor="key", group="A_Acc", label="Type").learn(FrameRows(numbered)).identifiers

    assert caught == ("Actor", "blob")


@pytest.fixture(scope="module")
def strangers(recipe, rows):
    """A small model of two thirds of the accounts by the path a user takes, and the rows of the others."""
    table = recipe.measure(rows)
    labels, _ = labels_of_table(rows, recipe, "Bot")
    known = table.select("actor").join(labels, on="actor", maintain_order="left")
    group = known["group"].to_numpy().astype(str)
    out = pl.Series(folds.assign_folds(group, known["bot"].to_numpy(), 3, 5) == 0)
    model = AccountTableDetector(feature=recipe, rounds=100, runs=1).fit(table.filter(~out), labels)
    return model, table.with_columns(known["bot"], known["group"]).filter(out)


def flagged(model, people):
    """How many accounts of these rows reach 1 in 100, and the chance of so many if the promise holds."""
    told = people.select("group", fpr=model.score(people.drop("bot", "group"))["fpr"])
    accounts = told.group_by("group").agg(pl.col("fpr").min())
    hits, known = int((accounts["fpr"] <= 0.01).sum()), model.reference.humans
    return hits, chance_beside(hits, accounts.height, math.floor(0.01 * (known + 1)) - 1, known)


def groups(model, people):
    """People by fifth of their hours a day, and those who play for 16 hours and more."""
    humans = people.filter(~pl.col("bot"))
    (borders,) = (ladder.borders for ladder in model.peers.ladders if ladder.column == "playtime_per_day")
    ladder = Ladder("playtime_per_day", borders[:4])
    yield from (humans.filter(pl.Series(ladder.steps(humans) == step)) for step in range(1, 6))
    yield humans.filter(pl.col("playtime_per_day") >= 16 * 3600)


def test_1_in_100_holds_for_accounts_of_people_on_every_fifth_of_hours_a_day(strangers):
    """Those who play for 16 hours and more are no step of their own unless `--peers learned` asks for it."""
    model, people = strangers
    *fifths, _ = groups(model, people)

    chances = [flagged(model, part)[1] for part in fifths]

    assert min(chances) > 0.01 / len(chances)


def test_one_reference_for_all_rows_breaks_its_promise_to_those_who_play_most(strangers):
    """The fault that the test above is there for, planted."""
    model, people = strangers
    humans = replace(model.peers, ladders=(), steps=())
    pooled = replace(model, peers=humans)

    *_, busiest, all_day = (flagged(pooled, part) for part in groups(model, people))

    assert busiest[1] < 0.001
    assert all_day[1] < 1e-6
    assert all_day[0] > 10


def test_probabilities_at_the_top_are_what_is_seen_on_accounts_it_never_saw(strangers):
    model, people = strangers
    probability = model.score(people.drop("bot", "group"))["probability"].to_numpy()
    bot = people["bot"].to_numpy()

    for low, high in ((0.8, 0.95), (0.95, 1.0)):
        there = (probability >= low) & (probability < high)
        said, seen = probability[there].mean(), int(bot[there].sum())
        assert lower_bound(seen, int(there.sum()), 0.005) <= said <= upper_bound(seen, int(there.sum()), 0.005)


def test_a_small_model_tells_bots_of_accounts_it_never_saw(recipe, rows):
    table = recipe.measure(rows)
    labels, _ = labels_of_table(rows, recipe, "Bot")
    known = table.select("actor").join(labels, on="actor", maintain_order="left")
    bot, group = known["bot"].to_numpy(), known["group"].to_numpy().astype(str)
    out = folds.assign_folds(group, bot, 5, 3) == 0
    machine = AccountTableDetector(feature=recipe, rounds=120, runs=1).learn(table.filter(~pl.Series(out)), labels)

    decisions = machine.decide(table.filter(pl.Series(out)))

    assert auc(decisions, bot[out]) > 0.88
    assert tpr_at_fpr(decisions, bot[out], 0.01) > 0.6
