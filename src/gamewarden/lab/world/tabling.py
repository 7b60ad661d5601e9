"""The kernel's rows as Arrow tables: codes become names, -1 and NaN become null."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gamewarden.lab.world.games import Game
from gamewarden.lab.world.roster import Roster
from gamewarden.lab.world.rules import FOLK, ITEMS, MONSTERS

Rows = npt.NDArray[np.void]

_TEXT = pa.dictionary(pa.int32(), pa.string())
TYPES: Mapping[str, pa.DataType] = {
    "actor": _TEXT,
    "character": _TEXT,
    "at": pa.timestamp("us", "UTC"),
    "seq": pa.int64(),
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


def account_of(actor: str) -> int | None:
    """The account of an id; None for what is no id."""
    digits = actor[1:]
    return int(digits) if digits.isdecimal() and actor == actor_id(int(digits)) else None


def character_id(code: int) -> str:
    """The id of an account's first or second character, from 2 × account + (0 or 1)."""
    return f"{actor_id(code >> 1)}-c{(code & 1) + 1}"


def session_id(code: int) -> str:
    """The id of a session, from 65,536 × account + its number."""
    return f"{actor_id(code >> 16)}-s{(code & 0xFFFF) + 1}"


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
        lives = _Lives(rows)
        make: Mapping[str, Callable[[], Any]] = {
            "actor": lambda: lives.column(lives.account, actor_id),
            "character": lambda: lives.column(lives.account << 1 | lives.character, character_id),
            "at": lambda: pa.array(np.ascontiguousarray(rows["at"])).cast(TYPES["at"]),
            "seq": lambda: pa.array(np.arange(first_seq, first_seq + len(rows), dtype=np.int64)),
            "kind": lambda: _named(rows["kind"], self.game.vocabulary.kinds),
            "zone": lambda: _named(rows["zone"], zone_names(self.game)),
            "x": lambda: pa.array(np.ascontiguousarray(rows["x"])),
            "y": lambda: pa.array(np.ascontiguousarray(rows["y"])),
            "level": lambda: pa.array(np.ascontiguousarray(rows["level"])),
            "target": lambda: _named(rows["target"], target_names(self.game)),
            "item": lambda: _named(rows["item"], [f"item-{i + 1}" for i in range(ITEMS)]),
            "amount": lambda: _measured(rows["amount"]),
            "other": lambda: _others(rows["other"]),
            "session": lambda: lives.column(lives.account << 16 | lives.session, session_id),
            "ip": lambda: lives.column(self.roster.address[lives.account], address_text),
        }
        return pa.RecordBatch.from_arrays([make[name]() for name in columns], names=list(columns))


class _Lives:
    """Rows cut into sessions, within which account, character and address do not change."""

    def __init__(self, rows: Rows) -> None:
        begins = np.empty(len(rows), np.bool_)
        begins[:1] = True
        begins[1:] = (np.diff(rows["account"]) != 0) | (np.diff(rows["session"]) != 0)
        first = np.flatnonzero(begins)
        self.lengths = np.diff(first, append=len(rows))
        self.account = rows["account"][first].astype(np.int64)
        self.character = rows["character"][first].astype(np.int64)
        self.session = rows["session"][first].astype(np.int64)

    def column(self, codes: npt.NDArray[np.int64], name: Callable[[int], str]) -> pa.Array:
        """A column from one code a session."""
        values, inverse = np.unique(codes, return_inverse=True)
        places = np.repeat(inverse.astype(np.int32), self.lengths)
        return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(map(name, values.tolist()), pa.string()))


def _named(codes: npt.NDArray[np.int16], names: Sequence[str]) -> pa.Array:
    places = codes.astype(np.int32)
    missing = places < 0
    indices = pa.array(places, mask=missing) if missing.any() else pa.array(places)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


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
