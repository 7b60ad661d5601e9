"""`maintain` and `backtest` at the command line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import polars as pl
import pytest
from click.testing import CliRunner

from gamewarden.cli import root
from gamewarden.errors import GamewardenError
from gamewarden.store import models as stored_models
from upkeep_made_up import Log, make_game

pytestmark = pytest.mark.integration

TOML = """[maintain]
common_actors = 20
provisional = 3
baseline = 4
labelled = 10
window_least = 2
window_most = 4
"""


def command(*arguments):
    return [sys.executable, "-m", "gamewarden", *map(str, arguments)]


@dataclass
class Ended:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments):
    """The command in this process: most of what a new one costs is its imports."""
    result = CliRunner().invoke(root, list(map(str, arguments)), prog_name="gamewarden")
    wrong = isinstance(result.exception, GamewardenError)
    if result.exception is not None and not wrong and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr + (str(result.exception) if wrong else ""))


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    place = make_game(tmp_path_factory.mktemp("game"), Log(days=9, adapts=6))
    (place / "warden.toml").write_text(TOML)
    shutil.copytree(place / "models", place / "before")
    return place


def maintain(game, *more, models="models"):
    places = ("--lake", game / "lake", "--models", game / models, "--labels", game / "labels.csv")
    return run("--config", game / "warden.toml", "maintain", *places, *more)


@pytest.fixture(scope="module")
def maintained(game):
    ended = maintain(
        game, "--out", game / "periods.csv", "--plot", game / "chart.png", "--report", game / "report.html"
    )
    assert ended.returncode == 0, ended.stderr
    return game


def test_maintain_writes_its_periods_its_chart_and_a_page(maintained):
    periods = pl.read_csv(maintained / "periods.csv")

    assert periods["answer"].drop_nulls().to_list() == ["promoted a new model"]
    assert (maintained / "chart.png").read_bytes().startswith(b"\x89PNG")
    page = (maintained / "report.html").read_text()
    assert "data:image/png;base64," in page
    assert "bots may have adapted" in page


def test_maintain_once_more_has_nothing_to_do_and_prints_json(maintained):
    ended = maintain(maintained, "--json")

    assert "No period is left to do" in ended.stderr
    assert len(json.loads(ended.stdout)) == 8


def test_explain_tells_the_story_and_changes_nothing(maintained):
    ended = maintain(maintained, "--explain")
    assert "Out of control, below its limit" in ended.stdout

    shutil.copytree(maintained / "before", maintained / "untouched", dirs_exist_ok=True)
    assert maintain(maintained, "--explain", models="untouched").stdout == "Nothing has been done yet.\n"
    assert not (maintained / "untouched/maintenance").exists()


def test_maintain_every_keeps_running_until_it_is_told_to_stop(game, tmp_path):
    shutil.copytree(game / "before", tmp_path / "models")
    places = ("--lake", game / "lake", "--models", tmp_path / "models", "--labels", game / "labels.csv")
    process = subprocess.Popen(
        command("--config", game / "warden.toml", "maintain", *places, "--every", "1s"),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    lines = [process.stderr.readline() for _ in range(2)]
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=60)[1]

    assert lines == ["8 periods done; 8 in all\n", "0 periods done; 8 in all\n"]
    assert rest.endswith("stopped\n")
    assert process.returncode == 0


def test_a_lake_that_comes_later_is_waited_for(game, tmp_path):
    shutil.copytree(game / "before", tmp_path / "models")
    process = subprocess.Popen(
        command("maintain", "--lake", tmp_path / "lake", "--models", tmp_path / "models", "--every", "1s"),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "is not a lake" in process.stderr.readline()
    shutil.copytree(game / "lake", tmp_path / "lake-draft")
    (tmp_path / "lake-draft").rename(tmp_path / "lake")
    until = time.monotonic() + 60
    while "periods done" not in (line := process.stderr.readline()) and time.monotonic() < until:
        pass
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]

    assert "8 periods done" in line
    assert (process.returncode, rest) == (0, "stopped\n")


def test_errors_are_one_line(game, tmp_path):
    arguments = command("maintain", "--lake", tmp_path, "--models", game / "models")
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"gamewarden: {tmp_path}: is not a lake;")
    assert len(ended.stderr.splitlines()) == 1


def test_backtest_shows_who_would_be_flagged_newly_or_spared_by_group(maintained, tmp_path):
    models = maintained / "before", maintained / "models"
    profiles = Log().labels().select("actor", server=pl.lit("east"))
    profiles.write_csv(tmp_path / "profiles.csv")
    ended = run(
        "backtest", maintained / "lake", "--models", *models, "--since", "2026-03-08", "--until", "2026-03-09",
        "--labels", maintained / "labels.csv", "--profiles", tmp_path / "profiles.csv", "--by", "server",
        "--probability", "0.5", "--prevalence", "0.5", "--out", tmp_path / "groups.csv",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    groups = pl.read_csv(tmp_path / "groups.csv")
    rows = {(row["by"], row["group"]): row for row in groups.iter_rows(named=True)}

    assert rows["label", "bot"]["newly_flagged"] == 15
    assert rows["label", "human"]["newly_flagged"] == 0
    assert rows["all", "everybody"]["actors"] == rows["server", "east"]["actors"] == 60
    assert rows["play style", "veteran"]["newly_flagged"] == 15
    changes = pl.read_csv(tmp_path / "groups-who-changes.csv")
    assert set(changes["change"]) == {"newly flagged"}
    assert changes["actor"].str.starts_with("bot").all()
    assert "nothing has been promoted" in ended.stderr


def test_backtest_takes_model_files_and_log_files_and_comes_to_the_same(maintained):
    files = [stored_models.newest(maintained / "before")[0].path, stored_models.newest(maintained / "models")[0].path]
    window = ("--since", "2026-03-08", "--until", "2026-03-09", "--probability", "0.5", "--json")
    by_file = run("backtest", maintained / "events.parquet", "--models", *files, *window)
    by_place = run("backtest", maintained / "lake", "--models", maintained / "before", maintained / "models", *window)

    assert by_file.returncode == 0, by_file.stderr
    assert json.loads(by_file.stdout) == json.loads(by_place.stdout)


def test_backtest_of_a_time_without_events_says_so(maintained):
    models = maintained / "before", maintained / "models"
    ended = run("backtest", maintained / "lake", "--models", *models, "--since", "2030-01-01")

    assert ended.returncode == 1
    assert "holds no event between" in ended.stderr
