"""Clients that say in their first message who they are (all packets here are made up, but for the rig's)."""

import csv
import gzip
import os
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import ragnarok_bytes as ro
from capture_bytes import ACK, CLIENT, PUSH, SERVER, SYN, ethernet, ipv4, pcap, tcp
from commands import done, run
from gamewarden.contracts import Bounds
from gamewarden.errors import ConfigError
from gamewarden.readers.captures import introductions, stream
from gamewarden.readers.captures.packets import open_packets
from gamewarden.readers.ragnarok.introductions import connect_messages
from gamewarden.readers.ragnarok.message_table import Entry, MessageTable
from gamewarden.readers.ragnarok.messages import message_table

DATA = os.environ.get("GAMEWARDEN_DATA")
GAME = 5121
WELCOME, REFUSAL = b"w" * 181, b"r" * 9


def segment(data, *, up, seq, ack=0, flags=PUSH, port=50000):
    """A TCP segment with real bytes and a real acknowledgement."""
    ends = (port, GAME) if up else (GAME, port)
    head = bytearray(tcp(*ends, seq, flags=flags))
    struct.pack_into(">I", head, 8, ack % 2**32)
    return ethernet(ipv4(bytes(head) + data, *((CLIENT, SERVER) if up else (SERVER, CLIENT))))


class Client:
    """One connection, segment by segment."""

    def __init__(self, port=50000, began=100):
        self.port, self.up, self.down = port, began + 1, 901
        self.frames = [
            segment(b"", up=True, seq=began, flags=SYN, port=port),
            segment(b"", up=False, seq=900, ack=began + 1, flags=SYN | ACK, port=port),
        ]

    def says(self, *parts):
        for data in parts:
            self.frames.append(segment(data, up=True, seq=self.up, ack=self.down, port=self.port))
            self.up += len(data)
        return self

    def hears(self, *parts):
        for data in parts:
            self.frames.append(segment(data, up=False, seq=self.down, ack=self.up, port=self.port))
            self.down += len(data)
        return self


def actors(tmp_path, frames, *, table=None, **options):
    (tmp_path / "a.pcap").write_bytes(pcap(frames))
    listen = connect_messages(message_table(table))
    packets = open_packets(tmp_path / "a.pcap", (GAME,), listen=listen, **options)
    found = [row["actor"] for batch in packets.batches() for row in batch.to_pylist()]
    return found, packets.report.counts


@pytest.fixture(params=[None, Bounds()], ids=["a file", "a watch"])
def bounds(request):
    return request.param


def test_packets_carry_the_account_once_the_server_goes_on_with_it(tmp_path, bounds):
    client = Client().says(ro.connect(2_000_002)).hears(WELCOME).says(ro.walk(1, 2), ro.walk(2, 2)).hears(b"ok")

    found, counted = actors(tmp_path, client.frames, bounds=bounds)

    assert found == ["2000002"] * 3
    assert counted["not delivered until the server had answered who they are"] == 2
    assert counted["packets delivered"] == 3


def test_a_name_that_the_server_refuses_is_nobodys(tmp_path, bounds):
    client = Client().says(ro.connect(2_000_002)).hears(REFUSAL).says(*[ro.walk(1, 2)] * 70)

    found, counted = actors(tmp_path, client.frames, bounds=bounds)

    assert set(found) == {f"{CLIENT}:50000"}
    assert len(found) == 72 - introductions.PATIENCE
    assert counted["connections that named an account the server did not go on with"] == 1


def test_where_no_answer_can_be_seen_a_name_counts_at_once(tmp_path):
    client = Client().says(ro.connect(2_000_002), ro.walk(1, 2))
    only_up = [frame for number, frame in enumerate(client.frames) if number != 1]

    found, _ = actors(tmp_path, only_up, bounds=Bounds(one_sided=True))

    assert found == ["2000002"] * 2


