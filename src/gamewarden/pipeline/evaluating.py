"""How good detectors are on actors they have not seen, and what a budget of wrong accusations allows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Self

import polars as pl

from gamewarden import detectors, features
from gamewarden.config import Config
from gamewarden.contracts import Detector, EventStream, Feature, Progress, Source, no_progress
from gamewarden.core.coverage import COVERED
from gamewarden.errors import ConfigError, FitError, ReadError
from gamewarden.evaluation.account_links import NO_TIES, AccountTraces, seen_in, ties_of
from gamewarden.evaluation.baselines import EventsAlone
from gamewarden.evaluation.compare_splits import ALL, SideBySide, as_values, compare
from gamewarden.evaluation.decisions import at_cuts
from gamewarden.evaluation.leaks import left_out_kinds, refuse_future, sanction_kinds, telling_kinds
from gamewarden.evaluation.leave_pair_out import MOST_PAIRS, PairsHeldOut, leave_pair_out
from gamewarden.evaluation.split_schemes import ACTOR, FARM, TIME, Ground
from gamewarden.evaluation.splits import middle_of
from gamewarden.learning.label_sources import without_model_made
from gamewarden.pipeline.fitting import detector_recipe
from gamewarden.pipeline.measuring import USUAL, RunOptions, measured, rows_to_judge
from gamewarden.pipeline.models import models_in_force
from gamewarden.presentation.evaluation_table import evaluation_in_short
from gamewarden.readers.logs.operator_tables import Labels, OwnTable, named, read_labels, read_scores
from gamewarden.store.evaluations import save_results
from gamewarden.store.models import stored
from gamewarden.streams import WatchedEvents, within, without
from gamewarden.tables import Table
from gamewarden.verdicts.budget import BUDGET_SCHEMA, Budget, Humans, threshold
from gamewarden.verdicts.budget_rows import cost_row, known_humans, row_among, row_of_model
from gamewarden.verdicts.meeting import Limits
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.verdicts.reviewed import FLAGS_SCHEMA, Accepted, flags_promised, outcomes_of
from gamewarden.verdicts.saying import coverage_named, only_whole

FOLDS, LEAVE_PAIR_OUT = "folds", "leave-pair-out"
# What each protocol tries where no detector is named: the family it was published for.
SPLITS = ("random", "actor", "farm", "time", "family", "all")
FEATURE_TRIED = {FOLDS: "self-similarity", LEAVE_PAIR_OUT: "actions"}


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
            ConfigError: there is no such split, or pairs are to be held out and splits of folds are asked for too.
        """
        if others := [one for one in splits if one not in SPLITS]:
            raise ConfigError(f"evaluate: there is no split {others[0]!r}; choose among {', '.join(SPLITS)}")
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
    notes = (*said, *result.notes, *at_cuts(result, seeing), *kept)
    return Evaluated(result, compared.measured.frame, told.frame, notes)


def _pairs(seeing: Sequence[Detector], seen: Table, told: Labels, protocol: Protocol) -> Evaluated:
    known = without_model_made(told.frame, [detector.name for detector in seeing])
    result = _pairs_held_out(seeing, seen.frame, known.frame, protocol)
    left_out = (f"Left out, {reason}: {count}." for reason, count in known.left_out.items())
    return Evaluated(result, seen.frame, told.frame, (*seen.notes, *told.notes, *left_out, *result.notes))


def _pairs_held_out(
    seeing: Sequence[Detector], measured: pl.DataFrame, labels: pl.DataFrame, protocol: Protocol
) -> PairsHeldOut:
    grouped = labels.with_columns(group=pl.col(protocol.group).cast(pl.String)) if protocol.group else labels
    return leave_pair_out([*seeing, EventsAlone()], measured, grouped, most=protocol.pairs)


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
    from gamewarden.core.files import write_text
    from gamewarden.presentation.evaluation_page import evaluation_page

    if isinstance(evaluated.result, PairsHeldOut):
        raise ConfigError("evaluate: leave-pair-out has no report of its own; leave --report out, or --protocol folds")
    write_text(path, evaluation_page(evaluated.result, Path(source.name).name, named(labels, "labels").name))


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
    told = only_whole(measured(frozen, stream), splitting.limits, part_of_day=frozen.part_of_day)
    ground = Ground(told.frame, labels, ties_of(seen), splitting.group, splitting.cut, splitting.folds)
    if {TIME, ALL} & set(splitting.names):
        _refuse_future(frozen, stream, ground)
    with coverage_named(told):
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
    return detector.around(frozen).fit(table, labels).card.id


def _refuse_future(frozen: Feature, stream: EventStream, ground: Ground) -> None:
    try:
        cut = ground.cut or middle_of(ground.labelled().rows)
    except FitError:
        return  # the split itself will say that there is no later period
    seen = ground.features.drop(COVERED, strict=False)  # a source's cover is no feature, and a cut source ends earlier
    refuse_future(seen, frozen.measure(within(stream, until=cut)), cut)


def _others(seen: AccountTraces, removed: Sequence[str]) -> pl.DataFrame:
    return seen.kinds.filter(~pl.col("kind").is_in(removed))


def budget_of_models(budget: Budget, models: Path, days: float | None = None) -> pl.DataFrame:
    """A row a model in force, from its held-out humans; the fusion's verdicts first.

    `days` says on how many days each human was seen, instead of what the model keeps of it.

    Raises:
        ModelError: there is no model, or one is damaged.
    """
    rows = [row_of_model(budget, model, days) for model in models_in_force(models)]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_of_scores(
    budget: Budget, scores: Path, labels: Path | None, time_zone: str | None = None, days: float | None = None
) -> pl.DataFrame:
    """A row a detector, from scores of people it had not seen, each counted once by the lowest FPR.

    A person is the `group` of its label, or an actor without one. `days` says on how many days each was seen, instead
    of those on which it has a score.

    Raises:
        ReadError: a table cannot be read.
        TableError: nobody in it is known to be human, or it has neither FPR nor probability, or no times.
    """
    table = read_scores(scores, time_zone)
    humans = known_humans(table, None if labels is None else read_labels(labels, time_zone).frame, scores)
    rows = [row_among(budget, part, scores, time_zone, days) for part in humans.partition_by("detector")]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_alone(budget: Budget) -> pl.DataFrame:
    """What the budget asks for before there is a model: how many reviewed humans."""
    return pl.DataFrame([threshold(budget, Humans("no model yet", (), ()))], schema=BUDGET_SCHEMA)


def costs_of_models(cost: tuple[float, float], prevalence: Prevalence, models: Path) -> pl.DataFrame:
    """The probability from which to act under each model, where a wrong accusation and a missed bot cost so much."""
    return pl.DataFrame([cost_row(cost, prevalence, model.card) for model in models_in_force(models)])


def budget_of_flags(accepted: Accepted, reviewed: Path, time_zone: str | None = None) -> pl.DataFrame:
    """How many flags a month may be followed, from the outcomes of reviewed ones: `actor,bot`, each account once.

    Whoever was called human by one of several labels, or bot by one rater of three, counts as a person.

    Raises:
        ReadError: the table cannot be read, or no person reviewed anybody in it.
    """
    outcomes = outcomes_of(read_labels(reviewed, time_zone).frame)
    if not outcomes.height:
        raise ReadError(
            f"{reviewed}: nobody in it was reviewed by a person; it takes actor,bot, one row a reviewed flag"
        )
    people = int((~outcomes["bot"]).sum())
    return pl.DataFrame([flags_promised(accepted, outcomes.height, people)], schema=FLAGS_SCHEMA)
