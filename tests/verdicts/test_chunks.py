from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from gamewarden.errors import ConfigError
from gamewarden.verdicts.chunks import Patience, roll_up

START = datetime(2026, 3, 1, tzinfo=UTC)
HALF = timedelta(minutes=30)


def scores(actor="a", *probabilities, gap=0):
    """Chunks of an hour, each half an hour after the one before, with a gap of so many hours in the middle."""
    rows = []
    for place, probability in enumerate(probabilities):
        since = START + place * HALF + (timedelta(hours=gap) if place >= len(probabilities) / 2 else timedelta())
        rows.append({"actor": actor, "since": since, "until": since + 2 * HALF, "probability": probability})
    named = {"detector": "actions-interval", "model": "actions-interval@1", "fpr": 0.1, "events": 50}
    return pl.DataFrame(rows, schema_overrides={"probability": pl.Float64}).with_columns(
        *(pl.lit(value).alias(name) for name, value in named.items())
    )


def test_one_bot_like_chunk_is_never_enough_to_be_sure():
    row = roll_up(scores("a", 0.99)).row(0, named=True)

    assert row["verdict"] == "insufficient"
    assert row["chunks_until_sure"] is None
    assert 0.5 < row["belief"] < 0.99


def test_chunks_until_sure_is_the_time_to_detection():
    row = roll_up(scores("a", *[0.99] * 8)).row(0, named=True)

    # Each chunk but the first is half new: 0.3 × 4.6 for the first, 0.69 for each further one, 4.6 are needed.
    assert row["verdict"] == "bot"
    assert row["chunks_until_sure"] == 6
    assert row["minutes_until_sure"] == 60 + 5 * 30


def test_what_overlaps_counts_once_and_what_follows_a_gap_counts_whole():
    together = roll_up(scores("a", 0.99, 0.99))["belief"].item()
    apart = roll_up(scores("a", 0.99, 0.99, gap=5))["belief"].item()

    assert apart > together


def test_a_streak_ends_with_a_human_chunk_and_not_with_one_nobody_could_judge():
    row = roll_up(scores("a", 0.9, None, 0.9, 0.9, 0.1, 0.9)).row(0, named=True)

    assert row["streak"] == 3
    assert row["flagged"] == 4
    assert (row["chunks"], row["unjudged"]) == (5, 1)


def test_without_a_judged_chunk_the_answer_is_insufficient_and_no_number():
    row = roll_up(scores("a", None, None)).row(0, named=True)

    assert row["verdict"] == "insufficient"
    assert row["belief"] is None
    assert row["chunks_until_sure"] is None


def test_whoever_plays_like_a_human_for_long_is_called_one():
    assert roll_up(scores("a", *[0.02] * 12))["verdict"].item() == "human"


def test_mixed_play_stays_insufficient():
    assert roll_up(scores("a", *[0.9, 0.1] * 10))["verdict"].item() == "insufficient"


def test_an_actor_adds_up_the_same_alone_as_in_a_crowd_in_any_order():
    crowd = pl.concat([scores("a", *[0.9] * 6), scores("b", *[0.2] * 4), scores("c", None)])

    together = roll_up(crowd.sample(fraction=1.0, shuffle=True, seed=1))

    assert together["actor"].to_list() == ["a", "b", "c"]
    assert together.filter(actor="b").equals(roll_up(scores("b", *[0.2] * 4)))


def test_no_scores_give_no_rows():
    assert roll_up(scores("a", 0.5).clear()).height == 0


@pytest.mark.parametrize("wrong", [{"sure": 1.0}, {"prior": 0.0}, {"discount": 0.0}, {"flagged": 2.0}])
def test_rules_that_decide_nothing_are_refused(wrong):
    with pytest.raises(ConfigError, match="chunks: "):
        Patience(**wrong)
