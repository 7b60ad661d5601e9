"""What leaves gamewarden, what never does, and how it comes back."""

from dataclasses import replace
from datetime import timedelta

import pytest

from carrying_made_up import ARMED, LATER, NOON, Game, Office, decided, lines_of, log_ways, office, ways
from gamewarden.cases import Action, Protected
from gamewarden.errors import ResponseError
from gamewarden.response.adapters import RefusedError, TryLaterError, Ways
from gamewarden.response.carrying import resume, settle
from gamewarden.response.holders import me
from gamewarden.response.waves import due_of, in_canary


@pytest.fixture
def game() -> Game:
    return Game()


@pytest.fixture
def desk(tmp_path, game) -> Office:
    return office(tmp_path, ways(game))


def test_a_decision_is_carried_out_once_however_often_it_is_tried(tmp_path):
    desk = office(tmp_path)
    desk.decide(decided())
    first, second = desk.carry(), desk.carry()

    assert [one.state for one in first.actions] == ["done"]
    assert second.actions == []
    (line,) = lines_of(tmp_path / "actions.jsonl")
    assert (line["actor"], line["verb"], line["step"], line["key"]) == ("ann", "do", "limit", desk.only().id)


def test_nothing_leaves_unarmed_and_what_was_rehearsed_never_leaves_later(desk, game):
    desk.decide(decided())
    desk.settings = replace(ARMED, armed=False)
    desk.carry()
    desk.settings = ARMED
    desk.carry()

    assert desk.only().state == "rehearsed"
    assert game.effects == []


def test_a_decision_made_in_rehearsal_is_never_carried_out(desk, game):
    desk.decide(decided(rehearsal=True))
    desk.carry()

    assert desk.only().state == "rehearsed"
    assert game.effects == []


def test_what_has_begun_when_it_is_disarmed_is_a_persons_to_look_at(desk, game):
    game.fails = [TryLaterError("the server is away")]
    desk.decide(decided())
    desk.carry()
    desk.settings = replace(ARMED, armed=False)
    desk.carry(LATER + timedelta(hours=2))

    assert desk.only().state == "uncertain"
    assert "armed is false" in desk.only().error
    assert game.effects == []


def test_the_way_back_of_what_left_is_open_when_it_is_disarmed(desk, game):
    wrong = decided()
    desk.decide(wrong)
    desk.carry()
    desk.undo(wrong)
    desk.settings = replace(ARMED, armed=False)
    desk.carry()

    assert game.effects == [("do", "ann"), ("undo", "ann")]


def test_outside_the_canary_share_it_is_rehearsed(desk, game):
    desk.settings = replace(ARMED, canary=0.5)
    desk.decide(*(decided(f"a{number}") for number in range(100)))
    desk.carry()
    secret = desk.book.secret(NOON, "test")
    chosen = {f"a{number}" for number in range(100) if in_canary(f"a{number}", 0.5, secret)}

    assert {actor for _, actor in game.effects} == chosen
    assert 25 < len(chosen) < 75
    assert all(in_canary(actor, 0.8, secret) for actor in chosen)


@pytest.mark.parametrize(("ends", "state"), [(timedelta(hours=1), "cancelled"), (-timedelta(hours=1), "done")])
def test_a_protected_account_is_not_touched_until_protection_ends(desk, ends, state):
    desk.decide(decided())
    with desk.ledger.writing("eve", NOON) as work:
        work.add([Protected("ann", LATER + ends, "eve", "a tester", NOON)])
    desk.carry()

    assert desk.only().state == state


@pytest.mark.parametrize("step", ["hold", "suspend", "ban"])
def test_a_sanction_without_a_person_never_leaves(desk, game, step):
    desk.decide(decided(step=step))
    desk.carry()

    assert desk.only().state == "cancelled"
    assert "only a person" in desk.only().error
    assert game.effects == []


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({}, "waiting"),
        ({"approved_by": "eve"}, "waiting"),
        ({"approved_by": "ladder"}, "waiting"),
        ({"approved_by": "bob"}, "done"),
        ({"approved_by": "bob", "waits_for": "approval"}, "waiting"),
    ],
)
def test_a_permanent_ban_waits_for_a_second_person(desk, values, state):
    desk.decide(decided(step="ban", by="eve", until=None, **values))
    desk.carry()

    assert desk.only().state == state


