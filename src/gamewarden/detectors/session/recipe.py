"""Whether a session of Ragnarok Online is a bot's, from what its packets say (Cornelissen 2008).

Two methods over the same nine numbers: `session-network`, a small neural network, and `session-angle`, which takes the
side of the nearest known session: as published, where it fails, and in three repaired forms.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.contracts import Feature, Recipe
from gamewarden.detectors.session.classifiers import (
    ANGLE,
    ANGLES,
    FORMS,
    MAHALANOBIS,
    Machine,
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
    matrix,
    refuse_unmeasured,
    width,
)
from gamewarden.errors import ConfigError
from gamewarden.intervals import share_interval
from gamewarden.learning.asking import asked
from gamewarden.learning.attribution import MOST
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
    sigmoid,
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
_VALIDATED = "held-out sessions, an actor or its group in one fold only; at the cut calibrated by the other folds"
_RIDGE = 1e-6  # of the covariance: dx, dy and distance are nearly collinear


@dataclass(frozen=True)
class _Sessions(ABC):
    """The options both recipes share; each field names in `also` what the contract tests shall try besides."""

    name: ClassVar[str]
    says: ClassVar[str]

    feature: Feature  # frozen: what the table given to `fit` was measured with
    columns: tuple[str, ...] = field(
        default=NINE,
        metadata={
            "also": ((*NINE[:5], *MORE[:2]),),
            "as": "kinds",
            "shown": "the nine of the thesis",
            "says": "Numbers of a session to look at, separated by commas.",
        },
    )
    missing: str = field(
        default="median",
        metadata={
            "also": ("indicator",),
            "says": "A number not measured: the median of training, or a further input that says so (indicator).",
        },
    )
    cost: float = field(
        default=10.0,
        metadata={
            "also": (1.0,),
            "says": "Missed bots that weigh as much as one accused human; the card states the FPR at that cut.",
        },
    )
    folds: int = field(default=5, metadata={"also": (3,)})
    calibration: str = field(default="platt", metadata={"also": ("none",)})
    least: int = field(default=5, metadata={"also": (2,)})
    seed: int = field(default=0, metadata={"also": (1,), "says": "Of the folds and of the first weights."})
    zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul",)})  # whose days are ranked as wholes

    def __post_init__(self) -> None:
        wrong = self._wrong()
        for option, bad in wrong.items():
            if bad:
                raise ConfigError(f"{self.name}: {option} {getattr(self, option)!r} cannot be used; {_NEEDED[option]}")
        object.__setattr__(self, "feature", asked(self.feature, self._asks()))

    def _wrong(self) -> dict[str, bool]:
        return {
            "columns": not 0 < len(self.columns) <= MOST or len(set(self.columns)) < len(self.columns),
            "missing": self.missing not in MISSING,
            "cost": self.cost <= 0,
            "folds": self.folds < 2,  # noqa: PLR2004 - one fold holds nothing out
            "calibration": self.calibration not in CALIBRATIONS,
            "least": self.least < 2,  # noqa: PLR2004 - with one actor a class nothing can be held out
            "zone": self.zone is not None and not is_zone(self.zone),
        }

    @property
    def cut(self) -> float:
        """The probability from which accusing costs less than waiting: C_fp / (C_fp + C_fn)."""
        return self.cost / (self.cost + 1)

    @property
    @abstractmethod
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""

    @abstractmethod
    def machine(self, values: Floats, bot: Flags) -> Machine:
        """The published classifier of these sessions, a row a session, without calibration."""

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values, without the feature's."""
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.name != "feature"}
        return plain_json({"method": METHOD, **options})

    def rows(self, features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """The labelled sessions it learns from, by actor and time."""
        return self._rows(features, labels)[0]

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> SessionModel:
        """The model of these sessions and labels, the same whatever the order of their rows.

        Folds keep an actor, or the `group` its label names, on one side. Decisions on held-out sessions calibrate
        `probability`, are the reference humans of `alarm`, and give the validation results.

        Raises:
            FitError: too few labelled actors of a class with a session that says enough.
            TableError: a table lacks a column or holds what it must not.
        """
        rows, labelled = self._rows(features, labels)
        refuse_too_few(rows, self.least, f"fit {self.name}", self._left_out(labelled))
        values, bot = matrix(rows, self.columns), bots(rows)
        refuse_unmeasured(values, self.columns, f"fit {self.name}")

        def decide(out: Flags) -> Floats:
            return self.machine(values[~out], bot[~out]).decide(values[out])

        decisions = out_of_fold(rows, self.folds, self.seed, decide)

        def calibrated(out: Flags) -> Floats:
            """Probabilities by a calibration that did not see these sessions either."""
            slope, offset = self._calibration(decisions[~out], bot[~out])
            return sigmoid(slope * decisions[out] + offset)

        slope, offset = self._calibration(decisions, bot)
        humans = rows.select(*PERSON, "bot", held_out=pl.Series(decisions)).filter(~pl.col("bot"))
        reference = Reference.of(humans)
        return SessionModel(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=training_digest(features, labels, self._written),
            machine=self.machine(values, bot),
            slope=slope,
            offset=offset,
            reference=reference,
            ranges=Ranges.of(rows, self.columns),
            **counted(humans, Calibration(slope, offset, reference), self.zone),
            training=training_of(rows, self._left_out(labelled)),
            validation={
                **validation_of(decisions, bot, slope, offset, groups(rows)),
                **at_cut(out_of_fold(rows, self.folds, self.seed, calibrated), bot, self.cut, groups(rows)),
                "says": _VALIDATED,
                "folds": fold_count(rows, self.folds),
            },
        )

    def _written(self, table: pl.DataFrame) -> list[Any]:
        return digest_parts(checked(table, self.columns, f"fit {self.name}"), self.columns)

    def _calibration(self, decisions: Floats, bot: Flags) -> tuple[float, float]:
        return platt(decisions, bot) if self.calibration == "platt" else (1.0, 0.0)

    def _asks(self) -> dict[str, Any]:
        """Options of the feature without which this method does not see what it was published for."""
        return {"paper_mode": True} if self.as_published else {}

    def _rows(self, features: pl.DataFrame, labels: pl.DataFrame) -> tuple[pl.DataFrame, Labelled]:
        labelled = label_periods(checked(features, self.columns, f"fit {self.name}"), labels, f"fit {self.name}")
        return labelled.rows.filter(self._judged(labelled.rows)), labelled

    def _judged(self, rows: pl.DataFrame) -> pl.Series:
        return judged(rows, as_published=self.as_published)

    def _left_out(self, labelled: Labelled) -> dict[str, int]:
        short = labelled.rows.height - int(self._judged(labelled.rows).sum())
        return {**labelled.left_out, **({"sessions too short or with too little in them": short} if short else {})}


@dataclass(frozen=True)
class SessionNetwork(_Sessions):
    """As many inputs as numbers, nine hidden units, one output, taught by back-propagation."""

    name: ClassVar[str] = "session-network"
    says: ClassVar[str] = "A small neural network over nine numbers of a session, as the probability of a bot."

    inputs: str = field(
        default=Z_SCORES,
        metadata={
            "also": (PUBLISHED,),
            "says": "z-scores of training, or the published scales, with which sessions spent sitting are judged too.",
        },
    )
    hidden: int = field(default=9, metadata={"also": (4,), "says": "Hidden units."})
    rate: float = field(default=0.3, metadata={"also": (0.1,), "says": "Learning rate."})
    weights: float = field(default=0.5, metadata={"also": (0.1,), "says": "First weights lie within ± this."})
    error: float = field(
        default=0.001, metadata={"also": (0.0001,), "says": "Teach until the error of an epoch is so small …"}
    )
    epochs: int = field(default=20_000, metadata={"also": (50,), "says": "… or so many epochs are over."})

    @property
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""
        return self.inputs == PUBLISHED

    def machine(self, values: Floats, bot: Flags) -> Network:
        """The network these sessions teach, shown one after the other: player, bot, player, bot."""
        return self.teach(values, bot)[0]

    def teach(self, values: Floats, bot: Flags) -> tuple[Network, int, float]:
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
        return Network(columns, tuple(map(tuple, hidden)), tuple(output)), int(epochs), float(error)

    def _wrong(self) -> dict[str, bool]:
        return {
            **super()._wrong(),
            "inputs": self.inputs not in {Z_SCORES, PUBLISHED},
            "hidden": self.hidden < 1,
            "rate": self.rate <= 0,
            "weights": self.weights <= 0,
            "error": self.error <= 0,
            "epochs": self.epochs < 1,
        }


@dataclass(frozen=True)
class SessionAngle(_Sessions):
    """The side of the nearest known session: by its angle as published, or repaired."""

    name: ClassVar[str] = "session-angle"
    says: ClassVar[str] = "Whether a session is nearer to those of bots or of people, as the probability of a bot."

    form: str = field(
        default=MAHALANOBIS,
        metadata={
            "also": tuple(form for form in FORMS if form != MAHALANOBIS),
            "says": "published (angles of raw vectors; fails), or repaired: cosine of z-scores, euclid, mahalanobis.",
        },
    )
    neighbours: int | None = field(
        default=None,
        metadata={"also": (5,), "says": "How many known sessions vote, an odd number; 1 for angles, 3 for distances."},
    )

    @property
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""
        return self.form == ANGLE

    @property
    def voters(self) -> int:
        """How many known sessions vote."""
        return self.neighbours or (1 if self.form in ANGLES else 3)

    def machine(self, values: Floats, bot: Flags) -> Neighbours:
        """The known sessions as this form sees them."""
        how = PUBLISHED if self.form == ANGLE else Z_SCORES
        columns = learn_columns(self.columns, values, bot, how, self.missing)
        shown = inputs(columns, values)
        whitening = _whitening(shown) if self.form == MAHALANOBIS else ()
        known = tuple(map(tuple, whitened(shown, whitening).tolist()))
        return Neighbours(columns, self.form, self.voters, known, tuple(bot.tolist()), whitening)

    def _wrong(self) -> dict[str, bool]:
        return {
            **super()._wrong(),
            "form": self.form not in FORMS,
            "neighbours": self.neighbours is not None and (self.neighbours < 1 or self.neighbours % 2 == 0),
        }


_NEEDED = {
    "columns": f"name each number once, {MOST} at the most",
    "missing": f"choose {' or '.join(MISSING)}",
    "cost": "give a number above 0",
    "folds": "give 2 or more",
    "calibration": f"choose one of {', '.join(CALIBRATIONS)}",
    "least": "give 2 or more",
    "zone": "name a time zone such as Asia/Seoul",
    "inputs": f"choose {Z_SCORES} or {PUBLISHED}",
    "hidden": "give 1 or more",
    "rate": "give a number above 0",
    "weights": "give a number above 0",
    "error": "give a number above 0",
    "epochs": "give 1 or more",
    "form": f"choose one of {', '.join(FORMS)}",
    "neighbours": "give an odd number",
}


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
    from sklearn.covariance import ledoit_wolf

    covariance = ledoit_wolf(shown)[0] + _RIDGE * np.eye(shown.shape[1])
    return tuple(map(tuple, np.linalg.inv(np.linalg.cholesky(covariance)).tolist()))
