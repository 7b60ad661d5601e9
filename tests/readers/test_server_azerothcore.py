import polars as pl
import pytest

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
from gamewarden.readers.servers import azerothcore
from mariadb_server import database_of
from paths import ROOT

pytestmark = pytest.mark.integration

TABLES = ROOT / "integrations" / "tables.sql"
PAYMENTS = ("money.cod", "money.auction", "money.mail", "money.give")


@pytest.fixture
def realm(mariadb_server, mariadb):
    """The databases of an AzerothCore with people and no logs: of characters (named), and of accounts (beside it)."""
    auth = mariadb_server.new_database()
    wow.make(mariadb_server, database_of(auth), wow.AZEROTHCORE_AUTH)
    wow.make(mariadb_server, database_of(mariadb), wow.AZEROTHCORE_CHARACTERS)
    wow.Realm().people(mariadb_server, database_of(auth), database_of(mariadb))
    yield mariadb_server, mariadb, database_of(auth), database_of(mariadb)
    mariadb_server.drop(auth)


def act(realm, rows):
    """Rows of logs_ip_actions: account, guid, type, seconds after the beginning."""
    server, _, auth, _ = realm
    columns = ("account_id", "character_guid", "type", "unixtime")
    told = [(account, guid, kind, wow.BEGIN + second) for account, guid, kind, second in rows]
    wow.insert(server, auth, "logs_ip_actions", columns, told)


def pay(realm, rows):
    wow.insert(realm[0], realm[3], "log_money", None, rows)


def sessions_in(lake):
    """The log-ins and log-outs of account 1, in seconds after the beginning."""
    found = events_in(lake).filter((pl.col("actor") == "1") & pl.col("kind").str.starts_with("session."))
    seconds = found["at"].dt.epoch("s") - wow.BEGIN
    return list(zip(found["kind"].str.slice(8), seconds, strict=True))


def test_every_event_of_a_realm_is_read_with_its_kind_and_every_payment_is_an_edge(realm, tmp_path):
    server, url, auth, characters = realm
    truth = wow.Realm()
    truth.logs(server, auth, characters)

    read_into(tmp_path / "lake", url)
    events = events_in(tmp_path / "lake")

    assert kinds_in(events) == truth.truth
    assert edges_in(events, PAYMENTS) == truth.edges
    assert set(events["actor"]) <= {str(account) for account in truth.accounts}


def test_the_databases_may_be_named_by_either_of_the_two(realm, tmp_path):
    server, url, auth, characters = realm
    wow.Realm().logs(server, auth, characters)

    read_into(tmp_path / "characters", url)
    read_into(tmp_path / "auth", server.url(auth))

    assert events_in(tmp_path / "characters").drop("seq").equals(events_in(tmp_path / "auth").drop("seq"))


def test_two_readings_give_what_one_gives(realm, tmp_path):
    server, url, auth, characters = realm
    truth = wow.Realm()
    truth.logs(server, auth, characters, (0, 0.5))
    first, _ = read_into(tmp_path / "twice", url)
    truth.logs(server, auth, characters, (0.5, 1))

    second, _ = read_into(tmp_path / "twice", url)

    assert kinds_in(events_in(tmp_path / "twice")) == truth.truth
    assert first > 0
    assert second > 0


def test_a_guild_is_nobodys_partner(realm, tmp_path):
    _, url, *_ = realm
    pay(realm, [(3, 102, "Hero102", "10.0.0.3", 1, "The guild", 20 * wow.GOLD, "", wow.clock(0), 3),
                (0, 2, "The guild", "10.0.0.3", 3, "Hero102", 30 * wow.GOLD, "", wow.clock(1), 4)])  # fmt: skip

    read_into(tmp_path / "lake", url)
    found = events_in(tmp_path / "lake").select("actor", "character", "kind", "target", "other", "ip", "amount")

    assert found.rows() == [
        ("3", "102", "guildbank.deposit", "1", None, "10.0.0.3", -20.0 * wow.GOLD),
        ("3", "102", "guildbank.withdraw", "2", None, "10.0.0.3", 30.0 * wow.GOLD),
    ]


def test_what_is_sent_to_ones_own_character_is_no_edge(realm, tmp_path):
    _, url, *_ = realm
    pay(realm, [(1, 100, "Hero100", "10.0.0.1", 1, "Hero112", 20 * wow.GOLD, "", wow.clock(0), 5)])

    read_into(tmp_path / "lake", url)

    assert events_in(tmp_path / "lake")["other"].null_count() == 1


