"""How probably an account's day was played by a bot: logistic regression on self-similarity (Lee et al., NDSS 2016).

Two recipes of one method: `self-similarity` looks at self-similarity alone (model 1 of the paper), `account-day` at all
fourteen features (model 2).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl

from gamewarden.contracts import Feature, Recipe, frame_digest
from gamewarden.detectors.logistic.model import COUNTS, SELF_SIM, Column, LogisticModel, checked, values
from gamewarden.errors import ConfigError, FitError
from gamewarden.learning.abstaining import HeldOut
from gamewarden.learning.calibration import (
    CALIBRATIONS,
    KEY,
    Calibration,
    Flags,
    Floats,
    Reference,
    StyleReferences,
    counted,
    plain_json,
    platt,
    validation_of,
)
from gamewarden.learning.labels import Labelled, label_periods
from gamewarden.learning.out_of_fold import (
    bots,
    fold_count,
    groups,
    out_of_fold,
    refuse_too_few,
    training_digest,
    training_of,
)
from gamewarden.learning.ranges import Ranges
from gamewarden.learning.styles import Styles

FOURTEEN = (
    SELF_SIM,
    "cosim_count",
    "cosim_uniq_count",
    "cosim_zero_count",
    "cosim_mode",
    "total_log_count",
    "main_char_level",
    "total_use_time_min",
    "npc_kill_count",
    "trade_get_count",
    "trade_give_count",
    "retrieve_count",
    "deposit_count",
    "log_count_per_min",
)
# Columns that a source may not show at all: those of one kind of event each, and the level.
MAY_BE_ABSENT = frozenset(
    ("main_char_level", "npc_kill_count", "trade_get_count", "trade_give_count", "retrieve_count", "deposit_count")
)
METHOD = 5  # grows when the same recipe and data would give other numbers, so that a name never means two models
_CONSTANT = 1e-12  # a deviation this small beside its mean is rounding, not variation
_GRID = np.linspace(0.0, 1.0, 101)
_VALIDATED = "held-out periods, an actor or its group in one fold only; the strength was chosen on the same folds"


@dataclass(frozen=True)
class _Logistic:
    """The options both recipes share; each field names in `also` what the contract tests shall try besides."""

    name: ClassVar[str]
    says: ClassVar[str]

    feature: Feature  # frozen: what the table given to `fit` was measured with
    columns: tuple[str, ...] = field(default=FOURTEEN, metadata={"also": ((SELF_SIM, "log_count_per_min"),)})
    strengths: tuple[float, ...] = field(default=(0.01, 0.1, 1.0, 10.0, 100.0), metadata={"also": ((1.0,),)})
    folds: int = field(default=5, metadata={"also": (3,)})
    balanced: bool = field(default=True, metadata={"also": (False,)})
    calibration: str = field(default="platt", metadata={"also": ("none",)})
    least: int = field(default=5, metadata={"also": (2,)})
    seed: int = field(default=0, metadata={"also": (1,)})
    styles: Styles = field(default=Styles(), metadata={"also": (Styles(learned=True), Styles(hardcore_hours=6.0))})

    def __post_init__(self) -> None:
        wrong = {
            "columns": not self.columns or len(set(self.columns)) < len(self.columns),
            "strengths": not self.strengths or any(strength <= 0 for strength in self.strengths),
            "folds": self.folds < 2,  # noqa: PLR2004 - one fold holds nothing out
            "calibration": self.calibration not in CALIBRATIONS,
            "least": self.least < 2,  # noqa: PLR2004 - with one actor a class nothing can be held out
        }
        for option, bad in wrong.items():
            if bad:
                raise ConfigError(f"{self.name}: {option} {getattr(self, option)!r} cannot be used; {_NEEDED[option]}")

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values, without the feature's."""
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.name != "feature"}
        return plain_json({"method": METHOD, **options, "styles": self.styles.to_dict()})

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> "LogisticModel":
        """The model of these periods and labels, the same whatever the order of their rows.

        Folds keep an actor, or the `group` its label names, on one side. The strength C is the smallest whose balanced
        log-loss on held-out periods is within one standard error of the least; those held-out values calibrate
        `probability`, are the reference humans of `alarm`, and give the validation results.

        Raises:
            FitError: too few labelled actors of a class with a measured period.
            TableError: a table lacks a column or holds what it must not.
        """
        table = checked(features, self.columns, f"fit {self.name}")
        labelled = label_periods(table, labels, f"fit {self.name}")
        rows = labelled.rows.filter(pl.col(SELF_SIM).is_not_null())
        refuse_too_few(rows, self.least, f"fit {self.name}", _left_out(labelled))
        used, unused = _usable(rows, self.columns)
        decisions, terms, strength = self._held_out(rows, used)
        learned = _learn(_matrix(rows, used), bots(rows), strength, balanced=self.balanced)
        slope, offset = platt(decisions, bots(rows)) if self.calibration == "platt" else (1.0, 0.0)
        humans = rows.with_columns(held_out=decisions).filter(~pl.col("bot"))
        validation = validation_of(decisions, bots(rows), slope, offset, groups(rows))
        reference, styles = Reference.of(humans), StyleReferences.of(self.styles, humans)
        parts = {name: terms[:, at] for at, name in enumerate(used) if name in MAY_BE_ABSENT}
        return LogisticModel(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=training_digest(table, labels, self._written),
            columns=tuple(_column(name, at, learned, humans) for at, name in enumerate(used)),
            left_out=unused,
            strength=strength,
            intercept=learned.intercept,
            correlations=_correlations(_standard(_matrix(rows, used), learned.means, learned.deviations)),
            slope=slope,
            offset=offset,
            reference=reference,
            ranges=Ranges.of(rows, used),
            held_out=HeldOut.of(rows, decisions, parts, styles.rule) if parts else None,
            training=training_of(rows, _left_out(labelled)),
            validation={**validation, "says": _VALIDATED, "folds": fold_count(rows, self.folds)},
            styles=styles,
            **counted(humans, Calibration(slope, offset, reference, styles), self.feature.to_dict().get("zone")),
        )

    def _written(self, table: pl.DataFrame) -> list[str]:
        """A digest of all columns that make the model: those it weighs, and those that tell styles apart."""
        styles = [one for one in (self.styles.minutes, self.styles.kills, self.styles.level) if one in table.columns]
        return [frame_digest(table.select(*KEY, *dict.fromkeys((SELF_SIM, *self.columns, *styles))))]

    def _held_out(self, rows: pl.DataFrame, used: tuple[str, ...]) -> tuple[Floats, Floats, float]:
        """The decision value of each row from a model that never saw its group, its terms, and the strength chosen."""
        numbers, bot = _matrix(rows, used), bots(rows)
        terms = {strength: np.empty(numbers.shape) for strength in sorted(self.strengths)}

        def decisions(strength: float) -> Floats:
            def decide(out: Flags) -> Floats:
                learned = _learn(numbers[~out], bot[~out], strength, balanced=self.balanced)
                terms[strength][out] = learned.terms(numbers[out])
                return learned.decide(numbers[out])

            return out_of_fold(rows, self.folds, self.seed, decide)

        tried = {strength: decisions(strength) for strength in terms}
        strength = _simplest(tried, bot)
        return tried[strength], terms[strength], strength


