"""Who hangs together."""

import polars as pl
import pytest

from gamewarden.evaluation import account_links as ties
from gamewarden.evaluation.account_links import components, seen_in, ties_of, with_named
from gamewarden.tables import FrameEvents
from made_up import START


def log(*rows):
    """Events from (actor, other, ip), or (actor, other, ip, times)."""
    whole = [(*row, 1) if len(row) == 3 else row for row in rows]
    frame = pl.DataFrame(whole, schema=["actor", "other", "ip", "n"], orient="row", infer_schema_length=None)
    repeated = frame.select(pl.exclude("n").repeat_by("n")).explode("actor", "other", "ip")
    return FrameEvents(repeated.with_columns(at=START, kind=pl.lit("trade.give")))


def groups(events):
    found = ties_of(seen_in(events)).groups
    return sorted(sorted(part["actor"]) for part in found.partition_by("group"))


def test_accounts_that_hand_everything_to_one_hub_are_one_group():
    star = [(f"leaf{at}", "hub", None, 5) for at in range(4)]

    assert groups(log(*star, ("alone", "shop", None))) == [["hub", "leaf0", "leaf1", "leaf2", "leaf3"]]


def test_a_friend_among_many_is_no_tie():
    events = log(*[("popular", f"friend{at}", None, 4) for at in range(5)])

    assert groups(events) == []


def test_one_or_two_dealings_are_no_tie():
    assert groups(log(("a", "b", None, 2))) == []


def test_accounts_at_one_address_are_one_group():
    there = [
        ("a", None, "10.0.0.1", 9),
        ("b", None, "10.0.0.1", 9),
        ("b", None, "10.0.0.2", 2),
        ("c", None, "10.0.0.2"),
    ]

    assert groups(log(*there)) == [["a", "b"]]


def test_an_address_that_is_visited_now_and_then_ties_nobody():
    events = log(("a", None, "home-a", 9), ("a", None, "café", 1), ("b", None, "home-b", 9), ("b", None, "café", 1))

    assert groups(events) == []


def test_a_public_address_ties_nobody_and_is_said():
    found = ties_of(seen_in(log(*[(f"a{at}", None, "carrier") for at in range(ties.PUBLIC + 1)])))

    assert found.groups.is_empty()
    assert found.notes == ("1 addresses have over 50 accounts each and tie nobody.",)


def test_a_market_where_all_hang_together_is_cut_before_it_is_one_group():
    """A chain of main partners through everybody: 60 % with the next one, 40 % with the one before."""
    chain = [(f"a{at:03}", f"a{at + step:03}", None, n) for at in range(1, 80) for step, n in ((1, 6), (-1, 4))]

    found = ties_of(seen_in(log(*chain)))

    assert found.groups.group_by("group").len()["len"].max() is None
    assert any("75%" in note for note in found.notes)


def test_what_hangs_together_even_so_is_called_a_market():
    chain = [(f"a{at:03}", f"a{at + 1:03}", None, 5) for at in range(80)]

    found = ties_of(seen_in(log(*chain)))

    assert found.groups.is_empty()
    assert "81 accounts hang together in groups of over 50: a market, not a farm; they tie nobody." in found.notes


def test_a_log_without_partners_and_addresses_shows_no_ties():
    found = ties_of(seen_in(log(("a", None, None), ("b", None, None))))

    assert not found.visible


def test_a_named_group_and_a_tie_make_one_group():
    tied = ties_of(seen_in(log(("a", "b", None, 5), ("c", "d", None, 5))))
    named = pl.DataFrame({"actor": ["b", "c", "e"], "group": ["farm", "farm", None]})

    found = with_named(tied, named).groups

    assert found["actor"].to_list() == ["a", "b", "c", "d"]
    assert found["group"].n_unique() == 1


def test_an_actor_may_be_called_like_an_address():
    at_x = [(("actor", name), ("address", "x")) for name in ("10.0.0.1", "w")]
    at_one = [(("actor", name), ("address", "10.0.0.1")) for name in ("y", "z")]

    assert components([*at_x, *at_one])["group"].n_unique() == 2


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_batches_of_any_size_show_the_same(size):
    events = log(("a", "b", "i", 4), ("b", "a", "j", 3), ("a", "c", "i", 1))
    whole = seen_in(events)
    events._batch = size

    pieces = seen_in(events)

    assert all(getattr(pieces, name).equals(getattr(whole, name)) for name in ("partner", "address", "kinds"))


def test_characters_of_one_account_are_tied():
    frame = pl.DataFrame({"actor": ["a", "a", "b"], "character": ["a1", "a2", "b1"], "kind": "move", "at": START})

    found = ties_of(seen_in(FrameEvents(frame), "character")).groups

    assert found["actor"].to_list() == ["a1", "a2"]


def test_pairs_are_added_up_as_they_come_and_not_held_as_often_as_they_occur(monkeypatch):
    monkeypatch.setattr(ties, "_HELD", 100)
    pairs, held = ties._Pairs(("actor", "kind")), []
    batch = pl.DataFrame({"actor": [f"a{who}" for who in range(40)], "kind": ["move"] * 40, "n": [1] * 40})
    for _ in range(50):
        pairs.add(batch)
        held.append(sum(part.height for part in pairs._parts))

    assert max(held) <= 40 + 100 + 40
    assert pairs.total()["n"].to_list() == [50] * 40
