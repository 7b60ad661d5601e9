"""One log, one set of labels, several splits: measured once, searched for leaks, judged side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.contracts import Detector, EventStream, Feature, Progress, no_progress
from gamewarden.coverage import COVERED
from gamewarden.errors import FitError
from gamewarden.evaluation.leaks import left_out_kinds, refuse_future, sanction_kinds, telling_kinds
from gamewarden.evaluation.plans import TIME, Ground
from gamewarden.evaluation.side_by_side import ALL, SideBySide, as_values, compare
from gamewarden.evaluation.splits import middle_of
from gamewarden.evaluation.ties import NO_TIES, Seen, seen_in, ties_of
from gamewarden.pipeline.measuring import measured
from gamewarden.store.models import stored
from gamewarden.store.results import save_results
from gamewarden.streams import within, without
from gamewarden.tables import Table
from gamewarden.verdicts.meeting import Limits
from gamewarden.verdicts.saying import only_whole


@dataclass(frozen=True)
class Splitting:
    """Which splits, and what they go by."""

    names: tuple[str, ...]
    group: str | None
    folds: int
    prevalence: float
    cut: datetime | None = None
    limits: Limits = field(default=Limits())


@dataclass(frozen=True)
class Compared:
    """The results side by side, the features they rest on, and what has to be said."""

    result: SideBySide
    seeing: tuple[Detector, ...]  # with their feature frozen
    measured: Table
    stream: EventStream | None = None  # what was measured, where it were events


def compare_splits(
    seeing: Sequence[Detector],
    events: EventStream,
    labels: pl.DataFrame,
    splitting: Splitting,
    progress: Progress = no_progress,
) -> Compared:
    """Measure without what is only there because of a label, look for leaks, and judge under every split.

    Raises:
        FitError: a split cannot be made, or a feature knows the future.
    """
    seen = seen_in(events, seeing[0].feature.entity)
    telling = sanction_kinds(seen.kinds["kind"].unique())
    stream: EventStream = without(events, telling) if telling else events
    frozen = seeing[0].feature.learn(stream)
    told = only_whole(measured(frozen, stream), splitting.limits)
    ground = Ground(told.frame, labels, ties_of(seen), splitting.group, splitting.cut, splitting.folds)
    if {TIME, ALL} & set(splitting.names):
        _refuse_future(frozen, stream, ground)
    result = compare(seeing, ground, splitting.names, prevalence=splitting.prevalence, progress=progress)
    warnings = (
        *left_out_kinds(telling),
        *telling_kinds(_others(seen, telling), ground.labelled().rows),
        *result.warnings,
    )
    return Compared(replace(result, warnings=warnings), tuple(seeing), told, stream)


def compare_rows(
    seeing: Sequence[Detector],
    told: Table,
    labels: pl.DataFrame,
    splitting: Splitting,
    progress: Progress = no_progress,
) -> Compared:
    """Judge what was measured from packets or messages: no event shows ties there, or what came because of a label.

    Raises:
        FitError: a split cannot be made.
    """
    ground = Ground(told.frame, labels, NO_TIES, splitting.group, splitting.cut, splitting.folds)
    result = compare(seeing, ground, splitting.names, prevalence=splitting.prevalence, progress=progress)
    return Compared(result, tuple(seeing), told)


def keep_results(compared: Compared, labels: pl.DataFrame, directory: Path) -> tuple[str, ...]:
    """Put the results beside the models that were made of this recipe, log and labels; say which were and were not.

    A model is known by its id, which the same recipe and data give again: results can lie beside no other model.

    Raises:
        ModelError: there is no such directory.
        WriteError: it cannot be written.
    """
    there = {model.id for model in stored(directory)}
    if compared.stream is None:
        return ("Results are kept beside models of events only, whose ids this evaluation can make again.",)
    lines = []
    for detector in compared.seeing:
        made = _model_id(detector, compared.stream, compared, labels)
        if made in there:
            lines.append(
                f"The results are kept in {save_results(directory, made, as_values(compared.result, detector))}"
            )
        else:
            lines.append(
                f"{directory} has no model of this recipe, log and labels ({made}), so no results of {detector.name} "
                f"are kept; `gamewarden fit {detector.name} … --to {directory}` makes it"
            )
    return tuple(lines)


def _model_id(detector: Detector, stream: EventStream, compared: Compared, labels: pl.DataFrame) -> str:
    frozen = detector.feature.learn(stream)
    same = frozen.to_dict() == compared.seeing[0].feature.learn(stream).to_dict()
    table = compared.measured.frame if same else frozen.measure(stream)
    recipe: Any = detector
    return str(replace(recipe, feature=frozen).fit(table, labels).card.id)


def _refuse_future(frozen: Feature, stream: EventStream, ground: Ground) -> None:
    try:
        cut = ground.cut or middle_of(ground.labelled().rows)
    except FitError:
        return  # the split itself will say that there is no later period
    seen = ground.features.drop(COVERED, strict=False)  # a source's cover is no feature, and a cut source ends earlier
    refuse_future(seen, frozen.measure(within(stream, until=cut)), cut)


def _others(seen: Seen, removed: Sequence[str]) -> pl.DataFrame:
    return seen.kinds.filter(~pl.col("kind").is_in(removed))
