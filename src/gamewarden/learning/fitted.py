"""What every model of calibrated decision values has in common: its name, its card, and how it is kept as JSON."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import polars as pl

from gamewarden.contracts import Card, Recipe, model_id
from gamewarden.learning.calibration import (
    KEY,
    Calibration,
    Floats,
    Reference,
    StyleReferences,
    by_style,
    plain_json,
    short_options,
    weak_here,
)
from gamewarden.learning.days import Days
from gamewarden.learning.exposure import People
from gamewarden.learning.model_json import dump, load
from gamewarden.learning.ranges import FAR, Ranges
from gamewarden.learning.styles import STYLES
from gamewarden.learning.validation import Positive, Results, Text, Training
from gamewarden.tables import EVIDENCE, check


@dataclass(frozen=True, kw_only=True)
class FittedModel(ABC):
    """What every model has: its name, what it was made from, and how it is kept as JSON."""

    without_people: ClassVar[str] = "It was fitted before models kept people to count; fit it again."

    detector: Text
    recipe: Mapping[str, Any]
    feature: Recipe
    data: Text  # digest of the training rows and labels
    training: Training
    validation: Mapping[str, Any]
    days: Days | None = None  # the reference humans' days; none where no day of theirs has two rows
    offered_by: Text | None = None  # the package of the detector; none where it is gamewarden's own
    people: People | None = None  # the reference humans as a budget counts them; none in models fitted before

    @property
    def id(self) -> str:
        """`detector@digest` of both recipes and the training data."""
        return model_id(self.detector, self.recipe, self.feature, self.data)

    @property
    @abstractmethod
    def card(self) -> Card:
        """What it is, what it was made from and how good it was."""

    @property
    @abstractmethod
    def base(self) -> float:
        """The log-odds from which the weights of evidence are measured."""

    @abstractmethod
    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: null probability and FPR where there is too little evidence."""

    @abstractmethod
    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: one row per number, the heaviest first."""

    @property
    @abstractmethod
    def compared_with(self) -> tuple[int, ...]:
        """How many humans a row is ranked among: of each kind that is told apart, or all of them."""

    @property
    def price(self) -> str:
        """What the promise of its FPR costs, in one line; nothing where there was no choice."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return plain_json({"id": self.id, **dump(self)})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model back from JSON values, each checked before it is believed.

        Raises:
            ModelError: a value is missing, of another type or length, or the name does not fit the recipe and data.
        """
        return load(cls, values)

    def told_styles(self, features: pl.DataFrame) -> pl.Series:
        """None of them: the method tells no styles of play apart."""
        return pl.Series("style", [None] * features.height, pl.String)

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield "training counts periods of both classes", all(self.training["periods"].values())


@dataclass(frozen=True, kw_only=True)
class CalibratedModel(FittedModel):
    """A fitted method whose decision values were calibrated on held-out actors; what it learned is its own."""

    always_weak: ClassVar[tuple[str, ...]]  # sentences that hold for every model of the method

    slope: Positive  # calibration: log-odds = slope × decision + offset
    offset: float
    reference: Reference
    validation: Results
    styles: StyleReferences | None = None  # of people; none where the method cannot tell them apart
    ranges: Ranges | None = None  # of the training rows; none where a model was fitted before anybody looked

    @cached_property
    def card(self) -> Card:
        """What it is, what it was made from and how good it was."""
        return Card(
            id=self.id,
            detector=self.detector,
            recipe=self.recipe,
            feature={"name": self.feature.name, **self._shown_feature()},
            parameters={
                "calibration": {"slope": self.slope, "offset": self.offset},
                **self._learned(),
                "humans": self.reference.humans,
                **({} if self.styles is None else {"humans_by_style": self.styles.counts()}),
                **({} if self.days is None else {"humans_by_rows_of_a_day": self.days.counts()}),
                "smallest_fpr": 1 / (self.reference.humans + 1),
            },
            training=self.training,
            validation=self.validation,
            weaknesses=(*self.always_weak, *self._weak_here()),
        )

    @property
    def calibration(self) -> Calibration:
        """What turns a decision value into a probability and an FPR."""
        return Calibration(self.slope, self.offset, self.reference, self.styles)

    @property
    def compared_with(self) -> tuple[int, ...]:
        """How many humans a row is ranked among: of each length of a day, of each style, or all of them.

        One 0 stands for the styles that no human has.
        """
        if self.days is not None:
            return tuple(self.days.counts().values())
        if self.styles is None:
            return (self.reference.humans,)
        counts = tuple(self.styles.counts().values())
        return counts if len(counts) == len(STYLES) else (*counts, 0)

    def told_styles(self, features: pl.DataFrame) -> pl.Series:
        """The style of play of each row; null where people are not told apart by it."""
        return super().told_styles(features) if self.styles is None else self.styles.rule.tell(features)

    def scored(self, table: pl.DataFrame, decisions: Floats, enough: pl.Series) -> pl.DataFrame:
        """SCORES of a table's rows, with the number of each judged row that lies far beyond training."""
        scores = self.calibration.scores(table, decisions, enough, (self.detector, self.id))
        if self.ranges is None:
            return scores
        return scores.with_columns(pl.when(enough).then(self.ranges.far(self._outline(table))).alias(FAR))

    def _outline(self, table: pl.DataFrame) -> pl.DataFrame:
        """The numbers by which a row is near or far: those the model looks at."""
        return table

    def _shown_feature(self) -> Mapping[str, Any]:
        """The feature's options, for the card."""
        return short_options(self.feature.options)

    def _weak_here(self) -> list[str]:
        return weak_here(self.training, self.validation, self.reference.humans, self._compared())

    def _compared(self) -> str:
        """With whom its FPR compares."""
        return by_style(self.styles, self.reference.humans)

    @abstractmethod
    def _learned(self) -> Mapping[str, Any]:
        """What the method learned, for the card."""


_EVIDENCE = {
    "row": pl.Int64,
    "feature": pl.String,
    "value": pl.Float64,
    "typical": pl.Float64,
    "weight": pl.Float64,
    "says": pl.String,
}


def evidence_table(rows: Iterable[Sequence[Any]], table: pl.DataFrame, detector: str) -> pl.DataFrame:
    """EVIDENCE from rows that begin with the place of what they speak of in `table`, in their order."""
    evidence = pl.DataFrame(list(rows), schema=_EVIDENCE, orient="row", infer_schema_length=None)
    keys = table.select(*KEY, pl.int_range(pl.len()).alias("row"))
    joined = evidence.join(keys, on="row", how="left", maintain_order="left")
    return check(joined.drop("row").with_columns(detector=pl.lit(detector)), EVIDENCE, f"explain {detector}")
