"""From a source to the numbers a detector looks at."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from gamewarden import features
from gamewarden.config import Config
from gamewarden.contracts import (
    EventStream,
    Feature,
    Model,
    Progress,
    Recipe,
    Source,
    Stream,
    no_progress,
)
from gamewarden.errors import ModelError
from gamewarden.features.folding import folded
from gamewarden.features.self_similarity.recipe import By, SelfSimilarity
from gamewarden.pipeline.likeness import only_alike
from gamewarden.pipeline.sources import given_to, stream_for
from gamewarden.readers.logs.operator_tables import read_vocabulary
from gamewarden.spans import parse_span
from gamewarden.streams import Unquestioned
from gamewarden.tables import Table
from gamewarden.verdicts.meeting import Limits, least_of_row


def feature_recipe(name: str, options: Mapping[str, Any], config: Config, time_zone: str | None = None) -> Feature:
    """A feature's recipe from the command line's options, with warden.toml where they are silent."""
    recipe = features.load(name)
    said = {option: value for option, value in options.items() if value is not None}
    if isinstance(said.get("vocabulary"), Path):
        said["vocabulary"] = read_vocabulary(said["vocabulary"])
    least = said.get("min_windows", config.measure.min_windows)
    known = {
        "unit": parse_span(config.measure.unit),
        "every": parse_span(config.measure.every),
        "min_windows": least,
        # Whoever asks for fewer windows asks for less of all: one window holds no ten windows with events.
        "min_events": min(config.measure.min_events, least),
        "min_active": min(config.measure.min_active, least),
        "time_zone": time_zone,
    }
    names = {option.name for option in fields(cast("Any", recipe))}
    return recipe(**{option: value for option, value in (known | said).items() if option in names})


def feature_of(recipe: Recipe) -> Feature:
    """The recipe back from what a model carries of it.

    Raises:
        ModelError: the model carries options that no such recipe has; only a file somebody has made up does.
    """
    try:
        return features.load(recipe.name).from_dict(recipe.options)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise ModelError(f"model: {recipe.name} cannot be measured with its options ({error}); fit it again") from error


def measure(feature: Feature, source: Source, progress: Progress = no_progress) -> Table:
    """FEATURES of a source and nothing else: a vocabulary that was given says itself what the source can show."""
    return measured(feature, unquestioned(feature, stream_for(feature, source, progress)))


def unquestioned(feature: Feature, stream: Stream) -> Stream:
    """A stream of whose source nobody asks what it can show; only events are asked."""
    return Unquestioned(given_to(stream)) if feature.input == "events" else stream


def measured(feature: Feature, stream: Stream, limits: Limits | None = None) -> Table:
    """FEATURES of a stream, and what the recipe and the source have to say beside them.

    Where a vocabulary was learned, periods of another vocabulary than its own, by `limits`, are not measured.
    """
    found = folded(feature, stream)
    told = Table(found.frame, (*feature.warnings, *stream.notes, *found.notes.sentences()))
    if feature.input != "events":
        return told
    events = given_to(stream)
    return only_alike(_sighted(told, feature, events), feature, events, limits or Limits())


def _sighted(told: Table, feature: Feature, events: EventStream) -> Table:
    """FEATURES with the share that the source covers of each row's time, or of its day, and what it can show."""
    coverage = events.coverage
    if coverage is None:
        return replace(told, shows=events.shows)
    day = (pl.col("until") - pl.duration(microseconds=1)).dt.truncate("1d")
    days = told.frame.select(day.alias("since"), day.dt.offset_by("1d").alias("until"))
    covered = coverage.of(days if feature.part_of_day else told.frame)
    return replace(told, frame=told.frame.with_columns(covered), shows=events.shows)


def least_measured(model: Model, limits: Limits) -> float:
    """How much of the period of one row must be covered before a model scores it."""
    return least_of_row(model.card.training, limits, part_of_day=features.load(model.feature.name).part_of_day)


def days_like(recipe: Recipe) -> SelfSimilarity:
    """The recipe that shows a player's days and windows to people, whatever the detector looked at."""
    if recipe.name == SelfSimilarity.name:
        return SelfSimilarity.from_dict(recipe.options)
    feature = feature_of(recipe)
    by: By = "character" if feature.entity == "character" else "account"
    return SelfSimilarity(by=by, time_zone=feature.time_zone)
