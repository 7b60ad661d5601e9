"""What is written to a ledger is there as it was written, all of it or nothing, on both databases."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gamewarden.cases
import gamewarden.desk_records
from gamewarden.cases import Action, AuditLine, Decision, Observation, Suspicion
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.store.ledger.schema import TABLES
from gamewarden.store.ledger.values import told
from ledgers_made_up import AT, KINDS, action, appeal, decision, observation, records


def same(record):
    """The values of a record that has the same key as this."""
    return {column.name: getattr(record, column.name) for column in TABLES[type(record)].primary_key.columns}


def lines(ledger):
    return [(one.who, one.what, one.subject) for one in ledger.find(AuditLine)]


def test_there_is_a_table_for_every_record_of_a_case_and_of_the_desk():
    rooms = (gamewarden.cases, gamewarden.desk_records)
    kinds = {one for room in rooms for one in vars(room).values() if getattr(one, "__module__", "") == room.__name__}

    assert kinds == set(TABLES)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_record_comes_back_as_it_was_written(ledger, kind, data):
    record = data.draw(records(kind))

    with ledger.writing("test", AT) as work:
        work.put([record])

    assert ledger.find(kind, **same(record)) == [record]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999"])
def test_the_first_and_the_last_moment_of_the_calendar_are_kept(ledger, moment):
    record = decision(until=datetime.fromisoformat(moment).replace(tzinfo=UTC))

    with ledger.writing("test", AT) as work:
        work.add([record])

    assert ledger.find(Decision) == [record]


def test_what_is_added_twice_is_added_once(ledger):
    with ledger.writing("test", AT) as work:
        assert work.add([decision(1), decision(2), decision(1)]) == [decision(1), decision(2)]
        assert work.add([decision(2, step="ban"), decision(3)]) == [decision(3)]
    with ledger.writing("test", AT) as work:
        assert work.add([decision(1)]) == []

    assert ledger.find(Decision) == [decision(1), decision(2), decision(3)]
    assert [line[1:] for line in lines(ledger)] == [("add decisions", f"d{one}") for one in (1, 2, 3)]


def test_more_records_than_one_statement_takes_are_added_and_found(ledger):
    many = [observation(number) for number in range(11_000)]

    with ledger.writing("test", AT) as work:
        work.add(many)
        assert work.add(many) == []

    assert len(ledger.find(Observation)) == 11_000
    assert len(ledger.find(Observation, id=[one.id for one in many[:7_000]])) == 7_000
    assert len(ledger.find(Observation, id=[one.id for one in many[:7_000]], newest=3)) == 3


def test_what_is_put_stands_in_the_place_of_what_was_there(ledger):
    with ledger.writing("test", AT) as work:
        work.put([decision(1), decision(2)])
        work.put([decision(2, step="review"), decision(3), decision(1)])

    assert ledger.find(Decision, order=["id"]) == [decision(1), decision(2, step="review"), decision(3)]
    assert [line[1:] for line in lines(ledger)] == [
        ("add decisions", "d1"),
        ("add decisions", "d2"),
        ("add decisions", "d3"),
        ("change decisions", "d2"),
    ]


def test_a_change_is_audited_with_the_values_before_and_after(ledger):
    old, new = decision(), decision(undone_at=AT, undone_by="anna")
    with ledger.writing("ladder", AT) as work:
        work.add([old])
    with ledger.writing("anna", AT + timedelta(hours=1)) as work:
        work.change(old, new)

    first, second = ledger.find(AuditLine)
    assert (first.old, first.new) == (None, told(old))
    assert (second.who, second.at, second.what) == ("anna", AT + timedelta(hours=1), "change decisions")
    assert second.old == {"undone_at": None, "undone_by": None}
    assert second.new == {"undone_at": AT.isoformat(), "undone_by": "anna"}


def test_a_change_of_what_somebody_else_changed_is_refused(ledger):
    old = action(state="waiting")
    with ledger.writing("test", AT) as work:
        work.add([old])
        work.change(old, replace(old, state="begun"))

    with pytest.raises(LedgerError, match="a1 was changed by somebody else meanwhile"):  # noqa: SIM117, PT012
        with ledger.writing("test", AT) as work:
            work.add([decision(7)])
            work.change(old, replace(old, state="done"))

    assert ledger.find(Action) == [replace(old, state="begun")]
    assert ledger.find(Decision) == []


def test_what_is_gone_cannot_be_changed(ledger):
    with pytest.raises(LedgerError, match="changed by somebody else"), ledger.writing("test", AT) as work:
        work.change(action(), action(state="done"))


def test_what_is_removed_is_gone_and_the_audit_knows_it(ledger):
    with ledger.writing("test", AT) as work:
        work.add([appeal(1), appeal(2)])
        work.remove(appeal(1))
        work.remove(appeal(5))  # never there

    assert ledger.find(type(appeal())) == [appeal(2)]
    assert [(one.what, one.old) for one in ledger.find(AuditLine)[2:]] == [("remove appeals", told(appeal(1)))]


def test_what_comes_again_from_verdicts_is_not_audited(ledger):
    suspicion = Suspicion("anna", 1.0, 1, AT, AT)
    with ledger.writing("test", AT) as work:
        work.add([observation()])
        work.put([suspicion])
        work.put([replace(suspicion, score=2.0)])
        work.remove(observation())

    assert ledger.find(Suspicion) == [replace(suspicion, score=2.0)]
    assert ledger.find(Observation) == []
    assert lines(ledger) == []


def test_a_transaction_that_fails_leaves_nothing(ledger):
    with ledger.writing("test", AT) as work:
        work.add([decision(1)])
    before = ledger.head

    with pytest.raises(ConnectionError, match="as it is"), ledger.writing("test", AT) as work:  # noqa: PT012
        work.add([decision(2)])
        work.remember("name", "value")
        work.audit("look", "d1")
        raise ConnectionError("as it is")

    assert ledger.find(Decision) == [decision(1)]
    assert (ledger.fact("name"), ledger.head) == (None, before)
    assert list(ledger.audit_faults()) == []


def test_a_transaction_reads_what_it_wrote_and_others_do_not_yet(ledger):
    with ledger.writing("test", AT) as work:
        work.add([decision()])
        work.remember("name", "one")
        work.remember("name", "two")

        assert work.find(Decision) == [decision()]
        assert work.fact("name") == "two"
        assert (ledger.find(Decision), ledger.fact("name")) == ([], None)

    assert (ledger.find(Decision), ledger.fact("name")) == ([decision()], "two")


def test_records_are_found_by_values_times_and_order(ledger):
    made = [decision(number, at=AT + timedelta(days=number), actor=f"p{number % 2}") for number in range(1, 6)]
    with ledger.writing("test", AT) as work:
        work.add([*made, decision(9, until=None, at=AT)])

    def ids(**asked):
        return [one.id for one in ledger.find(Decision, **asked)]

    assert ids(actor="p1", order=["at"]) == ["d1", "d3", "d5"]
    assert ids(actor=["p0", "p1"], newest=2, order=["at"]) == ["d5", "d4"]
    assert ids(until=None) == ["d9"]
    assert ids(at_least={"at": made[1].at}, at_most={"at": made[3].at}) == ["d2", "d3", "d4"]
    assert ids(actor=[]) == []


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_text_that_a_database_cannot_take_is_refused_before_anything_is_written(ledger, text):
    unwritable = [
        decision(2, actor=text),
        decision(2, because=("fine", text)),
        decision(text),
        appeal(2, text=text),
        action(2, before={"state": [text]}),
        action(2, receipt={text: 1}),
    ]
    for record in unwritable:
        with pytest.raises(LedgerError, match="which no database keeps") as caught:  # noqa: SIM117, PT012
            with ledger.writing("test", AT) as work:
                work.add([decision(1)])
                work.put([record])
        assert str(caught.value).isascii()
        assert str(caught.value).isprintable()
    with pytest.raises(LedgerError, match="which no database keeps"), ledger.writing(text, AT):
        pass

    assert ledger.find(Decision) == []
    assert ledger.find(Decision, actor=text) == ledger.find(Decision, actor=[text]) == []


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (observation(llr=float("nan")), "llr of observations is nan"),
        (observation(fpr=float("inf")), "fpr of observations is inf"),
        (observation(at=datetime(2026, 1, 1)), "a time of no time zone"),  # noqa: DTZ001
        (action(attempts=1 << 40), "a larger number than"),
        (action(before={"x": float("nan")}), "which no database keeps"),
    ],
)
def test_values_that_are_none_are_refused(ledger, record, says):
    with pytest.raises(LedgerError, match=says), ledger.writing("test", AT) as work:
        work.put([record])


def test_a_ledger_that_nobody_closes_is_closed(tmp_path):
    Ledger.at(tmp_path / "ledger.db").find(Decision)

    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]  # the last to leave takes the log with it


def test_a_long_list_goes_on_where_it_ended_also_among_records_of_one_moment(ledger):
    with ledger.writing("test", AT) as work:
        work.add([decision(number, at=AT + timedelta(days=number // 3)) for number in range(9)])
    everything = ledger.find(Decision, order=("at",), newest=100)

    pages, last = [], None
    while page := ledger.find(Decision, order=("at",), newest=2, below=last):
        pages += page
        last = (page[-1].at, page[-1].id)

    assert pages == everything
    assert ledger.count(Decision) == len(everything) == 9
    assert ledger.count(Decision, actor="nobody") == 0
