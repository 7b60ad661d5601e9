"""From labelled accounts to a model on the shelf: of events, traces, sessions, tables, or of other models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors
from gamewarden.config import Config
from gamewarden.contracts import Detector, Feature, Model, Progress, Source, no_progress
from gamewarden.core.durations import parse_span
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.detectors.traffic.model import TrafficModel
from gamewarden.errors import FitError, ReadError
from gamewarden.evaluation.separation import separates
from gamewarden.evaluation.shares import share_at_random
from gamewarden.features import load as load_feature
from gamewarden.features.account_table.labels import groups_of_table, labels_of_table, with_probes
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.traffic.details import TrafficDetails
from gamewarden.learning.labels import unspoken_of
from gamewarden.learning.strangers import scores_of_strangers
from gamewarden.pipeline.measuring import (
    USUAL,
    RunOptions,
    feature_of,
    gather,
    given_to,
    input_of,
    measure,
    measured,
    stream_for,
)
from gamewarden.pipeline.models import load_models, models_for
from gamewarden.pipeline.scoring import hear
from gamewarden.readers.label_folders import LABEL_FOLDERS, folder_labels, in_label_folder
from gamewarden.readers.logs.operator_tables import OwnTable, read_labels
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.streams import WatchedRows
from gamewarden.verdicts.periods import Clock, infos_of, played, roll_up, side_by_side
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence, scored
from gamewarden.verdicts.saying import coverage_named, only_whole
from gamewarden.verdicts.timeless import in_periods

_NO_GROUP = "every row counts as a person of its own; where people have several rows, name their account with --group"
_LEAST_MODELS = 2  # one voice needs no fusing


@dataclass(frozen=True)
class Fitted:
    """A model, where it is kept, and what has to be said beside it."""

    model: Model
    path: Path
    notes: tuple[str, ...] = ()


def detector_recipe(name: str, feature: Feature, options: Mapping[str, Any]) -> Detector:
    """A detector's recipe around the recipe of the feature it sees."""
    return detectors.load(name).of(feature, options)


def trace_recipe(name: str, options: Mapping[str, Any]) -> Detector:
    """The recipe of a detector that learns from whole packet traces."""
    return detector_recipe(name, TrafficDetails(), options)


