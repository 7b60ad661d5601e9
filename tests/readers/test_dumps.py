"""Dumps and exports as the real servers write them are read as the databases themselves."""

# ruff: noqa: E501, S607, S608  statements and commands of the tests' own, as long as they are

import gzip
import os
import random
import shutil
import subprocess
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from commands import run
from gamewarden import pipeline, readers
from gamewarden.errors import ReadError
from gamewarden.readers.databases import dump_text
from gamewarden.readers.databases.dumps import DumpSource
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS
from mariadb_server import database_of
from postgres_server import USER
from ragnarok_database import RATHENA, RIG_TABLES, load_rig, make_tables

pytestmark = pytest.mark.integration

UTC = SourceOptions(LogOptions("rathena", "UTC"), databases=DatabaseOptions(offline=True))
START = datetime(2026, 11, 15, 12)  # noqa: DTZ001  as the server writes it
NASTY = (
    "O'Brien", 'a "b" c', "back\\slash", "\\N", "NULL", "", "tab\tbed", "new\nline", "cr\r\nlf", "nul\0nul", "sub\x1asub",
    "semi;colon),(1,'x'", "-- no comment", "/* nor this */", "100%_\\%", "한글", "\\", "'", "''", "\\'", "007", "$$a$$",
    "é€\x81",
)  # fmt: skip


def fill(server, name, seed=0, first=1, rows=60):
    """A small game with names that are hard to write."""
    dice = random.Random(seed)  # noqa: S311  repeatable
    if first == 1:
        make_tables(server, name)
        accounts = [(2000000 + n, text[:23].strip("\0 ") or f"user{n}", "M") for n, text in enumerate(NASTY)]
        put(server, name, "login", ("account_id", "userid", "sex"), accounts)
        people = [(150000 + n, 2000000 + n, f"{n}{text}"[:30], 1 + n * 7 % 99) for n, text in enumerate(NASTY)]
        put(server, name, "char", ("char_id", "account_id", "name", "base_level"), people)
        put(server, name, "loginlog", ("time", "ip", "user", "rcode", "log"),
            [(START + timedelta(seconds=n), "198.51.100.7", one[1], 100, "login ok") for n, one in enumerate(accounts)])  # fmt: skip
    picked = [
        (START + timedelta(seconds=first + n), 150000 + dice.randrange(len(NASTY)), dice.choice("PNSTC0"),
         dice.randrange(500, 600), dice.choice((-1, 1)) * dice.randrange(1, 9), dice.choice(NASTY)[:11],
         dice.choice((0, 2**60 + n)))
        for n in range(rows)
    ]  # fmt: skip
    put(server, name, "picklog", ("time", "char_id", "type", "nameid", "amount", "map", "unique_id"), picked)
    said = [(row[0], row[1], row[1] + 1850000, row[5], dice.choice(NASTY)) for row in picked[: rows // 2]]
    put(server, name, "chatlog", ("time", "src_charid", "src_accountid", "src_map", "message"), said)


def put(server, name, table, columns, rows):
    listed, places = ", ".join(f"`{column}`" for column in columns), ", ".join(["%s"] * len(columns))
    with server.connected(name) as connection, connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO `{table}` ({listed}) VALUES ({places})", rows)


def events_of(place, options=UTC):
    source = readers.open(place, options)
    try:
        batches = list(source.events().batches(list(EVENTS.columns)))
        return pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in batches]).with_columns(
            pl.col(pl.Categorical).cast(pl.String)
        )
    finally:
        source.database.close()


def same(dumped, live):
    """The same events; when a level was so is known of a dump to the second."""
    assert live.height
    assert_frame_equal(dumped.drop("level"), live.drop("level"))


def written(place, data):
    place.write_bytes(data)
    return place


@pytest.fixture
def game(mariadb_server, mariadb):
    fill(mariadb_server, database_of(mariadb))
    return mariadb


