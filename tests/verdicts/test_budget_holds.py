"""The promise of a budget, kept as often as it says (synthetic people; the true rate of accusations is integrated).

A person's rows share how bot-like the person is. The promise is broken where more people than the budget allows would
be accused in a month of thirty days by the threshold it gave, and that may happen in one run of twenty.
"""

from datetime import UTC, datetime, timedelta
from math import erf, sqrt

import numpy as np
import polars as pl
import pytest

from gamewarden.core.binomial import chance_of_at_most
from gamewarden.learning.exposure import People
from gamewarden.learning.reference import Reference, StyleReferences, people_of, smallest_fpr
from gamewarden.learning.styles import STYLES, Styles
from gamewarden.verdicts.budget import Budget, Humans, threshold

pytestmark = pytest.mark.integration

START = datetime(2026, 1, 1, tzinfo=UTC)
RUNS, SURPRISE = 100, 1e-4
ONE, UNEQUAL, EQUAL = (0.0, 0.0, 0.0, 1.0, 0.0), (0.02, 0.06, 0.12, 0.6, 0.2), (0.2,) * 5
LOOKS = {  # minutes, kills and level that tell each style
    "hard-core": (1200.0, 0.0, None),
    "grinder": (60.0, 600.0, None),
    "newbie": (None, None, 5.0),
    "veteran": (None, None, 50.0),
    "unknown": (None, None, None),
}
PLACES, SHARES = np.polynomial.hermite_e.hermegauss(60)
MOODS = SHARES / SHARES.sum()  # how common each place of a person is


def a_day(_, people):
    return np.ones(people, dtype=np.int64)


def all_month(_, people):
    return np.full(people, 30)


def mixed(draw, people):
    return draw.choice([1, 3, 10, 30], people)


def crowd(draw, people, days, styles, alike, *, characters=1):
    """Rows of people on some of thirty days: a style, and a value of which `alike` is the person's own."""
    seen = days(draw, people)
    who = np.repeat(np.arange(people), seen * characters)
    day = np.concatenate([np.repeat(draw.permutation(30)[:many], characters) for many in seen])
    style = draw.choice(len(STYLES), size=who.size, p=styles)
    place = draw.normal(size=people)[who]
    looks = pl.DataFrame([LOOKS[STYLES[at]] for at in style], schema=dict.fromkeys(_NAMES, pl.Float64), orient="row")
    since = pl.Series(day).cast(pl.Int64) * 86_400_000_000
    return looks.with_columns(
        pl.Series("actor", [f"p{at}-{row % characters}" for row, at in enumerate(who)]),
        pl.Series("group", [f"p{at}" for at in who]),
        (pl.lit(START) + since.cast(pl.Duration("us"))).alias("since"),
        (pl.lit(START) + since.cast(pl.Duration("us")) + timedelta(days=1)).alias("until"),
        pl.Series("held_out", alike * place + sqrt(1 - alike**2) * draw.normal(size=who.size)),
    )


_NAMES = ("total_use_time_min", "npc_kill_count", "main_char_level")


def accused_in_a_month(cuts, styles, alike, rows):
    """The share of people one of whose rows of a month lies beyond the cut of its style."""
    beyond = (np.asarray(cuts)[:, None] - alike * PLACES) / sqrt(1 - alike**2)
    row = np.array(styles) @ (1 - np.vectorize(lambda x: 0.5 * (1 + erf(x / sqrt(2))))(beyond))
    return float(MOODS @ (1 - (1 - row) ** rows))


def cuts_of(fpr, pooled, styles):
    """The value beyond which a row of each style has at most this FPR."""
    return [_cut(fpr, pooled, styles.by_style.get(name)) for name in STYLES]


def _cut(fpr, pooled, own):
    values = np.asarray(pooled.values)
    just_beyond = np.nextafter(values, np.inf)
    rates = pooled.fpr(just_beyond)
    if own is not None:
        share = (own.humans + 1) / (pooled.humans + 1)
        rates = np.maximum(rates, np.minimum(own.fpr(just_beyond), share))
    low = np.flatnonzero(rates <= fpr)
    return values[low[0]] if low.size else np.inf


def smallest_of(pooled, styles):
    """The smallest FPR of each style, and that of the styles nobody has."""
    counts = [reference.humans for reference in styles.by_style.values()]
    return [smallest_fpr(people, pooled.humans) for people in (*counts, *([0] if len(counts) < len(STYLES) else []))]


def broken(run):
    """How often the promise was not kept, and how often there was one."""
    answers = [run(np.random.default_rng(seed)) for seed in range(RUNS)]
    return sum(answer is False for answer in answers), sum(answer is not None for answer in answers)


def as_promised(failures):
    """Whether so many failures are no surprise where each run fails with at most one chance in twenty."""
    return 1 - chance_of_at_most(failures - 1, RUNS, 0.05) > SURPRISE


