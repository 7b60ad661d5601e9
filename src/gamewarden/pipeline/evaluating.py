"""How good detectors are on actors they have not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import polars as pl

from gamewarden.config import Config
from gamewarden.contracts import Detector, Feature, Progress, no_progress
from gamewarden.detectors import SEES
from gamewarden.errors import ConfigError
from gamewarden.evaluation.cross_validation import Evaluation, distinct_units
from gamewarden.evaluation.cross_validation import evaluate as cross_validate
from gamewarden.evaluation.leave_pair_out import MOST_PAIRS, ByProbability, Learns, PairsHeldOut, leave_pair_out
from gamewarden.pipeline.fitting import detector_recipe
from gamewarden.pipeline.sources import Reading, Watched, open_source, remarks_of
from gamewarden.readers.small import read_labels

FOLDS, LEAVE_PAIR_OUT = "folds", "leave-pair-out"
# What each protocol tries where no detector is named: the family it was published for.
FEATURE_TRIED = {FOLDS: "self-similarity", LEAVE_PAIR_OUT: "actions"}


@dataclass(frozen=True)
class Protocol:
    """How an evaluation splits and states its results."""

    group: str | None
    folds: int
    prevalence: float
    name: str = FOLDS
    pairs: int = MOST_PAIRS

    @classmethod
    def of(
        cls,
        config: Config,
        *,
        group: str | None,
        folds: int | None,
        prevalence: float | None,
        name: str = FOLDS,
        pairs: int | None = None,
    ) -> Self:
        """What the command line asks for, and warden.toml where it is silent."""
        return cls(
            group,
            config.evaluate.folds if folds is None else folds,
            config.evaluate.prevalence if prevalence is None else prevalence,
            name,
            MOST_PAIRS if pairs is None else pairs,
        )


@dataclass(frozen=True)
class Evaluated:
    """How good the detectors are, and the features that were used."""

    result: Evaluation | PairsHeldOut
    measured: pl.DataFrame
    labels: pl.DataFrame
    remarks: tuple[str, ...]


def detectors_to_try(names: Sequence[str], protocol: Protocol) -> tuple[str, ...]:
    """The detectors of an evaluation: those named, or all that see what the protocol was published for.

    Raises:
        ConfigError: one is unknown, or they do not see the same feature.
    """
    for name in names:
        if name not in SEES:
            raise ConfigError(f"evaluate: {name!r} cannot be tried on a log; choose among {', '.join(SEES)}")
    tried = tuple(names) or tuple(name for name, seen in SEES.items() if seen == FEATURE_TRIED[protocol.name])
    if len({SEES[name] for name in tried}) > 1:
        sees = ", ".join(f"{name} sees {SEES[name]}" for name in tried)
        raise ConfigError(f"evaluate: {sees}; evaluate those of one feature at a time")
    return tried


def evaluate(
    feature: Feature,
    source: Path,
    labels: Path,
    protocol: Protocol,
    *,
    tried: Sequence[str] = (),
    reading: Reading,
    progress: Progress = no_progress,
) -> Evaluated:
    """Try detectors that see this feature on actors or groups they have not seen."""
    told = read_labels(labels, reading.zone)
    if protocol.group is not None and protocol.group not in told.frame.columns:
        raise ConfigError(
            f"{labels}: has no column {protocol.group!r} to group by; it has {', '.join(told.frame.columns)}"
        )
    events = open_source(source, reading)
    seeing = [
        detector_recipe(name, feature, {})
        for name, seen in SEES.items()
        if seen == feature.name and name in (tried or SEES)
    ][::-1]
    measured = seeing[0].feature.measure(Watched(events, progress))
    run = _pairs_held_out if protocol.name == LEAVE_PAIR_OUT else _folds_held_out
    result = run(seeing, measured, told.frame, protocol)
    return Evaluated(result, measured, told.frame, (*remarks_of(events), *told.notes, *result.notes))


def _folds_held_out(
    seeing: Sequence[Detector], measured: pl.DataFrame, labels: pl.DataFrame, protocol: Protocol
) -> Evaluation:
    groups = None
    if protocol.group is not None:
        groups = labels.select("actor", group=pl.col(protocol.group).cast(pl.String))
    return cross_validate(seeing, measured, labels, groups=groups, folds=protocol.folds, prevalence=protocol.prevalence)


def _pairs_held_out(
    seeing: Sequence[Detector], measured: pl.DataFrame, labels: pl.DataFrame, protocol: Protocol
) -> PairsHeldOut:
    grouped = labels.with_columns(group=pl.col(protocol.group).cast(pl.String)) if protocol.group else labels
    methods = [cast("Learns", one) if hasattr(one, "learn") else ByProbability(one) for one in seeing]
    return leave_pair_out(methods, measured, grouped, most=protocol.pairs)


def evaluation_in_short(result: Evaluation | PairsHeldOut) -> pl.DataFrame:
    """The columns of an evaluation that a person looks at first, the interval as one text."""
    summary = result.summary
    if isinstance(result, PairsHeldOut):
        interval = pl.format("{} – {}", pl.col("mcc_low").round(3), pl.col("mcc_high").round(3)).alias("95 %")
        return summary.select("detector", "pairs", "bots", "humans", "mcc", interval, "recall", "fpr", "unsure")
    interval = pl.format("{} – {}", pl.col("auc_low").round(3), pl.col("auc_high").round(3)).alias("95 %")
    wanted = ("tpr_at_1pct", "tpr_at_0_1pct", "precision_at_1pct", "prevalence")
    return distinct_units(summary).select("detector", "unit", "bots", "humans", "auc", interval, *wanted)


def draw_evaluation(evaluated: Evaluated, path: Path) -> None:
    """The ROC curves as a picture.

    Raises:
        ConfigError: the protocol knows decisions only, and no ranking to draw.
    """
    from gamewarden.evaluation.plots import plot_roc

    if isinstance(evaluated.result, PairsHeldOut):
        raise ConfigError("evaluate: leave-pair-out counts decisions, so there is no ROC curve; leave --plot out")
    plot_roc(evaluated.result.scores, path)
