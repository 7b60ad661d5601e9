"""Logistic regression over columns of any feature: what a detector needs besides is a name and its columns.

Folds keep an actor, or the `group` its label names, on one side. The strength C is the smallest whose balanced log-loss
on held-out rows is within one standard error of the least.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import polars as pl

from gamewarden.contracts import frame_digest
from gamewarden.core.extras import need
from gamewarden.errors import FitError
from gamewarden.learning.abstaining import HeldOut
from gamewarden.learning.calibration import KEY, Flags, Floats
from gamewarden.learning.columns import checked, measured, values
from gamewarden.learning.fitting import Calibrated, Learned, Learner
from gamewarden.learning.logistic_model import Column, ColumnModel
from gamewarden.learning.out_of_fold import bots, out_of_fold
from gamewarden.learning.ranges import Ranges
from gamewarden.learning.recipe import option
from gamewarden.learning.standard import Standard, percentiles_of, steady
from gamewarden.learning.styles import Styles
from gamewarden.learning.validation import Rule
from gamewarden.phrases import Phrase

EACH_ONCE = Rule(lambda v: bool(v) and len(set(v)) == len(v), "name each feature column once")
_Model = TypeVar("_Model", bound=ColumnModel)


@dataclass(frozen=True)
class LogisticRecipe(Calibrated, Learner[_Model], Generic[_Model]):
    """Standardised columns, weighed so that bots and humans count the same."""

    model: ClassVar[type[Any]] = ColumnModel
    too_little: ClassVar[str] = "rows without any of the numbers"
    validated: ClassVar[str] = (
        "held-out periods, an actor or its group in one fold only; the strength was chosen on the same folds"
    )
    counts: ClassVar[frozenset[str]] = frozenset()  # columns that are counts: log1p before standardising
    may_be_absent: ClassVar[frozenset[str]] = frozenset()  # columns that a source may not show at all

    columns: tuple[str, ...] = option((), (), EACH_ONCE)
    strengths: tuple[float, ...] = option(
        (0.01, 0.1, 1.0, 10.0, 100.0), ((1.0,),), Rule(lambda v: bool(v) and min(v) > 0, "give numbers above 0")
    )
    balanced: bool = option(True, (False,))

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        return self.columns

    def checked(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        """FEATURES with the columns as numbers that can be used."""
        return checked(features, self.needed, door, f"measure {self.feature.name} first", self.counts)

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged: those with a number at all."""
        return measured(rows, self.columns)

    def learned(self, rows: pl.DataFrame) -> Learned:
        """The regression with the simplest strength that is not clearly worse than the best."""
        used, unused = _usable(rows, self.columns, self._matrix)
        decisions, terms, strength = self._out_of_fold(rows, used)
        numbers, bot = self._matrix(rows, used), bots(rows)
        fitted = self.regression(numbers, bot, strength, used)
        parts = {name: terms[:, at] for at, name in enumerate(used) if name in self.may_be_absent}
        rule = (self.style_rule or Styles()).frozen(rows.filter(~pl.col("bot")))
        own = {
            "columns": tuple(self._column(name, at, fitted, rows) for at, name in enumerate(used)),
            "left_out": unused,
            "strength": strength,
            "intercept": fitted.intercept,
            "correlations": _correlations(fitted.standard.scale(numbers)),
            "held_out": HeldOut.of(rows, decisions, parts, rule) if parts else None,
            "phrases": self.phrases(),
        }
        return Learned(rows, decisions, own, Ranges.of(rows, used))

    def regression(self, numbers: Floats, bot: Flags, strength: float, columns: tuple[str, ...]) -> "Fitted":
        """The weights of these columns, as numbers are spread among the rows themselves."""
        del columns
        standard = Standard.of(numbers)
        return replace(regression(standard.scale(numbers), bot, strength, balanced=self.balanced), standard=standard)

    @property
    def time_zone(self) -> str | None:
        """Whose days are ranked as wholes: those of the feature's clock."""
        time_zone: str | None = self.feature.to_dict().get("time_zone")
        return time_zone

    def written(self, features: pl.DataFrame) -> list[str]:
        """A digest of all columns that make the model: those it weighs, and those that tell styles apart."""
        table = self.checked(features, f"fit {self.name}")
        telling = () if self.style_rule is None else self.style_rule.columns
        styles = [name for name in telling if name in table.columns]
        return [frame_digest(table.select(*KEY, *dict.fromkeys((*self.needed, *styles))))]

    def phrases(self) -> dict[str, Phrase] | None:
        """The feature's words for its columns, so that a stored model explains itself."""
        words = self.feature.phrases
        return {name: words[name] for name in self.columns if name in words} or None

    def _out_of_fold(self, rows: pl.DataFrame, used: tuple[str, ...]) -> tuple[Floats, Floats, float]:
        """The decision value of each row from a model that never saw its group, its terms, and the strength chosen."""
        numbers, bot = self._matrix(rows, used), bots(rows)
        terms = {strength: np.empty(numbers.shape) for strength in sorted(self.strengths)}

        def decisions(strength: float) -> Floats:
            def decide(out: Flags) -> Floats:
                fitted = self.regression(numbers[~out], bot[~out], strength, used)
                terms[strength][out] = fitted.terms(numbers[out])
                return fitted.decide(numbers[out])

            return out_of_fold(rows, self.folds, self.seed, decide)

        tried = {strength: decisions(strength) for strength in terms}
        strength = _simplest(tried, bot)
        return tried[strength], terms[strength], strength

    def _matrix(self, rows: pl.DataFrame, columns: tuple[str, ...]) -> Floats:
        scaled = [np.log1p(values(rows, name)) if name in self.counts else values(rows, name) for name in columns]
        return np.column_stack(scaled)

    def _column(self, name: str, at: int, fitted: "Fitted", rows: pl.DataFrame) -> Column:
        return Column(
            name=name,
            log=name in self.counts,
            mean=float(fitted.standard.means[at]),
            deviation=float(fitted.standard.deviations[at]),
            weight=float(fitted.weights[at]),
            percentiles=percentiles_of(values(rows.filter(~pl.col("bot")), name)),
        )


