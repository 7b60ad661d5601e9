"""`gamewarden watch --events`: from a file and from a pipe, stopped and gone on with (the game is made up)."""

import json
import os
import signal
import subprocess
import time
from datetime import timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from commands import GAMEWARDEN, apart, done, run
from gamewarden import pipeline
from gamewarden.tables import write_table
from live_made_up import START, batch_scores, fitted, game_log, scores_in

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("live")
    fitted(place)
    log = game_log(days=2)
    write_table(log, place / "game.parquet")
    write_table(log, place / "game.jsonl")
    write_table(log.filter(pl.col("at") < START + timedelta(hours=30)), place / "part.parquet")
    (place / "warden.toml").write_text('[watch]\ntick = "3h"\nlate = "20m"\n')
    return place


@pytest.fixture(scope="module")
def undisturbed(place):
    done("watch", "game.parquet", "--events", "--models", "models", "--out", "whole.jsonl", cwd=place)
    return (place / "whole.jsonl").read_text()


def test_a_file_is_watched_to_the_final_scores_of_the_batch_run(place, undisturbed):
    expected = batch_scores(game_log(days=2), pipeline.load_models(place / "models"))

    assert_frame_equal(scores_in(undisturbed), expected, check_exact=True)
    assert any(not json.loads(line)["final"] for line in undisturbed.splitlines())


def test_a_pipe_of_json_lines_says_the_same_on_standard_output(place, undisturbed):
    with (place / "game.jsonl").open() as piped:
        ended = apart("watch", "-", "--events", "--models", "models", cwd=place, stdin=piped)

    assert ended.stdout == undisturbed
    assert "23,864 events, 15 ticks" in ended.stderr


def test_a_watch_that_is_killed_goes_on_and_says_everything_once(place, undisturbed, tmp_path):
    watch = (
        "watch",
        "game.parquet",
        "--events",
        "--models",
        "models",
        "--out",
        tmp_path / "o",
        "--state",
        tmp_path / "s",
    )
    first = subprocess.Popen([*GAMEWARDEN, *map(str, watch)], cwd=place, stderr=subprocess.DEVNULL)
    while first.poll() is None and not ((tmp_path / "o").exists() and (tmp_path / "o").stat().st_size):
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()

    done(*watch, cwd=place)
    done(*watch, cwd=place)

    said = (tmp_path / "o").read_text()
    assert undisturbed.startswith(said)  # all but the day that stays open, since the file may grow
    assert sum(json.loads(line)["final"] for line in said.splitlines()) > 100


def test_a_file_that_has_grown_is_gone_on_with(place, undisturbed, tmp_path):
    grown = tmp_path / "growing.parquet"
    watch = ("watch", grown, "--events", "--models", "models", "--out", tmp_path / "o", "--state", tmp_path / "s")
    for name in ("part.parquet", "game.parquet"):
        grown.write_bytes((place / name).read_bytes())
        done(*watch, cwd=place)

    assert undisturbed.startswith((tmp_path / "o").read_text())


def test_another_source_than_the_states_own_is_refused(place, tmp_path):
    watch = ("--events", "--models", "models", "--state", tmp_path / "s")
    done("watch", "game.parquet", *watch, cwd=place)
    write_table(game_log(days=2, seed=8), tmp_path / "other.parquet")

    ended = run("watch", tmp_path / "other.parquet", *watch, cwd=place)

    assert ended.returncode == 1
    assert "are not those the state was made with" in ended.stderr


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--events",), "--events needs --models"),
        (("--events", "--models", "models", "--one-sided"), "--events takes no --one-sided"),
        (("--events", "--models", "models", "--acthr", "0.3"), "--events takes no --acthr"),
    ],
)
def test_flags_that_do_not_go_with_events_are_refused(place, flags, line):
    ended = run("watch", "game.parquet", *flags, cwd=place)

    assert ended.returncode == 2
    assert line in ended.stderr


def test_a_source_that_is_not_there_is_said_and_standard_input_is_not_read(tmp_path):
    ended = run("watch", tmp_path / "no-such.csv", "--events", "--models", tmp_path)

    assert ended.returncode == 1
    assert ended.stderr.startswith("gamewarden: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("kafka://127.0.0.1:1/x", "--accounts", "a.csv"),
        ("kafka://127.0.0.1:1/x", "--one-sided"),
        ("kafka://127.0.0.1:1/x", "--events", "--models", "m", "--memory", "1GiB"),
        ("a.pcap", "--allow-private"),
        ("a.csv", "--events", "--models", "m", "--server-port", "1"),
    ],
    ids=" ".join,
)
def test_an_option_that_would_do_nothing_is_refused(words):
    ended = run("watch", *words)

    assert ended.returncode == 2
    assert words[-2 if words[-1][0] != "-" else -1] in ended.stderr
