"""How good detectors are on actors they have not seen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from gamewarden import detectors, features
from gamewarden.config import Config
from gamewarden.contracts import Detector, Feature, Progress, Source, no_progress
from gamewarden.errors import ConfigError
from gamewarden.evaluation.leave_pair_out import MOST_PAIRS, PairsHeldOut, leave_pair_out
from gamewarden.evaluation.plans import ACTOR, FARM
from gamewarden.evaluation.side_by_side import SideBySide
from gamewarden.evaluation.summaries import distinct_units
from gamewarden.intervals import share_interval
from gamewarden.learning.label_sources import without_model_made
from gamewarden.pipeline.fitting import detector_recipe
from gamewarden.pipeline.scoring import rows_to_judge
from gamewarden.pipeline.sources import USUAL, RunOptions, Table
from gamewarden.pipeline.splitting import Splitting, compare_rows, compare_splits, keep_results
from gamewarden.readers.logs.operator_tables import Labels, OwnTable, named, read_labels
from gamewarden.streams import WatchedEvents
from gamewarden.verdicts.prevalence import Prevalence

FOLDS, LEAVE_PAIR_OUT = "folds", "leave-pair-out"
# What each protocol tries where no detector is named: the family it was published for.
FEATURE_TRIED = {FOLDS: "self-similarity", LEAVE_PAIR_OUT: "actions"}


@dataclass(frozen=True)
class Protocol:
    """How an evaluation splits and states its results."""

    group: str | None
    folds: int
    prevalence: Prevalence
    name: str = FOLDS
    pairs: int = MOST_PAIRS
    splits: tuple[str, ...] = ()  # none named: by actor, or by group where groups are given
    cut: datetime | None = None

    @classmethod
    def of(
        cls,
        config: Config,
        *,
        group: str | None,
        folds: int | None,
        prevalence: Prevalence | None = None,
        name: str = FOLDS,
        pairs: int | None = None,
        splits: Sequence[str] = (),
        cut: datetime | None = None,
    ) -> Self:
        """What the command line asks for, and warden.toml where it is silent.

        Raises:
            ConfigError: pairs are to be held out, and splits of folds are asked for too.
        """
        if name == LEAVE_PAIR_OUT and (splits or cut):
            raise ConfigError("evaluate: leave-pair-out holds out pairs and nothing else; leave --split and --cut out")
        return cls(
            group,
            config.evaluate.folds if folds is None else folds,
            prevalence or Prevalence.of(config),
            name,
            MOST_PAIRS if pairs is None else pairs,
            tuple(splits),
            cut,
        )

    def splitting(self, labels: pl.DataFrame) -> Splitting:
        """The splits of folds."""
        grouped = self.group is not None or labels["group"].null_count() < labels.height
        names = self.splits or ((FARM,) if grouped else (ACTOR,))
        return Splitting(names, self.group, self.folds, self.prevalence.bots, self.cut)


@dataclass(frozen=True)
class Evaluated:
    """How good the detectors are, and the features that were used."""

    result: SideBySide | PairsHeldOut
    measured: pl.DataFrame
    labels: pl.DataFrame
    notes: tuple[str, ...]


def detectors_to_try(names: Sequence[str], protocol: Protocol) -> tuple[str, ...]:
    """The detectors of an evaluation: those named, or all that see what the protocol was published for.

    Raises:
        ConfigError: one is unknown or learns from tables, or they do not see the same feature.
    """
    for name in names:
        if name not in detectors.of_sources():
            raise ConfigError(
                f"evaluate: {name!r} cannot be tried on a log; choose among {', '.join(detectors.of_sources())}"
            )
        if features.load(detectors.feature_of(name)).input == "table":
            raise ConfigError(
                f"evaluate: {name} learns from a table that has its own labels; `gamewarden fit {name} FILE --actor … "
                "--label … --to DIR` prints how good it is on held-out rows"
            )
    tried = tuple(names) or detectors.of_feature(FEATURE_TRIED[protocol.name])
    if len({detectors.feature_of(name) for name in tried}) > 1:
        sees = ", ".join(f"{name} sees {detectors.feature_of(name)}" for name in tried)
        raise ConfigError(f"evaluate: {sees}; evaluate those of one feature at a time")
    return tried


def evaluate(
    feature: Feature,
    source: Source,
    labels: OwnTable,
    protocol: Protocol,
    *,
    tried: Sequence[str] = (),
    run: RunOptions = USUAL,
    models: Path | None = None,
    progress: Progress = no_progress,
) -> Evaluated:
    """Try detectors that see this feature on those they have not seen, and keep the results beside their models."""
    told = read_labels(labels, run.time_zone)
    if protocol.group is not None and protocol.group not in told.frame.columns:
        whose, there = named(labels, "labels"), ", ".join(told.frame.columns)
        raise ConfigError(f"{whose}: has no column {protocol.group!r} to group by; it has {there}")
    seeing = [
        detector_recipe(name, feature, {}).on_clock(run.time_zone)
        for name in detectors.of_feature(feature.name)
        if name in (tried or detectors.names())
    ][::-1]
    if protocol.name == LEAVE_PAIR_OUT:
        seen = rows_to_judge(seeing[0].feature, source, run, progress)
        return _pairs(seeing, seen, told, protocol)
    splitting = replace(protocol.splitting(told.frame), limits=run.limits)
    if feature.input == "events":
        events = WatchedEvents(source.events(), progress)
        compared = compare_splits(seeing, events, told.frame, splitting)
    else:
        seen = rows_to_judge(seeing[0].feature, source, run, progress)
        compared = compare_rows(seeing, seen, told.frame, splitting)
    result = compared.result
    kept = () if models is None else keep_results(compared, told.frame, models)
    said = (*compared.measured.notes, *told.notes, *(f"WARNING: {line}" for line in result.warnings))
    notes = (*said, *result.notes, *_at_cuts(result, seeing), *kept)
    return Evaluated(result, compared.measured.frame, told.frame, notes)


def _at_cuts(result: SideBySide, seeing: Sequence[Detector]) -> Iterator[str]:
    """How the held-out periods fall at the cut of each detector that weighs accusing a human against missing a bot."""
    for detector in seeing:
        if (cut := detector.cut) is not None:
            rows = result.scores.filter(detector=detector.name)
            fpr, recall = (_share(rows.filter(bot=bot), cut) for bot in (False, True))
            yield f"{detector.name} at the cut of {cut:.3f}: FPR {fpr}, recall {recall}."


def _share(rows: pl.DataFrame, cut: float) -> str:
    """The share of rows at or beyond the cut, with the interval that their groups allow."""
    if not rows.height:
        return "undefined"
    beyond = (rows["probability"] >= cut).to_numpy()
    interval = share_interval(beyond, rows["group"].to_numpy().astype(np.str_))
    said = "so few allow no interval" if interval is None else f"95 %: {interval[0]:.3f}–{interval[1]:.3f}"
    return f"{beyond.mean():.3f} ({said})"


def _pairs(seeing: Sequence[Detector], seen: Table, told: Labels, protocol: Protocol) -> Evaluated:
    known = without_model_made(told.frame, [detector.name for detector in seeing])
    result = _pairs_held_out(seeing, seen.frame, known.frame, protocol)
    left_out = (f"Left out, {reason}: {count}." for reason, count in known.left_out.items())
    return Evaluated(result, seen.frame, told.frame, (*seen.notes, *told.notes, *left_out, *result.notes))


def _pairs_held_out(
    seeing: Sequence[Detector], measured: pl.DataFrame, labels: pl.DataFrame, protocol: Protocol
) -> PairsHeldOut:
    grouped = labels.with_columns(group=pl.col(protocol.group).cast(pl.String)) if protocol.group else labels
    return leave_pair_out(seeing, measured, grouped, most=protocol.pairs)


def evaluation_in_short(result: SideBySide | PairsHeldOut) -> pl.DataFrame:
    """The columns of an evaluation that a person looks at first, the interval as one text."""
    summary = result.summary
    if isinstance(result, PairsHeldOut):
        interval = pl.format("{} – {}", pl.col("mcc_low").round(3), pl.col("mcc_high").round(3)).alias("95 %")
        return summary.select("detector", "pairs", "bots", "humans", "mcc", interval, "recall", "fpr", "unsure")
    interval = pl.format("{} – {}", pl.col("auc_low").round(3), pl.col("auc_high").round(3)).alias("95 %")
    wanted = ("tpr_at_1pct", "tpr_at_0_1pct", "precision_at_1pct", "hours_to_detection", "tied")
    shown = pl.concat([distinct_units(summary.filter(split=part.name)) for part in result.parts])
    split = pl.when("flatters").then(pl.col("split") + " (flatters)").otherwise("split").alias("split")
    if len(result.parts) > 1:
        shown = shown.filter(unit="actor")
    return shown.select(split, "detector", "unit", "bots", "humans", "auc", interval, *wanted)


def evaluation_html(result: SideBySide | PairsHeldOut, source: str, notes: Sequence[str] = ()) -> str:
    """The evaluation as a part of a notebook."""
    from gamewarden.presentation.evaluation_page import evaluation_fragment
    from gamewarden.presentation.report import table_fragment

    name = Path(source).name
    if isinstance(result, PairsHeldOut):
        return table_fragment(evaluation_in_short(result), f"Pairs held out of {name}", "evaluation", notes)
    return evaluation_fragment(result, name, notes)


def draw_evaluation(evaluated: Evaluated, path: Path) -> None:
    """The ROC curves as a picture.

    Raises:
        ConfigError: the protocol knows decisions only, and no ranking to draw.
    """
    from gamewarden.presentation.plots import plot_roc

    if isinstance(evaluated.result, PairsHeldOut):
        raise ConfigError("evaluate: leave-pair-out counts decisions, so there is no ROC curve; leave --plot out")
    plot_roc(evaluated.result.scores, path)


def report_evaluation(evaluated: Evaluated, source: Source, labels: OwnTable, path: Path) -> None:
    """All of it as one page that a manager can read and that opens without a network.

    Raises:
        ConfigError: the protocol knows decisions only.
        WriteError: the place cannot be written.
    """
    from gamewarden.files import write_text
    from gamewarden.presentation.evaluation_page import evaluation_page

    if isinstance(evaluated.result, PairsHeldOut):
        raise ConfigError("evaluate: leave-pair-out has no report of its own; leave --report out, or --protocol folds")
    write_text(path, evaluation_page(evaluated.result, Path(source.name).name, named(labels, "labels").name))
