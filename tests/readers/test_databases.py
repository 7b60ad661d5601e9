"""Databases of game servers, read into a lake: real servers, rows that come meanwhile, readers that are killed."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime

import polars as pl
import pytest
from click.testing import CliRunner

import ragnarok_database as ragnarok
from database_events import OFFLINE, events_in
from databases_killed import GENTLE, read
from gamewarden import readers
from gamewarden.cli import root
from gamewarden.errors import ReadError
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.store.lake import Lake
from mariadb_server import database_of
from paths import SUPPORT

pytestmark = pytest.mark.integration

_KILLED = SUPPORT.joinpath("databases_killed.py")


def kinds_in(lake):
    return dict(events_in(lake, "kind").group_by("kind").len().iter_rows())


@pytest.fixture
def rig(mariadb, mariadb_server):
    """The URL of the rig's tables on a real MariaDB."""
    ragnarok.load_rig(mariadb_server, database_of(mariadb))
    return mariadb


def test_kinds_are_as_many_as_sql_counts(rig, mariadb_server, tmp_path):
    read(rig, tmp_path / "lake", OFFLINE)

    def count(table, where):
        return mariadb_server.execute(f"SELECT COUNT(*) FROM {table} WHERE {where}", database_of(rig))[0][0]  # noqa: S608

    kinds = kinds_in(tmp_path / "lake")
    logged_in = events_in(tmp_path / "lake", "kind", "ip").filter(pl.col("ip").is_not_null())
    assert kinds["loot.pickup"] == count("picklog", "type = 'P' AND amount > 0")
    assert kinds["item.use"] == count("picklog", "type = 'C'")
    assert kinds["trade.give"] == count("picklog", "type='T' AND amount<0") + count("zenylog", "type='T' AND amount<0")
    assert kinds["trade.receive"] == count("picklog", "type='T' AND amount>0") + count(
        "zenylog", "type='T' AND amount>0"
    )
    assert kinds["market.buy"] == count("picklog", "type='V' AND amount>0") + count("zenylog", "type='V' AND amount<0")
    assert kinds["npc.sell"] == count("picklog", "type='S' AND amount<0") + count("zenylog", "type='S' AND amount>0")
    assert kinds["currency.loss"] == count("zenylog", "type = 'N' AND amount < 0")
    assert kinds["chat"] == count("chatlog", "1")
    assert kinds["character.select"] == count("charlog", "char_msg = 'char select'")
    assert logged_in.height == count("loginlog", "log = 'login ok' AND rcode = 100")
    assert "market.sell" not in kinds  # a shop sells while its owner does nothing
    assert not set(events_in(tmp_path / "lake", "character")["character"].drop_nulls()) & {"1002", "1063", "1113"}


def test_reading_twice_adds_nothing(rig, tmp_path):
    first = read(rig, tmp_path / "lake", OFFLINE).frame["new"].item()
    before = (tmp_path / "lake" / "lake.json").read_bytes()
    again = read(rig, tmp_path / "lake", OFFLINE).frame["new"].item()

    assert first > 5000
    assert again == 0
    assert (tmp_path / "lake" / "lake.json").read_bytes() == before


@pytest.mark.parametrize("piece", [300, 2000])
def test_pieces_of_any_size_give_the_same_events(rig, tmp_path, piece):
    small = SourceOptions(OFFLINE.logs, databases=DatabaseOptions(offline=True, piece=piece, batch=110, pause=0.0))
    read(rig, tmp_path / "whole", OFFLINE)
    read(rig, tmp_path / "pieces", small)

    whole, pieces = (events_in(tmp_path / name).drop("seq") for name in ("whole", "pieces"))
    assert sorted(whole.rows(), key=str) == sorted(pieces.rows(), key=str)


def test_a_trade_names_the_other_account_on_both_sides(rig, tmp_path):
    read(rig, tmp_path / "lake", OFFLINE)
    trades = events_in(tmp_path / "lake").filter(pl.col("kind").str.starts_with("trade."))
    gives = trades.filter(pl.col("kind") == "trade.give").select("actor", "other", "at", "item", pl.col("amount").abs())
    takes = trades.filter(pl.col("kind") == "trade.receive").select(
        pl.col("other").alias("actor"), pl.col("actor").alias("other"), "at", "item", "amount"
    )

    assert trades["other"].null_count() == 0
    assert sorted(gives.rows(), key=str) == sorted(takes.rows(), key=str)


