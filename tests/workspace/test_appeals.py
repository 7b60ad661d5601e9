"""An appeal from the player's word to a healed case, on a workspace with a ledger."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import appeals_killed
from appeals_made_up import DAY, NOW, action, appeal, decision, dump, observation
from gamewarden.cases import (
    CANCELLED,
    OVERTURNED,
    UNDO,
    UPHELD,
    WAITING,
    Action,
    Appeal,
    AuditLine,
    Decision,
    Exonerated,
    Label,
    Observation,
    Protected,
    Suspicion,
)
from gamewarden.config import Config
from gamewarden.errors import ResponseError
from gamewarden.policy import LIMIT, WATCH
from gamewarden.response.actions import seen
from gamewarden.response.evidence import log_odds
from gamewarden.workspace.appealing import Appealing, end_protection, protect, protected
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.responding import Responding

SETTINGS = '[workspace]\n[response]\narmed = true\n[[response.adapter]]\nname = "log"\nkind = "log"\n'
LEE = replace(decision("lee"), evidence=("tied-lee",))


def put(workspace, *records):
    with workspace.ledger.writing("test", NOW - DAY) as work:
        for one in records:
            work.put([one])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.integration)])
def home(tmp_path, request, monkeypatch):
    """Kim was limited by the ladder, and Lee because of Kim; Park has nothing to do with it."""
    root = tmp_path / "home"
    root.mkdir()
    (root / "warden.toml").write_text(SETTINGS)
    if request.param == "postgres":
        monkeypatch.setenv("GAMEWARDEN_LEDGER", request.getfixturevalue("postgres"))
    workspace = Workspace.at(root)
    put(
        workspace,
        *(observation(number) for number in (1, 2, 3)),
        observation(4, llr=-0.5, kind="challenge", ref="challenge-1", fpr=None, agree=0),
        observation(3, actor="lee", id="tied-lee", because_of="kim"),
        observation(3, actor="park"),
        decision(),
        replace(decision(), id="watched-kim", step=WATCH),
        LEE,
        decision("park"),
        *(action(one, before=seen({"rate": 1}, 1)) for one in (decision(), LEE, decision("park"))),
        Suspicion("kim", 7.5, 4, NOW - DAY, NOW - DAY, 4, on_call=True),
        Suspicion("lee", 6.1, 3, NOW - DAY, NOW - DAY, 1),
        Suspicion("park", 6.1, 3, NOW - DAY, NOW - DAY, 1),
        appeal(),
    )
    yield workspace
    workspace.ledger.close()


def at(workspace, moment=NOW):
    return Appealing(workspace, moment)


def overturn(workspace):
    return at(workspace).decide("appealed-kim", OVERTURNED, by="gm", because="he was there")


def only(workspace, kind, **where):
    (found,) = workspace.ledger.find(kind, **where)
    return found


def test_an_appeal_is_opened_by_the_name_of_an_actor_or_of_a_decision(home):
    by_actor = at(home).open("lee", "Kim is my brother.", by="lee")
    by_decision = at(home).open("decided-park", "It was me.", by="support")

    assert (by_actor.actor, by_actor.decision) == ("lee", None)
    assert (by_decision.actor, by_decision.decision, by_decision.opened_by) == ("park", "decided-park", "support")
    assert set(home.ledger.find(Appeal)) == {appeal(), by_actor, by_decision}


@pytest.mark.parametrize(("about", "needed"), [("nobody", "nothing was decided"), ("decided-", "3 decisions")])
def test_an_appeal_is_about_something_that_was_decided(home, about, needed):
    with pytest.raises(ResponseError, match=needed):
        at(home).open(about, "It was me.", by="me")


def test_an_upheld_appeal_changes_nothing_but_itself(home):
    before = dump(home)

    healed = at(home).decide("appealed-kim", UPHELD, by="gm", because="it is a bot")

    changed = {name: rows for name, rows in dump(home).items() if rows != before[name] and name != "audit"}
    assert changed == {"appeals": [healed.appeal]}
    assert (healed.appeal.outcome, healed.appeal.because) == (UPHELD, "it is a bot")
    assert "upheld" in healed.sentences()[0]


def test_an_overturned_appeal_takes_back_every_decision_and_sends_what_was_done_back(home):
    healed = overturn(home)

    undone = home.ledger.find(Decision, actor="kim")
    assert [(one.undone_at, one.undone_by) for one in undone] == [(NOW, "gm")] * 2
    assert all("he was there" in one.undone_because for one in undone)
    back = only(home, Action, actor="kim", verb=UNDO)
    assert (back.state, back.decision, back.step, back.due) == (WAITING, "decided-kim", LIMIT, NOW)
    assert (healed.taken_back, healed.undone) == (2, 2)


def test_what_was_done_is_undone_in_the_game_by_the_next_run(home):
    overturn(home)

    told = Responding(home, NOW + timedelta(minutes=1)).carry()

    assert "2 taken back" in str(told)
    assert '"undo"' in (home.root / "actions.jsonl").read_text()


def test_what_still_waits_never_leaves(home):
    late = replace(decision(), id="late-kim", step="challenge")
    put(home, late, action(late, id="late", state=WAITING, before=None, receipt=None, due=NOW, attempts=0))
    overturn(home)

    Responding(home, NOW + timedelta(minutes=1)).carry()

    assert only(home, Action, id="late").state == CANCELLED


def test_suspicion_is_back_at_the_prior_or_below_and_nobody_is_said_to_be_called(home):
    overturn(home)

    now = only(home, Suspicion, actor="kim")
    assert now.score <= log_odds(Config().response.prior)
    assert (now.rung, now.on_call, now.observations) == (0, False, 1)  # the challenge that was passed


def test_without_any_other_evidence_suspicion_is_the_prior(home):
    with home.ledger.writing("test", NOW) as work:
        work.remove(only(home, Observation, id="seen4-kim"))

    overturn(home)

    assert only(home, Suspicion, actor="kim").score == pytest.approx(log_odds(Config().response.prior))


def test_evidence_is_excluded_the_label_is_there_and_the_account_exonerated(home):
    made = overturn(home).appeal

    excluded = {one.id: one.excluded for one in home.ledger.find(Observation)}
    assert excluded == {
        "seen1-kim": made.id,
        "seen2-kim": made.id,
        "seen3-kim": made.id,
        "seen4-kim": None,
        "tied-lee": made.id,
        "seen3-park": None,
    }
    label = only(home, Label)
    assert (label.actor, label.bot, label.source, label.by) == ("kim", False, "appeal", "gm")
    exonerated = only(home, Exonerated)
    assert exonerated.verdicts == tuple(observation(number).ref for number in (1, 2, 3))
    assert (exonerated.since, exonerated.until) == (observation(1).since, observation(3).until)


def test_who_was_suspected_because_of_the_account_is_scored_anew_and_others_are_left_alone(home):
    before = only(home, Suspicion, actor="park"), only(home, Decision, actor="park")

    healed = overturn(home)

    assert only(home, Suspicion, actor="lee").rung == 0
    assert only(home, Decision, actor="lee").undone_by == "ladder"
    assert only(home, Action, actor="lee", verb=UNDO).state == WAITING
    assert (healed.others, healed.lifted) == (1, 1)
    assert (only(home, Suspicion, actor="park"), only(home, Decision, actor="park")) == before


def test_an_appeal_is_decided_once_and_only_a_new_text_opens_the_case_again(home):
    overturn(home)

    with pytest.raises(ResponseError, match="was decided by gm"):
        at(home).decide("appealed-kim", UPHELD, by="other", because="no")
    with pytest.raises(ResponseError, match="says the same"):
        at(home).open("kim", appeal().text, by="kim")
    assert at(home).open("kim", "Something new.", by="kim").outcome is None


def test_who_took_a_decision_does_not_decide_the_appeal_against_it(home):
    put(home, replace(decision(), id="banned-kim", by="gm", step="suspend"))
    before = dump(home)

    with pytest.raises(ResponseError, match="somebody else"):
        overturn(home)

    assert dump(home) == before


def test_the_audit_says_who_healed_what(home):
    overturn(home)

    said = [(line.who, line.what, line.subject) for line in home.ledger.find(AuditLine, order=("number",))]
    assert ("gm", "change appeals", "appealed-kim") in said
    assert ("gm", "change decisions", "decided-kim") in said
    assert ("gm", "add labels", "kim") in said
    assert ("gm", "add exonerated", "kim") in said
    assert list(home.ledger.audit_faults()) == []


def test_open_appeals_are_listed_first_come_last(home):
    overturn(home)
    at(home, NOW + DAY).open("lee", "Kim is my brother.", by="lee")

    assert at(home).listed()["actor"].to_list() == ["lee", "kim"]
    assert at(home).listed(only_open=True)["actor"].to_list() == ["lee"]


def test_an_account_is_protected_until_a_moment_or_until_somebody_ends_it(home):
    protect(home, "kim", until=NOW + 90 * DAY, by="gm", because="a tournament", at=NOW)
    again = protect(home, "kim", until=NOW + 30 * DAY, by="gm", because="shorter", at=NOW)

    assert protected(home.ledger, NOW)["actor"].to_list() == ["kim"]
    assert protected(home.ledger, NOW + 31 * DAY).height == 0
    assert end_protection(home.ledger, "kim", by="gm", at=NOW) == again
    assert home.ledger.find(Protected) == []
    with pytest.raises(ResponseError, match="is not protected"):
        end_protection(home.ledger, "kim", by="gm", at=NOW)


@pytest.mark.integration
def test_a_process_that_is_killed_before_any_statement_has_healed_nothing(home):
    before = appeals_killed.content(home.root)
    home.ledger.close()
    here = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    words = [sys.executable, Path(appeals_killed.__file__), home.root]
    contents = subprocess.run(words, check=True, env=here, capture_output=True, text=True).stdout.split()

    assert len(contents) > 20
    assert set(contents[:-1]) == {before}
    assert contents[-1] != before
    assert only(home, Appeal).outcome == OVERTURNED
    assert only(home, Exonerated).actor == "kim"
    assert home.ledger.find(Decision, actor=("kim", "lee"), undone_at=None) == []
    assert list(home.ledger.audit_faults()) == []
