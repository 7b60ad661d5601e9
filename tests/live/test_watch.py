"""The live run: decisions as they are made, and none lost or doubled whatever happens."""

import json
import os
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pytest

from gamewarden.core.durations import HOUR, MINUTE
from gamewarden.errors import ReadError, WriteError
from gamewarden.features.traffic.fold import Fold
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.ordering import InTimeOrder
from gamewarden.online.watch import MICRO_BATCH, Pace, watch, watch_to_file
from gamewarden.streams import PlainPackets
from gamewarden.tables import TRAFFIC, FramePackets, json_lines
from packets_made_up import START, client, mixture
from paths import SUPPORT

TABLE_II = TrafficTest()
OFTEN = Pace(status_seconds=0.0, snapshot_packets=500)


class Breaking(PlainPackets):
    """A source that ends in the middle with an error, as a process that dies would see nothing of the rest."""

    def __init__(self, frame, after, batch=100):
        self._whole = FramePackets(frame, batch)
        self._after = after

    def batches(self):
        for at, batch in enumerate(self._whole.batches()):
            if at == self._after:
                raise KeyboardInterrupt
            yield batch


def interrupted(frame, out, state, after):
    with pytest.raises(KeyboardInterrupt):
        watch_to_file(Breaking(frame, after), TABLE_II, out, state=state, pace=OFTEN)


def undisturbed(frame):
    lines = []
    watch(FramePackets(frame), TABLE_II, lines.append)
    return "".join(lines)


@pytest.fixture(scope="module")
def frame():
    return mixture(packets=4000)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "deep" / "out.jsonl"


@pytest.fixture
def state(tmp_path):
    return tmp_path / "watch.state"


def test_decisions_are_json_lines_with_the_columns_of_the_batch_run(frame):
    rows = [json.loads(line) for line in undisturbed(frame).splitlines()]

    measured = TABLE_II.measure(FramePackets(frame))
    assert [list(row) for row in rows] == [[*TRAFFIC.columns, "profile"]] * measured.height
    assert {row.pop("profile") for row in rows} == {"published"}
    written = [json.loads(line) for line in json_lines(measured).splitlines()]
    assert sorted(rows, key=lambda row: (row["actor"], row["window"])) == written
    assert any(row["autocorrelation"] is None for row in rows)


def test_a_decision_is_written_before_the_next_micro_batch_is_read():
    seen = []

    class Live(PlainPackets):
        def batches(self):
            for batch in FramePackets(client([40] * 300), 100).batches():
                yield batch
                seen.append(len(written))

    written = []
    watch(Live(), TABLE_II, written.append)

    assert seen == [1, 2, 3]


def test_a_large_batch_is_taken_in_a_micro_batch_at_a_time():
    written = []
    watch(FramePackets(client([40] * 3 * MICRO_BATCH), 1 << 20), TABLE_II, written.append)

    assert len(written) == 3


def test_the_status_tells_players_rates_and_the_share_of_bots(frame):
    seen = []
    tally = watch(FramePackets(frame, 1000), TABLE_II, lambda _: None, status=seen.append, pace=OFTEN)

    assert len(seen) == 5
    assert seen[-1].tally == tally
    assert (tally.players, tally.packets) == (7, 4000)
    assert seen[-1].bot_share == tally.bots / tally.decisions
    assert seen[0].packets_per_second > 0
    assert str(seen[-1]).startswith("7 players · ")


def test_before_any_decision_there_is_no_share_of_bots():
    seen = []
    watch(FramePackets(client([40] * 5)), TABLE_II, lambda _: None, status=seen.append)

    assert seen[-1].bot_share is None
    assert "no decision yet" in str(seen[-1])


@pytest.mark.parametrize("after", [0, 1, 4, 5, 17, 33, 39])
def test_a_watch_that_broke_off_goes_on_mid_window(frame, out, state, after):
    interrupted(frame, out, state, after)

    tally = watch_to_file(FramePackets(frame), TABLE_II, out, state=state)

    assert out.read_text() == undisturbed(frame)
    assert tally.packets == frame.height


def test_decisions_after_the_last_snapshot_are_taken_back_and_made_again(frame, out, state):
    interrupted(frame, out, state, 22)
    with out.open("a") as file:
        file.write('{"actor": "half a li')

    watch_to_file(FramePackets(frame), TABLE_II, out, state=state)

    assert out.read_text() == undisturbed(frame)


