import json
import struct

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden.errors import ConfigError, WriteError
from gamewarden.features.session.recipe import Sessions
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.lab.world.ragnarok import Ragnarok, sent_packets, write_ragnarok
from gamewarden.lab.world.ragnarok_cast import BOTS, PLAYERS, STYLES
from gamewarden.lab.world.ragnarok_wire import Message, encode, packed_position, packetstream
from gamewarden.readers.ragnarok.messages import open_messages
from gamewarden.tables import MESSAGES, FrameMessages

SMALL = Ragnarok(sessions=5, seed=3, longest=14)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("ragnarok")
    write_ragnarok(SMALL, place)
    return place


@pytest.fixture(scope="module")
def evening():
    """A whole evening's sessions, measured, with who played them."""
    world = Ragnarok(seed=8)
    rows = Sessions().measure(FrameMessages(world.message_rows(world.labelled())))
    return rows.with_columns(persona=pl.col("actor").replace_strict(world.truth()))


def read_back(path, ports=()):
    stream = open_messages(path, None, ports)
    columns = ("actor", "character", "at", "id", "function", "x", "y", "action")
    batches = [pl.DataFrame(pl.from_arrow(batch)) for batch in stream.batches(columns)]
    texts = pl.col("actor", "character", "function").cast(pl.String)
    return pl.concat([batch.with_columns(texts) for batch in batches]), stream.report


def test_a_position_is_three_bytes_as_the_golden_example_has_them():
    assert packed_position(150, 200) == bytes((37, 140, 128))
    assert encode(Message(0, "walktoxy", x=150, y=200)) == bytes((0xA7, 0, 0, 0, 0, 37, 140, 128))


def test_a_packetstream_has_a_tag_and_the_time_before_every_message():
    stream = packetstream([Message(5_000_007, "loadendack"), Message(6_000_008, "loadendack")])

    assert stream == b"ADAM" + struct.pack("<IIH", 5, 7, 0x7D) + b"ADAM" + struct.pack("<IIH", 6, 8, 0x7D)


def test_the_streams_say_what_was_played(written):
    for session in SMALL.cast:
        read, report = read_back(written / SMALL.folder_of(session) / f"{session.actor}.adam")
        played = SMALL.message_rows([session]).select(read.columns)

        expected = {name: MESSAGES.columns[name] for name in ("x", "y", "action", "at", "id")}
        kinds = ("walktoxy", "actionrequest")
        told = [frame.filter(pl.col("function").is_in(kinds)).cast(expected) for frame in (read, played)]
        assert_frame_equal(*told)
        assert read["function"].to_list() == played["function"].to_list()
        assert not report.skipped
        assert report.problem is None


def test_the_capture_says_the_same_through_split_and_gathered_segments(written):
    read, report = read_back(written / "capture.pcap", (5121,))

    for session in SMALL.cast:
        mine = read.filter(actor=str(session.actor))
        played = SMALL.message_rows([session])
        assert mine.select("function", "x", "y").rows() == played.select("function", "x", "y").rows()
        assert (mine["at"] - played["at"]).dt.total_microseconds().abs().max() <= 20_000
    assert not report.skipped
    segments = sent_packets(SMALL, SMALL.cast)
    assert segments["size"].max() > 28  # several messages left together
    assert segments.height < read.height


def test_checksums_of_segments_with_payload_are_right(written):
    data = (written / "capture.pcap").read_bytes()
    place, checked = 24, 0
    while place < len(data) and checked < 500:
        size = struct.unpack_from("<I", data, place + 8)[0]
        ip = data[place + 16 + 14 : place + 16 + size]
        tcp = ip[20 : struct.unpack_from(">H", ip, 2)[0]]
        pseudo = ip[12:20] + struct.pack(">HH", 6, len(tcp))
        words = np.frombuffer(pseudo + tcp + b"\0" * (len(tcp) % 2), ">u2").sum(dtype=np.int64)
        assert (words & 0xFFFF) + (words >> 16) == 0xFFFF
        place += 16 + size
        checked += 1
    assert checked == 500


def test_a_payload_of_another_size_than_its_packet_is_refused(tmp_path):
    packets = sent_packets(SMALL, SMALL.cast[:1]).with_columns(size=pl.lit(3))

    with pytest.raises(WriteError, match="another number of bytes"):
        write_pcap(packets, tmp_path / "x.pcap")


def test_folders_labels_and_truth_agree_and_the_unknown_stay_unknown(written):
    labels = pl.read_csv(written / "labels.csv", schema_overrides={"actor": pl.String})
    truth = json.loads((written / "truth.json").read_text())
    files = {folder: {file.stem for file in (written / folder).iterdir()} for folder in ("players", "bots", "unknown")}

    assert files["players"] == set(labels.filter(~pl.col("bot"))["actor"])
    assert files["bots"] == set(labels.filter("bot")["actor"])
    assert not files["unknown"] & set(labels["actor"])
    assert sorted(STYLES[truth[actor]].bot for actor in files["unknown"]) == [False, True]
    assert set(truth) == set.union(*files.values())


def test_one_seed_gives_one_evening_and_another_seed_another():
    first, again, other = (Ragnarok(2, seed).message_rows(Ragnarok(2, seed).cast) for seed in (1, 1, 2))

    assert first.equals(again)
    assert not first.equals(other)


def test_twenty_five_of_each_hold_mobbers_a_sitter_and_bots_that_rest():
    assert len(PLAYERS) == len(BOTS) == 25
    assert PLAYERS.count("mobber") == 2
    assert PLAYERS.count("sitter") == 1
    assert BOTS.count("rester") == 2
    assert all(not STYLES[name].bot for name in PLAYERS)
    assert all(STYLES[name].bot for name in BOTS)


def test_every_session_is_longer_than_ten_minutes_and_only_who_sits_says_too_little(evening):
    assert evening["valid"].all()
    assert set(evening.filter(~pl.col("enough"))["persona"]) <= {"sitter", "rester"}
    assert "sitter" in set(evening.filter(~pl.col("enough"))["persona"])


def test_the_bot_that_walks_cell_by_cell_does_so_like_recorded_ones(evening):
    routers = evening.filter(persona="router")

    # Seven recorded OpenKore farmers: 0.33 to 0.48 s between moves, 2.1 to 2.7 cells, 1.9 to 3.3 packets a second.
    assert routers["move_gap_ms"].is_between(200, 500).all()
    assert routers["move_distance"].is_between(1, 3).all()
    assert routers["packets_per_s"].is_between(1.8, 4.5).all()


def test_people_step_farther_and_wait_longer_than_that_bot_and_mobbers_lie_between(evening):
    def typical(persona, column):
        return evening.filter(persona=persona)[column].median()

    for column in ("move_gap_ms", "move_distance"):
        assert typical("router", column) < typical("mobber", column) < typical("hunter", column)


def test_an_evening_that_cannot_be_played_is_refused():
    with pytest.raises(ConfigError, match="cannot be played"):
        Ragnarok(sessions=0)
    with pytest.raises(ConfigError, match="more than 11 minutes"):
        Ragnarok(longest=10)
