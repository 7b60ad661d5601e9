"""From a source and a shelf of models to one verdict per actor and period: all at once, or a lake a period at a time.

A verdict rests on the rows of its own period, and a row scores the same alone as in a crowd. So the numbers are those
of judging everything at once; what is said of the whole source is added up from period to period.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import polars as pl

from gamewarden import detectors
from gamewarden.config import Config
from gamewarden.contracts import Model, Notes, PartedEvents, Progress, Source, StreamKind, no_progress
from gamewarden.core.durations import parse_span, span_text
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.errors import ModelError
from gamewarden.features import load as load_feature
from gamewarden.learning.model_info import family_of
from gamewarden.pipeline.measuring import USUAL, RunOptions, feature_of, least_measured, rows_to_judge
from gamewarden.pipeline.models import load_models, models_for
from gamewarden.pipeline.scoring import PartedView, Span, doubted, hear, names_in_common, reach_of
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.tables import SCORES, TIME, VERDICTS, Table
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.combining import Family, able_families, combine
from gamewarden.verdicts.compact import Compact
from gamewarden.verdicts.grounds import evidence_behind
from gamewarden.verdicts.meeting import Far, Limits, Partly, said_once, whole_enough
from gamewarden.verdicts.periods import (
    KEY,
    Clock,
    infos_of,
    marks_of,
    periods_of,
    played,
    roll_up,
    side_by_side,
    without_periods,
)
from gamewarden.verdicts.points import ACT, WATCH, OperatingPoints
from gamewarden.verdicts.prevalence import Prevalence, at_share
from gamewarden.verdicts.reach import beside_the_list
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.verdicts.saying import caveats_of, zone_notes
from gamewarden.verdicts.timeless import in_periods
from gamewarden.verdicts.wholes import of_whole_periods, unranked


@dataclass(frozen=True)
class Judgement:
    """The verdicts of one run, and what they rest on."""

    verdicts: pl.DataFrame  # VERDICTS: one row per actor and period
    scores: pl.DataFrame  # SCORES of every model and row, at the supposed share of bots
    features: Mapping[str, pl.DataFrame]  # the FEATURES each model scored, by the model's id
    evidence: pl.DataFrame  # EVIDENCE of the scores behind verdicts that reach an operating point
    models: tuple[Model, ...]
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()  # what has to stand beside every verdict
    fusion: FusionModel | None = None  # what the scores were fused with; None where FPRs were only combined
    rules: VerdictRules = field(default=VerdictRules())

    @property
    def points(self) -> OperatingPoints:
        """The operating points."""
        return self.rules.points

    @property
    def rows(self) -> int:
        """How many verdicts there are."""
        return self.verdicts.height

    def pieces(self) -> Iterator[pl.DataFrame]:
        """VERDICTS as they are held: all at once."""
        yield self.verdicts

    def grounds(self, verdicts: pl.DataFrame) -> "Judgement":
        """What some of the verdicts rest on: it is all here."""
        del verdicts
        return self


def judge(
    source: Source,
    models: Path,
    run: RunOptions = USUAL,
    *,
    config: Config | None = None,
    every: int | None = None,
    prevalence: Prevalence | None = None,
    progress: Progress = no_progress,
) -> Judgement:
    """One verdict per actor and period from the models in force that can see this source.

    The fusion in force is used where it was fitted on these models and periods; otherwise the FPRs are combined.

    Raises:
        ModelError: no model judges what the source holds, it is a table without periods, or a model is damaged.
    """
    policy = config or Config()
    supposed = prevalence or Prevalence.of(policy)
    found = models_for(load_models(models), source, models)
    _refuse_tables(found, source)
    heard = hear(found, source, run, progress)
    found, features = list(heard.models), heard.features
    _refuse_tables(found, source)
    fusion, why_not = fusion_of(models, found, every)
    rules = rules_of(policy, run, supposed, fusion, every)
    cut, points = rules.cut, rules.points
    scores, verdicts = judged(features, found, fusion, rules)
    reached = verdicts.filter(points.reached(verdicts).is_in([ACT, WATCH]))
    return Judgement(
        verdicts=verdicts,
        scores=scores,
        features=features,
        evidence=evidence_behind(reached, found, features, cut),
        models=tuple(found),
        notes=(
            *heard.notes,
            *why_not,
            *unranked(scores, found, cut),
            supposed.sentence,
            *beside_the_list(verdicts, points, policy.rank.probability),
            *reach_of(found, fusion, points),
        ),
        caveats=(*doubted(models, found, scores), *heard.caveats),
        fusion=fusion,
        rules=rules,
    )


def _refuse_tables(models: Sequence[Model], source: Source) -> None:
    """A verdict is about a period, and a row of an operator's own table has none unless another source gives it."""
    if all(_input(model) == "table" for model in models):
        raise ModelError(
            f"judge: {source.name} is a table whose rows belong to no period, and {models[0].card.id} judges rows; use "
            "`gamewarden score` for their probabilities and `gamewarden explain ACTOR` for the reasons"
        )


