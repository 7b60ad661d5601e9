"""From labelled accounts to a model on the shelf."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors
from gamewarden.contracts import Detector, Feature, Model, Progress, no_progress
from gamewarden.errors import ReadError
from gamewarden.features.traffic.details import TrafficDetails
from gamewarden.pipeline.measuring import measure, measured
from gamewarden.pipeline.meeting import only_whole
from gamewarden.pipeline.sources import Reading, open_for
from gamewarden.pipeline.wholes import on_clock
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.store import models as stored_models
from gamewarden.store import shelf


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
    detector: Detector, source: Path, labels: Path, to: Path, *, reading: Reading, progress: Progress = no_progress
) -> Fitted:
    """Learn from a log and its labels, and keep the model."""
    told = read_labels(labels, reading.time_zone)
    events = open_for(detector.feature, source, reading, progress)
    frozen = detector.feature.learn(events)
    seen = only_whole(measured(frozen, events), reading.limits)
    recipe: Any = on_clock(detector, reading)
    model: Model = replace(recipe, feature=frozen).fit(seen.frame, told.frame)
    return kept(model, to, (*seen.notes, *told.notes))


def fit_traces(
    detector: Detector,
    traces: Sequence[Path],
    labels: Path,
    to: Path,
    *,
    reading: Reading,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn from captures or packet logs and their labels, and keep the model.

    A trace is an actor. One that is alone in its file and that the labels do not know goes by the file's name.

    Raises:
        ReadError: a source cannot be read, or two sources have an actor in common.
    """
    told = read_labels(labels, reading.time_zone)
    known = set(told.frame["actor"])
    parts: list[pl.DataFrame] = []
    notes: list[str] = []
    for source in traces:
        part = measure(detector.feature, source, reading, progress)
        notes += [f"{source}: {line}" for line in part.notes]
        parts.append(_named_after_file(part.frame, source, known))
    _refuse_shared_actors(parts, traces)
    model = on_clock(detector, reading).fit(pl.concat(parts), told.frame)
    return kept(model, to, (*notes, *told.notes))


def kept(model: Model, directory: Path, notes: Sequence[str]) -> Fitted:
    """The model on the shelf, and what keeps it from being used, if anything does."""
    path = stored_models.save(model, directory)
    fitted = model.card
    standing = next(one.id for one in shelf.in_force(directory) if one.detector == fitted.detector)
    waits: tuple[str, ...] = ()
    if standing != fitted.id:
        promote = f"gamewarden model promote {fitted.id} --models {directory} --because …"
        waits = (f"{standing} was promoted and stays in force; `{promote}` puts this model in its place",)
    return Fitted(model, path, (*notes, *waits))


def _named_after_file(measured: pl.DataFrame, source: Path, known: set[str]) -> pl.DataFrame:
    name = source.name.partition(".")[0]
    alone = measured["actor"].unique().to_list()
    if len(alone) != 1 or alone[0] in known or name not in known:
        return measured
    return measured.with_columns(actor=pl.lit(name))


def _refuse_shared_actors(parts: Sequence[pl.DataFrame], traces: Sequence[Path]) -> None:
    owner: dict[str, Path] = {}
    for part, source in zip(parts, traces, strict=True):
        for actor in part["actor"].unique().sort():
            if actor in owner:
                raise ReadError(
                    f"{source}: {actor!r} is in {owner[actor]} too; name captures by --accounts, or label them by the "
                    "name of their file"
                )
            owner[actor] = source
