import pytest

import warcraft_database as wow
from database_reading import advice_of, doctor_of, events_in, kinds_in, preset_of, profiles_of, read_into
from mariadb_server import database_of

pytestmark = pytest.mark.integration

TABLES = ("actions", "bank", "quests")


@pytest.fixture
def realm(mariadb_server, mariadb):
    """The databases of a TrinityCore with people: of characters (named), and of accounts (beside it)."""
    auth = mariadb_server.new_database()
    wow.make(mariadb_server, database_of(auth), wow.TRINITYCORE_AUTH)
    wow.make(mariadb_server, database_of(mariadb), wow.TRINITYCORE_CHARACTERS)
    access = ("AccountID", "SecurityLevel")
    wow.Realm().people(mariadb_server, database_of(auth), database_of(mariadb), access)
    yield mariadb_server, mariadb, database_of(auth), database_of(mariadb)
    mariadb_server.drop(auth)


def test_every_event_of_a_realm_is_read_with_its_kind(realm, tmp_path):
    server, url, auth, characters = realm
    truth = wow.Realm()
    truth.logs(server, auth, characters, names=TABLES)

    read_into(tmp_path / "lake", url)
    found = kinds_in(events_in(tmp_path / "lake"))

    small = {name: n for name, n in truth.truth.items() if name.partition(".")[0] in ("session", "account", "quest")}
    assert {name: found[name] for name in small} == small
    # There is no other log of money: what the guild banks' log has of it is all there is.
    assert sum(n for name, n in found.items() if name.startswith("guildbank.")) == len(truth.rows["bank"])


def test_a_character_of_another_realm_with_the_same_number_is_not_taken_for_ours(realm, tmp_path):
    server, url, auth, _ = realm
    rows = [(5, 100, 2, 8, wow.BEGIN), (1, 100, 1, 8, wow.BEGIN + 1)]
    columns = ("account_id", "character_guid", "realm_id", "type", "unixtime")
    wow.insert(server, auth, "logs_ip_actions", columns, rows)

    read_into(tmp_path / "lake", url)

    assert events_in(tmp_path / "lake").select("actor", "character").rows() == [
        ("5", None),
        ("1", "100"),
    ]


def test_profiles_mark_staff_by_its_security_level(realm):
    found = profiles_of(realm[1])

    assert found.filter("staff")["actor"].to_list() == ["12"]
    assert found.height == 12


def test_the_advice_says_that_hardly_anything_is_written_down(realm):
    found = advice_of(realm[1])

    assert "Allow.IP.Based.Action.Logging = 1" in {line for one in found for line in one.lines}
    assert any("none of our collectors" in one.missing for one in found)


def test_the_doctor_says_that_logs_cannot_feed_a_detector(realm):
    server, url, auth, characters = realm
    wow.Realm().logs(server, auth, characters, names=TABLES)

    assert "none of our collectors runs on this server" in doctor_of(url)


def test_it_is_told_from_its_tables(realm):
    server, url, auth, _ = realm

    assert preset_of(url) == "trinitycore"
    assert preset_of(server.url(auth)) == "trinitycore"
