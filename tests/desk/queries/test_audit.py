"""The audit at the desk: the newest first, without gaps, filtered, and checked beside the page."""

import csv
import io

import pytest

from desk_acts import WEEK
from desk_jobs import finished
from desks_made_up import make_desk, suspect
from gamewarden.desk.acts import act, protect_one
from gamewarden.desk.audit import PAGE, Asked, as_csv, audit, begin_check
from gamewarden.desk.jobs import READY
from gamewarden.errors import LedgerError


@pytest.fixture
def desk(tmp_path):
    made = suspect(make_desk(tmp_path / "ws", armed=True), "ann", "bea")
    act(made, ["ann", "bea"], "freeze", by="Ada", because="=a farm", span=WEEK)
    protect_one(made, "cy", span=WEEK, by="Ben", because="a streamer")
    return made


def test_the_newest_line_comes_first_and_says_who_did_what(desk):
    view = audit(desk)

    numbers = [row.number for row in view.rows]
    assert numbers == sorted(numbers, reverse=True)
    assert view.lines == numbers[0] == len(numbers)
    assert (view.rows[0].who, view.rows[0].what, view.rows[0].subject) == ("Ben", "add protected", "cy")
    assert "a streamer" in view.rows[0].says
    assert view.head.startswith(f"{view.lines} ")


def test_lines_are_filtered_by_who_what_and_whom(desk):
    assert {row.who for row in audit(desk, Asked(who="Ada")).rows} == {"Ada"}
    assert {row.what for row in audit(desk, Asked(what="add decisions")).rows} == {"add decisions"}
    about = audit(desk, Asked(about="ann")).rows
    assert {row.what for row in about} >= {"add decisions", "add actions"}
    assert all("bea" not in row.says for row in about)
    assert audit(desk, Asked(since=desk.later(days=1).now())).rows == ()


def test_a_long_audit_goes_on_without_a_gap(desk):
    for number in range(PAGE):
        protect_one(desk, f"p{number}", span=WEEK, by="Ben", because="x")

    first = audit(desk)
    rest = audit(desk, before=first.next)

    seen = [row.number for row in (*first.rows, *rest.rows)]
    assert seen == list(range(first.lines, 0, -1))
    assert rest.next is None


def test_a_spreadsheet_obeys_nothing_in_it(desk):
    rows = list(csv.DictReader(io.StringIO("".join(as_csv(desk, Asked())))))

    assert len(rows) == audit(desk).lines
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())


def test_a_check_says_that_all_lines_hold(desk):
    begin_check(desk)
    finished(desk, "audit", "all")

    view = audit(desk)

    assert (view.check, view.says) == (READY, f"{view.lines} lines hold; 6 records in the tables match them")


def test_without_a_ledger_there_is_nothing_and_nothing_is_made(tmp_path):
    desk = make_desk(tmp_path / "ws")

    assert audit(desk).rows == ()
    assert "".join(as_csv(desk, Asked())).startswith("number,at,who")
    with pytest.raises(LedgerError):
        begin_check(desk)
    assert not desk.workspace.has_ledger
