"""What every reader promises: what it opens, gives and refuses; plain and packed, whatever the format."""

import gzip
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from io import BytesIO

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import plugins
import ragnarok_bytes as ro
from capture_bytes import pcap
from gamewarden import readers
from gamewarden.errors import ConfigError, GamewardenError, ReadError
from gamewarden.readers.options import CaptureOptions, LogOptions, SourceOptions
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS, MESSAGES, check
from message_frames import PORT, frames_of
from plugged import offered

AT = 1_700_000_000_000_000
KINDS = ("events", "packets", "messages", "table")


def as_csv(frame):
    return frame.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ").encode()


def as_jsonl(frame):
    times = frame.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"))
    return b"".join(json.dumps(row).encode() + b"\n" for row in times.iter_rows(named=True))


def as_parquet(frame):
    frame.write_parquet(buffer := BytesIO())
    return buffer.getvalue()


FORMATS = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}
PACKINGS = {"plain": bytes, "gz": gzip.compress, "zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True)}


def log_at(path, frame, written=as_csv, packed=bytes):
    path.write_bytes(packed(written(frame)))
    return path


def lake_at(place, frame):
    Lake(place / "lake").add(readers.open(log_at(place / "log.parquet", frame, as_parquet)).log())
    return place / "lake"


def stream_at(path):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(ro.tag(AT) + ro.connect() + ro.tag(AT + 1_000_000) + ro.walk(1, 2))
    return path


def folder_at(place):
    stream_at(place / "streams" / "a.adam")
    stream_at(place / "streams" / "b.adam")
    return place / "streams"


def logs_at(place, play):
    """A directory with the log in two files; the second begins where the first ends."""
    (place / "logs").mkdir()
    for name, part in (("a", play.head(play.height // 2)), ("b", play.slice(play.height // 2))):
        log_at(place / "logs" / f"{name}.csv", part)
    return place / "logs"


def capture_at(path):
    path.write_bytes(pcap(frames_of([(0, ro.connect(7, 8) + ro.walk(1, 2)), (34, ro.take())])))
    return path


def ticks_at(path, frame):
    """Without the lines of which nobody knows whose they are; the reader's clock is a tenth of a second."""
    rows = frame.select("actor", pl.col("at").dt.epoch("us") // 100_000, "kind").rows()
    path.write_text("".join(f"{actor} {tick} {kind}\n" for actor, tick, kind in rows))
    return path


GAME_TABLES = {
    "login": ("account_id,userid,sex,group_id", "2000000,ann,M,0"),
    "char": ("char_id,account_id,name,base_level", "150000,2000000,Ann,9"),
    "picklog": ("id,time,char_id,type,nameid,amount,map", "1,2026-03-01 12:00:00,150000,P,512,1,prt_fild08"),
}


def database_at(path):
    """A game's tables as a database, and its URL."""
    with closing(sqlite3.connect(path)) as database, database:
        for table, (names, row) in GAME_TABLES.items():
            typed = ", ".join(f"{name} INTEGER" if name.endswith("id") else name for name in names.split(","))
            database.execute(f"CREATE TABLE {table} ({typed})")
            database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row.split(',')))})", row.split(","))  # noqa: S608  the test's own
    return f"sqlite:///{path}"


def dump_at(path):
    lines = ["-- MySQL dump 10.13", "-- Host: localhost    Database: game"]
    for table, (names, row) in GAME_TABLES.items():
        values = ",".join(f"'{value}'" for value in row.split(","))
        lines.append(f"INSERT INTO `{table}` ({names}) VALUES ({values});")  # noqa: S608  nobody runs it
    path.write_text("\n".join([*lines, "-- Dump completed", ""]))
    return path


def exports_at(folder):
    folder.mkdir()
    for table, rows in GAME_TABLES.items():
        (folder / f"{table}.csv").write_text("\n".join(rows))
    return folder


# What each reader of the registry opens, made up in a directory from a small log.
EXAMPLES = {
    "database": lambda place, _play: database_at(place / "game.db"),
    "dump": lambda place, _play: dump_at(place / "game.sql"),
    "export": lambda place, _play: exports_at(place / "tables"),
    "capture": lambda place, _play: capture_at(place / "tap.pcap"),
    "packetstream": lambda place, _play: stream_at(place / "a.adam"),
    "memory": lambda _place, play: play,
    "lake": lake_at,
    "ragnarok": lambda place, _play: stream_at(place / "named.adam"),
    "files": logs_at,
    "folder": lambda place, _play: folder_at(place),
    "log": lambda place, play: log_at(place / "log.csv", play),
    "ticks": lambda place, play: ticks_at(place / "log.ticks", play),  # of tests/plugin
}
NAMED = ("ragnarok",)  # nobody can tell them from something else
GAME = SourceOptions(captures=CaptureOptions(server_ports=(PORT,)))
SERVER = SourceOptions(LogOptions("rathena", "UTC"))
OPTIONS = dict.fromkeys(("database", "dump", "export"), SERVER)


def everything(stream, columns):
    batches = list(stream.batches(columns))
    assert all(batch.schema.names == list(columns) for batch in batches)
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches))).with_columns(
        pl.col(pl.Categorical).cast(pl.String)
    )