@dataclass(frozen=True)
class Fitted:
    """The weights of one fit, by column, and the scale they are for."""

    standard: Standard
    weights: Floats
    intercept: float

    def decide(self, numbers: Floats) -> Floats:
        """The decision value of each row."""
        decisions: Floats = self.intercept + self.standard.scale(numbers) @ self.weights
        return decisions

    def terms(self, numbers: Floats) -> Floats:
        """What each column adds to the decisions."""
        terms: Floats = self.standard.scale(numbers) * self.weights
        return terms


def regression(standard: Floats, bot: Flags, strength: float, *, balanced: bool) -> Fitted:
    """The weights of columns that are on a common scale already."""
    need("learning a model", "sklearn")
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(
        C=strength, class_weight="balanced" if balanced else None, solver="newton-cholesky", tol=1e-8, max_iter=1000
    ).fit(standard, bot)
    plain = Standard(np.zeros(standard.shape[1]), np.ones(standard.shape[1]))
    return Fitted(plain, fitted.coef_[0], float(fitted.intercept_[0]))


def _correlations(standard: Floats) -> tuple[tuple[float, ...], ...]:
    """Of the columns as the model sees them, a number that was not measured standing at the mean."""
    products = standard.T @ standard
    lengths = np.sqrt(np.diagonal(products))
    table = np.clip(products / np.outer(lengths, lengths), -1.0, 1.0)
    np.fill_diagonal(table, 1.0)
    return tuple(tuple(float(value) for value in row) for row in (table + table.T) / 2)


def _simplest(tried: Mapping[float, Floats], bot: Flags) -> float:
    """The smallest strength that is not clearly worse than the best: within one standard error of the difference.

    Beyond it, weights of features that measure nearly the same grow against each other and explain nothing, for a gain
    that held-out rows cannot show.
    """
    losses = {strength: _balanced_losses(decisions, bot) for strength, decisions in tried.items()}
    best = min(losses, key=lambda strength: (losses[strength].sum(), strength))
    return min(strength for strength, loss in losses.items() if _not_clearly_worse(loss - losses[best]))


def _not_clearly_worse(difference: Floats) -> bool:
    return bool(difference.sum() <= difference.std() * np.sqrt(difference.size))


def _balanced_losses(decisions: Floats, bot: Flags) -> Floats:
    """The log-loss of each row, weighted so that both classes count the same."""
    losses = np.logaddexp(0.0, np.where(bot, -decisions, decisions))
    balanced: Floats = losses / np.where(bot, bot.sum(), (~bot).sum())
    return balanced


def _usable(
    rows: pl.DataFrame, columns: tuple[str, ...], matrix: Callable[[pl.DataFrame, tuple[str, ...]], Floats]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns a model can learn from, and why not the others."""
    bot = bots(rows)
    unused: dict[str, str] = {}
    for name in columns:
        numbers = matrix(rows, (name,))[:, 0]
        there = ~np.isnan(numbers)
        if not there.any():
            unused[name] = "never measured in training"
        elif not (there & bot).any() or not (there & ~bot).any():
            unused[name] = f"never measured for {'humans' if (there & bot).any() else 'bots'} in training"
        elif steady(numbers[there].mean(), numbers[there].std()):
            unused[name] = "the same in every training row"
    used = tuple(name for name in columns if name not in unused)
    if not used:
        raise FitError(f"fit: no feature varies among the labelled periods ({_listed(unused)}); measure more play")
    return used, unused


def _listed(reasons: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {why}" for name, why in reasons.items())
