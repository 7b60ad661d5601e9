"""Whether a chunk of play is a bot's, from what was done, how often and at what intervals (Thawonmas & Kashifuji).

Three methods with one scorer, a linear support vector machine: `actions-two-stage` flags whoever does something far
more often than any human in training and weighs which actions the others do at all; `actions-frequency` weighs how
often each action is done (equation 7); `actions-interval` also how often each length of interval occurs (8). Equations
7 and 8 divide by the most frequent and lose how fast somebody acts: where the feature measured the pace, the two latter
weigh it too (decision 149).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from gamewarden.core.extras import need
from gamewarden.detectors.actions.model import ACTED, MIXED, ActionModel, Column, LinearScorer
from gamewarden.detectors.actions.vectors import (
    DONE,
    INTERVAL,
    OFTEN,
    OWN_MEAN,
    OWN_SPREAD,
    PACE,
    StageOne,
    checked,
    columns_of,
    counts_of,
    inputs,
    table_digest_parts,
    thinned,
)
from gamewarden.errors import TableError
from gamewarden.learning.calibration import Flags, Floats
from gamewarden.learning.fitting import Calibrated, Learned, Learner
from gamewarden.learning.out_of_fold import bots, out_of_fold
from gamewarden.learning.ranges import Ranges
from gamewarden.learning.recipe import AT_LEAST_1, AT_LEAST_2, ByDay, one_of, option
from gamewarden.learning.standard import GRID, Standard
from gamewarden.learning.validation import Rule


@dataclass(frozen=True)
class _Chunks(ByDay, Calibrated, Learner[ActionModel]):
    """The options all three recipes share."""

    sees: ClassVar[str] = "actions"
    model: ClassVar[type[Any]] = ActionModel
    version: ClassVar[int] = 3
    too_little: ClassVar[str] = "chunks with too few actions"
    validated: ClassVar[str] = "held-out chunks, an actor or its group in one fold only"

    strength: float | None = option(
        None,
        (1.0,),
        Rule(lambda v: v is None or v > 0, "give a number above 0"),
        "C of the machine; by default 1 / mean(x·x), as SVM-Light takes it.",
    )
    enough: int = option(10, (2,), AT_LEAST_1, "Fewer actions in a chunk are too little evidence to judge it.")
    most: int = option(6000, (60,), AT_LEAST_2, "Learn from at most so many chunks, taken evenly.")

    def checked(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        """FEATURES of chunks, with the numbers of actions and intervals as they must be."""
        return checked(features, door)

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which chunks say enough to be judged."""
        return rows["events"] >= self.enough

    def written(self, features: pl.DataFrame) -> list[bytes]:
        """The chunks' names and values."""
        return table_digest_parts(features)

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> LinearScorer:
        """The published classifier of these chunks, without calibration.

        Raises:
            FitError: too few labelled actors of a class with a chunk that says enough.
            TableError: a table lacks a column or holds what it must not.
        """
        return self._learn(self.rows(features, labels))[0]

    def learned(self, rows: pl.DataFrame) -> Learned:
        """The machine, and its margins on held-out chunks."""

        def decide(out: Flags) -> Floats:
            kept = pl.Series(out)
            return self._learn(rows.filter(~kept))[0].decide_checked(rows.filter(kept))

        decisions = out_of_fold(rows, self.folds, self.seed, decide)
        scorer, strength = self._learn(rows)
        own = {
            "columns": scorer.columns,
            "intercept": scorer.intercept,
            "stage": scorer.stage,
            "strength": strength,
        }
        return Learned(rows, decisions, own, Ranges.of(scorer.outline(rows), (ACTED, MIXED)))

    def asks(self) -> dict[str, Any]:
        """Options of the feature without which this method is blind."""
        return {"max_freq": True}

    def _learn(self, rows: pl.DataFrame) -> tuple[LinearScorer, float]:
        return self._scorer(rows, np.ones(rows.height, np.bool_), self._columns(rows), None)

    @abstractmethod
    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        """The numbers of a chunk that are weighed."""

    def _scorer(
        self, rows: pl.DataFrame, learned_from: Flags, names: tuple[str, ...], stage: StageOne | None
    ) -> tuple[LinearScorer, float]:
        """The scorer, and its C; means and percentiles are those of all rows."""
        values, bot = np.column_stack([inputs(rows, name) for name in names]), bots(rows)
        means = Standard.of(values).means
        few = thinned(np.flatnonzero(learned_from), self.most)
        filled = np.where(np.isnan(values[few]), means, values[few])
        strength = self.strength or _default_strength(filled)
        weights, intercept = _separate(filled, bot[few], strength)
        parts = zip(names, means.tolist(), weights.tolist(), _percentiles(values[~bot]), strict=True)
        columns = tuple(Column(*part) for part in parts)
        middle = intercept + sum(column.weight * column.mean for column in columns)
        return LinearScorer(columns, float(middle), stage, self.enough), strength


