"""What a real server wrote into its database, beside the truth and the capture of the same hours, account by account.

The recording holds ten sessions of a server on which more accounts played, so the database knows more log-ins.
"""

import gzip
import json
import struct
from datetime import timedelta
from functools import cache

import polars as pl
import pytest

import ragnarok_database as ragnarok
from database_events import OFFLINE, events_in
from databases_killed import read
from gamewarden import pipeline, readers
from gamewarden.readers.options import CaptureOptions, MessageOptions, SourceOptions
from mariadb_server import database_of

pytestmark = pytest.mark.nightly

PORT = 5121
# What the server answers to somebody who wants to take an item up (PACKETVER 20080527): 29 bytes, the last but six is
# why not. 6 is "not to be had": another one was faster, or it belongs to somebody else for a moment longer.
_ANSWER, _ANSWER_BYTES, _WHY_NOT, _NOT_TO_BE_HAD = b"\xd4\x02", 29, 22, 6
_SETTLING = timedelta(seconds=6)  # between the log-in and the map: choosing a character


@cache
def sessions():
    return json.loads((ragnarok.rig() / "truth_summary.json").read_text())["sessions"]


def moment(pair):
    return pl.Series([pair[0] * 1_000_000 + pair[1]]).cast(pl.Datetime("us", "UTC"))[0]


def served_to(port):
    """What the server sent to a client: the payload of each segment, as the capture has it."""
    data = gzip.decompress((ragnarok.rig() / "capture.pcap.gz").read_bytes())
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16 : at + 16 + length]
        at += 16 + length
        whole = struct.unpack_from(">H", frame, 16)[0]
        segment = frame[14 + (frame[14] & 15) * 4 : 14 + whole]
        source, target = struct.unpack_from(">HH", segment)
        if (source, target) == (PORT, port):
            yield segment[(segment[12] >> 4) * 4 :]


def refusals(port):
    """How often the server said that an item is not to be had."""
    found = 0
    for payload in served_to(port):
        at = payload.find(_ANSWER)
        while at >= 0:
            whole = at + _ANSWER_BYTES <= len(payload)
            found += whole and payload[at + _WHY_NOT] == _NOT_TO_BE_HAD
            at = payload.find(_ANSWER, at + 1)
    return found


@pytest.fixture(scope="module")
def both(mariadb_server, tmp_path_factory):
    """The events of the database, and those of the capture."""
    place, url = tmp_path_factory.mktemp("both"), mariadb_server.new_database()
    ragnarok.load_rig(mariadb_server, database_of(url))
    read(url, place / "sql", OFFLINE)
    mariadb_server.drop(url)
    rig = ragnarok.rig()
    table = MessageOptions(packet_db=(rig / "packet_table_20080527.txt",))
    captured = SourceOptions(captures=CaptureOptions(server_ports=(PORT,)), messages=table)
    pipeline.read(readers.open(rig / "capture.pcap.gz", captured, "ragnarok"), place / "capture")
    columns = ("actor", "at", "kind", "item", "amount", "ip")
    return events_in(place / "sql", *columns), events_in(place / "capture", *columns)


def of_session(events, session, kind, before=timedelta(0)):
    since, until = moment(session["first_packet"]), moment(session["tcp_end"])
    mine = (pl.col("actor") == str(session["account_id"])) & (pl.col("kind") == kind)
    # The database's clock shows whole seconds: what happened in the last one is shown at its beginning.
    return events.filter(mine & pl.col("at").is_between(since - before - timedelta(seconds=1), until)).sort("at")


def test_picks_of_the_database_are_those_asked_for_less_those_the_server_refused(both):
    sql, capture = both
    for session in sessions():
        asked = session["n_take_item"]
        picked = of_session(sql, session, "loot.pickup").height

        assert of_session(capture, session, "loot.pickup").height == asked, session["session"]
        assert picked + refusals(session["client_port"]) == asked, session["session"]


def test_what_somebody_gave_in_trades_is_the_same_in_the_database_and_in_the_capture(both):
    sql, capture = both
    seen = 0
    for session in sessions():
        written, said = (of_session(events, session, "trade.give") for events in (sql, capture))
        seen += written.height

        assert written.height == said.height, session["session"]
        late = (written["at"] - said["at"]).dt.total_milliseconds().abs()
        assert late.max() is None or late.max() < 2_000, session["session"]
        assert written["amount"].abs().sort().to_list() == said["amount"].abs().sort().to_list(), session["session"]
    assert seen == 23


def test_each_captured_session_has_its_log_in_and_every_other_log_in_is_of_a_session_that_was_not_captured(both):
    sql, capture = both
    logged_in = sql.filter(pl.col("ip").is_not_null())
    explained = 0
    for session in sessions():
        mine = of_session(logged_in, session, "session.login", before=_SETTLING)
        first = moment(session["first_packet"])

        assert of_session(capture, session, "session.login").height == 1, session["session"]
        assert mine.filter(pl.col("at") <= first).height == 1, session["session"]
        explained += 1
    captured = {str(session["account_id"]) for session in sessions()}
    others = logged_in.filter(~pl.col("actor").is_in(captured))

    # Of accounts with a captured session: bot02, bot05, bot11 and man01 came back after it ended.
    again = logged_in.height - others.height - explained
    assert (logged_in.height, others.height, explained, again) == (27, 13, 10, 4)
