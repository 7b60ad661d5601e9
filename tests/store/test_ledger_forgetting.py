"""A person who is forgotten is in no byte of the ledger, what was done stays under a stub, and the audit holds."""

from datetime import timedelta

import pytest
from sqlalchemy import inspect, text

from gamewarden import cases
from gamewarden.cases import (
    Action,
    Appeal,
    AuditLine,
    Challenge,
    Decision,
    Exonerated,
    IndexedVerdict,
    Label,
    NotTaken,
    Observation,
    Protected,
    Suspicion,
)
from gamewarden.desk_records import ActBatch, Mark, Note, Review, SavedView, User
from gamewarden.store.ledger.forgetting import Persons, forget, records_about, standing
from ledgers_made_up import AT, action, appeal, challenge, decision, observation, rows_in

NAME, OTHER, STUB = 'an"na 한', "bert", "forgotten-00112233"
PERSONS = Persons({NAME: STUB}, ["Annabell"])
LATER = AT + timedelta(days=30)


@pytest.fixture
def told(ledger):
    """A ledger in which everything tells of somebody, and of somebody else."""
    with ledger.writing(cases.LADDER, AT) as work:
        for number, actor in ((1, NAME), (2, OTHER)):
            work.add([observation(number, actor)])
            work.put([Suspicion(actor, 1.0, 1, AT, AT)])
            work.add([NotTaken(actor, AT, "ban", f"{actor} is new", "ladder")])
            work.add([decision(number, actor)])
            work.add([action(number, actor, before={"name": actor}, receipt={"said": actor}, error=f"no {actor}")])
            work.add([challenge(number, actor), challenge(f"{number}-open", actor, state=cases.OPEN)])
            work.add([appeal(number, actor)])
            work.add([Protected(actor, LATER, "gm", f"{actor} is a friend", AT)])
            work.add([Label(actor, False, "appeal", AT, "gm", because=f"{actor} told us", votes={"gm": False})])
            work.add([Exonerated(actor, None, None, ("v1",), f"p{number}", AT)])
            work.add([Review(f"r{number}", actor, "gm", AT, "bot", score_seen=True, note=f"{actor} never sleeps")])
            work.add([Note(f"n{number}", actor, "gm", AT, f"{actor} wrote to us")])
            work.add([IndexedVerdict(f"v{number}", actor, AT, LATER, "2026-03-01", "b1", 0.9, 0.01, None)])
        work.add([ActBatch("b1", "gm", AT, "watch", f"like {NAME}", 2, ("d1", "d2"), LATER, query=f"q={NAME}")])
        work.add([SavedView("s1", "gm", f"around {NAME}", f"/accounts/{NAME}", f"q={NAME}", True, AT)])
        work.add([Mark("m1", AT, "other", f"{NAME} was on television", "gm", AT)])
        work.add([observation(3, OTHER, because_of=NAME, far=f"beside {NAME}")])
        work.add([decision(3, OTHER, because=(f"trades with {NAME} and (Annabell), not Annabella",))])
        work.add([NotTaken(OTHER, AT, "ban", f"only because of {NAME}", "ladder")])
    with ledger.writing(NAME, AT) as work:
        work.change(appeal(1, NAME), appeal(1, NAME, outcome=cases.UPHELD, because="she was ill", decided_by="gm"))
        work.audit("look", NAME, None, {"why": f"to see {NAME}", "step": "watch"})
    return ledger


def everything(ledger):
    """All that the tables hold, as text."""
    with ledger.engine.connect() as connection:
        tables = inspect(connection).get_table_names()
        return "\n".join(
            str(row)
            for table in tables
            for row in connection.execute(text("SELECT * FROM {}".format(table)))  # noqa: S608, UP032
        )


def about(ledger, kind, actor):
    return ledger.find(kind, actor=actor)


def test_a_name_is_found_where_it_is(told):
    assert sum(NAME in line or 'an\\"na' in line for line in everything(told).split("\n")) >= 19


def test_a_forgotten_name_is_nowhere_in_the_database(told):
    forget(told, PERSONS, LATER)

    found = everything(told)
    assert NAME not in found
    assert "an\\" not in found
    assert "한" not in found
    assert "Annabell)" not in found
    assert "Annabella" in found  # is another word


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_forgotten_name_is_in_no_byte_of_the_file(told):
    path = told.engine.url.database

    forget(told, PERSONS, LATER)

    for ending in ("", "-wal", "-shm"):
        with open(path + ending, "rb") as file:  # noqa: PTH123
            content = file.read()
        assert "한".encode() not in content
        assert b"she was ill" not in content
    told.close()


