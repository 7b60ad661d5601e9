"""What a game master reads of one account."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.detectors.logistic.recipe import FOURTEEN, AccountDay
from gamewarden.pipeline import Explanation
from gamewarden.presentation.story import explanation_text, rarity
from gamewarden.presentation.verdict_page import verdict_text
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


def test_of_a_style_that_nobody_reviewed_plays_in_it_is_said_so_and_not_that_most_people_look_alike():
    short = account_days(20, 40).with_columns(total_use_time_min=pl.lit(60.0))
    unlike = AccountDay(GivenNumbers()).fit(short, labels_of(20, 40))
    bot = short.filter(pl.col("actor").str.starts_with("bot"))[0].with_columns(total_use_time_min=pl.lit(1300.0))

    text = told(unlike, bot)

    assert "none of 40 people looks as bot-like; nobody who plays in this style has been reviewed." in text
    assert "most people" not in text


@pytest.mark.parametrize(
    ("style", "fpr", "words"),
    [
        ("hard-core", 1 / 400, "none of 399 people looks as bot-like"),
        ("hard-core", 1 / 31, "none of the 30 people who are known to play in its style looks as bot-like"),
        ("veteran", 1 / 31, "at most 1 in 31 people looks as bot-like"),
        ("newbie", 3 / 400, "at most 1 in 133 people looks as bot-like"),  # its share: 2 of 399 people
        ("newbie", 1 / 3, "at most 1 in 3 people looks as bot-like"),  # over all people: it says nothing of newbies
        ("grinder", 0.02, "at most 1 in 50 people looks as bot-like; nobody who plays in this style has been reviewed"),
        (None, 0.02, "at most 1 in 50 people looks as bot-like"),
        ("veteran", 0.9, "a rate this high allows no conclusion"),
    ],
)
def test_a_rate_is_said_in_people_without_claiming_more_than_it_means(style, fpr, words):
    known = {"humans": 399, "humans_by_style": {"hard-core": 30, "veteran": 367, "newbie": 2}}
    card = replace(MODEL.card, parameters={**MODEL.card.parameters, **known})

    assert rarity(card, fpr, style) == words


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


FAR_UP = "(no human in training was that far up)"


def test_a_verdict_shown_marks_no_usual_number_and_nothing_unreached_as_a_persons():
    weights = {
        "Receives in a usual number of trades: 4, a typical human has 4.": 2.0,
        f"Receives in more trades than nearly all humans: 47, a typical human has 4 {FAR_UP}.": -1.5,
        "Kills fewer monsters than most humans: 150, a typical human has 300 (26 % of humans are that far down).": -1.0,
        f"Acts faster than nearly all humans: 9.0, a typical human has 4.0 {FAR_UP}.": 0.5,
    }
    told = {"probability": None, "fpr": None, "agree": 1, "point": "watch", "models": [], "fusion": None}
    times = {"since": "2026-03-02T00:00", "until": "2026-03-03T00:00", "at": "2026-03-03T01:00"}
    values = {"actor": "a", "rules": {"bots": 0.05}, "caveats": [], "gamewarden": "0", **told, **times}
    evidence = pl.DataFrame({"says": list(weights), "weight": list(weights.values())})

    lines = verdict_text(SimpleNamespace(values=values, evidence=evidence))

    assert [line[:9] for line in lines if line.startswith("  ")] == ["  · Recei", "  · Recei", "  − Kills", "  + Acts "]


@pytest.mark.parametrize(
    ("fpr", "says"),
    [(0.0357, "at most 1 in 28 people looks as bot-like"), (0.9, "a rate this high allows no conclusion")],
)
def test_a_verdict_shown_claims_no_more_about_its_rate_than_the_rate_promises(fpr, says):
    told = {"probability": 0.9, "fpr": fpr, "agree": 1, "point": "watch", "models": [], "fusion": None}
    times = {"since": "2026-03-02T00:00", "until": "2026-03-03T00:00", "at": "2026-03-03T01:00"}
    values = {"actor": "a", "rules": {"bots": 0.05}, "caveats": [], "gamewarden": "0", **told, **times}
    evidence = pl.DataFrame(schema={"says": pl.String, "weight": pl.Float64})

    lines = verdict_text(SimpleNamespace(values=values, evidence=evidence))

    assert f"False-positive rate {fpr:g}: {says}." in lines
