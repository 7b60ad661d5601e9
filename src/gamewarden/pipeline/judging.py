"""From a source and a shelf of models to one verdict an actor and period, with all it rests on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from gamewarden import detectors
from gamewarden.config import Config
from gamewarden.contracts import Model, Progress, Source, no_progress
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.errors import ModelError
from gamewarden.features import load as load_feature
from gamewarden.pipeline.doubting import doubted
from gamewarden.pipeline.measuring import least_measured
from gamewarden.pipeline.reaching import reach_of
from gamewarden.pipeline.scoring import hear, load_models, models_for
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.spans import parse_span, span_text
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.combining import combine
from gamewarden.verdicts.grounds import evidence_behind
from gamewarden.verdicts.meeting import Limits, whole_enough
from gamewarden.verdicts.periods import KEY, Clock, infos_of, marks_of, played, roll_up, side_by_side
from gamewarden.verdicts.points import CONSERVATIVE, PROGRESSIVE, Points
from gamewarden.verdicts.prevalence import Prevalence, at_share
from gamewarden.verdicts.reach import beside_the_list
from gamewarden.verdicts.rules import Rules
from gamewarden.verdicts.wholes import of_whole_periods, unranked


@dataclass(frozen=True)
class Judgement:
    """The verdicts of one run, and what they rest on."""

    verdicts: pl.DataFrame  # VERDICTS: one row an actor and period
    scores: pl.DataFrame  # SCORES of every model and row, at the supposed share of bots
    features: Mapping[str, pl.DataFrame]  # the FEATURES each model scored, by the model's id
    evidence: pl.DataFrame  # EVIDENCE of the scores behind verdicts that reach an operating point
    models: tuple[Model, ...]
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()  # what has to stand beside every verdict
    fusion: FusionModel | None = None  # what the scores were fused with; None where alarms were only combined
    rules: Rules = field(default=Rules())

    @property
    def points(self) -> Points:
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
    """One verdict an actor and period from the models in force that can see this source.

    The fusion in force is used where it was fitted on these models and periods; otherwise the alarms are combined.

    Raises:
        ModelError: no model judges what the source holds, it is a table without periods, or a model is damaged.
    """
    policy = config or Config()
    supposed = prevalence or Prevalence.of(policy)
    found = models_for(load_models(models), source, models)
    _refuse_tables(found, source)
    heard = hear(found, source, run, progress)
    found, features = list(heard.models), heard.features
    fusion, why_not = fusion_of(models, found, every)
    rules = rules_of(policy, run, supposed, fusion, every)
    cut, points = rules.cut, rules.points
    scores, verdicts = judged(features, found, fusion, rules)
    reached = verdicts.filter(points.reached(verdicts).is_in([CONSERVATIVE, PROGRESSIVE]))
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
    """A verdict is about a period, and a row of an operator's own table has none."""
    for model in models:
        if load_feature(model.feature.name).input == "table":
            raise ModelError(
                f"judge: {source.name} is a table whose rows belong to no period, and {model.card.id} judges rows; use "
                "`gamewarden score` for their probabilities and `gamewarden explain ACTOR` for the reasons"
            )


def judged(
    features: Mapping[str, pl.DataFrame], models: Sequence[Model], fusion: FusionModel | None, rules: Rules
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """SCORES of every row, and VERDICTS of every actor and period; a period's is the same alone as among others.

    Evidence is weighed as each model gave it, so that neither an alarm nor an operating point depends on the supposed
    share of bots; what is shown supposes it.
    """
    own = {model.card.id: _whole_scores(model, features[model.card.id], rules.covered) for model in models}
    scores = pl.concat(list(own.values()))
    marks = marks_of(scores, rules.cut)
    parts = of_whole_periods(roll_up(scores, infos_of(models), rules.cut, rules.repeated), marks, models, rules)
    fused = combine(parts, rules.together, rules.bots) if fusion is None else _fused(fusion, parts, features, rules)
    verdicts = rules.points.verdicts(fused, parts, marks)
    shown = pl.concat([at_share(own[model.card.id], prior_of(model.card), rules.bots) for model in models])
    return shown.sort("actor", "since", "detector"), verdicts


def _whole_scores(model: Model, features: pl.DataFrame, covered: float) -> pl.DataFrame:
    """SCORES of the periods that are covered as well as those that the model learned from."""
    least = least_measured(model, Limits(covered=covered))
    return whole_enough(model.score(features), least)


class Verdicts(Protocol):
    """A judgement, however its verdicts are held."""

    @property
    def models(self) -> tuple[Model, ...]:
        """Who judged."""

    @property
    def fusion(self) -> FusionModel | None:
        """What the scores were fused with."""

    @property
    def rules(self) -> Rules:
        """What the verdicts depend on beside."""

    @property
    def points(self) -> Points:
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
) -> Rules:
    """The rules of a judgement: those of the settings, and of the fusion where there is one."""
    points = Points(policy.verdict.progressive, policy.verdict.conservative, policy.verdict.agree)
    repeated = policy.chunks.discount if fusion is None else fusion.discount
    cut, together = _cut(fusion, every, policy, run), policy.verdict.discount
    return Rules(cut, points, repeated, together, prevalence.bots, run.limits.covered)


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
    fusion: FusionModel, parts: pl.DataFrame, features: Mapping[str, pl.DataFrame], rules: Rules
) -> pl.DataFrame:
    known = played(features.values(), fusion.styles.rule, rules.cut)
    fused = fusion.score(side_by_side(parts, known)).select(*KEY, "probability", "alarm").drop_nulls("alarm")
    return at_share(fused, prior_of(fusion.card), rules.bots)