@dataclass(frozen=True)
class TwoStage(_Chunks):
    """The previous method of the paper: first whoever exceeds every human, then which actions are done at all."""

    name: ClassVar[str] = "actions-two-stage"
    says: ClassVar[str] = "Whether an action is done more than by any human, then which actions are done at all."

    mean_over: Literal["performed", "all"] = option(
        "performed",
        ("all",),
        one_of("performed", "all"),
        "Mean frequency over the actions that were performed, or over all.",
    )
    second: Literal["passed", "all"] = option(
        "passed",
        ("all",),
        one_of("passed", "all"),
        "The second stage learns from chunks that passed the first, or from all.",
    )

    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        return tuple(DONE + name.removeprefix(OFTEN) for name in columns_of(rows, OFTEN))

    def _learn(self, rows: pl.DataFrame) -> tuple[LinearScorer, float]:
        names = self._columns(rows)
        kinds = [name.removeprefix(DONE) for name in names]
        counts = counts_of(rows, kinds)
        stage = StageOne.learn(counts, bots(rows), kinds, self.mean_over)
        passed = (stage.ratios(counts, kinds) == 0).all(axis=1)
        return self._scorer(rows, passed | (self.second == "all"), names, stage)


@dataclass(frozen=True)
class Frequency(_Chunks):
    """The intermediate method of the paper: how often each action is done."""

    name: ClassVar[str] = "actions-frequency"
    says: ClassVar[str] = "How often each action is done in a chunk of play, as the probability of a bot."

    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        return (*columns_of(rows, OFTEN), *columns_of(rows, PACE))


@dataclass(frozen=True)
class Interval(_Chunks):
    """The proposed method of the paper: how often each action is done, and at what intervals."""

    name: ClassVar[str] = "actions-interval"
    says: ClassVar[str] = "How often each action is done and at what intervals, as the probability of a bot."

    own: int = option(
        0,
        (3,),
        Rule(lambda v: v >= 0, "give 0 or more"),
        "Also mean and deviation of the own intervals of so many frequent actions (Kang & Kim).",
    )

    def asks(self) -> dict[str, Any]:
        """Options of the feature without which this method is blind."""
        return {**super().asks(), **({"own_intervals": True} if self.own else {})}

    def _columns(self, rows: pl.DataFrame) -> tuple[str, ...]:
        return (*columns_of(rows, OFTEN), *columns_of(rows, INTERVAL), *columns_of(rows, PACE), *self._own(rows))

    def _own(self, rows: pl.DataFrame) -> list[str]:
        """Mean and deviation of the actions that have an own interval in most chunks."""
        if not self.own:
            return []
        measured = {name: rows.height - rows[name].null_count() for name in columns_of(rows, OWN_MEAN)}
        if not measured:
            raise TableError(f"{self.name}: FEATURES lacks m_… and d_…; measure actions with own_intervals")
        kinds = sorted((name for name in measured if measured[name]), key=lambda name: (-measured[name], name))
        return [prefix + name.removeprefix(OWN_MEAN) for name in kinds[: self.own] for prefix in (OWN_MEAN, OWN_SPREAD)]


def _separate(values: Floats, bot: Flags, strength: float) -> tuple[Floats, float]:
    """The soft-margin hyperplane with a free intercept; one class alone gets the answer of that class.

    libsvm solves the problem SVM-Light solves: hinge loss, and an intercept that costs nothing. liblinear is faster
    with many rows but charges for the intercept.
    """
    need("learning a model", "sklearn")
    from sklearn.svm import SVC

    if bot.all() or not bot.any():
        return np.zeros(values.shape[1]), 1.0 if bot.all() else -1.0
    fitted = SVC(kernel="linear", C=strength, tol=1e-4).fit(values, bot)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _default_strength(values: Floats) -> float:
    """1 / mean(x·x), the default of SVM-Light."""
    squares = float((values**2).sum(axis=1).mean())
    return 1.0 / squares if squares else 1.0


def _percentiles(values: Floats) -> list[tuple[float, ...]]:
    """Of what was measured, a row a column; zeros where nothing was."""
    holes = np.isnan(values)
    whole = np.quantile(np.where(holes, 0.0, values), GRID, axis=0).T
    for column in np.flatnonzero(holes.any(axis=0)):
        measured = values[~holes[:, column], column]
        whole[column] = np.quantile(measured, GRID) if measured.size else 0.0
    return [tuple(row) for row in whole.tolist()]
