"""Databases that do what real ones do now and then: rows that change, vanish, come late, or have times of nowhere."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from click.testing import CliRunner

import ragnarok_database as ragnarok
from database_events import events_in
from databases_killed import read
from gamewarden import readers
from gamewarden.cli import root
from gamewarden.core.durations import SECOND
from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.databases.cursors import KeyReached, Reached
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions
from mariadb_server import database_of

pytestmark = pytest.mark.integration

MAPPED = """
kind = "chat"
[table]
name = "said"
{key}
[columns]
actor = "who"
at = "at"
item = "thing"
"""


class Told:
    """One table of a real database, read by a mapping: `id`, `at`, `who` and `thing`, which tells rows apart."""

    def __init__(self, server, url, directory):
        self.server, self.url, self.directory = server, url, directory
        self.number = 0

    def make(self, key="id bigint AUTO_INCREMENT PRIMARY KEY", at="at datetime NULL", more="", mapped="", **options):
        begin = f"{key}, " if key else ""
        self.run(f"CREATE TABLE said ({begin}{at}, who varchar(9) DEFAULT 'ann', thing int{more}) ENGINE=InnoDB")
        self.map(mapped, **options)

    def map(self, mapped="", **options):
        (self.directory / "said.toml").write_text(MAPPED.format(key=mapped))
        self.options = SourceOptions(
            LogOptions(mapping=str(self.directory / "said.toml"), time_zone="UTC"),
            databases=DatabaseOptions(**{"pause": 0.0, "wait": SECOND, **options}),
        )

    def run(self, statement, values=None):
        return self.server.execute(statement, database_of(self.url), values)

    def add(self, *moments, **columns):
        """Rows of these times, in seconds from now or as they are written."""
        for moment in moments:
            self.number += 1
            at = moment
            if isinstance(moment, int | float):
                at = (datetime.now(UTC) + timedelta(seconds=moment)).strftime("%Y-%m-%d %H:%M:%S")
            names = ", ".join(["at", "thing", *columns])
            places = ", ".join(["%s"] * (2 + len(columns)))
            self.run(f"INSERT INTO said ({names}) VALUES ({places})", (at, self.number, *columns.values()))  # noqa: S608

    def read(self):
        return read(self.url, self.directory / "lake", self.options)

    @property
    def things(self):
        """Of the rows that are in the lake."""
        return sorted(int(one) for one in events_in(self.directory / "lake", "item")["item"])


@pytest.fixture
def told(mariadb, mariadb_server, tmp_path):
    mariadb_server.execute("SET GLOBAL sql_mode = ''")  # as old servers have it: dates may be zero
    yield Told(mariadb_server, mariadb, tmp_path)
    mariadb_server.execute("SET GLOBAL sql_mode = DEFAULT")


def test_a_row_that_changes_after_it_was_read_brings_no_row_again(told):
    told.make()
    told.add(-90, -80, -70)
    told.read()
    told.run("UPDATE said SET thing = 33 WHERE id = 3")
    told.read()

    assert told.things == [1, 2, 3]


def test_a_last_row_that_vanishes_brings_no_row_again(told):
    told.make()
    told.add(-90, -80, -70)
    told.read()
    told.run("DELETE FROM said WHERE id = 3")
    told.read()
    told.add(-5)
    told.read()

    assert told.things == [1, 2, 3, 4]


@pytest.mark.parametrize("grown", [1, 3, 5])
def test_numbers_that_began_anew_are_noticed_however_far_they_have_come(told, grown):
    told.make()
    told.add(-90, -80, -70)
    told.read()
    told.run("TRUNCATE said")
    told.add(*[-20] * grown)
    told.run("DELETE FROM said WHERE id = 3")
    told.read()

    assert told.things == [one for one in range(1, 4 + grown) if one != 6]


def test_old_rows_that_are_removed_bring_no_row_again(told):
    told.make()
    told.add(-90, -80, -70)
    told.read()
    for left in ("id >= 3", "id >= 4", "FALSE"):
        told.run(f"DELETE FROM said WHERE NOT {left}")  # noqa: S608
        told.read()
        told.add(-5)
        told.read()

    assert told.things == [1, 2, 3, 4, 5, 6]


def test_a_number_left_out_after_a_long_silence_is_waited_for(told):
    told.make()
    told.add(-3600)
    told.read()
    told.add(-10, id=3)
    told.read()
    told.add(-10, id=2)
    told.read()

    assert told.things == [1, 2, 3]


def test_a_time_far_ahead_holds_back_no_row_after_it(told):
    told.make()
    told.add(-90, 7200, -60, -50)
    notes = told.read().notes

    assert told.things == [1, 3, 4]
    assert any("ahead of the database's clock" in note and "1 row " in note for note in notes)


def test_rows_that_are_all_ahead_of_the_clock_are_waited_for(told):
    told.make(piece=5, batch=2)
    told.add(-90, *[7200] * 20)
    told.read()

    assert told.things == [1]

    told.run("UPDATE said SET at = at - INTERVAL 1 DAY WHERE id > 1")
    told.read()

    assert told.things == list(range(1, 22))


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize("key", ["id bigint AUTO_INCREMENT PRIMARY KEY", ""])
def test_rows_without_a_time_hold_back_nothing(told, key, offline):
    told.make(key=key, more=", KEY (at)", offline=offline, piece=5)
    told.add(*[None] * 7)
    told.read()
    told.add(*["0000-00-00 00:00:00"] * 7)
    told.read()
    told.add(-90, -80, -70)
    told.read()
    told.add(-60)
    told.read()

    assert told.things == [15, 16, 17, 18]


def test_a_row_without_a_time_is_counted_once(told):
    told.make(piece=4, batch=2)
    told.add(*range(-99, -91), None, *range(-89, -80))
    notes = told.read().notes

    assert len(told.things) == 17
    assert any("said: time is missing in 1 row " in note for note in notes)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("bigint unsigned", 2**63 + 5),
        ("varchar(30)", "1"),
        ("decimal(30,0)", 1),
        ("double", 1),
        ("varbinary(9)", "1"),
    ],
)
def test_a_key_that_is_no_whole_number_is_refused(told, kind, number):
    told.make(key=f"id {kind} NOT NULL", more=", UNIQUE (id)", mapped='key = "id"', batch=1)
    told.add(-90, id=number)

    with pytest.raises(ReadError, match="by a whole number that each has alone; name such a column as key"):
        told.read()


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize("more", [", KEY (id), UNIQUE (id, thing)", ", UNIQUE (id)"])
def test_a_key_that_rows_may_share_or_lack_is_refused(told, more, offline):
    told.make(key="id int", more=more, mapped='key = "id"', batch=2, offline=offline)
    for number in (1, 2, None):
        told.add(-90, id=number)

    with pytest.raises(ReadError, match=r"said is not read: rows may share their id, .*; name another column as key"):
        told.read()


def test_a_key_that_rows_of_a_view_share_is_refused(told):
    told.make(key="id int", mapped='key = "id"', offline=True)
    told.run("RENAME TABLE said TO kept")
    told.run("CREATE VIEW said AS SELECT * FROM kept")
    for number in (1, 2, 2):
        told.run("INSERT INTO kept (at, thing, id) VALUES ('2026-03-01 12:00:00', 1, %s)", (number,))

    with pytest.raises(ReadError, match=r"said.id has 2 twice, and rows are read by"):
        told.read()


def test_numbers_may_be_negative(told):
    told.make(key="id int PRIMARY KEY")
    for number in (-5, -4, -1, 1, 7):
        told.add(-90, id=number)
    told.read()
    told.add(-80, id=8)
    told.read()

    assert told.things == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("at", ["at datetime(6)", "at timestamp(3) NULL"])
def test_rows_of_one_second_come_once_whatever_the_pieces(told, at):
    told.make(key="", at=at, more=", KEY (at)", piece=5)
    base = datetime.now(UTC) - timedelta(seconds=600)
    for number in range(20):
        told.add(f"{base + timedelta(milliseconds=300 * number):%Y-%m-%d %H:%M:%S.%f}")
    told.read()
    told.add(f"{base:%Y-%m-%d %H:%M:%S.%f}")
    told.read()
    told.read()

    assert told.things == list(range(1, 22))


def test_no_row_comes_again_when_the_clock_of_moments_with_a_zone_goes_forward(postgres, postgres_server, tmp_path):
    name = database_of(postgres)
    postgres_server.execute(f"ALTER DATABASE {name} SET timezone = 'Europe/Berlin'")
    postgres_server.execute("CREATE TABLE said (at timestamptz, who text, thing int)", name)
    postgres_server.execute("CREATE INDEX ON said (at)", name)
    postgres_server.execute(
        "INSERT INTO said VALUES ('2026-03-28 23:58:00Z', 'ann', 1), ('2026-03-29 01:10:00Z', 'ann', 2)", name
    )
    told = Told(postgres_server, postgres, tmp_path)
    told.map()
    told.read()
    told.read()

    assert told.things == [1, 2]


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:hunter2/secret@127.0.0.1:1/db",
        "mysql://ann:hunter2#secret@127.0.0.1:1/db",
        "mysql://ann:hunter2[secret@127.0.0.1:1/db",
        "mysql://ann:hunter2@127.0.0.1:1:1/db",
        "MYSQL://ann:hunter2@127.0.0.1:1/db",
        "postgres://ann:hunter2@127.0.0.1:1/db",
        "mysql+pymysql://ann:hunter2@127.0.0.1:1/db",
        "mssql://ann:hunter2@127.0.0.1:1/db",
        "mysql://ann:hunter2@no..host/db",
        f"mysql://ann:hunter2@{'a' * 70}/db",
        "mysql://ann:hunter2@127.0.0.1:1/db?read_timeout=soon",
        "mysql://ann:hunter2@127.0.0.1:1/db?port=x",
        "mysql://ann:hunter2@127.0.0.1:1/db?surprise=1",
    ],
)
def test_a_url_that_leads_nowhere_is_told_in_one_line_without_its_password(url):
    with pytest.raises(ReadError) as told:
        readers.open(url).pieces("").__next__()

    assert "hunter" not in str(told.value)
    assert "\n" not in str(told.value)


def test_a_password_is_not_shown_with_what_holds_it():
    opened = readers.open("mysql://ann:hunter2@[::1]:3306/db")

    assert "hunter2" not in repr(opened.database) + repr(opened.database.engine) + repr(opened.database.engine.url)
    assert opened.name == "mysql://[::1]:3306/db"


def test_a_password_may_have_any_letters(told, mariadb_server, monkeypatch):
    told.make()
    told.add(-90)
    mariadb_server.execute("CREATE OR REPLACE USER careful@localhost IDENTIFIED BY 'pässwörd-пароль-€'")
    mariadb_server.execute(f"GRANT SELECT ON {database_of(told.url)}.* TO careful@localhost")
    monkeypatch.setenv("GAMEWARDEN_DB_PASSWORD", "pässwörd-пароль-€")
    told.url = told.url.replace("gamewarden@", "careful@")
    told.read()

    assert told.things == [1]


@pytest.mark.parametrize(
    "reached",
    [
        '{"actors": {"ann": ["ann-1"]}}',
        '{"actors": {"ann": ["ann-1", "late"]}}',
        '{"actors": {"ann": [null, null]}}',
        '{"keys": {"said": {"after": 5}}}',
        '{"keys": {"said": {"after": 5, "context": 5, "gaps": [{"first": 1}]}}}',
        '{"times": {"said": {"seen": {}}}}',
        "[]",
    ],
)
def test_a_damaged_state_is_told_in_one_line(reached):
    with pytest.raises(ReadError, match=r"^here: how far it was read cannot be understood \(.*\); read it into a new"):
        Reached.of(reached, "here")


def test_a_state_may_leave_out_what_is_empty():
    assert Reached.of('{"keys": {"said": {"after": 5, "context": 4}}}', "here") == Reached({"said": KeyReached(5, 4)})


def test_a_server_that_nobody_knows_is_told_from_those_that_are_known(mariadb):
    with pytest.raises(ConfigError, match=r"rathenna: is neither a server .*rathena.* nor a mapping file"):
        readers.open(mariadb, SourceOptions(LogOptions(mapping="rathenna")))


def test_a_url_that_is_none_keeps_no_other_source_from_being_read(told, monkeypatch):
    told.make()
    told.add(-90)
    (told.directory / "warden.toml").write_text(
        '[workspace]\n[[source]]\nname = "broken"\nlocator = ["mysql://ann@127.0.0.1:x/db"]\n'
        f'[[source]]\nname = "fine"\nlocator = ["{told.url}"]\nmap = "said.toml"\ntime_zone = "UTC"\n'
    )
    monkeypatch.chdir(told.directory)
    done = CliRunner().invoke(root, ["run"])

    assert "is no URL of a database" in done.output, done.output
    assert "1 database, 1 new row" in done.output


@pytest.mark.parametrize("engine", ["MyISAM", "InnoDB"])
@pytest.mark.parametrize("key", ["id int AUTO_INCREMENT PRIMARY KEY", ""])
def test_a_first_reading_of_a_running_server_sorts_no_table(told, key, engine):
    told.make(key=key, more=", KEY (at)", piece=6000, batch=500, wait=0)
    told.run(f"ALTER TABLE said ENGINE = {engine}")
    told.run("INSERT INTO said (at, thing) SELECT '2026-03-01' + INTERVAL seq SECOND, seq FROM seq_1_to_20000")
    told.run("ANALYZE TABLE said")
    sorted_before = told.run("SHOW GLOBAL STATUS LIKE 'Sort_rows'")
    told.read()

    assert told.run("SHOW GLOBAL STATUS LIKE 'Sort_rows'") == sorted_before
    assert told.things == list(range(1, 20001))


def test_a_table_that_waits_for_another_is_not_read_again_for_every_piece(mariadb, mariadb_server, tmp_path):
    name = database_of(mariadb)
    ragnarok.make_tables(mariadb_server, name, engine="InnoDB")
    mariadb_server.execute("INSERT INTO `char` (char_id, account_id, name) VALUES (150000, 2000000, 'A')", name)
    mariadb_server.execute(
        "INSERT INTO picklog (time, char_id, type, nameid) "
        "SELECT '2026-03-01' + INTERVAL seq * 10 SECOND, 150000, 'P', seq FROM seq_1_to_4000",
        name,
    )
    mariadb_server.execute(
        "INSERT INTO zenylog (time, char_id, type, amount) "
        "SELECT '2026-06-01' + INTERVAL seq * 10 SECOND, 150000, 'N', seq FROM seq_1_to_4000",
        name,
    )
    options = SourceOptions(LogOptions(time_zone="UTC"), databases=DatabaseOptions(piece=200, batch=100, pause=0.0))
    (_, before), *_ = mariadb_server.execute("SHOW GLOBAL STATUS LIKE 'Handler_read_next'")
    read(mariadb, tmp_path / "lake", options)
    (_, after), *_ = mariadb_server.execute("SHOW GLOBAL STATUS LIKE 'Handler_read_next'")

    assert events_in(tmp_path / "lake", "kind").filter(pl.col("kind") != "session.login").height > 8000
    assert int(after) - int(before) < 12_000