WAYS = {
    "plain": (),
    "one row a statement": ("--skip-extended-insert",),
    "columns named": ("--complete-insert",),
    "rows alone": ("--no-create-info", "--complete-insert"),
    "hexadecimal": ("--hex-blob",),
    "ANSI": ("--compatible=ansi",),
    "postgresql": ("--compatible=postgresql",),
    "latin1": ("--default-character-set=latin1",),
    "replace": ("--replace", "--skip-opt"),
    "triggers": ("--routines", "--triggers", "--events"),
    "short": ("--compact",),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_dump_of_mariadb_is_read_as_the_database_itself(way, game, mariadb_server, tmp_path):
    mariadb_server.script("CREATE TRIGGER t AFTER INSERT ON mvplog FOR EACH ROW SET @x = ';''';", database_of(game))
    data = mariadb_server.dump(database_of(game), *WAYS[way])
    path = written(tmp_path / "dump.sql", data)
    options = replace(UTC, databases=DatabaseOptions(offline=True))

    source = DumpSource(path, options)
    dumped = pl.concat([pl.DataFrame(pl.from_arrow(one)) for one in source.events().batches(list(EVENTS.columns))])

    lossy = way in {"latin1", "ANSI", "postgresql"}  # letters that latin1 does not have are lost in the dump itself
    live = events_of(game)
    keep = pl.exclude("level", "zone") if lossy else pl.exclude("level")
    assert_frame_equal(dumped.with_columns(pl.col(pl.Categorical).cast(pl.String)).select(keep), live.select(keep))


def test_the_rigs_database_and_its_dump_make_the_same_lake(mariadb_server, mariadb, tmp_path):
    load_rig(mariadb_server, database_of(mariadb))
    dump = written(tmp_path / "a.sql.gz", gzip.compress(mariadb_server.dump(database_of(mariadb))))

    pipeline.read(readers.open(dump, UTC), tmp_path / "dumped")
    pipeline.read(readers.open(mariadb, UTC), tmp_path / "live")

    dumped, live = (lake_of(tmp_path / one) for one in ("dumped", "live"))
    assert live.height > 1_000
    assert_frame_equal(dumped.drop("level"), live.drop("level"))


def lake_of(place):
    parts = [pl.DataFrame(pl.from_arrow(one)) for one in Lake(place).events().batches(list(EVENTS.columns))]
    return pl.concat(parts).with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("seq")


def test_the_dump_of_the_next_night_goes_on_where_the_last_one_ended(game, mariadb_server, tmp_path):
    name = database_of(game)
    first = written(tmp_path / "monday.sql", mariadb_server.dump(name))
    one = pipeline.read(readers.open(first, UTC), tmp_path / "lake").frame.row(0, named=True)
    fill(mariadb_server, name, seed=1, first=200)
    second = written(tmp_path / "tuesday.sql", mariadb_server.dump(name))

    two = pipeline.read(readers.open(second, UTC), tmp_path / "lake").frame.row(0, named=True)
    again = pipeline.read(readers.open(second, UTC), tmp_path / "lake").frame.row(0, named=True)

    assert one["source"] == two["source"] == f"dump:localhost/{name}"
    assert two["new"] < one["new"]
    assert again["new"] == 0
    of_rows = pl.col("kind").is_in(["session.login", "session.logout"]).not_()
    assert_frame_equal(
        lake_of(tmp_path / "lake").filter(of_rows).select("at", "actor", "kind", "item", "amount", "zone"),
        events_of(game).filter(of_rows).select("at", "actor", "kind", "item", "amount", "zone"),
    )


def test_the_dump_of_another_server_with_the_same_names_is_read_from_its_first_row(mariadb_server, tmp_path):
    urls = [mariadb_server.new_database() for _ in range(2)]
    try:
        for seed, url in enumerate(urls):
            fill(mariadb_server, database_of(url), seed)
        one, other = (mariadb_server.dump(database_of(url)) for url in urls)
    finally:
        for url in urls:
            mariadb_server.drop(url)
    renamed = other.replace(database_of(urls[1]).encode(), database_of(urls[0]).encode())
    pipeline.read(readers.open(written(tmp_path / "one.sql", one), UTC), tmp_path / "lake")

    told = pipeline.read(readers.open(written(tmp_path / "other.sql", renamed), UTC), tmp_path / "lake")

    picked = readers.open(tmp_path / "other.sql", UTC)
    assert told.frame["new"].item() >= 60 + 30
    assert picked.name == f"dump:localhost/{database_of(urls[0])}"


def test_of_a_dump_with_two_databases_the_tables_of_the_second_come_after_those_of_the_first(mariadb_server, tmp_path):
    people, logs = mariadb_server.new_database(), mariadb_server.new_database()
    apart = {name: RATHENA[name] for name in ("picklog", "chatlog")}
    try:
        fill(mariadb_server, database_of(people))
        live = events_of(people)
        make_tables(mariadb_server, database_of(logs), apart)
        for name in apart:
            mariadb_server.execute(f"INSERT INTO {database_of(logs)}.{name} SELECT * FROM {database_of(people)}.{name}")
            mariadb_server.execute(f"DROP TABLE {database_of(people)}.{name}")
        both = mariadb_server.dump(database_of(logs), "--databases", database_of(people))
        mariadb_server.execute(f"CREATE TABLE {database_of(logs)}.`char` (`char_id` int, `account_id` int)")
        mariadb_server.execute(f"INSERT INTO {database_of(logs)}.`char` VALUES (150000, 1)")
        doubled = mariadb_server.dump(database_of(logs), "--databases", database_of(people))
    finally:
        mariadb_server.drop(people)
        mariadb_server.drop(logs)

    same(events_of(written(tmp_path / "both.sql", both)), live)
    source = readers.open(written(tmp_path / "doubled.sql", doubled), UTC)
    assert f"{database_of(logs)}.char is not read" in str(source.refused[-1])
    same(events_of(tmp_path / "doubled.sql"), live)


def test_letters_that_the_server_does_not_know_of_are_read_as_somebody_says(mariadb_server, tmp_path):
    url = mariadb_server.new_database("latin1")
    try:
        make_tables(mariadb_server, database_of(url))
        put(mariadb_server, database_of(url), "login", ("account_id", "userid"), [(2000000, "a")])
        put(mariadb_server, database_of(url), "char", ("char_id", "account_id", "name"), [(150000, 2000000, "a")])
        raw = "프론테라".encode("cp949")
        put(mariadb_server, database_of(url), "picklog", ("time", "char_id", "map"), [(START, 150000, raw)])
        korean = replace(UTC, databases=DatabaseOptions(offline=True, encoding="cp949"))
        live = events_of(url, korean)
        dump = written(tmp_path / "dump.sql", mariadb_server.dump(database_of(url)))
    finally:
        mariadb_server.drop(url)

    assert live.filter(pl.col("kind") == "loot.pickup")["zone"].to_list() == ["프론테라"]
    same(events_of(dump, korean), live)


@pytest.mark.nightly
@pytest.mark.parametrize("where", ["mariadb-dump", "mysql -B"])
@settings(max_examples=settings.default.max_examples * 8 // 25)
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=30), min_size=1, max_size=40))
def test_whatever_text_the_server_writes_is_read_as_it_was(where, texts, mariadb_server, tmp_path_factory):
    url = mariadb_server.new_database()
    try:
        mariadb_server.execute(
            "CREATE TABLE `char` (`char_id` int PRIMARY KEY, `name` text COLLATE utf8mb4_bin)", database_of(url)
        )
        put(mariadb_server, database_of(url), "char", ("char_id", "name"), list(enumerate(texts)))
        place = tmp_path_factory.mktemp("texts")
        if where == "mysql -B":
            written(place / "char.tsv", queried(mariadb_server, database_of(url), "SELECT * FROM `char`"))
        else:
            place = written(place / "dump.sql", mariadb_server.dump(database_of(url)))
    finally:
        mariadb_server.drop(url)

    database = readers.open(place, UTC).database
    rows = database.frame("char", ("char_id", "name")).with_columns(pl.col("char_id").cast(pl.Int64)).sort("char_id")
    database.close()
    # `mysql -B` writes a text that is NULL as it writes nothing.
    assert rows["name"].to_list() == [None if where == "mysql -B" and text == "NULL" else text for text in texts]


