"""The scores of several models side by side, as the feature that a fusion sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import polars as pl

from gamewarden.contracts import EventStream, Progress, StreamKind, no_progress
from gamewarden.errors import MeasureError
from gamewarden.learning.model_info import ModelInfo
from gamewarden.spans import DAY

SCORES_OF = "scores"


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

    @property
    def names(self) -> tuple[str, ...]:
        """The models, by name."""
        return tuple(sorted(self.models))

    def learn(self, events: EventStream, progress: Progress = no_progress) -> Self:
        """Itself: there is nothing to learn."""
        del events, progress
        return self

    def measure(self, events: EventStream, progress: Progress = no_progress) -> pl.DataFrame:
        """Nothing: no source shows scores; they are laid side by side after the models have spoken.

        Raises:
            MeasureError: always.
        """
        del events, progress
        raise MeasureError("scores: they are measured from no source; score it with the models first")

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values; what the models are stands in the fusion that hears them."""
        return {"models": list(self.names), "every": self.every, "time_zone": self.time_zone, "discount": self.discount}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values; of the models only the names are known."""
        known = {name: ModelInfo(name.partition("@")[0], "", 0.5) for name in values["models"]}
        return cls(known, values["every"], values["time_zone"], values["discount"])
