"""Which records of the ledger somebody asks for, and rows as records again."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Float, Integer, Row, Table, Text, and_, or_, select
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.functions import count

from gamewarden.core.outside import cut
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.schema import TABLES, Flag, Moment
from gamewarden.store.ledger.values import is_writable

T = TypeVar("T")
Times = Mapping[str, datetime]
MANY = 5_000  # values that one statement may be asked for


@dataclass(frozen=True)
class Asked:
    """Which records somebody asks for."""

    where: Mapping[str, Any]
    at_least: Times
    at_most: Times
    order: Sequence[str]
    newest: int | None
    below: Sequence[Any] | None = None  # the place after which a list goes on: values of `order` and of the key

    def find(self, connection: Connection, kind: type[T]) -> list[T]:
        """They, in their order; the newest first where only some of those are wanted."""
        if any(isinstance(value, str) and not is_writable(value) for value in self.where.values()):
            return []  # no database has such a text
        table, many = TABLES[kind], self._many()
        columns = [table.c[name] for name in (*self.order, *(one.name for one in table.primary_key.columns))]
        asked = select(table).where(*self._conditions(table))
        if self.below is not None:
            asked = asked.where(_below(columns, self.below))
        if self.newest is None:
            asked = asked.order_by(*columns)
        else:
            asked = asked.order_by(*(column.desc() for column in columns))
        if self.newest is not None and not many:
            asked = asked.limit(self.newest)
        found = records_of(kind, connection.execute(asked))
        return [one for one in found if all(getattr(one, name) in value for name, value in many)][: self.newest]

    def count(self, connection: Connection, kind: type[Any]) -> int:
        """How many they are."""
        table = TABLES[kind]
        return int(connection.execute(select(count()).select_from(table).where(*self._conditions(table))).scalar_one())

    def _conditions(self, table: Table) -> Iterator[ColumnElement[bool]]:
        large = {name for name, _ in self._many()}
        yield from (table.c[name] >= moment for name, moment in self.at_least.items())
        yield from (table.c[name] <= moment for name, moment in self.at_most.items())
        yield from (_fits(table, name, value) for name, value in self.where.items() if name not in large)

    def _many(self) -> list[tuple[str, frozenset[Any]]]:
        """Collections too large for a statement: what is in them is looked at afterwards."""
        return [(name, frozenset(value)) for name, value in self.where.items() if _several(value) and len(value) > MANY]


def records_of(kind: type[T], rows: Iterable[Row[Any]]) -> list[T]:
    """Rows as records of a kind.

    Raises:
        LedgerError: a row has values that no record has.
    """
    expected, made = _types(TABLES[kind]), []
    for row in rows:
        for value, types in zip(row, expected, strict=True):
            if type(value) not in types:
                raise _changed(TABLES[kind], row)
        made.append(kind(**row._mapping))  # noqa: SLF001  SQLAlchemy's public name for it
    return made


def key_of(table: Table, record: Any) -> tuple[Any, ...]:  # noqa: ANN401  a record of any kind
    """The values of a record that no other record of the kind has together."""
    return tuple(getattr(record, column.name) for column in table.primary_key.columns)


def is_the(table: Table, record: Any) -> ColumnElement[bool]:  # noqa: ANN401  a record of any kind
    """The condition that a row is this record's."""
    return and_(*(column == getattr(record, column.name) for column in table.primary_key.columns))


@cache
def _types(table: Table) -> tuple[frozenset[type], ...]:
    """What a value of each column may be; SQLite takes any, so that a hand may have written another."""
    return tuple(_types_of(column.type) | ({type(None)} if column.nullable else set()) for column in table.columns)


def _types_of(kind: Any) -> frozenset[type]:  # noqa: ANN401  a column's type
    if isinstance(kind, Flag):
        return frozenset({bool})
    if isinstance(kind, Integer):
        return frozenset({int})
    if isinstance(kind, Float):
        return frozenset({float, int})
    if isinstance(kind, Text):
        return frozenset({str})
    return frozenset({datetime}) if isinstance(kind, Moment) else frozenset({dict, tuple})


def _changed(table: Table, row: Row[Any]) -> LedgerError:
    wrong = next(
        (column.name, value)
        for column, value, types in zip(table.columns, row, _types(table), strict=True)
        if type(value) not in types
    )
    return LedgerError(
        f"ledger: {wrong[0]} of {table.name} is {cut(ascii(wrong[1]), 60)}, so it was changed by hand; put a copy back"
    )


def _below(columns: Sequence[ColumnElement[Any]], values: Sequence[Any]) -> ColumnElement[bool]:
    """Whether a row comes before a place, by the first of the columns in which they differ."""
    before: ColumnElement[bool] = columns[0] < values[0]
    if len(values) == 1:
        return before
    return or_(before, and_(columns[0] == values[0], _below(columns[1:], values[1:])))


def _several(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str)


def _fits(table: Table, name: str, value: Any) -> ColumnElement[bool]:  # noqa: ANN401  the value of a column
    if value is None:
        return table.c[name].is_(None)
    column: ColumnElement[Any] = table.c[name]
    if not _several(value):
        is_it: ColumnElement[bool] = column == value
        return is_it
    return column.in_([one for one in value if not isinstance(one, str) or is_writable(one)])
