"""Forgetting a person in the ledger: their evidence goes, what was done to them stays under a stub, the audit holds.

What others' records and lines say of them is rewritten with the stub as well. The database is written anew afterwards,
so that its file has none of the names any more; copies and a server's own logs are the operator's.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Column, Connection, Engine, Text, delete, func, or_, select, type_coerce, update

from gamewarden.cases import (
    CANCELLED,
    DONE,
    LADDER,
    OPEN,
    REHEARSED,
    UNDONE,
    Action,
    Appeal,
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
from gamewarden.contracts import canonical_json
from gamewarden.desk_records import ActBatch, Mark, Note, Review, SavedView, Token, User
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.asking import is_the, records_of
from gamewarden.store.ledger.audit import FORGET, PERSONAL, every_line, seal_of
from gamewarden.store.ledger.failures import in_a_line
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.store.ledger.schema import ACTIONS, AUDIT, METADATA, TABLES
from gamewarden.store.ledger.tidying import may_hold
from gamewarden.store.ledger.values import JsonText, json_value, row_of

_WHO = "gamewarden forget"
_GONE: tuple[type[Any], ...] = (
    Observation,
    Suspicion,
    NotTaken,
    Protected,
    Label,
    Review,
    Note,
)  # evidence and what only a name gives sense to
_STAY: tuple[type[Any], ...] = (Decision, Action, Challenge, Appeal, Exonerated, IndexedVerdict)  # deeds: under a stub
# Where sentences about anybody may stand.
_TEXTS: Mapping[type[Any], tuple[str, ...]] = {
    Observation: ("ref", "far", "excluded", "because_of"),
    Decision: ("because", "undone_because", "waits_for"),
    NotTaken: ("because",),
    Action: ("before", "receipt", "error"),
    Appeal: ("text", "because"),
    Protected: ("because",),
    Label: ("because",),
    Review: ("note",),
    Note: ("text",),
    ActBatch: ("because", "query"),
    SavedView: ("name", "path", "query"),
    Mark: ("text",),
}
_SIGNED = frozenset({"by", "approved_by", "undone_by", "opened_by", "decided_by"})
# What never names anybody, though an account may be called "watch": ids, times, words of our own.
_OURS = frozenset(column.name for table in TABLES.values() for column in table.columns) - {
    "actor",
    *PERSONAL,
    *_SIGNED,
    *(name for names in _TEXTS.values() for name in names),
}
# Lines about people of the desk: a player of the same name is somebody else.
_OF_THE_DESK = frozenset(
    f"{deed} {TABLES[kind].name}" for deed in ("add", "change", "remove") for kind in (User, Token)
)


@dataclass(frozen=True)
class Persons:
    """Who is to be forgotten: accounts with what stands for each, and further names of theirs."""

    stubs: Mapping[str, str]
    further: Collection[str] = ()

    def without(self, text: str) -> str:
        """A text in which none of them is named."""
        return self._named.sub(lambda found: self.stubs.get(found[0], "forgotten"), text)

    def harmless(self, value: Any) -> Any:  # noqa: ANN401  as JSON
        """A value in which none of them is named."""
        if isinstance(value, str):
            return self.without(value)
        if isinstance(value, Mapping):
            return {name: self.harmless(one) for name, one in value.items()}
        return type(value)(map(self.harmless, value)) if isinstance(value, tuple | list) else value

    @property
    def names(self) -> list[str]:
        """All names, as they may stand in a text."""
        return [one for one in (*self.stubs, *self.further) if one]

    def may_be_in(self, text: str | None) -> bool:
        """Whether a text, or the text of a JSON value, has one of the names anywhere."""
        return text is not None and any(one in text for one in self.written)

    @cached_property
    def written(self) -> frozenset[str]:
        """All names, as they are and as JSON writes them."""
        return frozenset({*self.names, *(canonical_json(one)[1:-1] for one in self.names)})

    @cached_property
    def _named(self) -> re.Pattern[str]:
        longest_first = sorted(self.names, key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


@dataclass(frozen=True)
class Standing:
    """What speaks against forgetting somebody now."""

    decisions: tuple[str, ...]  # in force, and no rehearsal
    actions: tuple[str, ...]  # on their way, or holding in the game
    appeals: tuple[str, ...]  # not decided yet


def standing(ledger: Ledger, actors: Collection[str], at: datetime) -> Standing:
    """What is in force about somebody, and what they wait for."""
    decisions = ledger.find(Decision, actor=list(actors), rehearsal=False, undone_at=None)
    appeals = ledger.find(Appeal, actor=list(actors), outcome=None)
    in_force = (one.id for one in decisions if one.until is None or one.until > at)
    holding = select(ACTIONS.c.id).where(ACTIONS.c.actor.in_(actors), may_hold()).order_by(ACTIONS.c.id)
    with in_a_line(ledger.engine, ledger.name), ledger.engine.connect() as connection:
        actions = tuple(connection.execute(holding).scalars())
    return Standing(tuple(in_force), actions, tuple(one.id for one in appeals))


def records_about(ledger: Ledger, actors: Collection[str]) -> int:
    """How many records there are of somebody."""
    asked = [select(func.count()).select_from(table).where(table.c.actor.in_(actors)) for table in _tables_of_actors()]
    with in_a_line(ledger.engine, ledger.name), ledger.engine.connect() as connection:
        return sum(connection.execute(one).scalar() or 0 for one in asked)


def forget(ledger: Ledger, persons: Persons, at: datetime) -> int:
    """Take persons out of the ledger; in how many records and lines they were.

    Raises:
        LedgerError: it cannot be written, or somebody reads the file for so long that it cannot be written anew.
    """
    with ledger.writing(_WHO, at) as work:
        counts = _Forgetting(work, persons).all()
    _write_anew(ledger.engine, ledger.name)
    return counts.total()


@dataclass
class _Forgetting:
    """One transaction that takes persons out."""

    work: Writing
    persons: Persons
    counts: Counter[str] = field(default_factory=Counter)

    def all(self) -> Counter[str]:
        """Out of every table, and out of the audit."""
        subjects = self._subjects()
        for stays in _STAY:
            self._put_under_stubs(stays)
        for table in (TABLES[goes] for goes in _GONE):
            gone = self._connection.execute(delete(table).where(table.c.actor.in_(self.persons.stubs)))
            self.counts[table.name] += gone.rowcount
        for kind, texts in _TEXTS.items():
            self._out_of_texts(kind, texts)
        lines = self._out_of_lines(subjects)
        self.counts[AUDIT.name] += len(lines)
        if self.counts.total():
            told = {name: count for name, count in sorted(self.counts.items()) if count}
            self.work.audit(FORGET, ", ".join(sorted(self.persons.stubs.values())), None, {**told, "lines": lines})
        return self.counts

    @property
    def _connection(self) -> Connection:
        return self.work.connection

    def _subjects(self) -> dict[str, str]:
        """What the audit calls their records, and whose each is."""
        found = {name: name for name in self.persons.stubs}
        for kind in (Decision, Action, Challenge, Appeal, Review, Note):
            table = TABLES[kind]
            asked = select(table.c.id, table.c.actor).where(table.c.actor.in_(self.persons.stubs))
            found |= {row.id: row.actor for row in self._connection.execute(asked)}
        return found

    def _put_under_stubs(self, kind: type[Any]) -> None:
        for old in self.work.find(kind, actor=list(self.persons.stubs)):
            stub = self.persons.stubs[old.actor]
            new = _NAMELESS[kind](old, self.work)
            signed = {name: stub for name in _SIGNED & {*vars(old)} if _is_of(old.actor, getattr(old, name))}
            self._replace(kind, old, None if new is None else replace(new, actor=stub, **signed))

    def _replace(self, kind: type, old: Any, new: Any) -> None:  # noqa: ANN401  records of one kind
        table = TABLES[kind]
        self.counts[table.name] += 1
        if new is None:
            self._connection.execute(delete(table).where(is_the(table, old)))
        else:
            self._connection.execute(update(table).where(is_the(table, old)).values(**row_of(new)))

    def _out_of_texts(self, kind: type[Any], texts: tuple[str, ...]) -> None:
        """Of what others' records say, the names go; a step not taken is found again where it still holds."""
        table = TABLES[kind]
        named = or_(*(self._may_be_in(table.c[name]) for name in texts))
        for old in records_of(kind, self._connection.execute(select(table).where(named)).all()):
            changed = {name: self.persons.harmless(getattr(old, name)) for name in texts}
            if changed != {name: getattr(old, name) for name in texts}:
                self._replace(kind, old, None if kind is NotTaken else replace(old, **changed))

    def _may_be_in(self, column: Column[Any]) -> Any:  # noqa: ANN401  a condition
        text = type_coerce(column, Text)
        return or_(*(text.contains(one, autoescape=True) for one in self.persons.written))

    def _out_of_lines(self, subjects: dict[str, str]) -> dict[str, str]:
        """Write lines without them; which, by number, with the digest of what stands there now."""
        changes = {row.number: values for row, values in self._lines_without(subjects)}
        for number, values in changes.items():
            self._connection.execute(update(AUDIT).where(AUDIT.c.number == number).values(**values, salt=None))
        return {str(number): seal_of("", **values) for number, values in changes.items()}

    def _lines_without(self, subjects: dict[str, str]) -> Iterator[tuple[Any, dict[str, Any]]]:
        for row in self._connection.execute(every_line()):
            if row.what in _OF_THE_DESK:
                continue
            person = self._person_of(row, subjects)
            if person is not None or any(map(self.persons.may_be_in, (row.old, row.new))):
                values = self._line_without(row, person)
                if values != {name: getattr(row, name) for name in values}:
                    yield row, values

    def _person_of(self, row: Any, subjects: dict[str, str]) -> str | None:  # noqa: ANN401  a row
        """Whom of them a line is about; then so are all later ones of the same subject."""
        if row.subject not in subjects:
            told = (_actor_in(text) for text in (row.old, row.new) if self.persons.may_be_in(text))
            for name in (name for name in told if name in self.persons.stubs):
                subjects[row.subject] = name
        return subjects.get(row.subject)

    def _line_without(self, row: Any, person: str | None) -> dict[str, Any]:  # noqa: ANN401  a row
        old, new = (None if text is None else self._said(json_value(text), person) for text in (row.old, row.new))
        who = self.persons.stubs[row.who] if _is_of(person, row.who) else row.who
        return {"who": who, "subject": self.persons.stubs.get(row.subject, row.subject), "old": old, "new": new}

    def _said(self, value: Any, person: str | None) -> JsonText:  # noqa: ANN401  as JSON
        return JsonText(canonical_json({name: self._kept(name, one, person) for name, one in value.items()}))

    def _kept(self, name: str, value: Any, person: str | None) -> Any:  # noqa: ANN401  as JSON
        if person is not None and name in PERSONAL:
            return None
        if name == "actor" or (name in _SIGNED and _is_of(person, value)):
            return self.persons.stubs.get(value, value)
        return value if name in _OURS or name in _SIGNED else self.persons.harmless(value)


