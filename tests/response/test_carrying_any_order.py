"""In whatever order things happen: rehearsal has no effect, all has a way back, and a mad model is stopped."""

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from carrying_made_up import ARMED, NOON, Game, decided, office, ways
from gamewarden.cases import Action, Decision, Protected
from gamewarden.policy import SANCTIONS
from gamewarden.response.adapters import RefusedError, TryLaterError
from gamewarden.response.carrying import resume, settle

ACTORS = ("ann", "bob")
STEPS = ("limit", "freeze", "hold", "suspend", "ban")
IN_MEMORY = "/dev/shm"  # noqa: S108  what is thrown away anyway need not reach a disk


class SteppedGame(Game):
    """A game that fails in the ways adapters may, before or after the effect."""

    def carry(self, action):
        trouble = self.fails.pop(0) if self.fails else None
        if trouble is not None and trouble != "after":
            raise trouble
        receipt = super().carry(action)
        if trouble == "after":
            raise TryLaterError("the answer was lost")
        return receipt


class AnyOrder(RuleBasedStateMachine):
    """Decisions, failures, arming, breakers, people and time, in any order."""

    @initialize()
    def begin(self):
        self.root = Path(mkdtemp(dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None))
        self.game, self.now, self.count = SteppedGame(), NOON, 0
        self.limit = 6
        self.game.values = {("ann", "state"): "born", ("bob", "limit"): "noted"}
        self.begun_with = dict(self.game.values)
        self.desk = office(self.root, ways(self.game), replace(ARMED, actions_per_hour=self.limit, wave="10m"))

    def teardown(self):
        if hasattr(self, "desk"):
            self.desk.ledger.close()
            shutil.rmtree(self.root)

    @rule(
        actor=st.sampled_from(ACTORS),
        step=st.sampled_from(STEPS),
        by=st.sampled_from(["ladder", "eve"]),
        days=st.sampled_from([1, 7, None]),
        rehearsal=st.booleans(),
        approved=st.sampled_from([None, "bob"]),
    )
    def decide(self, actor, step, by, days, rehearsal, approved):  # noqa: PLR0917  rules take what they draw
        self.count += 1
        at = self.now + timedelta(microseconds=self.count)
        until = None if days is None else at + timedelta(days=days)
        one = decided(actor, step, by, at=at, until=until, rehearsal=rehearsal, approved_by=approved)
        self.desk.decide(one, at=at)

    @rule(minutes=st.sampled_from([1, 20, 90, 60 * 30]))
    def carry(self, minutes):
        self.now += timedelta(minutes=minutes)
        self.desk.carry(self.now)

    @rule(armed=st.booleans(), canary=st.sampled_from([0.0, 1.0]))
    def arm(self, armed, canary):
        self.desk.settings = replace(self.desk.settings, armed=armed, canary=canary)

    @rule(how=st.sampled_from(["refused", "later", "after"]))
    def break_down(self, how):
        errors = {"refused": RefusedError("no"), "later": TryLaterError("not now"), "after": "after"}
        self.game.fails.append(errors[how])

    @rule(actor=st.sampled_from(ACTORS), hours=st.integers(-1, 30))
    def protect(self, actor, hours):
        with self.desk.ledger.writing("eve", self.now) as work:
            work.put([Protected(actor, self.now + timedelta(hours=hours), "eve", "a friend", self.now)])

    @precondition(lambda self: self.count)
    @rule(data=st.data())
    def take_back(self, data):
        standing = self.desk.ledger.find(Decision, undone_at=None)
        if standing:
            self.desk.undo(data.draw(st.sampled_from(standing)), at=self.now)

    @rule()
    def resume(self):
        resume(self.desk.book, "eve", self.now)

    @invariant()
    def no_rehearsal_no_machines_sanction_and_no_second_time(self):
        if not hasattr(self, "desk"):
            return
        left = [one for one in self.desk.ledger.find(Action) if one.id in self.game.known]
        decisions = {one.id: one for one in self.desk.ledger.find(Decision)}
        assert not any(decisions[one.decision].rehearsal for one in left)
        assert not any(decisions[one.decision].by == "ladder" and one.step in SANCTIONS for one in left)
        assert not any(one.state in {"rehearsed", "cancelled", "waiting"} for one in left)
        assert len(self.game.effects) == len(self.game.known)

    @invariant()
    def what_waits_for_a_person_is_never_lost(self):
        if hasattr(self, "desk"):
            assert not [one for one in self.desk.ledger.find(Action) if one.state == "begun"]

    @rule()
    def all_of_it_has_a_way_back(self):
        """Whatever was carried out, taking all of it back restores exactly what was there."""
        self.game.fails = []
        for one in self.desk.ledger.find(Decision, undone_at=None):
            self.desk.undo(one, at=self.now)
        for _ in range(3):
            self.now += timedelta(hours=2)
            self.desk.carry(self.now)
            for action in self.desk.ledger.find(Action, state=("uncertain", "stopped"), verb="undo"):
                settle(self.desk.book, action.id, "eve", self.now, happened=False)
        there = {key: value for key, value in self.game.values.items() if value is not None}

        assert there == self.begun_with


AnyOrder.TestCase.settings = settings(stateful_step_count=20)
TestAnyOrder = AnyOrder.TestCase


@settings(max_examples=settings.default.max_examples * 15 // 25)
@given(limit=st.integers(0, 12), waves=st.lists(st.integers(1, 9), min_size=1, max_size=4), fails=st.integers(0, 3))
def test_a_model_gone_mad_is_stopped_after_exactly_as_many_actions_as_the_breaker_says(limit, waves, fails):
    root = Path(mkdtemp(dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None))
    game = Game(fails=[TryLaterError("away")] * fails)
    desk = office(root, ways(game), replace(ARMED, actions_per_hour=limit, wave="1m"))
    for number, size in enumerate(waves):
        at = NOON + timedelta(minutes=number)
        desk.decide(*(decided(f"a{number}-{one}", at=at) for one in range(size)), at=at)
    for minutes in (10, 11, 20):
        carried = desk.carry(NOON + timedelta(minutes=minutes))
    tried = [one for one in desk.ledger.find(Action) if one.attempts]
    desk.ledger.close()
    shutil.rmtree(root)

    assert len(tried) == min(limit, sum(waves))
    assert {actor for _, actor in game.effects} <= {one.actor for one in tried}
    assert fails or len(game.effects) == len(tried)
    assert (carried.halted is not None) == (sum(waves) > limit)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1)])
def test_three_that_overlap_are_taken_back_in_any_order(tmp_path, order):
    game = Game(values={("ann", "state"): "born"})
    desk = office(tmp_path, ways(game), replace(ARMED, wave="1m"))
    moments = [NOON + timedelta(minutes=minutes) for minutes in (0, 5, 10)]
    steps = ("hold", "ban", "hold")
    decisions = [decided("ann", step, "eve", at=at) for step, at in zip(steps, moments, strict=True)]
    for one in decisions:
        desk.decide(one, at=one.at)
        desk.carry(one.at + timedelta(minutes=4))
    for number in order:
        desk.undo(decisions[number], at=NOON + timedelta(hours=1))
        desk.carry(NOON + timedelta(hours=1))

    assert game.values["ann", "state"] == "born"
    assert [verb for verb, _ in game.effects].count("do") == 3
