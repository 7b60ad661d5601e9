"""Feeding the self-similarity kernel: batches of events to numbers, room for what it remembers, the second pass."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Sight
from gamewarden.core.clock import Clock
from gamewarden.features.disorder import Columns, LateRows, chosen
from gamewarden.features.self_similarity import kernel
from gamewarden.features.self_similarity.recipe import EMPTY, ROLES, Usage, frame_of
from gamewarden.features.self_similarity.spans import NO_SESSION, session_kind
from gamewarden.features.slots import BUDGET, Slots, frozen, grown, slots_of, twin_of
from gamewarden.features.text_columns import Names

if TYPE_CHECKING:
    from gamewarden.features.self_similarity.recipe import SelfSimilarity

KINDS_A_PLAYER = 16  # with the rest of a player's record, 320 bytes
_STRIDE = 1 << 14  # rows a call of the kernel
_GROWTH = 1.0625  # blocks grow in small steps: memory that is not used yet is memory that somebody else needs
_BYTES_A_ROW = 128  # that waits to be sorted: its numbers, and as much again, twice, while they are sorted
_LATE = np.dtype(
    [
        ("slot", "i4"),
        ("at", "i8"),
        ("seq", "i8"),
        ("kind", "i4"),
        ("character", "i4"),
        ("level", "i2"),
        ("session", "i8"),  # its key, 0 where a row is of no session
    ]
)
_ANY_SIZE = 1 << 31  # no kind is OTHER


@dataclass(frozen=True)
class Finished:
    """What the kernel found: rows by slot, the actor of each slot, and the vocabulary that counted."""

    rows: NDArray[Any]
    actors: pa.Array
    vocabulary: tuple[str, ...]


class SimilarityFold:
    """Self-similarity under way; the rows of actors who came out of order are put aside, and sorted at the end.

    At most about `budget` bytes hold what has to be sorted.
    """

    def __init__(
        self,
        recipe: "SelfSimilarity",
        sight: Sight,
        *,
        kinds_a_player: int = KINDS_A_PLAYER,
        budget: int = BUDGET,
    ) -> None:
        self._recipe = recipe
        self._sight = sight
        self._table = EventTable(recipe, sight)
        self._stream = Stream(recipe, self._table, kinds_a_player)
        self._late = LateRows(_LATE, budget // _BYTES_A_ROW)
        self._disordered: NDArray[np.int64] | None = None  # the slots, known after the first pass

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of EVENTS that the source has."""
        return self._table.columns

    def push(self, batch: pa.RecordBatch) -> None:
        """Take in a batch, or put aside what of it is to be sorted."""
        if self._disordered is None:
            rows = self._table.rows(batch)
            self._stream.feed(rows)
            if self._stream.has_disordered:
                self._late.put_aside(rows.slot, self._stream.disordered(), lambda: self._table.columns_of(rows))
        elif self._late.lacks_rows:
            seen = self._table.rows_seen(batch)
            self._late.pick_up(seen.slot, lambda: self._table.columns_of(seen))
        self._late.pass_by(batch.num_rows)

    def again(self) -> bool:
        """Once, where rows of actors that came out of order had come before that was known."""
        if self._disordered is None:
            self._stream.finish(np.arange(self._table.actors.count))
            self._disordered = self._stream.take_disordered()
            if self._late.begin_again():
                return True
        self._stream.reset(self._disordered)
        for rows in self._late.in_order():
            self._stream.feed(self._table.rows_of(rows), tallied=True)
        self._stream.finish(self._disordered)
        return False

    def finished(self) -> Finished:
        """What the kernel found."""
        return Finished(self._stream.done(), self._table.actors.texts(), self._stream.vocabulary())

    def frame(self) -> pl.DataFrame:
        """FEATURES: one row per actor and period."""
        return frame_of(self._recipe, self.finished(), self._shown())

    def notes(self) -> Usage:
        """What became of the rows."""
        disordered = 0 if self._disordered is None else len(self._disordered)
        return replace(self._stream.usage(disordered), told=self._shown() is not None)

    def peek(self, names: pa.Array) -> pl.DataFrame:
        """The periods of some actors so far; the kernel's memory is there twice while they are closed."""
        slots = slots_of(self._table.actors, names)
        return twin_of(self, _stream=self._stream.aside(slots[~self._stream.disordered()[slots]])).frame()

    def out_of_order(self, names: pa.Array) -> pa.Array:
        """Those among them whose rows are put aside."""
        slots = slots_of(self._table.actors, names)
        return self._table.actors.texts().take(pa.array(slots[self._stream.disordered()[slots]]))

    def mark(self) -> None:
        """A period can change as long as rows come."""

    def _shown(self) -> Mapping[str, int] | None:
        """The kinds that the source can show, where a vocabulary says which kinds there are."""
        return None if self._recipe.vocabulary is None else self._sight.shows()


