"""How many bots there are by day and by zone."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import done, run
from gamewarden import pipeline, readers
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.presentation.trend_plots import plot_trend, plot_zones
from gamewarden.tables import TIME
from gamewarden.verdicts.trend import BY_DAY, BY_ZONE, trend_by_day, trend_by_zone
from made_up import DAY, START, labels_of, play_days

SCHEMA = {"actor": pl.String, "since": TIME, "until": TIME, "probability": pl.Float64, "point": pl.String}


def judged(*rows):
    """Rows of (actor, day, probability, point)."""
    full = [(actor, START + day * DAY, START + (day + 1) * DAY, share, point) for actor, day, share, point in rows]
    return pl.DataFrame(full, schema=SCHEMA, orient="row")


def in_zones(*rows):
    full = [(actor, START + day * DAY, zone) for actor, day, zone in rows]
    return pl.DataFrame(full, schema={"actor": pl.String, "since": TIME, "zone": pl.String}, orient="row")


WEEK = judged(
    ("a", 0, 0.9, "act"),
    ("b", 0, 0.3, "watch"),
    ("c", 0, 0.1, "neither"),
    ("d", 0, None, None),
    ("a", 1, 0.95, "watch"),
    ("b", 1, 0.85, "watch"),
    ("e", 2, None, None),
)


def test_a_day_counts_who_played_who_was_judged_and_who_looks_like_a_bot():
    days = trend_by_day(WEEK, 0.8)

    assert days.schema == BY_DAY
    assert days.select("played", "judged", "bots", "watch", "act").rows() == [
        (4, 3, 1, 2, 1),
        (2, 2, 2, 2, 0),
        (1, 0, None, None, None),
    ]
    assert days["expected"].to_list() == [pytest.approx(1.3), pytest.approx(1.8), None]
    assert days["since"].to_list() == [START, START + DAY, START + 2 * DAY]


def test_an_account_counts_once_in_each_zone_it_was_judged_in():
    zones = in_zones(("a", 0, "Dion"), ("a", 1, "Giran"), ("b", 0, "Dion"), ("b", 1, "Dion"), ("c", 0, None))

    found = trend_by_zone(WEEK, zones, 0.8)

    assert found.schema == BY_ZONE
    assert found.select("zone", "judged", "bots", "watch", "act").rows() == [
        ("Dion", 2, 2, 2, 1),
        ("Giran", 1, 1, 1, 0),
        (None, 1, 0, 0, 0),
    ]


def test_nobody_is_no_row():
    assert trend_by_day(judged(), 0.8).is_empty()
    assert trend_by_zone(judged(), in_zones(), 0.8).is_empty()


@given(st.integers(1, 3000), st.floats(0, 1))
def test_the_interval_holds_the_share_and_is_the_one_of_wilson(accounts, part):
    bots = round(accounts * part)
    rows = [(str(at), 0, 0.9 if at < bots else 0.1, "neither") for at in range(accounts)]

    day = trend_by_day(judged(*rows), 0.8).row(0, named=True)

    assert 0 <= day["share_low"] <= day["share"] <= day["share_high"] <= 1
    assert day["share_low"] < day["share_high"]
    for end in ("share_low", "share_high"):
        # The border of Wilson's interval is where the share lies 1.96 standard deviations of that border away.
        away = (day["share"] - day[end]) ** 2 * accounts
        assert away == pytest.approx(1.959964**2 * day[end] * (1 - day[end]), abs=1e-5)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Three days in two zones: bots in Dion, people in Giran."""
    place = tmp_path_factory.mktemp("trend")
    bot = pl.col("actor").str.starts_with("bot")
    log = play_days(3).with_columns(zone=pl.when(bot).then(pl.lit("Dion")).otherwise(pl.lit("Giran")))
    log.write_parquet(place / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(place / "labels.csv")
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(min_windows=10), {})
    pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    return place


def test_the_command_shows_each_day_and_the_days_asked_for(place):
    asked = ("trend", place / "log.parquet", "--models", place / "models")

    days = json.loads(done(*asked, "--json").stdout)
    last = json.loads(done(*asked, "--json", "--last", "1d").stdout)

    assert [day["since"][:10] for day in days] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert all(day["bots"] <= day["judged"] <= day["played"] == 26 for day in days)
    assert last == days[-1:]


def test_bots_by_zone_are_where_they_play_and_as_many_as_on_the_list(place):
    asked = (place / "log.parquet", "--models", place / "models")

    zones = {row["zone"]: row for row in json.loads(done("trend", *asked, "--json", "--by", "zone").stdout)}
    days = json.loads(done("trend", *asked, "--json", "--probability", 0).stdout)

    assert set(zones) == {"Dion", "Giran"}
    assert zones["Dion"]["bots"] > zones["Giran"]["bots"]
    assert all(day["bots"] == day["judged"] for day in days)


def test_a_trend_says_what_its_probabilities_suppose(place):
    told = done("trend", place / "log.parquet", "--models", place / "models", "--prevalence", 0.01).stderr

    assert "1 % of all accounts are bots" in told


@pytest.mark.parametrize("by", [(), ("--by", "zone")])
def test_a_trend_can_be_drawn(place, tmp_path, by):
    done("trend", place / "log.parquet", "--models", place / "models", "--plot", tmp_path / "t.svg", *by)

    drawn = (tmp_path / "t.svg").read_text()
    assert "<svg" in drawn
    ended = run("trend", place / "log.parquet", "--models", place / "models", "--plot", tmp_path / "t.txt", *by)
    assert (ended.returncode, "names no picture" in ended.stderr) == (1, True)


def test_a_picture_of_one_day_of_a_day_that_nobody_judged_and_of_a_long_time_can_be_drawn(tmp_path):
    one, blind = trend_by_day(WEEK, 0.8).head(1), trend_by_day(WEEK, 0.8).tail(1)
    long = trend_by_day(judged(*(("a", day, 0.5, "watch") for day in range(40))), 0.8)

    for number, days in enumerate((one, blind, long)):
        plot_trend(days, tmp_path / f"{number}.png", 0.8, "Asia/Seoul")
    plot_zones(trend_by_zone(WEEK, in_zones(), 0.8), tmp_path / "zones.png", 0.8)

    assert len(list(tmp_path.glob("*.png"))) == 4


def test_nobody_is_not_drawn(place, tmp_path):
    asked = ("trend", place / "log.parquet", "--models", place / "models", "--until", "2026-01-01")

    ended = run(*asked, "--plot", tmp_path / "t.png")

    assert (ended.returncode, ended.stderr.splitlines()[-1].count("nothing to draw")) == (1, 1), ended.stderr
