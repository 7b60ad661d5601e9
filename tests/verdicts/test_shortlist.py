"""Who has to be looked at closely for a list: never fewer than stand on it."""

from datetime import timedelta

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gamewarden.tables import FEATURES
from gamewarden.verdicts.ranking import rank
from gamewarden.verdicts.shortlist import GLANCE, highest, shortlist
from made_up import DAY, START

NOTHING = pl.DataFrame(schema=dict(FEATURES.columns))
SHARES = st.one_of(st.none(), st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.9, 1.0]), st.floats(0, 1))


def scores_of(*actors):
    """SCORES of actors called by their number, each with the probabilities of its days."""
    rows = [
        (f"a{number:03}", START + day * DAY, START + (day + 1) * DAY, "d", "d@1", share, None, 10, None, None)
        for number, shares in enumerate(actors)
        for day, share in enumerate(shares)
    ]
    kinds = {"probability": pl.Float64, "fpr": pl.Float64, "covered": pl.Float64, "far": pl.String}
    names = ["actor", "since", "until", "detector", "model", "probability", "fpr", "events", "covered", "far"]
    return pl.DataFrame(rows, schema=names, orient="row", schema_overrides=kinds)


def ranked(scores, threshold):
    return rank(scores, NOTHING, threshold=threshold).filter(pl.col("probability") >= threshold)


@given(
    st.lists(st.lists(SHARES, min_size=1, max_size=4), min_size=1, max_size=12),
    st.one_of(st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.9, 1.0]), st.floats(0, 1)),
    st.integers(0, 5),
)
@example([[0.9, 0.9, 0.9], [0.9]], 0.9, 1)  # both at the border, and which is above it only the list knows
@example([[1.0], [1.0, 1.0], [1.0]], 0.5, 1)
@example([[0.99], [0.98], [0.9 - 1e-13]], 0.9, 1)  # the last does not reach it, by less than can be seen at a glance
def test_the_shortlist_gives_the_list_of_everybody_and_counts_whom_it_leaves_out(actors, threshold, top):
    scores = scores_of(*actors)
    found = shortlist(scores.select(GLANCE), threshold, top)

    wanted = ranked(scores, threshold)
    closely = ranked(scores.filter(pl.col("actor").is_in(found.actors)), threshold)
    first = top or wanted.height
    assert closely.head(first).equals(wanted.head(first))
    assert closely.height + found.others == wanted.height


@given(st.lists(st.lists(SHARES, min_size=1, max_size=4), min_size=1, max_size=12))
def test_the_highest_of_all_is_among_the_highest_who_are_looked_at_closely(actors):
    scores = scores_of(*actors)
    judged = rank(scores, NOTHING).drop_nulls("probability")

    closely = rank(scores.filter(pl.col("actor").is_in(highest(scores).actors)), NOTHING)
    assert closely.head(1).equals(judged.head(1))


def test_of_many_only_the_first_are_looked_at_closely():
    found = shortlist(scores_of(*([number / 1000] * 3 for number in range(1000))), 0.4995, 10)

    assert sorted(found.actors) == [f"a{number:03}" for number in range(990, 1000)]
    assert found.others == 490


def test_whoever_looks_like_the_last_of_the_first_is_looked_at_too():
    found = shortlist(scores_of([0.9], [0.8], [0.8], [0.8], [0.7]), 0.5, 2)

    assert (sorted(found.actors), found.others) == (["a000", "a001", "a002", "a003"], 1)


def test_one_period_that_looks_like_a_bot_among_others_that_do_not_is_no_reason_to_look():
    assert shortlist(scores_of([0.99, 0.01, 0.01], [0.9]), 0.8).actors == ["a001"]


def test_who_was_never_judged_is_not_looked_at():
    scores = scores_of([None, None], [None])

    assert shortlist(scores, 0.0).actors == []
    assert highest(scores).actors == []


@pytest.mark.parametrize("top", [0, 1])
def test_the_periods_are_those_of_all_who_may_reach_the_list(top):
    found = shortlist(scores_of([0.99], [0.9, 0.9], [0.1, 0.1, 0.1]), 0.5, top)

    assert sorted(found.periods["since"]) == [START, START + timedelta(days=1)]
    assert found.periods.columns == ["since", "until"]
