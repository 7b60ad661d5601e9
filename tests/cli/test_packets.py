"""Packets at the command line: measured, watched live, learned from and scored (all packets here are synthetic)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from commands import apart, done, run
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.lab.world.sending import dice_for, packets_of
from gamewarden.lab.world.traffic import TRACES
from gamewarden.tables import FramePackets
from packets_made_up import START

MEASURED = (
    "actor,since,until,events,window,gaps_over_1,gaps_over_2,sizes_over_1,sizes_over_2,votes,valid,autocorrelation,"
    "interarrival,lengths,regular,peak,bot"
)
DATA = os.environ.get("GAMEWARDEN_DATA")
GAMEWARDEN = [sys.executable, "-m", "gamewarden"]


def refused(*arguments):
    """Run a command that must fail with one line."""
    ended = run(*arguments)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    return ended.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Eight traces of a quarter of an hour: one table, one capture of all, and one capture each."""
    place = tmp_path_factory.mktemp("packets")
    sent = {name: packets_of(sender, START, 900, dice_for(9, at)) for at, (name, sender) in enumerate(TRACES.items())}
    everyone = pl.concat(sent.values()).sort("at", maintain_order=True)
    everyone.write_parquet(place / "packets.parquet")
    write_pcap(everyone, place / "all.pcap").write_csv(place / "accounts.csv")
    for name, packets in sent.items():
        write_pcap(packets, place / f"{name}.pcap")
    labels = [f"{name},{str(sender.bot).lower()}" for name, sender in TRACES.items()]
    (place / "labels.csv").write_text("\n".join(["actor,bot", *labels]) + "\n")
    return place


@pytest.fixture(scope="module")
def models(place):
    traces = [place / f"{name}.pcap" for name in TRACES]
    ended = done("fit", "traffic", *traces, "--labels", place / "labels.csv", "--to", place / "models", "--cap", 0.3)
    return place / "models", ended.stdout


def decisions(text):
    return [json.loads(line) for line in text.splitlines()]


def in_order(rows):
    return sorted(rows, key=lambda row: (row["actor"], row["since"], row["window"]))


def test_a_capture_and_its_table_measure_the_same_with_exactly_the_published_columns(place, tmp_path):
    done("measure", "traffic", place / "packets.parquet", "--out", tmp_path / "table.csv")
    done("measure", "traffic", place / "all.pcap", "--accounts", place / "accounts.csv", "--out", tmp_path / "pcap.csv")

    assert (tmp_path / "table.csv").read_text().splitlines()[0] == MEASURED
    assert (tmp_path / "table.csv").read_bytes() == (tmp_path / "pcap.csv").read_bytes()
    assert len((tmp_path / "table.csv").read_text().splitlines()) > 100


def test_options_of_the_profile_change_what_is_measured(place):
    usual = json.loads(done("measure", "traffic", place / "packets.parquet", "--json").stdout)
    options = ("--itthr1", "500ms", "--tree", "all", "--no-scaled")
    other = json.loads(done("measure", "traffic", place / "packets.parquet", *options, "--json").stdout)

    assert sum(row["gaps_over_1"] for row in other) > sum(row["gaps_over_1"] for row in usual)
    assert [row["bot"] for row in other] == [
        bool(row["lengths"] and row["interarrival"] and row["autocorrelation"]) for row in other
    ]


def test_a_server_port_that_nobody_uses_leaves_nothing(place):
    ended = done("measure", "traffic", place / "all.pcap", "--server-port", 1, "--json")

    assert json.loads(ended.stdout) == []
    assert "of other ports" in ended.stderr


def test_packets_without_payload_count_only_when_asked_for(place):
    usual = done("measure", "traffic", place / "all.pcap", "--json").stderr
    with_empty = done("measure", "traffic", place / "all.pcap", "--include-empty", "--json").stderr

    assert "16 without payload" in usual  # a SYN and its answer a client
    assert "without payload" not in with_empty


