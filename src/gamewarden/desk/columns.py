"""The columns of a population as arrays that many conditions can be tried on within a page's time."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.desk.population import Population

BARS = 20  # of the small drawing beside a number
_BITS, _BYTES, _BYTE_VALUES = 64, 8, 256
_LINEAR = frozenset({"probability", "fpr", "self_sim", "level"})  # others grow without an end: their bars widen

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Order:
    """A population in the order of a column: nulls last, equal values by account."""

    keys: pl.Series  # what is compared: numbers, or texts
    places: NDArray[np.uint32]


@dataclass(frozen=True)
class Bars:
    """Into which bar of a drawing each value falls; the last number is for what is not known."""

    edges: tuple[float, ...]
    places: NDArray[np.uint8]


class Columns:
    """Columns of a population, each made into an array when somebody first asks."""

    def __init__(self, people: Population) -> None:
        self.people = people
        self.frame = people.frame

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers; what is not known is NaN, which no comparison holds for."""
        return self.people.kept(name, "numbers", lambda: _numbers(self.frame[name]))

    def codes(self, name: str) -> tuple[list[str], NDArray[np.int64]]:
        """A column of texts as places in a list of them; the place behind the last is what is not known."""
        return self.people.kept(name, "codes", lambda: _codes(self.frame[name]))

    def are(self, name: str, values: Collection[str]) -> Rows:
        """Who has one of some texts; an empty one is what is not known."""
        texts, codes = self.codes(name)
        wanted = np.array([*(text in values for text in texts), "" in values], np.bool_)
        found: Rows = wanted[codes]
        return found

    def within(self, name: str, least: float | None, most: float | None) -> Rows:
        """Whose number lies between two."""
        values = self.numbers(name)
        low = values >= (-np.inf if least is None else least)
        found: Rows = low if most is None else low & (values <= most)
        return found

    def yes(self, name: str) -> Rows:
        """Of whom something holds."""
        return self.people.kept(name, "yes", lambda: self.frame[name].fill_null(value=False).to_numpy())

    def did(self, kind: str) -> Rows:
        """Who has events of a kind."""
        if kind not in self.people.kinds:
            return np.zeros(self.frame.height, np.bool_)
        bit = np.uint64(1 << self.people.kinds.index(kind))
        found: Rows = (self._bits & bit) != 0
        return found

    def kinds(self, rows: slice | NDArray[np.int64]) -> dict[str, int]:
        """How many of some have events of each kind."""
        bytes_ = self._bits.view(np.uint8).reshape(-1, _BYTES)[rows]
        counts = np.zeros(_BITS, np.int64)
        values = np.arange(_BYTE_VALUES)
        for place in range(_BYTES):
            seen = np.bincount(bytes_[:, place], minlength=_BYTE_VALUES)
            for bit in range(_BYTES):
                counts[place * _BYTES + bit] = seen[(values >> bit) & 1 == 1].sum()
        return {kind: int(counts[place]) for place, kind in enumerate(self.people.kinds) if counts[place]}

    def named(self, text: str) -> Rows:
        """Whose account, name or main character has a text in it, whatever its case."""
        found: Rows = self._texts.str.contains(text.lower(), literal=True).to_numpy()
        return found

    def bars(self, name: str) -> Bars:
        """Bars of equal width, or of widths that grow, over all values of a column."""
        return self.people.kept(name, "bars", lambda: _bars(self.numbers(name), linear=name in _LINEAR))

    def order(self, name: str, *, falling: bool) -> Order:
        """The population in the order of a column."""
        return self.people.kept(name, f"order {falling}", lambda: _order(self.frame[name], falling=falling))

    @property
    def _bits(self) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = self.people.kept("kinds", "bits", self.frame["kinds"].to_numpy)
        return found

    @property
    def _texts(self) -> pl.Series:
        return self.people.kept("actor", "texts", self._all_texts)

    def _all_texts(self) -> pl.Series:
        names = [name for name in ("actor", "name", "main_character") if name in self.frame.columns]
        return self.frame.select(pl.concat_str(names, separator="\n", ignore_nulls=True).str.to_lowercase()).to_series()


def _numbers(values: pl.Series) -> NDArray[np.float64]:
    plain = values.to_physical() if values.dtype.is_temporal() else values
    return plain.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _codes(texts: pl.Series) -> tuple[list[str], NDArray[np.int64]]:
    if texts.dtype != pl.Enum:
        known = texts.drop_nulls().unique().sort()
        texts = texts.cast(pl.Enum(known))
    names: list[str] = texts.dtype.categories.to_list()  # type: ignore[attr-defined]  # an Enum has them
    return names, texts.to_physical().cast(pl.Int64).fill_null(len(names)).to_numpy()


def _bars(values: NDArray[np.float64], *, linear: bool) -> Bars:
    known = values[~np.isnan(values)]
    if not known.size:
        return Bars((), np.full(values.size, BARS, np.uint8))
    low, high = float(known.min()), float(known.max())
    steps = np.linspace(0.0, 1.0, BARS + 1)
    wide = np.expm1(steps * np.log1p(high - low))
    edges = low + (steps * (high - low) if linear else wide)
    edges[-1] = high
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, BARS - 1)
    return Bars(tuple(edges.tolist()), np.where(np.isnan(values), BARS, places).astype(np.uint8))


def _order(values: pl.Series, *, falling: bool) -> Order:
    keys = _keys(values)
    both = pl.DataFrame({"key": keys}).with_row_index("place")
    ordered = pl.arg_sort_by("key", "place", descending=[falling, False], nulls_last=True)
    return Order(keys, both.select(ordered).to_series().to_numpy())


def _keys(values: pl.Series) -> pl.Series:
    """What a column is ordered by: points and states by their weight, other texts by their letters."""
    if values.dtype == pl.Enum:
        return values.to_physical().cast(pl.Int64) if values.name in {"point", "state"} else values.cast(pl.String)
    if values.dtype.is_temporal():
        return values.to_physical()
    return values.cast(pl.Int64) if values.dtype == pl.Boolean else values
