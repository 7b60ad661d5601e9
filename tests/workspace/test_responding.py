"""After judging a workspace decides: by its ladder, on evidence that carries it, in rehearsal until it is armed."""

import json
from datetime import timedelta
from math import log

import polars as pl
import pytest

from commands import done, run
from gamewarden.cases import (
    DONE,
    LADDER,
    REHEARSED,
    UNDO,
    UNDONE,
    Action,
    Decision,
    IndexedVerdict,
    NotTaken,
    Observation,
    Suspicion,
)
from gamewarden.core.durations import from_micros
from gamewarden.errors import LedgerError, ResponseError
from gamewarden.policy import SANCTIONS
from gamewarden.response.evidence import as_judged_before
from gamewarden.response.suspicion import counting
from gamewarden.store.verdict_days import DaySeal
from gamewarden.tables import write_table
from gamewarden.workspace.responding import Responding, past_days_judged_again
from gamewarden.workspace.settling import cases_of
from responding_made_up import settings
from several_made_up import LOG, packets
from upkeep_made_up import START
from workspaces_made_up import LATER, again, make_models, make_workspace, run_all

pytestmark = pytest.mark.integration

SOON = START + timedelta(days=4, hours=6)  # the morning after the last day


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_models(tmp_path_factory.mktemp("made"))


@pytest.fixture
def rehearsing(made, tmp_path):
    return make_workspace(tmp_path / "ws", made, settings=settings())


@pytest.fixture
def armed(made, tmp_path):
    return make_workspace(tmp_path / "ws", made, settings=settings(armed=True))


def lines_of(workspace):
    path = workspace.root / "actions.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_run_decides_after_judging_and_only_rehearses(rehearsing):
    said = run_all(rehearsing)

    decisions = rehearsing.ledger.find(Decision)
    assert "a rehearsal: nothing leaves gamewarden" in said["decide"]
    assert {one.step for one in decisions} == {"watch", "limit", "freeze", "review"}
    assert all(one.rehearsal and one.until is not None and one.evidence for one in decisions)
    assert {one.state for one in rehearsing.ledger.find(Action)} <= {"waiting", REHEARSED}
    assert lines_of(rehearsing) == []


def test_a_second_run_decides_nothing_anew(rehearsing):
    run_all(rehearsing)
    before = rehearsing.ledger.find(Decision)

    assert run_all(rehearsing)["decide"] == "nothing new"
    assert rehearsing.ledger.find(Decision) == before


def test_what_is_kept_points_to_the_verdicts_it_rests_on(rehearsing):
    run_all(rehearsing)
    ledger = rehearsing.ledger
    seen = {one.id: one for one in ledger.find(Observation)}
    known = {one.verdict: one for one in ledger.find(IndexedVerdict)}

    for decision in ledger.find(Decision, step="limit"):
        verdicts = [known[seen[name].ref] for name in decision.evidence if seen[name].ref]  # those that reach a point
        assert {one.actor for one in verdicts} == {decision.actor}
        shown = done("--workspace", rehearsing.root, "verdict", "show", verdicts[0].verdict, "--json")
        assert decision.actor in shown.stdout


def test_people_whom_the_evidence_does_not_carry_are_watched_and_the_reason_is_kept(made, tmp_path):
    strict = settings().replace("act = 0.2", "act = 0.001")
    workspace = make_workspace(tmp_path / "ws", made, settings=strict)

    run_all(workspace)

    ledger = workspace.ledger
    assert {one.step for one in ledger.find(Decision)} == {"watch"}
    assert all("false-positive rate" in one.because for one in ledger.find(NotTaken, step="limit"))
    assert ledger.find(NotTaken, step="limit")


def test_part_of_a_period_carries_no_step(made, tmp_path):
    whole = settings().replace("least = 0.0", "least = 0.9")
    workspace = make_workspace(tmp_path / "ws", made, settings=whole)

    run_all(workspace)

    assert {one.step for one in workspace.ledger.find(Decision)} == {"watch"}
    assert all("the source covers 3% of its period" in one.because for one in workspace.ledger.find(NotTaken))


