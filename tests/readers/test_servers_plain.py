"""LandSandBoat and OpenTibia: tables made as the servers make them, filled by a small generator, and counted by SQL."""

# ruff: noqa: E501, S311, S608  tables as the servers declare them; repeatable, and of the tests' own

import random
from collections import Counter

import polars as pl
import pytest

from gamewarden import readers
from gamewarden.readers import servers
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.tables import EVENTS
from mariadb_server import database_of

pytestmark = pytest.mark.integration

START = 1_794_000_000  # 2026-11
PEOPLE = 12

LANDSANDBOAT = {
    "accounts": "`id` int(10) unsigned NOT NULL PRIMARY KEY, `login` varchar(16) NOT NULL, `timecreate` datetime NOT NULL, `status` tinyint(3) unsigned NOT NULL DEFAULT 1, `priv` tinyint(3) unsigned NOT NULL DEFAULT 1",
    "chars": "`charid` int(10) unsigned NOT NULL PRIMARY KEY, `accid` int(10) unsigned NOT NULL, `charname` varchar(15) NOT NULL, `pos_zone` smallint(3) unsigned NOT NULL, `playtime` int(10) unsigned NOT NULL DEFAULT 0, `gmlevel` smallint(3) unsigned NOT NULL DEFAULT 0",
    "char_jobs": "`charid` int(10) unsigned NOT NULL PRIMARY KEY, `war` tinyint(2) unsigned NOT NULL DEFAULT 1",
    "char_stats": "`charid` int(10) unsigned NOT NULL PRIMARY KEY, `mjob` tinyint(2) unsigned NOT NULL, `mlvl` tinyint(2) unsigned NOT NULL",
    "char_history": "`charid` int(10) unsigned NOT NULL PRIMARY KEY, `enemies_defeated` int(10) unsigned NOT NULL DEFAULT 0, `distance_travelled` int(10) unsigned NOT NULL DEFAULT 0",
    "account_ip_record": "`login_time` datetime NOT NULL, `accid` int(10) NOT NULL, `charid` int(10) NOT NULL, `client_ip` tinytext NOT NULL, PRIMARY KEY (`login_time`, `accid`)",
    "audit_trade": "`id` int(10) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, `itemid` smallint(5) unsigned NOT NULL, `quantity` int(10) unsigned NOT NULL, `sender` int(10) unsigned NOT NULL, `sender_name` varchar(15), `receiver` int(10) unsigned NOT NULL, `receiver_name` varchar(15), `date` int(10) unsigned NOT NULL",
    "audit_bazaar": "`id` int(10) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, `itemid` smallint(5) unsigned NOT NULL, `quantity` int(10) unsigned NOT NULL, `seller` int(10) unsigned NOT NULL, `seller_name` varchar(15), `purchaser` int(10) unsigned NOT NULL, `purchaser_name` varchar(15), `price` int(10) unsigned NOT NULL, `date` int(10) unsigned NOT NULL",
    "audit_dbox": "`id` int(10) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, `itemid` smallint(5) unsigned NOT NULL, `quantity` int(10) unsigned NOT NULL, `sender` int(10) unsigned NOT NULL, `sender_name` varchar(15), `receiver` int(10) unsigned NOT NULL, `receiver_name` varchar(15), `price` int(10) unsigned NOT NULL, `date` int(10) unsigned NOT NULL",
    "audit_vendor": "`id` int(10) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, `itemid` smallint(5) unsigned NOT NULL, `quantity` int(10) unsigned NOT NULL, `seller` int(10) unsigned NOT NULL, `seller_name` varchar(15), `baseprice` int(10) unsigned NOT NULL, `totalprice` int(10) unsigned NOT NULL, `date` int(10) unsigned NOT NULL",
    "auction_house": "`id` int(10) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, `itemid` smallint(5) unsigned NOT NULL, `stack` tinyint(1) unsigned NOT NULL DEFAULT 0, `seller` int(10) unsigned NOT NULL, `seller_name` varchar(15), `date` int(10) unsigned NOT NULL, `price` int(10) unsigned NOT NULL, `buyer_name` varchar(15), `sale` int(10) unsigned NOT NULL DEFAULT 0, `sell_date` int(10) unsigned NOT NULL DEFAULT 0",
    "audit_chat": "`lineID` int(10) NOT NULL AUTO_INCREMENT PRIMARY KEY, `speaker` tinytext NOT NULL, `type` tinytext NOT NULL, `lsName` tinytext, `zoneid` smallint(3) unsigned, `unity` tinyint(4), `recipient` tinytext, `message` blob, `datetime` datetime NOT NULL",
    "audit_gm": "`date_time` datetime NOT NULL, `gm_name` varchar(16) NOT NULL, `command` varchar(40) NOT NULL, `full_string` varchar(200) NOT NULL, PRIMARY KEY (`date_time`, `gm_name`)",
    "cheat_incidents": "`charid` int(10) unsigned NOT NULL, `incident_time` datetime NOT NULL DEFAULT current_timestamp(), `cheatid` int(10) unsigned NOT NULL, `cheatarg` int(10) unsigned NOT NULL, `description` varchar(128)",
}
NPC = 17_000_000  # numbers of NPCs lie far above those of characters