def test_sessions_last_from_log_in_to_log_out_however_silent_somebody_is(realm, tmp_path):
    act(realm, [(1, 100, 8, 0), (1, 100, 9, 50_000), (1, 100, 8, 60_000)])

    read_into(tmp_path / "lake", realm[1])

    assert sessions_in(tmp_path / "lake") == [("login", 0), ("logout", 50_000), ("login", 60_000)]


def test_who_logs_in_again_without_having_left_left_at_the_last_event_before(realm, tmp_path):
    act(realm, [(1, 100, 8, 0), (1, 100, 8, 90_000), (1, 100, 9, 91_000)])
    pay(realm, [(1, 100, "Hero100", "", 2, "Hero101", 20 * wow.GOLD, "", wow.clock(500), 5)])

    read_into(tmp_path / "lake", realm[1])

    assert sessions_in(tmp_path / "lake") == [("login", 0), ("logout", 500), ("login", 90_000), ("logout", 91_000)]


def test_sessions_are_the_same_when_they_are_read_in_parts(realm, tmp_path):
    acts = [(1, 100, 8, 0), (1, 100, 8, 90_000), (1, 100, 9, 91_000), (1, 100, 1, 92_000), (1, 100, 8, 93_000)]
    for one in acts:
        act(realm, [one])
        read_into(tmp_path / "parts", realm[1])
    read_into(tmp_path / "whole", realm[1])

    columns = ("actor", "at", "kind", "session")
    assert events_in(tmp_path / "parts").select(columns).equals(events_in(tmp_path / "whole").select(columns))
    assert events_in(tmp_path / "whole")["session"].null_count() == 1


def test_log_ins_are_promised_only_where_they_are_written_down(realm):
    source = opened(realm[1])
    before = source.promised
    act(realm, [(1, 100, 8, 0)])
    after = opened(realm[1]).promised
    source.database.close()

    assert "session.login" not in before
    assert "money.give" in before
    assert {"session.login", "session.logout"} <= after


def test_no_kind_is_one_that_a_feature_takes_for_the_whole_of_it():
    counted = {"combat.kill", "trade.give", "trade.receive", "mail.send", "mail.receive", "market.buy", "market.sell"}

    kinds = frozenset().union(*(one.kinds for one in azerothcore.PRESET.tables if one.name != "gw_events"))

    assert not kinds & counted


def test_where_a_collector_tells_who_came_the_log_of_addresses_does_not_tell_it_twice(realm, tmp_path):
    server, url, _, characters = realm
    server.script(TABLES.read_text(), characters)
    events = [((wow.BEGIN + 100) * 1000, 1, "session.login"), ((wow.BEGIN + 200) * 1000, 1, "session.logout")]
    wow.insert(server, characters, "gw_events", ("at", "actor", "kind"), events)
    act(realm, [(1, 100, 8, 0), (1, 100, 9, 50), (1, 100, 8, 100), (1, 100, 9, 200)])

    read_into(tmp_path / "lake", url)

    assert sessions_in(tmp_path / "lake") == [("login", 0), ("logout", 50), ("login", 100), ("logout", 200)]
    assert kinds_in(events_in(tmp_path / "lake"))["character.login"] == 1


def test_a_running_games_tables_without_an_index_are_left_alone_and_the_line_that_helps_is_named(realm, tmp_path):
    server, url, auth, characters = realm
    wow.Realm().logs(server, auth, characters)

    _, notes = read_into(tmp_path / "lake", url, offline=False)
    refused = {note.partition(" ")[0] for note in notes if "is not read" in note}
    for line in (line for one in advice_of(url) if one.file == "SQL" for line in one.lines):
        server.execute(line, characters)
    _, after = read_into(tmp_path / "lake", url, offline=False)

    assert refused == {"log_money", "log_encounter", "guild_bank_eventlog", "quest_tracker"}
    assert not [note for note in after if "is not read" in note]
    assert kinds_in(events_in(tmp_path / "lake")) == wow.Realm().truth


def test_the_advice_names_settings_that_are_off_and_no_longer_does_when_they_are_on(realm):
    server, url, auth, characters = realm
    off = {line for one in advice_of(url) for line in one.lines}
    wow.Realm().logs(server, auth, characters)
    on = {line for one in advice_of(url) for line in one.lines}

    assert {"Allow.IP.Based.Action.Logging = 1", "Quests.EnableQuestTracker = 1", "gw_collector.lua"} <= off
    assert off - on == {"Allow.IP.Based.Action.Logging = 1", "Quests.EnableQuestTracker = 1"}


