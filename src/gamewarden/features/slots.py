"""Who acts, as numbers: a source read as often as needed, with each row's actor numbered the same in every pass."""

from collections.abc import Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import MeasuredElsewhere, Progress, Sight, Stream, no_progress
from gamewarden.features.folding import whole
from gamewarden.features.text_columns import Names
from gamewarden.streams import behind_views

Thing = TypeVar("Thing")
BUDGET = 1 << 27  # bytes that rows which are to be sorted may take


class Slots:
    """Batches of a source with a slot a row: the number of its actor, or -1 for a row that names nobody."""

    def __init__(self, sight: Sight, columns: Sequence[str], by: str, door: str) -> None:
        """`columns` are those wanted beside the actor's own; `by` says what stands for the actor."""
        self.actors = Names()
        self.nameless = 0
        self.read = 0
        self._door = door
        self._who = "character" if by == "character" else "actor"
        lacking = self._who == "character" and not sight.has("character")
        self.columns = tuple(
            name for name in dict.fromkeys((self._who, *columns)) if not (lacking and name == "character")
        )

    def of(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.int32]]:
        """The columns of a batch by name, and its slots."""
        columns = dict(zip(self.columns, batch.columns, strict=True))
        return columns, self._slots(columns, batch.num_rows)

    def numbered(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.int32]]:
        """The same of a batch that was counted before."""
        counted = self.read, self.nameless
        found = self.of(batch)
        self.read, self.nameless = counted
        return found

    def whole(self, columns: dict[str, pa.Array], name: str) -> pa.Array:
        """A column that must not have holes.

        Raises:
            TableError: it has.
        """
        return whole(columns[name], name, self._door)

    def _slots(self, columns: dict[str, pa.Array], rows: int) -> NDArray[np.int32]:
        if self._who == "character":
            names = columns.get("character", pa.nulls(rows, pa.string()))
            self.nameless += names.null_count
            slot = self.actors.numbers(names)
        else:
            slot = self.actors.numbers(self.whole(columns, "actor"))
        self.read += rows
        return slot


def twin_of(thing: Thing, **parts: Any) -> Thing:  # noqa: ANN401  whatever it is made of
    """A copy that shares everything but these parts."""
    twin = copy(thing)
    vars(twin).update(parts)
    return twin


def slots_of(actors: Names, names: pa.Array) -> NDArray[np.int64]:
    """The slots of those who have these names, each once, in their order."""
    slots = np.unique(actors.numbers(names)).astype(np.int64)
    return slots[slots >= 0]


def kinds_of(events: Stream, door: str, progress: Progress = no_progress) -> dict[str, int]:
    """The different kinds of a source, sorted, with how often each occurs."""
    away = behind_views(events)
    if isinstance(away, MeasuredElsewhere):
        return away.kinds()
    names = Names()
    tally = np.zeros(0, np.int64)
    for batch in events.batches(("kind",)):
        numbers = names.numbers(whole(batch.column(0), "kind", door))
        tally = added(tally, np.bincount(numbers, minlength=names.count))
        progress(batch.num_rows)
    seen = zip(names.texts().to_pylist(), tally.tolist(), strict=True)
    return {kind: count for kind, count in sorted(seen) if count}


def added(some: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of two tallies, the second at least as long as the first."""
    more[: len(some)] += some
    return more


def grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A longer copy whose first row starts a cache line; what is new in it is not set."""
    row = array.dtype.itemsize * int(np.prod(array.shape[1:]))
    raw = np.empty(size * row + 64, np.uint8)
    start = -raw.ctypes.data % 64
    longer: NDArray[Any] = raw[start : start + size * row].view(array.dtype).reshape((size, *array.shape[1:]))
    longer[: len(array)] = array
    return longer


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Arrow's columns are read-only, another type to the compiler: give it only that one."""
    array.flags.writeable = False
    return array
