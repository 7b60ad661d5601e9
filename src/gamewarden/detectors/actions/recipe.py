"""Whether a chunk of play is a bot's, from what was done, how often and at what intervals (Thawonmas & Kashifuji).

Three methods with one machine, a linear support vector machine: `actions-two-stage` flags whoever does something far
more often than any human in training and weighs which actions the others do at all; `actions-frequency` weighs how
often each action is done (equation 7); `actions-interval` also how often each length of interval occurs (8).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl

from gamewarden.contracts import Feature, Recipe
from gamewarden.detectors.actions.model import ACTED, MIXED, ActionModel, Column, Machine
from gamewarden.detectors.actions.vectors import (
    DONE,
    INTERVAL,
    OFTEN,
    OWN_MEAN,
    OWN_SPREAD,
    StageOne,
    checked,
    columns_of,
    counts_of,
    inputs,
    table_digest_parts,
    thinned,
)
from gamewarden.errors import ConfigError, TableError
from gamewarden.learning.asking import asked
from gamewarden.learning.calibration import (
    CALIBRATIONS,
    PERSON,
    Calibration,
    Flags,
    Floats,
    Reference,
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
from gamewarden.learning.validation import zone as is_zone

METHOD = 2  # grows when the same recipe and data would give other numbers, so that a name never means two models
_GRID = np.linspace(0.0, 1.0, 101)
_VALIDATED = "held-out chunks, an actor or its group in one fold only"


@dataclass(frozen=True)
class _Chunks(ABC):
    """The options all three recipes share; each field names in `also` what the contract tests shall try besides."""

    name: ClassVar[str]
    says: ClassVar[str]

    feature: Feature  # frozen: what the table given to `fit` was measured with
    strength: float | None = field(
        default=None,
        metadata={"also": (1.0,), "says": "C of the machine; by default 1 / mean(x·x), as SVM-Light takes it."},
    )
    enough: int = field(
        default=10, metadata={"also": (2,), "says": "Fewer actions in a chunk are too little evidence to judge it."}
    )
    most: int = field(
        default=6000, metadata={"also": (60,), "says": "Learn from at most so many chunks, taken evenly."}
    )
    folds: int = field(default=5, metadata={"also": (3,)})
    calibration: str = field(default="platt", metadata={"also": ("none",)})
    least: int = field(default=5, metadata={"also": (2,)})
    seed: int = field(default=0, metadata={"also": (1,)})
    zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul",)})  # whose days are ranked as wholes

    def __post_init__(self) -> None:
        wrong = {
            "strength": self.strength is not None and self.strength <= 0,
            "enough": self.enough < 1,
            "most": self.most < 2,  # noqa: PLR2004 - one chunk a class
            "folds": self.folds < 2,  # noqa: PLR2004 - one fold holds nothing out
            "calibration": self.calibration not in CALIBRATIONS,
            "least": self.least < 2,  # noqa: PLR2004 - with one actor a class nothing can be held out
            "zone": self.zone is not None and not is_zone(self.zone),
        }
        for option, bad in wrong.items():
            if bad:
                raise ConfigError(f"{self.name}: {option} {getattr(self, option)!r} cannot be used; {_NEEDED[option]}")
        object.__setattr__(self, "feature", asked(self.feature, self._asks()))

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values, without the feature's."""
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.name != "feature"}
        return plain_json({"method": METHOD, **options})

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> Machine:
        """The published classifier of these chunks, without calibration.

        Raises:
            FitError: too few labelled actors of a class with a chunk that says enough.
            TableError: a table lacks a column or holds what it must not.
        """
        return self._learn(self._rows(features, labels)[0])[0]

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> ActionModel:
        """The model of these chunks and labels, the same whatever the order of their rows.

        Folds keep an actor, or the `group` its label names, on one side. Margins of held-out chunks calibrate
        `probability`, are the reference humans of `alarm`, and give the validation results.

        Raises:
            FitError: too few labelled actors of a class with a chunk that says enough.
            TableError: a table lacks a column or holds what it must not.
        """
        rows, labelled = self._rows(features, labels)

        def decide(out: Flags) -> Floats:
            kept = pl.Series(out)
            return self._learn(rows.filter(~kept))[0].decide_checked(rows.filter(kept))

        decisions = out_of_fold(rows, self.folds, self.seed, decide)
        machine, strength = self._learn(rows)
        slope, offset = platt(decisions, bots(rows)) if self.calibration == "platt" else (1.0, 0.0)
        humans = rows.select(*PERSON, "bot", held_out=pl.Series(decisions)).filter(~pl.col("bot"))
        validation = validation_of(decisions, bots(rows), slope, offset, groups(rows))
        reference = Reference.of(humans)
        return ActionModel(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=training_digest(features, labels, table_digest_parts),
            machine=machine,
            strength=strength,
            slope=slope,
            offset=offset,
            reference=reference,
            ranges=Ranges.of(machine.outline(rows), (ACTED, MIXED)),
            **counted(humans, Calibration(slope, offset, reference), self.zone),
            training=training_of(rows, self._left_out(labelled)),
            validation={**validation, "says": _VALIDATED, "folds": fold_count(rows, self.folds)},
        )

    def _asks(self) -> dict[str, Any]:
        """Options of the feature without which this method is blind."""
        return {"max_freq": True}

    def _rows(self, features: pl.DataFrame, labels: pl.DataFrame) -> tuple[pl.DataFrame, Labelled]:
        table = checked(features, f"fit {self.name}")
        labelled = label_periods(table, labels, f"fit {self.name}")
        rows = labelled.rows.filter(pl.col("events") >= self.enough)
        refuse_too_few(rows, self.least, f"fit {self.name}", self._left_out(labelled))
        return rows, labelled

    def _left_out(self, labelled: Labelled) -> dict[str, int]:
        short = labelled.rows.filter(pl.col("events") < self.enough).height
        return {**labelled.left_out, **({"chunks with too few actions": short} if short else {})}

    def _learn(self, rows: pl.DataFrame) -> tuple[Machine, float]:
        return self._machine(rows, np.ones(rows.height, np.bool_), self._columns(rows), None)

    @abstractmethod
    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        """The numbers of a chunk that the machine weighs."""

    def _machine(
        self, rows: pl.DataFrame, learned_from: Flags, names: tuple[str, ...], stage: StageOne | None
    ) -> tuple[Machine, float]:
        """The machine, and its C; means and percentiles are those of all rows."""
        values, bot = np.column_stack([inputs(rows, name) for name in names]), bots(rows)
        means = _means(values)
        few = thinned(np.flatnonzero(learned_from), self.most)
        filled = np.where(np.isnan(values[few]), means, values[few])
        strength = self.strength or _default_strength(filled)
        weights, intercept = _separate(filled, bot[few], strength)
        parts = zip(names, means.tolist(), weights.tolist(), _percentiles(values[~bot]), strict=True)
        columns = tuple(Column(*part) for part in parts)
        middle = intercept + sum(column.weight * column.mean for column in columns)
        return Machine(columns, float(middle), stage, self.enough), strength


