"""Ragnarok at the command line: message tables and streams told, sessions measured, a tap read as events."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import ragnarok_bytes as ro
from capture_bytes import pcap
from commands import done, run
from gamewarden import readers
from gamewarden.errors import ReadError
from gamewarden.features.session.recipe import Sessions
from gamewarden.pipeline import measure, sessions_to_judge
from gamewarden.readers.folders import message_files
from gamewarden.readers.label_folders import folder_label
from message_frames import PORT, frames_of
from message_table_text import TEXT

DATA = os.environ.get("GAMEWARDEN_DATA")
SECOND = 1_000_000
AT = 1_700_000_000 * SECOND
HEADER = """\
parseable_packet(0x009b,26,clif_parse_WantToConnection,4,9,17,21,25);
#ifdef PACKETVER_RE
parseable_packet(0x00a7,8,clif_parse_WalkToXY,5);
packet_keys(1,2,3);
#endif
"""
COLUMNS = (
    "actor,since,until,events,character,valid,enough,packets_per_s,move_dx,move_dy,move_distance,move_gap_ms,take_gap_ms,"
    "turn_to_take_ms,attack_to_take_ms,continuous_attacks_per_s,turn_mean_deg,turn_circular_variance,turn_back_share,"
    "once_attacks_per_s"
)


def stream(character, minutes=11):
    """A client that walks to and fro, fights and loots."""
    acts = (
        (ro.walk(150 + n % 7, 200), ro.action(7, 110_014), ro.face(), ro.take(n))[n % 4]
        for n in range(int(minutes * 60))
    )
    said = [ro.connect(character - 148_000, character), *acts]
    return b"".join(ro.tag(AT + n * SECOND) + message for n, message in enumerate(said))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Streams in folders that say who they are, a note among them, and one capture."""
    place = tmp_path_factory.mktemp("streams")
    for name, character in (("bots/a.adam", 150_001), ("bots/deep/b.adam", 150_002), ("players/c.adam", 150_003)):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(stream(character))
    (place / "unknown").mkdir()
    (place / "unknown/tap.pcap").write_bytes(pcap(frames_of([(0, ro.connect(7, 8) + ro.walk(1, 2)), (34, ro.take())])))
    (place / "bots/notes.txt").write_text("recorded on a rainy day\n")
    (place / "bots/.hidden").write_bytes(stream(150_009))
    (place / "names.csv").write_text("character,actor,name\n150001,2001,Arvenko\n")
    return place


def test_folders_say_who_is_a_bot_and_text_is_passed_over(folder):
    found = [(path.relative_to(folder).as_posix(), folder_label(path)) for path in message_files([folder])]

    assert found == [
        ("bots/a.adam", True),
        ("bots/deep/b.adam", True),
        ("players/c.adam", False),
        ("unknown/tap.pcap", None),
    ]
    assert message_files([folder / "bots/notes.txt"]) == [folder / "bots/notes.txt"]


def test_a_folder_without_messages_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")

    with pytest.raises(ReadError, match="no packetstream and no capture, only 1 other file;"):
        message_files([tmp_path])
    (tmp_path / "notes.txt").unlink()
    with pytest.raises(ReadError, match="no packetstream and no capture, it is empty;"):
        message_files([tmp_path])


def test_sessions_of_several_sources_have_exactly_the_promised_columns(folder, tmp_path):
    out = tmp_path / "sessions.csv"

    ended = done("measure", "session", folder, folder / "bots/a.adam", "--server-port", PORT, "--out", out)

    lines = out.read_text().splitlines()
    assert lines[0] == COLUMNS
    assert [line.split(",")[0] for line in lines[1:]] == ["2001", "2002", "2003", "7"]  # a file named twice counts once
    assert lines[1].startswith("2001,2023-11-14T22:13:20.000000Z,2023-11-14T22:24:20.000000Z,661,150001,true,true,")
    assert [lines[-1].split(",")[place] for place in (3, 5, 6)] == ["3", "false", "false"]
    assert "661 messages in 1 session," in ended.stderr