def queried(server, name, statement):
    client = shutil.which("mariadb") or shutil.which("mysql")
    command = [
        client,
        "--no-defaults",
        f"--socket={server.socket}",
        "-uroot",
        "--default-character-set=utf8mb4",
        "-B",
        name,
    ]
    return subprocess.run([*command, "-e", statement], capture_output=True, check=True).stdout


def test_tables_that_mysql_writes_with_tabs_are_read_as_the_database_itself(game, mariadb_server, tmp_path):
    for table in RATHENA:
        data = queried(mariadb_server, database_of(game), f"SELECT * FROM `{table}`")
        if data:
            written(tmp_path / f"{table}.tsv.gz", gzip.compress(data))

    same(as_texts(events_of(tmp_path)), as_texts(events_of(game)))


def as_texts(events):
    """In a file a text that is NULL or \\N is written as nothing is; accounts that are called so cannot be told."""
    here = in_order(events).filter(~pl.col("actor").is_in(["2000003", "2000004"]))
    return here.with_columns(pl.when(~pl.col("zone").is_in(["NULL", "\\N"])).then("zone").alias("zone"))


OUTFILE = {
    "tabs": "",
    "commas": "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'",
    "optionally": "FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n'",
}


@pytest.mark.parametrize("way", OUTFILE)
def test_files_that_the_server_itself_writes_are_read_as_the_database(way, game, mariadb_server, tmp_path):
    for table in RATHENA:
        rows = mariadb_server.execute(f"SHOW COLUMNS FROM `{table}`", database_of(game))
        names = ", ".join(f"'{row[0]}'" for row in rows)
        file = mariadb_server.directory / f"{database_of(game)}-{table}"
        columns = ", ".join(f"`{row[0]}`" for row in rows)
        mariadb_server.execute(
            f"SELECT {names} UNION ALL SELECT {columns} FROM `{table}` INTO OUTFILE '{file}' CHARACTER SET utf8mb4 {OUTFILE[way]}",
            database_of(game),
        )
        written(tmp_path / f"{table}.csv", file.read_bytes())

    same(as_texts(events_of(tmp_path)), as_texts(events_of(game)))


