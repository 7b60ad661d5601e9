"""VERDICTS at rest: every day that is over is judged once by the models in force, with all evidence there is of it.

A day is judged again when its events change or files about it come later, not because a newer model is in force: a
verdict stands on what was known, and `judge` asks for another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import polars as pl

from gamewarden.config import Config
from gamewarden.contracts import Model, Progress, no_progress
from gamewarden.core.clock import LAST_MOMENT, Clock, Period
from gamewarden.core.durations import to_micros
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.errors import ModelError
from gamewarden.pipeline.documents import Grounds, recipes_of, shared_values
from gamewarden.pipeline.judging import Judgement, fusion_of, judged_scores, rules_of
from gamewarden.pipeline.measuring import RunOptions
from gamewarden.store.partitions import Partition
from gamewarden.store.verdict_days import Bundle, DaySeal, VerdictDays
from gamewarden.store.verdicts import feature_name, model_values
from gamewarden.tables import TIME
from gamewarden.verdicts.grounds import evidence_behind, rows_behind
from gamewarden.verdicts.meeting import said_once
from gamewarden.verdicts.periods import KEY
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.workspace.beside import KEPT, verdicts_of
from gamewarden.workspace.days import EVER, Window, by_days, day_name
from gamewarden.workspace.rest import came_from
from gamewarden.workspace.scored import Scored

Span = tuple[int, int]


@dataclass(frozen=True)
class Court:
    """Who judges, by which rules: the models in force that can judge what is here, and how they are fused."""

    models: tuple[Model, ...]
    fusion: FusionModel | None
    rules: VerdictRules
    refusals: Mapping[str, str]  # why other models do not judge
    notes: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """What names all of it."""
        fusion = None if self.fusion is None else model_values(self.fusion)
        return came_from(self.rules.values(), fusion, [model_values(model) for model in self.models])


@dataclass(frozen=True)
class JudgedDays:
    """The verdicts of a workspace."""

    scored: Scored
    store: VerdictDays
    models: Path
    config: Config
    run: RunOptions
    now: datetime

    @cached_property
    def court(self) -> Court:
        """Who judges.

        Raises:
            ModelError: no model can judge what is here.
        """
        refusals = self.scored.refusals()
        able = tuple(model for model in self.scored.models if model.card.id not in refusals)
        if not able:
            why = "; ".join(refusals.values()) or f"{self.models}: there is no model in force; fit a detector first"
            raise ModelError(why)
        fusion, notes = fusion_of(self.models, able, None)
        rules = rules_of(self.config, self.run, Prevalence.of(self.config), fusion, None)
        return Court(able, fusion, rules, refusals, notes)

    @property
    def clock(self) -> Clock:
        """By which verdicts are kept: whole days at least."""
        return by_days(self.court.rules.cut)

    def periods(self, window: Window = EVER) -> list[Period]:
        """The days that are over, that a model has scores of, and that retention lets be judged."""
        days, gone = self.scored.days, self.store.dropped()
        stretches = [*days.stretches, *(span for model in self.court.models for span in self._spans(model))]
        since, until = window
        return [
            one
            for one in self.clock.over(stretches, days.horizon)
            if (since is None or one.until > since)
            and (until is None or one.since < until)
            and self.scored.kept.may_judge(to_micros(one.since), to_micros(one.until))
            and day_name(one, self.clock) not in gone
        ]

    def due(self, window: Window = EVER, *, by_these_rules: bool = False) -> list[Period]:
        """The days without a verdict on what is known of them now; or without one by the rules in force."""
        sealed = self.store.current()
        return [one for one in self.periods(window) if not self._stands(sealed, one, by_these_rules=by_these_rules)]

    def judge(
        self,
        window: Window = EVER,
        *,
        by_these_rules: bool = False,
        fresh: bool = False,
        progress: Progress = no_progress,
    ) -> list[DaySeal]:
        """Judge the days that are due; their seals.

        Raises:
            ModelError: no model can judge what is here.
            WriteError: the verdicts cannot be kept.
        """
        due = self.periods(window) if fresh else self.due(window, by_these_rules=by_these_rules)
        return [self._judge(period, progress) for period in due]

    def verdicts(self, window: Window = EVER, actors: Sequence[str] | None = None) -> pl.DataFrame:
        """VERDICTS of the days that were judged, with the streaks of all of them, and the ids of those kept."""
        since, until = (None if moment is None else to_micros(moment) for moment in window)
        wanted = [
            seal
            for seal in self.store.current().values()
            if (since is None or seal.until > since) and (until is None or seal.since < until)
        ]
        empty = pl.DataFrame(schema=dict(KEPT.columns))
        parts = [self._known(seal, verdicts_of(self.store, seal, actors)) for seal in wanted]
        found = pl.concat([empty, *parts]).sort("actor", "since")
        return self.court.rules.points.with_streaks(found)

    def _known(self, seal: DaySeal, verdicts: pl.DataFrame) -> pl.DataFrame:
        """The verdicts of those who were not forgotten."""
        return verdicts.filter(~pl.col("actor").is_in(self.store.stubs(seal))) if seal.forgotten else verdicts

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """What stands beside every verdict."""
        told = {model.card.id: self.scored.caveats(model) for model in self.court.models}
        return (*self.court.refusals.values(), *said_once(told))

    def _spans(self, model: Model) -> list[Span]:
        """When files that stay where they are have something to say."""
        if self.scored.features[model.card.id].input == "events":
            return []
        if self.scored.features[model.card.id].input == "table":
            return []
        return [(one.since, one.until - 1) for one in self.scored.partitions(model)]

    def _stands(self, sealed: Mapping[str, DaySeal], period: Period, *, by_these_rules: bool) -> bool:
        seal = sealed.get(day_name(period, self.clock))
        if seal is None or seal.content != self.content(period):
            return False
        return not by_these_rules or seal.rules == self.court.digest

    def content(self, period: Period) -> str:
        """What names all that is known of a day: its events, and the files that tell of it."""
        files = {
            one.came_from
            for model in self.court.models
            if self.scored.features[model.card.id].input != "events"
            for one in self._touching(model, self.scored.measured(model), period)
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
            {**shared_values(grounds, self.scored.days.lake_fingerprint()), "recipes": recipes_of(grounds)},
        )
        since, until = to_micros(period.since), to_micros(period.until)
        progress(verdicts.height)
        return self.store.seal(
            day_name(period, self.clock),
            bundle,
            since=since,
            until=until,
            content=self.content(period),
            rules=court.digest,
            kept=chosen.height,
            at=self.now.isoformat(),
        )

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
        return _ending_in(table.table(self._touching(model, self.scored.partitions(model), period)), period)

    def _rows(self, model: Model, period: Period, actors: Sequence[str] | None = None) -> pl.DataFrame:
        found = self._touching(model, self.scored.measured(model), period)
        return _ending_in(self.scored.rows(model, found, actors), period)

    def _touching(self, model: Model, partitions: Sequence[Partition], period: Period) -> list[Partition]:
        """The partitions with rows about a day; of account tables the one that counted when the day ended."""
        since, until = to_micros(period.since), to_micros(period.until)
        if self.scored.features[model.card.id].input == "table":
            return [one for one in partitions if one.since < until <= one.until]
        return [one for one in partitions if one.since < until and one.until > since]


def _ending_in(rows: pl.DataFrame, period: Period) -> pl.DataFrame:
    """The rows that end in a day, and those that belong to no time."""
    ends = LAST_MOMENT
    since, until = (pl.lit(moment, TIME) for moment in (period.since, period.until))
    return rows.filter(pl.col("until").is_null() | ((ends >= since) & (ends < until)))