_PLAYERS = "`id` int NOT NULL AUTO_INCREMENT PRIMARY KEY, `name` varchar(255) NOT NULL, `group_id` int NOT NULL DEFAULT 1, `account_id` int NOT NULL DEFAULT 0, `level` int NOT NULL DEFAULT 1, `vocation` int NOT NULL DEFAULT 0, `experience` bigint unsigned NOT NULL DEFAULT 0, `posx` int NOT NULL DEFAULT 0, `lastlogin` bigint unsigned NOT NULL DEFAULT 0, `onlinetime` bigint NOT NULL DEFAULT 0, `balance` bigint unsigned NOT NULL DEFAULT 0"
FORGOTTEN = {
    "accounts": "`id` int NOT NULL AUTO_INCREMENT PRIMARY KEY, `name` varchar(32) NOT NULL, `type` int NOT NULL DEFAULT 1, `creation` int NOT NULL DEFAULT 0",
    "players": _PLAYERS,
    "market_history": "`id` int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, `player_id` int NOT NULL, `sale` tinyint NOT NULL DEFAULT 0, `itemtype` smallint unsigned NOT NULL, `amount` smallint unsigned NOT NULL, `price` bigint unsigned NOT NULL DEFAULT 0, `expires_at` bigint unsigned NOT NULL, `inserted` bigint unsigned NOT NULL, `state` tinyint unsigned NOT NULL",
    "player_deaths": "`player_id` int NOT NULL, `time` bigint unsigned NOT NULL DEFAULT 0, `level` int NOT NULL DEFAULT 1, `killed_by` varchar(255) NOT NULL, `is_player` tinyint NOT NULL DEFAULT 1, `mostdamage_by` varchar(100) NOT NULL DEFAULT '', KEY `killed_by` (`killed_by`)",
}
CANARY = FORGOTTEN | {
    "player_kills": "`player_id` int(11) NOT NULL, `time` bigint(20) unsigned NOT NULL DEFAULT 0, `target` int(11) NOT NULL, `unavenged` tinyint(1) NOT NULL DEFAULT 0",
    "store_history": "`id` int(11) NOT NULL AUTO_INCREMENT PRIMARY KEY, `account_id` int(11) unsigned NOT NULL, `mode` smallint(2) NOT NULL DEFAULT 0, `description` varchar(3500) NOT NULL DEFAULT '', `coin_amount` int(12) NOT NULL, `time` bigint(20) unsigned NOT NULL",
    "daily_reward_history": "`id` int(11) NOT NULL AUTO_INCREMENT PRIMARY KEY, `daystreak` smallint(2) NOT NULL DEFAULT 0, `player_id` int(11) NOT NULL, `timestamp` int(11) NOT NULL",
}  # fmt: skip


def make(server, url, tables):
    for table, columns in tables.items():
        server.execute(f"CREATE TABLE `{table}` ({columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", database_of(url))


def put(server, url, table, columns, rows):
    listed, places = ", ".join(f"`{name}`" for name in columns.split()), ", ".join(["%s"] * len(columns.split()))
    with server.connected(database_of(url)) as connection, connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO `{table}` ({listed}) VALUES ({places})", rows)