def fit(
    detector: Detector,
    source: Source,
    labels: OwnTable,
    to: Path,
    *,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn from a log and its labels, and keep the model."""
    told = read_labels(labels, run.time_zone)
    stream = stream_for(detector.feature, source, progress)
    frozen = detector.feature.learn(given_to(stream))
    seen = only_whole(measured(frozen, stream), run.limits, part_of_day=frozen.part_of_day)
    with coverage_named(seen):
        model = detector.on_clock(run.time_zone).around(frozen).fit(seen.frame, told.frame)
    return kept(model, to, (*seen.notes, *told.notes, *_how_common(told.frame)))


def _how_common(labels: pl.DataFrame) -> tuple[str, ...]:
    """How common bots are, where some of the labelled accounts were drawn at random."""
    drawn = share_at_random(labels)
    if drawn is None:
        return ()
    told = f"Of {drawn.accounts:,} accounts that chance chose {drawn.text} are bots"
    if drawn.usable is None:
        return (f"{told}: {drawn.missing}.",)
    return (f"{told}; --prevalence {drawn.usable:g} lets probabilities suppose so.",)


def fit_traces(
    detector: Detector,
    traces: Sequence[Source],
    labels: OwnTable,
    to: Path,
    *,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn from captures or packet logs and their labels, and keep the model.

    A trace is an actor. One that is alone in its file and that the labels do not know goes by the file's name.

    Raises:
        ReadError: a source cannot be read, or two sources have an actor in common.
    """
    told = read_labels(labels, run.time_zone)
    known = set(told.frame["actor"])
    parts: list[pl.DataFrame] = []
    notes: list[str] = []
    for source in traces:
        part = measure(detector.feature, source, progress)
        notes += [f"{source.name}: {line}" for line in part.notes]
        parts.append(_named_after_file(part.frame, source, known))
    _refuse_shared_actors(parts, traces)
    model = detector.on_clock(run.time_zone).fit(pl.concat(parts), told.frame)
    return kept(model, to, (*notes, *told.notes))


@dataclass(frozen=True)
class TableFitOptions:
    """What a fit on a table is told about it."""

    feature: AccountTable
    positive: str | None  # the value of the label column that means bot
    options: Mapping[str, Any]  # of the detector
    detector: str = "account-table"
    labels: OwnTable | None = None  # who is known, where it does not stand in the table itself


def fit_table(asked: TableFitOptions, source: Source, to: Path, *, progress: Progress = no_progress) -> Fitted:
    """Learn from a table that has its labels in it, or beside it, and keep the model.

    Raises:
        ConfigError: no label column is named, or its values do not say which of them is a bot.
        MeasureError: a column is missing, or an actor has two rows that differ.
        FitError: too few labelled actors of a class.
    """
    rows = WatchedRows(source.rows(), progress)
    frozen = asked.feature.learn(rows)
    labels, notes = _labels_of(asked, rows, frozen)
    probed = replace(frozen, left_out=with_probes(rows, frozen, labels, separates))
    feature: Feature = probed
    told = measured(feature, rows)
    model = detector_recipe(asked.detector, feature, asked.options).fit(told.frame, labels)
    left_out = tuple(f"{name} is left out: {why}" for name, why in probed.left_out.items())
    alone = () if probed.group else (_NO_GROUP,)
    price = (model.price,) if model.price else ()
    return kept(model, to, (*alone, *left_out, *told.notes, *notes, *price))


def _labels_of(
    asked: TableFitOptions, rows: WatchedRows, feature: AccountTable
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Who is known: by a file, of whom the table says who belongs together; else by a column of the table."""
    if asked.labels is None:
        return labels_of_table(rows, feature, asked.positive)
    told = read_labels(asked.labels)
    notes = (*told.notes, *_how_common(told.frame))
    if feature.group is None:
        return told.frame, notes
    return told.frame.drop("group").join(groups_of_table(rows, feature), on="actor", how="left"), notes


def fit_fusion(
    source: Source,
    labels: OwnTable,
    models: Path,
    to: Path,
    *,
    fusion: Fusion,
    config: Config,
    every: int | None,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn how much each model in force counts, and keep the fusion.

    Each detector's recipe is fitted anew without a part of the actors, whom it then scores, so that the fusion learns
    from answers on strangers even where the models themselves knew these actors.

    Raises:
        FitError: there are fewer than two models, or too few labelled actors.
    """
    told = read_labels(labels, run.time_zone)
    found = models_for(load_models(models), source, models)
    if len(found) < _LEAST_MODELS:
        raise FitError(f"fit fusion: {models} has {len(found)} model for {source.name}; fit a second detector first")
    heard = hear(found, source, run, progress)
    if len(heard.models) < _LEAST_MODELS:
        raise FitError(
            f"fit fusion: {models} has {len(heard.models)} model that can judge {source.name}; fit a second one"
        )
    by_name = {model.card.id: load_feature(model.feature.name) for model in heard.models}
    measured = {
        name: only_whole(seen, run.limits, part_of_day=by_name[name].part_of_day) for name, seen in heard.shown.items()
    }
    cut = Clock(every or parse_span(config.measure.every), run.time_zone or "UTC")
    fusion = _fair(fusion, heard.models)
    features = {name: seen.frame for name, seen in measured.items()}
    model = fuse(
        heard.models, features, told.frame, fusion=fusion, cut=cut, discount=config.chunks.discount, source=source
    )
    notes = dict.fromkeys(line for seen in measured.values() for line in seen.notes)
    return kept(model, to, (*notes, *heard.caveats, *told.notes))


def _fair(fusion: Fusion, models: Sequence[Model]) -> Fusion:
    """The fusion that suits these models.

    A bot can hide from one source and not from another, and most bots show nothing of what some features look for: what
    looks human to one then excuses nothing in the others. Whoever shows nothing of it is not held to be like the others
    either: silence counts as usual.
    """
    one_sided = any(feature_of(model.feature).one_sided for model in models)
    several = len({input_of(model.card.detector) for model in models}) > 1
    strict = replace(fusion, excuses=False) if several or one_sided else fusion
    return replace(strict, expects=False) if one_sided else strict


def fuse(
    models: Sequence[Model],
    features: dict[str, pl.DataFrame],
    labels: pl.DataFrame,
    *,
    fusion: Fusion,
    cut: Clock,
    discount: float,
    source: Source | None = None,
) -> FusionModel:
    """The fusion of these models, from what their recipes say of actors they had not seen.

    A model of packets learns from every packet of a window and not from FEATURES: it needs the source itself.
    """
    scores = pl.concat([_strangers_scores(model, features[model.card.id], labels, fusion, source) for model in models])
    infos = infos_of(models)
    parts = roll_up(in_periods(scores, cut), infos, cut, discount)
    table = side_by_side(parts, played(features.values(), fusion.styles, cut))
    heard = {name: info for name, info in infos.items() if name in table.columns}
    return replace(fusion, feature=Scores(heard, cut.every, cut.time_zone, discount)).fit(table, labels)


def _strangers_scores(
    model: Model, features: pl.DataFrame, labels: pl.DataFrame, fusion: Fusion, source: Source | None
) -> pl.DataFrame:
    """SCORES of every labelled actor by the model's recipe, fitted without it, under the model's own name."""
    detector = detectors.load(model.card.detector)
    held_out: dict[str, Any] = {"folds": fusion.folds, "seed": fusion.seed, "door": "fit fusion"}
    if isinstance(model, TrafficModel) and source is not None:
        details = TrafficDetails.from_dict(model.details.options)
        held_out["shown"] = lambda learned: measure(feature_of(learned.feature), source).frame
        features = measure(details, source).frame
        scores = scores_of_strangers(detector.from_dict(model.card.recipe, details), features, labels, **held_out)
    else:
        recipe = detector.from_dict(model.card.recipe, feature_of(model.feature))
        scores = scores_of_strangers(recipe, features, labels, **held_out)
    return scores.with_columns(model=pl.lit(model.card.id))


@dataclass(frozen=True)
class FittedSessions:
    """A model with where it is kept, and what it says of the sessions nobody had labelled."""

    fitted: Fitted
    unknown: pl.DataFrame  # SCORES


def fit_sessions(
    detector: Detector,
    source: Source,
    labels: OwnTable | None,
    to: Path,
    *,
    run: RunOptions = USUAL,
    prevalence: Prevalence = SUPPOSED,
    progress: Progress = no_progress,
) -> FittedSessions:
    """Learn from sessions whose label a table gives, or the folder they stand in; judge those without a label.

    Raises:
        ReadError: a source cannot be read, or no file stands in a folder `players`, `bots` or `unknown`.
        FitError: too few labelled sessions say enough.
    """
    found = source.parts
    used = found if labels is not None else [one for one in found if in_label_folder(Path(one.name))]
    if not used:
        raise ReadError(
            f"{source.name}: no file stands in a folder called {', '.join(LABEL_FOLDERS)}; "
            "sort them so, or name their labels with --labels"
        )
    gathered = gather(detector.feature, used, progress)
    known, notes = _labels(gathered.rows, labels, run.time_zone)
    model = detector.on_clock(run.time_zone).fit(gathered.rows.drop("folder_says"), known)
    left_out = [f"{one.name}: left out, no folder says what it is" for one in found if one not in used]
    notes = (*gathered.notes, *notes, *left_out)
    return FittedSessions(kept(model, to, notes), _unknown(model, gathered.rows, known, prevalence))


def _labels(rows: pl.DataFrame, labels: OwnTable | None, time_zone: str | None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Of the table that was named; otherwise of the folders, each label for its own session alone."""
    if labels is not None:
        told = read_labels(labels, time_zone)
        return told.frame, tuple(told.notes)
    return folder_labels(rows), ()


def _unknown(model: Model, rows: pl.DataFrame, labels: pl.DataFrame, prevalence: Prevalence) -> pl.DataFrame:
    """The scores of the sessions that no label speaks of."""
    return scored(model, unspoken_of(rows.drop("folder_says"), labels), prevalence)


def kept(model: Model, directory: Path, notes: Sequence[str]) -> Fitted:
    """The model on the shelf, and what keeps it from being used, if anything does."""
    path = stored_models.save(model, directory)
    fitted = model.card
    standing = next(one.id for one in model_registry.in_force(directory) if one.detector == fitted.detector)
    waits: tuple[str, ...] = ()
    if standing != fitted.id:
        promote = f"gamewarden model promote {fitted.id} --models {directory} --because …"
        waits = (f"{standing} was promoted and stays in force; `{promote}` puts this model in its place",)
    return Fitted(model, path, (*notes, *waits))


def _named_after_file(measured: pl.DataFrame, source: Source, known: set[str]) -> pl.DataFrame:
    name = Path(source.name).name.partition(".")[0]
    alone = measured["actor"].unique().to_list()
    if len(alone) != 1 or alone[0] in known or name not in known:
        return measured
    return measured.with_columns(actor=pl.lit(name))


def _refuse_shared_actors(parts: Sequence[pl.DataFrame], traces: Sequence[Source]) -> None:
    owner: dict[str, str] = {}
    for part, source in zip(parts, traces, strict=True):
        for actor in part["actor"].unique().sort():
            if actor in owner:
                raise ReadError(
                    f"{source.name}: {actor!r} is in {owner[actor]} too; name captures by --accounts, or label them "
                    "by the name of their file"
                )
            owner[actor] = source.name