def test_the_doctor_names_the_lines_to_set_and_that_it_was_never_seen_with_real_data(realm):
    server, url, auth, characters = realm
    wow.Realm().logs(server, auth, characters, names=("actions", "money"))

    said = doctor_of(url)

    assert "not seen with real data" in said
    assert "Quests.EnableQuestTracker = 1" in said
    assert "ALTER TABLE `log_money` ADD INDEX (`date`);" in said
    assert "Allow.IP.Based.Action.Logging" not in said


def test_profiles_name_the_highest_character_and_mark_staff_and_who_is_played_by_the_server(realm):
    found = profiles_of(realm[1])

    assert found.height == 12
    assert found.filter("staff")["actor"].to_list() == ["12"]
    assert found.filter("server_played")["actor"].to_list() == ["11"]
    first = found.row(found["actor"].to_list().index("1"), named=True)
    assert (first["name"], first["main_character"], first["class"], first["level"]) == ("Hero112", "112", "3", 52)
    assert str(first["first_login"]) == "2025-01-01 08:00:00+00:00"
    assert (first["characters"], first["hours_played"], first["group"]) == (2, 4.0, 0)


def test_profiles_are_there_without_the_database_of_accounts(mariadb_server, mariadb):
    wow.make(mariadb_server, database_of(mariadb), wow.AZEROTHCORE_CHARACTERS)
    row = [(7, 70, "Hero", 1, 9)]
    wow.insert(mariadb_server, database_of(mariadb), "characters", ("guid", "account", "name", "class", "level"), row)

    assert profiles_of(mariadb).select("actor", "name", "level").rows() == [("70", "Hero", 9)]


def test_a_character_that_was_deleted_lately_still_belongs_to_its_account(realm, tmp_path):
    server, url, _, characters = realm
    server.execute("UPDATE characters SET account = 0, name = '', deleteInfos_Account = 1 WHERE guid = 100", characters)
    wow.insert(
        server, characters, "quest_tracker", ("id", "character_guid", "quest_accept_time"), [(5, 100, wow.clock(0))]
    )

    read_into(tmp_path / "lake", url)

    assert events_in(tmp_path / "lake").select("actor", "character").rows() == [("1", "100")]


def test_a_quest_that_is_done_after_it_was_read_counts_once(realm, tmp_path):
    server, url, _, characters = realm
    wow.insert(
        server, characters, "quest_tracker", ("id", "character_guid", "quest_accept_time"), [(5, 100, wow.clock(0))]
    )
    read_into(tmp_path / "lake", url)
    server.execute("UPDATE quest_tracker SET quest_complete_time = NOW()", characters)

    assert read_into(tmp_path / "lake", url)[0] == 0


HOSTILE = "O'Neil\"\\\n\0 (GUID Full: 0x0 Type: Player Low: 1, acc: 1, ip: x, guild: 1), xyz: (nan"


def test_hostile_values_are_counted_and_end_nothing(realm, tmp_path):
    server, url, _, characters = realm
    most = 2**64 - 1
    nobody, unknown = (0, 0, "", "", 0, "", 1, "", wow.clock(2), 5), (1, 100, "", "", 2, "", 0, "", wow.clock(1), 77)
    huge = (4294967295, 4294967295, HOSTILE, HOSTILE, 2, HOSTILE, most, HOSTILE, wow.clock(0), 6)
    pay(realm, [huge, unknown, nobody])
    long = "x" * 60_000 + "\n" * 5_000
    rows = [(wow.clock(1), 631, 1, 0, 1, info) for info in (HOSTILE, "", long)]
    wow.insert(server, characters, "log_encounter", None, rows)
    wow.insert(server, characters, "guild_bank_eventlog", None, [(1, 1, 0, 99, 100, 1, 1, 0, wow.BEGIN),
                                                                 (1, 2, 0, 1, 999, 1, 1, 0, wow.BEGIN)])  # fmt: skip

    _, notes = read_into(tmp_path / "lake", url)

    assert kinds_in(events_in(tmp_path / "lake")) == {"money.give": 1, "money.receive": 1}
    assert set(notes) >= {
        "1 row left out: log_money: of a type that we do not know",
        "1 row left out: log_money: of no account",
        "3 rows left out: log_encounter: nobody can be read in them",
        "1 row left out: guild_bank_eventlog: of a type that the server does not write",
        "1 row left out: guild_bank_eventlog: their character belongs to no account any more",
    }


def test_it_is_told_from_its_tables(realm):
    server, url, auth, _ = realm

    assert preset_of(url) == "azerothcore"
    assert preset_of(server.url(auth)) == "azerothcore"