def in_order(events):
    return events.sort("at", "kind", "actor", "item", "amount", "zone", nulls_last=True).drop("seq")


def test_a_file_without_the_names_of_its_columns_is_refused_in_a_line(tmp_path):
    written(tmp_path / "picklog.csv", b"1,2026-11-15 12:00:00,150000,P,512,1\n")

    with pytest.raises(
        ReadError, match=r"picklog\.csv: its first line does not name the columns .* with a header line$"
    ):
        events_of(tmp_path)


def test_a_name_that_looks_like_a_number_stays_a_text(tmp_path):
    written(
        tmp_path / "login.csv", b"account_id,userid,sex,group_id,state,logincount,lastlogin\n2000000,007,M,0,0,1,\n"
    )
    written(
        tmp_path / "char.csv",
        b"char_id,account_id,name,base_level,class,zeny,last_login\n10,2000000,1e3,9,0,5,\n9,2000000,0x10,10,0,6,\n",
    )
    written(
        tmp_path / "picklog.csv",
        b"id,time,char_id,type,nameid,amount,map\n10,2026-11-15 12:00:01,9,P,0512,1,007\n9,2026-11-15 12:00:00,9,P,501,1,m\n",
    )

    source = readers.open(tmp_path, UTC)
    profiles = source.profiles()
    picked = events_of(tmp_path).filter(pl.col("kind") == "loot.pickup")
    source.database.close()

    assert picked.select("item", "zone").rows() == [("501", "m"), ("0512", "007")]
    assert profiles.select("name", "level").rows() == [("0x10", 10)]