_PICK = "INSERT INTO picklog (time, char_id, type, nameid, amount, map) VALUES (%s, %s, 'P', %s, 1, 'prontera')"
_LOG_IN = "INSERT INTO loginlog (time, ip, \"user\", rcode, log) VALUES (%s, %s, 'ann', 100, 'login ok')"


class Writing:
    """Rows that come while somebody reads: transactions of a moment, whose numbers do not come in order."""

    def __init__(self, execute, seconds):
        self._execute, self._until = execute, time.monotonic() + seconds
        self._count, self._lock = 0, threading.Lock()
        self._threads = [threading.Thread(target=self._write, args=(random.Random(seed),)) for seed in range(4)]  # noqa: S311

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for thread in self._threads:
            thread.join()

    def _write(self, dice):
        with self._execute() as (statement, commit):
            while time.monotonic() < self._until:
                for _ in range(dice.randint(1, 4)):
                    with self._lock:
                        self._count += 1
                        number = self._count
                    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
                    statement(_PICK, (now, dice.choice((150000, 150001)), number))
                    statement(_LOG_IN, (now, dice.choice(("127.0.0.1", "127.0.0.2"))))
                time.sleep(dice.uniform(0, 0.05))
                commit()


def killed_while(url, lake, seconds, seed):
    """Read again and again, and kill the reader at any moment; how often."""
    dice, kills, until = random.Random(seed), 0, time.monotonic() + seconds  # noqa: S311
    while time.monotonic() < until:
        reader = subprocess.Popen([sys.executable, _KILLED, url, lake], stdout=subprocess.DEVNULL)
        time.sleep(dice.uniform(1.2, 3.0))
        os.kill(reader.pid, signal.SIGKILL)
        reader.wait()
        kills += 1
    return kills


def all_of_it(url, lake, expected):
    """Read to the end, once all rows are old enough to be read."""
    for _ in range(8):
        read(url, lake, GENTLE)
        if events_in(lake, "kind").filter(pl.col("kind") == "loot.pickup").height >= expected:
            break
        time.sleep(0.5)
    read(url, lake, GENTLE)


def assert_every_row_once(lake, picked, logins):
    events = events_in(lake, "kind", "item", "ip", "seq")
    items = events.filter(pl.col("kind") == "loot.pickup")["item"].cast(pl.Int64).to_list()
    addresses = dict(events.filter(pl.col("ip").is_not_null()).group_by("ip").len().iter_rows())

    assert sorted(items) == sorted(picked)
    assert addresses == logins
    assert events["seq"].n_unique() == events.height


def test_a_killed_reader_of_mariadb_neither_loses_nor_doubles_a_row(mariadb, mariadb_server, tmp_path):
    name = database_of(mariadb)
    ragnarok.make_tables(mariadb_server, name, engine="InnoDB")
    mariadb_server.execute("ALTER TABLE loginlog ADD INDEX (time)", name)
    mariadb_server.execute("INSERT INTO login (account_id, userid) VALUES (2000000, 'ann'), (2000001, 'bob')", name)
    mariadb_server.execute(
        "INSERT INTO `char` (char_id, account_id, name) VALUES (150000, 2000000, 'A'), (150001, 2000001, 'B')", name
    )

    @contextmanager
    def writing():
        with mariadb_server.connected(name) as connection, connection.cursor() as cursor:
            connection.autocommit(False)
            cursor.execute("SET sql_mode = 'ANSI_QUOTES'")
            yield cursor.execute, connection.commit

    with Writing(writing, 12):
        kills = killed_while(mariadb, tmp_path / "lake", 11, seed=7)
    picked = [row[0] for row in mariadb_server.execute("SELECT nameid FROM picklog", name)]
    logins = dict(mariadb_server.execute("SELECT ip, COUNT(*) FROM loginlog GROUP BY ip", name))
    time.sleep(1.5)
    all_of_it(mariadb, tmp_path / "lake", len(picked))

    assert kills >= 3
    assert len(picked) > 300
    assert_every_row_once(tmp_path / "lake", picked, logins)


