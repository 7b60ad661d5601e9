"""What works where only the base is installed, and what is said where more is needed."""

import subprocess
import sys
import tomllib

import pytest

from gamewarden.core.extras import LIBRARIES
from paths import ROOT, SUPPORT

pytestmark = pytest.mark.integration

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FIT = [library for library, (_, part) in LIBRARIES.items() if part == "fit"]


def run(*words, absent=(), cwd=None):
    command = [sys.executable, SUPPORT / "without.py", ",".join(absent), "--", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def done(*words, absent=(), cwd=None):
    ended = run(*words, absent=absent, cwd=cwd)
    assert ended.returncode == 0, f"{words}: {ended.stderr}"
    return ended


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    """A small world with models of events, packets and sessions, fitted where everything is installed."""
    place = tmp_path_factory.mktemp("game")
    done("world", "world", "--accounts", 60, "--game", "aion", "--packets", "--players", 12, "--minutes", 20, cwd=place)
    done("world", "ragnarok", "--ragnarok", "--sessions", 8, cwd=place)
    labels = ("--labels", "world/labels.csv")
    for detector in ("self-similarity", "account-day", "actions-frequency"):
        done("fit", detector, "world/events.parquet", *labels, "--to", "models", cwd=place)
    done("fit", "fusion", "world/events.parquet", *labels, "--models", "models", "--folds", 2, cwd=place)
    done("fit", "session-angle", "ragnarok/players", "ragnarok/bots", "--to", "sessions", cwd=place)
    write_accounts(place / "accounts.csv")
    table = ("--actor", "actor", "--label", "verdict", "--rounds", 20)
    done("fit", "account-table", "accounts.csv", *table, "--to", "tables", cwd=place)
    return place


def write_accounts(path):
    rows = (f"a{at},{'bot' if at % 2 else 'human'},{at % 17 + 9 * (at % 2)},{at * 7 % 13}" for at in range(120))
    path.write_text("\n".join(["actor,verdict,hours,level", *rows]) + "\n", encoding="utf-8")


BASE = [
    "--help",
    "lint world/events.parquet",
    "read world/events.parquet --to lake",
    "measure self-similarity world/events.parquet",
    "measure traffic world/packets.parquet",
    "measure session ragnarok/unknown",
    "watch world/packets.parquet",
    "packets ragnarok/unknown --summary",
    "score world/events.parquet --models models",
    "score ragnarok/unknown --models sessions",
    "score accounts.csv --models tables",
    "rank world/events.parquet --models models --probability 0",
    "explain u0000001 world/events.parquet --models models",
    "explain a1 accounts.csv --models tables",
    "judge world/events.parquet --models models --to verdicts --all",
    "verify verdicts --models models --source world/events.parquet",
    "model list --models models",
    "model diff account-day self-similarity --models models",
    "backtest world/events.parquet --models models models",
    "maintain --lake lake --models models",
    "budget --cost 10:1 --models models",
    "config",
]


def test_reading_measuring_scoring_and_judging_need_the_base_only(game):
    done(*" -- ".join(BASE).split(), absent=LIBRARIES, cwd=game)


@pytest.mark.nightly  # compiles everything anew
def test_a_machine_without_fitting_compiles_the_rest_ahead_and_says_what_it_left_out(tmp_path):
    ended = done("warm", absent=FIT, cwd=tmp_path)

    assert "Left out, without gamewarden[fit]" in ended.stderr


LACKING = {
    "fit account-day world/events.parquet --labels world/labels.csv --to more": "fit account-day needs scikit-learn; ",
    "fit fusion world/events.parquet --labels world/labels.csv --models models": "fit fusion needs scikit-learn; ",
    "fit traffic world/packets.parquet --labels world/labels.csv --to more": "fit traffic needs scikit-learn; ",
    "fit session-network ragnarok/players --to more": "fit session-network needs scikit-learn; ",
    "fit account-table accounts.csv --actor actor --label verdict --to more": (
        "fit account-table needs scikit-learn and lightgbm; "
    ),
    "evaluate world/events.parquet --labels world/labels.csv": "evaluate needs scikit-learn and scipy; ",
    "budget --wrong-per-month 2 --players 300": "budget needs scipy; ",
    "reproduce lee": "reproduce lee needs scikit-learn and scipy; ",
    "maintain --lake lake --models models --labels world/labels.csv": "maintain --labels needs scikit-learn; ",
}


@pytest.mark.parametrize("command", LACKING)
def test_where_the_libraries_of_fitting_are_missing_one_line_says_what_brings_them(game, command):
    ended = run(*command.split(), absent=FIT, cwd=game)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"gamewarden: {LACKING[command]}pip install 'gamewarden[fit]'\n"
    assert not (game / "more").exists()


DRAWING = {
    "explain u0000001 world/events.parquet --models models --plot x.png": "explain --plot",
    "evaluate world/events.parquet --labels world/labels.csv --plot x.png": "evaluate --plot",
    "evaluate world/events.parquet --labels world/labels.csv --report x.html": "evaluate --report",
    "maintain --lake lake --models models --report x.html": "maintain --report",
    "reproduce lee --plots x": "reproduce lee --plots",
}


@pytest.mark.parametrize("command", DRAWING)
def test_where_nothing_can_be_drawn_one_line_says_so_before_the_work_begins(game, command):
    ended = run(*command.split(), absent=["matplotlib"], cwd=game)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"gamewarden: {DRAWING[command]} needs matplotlib; pip install 'gamewarden[plot]'\n"


def test_where_nothing_finds_communities_one_line_says_so_before_a_log_is_read(tmp_path):
    ended = run("groups", "no-log.parquet", absent=["graspologic_native"], cwd=tmp_path)

    assert ended.stderr == "gamewarden: groups needs graspologic-native; pip install 'gamewarden[groups]'\n"


def test_the_demo_names_both_parts_that_it_needs(tmp_path):
    ended = run("demo", absent=LIBRARIES, cwd=tmp_path)

    needs = "gamewarden: demo needs scikit-learn and matplotlib; pip install 'gamewarden[fit,plot]'\n"
    assert (ended.returncode, ended.stderr) == (1, needs)
    assert list(tmp_path.iterdir()) == []


def names_of(requirements):
    return {requirement.split(">=")[0].partition("[")[0] for requirement in requirements}


def test_every_library_that_may_be_missing_is_brought_by_the_part_that_is_named():
    parts = PROJECT["optional-dependencies"]

    for name, part in LIBRARIES.values():
        assert name in names_of(parts[part])
        assert name not in names_of(PROJECT["dependencies"])


def test_everything_is_all_parts_for_users():
    parts = PROJECT["optional-dependencies"]

    assert parts["all"] == ["gamewarden[fit,plot,groups,notify,challenge,postgres,mysql,web,oidc,metrics,kafka,nats]"]
    assert "gamewarden[all,spark,dask]" in parts["test"]
