"""Whether a session of Ragnarok Online is a bot's, from what its packets say (Cornelissen 2008).

Two methods over the same nine numbers: `session-network`, a small neural network, and `session-angle`, which takes the
side of the nearest known session: as published, where it fails, and in three repaired forms.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.extras import need
from gamewarden.core.intervals import share_interval
from gamewarden.detectors.session.classifiers import (
    ANGLE,
    ANGLES,
    FORMS,
    MAHALANOBIS,
    Classifier,
    Form,
    Neighbours,
    Network,
    whitened,
)
from gamewarden.detectors.session.model import SessionModel
from gamewarden.detectors.session.vectors import (
    MISSING,
    MORE,
    NINE,
    PUBLISHED,
    Z_SCORES,
    checked,
    digest_parts,
    inputs,
    judged,
    learn_columns,
    refuse_unmeasured,
    width,
)
from gamewarden.learning.attribution import MOST
from gamewarden.learning.calibration import Flags, Floats, sigmoid
from gamewarden.learning.columns import matrix
from gamewarden.learning.fitting import Calibrated, Learned, Learner
from gamewarden.learning.out_of_fold import bots, groups, out_of_fold
from gamewarden.learning.ranges import Ranges
from gamewarden.learning.recipe import AT_LEAST_1, POSITIVE, ByDay, one_of, option
from gamewarden.learning.validation import Rule

_RIDGE = 1e-6  # of the covariance: dx, dy and distance are nearly collinear


@dataclass(frozen=True)
class _Sessions(ByDay, Calibrated, Learner[SessionModel]):
    """The options both recipes share."""

    sees: ClassVar[str] = "session"
    model: ClassVar[type[Any]] = SessionModel
    version: ClassVar[int] = 3
    too_little: ClassVar[str] = "sessions too short or with too little in them"
    validated: ClassVar[str] = (
        "held-out sessions, an actor or its group in one fold only; at the cut calibrated by the other folds"
    )

    columns: tuple[str, ...] = option(
        NINE,
        ((*NINE[:5], *MORE[:2]),),
        Rule(lambda v: 0 < len(v) <= MOST and len(set(v)) == len(v), f"name each number once, {MOST} at the most"),
        "Numbers of a session to look at, separated by commas.",
        **{"as": "kinds", "shown": "the nine of the thesis"},
    )
    missing: str = option(
        "median",
        ("indicator",),
        one_of(*MISSING),
        "A number not measured: the median of training, or a further input that says so (indicator).",
    )
    cost: float = option(
        10.0,
        (1.0,),
        POSITIVE,
        "Missed bots that weigh as much as one accused human; the card states the false-positive rate at that cut.",
    )
    seed: int = option(0, (1,), says="Of the folds and of the first weights.")

    @property
    def cut(self) -> float:
        """The probability from which accusing costs less than waiting: C_fp / (C_fp + C_fn)."""
        return self.cost / (self.cost + 1)

    @property
    @abstractmethod
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""

    @abstractmethod
    def classifier(self, values: Floats, bot: Flags) -> Classifier:
        """The published classifier of these sessions, one row per session, without calibration."""

    def checked(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        """Sessions as FEATURES, with the columns as numbers that can be used."""
        return checked(features, self.columns, door)

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which sessions say enough to be judged."""
        return judged(rows, as_published=self.as_published)

    def written(self, features: pl.DataFrame) -> list[Any]:
        """Names and values of what a model learns from."""
        return digest_parts(self.checked(features, f"fit {self.name}"), self.columns)

    def learned(self, rows: pl.DataFrame) -> Learned:
        """The classifier, its decisions on held-out sessions, and how many of them reach the cut."""
        values, bot = matrix(rows, self.columns), bots(rows)
        refuse_unmeasured(values, self.columns, f"fit {self.name}")

        def decide(out: Flags) -> Floats:
            return self.classifier(values[~out], bot[~out]).decide(values[out])

        decisions = out_of_fold(rows, self.folds, self.seed, decide)

        def calibrated(out: Flags) -> Floats:
            """Probabilities by a calibration that did not see these sessions either."""
            slope, offset = self.platt(decisions[~out], bot[~out])
            return sigmoid(slope * decisions[out] + offset)

        learned = self.classifier(values, bot)
        own = {"columns": learned.columns, "method": learned.method}
        reached = at_cut(out_of_fold(rows, self.folds, self.seed, calibrated), bot, self.cut, groups(rows))
        return Learned(rows, decisions, own, Ranges.of(rows, self.columns), reached)

    def asks(self) -> Mapping[str, Any]:
        """Options of the feature without which this method does not see what it was published for."""
        return {"paper_mode": True} if self.as_published else {}


