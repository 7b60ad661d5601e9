"""One page for people that fetches nothing and believes nothing."""

import re
from dataclasses import replace

import polars as pl
import pytest

from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.evaluation.account_links import NO_TIES
from gamewarden.evaluation.compare_splits import compare
from gamewarden.evaluation.split_schemes import Ground
from gamewarden.presentation.evaluation_page import evaluation_page
from gamewarden.presentation.findings import headlines, is_synthetic
from gamewarden.presentation.report_plots import splits_compared
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


@pytest.mark.integration
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
    style_end = page.index("</style>")
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


def restated(result, humans, **figures):
    """The result as if the detectors had done so well by actor: (auc, share caught, its low and high end)."""
    names = ("auc", "tpr_at_1pct", "tpr_at_1pct_low", "tpr_at_1pct_high")
    summary = result.summary.with_columns(humans=pl.lit(humans, pl.Int64), precision_at_1pct=pl.lit(0.5))
    for detector, values in figures.items():
        mine = (pl.col("detector") == detector.replace("_", "-")) & (pl.col("unit") == "actor")
        summary = summary.with_columns(
            pl.when(mine).then(value).otherwise(name).alias(name) for name, value in zip(names, values, strict=True)
        )
    return replace(result, summary=summary)


def test_the_headline_is_what_is_caught_at_the_threshold_and_not_a_hair_of_auc(by_actor):
    result = restated(by_actor, 500, self_similarity=(0.9692, 0.10, 0.06, 0.17), account_day=(0.9688, 0.75, 0.66, 0.83))

    lines = list(headlines(result))

    assert lines[0] == (
        "On accounts it never saw, account-day catches 75 of 100 bots (95 %: 66 to 83; 20 bots) while it flags "
        "1 of 100 people (up to 2.3; 500 people)."
    )
    assert lines[1] == "self-similarity catches 10 (6 to 17), clearly less, though its AUC is 0.969 beside 0.969."
    assert '<tr class="best"><td>account-day</td>' in evaluation_page(result, "log", "labels")


def test_detectors_whose_intervals_overlap_are_not_told_apart(by_actor):
    result = restated(by_actor, 500, self_similarity=(0.91, 0.70, 0.60, 0.79), account_day=(0.92, 0.75, 0.66, 0.83))

    lines = list(headlines(result))

    assert lines[1] == (
        "self-similarity catches 70 (60 to 79): the intervals overlap, so that so few cannot tell it from account-day."
    )


def test_equal_shares_are_ordered_by_auc(by_actor):
    result = restated(by_actor, 500, self_similarity=(0.95, 0.7, 0.6, 0.8), account_day=(0.93, 0.7, 0.6, 0.8))

    assert "self-similarity catches 70 of 100" in next(headlines(result))


def test_one_in_a_hundred_of_few_people_is_stated_with_what_it_may_be(by_actor):
    result = restated(by_actor, 120, account_day=(0.9, 0.75, 0.66, 0.83), self_similarity=(0.9, 0.1, 0.0, 0.2))

    assert "flags 1 of 100 people (up to 4.6; 120 people)" in next(headlines(result))


def test_few_groups_without_an_interval_say_so(by_actor):
    bare = by_actor.summary.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in ("auc_low", "auc_high", "tpr_at_1pct_low", "tpr_at_1pct_high")
    )
    result = replace(by_actor, summary=bare)

    assert "no interval: too few" in next(headlines(result))
