"""An account's place among those who give and take."""

import polars as pl
import pytest

from edges_made_up import edges, gave, got, hours
from gamewarden.groups.finding import find
from gamewarden.groups.places import PLACES, days_of, places

LEAVES = [f"leaf{number:02}" for number in range(12)]
STAR = [gave(name, "hub", 3, 300) for name in LEAVES]
SOLD = [gave("hub", f"buyer{number}", 1, 900, kind="mail.send") for number in range(4)]


def place(actor, rows, played=None):
    found = places(edges(*rows), hours(5.0, "hub", *LEAVES) if played is None else played)
    return found.row(by_predicate=pl.col("actor") == actor, named=True)


def test_a_leaf_gives_all_to_a_hub_to_which_others_do_the_same():
    leaf = place("leaf00", STAR)

    assert (leaf["to_one"], leaf["main_taker"], leaf["star"], leaf["star_n"]) == (1.0, "hub", "hub", 13)
    assert (leaf["star_share"], leaf["star_hours"], leaf["star_score"]) == (1.0, 5.0, 1.0)


def test_a_hub_gets_much_in_few_hours_from_accounts_that_are_loyal_to_it():
    hub = place("hub", [*STAR, *SOLD])

    assert (hub["givers"], hub["loyal"], hub["loyal_hours"], hub["takers"]) == (12, 12, 5.0, 4)
    assert (hub["got_per_hour"], hub["passed_on"]) == (720.0, 1.0)


def test_leaves_that_play_long_and_know_each_other_make_less_of_a_star():
    parties = [(one, other, "party") for one in LEAVES for other in LEAVES if one < other]

    known = place("leaf00", [*STAR, *parties])
    long = place("leaf00", STAR, hours(40.0, *LEAVES))

    assert known["star_score"] < 0.1
    assert long["star_score"] == 0.25


def test_members_of_a_party_that_has_a_name_of_its_own_know_each_other():
    party = [(name, "party-7", "party", 4) for name in LEAVES]
    own = [(name, f"party-of-{name}", "party", 4) for name in LEAVES]

    assert place("leaf00", [*STAR, *party])["star_score"] == 0
    assert place("leaf00", [*STAR, *own])["star_score"] == 1
    assert find(edges(*STAR, *party), hours(5.0, "hub", *LEAVES)).groups.filter(by="gifts")["type"].to_list() == [
        "guild"
    ]
    assert find(edges(*STAR, *own), hours(5.0, "hub", *LEAVES)).groups.filter(by="gifts")["type"].to_list() == ["star"]


def test_a_star_whose_leaves_nobody_saw_playing_does_not_show_all_signs_of_a_farm():
    told_by_hub = edges(*(got("hub", name, 3, 300) for name in LEAVES))

    assert find(told_by_hub, hours(5.0, "hub")).groups["flagged"].to_list() == [False]
    assert find(told_by_hub, hours(5.0, "hub", *LEAVES)).groups["flagged"].to_list() == [True]


def test_an_exchange_makes_nobody_a_leaf():
    guild = [gave("bank", name, 3, 280) for name in LEAVES]

    leaf = place("leaf00", [*(gave(name, "bank", 3, 300) for name in LEAVES), *guild])

    assert (leaf["takers"], leaf["to_one"], leaf["one_way"], leaf["exchanges"], leaf["star_n"]) == (0, 0.0, 0.0, 1, 0)


def test_a_ring_that_passes_all_on_is_a_chain():
    ring = [gave(f"c{number}", f"c{(number + 1) % 5}", 2, 1000) for number in range(5)]

    assert [place(f"c{number}", ring)["chain_n"] for number in range(5)] == [5] * 5


def test_somebody_who_keeps_what_it_got_ends_a_chain():
    way = [gave("a", "b", 2, 1000), gave("b", "c", 2, 1000), gave("c", "d", 2, 100), gave("d", "e", 2, 100)]

    assert [place(name, way)["chain_n"] for name in "abcde"] == [3, 3, 3, 2, 2]


def test_whoever_gave_nothing_has_no_shares():
    nobody = place("ann", [], hours(2.0, "ann"))

    assert (nobody["gave"], nobody["to_one"], nobody["one_way"], nobody["star"]) == (0.0, None, None, None)


def test_hours_are_those_of_a_week():
    table = edges(gave("ann", "bob"))

    assert places(table, hours(2.0, "ann"), days=1).filter(actor="ann")["hours"].item() == 14.0
    assert days_of(table) == 7


def test_accounts_at_an_address_and_on_a_market_are_counted():
    table = [("ann", "10.0.0.1", "address"), ("bob", "10.0.0.1", "address"), ("ann", "eve", "market.sell", 3, 50.0)]

    ann = place("ann", table, hours(2.0, "ann", "bob"))

    assert (ann["sharing"], ann["market"]) == (1, 1)


def test_a_friend_one_plays_with_is_told():
    assert place("ann", [gave("ann", "bob"), ("bob", "ann", "party")], hours(1.0, "ann"))["with_taker"] is True


@pytest.mark.parametrize("rows", [[], STAR, [*STAR, *SOLD, got("hub", "leaf00", 1, 5)]])
def test_columns_are_those_of_the_table_and_order_does_not_matter(rows):
    table = edges(*rows)
    found = places(table, hours(5.0, *LEAVES))

    assert dict(found.schema) == dict(PLACES)
    assert places(table.reverse(), hours(5.0, *LEAVES)).equals(found)
    assert not any(found[name].is_nan().any() for name, dtype in PLACES.items() if dtype == pl.Float64)
