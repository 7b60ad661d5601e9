"""An audit in which anything was changed, added or removed says so."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from audit_records import by_hand
from gamewarden.cases import AuditLine
from gamewarden.desk_records import LoginFailure, LoginSession, Token, User
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.audit import Deed, Head, bound
from gamewarden.store.ledger.schema import AUDIT
from ledgers_made_up import AT, decision


@pytest.fixture
def written(ledger):
    """A ledger with five lines of audit, of two transactions."""
    with ledger.writing("ladder", AT) as work:
        work.add([decision(number) for number in (1, 2, 3)])
    with ledger.writing("anna", AT) as work:
        work.change(decision(1), decision(1, undone_at=AT, undone_by="anna"))
        work.audit("look", "d2")
    return ledger


COPY = "INSERT INTO audit SELECT {number}, at, who, what, subject, old, new, salt, seal, before, hash FROM audit"


def test_an_audit_as_it_was_written_has_no_faults(written):
    assert list(written.audit_faults()) == []
    assert written.head.number == 5
    assert written.head.hash == written.find(AuditLine)[-1].hash


@pytest.mark.parametrize(
    "change",
    [
        "who = 'bob'",
        "what = 'change labels'",
        "subject = 'd9'",
        "at = at + 1",
        "new = '{}'",
        "new = NULL",
        "new = replace(new, 'watch', 'ban')",
        "new = new || ' '",
        'old = \'{"step":"ban"}\'',
        "salt = NULL",
        "salt = 'abc'",
        "seal = hash",
        "hash = seal",
        "before = hash",
        "number = 77",
    ],
)
def test_a_changed_value_is_found(written, change):
    by_hand(written, "UPDATE audit SET {change} WHERE number = 2", change=change)

    assert list(written.audit_faults()) != []


def test_a_line_that_was_written_anew_with_its_own_hash_is_found(written):
    first = written.find(AuditLine)[0]
    [row], _ = bound(Head(1, first.hash), [Deed("add decisions", "d2", None, {"step": "ban"})], "bob", AT)
    with written.engine.begin() as connection:
        connection.execute(update(AUDIT).where(AUDIT.c.number == 2).values(**row))

    assert list(written.audit_faults()) == ["audit: line 3 does not follow the one before it"]


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_removed_line_is_found(written, number):
    by_hand(written, "DELETE FROM audit WHERE number = {number}", number=number)

    assert list(written.audit_faults()) == [f"audit: line {number} is missing"]


def test_a_cut_end_is_found(written):
    by_hand(written, "DELETE FROM audit WHERE number > 3")

    assert list(written.audit_faults()) == ["audit: it ends with line 3 and ended with line 5"]


def test_a_cut_end_with_its_head_is_found_by_the_head_that_was_noted(written):
    noted, third = written.head, written.find(AuditLine)[2]
    by_hand(written, "DELETE FROM audit WHERE number > 3", "UPDATE facts SET value = '3 {hash}'", hash=third.hash)

    changed = "decisions d1: undone_at is '2026-03-01T00:00:00+00:00', and null in the audit"
    assert changed in list(written.audit_faults())
    assert list(written.audit_faults(noted)) == ["audit: line 5 is not the one that was noted"]
    assert changed in list(written.audit_faults(Head(3, third.hash)))


@pytest.mark.parametrize("number", [6, 99, 0, -5])
def test_an_added_line_is_found(written, number):
    by_hand(written, COPY + " WHERE number = 5", number=number)

    assert list(written.audit_faults()) != []


def test_swapped_lines_are_found(written):
    for old, new in ((2, 9), (3, 2), (9, 3)):
        by_hand(written, "UPDATE audit SET number = {new} WHERE number = {old}", old=old, new=new)

    assert "audit: line 2 is not as it was written" in list(written.audit_faults())


def test_an_audit_that_was_made_anew_is_found_by_the_head_that_was_noted(written):
    noted = written.head
    by_hand(written, "DELETE FROM audit", "UPDATE facts SET value = '0 ' WHERE name = 'audit'")
    with written.writing("ladder", AT) as work:
        work.add([decision(number) for number in range(10, 20)])

    assert list(written.audit_faults()) == [f"decisions d{one}: no line of the audit added it" for one in (1, 2, 3)]
    assert list(written.audit_faults(noted)) == ["audit: line 5 is not the one that was noted"]


def test_an_older_head_that_was_noted_holds_while_lines_are_added(written):
    noted = written.head
    with written.writing("ladder", AT) as work:
        work.add([decision(8)])

    assert list(written.audit_faults(noted)) == []
    assert list(written.audit_faults(Head(0, ""))) == []


def test_the_same_deed_twice_has_two_seals(ledger):
    with ledger.writing("anna", AT) as work:
        work.audit("look", "d2")
        work.audit("look", "d2")

    first, second = ledger.find(AuditLine)
    assert first.seal != second.seal


def test_lines_of_another_writer_while_an_audit_is_read_are_no_fault(written):
    reading = written.audit_faults()
    with written.writing("ladder", AT) as work:
        work.add([decision(8)])

    assert list(reading) == []


@pytest.mark.parametrize("head", ["", "five", "5", "0 abc", "-1 abc", "٣ abc"])
def test_a_head_that_was_changed_by_hand_is_told(written, head):
    by_hand(written, "UPDATE facts SET value = '{head}' WHERE name = 'audit'", head=head)

    with pytest.raises(LedgerError, match="the head of its audit was changed by hand"):
        list(written.audit_faults())
    with pytest.raises(LedgerError, match="the head of its audit"), written.writing("test", AT):
        pass
    with pytest.raises(LedgerError, match="is no head"):
        Head.of(head)


def test_a_head_is_read_as_it_was_noted(written):
    assert Head.of(f" {written.head}\n") == written.head


def test_no_secret_of_the_desk_is_in_the_audit(ledger):
    user = User("anna", "admin", "hash-one", must_change=True, disabled=False, created=AT)
    later = AT + timedelta(hours=8)
    with ledger.writing("anna", AT) as work:
        work.add([user])
        work.add([Token("t1", "nightly", "digest-one", ("read",), "anna", AT)])
        work.add([LoginSession("cookie-one", "anna", "csrf-one", AT, AT, later, "127.0.0.1")])
        work.add([LoginFailure("failure-one", 1, AT)])
        work.change(user, replace(user, password="hash-two", must_change=False))  # noqa: S106
        work.remove(Token("t1", "nightly", "digest-one", ("read",), "anna", AT))

    lines = ledger.find(AuditLine)
    assert [(one.what, one.subject) for one in lines] == [
        ("add users", "user anna"),
        ("add tokens", "t1"),
        ("change users", "user anna"),
        ("remove tokens", "t1"),
    ]
    assert (lines[2].old, lines[2].new) == (
        {"password": "…", "must_change": True},
        {"password": "…", "must_change": False},
    )
    assert not any(secret in str(lines) for secret in ("hash-", "digest-", "cookie-", "csrf-", "failure-"))
