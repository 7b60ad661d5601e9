"""Real characters of Aion, as an operator would bring them; `benchmarks/real_aion.py` has the README's figures."""

import os
from pathlib import Path

import polars as pl
import pytest

from gamewarden import folds
from gamewarden.detectors.account_table import AccountTableDetector
from gamewarden.evaluation.metrics import auc, tpr_at_fpr
from gamewarden.features.account_table import AccountTable
from gamewarden.pipeline.account_tables import labels_of_table
from gamewarden.readers.small import read_table
from gamewarden.tables import FrameRows

DATA = os.environ.get("GAMEWARDEN_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the characters of Aion are not here")


@pytest.fixture(scope="module")
def rows():
    return FrameRows(read_table(Path(DATA) / "aion" / "characters.csv"), "characters.csv")


@pytest.fixture(scope="module")
def recipe(rows):
    return AccountTable(actor="Actor", group="A_Acc", label="Type").freeze(rows)


def test_all_twelve_honest_columns_are_fed_play_time_among_them(recipe):
    assert len(recipe.names) == 12 + 1
    assert {"Playtime", "playtime_per_day"} <= set(recipe.names)
    assert recipe.left_out == {}


def test_days_of_more_than_86400_seconds_are_flagged(recipe, rows):
    (line,) = recipe.remarks_on(recipe.measure(rows))

    assert line.startswith("playtime_per_day cannot be true in 57 rows (a day has 86,400 seconds)")


def test_numbers_of_accounts_and_characters_are_caught_where_nobody_names_them(rows):
    numbered = rows.frame.with_columns(key=pl.int_range(pl.len()).cast(pl.String), blob=pl.col("A_Acc"))

    caught = AccountTable(actor="key", group="A_Acc", label="Type").freeze(FrameRows(numbered)).identifiers

    assert caught == ("Actor", "blob")


def test_a_small_model_tells_bots_of_accounts_it_never_saw(recipe, rows):
    table = recipe.measure(rows)
    labels, _ = labels_of_table(rows, recipe, "Bot")
    known = table.select("actor").join(labels, on="actor", maintain_order="left")
    bot, group = known["bot"].to_numpy(), known["group"].to_numpy().astype(str)
    out = folds.deal(group, bot, 5, 3) == 0
    machine = AccountTableDetector(feature=recipe, rounds=120, runs=1).learn(table.filter(~pl.Series(out)), labels)

    decisions = machine.decide(table.filter(pl.Series(out)))

    assert auc(decisions, bot[out]) > 0.88
    assert tpr_at_fpr(decisions, bot[out], 0.01) > 0.6