def fill_landsandboat(server, url, seed=7):
    dice = random.Random(seed)
    char, item, when = (
        (lambda: 1 + dice.randrange(PEOPLE)),
        (lambda: dice.randrange(1, 4000)),
        iter(range(START, START + 10**6, 37)),
    )

    def moment():
        return f"2026-03-{1 + dice.randrange(28):02} {dice.randrange(24):02}:{dice.randrange(60):02}:{dice.randrange(60):02}"

    # Characters 1 and 2 are one account's.
    put(
        server,
        url,
        "accounts",
        "id login timecreate priv",
        [(1000 + n, f"user{n}", "2026-01-02 03:04:05", 2 if n == 3 else 1) for n in range(1, PEOPLE)],
    )
    put(
        server,
        url,
        "chars",
        "charid accid charname pos_zone playtime gmlevel",
        [(n, 1000 + max(n - 1, 1), f"Name{n}", 100, 3600 * n, 5 if n == 5 else 0) for n in range(1, PEOPLE + 1)],
    )
    put(server, url, "char_stats", "charid mjob mlvl", [(n, n, n * 6) for n in range(1, PEOPLE + 1)])
    put(
        server,
        url,
        "char_history",
        "charid enemies_defeated distance_travelled",
        [(n, 10 * n, 100 * n) for n in range(1, PEOPLE + 1)],
    )
    put(server, url, "audit_trade", "itemid quantity sender sender_name receiver receiver_name date",
        [(item(), dice.randrange(1, 99), char(), "x", to, "x", next(when)) for to in [dice.choice((char(), NPC)) for _ in range(90)]])  # fmt: skip
    put(
        server,
        url,
        "audit_bazaar",
        "itemid quantity seller purchaser price date",
        [(item(), 1, char(), char(), 5, next(when)) for _ in range(40)],
    )
    put(
        server,
        url,
        "audit_dbox",
        "itemid quantity sender receiver price date",
        [(item(), 1, char(), char(), 5, next(when)) for _ in range(30)],
    )
    put(
        server,
        url,
        "audit_vendor",
        "itemid quantity seller baseprice totalprice date",
        [(item(), 3, char(), 5, 15, next(when)) for _ in range(20)],
    )
    put(
        server,
        url,
        "auction_house",
        "itemid seller date price",
        [(item(), dice.choice((0, char())), next(when), 500) for _ in range(35)],
    )
    put(
        server,
        url,
        "audit_chat",
        "speaker type zoneid message datetime",
        [(f"Name{char()}", "SAY", 100, b"hello", moment()) for _ in range(25)],
    )
    put(
        server,
        url,
        "audit_gm",
        "date_time gm_name command full_string",
        [(f"2026-11-01 00:00:{n:02}", "Name5", "x", "x") for n in range(9)],
    )
    put(
        server,
        url,
        "account_ip_record",
        "login_time accid charid client_ip",
        [(f"2026-11-01 01:00:{n:02}", 1001, 1, "198.51.100.7") for n in range(15)],
    )
    put(
        server,
        url,
        "cheat_incidents",
        "charid incident_time cheatid cheatarg",
        [(char(), moment(), 3, 0) for _ in range(6)],
    )


def fill_opentibia(server, url, seed=7):
    """Deals as the server writes them: who takes an offer, then whose it was."""
    dice = random.Random(seed)
    put(
        server,
        url,
        "accounts",
        "id name type creation",
        [(n, f"acc{n}", 5 if n == 4 else 1, START - 10**6) for n in range(1, PEOPLE)],
    )
    put(
        server,
        url,
        "players",
        "id name group_id account_id level vocation onlinetime balance lastlogin",
        [(n, f"Name {n}", 1, max(n - 1, 1), n * 9, n % 9, 7200, 100, START) for n in range(1, PEOPLE + 1)],
    )
    rows = []
    for n in range(80):
        state, sale, player, owner = (
            dice.choice((255, 255, 1, 2)),
            dice.randrange(2),
            *dice.sample(range(1, PEOPLE + 1), 2),
        )
        deal = (
            dice.randrange(2000, 3000),
            dice.randrange(1, 50),
            dice.randrange(1, 9000),
            START + 10**6 + n,
            START + n * 60,
        )
        rows.append((player, sale, *deal, state))
        rows += [(owner, 1 - sale, *deal, 3)] if state == 255 else []
    put(server, url, "market_history", "player_id sale itemtype amount price expires_at inserted state", rows)
    put(server, url, "player_deaths", "player_id time level killed_by is_player",
        [(1 + n % PEOPLE, START + n * 61, 7, *dice.choice((("a dragon", 0), ("Name 3", 1)))) for n in range(30)])  # fmt: skip


def opened(url, preset=None):
    return readers.open(url, SourceOptions(LogOptions(preset, "UTC"), databases=DatabaseOptions(offline=True)))


