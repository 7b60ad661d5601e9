"""From labelled accounts to a model on the shelf."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors
from gamewarden.contracts import Detector, Feature, Model, Progress, Source, no_progress
from gamewarden.errors import ReadError
from gamewarden.features.traffic.details import TrafficDetails
from gamewarden.pipeline.measuring import measure, measured
from gamewarden.pipeline.meeting import only_whole
from gamewarden.pipeline.sources import USUAL, RunOptions, given_to, stream_for
from gamewarden.readers.logs.operator_tables import OwnTable, read_labels
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models


@dataclass(frozen=True)
class Fitted:
    """A model, where it is kept, and what has to be said beside it."""

    model: Model
    path: Path
    notes: tuple[str, ...] = ()


def detector_recipe(name: str, feature: Feature, options: Mapping[str, Any]) -> Detector:
    """A detector's recipe around the recipe of the feature it sees."""
    recipe: Any = detectors.load(name)
    found: Detector = recipe(feature=feature, **options)
    return found


def trace_recipe(name: str, options: Mapping[str, Any]) -> Detector:
    """The recipe of a detector that learns from whole packet traces."""
    return detector_recipe(name, TrafficDetails(), options)


def fit(
    detector: Detector,
    source: Source,
    labels: OwnTable,
    to: Path,
    *,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn from a log and its labels, and keep the model."""
    told = read_labels(labels, run.time_zone)
    stream = stream_for(detector.feature, source, progress)
    frozen = detector.feature.learn(given_to(stream))
    seen = only_whole(measured(frozen, stream), run.limits)
    recipe: Any = detector.on_clock(run.time_zone)
    model: Model = replace(recipe, feature=frozen).fit(seen.frame, told.frame)
    return kept(model, to, (*seen.notes, *told.notes))


def fit_traces(
    detector: Detector,
    traces: Sequence[Source],
    labels: OwnTable,
    to: Path,
    *,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn from captures or packet logs and their labels, and keep the model.

    A trace is an actor. One that is alone in its file and that the labels do not know goes by the file's name.

    Raises:
        ReadError: a source cannot be read, or two sources have an actor in common.
    """
    told = read_labels(labels, run.time_zone)
    known = set(told.frame["actor"])
    parts: list[pl.DataFrame] = []
    notes: list[str] = []
    for source in traces:
        part = measure(detector.feature, source, progress)
        notes += [f"{source.name}: {line}" for line in part.notes]
        parts.append(_named_after_file(part.frame, source, known))
    _refuse_shared_actors(parts, traces)
    model = detector.on_clock(run.time_zone).fit(pl.concat(parts), told.frame)
    return kept(model, to, (*notes, *told.notes))


def kept(model: Model, directory: Path, notes: Sequence[str]) -> Fitted:
    """The model on the shelf, and what keeps it from being used, if anything does."""
    path = stored_models.save(model, directory)
    fitted = model.card
    standing = next(one.id for one in model_registry.in_force(directory) if one.detector == fitted.detector)
    waits: tuple[str, ...] = ()
    if standing != fitted.id:
        promote = f"gamewarden model promote {fitted.id} --models {directory} --because …"
        waits = (f"{standing} was promoted and stays in force; `{promote}` puts this model in its place",)
    return Fitted(model, path, (*notes, *waits))


def _named_after_file(measured: pl.DataFrame, source: Source, known: set[str]) -> pl.DataFrame:
    name = Path(source.name).name.partition(".")[0]
    alone = measured["actor"].unique().to_list()
    if len(alone) != 1 or alone[0] in known or name not in known:
        return measured
    return measured.with_columns(actor=pl.lit(name))


def _refuse_shared_actors(parts: Sequence[pl.DataFrame], traces: Sequence[Source]) -> None:
    owner: dict[str, str] = {}
    for part, source in zip(parts, traces, strict=True):
        for actor in part["actor"].unique().sort():
            if actor in owner:
                raise ReadError(
                    f"{source.name}: {actor!r} is in {owner[actor]} too; name captures by --accounts, or label them "
                    "by the name of their file"
                )
            owner[actor] = source.name