@dataclass(frozen=True)
class SelfSimilarityAlone(_Logistic):
    """Model 1 of the paper: self-similarity and nothing else."""

    name: ClassVar[str] = "self-similarity"
    says: ClassVar[str] = "How alike an account's minutes are, as the probability that a bot played them."

    columns: tuple[str, ...] = field(default=(SELF_SIM,), metadata={"also": ((SELF_SIM, "cosim_zero_count"),)})


@dataclass(frozen=True)
class AccountDay(_Logistic):
    """Model 2 of the paper: self-similarity and thirteen counts of the account's day."""

    name: ClassVar[str] = "account-day"
    says: ClassVar[str] = "Fourteen numbers of an account's day, as the probability that a bot played it."


_NEEDED = {
    "columns": "name each feature column once",
    "strengths": "give numbers above 0",
    "folds": "give 2 or more",
    "calibration": f"choose one of {', '.join(CALIBRATIONS)}",
    "least": "give 2 or more",
}


@dataclass(frozen=True)
class _Learned:
    """Means, deviations and weights of one fit, by column."""

    means: Floats
    deviations: Floats
    weights: Floats
    intercept: float

    def decide(self, values: Floats) -> Floats:
        decisions: Floats = self.intercept + _standard(values, self.means, self.deviations) @ self.weights
        return decisions

    def terms(self, values: Floats) -> Floats:
        """What each column adds to the decisions."""
        terms: Floats = _standard(values, self.means, self.deviations) * self.weights
        return terms


