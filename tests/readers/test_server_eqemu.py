import json

import polars as pl
import pytest

import eqemu_database as eq
import warcraft_database as wow
from database_reading import (
    advice_of,
    doctor_of,
    edges_in,
    events_in,
    kinds_in,
    opened,
    preset_of,
    profiles_of,
    read_into,
)
from mariadb_server import database_of
from warcraft_database import insert

pytestmark = pytest.mark.integration

NOTHING = dict.fromkeys(eq.COPPER, 0)


@pytest.fixture
def world(mariadb_server, mariadb):
    """The database of an EQEmu with people and without a log; accounts 9 and 10 are staff, account 3 keeps a shop."""
    name = database_of(mariadb)
    wow.make(mariadb_server, name, eq.EQEMU)
    accounts = [(n, f"user{n}", {9: 10, 10: 255, 8: -2}.get(n, 0), 1_700_000_000 + n) for n in range(1, 11)]
    insert(mariadb_server, name, "account", ("id", "name", "status", "time_creation"), accounts)
    heroes = [(1000 + n, n, f"Hero{1000 + n}", n, 40 + n, 7200) for n in range(1, 11)]
    insert(
        mariadb_server, name, "character_data", ("id", "account_id", "name", "class", "level", "time_played"), heroes
    )
    insert(mariadb_server, name, "trader", ("char_id", "item_id"), [(1003, 5), (1003, 6)])
    settings = [(n, "some", n not in eq.OFF, 7) for n in range(1, 59)]
    columns = ("id", "event_name", "event_enabled", "retention_days")
    insert(mariadb_server, name, "player_event_log_settings", columns, settings)
    return mariadb_server, mariadb, name


def write(world, *rows):
    """Rows of the log: account, type, payload and more, as World.add has them, a second apart."""
    made = eq.World()
    made.rows.clear()
    for second, row in enumerate(rows):
        made.add(second, *row)
    insert(world[0], world[2], "player_event_logs", eq.WRITTEN, made.rows)


def read(world, tmp_path, *columns):
    _, notes = read_into(tmp_path / "lake", world[1])
    found = events_in(tmp_path / "lake")
    found = found.filter(~pl.col("kind").str.starts_with("session."))
    return found.select(columns).rows(), notes


def test_every_event_of_a_world_is_read_with_its_kind_and_every_trade_is_an_edge(world, tmp_path):
    truth = eq.World()
    insert(world[0], world[2], "player_event_logs", eq.WRITTEN, truth.rows)

    read_into(tmp_path / "lake", world[1])
    events = events_in(tmp_path / "lake")
    found = kinds_in(events)

    played = {kind: n for kind, n in truth.truth.items() if kind != "session.login"}
    assert {kind: n for kind, n in found.items() if not kind.startswith("session.")} == played
    assert found["session.login"] >= truth.truth["session.login"]
    money = events.filter(pl.col("item").is_null())
    assert edges_in(money, ("trade.give",)) == truth.edges
    back = money.filter(pl.col("kind") == "trade.receive").with_columns(-pl.col("amount"))
    assert {(one, other): n for (other, one), n in edges_in(back, ("trade.receive",)).items()} == truth.edges


def test_two_readings_give_what_one_gives(world, tmp_path):
    truth = eq.World()
    half = len(truth.rows) // 2
    for rows in (truth.rows[:half], truth.rows[half:]):
        insert(world[0], world[2], "player_event_logs", eq.WRITTEN, rows)
        read_into(tmp_path / "twice", world[1], offline=False)
    read_into(tmp_path / "once", world[1], offline=False)

    assert events_in(tmp_path / "twice").drop("seq").equals(events_in(tmp_path / "once").drop("seq"))


def test_each_row_has_its_place_and_a_level_only_where_the_log_says_it(world, tmp_path):
    write(
        world, (1, 12, {"from_level": 40, "to_level": 41, "levels_gained": 1}, 7.5), (2, 31, {"killer_name": "a bat"})
    )

    found, _ = read(world, tmp_path, "actor", "character", "kind", "zone", "x", "y", "level", "target")

    assert found == [
        ("1", "1001", "level.up", "22", 7.5, -5.0, 41, None),
        ("2", "1002", "combat.death", "22", 10.0, -5.0, None, "a bat"),
    ]