def with_the_plugin():
    with plugins.installed():
        return readers.names()


@pytest.fixture(autouse=True)
def _plugin():
    with plugins.installed():
        yield


def test_every_reader_has_an_example_here_so_that_it_is_tested():
    assert set(readers.names()) == set(EXAMPLES)


@pytest.fixture(params=with_the_plugin())
def source(request, play, tmp_path):
    """What one reader of the registry opens, by whoever knows it first."""
    name = request.param
    opened = readers.open(EXAMPLES[name](tmp_path, play), OPTIONS.get(name, GAME), name if name in NAMED else None)
    yield name, opened
    if name in OPTIONS:
        opened.database.close()


def test_a_source_is_opened_by_the_reader_that_knows_it(source):
    name, opened = source

    assert type(opened) is readers.load(name)


def test_a_source_says_what_it_is_and_is_known_again(source):
    _, opened = source

    assert opened.kinds
    assert set(opened.kinds) <= set(KINDS)
    assert opened.fingerprint() == opened.fingerprint()
    assert opened.fingerprint().digest
    assert [part.name for part in opened.parts]


def stream_of(source, kind):
    return {"events": source.events, "packets": source.packets, "messages": source.messages, "table": source.rows}[
        kind
    ]()


def rows_in(stream, kind):
    columns = {"events": ["actor", "at"], "messages": ["session", "at"]}.get(kind)
    if kind == "table":
        columns = stream.columns
    return [batch.num_rows for batch in (stream.batches() if columns is None else stream.batches(columns))]


SAID = {
    "events": ("columns", "rows", "notes", "shows", "coverage", "whole"),
    "packets": ("rows", "notes", "counts", "withheld"),
    "messages": ("rows", "notes", "messages", "sessions", "damaged"),
    "table": ("name", "columns", "rows", "notes"),
}


def read_as(source, kind):
    """A stream that was read with its rows, or why there is none."""
    try:
        stream = stream_of(source, kind)
        return stream, sum(rows_in(stream, kind)), None
    except GamewardenError as refused:
        return None, 0, str(refused)


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_gives_a_stream_that_says_all_its_contract_asks_or_one_line(source, kind):
    _, opened = source
    stream, rows, refused = read_as(opened, kind)

    assert bool(rows) == (refused is None)
    if refused is not None:
        assert "\n" not in refused
        assert not (opened.sure and kind in opened.kinds)
    else:
        assert isinstance(stream.notes, tuple)
        assert all(hasattr(stream, name) for name in SAID[kind])


def test_a_source_that_is_sure_refuses_everything_else(source):
    _, opened = source
    for kind in set(KINDS) - set(opened.kinds) if opened.sure else ():
        with pytest.raises(ReadError):
            rows_in(stream_of(opened, kind), kind)


