"""Feeding the kernel of the sketches: batches to numbers, room for what it remembers, the parts of each day at the end.

The parts of a day are one row per actor with its stretches and ways as numbers that depend on names alone, and one row
without an actor that says which stretch a number means, in words.
"""

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Sight
from gamewarden.features.copies import kernel
from gamewarden.features.folding import Lines
from gamewarden.features.period_fold import PeriodFold, nobody_yet, places
from gamewarden.features.slots import BUDGET, Slots, frozen
from gamewarden.features.text_columns import Names
from gamewarden.tables import TIME

if TYPE_CHECKING:
    from gamewarden.features.copies.recipe import Copies

Words = NDArray[np.uint64]
_BYTES_A_ROW = 120  # that waits to be sorted: its numbers, and as much again, twice, while they are sorted
_LATE = np.dtype(
    [
        ("slot", "i4"),
        ("at", "i8"),
        ("day", "i8"),
        ("kind", "i4"),
        ("level", "i2"),
        ("zone", "u4"),
        ("x", "f4"),
        ("y", "f4"),
    ]
)
_COLUMNS = ("at", "kind", "level", "zone", "x", "y")
_NOT_DONE = "session."  # being there is nothing that anybody does
_PACES = ("½", "1", "2", "4", "8", "16", "32", "64")