def test_who_enters_a_zone_is_in_the_new_one_and_not_where_the_row_was_written(world, tmp_path):
    write(world, (1, 2, {"from_zone_id": 22, "to_zone_id": 30}))

    assert read(world, tmp_path, "kind", "zone", "x")[0] == [("zone.enter", "30", None)]


def test_changing_the_zone_ends_no_session(world, tmp_path):
    write(
        world, (1, 10, {}), (1, 2, {"to_zone_id": 30}), (1, 11, {}), (1, 11, {}), (1, 14, {"item_id": 9}), (1, 11, {})
    )

    read_into(tmp_path / "lake", world[1])
    found = events_in(tmp_path / "lake")

    assert found["session"].n_unique() == 1
    assert found["kind"].to_list() == [
        "session.login", "zone.enter", "zone.leave", "zone.leave", "loot.pickup", "zone.leave",
    ]  # fmt: skip


def test_money_is_what_is_paid_in_copper_and_not_in_other_currencies(world, tmp_path):
    sold = {"item_id": 9, "npc_id": 5, "cost": 20, "alternate_currency_id": 0}
    write(world, (1, 16, {**sold, "player_currency_balance": 0}), (1, 16, {**sold, "player_currency_balance": 3}),
          (1, 15, {**sold, "alternate_currency_id": 4}), (1, 15, sold))  # fmt: skip

    assert read(world, tmp_path, "kind", "amount")[0] == [
        ("npc.sell", 20.0), ("npc.sell", None), ("npc.buy", None), ("npc.buy", -20.0)
    ]  # fmt: skip


def test_of_a_sale_in_the_bazaar_only_what_the_buyer_does_is_an_act(world, tmp_path):
    buys = {"item_id": 9, "trader_id": 1003, "trader_name": "Hero1003", "total_cost": 500}
    barter = {"status": "Successful Barter Transaction", "item_id": 8, "buyer_name": "Hero1003", "total_cost": 70}
    write(world, (1, 38, buys), (3, 39, {"item_id": 9, "buyer_id": 1001}),
          (2, 53, {**barter, "seller_name": "Hero1002"}), (3, 53, {**barter, "seller_name": "Hero1002"}),
          (2, 53, {**barter, "seller_name": "Hero1002", "status": "Failed Barter Transaction"}))  # fmt: skip

    found, notes = read(world, tmp_path, "actor", "kind", "item", "amount", "other")

    assert found == [("1", "market.buy", "9", -500.0, "3"), ("2", "market.sell", "8", 70.0, "3")]
    assert "2 rows left out: player_event_logs: a shop's half of a sale, which is no act of its owner" in notes
    assert "1 row left out: player_event_logs: a sale that did not come about" in notes


def test_parcels_are_mail_of_who_sent_them_and_money_in_them_is_no_item(world, tmp_path):
    parcel = {"item_id": 99990, "quantity": 5000, "from_player_name": "Hero1001", "to_player_name": "Hero1002"}
    write(world, (1, 50, parcel), (2, 51, parcel), (2, 50, {**parcel, "from_player_name": "A shop"}), (4, 52, parcel))

    found, notes = read(world, tmp_path, "actor", "kind", "item", "amount", "other")

    assert found == [("1", "mail.send", None, -5000.0, "2"), ("2", "mail.receive", None, 5000.0, "1")]
    assert "1 row left out: player_event_logs: a parcel that a shop or the server sent" in notes
    assert "1 row left out: player_event_logs: of the server itself" in notes


@pytest.mark.parametrize(
    ("taker", "x", "partner"), [(2, 11.0, ("2", "1")), (2, 900.0, (None, None)), (1, 11.0, (None, None))]
)
def test_what_one_account_drops_and_another_takes_up_at_once_and_there_changed_hands(
    world, tmp_path, taker, x, partner
):
    write(world, (1, 34, {"item_id": 9, "charges": 3}), (taker, 21, {"item_id": 9}, x))

    found, _ = read(world, tmp_path, "kind", "item", "amount", "other")

    assert found == [("loot.drop", "9", -3.0, partner[0]), ("loot.pickup", "9", 1.0, partner[1])]


def test_named_monsters_are_no_count_of_kills(world, tmp_path):
    write(world, (1, 45, {"npc_id": 78}), (1, 46, {"npc_id": 79}))

    assert {kind for (kind,) in read(world, tmp_path, "kind")[0]} == {"combat.named", "combat.raid"}


