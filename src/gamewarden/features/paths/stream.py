"""Feeding the kernel of the ways: batches to numbers, room for what it remembers, the table at the end."""

from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Sight
from gamewarden.features.disorder import Columns, LateRows
from gamewarden.features.folding import Lines, typed
from gamewarden.features.paths import kernel
from gamewarden.features.slots import BUDGET, Slots, frozen, grown
from gamewarden.features.text_columns import Names
from gamewarden.tables import TIME

if TYPE_CHECKING:
    from gamewarden.features.paths.recipe import Paths

_STRIDE = 1 << 14  # rows a call of the kernel, each of which may finish a period
_BYTES_A_ROW = 96  # that waits to be sorted: its numbers, and as much again, twice, while they are sorted
_LATE = np.dtype([("slot", "i4"), ("at", "i8"), ("day", "i8"), ("zone", "u4"), ("x", "f4"), ("y", "f4")])
_COLUMNS = ("at", "zone", "x", "y")


class PathFold:
    """Ways under way; the rows of actors who came out of order are put aside, and sorted at the end.

    At most about `budget` bytes hold what has to be sorted.
    """

    def __init__(self, recipe: "Paths", sight: Sight, *, budget: int = BUDGET) -> None:
        self._recipe = recipe
        self._slots = Slots(sight, _COLUMNS, recipe.by, recipe.name)
        self._zones = _Zones()
        self._late = LateRows(_LATE, budget // _BYTES_A_ROW)
        self._disordered: NDArray[np.int64] | None = None  # the slots, known after the first pass
        self._done: list[NDArray[Any]] = [np.zeros(0, kernel.DONE)]
        self._state = kernel.State(
            actors=np.zeros(0, kernel.ACTOR),
            seen=np.zeros((0, kernel.ENTRIES), np.uint32),
            counters=np.zeros(kernel.COUNTERS, np.int64),
            done=np.zeros(_STRIDE, kernel.DONE),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of EVENTS that are needed."""
        return self._slots.columns

    def push(self, batch: pa.RecordBatch) -> None:
        """Take in a batch, or put aside what of it is to be sorted."""
        if self._disordered is None:
            rows = self._rows(batch)
            self._feed(rows)
            if self._state.counters[kernel.DISORDERED]:
                self._late.put_aside(rows.slot, self._state.actors["disordered"] != 0, lambda: _columns(rows))
        elif self._late.lacks_rows:
            seen = self._rows(batch)
            self._late.pick_up(seen.slot, lambda: _columns(seen))
        self._late.pass_by(batch.num_rows)

    def again(self) -> bool:
        """Once, where rows of actors that came out of order had come before that was known."""
        if self._disordered is None:
            self._disordered = self._finish()
            if self._late.begin_again():
                return True
        kernel.clear_all(self._state, self._disordered)
        for rows in self._late.in_order():
            self._feed(_rows_of(rows))
        self._close(self._disordered)
        return False

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
        return kernel.Rows(at, slot, day, zone, _places(columns["x"]), _places(columns["y"]))

    def _feed(self, rows: kernel.Rows) -> None:
        if self._slots.actors.count > len(self._state.actors):
            self._make_room(max(2 * len(self._state.actors), self._slots.actors.count))
        for begin in range(0, len(rows.at), _STRIDE):
            end = min(begin + _STRIDE, len(rows.at))
            kernel.ingest(rows, begin, end, self._recipe.cell, self._state)
            self._keep_done()

    def _make_room(self, size: int) -> None:
        state = self._state
        self._state = state._replace(actors=grown(state.actors, size), seen=grown(state.seen, size))
        kernel.clear_all(self._state, np.arange(len(state.actors), size))

    def _finish(self) -> NDArray[np.int64]:
        """Close what is open; the slots of those whose rows came out of order, and no period of theirs any more."""
        self._close(np.arange(len(self._state.actors)))
        disordered = self._state.actors["disordered"] != 0
        self._done = [done[~disordered[done["slot"]]] for done in self._done]
        return np.flatnonzero(disordered)

    def _close(self, slots: NDArray[np.int64]) -> None:
        for begin in range(0, len(slots), _STRIDE):
            kernel.close_all(self._state, slots[begin : begin + _STRIDE], self._recipe.cell)
            self._keep_done()

    def _keep_done(self) -> None:
        used = int(self._state.counters[kernel.DONE_USED])
        if used:
            self._done.append(self._state.done[:used].copy())
            self._state.counters[kernel.DONE_USED] = 0


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


def _places(column: pa.Array) -> NDArray[np.float32]:
    """A coordinate, NaN where it is not known."""
    filled = column.fill_null(float("nan")) if column.null_count else column
    return frozen(filled.to_numpy(zero_copy_only=False).astype(np.float32, copy=False))


def _columns(rows: kernel.Rows) -> Columns:
    return rows.slot, rows.at, rows.day, rows.zone, rows.x, rows.y


def _rows_of(records: NDArray[Any]) -> kernel.Rows:
    """Rows that were put aside."""
    at, slot, day, zone, x, y = (np.ascontiguousarray(records[name]) for name in kernel.Rows._fields)
    return kernel.Rows(frozen(at), slot, day, zone, frozen(x), frozen(y))


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