def _input(model: Model) -> StreamKind:
    return load_feature(model.feature.name).input


def judged(
    features: Mapping[str, pl.DataFrame], models: Sequence[Model], fusion: FusionModel | None, rules: VerdictRules
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """SCORES of every row, and VERDICTS of every actor and period; a period's is the same alone as among others.

    Evidence is weighed as each model gave it, so that neither an FPR nor an operating point depends on the supposed
    share of bots; what is shown supposes it.
    """
    scores = {model.card.id: _scored(model, features[model.card.id]) for model in models}
    return judged_scores(scores, features.values(), models, fusion, rules)


def _scored(model: Model, rows: pl.DataFrame) -> pl.DataFrame:
    """SCORES of a model; none of a table without rows, which lacks the columns of rows that were never measured."""
    return model.score(rows) if rows.height else pl.DataFrame(schema=dict(SCORES.columns))


def judged_scores(
    told: Mapping[str, pl.DataFrame],
    features: Iterable[pl.DataFrame],
    models: Sequence[Model],
    fusion: FusionModel | None,
    rules: VerdictRules,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same of SCORES as each model gave them; of FEATURES only what tells styles of play apart is needed."""
    own = {model.card.id: _of_whole_rows(model, told[model.card.id], rules.covered) for model in models}
    scores = in_periods(pl.concat(list(own.values())), rules.cut)
    marks = marks_of(scores, rules.cut)
    parts = of_whole_periods(roll_up(scores, infos_of(models), rules.cut, rules.repeated), marks, models, rules)
    if fusion is None:
        fused = combine(parts, able_families(scores, _families(models), rules.cut), rules.together, rules.bots)
    else:
        fused = _fused(fusion, parts, features, rules)
    verdicts = rules.points.verdicts(fused, parts, marks, _about_others(models))
    shown = pl.concat([at_share(own[model.card.id], prior_of(model.card), rules.bots) for model in models])
    return shown.sort("actor", "since", "detector"), verdicts


def _families(models: Sequence[Model]) -> dict[str, Family]:
    """The family and the kind of source of each model, by its id."""
    return {model.card.id: Family(family_of(model.feature.name), _input(model)) for model in models}


def _about_others(models: Sequence[Model]) -> frozenset[str]:
    """The families whose numbers speak of those around an actor."""
    return frozenset(model.feature.name for model in models if load_feature(model.feature.name).about_others)


def _of_whole_rows(model: Model, scores: pl.DataFrame, covered: float) -> pl.DataFrame:
    """SCORES of the periods that are covered as well as those that the model learned from."""
    return whole_enough(scores, least_measured(model, Limits(covered=covered)))


class Verdicts(Protocol):
    """A judgement, however its verdicts are held."""

    @property
    def models(self) -> tuple[Model, ...]:
        """Who judged."""

    @property
    def fusion(self) -> FusionModel | None:
        """What the scores were fused with."""

    @property
    def rules(self) -> VerdictRules:
        """What the verdicts depend on beside."""

    @property
    def points(self) -> OperatingPoints:
        """The operating points."""

    @property
    def caveats(self) -> tuple[str, ...]:
        """What has to stand beside every verdict."""

    @property
    def rows(self) -> int:
        """How many verdicts there are."""

    def pieces(self) -> Iterator[pl.DataFrame]:
        """VERDICTS, a piece at a time; no actor and period is in two."""

    def grounds(self, verdicts: pl.DataFrame) -> Judgement:
        """What some verdicts of one piece rest on."""


def rules_of(
    policy: Config,
    run: RunOptions,
    prevalence: Prevalence,
    fusion: FusionModel | None = None,
    every: int | None = None,
) -> VerdictRules:
    """The rules of a judgement: those of the settings, and of the fusion where there is one."""
    points = OperatingPoints(policy.verdict.watch, policy.verdict.act, policy.verdict.agree, prevalence.bots)
    repeated = policy.chunks.discount if fusion is None else fusion.discount
    cut, together = _cut(fusion, every, policy, run), policy.verdict.discount
    return VerdictRules(cut, points, repeated, together, prevalence.bots, run.limits.covered)


def _cut(fusion: FusionModel | None, every: int | None, policy: Config, run: RunOptions) -> Clock:
    if fusion is not None:
        return fusion.clock
    return Clock(every or parse_span(policy.measure.every), run.time_zone or "UTC")


def fusion_of(models: Path, found: Sequence[Model], every: int | None) -> tuple[FusionModel | None, tuple[str, ...]]:
    """The fusion in force where it can be used, and what has to be said of it."""
    stored = next((one for one in model_registry.in_force(models) if detectors.fuses(one.detector)), None)
    if stored is None:
        return None, ()
    fusion = FusionModel.from_dict(stored_models.load(stored.path))
    wanted, there = {term.model for term in fusion.terms}, {model.card.id for model in found}
    if not wanted & there:
        return None, (f"{fusion.id} was fitted on other models and is not used; `gamewarden fit fusion` fits it anew",)
    if every is not None and every != fusion.clock.every:
        own = span_text(fusion.clock.every)
        return None, (f"{fusion.id} was fitted on periods of {own} and is not used for others",)
    missing = [f"{name} is missing: the fusion does without it" for name in sorted(wanted - there)]
    unheard = [f"{name} is not part of {fusion.id}: it counts in agree alone" for name in sorted(there - wanted)]
    return fusion, (*missing, *unheard)


def _fused(
    fusion: FusionModel, parts: pl.DataFrame, features: Iterable[pl.DataFrame], rules: VerdictRules
) -> pl.DataFrame:
    known = played(features, fusion.styles.rule, rules.cut)
    fused = fusion.score(side_by_side(parts, known)).select(*KEY, "probability", "fpr").drop_nulls("fpr")
    return at_share(fused, prior_of(fusion.card), rules.bots)


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
    What other sources show beside it is measured once and cut by period.

    Raises:
        ModelError: no model judges what the source holds, it is a table without periods, or a model is damaged.
    """
    policy = config or Config()
    supposed = prevalence or Prevalence.of(policy)
    events = source.parted()
    if events is not None:
        found = models_for(load_models(models), source, models)
        _refuse_tables(found, source)
        bench = _Bench(source, models, run, policy, supposed, every, events)
        if _separable(found, bench.rules(found)[0].cut):
            return bench.judge(found, progress)
    return judge(source, models, run, config=policy, every=every, prevalence=supposed, progress=progress)


def _separable(models: Sequence[Model], cut: Clock) -> bool:
    """Whether each period of events can be measured without the others."""
    of_events = [model for model in models if _input(model) == "events"]
    return bool(of_events) and all(feature_of(model.feature).divides.by(cut) for model in of_events)


def periods_of_stretches(
    stretches: Iterable[tuple[int, int]], cut: Clock, beside: Iterable[pl.DataFrame] = ()
) -> list[Span]:
    """The periods that a stretch touches or a row of other tables ends in, the earliest first.

    Whatever lies between stretches is leapt over.
    """
    begins = [periods_of(table, cut)["since"].drop_nulls().unique().cast(pl.Int64) for table in beside]
    numbers = cut.touched([*stretches, *((begin, begin) for found in begins for begin in found)])
    return list(zip(cut.begins(numbers).tolist(), cut.begins(numbers + 1).tolist(), strict=True))


@dataclass(frozen=True)
class Lean:
    """The verdicts of one run, without the numbers they rest on: those are measured again where they are asked for."""

    compact: Compact
    models: tuple[Model, ...]
    notes: tuple[str, ...]
    caveats: tuple[str, ...]
    fusion: FusionModel | None
    rules: VerdictRules
    _view: PartedView

    @property
    def points(self) -> OperatingPoints:
        """The operating points."""
        return self.rules.points

    @property
    def verdicts(self) -> pl.DataFrame:
        """VERDICTS: one row per actor and period."""
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
        features = self._view.features(span, verdicts["actor"].to_list())
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
    events: PartedEvents

    def rules(self, found: Sequence[Model]) -> tuple[VerdictRules, FusionModel | None, tuple[str, ...]]:
        """The rules, the fusion, and what has to be said of it."""
        fusion, why_not = fusion_of(self.models, found, self.every)
        return rules_of(self.policy, self.run, self.supposed, fusion, self.every), fusion, why_not

    def judge(self, found: Sequence[Model], progress: Progress) -> Lean:
        """All verdicts; a model that turns out to be a stranger here is left out, and the others judge again."""
        view = PartedView(self.events, tuple(found), self.run.limits, beside=self._beside(found, progress))
        refusals = {name: why for name, met in view.meetings.items() if met and (why := met.refusal(view.limits))}
        while True:
            able = [model for model in found if model.card.id not in refusals]
            if not able:
                raise ModelError(f"{self.source.name}: {'; '.join(_in_order(found, refusals))}")
            _refuse_tables(able, self.source)
            run = self._run(view if len(able) == len(found) else replace(view, models=tuple(able)), progress)
            strange = {name: why for name, far in run.far.items() if (why := far.refusal(name, view.limits))}
            if not strange:
                return self._lean(run, _in_order(found, refusals), zone_notes(found, self.run.time_zone))
            refusals |= strange

    def _beside(self, found: Sequence[Model], progress: Progress) -> dict[str, Table]:
        """FEATURES of all that is no event, by recipe: measured once."""
        others = {repr(model.feature): model.feature for model in found if _input(model) != "events"}
        return {
            key: rows_to_judge(feature_of(recipe), self.source, self.run, progress) for key, recipe in others.items()
        }

    def _run(self, view: "PartedView", progress: Progress) -> "_Run":
        rules, fusion, why_not = self.rules(view.models)
        run = _Run(view, rules, fusion, why_not)
        beside = [view.beside[key].frame for key in view.recipes if key in view.beside]
        for span in periods_of_stretches(self.events.stretches, rules.cut, beside):
            run.take(span, progress)
        return run

    def _lean(self, run: "_Run", refusals: Sequence[str], zones: Sequence[str]) -> Lean:
        models, points, met = run.view.models, run.rules.points, run.view.meetings
        caveats = {
            one.card.id: caveats_of(one, met[one.card.id], run.partly[one.card.id], run.far[one.card.id])
            for one in models
        }
        listed = self.policy.rank.probability
        probable = [piece.filter(pl.col("probability") >= listed) for piece in run.verdicts.pieces()]
        everything = pl.concat([pl.DataFrame(schema=dict(VERDICTS.columns)), *probable])
        notes = (
            *self.events.notes,
            *run.notes(zones),
            *run.why_not,
            *run.unranked.values(),
            self.supposed.sentence,
            *beside_the_list(everything, points, listed),
            *reach_of(models, run.fusion, points),
        )
        beside = (*doubted(self.models, models, run.spans), *refusals, *said_once(caveats))
        return Lean(run.verdicts, models, notes, beside, run.fusion, run.rules, run.view)


def _in_order(models: Sequence[Model], refusals: Mapping[str, str]) -> list[str]:
    return [refusals[model.card.id] for model in models if model.card.id in refusals]


@dataclass
class _Run:
    """One pass over the periods, and all that is kept of it."""

    view: PartedView
    rules: VerdictRules
    fusion: FusionModel | None
    why_not: tuple[str, ...]
    verdicts: Compact = field(default_factory=Compact)
    far: dict[str, Far] = field(default_factory=dict)
    partly: dict[str, Partly] = field(default_factory=dict)
    usage: dict[str, Notes] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)  # of periods that are not measured, by feature
    unranked: dict[str, str] = field(default_factory=dict)
    spans: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"since": TIME, "until": TIME}))
    _names: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"actor": pl.String}))
    _streaks: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={"actor": pl.String, "before": pl.Int64})
    )

    def __post_init__(self) -> None:
        self.far = {model.card.id: Far() for model in self.view.models}
        self.partly = {model.card.id: Partly() for model in self.view.models}
        self.said = {key: [] for key in self.view.recipes}
        for model in self.view.models:
            if repr(model.feature) in self.view.beside:
                self._weigh(model, self.view.beside[repr(model.feature)].frame)

    def take(self, span: Span, progress: Progress) -> None:
        """Judge one period."""
        tables = self._tables(span, progress)
        features = {model.card.id: tables[repr(model.feature)] for model in self.view.models}
        for model in self.view.models:
            if repr(model.feature) not in self.view.beside:
                self._weigh(model, features[model.card.id])
                self._meet(features[model.card.id])
        scores, verdicts = judged(features, self.view.models, self.fusion, self.rules)
        for model in self.view.models:
            for line in unranked(scores, [model], self.rules.cut):
                self.unranked.setdefault(model.card.id, line)
        self.spans = pl.concat([self.spans, scores.select("since", "until").unique()]).unique()
        if verdicts.height:
            self.verdicts.add(self._with_streaks(verdicts))

    def notes(self, zones: Sequence[str]) -> tuple[str, ...]:
        """What the sources and the features have to say, and how far the names of several sources agree."""
        lines = (line for key in self.view.recipes for line in (*self._said_of(key), *zones))
        return (*dict.fromkeys(lines), *names_in_common(self.view.models, self._met()))

    def _said_of(self, key: str) -> tuple[str, ...]:
        if key in self.view.beside:
            return self.view.beside[key].notes
        return (*self.view.recipes[key].warnings, *self._used(key), *self.said[key])

    def _meet(self, rows: pl.DataFrame) -> None:
        """Remember who was there, where the names of another source are to be compared."""
        if self.view.beside:
            self._names = pl.concat([self._names, rows.select("actor")]).unique()

    def _met(self) -> dict[str, pl.DataFrame]:
        """Who was there, by the model's id."""
        beside = {key: told.frame for key, told in self.view.beside.items()}
        return {model.card.id: beside.get(repr(model.feature), self._names) for model in self.view.models}

    def _tables(self, span: Span, progress: Progress) -> dict[str, pl.DataFrame]:
        """FEATURES of a period by recipe; of rows without a period those of whoever was there."""
        tables = {key: self._table(key, span, progress) for key in self.view.recipes}
        there = pl.concat([table.select("actor") for table in tables.values() if not without_periods(table)])
        return {
            key: table.join(there, on="actor", how="semi", maintain_order="left") if without_periods(table) else table
            for key, table in tables.items()
        }

    def _table(self, key: str, span: Span, progress: Progress) -> pl.DataFrame:
        if key in self.view.beside:
            return self.view.rows_beside(key, span)
        found = self.view.measured(key, span, progress=progress)
        told = self.view.told(key, found.frame)
        self.usage[key] = self.usage[key] + found.notes if key in self.usage else found.notes
        self.said[key] += told.notes
        return told.frame

    def _used(self, key: str) -> tuple[str, ...]:
        return self.usage[key].sentences() if key in self.usage else ()

    def _weigh(self, model: Model, rows: pl.DataFrame) -> None:
        least = least_measured(model, self.view.limits)
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