@dataclass(frozen=True)
class SessionNetwork(_Sessions):
    """As many inputs as numbers, nine hidden units, one output, taught by back-propagation."""

    name: ClassVar[str] = "session-network"
    says: ClassVar[str] = "A small neural network over nine numbers of a session, as the probability of a bot."

    inputs: str = option(
        Z_SCORES,
        (PUBLISHED,),
        one_of(Z_SCORES, PUBLISHED),
        "z-scores of training, or the published scales, with which sessions spent sitting are judged too.",
    )
    hidden: int = option(9, (4,), AT_LEAST_1, "Hidden units.")
    rate: float = option(0.3, (0.1,), POSITIVE, "Learning rate.")
    weights: float = option(0.5, (0.1,), POSITIVE, "First weights lie within ± this.")
    error: float = option(0.001, (0.0001,), POSITIVE, "Teach until the error of an epoch is so small …")
    epochs: int = option(20_000, (50,), AT_LEAST_1, "… or so many epochs are over.")

    @property
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""
        return self.inputs == PUBLISHED

    def classifier(self, values: Floats, bot: Flags) -> Classifier:
        """The network these sessions teach, shown one after the other: player, bot, player, bot."""
        return self.teach(values, bot)[0]

    def teach(self, values: Floats, bot: Flags) -> tuple[Classifier, int, float]:
        """The network, the epochs it took, and the error of the last one."""
        from gamewarden.detectors.session.backpropagation import alternating, train

        columns = learn_columns(self.columns, values, bot, self.inputs, self.missing)
        random = np.random.default_rng(self.seed)
        first = random.uniform(-self.weights, self.weights, (self.hidden, width(columns) + 1))
        network = (first, random.uniform(-self.weights, self.weights, self.hidden + 1))
        limits = (self.rate, self.error, self.epochs)
        shown = np.ascontiguousarray(inputs(columns, values))
        epochs, error = train(shown, bot.astype(np.float64), alternating(bot), network, limits)
        hidden, output = (part.tolist() for part in network)
        learned = Classifier(columns, Network(tuple(map(tuple, hidden)), tuple(output)))
        return learned, int(epochs), float(error)


@dataclass(frozen=True)
class SessionAngle(_Sessions):
    """The side of the nearest known session: by its angle as published, or repaired."""

    name: ClassVar[str] = "session-angle"
    says: ClassVar[str] = "Whether a session is nearer to those of bots or of people, as the probability of a bot."

    form: Form = option(
        MAHALANOBIS,
        tuple(form for form in FORMS if form != MAHALANOBIS),
        one_of(*FORMS),
        "published (angles of raw vectors; fails), or repaired: cosine of z-scores, euclid, mahalanobis.",
    )
    neighbours: int | None = option(
        None,
        (5,),
        Rule(lambda v: v is None or (v >= 1 and v % 2 == 1), "give an odd number"),
        "How many known sessions vote, an odd number; 1 for angles, 3 for distances.",
    )

    @property
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""
        return self.form == ANGLE

    @property
    def voters(self) -> int:
        """How many known sessions vote."""
        return self.neighbours or (1 if self.form in ANGLES else 3)

    def classifier(self, values: Floats, bot: Flags) -> Classifier:
        """The known sessions as this form sees them."""
        how = PUBLISHED if self.form == ANGLE else Z_SCORES
        columns = learn_columns(self.columns, values, bot, how, self.missing)
        shown = inputs(columns, values)
        whitening = _whitening(shown) if self.form == MAHALANOBIS else ()
        known = tuple(map(tuple, whitened(shown, whitening).tolist()))
        return Classifier(columns, Neighbours(self.form, self.voters, known, tuple(bot.tolist()), whitening))


def at_cut(probability: Floats, bot: Flags, cut: float, groups: NDArray[np.str_]) -> dict[str, float | None]:
    """The shares of humans and of bots whose held-out probability reaches the cut, and what so few leave possible."""
    told: dict[str, float | None] = {"cut": cut}
    for name, side in (("fpr_at_cut", ~bot), ("recall_at_cut", bot)):
        flagged = probability[side] >= cut
        low, high = share_interval(flagged, groups[side]) or (None, None)
        told |= {name: float(flagged.mean()), f"{name}_low": low, f"{name}_high": high}
    return told


def _whitening(shown: Floats) -> tuple[tuple[float, ...], ...]:
    """Rows that turn Mahalanobis distances into plain ones; the covariance is shrunk (Ledoit–Wolf) and ridged."""
    need("learning a model", "sklearn")
    from sklearn.covariance import ledoit_wolf

    covariance = ledoit_wolf(shown)[0] + _RIDGE * np.eye(shown.shape[1])
    return tuple(map(tuple, np.linalg.inv(np.linalg.cholesky(covariance)).tolist()))
