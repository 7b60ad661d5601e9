"""A first model from few labels: logistic regression on signs, held by how odd they are among everybody.

Twenty reviewed accounts cannot say how twenty numbers are to be weighed. The unlabelled rest can say something: how far
out each number lies among all players. So the weight of that is free to grow, and those of single numbers are not
unless the labels ask for it. With many labels the numbers speak for themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl

from gamewarden.contracts import Feature, digest
from gamewarden.detectors.signs.model import ODDNESS, WORDS, SignsModel, with_oddness
from gamewarden.detectors.signs.oddness import Oddness, newest_rows
from gamewarden.detectors.signs.population import OddnessModel
from gamewarden.learning.columns import checked
from gamewarden.learning.fitting import Learned
from gamewarden.learning.logistic import EACH_ONCE, Fitted, LogisticRecipe, regression
from gamewarden.learning.recipe import AT_LEAST_2, POSITIVE, ByStyle, option
from gamewarden.learning.reference import Flags, Floats
from gamewarden.learning.standard import Standard
from gamewarden.phrases import Phrase

# Of what an account does itself; whom it has to do with, and how it is called, is for the list alone.
OWN = (
    *("self_sim", "span_steady", "clockwork", "gap_entropy", "periodic", "repeated_way", "same_places"),
    *("play_hours", "awake_hours", "hours_of_day", "day_spread"),
    *("busiest_min", "busiest_hour", "log_count_per_min"),
)
_COUNTS = frozenset(("busiest_min", "busiest_hour", "play_hours", "awake_hours"))
_STRENGTHS = (0.003, 0.01, 0.03)


@dataclass(frozen=True)
class Everybody:
    """What the rows of all players teach, labelled or not."""

    population: OddnessModel
    standard: Mapping[str, tuple[float, float]]  # mean and deviation of each number


@dataclass(frozen=True)
class _OfSigns(LogisticRecipe[SignsModel]):
    """What both recipes share; `held` is how much freer the weight of oddness is than those of single numbers."""

    model: ClassVar[type[Any]] = SignsModel
    too_little: ClassVar[str] = "rows without any sign"

    strengths: tuple[float, ...] = option(_STRENGTHS, ((0.1,),))
    least: int = option(3, (2,), AT_LEAST_2)
    held: float = option(3.0, (1.0,), POSITIVE)
    _everybody: ClassVar[Everybody | None] = None  # of an instance while it fits: kept in the model, no option

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> SignsModel:
        """The model of these rows and labels, and of all rows without a label beside them."""
        known = self.knowing(features) if self._everybody is None else self
        return super(_OfSigns, known).fit(features, labels)

    def knowing(self, features: pl.DataFrame) -> Self:
        """The recipe that knows everybody in these rows."""
        rows = self._numbers(features, f"fit {self.name}")
        without = tuple(name for name in self.feature.odd_when if name not in self.columns)
        population = Oddness(self.feature, without=without).fit(rows)
        newest = with_oddness(newest_rows(rows), population)
        told = Standard.of(self._matrix(newest, self.columns))
        spread = zip(told.means.tolist(), told.deviations.tolist(), strict=True)
        known = replace(self)
        object.__setattr__(known, "_everybody", Everybody(population, dict(zip(self.columns, spread, strict=True))))
        return known

    def checked(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        """FEATURES with the columns as numbers, and how odd each row is."""
        return with_oddness(self._numbers(features, door), self.population)

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged: those with a sign at all."""
        return rows[ODDNESS].is_not_null()

    def learned(self, rows: pl.DataFrame) -> Learned:
        """As any logistic regression, with the population beside it."""
        found = super().learned(rows)
        return replace(found, parts={**found.parts, "population": self.population})

    def regression(self, numbers: Floats, bot: Flags, strength: float, columns: tuple[str, ...]) -> Fitted:
        """Weights of numbers as they are spread among everybody, that of oddness held less than the others."""
        spread = np.array([self._known.standard[name] for name in columns])
        standard = Standard(spread[:, 0], spread[:, 1])
        freedom = np.array([self.held if name == ODDNESS else 1.0 for name in columns])
        freer = replace(standard, deviations=standard.deviations / freedom)
        found = regression(freer.scale(numbers), bot, strength, balanced=self.balanced)
        return Fitted(standard, found.weights * freedom, found.intercept)

    def data(self, features: pl.DataFrame, labels: pl.DataFrame, rows: pl.DataFrame) -> str:
        """A digest of the labelled rows, the labels, and everybody."""
        return digest(super().data(features, labels, rows), self.population.data)

    def phrases(self) -> dict[str, Phrase]:
        """The feature's words, and those for oddness."""
        return {**(super().phrases() or {}), ODDNESS: WORDS}

    @property
    def population(self) -> OddnessModel:
        """Everybody whom it knows."""
        return self._known.population

    @property
    def _known(self) -> Everybody:
        if self._everybody is None:
            raise TypeError(f"{self.name}: knows nobody yet")
        return self._everybody

    def _numbers(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        names = tuple(name for name in self.columns if name != ODDNESS)
        return checked(features, names, door, f"measure {self.feature.name} first", self.counts)


@dataclass(frozen=True)
class SignsDetector(ByStyle, _OfSigns):
    """What an account does, over a week, from a first few labels on."""

    name: ClassVar[str] = "signs"
    says: ClassVar[str] = "The signs of a week, from the first reviewed accounts on, as the probability of a bot."
    sees: ClassVar[str] = "signs"
    counts: ClassVar[frozenset[str]] = _COUNTS

    columns: tuple[str, ...] = option((*OWN, ODDNESS), (("self_sim", "play_hours", ODDNESS),), EACH_ONCE)


class TableFeature(Feature, Protocol):
    """A frozen recipe of a table that knows what its numbers are."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers, and so no word that may be the answer."""

    @property
    def counting(self) -> tuple[str, ...]:
        """Those that count something, or last, and so are many times small and a few times large."""


@dataclass(frozen=True)
class TableSigns(_OfSigns):
    """The numbers of an operator's own table, from a first few labels on."""

    name: ClassVar[str] = "table-signs"
    says: ClassVar[str] = "An operator's own table, from the first reviewed accounts on, as the probability of a bot."
    sees: ClassVar[str] = "account-table"

    feature: TableFeature
    columns: tuple[str, ...] = option((), (("Playtime", ODDNESS),))  # none: all numbers of the table

    def __post_init__(self) -> None:
        """Take all numbers where none is named."""
        super().__post_init__()
        if not self.columns:
            object.__setattr__(self, "columns", (*self.feature.numbers, ODDNESS))

    @property
    def counts(self) -> frozenset[str]:  # type: ignore[override]  # known of a table only when it is there
        """The numbers that count or last."""
        return frozenset(name for name in self.feature.counting if name in self.columns)
