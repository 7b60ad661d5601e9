"""The real arcade logs, as the figures in docs/results.md were made."""

import json
import os
import sys
from pathlib import Path

import pytest

from paths import ROOT

DATA = os.environ.get("GAMEWARDEN_DATA")
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the arcade logs are not here"),
]


@pytest.fixture(scope="module")
def evaluated():
    """The first deal of the benchmark, by detector."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from real_gvgai import evaluated
    finally:
        sys.path.pop(0)
    rows = evaluated(Path(DATA) / "gvgai" / "events.csv", [0], players=True)
    return {row["detector"]: row for row in rows.iter_rows(named=True)}


def test_all_sessions_with_enough_windows_are_judged_with_players_held_out(evaluated):
    row = evaluated["self-similarity"]

    assert (row["bots"], row["humans"], row["groups"]) == (52, 44, 12)


def test_the_recorded_figures_come_out_again(evaluated):
    kept = json.loads((ROOT / "docs/figures/real_gvgai.json").read_text(encoding="utf-8"))["figures"]

    again = {name: evaluated[name]["auc"] for name in ("self-similarity", "account-day", "events alone")}
    assert again == pytest.approx(
        {name: kept[f"{name.replace('-', '_').replace(' ', '_')}_auc_by_deal"][0] for name in again}, abs=1e-6
    )


def test_the_interval_says_how_little_twelve_players_tell(evaluated):
    row = evaluated["account-day"]

    assert row["auc_low"] < row["auc"] < row["auc_high"]
    assert row["auc_high"] - row["auc_low"] > 0.2


def test_the_dummy_stands_at_one_half(evaluated):
    assert evaluated["dummy"]["auc"] == 0.5
