"""Over which kinds a self-similarity is: another vocabulary gives another number, so every command says its own."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gamewarden import detectors
from gamewarden.contracts import Feature, Model, Progress, Source, Vocabulary, canonical_json, digest, no_progress
from gamewarden.coverage import COVERED
from gamewarden.errors import ConfigError, ModelError
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline.measuring import days_like, feature_of, measured, unquestioned
from gamewarden.pipeline.scoring import load_models
from gamewarden.pipeline.sources import Table, in_memory, stream_for
from gamewarden.spans import span_text
from gamewarden.store import model_registry
from gamewarden.words import counted


@dataclass(frozen=True)
class Days:
    """The recipe that shows an actor's days to people, and the model it comes from."""

    recipe: SelfSimilarity
    model: Model | None  # none of a shelf looks at self-similarity: then over the kinds of the source

    def again(self, source: Source, models: Path) -> str:
        """Over which kinds the self-similarities of a source are, and the command that gives the same numbers."""
        over = f"Self-similarity is {_over(self.recipe.learned, self.model)}"
        if in_memory(source):
            return f"{over}."
        options = self._options(models)
        command = shlex.join(("gamewarden", "measure", "self-similarity", source.name, *options, *source.flags))
        return f"{over}; `{command}` gives the same numbers."

    def _options(self, models: Path) -> tuple[str, ...]:
        if self.model is not None:
            return ("--models", str(models), "--detector", self.model.card.detector)
        spans = ("--unit", span_text(self.recipe.unit), "--every", span_text(self.recipe.every))
        least = ("--min-windows", str(self.recipe.min_windows))
        time_zone = () if self.recipe.time_zone is None else ("--time-zone", self.recipe.time_zone)
        return (*spans, *least, *(("--by", self.recipe.by) if self.recipe.by != SelfSimilarity.by else ()), *time_zone)


def days_of(model: Model, models: Path) -> Days:
    """How the days of this model's actors are shown: as it sees them itself, else as its shelf's model of days does.

    So that an account has one self-similarity, whichever detector of a shelf is asked.
    """
    own = days_like(model.feature)
    if model.feature.name == SelfSimilarity.name:
        return Days(own, model)
    beside = _model_of_days(models)
    if beside is None:
        return Days(own, None)
    recipe = days_like(beside.feature)
    return Days(recipe, beside) if recipe.by == own.by else Days(own, None)


def _model_of_days(models: Path) -> Model | None:
    """The model of a shelf that sees most of a day, where there is one."""
    seen = {stored.detector for stored in model_registry.in_force(models)}
    names = [name for name in detectors.of_feature(SelfSimilarity.name) if name in seen]
    return load_models(models, names[0])[0] if names else None


def recipe_like(name: str, models: Path, detector: str | None, given: Mapping[str, Any]) -> tuple[Feature, Model]:
    """The recipe that a model in force measures this feature with, and the model.

    Raises:
        ConfigError: options were given beside the model's own.
        ModelError: no model looks at this feature.
    """
    if given:
        flags = ", ".join("--" + option.replace("_", "-") for option in given)
        raise ConfigError(f"measure: {flags} beside --models, which measures as its model does; leave one of them out")
    found = [model for model in load_models(models, detector) if model.feature.name == name]
    if not found:
        nobody = "no model looks" if detector is None else f"{detector} does not look"
        raise ModelError(f"{models}: {nobody} at {name}; fit a detector that does, or leave --models out")
    return feature_of(found[0].feature), found[0]


def measure_told(
    feature: Feature, source: Source, model: Model | None = None, progress: Progress = no_progress
) -> Table:
    """FEATURES of a source, and over which kinds its self-similarities are.

    A vocabulary that was given says itself what the source can show; of a model's, the source does.
    """
    opened = stream_for(feature, source, progress)
    stream = unquestioned(feature, opened) if model is None else opened
    told = measured(feature, stream)
    frame = told.frame.drop(COVERED, strict=False)
    return replace(told, frame=frame, notes=(*told.notes, *_said_over(feature, model)))


def _said_over(feature: Feature, model: Model | None) -> Iterator[str]:
    """Over which kinds a number is that is another one over others."""
    learned = feature.learned
    if learned is not None and learned.kinds is not None and learned.number:
        yield f"{learned.number} is {_over(learned, model)}; another vocabulary gives other numbers."


def _over(learned: Vocabulary, model: Model | None) -> str:
    if learned.kinds is None:
        return "over the kinds of this source"
    whose = "given" if model is None else f"that {model.card.id} learned"
    named = digest(canonical_json(list(learned.kinds)))
    return f"over the {counted(len(learned.kinds), 'kind')} {whose} (vocabulary {named})"
