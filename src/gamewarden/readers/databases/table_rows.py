"""Rows of one table as they were read, before anybody says what they mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.readers.databases.database import Database, Row
from gamewarden.readers.servers.preset import LogTable

FOR_EVER = 1 << 62
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class RawRows:
    """Rows in the order of their table: which of them are new, and whether the table ended with them."""

    columns: tuple[str, ...]
    rows: list[Row]
    new: Mask
    ended: bool

    def values(self, column: str) -> list[object]:
        """One column of them."""
        place = self.columns.index(column)
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class TableRows:
    """The same as a frame, with KEY and `at`."""

    table: LogTable
    raw: RawRows
    frame: pl.DataFrame
    faults: Mapping[str, Mask] = field(default_factory=dict)  # rows whose time cannot be told, by why
    notes: Mapping[str, Mask] = field(default_factory=dict)  # rows for whose time a choice was made

    @property
    def readable(self) -> Mask:
        """Which rows have a time."""
        there: Mask = self.frame["at"].is_not_null().to_numpy()
        return there

    @property
    def at(self) -> NDArray[np.int64]:
        """When each was written, in microseconds; one without a time is where it stands, before all others."""
        moments: NDArray[np.int64] = self.frame["at"].to_physical().fill_null(-FOR_EVER).to_numpy()
        return moments

    @property
    def last(self) -> int:
        """The moment of the latest."""
        return int(self.at.max(initial=-FOR_EVER))

    @property
    def whole(self) -> int:
        """Up to which moment all that belongs together was read, where more rows follow."""
        return self.last - self.table.reach

    def before(self, frontier: int) -> Mask:
        """Which rows come before the first one from a moment on."""
        later = np.flatnonzero(self.at >= frontier)
        return np.arange(len(self.at)) < (later[0] if len(later) else len(self.at))

    def taken(self, frontier: int) -> Mask:
        """Which of those are new."""
        return self.before(frontier) & self.raw.new

    def leads_on(self, frontier: int) -> bool:
        """Whether the next reading begins further on, once those are in."""
        taken = self.taken(frontier)
        return bool((taken if self.table.key else taken & self.readable).any())

    def is_stuck(self, frontier: int) -> bool:
        """Whether it is this table that keeps all from going on: a full reading of it, and nothing can be taken."""
        return not self.raw.ended and self.whole <= frontier and not self.leads_on(frontier)


def columns_of(table: LogTable, database: Database) -> tuple[str, ...]:
    """The columns that are read of a table: those it must have, and those of the others that it has."""
    have = database.columns(table.name)
    return (*table.read, *(name for name in table.may if name in have))