def test_a_connect_message_in_pieces_and_out_of_order_is_put_together(tmp_path, bounds):
    whole = ro.connect(2_000_002)
    client = Client().says(whole[:5], whole[5:11], whole[11:])
    client.frames[-2:] = reversed(client.frames[-2:])
    client.hears(WELCOME).says(ro.walk(1, 2))

    found, _ = actors(tmp_path, client.frames, bounds=bounds)

    assert found[-1] == "2000002"
    assert set(found[:-1]) == {f"{CLIENT}:50000"}


def test_a_port_that_is_used_again_is_another_player(tmp_path, bounds):
    first = Client().says(ro.connect(7)).hears(WELCOME).says(ro.walk(1, 2))
    again = Client(began=70_000).says(ro.connect(8)).hears(WELCOME).says(ro.walk(1, 2))
    silent = Client(began=140_000).says(b"\xff\xff strange").hears(WELCOME).says(ro.walk(1, 2))

    found, _ = actors(tmp_path, first.frames + again.frames + silent.frames, bounds=bounds)

    assert found[:2] == ["7", "8"]
    assert set(found[2:]) == {f"{CLIENT}:50000"}


def test_two_connections_of_one_account_are_one_actor(tmp_path, bounds):
    one, two = (Client(port).says(ro.connect(7)).hears(WELCOME).says(ro.walk(1, 2)) for port in (50000, 50001))

    found, _ = actors(tmp_path, one.frames + two.frames, bounds=bounds)

    assert found == ["7", "7"]


def test_a_connection_joined_midway_keeps_its_address(tmp_path):
    client = Client().says(ro.connect(7)).hears(WELCOME).says(ro.walk(1, 2))

    found, counted = actors(tmp_path, client.frames[2:])

    assert set(found) == {f"{CLIENT}:50000"}
    assert counted["delivered by address, without an account"] == len(found)


def test_bytes_that_no_table_knows_name_nobody_and_are_not_kept(tmp_path):
    noise = Client().says(b"\xff" * 2_000).hears(WELCOME).says(b"\xfe" * 2_000)

    found, _ = actors(tmp_path, noise.frames)

    assert set(found) == {f"{CLIENT}:50000"}


def test_only_so_many_silent_connections_are_listened_to(tmp_path, monkeypatch):
    monkeypatch.setattr(introductions, "MOST_LISTENED", 2)
    clients = [Client(port).says(ro.connect(port)[:5]) for port in (50000, 50001, 50002)]
    begun = [frame for client in clients for frame in client.frames]
    for client in clients:
        client.frames.clear()
        client.says(ro.connect(client.port)[5:]).hears(WELCOME).says(ro.walk(1, 2))

    found, counted = actors(tmp_path, begun + [frame for client in clients for frame in client.frames])

    assert {actor for actor in found if ":" not in actor} == {"50001", "50002"}
    assert counted["connections given up before they named an account"] == 1


def test_who_is_who_does_not_depend_on_how_packets_come_in_batches(tmp_path, monkeypatch, bounds):
    clients = [Client(50000 + n).says(ro.connect(n)).hears(WELCOME).says(*[ro.walk(1, 2)] * 5) for n in range(30)]
    frames = [frame for together in zip(*(client.frames for client in clients), strict=True) for frame in together]
    whole, counted = actors(tmp_path, frames, bounds=bounds)
    monkeypatch.setattr(stream, "_BATCH_ROWS", 7)
    in_pieces = actors(tmp_path, frames, bounds=bounds)

    assert (whole, counted) == in_pieces
    assert Counter(whole) == {str(n): 5 for n in range(30)}


def test_names_stay_when_silent_connections_are_forgotten(tmp_path):
    gone = Client(50000).says(ro.connect(7)).hears(WELCOME).says(ro.walk(1, 2))
    stays = Client(50001).says(ro.connect(8)).hears(WELCOME).says(*[ro.walk(1, 2)] * 40)
    late = Client(50002).says(ro.connect(9)).hears(WELCOME).says(ro.walk(1, 2))
    keep = Bounds(keep=5_000_000)  # a packet a second

    found, counted = actors(tmp_path, gone.frames + stays.frames + late.frames, bounds=keep)

    assert Counter(found) == {"7": 1, "8": 40, "9": 1}
    assert counted["silent connections forgotten"] >= 1


