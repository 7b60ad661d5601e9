"""The real arcade logs, as the README's figure was made."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

DATA = os.environ.get("GAMEWARDEN_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the arcade logs are not here")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    place = tmp_path_factory.mktemp("gvgai")
    log = Path(DATA) / "gvgai" / "events.csv"
    script = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks/real_gvgai.py"))
    mapping, labels = script["write_inputs"](log, place)
    command = [sys.executable, "-m", "gamewarden", "evaluate", log, "--map", mapping, "--labels", labels]
    options = ["--unit", "5s", "--group", "player", "--json"]
    done = subprocess.run([*map(str, command), *options], capture_output=True, text=True, check=True)
    return {(row["detector"], row["unit"]): row for row in json.loads(done.stdout)}


def test_all_sessions_with_enough_windows_are_judged_with_players_held_out(evaluated):
    row = evaluated["self-similarity", "actor"]

    assert (row["bots"], row["humans"], row["groups"]) == (52, 44, 12)


def test_the_interval_says_how_little_twelve_players_tell(evaluated):
    row = evaluated["account-day", "actor"]

    assert row["auc_low"] < row["auc"] < row["auc_high"]
    assert row["auc_high"] - row["auc_low"] > 0.2


def test_the_dummy_stands_at_one_half(evaluated):
    assert evaluated["dummy", "actor"]["auc"] == 0.5
