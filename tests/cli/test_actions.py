"""Chunks of actions at the command line, on a small synthetic game and on real arcade logs."""

import json
import os
import runpy
from pathlib import Path

import pytest

from commands import done, run
from paths import ROOT

DATA = os.environ.get("GAMEWARDEN_DATA")


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    place = tmp_path_factory.mktemp("game")
    done("world", place / "world", "--accounts", 60, "--days", 1, "--seed", 5, "--game", "aion")
    for detector in ("actions-two-stage", "actions-interval"):
        log, labels = place / "world/events.parquet", place / "world/labels.csv"
        done("fit", detector, log, "--labels", labels, "--to", place / "models", "--kinds", "loot.*,npc.*,item.use")
    return place


def test_a_chunk_has_exactly_the_promised_columns(game, tmp_path):
    out = tmp_path / "chunks.csv"
    kinds = tmp_path / "kinds.txt"
    kinds.write_text("npc.sell\nloot.pickup\n")

    done(
        "measure", "actions", game / "world/events.parquet", "--chunk", "30m", "--t", 2, "--kinds", kinds, "--out", out
    )

    lines = out.read_text().splitlines()
    assert lines[0] == "actor,since,until,events,a_loot.pickup,a_npc.sell,i_0,i_1,i_2"
    assert len(lines) > 20
    assert lines[1].split(",")[1].endswith("Z")


def test_kinds_that_name_nothing_are_a_matter_of_usage(game):
    ended = run("measure", "actions", game / "world/events.parquet", "--kinds", " , ")

    assert ended.returncode == 2
    assert "names no kind" in ended.stderr


def test_chunks_add_up_to_a_list_with_the_time_to_detection(game):
    listed = json.loads(
        done(
            *("rank", game / "world/events.parquet", "--models", game / "models", "--detector", "actions-interval"),
            *("--probability", 0, "--top", 5, "--json"),
        ).stdout
    )

    assert len(listed) == 5
    assert {"belief", "verdict", "streak", "chunks_until_sure", "minutes_until_sure", "reasons"} <= listed[0].keys()
    assert {row["verdict"] for row in listed} <= {"bot", "human", "insufficient"}


def test_one_actor_is_explained_by_what_it_does_and_how_long_it_waits(game):
    actor = (game / "world/labels.csv").read_text().splitlines()[1].split(",")[0]

    told = done(
        *("explain", actor, game / "world/events.parquet", "--models", game / "models", "--detector"),
        "actions-interval",
    ).stdout

    assert told.startswith(actor)
    assert "How long it waits: " in told


@pytest.mark.integration
def test_pairs_held_out_give_one_mcc_a_detector(game):
    log, labels = game / "world/events.parquet", game / "world/labels.csv"

    rows = json.loads(
        done("evaluate", log, "--labels", labels, "--protocol", "leave-pair-out", "--pairs", 4, "--json").stdout
    )

    methods = ["actions-two-stage", "actions-frequency", "actions-interval"]
    assert [row["detector"] for row in rows] == [*methods, "events alone"]
    assert all(row["pairs"] == 4 and -1 <= row["mcc"] <= 1 for row in rows)


def test_an_option_of_another_feature_is_refused_in_one_line(game):
    log, labels = game / "world/events.parquet", game / "world/labels.csv"

    ended = run("evaluate", log, "--labels", labels, "--detector", "account-day", "--chunk", "60m")

    assert (ended.returncode, ended.stderr) == (
        1,
        "gamewarden: self-similarity does not take --chunk; leave it out\n",
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--detector", "account-day", "--detector", "actions-interval"], "evaluate those of one feature at a time"),
        (["--detector", "sixth-sense"], "'sixth-sense' cannot be tried on a log"),
        (["--protocol", "leave-pair-out", "--pairs", "1", "--plot", "roc.png"], "there is no ROC curve"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_in_one_line(game, options, words):
    ended = run("evaluate", game / "world/events.parquet", "--labels", game / "world/labels.csv", *options)

    assert ended.returncode == 1
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.integration
@pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: the arcade logs are not here")
def test_on_real_arcade_play_the_intervals_say_more_than_the_frequencies(tmp_path, monkeypatch):
    benchmarks = ROOT / "benchmarks"
    monkeypatch.syspath_prepend(str(benchmarks))
    script = runpy.run_path(str(benchmarks / "real_gvgai_actions.py"))
    log = Path(DATA) / "gvgai" / "events.csv"
    mapping, labels = script["write_inputs"](log, tmp_path)

    given = "--config", tmp_path / "warden.toml", "evaluate", log, "--map", mapping, "--labels", labels
    told = done(*given, *script["OPTIONS"], "--group", "player", "--json")

    rows = {row["detector"]: row for row in json.loads(told.stdout)}
    assert rows["actions-interval"]["pairs"] == 36
    assert rows["actions-interval"]["mcc"] > rows["actions-frequency"]["mcc"]
    assert rows["actions-interval"]["mcc_high"] - rows["actions-interval"]["mcc_low"] > 0.3