def test_a_kind_is_promised_when_the_server_is_set_to_write_it_down(world):
    before = opened(world[1]).promised
    world[0].execute("UPDATE player_event_log_settings SET event_enabled = 1 WHERE id = 44", world[2])
    after = opened(world[1]).promised
    world[0].execute("DROP TABLE player_event_log_settings", world[2])

    assert after - before == {"combat.kill"}
    assert {"trade.give", "loot.pickup", "session.login", "session.logout"} <= before
    assert opened(world[1]).promised == {"session.login", "session.logout"}


def test_the_advice_can_be_followed_to_the_letter(world):
    server, url, name = world
    write(world, (1, 1, {}))
    before = advice_of(url)
    for line in (line for one in before for line in one.lines):
        server.execute(line, name)
    after = advice_of(url)

    assert len(before) - len(after) == 3
    assert not [line for one in after for line in one.lines]
    assert {"combat.kill", "zone.leave"} <= opened(url).promised


def test_the_doctor_names_what_is_off_and_how_soon_rows_go(world):
    write(world, (1, 14, {"item_id": 9}))

    said = doctor_of(world[1])

    assert "WHERE `id` IN (44);" in said
    assert "deleted after 7 days" in said


def test_profiles_mark_staff_and_who_keeps_a_shop(world):
    found = profiles_of(world[1])

    assert found.filter("staff")["actor"].to_list() == ["10", "9"]
    assert found.filter("autotrader")["actor"].to_list() == ["3"]
    first = found.row(0, named=True)
    assert (first["actor"], first["name"], first["class"], first["level"]) == ("1", "Hero1001", "1", 41)
    assert str(first["first_login"]) == "2023-11-14 22:13:21+00:00"


UNCHECKED = "ALTER TABLE player_event_logs MODIFY event_data longtext"
BROKEN = (
    "", "{", "null", "[1]", '"text"', "9" * 5_000, "[" * 100_000, '{"item_id": ' + "9" * 4_000 + "}",
    '{"item_id": {"a": [1]}, "charges": "many", "npc_id": true}', '{"item_id": 1e999, "charges": NaN}',
    json.dumps({"item_id": "O'Neil\"\n\0" + "x" * 2_000_000}), '{"item_id": -5, "charges": -1}',
)  # fmt: skip


def test_payloads_that_cannot_be_read_leave_the_event_and_end_nothing(world, tmp_path):
    world[0].execute(UNCHECKED, world[2])
    write(world, *((1, 14, payload) for payload in BROKEN), *((1, 27, payload) for payload in BROKEN))

    found, notes = read(world, tmp_path, "kind", "item")

    assert [kind for kind, _ in found] == ["loot.pickup"] * len(BROKEN)
    assert {item for _, item in found} == {None, "-5", "9" * 64}
    assert f"{len(BROKEN)} rows left out: player_event_logs: a trade that does not say who gave what" in notes


def test_hostile_trades_give_what_can_be_read_of_them(world, tmp_path):
    world[0].execute(UNCHECKED, world[2])
    things = [{"item_id": 7, "charges": -3}, "nothing", {"item_id": None}, {"item_id": 8, "charges": 10**30}]
    coins = [{"platinum": "lots", "copper": 5}, {"gold": float("inf")}]
    write(world, (1, 27, eq.trade(1001, -4, coins, [things, {"item_id": 9}])),
          (1, 27, eq.trade(1001, 1001, [NOTHING, NOTHING], [[], []])))  # fmt: skip

    found, notes = read(world, tmp_path, "kind", "item", "amount", "other")

    assert found == [("trade.give", None, -5.0, None), ("trade.give", "7", -1.0, None), ("trade.give", "8", -1.0, None)]
    assert "1 row left out: player_event_logs: a trade of nothing" in notes


def test_rows_of_nobody_and_of_types_that_came_later_are_counted(world, tmp_path):
    write(world, (0, 14, {}), (-7, 14, {}), (1, 999, {}), (1, -1, {}))

    found, notes = read(world, tmp_path, "kind")

    assert not found
    assert "2 rows left out: player_event_logs: of no account" in notes
    assert "2 rows left out: player_event_logs: of a type that we do not know" in notes


def test_it_is_told_from_its_tables(world):
    assert preset_of(world[1]) == "eqemu"
