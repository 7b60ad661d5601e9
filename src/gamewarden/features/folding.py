"""A measurement from the first batch to the table: the one way in which every family is measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Feature, Fold, Notes, Progress, Stream, no_progress, sight_of
from gamewarden.errors import TableError
from gamewarden.tables import FEATURES, DataType


@dataclass(frozen=True)
class Lines:
    """Sentences that hold for every part of a source in which they were said."""

    lines: tuple[str, ...] = ()

    def __add__(self, other: Self) -> Self:
        """Each sentence once."""
        return type(self)(tuple(dict.fromkeys((*self.lines, *other.lines))))

    def sentences(self) -> tuple[str, ...]:
        """As they are."""
        return self.lines


@dataclass(frozen=True)
class Measured:
    """FEATURES of a stream, and what has to be said beside them."""

    frame: pl.DataFrame
    notes: Notes


@runtime_checkable
class Peeks(Protocol):
    """A fold that can be asked in the middle of its rows; what it says at the end is the same, asked or not."""

    def peek(self, names: pa.Array, /) -> pl.DataFrame:
        """What measuring the rows so far would say of whoever has these names, but for those out of order.

        A row that was finished when `mark` was called last, and can no longer change, is not said again.
        """

    def out_of_order(self, names: pa.Array, /) -> pa.Array:
        """Whose rows came out of order, of whoever has these names; their rows have to come once more."""

    def mark(self) -> None:
        """What is finished by now was said."""


def folded(feature: Feature, stream: Stream, progress: Progress = no_progress) -> Measured:
    """What a feature measures in a stream."""
    fold = feature.fold(sight_of(feature.input, stream))
    feed(fold, stream, progress)
    return Measured(fold.frame(), fold.notes())


def feed(fold: Fold, stream: Stream, progress: Progress = no_progress) -> None:
    """Let all rows pass, as often as the fold has to see them; what passes again is no progress."""
    _pass(fold, stream, progress)
    while fold.again():
        _pass(fold, stream, no_progress)


def _pass(fold: Fold, stream: Stream, progress: Progress) -> None:
    for batch in stream.batches(fold.columns):
        fold.push(batch)
        progress(batch.num_rows)


def feed_together(folds: Sequence[Fold], stream: Stream, progress: Progress = no_progress) -> None:
    """Let all rows pass once for several folds, and once more for each that has to see them again."""
    columns = list(dict.fromkeys(name for fold in folds for name in fold.columns))
    for batch in stream.batches(columns):
        for fold in folds:
            fold.push(batch.select(list(fold.columns)))
        progress(batch.num_rows)
    for fold in folds:
        while fold.again():
            _pass(fold, stream, no_progress)


def typed(rows: pl.DataFrame, schema: Mapping[str, DataType]) -> pl.DataFrame:
    """Rows as FEATURES with these columns, each of its type, sorted by actor, then since."""
    whole = {**FEATURES.columns, **schema}
    return rows.select(pl.col(name).cast(dtype) for name, dtype in whole.items()).sort("actor", "since")


class OnePass:
    """A fold that has seen enough when it has seen every row once, and has nothing to say beside its table."""

    def again(self) -> bool:
        """Never."""
        return False

    def notes(self) -> Notes:
        """Nothing."""
        return Lines()


class TableFold(OnePass):
    """The rows of a stream as one table in memory, and what a function makes of it: for features that are short."""

    def __init__(
        self, columns: Sequence[str], rows: Callable[[pl.DataFrame], pl.DataFrame], schema: Mapping[str, DataType]
    ) -> None:
        self.columns = tuple(columns)
        self._rows = rows
        self._schema = schema
        self._parts: list[pl.DataFrame] = []

    def push(self, batch: pa.RecordBatch) -> None:
        """Keep the rows."""
        self._parts.append(_plain(pl.DataFrame(pl.from_arrow(batch))))

    def frame(self) -> pl.DataFrame:
        """FEATURES of all rows."""
        if not self._parts:
            return pl.DataFrame(schema={**FEATURES.columns, **self._schema})
        return typed(self._rows(pl.concat(self._parts)), self._schema)


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Text as text, whatever dictionary it came with."""
    return rows.with_columns(pl.col(pl.Categorical).cast(pl.String))


def whole(column: pa.Array, name: str, door: str) -> pa.Array:
    """The column, which must not have holes.

    Raises:
        TableError: it has.
    """
    if column.null_count:
        raise TableError(
            f"{door}: EVENTS.{name} is null in {column.null_count} of {len(column)} rows; it must always be there"
        )
    return column
