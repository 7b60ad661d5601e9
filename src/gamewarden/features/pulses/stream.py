"""Feeding the kernel of pulses: batches to numbers, room for what it remembers, and the rows at any moment."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Sight
from gamewarden.features.disorder import Columns, LateRows, chosen
from gamewarden.features.folding import Lines
from gamewarden.features.pulses import kernel
from gamewarden.features.pulses.rows import Pieces, frame_of
from gamewarden.features.slots import BUDGET, Slots, frozen, grown, slots_of, twin_of
from gamewarden.features.text_columns import Names

if TYPE_CHECKING:
    from gamewarden.features.pulses.recipe import Pulses

KILL = "combat.kill"
_STRIDE = 1 << 14  # rows a call of the kernel, each of which may finish a piece
_GROWTH = 1.0625
_BYTES_A_ROW = 64  # that waits to be sorted: its numbers, and as much again, twice, while they are sorted
_LATE = np.dtype([("slot", "i4"), ("at", "i8"), ("kind", "i4")])
_ANY_SIZE = 1 << 31  # no kind is OTHER


class PulseFold:
    """Pieces of play under way; the rows of actors who came out of order are put aside, and sorted at the end.

    `frame` can be asked at any moment, and says what measuring the rows so far would say; whoever came out of order is
    missing in it until all rows have come. At most about `budget` bytes hold what has to be sorted.
    """

    def __init__(self, recipe: "Pulses", sight: Sight, *, budget: int = BUDGET) -> None:
        self._recipe = recipe
        self._sight = sight
        self._slots = Slots(sight, ("at", "kind"), recipe.by, recipe.name)
        known = recipe.vocabulary or (KILL,)  # a kind that was never seen counts for nothing
        self._kinds = Names(known)
        self._stream = Stream(recipe, known.index(KILL) if KILL in known else -1)
        self._late = LateRows(_LATE, budget // _BYTES_A_ROW)
        self._disordered: NDArray[np.int64] | None = None  # the slots, known after the first pass

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of EVENTS that are needed."""
        return self._slots.columns

    def push(self, batch: pa.RecordBatch) -> None:
        """Take in a batch, or put aside what of it is to be sorted."""
        if self._disordered is None:
            rows = self._rows(*self._slots.of(batch))
            self._feed(rows)
            if self._stream.has_disordered:
                self._late.put_aside(rows.slot, self._stream.disordered(), lambda: _columns(rows))
        elif self._late.lacks_rows:
            seen = self._rows(*self._slots.numbered(batch))
            self._late.pick_up(seen.slot, lambda: _columns(seen))
        self._late.pass_by(batch.num_rows)

    def again(self) -> bool:
        """Once, where rows of actors that came out of order had come before that was known."""
        if self._disordered is None:
            self._disordered = self._stream.take_disordered()
            if self._late.begin_again():
                return True
        self._stream.reset(self._disordered)
        for rows in self._late.in_order():
            self._feed(_rows_of(rows), tallied=True)
        return False

    def pieces(self) -> Pieces:
        """All pieces of play so far, those that are under way as if they ended here."""
        return Pieces(self._stream.pieces(), self._slots.actors.texts(), self._size())

    def frame(self) -> pl.DataFrame:
        """FEATURES: one row per actor and period."""
        known = self._recipe.vocabulary
        shown = None if known is None else self._sight.shows()
        kills = (known is None or KILL in known) and (shown is None or KILL in shown)
        return frame_of(self._recipe, self.pieces(), kills=kills)

    def notes(self) -> Lines:
        """Nothing."""
        return Lines()

    def peek(self, names: pa.Array) -> pl.DataFrame:
        """The periods of some actors so far; the kernel's memory is there twice while they are closed."""
        slots = slots_of(self._slots.actors, names)
        return twin_of(self, _stream=self._stream.aside(slots[~self._stream.disordered()[slots]])).frame()

    def out_of_order(self, names: pa.Array) -> pa.Array:
        """Those among them whose rows are put aside."""
        slots = slots_of(self._slots.actors, names)
        return self._slots.actors.texts().take(pa.array(slots[self._stream.disordered()[slots]]))

    def mark(self) -> None:
        """A period can change as long as rows come."""

    def _rows(self, columns: dict[str, pa.Array], slot: NDArray[np.int32]) -> kernel.Rows:
        kind = self._kinds.numbers(self._slots.whole(columns, "kind"))
        return kernel.Rows(frozen(self._slots.whole(columns, "at").view(pa.int64()).to_numpy()), slot, kind)

    def _feed(self, rows: kernel.Rows, *, tallied: bool = False) -> None:
        if len(rows.at):
            self._stream.feed(rows, self._slots.actors.count, self._kinds.count, tallied=tallied)

    def _size(self) -> int:
        """How many kinds count: those of the vocabulary, or those that occurred."""
        if self._recipe.vocabulary is not None:
            return len(self._recipe.vocabulary)
        return max(self._stream.kinds_seen(), 1)