@dataclass(frozen=True)
class TwoStage(_Chunks):
    """The previous method of the paper: first whoever exceeds every human, then which actions are done at all."""

    name: ClassVar[str] = "actions-two-stage"
    says: ClassVar[str] = "Whether an action is done more than by any human, then which actions are done at all."

    mean_over: str = field(
        default="performed",
        metadata={"also": ("all",), "says": "Mean frequency over the actions that were performed, or over all."},
    )
    second: str = field(
        default="passed",
        metadata={"also": ("all",), "says": "The second stage learns from chunks that passed the first, or from all."},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, choices in (("mean_over", ("performed", "all")), ("second", ("passed", "all"))):
            if getattr(self, option) not in choices:
                raise ConfigError(
                    f"{self.name}: {option} {getattr(self, option)!r} cannot be used; choose {' or '.join(choices)}"
                )

    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        return tuple(DONE + name.removeprefix(OFTEN) for name in columns_of(rows, OFTEN))

    def _learn(self, rows: pl.DataFrame) -> tuple[Machine, float]:
        names = self._columns(rows)
        kinds = [name.removeprefix(DONE) for name in names]
        counts = counts_of(rows, kinds)
        stage = StageOne.learn(counts, bots(rows), kinds, self.mean_over)
        passed = (stage.ratios(counts, kinds) == 0).all(axis=1)
        return self._machine(rows, passed | (self.second == "all"), names, stage)


@dataclass(frozen=True)
class Frequency(_Chunks):
    """The intermediate method of the paper: how often each action is done."""

    name: ClassVar[str] = "actions-frequency"
    says: ClassVar[str] = "How often each action is done in a chunk of play, as the probability of a bot."

    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        return columns_of(rows, OFTEN)


@dataclass(frozen=True)
class Interval(_Chunks):
    """The proposed method of the paper: how often each action is done, and at what intervals."""

    name: ClassVar[str] = "actions-interval"
    says: ClassVar[str] = "How often each action is done and at what intervals, as the probability of a bot."

    own: int = field(
        default=0,
        metadata={
            "also": (3,),
            "says": "Also mean and deviation of the own intervals of so many frequent actions (Kang & Kim).",
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.own < 0:
            raise ConfigError(f"{self.name}: own {self.own!r} cannot be used; give 0 or more")

    def _asks(self) -> dict[str, Any]:
        return {**super()._asks(), **({"own_intervals": True} if self.own else {})}

    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        return (*columns_of(rows, OFTEN), *columns_of(rows, INTERVAL), *self._own(rows))

    def _own(self, rows: pl.DataFrame) -> list[str]:
        """Mean and deviation of the actions that have an own interval in most chunks."""
        if not self.own:
            return []
        measured = {name: rows.height - rows[name].null_count() for name in columns_of(rows, OWN_MEAN)}
        if not measured:
            raise TableError(f"{self.name}: FEATURES lacks m_… and d_…; measure actions with own_intervals")
        kinds = sorted((name for name in measured if measured[name]), key=lambda name: (-measured[name], name))
        return [prefix + name.removeprefix(OWN_MEAN) for name in kinds[: self.own] for prefix in (OWN_MEAN, OWN_SPREAD)]


_NEEDED = {
    "strength": "give a number above 0",
    "enough": "give 1 or more",
    "most": "give 2 or more",
    "folds": "give 2 or more",
    "calibration": f"choose one of {', '.join(CALIBRATIONS)}",
    "least": "give 2 or more",
    "zone": "name a time zone such as Asia/Seoul",
}


def _separate(values: Floats, bot: Flags, strength: float) -> tuple[Floats, float]:
    """The soft-margin hyperplane with a free intercept; one class alone gets the answer of that class.

    libsvm solves the problem SVM-Light solves: hinge loss, and an intercept that costs nothing. liblinear is faster
    with many rows but charges for the intercept.
    """
    from sklearn.svm import SVC

    if bot.all() or not bot.any():
        return np.zeros(values.shape[1]), 1.0 if bot.all() else -1.0
    fitted = SVC(kernel="linear", C=strength, tol=1e-4).fit(values, bot)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _default_strength(values: Floats) -> float:
    """1 / mean(x·x), the default of SVM-Light."""
    squares = float((values**2).sum(axis=1).mean())
    return 1.0 / squares if squares else 1.0


def _means(values: Floats) -> Floats:
    """Of what was measured, a number a column; 0 where nothing was."""
    measured = ~np.isnan(values)
    means: Floats = np.where(measured, values, 0.0).sum(axis=0) / np.maximum(measured.sum(axis=0), 1)
    return means


def _percentiles(values: Floats) -> list[tuple[float, ...]]:
    """Of what was measured, a row a column; zeros where nothing was."""
    holes = np.isnan(values)
    whole = np.quantile(np.where(holes, 0.0, values), _GRID, axis=0).T
    for column in np.flatnonzero(holes.any(axis=0)):
        measured = values[~holes[:, column], column]
        whole[column] = np.quantile(measured, _GRID) if measured.size else 0.0
    return [tuple(row) for row in whole.tolist()]