def test_the_audit_holds_after_forgetting_and_says_so(told):
    before = told.head

    forget(told, PERSONS, LATER)

    assert list(told.audit_faults(before)) == []
    last = told.find(AuditLine)[-1]
    assert (last.what, last.subject, last.who) == ("forget", STUB, "gamewarden forget")
    assert told.head.number == before.number + 1


def test_evidence_goes_and_deeds_stay_under_the_stub(told):
    forget(told, PERSONS, LATER)

    for kind in (Observation, Suspicion, NotTaken, Protected, Label, Review, Note):
        assert about(told, kind, STUB) == []
    [kept] = about(told, Decision, STUB)
    assert (kept.id, kept.step, kept.because, kept.by) == ("d1", "watch", (), cases.LADDER)
    [kept] = about(told, Action, STUB)
    assert (kept.before, kept.receipt, kept.error, kept.state) == (None, None, None, cases.REHEARSED)
    [kept] = about(told, Challenge, STUB)
    assert (kept.id, kept.session, kept.answer, kept.state) == ("c1", "", "", cases.PASSED)
    [kept] = about(told, Appeal, STUB)
    assert (kept.text, kept.because, kept.opened_by, kept.outcome) == ("", None, STUB, cases.UPHELD)
    assert [one.verdicts for one in about(told, Exonerated, STUB)] == [("v1",)]
    assert [one.verdict for one in about(told, IndexedVerdict, STUB)] == ["v1"]


def test_what_was_done_can_still_be_read_in_the_audit(told):
    forget(told, PERSONS, LATER)

    lines = [one for one in told.find(AuditLine) if one.subject == "d1"]
    assert [(one.who, one.what, one.new["actor"], one.new["step"], one.new["because"]) for one in lines] == [
        (cases.LADDER, "add decisions", STUB, "watch", None)
    ]
    changed = [one for one in told.find(AuditLine) if one.what == "change appeals"]
    assert [(one.who, one.new) for one in changed] == [
        (STUB, {"because": None, "decided_by": "gm", "outcome": cases.UPHELD})
    ]


def test_everybody_else_keeps_all_that_does_not_name_the_forgotten(told):
    kinds = (Suspicion, Action, Challenge, Appeal, Exonerated, Protected, Label, IndexedVerdict, Review, Note)
    before = {kind: about(told, kind, OTHER) for kind in kinds}
    lines = {one.number: one for one in told.find(AuditLine) if one.new and one.new.get("actor") == OTHER}

    forget(told, PERSONS, LATER)

    assert {kind: about(told, kind, OTHER) for kind in kinds} == before
    assert [one.because for one in about(told, Decision, OTHER)] == [
        (f"{OTHER} fished for 23 hours",),
        (f"trades with {STUB} and (forgotten), not Annabella",),
    ]
    assert [(one.because_of, one.far) for one in about(told, Observation, OTHER)] == [
        (None, None),
        (STUB, f"beside {STUB}"),
    ]
    assert [one.because for one in about(told, NotTaken, OTHER)] == [f"{OTHER} is new"]
    after = {one.number: one for one in told.find(AuditLine)}
    assert [number for number, line in lines.items() if after[number] != line] == [
        number for number, line in lines.items() if line.subject == "d3"
    ]


def test_what_the_desk_wrote_about_many_stays_without_the_name(told):
    forget(told, PERSONS, LATER)

    [batch], [view], [mark] = (told.find(kind) for kind in (ActBatch, SavedView, Mark))
    assert (batch.because, batch.query, batch.decisions) == (f"like {STUB}", f"q={STUB}", ("d1", "d2"))
    assert (view.name, view.path, view.query) == (f"around {STUB}", f"/accounts/{STUB}", f"q={STUB}")
    assert mark.text == f"{STUB} was on television"


def test_a_person_of_the_desk_who_is_called_as_a_player_is_not_forgotten_with_them(ledger):
    user = User("anna", "admin", "argon", must_change=False, disabled=False, created=AT)
    with ledger.writing("anna", AT) as work:
        work.add([user])
        work.audit("log in", "user anna", None, {"address": "127.0.0.1"})
        work.add([decision(1, "anna", by="gm")])
    lines = ledger.find(AuditLine)

    forget(ledger, Persons({"anna": STUB}), LATER)

    assert ledger.find(User) == [user]
    assert ledger.find(AuditLine)[:2] == lines[:2]