def test_watching_a_pipe_decides_as_measuring_the_file(place):
    script = f"cat {place}/all.pcap | {sys.executable} -m gamewarden watch - --accounts {place}/accounts.csv"
    watched = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)  # noqa: S607
    measured = json.loads(done("measure", "traffic", place / "packets.parquet", "--json").stdout)

    assert in_order(decisions(watched.stdout)) == [{**row, "profile": "published"} for row in measured]
    assert "decisions" in watched.stderr
    assert watched.stderr.count("one game of 2008") == 1


def test_a_watch_of_a_file_that_is_run_again_doubles_nothing(place, tmp_path):
    files = ("--state", tmp_path / "state", "--out", tmp_path / "out.jsonl")
    for _ in range(2):
        done("watch", place / "packets.parquet", *files)

    measured = json.loads(done("measure", "traffic", place / "packets.parquet", "--json").stdout)
    published = [{**row, "profile": "published"} for row in measured]
    assert in_order(decisions((tmp_path / "out.jsonl").read_text())) == published


@pytest.mark.integration
def test_ctrl_c_ends_a_live_watch_cleanly_and_its_state_goes_on(place, tmp_path):
    packets = pl.read_parquet(place / "packets.parquet")
    half = packets.height // 2
    lines = (
        packets.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")).write_csv().splitlines(keepends=True)
    )
    files = ("--state", str(tmp_path / "state"), "--out", str(tmp_path / "out.jsonl"))
    first = TrafficTest().measure(FramePackets(packets.head(half))).height
    command = [*GAMEWARDEN, "watch", "-", *files]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        watch.stdin.writelines(lines[: half + 1])
        watch.stdin.flush()
        wait_for_lines(tmp_path / "out.jsonl", first)
        watch.send_signal(signal.SIGINT)
        told = watch.stderr.read()

    assert watch.returncode == 0, told
    assert "Traceback" not in told
    assert apart("watch", "-", *files, input=lines[0] + "".join(lines[half + 1 :])).returncode == 0
    measured = json.loads(done("measure", "traffic", place / "packets.parquet", "--json").stdout)
    published = [{**row, "profile": "published"} for row in measured]
    assert in_order(decisions((tmp_path / "out.jsonl").read_text())) == published


def wait_for_lines(path, count):
    import time

    until = time.monotonic() + 120
    while time.monotonic() < until:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{path.name} never had {count} lines")


def test_training_prints_the_tree_its_thresholds_and_the_card(models):
    _, printed = models

    assert "├─ bot: " in printed
    assert "autocorrelation: bot when most of " in printed
    assert "# traffic@" in printed
    assert "actor:SS1" in printed  # captures of one client go by the name of their file


def test_a_traffic_model_scores_captures_and_packet_tables_alike(models, place, tmp_path):
    directory, _ = models
    done("score", place / "packets.parquet", "--models", directory, "--out", tmp_path / "a.csv")
    accounts = ("--accounts", place / "accounts.csv")
    done("score", place / "all.pcap", "--models", directory, *accounts, "--out", tmp_path / "b.csv")

    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert set(pl.read_csv(tmp_path / "a.csv")["detector"]) == {"traffic"}


def test_watching_with_a_model_decides_by_its_profile(models, place):
    directory, _ = models
    (stored,) = directory.glob("traffic@*.json")
    profile = TrafficTest.from_dict(json.loads(stored.read_text())["model"]["feature"]["options"])
    measured = profile.measure(FramePackets(pl.read_parquet(place / "packets.parquet")))

    watched = decisions(done("watch", place / "packets.parquet", "--models", directory).stdout)

    assert [row["bot"] for row in in_order(watched)] == measured["bot"].to_list()
    assert {row["profile"] for row in watched} == {profile.profile}


def test_a_model_and_an_option_of_the_profile_together_are_wrong_usage(models, place):
    directory, _ = models

    assert run("watch", place / "packets.parquet", "--models", directory, "--acthr", "-0.2").returncode == 2


