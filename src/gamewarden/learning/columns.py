"""A table's columns as numbers that can be used, or a refusal that says which cannot."""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from gamewarden.errors import TableError
from gamewarden.learning.reference import Floats
from gamewarden.tables import FEATURES, check


def checked(
    features: pl.DataFrame, columns: Sequence[str], door: str, remedy: str, counts: Collection[str] = ()
) -> pl.DataFrame:
    """FEATURES with the columns as numbers.

    Raises:
        TableError: a column is missing, holds no numbers, or one that is infinite or a count below 0.
    """
    table = check(features, FEATURES, door)
    if missing := [name for name in columns if name not in table.columns]:
        raise TableError(f"{door}: FEATURES lacks {', '.join(missing)}; {remedy}")
    if texts := [name for name in columns if not _is_number(table.schema[name])]:
        raise TableError(f"{door}: FEATURES.{', '.join(texts)} holds no numbers; {remedy}")
    numbers = table.with_columns(pl.col(list(columns)).cast(pl.Float64))
    for name in columns:
        if not numbers[name].drop_nulls().is_finite().all():
            raise TableError(f"{door}: FEATURES.{name} holds an infinite number; write null for what was not measured")
        if name in counts and (numbers[name] < 0).any():
            least = numbers[name].min()
            raise TableError(f"{door}: FEATURES.{name} is a count and holds {least!r}; counts are 0 or more")
    return numbers


def values(table: pl.DataFrame, name: str) -> Floats:
    """A column as an array of its own, NaN where the table has null."""
    return np.ascontiguousarray(table[name].to_numpy(), dtype=np.float64)


def matrix(table: pl.DataFrame, columns: Sequence[str]) -> Floats:
    """The numbers, one row per row of the table, NaN where it has null."""
    parts = [values(table, name) for name in columns]
    return np.column_stack(parts) if parts else np.zeros((table.height, 0))


def measured(table: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Which rows have one of the columns at least."""
    return table.select(pl.any_horizontal(pl.col(columns).is_not_null())).to_series()


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.Null, pl.Boolean)
