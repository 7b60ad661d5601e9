"""What rows of Ragnarok servers become: letters and signs, trades, shops, the floor, bosses, shopkeepers and staff."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from click.testing import CliRunner

import ragnarok_database as ragnarok
from database_events import OFFLINE, events_in
from databases_killed import read
from gamewarden import readers
from gamewarden.cli import root
from gamewarden.readers import servers
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.readers.servers.hercules import LETTERS as HERCULES
from gamewarden.readers.servers.rathena import LETTERS as RATHENA
from mariadb_server import database_of
from paths import ROOT

pytestmark = pytest.mark.integration

NOON = datetime(2026, 3, 1, 12)  # noqa: DTZ001  as the server writes it
# Hercules' columns, which tell it from rAthena.
_HERCULES_PICKS = ragnarok.RATHENA["picklog"].replace("option_id0", "opt_idx0").replace("enchantgrade", "grade")
HERCULES_TABLES = {
    **ragnarok.RATHENA,
    "picklog": _HERCULES_PICKS.replace(", 'F', ", ", '@', '4', '5', 'K', "),
    "charlog": ragnarok.RATHENA["charlog"]
    .replace("`id` bigint(20) unsigned NOT NULL AUTO_INCREMENT, ", "`char_id` int unsigned NOT NULL DEFAULT 0, ")
    .replace("PRIMARY KEY (`id`),", ""),
}


class Game:
    """A server's database with three accounts: ann, bob and the shopkeeper zoe."""

    def __init__(self, server, url, tables=ragnarok.RATHENA):
        self._server, self.url = server, url
        ragnarok.make_tables(server, database_of(url), tables)
        for account, user, group in ((1, "ann", 0), (2, "bob", 5), (3, "zoe", 10)):
            self.add("login", account_id=account, userid=user, group_id=group)
            self.add("char", char_id=100 + account, account_id=account, name=user.title(), base_level=10 * account)
        self.add("vendings", id=1, account_id=3, char_id=103, map="a", x=1, y=1, title="t", autotrade=1)

    def add(self, table, **values):
        columns = ", ".join(f"`{name}`" for name in values)
        places = ", ".join(["%s"] * len(values))
        statement = f"INSERT INTO `{table}` ({columns}) VALUES ({places})"  # noqa: S608
        self._server.execute(statement, database_of(self.url), tuple(values.values()))

    def pick(self, seconds, character, letter, amount, item=501, **more):
        at = NOON + timedelta(seconds=seconds)
        values = {"time": at, "char_id": character, "type": letter, "nameid": item, "amount": amount, "map": "prontera"}
        self.add("picklog", **{**values, **more})

    def events(self, lake, *kinds):
        read(self.url, lake, OFFLINE)
        found = events_in(lake, "actor", "at", "kind", "item", "amount", "other", "level", "target")
        return found.filter(pl.col("kind").is_in(kinds)) if kinds else found


@pytest.fixture
def game(mariadb, mariadb_server):
    return Game(mariadb_server, mariadb)


SERVERS = {"rathena": (ragnarok.RATHENA, RATHENA), "hercules": (HERCULES_TABLES, HERCULES)}


@pytest.mark.parametrize("name", SERVERS)
def test_each_letter_and_sign_is_the_kind_that_its_own_server_means(mariadb, mariadb_server, tmp_path, name):
    tables, letters = SERVERS[name]
    game = Game(mariadb_server, mariadb, tables)
    own = [letter for letter in letters if letter not in "TVBP"]
    for number, letter in enumerate(own):
        game.pick(10 * number, 101, letter, 1)
        game.pick(10 * number + 5, 101, letter, -1)
    rows = game.events(tmp_path / "lake").filter(pl.col("item").is_not_null())

    assert readers.open(mariadb, OFFLINE).preset.name == name
    assert rows["kind"].to_list() == [kind for letter in own for kind in letters[letter]]


def test_what_one_drops_and_another_takes_up_within_a_minute_has_changed_hands(game, tmp_path):
    game.pick(0, 101, "P", -1, item=1201, unique_id=77)
    game.pick(59, 102, "P", 1, item=1201, unique_id=77)
    game.pick(100, 101, "P", -1, item=1202)
    game.pick(161, 102, "P", 1, item=1202)
    game.pick(200, 101, "P", -5, item=1203)
    game.pick(201, 101, "P", 5, item=1203)
    rows = game.events(tmp_path / "lake", "loot.drop", "loot.pickup")

    assert rows.select("item", "actor", "other").rows() == [
        ("1201", "1", "2"),
        ("1201", "2", "1"),
        ("1202", "1", None),
        ("1202", "2", None),
        ("1203", "1", None),
        ("1203", "1", None),
    ]


def test_what_a_monster_may_have_dropped_proves_no_trade(game, tmp_path):
    game.pick(0, 101, "P", -1, item=909)
    game.pick(10, 1002, "M", -1, item=909)
    game.pick(20, 102, "P", 1, item=909)
    rows = game.events(tmp_path / "lake", "loot.drop", "loot.pickup")

    assert rows["other"].to_list() == [None, None]


def test_a_trade_is_paired_even_where_a_piece_ends_between_its_halves(game, tmp_path):
    for number in range(40):
        game.pick(number, 101, "T", 1, item=600 + number)
        game.pick(number, 102, "T", -1, item=600 + number)
    small = SourceOptions(OFFLINE.logs, databases=DatabaseOptions(offline=True, piece=7, batch=3, pause=0.0))
    read(game.url, tmp_path / "lake", small)
    trades = events_in(tmp_path / "lake", "actor", "kind", "other").filter(pl.col("kind").str.starts_with("trade"))

    assert sorted(trades.unique().rows()) == [("1", "trade.receive", "2"), ("2", "trade.give", "1")]
    assert trades.height == 80


