"""Groups: shared addresses, farms and one-way trade, each account with what speaks about it by itself."""

import pytest

from desks_made_up import judge, make_desk, rest
from gamewarden.desk.groups import ADDRESS, FARM, TRADE, group, groups, shortened
from gamewarden.errors import NotThereError

FARMERS = [f"f{number}" for number in range(6)]


@pytest.fixture
def desk(tmp_path):
    made = make_desk(tmp_path / "ws")
    (made.workspace.root / "labels.csv").write_text(
        "actor,bot,group\nf0,true,north\nf1,true,north\nmia,false,\n", encoding="utf-8"
    )
    text = (made.workspace.root / "warden.toml").read_text().replace('labels = ""', 'labels = "labels.csv"')
    (made.workspace.root / "warden.toml").write_text(text)
    made = type(made)(made.workspace.at(made.workspace.root))
    judge(made, 1, {**dict.fromkeys(FARMERS, (0.9, "act")), "boss": (0.4, None), "mia": 0.01, "leo": 0.02})
    home = [{"actor": name, "address": "192.168.7.9"} for name in ("mia", "leo", "tim", "zoe")]
    rest(made, "addresses", 1, [*home, *({"actor": name, "address": "10.1.2.3"} for name in FARMERS)])
    gives = [{"actor": name, "other": "boss", "kind": "trade.give", "n": 4, "amount": 50.0} for name in FARMERS]
    swaps = [
        {"actor": "mia", "other": "leo", "kind": "trade.give", "n": 2},
        {"actor": "leo", "other": "mia", "kind": "trade.give", "n": 2},
    ]
    rest(made, "edges", 1, [*gives, *swaps])
    rest(made, "accounts", 1, [{"actor": "f0", "reason": "It hunts without a pause.", "point": "act"}])
    return made


def found(desk, kind):
    return group(desk, groups(desk, kind).rows[0].id)


def test_the_kinds_of_groups_are_found_and_counted(desk):
    view = groups(desk)

    assert view.counts == {ADDRESS: 2, FARM: 1, TRADE: 1}
    assert view.rows[0].act == 6
    assert "never enough alone" in view.alone


def test_an_address_is_shortened_for_whoever_may_not_decide(desk):
    assert {one.name for one in groups(desk, ADDRESS).rows} == {"192.168.…", "10.1.…"}
    assert {one.name for one in groups(desk, ADDRESS, whole_addresses=True).rows} == {"192.168.7.9", "10.1.2.3"}
    assert not any("192.168.7" in one.id for one in groups(desk, ADDRESS).rows)
    assert shortened("2001:db8::1") == "2001:db8:…"
    assert shortened("home of mia") == "home…"


def test_a_household_that_trades_both_ways_gets_a_hint(desk):
    name = next(one.id for one in groups(desk, ADDRESS).rows if one.name == "192.168.…")

    view = group(desk, name)

    assert any("household" in hint for hint in view.hints)
    assert {one.actor for one in view.members} == {"mia", "leo", "tim", "zoe"}


def test_a_star_has_its_hub_and_those_who_give(desk):
    view = found(desk, TRADE)

    assert {one.actor for one in view.members} == {*FARMERS, "boss"}
    assert next(one for one in view.members if one.actor == "boss").received == 24
    assert {(edge.source, edge.target) for edge in view.graph.edges} == {(name, "boss") for name in FARMERS}
    assert [node.id for node in view.graph.nodes if node.kind == "hub"] == ["boss"]


def test_a_star_says_what_flows_to_its_hub_and_which_role_each_plays(desk):
    view = found(desk, TRADE)

    assert view.row.says == "6 accounts hand 100 % of all they give to boss, which gives nothing back"
    assert view.hints[0] == "In 24 gifts they gave 300 in money."
    assert {one.actor: one.role for one in view.members} == {**dict.fromkeys(FARMERS, "leaf"), "boss": "hub"}


def test_a_chain_is_a_group_by_trade(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {"a": 0.1})
    steps = [
        {"actor": one, "other": other, "kind": "trade.give", "n": 2, "amount": -90.0}
        for one, other in zip("abcd", "bcde", strict=True)
    ]
    rest(desk, "edges", 1, steps)

    view = found(desk, TRADE)

    assert view.row.says == "5 accounts pass things on, each to one and that one to the next"
    assert {one.role for one in view.members} == {"link"}


def test_four_who_give_are_no_star_and_neither_are_those_who_get_something_back(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {"boss": 0.1})
    four = [{"actor": f"a{number}", "other": "x", "kind": "mail.send"} for number in range(4)]
    five = [{"actor": f"b{number}", "other": "y", "kind": "trade.give"} for number in range(5)]
    rest(desk, "edges", 1, [*four, *five, {"actor": "b0", "other": "y", "kind": "trade.receive"}])

    assert groups(desk).counts[TRADE] == 0


def test_what_the_taker_logged_counts_as_well_and_not_twice(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {"boss": 0.1})
    gave = [{"actor": name, "other": "boss", "kind": "trade.give", "n": 3} for name in FARMERS]
    got = [{"actor": "boss", "other": name, "kind": "trade.receive", "n": 3} for name in FARMERS]
    rest(desk, "edges", 1, [*gave, *got])

    assert next(one for one in found(desk, TRADE).members if one.actor == "boss").received == 18


def test_what_is_bought_and_sold_is_no_gift(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {"boss": 0.1})
    rest(desk, "edges", 1, [{"actor": name, "other": "boss", "kind": "market.sell"} for name in FARMERS])

    assert groups(desk).counts[TRADE] == 0


def test_each_member_comes_with_what_speaks_about_it_by_itself(desk):
    members = {one.actor: one for one in found(desk, FARM).members}

    assert set(members) == {"f0", "f1"}
    assert members["f0"].reason == "It hunts without a pause."
    assert (members["f0"].point, members["f0"].probability, members["f0"].points) == ("act", 0.9, 1)


def test_nothing_of_that_name_is_one_line(desk):
    with pytest.raises(NotThereError):
        group(desk, "trade-nothing")
    with pytest.raises(NotThereError):
        groups(desk, "guild")


def test_without_tables_of_the_desk_there_are_no_groups(tmp_path):
    view = groups(make_desk(tmp_path / "ws"))

    assert (view.rows, view.pages) == ((), 1)
