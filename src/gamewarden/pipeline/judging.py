"""From a source and a shelf of models to one verdict an actor and period, with all it rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from gamewarden.config import Config
from gamewarden.contracts import Model, Progress, no_progress
from gamewarden.pipeline.scoring import load_models, measure_for, seeing
from gamewarden.pipeline.sources import Reading
from gamewarden.spans import parse_span, span_text
from gamewarden.store import models as stored_models
from gamewarden.store import shelf
from gamewarden.tables import EVIDENCE, check
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.combining import combine
from gamewarden.verdicts.fusion_model import NAME as FUSION
from gamewarden.verdicts.fusion_model import FusionModel
from gamewarden.verdicts.periods import KEY, Cut, Speaker, periods_of, played, roll_up, side_by_side
from gamewarden.verdicts.points import CONSERVATIVE, NEITHER, PROGRESSIVE, Points


@dataclass(frozen=True)
class Judgement:
    """The verdicts of one run, and what they rest on."""

    verdicts: pl.DataFrame  # VERDICTS: one row an actor and period
    scores: pl.DataFrame  # SCORES of every model and row
    features: Mapping[str, pl.DataFrame]  # the FEATURES each model scored, by the model's id
    evidence: pl.DataFrame  # EVIDENCE of the scores behind verdicts that reach an operating point
    models: tuple[Model, ...]
    remarks: tuple[str, ...] = ()
    fusion: FusionModel | None = None  # what the scores were fused with; None where alarms were only combined
    points: Points = field(default=Points())


def judge(
    source: Path,
    models: Path,
    reading: Reading,
    *,
    config: Config | None = None,
    every: int | None = None,
    progress: Progress = no_progress,
) -> Judgement:
    """One verdict an actor and period from the models in force that can see this source.

    The fusion in force is used where it was fitted on these models and periods; otherwise the alarms are combined.

    Raises:
        ModelError: no model judges what the source holds, or one is damaged.
    """
    policy = config or Config()
    found = seeing(load_models(models), source, models)
    measured = measure_for(found, source, reading, progress)
    features = {name: told.frame for name, told in measured.items()}
    scores = pl.concat([model.score(features[model.card.id]) for model in found]).sort("actor", "since", "detector")
    fusion, why_not = _fusion_of(models, found, every)
    cut = _cut(fusion, every, policy, reading)
    points = Points(policy.verdict.progressive, policy.verdict.conservative, policy.verdict.agree)
    discount = policy.chunks.discount if fusion is None else float(fusion.feature.options["discount"])
    parts = roll_up(scores, speakers_of(found), cut, discount)
    fused = combine(parts, policy.verdict.discount) if fusion is None else _fused(fusion, parts, features, cut)
    verdicts = points.verdicts(fused, parts, periods_of(scores, cut))
    return Judgement(
        verdicts=verdicts,
        scores=scores,
        features=features,
        evidence=_evidence(found, features, verdicts, points, cut),
        models=tuple(found),
        remarks=(*dict.fromkeys(line for told in measured.values() for line in told.remarks), *why_not),
        fusion=fusion,
        points=points,
    )


def speakers_of(models: Sequence[Model]) -> dict[str, Speaker]:
    """What has to be known of each model before its scores are added to others', by the model's id."""
    return {model.card.id: Speaker(model.card.detector, model.feature.name, prior_of(model.card)) for model in models}


def judgement_in_short(judgement: Judgement) -> pl.DataFrame:
    """The verdicts for a person: the most suspect first, with the operating point each reaches."""
    verdicts = judgement.verdicts.with_columns(judgement.points.reached(judgement.verdicts))
    order = pl.col("point").replace_strict({CONSERVATIVE: 0, PROGRESSIVE: 1, NEITHER: 2}, default=3)
    return verdicts.sort(order, "alarm", "actor", "since", nulls_last=True)


def judgement_summary(judgement: Judgement) -> tuple[str, ...]:
    """How many periods reach which point, and how the detectors were fused."""
    point = judgement.points.reached(judgement.verdicts)
    count = {name: int((point == name).sum()) for name in (CONSERVATIVE, PROGRESSIVE)}
    how = (
        "alarms were combined without labels, valid whatever the detectors have in common"
        if judgement.fusion is None
        else f"fused by {judgement.fusion.id}"
    )
    reached = (
        f"Of {point.len():,} periods {count[CONSERVATIVE]:,} reach the conservative point, {count[PROGRESSIVE]:,} more "
        f"the progressive one, and {point.null_count():,} have too little evidence to say."
    )
    return (f"{len(judgement.models)} models; {how}.", reached)


def _cut(fusion: FusionModel | None, every: int | None, policy: Config, reading: Reading) -> Cut:
    if fusion is not None:
        return Cut(fusion.feature.options["every"], fusion.feature.options["zone"])
    return Cut(every or parse_span(policy.measure.every), reading.zone or "UTC")


def _fusion_of(models: Path, found: Sequence[Model], every: int | None) -> tuple[FusionModel | None, tuple[str, ...]]:
    """The fusion in force where it can be used, and what has to be said of it."""
    stored = next((one for one in shelf.in_force(models) if one.detector == FUSION), None)
    if stored is None:
        return None, ()
    fusion = FusionModel.from_dict(stored_models.load(stored.path))
    wanted, there = {voice.model for voice in fusion.voices}, {model.card.id for model in found}
    if not wanted & there:
        return None, (f"{fusion.id} was fitted on other models and is not used; `gamewarden fit fusion` fits it anew",)
    if every is not None and every != fusion.feature.options["every"]:
        own = span_text(fusion.feature.options["every"])
        return None, (f"{fusion.id} was fitted on periods of {own} and is not used for others",)
    missing = [f"{name} is missing: the fusion does without it" for name in sorted(wanted - there)]
    unheard = [f"{name} is not part of {fusion.id}: it counts in agree alone" for name in sorted(there - wanted)]
    return fusion, (*missing, *unheard)


def _fused(fusion: FusionModel, parts: pl.DataFrame, features: Mapping[str, pl.DataFrame], cut: Cut) -> pl.DataFrame:
    known = played(features.values(), fusion.styles.rule, cut)
    return fusion.fuse(side_by_side(parts, known)).drop_nulls("alarm")


def _evidence(
    models: Sequence[Model], features: Mapping[str, pl.DataFrame], verdicts: pl.DataFrame, points: Points, cut: Cut
) -> pl.DataFrame:
    """EVIDENCE of every row behind a verdict that reaches an operating point."""
    reached = verdicts.filter(points.reached(verdicts).is_in([CONSERVATIVE, PROGRESSIVE])).select(KEY)
    parts = []
    for model in models:
        table = features[model.card.id]
        behind = periods_of(table, cut).with_row_index("row").join(reached, on=KEY, how="semi")["row"].sort()
        parts.append(model.explain(table[behind]))
    nothing = check(pl.DataFrame(schema=dict(EVIDENCE.columns)), EVIDENCE, "judge")
    return pl.concat([nothing, *parts])
