"""Verification replays the audit and finds every record that is not what its lines say."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import delete, insert, update

from audit_records import by_hand
from gamewarden.cases import AuditLine, Exonerated, Label, Protected
from gamewarden.desk_records import Review
from gamewarden.store.ledger.audit import Deed, bound
from gamewarden.store.ledger.forgetting import Persons, forget
from gamewarden.store.ledger.schema import AUDIT, FACTS
from gamewarden.store.ledger.tidying import tidy
from ledgers_made_up import AT, action, appeal, challenge, decision

LATER = AT + timedelta(days=400)
SHIELD = Protected("anna", AT + timedelta(days=30), "eve", "she streams", AT)
BAN = decision(4, "bert", step="ban", by="eve", until=None, waits_for="a second person")
REVIEWED = Label("anna", bot=True, source="review", at=AT, by="eve", votes={"eve": True})


@pytest.fixture
def written(ledger):
    """Records of every kind that verification compares; some were changed, some removed."""
    with ledger.writing("eve", AT) as work:
        work.add([decision(1), decision(2, "bert"), BAN])
        work.add([action(1), action(2, "bert")])
        work.add([challenge(1), challenge(2, "bert")])
        work.add([appeal(1)])
        work.add([Exonerated("anna", None, AT, ("v1",), "p1", AT)])
        work.add([SHIELD, replace(SHIELD, actor="bert")])
        work.add([REVIEWED, replace(REVIEWED, source="tickets", votes={"eve": True})])
    with ledger.writing("bob", AT) as work:
        work.change(decision(1), decision(1, undone_at=AT, undone_by="bob", undone_because="she was ill"))
        work.change(BAN, replace(BAN, approved_by="bob", waits_for=None))
        work.put([replace(SHIELD, until=AT + timedelta(days=60))])
        work.remove(replace(SHIELD, actor="bert"))
        work.change(REVIEWED, replace(REVIEWED, votes={"eve": True, "bob": False}))
    return ledger


def test_a_ledger_that_nobody_touched_matches_its_audit(written):
    assert list(written.audit_faults()) == []
    assert written.compared().records == 12
    assert written.compared().not_compared == 0


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "UPDATE decisions SET approved_by = 'mallory' WHERE id = 'd4'",
            "decisions d4: approved_by is 'mallory', and 'bob' in the audit",
        ),
        (
            "DELETE FROM protected WHERE actor = 'anna'",
            "protected anna: is missing, and in the audit it was not removed",
        ),
        (
            "UPDATE protected SET until = 1 WHERE actor = 'anna'",
            "protected anna: until is '1970-01-01T00:00:00.000001+00:00', and '2026-04-30T00:00:00+00:00' in the audit",
        ),
        (
            "UPDATE labels SET bot = NOT bot WHERE source = 'tickets'",
            "labels anna: bot is false, and true in the audit",
        ),
        ("DELETE FROM decisions WHERE id = 'd2'", "decisions d2: is missing, and in the audit it was not removed"),
        ("UPDATE decisions SET step = 'ban' WHERE id = 'd2'", "decisions d2: step is 'ban', and 'watch' in the audit"),
        ("UPDATE actions SET state = 'waiting' WHERE id = 'a2'", "actions a2: state is 'waiting', and 'rehearsed'"),
        ("UPDATE appeals SET outcome = 'upheld'", "appeals p1: outcome is 'upheld', and null in the audit"),
        ("DELETE FROM exonerated", "exonerated anna: is missing, and in the audit it was not removed"),
        (
            "INSERT INTO protected SELECT 'mallory', until, by, because, at FROM protected",
            "protected mallory: no line of the audit added it",
        ),
    ],
)
def test_a_record_that_was_changed_by_hand_is_found(written, statement, fault):
    by_hand(written, statement)

    [found] = written.audit_faults()
    assert found.startswith(fault)


def test_a_label_among_several_of_an_account_is_told_apart_by_its_change(written):
    *_, line = written.find(AuditLine)

    assert (line.what, line.old["source"]) == ("change labels", "review")
    by_hand(written, "UPDATE labels SET votes = '{{}}' WHERE source = 'review'")
    assert len(list(written.audit_faults())) == 1


def test_lines_of_kinds_that_are_not_known_are_no_fault(written):
    with written.writing("eve", AT) as work:
        work.audit("change settings", "response", {"armed": False}, {"armed": True})
        work.audit("add dreams", "d1", None, {"id": "d1"})

    assert list(written.audit_faults()) == []


def test_what_retention_removed_is_no_fault_and_what_went_beside_it_is(written):
    with written.writing("bob", AT) as work:
        work.add([decision(5, "carl"), decision(6, "dora", until=None)])
        work.add([action(5, "carl"), action(6, "dora")])
    assert tidy(written, LATER - timedelta(days=1), LATER)["decisions"] == 1

    assert list(written.audit_faults()) == []
    by_hand(written, "DELETE FROM decisions WHERE id = 'd6'")
    assert list(written.audit_faults()) == ["decisions d6: is missing, and in the audit it was not removed"]


def test_what_an_earlier_version_removed_is_counted_as_not_compared(written):
    """Its lines say how many records retention removed, and not which."""
    with written.writing("bob", AT) as work:
        work.add([decision(number, "carl") for number in (5, 6, 7)])
        work.audit("tidy", "before 2027-01-01T00:00:00+00:00", None, {"decisions": 2})
    by_hand(written, "DELETE FROM decisions WHERE id IN ('d5', 'd6')")

    assert list(written.audit_faults()) == []
    assert written.compared().not_compared == 2
    by_hand(written, "DELETE FROM decisions WHERE id = 'd7'")
    assert list(written.audit_faults()) == ["decisions: 3 are missing, and retention removed 2 of them"]


def test_a_person_who_was_forgotten_is_no_fault(written):
    forget(written, Persons({"anna": "forgotten-1"}), AT)

    assert list(written.audit_faults()) == []
    by_hand(written, "UPDATE decisions SET approved_by = 'mallory' WHERE id = 'd1'")
    assert list(written.audit_faults()) == ["decisions d1: approved_by is 'mallory', and null in the audit"]


def test_a_column_that_came_later_counts_as_empty_in_older_lines(ledger):
    review = Review("r1", "anna", "eve", AT, "bot", score_seen=False)
    with ledger.writing("eve", AT) as work:
        work.add([review])
    [line] = ledger.find(AuditLine)
    older = {name: value for name, value in line.new.items() if name != "drawn"}
    write_anew(ledger, [Deed(line.what, line.subject, None, older)])

    assert list(ledger.audit_faults()) == []
    by_hand(ledger, "UPDATE reviews SET drawn = TRUE")
    assert list(ledger.audit_faults()) == ["reviews r1: drawn is true, and null in the audit"]


def write_anew(ledger, deeds):
    """An audit of other lines, as another version has written them."""
    with ledger.engine.begin() as connection:
        connection.execute(delete(AUDIT))
        rows, head = bound(type(ledger.head)(0, ""), deeds, "eve", AT)
        connection.execute(insert(AUDIT), rows)
        connection.execute(update(FACTS).where(FACTS.c.name == "audit").values(value=str(head)))
