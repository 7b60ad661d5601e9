"""What the other rows of the same group have: an account's other characters, without a word on who was banned.

A row's own numbers never count among its siblings', and a row alone has no siblings' numbers: they are null.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

SIBLINGS = "siblings"  # how many others its group has
MEAN, LARGEST, SMALLEST = "mean", "largest", "smallest"
Floats = NDArray[np.float64]


def names_of(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The numbers of siblings that stand beside these columns."""
    kinds = (MEAN, LARGEST, SMALLEST)
    return (SIBLINGS, *(f"siblings' {kind} {name}" for name in columns for kind in kinds)) if columns else ()


def with_siblings(table: pl.DataFrame, groups: pl.Series, columns: tuple[str, ...]) -> pl.DataFrame:
    """The table with what the others of each row's group have; rows without a group are alone.

    The rows are sorted by actor, so that sums have one order whatever else is in the table.
    """
    by_itself = pl.format("\x00{}", pl.int_range(pl.len()))
    known = groups.alias("group").to_frame().select(pl.coalesce("group", by_itself).rank("dense"))
    place = known.to_series().to_numpy().astype(np.int64) - 1
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    parts = [_others(table[name].to_numpy().astype(np.float64), order, starts) for name in columns]
    count = np.bincount(place, minlength=starts.size)[place] - 1
    found = [pl.Series(count, dtype=pl.Float64), *(series for part in parts for series in part)]
    return table.with_columns(series.alias(name) for name, series in zip(names_of(columns), found, strict=True))


def _others(values: Floats, order: NDArray[np.int64], starts: NDArray[np.int64]) -> Iterator[pl.Series]:
    """Mean, largest and smallest of the others of each row's group, of those that have the number."""
    ordered, sizes = values[order], np.diff(starts, append=order.size)
    there = ~np.isnan(ordered)
    others = np.repeat(_sums(there.astype(np.float64), starts), sizes) - there
    total = np.repeat(_sums(np.where(there, ordered, 0.0), starts), sizes) - np.where(there, ordered, 0.0)
    nobody = others == 0
    largest, smallest = _extreme(ordered, starts, sizes), -_extreme(-ordered, starts, sizes)
    for found in (total / np.where(nobody, 1.0, others), largest, smallest):
        back = np.empty(order.size)
        back[order] = np.where(nobody, np.nan, found)
        yield pl.Series(back).fill_nan(None)


def _sums(values: Floats, starts: NDArray[np.int64]) -> Floats:
    summed: Floats = np.add.reduceat(values, starts) if starts.size else values
    return summed


def _extreme(ordered: Floats, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    """The largest number of the others: the group's, or the second one for the first row that has the largest."""
    if not starts.size:
        return ordered
    low = np.where(np.isnan(ordered), -np.inf, ordered)
    most = np.repeat(np.maximum.reduceat(low, starts), sizes)
    has_it = (low == most).astype(np.int64)
    before = np.cumsum(has_it) - has_it
    first = (has_it == 1) & (before == np.repeat(before[starts], sizes))
    second = np.repeat(np.maximum.reduceat(np.where(first, -np.inf, low), starts), sizes)
    return np.where(first, second, most)
