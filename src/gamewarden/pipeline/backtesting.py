"""Two models on the same past: who would newly be flagged and who be spared, by group, before anything is promoted."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import EventStream, Model, Progress, Source, no_progress
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.evaluation.backtests import (
    LABEL,
    NOT_KNOWN,
    STYLE,
    Backtest,
    called,
    changes,
    changes_in_short,
    counts_by_group,
    flagged_by_both,
    usual_styles,
)
from gamewarden.learning.styles import Styles
from gamewarden.pipeline.measuring import days_like, feature_of, measured
from gamewarden.pipeline.scoring import ask, event_model
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles
from gamewarden.store import models as stored_models
from gamewarden.streams import WatchedEvents
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.ranking import rank


@dataclass(frozen=True)
class Question:
    """Which two models, on which past, and by which groups."""

    models: tuple[Path, Path]  # the one in force, and the one that shall follow it
    source: Source
    since: datetime | None
    until: datetime | None
    probability: float  # from which an actor is flagged
    labels: Path | None = None
    profiles: Path | None = None
    by: tuple[str, ...] = ()  # columns of the profiles
    styles: Styles = field(default_factory=Styles)
    prevalence: Prevalence = SUPPOSED  # at which both models are compared


def backtest(question: Question, run: RunOptions = USUAL, progress: Progress = no_progress) -> Backtest:
    """Score the same past with both models and put the flagged side by side.

    Raises:
        ModelError: a model is missing, damaged, or judges no events.
        ReadError: the source cannot be read or holds no event of that time.
        ConfigError: a column to group by is none of the profiles.
    """
    old, new = (_model(path) for path in question.models)
    events = WatchedEvents(question.source.events(question.since, question.until), progress)
    styles = usual_styles(days_like(old.feature).measure(events), question.styles)
    listed = (
        _listed(old, events, run, question.prevalence),
        _listed(new, events, run, question.prevalence),
    )
    if not any(one.height for one in listed):
        raise ReadError(f"{question.source.name}: holds no event between {question.since} and {question.until}")
    both = flagged_by_both(*listed, question.probability)
    grouped = _grouped(both.join(styles, on="actor", how="left"), question, run.time_zone)
    notes = (
        f"A is {old.card.id}, B is {new.card.id}; flagged from a probability of {question.probability} on.",
        question.prevalence.sentence,
        *changes_in_short(grouped),
    )
    return Backtest(counts_by_group(grouped, _groups(question)), changes(grouped), notes)


def _model(path: Path) -> Model:
    if path.is_dir():
        return event_model(path, None)
    found = detectors.load_model(stored_models.load(path))
    if features.load(found.feature.name).input != "events":
        raise ModelError(f"{path}: judges packets; only models of events can be compared on a log")
    return found


def _listed(model: Model, events: EventStream, run: RunOptions, prevalence: Prevalence) -> pl.DataFrame:
    """One row an actor: its probability over the whole time."""
    shown = measured(feature_of(model.feature), events, run.limits)
    said = ask(model, shown, run.limits)
    if said.refusal is not None:
        raise ModelError(f"backtest: {said.refusal}")
    return rank(said.at(prevalence), shown.frame)


def _grouped(found: pl.DataFrame, question: Question, time_zone: str | None) -> pl.DataFrame:
    """Every actor with its groups."""
    if question.labels is not None:
        found = found.join(called(read_labels(question.labels, time_zone).frame), on="actor", how="left")
    if question.by:
        found = found.join(_profiled(question, time_zone), on="actor", how="left")
    return found.with_columns(pl.col(list(_groups(question))).fill_null(NOT_KNOWN))


def _profiled(question: Question, time_zone: str | None) -> pl.DataFrame:
    if question.profiles is None:
        raise ConfigError(f"backtest: --by {question.by[0]} needs --profiles FILE, which has the column")
    profiles = read_profiles(question.profiles, time_zone)
    for column in question.by:
        if column not in profiles.columns:
            raise ConfigError(f"{question.profiles}: has no column {column!r}; it has {', '.join(profiles.columns)}")
    return profiles.select("actor", *(pl.col(column).cast(pl.String) for column in question.by))


def _groups(question: Question) -> tuple[str, ...]:
    return (STYLE, *((LABEL,) if question.labels is not None else ()), *question.by)
