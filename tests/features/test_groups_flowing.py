"""Gifts by pair: counted once, and told apart into what goes one way and what is an exchange."""

from datetime import UTC, datetime

import polars as pl

from edges_made_up import edges, gave, got
from gamewarden.groups.flowing import FLOWS, flows, ties


def flow(table, giver, taker):
    return flows(table).row(by_predicate=(pl.col("giver") == giver) & (pl.col("taker") == taker), named=True)


def test_a_gift_that_both_sides_logged_is_counted_once():
    told = flow(edges(gave("ann", "bob", 3, 90), got("bob", "ann", 3, 90)), "ann", "bob")

    assert (told["n"], told["amount"], told["back_n"], told["one_way"]) == (3, 90.0, 0, True)


def test_what_only_the_taker_logged_counts_as_well():
    assert flow(edges(got("bob", "ann", 2, 40)), "ann", "bob")["amount"] == 40.0


def test_mail_trade_and_things_left_on_the_floor_add_up():
    table = edges(
        gave("ann", "bob", 1, 10),
        gave("ann", "bob", 2, 20, kind="mail.send"),
        got("bob", "ann", 2, 20, kind="mail.receive"),
        ("ann", "bob", "floor", 1, 0.0, 5.0),
    )

    told = flow(table, "ann", "bob")

    assert (told["n"], told["amount"], told["items"]) == (4, 30.0, 5.0)


def test_days_add_up():
    assert flow(edges(gave("ann", "bob", 1, 10), gave("ann", "bob", 1, 15)), "ann", "bob")["amount"] == 25.0


def test_an_item_that_was_paid_for_is_an_exchange():
    table = edges(gave("smith", "ann", 1, items=1), gave("ann", "smith", 1, 500))

    assert flows(table)["exchange"].to_list() == [True, True]
    assert flows(table)["one_way"].to_list() == [False, False]


def test_ten_items_for_one_payment_are_an_exchange():
    assert flows(edges(gave("smith", "ann", 10, items=10), gave("ann", "smith", 1, 500)))["exchange"].all()


def test_a_hub_that_hands_a_tool_back_still_only_takes():
    table = edges(gave("leaf", "hub", 3, 900), gave("hub", "leaf", 1, items=1))

    assert flow(table, "leaf", "hub")["one_way"]
    assert not flow(table, "hub", "leaf")["one_way"]
    assert not flows(table)["exchange"].any()


def test_what_is_sold_on_a_market_is_no_gift():
    assert flows(edges(("ann", "bob", "market.sell", 3, 50.0), ("bob", "ann", "market.buy", 3, -50.0, 3.0))).is_empty()


def test_nobody_gives_to_itself_and_nobody_gives_to_nobody():
    assert flows(edges(gave("ann", "ann", 1, 5), gave("ann", None, 1, 5))).is_empty()


def test_a_gift_of_items_counts_as_much_as_a_usual_gift_of_money():
    table = edges(gave("a", "b", 2, 200), gave("c", "d", 1, 100), gave("e", "f", 4, items=900))

    assert flow(table, "e", "f")["value"] == 400.0


def test_where_no_money_was_given_each_gift_counts_one():
    assert flow(edges(gave("e", "f", 4, items=900)), "e", "f")["value"] == 4.0


def test_a_gift_of_which_the_log_tells_nothing_is_one_still():
    assert flow(edges(gave("ann", "bob", 2), gave("cid", "dan", 1, 70)), "ann", "bob")["value"] == 140.0


def test_the_order_of_rows_does_not_matter():
    table = edges(*(gave(f"a{number % 7}", f"b{number % 5}", 1, 0.1 * number) for number in range(200)))

    assert flows(table.reverse()).equals(flows(table))


def test_flows_have_their_columns_and_their_times():
    day = datetime(2026, 5, 4, 12, tzinfo=UTC)
    told = flows(edges(gave("ann", "bob")).with_columns(first=pl.lit(day), last=pl.lit(day)))

    assert dict(told.schema) == dict(FLOWS.columns)
    assert told["first"].to_list() == [day]


def test_a_tie_is_one_pair_whoever_logged_it():
    assert ties(edges(("b", "a", "party", 2), ("a", "b", "party", 1), ("a", "c", "mail.send")), ("party",)).rows() == [
        ("a", "b", 3)
    ]
