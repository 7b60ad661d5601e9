"""The policy at the desk: the ladder in words, what leaves, what is stopped, and what it would have done."""

from dataclasses import replace

import pytest

from desk_acts import WEEK
from desk_jobs import finished
from desks_made_up import judge, make_desk, suspect
from gamewarden.cases import UNCERTAIN, WAITING, Action
from gamewarden.desk.acts import act, resume_all, settle_one
from gamewarden.desk.jobs import READY
from gamewarden.desk.policy import begin_rehearsal, policy, troubles
from gamewarden.errors import ResponseError
from gamewarden.response.ladder import Ladder
from gamewarden.workspace.carrying_book import LedgerBook
from gamewarden.workspace.responding import Responding


@pytest.fixture
def desk(tmp_path):
    return suspect(make_desk(tmp_path / "ws", armed=True), "ann", "bea")


def freeze(desk, *actors):
    return act(desk, actors, "freeze", by="Ada", because="a farm", span=WEEK)


def test_the_ladder_is_told_in_words_and_nothing_above_watching_without_evidence(tmp_path):
    view = policy(make_desk(tmp_path / "ws"))

    assert [one.name for one in view.rungs] == ["review", "watched", "suspect", "tested", "frozen"]
    assert any("the 20 most suspicious accounts a day" in line for line in view.rungs[0].words)
    assert any("looking harms nobody" in line for line in view.rungs[1].words)
    assert all(any("of evidence must agree" in line for line in one.words) for one in view.rungs[2:])
    assert any("at most 7 days in all until a person has looked" in line for line in view.rungs[4].words)
    assert not view.armed
    assert "armed = true" in view.how_to_arm
    assert set(view.sanctions) == {"hold", "suspend", "ban"}


def test_actions_on_their_way_and_adapters_are_shown(desk):
    freeze(desk, "ann", "bea")

    view = policy(desk)

    assert (view.on_their_way, {one.actor for one in view.actions}) == (2, {"ann", "bea"})
    (adapter,) = view.adapters
    assert (adapter.name, adapter.states, adapter.missing) == ("log", {WAITING: 2}, None)
    assert troubles(view) == []


def test_a_breaker_that_stopped_everything_is_said_and_resumed_by_a_person(desk):
    with pytest.raises(ResponseError, match="nothing is stopped"):
        resume_all(desk, by="Oda")
    with LedgerBook(desk.workspace.ledger).turning(desk.now(), "carrier") as page:
        page.halt("20 actions went out within an hour")

    assert "20 actions" in policy(desk).breaker.halted
    assert "20 actions" in troubles(policy(desk))[0]
    resume_all(desk, by="Oda")
    assert policy(desk).breaker.halted is None
    assert policy(desk).breaker.resumed == desk.now()


def test_an_action_that_nobody_knows_the_end_of_is_settled_by_a_person(desk):
    freeze(desk, "ann")
    (action,) = desk.workspace.ledger.find(Action)
    with desk.workspace.ledger.writing("test", desk.now()) as work:
        work.change(action, replace(action, state=UNCERTAIN, error="the line broke"))
    assert [one.asks for one in policy(desk).actions] == [True]

    says = settle_one(desk, action.id, happened=True, by="Ada")

    assert "done" in says
    assert policy(desk).actions == ()


def test_what_left_within_the_hour_is_counted(desk):
    freeze(desk, "ann", "bea")
    later = desk.later(minutes=1)
    Responding(later.workspace, later.now()).carry()

    assert policy(later).breaker.left == 2
    assert policy(later.later(hours=2)).breaker.left == 0


def test_a_rehearsal_is_made_beside_the_page_and_kept(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {"ann": (0.99, "act"), "bea": 0.01})
    assert policy(desk).rehearsal is None

    begin_rehearsal(desk)
    finished(desk, "rehearsal", (Ladder.of(desk.workspace.config).digest, str(desk.workspace.results)))

    view = policy(desk)
    assert view.rehearsal == READY, view.rehearsal_error
    assert any("1 day" in line for line in view.rehearsed.sentences)
    assert view.rehearsed.tables[0].title == "steps"