def test_a_finished_watch_started_again_adds_nothing_and_goes_on_when_the_file_has_grown(frame, out, state):
    watch_to_file(FramePackets(frame[:2500]), TABLE_II, out, state=state)
    watch_to_file(FramePackets(frame[:2500]), TABLE_II, out, state=state)
    assert out.read_text() == undisturbed(frame[:2500])

    watch_to_file(FramePackets(frame), TABLE_II, out, state=state)
    assert out.read_text() == undisturbed(frame)


def test_a_pipe_goes_on_with_what_comes(frame, state):
    lines = []
    watch(FramePackets(frame[:2050]), TABLE_II, lines.append, state=state, replayed=False)
    watch(FramePackets(frame[2050:]), TABLE_II, lines.append, state=state, replayed=False)

    assert "".join(lines) == undisturbed(frame)


def test_a_replayed_source_goes_on_after_what_was_taken_in_even_without_a_file_of_decisions(frame, state):
    lines = []
    watch(FramePackets(frame[:2050]), TABLE_II, lines.append, state=state)
    watch(FramePackets(frame), TABLE_II, lines.append, state=state)

    assert "".join(lines) == undisturbed(frame)


# Refusals, each in one line


def test_another_source_is_refused_before_anything_is_mixed(frame, out, state):
    watch_to_file(FramePackets(frame[:2000]), TABLE_II, out, state=state)
    before = out.read_text()

    with pytest.raises(ReadError, match="not those the state was made with"):
        watch_to_file(FramePackets(mixture(packets=4000, seed=2)), TABLE_II, out, state=state)
    assert out.read_text() == before


def test_a_source_shorter_than_what_was_taken_in_is_refused(frame, out, state):
    watch_to_file(FramePackets(frame), TABLE_II, out, state=state)

    with pytest.raises(ReadError, match="3,000 packets, but the state has taken in 4,000"):
        watch_to_file(FramePackets(frame[:3000]), TABLE_II, out, state=state)


def test_another_profile_is_refused(frame, out, state):
    watch_to_file(FramePackets(frame), TABLE_II, out, state=state)

    with pytest.raises(ReadError, match="another profile"):
        watch_to_file(FramePackets(frame), TrafficTest(itrt1=2), out, state=state)


def test_decisions_without_a_state_are_not_overwritten(frame, out, state):
    out.parent.mkdir()
    out.write_text("precious\n")

    with pytest.raises(WriteError, match="has decisions already"):
        watch_to_file(FramePackets(frame), TABLE_II, out, state=state)
    assert out.read_text() == "precious\n"


def test_a_file_of_decisions_shorter_than_the_state_knows_is_refused(frame, out, state):
    watch_to_file(FramePackets(frame), TABLE_II, out, state=state)
    out.write_text("")

    with pytest.raises(ReadError, match="has 0; name the file"):
        watch_to_file(FramePackets(frame), TABLE_II, out, state=state)


def test_two_watches_cannot_write_to_one_file(frame, out, state):
    class Nested(PlainPackets):
        def batches(self):
            with pytest.raises(WriteError, match="another watch"):
                watch_to_file(FramePackets(frame), TABLE_II, out, state=state)
            yield from FramePackets(frame).batches()

    watch_to_file(Nested(), TABLE_II, out, state=state)

    assert out.read_text() == undisturbed(frame)


