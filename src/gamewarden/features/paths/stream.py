"""Feeding the kernel of the ways: batches to numbers, room for what it remembers, the table at the end."""

from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Sight
from gamewarden.features.folding import Lines, typed
from gamewarden.features.paths import kernel
from gamewarden.features.period_fold import PeriodFold, nobody_yet, places
from gamewarden.features.slots import BUDGET, Slots, frozen
from gamewarden.features.text_columns import Names
from gamewarden.tables import TIME

if TYPE_CHECKING:
    from gamewarden.features.paths.recipe import Paths

_BYTES_A_ROW = 96  # that waits to be sorted: its numbers, and as much again, twice, while they are sorted
_LATE = np.dtype([("slot", "i4"), ("at", "i8"), ("day", "i8"), ("zone", "u4"), ("x", "f4"), ("y", "f4")])
_COLUMNS = ("at", "zone", "x", "y")


class PathFold(PeriodFold[kernel.Rows]):
    """Ways under way.

    At most about `budget` bytes hold rows that came out of order and have to be sorted.
    """

    def __init__(self, recipe: "Paths", sight: Sight, *, budget: int = BUDGET) -> None:
        state = nobody_yet(kernel.ACTOR, np.zeros((0, kernel.ENTRIES), np.uint32), kernel.DONE)
        super().__init__(Slots(sight, _COLUMNS, recipe.by, recipe.name), state, _LATE, budget // _BYTES_A_ROW)
        self._recipe = recipe
        self._zones = _Zones()

    def frame(self) -> pl.DataFrame:
        """FEATURES: one row per actor and period."""
        return typed(_measured(np.concatenate(self._done), self._slots.actors, self._recipe), self._recipe.schema)

    def notes(self) -> Lines:
        """Nothing."""
        return Lines()

    def _rows(self, batch: pa.RecordBatch) -> kernel.Rows:
        columns, slot = self._slots.of(batch)
        at = frozen(self._slots.whole(columns, "at").view(pa.int64()).to_numpy())
        day = self._recipe.clock.numbers(at)
        zone = self._zones.numbers(columns["zone"])
        return kernel.Rows(at, slot, day, zone, places(columns["x"]), places(columns["y"]))

    def _rows_of(self, records: NDArray[Any]) -> kernel.Rows:
        at, slot, day, zone, x, y = (np.ascontiguousarray(records[name]) for name in kernel.Rows._fields)
        return kernel.Rows(frozen(at), slot, day, zone, frozen(x), frozen(y))

    def _ingest(self, rows: kernel.Rows, begin: int, end: int) -> None:
        kernel.ingest(rows, begin, end, self._recipe.cell, self._state)

    def _close_all(self, slots: NDArray[np.int64]) -> None:
        kernel.close_all(self._state, slots, self._recipe.cell)


class _Zones:
    """A number for each zone that depends on its name alone; 0 where there is none."""

    def __init__(self) -> None:
        self._names = Names()
        self._known = np.zeros(1, np.uint32)  # of null, then by the number of the name

    def numbers(self, column: pa.Array) -> NDArray[np.uint32]:
        """The numbers of a column of names."""
        found = self._names.numbers(column)
        new = self._names.count - len(self._known) + 1
        if new:
            texts = self._names.texts().to_pylist()[-new:]
            self._known = np.concatenate([self._known, np.array([crc32(text.encode()) for text in texts], np.uint32)])
        return self._known[found + 1]


def _measured(done: NDArray[Any], actors: Names, recipe: "Paths") -> pl.DataFrame:
    """The finished periods; of a way of few way-points only their number is told."""
    clock, names = recipe.clock, pl.Series(actors.texts(), dtype=pl.String)
    points = done["points"]
    told = pl.Series(points >= recipe.min_points)
    placed = pl.Series(done["length"] > 0)
    rows = pl.DataFrame(
        {
            "actor": names.gather(done["slot"].astype(np.uint32)),
            "since": pl.Series(clock.begins(done["day"])).cast(TIME),
            "until": pl.Series(clock.begins(done["day"] + 1)).cast(TIME),
            "events": done["events"],
            "way_points": points,
            "way_length": done["length"],
            "repeated_way": done["repeated"] / np.maximum(points, 1),
            "repeated_run": done["longest"],
            "laps": done["laps"],
            "same_places": done["again"] / np.maximum(points, 1),
        }
    )
    share = ("repeated_way", "repeated_run", "laps", "same_places")
    return rows.with_columns(
        *(pl.when(placed).then(pl.col(name)).alias(name) for name in ("way_points", "way_length")),
        *(pl.when(told).then(pl.col(name)).alias(name) for name in share),
    )