@pytest.fixture(scope="module", params=[(name, packing) for name in FORMATS for packing in PACKINGS], ids="-".join)
def opened(request, play, tmp_path_factory):
    """The log written in one format and packing, opened."""
    name, packing = request.param
    path = log_at(tmp_path_factory.mktemp("reader") / "log", play, FORMATS[name], PACKINGS[packing])
    return lambda: readers.open(path).events()


def test_events_come_back_as_they_were_written(opened, play):
    stream = opened()
    back = everything(stream, list(EVENTS.columns))

    assert_frame_equal(check(back, EVENTS, "contract"), check(play, EVENTS, "contract"))
    assert set(play.columns) <= stream.columns


def test_a_stream_can_be_read_again_and_gives_the_same(opened):
    stream = opened()

    assert everything(stream, ["actor", "at"]).equals(everything(stream, ["actor", "at"]))


def test_only_the_columns_asked_for_come_in_the_order_asked_for(opened, play):
    back = everything(opened(), ["kind", "level", "actor"])

    assert back.columns == ["kind", "level", "actor"]
    assert back.height == play.height


def test_a_column_the_source_lacks_is_null(opened):
    assert everything(opened(), ["actor", "amount"])["amount"].null_count() > 0


@pytest.fixture(scope="module", params=["log", "lake", "memory"])
def of_events(request, play, tmp_path_factory):
    return readers.open(EXAMPLES[request.param](tmp_path_factory.mktemp("events"), play))


def test_events_show_and_cover_the_same_wherever_they_are(of_events, play):
    events = of_events.events()

    assert {kind: n for kind, n in events.shows.items() if n} == dict(play["kind"].value_counts().iter_rows())
    assert events.coverage == readers.open(play).events().coverage


def test_a_part_of_the_events_is_what_it_says_and_shows_what_the_whole_does(of_events, play):
    since = datetime(2026, 3, 29, tzinfo=UTC)
    until, actors = since + timedelta(hours=6), ["actor03", "actor07"]
    part = of_events.events(since, until, actors)
    inside = play.filter(pl.col("at") >= since, pl.col("at") < until)

    assert sorted(everything(part, ["seq"])["seq"]) == sorted(inside.filter(pl.col("actor").is_in(actors))["seq"])
    assert dict(part.shows) == dict(of_events.events().shows)
    assert sum(batch.num_rows for batch in part.whole.batches(["at"])) == inside.height


def test_a_table_in_memory_is_what_its_columns_say(play):
    packets = pl.DataFrame({"actor": ["a"], "at": [datetime(2026, 3, 1, tzinfo=UTC)], "up": [True], "size": [5]})
    messages = pl.DataFrame({"session": [1]})
    own = pl.DataFrame({"Account": ["a"], "Kills": [3]})

    assert readers.open(play).kinds == ("events", "table")
    assert readers.open(packets.to_arrow()).kinds == ("packets", "table")
    assert readers.open(messages).kinds == ("messages", "table")
    assert readers.open(own).kinds == ("table",)
    assert readers.open(own).rows().columns == ("Account", "Kills")
    assert set(MESSAGES.required) <= {"session"}


def test_whoever_hands_over_arrow_columns_is_a_table_in_memory(play):
    class Stranger:
        def __arrow_c_stream__(self, requested_schema=None):
            return play.__arrow_c_stream__(requested_schema)

    events = readers.open(Stranger()).events()

    assert everything(events, ["actor", "at"]).equals(play.select("actor", "at"))


def test_a_table_in_memory_that_is_no_log_is_refused_in_one_line():
    with pytest.raises(ReadError, match="table in memory: EVENTS lacks actor, at, kind"):
        readers.open(pl.DataFrame({"Account": ["a"]})).events()


def test_a_folder_and_its_files_named_one_by_one_hold_the_same_messages(tmp_path):
    folder = folder_at(tmp_path)
    told = [readers.open(place).messages() for place in (folder, sorted(folder.iterdir()))]

    first, second = (everything(stream, list(MESSAGES.columns)) for stream in told)
    assert first.equals(second)
    assert (told[0].messages, told[0].sessions, told[0].damaged) == (4, 2, False)


def test_the_message_table_is_read_once_for_all_files_of_a_folder(tmp_path):
    parts = readers.open(folder_at(tmp_path)).parts

    assert len(parts) == 2
    assert parts[0].message_table is parts[1].message_table


