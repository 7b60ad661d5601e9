"""What the last seven days of an account say together."""

import io
from datetime import timedelta
from math import exp, log

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import done
from gamewarden import pipeline, readers
from gamewarden.core.durations import DAY as DAY_MICROS
from gamewarden.core.durations import HOUR
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.tables import TIME
from gamewarden.verdicts.rolling import day_scores
from made_up import DAY, START, labels_of, play_days

WEEK = 7 * DAY_MICROS
BOTS = 0.05
shares = st.floats(1e-6, 1 - 1e-6)


def days(step=DAY, **actors):
    rows = [
        (actor, START + step * at, START + step * (at + 1), value)
        for actor, values in actors.items()
        for at, value in enumerate(values)
    ]
    schema = {"actor": pl.String, "since": TIME, "until": TIME, "probability": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def rolling(*values, last=WEEK, discount=0.3, step=DAY):
    found = day_scores(days(step, a=values), last, discount, BOTS)
    return found["rolling"][0] if found.height else None


def log_odds(share):
    return log(share / (1 - share))


@given(shares)
def test_one_day_says_what_it_said(share):
    assert rolling(share) == pytest.approx(share, rel=1e-9)


@given(st.lists(shares, min_size=1, max_size=7))
def test_a_day_that_nobody_judged_changes_nothing(values):
    assert rolling(*values, None) == pytest.approx(rolling(None, *values), rel=1e-12) if len(values) < 7 else True


@given(st.lists(shares, min_size=2, max_size=7), st.randoms())
def test_the_order_of_the_days_does_not_matter(values, draw):
    mixed = draw.sample(values, len(values))

    assert rolling(*mixed) == pytest.approx(rolling(*values), rel=1e-9)


@given(st.lists(shares, min_size=1, max_size=7), st.integers(0, 6), shares)
def test_a_day_that_looks_more_like_a_bots_never_lowers_the_score(values, at, other):
    at %= len(values)
    higher = [*values[:at], max(other, values[at]), *values[at + 1 :]]

    assert rolling(*higher) >= rolling(*values) * (1 - 1e-9)


def test_one_bad_day_is_not_diluted_to_nothing():
    alone, among_people = rolling(0.99), rolling(0.99, *[0.001] * 6)

    assert 0.95 < among_people < alone
    assert log_odds(alone) - log_odds(among_people) <= 0.3 * 6 * log(2) + 1e-9


def test_seven_bad_days_are_more_than_one_and_less_than_seven():
    one, seven = log_odds(rolling(0.6)) - log_odds(BOTS), log_odds(rolling(*[0.6] * 7)) - log_odds(BOTS)

    assert one < seven < 2.8 * one


def test_the_score_is_the_highest_day_and_a_discounted_share_of_what_the_others_say():
    evidence = [log_odds(share) - log_odds(BOTS) for share in (0.9, 0.5)]

    expected = log_odds(BOTS) + evidence[0] + 0.3 * log(0.5 + 0.5 * exp(evidence[1]))
    assert rolling(0.5, 0.9) == pytest.approx(1 / (1 + exp(-expected)), rel=1e-12)


def test_only_the_last_days_of_everybody_count():
    table = days(gone=[0.99], here=[0.9] + [0.01] * 7)

    gone, here = day_scores(table, WEEK, 0.3, BOTS).iter_rows(named=True)

    assert (gone["rolling"], gone["days"], gone["highest"]) == (None, 0, 0.99)
    assert (here["days"], here["highest"]) == (7, 0.9)
    assert here["rolling"] < 0.01


def test_of_some_accounts_alone_somebody_says_when_the_newest_period_of_all_ends():
    alone = days(a=[0.9, 0.5])

    late = day_scores(alone, WEEK, 0.3, BOTS, newest=START + 8 * DAY)

    assert late["days"].to_list() == [1]
    assert late["rolling"][0] == pytest.approx(0.5)


def test_a_day_of_23_or_25_hours_is_one_day():
    for hours in (23, 25):
        table = days(a=[0.5] * 9).with_columns(
            until=pl.when(pl.col("since") == START + 4 * DAY)
            .then(pl.col("since") + timedelta(hours=hours))
            .otherwise("until")
        )
        moved = timedelta(hours=hours - 24)
        later = table.with_columns(
            pl.when(pl.col("since") > START + 4 * DAY).then(pl.col(name) + moved).otherwise(name).alias(name)
            for name in ("since", "until")
        )
        assert day_scores(later, WEEK, 0.3, BOTS)["days"].to_list() == [7]


def test_hours_are_counted_too():
    assert day_scores(days(timedelta(hours=1), a=[0.5] * 40), 24 * HOUR, 0.3, BOTS)["days"].to_list() == [24]


def test_the_highest_day_is_named_the_latest_of_several():
    found = day_scores(days(a=[0.2, 0.8, 0.8, None], b=[None]), WEEK, 0.3, BOTS)

    assert found.select("actor", "highest", "highest_day").rows() == [("a", 0.8, START + 2 * DAY)]


def test_nobody_has_no_score():
    assert day_scores(days(a=[None]), WEEK, 0.3, BOTS).is_empty()
    assert day_scores(days(a=[]), WEEK, 0.3, BOTS).is_empty()


def test_a_list_shows_the_highest_day_and_the_last_days_of_each_account(tmp_path):
    play_days(3).write_parquet(tmp_path / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(tmp_path / "labels.csv")
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(min_windows=10), {})
    pipeline.fit(recipe, readers.open(tmp_path / "log.parquet"), tmp_path / "labels.csv", tmp_path / "models")
    asked = ("rank", "log.parquet", "--models", "models", "--probability", 0, "--top", 0)

    table = pl.read_csv(io.StringIO(done(*asked, "--out", "-", cwd=tmp_path).stdout), try_parse_dates=True)
    few = pl.read_csv(io.StringIO(done(*asked, "--where", "rolling>0.9", "--out", "-", cwd=tmp_path).stdout))

    listed = table.drop_nulls("probability")
    assert listed.height > 20
    assert (listed["highest"] >= listed["probability"] * (1 - 1e-9)).all()
    assert set(listed["highest_day"]) <= {START + at * DAY for at in range(3)}
    assert 0 < few.height < listed.height
    assert few["actor"].sort().to_list() == listed.filter(pl.col("rolling") > 0.9)["actor"].sort().to_list()
    assert "rolling" in done(*asked, cwd=tmp_path).stdout.splitlines()[0]
    assert "rolling" not in done(*asked, "--last", "1d", cwd=tmp_path).stdout.splitlines()[0]
    (tmp_path / "day.toml").write_text('[rank]\nrolling = "1d"\n')
    ended = done("--config", "day.toml", *asked, "--out", "-", cwd=tmp_path)
    last = pl.read_csv(io.StringIO(ended.stdout)).drop_nulls("rolling")
    assert not last["rolling"].equals(listed["rolling"])
