"""The kernel's rows as Arrow tables: codes become names, -1 and NaN become null."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gamewarden.world.games import Game
from gamewarden.world.roster import Roster
from gamewarden.world.rules import FOLK, ITEMS, MONSTERS

Rows = npt.NDArray[np.void]

_TEXT = pa.dictionary(pa.int32(), pa.string())
TYPES: Mapping[str, pa.DataType] = {
    "actor": _TEXT,
    "character": _TEXT,
    "at": pa.timestamp("us", "UTC"),
    "seq": pa.uint64(),
    "kind": _TEXT,
    "zone": _TEXT,
    "x": pa.float32(),
    "y": pa.float32(),
    "level": pa.int16(),
    "target": _TEXT,
    "item": _TEXT,
    "amount": pa.float64(),
    "other": _TEXT,
    "session": _TEXT,
    "ip": _TEXT,
}


def actor_id(account: int) -> str:
    """An account's id. Places on the roster are shuffled, so it tells nothing of the class."""
    return f"u{account:07d}"


def address_text(owner: int) -> str:
    """The address of an account's household: scattered over 10.0.0.0/8, one each."""
    number = owner * 0x9E3779B1 & 0xFFFFFF
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def zone_names(game: Game) -> list[str]:
    """Towns first, then the hunting fields from the easiest to the hardest."""
    return [*(f"town-{i + 1}" for i in range(game.towns)), *(f"field-{i + 1}" for i in range(game.fields))]


def target_names(game: Game) -> list[str]:
    """The monsters and the people of every zone."""
    return [
        name
        for zone in zone_names(game)
        for name in (
            *(f"{zone}.monster-{i + 1}" for i in range(MONSTERS)),
            *(f"{zone}.npc-{i + 1}" for i in range(FOLK)),
        )
    ]


@dataclass(frozen=True)
class Tabling:
    """Turns whole accounts' rows into a record batch, only the columns asked for."""

    game: Game
    roster: Roster

    def batch(self, rows: Rows, first_seq: int, columns: Sequence[str]) -> pa.RecordBatch:
        """The rows' columns; `first_seq` is the number of the first row in the whole world."""
        make: Mapping[str, Callable[[], Any]] = {
            "actor": lambda: _coded(*_distinct(rows["account"]), actor_id),
            "character": lambda: _coded(
                *_runs(rows["account"] * 2 + rows["character"]), lambda code: f"{actor_id(code >> 1)}-c{code % 2 + 1}"
            ),
            "at": lambda: pa.array(np.ascontiguousarray(rows["at"])).cast(TYPES["at"]),
            "seq": lambda: pa.array(np.arange(first_seq, first_seq + len(rows), dtype=np.uint64)),
            "kind": lambda: _named(rows["kind"], self.game.vocabulary.kinds),
            "zone": lambda: _named(rows["zone"], zone_names(self.game)),
            "x": lambda: pa.array(np.ascontiguousarray(rows["x"])),
            "y": lambda: pa.array(np.ascontiguousarray(rows["y"])),
            "level": lambda: pa.array(np.ascontiguousarray(rows["level"])),
            "target": lambda: _named(rows["target"], target_names(self.game)),
            "item": lambda: _named(rows["item"], [f"item-{i + 1}" for i in range(ITEMS)]),
            "amount": lambda: _measured(rows["amount"]),
            "other": lambda: _others(rows["other"]),
            "session": lambda: _coded(
                *_distinct(rows["account"].astype(np.int64) << 16 | rows["session"]),
                lambda code: f"{actor_id(code >> 16)}-s{(code & 0xFFFF) + 1}",
            ),
            "ip": lambda: _coded(*_runs(self.roster.address[rows["account"]]), address_text),
        }
        return pa.RecordBatch.from_arrays([make[name]() for name in columns], names=list(columns))


def _distinct(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """The codes of a column that never comes back to an earlier value, and each row's place among them."""
    starts = np.empty(len(codes), np.bool_)
    starts[:1] = True
    np.not_equal(codes[1:], codes[:-1], out=starts[1:])
    return codes[starts], np.cumsum(starts, dtype=np.int32) - np.int32(1)


def _runs(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """As `_distinct`, for a column of long runs whose values may come back."""
    runs, place = _distinct(codes)
    values, inverse = np.unique(runs, return_inverse=True)
    return values, inverse.astype(np.int32)[place]


def _coded(values: npt.NDArray[Any], places: npt.NDArray[np.int32], name: Callable[[int], str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(map(name, values.tolist()), pa.string()))


def _named(codes: npt.NDArray[np.int16], names: Sequence[str]) -> pa.Array:
    places = codes.astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), pa.array(names, pa.string()))


def _measured(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(np.ascontiguousarray(values), mask=np.isnan(values))


def _others(codes: npt.NDArray[np.int32]) -> pa.Array:
    there = codes >= 0
    values, inverse = np.unique(codes[there], return_inverse=True)
    places = np.zeros(len(codes), np.int32)
    places[there] = inverse
    return pa.DictionaryArray.from_arrays(
        pa.array(places, mask=~there), pa.array(map(actor_id, values.tolist()), pa.string())
    )
