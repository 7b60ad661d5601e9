from datetime import UTC, datetime

import polars as pl
import pytest

from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.errors import MeasureError
from gamewarden.features.activity import Activity
from gamewarden.features.addresses import addresses_by_period
from gamewarden.readers.memory import EventsInMemory
from gamewarden.tables import FrameEvents


def events(*rows, **columns):
    frame = pl.DataFrame(rows, schema=["actor", "hour", "zone", "ip"], orient="row")
    at = pl.Series("at", [datetime(2020, 1, 1 + hour // 24, hour % 24, tzinfo=UTC) for hour in frame["hour"]])
    return FrameEvents(frame.drop("hour", *columns.get("without", ())).with_columns(at, kind=pl.lit("move")))


def test_the_main_zone_is_the_one_with_most_events_over_all_addresses():
    log = events(
        ("a", 1, "Dion", "1"), ("a", 2, "Dion", "2"), ("a", 3, "Giran", "1"), ("a", 4, "Dion", "3"), ("a", 5, None, "1")
    )

    row = Activity().measure(log).row(0, named=True)

    assert (row["main_zone"], row["zones"], row["addresses"], row["events"]) == ("Dion", 2, 3, 5)


def test_of_two_equal_zones_the_first_by_name_is_the_main_one():
    log = events(("a", 1, "Giran", "1"), ("a", 2, "Dion", "1"))

    assert Activity().measure(log)["main_zone"].to_list() == ["Dion"]


def test_a_day_ends_at_midnight_of_the_zone():
    log = events(("a", 14, "Dion", "1"), ("a", 16, "Giran", "1"))

    assert Activity().measure(log).height == 1
    assert Activity(time_zone="Asia/Seoul").measure(log)["main_zone"].to_list() == ["Dion", "Giran"]


def test_what_the_log_does_not_have_is_null():
    log = events(("a", 1, "x", "x"), without=("zone", "ip"))

    row = Activity().measure(log).row(0, named=True)

    assert (row["main_zone"], row["zones"], row["addresses"]) == (None, None, None)


def ledger(*rows, **columns):
    """EVENTS of (actor, kind, amount, item), an hour apart, in the zone Dion."""
    frame = pl.DataFrame(
        rows,
        schema={"actor": pl.String, "kind": pl.String, "amount": pl.Float64, "item": pl.String},
        orient="row",
    )
    at = pl.Series("at", [datetime(2020, 1, 1 + hour // 24, hour % 24, tzinfo=UTC) for hour in range(frame.height)])
    return FrameEvents(frame.drop(columns.get("without", ())).with_columns(at, zone=pl.lit("Dion")), batch=3)


def test_money_is_gained_by_finding_it_by_sales_and_by_what_comes_without_an_item():
    log = ledger(
        ("a", "currency.gain", 100.0, None),
        ("a", "npc.sell", 20.0, "sword"),
        ("a", "market.sell", 3.0, "sword"),
        ("a", "trade.receive", 1_000.0, None),
        ("a", "mail.receive", 10_000.0, None),
        ("a", "trade.receive", 7.0, "sword"),
        ("a", "loot.pickup", 5.0, "arrow"),
        ("a", "exp.gain", 500.0, None),
        ("a", "currency.loss", -50.0, None),
        ("a", "currency.gain", None, None),
    )

    assert Activity().measure(log)["money_gained"].to_list() == [11_123.0]


def test_who_gained_nothing_gained_zero_and_a_log_without_amounts_or_such_kinds_says_nothing():
    rows = [("a", "currency.gain", 5.0, None), ("b", "chat", None, None)]

    assert Activity().measure(ledger(*rows))["money_gained"].to_list() == [5.0, 0.0]
    assert Activity().measure(ledger(*rows, without=["amount"]))["money_gained"].to_list() == [None, None]
    talk = EventsInMemory(ledger(("a", "chat", None, None)).frame)
    assert Activity().measure(talk)["money_gained"].to_list() == [None]


def test_events_of_a_kind_are_counted_by_day_and_are_unknown_where_the_source_never_shows_them():
    log = EventsInMemory(ledger(*[("a", "chat", None, None)] * 3, *[("b", "combat.kill", None, None)] * 30).frame)

    counted = Activity(kinds=("chat", "combat.kill", "fishing.bite")).measure(log)

    assert counted["chat"].to_list() == [3, 0, 0]
    assert counted["combat.kill"].to_list() == [0, 21, 9]
    assert counted["fishing.bite"].to_list() == [None] * 3


def test_a_kind_that_is_called_as_a_column_is_refused():
    with pytest.raises(MeasureError, match="'events' is a column already"):
        Activity(kinds=("events",))


def test_the_days_of_each_address_are_those_of_its_accounts():
    log = events(("a", 1, "x", "1"), ("a", 2, "x", "1"), ("a", 30, "x", "1"), ("b", 3, "x", "1"), ("b", 4, "x", None))

    found = addresses_by_period(log, Clock(DAY))

    days = [(row["actor"], row["address"], row["since"].day) for row in found.iter_rows(named=True)]
    assert days == [("a", "1", 1), ("a", "1", 2), ("b", "1", 1)]
    assert addresses_by_period(events(("a", 1, "x", "1"), without=("ip",)), Clock(DAY)).is_empty()
