"""One way to learn for every method: whom from, who is held out, whom a score is compared with, what is written down.

A method says which rows it can judge, how it learns from them, and what its model's name shall depend on.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import polars as pl

from gamewarden.contracts import Recipe
from gamewarden.core.registry import package_of
from gamewarden.learning.calibration import CALIBRATIONS, PERSON, Calibration, counted
from gamewarden.learning.fitted import CalibratedModel
from gamewarden.learning.labels import Labelled, label_periods
from gamewarden.learning.out_of_fold import bots, fold_count, groups, refuse_too_few, training_digest, training_of
from gamewarden.learning.ranges import Ranges
from gamewarden.learning.recipe import AT_LEAST_2, DetectorRecipe, one_of, option
from gamewarden.learning.reference import Flags, Floats, Reference, StyleReferences, plain_json, platt, validation_of
from gamewarden.learning.styles import Styles

_Model = TypeVar("_Model", bound=CalibratedModel)


@dataclass(frozen=True)
class Learned:
    """What a method made of labelled rows."""

    rows: pl.DataFrame  # those that count
    decisions: Floats  # on each of them as a stranger's: by what never saw its group
    parts: Mapping[str, Any]  # the fields of the model that are the method's own
    ranges: Ranges | None = None  # of what the method looks at
    results: Mapping[str, Any] = field(default_factory=dict)  # what held-out rows show besides AUC and Brier score


@dataclass(frozen=True)
class Learner(DetectorRecipe, Generic[_Model]):
    """A method whose decision values on held-out actors are calibrated, and compared with those of humans."""

    too_little: ClassVar[str]  # what rows are called that cannot be judged; nothing where they need no word
    validated: ClassVar[str]  # on what the results rest

    folds: int = option(5, (3,), AT_LEAST_2)
    least: int = option(5, (2,), AT_LEAST_2)
    seed: int = option(0, (1,))

    @abstractmethod
    def checked(self, features: pl.DataFrame, door: str) -> pl.DataFrame:
        """The table with its columns as the method needs them.

        Raises:
            TableError: a column is missing or holds what it must not.
        """

    @abstractmethod
    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged."""

    @abstractmethod
    def learned(self, rows: pl.DataFrame) -> Learned:
        """What the method learns from labelled rows that can be judged."""

    @abstractmethod
    def written(self, features: pl.DataFrame) -> Iterable[str | bytes]:
        """All of the labelled actors' rows that the model depends on, in a fixed order."""

    def rows(self, features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """The labelled rows it learns from, by actor and time.

        Raises:
            FitError: too few labelled actors of a class have a row that can be judged.
            TableError: a table lacks a column or holds what it must not.
        """
        return self._labelled(features, labels)[0]

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> _Model:
        """The model of these rows and labels, the same whatever their order.

        Folds keep an actor, or the `group` its label names, on one side. Decisions on held-out rows calibrate
        `probability`, are the reference humans of `fpr`, and give the validation results.

        Raises:
            FitError: too few labelled actors of a class have a row that can be judged.
            TableError: a table lacks a column or holds what it must not.
        """
        rows, labelled = self._labelled(features, labels)
        learned = self.learned(rows)
        left_out = self._left_out(labelled, learned.rows)
        if learned.rows.height < rows.height:
            refuse_too_few(learned.rows, self.least, f"fit {self.name}", left_out)
        model: _Model = self.model(
            detector=self.name,
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=self.data(features, labels, rows),
            offered_by=package_of(type(self), "gamewarden.detectors"),
            ranges=learned.ranges,
            training=training_of(learned.rows, left_out),
            **self._calibrated(learned, fold_count(rows, self.folds)),
            **learned.parts,
        )
        return model

    def data(self, features: pl.DataFrame, labels: pl.DataFrame, rows: pl.DataFrame) -> str:
        """A digest of all that the model is made from."""
        del rows
        return training_digest(features, labels, self.written)

    def platt(self, decisions: Floats, bot: Flags) -> tuple[float, float]:
        """Slope and offset of the log-odds."""
        return platt(decisions, bot)

    def humans(self, learned: Learned) -> pl.DataFrame:
        """The humans' rows with the decision on each as `held_out`, and what people are told apart by."""
        telling = () if self.style_rule is None else self.style_rule.columns
        known = [name for name in telling if name in learned.rows.columns]
        rows = learned.rows.select(*PERSON, "bot", *known, held_out=pl.Series(learned.decisions))
        return rows.filter(~pl.col("bot"))

    def reference(self, humans: pl.DataFrame) -> Reference:
        """The people whom a decision is compared with."""
        return Reference.of(humans)

    def counted(self, humans: pl.DataFrame, calibration: Calibration) -> dict[str, Any]:
        """The reference humans' whole days, and the people that a budget counts by them."""
        return counted(humans, calibration, self.time_zone)

    @property
    def time_zone(self) -> str | None:
        """Whose days are ranked as wholes."""
        return None

    @property
    def style_rule(self) -> Styles | None:
        """What tells styles of play apart; None of a method that cannot."""
        return None

    def _labelled(self, features: pl.DataFrame, labels: pl.DataFrame) -> tuple[pl.DataFrame, Labelled]:
        door = f"fit {self.name}"
        labelled = label_periods(self.checked(features, door), labels, door)
        rows = labelled.rows.filter(self.judged(labelled.rows))
        refuse_too_few(rows, self.least, door, self._left_out(labelled, rows))
        return rows, labelled

    def _left_out(self, labelled: Labelled, rows: pl.DataFrame) -> dict[str, int]:
        short = labelled.rows.height - rows.height
        return {**labelled.left_out, **({self.too_little: short} if short and self.too_little else {})}

    def _calibrated(self, learned: Learned, folds: int) -> dict[str, Any]:
        """The fields of a model that come from its decisions on strangers."""
        bot = bots(learned.rows)
        slope, offset = self.platt(learned.decisions, bot)
        humans = self.humans(learned)
        reference = self.reference(humans)
        styles = None if self.style_rule is None else StyleReferences.of(self.style_rule, humans)
        results = validation_of(learned.decisions, bot, slope, offset, groups(learned.rows))
        return {
            "slope": slope,
            "offset": offset,
            "reference": reference,
            "styles": styles,
            **self.counted(humans, Calibration(slope, offset, reference, styles, learned.parts.get("peers"))),
            "validation": {**results, **learned.results, "says": self.validated, "folds": folds},
        }


@dataclass(frozen=True)
class Calibrated:
    """A recipe whose decision values are log-odds already, or are made so."""

    calibration: str = option("platt", ("none",), one_of(*CALIBRATIONS))

    def platt(self, decisions: Floats, bot: Flags) -> tuple[float, float]:
        """Slope and offset of the log-odds, as this recipe calibrates."""
        return platt(decisions, bot) if self.calibration == "platt" else (1.0, 0.0)
