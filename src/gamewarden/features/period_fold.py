"""Feeding a kernel over actors and periods: room for what it remembers, and rows that came out of order once more."""

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.features.disorder import LateRows, chosen
from gamewarden.features.period_kernel import COUNTERS, DISORDERED, DONE_USED, State, clear_all
from gamewarden.features.slots import Slots, frozen, grown, slots_of, twin_of

_STRIDE = 1 << 14  # rows a call of the kernel, each of which may finish a period


class Numbered(Protocol):
    """A batch as numbers: a named tuple of columns, some of them beside these."""

    @property
    def at(self) -> NDArray[np.int64]:
        """When."""

    @property
    def slot(self) -> NDArray[np.int32]:
        """Whose."""


Rows = TypeVar("Rows", bound=Numbered)


class PeriodFold(ABC, Generic[Rows]):
    """Periods under way; the rows of actors who came out of order are put aside, and sorted at the end.

    At most `most` rows, as `late` says what is kept of one, wait to be sorted in memory.
    """

    def __init__(self, slots: Slots, state: State, late: np.dtype[Any], most: int) -> None:
        self._slots = slots
        self._state = state
        self._late = LateRows(late, most)
        self._kept = late.names or ()
        self._disordered: NDArray[np.int64] | None = None  # the slots, known after the first pass
        self._done: list[NDArray[Any]] = [state.done[:0].copy()]

    @abstractmethod
    def _rows(self, batch: pa.RecordBatch) -> Rows:
        """A batch as numbers."""

    @abstractmethod
    def _rows_of(self, records: NDArray[Any]) -> Rows:
        """Rows that were put aside."""

    @abstractmethod
    def _ingest(self, rows: Rows, begin: int, end: int) -> None:
        """Have the kernel take in some rows."""

    @abstractmethod
    def _close_all(self, slots: NDArray[np.int64]) -> None:
        """Have the kernel close what is open of some actors."""

    @abstractmethod
    def frame(self) -> pl.DataFrame:
        """FEATURES of the periods that are finished."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of EVENTS that are needed."""
        return self._slots.columns

    def push(self, batch: pa.RecordBatch) -> None:
        """Take in a batch, or put aside what of it is to be sorted."""
        if self._disordered is None:
            rows = self._rows(batch)
            self._feed(rows)
            if self._state.counters[DISORDERED]:
                self._late.put_aside(rows.slot, self._state.actors["disordered"] != 0, lambda: self._columns(rows))
        elif self._late.lacks_rows:
            seen = self._rows(batch)
            self._late.pick_up(seen.slot, lambda: self._columns(seen))
        self._late.pass_by(batch.num_rows)

    def again(self) -> bool:
        """Once, where rows of actors that came out of order had come before that was known."""
        if self._disordered is None:
            self._disordered = self._finish()
            if self._late.begin_again():
                return True
        clear_all(self._state, self._disordered)
        for rows in self._late.in_order():
            self._feed(self._rows_of(rows))
        self._close(self._disordered)
        return False

    def peek(self, names: pa.Array) -> pl.DataFrame:
        """The periods of some actors so far; the kernel's memory is there twice while they are closed."""
        slots, state = slots_of(self._slots.actors, names), self._state
        slots = slots[state.actors["disordered"][slots] == 0]
        wanted = np.zeros(len(state.actors), np.bool_)
        wanted[slots] = True
        twin = twin_of(
            self,
            _state=state._replace(**{name: getattr(state, name).copy() for name in state._fields}),
            _done=[done[chosen(done["slot"], wanted)] for done in self._done],
        )
        twin._close(slots)  # noqa: SLF001  its own twin
        return twin.frame()

    def out_of_order(self, names: pa.Array) -> pa.Array:
        """Those among them whose rows are put aside."""
        slots = slots_of(self._slots.actors, names)
        late = self._state.actors["disordered"][slots] != 0
        return self._slots.actors.texts().take(pa.array(slots[late]))

    def mark(self) -> None:
        """A period can change as long as rows come."""

    def _columns(self, rows: Rows) -> list[NDArray[Any]]:
        """Rows as they are put aside."""
        return [getattr(rows, name) for name in self._kept]

    def _feed(self, rows: Rows) -> None:
        if self._slots.actors.count > len(self._state.actors):
            self._make_room(max(2 * len(self._state.actors), self._slots.actors.count))
        for begin in range(0, len(rows.at), _STRIDE):
            self._ingest(rows, begin, min(begin + _STRIDE, len(rows.at)))
            self._keep_done()

    def _make_room(self, size: int) -> None:
        state = self._state
        self._state = state._replace(actors=grown(state.actors, size), seen=grown(state.seen, size))
        clear_all(self._state, np.arange(len(state.actors), size))

    def _finish(self) -> NDArray[np.int64]:
        """Close what is open; the slots of those whose rows came out of order, and no period of theirs any more."""
        self._close(np.arange(len(self._state.actors)))
        disordered = self._state.actors["disordered"] != 0
        self._done = [done[~disordered[done["slot"]]] for done in self._done]
        return np.flatnonzero(disordered)

    def _close(self, slots: NDArray[np.int64]) -> None:
        for begin in range(0, len(slots), _STRIDE):
            self._close_all(slots[begin : begin + _STRIDE])
            self._keep_done()

    def _keep_done(self) -> None:
        used = int(self._state.counters[DONE_USED])
        if used:
            self._keep(self._state.done[:used].copy())
            self._state.counters[DONE_USED] = 0

    def _keep(self, done: NDArray[Any]) -> None:
        """Keep finished periods as they are; whoever needs less of them to stay overrides this."""
        self._done.append(done)


def nobody_yet(actor: np.dtype[Any], seen: NDArray[Any], done: np.dtype[Any]) -> State:
    """The state before anything came: records of actors and of finished periods, and `seen` with no row."""
    return State(np.zeros(0, actor), seen, np.zeros(COUNTERS, np.int64), np.zeros(_STRIDE, done))


def places(column: pa.Array) -> NDArray[np.float32]:
    """A coordinate, NaN where it is not known."""
    filled = column.fill_null(float("nan")) if column.null_count else column
    return frozen(filled.to_numpy(zero_copy_only=False).astype(np.float32, copy=False))
