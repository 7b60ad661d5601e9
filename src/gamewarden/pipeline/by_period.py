"""Judging a lake a period at a time: measured, scored, fused and judged, and nothing kept of it but the verdicts.

A verdict rests on the rows of its own period, and a row scores the same alone as in a crowd. So the numbers are those
of judging everything at once; what is said of the whole source is added up from period to period.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from gamewarden.clock import Clock
from gamewarden.config import Config
from gamewarden.contracts import Feature, Model, Notes, Progress, Source, Vocabulary, no_progress
from gamewarden.coverage import Coverage
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.errors import ModelError
from gamewarden.features.folding import Measured, folded
from gamewarden.pipeline.doubting import doubted
from gamewarden.pipeline.judging import Judgement, fusion_of, judge, judged, rules_of
from gamewarden.pipeline.likeness import likeness_of
from gamewarden.pipeline.measuring import feature_of, least_measured
from gamewarden.pipeline.reaching import reach_of
from gamewarden.pipeline.scoring import load_models, models_for
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.store.lake import LakeEvents
from gamewarden.store.stretches import Stretches
from gamewarden.streams import WatchedEvents
from gamewarden.tables import TIME, VERDICTS, Table
from gamewarden.verdicts.compact import Compact
from gamewarden.verdicts.likeness import Likeness
from gamewarden.verdicts.meeting import Far, Limits, Meeting, Partly, said_once, whole_enough
from gamewarden.verdicts.points import Points
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.verdicts.reach import beside_the_list
from gamewarden.verdicts.rules import Rules
from gamewarden.verdicts.saying import caveats_of, meeting_of, zone_notes
from gamewarden.verdicts.wholes import unranked

Span = tuple[int, int]  # [since, until) in microseconds


def judge_lean(
    source: Source,
    models: Path,
    run: RunOptions = USUAL,
    *,
    config: Config | None = None,
    every: int | None = None,
    prevalence: Prevalence | None = None,
    progress: Progress = no_progress,
) -> "Judgement | Lean":
    """The verdicts of `judge`, in memory that grows with them alone where the source can be judged period by period.

    That is so of a lake whose models all look at whole periods, or at parts that none of the periods' borders cuts.

    Raises:
        ModelError: no model judges what the source holds, it is a table without periods, or a model is damaged.
    """
    policy = config or Config()
    supposed = prevalence or Prevalence.of(policy)
    events = source.events() if source.sure and "events" in source.kinds else None
    if isinstance(events, LakeEvents):
        found = models_for(load_models(models), source, models)
        found = models_for(load_models(models), source, models)
        bench = _Bench(source, models, run, policy, supposed, every, events)
        if _separable(found, bench.rules(found)[0].cut):
            return bench.judge(found, progress)
    return judge(source, models, run, config=policy, every=every, prevalence=supposed, progress=progress)


def _separable(models: Sequence[Model], cut: Clock) -> bool:
    """Whether each period can be measured without the others."""
    return all(feature_of(model.feature).divides.by(cut) for model in models)


def periods_of_stretches(stretches: Stretches, cut: Clock) -> list[Span]:
    """The periods that a stretch touches, the earliest first; whatever lies between stretches is leapt over."""
    numbers = cut.touched(stretches)
    return list(zip(cut.begins(numbers).tolist(), cut.begins(numbers + 1).tolist(), strict=True))


@dataclass(frozen=True)
class Lean:
    """The verdicts of one run, without the numbers they rest on: those are measured again where they are asked for."""

    compact: Compact
    models: tuple[Model, ...]
    notes: tuple[str, ...]
    caveats: tuple[str, ...]
    fusion: FusionModel | None
    rules: Rules
    _glass: "_Glass"

    @property
    def points(self) -> Points:
        """The operating points."""
        return self.rules.points

    @property
    def verdicts(self) -> pl.DataFrame:
        """VERDICTS: one row an actor and period."""
        return self.compact.table()

    @property
    def rows(self) -> int:
        """How many verdicts there are."""
        return self.compact.height

    def pieces(self) -> Iterator[pl.DataFrame]:
        """VERDICTS period by period."""
        return self.compact.pieces()

    def grounds(self, verdicts: pl.DataFrame) -> Judgement:
        """What some verdicts of one period rest on, measured again for their actors alone."""
        span = verdicts.select("since", "until").cast(pl.Int64).row(0)
        features = self._glass.features(span, verdicts["actor"].to_list())
        scores, _ = judged(features, self.models, self.fusion, self.rules)
        nothing = pl.DataFrame()
        kept = self.models, self.notes, self.caveats, self.fusion, self.rules
        return Judgement(verdicts, scores, features, nothing, *kept)


@dataclass(frozen=True)
class _Bench:
    """What a run of judging is given."""

    source: Source
    models: Path
    run: RunOptions
    policy: Config
    supposed: Prevalence
    every: int | None
    events: LakeEvents

    def rules(self, found: Sequence[Model]) -> tuple[Rules, FusionModel | None, tuple[str, ...]]:
        """The rules, the fusion, and what has to be said of it."""
        fusion, why_not = fusion_of(self.models, found, self.every)
        return rules_of(self.policy, self.run, self.supposed, fusion, self.every), fusion, why_not

    def judge(self, found: Sequence[Model], progress: Progress) -> Lean:
        """All verdicts; a model that turns out to be a stranger here is left out, and the others judge again."""
        glass = _Glass(self.events, tuple(found), self.run.limits)
        refusals = {name: why for name, met in glass.meetings.items() if met and (why := met.refusal(glass.limits))}
        while True:
            able = [model for model in found if model.card.id not in refusals]
            if not able:
                raise ModelError(f"{self.source.name}: {'; '.join(_in_order(found, refusals))}")
            run = self._run(glass if len(able) == len(found) else replace(glass, models=tuple(able)), progress)
            strange = {name: why for name, far in run.far.items() if (why := far.refusal(name, glass.limits))}
            if not strange:
                return self._lean(run, _in_order(found, refusals), zone_notes(found, self.run.time_zone))
            refusals |= strange

    def _run(self, glass: "_Glass", progress: Progress) -> "_Run":
        rules, fusion, why_not = self.rules(glass.models)
        run = _Run(glass, rules, fusion, why_not)
        for span in periods_of_stretches(self.events.stretches, rules.cut):
            run.take(span, progress)
        return run

    def _lean(self, run: "_Run", refusals: Sequence[str], zones: Sequence[str]) -> Lean:
        models, points, met = run.glass.models, run.rules.points, run.glass.meetings
        caveats = {
            one.card.id: caveats_of(one, met[one.card.id], run.partly[one.card.id], run.far[one.card.id])
            for one in models
        }
        listed = self.policy.rank.probability
        probable = [piece.filter(pl.col("probability") >= listed) for piece in run.verdicts.pieces()]
        everything = pl.concat([pl.DataFrame(schema=dict(VERDICTS.columns)), *probable])
        notes = (
            *run.notes(zones),
            *run.why_not,
            *run.unranked.values(),
            self.supposed.sentence,
            *beside_the_list(everything, points, listed),
            *reach_of(models, run.fusion, points),
        )
        beside = (*doubted(self.models, models, run.spans), *refusals, *said_once(caveats))
        return Lean(run.verdicts, models, notes, beside, run.fusion, run.rules, run.glass)


def _in_order(models: Sequence[Model], refusals: Mapping[str, str]) -> list[str]:
    return [refusals[model.card.id] for model in models if model.card.id in refusals]


@dataclass(frozen=True)
class _Glass:
    """How models look at a lake: what each of their features makes of a part of it."""

    events: LakeEvents
    models: tuple[Model, ...]
    limits: Limits

    @cached_property
    def recipes(self) -> dict[str, Feature]:
        """The features, each once."""
        return {repr(model.feature): feature_of(model.feature) for model in self.models}

    @cached_property
    def likeness(self) -> dict[str, Likeness | None]:
        """In which periods the whole lake speaks as the features' vocabularies; None where nobody counted kinds."""
        return {key: self._likeness(one.learned) for key, one in self.recipes.items()}

    def _likeness(self, learned: Vocabulary | None) -> Likeness | None:
        if learned is None or learned.shares is None:
            return None
        return likeness_of(learned, self.events, self.limits)

    @cached_property
    def coverage(self) -> Coverage:
        """When the lake's sources were there."""
        return self.events.coverage

    @cached_property
    def meetings(self) -> dict[str, Meeting | None]:
        """Each model's vocabulary beside what the lake can show."""
        shows = self.events.shows
        told = {
            key: Table(pl.DataFrame(), shows=shows if one is None else one.shown(shows))
            for key, one in self.likeness.items()
        }
        return {
            model.card.id: meeting_of(model, self.recipes[repr(model.feature)], told[repr(model.feature)])
            for model in self.models
        }

    def features(self, span: Span, actors: Sequence[str] | None = None) -> dict[str, pl.DataFrame]:
        """FEATURES of a period by the model's id, of everybody or of these actors."""
        tables = {key: self.told(key, self.measured(key, span, actors).frame).frame for key in self.recipes}
        return {model.card.id: tables[repr(model.feature)] for model in self.models}

    def measured(
        self, key: str, span: Span, actors: Sequence[str] | None = None, progress: Progress = no_progress
    ) -> Measured:
        """What a feature measures in a period."""
        recipe, part = self.recipes[key], self.events.between(*span)
        if actors is not None and recipe.entity == "actor" and recipe.divides.actors:
            part = part.of(actors)
        return folded(recipe, WatchedEvents(part, progress))

    def told(self, key: str, frame: pl.DataFrame) -> Table:
        """FEATURES with the share that is covered of each row's time, without what the lake did not show."""
        seen = Table(frame.with_columns(self.coverage.of(frame)), shows=self.events.shows)
        likeness = self.likeness[key]
        return seen if likeness is None else likeness.applied(seen)