def arriving(server, name, seconds):
    """The rig's rows in the order in which its server wrote them, over some seconds."""
    logs = ("picklog", "zenylog", "chatlog", "loginlog", "charlog")
    times = {table: ragnarok.rows_of(table)[0].index("time") for table in logs}
    rows = sorted(((row[times[table]], table, row) for table in logs for row in ragnarok.rows_of(table)[1]), key=str)
    step = len(rows) // 40
    for start in range(0, len(rows), step):
        for table in logs:
            some = [row for _, one, row in rows[start : start + step] if one == table]
            if some:
                ragnarok.load(server, name, table, some)
        time.sleep(seconds / 40)


def test_the_rigs_own_rows_come_while_its_reader_is_killed(mariadb, mariadb_server, tmp_path):
    name = database_of(mariadb)
    ragnarok.make_tables(mariadb_server, name)  # MyISAM, as the server has them
    mariadb_server.execute("ALTER TABLE loginlog ADD INDEX (time)", name)
    for table in ("login", "char"):
        ragnarok.load(mariadb_server, name, table)
    writer = threading.Thread(target=arriving, args=(mariadb_server, name, 9))
    writer.start()
    kills = killed_while(mariadb, tmp_path / "lake", 10, seed=9)
    writer.join()
    read(mariadb, tmp_path / "lake", GENTLE)
    read(mariadb, tmp_path / "whole", OFFLINE)

    # Sessions are told anew at each reading of rows that are days old; all that was written down is the same.
    written = (pl.col("ip").is_not_null()) | ~pl.col("kind").str.starts_with("session.")
    lakes = [events_in(tmp_path / one).filter(written).drop("seq", "session") for one in ("lake", "whole")]
    assert kills >= 3
    assert lakes[1].height > 5000
    assert sorted(lakes[0].rows(), key=str) == sorted(lakes[1].rows(), key=str)


_POSTGRES = """
CREATE TABLE login (account_id serial PRIMARY KEY, userid varchar(23), sex char(1), group_id smallint DEFAULT 0);
CREATE TABLE "char" (char_id serial PRIMARY KEY, account_id int, name varchar(30), base_level int DEFAULT 1);
CREATE TABLE picklog (id serial PRIMARY KEY, time timestamp NOT NULL, char_id int, type char(1), nameid int,
  amount int, map varchar(11), unique_id bigint DEFAULT 0);
CREATE TABLE loginlog (time timestamp NOT NULL, ip varchar(15), "user" varchar(23), rcode int, log varchar(255));
CREATE INDEX ON loginlog (time);
INSERT INTO login (account_id, userid, sex) VALUES (2000000, 'ann', 'M'), (2000001, 'bob', 'M');
INSERT INTO "char" (char_id, account_id, name) VALUES (150000, 2000000, 'A'), (150001, 2000001, 'B');
"""


def test_a_killed_reader_of_postgresql_neither_loses_nor_doubles_a_row(postgres, postgres_server, tmp_path):
    import psycopg

    name = database_of(postgres)
    for statement in _POSTGRES.strip().split(";\n"):
        postgres_server.execute(statement, name)

    @contextmanager
    def writing():
        with psycopg.connect(host=str(postgres_server.directory), user="gamewarden", dbname=name) as connection:
            yield connection.execute, connection.commit

    with Writing(writing, 12):
        kills = killed_while(postgres, tmp_path / "lake", 11, seed=8)
    picked = [row[0] for row in postgres_server.execute("SELECT nameid FROM picklog", name)]
    logins = dict(postgres_server.execute("SELECT ip, COUNT(*) FROM loginlog GROUP BY ip", name))
    time.sleep(1.5)
    all_of_it(postgres, tmp_path / "lake", len(picked))

    assert kills >= 3
    assert len(picked) > 300
    assert_every_row_once(tmp_path / "lake", picked, logins)


