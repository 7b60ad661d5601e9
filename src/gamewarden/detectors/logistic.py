"""How probably an account's day was played by a bot: logistic regression on self-similarity (Lee et al., NDSS 2016).

Two recipes of one method: `self-similarity` looks at self-similarity alone (model 1 of the paper), `account-day` at all
fourteen features (model 2).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden import folds as dealing
from gamewarden.contracts import Feature, Recipe, digest, frame_digest
from gamewarden.detectors.logistic_model import (
    COUNTS,
    KEY,
    SELF_SIM,
    Column,
    Floats,
    LogisticModel,
    Reference,
    checked,
    plain_json,
    sigmoid,
    values,
)
from gamewarden.errors import ConfigError, FitError
from gamewarden.labels import Labelled, label_periods
from gamewarden.tables import LABELS, check

Flags = NDArray[np.bool_]

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
METHOD = 1  # grows when the same recipe and data would give other numbers, so that a name never means two models
CALIBRATIONS = ("platt", "none")
LEAST_STEEPNESS = 0.01  # log-odds a standard deviation of the decision values
_CONSTANT = 1e-12  # a deviation this small beside its mean is rounding, not variation
_GRID = np.linspace(0.0, 1.0, 101)


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
        return plain_json({"method": METHOD, **options})

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> "LogisticModel":
        """The model of these periods and labels, the same whatever the order of their rows.

        Folds keep an actor, or the `group` its label names, on one side. The strength C is the one with the least
        balanced log-loss on held-out periods; those held-out values calibrate `probability`, are the reference
        humans of `alarm`, and give the validation results.

        Raises:
            FitError: too few labelled actors of a class with a measured period.
            TableError: a table lacks a column or holds what it must not.
        """
        table = checked(features, self.columns, f"fit {self.name}")
        labelled = label_periods(table, labels, f"fit {self.name}")
        rows = labelled.rows.filter(pl.col(SELF_SIM).is_not_null())
        self._refuse_too_few(rows, labelled)
        used, unused = _usable(rows, self.columns)
        held_out, strength = self._held_out(rows, used)
        learned = _learn(_matrix(rows, used), _bots(rows), strength, balanced=self.balanced)
        slope, offset = _platt(held_out, _bots(rows)) if self.calibration == "platt" else (1.0, 0.0)
        humans = rows.with_columns(held_out=held_out).filter(~pl.col("bot"))
        return LogisticModel(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=_data_digest(table, labels, self.columns),
            columns=tuple(_column(name, at, learned, humans) for at, name in enumerate(used)),
            left_out=unused,
            strength=strength,
            intercept=learned.intercept,
            slope=slope,
            offset=offset,
            reference=_reference(humans),
            training=_training(rows, labelled),
            validation=_validation(held_out, _bots(rows), slope, offset) | {"folds": self._folds(rows)},
        )

    def _refuse_too_few(self, rows: pl.DataFrame, labelled: Labelled) -> None:
        bots, humans = (rows.filter(bot=bot)["actor"].n_unique() for bot in (True, False))
        groups = dealing.possible(_groups(rows), _bots(rows), self.least)
        if min(bots, humans) < self.least or groups < 2:  # noqa: PLR2004 - one group cannot be held out and learned from
            why = "; ".join(f"{reason}: {count}" for reason, count in _left_out(labelled).items())
            raise FitError(
                f"fit {self.name}: {bots} labelled bots and {humans} labelled humans have a measured period; "
                f"needed are {self.least} of each, in 2 groups at least; label more actors"
                + (f" (left out: {why})" if why else "")
            )

    def _folds(self, rows: pl.DataFrame) -> int:
        return dealing.possible(_groups(rows), _bots(rows), self.folds)

    def _held_out(self, rows: pl.DataFrame, used: tuple[str, ...]) -> tuple[Floats, float]:
        """The decision value of each row from a model that never saw its group, and the strength that did best."""
        values, bot = _matrix(rows, used), _bots(rows)
        fold = dealing.deal(_groups(rows), bot, self._folds(rows), self.seed)
        tried: list[tuple[float, float, Floats]] = []
        for strength in sorted(self.strengths):
            decisions = np.empty(rows.height)
            for part in range(int(fold.max()) + 1):
                learned = _learn(values[fold != part], bot[fold != part], strength, balanced=self.balanced)
                decisions[fold == part] = learned.decide(values[fold == part])
            tried.append((_balanced_loss(decisions, bot), strength, decisions))
        _, strength, decisions = min(tried, key=lambda trial: trial[:2])
        return decisions, strength


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


def _balanced_loss(decisions: Floats, bot: Flags) -> float:
    losses = np.logaddexp(0.0, np.where(bot, -decisions, decisions))
    return float(losses[bot].mean() + losses[~bot].mean())


def _platt(decisions: Floats, bot: Flags) -> tuple[float, float]:
    """Slope and offset of the log-odds, with Platt's softened targets so that a perfect split stays finite.

    A falling slope would turn the ranking round: a model that is worse than chance on held-out actors keeps its order
    and says hardly more than how common bots were.
    """
    from sklearn.linear_model import LogisticRegression

    spread = float(decisions.std()) or 1.0
    target = np.where(bot, (bot.sum() + 1) / (bot.sum() + 2), 1 / ((~bot).sum() + 2))
    twice = np.tile(decisions / spread, 2)[:, None]
    says_bot = np.repeat([True, False], bot.size)
    fitted = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8, max_iter=1000).fit(
        twice, says_bot, sample_weight=np.concatenate([target, 1 - target])
    )
    steepness = float(fitted.coef_[0, 0])
    if steepness > LEAST_STEEPNESS:
        return steepness / spread, float(fitted.intercept_[0])
    share = target.mean()
    return LEAST_STEEPNESS / spread, float(np.log(share / (1 - share)))


def _usable(rows: pl.DataFrame, columns: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns a model can learn from, and why not the others."""
    bot = _bots(rows)
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