def events_of(source):
    parts = [pl.DataFrame(pl.from_arrow(batch)) for batch in source.events().batches(list(EVENTS.columns))]
    return pl.concat(parts).with_columns(pl.col(pl.Categorical).cast(pl.String))


def ask(server, url, statement):
    return server.execute(statement, database_of(url))


def count(server, url, statement):
    return ask(server, url, f"SELECT COUNT(*) FROM {statement}")[0][0]


@pytest.fixture
def landsandboat(mariadb_server, mariadb):
    make(mariadb_server, mariadb, LANDSANDBOAT)
    fill_landsandboat(mariadb_server, mariadb)
    return mariadb


@pytest.fixture(params=[FORGOTTEN, CANARY], ids=["The Forgotten Server", "Canary"])
def opentibia(request, mariadb_server, mariadb):
    make(mariadb_server, mariadb, request.param)
    fill_opentibia(mariadb_server, mariadb)
    return mariadb


def test_each_kind_of_landsandboat_is_as_frequent_as_its_tables_say(landsandboat, mariadb_server):
    events = events_of(opened(landsandboat, "landsandboat"))

    people = f"audit_trade WHERE receiver < {NPC}"
    assert Counter(events["kind"]) == {
        "trade.give": count(mariadb_server, landsandboat, people),
        "trade.receive": count(mariadb_server, landsandboat, people),
        "npc.trade": count(mariadb_server, landsandboat, f"audit_trade WHERE receiver = {NPC}"),
        "bazaar.buy": 40,
        "mail.send": 30,
        "npc.sell": 20,
        "auction.list": count(mariadb_server, landsandboat, "auction_house WHERE seller <> 0"),
        "chat": 25,
        "gm.command": 9,
        "character.select": 15,
        "anticheat.incident": 6,
    }


def test_only_what_nobody_did_is_left_out_of_landsandboat(landsandboat, mariadb_server):
    events = opened(landsandboat, "landsandboat").events()
    for _ in events.batches(["kind"]):
        pass

    own = count(mariadb_server, landsandboat, "auction_house WHERE seller = 0")
    assert events.notes == (f"{own} rows left out: auction_house: put up by the server itself",)


def test_both_sides_of_a_trade_name_each_other_and_nobody_names_themselves(landsandboat, mariadb_server):
    events = events_of(opened(landsandboat, "landsandboat"))

    edges = Counter(
        events.filter(pl.col("kind") == "trade.give").drop_nulls("other").select("actor", "other").iter_rows()
    )
    asked = ask(mariadb_server, landsandboat,
                "SELECT a.accid, b.accid, COUNT(*) FROM audit_trade t JOIN chars a ON a.charid = t.sender "
                "JOIN chars b ON b.charid = t.receiver WHERE a.accid <> b.accid GROUP BY 1, 2")  # fmt: skip
    assert edges == {(str(one), str(other)): n for one, other, n in asked}
    back = events.filter(pl.col("kind") == "trade.receive").drop_nulls("other").select("other", "actor").iter_rows()
    assert Counter(back) == edges
    assert events.filter(pl.col("kind") == "trade.give")["amount"].max() < 0


def test_profiles_of_landsandboat_have_the_highest_character_and_mark_staff(landsandboat):
    source = opened(landsandboat, "landsandboat")
    profiles = source.profiles()
    source.database.close()

    first = profiles.row(0, named=True)
    assert (first["actor"], first["name"], first["class"], first["level"]) == ("1001", "Name2", "MNK", 12)
    assert (first["characters"], first["hours_played"], first["enemies_defeated"]) == (2, 3, 30)
    assert sorted(profiles.filter("staff")["actor"]) == ["1003", "1004"]


def test_what_landsandboat_has_switched_off_is_unknown_and_not_zero(mariadb_server, mariadb):
    make(mariadb_server, mariadb, LANDSANDBOAT)
    put(mariadb_server, mariadb, "accounts", "id login timecreate", [(1, "a", "2026-01-02 03:04:05")])
    source = opened(mariadb, "landsandboat")

    advice = source.preset.advice(source.database)
    promised = source.promised
    source.database.close()

    assert promised == {"auction.list"}
    assert {line for one in advice for line in one.lines} >= {
        "AUDIT_PLAYER_TRADES = true,",
        "AUDIT_CHAT = true,",
        "LOG_USER_IP = true,",
    }