@pytest.mark.parametrize("step", ["ban", "suspend"])
@pytest.mark.parametrize(
    ("days", "values", "state"),
    [
        (30, {}, "done"),
        (31, {}, "waiting"),
        (3650, {"approved_by": "eve"}, "waiting"),
        (3650, {"approved_by": "bob"}, "done"),
    ],
)
def test_a_long_ban_or_suspension_waits_for_a_second_person(desk, step, days, values, state):
    desk.decide(decided(step=step, by="eve", until=NOON + timedelta(days=days), **values))
    desk.carry()

    assert desk.only().state == state
    why = f"a {step} for longer than 30d waits for a second person who approves it"
    assert state == "done" or desk.only().error == why


def test_an_action_that_says_something_else_than_its_decision_stops(desk, game):
    (action,) = desk.decide(decided())
    with desk.ledger.writing("test", NOON) as work:
        work.change(action, replace(action, step="freeze"))
    desk.carry()

    assert desk.only().state == "stopped"
    assert game.effects == []


def test_a_step_that_no_adapter_takes_waits_and_says_so(tmp_path):
    desk = office(tmp_path, Ways({}))
    desk.decide(decided())
    carried = desk.carry()

    assert desk.only().state == "waiting"
    assert "[[response.adapter]]" in desk.only().error
    assert carried.held
    desk.ways = Ways({}, missing={"hook": "hook: GAMEWARDEN_WEBHOOK_SECRET is not set"})
    desk.decide(decided("bob"))
    desk.carry()
    assert "hook: GAMEWARDEN_WEBHOOK_SECRET is not set" in {one.error for one in desk.ledger.find(Action)}


def test_more_actions_in_an_hour_than_allowed_stop_the_rest_until_a_person_resumes(desk, game):
    desk.settings = replace(ARMED, actions_per_hour=5)
    desk.decide(*(decided(f"a{number}") for number in range(12)))
    carried = desk.carry()
    desk.carry(LATER + timedelta(hours=5))

    assert carried.halted is not None
    assert len(game.effects) == 5
    assert "actions_per_hour" in resume(desk.book, "eve", LATER + timedelta(hours=6))
    desk.carry(LATER + timedelta(hours=6))
    assert len(game.effects) == 10
    with pytest.raises(ResponseError, match="no person"):
        resume(desk.book, "ladder", LATER)


def test_the_way_back_is_open_while_a_breaker_holds(desk, game):
    desk.settings = replace(ARMED, actions_per_hour=2)
    decisions = [decided(f"a{number}") for number in range(4)]
    desk.decide(*decisions)
    desk.carry()
    for one in decisions:
        desk.undo(one)
    desk.carry()

    assert sorted(verb for verb, _ in game.effects) == ["do", "do", "undo", "undo"]
    assert not any(game.values.values())


def test_where_people_take_back_too_much_no_more_follows(desk, game):
    desk.settings = replace(ARMED, overturned_of=4, overturned_most=0.25)
    decisions = [decided(f"a{number}") for number in range(4)]
    desk.decide(*decisions)
    desk.carry()
    for one in decisions[:2]:
        desk.undo(one)
    desk.decide(decided("late"))
    carried = desk.carry(LATER + timedelta(minutes=5))

    assert "taken back" in carried.halted
    assert ("do", "late") not in game.effects


def test_a_step_is_lifted_once_its_time_is_over(desk, game):
    desk.decide(decided(until=LATER + timedelta(hours=1)))
    desk.carry()
    desk.carry(LATER + timedelta(hours=1))

    assert game.effects == [("do", "ann"), ("undo", "ann")]
    assert sorted(desk.states().values()) == ["done", "undone"]


def test_what_is_over_before_its_wave_never_leaves(desk, game):
    desk.decide(decided(until=NOON + timedelta(minutes=1)))
    desk.carry()

    assert desk.only().state == "cancelled"
    assert game.effects == []


def test_a_failure_is_tried_again_later_and_longer_each_time_then_a_person_is_asked(desk, game):
    game.fails = [TryLaterError("away")] * 3
    desk.decide(decided())
    waits, now = [], LATER
    for _ in range(3):
        desk.carry(now)
        waits.append(desk.only().due - now)
        assert desk.carry(now).actions == []
        now = desk.only().due + timedelta(seconds=1)

    assert waits[1] > waits[0]
    assert desk.only().state == "stopped"
    assert "tried 3 times" in desk.only().error
    settle(desk.book, desk.only().id, "eve", now, happened=False)
    desk.carry(now)
    assert desk.only().state == "done"


def test_what_is_refused_is_not_tried_again(desk, game):
    game.fails = [RefusedError("no such account")]
    desk.decide(decided())
    desk.carry()
    desk.carry(LATER + timedelta(days=1))

    assert desk.only().state == "stopped"
    desk.undo(decided())
    desk.carry(LATER + timedelta(days=1))
    assert game.effects == []  # nor is there anything to take back


