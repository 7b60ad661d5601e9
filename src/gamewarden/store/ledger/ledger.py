"""Writing and reading the ledger: one transaction for what belongs together, durable once it is over, and audited."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from weakref import finalize

from sqlalchemy import Connection, Engine, Row, Table, insert, select, tuple_, update

from gamewarden.cases import AuditLine, Decision, Label, Observation, Protected
from gamewarden.core.files import sync_name
from gamewarden.core.outside import canonical_number, visible
from gamewarden.desk_records import User
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.asking import MANY, Asked, Times, is_the, key_of, records_of
from gamewarden.store.ledger.audit import HEAD, Deed, Head, bound, faults, head_of, subjects_of
from gamewarden.store.ledger.engines import PATIENCE, WRITES, engine_of, file_of, one_moment, shown
from gamewarden.store.ledger.failures import in_a_line
from gamewarden.store.ledger.replay import Comparison, compare
from gamewarden.store.ledger.schema import AUDIT, FACTS, TABLES, UNAUDITED, secrets_in
from gamewarden.store.ledger.values import is_writable, refuse_unwritable, row_of, told
from gamewarden.store.ledger.versions import migrate

T = TypeVar("T")
_ABOUT_ACCOUNTS = frozenset({Observation, Decision, Protected, Label})  # what begins a case; the rest follows from it


@dataclass
class Ledger:
    """The ledger of a workspace."""

    engine: Engine
    name: str
    account_numbers: bool = False  # actors are numbers: each is written in one form only

    def __post_init__(self) -> None:
        """Whoever forgets to close it has it closed."""
        finalize(self, self.engine.dispose)

    @classmethod
    def at(cls, place: Path | str, patience: float = PATIENCE) -> "Ledger":
        """The ledger in a file, or behind a URL such as postgresql://…; made or brought up to date where needed.

        `patience` is for how many seconds it waits while another process writes.

        Raises:
            LedgerError: it cannot be opened, or a newer gamewarden has written it.
        """
        name = shown(place)
        try:
            opened = cls(engine_of(place, patience), name)
            opened._bring_up_to_date()
        except OSError as error:
            raise LedgerError(f"{name}: cannot be opened ({error.strerror or error})") from error
        return opened

    @contextmanager
    def writing(self, who: str, at: datetime) -> Iterator["Writing"]:
        """All that is written within counts together, durably, once this ends; nothing of it where it fails.

        Raises:
            LedgerError: it cannot be written, or what is written was changed by somebody else meanwhile.
        """
        refuse_unwritable("who writes", {"name": who, "time": at})
        with in_a_line(self.engine, self.name), self._connected(**{WRITES: True}) as connection, connection.begin():
            work = Writing(connection, self.name, who, at, head_of(connection, hold=True), self.account_numbers)
            yield work
            work.close()

    def find(
        self,
        kind: type[T],
        /,
        *,
        at_least: Times | None = None,
        at_most: Times | None = None,
        order: Sequence[str] = (),
        newest: int | None = None,
        below: Sequence[Any] | None = None,
        **where: Any,  # noqa: ANN401  values of columns
    ) -> list[T]:
        """The records of a kind whose fields have these values: one, several (a collection) or None.

        `below` is for long lists: the values of `order` and of the key that the last record shown before had.
        """
        with in_a_line(self.engine, self.name), self._connected() as connection:
            return Asked(where, at_least or {}, at_most or {}, order, newest, below).find(connection, kind)

    def count(
        self,
        kind: type[Any],
        /,
        *,
        at_least: Times | None = None,
        at_most: Times | None = None,
        **where: Any,  # noqa: ANN401  values of columns
    ) -> int:
        """How many records of a kind have these values; of collections at most a few thousand are told apart."""
        with in_a_line(self.engine, self.name), self._connected() as connection:
            return Asked(where, at_least or {}, at_most or {}, (), None).count(connection, kind)

    def subjects(self, about: str) -> list[str]:
        """What the audit calls an actor and all records about it."""
        if not is_writable(about):
            return []
        with in_a_line(self.engine, self.name), self._connected() as connection:
            return subjects_of(connection, about)

    def fact(self, name: str) -> str | None:
        """What the ledger remembers under a name."""
        with in_a_line(self.engine, self.name), self._connected() as connection:
            return connection.execute(select(FACTS.c.value).where(FACTS.c.name == name)).scalar()

    @property
    def head(self) -> Head:
        """The last line of the audit, to be noted elsewhere."""
        with in_a_line(self.engine, self.name), self._connected() as connection:
            return head_of(connection)

    def has_line(self, noted: Head) -> bool:
        """Whether the audit has a line that was noted as its last one."""
        if not noted.number:
            return True
        with in_a_line(self.engine, self.name), self._connected() as connection:
            return connection.execute(select(AUDIT.c.hash).where(AUDIT.c.number == noted.number)).scalar() == noted.hash

    def audit_faults(self, noted: Head | None = None) -> Iterator[str]:
        """What in the audit is not as it was written, or not the line once noted.

        Where every line is as it was written, also each record that is not what its lines say.
        """
        with in_a_line(self.engine, self.name), self._connected(**one_moment(self.engine)) as connection:
            holds = True
            for fault in faults(connection, noted):
                holds = False
                yield fault
            if holds:
                yield from compare(connection).faults

    def compared(self) -> Comparison:
        """The tables compared with the audit, whose lines must be as they were written."""
        with in_a_line(self.engine, self.name), self._connected(**one_moment(self.engine)) as connection:
            return compare(connection)

    def lines(self, about: str | None = None, since: datetime | None = None) -> list[AuditLine]:
        """Lines of the audit in their order: about an actor or a record, and from a moment on."""
        with in_a_line(self.engine, self.name), self._connected(**one_moment(self.engine)) as connection:
            if about is not None and not is_writable(about):
                return []
            where = {} if about is None else {"subject": subjects_of(connection, about)}
            return Asked(where, {} if since is None else {"at": since}, {}, (), None).find(connection, AuditLine)

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    def _bring_up_to_date(self) -> None:
        try:
            with in_a_line(self.engine, self.name):
                made = migrate(self.engine, self.name)
            if made and (file := file_of(self.engine)):
                sync_name(file)
        except BaseException:
            self.close()
            raise

    def _connected(self, **options: Any) -> Connection:  # noqa: ANN401  options of executions
        return self.engine.connect().execution_options(**options)


@dataclass
class Writing:
    """One transaction on the ledger."""

    connection: Connection
    name: str
    who: str
    at: datetime
    head: Head
    account_numbers: bool = False
    _deeds: list[Deed] = field(default_factory=list)

    def find(
        self,
        kind: type[T],
        /,
        *,
        at_least: Times | None = None,
        at_most: Times | None = None,
        order: Sequence[str] = (),
        newest: int | None = None,
        **where: Any,  # noqa: ANN401  values of columns
    ) -> list[T]:
        """As of the ledger, within this transaction."""
        return Asked(where, at_least or {}, at_most or {}, order, newest).find(self.connection, kind)

    def add(self, records: Sequence[T]) -> list[T]:
        """Write the records that are not there yet, all of one kind; which those were.

        Raises:
            LedgerError: one has what no database keeps.
        """
        if not records:
            return []
        table = TABLES[type(records[0])]
        refuse_all_unwritable(table, records)
        if self.account_numbers and type(records[0]) in _ABOUT_ACCOUNTS:
            _refuse_other_forms(records)
        mine = {key_of(table, one): one for one in records}
        for known in self._known(table, list(mine), keys_alone=True):
            mine.pop(tuple(known), None)
        new = list(mine.values())
        if new:
            self.connection.execute(insert(table), [row_of(one) for one in new])
        if type(records[0]) not in UNAUDITED:
            self._deeds += (Deed(f"add {table.name}", _subject(one), None, _told(one)) for one in new)
        return new

    def put(self, records: Sequence[Any]) -> None:
        """Write records, all of one kind, in the place of those with the same key.

        Raises:
            LedgerError: one has what no database keeps.
        """
        if not records:
            return
        table = TABLES[type(records[0])]
        refuse_all_unwritable(table, records)
        mine = {key_of(table, one): one for one in records}
        known = {key_of(table, one): one for one in records_of(type(records[0]), self._known(table, list(mine)))}
        self.add([one for key, one in mine.items() if key not in known])
        for key, old in known.items():
            if old != mine[key]:
                self._replace(table, old, mine[key])

    def change(self, old: T, new: T) -> None:
        """Write a record in the place of another, which must still be as it was read.

        Raises:
            LedgerError: somebody else changed it meanwhile, or it is gone.
        """
        table = TABLES[type(old)]
        refuse_all_unwritable(table, [old, new])
        if records_of(type(old), self._known(table, [key_of(table, old)])) != [old]:
            shown_as = visible(_subject(old))
            raise LedgerError(f"{self.name}: {shown_as} was changed by somebody else meanwhile; look at it again")
        self._replace(table, old, new)

    def remove(self, record: Any) -> None:  # noqa: ANN401  a record of any kind
        """Take a record away; the audit still knows it."""
        table = TABLES[type(record)]
        gone = self.connection.execute(table.delete().where(is_the(table, record))).rowcount
        if gone and type(record) not in UNAUDITED:
            self._deeds.append(Deed(f"remove {table.name}", _subject(record), _told(record), None))

    def fact(self, name: str) -> str | None:
        """What the ledger remembers under a name."""
        return self.connection.execute(select(FACTS.c.value).where(FACTS.c.name == name)).scalar()

    def remember(self, name: str, value: str) -> None:
        """Remember a value under a name; never a person's name, since forgetting does not look here."""
        refuse_unwritable("a fact", {"name": name, "value": value})
        if self.fact(name) is None:
            self.connection.execute(insert(FACTS), {"name": name, "value": value})
        else:
            self.connection.execute(update(FACTS).where(FACTS.c.name == name).values(value=value))

    def audit(
        self, what: str, subject: str, old: Mapping[str, Any] | None = None, new: Mapping[str, Any] | None = None
    ) -> None:
        """Add a line to the audit: what was done, to what, and the value before and after.

        Raises:
            LedgerError: it has what no database keeps.
        """
        refuse_unwritable("the audit", {"what": what, "subject": subject, "old": old, "new": new})
        self._deeds.append(Deed(what, subject, old, new))

    def close(self) -> None:
        """Bind the lines of this transaction to those before."""
        if not self._deeds:
            return
        rows, self.head = bound(self.head, self._deeds, self.who, self.at)
        self.connection.execute(insert(AUDIT), rows)
        self.remember(HEAD, str(self.head))
        self._deeds = []

    def _known(self, table: Table, keys: list[tuple[Any, ...]], *, keys_alone: bool = False) -> Iterator[Row[Any]]:
        """The rows with these keys."""
        columns = list(table.primary_key.columns)
        for start in range(0, len(keys), MANY):
            some = keys[start : start + MANY]
            matched = columns[0].in_([key[0] for key in some]) if len(columns) == 1 else tuple_(*columns).in_(some)
            asked = select(*columns) if keys_alone else select(table)
            yield from self.connection.execute(asked.where(matched))

    def _replace(self, table: Table, old: Any, new: Any) -> None:  # noqa: ANN401  records of one kind
        self.connection.execute(update(table).where(is_the(table, old)).values(**row_of(new)))
        if type(old) not in UNAUDITED:
            before, after = told(old), told(new)
            # The subject alone does not say which record it is where a key has several columns.
            keys = [column.name for column in table.primary_key.columns][1:]
            changed = [name for name, value in after.items() if before[name] != value or name in keys]
            parts = ({name: one[name] for name in changed} for one in map(_told, (old, new)))
            self._deeds.append(Deed(f"change {table.name}", _subject(old), *parts))