def test_sessions_are_measured_by_character_when_asked(folder):
    rows = json.loads(done("measure", "session", folder / "bots", "--by", "character", "--json").stdout)

    assert [(row["actor"], row["character"]) for row in rows] == [("150001", "150001"), ("150002", "150002")]


def test_a_stream_is_told_line_by_line_and_summed_up(folder):
    told = done("packets", folder / "bots/a.adam", "--names", folder / "names.csv").stdout.splitlines()

    assert told[:5] == [
        "-- Arvenko (character 150001 of account 2001)",
        "22:13:20.000 connect",
        "22:13:21.000 walk to (150, 200)",
        "22:13:22.000 attack (continuous) 110014",
        "22:13:23.000 turn round",
    ]
    assert told[5] == "22:13:24.000 take item 3"
    assert told[-1].startswith("Arvenko (character 150001 of account 2001): 661 messages from 2023-11-14 22:13:20 UTC")
    assert told[-1].endswith("Long enough, and enough was done to judge it.")


def test_offers_of_zeny_and_of_items_are_told_apart(tmp_path):
    path = tmp_path / "trade.adam"
    path.write_bytes(ro.tag(AT) + ro.connect() + ro.offer(7200, place=0) + ro.offer(30, place=5))

    told = done("packets", path).stdout.splitlines()

    assert told[2:4] == ["22:13:20.000 offer 7200 zeny", "22:13:20.000 offer 30 of item #5"]


def test_a_table_is_told_apart_from_a_stream_and_shown(tmp_path):
    (tmp_path / "table").write_text(TEXT)

    rows = json.loads(done("packets", tmp_path / "table", "--version", 7, "--json").stdout)

    assert {"id": "0x00a7", "length": 8, "function": "walktoxy", "parts": "place@5", "version": 7} in rows


def test_tables_on_top_of_each_other_are_shown_as_one(tmp_path):
    (tmp_path / "table").write_text(TEXT)
    (tmp_path / "import").write_text("// ours\n0x00a7,20,walktoxy,17\n")
    (tmp_path / "empty").write_text("// nothing yet\n")

    rows = json.loads(done("packets", *(tmp_path / name for name in ("table", "import", "empty")), "--json").stdout)

    assert {"id": "0x00a7", "length": 20, "function": "walktoxy", "parts": "place@17", "version": None} in rows
    assert ("0x0085", 11) in [(row["id"], row["length"]) for row in rows]


def test_a_stream_is_read_with_the_table_named_last_over_the_others(folder, tmp_path):
    (tmp_path / "import").write_text("0x00a7,9\n")
    stream, table = folder / "bots/a.adam", tmp_path / "table"
    table.write_text("\n".join(f"0x{number:04x},4" for number in range(1, 9)))

    one = done("packets", stream, "--summary", "--packet-db", table)
    two = done("packets", stream, "--summary", "--packet-db", table, "--packet-db", tmp_path / "import")

    assert one.stderr != two.stderr


def test_headers_of_a_server_are_shown_and_read_with_as_a_table(folder, tmp_path):
    (tmp_path / "a.hpp").write_text(HEADER)
    read = ("--packet-db", tmp_path / "a.hpp", "--packet-version", 20180307, "--packet-client")

    rows = json.loads(done("packets", tmp_path / "a.hpp", "--version", 20180307, "--json").stdout)
    re, main = (done("packets", folder / "bots/a.adam", "--summary", *read, client) for client in ("re", "main"))

    assert {"id": "0x00a7", "length": 8, "function": "walktoxy", "parts": "place@5", "version": 20180307} in rows
    assert "bytes skipped after an id the message table does not have" in re.stderr
    assert "clients of this date hide ids behind keys" in re.stderr
    assert "166 messages" in re.stderr, "those that walk, and the connect message"
    assert main.stderr != re.stderr