def _learn(values: Floats, bot: Flags, strength: float, *, balanced: bool) -> _Learned:
    from sklearn.linear_model import LogisticRegression

    means, deviations = _moments(values)
    fitted = LogisticRegression(
        C=strength, class_weight="balanced" if balanced else None, solver="newton-cholesky", tol=1e-8, max_iter=1000
    ).fit(_standard(values, means, deviations), bot)
    return _Learned(means, deviations, fitted.coef_[0], float(fitted.intercept_[0]))


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of what was measured; a column that does not vary here gets deviation 1 and so counts as 0."""
    measured = ~np.isnan(values)
    count = np.maximum(measured.sum(axis=0), 1)
    means = np.where(measured, values, 0.0).sum(axis=0) / count
    deviations = np.sqrt((np.where(measured, values - means, 0.0) ** 2).sum(axis=0) / count)
    return means, np.where(_steady(means, deviations), 1.0, deviations)


def _steady(means: Floats, deviations: Floats) -> Flags:
    steady: Flags = deviations <= _CONSTANT * np.maximum(1.0, np.abs(means))
    return steady


def _standard(values: Floats, means: Floats, deviations: Floats) -> Floats:
    standard: Floats = np.where(np.isnan(values), 0.0, (values - means) / deviations)
    return standard


def _correlations(standard: Floats) -> tuple[tuple[float, ...], ...]:
    """Of the columns as the model sees them, a number that was not measured standing at the mean."""
    together = standard.T @ standard
    lengths = np.sqrt(np.diagonal(together))
    table = np.clip(together / np.outer(lengths, lengths), -1.0, 1.0)
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


def _usable(rows: pl.DataFrame, columns: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns a model can learn from, and why not the others."""
    bot = bots(rows)
    unused: dict[str, str] = {}
    for name in columns:
        values = _matrix(rows, (name,))[:, 0]
        measured = ~np.isnan(values)
        if not measured.any():
            unused[name] = "never measured in training"
        elif not (measured & bot).any() or not (measured & ~bot).any():
            unused[name] = f"never measured for {'humans' if (measured & bot).any() else 'bots'} in training"
        elif _steady(values[measured].mean(), values[measured].std()):
            unused[name] = "the same in every training row"
    used = tuple(name for name in columns if name not in unused)
    if not used:
        raise FitError(f"fit: no feature varies among the labelled periods ({_listed(unused)}); measure more play")
    return used, unused


def _listed(reasons: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {why}" for name, why in reasons.items())


def _matrix(rows: pl.DataFrame, columns: tuple[str, ...]) -> Floats:
    scaled = [np.log1p(values(rows, name)) if name in COUNTS else values(rows, name) for name in columns]
    return np.column_stack(scaled)


def _column(name: str, at: int, learned: _Learned, humans: pl.DataFrame) -> Column:
    percentiles = np.quantile(humans[name].drop_nulls().to_numpy(), _GRID)
    return Column(
        name=name,
        log=name in COUNTS,
        mean=float(learned.means[at]),
        deviation=float(learned.deviations[at]),
        weight=float(learned.weights[at]),
        percentiles=tuple(float(value) for value in percentiles),
    )


def _left_out(labelled: Labelled) -> dict[str, int]:
    short = labelled.rows[SELF_SIM].null_count()
    return {**labelled.left_out, **({"periods with too little play": short} if short else {})}
