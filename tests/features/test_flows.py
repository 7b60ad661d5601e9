"""An account's place in the week's gifts: what a hub, a leaf, a bank, a veteran and a trader look like in numbers."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from gamewarden.contracts import Sight
from gamewarden.features.flows import Flows
from gamewarden.features.folding import feed
from gamewarden.tables import FrameEvents

MONDAY = datetime(2026, 3, 2, 18, tzinfo=UTC)
LEAVES = [f"leaf{number:02}" for number in range(12)]
MEMBERS = [f"member{number:02}" for number in range(12)]
NEWCOMERS = [f"new{number}" for number in range(5)]


def gift(day, giver, taker, amount, minute=0):
    at = MONDAY + timedelta(days=day, minutes=minute)
    return [
        (giver, at, "trade.give", taker, -amount),
        (taker, at, "trade.receive", giver, amount),
    ]


def week():
    """Seven days in which everybody plays an hour."""
    everybody = [*LEAVES, *MEMBERS, *NEWCOMERS, "hub", "bank", "veteran", "buyer", "lone"]
    rows = []
    for day in range(7):
        rows += [
            (name, MONDAY + timedelta(days=day, minutes=10 * ten), "combat.kill", None, None)
            for name in everybody
            for ten in range(6)
        ]
        for leaf in LEAVES:
            rows += gift(day, leaf, "hub", 500.0, 50)
        rows += gift(day, "hub", "buyer", 5000.0, 59)
        for number, member in enumerate(MEMBERS):
            pair = (member, "bank") if (number + day) % 2 else ("bank", member)
            rows += gift(day, *pair, 100.0, 30)
        rows += gift(day, "veteran", NEWCOMERS[day % 5], 50.0, 20)
    schema = {"actor": pl.String, "at": pl.Datetime("us", "UTC"), "kind": pl.String, "other": pl.String}
    return pl.DataFrame(rows, schema={**schema, "amount": pl.Float64}, orient="row").sort("at")


@pytest.fixture(scope="module")
def last_day():
    rows = Flows().measure(FrameEvents(week()))
    return {row["actor"]: row for row in rows.filter(pl.col("since") == rows["since"].max()).iter_rows(named=True)}


def test_a_hub_takes_all_from_accounts_that_get_nothing_back(last_day):
    hub = last_day["hub"]

    assert (hub["givers"], hub["loyal"], hub["loyal_share"]) == (12, 12, pytest.approx(12 / 13, abs=1e-3))
    assert hub["passed_on"] == pytest.approx(5000 / 6000)
    assert hub["star_score"] > 0.9


def test_a_leaf_hands_on_all_it_gives_to_one(last_day):
    leaf = last_day["leaf03"]

    assert (leaf["to_one"], leaf["takers"], leaf["givers"], leaf["exchanges"]) == (1.0, 1, 0, 0)
    assert leaf["star_n"] == 13
    assert leaf["play_hours"] == pytest.approx(7.0, abs=0.5)


def test_a_bank_from_which_members_take_is_no_hub(last_day):
    assert last_day["bank"]["exchanges"] > 6
    assert last_day["bank"]["star_score"] < 0.5
    assert last_day["member00"]["star_score"] < 0.5


def test_a_veteran_and_its_newcomers_are_in_no_star(last_day):
    assert last_day["veteran"]["takers"] == 5
    assert last_day["veteran"]["star_n"] == 0
    assert last_day["new0"]["star_score"] == 0.0


def test_whoever_neither_gave_nor_got_anything_has_no_number(last_day):
    assert [name for name, value in last_day["lone"].items() if value is not None] == [
        "actor",
        "since",
        "until",
        "events",
    ]


def test_a_log_that_names_nobody_measures_nothing():
    fold = Flows().fold(Sight(columns=("actor", "at", "kind"), shows=lambda: {"combat.kill": 5}))
    feed(fold, FrameEvents(week()))

    rows = fold.frame()
    assert rows.height
    assert all(rows[name].null_count() == rows.height for name in Flows().names)


def test_its_numbers_are_about_others():
    assert Flows().about_others
    assert not Flows().divides.actors