def test_a_line_that_was_written_anew_cannot_be_changed_afterwards(told):
    forget(told, PERSONS, LATER)
    [number] = [one.number for one in told.find(AuditLine) if one.subject == "d1"]

    with told.engine.begin() as connection:
        connection.execute(text("UPDATE audit SET who = 'bob' WHERE number = :n"), {"n": number})

    assert list(told.audit_faults()) == [f"audit: line {number} is not as it was written"]


def test_a_line_that_somebody_emptied_by_hand_is_found(told):
    with told.engine.begin() as connection:
        connection.execute(text("UPDATE audit SET salt = NULL, old = NULL, new = NULL WHERE number = 4"))

    assert list(told.audit_faults()) == ["audit: line 4 is not as it was written"]


def test_two_persons_may_be_forgotten_one_after_the_other(told):
    forget(told, PERSONS, LATER)
    forget(told, Persons({OTHER: "forgotten-44"}), LATER)

    assert list(told.audit_faults()) == []
    assert OTHER not in everything(told)


def test_forgetting_twice_is_forgetting_once(told):
    forget(told, PERSONS, LATER)
    head = told.head

    assert forget(told, PERSONS, LATER) == 0
    assert told.head == head


def test_an_account_that_is_called_like_a_step_changes_no_steps(ledger):
    with ledger.writing(cases.LADDER, AT) as work:
        work.add([decision(1, "watch"), decision(2, OTHER)])
        work.add([action(2, OTHER, state=cases.DONE)])
    lines = ledger.find(AuditLine)

    forget(ledger, Persons({"watch": STUB, "ladder": "forgotten-1", "done": "forgotten-2"}), LATER)

    assert [one.step for one in ledger.find(Decision)] == ["watch", "watch"]
    assert ledger.find(Decision, id="d2") == [decision(2, OTHER)]
    assert ledger.find(Action) == [action(2, OTHER, state=cases.DONE)]
    after = ledger.find(AuditLine)
    assert after[1:3] == lines[1:3]
    assert (after[0].who, after[0].new["step"], after[0].new["actor"]) == (cases.LADDER, "watch", STUB)


def test_nothing_waits_to_be_done_to_a_stub(ledger):
    states = (cases.WAITING, cases.BEGUN, cases.FAILED, cases.UNCERTAIN, cases.DONE)
    with ledger.writing(cases.LADDER, AT) as work:
        work.add([decision(1, NAME), decision(2, NAME, undone_at=AT, undone_by="gm")])
        work.add([action(number, NAME, state=state) for number, state in enumerate(states)])

    forget(ledger, PERSONS, LATER)

    assert [one.state for one in ledger.find(Action)] == [*[cases.CANCELLED] * 4, cases.DONE]
    assert [(one.undone_at, one.undone_by) for one in ledger.find(Decision)] == [
        (LATER, "gamewarden forget"),
        (AT, "gm"),
    ]


def test_what_is_in_force_or_waited_for_is_known(ledger):
    with ledger.writing(cases.LADDER, AT) as work:
        work.add(
            [
                decision(1, NAME, rehearsal=False, until=None),
                decision(2, NAME, rehearsal=False, until=LATER),
                decision(3, NAME, rehearsal=False, until=AT),
                decision(4, NAME, rehearsal=False, undone_at=AT),
                decision(5, NAME, until=None),
                decision(6, OTHER, rehearsal=False, until=None),
            ]
        )
        work.add([appeal(1, NAME), appeal(2, NAME, outcome=cases.UPHELD), appeal(3, OTHER)])
        work.add([action(1, NAME, state=cases.DONE), action(2, NAME, state=cases.UNDONE), action(3, OTHER)])
        work.add([action(4, NAME, verb=cases.UNDO, state=cases.DONE)])

    found = standing(ledger, [NAME], AT)

    assert (found.decisions, found.actions, found.appeals) == (("d1", "d2"), ("a1",), ("p1",))
    assert records_about(ledger, [NAME]) == 10


def test_nobody_who_is_unknown_changes_a_ledger(told):
    before, rows = told.head, rows_in(told)

    assert forget(told, Persons({"nobody": "forgotten-9"}), LATER) == 0
    assert (told.head, rows_in(told)) == (before, rows)