def keeps_a_models_promise(people, days, styles, alike, rate, *, characters=1, rows=None):
    def run(draw):
        rows_seen = crowd(draw, people, days, styles, alike, characters=characters)
        pooled, own = Reference.of(rows_seen), StyleReferences.of(Styles(), rows_seen)
        counted = people_of(rows_seen, pooled, own)
        smallest = smallest_of(pooled, own)
        watched = counted.days if rows is None else (30.0,) * people
        found = threshold(Budget(1000 * rate, 1000), Humans("m", counted.lowest, watched, smallest))["fpr"]
        if found is None:
            return None
        month = accused_in_a_month(cuts_of(found, pooled, own), styles, alike, rows or 30 * characters)
        return month <= rate

    return broken(run)


@pytest.mark.parametrize("styles", [ONE, UNEQUAL, EQUAL], ids=["one style", "five unequal", "five equal"])
@pytest.mark.parametrize(("people", "rate"), [(100, 0.03), (300, 0.1)])
def test_a_models_threshold_keeps_its_budget_with_styles(styles, people, rate):
    # A row a person that covers the month: nothing is added up, and the bound is as sharp as it gets.
    failures, _ = keeps_a_models_promise(people, a_day, styles, 0.0, rate, rows=1)

    assert as_promised(failures)


@pytest.mark.parametrize(
    ("days", "people", "alike", "rate"),
    [(a_day, 400, 0.0, 0.6), (a_day, 400, 0.8, 0.3), (all_month, 60, 0.8, 0.1), (mixed, 300, 0.6, 0.6)],
    ids=["a day of 30", "a day of 30, people differ", "all 30", "mixed"],
)
def test_a_models_threshold_keeps_its_budget_however_few_days_people_were_seen_on(days, people, alike, rate):
    failures, promises = keeps_a_models_promise(people, days, UNEQUAL, alike, rate)

    assert promises > RUNS / 2
    assert as_promised(failures)


def test_a_models_threshold_keeps_its_budget_where_people_have_several_characters():
    failures, promises = keeps_a_models_promise(60, all_month, UNEQUAL, 0.9, 0.1, characters=3)

    assert promises > RUNS / 2
    assert as_promised(failures)


@pytest.mark.parametrize(
    ("days", "people", "rate", "characters"),
    [(a_day, 400, 0.6, 1), (all_month, 60, 0.1, 1), (mixed, 300, 0.6, 1), (all_month, 60, 0.1, 3)],
    ids=["a day of 30", "all 30", "mixed", "several characters"],
)
def test_a_threshold_from_scores_keeps_its_budget(days, people, rate, characters):
    def run(draw):
        rows = crowd(draw, people, days, ONE, 0.7, characters=characters)
        counted = People.of(rows.with_columns(fpr=1 / (1 + pl.col("held_out").exp())))
        found = threshold(Budget(1000 * rate, 1000), Humans("d", counted.lowest, counted.days))["fpr"]
        if found is None:
            return None
        return accused_in_a_month([np.log(1 / found - 1)] * 5, ONE, 0.7, 30 * characters) <= rate

    failures, promises = broken(run)

    assert promises > RUNS / 2
    assert as_promised(failures)


def test_counting_characters_as_people_is_caught():
    def run(draw):
        rows = crowd(draw, 60, all_month, ONE, 0.7, characters=3)
        fprs = rows.with_columns(fpr=1 / (1 + pl.col("held_out").exp()), group=pl.col("actor"))
        counted = People.of(fprs)
        found = threshold(Budget(100, 1000), Humans("d", counted.lowest, counted.days))["fpr"]
        return accused_in_a_month([np.log(1 / found - 1)] * 5, ONE, 0.7, 90) <= 0.1

    assert not as_promised(broken(run)[0])


def test_taking_a_day_of_a_month_for_the_month_is_caught():
    def run(draw):
        rows = crowd(draw, 400, a_day, ONE, 0.7)
        counted = People.of(rows.with_columns(fpr=1 / (1 + pl.col("held_out").exp())))
        found = threshold(Budget(300, 1000), Humans("d", counted.lowest, (30.0,) * 400))["fpr"]
        return accused_in_a_month([np.log(1 / found - 1)] * 5, ONE, 0.7, 30) <= 0.3

    assert not as_promised(broken(run)[0])


def test_forgetting_that_the_styles_thresholds_lie_where_these_people_were_is_caught():
    def run(draw):
        rows = crowd(draw, 100, a_day, EQUAL, 0.0)
        pooled, own = Reference.of(rows), StyleReferences.of(Styles(), rows)
        counted = people_of(rows, pooled, own)
        smallest = [min(smallest_of(pooled, own))]
        found = threshold(Budget(30, 1000), Humans("m", counted.lowest, (30.0,) * 100, smallest))["fpr"]
        return accused_in_a_month(cuts_of(found, pooled, own), EQUAL, 0.0, 1) <= 0.03

    assert not as_promised(broken(run)[0])
