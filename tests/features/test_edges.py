"""EDGES: who had to do with whom, against a plain count over the same rows."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from resource import RUSAGE_SELF, getrusage

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.features.edges.floor import ROW, Floor
from gamewarden.features.edges.fold import EdgesFold
from gamewarden.features.folding import feed
from gamewarden.tables import EDGES, FrameEvents, check

MONDAY = datetime(2026, 3, 2, 10, tzinfo=UTC)
COLUMNS = {
    "actor": pl.String,
    "at": pl.Datetime("us", "UTC"),
    "kind": pl.String,
    "other": pl.String,
    "item": pl.String,
    "amount": pl.Float64,
    "zone": pl.String,
    "x": pl.Float32,
    "y": pl.Float32,
    "ip": pl.String,
}


def log(*rows):
    """Rows of actor, minutes after ten, kind, and whatever else there is."""
    given = ({"actor": who, "at": MONDAY + timedelta(minutes=at), "kind": kind, **more} for who, at, kind, more in rows)
    return pl.DataFrame([{name: row.get(name) for name in COLUMNS} for row in given], schema=COLUMNS)


def folded(events, *, batch=1 << 20, zone="UTC", floor=None):
    fold = EdgesFold(Clock(DAY, zone), floor)
    feed(fold, FrameEvents(events, batch=batch))
    return fold


def told(events, **how):
    rows = folded(events, **how).edges()
    return rows.select("actor", "other", "kind", "n", "amount", "items").rows()


def test_money_and_items_are_told_apart():
    events = log(
        ("a", 0, "trade.give", {"other": "b", "amount": -500.0}),
        ("a", 1, "trade.give", {"other": "b", "amount": -250.25}),
        ("a", 2, "trade.give", {"other": "b", "item": "ore", "amount": -3.0}),
        ("a", 3, "mail.send", {"other": "b", "item": "ring"}),
        ("b", 4, "mail.receive", {"other": "a", "item": "ring"}),
        ("c", 5, "market.sell", {"other": "d", "item": "ring", "amount": 90.0}),
        ("d", 5, "market.buy", {"other": "c", "item": "ring", "amount": -90.0}),
        ("d", 6, "market.buy", {"other": "c", "item": "ore", "amount": 4.0}),
        ("e", 7, "party.join", {"other": "f"}),
        ("e", 8, "chat", {"other": "f"}),
        ("e", 9, "trade.give", {}),
    )

    assert told(events) == [
        ("a", "b", "mail.send", 1, None, -1),
        ("a", "b", "trade.give", 3, -750.25, -3),
        ("b", "a", "mail.receive", 1, None, 1),
        ("c", "d", "market.sell", 1, 90.0, -1),
        ("d", "c", "market.buy", 2, -90.0, 5),
        ("e", "f", "party", 1, None, None),
    ]


def test_an_edge_knows_its_day_and_its_first_and_last_moment():
    events = log(
        ("a", 0, "trade.give", {"other": "b"}),
        ("a", 60, "trade.give", {"other": "b"}),
        ("a", 24 * 60, "trade.give", {"other": "b"}),
    )

    rows = folded(events).edges()

    check(rows, EDGES, "edges")
    assert rows["n"].to_list() == [2, 1]
    assert rows["since"].dt.day().to_list() == [2, 3]
    assert (rows["last"] - rows["first"]).dt.total_minutes().to_list() == [60, 0]
    assert folded(events, zone="Asia/Seoul").edges()["since"].dt.hour().to_list() == [15, 15]


def test_an_address_is_an_edge_of_everybody_who_played_there():
    events = log(("a", 0, "move", {"ip": "1"}), ("a", 1, "move", {"ip": "2"}), ("b", 2, "move", {"ip": "1"}))

    assert told(events) == [
        ("a", "1", "address", 1, None, None),
        ("a", "2", "address", 1, None, None),
        ("b", "1", "address", 1, None, None),
    ]


def test_play_is_counted_in_stretches_of_ten_minutes():
    events = log(*(("a", minute, "move", {"ip": str(minute)}) for minute in (0, 1, 9, 10, 55)), ("b", 3, "move", {}))

    assert folded(events).play().select("actor", "n", "minutes").rows() == [("a", 5, 30), ("b", 1, 10)]


def test_money_that_a_log_names_as_the_item_is_money():
    events = log(
        ("a", 0, "trade.give", {"other": "b", "item": "Zeny", "amount": -514_471.0}),
        ("b", 0, "trade.receive", {"other": "a", "item": "Zeny", "amount": 514_471.0}),
        ("c", 1, "loot.drop", {"item": "gold", "zone": "Dion", "x": 0.0, "y": 0.0, "amount": -900.0}),
        ("d", 2, "loot.pickup", {"item": "gold", "zone": "Dion", "x": 0.0, "y": 0.0, "amount": 900.0}),
        ("f", 3, "loot.pickup", {"other": "e", "item": "gold", "amount": 70.0}),
    )

    assert told(events) == [
        ("a", "b", "trade.give", 1, -514_471.0, None),
        ("b", "a", "trade.receive", 1, 514_471.0, None),
        ("c", "d", "floor", 1, -900.0, None),
        ("e", "f", "floor", 1, -70.0, None),
    ]


def dropped(who, at, item="ore", x=0.0):
    return (who, at, "loot.drop", {"item": item, "zone": "Dion", "x": x, "y": 0.0, "amount": -2.0})


def picked(who, at, item="ore", x=1.0):
    return (who, at, "loot.pickup", {"item": item, "zone": "Dion", "x": x, "y": 1.0, "amount": 2.0})


GIVEN = ("a", "b", "floor", 1, None, -2)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([dropped("a", 0), picked("b", 4)], [GIVEN]),
        ([dropped("a", 0), picked("b", 6)], []),  # too late
        ([picked("b", 0), dropped("a", 1)], []),  # before
        ([dropped("a", 0), picked("b", 1, item="wood")], []),
        ([dropped("a", 0), picked("b", 1, x=40.0)], []),  # elsewhere
        ([dropped("a", 0), picked("a", 1), picked("b", 2)], []),  # it took it up again itself
        ([dropped("a", 0), picked("b", 1), picked("c", 2)], [GIVEN]),  # it lay there once
        ([dropped("c", 0), dropped("a", 1), picked("b", 2)], [GIVEN]),  # the latest
        ([dropped("a", 13 * 60 + 59), picked("b", 14 * 60 + 1)], []),  # a day is counted alone
    ],
)
def test_a_floor_trade_is_the_same_thing_at_the_same_place_soon_after(rows, wanted):
    assert told(log(*rows)) == wanted
    assert told(log(*rows[::-1])) == wanted


def test_a_thing_that_everybody_drops_and_picks_up_in_one_place_takes_no_more_memory_than_its_rows():
    drops, pickups = 1_000, 30_000
    draw = np.random.default_rng(3)
    at = np.sort(draw.integers(0, 3_600_000_000, drops + pickups))
    fell = np.zeros(len(at), bool)
    fell[draw.choice(len(at), drops, replace=False)] = True
    here = {"day": 0, "zone": 1, "item": 1, "at": at, "actor": np.arange(len(at)), "count": 1.0}
    rows = pl.DataFrame({"dropped": fell, **here, "x": 0.0, "y": 0.0}, schema=dict(ROW), strict=False)
    before = getrusage(RUSAGE_SELF).ru_maxrss
    floor = Floor()
    floor.see(at)
    floor.add(rows)
    assert floor.pairs().height == np.count_nonzero(fell[:-1] & ~fell[1:])  # the next one takes what fell last
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB


def test_a_log_that_says_who_dropped_what_is_believed():
    events = log(
        ("a", 0, "loot.drop", {"item": "ore", "other": "b", "amount": -2.0}),
        ("b", 9, "loot.pickup", {"item": "ore", "other": "a", "amount": 2.0}),
    )

    assert told(events) == [GIVEN]


def play(seed, count=3000):
    draw = np.random.default_rng(seed)
    kinds = ["trade.give", "trade.receive", "mail.send", "market.sell", "loot.drop", "loot.pickup", "move"]
    names = [f"p{number}" for number in range(12)]
    rows = {
        "actor": draw.choice(names, count),
        "at": [MONDAY + timedelta(seconds=int(at)) for at in np.sort(draw.integers(0, 3 * 86_400, count))],
        "kind": draw.choice(kinds, count, p=[0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2]),
        "other": [
            str(name) if chance < 0.4 else None
            for name, chance in zip(draw.choice(names, count), draw.random(count), strict=True)
        ],
        "item": [None if thing == "gold" else str(thing) for thing in draw.choice(["gold", "ore", "wood"], count)],
        "amount": [None if chance < 0.1 else float(chance * 100) for chance in draw.random(count)],
        "zone": draw.choice(["Dion", "Oren"], count),
        "x": draw.random(count) * 20,
        "y": draw.random(count) * 20,
        "ip": draw.choice(["1", "2", "3"], count),
    }
    return pl.DataFrame(rows, schema=COLUMNS)


def counted(events):
    """How often everybody dealt with whom, in plain words."""
    kinds = {"party.join": "party", "loot.pickup": "floor"}
    found = defaultdict(int)
    for row in events.iter_rows(named=True):
        if row["other"] is not None and row["kind"] not in {"move", "loot.drop"}:
            pair = (row["actor"], row["other"])
            ordered = pair[::-1] if row["kind"] == "loot.pickup" else pair
            found[(row["at"].date(), *ordered, kinds.get(row["kind"], row["kind"]))] += 1
    return dict(found)


@pytest.mark.parametrize("seed", range(3))
def test_edges_are_what_a_plain_count_finds(seed):
    events = play(seed).filter(pl.col("kind") != "loot.drop")

    rows = folded(events).edges().filter(pl.col("kind") != "address")

    days = rows.select(pl.col("since").dt.date(), "actor", "other", "kind", "n")
    assert {tuple(row[:4]): row[4] for row in days.rows()} == counted(events)


@pytest.mark.parametrize("seed", range(3))
def test_neither_order_nor_batches_nor_how_much_is_kept_of_the_floor_matter(seed):
    events = play(seed)
    wanted = folded(events)
    assert wanted.edges().filter(kind="floor")["n"].sum() > 100

    others = [
        folded(events, batch=97),
        folded(events, batch=97, floor=Floor(waiting=50)),
        folded(events.sample(fraction=1.0, shuffle=True, seed=seed)),
        folded(events.sample(fraction=1.0, shuffle=True, seed=seed), batch=89, floor=Floor(waiting=40, most=200)),
    ]

    for one in others:
        assert_frame_equal(one.edges(), wanted.edges(), check_exact=True)
        assert_frame_equal(one.play(), wanted.play(), check_exact=True)