class EventTable:
    """Events as numbers: slots for actors, kinds, characters and session keys, the same in every pass."""

    def __init__(self, recipe: "SelfSimilarity", sight: Sight) -> None:
        optional = [name for name in ("seq", "character", "level", "session") if sight.has(name)]
        self.slots = Slots(sight, ("at", "kind", *optional), recipe.by, recipe.name)
        self.columns = self.slots.columns
        self.actors = self.slots.actors
        self.kinds = Names(recipe.vocabulary or ())
        self.characters = Names()
        self._sessions = Names()
        self._by_character = recipe.by == "character"
        self._session_kinds = np.zeros(0, np.int8)

    def rows(self, batch: pa.RecordBatch) -> kernel.Rows:
        """A batch, rows that have no actor with slot -1."""
        return self._numbers(*self.slots.of(batch))

    def rows_seen(self, batch: pa.RecordBatch) -> kernel.Rows:
        """The same of a batch that comes a second time."""
        return self._numbers(*self.slots.numbered(batch))

    def columns_of(self, rows: kernel.Rows) -> Columns:
        """Rows as columns of equal length, as they are put aside."""
        session = np.zeros(len(rows.at), np.int64)
        session[self.session_kinds()[rows.kind] != NO_SESSION] = rows.session
        return rows.slot, rows.at, rows.seq, rows.kind, rows.character, rows.level, session

    def rows_of(self, records: NDArray[Any]) -> kernel.Rows:
        """Rows that were put aside."""
        columns = {name: np.ascontiguousarray(records[name]) for name in kernel.Rows._fields}
        session = columns["session"][self.session_kinds()[columns["kind"]] != NO_SESSION]
        unwritten = {name: frozen(columns[name]) for name in ("at", "seq", "level")}
        return kernel.Rows(**{**columns, **unwritten, "session": session})

    def session_kinds(self) -> NDArray[np.int8]:
        """What each kind says about being online."""
        if len(self._session_kinds) < self.kinds.count:
            names = self.kinds.texts().to_pylist()
            self._session_kinds = np.array([session_kind(name) for name in names], np.int8)
        return self._session_kinds

    def _numbers(self, columns: dict[str, pa.Array], slot: NDArray[np.int32]) -> kernel.Rows:
        kind = self.kinds.numbers(self.slots.whole(columns, "kind"))
        return kernel.Rows(
            at=frozen(self.slots.whole(columns, "at").view(pa.int64()).to_numpy()),
            seq=frozen(_filled(columns.get("seq"), 0, np.int64, len(slot))),
            slot=slot,
            kind=kind,
            character=self._characters(columns, len(slot)),
            level=frozen(_filled(columns.get("level"), kernel.NO_LEVEL, np.int16, len(slot))),
            session=self._session_keys(columns, np.flatnonzero(self.session_kinds()[kind])),
        )

    def _characters(self, columns: dict[str, pa.Array], rows: int) -> NDArray[np.int32]:
        """Who plays, which only matters for whose level it is."""
        if self._by_character or "level" not in columns or "character" not in columns:
            return np.full(rows, -1, np.int32)
        return self.characters.numbers(columns["character"])

    def _session_keys(self, columns: dict[str, pa.Array], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which rows belong together: by session where there is one, else by character, else by actor."""
        keys = np.zeros(len(places), np.int64)
        for name in ("character", "session"):  # the session has the last word
            if name in columns and len(places):
                numbers = self._sessions.numbers(_decoded(columns[name].take(pa.array(places))))
                known = numbers >= 0
                keys[known] = 2 * numbers[known].astype(np.int64) + 1 + (name == "session")
        return keys


class Stream:
    """The kernel with room for what it remembers."""

    def __init__(self, recipe: "SelfSimilarity", table: EventTable, kinds_a_player: int = KINDS_A_PLAYER) -> None:
        self._recipe = recipe
        self._table = table
        self._clock = Clock(recipe.every, recipe.time_zone or "UTC")
        self._offsets = self._clock.offsets(0, 0)
        self._done: list[NDArray[Any]] = []
        self._named = -1  # kinds whose words and roles are known
        self._words = np.zeros(0, np.uint64)
        self._roles = np.zeros(0, np.int8)
        self._state = kernel.State(
            players=np.zeros(0, kernel.PLAYER),
            kinds=np.zeros((0, kinds_a_player), np.int64),
            blocks=np.zeros((0, kernel.BLOCK_WORDS), np.int64),
            counters=np.zeros(kernel.COUNTERS, np.int64),
            tally=np.zeros(0, np.int64),
            unused=np.zeros(0, np.int64),
            closed=np.zeros(_STRIDE, kernel.PLAYER),
        )
        self._state.counters[kernel.FREE] = -1

    def feed(self, rows: kernel.Rows, *, tallied: bool = False) -> None:
        """Take in rows; `tallied` ones have been seen before and are not counted again."""
        if not len(rows.at):
            return
        self._offsets = self._clock.offsets(int(rows.at.min()), int(rows.at.max()))
        self._make_room_for_names()
        state = self._state
        kept = state.tally.copy(), state.unused.copy()
        self._state.counters[kernel.SESSION_ROWS] = 0
        for begin in range(0, len(rows.at), _STRIDE):
            end = min(begin + _STRIDE, len(rows.at))
            self._make_room_for_rows(end - begin)
            kernel.ingest(rows, begin, end, self._rules(), self._state)
            self._refuse_overrun()
            self._fold()
        if tallied:
            state.tally[:], state.unused[:] = kept

    def finish(self, slots: NDArray[np.int64]) -> None:
        """Close what the players of these slots have open."""
        place = 0
        while place < len(slots):
            self._make_room_for_rows(min(len(slots) - place, len(self._state.closed)))
            place = kernel.close_all(self._rules(), self._state, slots, place)
            self._refuse_overrun()
            self._fold()

    def take_disordered(self) -> NDArray[np.int64]:
        """The slots of players whose rows came out of order, and no row of theirs any more."""
        disordered = self.disordered()
        if self.has_disordered:
            done = self.done()
            self._done = [done[~disordered[done["slot"]]]]
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

    def aside(self, slots: NDArray[np.int64]) -> "Stream":
        """A copy in which these players alone have anything, all of it closed."""
        state = self._state
        wanted = np.zeros(len(state.players), np.bool_)
        wanted[slots] = True
        twin = twin_of(
            self,
            _state=state._replace(**{name: getattr(state, name).copy() for name in state._fields}),
            _done=[rows[chosen(rows["slot"], wanted)] for rows in self._done],
        )
        twin.finish(slots)
        return twin

    def done(self) -> NDArray[Any]:
        """All rows that are finished."""
        return np.concatenate([np.empty(0, kernel.DONE), *self._done])

    def vocabulary(self) -> tuple[str, ...]:
        """The recipe's, or the kinds that occurred."""
        if self._recipe.vocabulary is not None:
            return self._recipe.vocabulary
        names = self._table.kinds.texts().to_pylist()
        seen = np.flatnonzero(self._state.tally[: len(names)])
        return tuple(sorted(names[kind] for kind in seen))

    def usage(self, disordered: int) -> Usage:
        """What became of the rows."""
        known = len(self._recipe.vocabulary or ()) if self._recipe.vocabulary is not None else self._table.kinds.count
        used = (self._state.tally - self._state.unused)[known : self._table.kinds.count]
        names = self._table.kinds.texts().to_pylist()[known:]
        return Usage(
            rows=self._table.slots.read,
            nameless=self._table.slots.nameless,
            other=int(used.sum()),
            other_kinds=tuple(sorted(name for name, count in zip(names, used, strict=True) if count)),
            absent=self._absent(),
            disordered=disordered,
            vocabulary=self.vocabulary(),
            own=self._recipe.vocabulary is None,
        )

    def _absent(self) -> tuple[str, ...]:
        if not self._table.slots.read:
            return ()
        given = {name: number for number, name in enumerate(self._recipe.vocabulary or ())}
        return tuple(kind for kind in ROLES.values() if kind in given and not self._state.tally[given[kind]])

    def _rules(self) -> kernel.Rules:
        size = _ANY_SIZE if self._recipe.vocabulary is None else len(self._recipe.vocabulary)
        return kernel.Rules(
            unit=self._recipe.unit,
            every=self._recipe.every,
            policy=EMPTY.index(self._recipe.empty),
            sized=size,
            root=float("inf") if self._recipe.vocabulary is None else float(np.sqrt(size)),
            words=self._words,
            role=self._roles,
            session=self._table.session_kinds(),
            offsets=self._offsets,
            name_starts=self._table.characters.starts,
            name_data=self._table.characters.data,
        )

    def _make_room_for_names(self) -> None:
        needed = max(self._table.actors.count, 1)  # the kernel looks at slot 0 for rows that have none
        if needed > len(self._state.players):
            self._grow_players(max(2 * len(self._state.players), needed))
        if self._table.kinds.count > self._named:
            self._named = self._table.kinds.count
            self._grow_kinds(max(len(self._state.tally), 2 * self._named + 1))

    def _grow_players(self, size: int) -> None:
        state = self._state
        self._state = state._replace(players=grown(state.players, size), kinds=grown(state.kinds, size))
        kernel.clear_all(self._state, np.arange(len(state.players), size))

    def _grow_kinds(self, size: int) -> None:
        tally, unused = (grown(array, size) for array in (self._state.tally, self._state.unused))
        tally[len(self._state.tally) :] = unused[len(self._state.unused) :] = 0
        self._state = self._state._replace(tally=tally, unused=unused)
        self._words = _scattered(size)
        self._roles = _roles(self._table.kinds.texts().to_pylist(), self._recipe.vocabulary, size)

    def _make_room_for_rows(self, rows: int) -> None:
        state = self._state
        used = int(state.counters[kernel.BLOCKS_USED] - state.counters[kernel.FREE_COUNT])
        if used + kernel.blocks_for(rows) > len(state.blocks):
            size = max(used + kernel.blocks_for(rows), int(_GROWTH * len(state.blocks)))
            state.blocks.resize((size, kernel.BLOCK_WORDS), refcheck=False)

    def _refuse_overrun(self) -> None:
        """Compiled code does not check its borders: a block beyond the last one would be somebody else's memory."""
        if self._state.counters[kernel.BLOCKS_USED] > len(self._state.blocks):
            raise MemoryError("self-similarity: more blocks were used than there was room for")

    def _fold(self) -> None:
        closed = int(self._state.counters[kernel.CLOSED_USED])
        if closed:
            self._done.append(np.empty(closed, kernel.DONE))
            kernel.fold(self._rules(), self._state, self._done[-1])


def _roles(kinds: list[str], vocabulary: tuple[str, ...] | None, size: int) -> NDArray[np.int8]:
    """Which of the five counts a kind belongs to; with a vocabulary only its own kinds have one."""
    roles = np.full(size, -1, np.int8)
    places = {kind: role for role, kind in enumerate(ROLES.values())}
    for number, kind in enumerate(kinds if vocabulary is None else vocabulary):
        roles[number] = places.get(kind, -1)
    return roles


def _scattered(count: int) -> NDArray[np.uint64]:
    """A fixed pseudo-random word for each number (splitmix64): sums of them tell vectors of counts apart."""
    value = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def _decoded(column: pa.Array) -> pa.Array:
    """A few rows stand better alone than on a dictionary of all."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _filled(column: pa.Array | None, value: int, dtype: type[Any], rows: int) -> NDArray[Any]:
    if column is None:
        return np.full(rows, value, dtype)
    filled: NDArray[Any] = (column.fill_null(value) if column.null_count else column).to_numpy()
    return filled
