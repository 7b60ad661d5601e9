"""Feeding the kernel of the action chunks: batches to numbers, room for what it remembers, the table at the end."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Sight
from gamewarden.core.durations import SECOND
from gamewarden.features.actions import kernel
from gamewarden.features.actions.recipe import PACE, SHORTEST, frame_of
from gamewarden.features.disorder import Columns, LateRows
from gamewarden.features.folding import Lines
from gamewarden.features.slots import BUDGET, Slots, added, frozen, grown, slots_of
from gamewarden.features.text_columns import Names

if TYPE_CHECKING:
    from gamewarden.features.actions.recipe import Actions

_STRIDE = 1 << 12  # rows a call of the kernel, each of which may finish two chunks
_BLOCK_BYTES = 1 << 24  # of finished chunks
_BYTES_A_ROW = 64  # that waits to be sorted: its numbers, and as much again, twice, while they are sorted
_LATE = np.dtype([("slot", "i4"), ("at", "i8"), ("kind", "i4")])
_TILE = 1 << 12  # chunks that become columns together
_SPARE_KINDS = 16


@dataclass(frozen=True)
class Chunks:
    """The finished chunks, sorted by actor and time."""

    actors: pa.Array
    slot: NDArray[np.int64]
    since: NDArray[np.int64]
    events: NDArray[np.int64]
    columns: dict[str, pa.Array]


class ActionFold:
    """Chunks under way; the rows of actors who came out of order are put aside, and sorted at the end.

    At most about `budget` bytes hold what has to be sorted.
    """

    def __init__(self, recipe: "Actions", sight: Sight, *, budget: int = BUDGET) -> None:
        self._recipe = recipe
        self._sight = sight
        self._table = ActionTable(recipe, sight)
        self._stream = Stream(recipe, self._table)
        self._late = LateRows(_LATE, budget // _BYTES_A_ROW)
        self._disordered: NDArray[np.int64] | None = None  # the slots, known after the first pass
        self._told = 0  # chunks that whoever peeks has been told of

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of EVENTS that are needed."""
        return self._table.slots.columns

    def push(self, batch: pa.RecordBatch) -> None:
        """Take in a batch, or put aside what of it is to be sorted."""
        if self._disordered is None:
            rows = self._table.rows(batch)
            self._stream.feed(rows)
            if self._stream.has_disordered:
                self._late.put_aside(self._table.actors_in(rows), self._stream.disordered(), lambda: _columns(rows))
        elif self._late.lacks_rows:
            seen = self._table.rows(batch)
            self._late.pick_up(self._table.actors_in(seen), lambda: _columns(seen))
        self._late.pass_by(batch.num_rows)

    def again(self) -> bool:
        """Once, where rows of actors that came out of order had come before that was known."""
        if self._disordered is None:
            self._disordered = self._stream.take_disordered()
            if self._late.begin_again():
                return True
        self._stream.reset(self._disordered)
        for rows in self._late.in_order():
            self._stream.feed(_rows_of(rows))
        return False

    def chunks(self) -> Chunks:
        """The finished chunks."""
        return self._stream.chunks(self._speaking())

    def _speaking(self) -> "Actions":
        learned = self._recipe.vocabulary is not None or not self._table.kinds_seen()
        return self._recipe if learned else self._table.speaking()

    def frame(self) -> pl.DataFrame:
        """FEATURES: one row per chunk; an action that the source cannot show is null."""
        return self._frame_of(self.chunks())

    def _frame_of(self, chunks: Chunks) -> pl.DataFrame:
        shown = None if self._recipe.vocabulary is None else self._sight.shows()
        unseen = () if shown is None else tuple(kind for kind in self._recipe.action_kinds() if kind not in shown)
        return frame_of(self._recipe, chunks, unseen)

    def peek(self, names: pa.Array) -> pl.DataFrame:
        """The chunks that were finished since the last mark, whosever they are; they do not change any more."""
        del names
        return self._frame_of(self._stream.chunks_from(self._speaking(), self._told)).sort("actor", "since")

    def out_of_order(self, names: pa.Array) -> pa.Array:
        """Those among them whose rows are put aside."""
        actors = self._table.slots.actors
        slots = slots_of(actors, names)
        return actors.texts().take(pa.array(slots[self._stream.disordered()[slots]]))

    def mark(self) -> None:
        """The chunks that are finished were said."""
        self._told = self._stream.finished

    def notes(self) -> Lines:
        """Nothing."""
        return Lines()