def _bots(rows: pl.DataFrame) -> Flags:
    return rows["bot"].to_numpy()


def _groups(rows: pl.DataFrame) -> NDArray[np.str_]:
    return rows["group"].to_numpy().astype(np.str_)


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


def _reference(humans: pl.DataFrame) -> Reference:
    shared = humans.with_columns(weight=1.0 / pl.len().over("actor")).sort("held_out", "weight")
    return Reference(tuple(shared["held_out"].to_list()), tuple(shared["weight"].to_list()), shared["actor"].n_unique())


def _training(rows: pl.DataFrame, labelled: Labelled) -> dict[str, Any]:
    def counts(measure: Callable[[pl.DataFrame], int]) -> dict[str, int]:
        return {"bot": measure(rows.filter("bot")), "human": measure(rows.filter(~pl.col("bot")))}

    by_source = rows.group_by("source", "bot").agg(pl.col("actor").n_unique()).sort("source", "bot")
    sources: dict[str, dict[str, int]] = {}
    for source, bot, actors in by_source.iter_rows():
        sources.setdefault(source, {"bot": 0, "human": 0})["bot" if bot else "human"] = actors
    return {
        "since": rows["since"].min().isoformat(),  # type: ignore[union-attr]  # a FEATURES time is never null
        "until": rows["until"].max().isoformat(),  # type: ignore[union-attr]  # the same
        "actors": counts(lambda part: part["actor"].n_unique()),
        "periods": counts(lambda part: part.height),
        "sources": sources,
        "left_out": _left_out(labelled),
    }


def _left_out(labelled: Labelled) -> dict[str, int]:
    short = labelled.rows[SELF_SIM].null_count()
    return {**labelled.left_out, **({"periods with too little play": short} if short else {})}


def _validation(decisions: Floats, bot: Flags, slope: float, offset: float) -> dict[str, Any]:
    from sklearn.metrics import roc_auc_score

    probability = sigmoid(slope * decisions + offset)
    return {
        "auc": float(roc_auc_score(bot, decisions)),
        "brier": float(np.mean((probability - bot) ** 2)),
        "says": "held-out periods, an actor or its group in one fold only; the strength was chosen on the same folds",
    }


def _data_digest(table: pl.DataFrame, labels: pl.DataFrame, columns: tuple[str, ...]) -> str:
    """A digest of all the model and its card are made from: the labelled actors' rows, and the labels."""
    given = check(labels, LABELS, "fit").select("actor", "since", "until", "bot", "source", "votes", "group").unique()
    seen = table.join(given, on="actor", how="semi").select(*KEY, *dict.fromkeys((SELF_SIM, *columns)))
    return digest(frame_digest(seen), frame_digest(given))
