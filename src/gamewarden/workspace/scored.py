"""SCORES at rest: every partition of FEATURES under every model in force, scored once.

What a model says of a row depends on the row, on the model, and on what the source showed and covered in that period.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from gamewarden.contracts import Feature, Model, Progress, digest, no_progress
from gamewarden.core.durations import from_micros, to_micros
from gamewarden.pipeline.measuring import feature_of, least_measured
from gamewarden.pipeline.scoring import PartedView
from gamewarden.store.partitions import Partition, Partitions
from gamewarden.store.verdicts import model_values
from gamewarden.verdicts.likeness import Likeness
from gamewarden.verdicts.meeting import Far, Limits, Meeting, Partly, Spell, whole_enough
from gamewarden.verdicts.saying import caveats_of
from gamewarden.workspace.beside import about
from gamewarden.workspace.days import EVER, LakeDays, Window, is_within
from gamewarden.workspace.kept import Kept
from gamewarden.workspace.parts import Parts
from gamewarden.workspace.rest import Rest, came_from

RATE_RULE = 2  # raised when the same model states another false-positive rate: stored scores are computed anew
KIND_NOUNS: Mapping[str, str] = {
    "events": "events",
    "packets": "packets",
    "messages": "client messages",
    "table": "account table",
}


@dataclass(frozen=True)
class Scored:
    """The models in force before all that was measured."""

    days: LakeDays
    parts: Parts
    models: tuple[Model, ...]
    limits: Limits
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by detector, of whom it is asked; else of all

    @property
    def kept(self) -> Kept:
        """How long results are kept."""
        return self.days.kept

    @property
    def rest(self) -> Rest:
        """Where results rest."""
        return self.days.rest

    @cached_property
    def features(self) -> dict[str, Feature]:
        """What each model looks at, by the model's id."""
        return {model.card.id: feature_of(model.feature) for model in self.models}

    @cached_property
    def view(self) -> PartedView:
        """How the models of events look at the lake, with the kinds that were counted when it was measured."""
        of_events = tuple(one for one in self.models if self.features[one.card.id].input == "events")
        covered = self.days.coverage if of_events else None
        return PartedView(self.days.events, of_events, self.limits, self.days.kinds, covered)

    def score(self, window: Window = EVER, *, fresh: bool = False, progress: Progress = no_progress) -> set[str]:
        """Score what is missing; the days and files that had to be scored for some model.

        Raises:
            ReadError: what was measured is damaged.
            WriteError: the results cannot be written.
        """
        return {name for model in self.models for name in self._score(model, window, fresh=fresh, progress=progress)}

    def measured(self, model: Model, window: Window = EVER) -> list[Partition]:
        """The FEATURES that rest of a model's feature and are still true."""
        feature = self.features[model.card.id]
        return self.days.partitions(feature, window) if feature.input == "events" else self.parts.partitions(feature)

    def partitions(self, model: Model, window: Window = EVER) -> list[Partition]:
        """The SCORES that rest of a model and are still true, also where the FEATURES are kept no longer."""
        there = self.table(model).all()
        measured = [one for one in self.measured(model, window) if one.name in there]
        alone = self._without_features(there, {one.name for one in measured}, window)
        return alone + [
            replace(there[one.name], since=one.since, until=one.until)
            for one in measured
            if one.until <= self.kept.features or there[one.name].came_from == self._came_from(model, one)
        ]

    def table(self, model: Model) -> Partitions:
        """Where a model's SCORES rest."""
        return self.rest.scores(model.card.id)

    def rows(self, model: Model, measured: Sequence[Partition], actors: Sequence[str] | None = None) -> pl.DataFrame:
        """The FEATURES of some partitions as the model is shown them, of these actors or of everybody."""
        return self.shown(model, self.rest.features(model.feature).table(measured, actors=actors))

    def shown(self, model: Model, measured: pl.DataFrame) -> pl.DataFrame:
        """FEATURES as they were measured, as the model is shown them."""
        if self.features[model.card.id].input != "events":
            return measured
        return self.view.told(repr(model.feature), measured).frame

    def refusals(self, window: Window = EVER) -> dict[str, str]:
        """Why models do not judge what is here, by the model's id."""
        met = self._meetings()
        found = {}
        for model in self.models:
            name = model.card.id
            meeting = met.get(name)
            why = (meeting.refusal(self.limits) if meeting else None) or self.far(model, window).refusal(
                name, self.limits
            )
            if why:
                found[name] = why
        return found

    def no_rows(self, model: Model) -> str | None:
        """Why a model has no rows at all to judge; None where it has some, or will have once they are measured."""
        feature, measured = self.features[model.card.id], self.measured(model)
        if any(one.rows for one in measured):
            return None
        if not (any(self.days.stretches) if feature.input == "events" else self.parts.of(feature)):
            return f"no {KIND_NOUNS[feature.input]} taken in"
        return f"too little in the {KIND_NOUNS[feature.input]} to measure {feature.name}" if measured else None

    def caveats(self, model: Model, window: Window = EVER) -> tuple[str, ...]:
        """What stands beside every word of a model."""
        return caveats_of(
            model, self._meetings().get(model.card.id), self.partly(model, window), self.far(model, window)
        )

    def far(self, model: Model, window: Window = EVER) -> Far:
        """How much of what a model was shown lies far beyond what it learned from."""
        return sum(map(_far_of, self._abouts(model, window)), Far())

    def partly(self, model: Model, window: Window = EVER) -> Partly:
        """The periods that are covered too little to be scored."""
        return sum(map(_partly_of, self._abouts(model, window)), Partly())

    def _abouts(self, model: Model, window: Window) -> Iterator[Mapping[str, Any]]:
        table = self.table(model)
        return (about(one, table) for one in self.partitions(model, window))

    def _without_features(
        self, there: Mapping[str, Partition], measured: Collection[str], window: Window
    ) -> list[Partition]:
        """The SCORES of days whose FEATURES retention has removed."""
        return [
            one
            for one in there.values()
            if one.until <= self.kept.features
            and one.name not in measured
            and one.name.startswith("day=")
            and is_within(one, window)
        ]

    def _meetings(self) -> Mapping[str, Meeting | None]:
        of_events = any(one.input == "events" for one in self.features.values()) and any(self.days.stretches)
        return self.view.meetings if of_events else {}

    @cached_property
    def _digests(self) -> dict[str, str]:
        return {model.card.id: model_values(model)["sha256"] for model in self.models}

    def _score(self, model: Model, window: Window, *, fresh: bool, progress: Progress) -> Iterator[str]:
        table = self.table(model)
        resting = table.all()
        for one in self.measured(model, window):
            if not self.kept.may_score(one.until):
                continue
            origin, there = self._came_from(model, one), resting.get(one.name)
            if (
                not fresh
                and there is not None
                and there.came_from == origin
                and (table.directory / there.file).is_file()
            ):
                continue
            scores = model.score(self._asked(model, self.rows(model, [one])))
            told = _about(scores, least_measured(model, self.limits))
            table.put(one.name, scores, came_from=origin, since=one.since, until=one.until, about=told)
            progress(scores.height)
            yield one.name

    def _asked(self, model: Model, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of those whom the detector is asked about."""
        actors = self.only.get(model.card.detector)
        return rows if actors is None else rows.filter(pl.col("actor").is_in(sorted(actors)))

    def _came_from(self, model: Model, measured: Partition) -> str:
        return came_from(RATE_RULE, measured.came_from, self._digests[model.card.id], self._sight(model, measured))

    def _sight(self, model: Model, measured: Partition) -> object:
        """What of the rest of the lake decides how these rows are shown."""
        if self.features[model.card.id].input != "events":
            return None
        missing = [
            [max(begin, measured.since), min(end, measured.until)]
            for begin, end in self.view.coverage.missing
            if begin < measured.until and end > measured.since
        ]
        return [missing, _told(self.view.likeness[repr(model.feature)], measured)]


def _told(likeness: Likeness | None, measured: Partition) -> object:
    if likeness is None:
        return None
    inside = [
        [to_micros(spell.since), spell in likeness.strange, sorted(spell.missing)]
        for spell in _touching((*likeness.alike, *likeness.strange), measured)
        if spell.missing or spell in likeness.strange
    ]
    return [bool(likeness.alike), inside]


def _touching(spells: Sequence[Spell], measured: Partition) -> Iterator[Spell]:
    since, until = from_micros(measured.since), from_micros(measured.until)
    return (spell for spell in spells if spell.since < until and spell.until > since)


def _about(scores: pl.DataFrame, least: float) -> dict[str, Any]:
    far, partly = Far.of(whole_enough(scores, least)), Partly.of(scores, least)
    periods = [[to_micros(since), to_micros(until), share] for since, until, share in sorted(partly.periods)]
    return {
        "judged": far.judged,
        "some": sorted(digest(actor) for actor in far.some),  # how many, up to a crowd; no names
        "far": dict(sorted(far.by.items())),
        "partly": partly.rows,
        "partly_covered": periods,
    }


def _far_of(told: Mapping[str, Any]) -> Far:
    return Far(int(told["judged"]), frozenset(told["some"]), dict(told["far"]))


def _partly_of(told: Mapping[str, Any]) -> Partly:
    spans: frozenset[tuple[datetime, datetime, float]] = frozenset(
        (from_micros(since), from_micros(until), share) for since, until, share in told["partly_covered"]
    )
    return Partly(int(told["partly"]), spans)