def test_lists_and_lakes_have_no_use_for_a_traffic_model(models, tmp_path):
    directory, _ = models
    done("world", tmp_path / "world", "--accounts", 6)
    done("read", tmp_path / "world/events.parquet", "--to", tmp_path / "lake")

    assert "judges packets" in refused("rank", tmp_path / "lake", "--models", directory)
    assert "fit a detector of events" in refused("score", tmp_path / "lake", "--models", directory)
    assert "traffic" not in done("lint", tmp_path / "lake").stdout


def test_where_there_are_models_of_both_each_source_is_scored_by_its_own(models, place, tmp_path):
    directory, _ = models
    (stored,) = directory.glob("traffic@*.json")
    done("world", tmp_path / "world", "--accounts", 80, "--seed", 5, "--game", "aion")
    done("read", tmp_path / "world/events.parquet", "--to", tmp_path / "lake")
    labels = ("--labels", tmp_path / "world/labels.csv")
    done("fit", "self-similarity", tmp_path / "lake", *labels, "--to", tmp_path / "both")
    (tmp_path / "both" / stored.name).write_bytes(stored.read_bytes())

    for source, detector in ((tmp_path / "lake", "self-similarity"), (place / "all.pcap", "traffic")):
        rows = json.loads(done("score", source, "--models", tmp_path / "both", "--json").stdout)
        assert {row["detector"] for row in rows} == {detector}


def test_two_captures_with_one_client_in_common_are_not_learned_from(place, tmp_path):
    (tmp_path / "labels.csv").write_text("actor,bot\nother,true\n")

    said = refused(
        "fit", "traffic", place / "M1.pcap", place / "M2.pcap", "--labels", tmp_path / "labels.csv", "--to", tmp_path
    )

    assert "is in" in said
    assert "--accounts" in said


@pytest.mark.parametrize("source", ["no-such.pcap", "."])
@pytest.mark.parametrize("words", [("measure", "traffic"), ("watch",)], ids=" ".join)
def test_packets_that_are_not_there_are_one_line(words, source):
    assert source in refused(*words, source)


def test_the_world_writes_a_capture_that_measures_as_its_table(tmp_path):
    done("world", tmp_path, "--accounts", 12, "--packets", "--players", 8, "--minutes", 10)
    done("measure", "traffic", tmp_path / "packets.parquet", "--out", tmp_path / "table.csv")
    options = ("--accounts", tmp_path / "accounts.csv", "--out", tmp_path / "capture.csv")
    ended = done("measure", "traffic", tmp_path / "capture.pcap", *options)

    assert (tmp_path / "table.csv").read_bytes() == (tmp_path / "capture.csv").read_bytes()
    assert "without an account" not in ended.stderr
    assert set(pl.read_csv(tmp_path / "table.csv")["actor"]) <= set(json.loads((tmp_path / "truth.json").read_text()))


@pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set")
def test_a_person_playing_firefall_gives_windows(tmp_path):
    (tmp_path / "map.toml").write_text(
        '[columns]\nactor = "capture"\nat = "t_seconds"\nsize = "payload_len"\n[up]\ncolumn = "direction"\nis = "c2s"\n'
    )
    source = Path(DATA) / "captures" / "firefall_packets.csv"

    rows = json.loads(done("measure", "traffic", source, "--map", tmp_path / "map.toml", "--json").stdout)

    assert len(rows) == 65
    assert {row["actor"] for row in rows} == {"2014-09-19", "2015-05-02"}


@pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set")
@pytest.mark.parametrize("name", ["wow.pcap", "starcraft_battle.pcap", "hots.pcapng"])
def test_short_real_captures_are_watched_without_a_decision(name):
    ended = done("watch", Path(DATA) / "captures" / name)

    assert ended.stdout == ""
    assert "0 decisions" in ended.stderr
