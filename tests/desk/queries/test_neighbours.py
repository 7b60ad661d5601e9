"""Habits and neighbours of an account, from what rests: its hours, what it does, and with whom it trades."""

import polars as pl
import pytest

from account_made_up import DAY, GIVEN, WANDERER, desk_of, wandering
from gamewarden.desk import account_trade
from gamewarden.desk.account_habits import hours, mix
from gamewarden.desk.account_trade import trade


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return desk_of(tmp_path_factory.mktemp("desk"))


def test_hours_are_those_of_the_log(desk):
    shown = hours(desk, WANDERER, DAY)

    (day,) = shown.days
    assert day.day == DAY
    assert {hour for hour, count in enumerate(day.hours) if count} == {2, 5}
    assert sum(day.hours) == day.events == wandering().height
    assert (shown.busy, shown.longest) == (2, 1)


def test_hours_stand_beside_those_of_people(desk):
    shown = hours(desk, "bot003", DAY)

    assert len(shown.days) == 4
    assert shown.peers.known_as == "labelled"
    assert [hour for hour, share in enumerate(shown.peers_by_hour) if share] == [1]
    assert shown.peers_busy == 1


def test_what_an_account_does_stands_beside_what_people_do(desk):
    shown = mix(desk, WANDERER, DAY)

    found = {one.kind: one for one in shown.kinds}
    assert found["move"].n == 100
    assert found["move"].share == pytest.approx(100 / wandering().height)
    assert found["move"].low <= found["move"].usual <= found["move"].high < found["move"].share
    assert found["chat"].n == 0
    assert found["chat"].usual > 0
    assert sum(one.n for one in shown.kinds) == shown.events
    apart = [abs(one.share - one.usual) for one in shown.kinds if one.usual is not None]
    assert apart == sorted(apart, reverse=True)


def test_partners_are_those_to_whom_something_was_given(desk):
    shown = trade(desk, WANDERER)

    assert {one.actor for one in shown.partners} == {f"bot{number:03}" for number in range(GIVEN)}
    given = wandering().filter(pl.col("kind") == "trade.give")
    assert sum(one.given for one in shown.partners) == given["amount"].sum()
    assert sum(one.gave for one in shown.partners) == given.height
    assert [one.given for one in shown.partners] == sorted((one.given for one in shown.partners), reverse=True)
    assert {(one.giver, one.amount is not None) for one in shown.edges} == {(WANDERER, True)}
    assert shown.nodes[0].actor == WANDERER
    assert all(one.point for one in shown.partners)


def test_the_points_of_neighbours_are_hidden_from_the_blind(desk):
    shown = trade(desk, WANDERER, blind=True)

    assert {one.point for one in (*shown.nodes, *shown.partners)} == {None}
    assert shown.partners


def test_it_is_said_how_many_partners_are_not_shown(desk, monkeypatch):
    monkeypatch.setattr(account_trade, "NEAR", 2)

    shown = trade(desk, WANDERER)

    assert (len(shown.partners), shown.more) == (2, GIVEN - 2)


def test_an_account_without_dealings_has_no_neighbourhood(desk):
    shown = trade(desk, "human030")

    assert (shown.nodes, shown.missing) == ((), "account")
    assert shown.days == 4


def test_what_both_sides_tell_of_a_trade_counts_once():
    rows = [("a", "b", "gave", 2, 30.0), ("b", "a", "got", 2, 30.0), ("b", "c", "gave", 1, None)]
    dealings = pl.DataFrame(rows, schema=["actor", "other", "way", "n", "amount"], orient="row")

    flows = account_trade.flows_of(dealings)

    assert flows.rows() == [("a", "b", 2, 30.0), ("b", "c", 1, None)]


def test_a_neighbourhood_has_room_for_so_many(monkeypatch):
    monkeypatch.setattr(account_trade, "MOST_NODES", 4)
    rows = [("b", f"far{number}", 1, float(number)) for number in range(20)]
    flows = pl.DataFrame(rows, schema=["giver", "receiver", "n", "amount"], orient="row")

    names, depths = account_trade.nodes_of("a", ["b"], flows)

    assert names == ["a", "b", "far19", "far18"]
    assert depths == {"a": 0, "b": 1, "far19": 2, "far18": 2}


def test_an_amount_that_no_event_tells_is_not_nought():
    dealings = pl.DataFrame(
        {"actor": ["a"] * 3, "other": ["b", "c", "c"], "way": ["gave", "gave", "got"], "n": [2, 1, 1]}
    ).with_columns(amount=pl.Series([None, 5.0, None], dtype=pl.Float64))

    told = {row["actor"]: row for row in account_trade._told(account_trade._partners(dealings)).to_dicts()}

    assert (told["b"]["given"], told["b"]["gave"]) == (None, 2)
    assert (told["c"]["given"], told["c"]["received"]) == (5.0, None)
