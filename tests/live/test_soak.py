"""A simulated month of players coming, idling, returning and leaving: the memory of a watch stays flat."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
SCRIPT = BENCHMARKS / "soak_watch.py"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        not (SCRIPT.exists() and Path("/proc/self/statm").exists()),
        reason="needs the benchmark, and a system that tells",
    ),
]


def month(*more):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--days", "30", "--active", "30", "--json", *more],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return json.loads(done.stdout)


def grown(seen, what):
    """From the highest of the middle third to the highest of the last."""
    middle, last = (max(one[what] for one in part) for part in (seen[10:20], seen[20:]))
    return last - middle


def test_a_month_of_players_leaves_memory_and_disk_flat():
    seen = month()

    assert [one["day"] for one in seen] == list(range(1, 31))
    assert grown(seen, "resident") < 2 << 20
    assert grown(seen, "players_take") < 1 << 16
    assert grown(seen, "disk") < 1 << 20
    last = seen[-1]
    assert last["woken"] > 10_000
    assert last["forgotten"] > 20_000
    assert last["asleep"] > 5 * last["players"]
    assert last["decisions"] > 10_000


def test_a_watch_that_kept_something_of_every_hour_would_be_noticed():
    seen = month("--leak")

    assert grown(seen, "resident") > 3 << 20
