"""Making and widening tables from a text, as the ledger's migrations write them down."""

from typing import Any

import sqlalchemy as sa
from alembic import op

_KINDS: dict[str, Any] = {
    "text": sa.Text,
    "time": sa.BigInteger,
    "json": sa.Text,
    "real": sa.Float,
    "whole": sa.Integer,
    "flag": sa.Boolean,
    "number": sa.BigInteger().with_variant(sa.Integer, "sqlite"),
}


def make_tables(told: str) -> None:
    """A table per line: columns as name and kind, ! for a part of the key, ? for what may be null; after | indexes."""
    for line in told.strip().replace(",\n", ",").split("\n"):
        name, _, rest = line.partition(":")
        columns, _, indexes = rest.partition("|")
        op.create_table(name, *map(_column, columns.split(",")))
        for column in filter(None, map(str.strip, indexes.split(","))):
            op.create_index(f"{name}_{column}", name, [column])


def add_columns(told: str) -> None:
    """A table and its new columns, in the same words; they stand behind those that are there."""
    name, _, columns = told.partition(":")
    for column in columns.split(","):
        op.add_column(name, _column(column))


def _column(told: str) -> sa.Column[Any]:
    name, kind = told.split()
    key, null = kind.endswith("!"), kind.endswith("?")
    return sa.Column(name, _KINDS[kind.rstrip("!?")], primary_key=key, nullable=null, autoincrement=False)