def test_an_armed_workspace_carries_out_what_it_decided_once(armed):
    run_all(armed, SOON)
    run_all(armed, SOON + timedelta(minutes=5))
    told = lines_of(armed)
    run_all(armed, SOON + timedelta(minutes=10))

    assert {line["step"] for line in told} == {"limit", "freeze"}
    assert len({line["key"] for line in told}) == len(told)
    assert lines_of(armed) == told
    assert {one.state for one in armed.ledger.find(Action)} == {DONE}


def test_what_expires_is_taken_back_without_being_asked(armed):
    run_all(armed, SOON)
    run_all(armed, SOON + timedelta(minutes=5))

    run_all(armed, LATER + timedelta(days=30))

    back = {(line["actor"], line["step"]) for line in lines_of(armed) if line["verb"] == UNDO}
    did = {(line["actor"], line["step"]) for line in lines_of(armed) if line["verb"] != UNDO}
    assert back == did
    assert {one.state for one in armed.ledger.find(Action, verb="do")} == {UNDONE}
    assert all(one.undone_by == LADDER for one in armed.ledger.find(Decision))


def test_a_day_that_is_judged_again_counts_once(rehearsing):
    run_all(rehearsing)
    before = {one.actor: one.score for one in rehearsing.ledger.find(Suspicion)}
    late = LOG.events().head(1).with_columns(kind=pl.lit("chat"))
    write_table(late, rehearsing.root / "logs" / "late.parquet")

    run_all(rehearsing)

    ledger = rehearsing.ledger
    counting = ledger.find(Observation, excluded=None)
    assert len({(one.actor, one.since) for one in counting}) == len(counting)
    again_judged = ledger.find(Observation, excluded="its day was judged again")
    after = {one.actor: one.score for one in ledger.find(Suspicion)}
    untouched = set(before) - {one.actor for one in again_judged}
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}


def only_the_first_model(workspace):
    """Take the models away that see packets and the account table; how to bring them back."""
    elsewhere = workspace.root / "later"
    elsewhere.mkdir()
    for path in [*workspace.models.glob("traffic@*"), *workspace.models.glob("account-table@*")]:
        path.rename(elsewhere / path.name)

    def bring_back():
        for path in elsewhere.iterdir():
            path.rename(workspace.models / path.name)
        return again(workspace)

    return bring_back


def a_day_more(workspace):
    """A day on which only people played."""
    for name, table in (("logs", LOG.events()), ("packets", packets())):
        people = table.filter(pl.col("actor").str.starts_with("human"), pl.col("at").dt.date() == START.date())
        write_table(people.with_columns(pl.col("at") + timedelta(days=4)), workspace.root / name / "more.parquet")


def test_past_days_that_new_models_judge_again_lead_to_no_step_that_a_player_feels(rehearsing):
    bring_back = only_the_first_model(rehearsing)
    run_all(again(rehearsing))
    assert {one.step for one in rehearsing.ledger.find(Decision)} == {"watch"}, "one family carries no more"
    before = {one.actor: one.score for one in rehearsing.ledger.find(Suspicion)}
    a_day_more(rehearsing)

    workspace = bring_back()
    run_all(workspace, LATER + timedelta(days=1), fresh=True)

    ledger = workspace.ledger
    missed = ledger.find(NotTaken, because="only past days that were judged again lead to it")
    assert {one.step for one in ledger.find(Decision)} <= {"watch", "review"}
    assert {one.step for one in missed} == {"limit", "freeze"}
    assert {one.actor: one.score for one in ledger.find(Suspicion)} != before, "suspicion itself is the new one"


def test_the_newest_day_leads_to_a_step_when_it_is_judged_again_with_more_sources(rehearsing):
    bring_back = only_the_first_model(rehearsing)
    run_all(again(rehearsing))

    workspace = bring_back()
    run_all(workspace, LATER + timedelta(minutes=1), fresh=True)

    felt = [one for one in workspace.ledger.find(Decision) if one.step not in {"watch", "review"}]
    newest = max(one.until for one in workspace.verdicts.current().values())
    seen = {one.id: one for one in workspace.ledger.find(Observation)}
    assert felt
    assert all(any(seen[name].until == from_micros(newest) for name in one.evidence) for one in felt)


