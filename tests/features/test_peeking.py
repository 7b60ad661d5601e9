"""Folds that are asked in the middle of their rows: what they say then, and that asking changes nothing."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden import features
from gamewarden.core.durations import HOUR
from gamewarden.features.folding import Peeks, folded
from gamewarden.features.paths.recipe import Paths
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.tables import FrameEvents
from made_up import CHUNKS, play_days

KINDS = CHUNKS.vocabulary
RECIPES = {
    "days": SelfSimilarity(vocabulary=KINDS),
    "hours": SelfSimilarity(vocabulary=KINDS, every=HOUR),
    "pulses": Pulses(vocabulary=KINDS),
    "ways": Paths(min_points=1),
    "chunks": CHUNKS,
}
STEP = 1_500


@pytest.fixture(scope="module")
def log():
    return play_days(2).sort("at").with_columns(x=pl.int_range(pl.len()) % 90, y=pl.lit(2))


def pushed(fold, rows):
    for batch in FrameEvents(rows).batches(fold.columns):
        fold.push(batch)


def asked(recipe, log):
    """A fold that is asked now and then of whoever came since, and each answer with the rows so far."""
    fold, answers = recipe.fold(), []
    for begin in range(0, log.height, STEP):
        part = log[begin : begin + STEP]
        pushed(fold, part)
        names = part["actor"].unique().sort()
        answers.append((fold.peek(names.to_arrow()), log[: begin + STEP], names.to_list()))
        fold.mark()
    return fold, answers


@pytest.mark.parametrize("name", ["days", "hours", "pulses", "ways"])
def test_a_fold_says_what_measuring_the_rows_so_far_says(log, name):
    _, answers = asked(RECIPES[name], log)

    for said, rows, names in answers:
        expected = RECIPES[name].measure(FrameEvents(rows)).filter(pl.col("actor").is_in(names))
        assert_frame_equal(said, expected, check_exact=True)


def test_each_chunk_is_said_once_when_it_is_whole(log):
    _, answers = asked(CHUNKS, log)

    together = pl.concat([said for said, _, _ in answers]).sort("actor", "since")
    assert_frame_equal(together, CHUNKS.measure(FrameEvents(log)), check_exact=True)


@pytest.mark.parametrize("name", RECIPES)
def test_what_a_fold_says_at_the_end_is_the_same_asked_or_not(log, name):
    rows = log.sample(fraction=1.0, shuffle=True, seed=4).sort(pl.col("at").dt.truncate("20m"), maintain_order=True)
    fold, _ = asked(RECIPES[name], rows)
    while fold.again():
        pushed(fold, rows)

    assert_frame_equal(fold.frame(), folded(RECIPES[name], FrameEvents(rows)).frame, check_exact=True)


@pytest.mark.parametrize("name", RECIPES)
def test_whoever_came_out_of_order_is_named_and_not_said(log, name):
    late = log.filter(actor="bot003").reverse()
    fold = RECIPES[name].fold()
    pushed(fold, pl.concat([log.filter(pl.col("actor") != "bot003"), late]))
    everybody = log["actor"].unique().to_arrow()

    assert fold.out_of_order(everybody).to_pylist() == ["bot003"]
    assert "bot003" not in fold.peek(everybody)["actor"]
    assert "bot004" in fold.peek(everybody)["actor"]


def test_the_features_of_actors_and_their_periods_can_be_asked():
    mine = ("self-similarity", "pulses", "actions", "paths")

    assert all(isinstance(features.load(name)().fold(), Peeks) for name in mine)
