"""SCORES of a live watch: both numbers of each window, as `score` gives them, and none lost or doubled."""

import json
import os
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from commands import done, run
from gamewarden import pipeline, readers
from gamewarden.errors import ReadError, WriteError
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.lab.world.sending import dice_for, packets_of
from gamewarden.lab.world.traffic import TRACES
from gamewarden.online.watch import Pace, watch_to_file
from gamewarden.tables import SCORES, FramePackets, json_lines
from packets_made_up import mixture
from paths import SUPPORT
from watch_killed import share_scores

pytestmark = pytest.mark.integration

START = 1_700_000_000_000_000
TABLE_II = TrafficTest()
OFTEN = Pace(status_seconds=0.0, snapshot_packets=500)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Eight traces as a packet log and as a capture, and a model of them."""
    place = tmp_path_factory.mktemp("scored")
    sent = {name: packets_of(sender, START, 600, dice_for(9, at)) for at, (name, sender) in enumerate(TRACES.items())}
    everyone = pl.concat(sent.values()).sort("at", maintain_order=True)
    everyone.write_parquet(place / "packets.parquet")
    write_pcap(everyone, place / "all.pcap").write_csv(place / "accounts.csv")
    labels = pl.DataFrame({"actor": list(TRACES), "bot": [sender.bot for sender in TRACES.values()]})
    labels.write_csv(place / "labels.csv")
    recipe = pipeline.trace_recipe("traffic", {"thresholds": False, "cap": 0.4})
    pipeline.fit_traces(recipe, [readers.open(everyone)], place / "labels.csv", place / "models")
    return place


def scores_in(path):
    """What a journal holds, as SCORES."""
    found = pl.read_ndjson(path, schema_overrides={"fpr_peers": pl.Float64, "covered": pl.Float64, "far": pl.String})
    times = (
        pl.col("since", "until").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us").dt.replace_time_zone("UTC")
    )
    return found.with_columns(times).sort("actor", "since", "detector")


@pytest.mark.parametrize("more", [(), ("--prevalence", "0.3")], ids=["usual", "share said"])
@pytest.mark.parametrize("name", ["packets.parquet", "all.pcap"])
def test_a_watch_appends_the_scores_that_score_gives_of_the_same_windows(place, tmp_path, name, more):
    accounts = ("--accounts", place / "accounts.csv") if name.endswith("pcap") else ()
    files = ("--out", tmp_path / "decisions.jsonl", "--state", tmp_path / "watch.state")
    told = done("watch", place / name, "--models", place / "models", *accounts, *files, *more)
    done("score", place / name, "--models", place / "models", *accounts, *more, "--out", tmp_path / "scores.parquet")

    live, batch = scores_in(tmp_path / "decisions.scores.jsonl"), pl.read_parquet(tmp_path / "scores.parquet")
    assert live.columns == list(SCORES.columns)
    assert_frame_equal(live, batch.sort("actor", "since", "detector"), check_exact=True)
    assert live.height == len((tmp_path / "decisions.jsonl").read_text().splitlines()) > 100
    assert "decisions.scores.jsonl" in told.stderr


def test_without_a_model_there_are_no_scores(place, tmp_path):
    done("watch", place / "packets.parquet", "--out", tmp_path / "decisions.jsonl")

    assert [path.name for path in tmp_path.iterdir()] == ["decisions.jsonl"]
    ended = run("watch", place / "packets.parquet", "--scores", tmp_path / "scores.jsonl")
    assert ended.returncode == 2
    assert "--models" in ended.stderr


def test_scores_go_where_they_are_asked_to_go_also_without_a_state(place, tmp_path):
    ended = done("watch", place / "packets.parquet", "--models", place / "models", "--scores", tmp_path / "s.jsonl")

    assert scores_in(tmp_path / "s.jsonl").height == len(ended.stdout.splitlines())
    assert all("probability" not in json.loads(line) for line in ended.stdout.splitlines())


def watched(frame, tmp_path, packets=None):
    out, state, scores = tmp_path / "out.jsonl", tmp_path / "watch.state", tmp_path / "out.scores.jsonl"
    source = FramePackets(frame) if packets is None else packets
    watch_to_file(source, TABLE_II, out, state=state, pace=OFTEN, scores=scores, score=share_scores)
    return out, scores


def test_a_watch_that_is_run_again_doubles_no_score(tmp_path):
    frame = mixture(packets=4000)
    out, scores = watched(frame, tmp_path)
    before = scores.read_bytes()
    watched(frame, tmp_path)

    assert scores.read_bytes() == before
    assert len(before.splitlines()) == len(out.read_bytes().splitlines()) > 0


def test_scores_begin_where_they_were_first_asked_for(tmp_path):
    frame = mixture(packets=4000)
    out, state = tmp_path / "out.jsonl", tmp_path / "watch.state"
    watch_to_file(FramePackets(frame.head(2000)), TABLE_II, out, state=state)
    earlier = len(out.read_text().splitlines())
    _, scores = watched(frame, tmp_path)

    assert len(scores.read_text().splitlines()) == len(out.read_text().splitlines()) - earlier > 0


def test_scores_that_the_state_does_not_know_are_not_overwritten(tmp_path):
    frame = mixture(packets=4000)
    out, state, scores = tmp_path / "out.jsonl", tmp_path / "watch.state", tmp_path / "out.scores.jsonl"
    watch_to_file(FramePackets(frame.head(2000)), TABLE_II, out, state=state)
    scores.write_text("something\n")

    with pytest.raises(WriteError, match=r"out\.scores\.jsonl: .* the state knows none"):
        watched(frame, tmp_path)
    assert scores.read_text() == "something\n"


def test_a_file_of_scores_shorter_than_the_state_knows_is_refused(tmp_path):
    frame = mixture(packets=4000)
    _, scores = watched(frame, tmp_path)
    scores.write_bytes(scores.read_bytes()[:-10])

    with pytest.raises(ReadError, match=r"out\.scores\.jsonl has"):
        watched(frame, tmp_path)


def test_two_watches_cannot_write_to_one_file_of_scores(tmp_path):
    frame = mixture(packets=400)
    others = tmp_path / "other"
    others.mkdir()

    class Meanwhile(FramePackets):
        def batches(self, *columns):
            with pytest.raises(WriteError, match="another watch is writing"):
                watch_to_file(
                    FramePackets(frame),
                    TABLE_II,
                    others / "out.jsonl",
                    state=others / "watch.state",
                    scores=tmp_path / "out.scores.jsonl",
                    score=share_scores,
                )
            return super().batches(*columns)

    watched(frame, tmp_path, Meanwhile(frame))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_thirty_kills_at_random_moments_lose_and_double_no_score(tmp_path):
    frame = mixture(players=40, packets=60_000)
    source = tmp_path / "packets.arrow"
    batches = list(FramePackets(frame, 1000).batches())
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    out, state, scores = tmp_path / "out.jsonl", tmp_path / "watch.state", tmp_path / "out.scores.jsonl"
    script = SUPPORT / "watch_killed.py"

    ended = subprocess.run(
        [sys.executable, script, source, out, state, "30", "11", scores],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )

    killed, beyond, different = map(int, ended.stdout.split())
    assert (killed, different) == (30, 1)
    assert beyond > 0  # else the moments proved nothing
    whole = TABLE_II.measure(FramePackets(frame))
    kept = pl.read_ndjson(scores)
    assert kept.height == whole.height
    lines = sorted(json_lines(share_scores(whole)).splitlines())
    assert sorted(scores.read_text().splitlines()) == lines