def sealed(day, run, content, rules="old"):
    """The seal of a day that a run has judged by some rules."""
    name, span = f"day=2026-03-0{day}", {"since": day * 10, "until": day * 10 + 10}
    bundle = f"{name}/{run}"
    return DaySeal(name, bundle, **span, verdicts=1, kept=0, content=content, rules=rules, files={}, at=run)


def test_days_judged_again_for_events_that_came_late_are_past_days_unless_they_are_the_newest():
    first = [sealed(1, "a", "1"), sealed(2, "a", "2")]
    later = [sealed(1, "b", "3"), sealed(2, "b", "4")]

    assert past_days_judged_again(first) == []
    assert past_days_judged_again([*first, *later]) == [(10, 20)]
    assert past_days_judged_again([*first, *later, sealed(3, "b", "5")]) == [(10, 20), (20, 30)]
    assert past_days_judged_again([*first, sealed(3, "b", "5"), sealed(4, "c", "6")]) == []


def test_newer_models_alone_make_no_day_a_new_one_and_the_same_models_change_nothing():
    first = [sealed(1, "a", "1"), sealed(2, "a", "2")]
    newer = [sealed(2, "b", "2", "new"), sealed(1, "b", "1", "new")]

    assert past_days_judged_again([*first, *newer]) == [(10, 20), (20, 30)]
    assert past_days_judged_again([*first, sealed(1, "b", "1"), sealed(2, "b", "2")]) == []


def test_evidence_of_past_days_counts_whole_after_they_were_judged_afresh_by_the_same_models(rehearsing):
    run_all(rehearsing)
    before = {one.actor: one for one in cases_of(rehearsing.ledger, accounts_of(rehearsing))}

    workspace = again(rehearsing)
    run_all(workspace, LATER + timedelta(minutes=1), fresh=True)

    after = {one.actor: one for one in cases_of(workspace.ledger, accounts_of(workspace))}
    assert len(workspace.verdicts.seals()) == 2 * len(workspace.verdicts.current())
    assert {name: carried(one) for name, one in after.items()} == {name: carried(one) for name, one in before.items()}
    assert any(llr > 0 for one in after.values() for llr in carried(one))


def accounts_of(workspace):
    return {one.actor for one in workspace.ledger.find(Suspicion)}


def carried(case):
    """What each verdict of an account counts for steps that players feel."""
    return [one.llr for one in as_judged_before(counting(case.observations), case.observations, case.judged_again)]


def test_a_person_can_do_what_the_ladder_cannot_and_is_told_what_speaks_against_it(rehearsing):
    run_all(rehearsing)
    responding = Responding(rehearsing, LATER)

    made, doubts = responding.by_person(
        "human00", "suspend", by="Ada", because="seen it myself", span=timedelta(days=3)
    )

    assert made.by == "Ada"
    assert made.until == made.at + timedelta(days=3)
    assert any("evidence does not carry" in doubt for doubt in doubts)
    assert {one.step for one in rehearsing.ledger.find(Decision, by=LADDER)}.isdisjoint(SANCTIONS)


def test_a_permanent_ban_waits_for_a_second_person(armed):
    run_all(armed, SOON)
    responding = Responding(armed, SOON)
    made, _ = responding.by_person("bot00", "ban", by="Ada", because="a farm", span=None)
    responding.carry()
    waiting = armed.ledger.find(Action, decision=made.id)

    with pytest.raises(ResponseError, match="two people"):
        responding.approve(made.id, by="ada")
    responding.approve(made.id, by="Ben")
    Responding(armed, SOON + timedelta(minutes=5)).carry()

    assert waiting == []
    assert [line["step"] for line in lines_of(armed) if line["actor"] == "bot00"][-1] == "ban"
    assert armed.ledger.find(Decision, id=made.id)[0].approved_by == "Ben"