def test_a_shop_does_nothing_when_it_sells_and_the_buyer_names_its_owner(game, tmp_path):
    game.pick(0, 101, "V", 3)
    game.pick(0, 103, "V", -3)
    game.add("zenylog", time=NOON, char_id=101, src_id=103, type="V", amount=-135, map="prontera")
    game.add("zenylog", time=NOON, char_id=103, src_id=101, type="V", amount=135, map="prontera")
    rows = game.events(tmp_path / "lake")

    assert set(rows["actor"]) == {"1"}
    bought = rows.filter(pl.col("kind") == "market.buy").select("item", "amount", "other").rows()
    assert sorted(bought, key=str) == [("501", 3.0, "3"), (None, -135.0, "3")]


def test_money_that_somebody_gains_in_a_shop_was_sold_for(game, tmp_path):
    game.add("zenylog", time=NOON, char_id=101, src_id=0, type="S", amount=715, map="prt_in")
    game.add("zenylog", time=NOON, char_id=101, src_id=101, type="S", amount=-20, map="prt_in")
    rows = game.events(tmp_path / "lake", "npc.buy", "npc.sell")

    assert rows.select("kind", "amount", "other").rows() == [("npc.sell", 715.0, None), ("npc.buy", -20.0, None)]


def test_bosses_are_no_ordinary_kills(game, tmp_path):
    game.add("mvplog", mvp_date=NOON, kill_char_id=101, monster_id=1038, map="beach_dun")

    assert game.events(tmp_path / "lake", "combat.boss", "combat.kill").select("kind", "target").rows() == [
        ("combat.boss", "1038")
    ]


def test_a_level_is_told_of_the_last_day_only(game, tmp_path):
    now = datetime.now(UTC).replace(tzinfo=None)
    for hours in (1, 30):
        game.pick(0, 101, "P", 1, item=hours, time=now - timedelta(hours=hours))
    rows = game.events(tmp_path / "lake", "loot.pickup").sort("item")

    assert rows.select("item", "level").rows() == [("1", 10), ("30", None)]


def test_rows_of_characters_that_nobody_knows_are_left_out_and_counted(game, tmp_path):
    game.pick(0, 999, "P", 1)
    told = read(game.url, tmp_path / "lake", OFFLINE)

    assert told.frame["new"].item() == 0
    assert any("1 row left out: picklog: their character belongs to no account any more" in one for one in told.notes)


def test_profiles_mark_staff_and_shopkeepers(game):
    rows = readers.open(game.url, OFFLINE).profiles().select("actor", "name", "level", "group", "staff", "autotrader")

    assert rows.rows() == [
        ("1", "Ann", 10, "0", False, False),
        ("2", "Bob", 20, "5", False, False),
        ("3", "Zoe", 30, "10", True, True),
    ]


def test_names_that_a_server_wrote_in_other_letters_are_read_in_them(mariadb_server):
    url = mariadb_server.new_database("latin1")
    ragnarok.make_tables(mariadb_server, database_of(url))
    mariadb_server.execute("INSERT INTO login (account_id, userid) VALUES (1, 'ann')", database_of(url))
    added = "INSERT INTO `char` (char_id, account_id, name) VALUES (5, 1, %s)"
    mariadb_server.execute(added, database_of(url), ("전사".encode("cp949"),))
    written = SourceOptions(LogOptions(time_zone="UTC"), databases=DatabaseOptions(encoding="cp949"))

    found = CliRunner().invoke(root, ["doctor", url])

    assert "its texts are kept as latin1" in found.output.lower()
    assert readers.open(url, written).profiles()["name"].to_list() == ["전사"]
    assert readers.open(url, OFFLINE).profiles()["name"].to_list() != ["전사"]
    mariadb_server.drop(url)


def test_what_a_collector_tells_counts_from_its_first_row_on(game, mariadb_server, tmp_path):

    tables = ROOT / "integrations" / "tables.sql"
    mariadb_server.script(tables.read_text(), database_of(game.url))
    at = int(NOON.replace(tzinfo=UTC).timestamp() * 1000)
    game.add("loginlog", time=NOON - timedelta(hours=1), ip="127.0.0.1", user="ann", rcode=100, log="login ok")
    game.add("loginlog", time=NOON + timedelta(hours=1), ip="127.0.0.1", user="ANN", rcode=100, log="login ok")
    game.add("gw_events", at=at, actor=2, character=102, kind="session.login", zone="prontera")
    game.add("gw_events", at=at + 3_600_500, actor=1, character=101, kind="combat.kill", target="1002", x=3.5, y=4)
    rows = game.events(tmp_path / "lake").sort("at")

    assert rows.select("actor", "kind").rows() == [
        ("1", "session.login"),
        ("1", "session.logout"),
        ("2", "session.login"),
        ("1", "account.login"),
        ("1", "combat.kill"),
    ]


def test_every_preset_is_known_by_its_name_and_says_what_its_tables_give():
    for name in servers.NAMES:
        preset = servers.load(name)

        assert preset.name == name
        assert preset.title
        assert len({table.name for table in preset.tables}) == len(preset.tables)
        for table in preset.tables:
            assert table.kinds, (name, table.name)
            odd = {kind for kind in table.kinds if kind.startswith("session.")} - {"session.login", "session.logout"}
            assert not odd, "such kinds would decide when somebody was online"
