"""Real OpenKore bots on a real server: streams and tap decode to what was decoded independently."""

import gzip
import json
import os
from functools import cache
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import ragnarok_bytes as ro
import ragnarok_reference as reference
from gamewarden.features.session.recipe import Sessions
from gamewarden.readers.ragnarok.events import MessageEvents
from gamewarden.readers.ragnarok.messages import open_messages
from gamewarden.readers.ragnarok.table_files import read_packet_db
from gamewarden.tables import EVENTS, FrameMessages

DATA = os.environ.get("GAMEWARDEN_DATA")
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the Ragnarok traffic is not here"),
]
RIG = Path(DATA or ".") / "ragnarok" / "rig"
SESSIONS = [
    "000_bot01_farm_a_p53150",
    "001_bot02_farm_b_p36044",
    "002_bot03_farm_c_p36052",
    "003_bot04_farm_d_p39716",
    "004_bot05_farm_e_p39728",
    "005_bot06_farm_f_p58958",
    "006_bot07_mover_p56600",
    "010_bot11_farm_clone1_p49274",
    "014_man01_manual_like_a_p56632",
    "016_man01_manual_like_a_p46714",
]


@cache
def table():
    return read_packet_db(RIG / "packet_table_20080527.txt")


def decoded(path, ports=()):
    stream = open_messages(path, table(), ports)
    return ro.decoded(stream), stream.report


@cache
def tap():
    return decoded(RIG / "capture.pcap.gz", (5121,))


@cache
def truth(session):
    return json.loads(gzip.decompress((RIG / "truth" / f"{session}.json.gz").read_bytes()))


def from_source(source, session):
    if source == "capture":
        frame, report = tap()
        return frame.filter(pl.col("client").str.ends_with(f":{truth(session)['client_port']}")), report
    return decoded(RIG / source / f"{session}.adam")


def rows(frame, function, *columns):
    """(seconds, microseconds, …) of one function's messages."""
    chosen = frame.filter(pl.col("function") == function)
    times = chosen["at"].to_physical().to_list()
    values = chosen.select(columns).rows()
    return [[at // 1_000_000, at % 1_000_000, *row] for at, row in zip(times, values, strict=True)]


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("source", ["streams", "streams_per_segment", "capture"])
def test_every_session_is_decoded_as_it_was_independently(source, session):
    frame, report = from_source(source, session)
    expected = truth(session)

    ids = {f"0x{identity:04x}": count for identity, count in frame["id"].value_counts().iter_rows()}
    names = {name.lower(): count for name, count in expected["packets_by_function"].items()}
    functions = dict(frame["function"].value_counts().iter_rows())
    assert ids == expected["packets_by_id"]
    assert {name.replace("wismessage", "wis"): count for name, count in names.items()} == functions
    assert rows(frame, "walktoxy", "x", "y") == expected["walk"]
    assert rows(frame, "takeitem", "target") == expected["take_item"]
    assert rows(frame, "actionrequest", "target", "action") == expected["action_request"]
    assert frame["actor"].unique().to_list() == [str(expected["account_id"])]
    assert frame["character"].unique().to_list() == [str(expected["char_id"])]
    assert (report.skipped, report.lost, report.problem) == ({}, 0, None)


def test_the_tap_and_the_streams_measure_alike():
    streams = [decoded(RIG / "streams" / f"{session}.adam")[0] for session in SESSIONS]
    apart = pl.concat([Sessions().measure(FrameMessages(frame)) for frame in streams]).sort("actor", "since")

    together = Sessions().measure(FrameMessages(tap()[0]))

    assert together.equals(apart)
    assert together["valid"].all()
    assert together.filter(~pl.col("enough"))["actor"].to_list() == ["2000006"]  # the mover neither fights nor loots


def test_the_table_of_the_day_decodes_the_recording_too():
    stream = open_messages(RIG / "streams" / f"{SESSIONS[2]}.adam", RIG.parent / "packet_db_eathena_2008-06-11.txt")
    walks = sum(
        int((pl.Series(batch.column("function").cast(pa.string())) == "walktoxy").sum())
        for batch in stream.batches(("function",))
    )

    assert walks == truth(SESSIONS[2])["n_walk"]
    assert stream.report.skipped == {}


@pytest.mark.parametrize("paper", [False, True], ids=["measured", "as published"])
@pytest.mark.parametrize("session", [SESSIONS[2], SESSIONS[8]])
def test_a_real_session_measures_as_the_plain_reference_says(session, paper):
    path = RIG / "streams" / f"{session}.adam"
    expected = reference.features(reference.parse(path.read_bytes(), table())[0], paper=paper)

    (row,) = Sessions(paper_mode=paper).measure(open_messages(path, table())).to_dicts()

    numbers = [name for name, value in expected.items() if isinstance(value, float)]
    assert len(numbers) == 13
    assert {name: row[name] for name in numbers} == pytest.approx({name: expected[name] for name in numbers}, rel=1e-11)


@cache
def gifts():
    """(character, partner's account, item, amount, seconds) of every `trade.give` in the tap."""
    log = MessageEvents(RIG / "capture.pcap.gz", open_messages(RIG / "capture.pcap.gz", table(), (5121,)), table())
    told = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(log.batches(tuple(EVENTS.columns)))))
    given = told.filter(pl.col("kind").cast(pl.String) == "trade.give")
    return given.select("character", "other", "item", "amount", pl.col("at").dt.epoch("s").alias("s")).rows()


def logged(name):
    """Rows the server logged for trades, amounts below 0 being what a character gave; its clock was UTC."""
    rows = pl.read_csv(RIG / "sql_logs" / f"{name}.csv").filter(pl.col("type") == "T", pl.col("amount") < 0)
    return rows.with_columns(s=pl.col("time").str.to_datetime(time_zone="UTC").dt.epoch("s")).to_dicts()


def server_rows():
    """(character, partner, item, amount, seconds) of what the recorded characters gave while they were recorded."""
    chats = pl.read_csv(RIG / "sql_logs" / "chatlog.csv").select("src_charid", "src_accountid").rows()
    accounts = {str(character): str(account) for character, account in chats}
    zeny = [(str(r["char_id"]), accounts[str(r["src_id"])], "zeny", r["amount"], r["s"]) for r in logged("zenylog")]
    items = [(str(r["char_id"]), None, None, r["amount"], r["s"]) for r in logged("picklog")]
    recorded = pl.read_csv(RIG / "labels.csv").select("char_id", "start_epoch", "end_epoch").rows()
    spans = [(str(character), since, until) for character, since, until in recorded]
    return [row for row in zeny + items if any(c == row[0] and a <= row[4] <= b for c, a, b in spans)]


def test_every_gift_is_one_the_server_logged_and_every_logged_one_is_a_gift():
    rows = server_rows()

    assert len(rows) == 23
    told = sorted((who, item or "", amount, at) for who, _, item, amount, at in gifts())
    kept = sorted((who, item or "", amount, at) for who, _, item, amount, at in rows)
    assert [row[:3] for row in told] == [row[:3] for row in kept]
    assert all(abs(one[3] - other[3]) <= 2 for one, other in zip(told, kept, strict=True))


def test_the_partner_of_every_recorded_trade_is_the_one_the_server_logged():
    partners = {(who, amount): other for who, other, item, amount, _ in server_rows() if item == "zeny"}

    assert {(who, amount): other for who, other, item, amount, _ in gifts() if item == "zeny"} == partners
    assert {other for _, other, *_ in gifts()} == {"2000009"}
