"""Batches of decoded messages in, counters a session inside, a table of sessions out."""

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.features.folding import OnePass
from gamewarden.features.session import kernel
from gamewarden.features.session.recipe import PUBLISHED_SCALE, Sessions
from gamewarden.tables import SESSIONS, TIME

# What a message means here, by the name of its function in any message table.
ROLES = {
    "walktoxy": kernel.WALK,
    "takeitem": kernel.TAKE,
    "actionrequest": kernel.ACTION,
    "changedir": kernel.FACE,
    "loadendack": kernel.LOADED,
}
TEN_MINUTES = 600_000_000  # µs; a valid session is longer
PUBLISHED_NO_GAP = 7000.0  # ms, what the published code says where there was none
_WHO = ("stream", "actor", "character")
_COLUMN = {"account": "actor", "character": "character"}  # of MESSAGES, whose values stand in `actor`


class SessionFold(OnePass):
    """The counters of every session seen so far."""

    columns = ("session", "stream", "actor", "character", "at", "function", "x", "y", "action")

    def __init__(self, recipe: Sessions) -> None:
        self._recipe = recipe
        self._slots: dict[int, int] = {}
        self._who: dict[str, list[object]] = {name: [] for name in _WHO}
        self._states = np.zeros(64, kernel.STATE)

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        if not batch.num_rows:
            return
        action = _numbers(batch, "action")
        rows = kernel.Rows(
            self._slots_of(batch),
            _roles(batch.column("function")),
            _numbers(batch, "at", pa.int64()),
            batch.column("at").is_valid().to_numpy(zero_copy_only=False),
            _numbers(batch, "x"),
            _numbers(batch, "y"),
            action,
        )
        kernel.fold(self._states, rows, self._recipe.paper_mode)

    def _slots_of(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        numbers, first, places = np.unique(batch.column("session").to_numpy(), return_index=True, return_inverse=True)
        for place in np.argsort(first):
            if int(numbers[place]) not in self._slots:
                self._add(int(numbers[place]), batch, int(first[place]))
        slots = np.array([self._slots[int(number)] for number in numbers], np.int32)
        return slots[places]

    def _add(self, number: int, batch: pa.RecordBatch, row: int) -> None:
        slot = len(self._slots)
        if slot == len(self._states):
            self._states = np.concatenate([self._states, np.zeros_like(self._states)])
        self._slots[number] = slot
        for name, values in self._who.items():
            values.append(batch.column(name)[row].as_py())

    def frame(self) -> pl.DataFrame:
        """SESSIONS sorted by actor, then since; sessions of nobody known come first."""
        return self.sessions().sort("actor", "since", maintain_order=True)

    def sessions(self) -> pl.DataFrame:
        """SESSIONS in the order they began."""
        states = self._states[: len(self._slots)]
        until, ended = self._ends(states)
        since, timed = states["first"]["at"], states["first"]["come"] == 1
        lasted = np.where(timed & ended, until - since, 0)
        columns = {
            "actor": pl.Series(self._who[_COLUMN[self._recipe.by]], dtype=pl.String),
            "character": pl.Series(self._who["character"], dtype=pl.String),
            "since": _or_null(since, timed).cast(TIME),
            "until": _or_null(until, ended).cast(TIME),
            "events": pl.Series(states["packets"]),
            "valid": pl.Series(lasted > TEN_MINUTES),
            "enough": pl.Series(self._enough(states)),
            **self._rates(states, lasted),
            **self._moves(states),
            **self._gaps(states),
            **_turns(states),
        }
        return pl.DataFrame({name: columns[name].cast(dtype) for name, dtype in SESSIONS.columns.items()})

    def _ends(self, states: kernel.States) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """When each session ended, and whether that is known.

        It ends with its own last message, or, as published, with the first of the next one in the same stream.
        """
        until, known = states["last"]["at"].copy(), states["last"]["come"] == 1
        if self._recipe.paper_mode:
            latest: dict[object, int] = {}
            for slot, stream in enumerate(self._who["stream"]):
                before = latest.get(stream)
                if before is not None and states["first"]["come"][slot] and known[before]:
                    until[before] = states["first"]["at"][slot]
                latest[stream] = slot
        return until, known

    def _enough(self, states: kernel.States) -> NDArray[np.bool_]:
        if self._recipe.paper_mode:
            return np.ones(len(states), np.bool_)
        actions = states["once"] + states["continuous"] + states["takes"]
        gate: NDArray[np.bool_] = (states["moves"] >= self._recipe.min_moves) & (actions >= self._recipe.min_actions)
        return gate

    def _rates(self, states: kernel.States, lasted: NDArray[np.int64]) -> dict[str, pl.Series]:
        counted = {
            "packets_per_s": "packets",
            "continuous_attacks_per_s": "continuous",
            "once_attacks_per_s": "once",
        }
        return {name: _ratio(states[counter] * 1_000_000, lasted, lasted > 0) for name, counter in counted.items()}

    def _moves(self, states: kernel.States) -> dict[str, pl.Series]:
        counted = {"move_dx": "dx", "move_dy": "dy", "move_distance": "distance"}
        pairs = states["pairs"]
        means = {name: _ratio(states[counter], pairs, pairs > 0) for name, counter in counted.items()}
        return {name: mean.fill_null(0.0) for name, mean in means.items()} if self._recipe.paper_mode else means

    def _gaps(self, states: kernel.States) -> dict[str, pl.Series]:
        counted = {
            "move_gap_ms": "move_gap",
            "take_gap_ms": "take_gap",
            "turn_to_take_ms": "face_to_take",
            "attack_to_take_ms": "attack_to_take",
        }
        means = {}
        for name, counter in counted.items():
            sums, counts = states[counter]["sum"], states[counter]["count"]
            means[name] = _ratio(sums, counts * 1000, counts > 0)
            if self._recipe.paper_mode:
                means[name] = means[name].fill_null(PUBLISHED_NO_GAP) / PUBLISHED_SCALE[name]
        return means


def _turns(states: kernel.States) -> dict[str, pl.Series]:
    turns = states["turns"]
    length = np.hypot(states["cosine"], states["sine"])
    return {
        "turn_mean_deg": _ratio(np.degrees(states["angle"]), turns, turns > 0),
        # The length of the mean direction is at most 1; rounding must not make the variance negative.
        "turn_circular_variance": _ratio(np.maximum(turns - length, 0.0), turns, turns > 0),
        "turn_back_share": _ratio(states["back"], turns, turns > 0),
    }


def _ratio(above: NDArray[np.generic], below: NDArray[np.int64], told: NDArray[np.bool_]) -> pl.Series:
    return _or_null(np.asarray(above, np.float64) / np.where(told, below, 1), told)


def _or_null(values: NDArray[np.generic], told: NDArray[np.bool_]) -> pl.Series:
    return pl.DataFrame({"value": values, "told": told}).select(pl.when("told").then("value").alias("value"))["value"]


def _numbers(batch: pa.RecordBatch, name: str, dtype: pa.DataType | None = None) -> NDArray[np.int64]:
    """A column as whole numbers, -1 where there is none."""
    column = batch.column(name)
    whole = column.cast(dtype) if dtype is not None else column
    return whole.cast(pa.int64()).fill_null(-1).to_numpy()


def _roles(functions: pa.DictionaryArray) -> NDArray[np.uint8]:
    known = [ROLES.get(name, 0) for name in functions.dictionary.to_pylist()]
    roles = np.array([*known, 0], np.uint8)  # the last is for messages without a function
    return roles[functions.indices.fill_null(len(known)).to_numpy()]