class ActionTable:
    """Events as numbers: slots for actors, and for each kind the place where it is counted."""

    def __init__(self, recipe: "Actions", sight: Sight) -> None:
        self.slots = Slots(sight, ("at", "kind"), recipe.by, recipe.name)
        self.kinds = Names(recipe.vocabulary or ())
        self.place = np.zeros(0, np.int32)
        self.actions = 0  # kinds that are counted
        self._recipe = recipe
        self._tally = np.zeros(0, np.int64)
        self._place_new_kinds()

    def rows(self, batch: pa.RecordBatch) -> kernel.Rows:
        """A batch."""
        columns, slot = self.slots.of(batch)
        kind = self.kinds.numbers(self.slots.whole(columns, "kind"))
        self._tally = added(self._tally, np.bincount(kind, minlength=self.kinds.count))
        self._place_new_kinds()
        return kernel.Rows(frozen(self.slots.whole(columns, "at").view(pa.int64()).to_numpy()), slot, kind)

    def actors_in(self, rows: kernel.Rows) -> NDArray[np.int32]:
        """Whose action each row is, or -1 where it is none."""
        return np.where(self.place[rows.kind] >= 0, rows.slot, np.int32(-1))

    def kinds_seen(self) -> tuple[str, ...]:
        """The different actions of the source, sorted."""
        names = self.kinds.texts().to_pylist()
        seen = (names[kind] for kind in np.flatnonzero(self._tally) if self.place[kind] >= 0)
        return tuple(sorted(seen))

    def speaking(self) -> "Actions":
        """The recipe with the actions of the source as its vocabulary."""
        return self._recipe.speaking(self.kinds_seen())

    def places(self, kinds: tuple[str, ...]) -> NDArray[np.int64]:
        """Where these actions are counted."""
        names = {name: number for number, name in enumerate(self.kinds.texts().to_pylist())}
        return np.array([self.place[names[kind]] for kind in kinds], np.int64)

    def _place_new_kinds(self) -> None:
        new = self.kinds.texts().to_pylist()[len(self.place) :] if self.kinds.count > len(self.place) else []
        counted = np.array([self._recipe.is_action(kind) for kind in new], np.bool_)
        places = np.where(counted, self.actions + np.cumsum(counted) - 1, -1)
        self.place = np.concatenate([self.place, places.astype(np.int32)])
        self.actions += int(counted.sum())


