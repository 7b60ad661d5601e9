"""Humans by style: what an FPR compares with, and what a stored model says of it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gamewarden import detectors
from gamewarden.contracts import Recipe, model_id
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.errors import ModelError
from gamewarden.learning.reference import Reference, StyleReferences, smallest_fpr
from gamewarden.learning.styles import Styles
from made_up import GivenNumbers, account_days, labels_of


@pytest.fixture(scope="module")
def model():
    return AccountDay(feature=GivenNumbers()).fit(account_days(20, 40), labels_of(20, 40))


def humans(*rows):
    """Rows of (actor, hours a day, decision)."""
    day = account_days(0, 1, 1).select("since", "until").row(0)
    return pl.DataFrame(
        [
            {"actor": actor, "since": day[0], "until": day[1], "total_use_time_min": hours * 60.0, "held_out": value}
            for actor, hours, value in rows
        ]
    )


def fpr(references, table):
    pooled = Reference.of(table)
    return references.fpr(table, table["held_out"].to_numpy(), pooled)


def test_a_row_is_compared_with_people_of_its_style_and_never_with_fewer_than_all():
    table = humans(("a", 20, 5.0), ("b", 20, 4.0), ("c", 2, 3.0), ("d", 2, 0.0), ("e", 2, -1.0))

    references = StyleReferences.of(Styles(), table)

    # a: 1 of 2 hard-core ones and itself, 2/3, but these are 2 of 5 and itself, 3/6; c: 1 of 3 veterans (2/4), but 3 of
    # all 5 (4/6).
    assert references.counts() == {"hard-core": 2, "veteran": 3}
    assert fpr(references, table)[[0, 2]].tolist() == pytest.approx([3 / 6, 4 / 6])


def test_a_human_counts_once_with_the_most_bot_like_row():
    table = humans(("a", 2, 5.0), ("a", 2, 1.0), ("b", 2, 0.0), ("c", 2, -1.0))

    reference = Reference.of(table)

    assert (reference.values, reference.weights, reference.humans) == ((-1.0, 0.0, 5.0), (1.0, 1.0, 1.0), 3)
    assert reference.fpr(np.array([2.0])).tolist() == pytest.approx([2 / 4])


def people_on_days(draw, count, days, style=2):
    """Rows of people on several days, which are alike for a person."""
    moods = draw.normal(size=count)
    return humans(
        *((f"p{who}", style, mood + draw.normal()) for who, mood in enumerate(moods.tolist()) for _ in range(days))
    )


@pytest.mark.parametrize("days", [1, 7, 14])
def test_at_most_1_in_20_people_have_any_day_at_1_in_20_however_many_days_they_play(days):
    flagged = people = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        known, fresh = people_on_days(draw, 99, days), people_on_days(draw, 50, days)
        rates = StyleReferences.of(Styles(), known).fpr(fresh, fresh["held_out"].to_numpy(), Reference.of(known))
        lowest = fresh.with_columns(fpr=pl.Series(rates)).group_by("actor").agg(pl.col("fpr").min())
        flagged, people = flagged + int((lowest["fpr"] <= 0.05).sum()), people + lowest.height

    # 2,000 people in 40 draws of a reference: a standard deviation is about 9 people.
    assert 0.02 * people < flagged <= 0.05 * people + 3 * 9


def test_a_model_that_shares_weights_among_periods_states_the_rates_it_stated():
    """Models keep weights: those fitted before counted a human by the share of its periods that look as bot-like."""
    before = Reference((-1.0, 0.0, 1.0, 5.0), (1.0, 1.0, 0.5, 0.5), 3)
    table = humans(("a", 2, 5.0), ("a", 2, 1.0), ("b", 2, 0.0), ("c", 2, -1.0))

    assert before.fpr(np.array([2.0, 0.5])).tolist() == pytest.approx([1.5 / 4, 2 / 4])
    assert before.of_same_kind(table) == before
    assert Reference.of(table).of_same_kind(table) == Reference.of(table)


def test_a_human_in_two_styles_counts_once_in_each():
    table = humans(("a", 20, 5.0), ("a", 20, 1.0), ("a", 2, 3.0), ("b", 2, 0.0))

    references = StyleReferences.of(Styles(), table)

    assert references.counts() == {"hard-core": 1, "veteran": 2}
    assert references.by_style["hard-core"].values == (5.0,)
    assert references.by_style["veteran"].values == (0.0, 3.0)


def test_a_style_that_no_human_has_protects_nobody_and_has_no_rate_of_its_own():
    known = humans(*((f"h{at}", 2, at / 10) for at in range(99)))
    references, pooled = StyleReferences.of(Styles(), known), Reference.of(known)
    stranger, decisions = humans(("x", 20, 99.0), ("y", 20, -1.0)), np.array([99.0, -1.0])

    assert references.fpr(stranger, decisions, pooled).tolist() == pytest.approx([1 / 100, 1.0])
    assert references.within(stranger, decisions).to_list() == [None, None]


def test_a_style_protects_at_rates_up_to_its_share_of_people_and_no_further():
    known = humans(*((f"v{at}", 2, at / 100) for at in range(97)), ("p", 20, 9.0), ("q", 20, 1.5))
    references, pooled = StyleReferences.of(Styles(), known), Reference.of(known)
    stranger, decisions = humans(("x", 20, 10.0), ("y", 20, 2.0), ("z", 2, 10.0)), np.array([10.0, 2.0, 10.0])

    # Hard-core people are 2 of 99, with a new one 3 of 100. Within them the rates are 1/3 and 2/3.
    assert references.fpr(stranger, decisions, pooled).tolist() == pytest.approx([0.03, 0.03, 0.01021], abs=1e-4)
    assert references.within(stranger, decisions).to_list() == pytest.approx([1 / 3, 2 / 3, 1 / 98])


def test_the_smallest_rate_of_a_style_is_the_one_that_its_most_bot_like_row_gets():
    for people in (1, 3, 9, 30, 60):
        known = humans(*((f"p{at}", 20 if at < people else 2, at / 10) for at in range(99)))
        references, pooled = StyleReferences.of(Styles(), known), Reference.of(known)

        lowest = references.fpr(humans(("x", 20, 99.0)), np.array([99.0]), pooled)

        assert lowest.tolist() == pytest.approx([smallest_fpr(people, 99)])


def test_scores_say_the_rate_within_the_style_and_null_where_nobody_of_it_was_reviewed():
    people = account_days(20, 40).with_columns(total_use_time_min=pl.lit(60.0))
    model = AccountDay(feature=GivenNumbers()).fit(people, labels_of(20, 40))
    rows = account_days(1, 1, 2, seed=3).with_columns(total_use_time_min=pl.Series([60.0, 1300.0, 60.0, 1300.0]))

    scores = model.score(rows)

    assert "hard-core" not in model.styles.counts()
    assert scores["fpr_peers"].is_null().to_list() == [False, True, False, True]
    assert scores["fpr"].null_count() == 0
    overall = replace(model, styles=None).score(rows)["fpr"]
    assert scores["fpr"].gather([1, 3]).to_list() == overall.gather([1, 3]).to_list()


def test_the_card_says_how_low_an_fpr_can_be_for_each_style(model):
    (sentence,) = (line for line in model.card.weaknesses if "same style of play" in line)

    for style, people in model.styles.counts().items():
        assert f"1 in {1 / smallest_fpr(people, model.reference.humans):.3g} for a {style}" in sentence
    assert "Within rarer styles it promises nothing" in sentence
    assert model.card.parameters["humans_by_style"] == model.styles.counts()


def test_a_model_from_before_there_were_styles_is_read_and_scores_as_it_did(model):
    values = model.to_dict()
    del values["styles"]
    values["recipe"] = {name: value for name, value in values["recipe"].items() if name != "styles"} | {"method": 2}
    feature = Recipe(values["feature"]["name"], values["feature"]["options"])
    values["id"] = model_id(values["detector"], values["recipe"], feature, values["data"])

    old = detectors.load_model(values)

    table = account_days(5, 5, seed=3)
    assert old.score(table)["fpr"].equals(replace(model, styles=None).score(table)["fpr"])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([], r"styles is \[\], not an object"),
        ({"rule": {}}, "lacks 'by_style'"),
        ({"rule": {"hardcore_hours": -1.0}, "by_style": {}}, "styles: hardcore_hours -1.0 cannot be used"),
        ({"rule": {}, "by_style": {"veteran": {"values": [0.0], "weights": [1.0]}}}, "lacks 'humans'"),
        ({"rule": {}, "by_style": {"veteran": {"values": [0.0], "weights": [1.0], "humans": 4}}}, "add up"),
    ],
    ids=["a list", "half", "a wrong border", "no humans", "too many humans"],
)
def test_styles_that_do_not_fit_together_are_refused(model, wrong, words):
    with pytest.raises(ModelError, match=words):
        detectors.load_model({**model.to_dict(), "styles": wrong})


def test_other_borders_make_another_model(model):
    other = AccountDay(feature=GivenNumbers(), styles=Styles(hardcore_hours=3.0))

    assert other.fit(account_days(20, 40), labels_of(20, 40)).id != model.id
