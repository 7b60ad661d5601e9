"""A fitted fusion: how much each detector's answer counts beside the others', as plain numbers.

A detector that is missing is missing, and neither 0 nor average: what it would have said is expected from those that
spoke, by how they went together in training.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Self

import numpy as np
import polars as pl

from gamewarden.contracts import Card, Recipe, model_id
from gamewarden.errors import ModelError
from gamewarden.learning.exposure import People
from gamewarden.learning.reference import Floats, Reference, StyleReferences, plain_json, sigmoid
from gamewarden.learning.validation import (
    NUMBER,
    POSITIVE,
    TEXT,
    Rule,
    agree,
    check_fields,
    check_people,
    check_reference,
    check_styles,
    count,
    finite,
    text,
    zone,
)
from gamewarden.verdicts.periods import KEY

NAME = "fusion"
SCORES_OF = "scores"  # a fusion is fed by scores: the name of its feature recipe, whose options list the models
MOST_VOICES = 32
LEAST_EIGENVALUE = 0.05  # correlations are kept this far from singular
WEAKNESSES = (
    "It weighs detectors as they agreed and disagreed in training; a new kind of bot may fool several of them at once.",
    "It holds for the models it names and no others: fit it again when one of them is replaced.",
)


@dataclass(frozen=True)
class Voice:
    """One model as the fusion hears it."""

    model: str
    detector: str
    family: str
    mean: float  # of its evidence in training
    deviation: float
    weight: float  # never below 0: a bot-like answer never makes a verdict more human
    together: tuple[float, ...]  # correlation with each voice, in their order


@dataclass(frozen=True)
class FusionModel:
    """A fitted fusion: plain numbers, nothing that can run."""

    recipe: Mapping[str, Any]
    feature: Recipe  # the models it was fitted on, and how their scores are rolled up
    data: str
    voices: tuple[Voice, ...]
    intercept: float
    slope: float
    offset: float
    reference: Reference
    styles: StyleReferences
    training: Mapping[str, Any]
    validation: Mapping[str, Any]
    people: People | None = None  # the reference humans as a budget counts them; none in models fitted before

    detector = NAME

    @property
    def id(self) -> str:
        """`fusion@digest` of its recipe, the models it hears and the training data."""
        return model_id(NAME, self.recipe, self.feature, self.data)

    @property
    def card(self) -> Card:
        """What it is, what it was made from and how good it was."""
        humans = self.reference.humans
        least = ", ".join(f"1 in {n + 1} for a {style}" for style, n in self.styles.counts().items())
        return Card(
            id=self.id,
            detector=NAME,
            recipe=self.recipe,
            feature={"name": self.feature.name, **self.feature.options},
            parameters={
                "intercept": self.intercept,
                "calibration": {"slope": self.slope, "offset": self.offset},
                "humans": humans,
                "humans_by_style": self.styles.counts(),
                "smallest_alarm": 1 / (humans + 1),
                "columns": {
                    voice.model: {
                        "family": voice.family,
                        "mean": voice.mean,
                        "deviation": voice.deviation,
                        "weight": voice.weight,
                    }
                    for voice in self.voices
                },
            },
            training=self.training,
            validation=self.validation,
            weaknesses=(*WEAKNESSES, f"It saw {humans} humans, so that its alarm is at least {least}."),
        )

    def fuse(self, table: pl.DataFrame) -> pl.DataFrame:
        """Actor, since, until, probability and alarm of a table with a column of evidence a model, in its order.

        Rows in which none of its models spoke have null for both.
        """
        decisions = decide(table, self.voices, self.intercept)
        spoke = pl.Series(~np.isnan(decisions))
        told = np.where(np.isnan(decisions), 0.0, decisions)
        numbers = {
            "probability": sigmoid(self.slope * told + self.offset),
            "alarm": self.styles.alarm(table, told, self.reference),
        }
        blind = [pl.when(spoke).then(pl.Series(name, values)).alias(name) for name, values in numbers.items()]
        return table.select(*KEY, *blind)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return plain_json(
            {
                "id": self.id,
                "detector": NAME,
                "recipe": self.recipe,
                "feature": {"name": self.feature.name, "options": self.feature.options},
                "data": self.data,
                "voices": [{part.name: getattr(voice, part.name) for part in fields(Voice)} for voice in self.voices],
                "intercept": self.intercept,
                "slope": self.slope,
                "offset": self.offset,
                "reference": self.reference.to_dict(),
                "styles": self.styles.to_dict(),
                "training": self.training,
                "validation": self.validation,
                **({} if self.people is None else {"people": self.people.to_dict()}),
            }
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The fusion back from JSON values, each looked at before it is believed.

        Raises:
            ModelError: a value is missing, of another type or length, or the name does not fit the recipe and data.
        """
        _check(values)
        given = {key: value for key, value in values.items() if key not in {"id", "detector"}}
        model = cls(
            **given
            | {
                "feature": Recipe(**values["feature"]),
                "voices": tuple(Voice(**{**v, "together": tuple(v["together"])}) for v in values["voices"]),
                "reference": Reference.from_dict(values["reference"]),
                "styles": StyleReferences.from_dict(values["styles"]),
                "people": People.from_dict(values["people"]) if "people" in values else None,
            }
        )
        if model.id != values["id"]:
            raise ModelError(f"model {values['id']!r}: its recipe and data make it {model.id!r}; fit it again")
        return model