def in_postgresql(server, url, maria, name):
    """The same tables with PostgreSQL's types."""
    import psycopg

    types = {"int": "integer", "smallint": "smallint", "tinyint": "smallint", "bigint": "bigint", "mediumint": "integer",
             "datetime": "timestamp without time zone", "date": "date"}  # fmt: skip
    with psycopg.connect(host=str(server.directory), user=USER, dbname=url, autocommit=True) as connection:
        for table in RATHENA:
            columns = maria.execute(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
                " ORDER BY ordinal_position", None, (name, table),
            )  # fmt: skip
            listed = ", ".join(f'"{column}" {types.get(kind, "character varying(255)")}' for column, kind in columns)
            connection.execute(f'CREATE TABLE "{table}" ({listed})')
            rows = [[value.replace("\0", "") if isinstance(value, str) else value for value in row]
                    for row in maria.execute(f"SELECT * FROM `{table}`", name)]  # fmt: skip
            places = ", ".join(["%s"] * len(columns))
            with connection.cursor() as cursor:
                cursor.executemany(f'INSERT INTO "{table}" VALUES ({places})', rows)
            if table != "loginlog":
                connection.execute(f'ALTER TABLE "{table}" ADD PRIMARY KEY ("{columns[0][0]}")')
        connection.execute("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $q$ SELECT 1; -- it's ; \n $q$")


@pytest.fixture
def copied(game, mariadb_server, postgres_server, postgres):
    """The same game in PostgreSQL."""
    in_postgresql(postgres_server, database_of(postgres), mariadb_server, database_of(game))
    return postgres


@pytest.mark.parametrize("options", [(), ("--inserts",), ("--column-inserts", "--rows-per-insert=7"), ("--create",)])
def test_a_dump_of_postgresql_is_read_as_the_database_itself(options, copied, postgres_server, tmp_path):
    postgres, name = copied, database_of(copied)
    command = ["pg_dump", "-h", postgres_server.directory, "-U", USER, *options, name]
    dump = written(tmp_path / "dump.sql", subprocess.run(command, capture_output=True, check=True).stdout)

    same(in_order(events_of(dump)), in_order(events_of(postgres)))


def test_files_of_psql_are_read_as_the_database_itself(copied, postgres_server, tmp_path):
    postgres, name = copied, database_of(copied)
    for table in RATHENA:
        query = f"\\copy (SELECT * FROM \"{table}\") TO '{tmp_path / table}.csv' CSV HEADER"
        subprocess.run(
            ["psql", "-h", postgres_server.directory, "-U", USER, "-c", query, name], check=True, capture_output=True
        )

    same(as_texts(events_of(tmp_path)), as_texts(events_of(postgres)))


def test_a_dump_that_was_cut_short_is_refused_unless_its_whole_rows_are_wanted(game, mariadb_server, tmp_path):
    whole = mariadb_server.dump(database_of(game))
    inside = whole.index(b"INSERT INTO `picklog`") + 1_000
    cut = written(tmp_path / "cut.sql", whole[:inside])
    ended = written(tmp_path / "ended.sql", whole[: whole.index(b"-- Dump completed")])
    kept = replace(UTC, logs=LogOptions("rathena", "UTC", keep_truncated=True))

    with pytest.raises(ReadError, match=r"row .* of picklog cannot be read"):
        events_of(cut)
    with pytest.raises(ReadError, match="was not written or copied whole"):
        events_of(ended)

    assert events_of(ended, kept).height == events_of(game).height
    assert 0 < events_of(cut, kept).filter(pl.col("item").is_not_null()).height < 60


def test_levels_are_told_of_the_day_before_the_dump_and_not_of_the_day_before_it_is_read(
    game, mariadb_server, tmp_path
):
    data = mariadb_server.dump(database_of(game))
    line = data[data.index(b"-- Dump completed") :].splitlines()[0]
    soon = data.replace(line, b"-- Dump completed on 2026-11-15 20:00:00")
    later = data.replace(line, b"-- Dump completed on 2026-11-18 20:00:00")
    undated = data.replace(line, b"-- Dump completed")

    levels = [
        events_of(written(tmp_path / f"{name}.sql", one)).filter(pl.col("item").is_not_null())["level"].null_count()
        for name, one in {"soon": soon, "later": later, "undated": undated}.items()
    ]

    assert levels == [0, 60, 60]


