"""What is over and old goes from a ledger; what is in force, waits for somebody or carries what stays does not."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import cases
from gamewarden.cases import (
    Action,
    Appeal,
    AuditLine,
    Challenge,
    Decision,
    Exonerated,
    IndexedVerdict,
    NotTaken,
    Observation,
    Protected,
    Suspicion,
)
from gamewarden.desk_records import ActBatch, LoginFailure, LoginSession, Note, Review
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.store.ledger.tidying import tidy
from ledgers_made_up import AT, action, appeal, challenge, decision, observation, rows_in

BEFORE, NOW = AT + timedelta(days=60), AT + timedelta(days=150)
LONG_AGO, RECENT, TO_COME = AT, NOW - timedelta(days=1), NOW + timedelta(days=1)


@pytest.fixture
def old(ledger):
    """A ledger with an old case of somebody, all of it over."""
    with ledger.writing(cases.LADDER, AT) as work:
        work.add([observation(1), observation(2, kind=cases.CHALLENGE, ref="c1")])
        work.add([decision(1)])
        work.add([action(1, state=cases.UNDONE), action("1-undo", decision="d1", verb=cases.UNDO, state=cases.DONE)])
        work.add([challenge(1)])
        work.add([appeal(1, outcome=cases.UPHELD)])
        work.add([IndexedVerdict("v1", "anna", AT, AT, "2026-03-01", "b1", 0.9, 0.01, None)])
        work.add([NotTaken("anna", AT, "ban", "too little", "ladder")])
        work.put([Suspicion("anna", 1.0, 1, AT, AT)])
    return ledger


def add(ledger, *records):
    with ledger.writing("test", NOW) as work:
        for one in records:
            work.put([one])


def test_an_old_case_that_is_over_goes_and_the_audit_says_so(old):
    counts = tidy(old, BEFORE, NOW)

    assert counts == {
        "decisions": 1,
        "actions": 2,
        "appeals": 1,
        "observations": 2,
        "challenges": 1,
        "verdicts": 1,
        "not_taken": 1,
        "suspicions": 1,
    }
    assert rows_in(old) == 0
    last = old.find(AuditLine)[-1]
    removed = {"decisions": ["d1"], "actions": ["a1", "a1-undo"], "appeals": ["p1"], "challenges": ["c1"]}
    assert (last.who, last.what) == ("gamewarden retention", "tidy")
    assert last.new == {**counts, "removed": removed}
    assert list(old.audit_faults()) == []


def test_where_nothing_is_old_nothing_is_written(old):
    head = old.head

    assert tidy(old, AT - timedelta(days=1), NOW) == {}
    assert old.head == head


def test_what_the_desk_no_longer_needs_goes_and_votes_stay(ledger):
    review = Review("r1", "anna", "gm", AT, "bot", score_seen=False)
    add(
        ledger,
        review,
        Note("n1", "anna", "gm", LONG_AGO, "looks tired"),
        Note("n2", "anna", "gm", RECENT, "is back"),
        ActBatch("b1", "gm", LONG_AGO, "watch", "all of one farm", 1, ("d1",), LONG_AGO),
        LoginSession("s1", "gm", "csrf", LONG_AGO, LONG_AGO, LONG_AGO, "127.0.0.1"),
        LoginSession("s2", "gm", "csrf", LONG_AGO, LONG_AGO, TO_COME, "127.0.0.1"),
        LoginFailure("f1", 3, LONG_AGO),
    )

    assert tidy(ledger, BEFORE, NOW) == {"notes": 1, "act_batches": 1, "login_sessions": 1, "login_failures": 1}
    assert ledger.find(Review) == [review]
    assert [one.id for one in ledger.find(Note)] == ["n2"]
    assert [one.id for one in ledger.find(LoginSession)] == ["s2"]


@pytest.mark.parametrize(
    "holds",
    [
        decision(7, until=TO_COME),
        decision(7, until=None),
        decision(7, until=None, waits_for="approval"),
        decision(7, until=TO_COME, rehearsal=False),
        action("1-undo", decision="d1", verb=cases.UNDO, state=cases.WAITING),
        action("1-undo", decision="d1", verb=cases.UNDO, state=cases.BEGUN),
        action("1-undo", decision="d1", verb=cases.UNDO, state=cases.FAILED),
        action("1-undo", decision="d1", verb=cases.UNDO, state=cases.UNCERTAIN),
        action("1-undo", decision="d1", verb=cases.UNDO, state=cases.STOPPED),
        action(1, state=cases.DONE),  # it holds in the game, and nobody has taken it back
        appeal(7),
        challenge(7, state=cases.OPEN, expires=TO_COME),
        Protected("anna", TO_COME, "gm", "friend", AT),
        Exonerated("anna", None, None, ("v9",), "p9", AT),
    ],
)
def test_of_an_account_that_something_holds_nothing_goes(old, holds):
    add(old, holds)
    rows = rows_in(old)

    assert tidy(old, BEFORE, NOW) == {}
    assert rows_in(old) == rows


def test_protection_that_has_run_out_holds_nothing(old):
    add(old, Protected("anna", RECENT, "gm", "friend", AT))

    tidy(old, BEFORE, NOW)

    assert old.find(Decision) == []
    assert len(old.find(Protected)) == 1


def test_what_somebody_elses_decision_rests_on_stays(old):
    add(old, decision(8, "bert", evidence=("o2",), until=None))

    tidy(old, BEFORE, NOW)

    assert [one.id for one in old.find(Observation)] == ["o2"]
    assert [one.id for one in old.find(Challenge)] == ["c1"]
    assert [one.id for one in old.find(Decision)] == ["d8"]


def test_a_decision_that_ended_lately_stays_with_what_it_rests_on(old):
    add(old, decision(2, until=RECENT, evidence=("o1",)))

    tidy(old, BEFORE, NOW)

    assert [one.id for one in old.find(Decision)] == ["d2"]
    assert [one.id for one in old.find(Observation)] == ["o1"]
    assert [one.verdict for one in old.find(IndexedVerdict)] == ["v1"]
    assert (old.find(Action), old.find(Appeal), old.find(Challenge)) == ([], [], [])


def test_a_decision_without_an_end_that_was_undone_long_ago_goes(ledger):
    add(ledger, decision(1, until=None, undone_at=LONG_AGO), decision(2, until=None, undone_at=RECENT))

    tidy(ledger, BEFORE, NOW)

    assert [one.id for one in ledger.find(Decision)] == ["d2"]


def test_more_than_one_statement_takes_goes(ledger):
    with ledger.writing("test", AT) as work:
        work.add([observation(number, f"p{number}") for number in range(6_000)])

    assert tidy(ledger, BEFORE, NOW) == {"observations": 6_000}


_MOMENTS = st.sampled_from([LONG_AGO, RECENT, TO_COME])
_ACTORS = st.sampled_from(["anna", "bert", "cleo"])
_STATES = st.sampled_from([cases.DONE, cases.UNDONE, cases.WAITING, cases.STOPPED, cases.REHEARSED])
_DECISIONS = st.lists(
    st.builds(
        decision,
        st.integers(1, 30),
        _ACTORS,
        at=st.sampled_from([LONG_AGO, RECENT]),
        until=st.none() | _MOMENTS,
        undone_at=st.none() | st.sampled_from([LONG_AGO, RECENT]),
        evidence=st.lists(st.sampled_from(["o1", "o2", "o3"])).map(tuple),
    ),
    max_size=12,
)


@given(
    made=_DECISIONS,
    appeals=st.lists(_ACTORS, max_size=2),
    states=st.lists(
        st.sampled_from([cases.DONE, cases.UNDONE, cases.WAITING, cases.STOPPED, cases.REHEARSED]), max_size=4
    ),
)
def test_whatever_there_is_nothing_in_force_goes_nor_what_it_rests_on(tmp_path_factory, made, appeals, states):
    ledger = Ledger.at(tmp_path_factory.mktemp("ledger") / "ledger.db")
    with ledger.writing("test", NOW) as work:
        work.put(made)
        work.put([observation(number, actor) for number, actor in enumerate(("anna", "bert", "cleo"), 1)])
        work.put([appeal(number, actor) for number, actor in enumerate(appeals)])
        work.put([action(f"{n}", "bert", state=state) for n, state in enumerate(states)])
    before = ledger.find(Decision)

    tidy(ledger, BEFORE, NOW)

    left = ledger.find(Decision)
    gone = [one for one in before if one not in left]
    held = {*appeals, *("bert" for state in states if state not in {cases.UNDONE, cases.REHEARSED})}
    held |= {one.actor for one in before if one.undone_at is None and (one.until is None or one.until > NOW)}
    assert all(one.actor not in held for one in gone)
    assert all(min(filter(None, (one.undone_at, one.until))) < BEFORE for one in gone)
    observations = {one.id for one in ledger.find(Observation)}
    assert {id_ for one in left for id_ in one.evidence} <= observations
    assert not [one for one in left if one.actor not in held and one.at < BEFORE and _long_over(one)]
    ledger.close()


def _long_over(one):
    return any(moment is not None and moment < BEFORE for moment in (one.undone_at, one.until))