class Stream:
    """The kernel with room for what it remembers."""

    def __init__(self, recipe: "Pulses", kill: int) -> None:
        self._recipe = recipe
        self._kill = kill
        self._done: list[NDArray[Any]] = []
        self._state = kernel.State(
            players=np.zeros(0, kernel.PLAYER),
            blocks=np.zeros((0, kernel.BLOCK_WORDS), np.int64),
            counters=np.zeros(kernel.COUNTERS, np.int64),
            done=np.zeros(_STRIDE, kernel.PIECE),
            tally=np.zeros(0, np.int64),
        )
        self._state.counters[kernel.FREE] = -1

    def feed(self, rows: kernel.Rows, actors: int, kinds: int, *, tallied: bool = False) -> None:
        """Take in rows of so many actors and kinds; `tallied` ones have been seen before and are not counted again."""
        self._make_room_for_names(actors, kinds)
        rules = self._rules(rows.at)
        kept = self._state.tally.copy()
        for begin in range(0, len(rows.at), _STRIDE):
            end = min(begin + _STRIDE, len(rows.at))
            self._make_room_for_rows(end - begin)
            kernel.ingest(rows, begin, end, rules, self._state)
            self._store()
        if tallied:
            self._state.tally[:] = kept

    def pieces(self) -> NDArray[Any]:
        """What is finished, and what is open as if it ended here: nothing is closed by asking."""
        state = self._state
        open_slots = np.flatnonzero((state.players["open"] != 0) & (state.players["disordered"] == 0))
        copy = state._replace(
            players=state.players.copy(),
            blocks=state.blocks.copy(),
            counters=state.counters.copy(),
            done=np.zeros(len(open_slots), kernel.PIECE),
        )
        kernel.close_all(self._rules(np.zeros(0, np.int64)), copy, open_slots)
        done = np.concatenate([np.empty(0, kernel.PIECE), *self._done, copy.done])
        return done[~self.disordered()[done["slot"]]] if len(done) else done

    def aside(self, slots: NDArray[np.int64]) -> "Stream":
        """A copy in which these players alone have anything."""
        players = self._state.players.copy()
        wanted = np.zeros(len(players), np.bool_)
        wanted[slots] = True
        players["open"][~wanted] = 0
        done = [part[chosen(part["slot"], wanted)] for part in self._done]
        return twin_of(self, _state=self._state._replace(players=players), _done=done)

    def kinds_seen(self) -> int:
        """How many kinds occurred."""
        return int(np.count_nonzero(self._state.tally))

    def take_disordered(self) -> NDArray[np.int64]:
        """The slots of players whose rows came out of order, and no piece of theirs any more."""
        disordered = self.disordered()
        if self.has_disordered:
            self._done = [part[~disordered[part["slot"]]] for part in self._done]
        return np.flatnonzero(disordered)

    @property
    def has_disordered(self) -> bool:
        """Whether rows of anybody came out of order."""
        return bool(self._state.counters[kernel.DISORDERED])

    def disordered(self) -> NDArray[np.bool_]:
        """By slot, whether the rows of that player came out of order."""
        return np.asarray(self._state.players["disordered"] != 0)

    def reset(self, slots: NDArray[np.int64]) -> None:
        """Forget the players of these slots."""
        kernel.clear_all(self._state, slots)

    def _rules(self, at: NDArray[np.int64]) -> kernel.Rules:
        recipe = self._recipe
        ends = np.array([at.min(), at.max()], np.int64) if len(at) else np.zeros(2, np.int64)
        first, last = recipe.clock.numbers(ends).tolist()
        size = _ANY_SIZE if recipe.vocabulary is None else len(recipe.vocabulary)
        return kernel.Rules(
            unit=recipe.unit,
            step=recipe.step,
            sized=size,
            kill=self._kill,
            root=float("inf") if recipe.vocabulary is None else float(np.sqrt(size)),
            borders=recipe.clock.begins(np.arange(first, last + 2)),
        )

    def _make_room_for_names(self, actors: int, kinds: int) -> None:
        state = self._state
        if actors > len(state.players):
            size = max(2 * len(state.players), actors)
            self._state = state._replace(players=grown(state.players, size))
            kernel.clear_all(self._state, np.arange(len(state.players), size))
        if kinds > len(state.tally):
            longer = np.zeros(2 * kinds, np.int64)
            longer[: len(state.tally)] = state.tally
            self._state = self._state._replace(tally=longer)

    def _make_room_for_rows(self, rows: int) -> None:
        state = self._state
        used = int(state.counters[kernel.BLOCKS_USED] - state.counters[kernel.FREE_COUNT])
        if used + kernel.blocks_for(rows) > len(state.blocks):
            size = max(used + kernel.blocks_for(rows), int(_GROWTH * len(state.blocks)))
            state.blocks.resize((size, kernel.BLOCK_WORDS), refcheck=False)

    def _store(self) -> None:
        """Put what is finished aside; compiled code does not check its borders."""
        state = self._state
        if state.counters[kernel.BLOCKS_USED] > len(state.blocks):
            raise MemoryError("pulses: more blocks were used than there was room for")
        used = int(state.counters[kernel.DONE_USED])
        if used:
            self._done.append(state.done[:used].copy())
            state.counters[kernel.DONE_USED] = 0


def _columns(rows: kernel.Rows) -> Columns:
    """Rows as they are put aside."""
    return rows.slot, rows.at, rows.kind


def _rows_of(records: NDArray[Any]) -> kernel.Rows:
    """Rows that were put aside."""
    at, slot, kind = (np.ascontiguousarray(records[name]) for name in kernel.Rows._fields)
    return kernel.Rows(frozen(at), slot, kind)