def test_a_table_whose_numbers_began_anew_is_read_from_its_beginning(rig, mariadb_server, tmp_path):
    read(rig, tmp_path / "lake", OFFLINE)
    mariadb_server.execute("TRUNCATE picklog", database_of(rig))
    ragnarok.load(mariadb_server, database_of(rig), "picklog", ragnarok.rows_of("picklog")[1][4000:])
    mariadb_server.execute("SET @n = 0", database_of(rig))
    mariadb_server.execute(
        "UPDATE picklog SET id = id - 4000, time = time + INTERVAL 1 DAY ORDER BY id", database_of(rig)
    )
    before = kinds_in(tmp_path / "lake")["loot.pickup"]
    read(rig, tmp_path / "lake", OFFLINE)
    left = mariadb_server.execute("SELECT COUNT(*) FROM picklog WHERE type='P'", database_of(rig))[0][0]

    assert kinds_in(tmp_path / "lake")["loot.pickup"] == before + left


def test_a_table_that_would_be_read_in_full_is_left_alone_on_a_running_server(rig, mariadb_server, tmp_path):
    live = SourceOptions(LogOptions(time_zone="UTC"))
    told = read(rig, tmp_path / "lake", live)

    assert "character.select" in kinds_in(tmp_path / "lake")
    assert events_in(tmp_path / "lake", "ip")["ip"].null_count() == events_in(tmp_path / "lake", "ip").height
    assert any("loginlog is not read" in note and "--offline" in note for note in told.notes)

    mariadb_server.execute("ALTER TABLE loginlog ADD INDEX (time)", database_of(rig))
    read(rig, tmp_path / "lake", live)

    assert events_in(tmp_path / "lake", "ip")["ip"].drop_nulls().len() == 27


def test_the_zone_of_local_times_is_asked_for_unless_the_server_is_on_utc(rig, mariadb_server, tmp_path):
    mariadb_server.execute("SET GLOBAL time_zone = '+09:00'")
    try:
        with pytest.raises(ReadError, match=r"local time \(its clock says \+09:00, 9 h ahead of UTC\); name its zone"):
            read(rig, tmp_path / "lake", SourceOptions())
    finally:
        mariadb_server.execute("SET GLOBAL time_zone = 'SYSTEM'")


def test_a_session_of_ours_cannot_write(rig):
    opened = readers.open(rig, OFFLINE)

    with pytest.raises(ReadError, match=r"READ ONLY|read-only"):
        opened.database.ask("UPDATE login SET state = 5")


def test_characters_that_were_deleted_keep_the_account_that_the_lake_remembers(rig, mariadb_server, tmp_path):
    name = database_of(rig)
    header, rows = ragnarok.rows_of("picklog")
    mariadb_server.execute("DELETE FROM picklog WHERE id > 4000", name)
    read(rig, tmp_path / "lake", OFFLINE)
    mariadb_server.execute("DELETE FROM `char` WHERE char_id IN (150000, 150003)", name)
    ragnarok.load(mariadb_server, name, "picklog", rows[4000:])
    told = read(rig, tmp_path / "lake", OFFLINE)
    owned = events_in(tmp_path / "lake", "actor", "character").filter(pl.col("character") == "150000")

    assert header[0] == "id"
    assert set(owned["actor"]) == {"2000000"}
    assert kinds_in(tmp_path / "lake")["loot.pickup"] == sum(row[3] == "P" for row in rows)
    assert not any("belongs to no account" in note for note in told.notes)


def test_two_who_read_at_once_do_not_both_bring_the_same_rows(rig, tmp_path):
    from gamewarden import pipeline

    one, other = readers.open(rig, OFFLINE), readers.open(rig, OFFLINE)
    lake = Lake(tmp_path / "lake")
    pieces = [next(iter(source.pieces(""))) for source in (one, other)]
    lake.add(pieces[0])

    with pytest.raises(ReadError, match="somebody else has read it"):
        lake.add(pieces[1])
    for source in (one, other):
        source.database.close()
    assert pipeline.read(readers.open(rig, OFFLINE), tmp_path / "lake").frame["new"].item() == 0


