"""`gamewarden policy`: the ladder as people read it, tried on a workspace's past, and beside another one."""

import json
import shutil

import polars as pl
import pytest

import workspaces_made_up as made_up
from cases_made_up import DAY
from commands import done, run
from gamewarden.cases import AuditLine, Decision, Exonerated, NotTaken, Observation, Suspicion
from gamewarden.response.ladder import Ladder
from gamewarden.response.suspicion import suspicion_of
from gamewarden.workspace.policies import past_of
from workspaces_made_up import run_all

EAGER = "[verdict]\nagree = 1\nact = 0.1\nwatch = 0.1\n[coverage]\nleast = 0.0\n[response]\nprior = 0.2\n"


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory):
    """A workspace that was run once."""
    place = tmp_path_factory.mktemp("made")
    workspace = made_up.make_workspace(place / "ws", made_up.make_models(place / "models-from"))
    run_all(workspace)
    return workspace


@pytest.fixture
def workspace(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    return type(at_rest).at(tmp_path / "ws")


@pytest.fixture
def eager(tmp_path):
    path = tmp_path / "eager.toml"
    path.write_text(EAGER)
    return path


def policy(workspace, *words):
    return json.loads(done("--workspace", workspace.root, "policy", *words, "--json").stdout)


def test_the_ladder_in_force_is_shown_readably(workspace):
    told = done("--workspace", workspace.root, "policy", "show").stdout

    assert told.startswith(f"Policy {Ladder.of(workspace.config).digest}.\n")
    assert "Nothing leaves gamewarden: [response] armed is false." in told
    assert "freeze, isolate" in told


def test_the_ladder_of_another_file_is_shown_where_there_is_no_workspace(eager, tmp_path):
    told = json.loads(done("policy", "show", "--ladder", eager, "--json", cwd=tmp_path).stdout)

    assert told["response"]["prior"] == 0.2
    assert [(one["rung"], one["fpr"], one["families"]) for one in told["rungs"]][:2] == [
        ("review", None, None),
        ("watched", None, None),
    ]
    assert [(one["fpr"], one["families"]) for one in told["rungs"]][2:] == [
        (0.1, 2)
    ] * 3  # whatever [verdict] says, two


def test_a_ladder_is_tried_on_all_days_that_were_judged(workspace, eager):
    told = policy(workspace, "test", "--ladder", eager)

    verdicts = workspace.judged(made_up.LATER).verdicts().filter(pl.col("probability").is_not_null())
    assert told["days"] == verdicts["until"].n_unique()
    assert told["judged"] == verdicts["actor"].n_unique()
    assert told["touched"] > 0
    assert [one["step"] for one in told["steps"]] == ["review", "watch", "limit", "challenge", "freeze", "isolate"]
    assert sum(one["accounts"] for one in told["labels"]) == told["judged"]
    assert sum(one["accounts"] for one in told["styles_of_play"]) == told["judged"]


def test_a_policy_test_decides_nothing(workspace, eager):
    before = [workspace.ledger.find(kind) for kind in (Decision, NotTaken, Observation, Suspicion, AuditLine)]

    assert policy(workspace, "test", "--ladder", eager)["touched"] > 0

    assert [workspace.ledger.find(kind) for kind in (Decision, NotTaken, Observation, Suspicion, AuditLine)] == before


def test_more_is_touched_by_the_ladder_that_asks_for_less(workspace, eager):
    ours, theirs = (policy(workspace, "test", *words)["touched"] for words in ((), ("--ladder", eager)))
    told = policy(workspace, "diff", workspace.root / "warden.toml", eager)

    limit = next(one for one in told["steps"] if one["step"] == "limit")
    assert ours < theirs
    assert (limit["A"], limit["B"], limit["only A"]) == (ours, theirs, 0)
    assert limit["only B"] == len([one for one in told["accounts"] if one["step"] == "limit"])


def test_a_policy_does_not_differ_from_itself(workspace):
    words = ("policy", "diff", workspace.root / "warden.toml", workspace.root / "warden.toml")

    assert "They are the same policy." in done("--workspace", workspace.root, *words).stdout


def test_a_person_reads_who_would_have_been_touched_and_why(workspace, eager):
    told = done("--workspace", workspace.root, "policy", "test", "--ladder", eager, "--top", 1).stdout

    assert "would have reached a rung" in told
    assert "suspicion " in told
    assert "--top 0 shows all accounts" in told


def test_what_the_ledger_knows_counts_too(workspace):
    """A passed challenge lowers, an excluded verdict is gone: as the ladder itself would see it."""
    past = past_of(workspace)
    actor = next(iter(past.observations))
    first = past.observations[actor][0]
    passed = Observation("passed", actor, first.at, "challenge", "c1", -2.0)
    with workspace.ledger.writing("test", first.at) as work:
        work.put([Observation(**{**vars(first), "excluded": "appeal"}), passed])

    again = past_of(type(workspace).at(workspace.root))

    ids = {one.id for one in again.observations[actor]}
    assert "passed" in ids
    assert first.id not in ids
    assert again.outcomes == past.outcomes + 1


def test_without_verdicts_there_is_no_past(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    shutil.rmtree(tmp_path / "ws" / "results")

    found = run("--workspace", tmp_path / "ws", "policy", "test")

    assert found.returncode == 1
    assert "no day was judged yet; `gamewarden run` judges what is there" in found.stderr


@pytest.mark.parametrize("words", [("test",), ("diff", "a.toml", "b.toml")])
def test_outside_a_workspace_nothing_is_replayed(words, tmp_path):
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(EAGER)

    found = run("policy", *words, cwd=tmp_path)

    assert found.returncode == 1
    assert "this is no workspace" in found.stderr


def test_the_past_is_what_the_ladder_was_shown_when_it_decided(workspace):
    known = {one.id for one in workspace.ledger.find(Observation)}
    scores = {one.actor: (one.score, one.rung) for one in workspace.ledger.find(Suspicion)}
    ladder, past = Ladder.of(workspace.config), past_of(workspace)

    theirs = {actor: seen for actor, seen in past.observations.items() if actor in scores}
    told = {actor: suspicion_of(ladder.scale, actor, seen, at=past.days[-1]) for actor, seen in theirs.items()}
    assert known
    assert {one.id for seen in theirs.values() for one in seen} == known
    assert {actor: (one.score, one.rung) for actor, one in told.items()} == scores
    assert past.under(ladder).accounts.keys() <= scores.keys()  # of the others nothing could have followed


def test_what_an_appeal_has_refuted_touches_nobody_in_the_past(workspace, eager):
    before = policy(workspace, "test", "--ladder", eager)
    actor = next(one["actor"] for one in before["accounts"] if one["steps"])
    past = past_of(workspace)
    wrong = Exonerated(actor, past.days[0] - DAY, past.days[-1], (), "appeal", past.days[-1])
    with workspace.ledger.writing("test", past.days[-1]) as work:
        work.add([wrong])

    after = policy(workspace, "test", "--ladder", eager)

    assert actor not in {one["actor"] for one in after["accounts"]}
    assert after["touched"] == before["touched"] - 1


def test_steps_that_nobody_can_reach_are_named_by_policy_show_status_and_run(workspace):
    shown = policy(workspace, "show")["unreachable"]
    status = json.loads(done("--workspace", workspace.root, "status", "--json").stdout)["response"]["unreachable"]
    said = done("--workspace", workspace.root, "policy", "show").stdout

    assert any(
        line.startswith("freeze cannot be reached: it needs a false-positive rate of 1 %, and ") and "; review " in line
        for line in shown
    )
    assert status == shown
    assert "Freeze cannot be reached: it needs" in said
    (workspace.root / "ledger.db").unlink()
    workspace.noted_head.unlink()
    assert run_all(made_up.again(workspace))["ladder"] == "; ".join(shown)
