"""Feeding the kernel of the rhythm: batches to numbers, finished days to their summary, the parts at the end."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Sight
from gamewarden.features.folding import Lines
from gamewarden.features.period_fold import PeriodFold, nobody_yet
from gamewarden.features.rhythm import kernel, periodicity
from gamewarden.features.slots import BUDGET, Slots, frozen
from gamewarden.tables import TIME

if TYPE_CHECKING:
    from gamewarden.features.rhythm.recipe import Rhythm

_BYTES_A_ROW = 60  # that waits to be sorted: its numbers, and as much again, twice, while they are sorted
_LATE = np.dtype([("slot", "i4"), ("at", "i8")])
_FEW_DAYS = 1 << 12
_TOGETHER = 1 << 10  # finished days that wait to be summed up
_DIGITS = 9
_SAME = ("slot", "events", "since", "until", "hours", "active", "busiest_min", "busiest_hour", "gap_entropy")
_SUMMARY = np.dtype([*((name, kernel.DONE[name]) for name in _SAME), ("periodic", "f8"), ("period_min", "f8")])


class RhythmFold(PeriodFold[kernel.Rows]):
    """Days under way, and the summaries of those that are over.

    At most about `budget` bytes hold rows that came out of order and have to be sorted.
    """

    def __init__(self, recipe: "Rhythm", sight: Sight, *, budget: int = BUDGET) -> None:
        state = nobody_yet(kernel.ACTOR, np.zeros((0, kernel.ENTRIES), np.uint16), kernel.DONE)
        super().__init__(Slots(sight, ("at",), "account", recipe.name), state, _LATE, budget // _BYTES_A_ROW)
        self._recipe = recipe
        self._done = [np.zeros(0, _SUMMARY)]
        self._over: list[NDArray[Any]] = []
        self._waiting = 0

    def frame(self) -> pl.DataFrame:
        """The parts of every day."""
        done = np.concatenate(self._done)
        names = pl.Series(self._slots.actors.texts(), dtype=pl.String)
        parts = pl.DataFrame({name: np.ascontiguousarray(done[name]) for name in _SUMMARY.names or ()})
        named = parts.with_columns(
            names.gather(done["slot"].astype(np.uint32)).alias("actor"),
            pl.col("since", "until").cast(TIME),
            pl.col("gap_entropy", "periodic", "period_min").fill_nan(None).round(_DIGITS),
        ).rename({"active": "active_min"})
        schema = self._recipe.parts_schema
        return named.select(pl.col(name).cast(dtype) for name, dtype in schema.items()).sort("since", "actor")

    def notes(self) -> Lines:
        """Nothing."""
        return Lines()

    def _rows(self, batch: pa.RecordBatch) -> kernel.Rows:
        columns, slot = self._slots.of(batch)
        at = frozen(self._slots.whole(columns, "at").view(pa.int64()).to_numpy())
        return kernel.Rows(at, slot, self._borders(at))

    def _rows_of(self, records: NDArray[Any]) -> kernel.Rows:
        at, slot = (np.ascontiguousarray(records[name]) for name in ("at", "slot"))
        return kernel.Rows(frozen(at), slot, self._borders(at))

    def _borders(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """When the days of some times begin and end; of some more where they are not many."""
        clock = self._recipe.clock
        if not len(at):
            return np.zeros(0, np.int64)
        first, last = clock.numbers(np.array([at.min(), at.max()])).tolist()
        if last - first < _FEW_DAYS:
            return clock.begins(np.arange(first, last + 2))
        numbers = np.unique(clock.numbers(at))
        return clock.begins(np.union1d(numbers, numbers + 1))

    def _ingest(self, rows: kernel.Rows, begin: int, end: int) -> None:
        kernel.ingest(rows, begin, end, self._state)

    def _close_all(self, slots: NDArray[np.int64]) -> None:
        kernel.close_all(self._state, slots)

    def _close(self, slots: NDArray[np.int64]) -> None:
        super()._close(slots)
        self._sum_up()

    def _keep(self, done: NDArray[Any]) -> None:
        """Only summaries stay: the counts of a day are thirty times as long."""
        self._over.append(done)
        self._waiting += len(done)
        if self._waiting >= _TOGETHER:
            self._sum_up()

    def _sum_up(self) -> None:
        if self._over:
            self._done.append(_summed(np.concatenate(self._over)))
        self._over, self._waiting = [], 0


def _summed(done: NDArray[Any]) -> NDArray[Any]:
    summary = np.empty(len(done), _SUMMARY)
    for name in _SAME:
        summary[name] = done[name]
    summary["periodic"], summary["period_min"] = periodicity.strongest(done["counts"])
    return summary
