"""A first model: a logistic regression on signs, with how odd they are together among all players as one of them."""

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from gamewarden.detectors.signs.population import OddnessModel
from gamewarden.learning.columns import checked
from gamewarden.learning.logistic_model import ColumnModel
from gamewarden.phrases import Phrase

ODDNESS = "oddness"  # the number that a population gives a row
WORDS = Phrase(
    "Looks odder, all signs together, than {humans}",
    "Looks, all signs together, as usual",
    "Looks less odd, all signs together, than {humans}",
    "oddness {value}",
    "Nothing was measured that could look odd.",
    1,
    topic="How odd it is among all players",
)
WEAKNESSES = (
    "It is a first model, for finding the next accounts to look at: more reviewed accounts make a better one.",
    "It knows the families of bots that somebody has reviewed, and others only as far as they look odd.",
    "Whoever does one thing for hours (crafting, fishing, grinding) looks odder than others, and is no bot for it.",
)


@dataclass(frozen=True, kw_only=True)
class SignsModel(ColumnModel):
    """A fitted logistic regression on signs, and the population in which they are odd."""

    window: ClassVar[str] = "minute"
    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    population: OddnessModel

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        numbers = (*self.recipe["columns"], *(sign.name for sign in self.population.signs))
        return tuple(name for name in dict.fromkeys(numbers) if name != ODDNESS)

    def judged(self, table: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged: those with a sign at all."""
        return table[ODDNESS].is_not_null()

    def _table(self, features: pl.DataFrame) -> pl.DataFrame:
        table = checked(features, self.needed, self.detector, f"measure {self.feature.name} first", self.counts)
        return with_oddness(table, self.population)

    def _weak_here(self) -> list[str]:
        people = self.reference.humans
        few = f"To promise an FPR of 1 in 1,000, about 1,000 people have to be reviewed; it saw {people}."
        return [*super()._weak_here(), *([few] if people < _ENOUGH else [])]


_ENOUGH = 999  # people, for an FPR of 1 in 1,000


def with_oddness(table: pl.DataFrame, population: OddnessModel) -> pl.DataFrame:
    """FEATURES with how odd each row is in a population."""
    return table.with_columns(population.score(table)[ODDNESS])