def test_a_stream_for_machines_is_the_table_of_its_messages(folder):
    rows = json.loads(done("packets", folder / "bots/a.adam", "--json").stdout)

    assert len(rows) == 661
    assert rows[1]["function"] == "walktoxy"
    assert (rows[1]["x"], rows[1]["y"]) == (150, 200)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("measure", "session", "nowhere.adam"), "nowhere.adam"),
        (("measure", "session", "tap.pcap"), "--server-port"),
        (("measure", "session", "a.adam", "--packet-db", "notes.txt"), "names no packet"),
        (("packets", "a.adam", "--packet-db", "table", "--packet-version", "3"), "none up to 3"),
        (("packets", "a.adam", "--packet-version", "7"), "--packet-db"),
        (("packets", "a.adam", "--packet-client", "re"), "--packet-db"),
        (("packets", "a.adam", "--packet-db", "a.hpp"), "--packet-version YYYYMMDD"),
        (("packets", "a.hpp", "a.adam"), "--packet-db"),
        (("packets", "empty"), "is an empty message table"),
        (("packets", "empty", "a.adam"), "is an empty message table"),
        (("packets", "table", "a.adam"), "--packet-db"),
        (("packets", "a.adam", "table"), "--packet-db"),
        (("packets", "notes.txt"), "--packet-db"),
        (("measure", "session", "a.adam", "--packet-version", "7"), "--packet-db"),
    ],
    ids=[
        "no file",
        "no port",
        "no table",
        "no version",
        "packets of no table",
        "a client of no table",
        "a header without a date",
        "a header first",
        "an empty table",
        "an empty table and a stream",
        "a table first",
        "a table last",
        "text",
        "sessions of no table",
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(arguments, says, tmp_path):
    (tmp_path / "a.adam").write_bytes(ro.tick())
    (tmp_path / "notes.txt").write_text("nothing\n")
    (tmp_path / "table").write_text(TEXT)
    (tmp_path / "a.hpp").write_text(HEADER)
    (tmp_path / "empty").write_text("// put your packets here\n\n")
    (tmp_path / "tap.pcap").write_bytes(pcap([]))
    named = [tmp_path / word if (tmp_path / word).exists() or word.endswith(".adam") else word for word in arguments]

    ended = run(*named)

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert says in ended.stderr


@pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the Ragnarok traffic is not here")
def test_the_logs_detectors_run_on_a_real_tap(tmp_path):
    rig = Path(DATA) / "ragnarok/rig"
    lake, out = tmp_path / "lake", tmp_path / "out.parquet"

    ended = done(
        "read", rig / "capture.pcap.gz", "--as", "ragnarok", "--to", lake, "--server-port", 5121,
        "--packet-db", rig / "packet_table_20080527.txt",
    )  # fmt: skip
    done("measure", "self-similarity", lake, "--out", out)

    truth = json.loads((rig / "truth_summary.json").read_text())["sessions"]
    measured = pl.read_parquet(out)
    assert "72,574 messages in 10 sessions" in ended.stderr
    assert measured["actor"].to_list() == sorted({str(session["account_id"]) for session in truth})
    assert measured["self_sim"].null_count() == 0
    offered = {str(session["account_id"]): session["packets_by_id"].get("0x00e8", 0) for session in truth}
    assert dict(measured.select("actor", "trade_give_count").iter_rows()) == offered
    done("measure", "actions", lake, "--chunk", "15m", "--out", out)
    assert pl.read_parquet(out).height > 9


def test_paper_mode_says_that_it_is_strict_and_is_wherever_sessions_are_measured(tmp_path):
    damaged = ro.tag(AT) + ro.connect() + ro.tag(AT) + b"\xff\xff" + ro.tag(AT + SECOND) + ro.tick()
    (tmp_path / "a.adam").write_bytes(damaged)

    for paper, packets in ((True, [1]), (False, [2])):
        for sessions_of in (measure, sessions_to_judge):
            told = sessions_of(Sessions(paper_mode=paper), readers.open(tmp_path / "a.adam"))
            assert told.frame["events"].to_list() == packets
    assert "implies --strict" in " ".join(done("measure", "session", "--help").stdout.split())


def test_a_stream_from_standard_input_is_told_in_one_pass():
    command = [sys.executable, "-m", "gamewarden", "packets", "-", "--summary"]

    ended = subprocess.run(command, input=stream(150_001), capture_output=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.decode().startswith("character 150001 of account 2001: 661 messages")
