"""Verdicts of very many accounts in little room: period by period, names once, and columns of one value as that value.

A table of VERDICTS takes some hundred bytes a row; of 300,000 accounts and thirty days that is a gigabyte before
anybody has sorted it. Here a row takes about thirty.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from gamewarden.tables import VERDICTS

_SMALLER: Mapping[str, type[pl.DataType]] = {"agree": pl.UInt8, "streak": pl.UInt32}


@dataclass(frozen=True)
class _Piece:
    """The verdicts of one period."""

    rows: pl.DataFrame  # who, and the columns that differ from row to row
    alike: Mapping[str, Any]  # the others

    def column(self, name: str) -> pl.Series:
        """One column, as VERDICTS has it."""
        dtype = VERDICTS.columns[name]
        if name in self.alike:
            return pl.Series(name, [self.alike[name]], dtype=dtype).new_from_index(0, self.rows.height)
        return self.rows[name].cast(dtype)


@dataclass
class Compact:
    """VERDICTS that come period by period, the earliest first."""

    _names: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"actor": pl.String, "who": pl.UInt32}))
    _pieces: list[_Piece] = field(default_factory=list)

    def add(self, verdicts: pl.DataFrame) -> None:
        """The verdicts of one period more."""
        new = verdicts.select("actor").unique(maintain_order=True).join(self._names, on="actor", how="anti")
        numbers = pl.int_range(self._names.height, self._names.height + new.height, dtype=pl.UInt32, eager=True)
        self._names = pl.concat([self._names, new.with_columns(who=numbers)], rechunk=True)
        coded = verdicts.join(self._names, on="actor", how="left", maintain_order="left").drop("actor")
        alike = {name: coded[name][0] for name in coded.columns if name != "who" and _is_one(coded[name])}
        smaller = [pl.col(name).cast(dtype) for name, dtype in _SMALLER.items() if name not in alike]
        self._pieces.append(_Piece(coded.drop(list(alike)).with_columns(smaller).rechunk(), alike))

    @property
    def height(self) -> int:
        """How many verdicts there are."""
        return sum(piece.rows.height for piece in self._pieces)

    def pieces(self) -> Iterator[pl.DataFrame]:
        """VERDICTS of each period."""
        for piece in self._pieces:
            columns = [piece.column(name) for name in VERDICTS.columns if name != "actor"]
            yield pl.DataFrame([self._actors(piece.rows["who"]), *columns])

    def table(self) -> pl.DataFrame:
        """All VERDICTS, sorted by actor and time; column by column, so that no second table is held."""
        if not self._pieces:
            return pl.DataFrame(schema=dict(VERDICTS.columns))
        who = pl.concat([piece.rows["who"] for piece in self._pieces])
        rank = self._names["actor"].rank("ordinal").cast(pl.UInt32)
        # Pieces come in the order of time, and the sort is stable.
        order = _order(rank.gather(who))
        columns = {"actor": self._actors(who.gather(order))}
        for name in VERDICTS.columns:
            if name != "actor":
                columns[name] = pl.concat([piece.column(name) for piece in self._pieces]).gather(order)
        return pl.DataFrame(columns)

    def _actors(self, who: pl.Series) -> pl.Series:
        return self._names["actor"].gather(who).alias("actor")


def _is_one(column: pl.Series) -> bool:
    """Whether all its values are the same, null too."""
    return len(column) > 0 and (column.null_count() == len(column) or column.n_unique() == 1)


def _order(ranks: pl.Series) -> pl.Series:
    """Where each row comes from once they are sorted; rows of one rank keep their order."""
    return pl.DataFrame({"rank": ranks}).with_row_index("row").sort("rank", maintain_order=True)["row"]