def test_forgetting_somebody_leaves_nothing_of_them_in_what_was_reached(rig, mariadb_server, tmp_path):
    read(rig, tmp_path / "lake", OFFLINE)
    lake = Lake(tmp_path / "lake")
    source = readers.open(rig, OFFLINE).name

    assert "2000002" in lake.reached(source)

    lake.forget("2000002")

    assert "2000002" not in lake.reached(source)
    assert read(rig, tmp_path / "lake", OFFLINE).frame["new"].item() == 0

    last = mariadb_server.execute("SELECT MAX(time) FROM picklog", database_of(rig))[0][0]
    for number in range(300):  # who plays on, in more pieces than one
        values = (last, 150002 if number % 2 else 150003, number)
        mariadb_server.execute(_PICK, database_of(rig), values)
    small = SourceOptions(OFFLINE.logs, databases=DatabaseOptions(offline=True, piece=100, pause=0.0))
    played = read(rig, tmp_path / "lake", small).frame["new"].item()

    assert played == 150
    assert "2000002" not in (tmp_path / "lake" / "lake.json").read_text()


def test_a_password_stands_in_no_message_and_in_no_lake(rig, mariadb_server, tmp_path, monkeypatch):
    mariadb_server.execute("CREATE OR REPLACE USER careful@localhost IDENTIFIED BY 'hunter2-secret'")
    mariadb_server.execute(f"GRANT SELECT ON {database_of(rig)}.* TO careful@localhost")
    url = rig.replace("gamewarden@", "careful@")
    run = CliRunner()

    refused = run.invoke(root, ["read", url, "--to", str(tmp_path / "lake"), "--time-zone", "UTC"])
    assert isinstance(refused.exception, ReadError)
    assert "Access denied" in str(refused.exception)

    monkeypatch.setenv("GAMEWARDEN_DB_PASSWORD", "hunter2-secret")
    done = run.invoke(root, ["read", url, "--to", str(tmp_path / "lake"), "--time-zone", "UTC", "--offline"])
    assert done.exit_code == 0, done.output
    with_it = url.replace("careful@", "careful:hunter2-secret@")
    with pytest.warns(UserWarning, match="sees the password"):
        doctor = run.invoke(root, ["doctor", with_it])
    for text in (done.output, doctor.output, (tmp_path / "lake" / "lake.json").read_text()):
        assert "hunter2" not in text


def test_a_password_may_stand_in_a_file_that_nobody_else_may_read(rig, mariadb_server, tmp_path):
    mariadb_server.execute("CREATE OR REPLACE USER careful@localhost IDENTIFIED BY 'hunter2-secret'")
    mariadb_server.execute(f"GRANT SELECT ON {database_of(rig)}.* TO careful@localhost")
    file = tmp_path / "password"
    file.write_text("hunter2-secret\n")
    url = rig.replace("gamewarden@", "careful@")
    options = SourceOptions(databases=DatabaseOptions(password_file=file, offline=True))

    with pytest.raises(Exception, match="others than you may read the password"):
        read(url, tmp_path / "lake", options)

    file.chmod(0o600)
    assert read(url, tmp_path / "lake", options).frame["new"].item() > 5000


def test_a_workspace_is_made_from_a_database_and_runs(rig, tmp_path, monkeypatch):
    run = CliRunner()
    made = run.invoke(root, ["init", str(tmp_path / "ws"), "--source", rig, "--from", "rathena"])
    assert made.exit_code == 0, made.output
    monkeypatch.chdir(tmp_path / "ws")

    first, second, doctor = (run.invoke(root, [command]) for command in ("run", "run", "doctor"))

    assert "gamewarden run" in made.output
    assert "1 database, 5," in first.output
    assert "nothing new" in second.output
    assert doctor.exit_code == 3
    profiles = pl.read_csv(tmp_path / "ws" / "profiles.csv")
    assert profiles.filter(pl.col("name") == "Isembard").select("actor", "level").rows() == [(2000008, 40)]