def test_undoing_takes_back_what_was_carried_out_and_only_once(armed):
    run_all(armed, SOON)
    run_all(armed, SOON + timedelta(minutes=5))
    freeze = armed.ledger.find(Decision, step="freeze")[0]
    responding = Responding(armed, SOON + timedelta(minutes=6))

    responding.undo(freeze.id, by="Ada", because="it was a child of four")
    responding.carry()

    assert [line["verb"] for line in lines_of(armed) if line["decision"] == freeze.id] == ["do", "undo"]
    with pytest.raises(ResponseError, match="nothing to undo"):
        responding.undo(freeze.id, by="Ada", because="again")
    run_all(armed, SOON + timedelta(minutes=7))
    standing = armed.ledger.find(Decision, actor=freeze.actor, step="freeze", undone_at=None)
    assert standing == [], "what a person took back is not decided again on the same evidence"


def test_the_commands_tell_the_same_story(rehearsing):
    run_all(rehearsing)
    listed = json.loads(done("--workspace", rehearsing.root, "decisions", "list", "--json").stdout)
    one = next(row for row in listed if row["step"] == "freeze")

    shown = json.loads(done("--workspace", rehearsing.root, "decisions", "show", one["id"][:8], "--json").stdout)
    text = done("--workspace", rehearsing.root, "decisions", "show", one["id"]).stdout

    assert shown["decision"]["actor"] == one["actor"]
    assert len(shown["evidence"]) == len(shown["decision"]["evidence"])
    assert f"about {one['actor']}" in text
    assert "rehearsal: yes" in text
    assert "bot probability" in text, "the reasons of the verdicts it rests on"


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (("decide", "bot00", "ban"), "--by NAME"),
        (("decide", "bot00", "ban", "--by", "Ada", "--because", "x"), "--for 7d, or --for-ever"),
        (("decide", "bot00", "fly", "--by", "Ada", "--because", "x", "--for", "1d"), "is not one of"),
    ],
)
def test_a_decision_that_lacks_something_says_what(rehearsing, command, needs):
    ended = run("--workspace", rehearsing.root, *command)

    assert ended.returncode == 2
    assert needs in ended.stderr


def test_nobody_of_that_name_is_one_line(rehearsing):
    run_all(rehearsing)

    ended = run("--workspace", rehearsing.root, "decisions", "show", "nothing")

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "there is none" in ended.stderr


def test_status_says_how_the_response_stands(rehearsing):
    run_all(rehearsing)

    told = json.loads(done("--workspace", rehearsing.root, "status", "--json").stdout)

    assert told["response"]["armed"] is False
    assert told["response"]["standing"]["freeze"] > 0
    assert any("decisions list --step review" in line for line in told["next"])


def test_costlier_detectors_are_asked_about_suspects_only(made, tmp_path):
    gated = settings().replace('name = "suspect"', 'name = "suspect"\ndetectors = ["traffic"]')
    workspace = make_workspace(tmp_path / "ws", made, settings=gated)
    run_all(workspace)
    asked_first = traffic_actors(workspace)
    suspects = {one.actor for one in workspace.ledger.find(Suspicion) if one.rung >= 2}

    run_all(again(workspace), fresh=True)

    assert asked_first == set()
    assert suspects
    assert traffic_actors(workspace) == suspects & traffic_names(workspace)


def traffic_actors(workspace):
    scored = workspace.scored(LATER)
    model = next(one for one in scored.models if one.card.detector == "traffic")
    return set(scored.table(model).table(scored.partitions(model))["actor"].to_list())


def traffic_names(workspace):
    scored = workspace.scored(LATER)
    model = next(one for one in scored.models if one.card.detector == "traffic")
    return set(scored.rows(model, scored.measured(model))["actor"].to_list())


def test_an_observation_never_says_more_than_its_verdict_was_proven_to_know(rehearsing):
    run_all(rehearsing)

    for one in rehearsing.ledger.find(Observation):
        assert one.llr <= log(1 / one.fpr) + 1e-9


def test_a_day_whose_verdict_comes_back_counts_again(rehearsing):
    run_all(rehearsing)
    before = rehearsing.ledger.find(Suspicion)
    path = rehearsing.root / "warden.toml"
    settings_then = path.read_text()

    path.write_text(settings_then.replace("watch = 0.2", "watch = 0.21"))
    run_all(again(rehearsing), fresh=True)
    path.write_text(settings_then)
    run_all(again(rehearsing), fresh=True)

    assert again(rehearsing).ledger.find(Suspicion) == before
    assert rehearsing.ledger.find(Decision, step="freeze", undone_at=None)


