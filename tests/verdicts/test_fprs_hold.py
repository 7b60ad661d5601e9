"""The promise of an FPR, kept to people of every style (synthetic people, several seeds).

A count of fresh humans is compared with what exchangeability allows, the luck of drawing the reference humans
included. With T tests in a family each must be more surprising than 0.01 / T before the promise counts as broken.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from fresh_humans import people, recipe
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.evaluation.fprs import realised
from gamewarden.learning.reference import Reference
from gamewarden.learning.styles import Styles

pytestmark = pytest.mark.integration

SURPRISE = 0.01
SEEDS = ((911, 921), (912, 922))  # a world to learn from, and one of strangers


@pytest.fixture(scope="module")
def models():
    return [AccountDay(feature=recipe()).fit(*people(known, 2400, 0.25)) for known, _ in SEEDS]


@pytest.fixture(scope="module")
def strangers():
    return [people(fresh, 4000)[0].filter(pl.col("self_sim").is_not_null()) for _, fresh in SEEDS]


def kept(model, fresh):
    """How often people of each style reach what the model promises to be rare."""
    styles = Styles().tell(fresh)
    fprs = model.score(fresh).select("actor", "fpr").with_columns(style=styles)
    counts = model.styles.counts() if model.styles else dict.fromkeys(styles.unique(), model.reference.humans)
    return realised(fprs, counts)


def broken(tables):
    """The promises that are broken, corrected for the number of styles, promises and seeds."""
    rows = pl.concat(tables)
    return rows.filter(pl.col("chance") < SURPRISE / rows.height)


def test_one_in_a_hundred_and_one_in_a_thousand_hold_for_people_of_every_style(models, strangers):
    tables = [kept(model, fresh) for model, fresh in zip(models, strangers, strict=True)]

    assert all(
        table["style"].unique().sort().to_list() == ["grinder", "hard-core", "newbie", "veteran"] for table in tables
    )
    assert broken(tables).is_empty(), broken(tables)


def test_one_reference_for_all_people_is_caught_breaking_its_promise_to_those_who_grind(models, strangers):
    pooled = [replace(model, styles=None) for model in models]

    found = broken([kept(model, fresh) for model, fresh in zip(pooled, strangers, strict=True)])

    assert "grinder" in found["style"].to_list()


def test_a_style_whose_reference_is_off_is_caught(models, strangers):
    def too_human(reference):
        return replace(reference, values=tuple(value - 2.0 for value in reference.values))

    def spoilt(model):
        own = {**model.styles.by_style, "grinder": too_human(model.styles.by_style["grinder"])}
        return replace(model, styles=replace(model.styles, by_style=own), reference=too_human(model.reference))

    found = broken([kept(spoilt(model), fresh) for model, fresh in zip(models, strangers, strict=True)])

    assert set(found["style"]) == {"grinder"}


@pytest.fixture(scope="module")
def pool(models, strangers):
    """People none of the models knew, as one of them sees them; each human three times, slightly moved."""
    fresh = pl.concat([part.with_columns(actor=f"{at}-" + pl.col("actor")) for at, part in enumerate(strangers)])
    probability = models[0].score(fresh)["probability"].clip(1e-12, 1 - 1e-12).to_numpy()
    draw = np.random.default_rng(5)
    copies = [
        fresh.with_columns(
            actor=pl.lit(f"{copy}-") + pl.col("actor"),
            held_out=pl.Series(np.log(probability / (1 - probability)) + draw.normal(0, 0.05, fresh.height)),
        )
        for copy in range(3)
    ]
    return pl.concat(copies).with_columns(style=Styles().tell(pl.concat(copies)))


def drawn(people, splits, moved=0.0):
    """How many fresh people reach 1 in 1,000 beside a reference of three quarters of all, over many random splits.

    A random split of any fixed pool is exchangeable, so that the promise holds to the letter over many of them.
    """
    flagged = seen = 0
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(people.height)
        known, fresh = people[order[: 3 * people.height // 4]], people[order[3 * people.height // 4 :]]
        reference = Reference.of(known)
        flagged += int((reference.fpr(fresh["held_out"].to_numpy() + moved) <= 0.001).sum())
        seen += fresh.height
    expected = seen * np.floor(0.001 * (reference.humans + 1)) / (reference.humans + 1)  # what whole humans can express
    return flagged, expected, 4.5 * 1.5 * np.sqrt(max(expected, 1.0)), reference.humans


@pytest.mark.parametrize("style", ["grinder", "hard-core", "newbie", "veteran"])
def test_over_many_draws_one_in_a_thousand_is_one_in_a_thousand_for_every_style(pool, style):
    flagged, expected, spread, humans = drawn(pool.filter(style=style), 30)

    assert humans > 999
    assert abs(flagged - expected) <= spread


def test_a_group_that_looks_more_bot_like_than_its_reference_is_seen_to_break_one_in_a_thousand(pool):
    flagged, expected, spread, _ = drawn(pool.filter(style="newbie"), 10, moved=1.0)

    assert flagged - expected > spread


def test_an_fpr_is_never_below_the_share_among_all_people_nor_among_those_of_its_style(models, strangers):
    for model, fresh in zip(models, strangers, strict=True):
        given = model.score(fresh)["fpr"].to_numpy()
        pooled = replace(model, styles=None).score(fresh)["fpr"].to_numpy()

        assert (given >= pooled).all()
        assert (given > pooled).any()
        for style, reference in model.styles.by_style.items():
            own = (Styles().tell(fresh) == style).to_numpy()
            assert given[own].min() >= 1 / (reference.humans + 1)