def test_a_forgotten_player_is_in_no_profile_that_is_written_later(rig, tmp_path, monkeypatch):
    run = CliRunner()
    run.invoke(root, ["init", str(tmp_path / "ws"), "--source", rig])
    monkeypatch.chdir(tmp_path / "ws")
    run.invoke(root, ["run"])
    forgotten = run.invoke(root, ["forget", "2000008", "--yes"])
    run.invoke(root, ["run"])

    assert forgotten.exit_code == 0, forgotten.output
    assert "2000008" not in (tmp_path / "ws" / "profiles.csv").read_text()
    assert "2000007" in (tmp_path / "ws" / "profiles.csv").read_text()


MAPPED = """
kind = "trade.give"
[table]
name = "handed_over"
[columns]
actor = "giver"
at = "happened"
item = "thing"
amount = "many"
session = "visit"
other = "taker"
[where]
void = "0"
[[also]]
kind = "trade.receive"
columns = { actor = "taker", other = "giver" }
"""


@pytest.mark.parametrize("servers", ["mariadb", "postgres"])
def test_any_table_is_read_by_a_mapping_from_where_the_last_reading_ended(servers, request, tmp_path):
    url, server = request.getfixturevalue(servers), request.getfixturevalue(f"{servers}_server")
    serial = "int AUTO_INCREMENT" if servers == "mariadb" else "serial"
    columns = "giver varchar(9), taker varchar(9), thing int, many int, void int, happened bigint, visit int DEFAULT 4"
    server.execute(f"CREATE TABLE handed_over (id {serial} PRIMARY KEY, {columns})", database_of(url))
    (tmp_path / "trades.toml").write_text(MAPPED)
    options = SourceOptions(LogOptions(mapping=str(tmp_path / "trades.toml")), databases=DatabaseOptions(offline=True))
    added = "INSERT INTO handed_over (giver, taker, thing, many, void, happened) VALUES "
    server.execute(
        f"{added} ('ann', 'bob', 5, 1, 0, 1772366400), ('bob', 'ann', 6, 2, 1, 1772366401)", database_of(url)
    )
    first = read(url, tmp_path / "lake", options)
    server.execute(f"{added} ('zoe', 'ann', 7, 3, 0, 1772366402)", database_of(url))
    second = read(url, tmp_path / "lake", options)
    events = events_in(tmp_path / "lake", "actor", "kind", "item", "other")

    assert (first.frame["new"].item(), second.frame["new"].item()) == (2, 2)
    sessions = events_in(tmp_path / "lake", "kind", "session").unique().sort("kind").rows()
    assert sessions == [("trade.give", "4"), ("trade.receive", None)]  # of the one who gave
    assert any("by [where]" in note for note in first.notes)
    assert sorted(events.rows()) == [
        ("ann", "trade.give", "5", "bob"),
        ("ann", "trade.receive", "7", "zoe"),
        ("bob", "trade.receive", "5", "ann"),
        ("zoe", "trade.give", "7", "ann"),
    ]


def test_the_doctor_says_what_a_servers_settings_are_now(rig, mariadb_server, tmp_path):
    mariadb_server.execute("DELETE FROM zenylog", database_of(rig))
    settings, own = tmp_path / "log_athena.conf", tmp_path / "log_conf.txt"
    settings.write_text("// comment: none\nlog_zeny: 0\nlog_mvpdrop: no\n")
    own.write_text("log_mvpdrop: yes // since May\n")
    found = CliRunner().invoke(root, ["doctor", rig, "--settings", str(settings), "--settings", str(own)])

    assert f"Now: {settings}:2 has 0." in found.output
    assert f"Now: {own}:1 has yes; it stands so already, and nothing came yet." in found.output


def test_the_doctor_says_what_an_expert_would(rig):
    found = CliRunner().invoke(root, ["doctor", rig])

    assert found.exit_code == 3
    for words in (
        "No table records kills, positions, experience or log-outs",
        "zeny log is on, which it is not by default (log_zeny: 0)",
        "Times are whole seconds",
        "log_mvpdrop: yes",
        "ALTER TABLE `loginlog` ADD INDEX (`time`);",
        "half blind: account-day, self-similarity",
        "alive: actions-interval",
        "no npc_kill_count without combat.kill",
        "from 2026-11-15 18:35:40 to 2026-11-15 19:42:10",
        "its user may also",
    ):
        assert words.lower() in found.output.lower(), words
