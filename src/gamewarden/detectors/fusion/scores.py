"""The scores of several models side by side, as the feature that a fusion sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import polars as pl

from gamewarden.contracts import (
    Divides,
    Entity,
    Fold,
    Progress,
    Side,
    Sight,
    Stream,
    StreamKind,
    Vocabulary,
    no_progress,
)
from gamewarden.core.durations import DAY
from gamewarden.errors import MeasureError
from gamewarden.learning.model_info import ModelInfo
from gamewarden.phrases import Phrase
from gamewarden.tables import DataType

SCORES_OF = "scores"
_ANY = Sight()


@dataclass(frozen=True)
class Scores:
    """One row per actor and period: each model's evidence in a column of its name, null where it was silent."""

    name: ClassVar[str] = SCORES_OF
    input: ClassVar[StreamKind] = "scores"
    requires: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[Mapping[str, str]] = {}

    models: Mapping[str, ModelInfo] = field(default_factory=dict)
    every: int = DAY
    time_zone: str = "UTC"
    discount: float = 0.3  # how much of what repeats counts

    about_others: ClassVar[bool] = False
    one_sided: ClassVar[bool] = False
    part_of_day: ClassVar[bool] = False
    odd_when: ClassVar[Mapping[str, Side]] = {}  # what models say is not odd, but said
    phrases: ClassVar[Mapping[str, Phrase]] = {}  # the models speak for themselves
    entity: ClassVar[Entity] = "actor"
    divides: ClassVar[Divides] = Divides(actors=False)
    strict: ClassVar[bool] = False
    warnings: ClassVar[tuple[str, ...]] = ()
    own_needs: ClassVar[tuple[str, ...]] = ()
    learned: ClassVar[Vocabulary | None] = None

    @property
    def schema(self) -> Mapping[str, DataType]:
        """One number per model."""
        return dict.fromkeys(self.names, pl.Float64())

    @property
    def names(self) -> tuple[str, ...]:
        """The models, by name."""
        return tuple(sorted(self.models))

    def learn(self, stream: Stream, progress: Progress = no_progress) -> Self:
        """Itself: there is nothing to learn."""
        del stream, progress
        return self

    def unlearned(self) -> Self:
        """Itself."""
        return self

    def fold(self, sight: Sight = _ANY) -> Fold:
        """Nothing: no source shows scores; they are laid side by side after the models have spoken.

        Raises:
            MeasureError: always.
        """
        raise MeasureError(f"scores: {sight.name} shows none; score it with the models first")

    def measure(self, stream: Stream, progress: Progress = no_progress) -> pl.DataFrame:
        """As `fold`.

        Raises:
            MeasureError: always.
        """
        del stream, progress
        return self.fold().frame()

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values; what the models are stands in the fusion that hears them."""
        return {"models": list(self.names), "every": self.every, "time_zone": self.time_zone, "discount": self.discount}

    @classmethod
    def taking(cls, options: Mapping[str, Any]) -> Self:
        """The feature with those of these options that it has."""
        known = {option.name for option in fields(cls)}
        return cls(**{name: value for name, value in options.items() if name in known})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values; of the models only the names are known."""
        known = {name: ModelInfo(name.partition("@")[0], "", 0.5) for name in values["models"]}
        return cls(known, values["every"], values["time_zone"], values["discount"])
