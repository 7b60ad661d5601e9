"""One verdict per actor and period, in the task that has all that was said of the actor."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import polars as pl
import pyarrow as pa

from gamewarden import detectors
from gamewarden.contracts import Model, canonical_json
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.pipeline.judging import judged_scores
from gamewarden.spark.arrow_types import batches_of, frame_of
from gamewarden.spark.pieces import gathered, pieces
from gamewarden.spark.saying import PLAYED, voice_schema
from gamewarden.spark.tasks import Batches
from gamewarden.tables import SCORES, VERDICTS, DataType
from gamewarden.verdicts.rules import VerdictRules

ENOUGH = 1 << 16  # rows of whole actors that are judged together


@dataclass(frozen=True)
class Court:
    """Who judges and by which rules; as text it travels."""

    models: tuple[Model, ...]
    fusion: FusionModel | None
    rules: VerdictRules
    played: tuple[str, tuple[str, ...]] | None = None  # as the feature of this model tells it, by these columns

    def text(self) -> str:
        """As JSON."""
        return canonical_json(
            {
                "models": [model.to_dict() for model in self.models],
                "fusion": None if self.fusion is None else self.fusion.to_dict(),
                "rules": self.rules.values(),
                "played": self.played,
            }
        )

    @classmethod
    def of(cls, text: str) -> Self:
        """Back from JSON."""
        told: dict[str, Any] = json.loads(text)
        played = None if told["played"] is None else (told["played"][0], tuple(told["played"][1]))
        fusion = None if told["fusion"] is None else FusionModel.from_dict(told["fusion"])
        models = tuple(detectors.load_model(model) for model in told["models"])
        return cls(models, fusion, VerdictRules.of(told["rules"]), played)

    @property
    def heard(self) -> dict[str, DataType]:
        """The columns of what was said that are looked at."""
        return voice_schema(() if self.played is None else self.played[1])

    def verdicts(self, voices: pl.DataFrame) -> pl.DataFrame:
        """VERDICTS of the actors that all of this was said of, sorted by actor and time."""
        told = {model.card.id: voices.filter(model=model.card.id).select(list(SCORES.columns)) for model in self.models}
        features = list(self._played(voices))
        return judged_scores(told, features, self.models, self.fusion, self.rules)[1]

    def _played(self, voices: pl.DataFrame) -> Iterator[pl.DataFrame]:
        if self.played is not None:
            model, names = self.played
            yield voices.filter(pl.col(PLAYED) == model).select("actor", "since", "until", *names)


def verdicts_of_actors(told: str, batches: Batches) -> Batches:
    """VERDICTS of the actors that this task has all voices of, sorted by actor and time."""
    court = Court.of(told)
    waiting: list[pa.RecordBatch] = []
    for anew, piece in pieces(gathered(batches), "actor", ENOUGH):
        if anew:
            yield from batches_of(court.verdicts(frame_of(waiting, court.heard)), VERDICTS.columns)
            waiting = []
        waiting.append(piece)
    if waiting:
        yield from batches_of(court.verdicts(frame_of(waiting, court.heard)), VERDICTS.columns)
