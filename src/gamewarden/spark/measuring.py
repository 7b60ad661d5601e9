"""A feature over a frame of Spark: events brought together by actor, or by day and then by the days that look back.

Each task runs the very fold that runs on one machine. A task has all events of its actors, or of its days, in the
order of time; neither an actor nor a day is ever in two tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions

from gamewarden import features, requests
from gamewarden.config import load_config
from gamewarden.contracts import Feature, Recipe
from gamewarden.core.durations import parse_zone
from gamewarden.errors import ConfigError, MeasureError
from gamewarden.features.looking_back import LooksBack
from gamewarden.pipeline.measuring import feature_recipe
from gamewarden.spark import tasks
from gamewarden.spark.arrow_types import spark_type
from gamewarden.spark.clocks import Span, number_of
from gamewarden.spark.counting import kinds_in, span_of
from gamewarden.spark.frames import Events
from gamewarden.spark.tasks import DAY, PLACE, TARGET, WHO, Work
from gamewarden.tables import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

Asked = str | Recipe | Feature | Mapping[str, Any]


def recipe_of(asked: Asked, time_zone: str | None, options: Mapping[str, Any]) -> Feature:
    """The feature that somebody asks for: by its name and options, or as a recipe that has all of them.

    Raises:
        MeasureError: there is no such feature, or it is not measured from events.
        ConfigError: there is no such option, or a value that it cannot have.
    """
    feature = _named(asked, time_zone, options) if isinstance(asked, str) else _given(asked, time_zone, options)
    if feature.input != "events":
        raise MeasureError(f"measure: {feature.name} is measured from {feature.input}, and a frame here is of events")
    return feature


def _named(name: str, time_zone: str | None, options: Mapping[str, Any]) -> Feature:
    known = requests.options_taken(features.load(name))
    if others := [option for option in options if option not in known]:
        raise ConfigError(f"measure {name}: there is no option {', '.join(others)}; it takes {', '.join(known)}")
    zone = None if time_zone is None else parse_zone(time_zone).key
    return feature_recipe(name, requests.chosen(features.load(name), options), load_config(None), zone)


def _given(asked: Recipe | Feature | Mapping[str, Any], time_zone: str | None, options: Mapping[str, Any]) -> Feature:
    if time_zone is not None or options:
        more = ", ".join([*(["time_zone"] if time_zone else []), *options])
        raise ConfigError(f"measure: {more} beside a recipe, which has its own; leave one of them out")
    if isinstance(asked, Recipe):
        return features.load(asked.name).from_dict(asked.options)
    if not isinstance(asked, Mapping):
        return asked
    if asked.keys() != {"name", "options"}:
        raise ConfigError(f"measure: a recipe has name and options; this one has {', '.join(asked) or 'nothing'}")
    return features.load(asked["name"]).from_dict(asked["options"])


def measured(events: Events, feature: Feature, partitions: int | None = None) -> "DataFrame":
    """FEATURES of all events."""
    refuse_uncut(feature)
    work = Work(Recipe(feature.name, feature.to_dict()), events.columns, kinds_for(feature, events))
    if isinstance(feature, LooksBack):
        days = parts_to_days(events, work, span_of(events, feature.name), partitions)
        return days.mapInArrow(partial(tasks.rows_of_days, work.text()), declared(work.schema))
    mine = by_actor(events, [work], partitions)
    return mine.frame.mapInArrow(partial(tasks.rows_of_actors, work.text(), mine.key), declared(work.schema))


def refuse_uncut(feature: Feature) -> None:
    """Stop over a feature that would need all events in one task."""
    if not feature.divides.actors and not isinstance(feature, LooksBack):
        raise MeasureError(
            f"{feature.name}: can be cut neither by actor nor by day; measure it on one machine, `gamewarden measure`"
        )


def kinds_for(feature: Feature, events: Events) -> tuple[str, ...] | None:
    """The kinds of all events, counted where a feature goes by them and has learned none."""
    learned = feature.learned
    return kinds_in(events) if learned is not None and learned.kinds is None else None


@dataclass(frozen=True)
class ByActor:
    """Events of which a task has all of some actors, sorted by actor and time."""

    frame: "DataFrame"
    key: str  # the column that an actor's rows have in common


def by_actor(events: Events, works: Sequence[Work], partitions: int | None) -> ByActor:
    """Bring the events of each actor, or of each character, into one task.

    Events that name no character count for none, and lie with their account's.
    """
    columns = _needed(events, [fold for work in works for fold in work.fold().columns])
    if works[0].feature.entity == "actor" or "character" not in events.columns:
        return ByActor(_together(events.select(columns), "actor", partitions, "actor", *_in_time(columns)), "actor")
    who = functions.coalesce(functions.col("character"), functions.col("actor"))
    return ByActor(_together(events.select(columns, **{WHO: who}), WHO, partitions, WHO, *_in_time(columns)), WHO)


def parts_to_days(events: Events, work: Work, span: Span, partitions: int | None) -> "DataFrame":
    """The parts of each day, sent to every day that looks back on it, those of one day sorted in one task."""
    feature = work.feature
    assert isinstance(feature, LooksBack)  # noqa: S101  who asks has looked
    columns = _needed(events, work.part_fold().columns)
    numbered = events.select(columns, **{DAY: number_of(feature.clock, span)})
    days = _together(numbered, DAY, partitions, DAY, *_in_time(columns))
    parts = days.mapInArrow(partial(tasks.parts_of_days, work.text()), declared(work.parts_schema))
    last = int(feature.clock.numbers(_moment(span[1]))[0])
    looking = functions.expr(f"explode(sequence({DAY}, least({DAY} + {feature.back - 1}, {last}L)))")
    return _together(parts.select(looking.alias(TARGET), "*"), TARGET, partitions, TARGET, DAY, PLACE)


def _moment(at: int) -> "NDArray[np.int64]":
    return np.array([at], np.int64)


def _needed(events: Events, asked: Sequence[str]) -> tuple[str, ...]:
    """The columns that are asked for and there, and those by which rows are told apart and put in order."""
    wanted = {*asked, "actor", "at", "kind", "seq"}
    return tuple(name for name in events.columns if name in wanted)


def _in_time(columns: Sequence[str]) -> "list[Column]":
    """The order of events: by time, and at one moment by their place in the source; none counts as place 0."""
    seq = [functions.coalesce(functions.col("seq"), functions.lit(0))] if "seq" in columns else []
    return [functions.col("at"), *seq]


def _together(frame: "DataFrame", key: str, partitions: int | None, *order: "Column | str") -> "DataFrame":
    spread = frame.repartition(key) if partitions is None else frame.repartition(partitions, key)
    return spread.sortWithinPartitions(*order)


def declared(columns: Mapping[str, DataType]) -> str:
    """The columns of a table as Spark declares them; a kind in a name may hold any letter."""
    named = {name.replace("`", "``"): dtype for name, dtype in columns.items()}
    return ", ".join(f"`{name}` {spark_type(dtype)}" for name, dtype in named.items())
