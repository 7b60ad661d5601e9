"""A workspace: what is run once rests, what changes is computed again alone, and commands answer from it."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from datetime import datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import workspaces_made_up as made_up
from commands import apart, done, run
from gamewarden.cases import Action, Decision, Observation, Suspicion
from gamewarden.store.verdict_days import LOG as SEALS
from gamewarden.store.verdict_days import Bundle
from gamewarden.tables import write_table
from gamewarden.workspace.proving import verify_days
from gamewarden.workspace.retention import tables_at_rest
from several_made_up import LOG
from workspaces_made_up import LATER, run_all

pytestmark = pytest.mark.integration

DAYS = ["2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"]


@pytest.fixture(scope="module")
def never_run(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    return made_up.make_workspace(place / "ws", made_up.make_models(place / "models-from"))


@pytest.fixture(scope="module")
def at_rest(never_run, tmp_path_factory):
    """A workspace that was run once."""
    root = tmp_path_factory.mktemp("rest") / "ws"
    shutil.copytree(never_run.root, root)
    workspace = type(never_run).at(root)
    run_all(workspace)
    return workspace


@pytest.fixture
def workspace(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    return type(at_rest).at(tmp_path / "ws")


def files_of(workspace):
    """Every file of results by name, with what tells whether it was written again."""
    found = (path for path in workspace.results.rglob("*.parquet"))
    return {str(path.relative_to(workspace.results)): path.stat().st_ino for path in found}


def numbers_of(workspace):
    """All tables of results by their places."""
    return {
        f"{table.directory.relative_to(workspace.results)}/{name}": table.read(one)
        for table in tables_at_rest(workspace.results)
        for name, one in table.all().items()
    }


def verdicts_of(workspace):
    days = workspace.verdicts
    return {name: days.table(seal).sort("actor", "since") for name, seal in days.current().items()}


def assert_same_results(one, other):
    for found, wanted in ((numbers_of(one), numbers_of(other)), (verdicts_of(one), verdicts_of(other))):
        assert found.keys() == wanted.keys()
        for name, frame in wanted.items():
            assert_frame_equal(found[name], frame)
    for kind in (Observation, Suspicion, Decision, Action):
        assert one.ledger.find(kind) == other.ledger.find(kind)


def test_a_second_run_writes_nothing(workspace):
    before = files_of(workspace)

    said = run_all(workspace)

    assert files_of(workspace) == before
    assert {text for text in said.values() if text} == {"nothing new"}


def test_one_late_file_of_one_day_costs_that_day_alone(workspace):
    before = files_of(workspace)
    late = LOG.events().filter(pl.col("at").dt.date().cast(pl.String) == DAYS[1]).head(40)
    write_table(late.with_columns(actor=pl.lit("newcomer")), workspace.root / "logs" / "late.parquet")

    run_all(workspace)

    new = files_of(workspace).keys() - before.keys()
    assert new
    assert {name.partition("day=")[2][:10] for name in new} == {DAYS[1]}


def test_results_that_were_removed_come_out_the_same(workspace, at_rest):
    for room in ("features", "scores", "kinds", "verdicts"):
        shutil.rmtree(workspace.results / room)

    run_all(workspace)

    assert_same_results(workspace, at_rest)


def test_what_a_killed_run_left_behind_is_gone_after_the_next_one(workspace):
    before = {path for path in workspace.results.rglob("*") if path.name != ".lock"}
    for table in tables_at_rest(workspace.results):
        one = next(iter(table.all().values()))
        shutil.copy(table.directory / one.file, table.directory / one.name / f"{'0' * 16}.parquet")
    bundle = workspace.results / "verdicts" / next(iter(workspace.verdicts.current().values())).bundle
    shutil.copytree(bundle, bundle.with_name("0" * 16))
    started = workspace.results / "scores" / "never@finished" / f"day={DAYS[0]}"
    started.mkdir(parents=True)
    (started / f"{'0' * 16}.parquet").write_bytes(b"half")

    run_all(workspace)

    left = {path for path in workspace.results.rglob("*") if path.name != ".lock"} - before
    assert left == {started.parent}


def test_what_is_computed_anew_is_what_rested(workspace, at_rest):
    run_all(workspace, fresh=True)

    assert_same_results(workspace, at_rest)


def test_a_damaged_result_is_one_line_that_says_what_to_do(workspace):
    one = next((workspace.results / "scores").rglob("*.parquet"))
    one.write_bytes(one.read_bytes()[:100])

    ended = run("--workspace", workspace.root, "score")

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "--fresh" in ended.stderr
    assert done("--workspace", workspace.root, "score", "--fresh", "--json").stdout


def test_a_list_from_results_is_the_list_of_the_lake(workspace):
    root = workspace.root
    from_rest = json.loads(done("--workspace", root, "rank", "--probability", 0.5, "--top", 0, "--json").stdout)
    words = ("--models", root / "models", "--probability", 0.5, "--top", 0, "--json")
    from_lake = json.loads(done("rank", root / "lake", *words, cwd=root.parent).stdout)

    assert from_rest
    assert from_rest == from_lake


@pytest.mark.parametrize("asked", ["rank", "trend", "trend --by zone"])
def test_of_a_time_without_events_nothing_is_listed(asked, at_rest):
    ended = done("--workspace", at_rest.root, *asked.split(), "--since", "2027-01-01", "--json")

    assert json.loads(ended.stdout) == []
    assert ("No account that fits" in ended.stderr) == (asked == "rank")


def test_a_story_from_results_is_the_story_of_the_lake(workspace):
    root = workspace.root
    from_rest = done("--workspace", root, "explain", "bot001", "--detector", "account-day", "--json").stdout
    words = ("--models", root / "models", "--detector", "account-day", "--json")

    assert from_rest == done("explain", "bot001", root / "lake", *words, cwd=root.parent).stdout


def test_one_verdict_rests_on_log_packets_and_table(workspace):
    kept = done("--workspace", workspace.root, "judge", "--json").stdout
    name = next(row["verdict"] for row in json.loads(kept) if row["verdict"])

    shown = json.loads(done("--workspace", workspace.root, "verdict", "show", name, "--json").stdout)["verdict"]

    measured = {part["name"]: part["table"]["rows"] for part in shown["features"].values()}
    assert set(measured) == {"self-similarity", "traffic", "account-table"}
    assert all(measured.values())


def test_a_verdict_that_is_shown_is_a_document_that_verifies(workspace, tmp_path):
    root = workspace.root
    kept = json.loads(done("--workspace", root, "judge", "--json").stdout)
    name = next(row["verdict"] for row in kept if row["verdict"])
    (tmp_path / "one.json").write_text(done("--workspace", root, "verdict", "show", name, "--json").stdout)

    assert done("verify", tmp_path / "one.json", "--models", root / "models").returncode == 0


def test_every_sealed_day_verifies_and_a_changed_byte_shows(workspace):
    assert run("--workspace", workspace.root, "verify").returncode == 0
    bundle = next(iter(workspace.verdicts.current().values())).bundle
    path = workspace.results / "verdicts" / bundle / "evidence.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    ended = run("--workspace", workspace.root, "verify", "--json")

    assert ended.returncode == 1
    assert [row["holds"] for row in json.loads(ended.stdout)] == [False, True, True, True]


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


SPOILED = {
    "a changed byte": (lambda bundle: _flip(bundle / "evidence.parquet"), "evidence.parquet is not what was sealed"),
    "a removed file": (lambda bundle: (bundle / "scores.parquet").unlink(), "scores.parquet is gone"),
    "an added file": (lambda bundle: (bundle / "more").write_text("x"), "more was added after it was sealed"),
    "a removed bundle": (shutil.rmtree, "it is gone"),
}


@pytest.mark.parametrize(("spoil", "says"), SPOILED.values(), ids=SPOILED)
def test_verdicts_that_were_replaced_are_looked_at_too(workspace, spoil, says):
    earlier = list(workspace.verdicts.current().values())[2]
    workspace.judged(LATER + timedelta(minutes=1)).judge(fresh=True)
    told = json.loads(done("--workspace", workspace.root, "verify", "--json").stdout)
    assert all("1 earlier bundle is as it was sealed" in row["says"] for row in told)
    spoil(workspace.results / "verdicts" / earlier.bundle)

    ended = run("--workspace", workspace.root, "verify", "--json")

    assert ended.returncode == 1
    rows = json.loads(ended.stdout)
    assert [row["holds"] for row in rows] == [True, True, False, True]
    assert says in rows[2]["says"]
    assert earlier.at in rows[2]["says"]


def test_a_removed_day_and_a_removed_seal_show(workspace):
    shutil.rmtree(workspace.results / "verdicts" / f"day={DAYS[2]}")
    assert run("--workspace", workspace.root, "verify").returncode == 1
    log = workspace.results / "verdicts" / SEALS
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))

    ended = run("--workspace", workspace.root, "verify")

    assert ended.returncode == 1
    assert "seals are missing" in ended.stderr


def test_a_source_that_fails_is_told_and_the_others_are_read(workspace):
    settings = workspace.root / "warden.toml"
    settings.write_text(settings.read_text() + '\n[[source]]\nname = "gone"\nlocator = "nowhere.csv"\n')
    (workspace.root / "logs" / "bad.parquet").write_bytes(b"PAR1 is not enough")

    ended = run("--workspace", workspace.root, "run")

    assert ended.returncode == 1
    assert "take in gone:" in ended.stderr
    assert "take in game:" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "judge" in ended.stdout


def test_a_table_that_changes_counts_from_then_on_and_judges_no_day_again(workspace):
    table = workspace.root / "accounts.csv"
    table.write_text(table.read_text().replace(",1,", ",2,", 1) + "\n")

    said = run_all(workspace)

    assert said["measure files"] == "1 file measured"
    assert said["judge"] == "nothing new"


def test_commands_find_the_workspace_they_stand_in_and_outside_nothing_changes(workspace, tmp_path):
    inside = workspace.root / "logs"
    named = done("--workspace", workspace.root, "status", "--json").stdout

    assert json.loads(done("status", "--json", cwd=inside).stdout)["days"] == json.loads(named)["days"]
    ended = run("rank", cwd=tmp_path)
    assert ended.returncode == 2
    assert "Inside a workspace" in ended.stderr


def _moment(text):
    return None if text is None else datetime.fromisoformat(text)


def test_how_old_a_model_is_does_not_depend_on_when_its_file_was_written(workspace):
    for path in workspace.models.glob("*.json"):
        os.utime(path, (0, 0))

    told = json.loads(done("--workspace", workspace.root, "status", "--json").stdout)["detectors"]

    until = {model.card.id: model.card.training.get("until") for model in workspace.models_in_force()}
    assert any(until.values())
    assert {row["model"]: _moment(row["trained_until"]) for row in told} == {
        name: _moment(text) for name, text in until.items()
    }
    assert not any("1970" in str(value) for row in told for value in row.values())


def test_status_says_what_to_do_next(never_run, tmp_path):
    shutil.copytree(never_run.root, tmp_path / "ws")

    before = json.loads(done("--workspace", tmp_path / "ws", "status", "--json").stdout)

    assert before["days"] == []
    assert any("gamewarden run" in line for line in before["next"])


def test_a_workspace_is_made_once(tmp_path):
    done("init", tmp_path / "ws")
    again = run("init", tmp_path / "ws")

    assert again.returncode == 1
    assert "is there already" in again.stderr
    assert "there is no model yet" in done("--workspace", tmp_path / "ws", "run").stdout


def test_two_runs_at_once_do_each_other_no_harm(never_run, at_rest, tmp_path):
    shutil.copytree(never_run.root, tmp_path / "ws")
    words = [sys.executable, "-m", "gamewarden", "--workspace", str(tmp_path / "ws"), "run"]

    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [one.communicate()[1] for one in both]

    assert sorted(one.returncode for one in both) in ([0, 0], [0, 1])
    assert all(
        "another process is running this workspace" in text
        for text, one in zip(told, both, strict=True)
        if one.returncode
    )
    assert_same_results(type(never_run).at(tmp_path / "ws"), at_rest)


def test_a_run_that_is_killed_again_and_again_ends_as_one_that_was_not(never_run, at_rest, tmp_path):
    words = [sys.executable, "-m", "gamewarden", "--workspace", str(tmp_path / "ws"), "run"]
    dice = random.Random(7)  # noqa: S311  when a process dies
    for whole in range(2):
        shutil.copytree(never_run.root, tmp_path / "ws")
        began = time.monotonic()
        killed = 0
        while killed < 6:
            child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                child.wait(timeout=1.0 + dice.random() * 3.0)
                break
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                killed += 1
        ended = apart("--workspace", tmp_path / "ws", "run")

        assert ended.returncode == 0, (ended.stderr, whole, time.monotonic() - began)
        assert killed
        assert_same_results(type(never_run).at(tmp_path / "ws"), at_rest)
        assert run("--workspace", tmp_path / "ws", "verify").returncode == 0
        shutil.rmtree(tmp_path / "ws")


def test_a_day_sealed_under_earlier_rules_is_judged_again_beside_its_seal(workspace):
    store = workspace.verdicts
    seal = list(store.current().values())[1]
    facts = store.facts(seal)
    unnamed = {name: value for name, value in facts["rules"].items() if name not in {"combination", "rates"}}
    tables = {name: store.table(seal, name) for name in store.tables(seal) if name != "verdicts"}
    nobody_kept = store.table(seal).with_columns(verdict=pl.lit(None, pl.String))
    about = {"since": seal.since, "until": seal.until, "content": seal.content}
    bundle = Bundle({"verdicts": nobody_kept, **tables}, {**facts, "rules": unnamed})
    store.seal(seal.day, bundle, **about, rules="earlier", kept=0, at=LATER.isoformat())
    told = verify_days(store, workspace.models).filter(day=seal.day.removeprefix("day=")).row(0, named=True)
    assert told["holds"]
    assert "sealed under earlier rules" in told["says"]

    (again,) = workspace.judged(LATER).judge().seals

    assert again.day == seal.day
    assert store.facts(again)["rules"]["combination"] == "ruger"
    assert [one.rules for one in store.seals() if one.day == seal.day] == [seal.rules, "earlier", seal.rules]
    told = verify_days(store, workspace.models).filter(day=seal.day.removeprefix("day=")).row(0, named=True)
    assert told["holds"]
    assert "come out the same to the last bit; 2 earlier bundles are as they were sealed" in told["says"]