@dataclass
class _Run:
    """One pass over the periods, and all that is kept of it."""

    glass: _Glass
    rules: Rules
    fusion: FusionModel | None
    why_not: tuple[str, ...]
    verdicts: Compact = field(default_factory=Compact)
    far: dict[str, Far] = field(default_factory=dict)
    partly: dict[str, Partly] = field(default_factory=dict)
    usage: dict[str, Notes] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)  # of periods that are not measured, by feature
    unranked: dict[str, str] = field(default_factory=dict)
    spans: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"since": TIME, "until": TIME}))
    _streaks: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={"actor": pl.String, "before": pl.Int64})
    )

    def __post_init__(self) -> None:
        self.far = {model.card.id: Far() for model in self.glass.models}
        self.partly = {model.card.id: Partly() for model in self.glass.models}
        self.said = {key: [] for key in self.glass.recipes}

    def take(self, span: Span, progress: Progress) -> None:
        """Judge one period."""
        tables = {key: self._table(key, span, progress) for key in self.glass.recipes}
        features = {model.card.id: tables[repr(model.feature)] for model in self.glass.models}
        for model in self.glass.models:
            self._weigh(model, features[model.card.id])
        scores, verdicts = judged(features, self.glass.models, self.fusion, self.rules)
        for model in self.glass.models:
            for line in unranked(scores, [model], self.rules.cut):
                self.unranked.setdefault(model.card.id, line)
        self.spans = pl.concat([self.spans, scores.select("since", "until").unique()]).unique()
        if verdicts.height:
            self.verdicts.add(self._with_streaks(verdicts))

    def notes(self, zones: Sequence[str]) -> tuple[str, ...]:
        """What the lake and the features have to say."""
        lines = (
            line
            for key, recipe in self.glass.recipes.items()
            for line in (*recipe.warnings, *self._used(key), *self.said[key], *zones)
        )
        return tuple(dict.fromkeys(lines))

    def _table(self, key: str, span: Span, progress: Progress) -> pl.DataFrame:
        found = self.glass.measured(key, span, progress=progress)
        told = self.glass.told(key, found.frame)
        self.usage[key] = self.usage[key] + found.notes if key in self.usage else found.notes
        self.said[key] += told.notes
        return told.frame

    def _used(self, key: str) -> tuple[str, ...]:
        return self.usage[key].sentences() if key in self.usage else ()

    def _weigh(self, model: Model, rows: pl.DataFrame) -> None:
        least = least_measured(model, self.glass.limits)
        told = model.score(rows)
        self.partly[model.card.id] += Partly.of(told, least)
        self.far[model.card.id] += Far.of(whole_enough(told, least))

    def _with_streaks(self, verdicts: pl.DataFrame) -> pl.DataFrame:
        """The verdicts with how long each actor's row of periods is that say bot, those before counted too."""
        known = verdicts.drop("streak").join(self._streaks, on="actor", how="left", maintain_order="left")
        counted = known.with_columns(streak=self.rules.points.streak_after(pl.col("before").fill_null(0)))
        latest = pl.concat([self._streaks, counted.select("actor", before="streak")])
        self._streaks = latest.unique("actor", keep="last")
        return counted.select(verdicts.columns)
