"""From a source and a shelf of models to scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import Feature, Model, Progress, Source, StreamKind, no_progress
from gamewarden.errors import ModelError
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.pipeline.doubting import doubted
from gamewarden.pipeline.measuring import feature_of, measured
from gamewarden.pipeline.session_models import sessions_to_judge
from gamewarden.pipeline.sources import USUAL, RunOptions, stream_for
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.tables import Table
from gamewarden.verdicts.meeting import Limits, said_once
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.saying import Said, say, unsure, zone_notes


def load_models(directory: Path, detector: str | None = None) -> list[Model]:
    """The model in force of each detector, those that see most first; or of one detector.

    Raises:
        ModelError: there is no such model, or it is damaged.
    """
    found = {
        stored.detector: stored for stored in model_registry.in_force(directory) if not detectors.fuses(stored.detector)
    }
    if detector is not None and detector not in found:
        raise ModelError(f"{directory}: there is no model of {detector!r}, only of {', '.join(found)}")
    names = [name for name in (*detectors.names(), *found) if name in found] if detector is None else [detector]
    return [detectors.load_model(stored_models.load(found[name].path)) for name in dict.fromkeys(names)]


def event_model(models: Path, detector: str | None) -> Model:
    """The model of events that sees most, or the one asked for.

    Raises:
        ModelError: there is none.
    """
    found = load_models(models, detector)[0]
    if features.load(found.feature.name).input != "events":
        raise ModelError(
            f"{models}: {found.card.id} judges {features.load(found.feature.name).input}; `gamewarden score` uses it, "
            "this needs a detector of events"
        )
    return found


def traffic_profile(models: Path) -> TrafficTest:
    """The profile of the traffic model in force of a directory.

    Raises:
        ModelError: there is none, or it is damaged.
    """
    (model,) = load_models(models, TrafficTest.name)
    return TrafficTest.from_dict(model.feature.options)


def score(
    source: Source,
    models: Path,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
    prevalence: Prevalence = SUPPOSED,
) -> Table:
    """SCORES of every actor and period under the model in force of every detector that can see this source.

    Raises:
        ModelError: no model judges what the source holds.
    """
    found = models_for(load_models(models), source, models)
    heard = hear(found, source, run, progress)
    scores = heard.at(prevalence)
    caveats = (*doubted(models, heard.models, scores), *heard.caveats)
    return Table(scores, (*heard.notes, *caveats, *unsure(scores), prevalence.sentence))


@dataclass(frozen=True)
class Heard:
    """What the models that can judge a source say of it."""

    models: tuple[Model, ...]
    shown: Mapping[str, Table]  # what each looked at, by the model's id
    said: Mapping[str, Said]  # likewise
    caveats: tuple[str, ...]  # what stands beside every word of theirs

    def at(self, prevalence: Prevalence) -> pl.DataFrame:
        """SCORES of all of them where bots are so common."""
        return pl.concat([one.at(prevalence) for one in self.said.values()]).sort("actor", "since", "detector")

    @property
    def features(self) -> dict[str, pl.DataFrame]:
        """The FEATURES each model looked at, by its id."""
        return {name: told.frame for name, told in self.shown.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the source and the features have to say."""
        return tuple(dict.fromkeys(line for told in self.shown.values() for line in told.notes))


def hear(models: Sequence[Model], source: Source, run: RunOptions = USUAL, progress: Progress = no_progress) -> Heard:
    """Show a source to models, and keep what those say that can judge it.

    Raises:
        ModelError: none of them can.
    """
    shown = measure_for(models, source, run, progress)
    said = {model.card.id: ask(model, shown[model.card.id], run.limits) for model in models}
    refusals = [one.refusal for one in said.values() if one.refusal is not None]
    able = {name: one for name, one in said.items() if one.refusal is None}
    if not able:
        raise ModelError(f"{source.name}: {'; '.join(refusals)}")
    caveats = said_once({name: one.caveats for name, one in able.items()})
    return Heard(
        tuple(one.model for one in able.values()),
        {name: shown[name] for name in able},
        able,
        (*refusals, *caveats),
    )


def ask(model: Model, shown: Table, limits: Limits) -> Said:
    """What a model says of the rows it is shown; one that cannot judge their source says nothing."""
    return say(model, feature_of(model.feature), shown, limits)


def rows_to_judge(feature: Feature, source: Source, run: RunOptions = USUAL, progress: Progress = no_progress) -> Table:
    """What a detector of this feature is shown of a source."""
    if feature.input == "messages":
        return sessions_to_judge(feature, source, progress)
    return measured(feature, stream_for(feature, source, progress), run.limits)


def model_for(source: Source, models: Path, detector: str | None) -> Model:
    """The model asked for, or the one that sees most of what the source holds.

    Raises:
        ModelError: there is none.
    """
    found = load_models(models, detector) if detector else models_for(load_models(models), source, models)
    return next((model for model in found if features.load(model.feature.name).input != "packets"), found[0])


def measure_for(
    models: Sequence[Model], source: Source, run: RunOptions = USUAL, progress: Progress = no_progress
) -> dict[str, Table]:
    """The FEATURES each model looks at, by the model's id; what several look at is measured once."""
    recipes = {repr(model.feature): model.feature for model in models}
    known = {key: rows_to_judge(feature_of(recipe), source, run, progress) for key, recipe in recipes.items()}
    zones = zone_notes(models, run.time_zone)
    told = {key: replace(one, notes=(*one.notes, *zones)) for key, one in known.items()}
    return {model.card.id: told[repr(model.feature)] for model in models}


def models_for(models: Sequence[Model], source: Source, shelf: Path) -> list[Model]:
    """The models of what the source holds; where nobody is sure of that, of the likeliest kind that they judge.

    A file with all the columns that a model of tables learned from is such a table.

    Raises:
        ModelError: none of them judges what the source holds.
    """
    by_input: dict[StreamKind, list[Model]] = {}
    for model in models:
        by_input.setdefault(features.load(model.feature.name).input, []).append(model)
    held = _held(source, by_input)
    if not held:
        needed = " or ".join(source.kinds)
        raise ModelError(
            f"{shelf}: judges {', '.join(by_input)} and {source.name} holds {needed}; fit a detector of {needed}"
        )
    return [model for kind in held for model in by_input[kind]]


def _held(source: Source, judged: Mapping[StreamKind, Sequence[Model]]) -> tuple[StreamKind, ...]:
    """What of a source these models can judge: all it holds, or the one thing that it is."""
    known = tuple(kind for kind in source.kinds if kind in judged)
    if source.sure:
        return known
    if "table" in known and any(_has_columns_of(source, model) for model in judged["table"]):
        return ("table",)
    return (*(kind for kind in known if kind != "table"), *known)[:1]


def _has_columns_of(source: Source, model: Model) -> bool:
    """Whether a source has all the columns that a model of tables learned from."""
    return set(AccountTable.from_dict(model.feature.options).own_needs) <= set(source.columns)
