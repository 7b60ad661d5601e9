"""How far the rows reach that a model learned from: beyond them its answer is a guess.

A number is far when it lies more than one deviation beyond the least or the greatest that training showed, both
on a scale on which tenfold steps are alike. Rows of the same kind of play pass: of 50 of them about one in a hundred
is called far by chance. Rows of another game, another client or another way of logging do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.learning.validation import SMALLEST, Rule

FAR = "far"
MARGIN = 1.0  # deviations beyond the outermost training row
_TOLERANCE = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranges:
    """The least and the greatest of each number in training, and its deviation, on the scale of `spread_out`."""

    json_shape: ClassVar[Any] = Mapping[
        str,
        Annotated[
            tuple[float, float, float],
            Rule(lambda v: v[0] <= v[1] and v[2] >= SMALLEST, "the least, the greatest and the deviation"),
        ],
    ]

    columns: tuple[str, ...]
    least: tuple[float, ...]
    greatest: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def of(cls, rows: pl.DataFrame, columns: Sequence[str]) -> Self:
        """The ranges of the columns that vary in training, in the order of a file; another has taught nothing."""
        measured = {name: spread_out(_measured(rows, name)) for name in sorted(columns)}
        spread = {name: values for name, values in measured.items() if values.size and values.std() > 0}
        return cls(
            tuple(spread),
            tuple(float(values.min()) for values in spread.values()),
            tuple(float(values.max()) for values in spread.values()),
            tuple(float(values.std()) for values in spread.values()),
        )

    def far(self, table: pl.DataFrame) -> pl.Series:
        """The column of each row that lies furthest beyond training, null where none does."""
        if not self.columns or not table.height:
            return pl.Series(FAR, [None] * table.height, dtype=pl.String)
        beyond = np.column_stack([self._beyond(table, at) for at in range(len(self.columns))])
        worst = beyond.argmax(axis=1)
        out = beyond[np.arange(table.height), worst] > MARGIN + _TOLERANCE
        names = [self.columns[place] if far else None for place, far in zip(worst.tolist(), out.tolist(), strict=True)]
        return pl.Series(FAR, names, dtype=pl.String)

    def _beyond(self, table: pl.DataFrame, at: int) -> Floats:
        """How many deviations one number of each row lies beyond training; 0 inside, and where nothing was measured."""
        name = self.columns[at]
        if name not in table.columns:
            return np.zeros(table.height)
        values = spread_out(table[name].cast(pl.Float64).fill_null(np.nan).to_numpy())
        out = np.maximum(self.least[at] - values, values - self.greatest[at])
        beyond: Floats = np.where(np.isnan(values), 0.0, np.maximum(out / self.deviation[at], 0.0))
        return beyond

    def to_dict(self) -> dict[str, Any]:
        """The ranges as JSON values: least, greatest and deviation by column."""
        rows = zip(self.least, self.greatest, self.deviation, strict=True)
        return dict(zip(self.columns, map(list, rows), strict=True))

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[float]]) -> Self:
        """The ranges back from JSON values that were looked at before."""
        least, greatest, deviation = zip(*values.values(), strict=True) if values else ((), (), ())
        return cls(tuple(values), tuple(least), tuple(greatest), tuple(deviation))


def spread_out(values: Floats) -> Floats:
    """Numbers of any size and sign on a scale on which tenfold steps are alike; near 0 it is straight."""
    spread: Floats = np.sign(values) * np.log1p(np.abs(values))
    return spread


def _measured(rows: pl.DataFrame, name: str) -> Floats:
    if name not in rows.columns:
        return np.empty(0)
    values: Floats = rows[name].cast(pl.Float64).drop_nulls().to_numpy()
    return values