class Stream:
    """The kernel with room for what it remembers."""

    def __init__(self, recipe: "Actions", table: ActionTable) -> None:
        self._recipe = recipe
        self._table = table
        self._bins = recipe.t + 1
        self._tick = -(-recipe.chunk // (1 << 32))  # whole chunks squared fit into 64 bits
        self._blocks: list[tuple[NDArray[Any], NDArray[np.uint32], NDArray[Any]]] = []
        self._state = kernel.State(
            actors=np.zeros(0, kernel.ACTOR),
            counts=np.zeros((0, 2, self._bins), np.uint32),
            own=np.zeros((0, 2, 0), kernel.OWN),
            own_last=np.zeros((0, 0), kernel.OWN_LAST),
            counters=np.zeros(kernel.COUNTERS, np.int64),
            done=np.zeros(0, kernel.CHUNK),
            done_counts=np.zeros((0, 0), np.uint32),
            done_own=np.zeros((0, 0), kernel.OWN),
        )

    def feed(self, rows: kernel.Rows) -> None:
        """Take in rows."""
        if self._bins + self._table.actions > self._state.counts.shape[2]:
            self._make_room_for_kinds(self._table.actions + _SPARE_KINDS)
        if self._table.slots.actors.count > len(self._state.actors):
            self._make_room_for_actors(max(2 * len(self._state.actors), self._table.slots.actors.count))
        rules = kernel.Rules(
            self._recipe.chunk // 2, self._recipe.t, self._recipe.min_actions, self._tick, self._table.place
        )
        for begin in range(0, len(rows.at), _STRIDE):
            end = min(begin + _STRIDE, len(rows.at))
            self._make_room_for_chunks((end - begin) * kernel.CHUNKS_A_ROW)
            kernel.ingest(rows, begin, end, rules, self._state)

    def take_disordered(self) -> NDArray[np.int64]:
        """The slots of actors whose rows came out of order, and no chunk of theirs any more."""
        disordered = self.disordered()
        if self.has_disordered:
            self._store_block()
            self._blocks = [tuple(part[~disordered[block[0]["slot"]]] for part in block) for block in self._blocks]
        return np.flatnonzero(disordered)

    @property
    def has_disordered(self) -> bool:
        """Whether rows of anybody came out of order."""
        return bool(self._state.counters[kernel.DISORDERED])

    def disordered(self) -> NDArray[np.bool_]:
        """By slot, whether the rows of that actor came out of order."""
        return np.asarray(self._state.actors["disordered"] != 0)

    def reset(self, slots: NDArray[np.int64]) -> None:
        """Forget the actors of these slots."""
        kernel.clear_all(self._state, slots)

    @property
    def finished(self) -> int:
        """How many chunks are finished."""
        return sum(len(block[0]) for block in self._blocks) + int(self._state.counters[kernel.DONE_USED])

    def chunks(self, recipe: "Actions") -> Chunks:
        """All finished chunks with the columns of a recipe, whose vocabulary is known unless there was no action."""
        done = self._all_done()
        return self._chunks(recipe, done, _order(self._table.slots.actors.texts(), done))

    def chunks_from(self, recipe: "Actions", first: int) -> Chunks:
        """The finished chunks from this one on as they came, without those of actors who came out of order."""
        done = self._all_done()
        return self._chunks(recipe, done, first + np.flatnonzero(~self.disordered()[done["slot"][first:]]))

    def _all_done(self) -> NDArray[Any]:
        self._store_block()
        return np.concatenate([block[0] for block in self._blocks])

    def _chunks(self, recipe: "Actions", done: NDArray[Any], order: NDArray[np.int64]) -> Chunks:
        columns = self._columns(recipe, self._table.places(recipe.action_kinds()), order)
        return Chunks(
            self._table.slots.actors.texts(),
            done["slot"][order].astype(np.int64),
            done["since"][order],
            done["events"][order],
            columns,
        )

    def _columns(self, recipe: "Actions", kinds: NDArray[np.int64], order: NDArray[np.int64]) -> dict[str, pa.Array]:
        shaped = np.empty((len(kinds) + self._bins + 1, len(order)))
        own = np.empty((2 * len(kinds) if recipe.own_intervals else 0, len(order)))
        paces = np.empty((len(recipe.paces), len(order)))
        roots = kernel.roots()
        for begin in range(0, len(order), _TILE):
            counts, sums = self._gather(order[begin : begin + _TILE])
            kernel.shape(counts, kinds, begin, roots, shaped)
            if recipe.own_intervals:
                own[:, begin : begin + len(counts)] = _moments(sums[:, kinds], self._tick / SECOND)
            if recipe.pace:
                paces[:, begin : begin + len(counts)] = _paces(counts, self._bins)[: len(paces)]
        numbers = [*shaped[:-1], *own, *paces, *(shaped[-1:] if recipe.max_freq else ())]
        return {name: _column(name, values) for name, values in zip(recipe.names, numbers, strict=True)}

    def _gather(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Some finished chunks from whatever blocks they are in, kinds that came later as 0."""
        width, own_width = self._state.counts.shape[2], self._state.own_last.shape[1]
        counts, own = np.zeros((len(rows), width), np.uint32), np.zeros((len(rows), own_width), kernel.OWN)
        first = 0
        for chunks, block, block_own in self._blocks:
            mine = np.flatnonzero((rows >= first) & (rows < first + len(chunks)))
            counts[mine, : block.shape[1]] = block[rows[mine] - first]
            own[mine, : block_own.shape[1]] = block_own[rows[mine] - first]
            first += len(chunks)
        return counts, own

    def _make_room_for_actors(self, size: int) -> None:
        state = self._state
        actors, counts, own, own_last = (
            grown(array, size) for array in (state.actors, state.counts, state.own, state.own_last)
        )
        self._state = state._replace(actors=actors, counts=counts, own=own, own_last=own_last)
        kernel.clear_all(self._state, np.arange(len(state.actors), size))

    def _make_room_for_kinds(self, kinds: int) -> None:
        self._store_block()
        state = self._state._replace(done=np.zeros(0, kernel.CHUNK))
        own_kinds = kinds if self._recipe.own_intervals else 0
        last = _wider(state.own_last, own_kinds)
        last[:, state.own_last.shape[1] :]["cell"] = -1
        self._state = state._replace(
            counts=_wider(state.counts, self._bins + kinds), own=_wider(state.own, own_kinds), own_last=last
        )

    def _make_room_for_chunks(self, chunks: int) -> None:
        if self._state.counters[kernel.DONE_USED] + chunks > len(self._state.done):
            self._store_block()
        if chunks > len(self._state.done):
            width, own = self._state.counts.shape[2], self._state.own_last.shape[1]
            size = max(chunks, _BLOCK_BYTES // (4 * width + kernel.OWN.itemsize * own))
            self._state = self._state._replace(
                done=np.empty(size, kernel.CHUNK),
                done_counts=np.empty((size, width), np.uint32),
                done_own=np.empty((size, own), kernel.OWN),
            )

    def _store_block(self) -> None:
        """Put what is finished aside, so that its room can be used again."""
        state = self._state
        used = int(state.counters[kernel.DONE_USED])
        if not used and self._blocks:
            return
        self._blocks.append((state.done[:used].copy(), state.done_counts[:used].copy(), state.done_own[:used].copy()))
        state.counters[kernel.DONE_USED] = 0


def _columns(rows: kernel.Rows) -> Columns:
    """Rows as they are put aside."""
    return rows.slot, rows.at, rows.kind


def _rows_of(records: NDArray[Any]) -> kernel.Rows:
    """Rows that were put aside."""
    at, slot, kind = (np.ascontiguousarray(records[name]) for name in kernel.Rows._fields)
    return kernel.Rows(frozen(at), slot, kind)


def _order(actors: pa.Array, done: NDArray[Any]) -> NDArray[np.int64]:
    """The finished chunks by actor and time."""
    names = pl.Series(actors, dtype=pl.String)
    rank = np.empty(len(names), np.int64)
    rank[names.arg_sort().to_numpy()] = np.arange(len(names))
    return np.lexsort((done["since"], rank[done["slot"]]))


def _wider(array: NDArray[Any], width: int) -> NDArray[Any]:
    wider = np.zeros((*array.shape[:-1], width), array.dtype)
    wider[..., : array.shape[-1]] = array
    return wider


def _moments(own: NDArray[Any], seconds: float) -> NDArray[np.float64]:
    """Mean and deviation of each kind's own intervals in seconds, a row each; NaN without an interval."""
    count = own["count"].astype(np.float64)
    mean = own["sum"] / np.where(count > 0, count, np.nan)
    spread = own["squares"] / np.where(count > 0, count, np.nan) - mean**2
    both = np.stack([mean, np.sqrt(np.maximum(spread, 0.0))], axis=2) * seconds
    return both.reshape(len(own), -1).T


def _paces(counts: NDArray[np.uint32], bins: int) -> NDArray[np.float64]:
    """The logarithm of the actions, then the shares of the shortest intervals; NaN without an interval."""
    gaps, actions = counts[:, :bins].astype(np.float64), counts[:, bins:].sum(axis=1, dtype=np.float64)
    every = gaps.sum(axis=1)
    shares = [gaps[:, :seconds].sum(axis=1) / np.where(every > 0, every, np.nan) for seconds in SHORTEST]
    return np.stack([np.log(actions), *shares])


def _column(name: str, values: NDArray[np.float64]) -> pa.Array:
    unmeasured = np.isnan(values) if name.startswith(("m_", "d_", PACE)) else None
    return pa.array(values, mask=unmeasured)