def test_an_unsure_adapter_that_fails_is_asked_about_and_not_again(desk, game):
    game.sure, game.fails = False, [TryLaterError("it ended with 1")]
    desk.decide(decided())
    desk.carry()
    desk.carry(LATER + timedelta(days=1))

    assert desk.only().state == "uncertain"
    assert game.effects == []
    settle(desk.book, desk.only().id, "eve", LATER, happened=True)
    assert desk.only().state == "done"


def test_taking_back_an_earlier_step_beneath_a_later_one_keeps_the_later_one(desk, game):
    game.values["ann", "state"] = "free"
    hold = decided(step="hold", by="eve")
    ban = decided(step="ban", by="eve", at=NOON + timedelta(minutes=1))
    desk.decide(hold)
    desk.carry()
    desk.decide(ban)
    desk.carry()
    held = dict(game.values)
    desk.undo(hold)
    desk.carry()

    assert game.values == held
    desk.undo(ban)
    desk.carry()
    assert game.values["ann", "state"] == "free"


def test_a_wave_leaves_together_whenever_in_it_the_evidence_came():
    secret = bytes(32)
    dues = {due_of(decided(at=NOON + timedelta(seconds=one)), ARMED, secret) for one in range(0, 3600, 60)}

    assert len(dues) == 2
    assert all(due > NOON for due in dues)
    assert dues != {due_of(decided(at=NOON + timedelta(seconds=one)), ARMED, b"1" * 32) for one in range(0, 3600, 60)}


def test_a_challenge_is_not_kept_waiting():
    due = due_of(decided(step="challenge"), ARMED, bytes(32))

    assert timedelta(0) <= due - NOON < timedelta(minutes=1)


def test_a_carrier_that_lives_keeps_what_it_has_begun(desk, game):
    desk.decide(decided())
    Office(desk.ledger, desk.ways).carry()
    with desk.ledger.writing("test", LATER) as work:
        done = desk.only()
        work.change(done, replace(done, state="begun", receipt={"holder": me()}))
    carried = desk.carry(LATER + timedelta(minutes=1))

    assert [why for _, why in carried.held] == ["another process carries it out"]
    desk.carry(LATER + timedelta(hours=1))
    assert desk.only().state == "done"
    assert len(game.effects) == 1


def test_log_ways_take_every_step_that_leaves(tmp_path):
    assert set(log_ways(tmp_path).adapters["log"].steps) == {
        "limit", "challenge", "freeze", "isolate", "hold", "suspend", "ban",
    }  # fmt: skip


def test_what_a_rehearsal_decides_is_written_as_rehearsed_at_once(desk):
    (action,) = desk.decide(decided(rehearsal=True))

    assert (action.state, action.error) == ("rehearsed", "the decision was made in rehearsal")
    assert desk.carry().actions == []


def test_the_last_step_does_not_trust_what_was_written_before(desk, game):
    (action,) = desk.decide(decided(rehearsal=True))
    with desk.ledger.writing("test", NOON) as work:
        work.change(action, replace(action, state="waiting"))
    desk.carry()

    assert desk.only().state == "rehearsed"
    assert game.effects == []


def test_steps_on_the_same_thing_leave_one_after_the_other(desk, game):
    hold, ban = decided(step="hold", by="eve"), decided(step="ban", by="eve", at=NOON + timedelta(minutes=1))
    other = decided(step="limit")
    desk.decide(hold)
    game.fails = [TryLaterError("away")]
    desk.carry()
    desk.decide(ban, other)
    carried = desk.carry()

    assert desk.states() == {f"do {hold.id}": "failed", f"do {ban.id}": "waiting", f"do {other.id}": "done"}
    assert [why for _, why in carried.held if "comes first" in why]
    desk.carry(LATER + timedelta(hours=1))
    desk.carry(LATER + timedelta(hours=1))
    assert set(desk.states().values()) == {"done"}
    assert game.values["ann", "state"].startswith("ban")


def test_what_is_taken_back_waits_for_a_later_step_that_is_on_its_way(desk, game):
    hold, ban = decided(step="hold", by="eve"), decided(step="ban", by="eve", at=NOON + timedelta(minutes=1))
    desk.decide(hold)
    desk.carry()
    (begun,) = desk.decide(ban)
    with desk.ledger.writing("test", LATER) as work:
        work.change(begun, replace(begun, state="begun", receipt={"holder": me()}, changed=LATER))
    desk.undo(hold)
    carried = desk.carry()

    (why,) = [why for one, why in carried.held if one.verb == "undo"]
    assert why == f"action {begun.id} on the same account comes first"
    assert game.effects == [("do", "ann")]