class SketchFold(PeriodFold[kernel.Rows]):
    """Sketches under way.

    At most about `budget` bytes hold rows that came out of order and have to be sorted.
    """

    def __init__(self, recipe: "Copies", sight: Sight, *, budget: int = BUDGET) -> None:
        state = nobody_yet(kernel.ACTOR, np.zeros((0, kernel.ENTRIES), np.uint64), kernel.DONE)
        super().__init__(Slots(sight, _COLUMNS, "account", recipe.name), state, _LATE, budget // _BYTES_A_ROW)
        self._recipe = recipe
        self._kinds, self._zones = _Numbered(), _Numbered()

    def frame(self) -> pl.DataFrame:
        """The parts of every day."""
        done = np.concatenate(self._done)
        sketches = self._sketches(done)
        meant = pl.concat([self._meant(done[done["day"] == day]) for day in np.unique(done["day"])] or [sketches[:0]])
        parts = pl.concat([sketches, meant.select(sketches.columns)])
        return parts.select(pl.col(name).cast(dtype) for name, dtype in self._recipe.parts_schema.items()).sort(
            "since", "actor"
        )

    def notes(self) -> Lines:
        """Whether there were too many kinds to tell all of them apart."""
        if self._kinds.names.count <= kernel.MOST_KINDS:
            return Lines()
        return Lines((f"copies: of {self._kinds.names.count:,} kinds the first {kernel.MOST_KINDS:,} are compared",))

    def _rows(self, batch: pa.RecordBatch) -> kernel.Rows:
        columns, slot = self._slots.of(batch)
        at = frozen(self._slots.whole(columns, "at").view(pa.int64()).to_numpy())
        level = columns["level"].fill_null(kernel.NO_LEVEL).to_numpy(zero_copy_only=False)
        return kernel.Rows(
            at,
            slot,
            self._recipe.clock.numbers(at),
            self._doings(self._slots.whole(columns, "kind")),
            frozen(level.astype(np.int16, copy=False)),
            (self._zones.numbers(columns["zone"])[1] >> np.uint64(32)).astype(np.uint32),
            places(columns["x"]),
            places(columns["y"]),
        )

    def _doings(self, column: pa.Array) -> NDArray[np.int32]:
        """The number of each kind, -1 for those that are nothing anybody does, or too many."""
        kinds, _ = self._kinds.numbers(column)
        return np.where(self._kinds.counts[kinds], kinds, np.int32(-1))

    def _rows_of(self, records: NDArray[Any]) -> kernel.Rows:
        one = {name: np.ascontiguousarray(records[name]) for name in kernel.Rows._fields}
        for name in ("at", "level", "x", "y"):
            one[name] = frozen(one[name])
        return kernel.Rows(**one)

    def _ingest(self, rows: kernel.Rows, begin: int, end: int) -> None:
        kernel.ingest(rows, begin, end, self._kinds.words[1:], self._recipe.cell, self._state)

    def _close_all(self, slots: NDArray[np.int64]) -> None:
        kernel.close_all(self._state, slots, self._recipe.cell)

    def _sketches(self, done: NDArray[Any]) -> pl.DataFrame:
        """One row per actor and day."""
        names = pl.Series(self._slots.actors.texts(), dtype=pl.String)
        level = pl.Series(done["level"])
        return pl.DataFrame(
            {
                **self._days(done["day"]),
                "actor": names.gather(done["slot"].astype(np.uint32)),
                "events": done["events"].astype(np.int64),
                "level": pl.select(pl.when(level != kernel.NO_LEVEL).then(level)).to_series(),
                "zone": done["zone"].astype(np.int64),
                "tenths": pl.Series(done["tenths"].astype(np.int64)).arr.to_list(),
                "moments": done["stretches"].astype(np.int64),
                "stretches": _lists(self._codes(done["stretch"]), done["stretch"]),
                "stretch_n": _lists(done["stretch"] & kernel.COUNT, done["stretch"]),
                "walks": done["ways"].astype(np.int64),
                "ways": _lists(done["way"] >> np.uint64(kernel.COUNT_BITS), done["way"]),
                "way_n": _lists(done["way"] & kernel.COUNT, done["way"]),
                "words": pl.Series([None] * len(done), dtype=pl.List(pl.String)),
            }
        )

    def _meant(self, done: NDArray[Any]) -> pl.DataFrame:
        """One row: what the stretches of a day mean."""
        there = done["stretch"][done["stretch"] > 0]  # three of the first kind at the shortest pace are number 0
        what = np.unique(there >> np.uint64(kernel.COUNT_BITS)) << np.uint64(kernel.COUNT_BITS)
        texts = self._kinds.names.texts().to_pylist()
        book = pl.DataFrame({"code": self._codes(what).astype(np.int64), "words": [_said(one, texts) for one in what]})
        book = book.unique("code", keep="any").sort("code")
        sure = [pl.lit(None).alias(name) for name in ("actor", "events", "level", "zone", "moments", "walks")]
        empty = [pl.lit([], dtype=pl.List(pl.Int64)).alias(name) for name in ("tenths", "stretch_n", "ways", "way_n")]
        told = pl.DataFrame({"stretches": [book["code"]], "words": [book["words"].cast(pl.String)]})
        days = pl.DataFrame(self._days(done["day"][:1]))
        return pl.concat([days, told], how="horizontal").with_columns(*sure, *empty)

    def _days(self, day: NDArray[np.int64]) -> dict[str, pl.Series]:
        clock = self._recipe.clock
        return {
            "since": pl.Series(clock.begins(day)).cast(TIME),
            "until": pl.Series(clock.begins(day + 1)).cast(TIME),
        }

    def _codes(self, entries: Words) -> Words:
        """Numbers of stretches that depend on the names of their kinds and on their paces alone."""
        kinds, paces = _taken_apart(entries)
        words = self._kinds.words[1:] if len(self._kinds.words) > 1 else np.zeros(1, np.uint64)
        code = np.zeros(entries.shape, np.uint64)
        for kind in kinds:
            code = _mixed(code ^ words[kind])
        for pace in paces:
            code = _mixed(code ^ (pace + np.uint64(1)))
        return code >> np.uint64(1)  # fits a signed number


def _taken_apart(entries: Words) -> tuple[list[NDArray[np.int64]], list[Words]]:
    """The three kinds and the two paces of stretches."""
    what = entries >> np.uint64(kernel.COUNT_BITS)
    kinds, paces = what >> np.uint64(2 * kernel.CLASS_BITS), what & np.uint64((1 << 2 * kernel.CLASS_BITS) - 1)
    mask, fine = np.uint64(kernel.MOST_KINDS - 1), np.uint64((1 << kernel.CLASS_BITS) - 1)
    three = [(kinds >> np.uint64(shift * kernel.KIND_BITS)) & mask for shift in (2, 1, 0)]
    return [one.astype(np.int64) for one in three], [paces >> np.uint64(kernel.CLASS_BITS), paces & fine]


def _said(entry: np.uint64, texts: list[str]) -> str:
    """A stretch in words: combat.kill, within 2 s loot.pickup, within 1 s skill.use.12."""
    kinds, paces = _taken_apart(np.array([entry]))
    first, second, third = (texts[int(kind[0])] for kind in kinds)
    near, far = (_PACES[int(pace[0])] for pace in paces)
    return f"{first}, within {near} s {second}, within {far} s {third}"


def _mixed(value: Words) -> Words:
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93)
    return value ^ (value >> np.uint64(32))


class _Numbered:
    """Names with a number each that depends on the name alone."""

    def __init__(self) -> None:
        self.names = Names()
        self.words = np.zeros(1, np.uint64)  # of null, then by the number of the name
        self.counts = np.zeros(0, np.bool_)  # whether a kind is something that somebody does

    def numbers(self, column: pa.Array) -> tuple[NDArray[np.int32], Words]:
        """The numbers of a column of names: in the order they came, and by the name."""
        found = self.names.numbers(column)
        new = self.names.count - len(self.counts)
        if new:
            texts = self.names.texts().to_pylist()[-new:]
            self.words = np.concatenate([self.words, np.array([_word(text) for text in texts], np.uint64)])
            more = [not text.startswith(_NOT_DONE) for text in texts]
            self.counts = np.concatenate([self.counts, np.array(more, np.bool_)])
            self.counts[kernel.MOST_KINDS :] = False
        return found, self.words[found + 1]


def _word(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") | 1


def _lists(values: Words, entries: Words) -> pl.Series:
    """The values of those entries that there are, a list a row."""
    there = entries > 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    lists = pa.LargeListArray.from_arrays(ends, values[there].astype(np.int64))
    return pl.Series(lists, dtype=pl.List(pl.Int64))
