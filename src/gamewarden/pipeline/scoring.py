"""From a source and a shelf of models to scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import Feature, Model, Progress, no_progress
from gamewarden.errors import ModelError
from gamewarden.features.traffic import TrafficTest
from gamewarden.pipeline.account_tables import is_table_of
from gamewarden.pipeline.doubting import doubted
from gamewarden.pipeline.measuring import feature_of, measured
from gamewarden.pipeline.meeting import Said, say
from gamewarden.pipeline.session_models import sessions_to_judge
from gamewarden.pipeline.sources import Reading, Told, open_for
from gamewarden.readers.packets import is_capture
from gamewarden.readers.records import is_packetstream
from gamewarden.store import models as stored_models
from gamewarden.store import shelf
from gamewarden.store.lake import Lake
from gamewarden.verdicts.meeting import Limits, said_once
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence


def load_models(directory: Path, detector: str | None = None) -> list[Model]:
    """The model in force of each detector, those that see most first; or of one detector.

    Raises:
        ModelError: there is no such model, or it is damaged.
    """
    found = {stored.detector: stored for stored in shelf.in_force(directory) if not detectors.fuses(stored.detector)}
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
    source: Path,
    models: Path,
    reading: Reading,
    progress: Progress = no_progress,
    prevalence: Prevalence = SUPPOSED,
) -> Told:
    """SCORES of every actor and period under the model in force of every detector that can see this source.

    Raises:
        ModelError: no model judges what the source holds.
    """
    found = models_for(load_models(models), source, models)
    heard = hear(found, source, reading, progress)
    scores = heard.at(prevalence)
    caveats = (*doubted(models, heard.models, scores), *heard.caveats)
    return Told(scores, (*heard.remarks, *caveats, *_unsure(scores), prevalence.sentence))


@dataclass(frozen=True)
class Heard:
    """What the models that can judge a source say of it."""

    models: tuple[Model, ...]
    shown: Mapping[str, Told]  # what each looked at, by the model's id
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
    def remarks(self) -> tuple[str, ...]:
        """What the source and the features have to say."""
        return tuple(dict.fromkeys(line for told in self.shown.values() for line in told.remarks))


def hear(models: Sequence[Model], source: Path, reading: Reading, progress: Progress = no_progress) -> Heard:
    """Show a source to models, and keep what those say that can judge it.

    Raises:
        ModelError: none of them can.
    """
    shown = measure_for(models, source, reading, progress)
    said = {model.card.id: say(model, shown[model.card.id], reading.limits) for model in models}
    refusals = [one.refusal for one in said.values() if one.refusal is not None]
    able = {name: one for name, one in said.items() if one.refusal is None}
    if not able:
        raise ModelError(f"{source}: {'; '.join(refusals)}")
    caveats = said_once({name: one.caveats for name, one in able.items()})
    return Heard(
        tuple(one.model for one in able.values()),
        {name: shown[name] for name in able},
        able,
        (*refusals, *caveats),
    )


def rows_to_judge(feature: Feature, source: Path, reading: Reading, progress: Progress = no_progress) -> Told:
    """What a detector of this feature is shown of a source."""
    if feature.input == "records":
        return sessions_to_judge(feature, [source], reading, progress)
    return measured(feature, open_for(feature, source, reading, progress), reading.limits)


def model_for(source: Path, models: Path, detector: str | None) -> Model:
    """The model asked for, or the one that sees most of what the source holds.

    Raises:
        ModelError: there is none.
    """
    found = load_models(models, detector) if detector else models_for(load_models(models), source, models)
    return next((model for model in found if features.load(model.feature.name).input != "packets"), found[0])


def measure_for(
    models: Sequence[Model], source: Path, reading: Reading, progress: Progress = no_progress
) -> dict[str, Told]:
    """The FEATURES each model looks at, by the model's id; what several look at is measured once."""
    recipes = {repr(model.feature): model.feature for model in models}
    known = {key: rows_to_judge(feature_of(recipe), source, reading, progress) for key, recipe in recipes.items()}
    zones = zone_remarks(models, reading)
    told = {key: replace(one, remarks=(*one.remarks, *zones)) for key, one in known.items()}
    return {model.card.id: told[repr(model.feature)] for model in models}


def zone_remarks(models: Sequence[Model], reading: Reading) -> tuple[str, ...]:
    """Whose days are cut by another zone than this run reads times in: a model keeps the zone it was fitted with."""
    others = {
        model.card.id: model.feature.options["zone"] or "UTC"
        for model in models
        if reading.zone and "zone" in model.feature.options and (model.feature.options["zone"] or "UTC") != reading.zone
    }
    return tuple(
        f"{name} cuts days by {zone}, as it was fitted; {reading.zone} is only the zone of times written without one"
        for name, zone in others.items()
    )


def models_for(models: Sequence[Model], source: Path, shelf: Path) -> list[Model]:
    """The models of what the source holds, where that shows from outside; else those of events before packets.

    A file with all the columns that a model of tables learned from is such a table.
    """
    by_input: dict[str, list[Model]] = {}
    for model in models:
        by_input.setdefault(features.load(model.feature.name).input, []).append(model)
    held = _held(source, by_input) or tuple(by_input)[:1]
    if not any(kind in by_input for kind in held):
        needed = " or ".join(held)
        raise ModelError(
            f"{shelf}: judges {', '.join(by_input)} and {source} holds {needed}; fit a detector of {needed}"
        )
    return [model for kind in held for model in by_input.get(kind, ())]


def _held(source: Path, judged: Mapping[str, Sequence[Model]]) -> tuple[str, ...]:
    """What a source holds, where that shows from outside; a capture holds packets, and messages of clients in them."""
    if source.is_dir():
        return ("events",) if Lake.is_at(source) or "records" not in judged else ("records",)
    if is_capture(source):
        return ("packets", "records")
    if is_packetstream(source):
        return ("records",)
    if any(is_table_of(source, model) for model in judged.get("table", ())):
        return ("table",)
    return tuple(kind for kind in judged if kind != "table")[:1]


def _unsure(scores: pl.DataFrame) -> tuple[str, ...]:
    partly = pl.col("covered").is_not_null() & (pl.col("covered") < Limits.covered)
    unsure = scores.filter(~partly)["probability"].null_count()
    return (f"{unsure:,} of {scores.height:,} scores are empty: too little evidence to say",) * (unsure > 0)
