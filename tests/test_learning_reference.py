"""Humans by style: what an FPR compares with, and what a stored model says of it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gamewarden import detectors
from gamewarden.contracts import Recipe, model_id
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.errors import ModelError
from gamewarden.learning.reference import Reference, StyleReferences
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

    # a: 1 of 2 hard-core ones and itself, 2/3; c: 1 of 3 veterans (2/4), but 3 of all 5 (4/6).
    assert references.counts() == {"hard-core": 2, "veteran": 3}
    assert fpr(references, table)[[0, 2]].tolist() == pytest.approx([2 / 3, 4 / 6])


def test_a_human_in_two_styles_counts_once_in_each():
    table = humans(("a", 20, 5.0), ("a", 20, 1.0), ("a", 2, 3.0), ("b", 2, 0.0))

    references = StyleReferences.of(Styles(), table)

    assert references.counts() == {"hard-core": 1, "veteran": 2}
    assert references.by_style["hard-core"].weights == (0.5, 0.5)
    assert references.by_style["veteran"].weights == (1.0, 1.0)


def test_of_a_style_that_no_human_had_nothing_can_be_said():
    references = StyleReferences.of(Styles(), humans(("a", 2, 0.0)))
    stranger = humans(("x", 20, 9.0))

    assert references.fpr(stranger, np.array([9.0]), Reference.of(humans(("a", 2, 0.0)))).tolist() == [1.0]


def test_the_card_says_how_low_an_fpr_can_be_for_each_style(model):
    (sentence,) = (line for line in model.card.weaknesses if "same style of play" in line)

    for style, people in model.styles.counts().items():
        assert f"1 in {people + 1} for a {style}" in sentence
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