def test_moments_that_a_dump_writes_in_utc_need_no_zone(mariadb_server, mariadb, tmp_path):
    tables = {**RATHENA, "picklog": RATHENA["picklog"].replace("`time` datetime", "`time` timestamp")}
    name = database_of(mariadb)
    make_tables(mariadb_server, name, {one: tables[one] for one in ("login", "char", "picklog")})
    put(mariadb_server, name, "login", ("account_id", "userid"), [(2000000, "a")])
    put(mariadb_server, name, "char", ("char_id", "account_id", "name"), [(150000, 2000000, "a")])
    with mariadb_server.connected(name) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+09:00'")
        cursor.execute("INSERT INTO picklog (time, char_id) VALUES ('2026-11-15 12:00:00', 150000)")
    dump = written(tmp_path / "dump.sql", mariadb_server.dump(name))

    events = events_of(dump, SourceOptions(LogOptions("rathena")))

    assert str(events["at"].unique().to_list()[0]) == "2026-11-15 03:00:00+00:00"


def test_commands_read_a_dump_and_a_folder_of_exports(game, mariadb_server, tmp_path):
    written(tmp_path / "dump.sql.gz", gzip.compress(mariadb_server.dump(database_of(game))))
    (tmp_path / "tables").mkdir()
    for table in ("login", "char", "picklog"):
        written(
            tmp_path / "tables" / f"{table}.tsv", queried(mariadb_server, database_of(game), f"SELECT * FROM `{table}`")
        )

    ended = [
        run(*words.split(), cwd=tmp_path)
        for words in (
            "read dump.sql.gz --to one --time-zone UTC",
            "read dump.sql.gz --map rathena --time-zone UTC --to two",
            "read tables/ --map rathena --time-zone UTC --to three",
            "read dump.sql.gz --to four",
        )
    ]

    assert [one.returncode for one in ended] == [0, 0, 0, 1]
    assert "name its zone with --time-zone" in ended[-1].stderr
    assert lake_of(tmp_path / "one").equals(lake_of(tmp_path / "two"))
    assert lake_of(tmp_path / "three").filter(pl.col("item").is_not_null()).height == 60