def test_what_a_person_took_back_after_disarming_comes_back_all_the_same(armed):
    run_all(armed, SOON)
    run_all(armed, SOON + timedelta(minutes=5))
    path = armed.root / "warden.toml"
    path.write_text(path.read_text().replace("armed = true", "armed = false"))
    disarmed = again(armed)
    for one in disarmed.ledger.find(Decision, undone_at=None):
        Responding(disarmed, LATER).undo(one.id, by="Ada", because="we start anew")

    run_all(disarmed, LATER)

    assert {one.state for one in disarmed.ledger.find(Action, verb="do")} == {UNDONE}
    assert {one.state for one in disarmed.ledger.find(Action, verb=UNDO)} == {DONE}


@pytest.mark.parametrize("nobody", ["ladder", " Ladder", ""])
def test_nobody_but_a_person_takes_a_decision_back(rehearsing, nobody):
    run_all(rehearsing)
    one = rehearsing.ledger.find(Decision)[0]

    with pytest.raises(ResponseError, match="which person"):
        Responding(rehearsing, LATER).undo(one.id, by=nobody, because="x")


def test_a_person_may_decide_again_what_was_taken_back_and_is_told_what_was_decided_before(rehearsing):
    run_all(rehearsing)
    responding = Responding(rehearsing, LATER)
    first, _ = responding.by_person("human00", "hold", by="Ada", because="x", span=timedelta(days=1))
    responding.undo(first.id, by="Ada", because="no")

    second, _ = responding.by_person("human00", "hold", by="Ada", because="x, again", span=timedelta(days=1))

    assert rehearsing.ledger.find(Decision, actor="human00", undone_at=None) == [second]
    with pytest.raises(ResponseError, match="just this was decided before"):
        responding.by_person("human00", "hold", by="Ada", because="x, again", span=timedelta(days=1))


def test_what_a_person_rehearsed_is_in_nobodys_way_once_armed(rehearsing):
    run_all(rehearsing)
    frozen = rehearsing.ledger.find(Decision, step="freeze")[0].actor
    Responding(rehearsing, LATER).by_person(frozen, "freeze", by="Ada", because="a try", span=None)
    path = rehearsing.root / "warden.toml"
    path.write_text(settings(armed=True))

    run_all(again(rehearsing), SOON)

    real = again(rehearsing).ledger.find(Decision, actor=frozen, step="freeze", rehearsal=False)
    assert [one.by for one in real] == [LADDER]


def test_protection_lifts_what_the_ladder_decided(rehearsing):
    run_all(rehearsing)
    frozen = rehearsing.ledger.find(Decision, step="freeze")[0].actor

    done("--workspace", rehearsing.root, "protect", frozen, "--for", "9d", "--by", "Ada", "--because", "a streamer")

    standing = rehearsing.ledger.find(Decision, actor=frozen, undone_at=None)
    assert {one.step for one in standing} == {"watch"}


def test_a_list_tells_what_became_of_decisions(armed):
    run_all(armed, SOON)
    run_all(armed, SOON + timedelta(minutes=5))

    listed = json.loads(done("--workspace", armed.root, "decisions", "list", "--json").stdout)

    assert {row["stands"] for row in listed if row["step"] == "freeze"} == {"carried out"}
    told = json.loads(done("--workspace", armed.root, "status", "--json").stdout)["response"]
    assert told["in_game"]["freeze"] == sum(row["step"] == "freeze" for row in listed)


def test_two_workspaces_on_one_ledger_are_refused(rehearsing, made, tmp_path, monkeypatch):
    other = make_workspace(tmp_path / "other", made, settings=settings())
    monkeypatch.setenv("GAMEWARDEN_LEDGER", str(tmp_path / "one.db"))
    Responding(rehearsing, LATER).decide()

    with pytest.raises(LedgerError, match="the ledger of another workspace"):
        Responding(other, LATER).decide()
    assert str(Responding(again(rehearsing), LATER).decide()) == "nothing new"