def test_a_place_that_cannot_be_written_is_one_line(frame, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(WriteError, match="cannot be written"):
        watch_to_file(FramePackets(frame), TABLE_II, tmp_path / "file" / "out", state=tmp_path / "state")


def test_a_state_that_is_a_directory_is_one_line(frame, out, tmp_path):
    with pytest.raises(ReadError, match="cannot be read"):
        watch_to_file(FramePackets(frame), TABLE_II, out, state=tmp_path)


# The state as bytes


@pytest.fixture(scope="module")
def saved(frame):
    fold = TABLE_II.live()
    for batch in FramePackets(frame[:2222]).batches():
        fold.push(batch)
    return fold.to_bytes({"mine": 3})


def test_a_state_comes_back_and_goes_on_as_if_nothing_happened(frame, saved):
    back, note = Fold.from_bytes(saved, TABLE_II)
    whole = TABLE_II.live()
    for batch in FramePackets(frame[:2222]).batches():
        whole.push(batch)
    rest = next(FramePackets(frame[2222:]).batches())

    assert note == {"mine": 3}
    assert back.to_bytes(note) == saved
    assert back.push(rest).frame().equals(whole.push(rest).frame())
    assert back.tally == whole.tally


def test_every_flipped_byte_of_a_state_is_noticed(saved):
    for place in range(0, len(saved), 7):
        damaged = bytearray(saved)
        damaged[place] ^= 0x10
        with pytest.raises(ReadError):
            Fold.from_bytes(bytes(damaged), TABLE_II)


def test_a_state_cut_short_anywhere_is_noticed(saved):
    for length in range(0, len(saved), 41):
        with pytest.raises(ReadError):
            Fold.from_bytes(saved[:length], TABLE_II)


def test_a_state_of_another_format_is_named(saved):
    with pytest.raises(ReadError, match="another format"):
        Fold.from_bytes(saved.replace(b"state 1\n", b"state 2\n", 1), TABLE_II)


def test_an_empty_fold_can_be_saved_too():
    back, note = Fold.from_bytes(TABLE_II.live().to_bytes(), TABLE_II)

    assert (back.tally.players, note) == (0, {})


# kill -9


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_fifty_kills_at_random_moments_lose_and_double_no_decision(tmp_path):
    frame = mixture(players=40, packets=60_000)
    source = tmp_path / "packets.arrow"
    batches = list(FramePackets(frame, 1000).batches())
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    out, state = tmp_path / "out.jsonl", tmp_path / "watch.state"
    script = SUPPORT / "watch_killed.py"

    done = subprocess.run(
        [sys.executable, script, source, out, state, "50", "7"], check=True, capture_output=True, text=True, timeout=300
    )

    killed, beyond, different = map(int, done.stdout.split())
    assert (killed, different) == (50, 1)
    assert beyond > 0  # else the moments proved nothing
    assert out.read_text() == undisturbed(frame)
    assert pl.read_ndjson(out).select("actor", "window").is_unique().all()


# Order of time, and whose thresholds these are


def one_after_the_other(players=4, packets=150):
    """Several clients of the same minutes, each whole before the next: a file that is not in the order of time."""
    return pl.concat([client([40, 70] * (packets // 2), actor=f"p{player}") for player in range(players)])


def test_packets_that_are_not_in_the_order_of_time_are_sorted_within_the_buffer():
    frame = one_after_the_other()
    ordered = InTimeOrder(FramePackets(frame, 64))

    times = [at for batch in ordered.batches() for at in batch.column("at").to_pylist()]

    assert times == sorted(frame["at"].to_list())
    assert ordered.notes == ()


def test_packets_that_come_too_late_for_the_buffer_are_counted_and_told():
    ordered = InTimeOrder(FramePackets(one_after_the_other(), 50), buffer=100)

    packets = sum(batch.num_rows for batch in ordered.batches())

    assert packets == 600
    assert 0 < ordered.counts["packets out of time order"] < 450
    assert "out of time order by more than the 100 packets" in ordered.notes[0]


@pytest.mark.parametrize(("hours", "late"), [(0, 0), (1, 60)])
def test_a_live_stream_waits_for_no_buffer_and_counts_what_comes_much_too_late(hours, late):
    frame = pl.concat(
        [client([40] * 60, actor="p1", start=START + hours * HOUR), client([40] * 60, actor="p2")], rechunk=True
    )
    live = InTimeOrder(FramePackets(frame, 80), buffer=0, tolerance=MINUTE)

    batches = live.batches()
    assert next(batches).num_rows == 80
    assert sum(batch.num_rows for batch in batches) == 40
    assert live.counts.get("packets out of time order", 0) == late
    assert [note for note in live.notes if "out of time order by more than 1m" in note] == list(live.notes)
    assert len(live.notes) == (late > 0)


def test_a_live_stream_passes_on_that_nothing_came():
    class Quiet(PlainPackets):
        def batches(self, columns):
            (batch,) = FramePackets(client([40])).batches(columns)
            yield from (batch.slice(1), batch, batch.slice(1))

    assert [batch.num_rows for batch in InTimeOrder(Quiet(), buffer=0).batches()] == [0, 1, 0]


def test_every_decision_names_the_profile_it_follows():
    lines, own = [], []
    watch(FramePackets(client([40] * 100)), TrafficTest(), lines.append)
    watch(FramePackets(client([40] * 100)), TrafficTest(dlthr1=40, dlthr2=30), own.append)

    assert json.loads(lines[0])["profile"] == "published"
    assert json.loads(own[0])["profile"] == TrafficTest(dlthr1=40, dlthr2=30).profile != "published"
