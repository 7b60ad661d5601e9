"""What rests in a workspace and was spoiled is one line that names the file; it is never a traceback."""

import json
import shutil

import polars as pl
import pytest

import workspaces_made_up as made_up
from commands import done, run
from gamewarden.contracts import canonical_json, digest
from gamewarden.store.partitions import INDEX
from gamewarden.store.sealed import sha256
from gamewarden.store.verdict_days import FACTS, HEAD, LOG
from workspaces_made_up import run_all


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    workspace = made_up.make_workspace(place / "ws", made_up.make_models(place / "models-from"))
    run_all(workspace)
    return workspace


@pytest.fixture
def root(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    return tmp_path / "ws"


def change(path, how):
    """Let JSON in a file be another."""
    values = json.loads(path.read_text())
    how(values)
    path.write_text(json.dumps(values))


def first_about(root, room, how):
    path = next((root / "results" / room).glob(f"*/{INDEX}"))
    change(path, lambda values: how(values["partitions"][0]["about"]))
    return path


def seal_again(root, how):
    """Change the first seal, and bind all lines and the head to it as we would."""
    place = root / "results" / "verdicts"
    records = [json.loads(line)["record"] for line in (place / LOG).read_text().splitlines()]
    how(records[0])
    lines, link = [], "0" * 12
    for record in records:
        body = canonical_json(record)
        link = digest(link, body)
        lines.append(f'{{"link":"{link}","record":{body}}}\n')
    (place / LOG).write_text("".join(lines))
    (place / HEAD).write_text(json.dumps({"seals": len(records), "last": sha256(records[-1])}))


def one_line(root, *words):
    ended = run("--workspace", root, *words)
    assert ended.returncode == 1, ended.stdout
    assert ended.stderr.count("\n") == 1, ended.stderr
    return ended.stderr


ABOUT = {
    "lacks a field": lambda about: about.pop("judged"),
    "counts with a text": lambda about: about.update(judged="many"),
    "names no actors": lambda about: about.update(some=5),
    "counts by a list": lambda about: about.update(far=[1]),
    "counts nothing": lambda about: about.update(far={"events": None}),
    "has half a period": lambda about: about.update(partly_covered=[[1]]),
    "has a period of texts": lambda about: about.update(partly_covered=[["a", "b", "c"]]),
}


@pytest.mark.integration
@pytest.mark.parametrize("spoil", ABOUT.values(), ids=ABOUT)
def test_scores_that_say_something_strange_of_themselves_are_one_line_and_can_be_computed_anew(root, spoil):
    first_about(root, "scores", spoil)

    assert "--fresh" in one_line(root, "score")
    assert done("--workspace", root, "run", "--fresh").returncode == 0
    assert done("--workspace", root, "score").returncode == 0


@pytest.mark.parametrize(("room", "name"), [("features", "notes"), ("features", "file"), ("scores", "some")])
def test_forgetting_meets_something_strange_in_one_line(root, room, name):
    for path in (root / "results" / room).glob(f"*/{INDEX}"):
        change(path, lambda values: [one["about"].update({name: 5}) for one in values["partitions"]])

    assert INDEX in one_line(root, "forget", "bot001", "--yes")


@pytest.mark.parametrize("name", ["notes", "size", "changed", "rows", "last", "error"])
def test_what_is_known_of_a_file_may_lack_what_has_a_default(root, name):
    change(root / "results" / "sources" / "game.json", lambda values: [one.pop(name) for one in values["files"]])

    assert done("--workspace", root, "status").returncode == 0


@pytest.mark.parametrize("name", ["name", "digest", "kinds", "taken"])
def test_what_is_known_of_a_file_and_lacks_more_is_one_line(root, name):
    change(root / "results" / "sources" / "game.json", lambda values: [one.pop(name) for one in values["files"]])

    assert name in one_line(root, "status")


SEALS = {
    "no time": lambda seal: seal.update(at="yesterday"),
    "a time without a zone": lambda seal: seal.update(at="2026-03-09T00:00:00"),
    "no time of sealing anew": lambda seal: seal.update(resealed="soon"),
    "no day": lambda seal: seal.pop("day"),
    "a day that is none": lambda seal: seal.update(day=5),
}


@pytest.mark.parametrize("command", ["status", "judge", "verify"])
@pytest.mark.parametrize("spoil", SEALS.values(), ids=SEALS)
def test_a_seal_that_says_something_strange_is_one_line(root, spoil, command):
    seal_again(root, spoil)

    assert LOG in one_line(root, command)


FACT = {
    "lacks its models": lambda facts: facts.pop("models"),
    "has a number for models": lambda facts: facts.update(models=3),
    "has models without a name": lambda facts: facts.update(models=[{}]),
    "lacks its fusion": lambda facts: facts.pop("fusion"),
    "has a fusion without a name": lambda facts: facts.update(fusion={"x": 1}),
    "lacks its rules": lambda facts: facts.pop("rules"),
    "has a rule of text": lambda facts: facts["rules"].update(watch="often"),
    "has a list for a time zone": lambda facts: facts["rules"].update(time_zone=["UTC"]),
    "lacks a rule": lambda facts: facts["rules"].pop("every"),
    "lacks its recipes": lambda facts: facts.pop("recipes"),
    "has no caveats": lambda facts: facts.update(caveats=None),
}


@pytest.mark.parametrize("spoil", FACT.values(), ids=FACT)
def test_a_bundle_that_says_something_strange_is_one_line(root, spoil):
    kept = json.loads(done("--workspace", root, "judge", "--json").stdout)
    name = next(row["verdict"] for row in kept if row["verdict"])
    for path in (root / "results" / "verdicts").glob(f"*/*/{FACTS}"):
        change(path, spoil)

    assert FACTS in one_line(root, "verdict", "show", name)
    assert FACTS in one_line(root, "status")
    assert run("--workspace", root, "verify").returncode == 1


TABLES = {
    "other columns": pl.DataFrame({"actor": ["a"], "n": [1]}),
    "a column less": pl.DataFrame({"verdict": ["x"]}),
    "texts for numbers": pl.DataFrame({"actor": ["a"], "since": ["x"], "until": ["y"], "fpr": ["z"]}),
}


@pytest.mark.parametrize("command", [("judge",), ("verdict", "show", "0"), ("forget", "bot001", "--dry-run")])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_verdicts_that_are_another_table_are_one_line(root, table, command):
    for path in (root / "results" / "verdicts").glob("*/*/verdicts.parquet"):
        table.write_parquet(path)

    assert "verdicts.parquet" in one_line(root, *command)
