import json
import re
import shutil

import polars as pl
import pytest
from click.testing import CliRunner

from gamewarden.cli import root
from gamewarden.errors import GamewardenError
from gamewarden.lab.world.ragnarok import Ragnarok
from gamewarden.lab.world.ragnarok_wire import packetstream

pytestmark = pytest.mark.integration

QUICK = ("--epochs", "300")


def run(*words, ok=True):
    result = CliRunner().invoke(root, [str(word) for word in words], catch_exceptions=True)
    if ok:
        assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A written evening and a model of it."""
    folder = tmp_path_factory.mktemp("sessions")
    run("world", folder / "world", "--ragnarok", "--sessions", 8, "--seed", 5)
    told = run("fit", "session-network", folder / "world", "--to", folder / "models", *QUICK)
    (folder / "fit.txt").write_text(told.output)
    return folder


@pytest.fixture(scope="module")
def mixed(place):
    """All streams in one folder whose name says nothing."""
    folder = place / "mixed"
    folder.mkdir()
    for side in ("players", "bots", "unknown"):
        for file in (place / "world" / side).iterdir():
            shutil.copy(file, folder)
    return folder


def scores(place, source, *words):
    out = place / "scores.csv"
    run("score", source, "--models", place / "models", "--out", out, *words)
    return pl.read_csv(out, schema_overrides={"actor": pl.String})


def test_folders_are_labels_and_the_unknown_are_judged(place):
    told = (place / "fit.txt").read_text()
    unknown = {file.stem for file in (place / "world" / "unknown").iterdir()}

    assert "# session-network@" in told
    assert "sources: folder (bot 8, human" in told
    assert "fpr at cut: " in told
    listed = told.partition("Sessions nobody has labelled")[2]
    assert len(unknown) == 2
    assert all(actor in listed for actor in unknown)
    labelled = {file.stem for side in ("players", "bots") for file in (place / "world" / side).iterdir()}
    assert not any(actor in listed for actor in labelled)


def test_a_capture_that_no_folder_labels_is_left_out_with_a_word(place):
    assert "capture.pcap: left out, no folder says what it is" in (place / "fit.txt").read_text()


def test_a_folder_a_file_and_a_capture_are_scored_alike(place):
    folder = scores(place, place / "world" / "bots")
    stem = folder["actor"][0]
    file = scores(place, place / "world" / "bots" / f"{stem}.adam")
    capture = scores(place, place / "world" / "capture.pcap", "--server-port", 5121)

    assert folder.height == 8
    assert file["probability"][0] == folder["probability"][0]
    both = folder.join(capture, on="actor")
    assert both.height == 8
    assert ((both["probability"] - both["probability_right"]).abs() < 0.02).all()


def test_an_account_is_explained_in_sentences_with_milliseconds(place):
    bots = place / "world" / "bots"

    told = run("explain", min(bots.iterdir()).stem, bots, "--models", place / "models").output

    assert "Judged by session-network@" in told
    assert "How it moves" in told
    assert "How it fights and loots" in told
    assert " ms, a typical human needs " in told


def test_an_account_that_is_not_there_is_said_so_in_one_line(place):
    result = run("explain", "nobody", place / "world" / "bots", "--models", place / "models", ok=False)

    assert isinstance(result.exception, GamewardenError)
    assert "has no session of actor 'nobody'" in str(result.exception)


def test_a_table_of_labels_speaks_instead_of_folders(place, mixed):
    labels = place / "world" / "labels.csv"

    told = run("fit", "session-angle", mixed, "--labels", labels, "--to", place / "others")

    assert "sources: simulation (bot 8, human" in told.output
    assert "Sessions nobody has labelled" in told.output


def test_nothing_sorted_and_no_table_is_refused_with_what_to_do(place, tmp_path):
    shutil.copytree(place / "world" / "bots", tmp_path / "files")

    result = run("fit", "session-network", tmp_path / "files", "--to", tmp_path / "m", ok=False)

    assert "no file stands in a folder called players, bots, unknown" in str(result.exception)


def test_a_session_that_comes_twice_counts_once(place, tmp_path):
    shutil.copytree(place / "world" / "bots", tmp_path / "bots")
    first = min((tmp_path / "bots").iterdir())
    shutil.copy(first, tmp_path / "bots" / "again.adam")

    result = run("score", tmp_path / "bots", "--models", place / "models", "--json")

    assert "1 session came twice" in result.stderr
    assert len(json.loads(result.stdout)) == 8


def test_whoever_never_connects_goes_by_the_file_and_who_has_no_time_is_left_out(place, tmp_path):
    world = Ragnarok(6, 5)
    messages = world.messages(next(one for one in world.cast if one.persona == "router"))
    (tmp_path / "tap.adam").write_bytes(packetstream(messages[1:]))
    timeless = packetstream(messages[:200])
    (tmp_path / "timeless.adam").write_bytes(b"".join(part[8:] for part in timeless.split(b"ADAM")))

    result = run("score", tmp_path, "--models", place / "models", "--json")

    rows = json.loads(result.stdout)
    assert [row["actor"] for row in rows] == ["tap"]
    assert rows[0]["probability"] > 0.5
    assert "1 session without a time cannot be judged" in result.stderr


def test_sessions_are_evaluated_with_the_cut_stated(place, mixed):
    labels = place / "world" / "labels.csv"

    result = run("evaluate", mixed, "--labels", labels, "--detector", "session-angle", "--folds", 4)

    stated = r"session-angle at the cut of 0\.909: FPR 0\.\d{3} \(95 %: 0\.\d{3}–0\.\d{3}\), recall"
    assert re.search(stated, result.stderr)
    assert "session-angle" in result.stdout


def test_columns_of_the_classifier_are_configuration(place, tmp_path):
    sides = [place / "world" / side for side in ("bots", "players")]

    told = run("fit", "session-network", *sides, "--to", tmp_path, "--columns", "move_gap_ms,turn_mean_deg", *QUICK)

    assert "network: 2-9-1" in told.output


def test_a_folder_that_is_no_lake_is_still_refused_where_only_events_are_judged(place, tmp_path):
    (tmp_path / "models").mkdir()

    result = run("score", place / "world", "--models", tmp_path / "models", ok=False)

    assert isinstance(result.exception, GamewardenError)


def test_verdicts_on_a_folder_of_sessions_are_kept_and_hold(place, mixed, tmp_path):
    run("judge", mixed, "--models", place / "models", "--to", tmp_path / "kept", "--all")

    again = run("verify", tmp_path / "kept", "--models", place / "models", "--source", mixed, "--json")

    told = json.loads(again.stdout)
    assert len(told) > 10
    assert {one["says"].rpartition("; ")[2] for one in told} == {"the source is the same and measures the same"}


def test_a_session_that_is_gone_from_its_folder_is_missed(place, mixed, tmp_path):
    folder = tmp_path / "some"
    folder.mkdir()
    for file in sorted(mixed.iterdir())[:4]:
        shutil.copy(file, folder)
    run("judge", folder, "--models", place / "models", "--to", tmp_path / "kept", "--all")
    min(folder.iterdir()).unlink()

    again = run("verify", tmp_path / "kept", "--models", place / "models", "--source", folder, "--json", ok=False)

    assert again.exit_code == 1
    assert sorted(one["holds"] for one in json.loads(again.stdout)) == [False, True, True, True]
