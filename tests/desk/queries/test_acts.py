"""Acts at the desk: all or nothing, with some time to think it over, and a way back that leaves things as they were."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from desk_acts import WEEK
from desks_made_up import make_desk, suspect
from gamewarden.cases import CANCELLED, DO, DONE, LADDER, UNDO, WAITING, Action, AuditLine, Decision, Exonerated
from gamewarden.desk import acts
from gamewarden.desk.acts import Chosen, act, approve_one, chosen_actors, preview, protect_one, undo, undo_one
from gamewarden.desk.decisions import ACTIVE, ENDED, PENDING, REHEARSED, decisions
from gamewarden.desk_records import ActBatch, Note
from gamewarden.errors import NotThereError, ResponseError
from gamewarden.workspace.responding import Responding


@pytest.fixture
def desk(tmp_path):
    return suspect(make_desk(tmp_path / "ws", armed=True), "ann", "bea", "cy")


@pytest.fixture
def rehearsing(tmp_path):
    return suspect(make_desk(tmp_path / "ws"), "ann", "bea")


def lines_of(desk):
    path = desk.workspace.root / "actions.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def carry(desk):
    return Responding(desk.workspace, desk.now()).carry()


def freeze(desk, *actors):
    return act(desk, actors, "freeze", by="Ada", because="a farm", span=WEEK)


def test_many_accounts_are_decided_about_at_once(desk):
    made = freeze(desk, "ann", "bea", "cy")

    (batch,) = desk.workspace.ledger.find(ActBatch)
    found = desk.workspace.ledger.find(Decision)
    assert (made.accounts, made.batch) == (3, batch.id)
    assert {one.actor for one in found} == {"ann", "bea", "cy"}
    assert set(batch.decisions) == {one.id for one in found}
    assert batch.undo_until == desk.now() + timedelta(seconds=30)


def test_nothing_leaves_before_the_grace_is_over(desk):
    freeze(desk, "ann", "bea")

    carry(desk.later(seconds=29))
    early = lines_of(desk)
    carry(desk.later(seconds=31))

    assert early == []
    assert {line["actor"] for line in lines_of(desk)} == {"ann", "bea"}


def test_what_is_undone_within_the_grace_never_leaves(desk):
    made = freeze(desk, "ann", "bea")

    back = undo(desk.later(seconds=5), made.batch, by="Ada")
    carry(desk.later(seconds=60))

    assert (back.decisions, back.cancelled, back.on_their_way_back) == (2, 2, 0)
    assert lines_of(desk) == []
    assert {one.state for one in desk.workspace.ledger.find(Action)} == {CANCELLED}
    assert all(one.undone_by == "Ada" for one in desk.workspace.ledger.find(Decision))


def test_what_is_undone_after_it_left_goes_back(desk):
    made = freeze(desk, "ann", "bea")
    carry(desk.later(seconds=40))

    back = undo(desk.later(minutes=2), made.batch, by="Ben")
    carry(desk.later(minutes=3))

    assert back.on_their_way_back == 2
    assert sorted((line["verb"], line["actor"]) for line in lines_of(desk)) == [
        ("do", "ann"), ("do", "bea"), ("undo", "ann"), ("undo", "bea"),
    ]  # fmt: skip
    assert {one.state for one in desk.workspace.ledger.find(Action, verb=UNDO)} == {DONE}


def test_an_act_is_undone_once(desk):
    made = freeze(desk, "ann")
    undo(desk, made.batch, by="Ada")

    with pytest.raises(ResponseError, match="already"):
        undo(desk, made.batch, by="Ben")
    with pytest.raises(NotThereError):
        undo(desk, "no such", by="Ben")


def test_two_people_who_undo_at_once_undo_once(desk):
    made = freeze(desk, "ann", "bea", "cy")

    def try_it(who):
        try:
            return undo(desk, made.batch, by=who).decisions
        except ResponseError:
            return "too late"

    with ThreadPoolExecutor(2) as people:
        told = list(people.map(try_it, ["Ada", "Ben"]))

    assert sorted(map(str, told)) == ["3", "too late"]


def test_two_people_who_decide_at_once_are_both_heard(desk):
    with ThreadPoolExecutor(2) as people:
        made = list(
            people.map(lambda who: act(desk, ["ann"], "freeze", by=who, because="a farm", span=WEEK), ["Ada", "Ben"])
        )

    assert {one.accounts for one in made} == {1}
    assert {one.by for one in desk.workspace.ledger.find(Decision)} == {"Ada", "Ben"}
    assert list(desk.workspace.ledger.audit_faults()) == []


def test_whoever_is_killed_between_has_done_nothing(desk, monkeypatch):
    def killed(*_args, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(acts, "_keep", killed)
    with pytest.raises(KeyboardInterrupt):
        freeze(desk, "ann", "bea")

    ledger = desk.workspace.ledger
    assert ledger.find(Decision) == ledger.find(Action) == ledger.find(ActBatch) == []


def test_a_query_that_finds_another_number_than_was_seen_does_nothing():
    def matching(query):
        return ["ann", "bea"] if query == "zone=mine" else []

    assert chosen_actors(Chosen(query="zone=mine", expected=2), matching) == ("ann", "bea")
    with pytest.raises(ResponseError, match="2 accounts match now and 3 were seen; nothing was done"):
        chosen_actors(Chosen(query="zone=mine", expected=3), matching)
    with pytest.raises(ResponseError, match="no number were seen"):
        chosen_actors(Chosen(query="zone=mine"), matching)
    with pytest.raises(ResponseError, match="no account"):
        chosen_actors(Chosen(), matching)


def test_a_query_that_finds_as_many_others_as_were_seen_does_nothing():
    seen = Chosen(query="zone=mine", expected=2, seen=acts.names_of(["bea", "ann"]))

    assert chosen_actors(seen, lambda _query: ["ann", "bea"]) == ("ann", "bea")
    with pytest.raises(ResponseError, match="other accounts match now"):
        chosen_actors(seen, lambda _query: ["ann", "cy"])


def test_what_speaks_against_a_step_is_told_before_and_kept(desk):
    protect_one(desk, "ann", span=WEEK, by="Ben", because="a streamer")

    before = preview(desk, ["ann", "bea", "zoe"], "freeze", by="Ada")
    made = act(desk, ["ann", "bea", "zoe"], "freeze", by="Ada", because="all of them", span=WEEK)

    assert before.warned == {"protected": 1, "unknown": 1, "evidence": 1}
    assert any("a streamer" in one.says for one in before.warnings if one.actor == "ann")
    kept = desk.workspace.ledger.find(AuditLine, what="warned")
    assert made.warned == 2
    assert {one.new["actor"] for one in kept} == {"ann", "zoe"}


def test_looking_at_what_would_happen_writes_nothing(desk):
    head = desk.workspace.ledger.head

    preview(desk, ["ann", "bea"], "ban", by="Ada")

    assert desk.workspace.ledger.head == head


def test_a_ban_for_ten_years_waits_for_a_second_person(desk):
    years = timedelta(days=3650)

    assert preview(desk, ["ann"], "ban", by="Ada", span=years).needs_second
    assert not preview(desk, ["ann"], "ban", by="Ada", span=timedelta(days=30)).needs_second
    assert act(desk, ["ann"], "ban", by="Ada", because="a farm", span=years).waits == 1
    carry(desk.later(minutes=5))
    assert lines_of(desk) == []


def test_a_permanent_ban_of_many_waits_for_a_second_person(desk):
    assert preview(desk, ["ann"], "ban", by="Ada").needs_second
    made = act(desk, ["ann", "bea"], "ban", by="Ada", because="a farm")
    carry(desk.later(minutes=5))
    found = desk.workspace.ledger.find(Decision, order=("actor",))

    with pytest.raises(ResponseError, match="two people"):
        approve_one(desk, found[0].id, by="Ada")
    approve_one(desk, found[0].id, by="Ben")
    carry(desk.later(seconds=20))
    early = lines_of(desk)
    carry(desk.later(minutes=5))

    assert made.waits == 2
    assert early == []
    assert [line["actor"] for line in lines_of(desk)] == [found[0].actor]


def test_a_rehearsal_says_so_and_nothing_leaves(rehearsing):
    assert preview(rehearsing, ["ann"], "freeze", by="Ada").rehearsal
    made = freeze(rehearsing, "ann", "bea")
    carry(rehearsing.later(hours=5))

    assert made.rehearsal
    assert "rehearsal" in made.says
    assert lines_of(rehearsing) == []
    assert decisions(rehearsing, REHEARSED).counts[REHEARSED] == 2


def ladder_freezes(desk, actor):
    """What the ladder decided, on its way."""
    at = desk.now()
    made = Decision(
        f"d-{actor}", actor, at, "freeze", 3, at + WEEK, ("suspicion",), (f"{actor}/1",), "l1", LADDER, rehearsal=False
    )
    with desk.workspace.ledger.writing(LADDER, at) as work:
        work.add([made])
        Responding(desk.workspace, at).settling.send(work, [made])
    return made


def test_dismissing_takes_back_what_the_ladder_decided_and_undoing_that_restores_it_exactly(desk):
    ladder_freezes(desk, "ann")
    ledger = desk.workspace.ledger
    before = ledger.find(Decision), ledger.find(Action)

    made = act(desk, ["ann", "bea"], acts.DISMISS, by="Ada", because="a known streamer")
    between = ledger.find(Decision)[0].undone_by, {one.state for one in ledger.find(Action)}
    undo(desk.later(seconds=3), made.batch, by="Ada")

    assert between == ("Ada", {CANCELLED})
    assert (ledger.find(Decision), ledger.find(Action)) == before
    assert {one.actor for one in ledger.find(Note)} == {"ann", "bea"}


def test_dismissing_waits_with_the_way_back_until_the_grace_is_over(desk):
    ladder_freezes(desk, "ann")
    carry(desk.later(minutes=1))
    ledger = desk.workspace.ledger
    before = ledger.find(Decision), ledger.find(Action)

    made = act(desk.later(minutes=2), ["ann"], acts.DISMISS, by="Ada", because="a known streamer")
    carry(desk.later(minutes=2, seconds=10))
    undo(desk.later(minutes=2, seconds=20), made.batch, by="Ada")
    carry(desk.later(minutes=9))

    assert [line["verb"] for line in lines_of(desk)] == ["do"]
    assert (ledger.find(Decision), ledger.find(Action)) == before


def test_what_an_appeal_has_cleared_since_does_not_stand_again_when_a_dismissal_is_undone(desk):
    ladder_freezes(desk, "ann")
    ladder_freezes(desk, "bea")
    made = act(desk, ["ann", "bea"], acts.DISMISS, by="Ada", because="a known streamer")
    at = desk.now() + timedelta(minutes=1)
    with desk.workspace.ledger.writing("Ben", at) as work:
        work.add([Exonerated("ann", None, None, ("ann/1",), "appeal-1", at)])

    back = undo(desk.later(minutes=2), made.batch, by="Ada")

    assert back.decisions == 1
    assert {one.actor for one in desk.workspace.ledger.find(Decision, undone_at=None)} == {"bea"}


def test_decisions_stand_under_the_tab_they_belong_to(desk):
    freeze(desk, "ann", "bea")
    act(desk, ["cy"], "ban", by="Ada", because="a farm")
    carry(desk.later(minutes=1))
    undo_one(desk, next(one.id for one in desk.workspace.ledger.find(Decision, actor="bea")), by="Ben", because="no")

    told = decisions(desk, ACTIVE)

    assert told.counts == {PENDING: 1, ACTIVE: 2, REHEARSED: 0, ENDED: 1}
    assert [(one.actor, one.stands) for one in told.rows if one.step == "freeze"] == [("ann", "carried out")]
    assert [one.actor for one in decisions(desk, PENDING).rows if one.needs_second] == ["cy"]
    assert [one.undone_because for one in decisions(desk, ENDED).rows] == ["no"]
    assert decisions(desk, ACTIVE, actor="nobody").rows == ()
    with pytest.raises(NotThereError):
        decisions(desk, "all")


def test_a_long_list_of_decisions_goes_on_without_a_gap(desk):
    act(desk, [f"a{number:03}" for number in range(120)], "watch", by="Ada", because="a list", span=WEEK)

    seen, after = [], ""
    while True:
        page = decisions(desk, ACTIVE, after=after)
        seen += [one.actor for one in page.rows]
        if page.next is None:
            break
        after = page.next

    assert len(seen) == len(set(seen)) == 120


def test_a_reason_a_person_and_a_known_step_are_needed(desk):
    for step, because in (("freeze", " "), ("explode", "why not")):
        with pytest.raises(ResponseError):
            act(desk, ["ann"], step, by="Ada", because=because)
    with pytest.raises(ResponseError):
        act(desk, ["ann"], "freeze", by=LADDER, because="x")
    assert desk.workspace.ledger.find(Decision) == []


def test_just_what_was_decided_before_is_not_decided_again(rehearsing):
    freeze(rehearsing, "ann")

    made = freeze(rehearsing, "ann", "bea")

    assert (made.accounts, made.left_out) == (1, 1)
    with pytest.raises(ResponseError, match="just this"):
        freeze(rehearsing, "ann", "bea")


def test_what_was_taken_back_can_be_decided_again_for_the_same_reason(rehearsing):
    undo(rehearsing, freeze(rehearsing, "ann").batch, by="Ada")
    undo(rehearsing, freeze(rehearsing, "ann").batch, by="Ada")
    again = freeze(rehearsing, "ann")

    standing = rehearsing.workspace.ledger.find(Decision, undone_at=None, by="Ada")
    assert again.accounts == 1
    assert [one.actor for one in standing] == ["ann"]
    assert len(rehearsing.workspace.ledger.find(Decision, by="Ada")) == 3


def test_actions_of_an_act_wait_under_their_decision(desk):
    freeze(desk, "ann")

    (one,) = decisions(desk, PENDING).rows
    (action,) = desk.workspace.ledger.find(Action, verb=DO)

    assert (one.stands, one.leaves) == ("waits", action.due)
    assert action == replace(action, state=WAITING)