def test_a_table_without_a_connect_message_is_refused():
    table = MessageTable("odd.txt", {0x00A7: Entry(0x00A7, 8, "walktoxy", (5,))})

    with pytest.raises(ConfigError, match=r"odd.txt: says of no message that it connects .* --packet-db"):
        connect_messages(table)


def test_a_packet_log_names_its_own_actors_whatever_clients_say(tmp_path):
    (tmp_path / "packets.csv").write_text("actor,at,up,size\nann,2026-01-01T00:00:00Z,true,3\n")
    packets = open_packets(tmp_path / "packets.csv", listen=connect_messages(message_table(None)))

    assert [row["actor"] for batch in packets.batches() for row in batch.to_pylist()] == ["ann"]


needs_rig = pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the rig is not here")


def rig():
    return Path(DATA) / "ragnarok" / "rig"


def truth():
    """Client packets with payload by account, told by the ports of labels.csv alone."""
    with (rig() / "labels.csv").open() as file:
        who = {f"127.0.0.1:{row['client_port']}": row["account_id"] for row in csv.DictReader(file)}
    by_address = pl.concat(
        pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.col("actor").cast(pl.String))
        for batch in open_packets(rig() / "capture.pcap.gz", (GAME,)).batches()
    )
    return by_address.with_columns(pl.col("actor").replace_strict(who))


@needs_rig
@pytest.mark.parametrize("table", [(), ("packet_table_20080527.txt",)], ids=["the thesis'", "the server's"])
def test_the_accounts_of_the_rig_are_those_of_its_labels(table, bounds):
    tables = tuple(rig() / name for name in table)
    packets = open_packets(
        rig() / "capture.pcap.gz", (GAME,), listen=connect_messages(message_table(tables)), bounds=bounds
    )
    found = pl.concat(
        pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.col("actor").cast(pl.String)) for batch in packets.batches()
    )

    expected = truth()
    missing = expected.join(found, on=["actor", "at", "up", "size"], how="anti")
    assert found.join(expected, on=["actor", "at", "up", "size"], how="anti").height == 0
    assert missing.filter("up").height == 10  # the connect message of each of the ten sessions
    assert packets.report.unanswered == expected.height - found.height == 31


@pytest.mark.integration
@needs_rig
def test_a_piped_capture_is_judged_by_account(tmp_path):
    with gzip.open(rig() / "capture.pcap.gz") as file:
        (tmp_path / "rig.pcap").write_bytes(file.read())
    options = f"--server-port {GAME} --accounts messages --out {tmp_path}/piped.jsonl"
    script = f"cat {tmp_path}/rig.pcap | {sys.executable} -m gamewarden watch - {options}"
    subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)  # noqa: S607
    words = ("--server-port", GAME, "--accounts", "messages", "--out", tmp_path / "file.jsonl")
    done("watch", rig() / "capture.pcap.gz", *words)

    decided = pl.read_ndjson(tmp_path / "piped.jsonl")
    assert (tmp_path / "piped.jsonl").read_bytes() == (tmp_path / "file.jsonl").read_bytes()
    assert decided.height > 10
    assert set(decided["actor"].cast(pl.String)) <= set(truth()["actor"])


def test_a_message_table_that_is_named_is_used(tmp_path):
    (tmp_path / "table.txt").write_text("0x0072,19,wanttoconnection,2:6:10:14:18\n0x00a7,8,walktoxy,5\n")
    other = struct.pack("<HIIIIB", 0x0072, 4711, 1, 2, 3, 0)
    client = Client().says(other).hears(WELCOME).says(*[ro.walk(1, 2)] * 3)
    (tmp_path / "a.pcap").write_bytes(pcap(client.frames))
    words = ("measure", "traffic", tmp_path / "a.pcap", "--server-port", GAME, "--accounts", "messages", "--json")

    assert "3 delivered by address" not in done(*words, "--packet-db", tmp_path / "table.txt").stderr
    assert "delivered by address" in done(*words).stderr
    assert run(*words, "--packet-version", 3).returncode == 1
