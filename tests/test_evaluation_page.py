"""One page for people that fetches nothing and believes nothing."""

import re
from dataclasses import replace

import polars as pl
import pytest

from gamewarden.detectors.logistic import AccountDay, SelfSimilarityAlone
from gamewarden.evaluation.evaluation_page import evaluation_page
from gamewarden.evaluation.headlines import headlines, is_synthetic
from gamewarden.evaluation.plans import Ground
from gamewarden.evaluation.report_plots import splits_compared
from gamewarden.evaluation.side_by_side import compare
from gamewarden.evaluation.ties import NO_TIES
from gamewarden.tables import LABELS, check
from made_up import GivenNumbers, account_days, labels_of

NUMBERS = GivenNumbers()
BOTH = (SelfSimilarityAlone(NUMBERS, strengths=(1.0,)), AccountDay(NUMBERS, strengths=(1.0,)))
EVIL = "<script>alert('x')</script> & $\\frac{1}{$ \x07"


def judged(splits=("all",), **columns):
    told = labels_of(20, 24).with_columns(
        **{
            "source": pl.lit("simulation"),
            "family": pl.when("bot").then(pl.lit(EVIL) + pl.col("actor").str.slice(-1)),
            **columns,
        }
    )
    ground = Ground(account_days(20, 24, 4), check(told, LABELS, "test"), NO_TIES, folds=3)
    return compare(BOTH, ground, splits)


@pytest.fixture(scope="module")
def page():
    return evaluation_page(judged(), f"{EVIL}.csv", f"{EVIL} labels.csv")


@pytest.fixture(scope="module")
def by_actor():
    return judged(("actor",))


def test_names_from_data_cannot_become_markup(page):
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_nothing_is_fetched_and_the_page_forbids_it(page):
    assert "http:" not in page
    assert "https:" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"<(link|img|iframe|object|script)\b", page)
    assert set(re.findall(r'href="(.)', page)) <= {"#"}


def test_the_pictures_take_the_pages_colours(page):
    assert page.count("<svg") >= 5
    assert "var(--one)" in page
    assert "prefers-color-scheme: dark" in page
    style_end = page.index("</style></head>")
    assert not re.search("#[0-9a-f]{6}", page[style_end:])


def test_inner_names_of_the_pictures_do_not_clash(page):
    names = re.findall(r'\sid="([^"]+)"', page)

    assert len(names) == len(set(names))


def test_every_split_and_the_baselines_stand_on_the_page(page):
    for words in ("random: single periods", "actor: accounts", "time: later play", "family: kinds of bots"):
        assert words in page
    assert page.count(">dummy<") >= 4
    assert "What this does not show" in page


def test_a_simulation_is_called_synthetic_and_people_are_not(page, by_actor):
    people = replace(by_actor, provenance=by_actor.provenance.with_columns(source=pl.lit("rater")))

    assert ">synthetic<" in page
    assert is_synthetic(by_actor)
    assert not is_synthetic(people)


def test_the_headline_is_that_of_the_strict_split_and_the_random_one_is_not_to_be_quoted():
    lines = list(headlines(judged(("random", "actor"))))

    assert lines[0].startswith("account-day ranks a bot above a person")
    assert any("random split" in line and "Do not quote" in line for line in lines)


def test_too_few_people_give_no_precision(by_actor):
    lines = list(headlines(by_actor))

    assert any(line.startswith("24 people are too few to say") for line in lines)


def test_the_same_results_give_the_same_picture(by_actor):
    assert splits_compared(by_actor.summary, "account-day") == splits_compared(by_actor.summary, "account-day")