def decide(table: pl.DataFrame, voices: tuple[Voice, ...], intercept: float) -> Floats:
    """The decision value of each row, NaN where nobody spoke; the same for one row as among a million."""
    columns = [_evidence(table, voice) for voice in voices]
    patterns = np.zeros(table.height, dtype=np.int64)
    for at, column in enumerate(columns):
        patterns |= (~np.isnan(column)).astype(np.int64) << at
    decisions = np.full(table.height, np.nan)
    for pattern in np.unique(patterns[patterns > 0]):
        rows = np.flatnonzero(patterns == pattern)
        total = np.full(rows.size, intercept)
        for at, weight in _weights(voices, int(pattern)).items():
            total = total + weight * ((columns[at][rows] - voices[at].mean) / voices[at].deviation)
        decisions[rows] = total
    return decisions


@lru_cache(maxsize=1024)
def _weights(voices: tuple[Voice, ...], pattern: int) -> dict[int, float]:
    """The weight of each voice that spoke, with its share of what the missing ones are expected to say."""
    spoke = [at for at in range(len(voices)) if pattern >> at & 1]
    silent = [at for at in range(len(voices)) if not pattern >> at & 1]
    weights = np.array([voice.weight for voice in voices])
    together = np.array([voice.together for voice in voices])
    own = weights[spoke]
    if silent:
        own = own + np.linalg.solve(together[np.ix_(spoke, spoke)], together[np.ix_(spoke, silent)] @ weights[silent])
    return dict(zip(spoke, np.maximum(own, 0.0).tolist(), strict=True))


def _evidence(table: pl.DataFrame, voice: Voice) -> Floats:
    if voice.model not in table.columns:
        return np.full(table.height, np.nan)
    values: Floats = np.ascontiguousarray(table[voice.model].cast(pl.Float64).fill_null(np.nan).to_numpy())
    return values


def _check(values: Mapping[str, Any]) -> None:
    name = values.get("id")
    check_fields(name, "the model", values, _FUSION, ("people",))
    if "people" in values:
        check_people(name, values["people"])
    check_reference(name, "reference", values["reference"])
    check_styles(name, values["styles"])
    many = len(values["voices"])
    for at, voice in enumerate(values["voices"]):
        check_fields(name, f"voices[{at}]", voice, _VOICE)
        agree(name, {f"voices[{at}].together has a number for each voice": len(voice["together"]) == many})
    table = np.array([voice["together"] for voice in values["voices"]], dtype=np.float64)
    sound = np.allclose(table, table.T) and float(np.linalg.eigvalsh(table).min()) > LEAST_EIGENVALUE / 2
    periods = values["training"]["periods"]
    both = periods.keys() == {"bot", "human"} and all(map(count, periods.values()))
    agree(
        name,
        {
            "the voices' correlations fit together": sound,
            "training counts periods of both classes": both,
            "every model is heard once": len({voice["model"] for voice in values["voices"]}) == many,
        },
    )


_FUSION: Mapping[str, Rule] = {
    "id": TEXT,
    "detector": Rule(lambda v: v == NAME, "fusion"),
    "recipe": Rule(lambda v: isinstance(v, dict), "an object"),
    "feature": Rule(
        lambda v: isinstance(v, dict) and v.keys() == {"name", "options"} and _options(v["options"]),
        "the models it hears and how",
    ),
    "data": TEXT,
    "voices": Rule(lambda v: isinstance(v, list) and 1 <= len(v) <= MOST_VOICES, "a list of 1 to 32 voices"),
    "intercept": NUMBER,
    "slope": POSITIVE,
    "offset": NUMBER,
    "reference": Rule(lambda v: isinstance(v, dict), "an object"),
    "styles": Rule(lambda v: isinstance(v, dict), "an object"),
    "training": Rule(lambda v: isinstance(v, dict) and isinstance(v.get("periods"), dict), "counts with their periods"),
    "validation": Rule(lambda v: isinstance(v, dict) and finite(v.get("auc")), "results with their AUC"),
}
_VOICE: Mapping[str, Rule] = {
    "model": TEXT,
    "detector": TEXT,
    "family": TEXT,
    "mean": NUMBER,
    "deviation": POSITIVE,
    "weight": Rule(lambda v: finite(v) and v >= 0, "a number from 0 on"),
    "together": Rule(
        lambda v: isinstance(v, list) and all(finite(r) and abs(r) <= 1 + 1e-9 for r in v), "a row of correlations"
    ),
}


def _options(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"models", "every", "zone", "discount"}
        and isinstance(value["models"], list)
        and all(map(text, value["models"]))
        and count(value["every"])
        and zone(value["zone"])
        and finite(value["discount"])
        and 0 <= value["discount"] <= 1
    )
