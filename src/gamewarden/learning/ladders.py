"""Along which borders a table parts people: learned from them, known from what a number means, or given."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.errors import ConfigError
from gamewarden.learning.validation import Rising, Text

Steps = NDArray[np.int64]
UNMEASURED = 0  # the step of rows without the number
NONE, FIFTHS, LEARNED = "none", "fifths", "learned"
LEAST = 99  # people beside whom one more can be 1 in 100
_FIFTHS = (0.2, 0.4, 0.6, 0.8)
_TOP = 0.95  # people differ most where a number is largest, and there bots are


@dataclass(frozen=True)
class Ladder:
    """Borders along one number, rising; who has just a border's number stands above it."""

    column: Text
    borders: Rising

    def steps(self, table: pl.DataFrame) -> Steps:
        """Each row's step, counted from 1."""
        values = table[self.column].cast(pl.Float64).to_numpy()
        return np.where(np.isnan(values), UNMEASURED, 1 + np.searchsorted(self.borders, values, side="right"))

    def words(self, step: int) -> str:
        """Who stands on a step."""
        if step == UNMEASURED:
            return f"without {self.column}"
        low, high = [None, *self.borders, None][step - 1 : step + 1]
        ends = [f"{word} {border:,.6g}" for word, border in (("from", low), ("below", high)) if border is not None]
        return " ".join([self.column, *(ends or ["measured"])])


@dataclass(frozen=True)
class Crowd:
    """The reference humans' rows with their `person`, the numbers to part them by, and borders known beforehand."""

    humans: pl.DataFrame
    columns: tuple[str, ...]
    known: Mapping[str, tuple[float, ...]]

    def ladders(self, asked: tuple[str, ...]) -> tuple[Ladder, ...]:
        """The ladders for what was asked, the last word on a number counting.

        Raises:
            ConfigError: a word is neither a rule nor a number of the table with borders.
        """
        found: dict[str, Ladder] = {}
        for word in asked:
            found |= {ladder.column: ladder for ladder in self._asked(word)}
        return tuple(found.values())

    def _asked(self, word: str) -> list[Ladder]:
        if word == NONE:
            return []
        if word == FIFTHS:
            return [Ladder(column, self._fifths(column)) for column in self.columns]
        if word == LEARNED:
            return [self._learned(column) for column in self.columns]
        column, borders = self._written(word)
        return [Ladder(column, borders) if borders else self._learned(column)]

    def _learned(self, column: str) -> Ladder:
        """Fifths, and above them the borders that are known, or else the top twentieth.

        The uppermost border is drawn only where enough people stand above it; the first that is known always is.
        """
        first, *others = self.known.get(column) or (self._quantile(column, _TOP),)
        always = {first} if column in self.known else set()
        drawn = always | {border for border in (first, *others) if self._people_from(column, border) >= LEAST}
        fifths = [border for border in self._fifths(column) if border < first or column not in self.known]
        return Ladder(column, tuple(sorted({*fifths, *drawn})))

    def _people_from(self, column: str, border: float) -> int:
        return self.humans.filter(pl.col(column) >= border)["person"].n_unique()

    def _fifths(self, column: str) -> tuple[float, ...]:
        return tuple(sorted({self._quantile(column, share) for share in _FIFTHS}))

    def _quantile(self, column: str, share: float) -> float:
        found = self.humans[column].quantile(share, "higher")
        return 0.0 if found is None else float(found)

    def _written(self, word: str) -> tuple[str, tuple[float, ...]]:
        """A number of the table and the borders behind it: `Playtime:3600:7200`."""
        parts = word.split(":")
        for cut in range(len(parts), 0, -1):
            column = ":".join(parts[:cut])
            if column in self.columns:
                return column, self._borders(word, parts[cut:])
        raise ConfigError(
            f"account-table: peers {word!r} is none of {NONE}, {FIFTHS}, {LEARNED} and no number that varies in the "
            f"table; it has {', '.join(self.columns)}"
        )

    def _borders(self, word: str, written: list[str]) -> tuple[float, ...]:
        try:
            borders = [float(part) for part in written]
        except ValueError:
            borders = [np.nan]
        if not np.isfinite(borders).all():
            raise ConfigError(f"account-table: peers {word!r} has a border that is no number; write COLUMN:10:20")
        return tuple(sorted(set(borders)))