def test_a_directory_that_is_no_lake_says_how_to_make_one(tmp_path):
    with pytest.raises(ReadError, match=r"is a directory and not a lake; `gamewarden read FILE… --to"):
        readers.open(folder_at(tmp_path)).events()


def test_an_unknown_reader_is_refused_with_the_names_of_those_there_are(tmp_path):
    with pytest.raises(ConfigError, match=r"reader 'chess' is unknown; choose one of: .*capture, .*log"):
        readers.open(tmp_path, reader="chess")


PLUG_IN = '''
from pathlib import Path

import polars as pl

from gamewarden.contracts import Fingerprint
from gamewarden.sources import PlainSource
from gamewarden.tables import FrameEvents


class Part(PlainSource):
    """Events of a file that holds one account's name a line."""

    kinds = ("events",)
    is_a = "is a list of accounts"

    def __init__(self, locator, options):
        super().__init__(str(locator))
        self._lines = locator.read_text().splitlines()[1:]

    @staticmethod
    def matches(locator):
        return isinstance(locator, Path) and locator.is_file() and locator.read_bytes().startswith(b"ACCOUNTS")

    def fingerprint(self):
        return Fingerprint("accounts", self.name, str(len(self._lines)))

    def events(self, since=None, until=None, actors=None):
        rows = {"actor": self._lines, "at": list(range(len(self._lines))), "kind": ["seen"] * len(self._lines)}
        return FrameEvents(pl.DataFrame(rows).with_columns(pl.col("at").cast(pl.Datetime("us", "UTC"))))
'''


def test_an_installed_package_can_offer_a_reader_and_is_asked_before_any_file_is_a_log(tmp_path, monkeypatch):
    (tmp_path / "who.txt").write_text("ACCOUNTS\nann\nbob\n")

    with offered(readers.REGISTRY, "accounts", PLUG_IN, tmp_path, monkeypatch):
        source = readers.open(tmp_path / "who.txt")
        assert readers.names()[-4:] == ("accounts", "files", "folder", "log")
        assert everything(source.events(), ["actor"])["actor"].to_list() == ["ann", "bob"]
        with pytest.raises(ReadError, match="is a list of accounts; packets are read from a capture or a packet log"):
            source.packets()


def test_times_in_memory_without_a_zone_are_refused_unless_somebody_names_it():
    naive = pl.DataFrame({"actor": ["a"], "at": [datetime(2026, 3, 1, 9)], "kind": ["move"]})  # noqa: DTZ001  on purpose

    with pytest.raises(ReadError, match="table in memory: a time in 'at' has no zone; name it as time_zone"):
        readers.open(naive).events()
    seoul = readers.open(naive, SourceOptions(LogOptions(time_zone="Asia/Seoul"))).events()
    assert everything(seoul, ["at"])["at"][0] == datetime(2026, 3, 1, tzinfo=UTC)


def test_times_in_memory_may_be_written_as_text():
    text = pl.DataFrame({"actor": ["a"], "at": ["2026-03-01T09:00:00+09:00"], "kind": ["move"]})

    assert everything(readers.open(text).events(), ["at"])["at"][0] == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_mapping_is_not_passed_over_in_silence_where_it_means_nothing(play):
    with pytest.raises(ConfigError, match="table in memory: takes no mapping; rename its columns"):
        readers.open(play, SourceOptions(LogOptions(mapping="lineage"))).events()


def test_a_log_and_a_lake_are_opened_without_the_compiler(tmp_path, play):
    for place in (log_at(tmp_path / "log.csv", play), lake_at(tmp_path, play)):
        code = f"import sys; from gamewarden import readers; readers.open({str(place)!r}).events(); print(*sys.modules)"
        modules = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()

        assert "gamewarden.readers.files" in modules
        assert "numba" not in modules


def test_what_nobody_can_open_is_refused_in_one_line():
    with pytest.raises(
        ReadError, match="int: cannot be opened; give the place of a file or folder, several of them, or"
    ):
        readers.open(5)