def _is_of(person: str | None, signed: str | None) -> bool:
    """Whether somebody signed in their own case; an account may be called as our ladder signs."""
    return person is not None and signed == person != LADDER


def _decision(old: Decision, work: Writing) -> Decision:
    """Whatever is still in force ends: the next who decides knows nobody of the stub's name."""
    ended = old if old.undone_at else replace(old, undone_at=work.at, undone_by=work.who)
    return replace(ended, because=(), undone_because=None)


def _action(old: Action, _work: Writing) -> Action:
    state = old.state if old.state in {DONE, UNDONE, REHEARSED, CANCELLED} else CANCELLED
    return replace(old, before=None, receipt=None, error=None, state=state)


def _challenge(old: Challenge, _work: Writing) -> Challenge | None:
    return None if old.state == OPEN else replace(old, session="", answer="")


def _appeal(old: Appeal, _work: Writing) -> Appeal:
    return replace(old, text="", because=None)


# What is left of a record beside its actor; None: nothing.
_NAMELESS: Mapping[type, Callable[[Any, Writing], Any]] = {
    Decision: _decision,
    Action: _action,
    Challenge: _challenge,
    Appeal: _appeal,
    Exonerated: lambda old, _work: old,
    IndexedVerdict: lambda old, _work: old,
}


def _actor_in(text: str) -> str:
    value = json_value(text)
    return str(value.get("actor", "")) if isinstance(value, Mapping) else ""


def _tables_of_actors() -> list[Any]:
    return [table for table in METADATA.sorted_tables if "actor" in table.c]


def _write_anew(engine: Engine, name: str) -> None:
    """Write the whole database again, without what rows left behind.

    Raises:
        LedgerError: another process is reading it.
    """
    with in_a_line(engine, name):
        if engine.dialect.name == "sqlite":
            _vacuum_file(engine, name)
            return
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in METADATA.sorted_tables:
                connection.exec_driver_sql(f"VACUUM FULL {table.name}")


def _vacuum_file(engine: Engine, name: str) -> None:
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.execute("ROLLBACK") if driver.in_transaction else None
        driver.execute("VACUUM")
        [(busy, *_)] = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if busy:
        raise LedgerError(f"{name}: another process is reading it, so that names stay in its log; end it and go on")
