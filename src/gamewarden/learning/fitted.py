"""What every model of calibrated decision values has in common: its name, its card, and how it is kept as JSON."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Protocol

import polars as pl

from gamewarden.contracts import Card, Recipe, model_id
from gamewarden.errors import ModelError
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
from gamewarden.learning.ranges import FAR, Ranges
from gamewarden.tables import EVIDENCE, check


@dataclass(frozen=True, kw_only=True)
class CalibratedModel(ABC):
    """A fitted method whose decision values were calibrated on held-out actors; what it learned is its own."""

    always_weak: ClassVar[tuple[str, ...]]  # sentences that hold for every model of the method

    detector: str
    recipe: Mapping[str, Any]
    feature: Recipe
    data: str  # digest of the training rows and labels
    slope: float  # calibration: log-odds = slope × decision + offset
    offset: float
    reference: Reference
    training: Mapping[str, Any]
    validation: Mapping[str, Any]
    styles: StyleReferences | None = None  # of people; none where the method cannot tell them apart
    days: Days | None = None  # the reference humans' days; none where no day of theirs has two rows
    people: People | None = None  # the reference humans as a budget counts them; none in models fitted before
    ranges: Ranges | None = None  # of the training rows; none where a model was fitted before anybody looked

    @property
    def id(self) -> str:
        """`detector@digest` of both recipes and the training data."""
        return model_id(self.detector, self.recipe, self.feature, self.data)

    @property
    def card(self) -> Card:
        """What it is, what it was made from and how good it was."""
        return Card(
            id=self.id,
            detector=self.detector,
            recipe=self.recipe,
            feature={"name": self.feature.name, **short_options(self.feature.options)},
            parameters={
                "calibration": {"slope": self.slope, "offset": self.offset},
                **self._learned(),
                "humans": self.reference.humans,
                **({} if self.styles is None else {"humans_by_style": self.styles.counts()}),
                **({} if self.days is None else {"humans_by_rows_of_a_day": self.days.counts()}),
                "smallest_alarm": 1 / (self.reference.humans + 1),
            },
            training=self.training,
            validation=self.validation,
            weaknesses=(*self.always_weak, *self._weak_here()),
        )

    @property
    def calibration(self) -> Calibration:
        """What turns a decision value into a probability and an alarm."""
        return Calibration(self.slope, self.offset, self.reference, self.styles)

    def scored(self, table: pl.DataFrame, decisions: Floats, enough: pl.Series) -> pl.DataFrame:
        """SCORES of a table's rows, with the number of each judged row that lies far beyond training."""
        scores = self.calibration.scores(table, decisions, enough, (self.detector, self.id))
        if self.ranges is None:
            return scores
        return scores.with_columns(pl.when(enough).then(self.ranges.far(self._outline(table))).alias(FAR))

    def _outline(self, table: pl.DataFrame) -> pl.DataFrame:
        """The numbers by which a row is near or far: those the model looks at."""
        return table

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        shared = {part.name: getattr(self, part.name) for part in fields(CalibratedModel) if part.name not in OPTIONAL}
        plain = {"feature": asdict(self.feature), "reference": self.reference.to_dict()}
        there = {name: part.to_dict() for name in OPTIONAL if (part := getattr(self, name)) is not None}
        return plain_json({"id": self.id, **shared, **plain, **there, **self._kept()})

    def _weak_here(self) -> list[str]:
        return weak_here(self.training, self.validation, self.reference.humans, self._compared())

    def _compared(self) -> str:
        """With whom its alarm compares."""
        return by_style(self.styles)

    @abstractmethod
    def _learned(self) -> Mapping[str, Any]:
        """What the method learned, for the card."""

    @abstractmethod
    def _kept(self) -> Mapping[str, Any]:
        """What the method learned, as JSON values."""


OPTIONAL: Mapping[str, Any] = {
    "styles": StyleReferences,
    "people": People,
    "days": Days,
    "ranges": Ranges,
}  # not every model has them


def optional_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """The optional parts of a model from JSON values that were looked at before; None where it has none."""
    return {name: kind.from_dict(given[name]) if name in given else None for name, kind in OPTIONAL.items()}


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


def shallow(part: Any) -> dict[str, Any]:  # noqa: ANN401  any dataclass of plain values
    """The fields of a part of a model; unlike `asdict` it copies nothing, of which a model has ten thousands."""
    return {one.name: getattr(part, one.name) for one in fields(part)}


class _Named(Protocol):
    @property
    def id(self) -> str: ...


def refuse_misnamed(model: _Named, values: Mapping[str, Any]) -> None:
    """Stop over a model whose stored name is not the one its recipe and data make.

    Raises:
        ModelError: it is not.
    """
    if model.id != values["id"]:
        raise ModelError(f"model {values['id']!r}: its recipe and data make it {model.id!r}; fit it again")
