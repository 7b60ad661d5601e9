"""Stored VERDICTS: every day that is over and has rows is judged by the models in force, with all evidence about it.

A day is judged again when its events or files change, and when a model, the fusion or a rule changes that its verdicts
rest on. The earlier verdicts stay, with their own seal.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gamewarden.config import Config
from gamewarden.contracts import Fingerprint, Model, Progress, StreamKind, no_progress
from gamewarden.core.clock import LAST_MOMENT, Clock, Period
from gamewarden.core.durations import to_micros
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.errors import GamewardenError, ModelError, ReadError, VerdictError, WriteError
from gamewarden.learning.model_info import family_of
from gamewarden.pipeline.documents import Grounds, recipes_of, shared_values
from gamewarden.pipeline.judging import Judgement, fusion_of, judged_scores, rules_of
from gamewarden.pipeline.measuring import RunOptions
from gamewarden.store.partitions import Partition
from gamewarden.store.verdict_days import Bundle, DaySeal, VerdictDays
from gamewarden.store.verdicts import feature_name, model_values
from gamewarden.tables import TIME
from gamewarden.verdicts.grounds import evidence_behind, rows_behind
from gamewarden.verdicts.meeting import Limits, least_covered, said_once
from gamewarden.verdicts.periods import KEY
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.workspace.beside import KEPT, verdicts_of
from gamewarden.workspace.days import EVER, Window, by_days, day_name
from gamewarden.workspace.exonerated import without_exonerated
from gamewarden.workspace.parts import ALWAYS
from gamewarden.workspace.rest import came_from
from gamewarden.workspace.scored import Scored

Span = tuple[int, int]
NEW, CHANGED, OUTDATED, REPEATED = "new", "with changed data", "by newer models or settings", "again"


@dataclass(frozen=True)
class DueDay:
    """A day to judge, and why: NEW, CHANGED, OUTDATED or REPEATED."""

    period: Period
    reason: str


@dataclass(frozen=True)
class JudgedNow:
    """The days that were judged, and why others could not be, by day."""

    seals: tuple[DaySeal, ...]
    failures: Mapping[str, str]

    @property
    def troubles(self) -> tuple[str, ...]:
        """The failures, a line each."""
        return tuple(f"{day.removeprefix('day=')}: {why}" for day, why in self.failures.items())


def reasons_counted(reasons: Iterable[str]) -> str:
    """Why days are due, such as "2 new, 28 by newer models or settings"."""
    found = Counter(reasons)
    return ", ".join(f"{found[one]:,} {one}" for one in (NEW, CHANGED, OUTDATED, REPEATED) if found[one])


@dataclass(frozen=True)
class Court:
    """Who judges, by which rules: the models in force that can judge what is here, and how they are fused."""

    models: tuple[Model, ...]
    fusion: FusionModel | None
    rules: VerdictRules
    refusals: Mapping[str, str]  # why other models do not judge
    notes: tuple[str, ...] = ()

    def digest(self, models: Sequence[Model]) -> str:
        """What names all that the verdicts of a day depend on, on which only these models have rows."""
        return came_from(*self._shared, [model_values(model) for model in models])

    @cached_property
    def _shared(self) -> list[Any]:
        """What they depend on whichever models have rows; models without rows count by their families alone."""
        fusion = None if self.fusion is None else model_values(self.fusion)
        families = sorted({family_of(model.feature.name) for model in self.models})
        least = min(least_covered(model.card.training, Limits(covered=self.rules.covered)) for model in self.models)
        return [self.rules.values(), fusion, families, least]


@dataclass(frozen=True)
class JudgedDays:
    """The verdicts of a workspace."""

    scored: Scored
    store: VerdictDays
    models: Path
    config: Config
    run: RunOptions
    now: datetime
    exonerated: Mapping[str, datetime] = field(default_factory=dict)  # until when evidence no longer counts, by account

    @cached_property
    def court(self) -> Court:
        """Who judges.

        Raises:
            ModelError: no model can judge what is here.
        """
        silent = {name: f"{name} does not judge: {why}" for name, why in self._silent.items()}
        refused = self.scored.refusals()
        some = any(one.card.id not in silent | refused for one in self.scored.models)
        refusals = silent | refused if some else refused  # where all are silent, stored verdicts are still read
        able = tuple(model for model in self.scored.models if model.card.id not in refusals)
        if not able:
            why = "; ".join(refusals.values()) or f"{self.models}: there is no model in force; fit a detector first"
            raise ModelError(why)
        fusion, notes = fusion_of(self.models, able, None)
        rules = rules_of(self.config, self.run, Prevalence.of(self.config), fusion, None)
        return Court(able, fusion, rules, refusals, notes)

    @cached_property
    def _silent(self) -> dict[str, str]:
        """Why models have no rows at all, by the model's id."""
        return {one.card.id: why for one in self.scored.models if (why := self.scored.no_rows(one)) is not None}

    def no_days(self) -> str:
        """Why no day was ever judged, nor can be now; empty where one was or may be."""
        if self.store.seals():
            return ""
        timed = [one for one in self.scored.models if self._input(one) != "table"]
        if any(one.card.id not in self._silent for one in timed):
            return ""
        why = [f"{one.card.detector} ({self._silent[one.card.id]})" for one in timed]
        return f"no day to judge: no rows for {', '.join(why)}" if why else "no day to judge: account tables give none"

    @property
    def clock(self) -> Clock:
        """By which verdicts are kept: whole days at least."""
        return by_days(self.court.rules.cut)

    def periods(self, window: Window = EVER) -> list[Period]:
        """The days that are over, on which a model has rows to judge, and that retention lets be judged."""
        days, gone = self.scored.days, self.store.dropped()
        spans = [span for model in self.court.models for span in self._spans(model)]
        of_events = self.clock.over(days.stretches, days.horizon) if self._of_events else []
        since, until = window
        return [
            one
            for one in sorted({*self.clock.over(spans, days.horizon), *filter(self._has_event_rows, of_events)})
            if (since is None or one.until > since)
            and (until is None or one.since < until)
            and self.scored.kept.may_judge(to_micros(one.since), to_micros(one.until))
            and day_name(one, self.clock) not in gone
        ]

    def due(self, window: Window = EVER, *, fresh: bool = False) -> list[DueDay]:
        """The days whose verdicts are missing or out of date; with `fresh` all days.

        Those that only newer models change come last, the newest of them first.
        """
        sealed = self.store.current()
        reasons = ((one, self._reason(sealed.get(day_name(one, self.clock)), one)) for one in self.periods(window))
        found = [DueDay(one, why or REPEATED) for one, why in reasons if why or fresh]
        later = [one for one in found if one.reason == OUTDATED]
        return [one for one in found if one.reason != OUTDATED] + later[::-1]

    def judge(
        self, due: Sequence[DueDay] | None = None, *, fresh: bool = False, progress: Progress = no_progress
    ) -> JudgedNow:
        """Judge these days, or all that are due; one that fails does not stop the next.

        Raises:
            ModelError: no model can judge what is here.
            VerdictError: the log of seals was edited or damaged.
            WriteError: the verdicts cannot be stored.
        """
        seals, failures = [], {}
        with self.store.several():
            for one in self.due(fresh=fresh) if due is None else due:
                try:
                    seals.append(self._judge(one.period, progress))
                except (VerdictError, WriteError):
                    raise
                except GamewardenError as error:
                    failures[day_name(one.period, self.clock)] = str(error)
        return JudgedNow(tuple(seals), failures)

    def verdicts(self, window: Window = EVER, actors: Sequence[str] | None = None) -> pl.DataFrame:
        """VERDICTS of the days that were judged, with the streaks of all of them, and the ids of those kept.

        Evidence that an overturned appeal has refuted is left out.
        """
        since, until = (None if moment is None else to_micros(moment) for moment in window)
        wanted = [
            seal
            for seal in self.store.current().values()
            if (since is None or seal.until > since) and (until is None or seal.since < until)
        ]
        empty = pl.DataFrame(schema=dict(KEPT.columns))
        parts = [self._known(seal, verdicts_of(self.store, seal, actors)) for seal in wanted]
        found = without_exonerated(pl.concat([empty, *parts]).sort("actor", "since"), self.exonerated)
        return self.court.rules.points.with_streaks(found)

    def _known(self, seal: DaySeal, verdicts: pl.DataFrame) -> pl.DataFrame:
        """The verdicts of those who were not forgotten."""
        return verdicts.filter(~pl.col("actor").is_in(self.store.stubs(seal))) if seal.forgotten else verdicts

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """What stands beside every verdict."""
        told = {model.card.id: self.scored.caveats(model) for model in self.court.models}
        return (*self.court.refusals.values(), *said_once(told))

    @cached_property
    def _features(self) -> dict[str, list[Partition]]:
        """The stored FEATURES of each model, by the model's id."""
        return {model.card.id: self.scored.measured(model) for model in self.court.models}

    @cached_property
    def _scores_stored(self) -> dict[str, list[Partition]]:
        """The stored SCORES of each model, by the model's id."""
        return {model.card.id: self.scored.partitions(model) for model in self.court.models}

    @cached_property
    def _of_events(self) -> tuple[Model, ...]:
        return tuple(one for one in self.court.models if self._input(one) == "events")

    def _input(self, model: Model) -> StreamKind:
        return self.scored.features[model.card.id].input

    def _has_event_rows(self, period: Period) -> bool:
        """Whether a model has rows about the events of a day, or will have once these are measured."""
        measured = (self._touching(model, self._features[model.card.id], period) for model in self._of_events)
        return any(not found or any(one.rows for one in found) for found in measured)

    def _spans(self, model: Model) -> Iterator[Span]:
        """When a model has rows about files; rows without a time give no day, and a file without rows none either."""
        if self._input(model) in {"events", "table"}:
            return
        for one in self._features[model.card.id]:
            if one.rows and (one.since, one.until) != ALWAYS:
                yield from self._days_of(model, one)

    def _days_of(self, model: Model, one: Partition) -> Iterator[Span]:
        """A span in each day in which rows of a partition end; a file may leave out days."""
        if self.clock.touched([(one.since, one.until - 1)]).size == 1:
            yield one.since, one.until - 1
            return
        try:
            rows = self.scored.rest.features(model.feature).read(one, ["until"])
        except ReadError:  # each of the days says so when it is judged
            yield one.since, one.until - 1
            return
        ends = rows["until"].drop_nulls().unique().dt.epoch("us").to_numpy() - 1
        yield from ((begin, begin) for begin in self.clock.begins(np.unique(self.clock.numbers(ends))).tolist())

    def _reason(self, seal: DaySeal | None, period: Period) -> str | None:
        """Why a day is due; None where its verdicts rest on what is known now, and on the models in force."""
        if seal is None:
            return NEW
        if seal.content != self.content(period):
            return CHANGED
        return None if seal.rules == self._rules_on(period) else OUTDATED

    def _rules_on(self, period: Period) -> str:
        """What names the models, fusion and rules that the verdicts of a day depend on."""
        with_rows = [
            model
            for model in self.court.models
            if any(one.rows for one in self._touching(model, self._features[model.card.id], period))
        ]
        return self.court.digest(with_rows)

    def content(self, period: Period) -> str:
        """What names all that is known of a day: its events, and the files that tell of it."""
        files = {
            one.came_from
            for model in self.court.models
            if self._input(model) != "events"
            for one in self._touching(model, self._features[model.card.id], period)
        }
        return came_from(self.scored.days.content(period), sorted(files))

    def _judge(self, period: Period, progress: Progress) -> DaySeal:
        judgement = self._judgement(period)
        verdicts, court = judgement.verdicts, self.court
        told = verdicts.with_columns(court.rules.points.reached(verdicts))
        chosen = told.filter(pl.col("point").is_in([ACT, WATCH]))
        grounds = self._grounds(period, judgement, chosen)
        ids = pl.Series("verdict", Grounds.of(grounds, chosen, grounds.evidence).ids(chosen), dtype=pl.String)
        named = told.join(chosen.select(*KEY, ids), on=KEY, how="left", maintain_order="left")
        bundle = Bundle(
            {"verdicts": named, "scores": grounds.scores, "evidence": grounds.evidence, **self._measured(grounds)},
            {**shared_values(grounds, self._lake_fingerprint), "recipes": recipes_of(grounds)},
        )
        since, until = to_micros(period.since), to_micros(period.until)
        progress(verdicts.height)
        return self.store.seal(
            day_name(period, self.clock),
            bundle,
            since=since,
            until=until,
            content=self.content(period),
            rules=self._rules_on(period),
            kept=chosen.height,
            at=self.now.isoformat(),
        )

    @cached_property
    def _lake_fingerprint(self) -> Fingerprint:
        return self.scored.days.lake_fingerprint()

    def _judgement(self, period: Period) -> Judgement:
        """All verdicts of a day, without the numbers they rest on."""
        court = self.court
        told = {model.card.id: self._scores(model, period) for model in court.models}
        seen = (self._rows(model, period) for model in court.models) if court.fusion is not None else ()
        scores, verdicts = judged_scores(told, seen, court.models, court.fusion, court.rules)
        nothing = pl.DataFrame()
        return Judgement(verdicts, scores, {}, nothing, court.models, (), self.caveats, court.fusion, court.rules)

    def _grounds(self, period: Period, judgement: Judgement, chosen: pl.DataFrame) -> Judgement:
        """What the chosen verdicts rest on: rows, scores and reasons of their actors alone."""
        actors, cut = chosen["actor"].unique().to_list(), judgement.rules.cut
        features = {
            model.card.id: rows_behind(chosen, self._rows(model, period, actors), cut) for model in judgement.models
        }
        scores = rows_behind(chosen, judgement.scores, cut)
        evidence = evidence_behind(chosen, judgement.models, features, cut)
        kept = judgement.models, (), judgement.caveats, judgement.fusion, judgement.rules
        return Judgement(chosen, scores, features, evidence, *kept)

    @staticmethod
    def _measured(grounds: Judgement) -> dict[str, pl.DataFrame]:
        return {f"features-{feature_name(model.feature)}": grounds.features[model.card.id] for model in grounds.models}

    def _scores(self, model: Model, period: Period) -> pl.DataFrame:
        table = self.scored.table(model)
        return _ending_in(table.table(self._touching(model, self._scores_stored[model.card.id], period)), period)

    def _rows(self, model: Model, period: Period, actors: Sequence[str] | None = None) -> pl.DataFrame:
        found = self._touching(model, self._features[model.card.id], period)
        return _ending_in(self.scored.rows(model, found, actors), period)

    def _touching(self, model: Model, partitions: Sequence[Partition], period: Period) -> list[Partition]:
        """The partitions with rows about a day; of account tables the one that counted when the day ended."""
        since, until = to_micros(period.since), to_micros(period.until)
        if self._input(model) == "table":
            return [one for one in partitions if one.since < until <= one.until]
        return [one for one in partitions if one.since < until and one.until > since]


def _ending_in(rows: pl.DataFrame, period: Period) -> pl.DataFrame:
    """The rows that end in a day, and those that belong to no time."""
    ends = LAST_MOMENT
    since, until = (pl.lit(moment, TIME) for moment in (period.since, period.until))
    return rows.filter(pl.col("until").is_null() | ((ends >= since) & (ends < until)))