def _refuse_other_forms(records: Sequence[Any]) -> None:
    """Refuse a second form of an account number: what is known of the account would not be found by it.

    Raises:
        LedgerError: there is one.
    """
    for one in records:
        if (number := canonical_number(one.actor)) != one.actor:
            raise LedgerError(f"ledger: {one.actor} is account {number}; write it without leading zeros")


def subject_of_user(name: str) -> str:
    """What the audit calls a person of the desk: a player may have the same name."""
    return f"user {name}"


def _told(record: Any) -> dict[str, Any]:  # noqa: ANN401  a record of any kind
    """A record as the audit says it: of a secret only that there is one."""
    secrets = secrets_in(TABLES[type(record)])
    return {name: "…" if name in secrets and value is not None else value for name, value in told(record).items()}


def _subject(record: Any) -> str:  # noqa: ANN401  a record of any kind
    """What the audit calls a record: by its id, or by its actor."""
    if isinstance(record, User):
        return subject_of_user(record.name)
    return str(getattr(record, "id", None) or getattr(record, "actor", None) or getattr(record, "verdict", ""))


def refuse_all_unwritable(table: Table, records: Sequence[Any]) -> None:
    """Say what no database could keep of records.

    Raises:
        LedgerError: there is something of that sort.
    """
    for one in records:
        refuse_unwritable(table.name, row_of(one))