def test_no_temporary_file_is_left(game, mariadb_server, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    dump = written(tmp_path / "dump.sql", mariadb_server.dump(database_of(game)))
    events_of(dump)
    with pytest.raises(ReadError):
        events_of(written(tmp_path / "cut.sql", dump.read_bytes()[:9_000]))

    assert os.listdir(tmp_path / "tmp") == []  # noqa: PTH208


def test_a_table_that_nobody_wants_may_hold_strings_of_any_length(game, mariadb_server, tmp_path, monkeypatch):
    monkeypatch.setattr(dump_text, "LONGEST_ROW", 1 << 16)
    name = database_of(game)
    mariadb_server.execute("CREATE TABLE aaa (a longblob, b longtext)", name)
    put(mariadb_server, name, "aaa", ("a", "b"), [(os.urandom(3 << 20), "x'\\\n;" * (1 << 19))])
    dump = written(tmp_path / "dump.sql", mariadb_server.dump(name))

    same(events_of(dump), events_of(game))


@pytest.mark.parametrize("options", [("--skip-extended-insert",), (), ("--hex-blob", "--complete-insert")])
def test_it_does_not_matter_where_the_bytes_of_a_dump_are_cut(options, game, mariadb_server, tmp_path, monkeypatch):
    dump = written(tmp_path / "dump.sql", mariadb_server.dump(database_of(game), *options))
    whole = events_of(dump)
    monkeypatch.setattr(dump_text, "CHUNK", 7)
    monkeypatch.setattr(dump_text, "_HEAD", 700)

    assert_frame_equal(events_of(dump), whole)


def test_it_does_not_matter_where_the_bytes_of_postgresqls_rows_are_cut(copied, postgres_server, tmp_path, monkeypatch):
    command = ["pg_dump", "-h", postgres_server.directory, "-U", USER, database_of(copied)]
    dump = written(tmp_path / "dump.sql", subprocess.run(command, capture_output=True, check=True).stdout)
    whole = events_of(dump)
    monkeypatch.setattr(dump_text, "CHUNK", 7)
    monkeypatch.setattr(dump_text, "_HEAD", 700)

    assert_frame_equal(events_of(dump), whole)


BY_HAND = b"""-- phpMyAdmin SQL Dump
-- Host: localhost:3306
-- Database: `ragnarok`
/* it's a remark; */
SET SQL_MODE = "NO_AUTO_VALUE_ON_ZERO";
CREATE TABLE IF NOT EXISTS `login` (`account_id` int(11) NOT NULL COMMENT 'a '';'' (b', `userid` varchar(23), PRIMARY KEY (`account_id`));
CREATE TABLE IF NOT EXISTS `char` (`char_id` int, `account_id` int, `name` varchar(30), `base_level` int) DEFAULT CHARSET=latin1;
INSERT IGNORE INTO `login` (`account_id`, `userid`) VALUES
(2000000, 'it''s'), (2000001, X'6869'), (2000002, _utf8 'ho'), (2000003, 0x7961);
DELIMITER $$
CREATE TRIGGER t BEFORE INSERT ON login FOR EACH ROW BEGIN INSERT INTO picklog VALUES ('$$; END $$
DELIMITER ;
# another remark, isn't it
INSERT INTO `char` VALUES (150000, 2000000, 'a', '007');
CREATE TABLE picklog (id int, time datetime, char_id int, type char(1), nameid int, amount int, map text);
INSERT INTO picklog VALUES (1, '2026-11-15 12:00:00', 150000, 'P', 512, 1, 'x''y\\\\z');
"""


def test_what_people_and_other_programs_write_is_read_too(tmp_path):
    source = readers.open(written(tmp_path / "by hand", BY_HAND), UTC)
    users = source.database.frame("login", ("account_id", "userid"))["userid"].to_list()
    source.database.close()

    assert source.name == "dump:localhost:3306/ragnarok"
    assert users == ["it's", "hi", "ho", "ya"]
    assert events_of(tmp_path / "by hand")["zone"].drop_nulls().to_list() == ["x'y\\z"]


def test_the_server_is_told_from_a_dump_of_rows_alone(game, mariadb_server, tmp_path):
    dump = written(tmp_path / "dump.sql", mariadb_server.dump(database_of(game), *WAYS["rows alone"]))

    assert readers.open(dump, SourceOptions(LogOptions(time_zone="UTC"))).preset.name == "rathena"


HOSTILE = {
    "a string without an end": b"INSERT INTO `picklog` VALUES (1,'abc",
    "brackets without an end": b"CREATE TABLE `picklog` (" + b"(" * 5000,
    "a key that is no number": b"CREATE TABLE picklog (id int, time datetime);\nINSERT INTO picklog VALUES ('abc',NULL);",
    "rows of no known columns": b"INSERT INTO `picklog` VALUES (1,2,3);",
    "too many columns": b"CREATE TABLE `t` (" + b",".join(b"`c%d` int" % n for n in range(1500)) + b");",
    "columns of one name": b"CREATE TABLE `picklog` (`id` int, `ID` int);",
    "a column that nobody declared": b"CREATE TABLE picklog (id int);\nINSERT INTO picklog (`no`) VALUES (1);",
    "too few values": b"CREATE TABLE picklog (id int, time datetime);\nINSERT INTO picklog VALUES (1);",
    "no people": b"CREATE TABLE picklog (id int, time datetime, char_id int, type text, nameid int, amount int, map text);\n"
                 b"INSERT INTO picklog VALUES (1,'2026-11-15 12:00:00',1,'P',1,1,'x');",
    "a log of numbers": b"CREATE TABLE picklog (id int, time datetime, char_id int, type int, nameid int, amount int, map text);\n"
                        b"CREATE TABLE `char` (char_id int, account_id int, name text, base_level int);\n"
                        b"CREATE TABLE login (account_id int, userid text);\n"
                        b"INSERT INTO picklog VALUES (1,'2026-11-15 12:00:00',1,5,1,1,'x');",
    "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_dump_that_is_none_is_refused_in_one_line(what, tmp_path):
    data = b"-- MySQL dump 10.13\n" + HOSTILE[what] + b"\n-- Dump completed\n"
    with pytest.raises(ReadError) as refused:
        events_of(written(tmp_path / "dump.sql", data))

    assert "\n" not in str(refused.value)


def test_pg_dumps_own_format_is_named(tmp_path):
    with pytest.raises(ReadError, match=r"pg_restore -f dump\.sql"):
        readers.open(written(tmp_path / "dump", b"PGDMP\x01\x0e"))


assert set(RIG_TABLES) <= set(RATHENA)
