"""Models before a frame of Spark: what is asked before a job, which jobs there are, and what is said beside rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

import polars as pl
from pyspark.sql import functions

from gamewarden.config import Config, load_config
from gamewarden.contracts import Feature, Model, canonical_json
from gamewarden.core.durations import parse_span, parse_zone
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.features.census import Census
from gamewarden.features.looking_back import LooksBack
from gamewarden.learning.styles import Styles
from gamewarden.pipeline.judging import fusion_of, rules_of
from gamewarden.pipeline.measuring import RunOptions, feature_of, least_measured, limits_of
from gamewarden.pipeline.models import load_models, models_for
from gamewarden.pipeline.scoring import ask, doubted, measure_for, reach_of
from gamewarden.spark import saying, verdicts
from gamewarden.spark.clocks import Span
from gamewarden.spark.counting import census_of, span_of
from gamewarden.spark.frames import Events, events_of
from gamewarden.spark.keeping import keep
from gamewarden.spark.measuring import by_actor, declared, kinds_for, parts_to_days, refuse_uncut
from gamewarden.spark.saying import CountedSource, Tally, Voices
from gamewarden.spark.tasks import Work
from gamewarden.spark.verdicts import Court
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.tables import SCORES, TIME, VERDICTS, Table
from gamewarden.verdicts.meeting import said_once
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.verdicts.saying import caveats_of, meeting_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Place = str | PathLike[str]


@dataclass(frozen=True)
class Told:
    """A frame of Spark, and what has to stand beside it."""

    frame: "DataFrame"
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Heard:
    """The models that judge these events, with all that they say of them; whoever does not judge is left out."""

    models: tuple[Model, ...]
    voices: "DataFrame"
    first: Mapping[str, str]  # of each model the first one that looks at the same feature
    notes: tuple[str, ...]
    caveats: tuple[str, ...]


@dataclass(frozen=True)
class Bench:
    """What a run of scoring or judging is given."""

    events: Events
    door: str
    shelf: Path
    policy: Config
    run: RunOptions
    supposed: Prevalence
    partitions: int | None
    keep: bool

    @classmethod
    def of(
        cls,
        df: object,
        door: str,
        models: Place,
        config: Config | None,
        *,
        time_zone: str | None,
        prevalence: float | None,
        partitions: int | None,
        keep: bool,
    ) -> Self:
        """From what somebody asks for; a setting that nobody names is that of ./warden.toml.

        Raises:
            TableError: the frame lacks a column, or one is of a type that it cannot be.
            ConfigError: a share or a time zone is none.
        """
        policy = load_config(None) if config is None else config
        zone = policy.read.time_zone or None if time_zone is None else parse_zone(time_zone).key
        run, supposed = RunOptions(zone, limits_of(policy)), Prevalence.of(policy, prevalence)
        return cls(events_of(df, door), door, _shelf(models), policy, run, supposed, partitions, keep)

    def scores(self) -> Told:
        """SCORES of all events.

        Raises:
            ModelError: no model judges them.
        """
        heard = self._heard(self.supposed.bots, None)
        found = heard.voices.select(*SCORES.columns)
        return Told(self._kept(found, heard), (*heard.notes, *heard.caveats, self.supposed.sentence))

    def verdicts(self, every: str | int | None) -> Told:
        """VERDICTS of all events.

        Raises:
            ModelError: no model judges them.
        """
        length = parse_span(every) if isinstance(every, str) else every
        fusion, _ = fusion_of(self.shelf, self._models, length)
        heard = self._heard(None, None if fusion is None else fusion.styles.rule)
        court, notes = self._court(heard, length)
        actors = ("actor",) if self.partitions is None else (self.partitions, "actor")
        voices = heard.voices.repartition(*actors).sortWithinPartitions("actor", "since", "until")
        judge = partial(verdicts.verdicts_of_actors, court.text())
        found = voices.mapInArrow(judge, declared(VERDICTS.columns))
        return Told(self._kept(found, heard), (*heard.notes, *notes, *heard.caveats))

    def _court(self, heard: Heard, every: int | None) -> tuple[Court, tuple[str, ...]]:
        """Who judges by which rules, and what has to be said of it."""
        fusion, why_not = fusion_of(self.shelf, heard.models, every)
        rules = rules_of(self.policy, self.run, self.supposed, fusion, every)
        played = None if fusion is None else _played(heard, fusion.styles.rule)
        notes = (*why_not, self.supposed.sentence, *reach_of(heard.models, fusion, rules.points))
        return Court(heard.models, fusion, rules, played), notes

    def _kept(self, found: "DataFrame", heard: Heard) -> "DataFrame":
        return keep(found, heard.voices) if self.keep else found

    @cached_property
    def _models(self) -> list[Model]:
        """The models in force that look at events."""
        found = models_for(load_models(self.shelf), CountedSource((), Census()), self.shelf)
        for model in found:
            refuse_uncut(feature_of(model.feature))
        return found

    @cached_property
    def _features(self) -> dict[str, Feature]:
        return {repr(model.feature): feature_of(model.feature) for model in self._models}

    @cached_property
    def _span(self) -> Span:
        return span_of(self.events, self.door)

    @cached_property
    def _census(self) -> Census:
        """What is said of all events together."""
        learned = [one.learned for one in self._features.values()]
        clocks = [one.clock for one in learned if one is not None]
        return census_of(self.events, clocks, self._span)

    def _heard(self, bots: float | None, styles: Styles | None) -> Heard:
        """What the models say of all events, and which of them judge these at all."""
        source = CountedSource(self.events.columns, self._census)
        shown = measure_for(self._models, source, self.run)
        refused = {
            model.card.id: said.refusal
            for model in self._models
            if (said := ask(model, shown[model.card.id], self.run.limits)).refusal is not None
        }
        able = self._able(refused)
        voices = self._voices(able, bots, styles)
        voices = voices.persist() if self.keep else voices
        tallies = self._tallies(able, voices)
        far = {name: why for name, one in tallies.items() if (why := one.far.refusal(name, self.run.limits))}
        if far and not set(tallies) - set(far):
            voices.unpersist()
        judging = self._able(refused | far)
        return Heard(
            tuple(judging),
            voices.where(~_is_of(far)) if far else voices,
            self._first(able),
            tuple(dict.fromkeys(line for model in judging for line in shown[model.card.id].notes)),
            (
                *self._doubted(judging, voices),
                *(why for model in self._models if (why := (refused | far).get(model.card.id))),
                *said_once({one.card.id: self._caveats(one, shown, tallies) for one in judging}),
            ),
        )

    def _able(self, refused: Mapping[str, str]) -> list[Model]:
        able = [model for model in self._models if model.card.id not in refused]
        if not able:
            reasons = [refused[model.card.id] for model in self._models]
            raise ModelError(f"{self.door}: {'; '.join(reasons)}")
        return able

    def _caveats(self, model: Model, shown: Mapping[str, Table], tallies: Mapping[str, Tally]) -> tuple[str, ...]:
        name, feature = model.card.id, self._features[repr(model.feature)]
        met = meeting_of(model, feature, shown[name])
        return caveats_of(model, met, tallies[name].partly, tallies[name].far)

    def _first(self, models: Sequence[Model]) -> dict[str, str]:
        by_feature: dict[str, str] = {}
        return {model.card.id: by_feature.setdefault(repr(model.feature), model.card.id) for model in models}

    def _voices(self, models: Sequence[Model], bots: float | None, styles: Styles | None) -> "DataFrame":
        """All that these models say: features that go by actor share one shuffle, the others have one each."""
        all_of = {key: [model for model in models if repr(model.feature) == key] for key in self._features}
        asked = {key: tuple(some) for key, some in all_of.items() if some}
        works = {key: self._work(asked[key][0]) for key in asked}
        back = [key for key in asked if isinstance(self._features[key], LooksBack)]
        groups: dict[str, list[str]] = {}
        for key in asked:
            groups.setdefault(key if key in back else self._features[key].entity, []).append(key)
        parts = [
            self._said(
                Voices(
                    tuple(works[key] for key in keys),
                    tuple(asked[key] for key in keys),
                    self._census,
                    self.run.limits,
                    bots,
                    styles,
                )
            )
            for keys in groups.values()
        ]
        return reduce(lambda one, other: one.unionByName(other), parts)

    def _work(self, model: Model) -> Work:
        feature = self._features[repr(model.feature)]
        return Work(model.feature, self.events.columns, kinds_for(feature, self.events), self._census.shows)

    def _said(self, voices: Voices) -> "DataFrame":
        if isinstance(voices.works[0].feature, LooksBack):
            days = parts_to_days(self.events, voices.works[0], self._span, self.partitions)
            return days.mapInArrow(partial(saying.voices_of_days, voices.text()), declared(voices.schema))
        mine = by_actor(self.events, voices.works, self.partitions)
        say = partial(saying.voices_of_actors, voices.text(), mine.key)
        return mine.frame.mapInArrow(say, declared(voices.schema))

    def _tallies(self, models: Sequence[Model], voices: "DataFrame") -> dict[str, Tally]:
        """What has to be known of all rows of each model, added up from every task."""
        least = {model.card.id: least_measured(model, self.run.limits) for model in models}
        scores = voices.select(*SCORES.columns)
        told = scores.mapInArrow(partial(saying.tallies, canonical_json(least)), f"{saying.TALLY} string").collect()
        found = [json.loads(row[saying.TALLY]) for row in told]
        return {name: sum((Tally.of(one[name]) for one in found), Tally()) for name in least}

    def _doubted(self, models: Sequence[Model], voices: "DataFrame") -> tuple[str, ...]:
        """What maintenance has to say of these models and periods; asked only where there is maintenance."""
        if not any(_maintained(self.shelf, model) for model in models):
            return ()
        spans = voices.selectExpr("unix_micros(since) AS since", "unix_micros(until) AS until").distinct().collect()
        frame = pl.DataFrame([tuple(row) for row in spans], schema={"since": TIME, "until": TIME}, orient="row")
        return doubted(self.shelf, models, frame)


def _is_of(models: Iterable[str]) -> "Column":
    return functions.coalesce(functions.col("model").isin(*models), functions.lit(False))


def _played(heard: Heard, styles: Styles) -> tuple[str, tuple[str, ...]] | None:
    """Whose feature tells how somebody played, and by which columns; None where none does."""
    for model in heard.models:
        known = feature_of(model.feature).schema
        if styles.minutes in known:
            return heard.first[model.card.id], tuple(name for name in saying.names_of(styles) if name in known)
    return None


def _maintained(shelf: Path, model: Model) -> bool:
    try:
        return bool(MaintenanceState(shelf, model.card.detector).history().records)
    except ReadError:
        return True


def _shelf(models: Place) -> Path:
    """The directory that somebody means: its place, or what `gamewarden.fit` gave.

    Raises:
        ConfigError: it is neither.
    """
    place = getattr(models, "directory", models)
    if not isinstance(place, str | PathLike):
        raise ConfigError(f"models: {type(models).__name__} is no directory; give the place of one")
    return Path(place)
