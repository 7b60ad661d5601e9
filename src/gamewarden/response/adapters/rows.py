"""Columns of one account: changed from what was just read, given back as they were, never over somebody else's word."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, select

from gamewarden.core.outside import cut, visible
from gamewarden.response.adapters import LEFT, NOW, RefusedError, TryLaterError
from gamewarden.response.adapters.accounts import ACCOUNT_ID

_SHOWN = 60  # letters of a value
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """Some columns of the row with this number, as they were just read."""

    table: Table
    number: int
    values: Values

    @classmethod
    def read(cls, connection: Connection, table: Table, number: int, columns: Sequence[str]) -> "Record":
        """What the columns hold now.

        Raises:
            RefusedError: the account is gone.
        """
        asked = select(*(table.c[name] for name in columns)).where(_number(table) == number).with_for_update()
        found = connection.execute(asked).mappings().first()
        if found is None:
            raise RefusedError(f"account {number} is gone from the game's database")
        return cls(table, number, dict(found))

    @property
    def seen(self) -> dict[str, Any]:
        """What is kept of it."""
        return {ACCOUNT_ID: self.number, **self.values}

    def write(self, connection: Connection, new: Values) -> "Record":
        """Change the columns from what was just read: a table without transactions keeps its word too.

        Raises:
            TryLaterError: somebody else was quicker.
        """
        unchanged = [self.table.c[name].is_not_distinct_from(value) for name, value in self.values.items()]
        changed = connection.execute(
            self.table.update().where(_number(self.table) == self.number, *unchanged).values(dict(new))
        )
        if changed.rowcount != 1:
            raise TryLaterError(f"account {self.number} was changed by somebody else at the same moment")
        return Record(self.table, self.number, {**self.values, **new})


@dataclass(frozen=True)
class Change:
    """What an action makes of a record: what was there before, what it writes, and what else of ours may be there."""

    was: Values
    wanted: Values
    over: Iterable[Values]

    @property
    def is_none(self) -> bool:
        """Whether there is nothing to write, since what was there says it already."""
        return _holds(self.was, self.wanted)

    def do(self, connection: Connection, record: Record) -> dict[str, Any]:
        """Write it where the record holds what we saw or wrote; a receipt.

        Raises:
            RefusedError: somebody else wrote something since.
            TryLaterError: somebody else was quicker.
        """
        if not _holds(record.values, self.wanted):
            if not any(_holds(record.values, one) for one in (self.was, *self.over)):
                raise RefusedError(self._mismatch(record, self.was))
            record = record.write(connection, self.wanted)
        return {NOW: record.seen}

    def undo(self, connection: Connection, record: Record) -> dict[str, Any]:
        """Write back what was there, unless somebody else wrote something since; a receipt.

        Raises:
            TryLaterError: somebody else was quicker.
        """
        if not _holds(record.values, self.was):
            if not any(_holds(record.values, one) for one in (self.wanted, *self.over)):
                return {LEFT: self._mismatch(record, self.wanted), NOW: record.seen}
            record = record.write(connection, self.was)
        return {NOW: record.seen}

    def _mismatch(self, record: Record, expected: Values) -> str:
        return (
            f"account {record.number}: the game has {shown(record.values)}, and the ledger expects {shown(expected)};"
            " somebody else changed it, so it was left alone"
        )


def _number(table: Table) -> ColumnElement[int]:
    return next(iter(table.columns))


def _holds(there: Values, values: Values) -> bool:
    """Whether these values are there; for a server an empty text is as good as none: it writes either."""
    return all((there[name] or "") == (value or "") for name, value in values.items())


def shown(values: Values) -> str:
    """Columns and their values, for people."""
    return ", ".join(f"{name} {visible(cut(str(value), _SHOWN))}" for name, value in values.items())
