"""What a game master reads of one account."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.detectors.logistic.recipe import FOURTEEN, AccountDay
from gamewarden.pipeline import Explanation
from gamewarden.presentation.story import explanation_text
from made_up import GivenNumbers, account_days, labels_of

ROWS = account_days()
MODEL = AccountDay(GivenNumbers()).fit(ROWS, labels_of())
SIDES = {"bot": "+", "human": "−"}


def contradictions(text):
    """Headings that name a side to which none of their facts points."""
    for paragraph in text.split("\n\n"):
        heading, *facts = paragraph.splitlines()
        for side, sign in SIDES.items():
            if f": speaks for a {side} " in heading and not any(fact.startswith(f"  {sign} ") for fact in facts):
                yield paragraph


def told(model, period):
    return explanation_text(Explanation("a", model, model.score(period), model.explain(period), period, pl.DataFrame()))


@pytest.fixture(scope="module")
def suppressed():
    """Two numbers that mostly measure what clouds a third: a regression weighs them against what they say alone."""
    table = account_days(60, 60, 1)
    draw = np.random.default_rng(5)
    bot = table["actor"].str.starts_with("bot").to_numpy().astype(float)
    cloud = draw.normal(size=table.height)
    noise = 0.3 * draw.normal(size=(3, table.height))
    return table.with_columns(
        self_sim=pl.Series(0.9 + 0.01 * (0.5 * bot + cloud + noise[0])),
        cosim_mode=pl.Series(np.round(np.exp(3 + 0.5 * bot + cloud + noise[1])).astype(np.int64)),
        total_log_count=pl.Series(np.round(np.exp(5 + 2 * bot + cloud + noise[2])).astype(np.int64)),
    )


@pytest.fixture(scope="module")
def model(suppressed):
    return AccountDay(GivenNumbers(), columns=("self_sim", "cosim_mode", "total_log_count")).fit(
        suppressed, labels_of(60, 60)
    )


def test_a_heading_never_names_a_side_to_which_none_of_its_facts_points(model, suppressed):
    texts = [told(model, suppressed[at]) for at in range(suppressed.height)]

    assert any(": speaks for a bot" in text for text in texts)
    assert any(": speaks for a human" in text for text in texts)
    assert [paragraph for text in texts for paragraph in contradictions(text)] == []


def test_a_topic_that_counts_against_what_its_facts_say_alone_says_so(model, suppressed):
    texts = [told(model, suppressed[at]) for at in range(suppressed.height)]

    assert any("How it repeats itself: alone more like a bot's; beside the other topics" in text for text in texts)


@given(
    st.lists(
        st.tuples(st.sampled_from(FOURTEEN), st.floats(-4, 4), st.one_of(st.none(), st.floats(-4, 4))),
        min_size=1,
        unique_by=lambda fact: fact[0],
    )
)
def test_whatever_the_evidence_no_heading_contradicts_all_its_marked_facts(facts):
    evidence = pl.DataFrame(
        [{"feature": name, "weight": weight, "alone": alone, "says": "So."} for name, weight, alone in facts],
        schema_overrides={"alone": pl.Float64},
    )
    if evidence["alone"].null_count():
        evidence = evidence.with_columns(alone=pl.lit(None, pl.Float64))

    text = explanation_text(Explanation("a", MODEL, MODEL.score(ROWS[0]), evidence, ROWS[0], pl.DataFrame()))

    unmarked = evidence["alone"].null_count() == evidence.height
    assert unmarked or not list(contradictions(text))
