"""A detector that counting log entries alone beats is never shown without a sentence that says so."""

import json

import polars as pl
import pytest

from commands import run
from gamewarden.detectors.actions.recipe import Interval
from gamewarden.detectors.logistic.recipe import SelfSimilarityAlone
from gamewarden.evaluation.account_links import NO_TIES
from gamewarden.evaluation.baselines import EventsAlone
from gamewarden.evaluation.compare_splits import compare
from gamewarden.evaluation.counting import DECIDED, RANKED, beaten, beside_counting
from gamewarden.evaluation.cross_validation import evaluate
from gamewarden.evaluation.leave_pair_out import leave_pair_out
from gamewarden.evaluation.split_schemes import Ground
from gamewarden.presentation.evaluation_page import evaluation_page
from gamewarden.tables import LABELS, check
from made_up import CHUNKS, GivenNumbers, account_days, action_chunks, labels_of

LABELLED = check(labels_of(20, 20, source="rater"), LABELS, "test")
BLIND = SelfSimilarityAlone(GivenNumbers(), strengths=(1.0,))


def told_by_events(days):
    """Days whose number of events tells bots from humans, and whose self-similarity tells nothing."""
    bot = pl.col("actor").str.starts_with("bot")
    noise = (pl.int_range(pl.len()) * 7 % 11) / 11
    return days.with_columns(events=pl.when(bot).then(5_000).otherwise(500).cast(pl.Int64), self_similarity=noise)


@pytest.fixture(scope="module")
def result():
    ground = Ground(told_by_events(account_days(20, 20, 2)), LABELLED, NO_TIES, folds=3)
    return compare((BLIND,), ground, ("random", "actor"))


def summary(*rows):
    """Rows of detector, unit, humans, AUC and TPR at 1 %, with as many bots as humans."""
    found = pl.DataFrame(rows, schema=["detector", "unit", "humans", "auc", "tpr_at_1pct"], orient="row")
    return found.with_columns(bots="humans")


def test_a_beaten_detector_is_named_with_both_figures(result):
    (warning,) = [line for line in result.warnings if line.startswith("self-similarity")]

    assert warning.startswith("self-similarity does worse than how much somebody plays: by ")
    assert "in the split by random" in warning
    assert "in the split by actor, counting log entries alone ranks bots higher: AUC 1.000 beside 0." in warning


def test_the_sentence_is_on_the_page_and_in_every_row_of_the_summary(result):
    told = result.summary.select("detector", "says").unique()

    assert told.filter(pl.col("says").is_not_null())["detector"].unique().to_list() == ["self-similarity"]
    assert not told.filter(detector="self-similarity")["says"].has_nulls()
    assert "does worse than how much somebody plays" in evaluation_page(result, "log", "labels")


def test_a_single_split_says_it_among_its_notes():
    seen = evaluate([BLIND], told_by_events(account_days(20, 20, 2)), LABELLED, folds=3)

    assert any(note.startswith("self-similarity does worse than how much somebody plays") for note in seen.notes)


def test_a_detector_that_beats_counting_gets_no_sentence():
    seen = beside_counting(summary(("a", "actor", 200, 0.9, 0.5), ("events alone", "actor", 200, 0.8, 0.4)), RANKED)

    assert seen["says"].to_list() == [None, None]
    assert list(beaten(seen)) == []


def test_counting_that_catches_more_is_told_though_it_ranks_worse():
    seen = beside_counting(summary(("a", "actor", 200, 0.9, 0.3), ("events alone", "actor", 200, 0.8, 0.4)), RANKED)

    assert seen["says"][0] == "Counting log entries alone catches more at 1 % FPR: 40.0% beside 30.0%."


def test_too_few_people_cannot_show_who_catches_more():
    seen = beside_counting(summary(("a", "actor", 99, 0.9, 0.3), ("events alone", "actor", 99, 0.8, 0.4)), RANKED)

    assert seen["says"].to_list() == [None, None]


def test_what_is_unknown_is_not_beaten():
    seen = beside_counting(summary(("a", "actor", 0, None, None), ("events alone", "actor", 0, 0.8, 0.4)), RANKED)

    assert seen["says"].to_list() == [None, None]


def test_a_summary_without_counting_says_nothing():
    seen = beside_counting(pl.DataFrame({"detector": ["a"], "mcc": [0.1]}), DECIDED)

    assert seen["says"].to_list() == [None]


def test_pairs_held_out_are_judged_beside_counting_too():
    chunks = action_chunks(5, 5, hours=1.0)
    busy = pl.when(pl.col("actor").str.starts_with("bot")).then(900).otherwise(90).cast(pl.Int64)
    shuffled = chunks.with_columns(pl.col("^i_.*$").shuffle(seed=1), events=busy)

    seen = leave_pair_out([Interval(CHUNKS, least=2), EventsAlone()], shuffled, labels_of(5, 5), draws=10)

    counting = seen.summary.filter(detector="events alone").row(0, named=True)
    assert counting["mcc"] == 1.0
    assert seen.summary["says"][0].startswith("Counting log entries alone decides better: MCC 1.00 beside ")
    assert any(note.startswith("WARNING: actions-interval: counting log entries alone decides") for note in seen.notes)


def test_machines_read_the_sentence_in_a_column(tmp_path):
    run("world", tmp_path / "world", "--accounts", 60, "--days", 1, "--seed", 101)

    given = ("--labels", tmp_path / "world/labels.csv", "--detector", "self-similarity", "--json", "--folds", 3)
    ended = run("evaluate", tmp_path / "world/events.parquet", *given)

    rows = json.loads(ended.stdout)
    aucs = {row["detector"]: row["auc"] for row in rows if row["unit"] == "actor"}
    said = {row["detector"]: row["says"] for row in rows if row["unit"] == "actor"}
    assert (said["self-similarity"] is None) == (aucs["self-similarity"] >= aucs["events alone"])
    assert said["events alone"] is None
    assert ("self-similarity does worse" in ended.stderr) == (said["self-similarity"] is not None)