def test_each_kind_of_opentibia_is_as_frequent_as_its_tables_say(opentibia, mariadb_server):
    events = events_of(opened(opentibia, "opentibia"))

    asked = {
        "market.buy": "market_history WHERE state = 255 AND sale = 0",
        "market.sell": "market_history WHERE state = 255 AND sale = 1",
        "market.cancel": "market_history WHERE state = 1",
        "combat.death": "player_deaths",
    }
    assert Counter(events["kind"]) == {kind: count(mariadb_server, opentibia, what) for kind, what in asked.items()}


def test_a_deal_names_whose_offer_it_was_and_a_death_the_player_who_killed(opentibia, mariadb_server):
    events = events_of(opened(opentibia, "opentibia"))

    deals = events.filter(pl.col("kind").is_in(["market.buy", "market.sell"])).drop_nulls("other")
    asked = ask(mariadb_server, opentibia,
                "SELECT a.account_id, b.account_id, COUNT(*) FROM market_history h JOIN market_history o ON o.id = h.id + 1 "
                "JOIN players a ON a.id = h.player_id JOIN players b ON b.id = o.player_id "
                "WHERE h.state = 255 AND o.state = 3 AND a.account_id <> b.account_id GROUP BY 1, 2")  # fmt: skip
    assert Counter(deals.select("actor", "other").iter_rows()) == {(str(a), str(b)): n for a, b, n in asked}
    killed = events.filter((pl.col("kind") == "combat.death") & (pl.col("target") == "Name 3"))
    assert set(killed["other"]) <= {"2", None}
    assert killed["level"].unique().to_list() == [7]


def test_what_only_canary_writes_is_read_too(mariadb_server, mariadb):
    make(mariadb_server, mariadb, CANARY)
    fill_opentibia(mariadb_server, mariadb)
    put(mariadb_server, mariadb, "player_kills", "player_id time target", [(5, START, 8), (5, START + 9, 9)])
    put(mariadb_server, mariadb, "store_history", "account_id coin_amount time", [(4, -250, START)])
    put(mariadb_server, mariadb, "daily_reward_history", "player_id timestamp", [(5, START)])

    events = events_of(opened(mariadb, "opentibia")).filter(~pl.col("kind").str.contains("market|combat"))

    assert events.sort("at", "kind").select("kind", "actor", "other", "amount").rows() == [
        ("pvp.kill", "4", "7", None),
        ("reward.daily", "4", None, None),
        ("store.change", "4", None, -250.0),
        ("pvp.kill", "4", "8", None),
    ]


def test_profiles_of_opentibia_have_the_highest_character_and_mark_staff(opentibia):
    source = opened(opentibia, "opentibia")
    profiles, advice = source.profiles(), source.preset.advice(source.database)
    source.database.close()

    first = profiles.row(0, named=True)
    assert (first["actor"], first["name"], first["class"], first["level"]) == ("1", "Name 2", "Druid", 18)
    assert (first["hours_played"], str(first["first_login"])) == (4, "2026-10-26 07:33:20+00:00")
    assert profiles.filter("staff")["actor"].to_list() == ["4"]
    assert "ALTER TABLE `player_deaths` ADD INDEX (`time`);" in {line for one in advice for line in one.lines}


def test_neither_claims_the_database_of_the_other_or_of_a_ragnarok_server_beside_it(landsandboat, mariadb_server):
    from ragnarok_database import make_tables

    tibia, ragnarok = mariadb_server.new_database(), mariadb_server.new_database()
    try:
        make(mariadb_server, tibia, CANARY)
        make_tables(mariadb_server, database_of(ragnarok))
        claims = []
        for url in (landsandboat, tibia, ragnarok):
            database = opened(url, "rathena").database
            claims.append([name for name in ("landsandboat", "opentibia") if servers.load(name).wrote(database)])
            database.close()
    finally:
        mariadb_server.drop(tibia)
        mariadb_server.drop(ragnarok)

    assert claims == [["landsandboat"], ["opentibia"], []]


def test_a_dump_of_them_is_read_as_the_database_itself(landsandboat, mariadb_server, tmp_path):
    (tmp_path / "dump.sql").write_bytes(mariadb_server.dump(database_of(landsandboat)))

    dumped = events_of(opened(tmp_path / "dump.sql", "landsandboat"))

    live = events_of(opened(landsandboat, "landsandboat"))
    assert dumped.drop("level").equals(live.drop("level"))
