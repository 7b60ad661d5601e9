"""Two models on the same past: who would newly be flagged and who be spared, by group, before anything is promoted."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import EventStream, Model, Progress, Source, no_progress
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.learning.styles import Styles
from gamewarden.pipeline.measuring import days_like, feature_of, measured
from gamewarden.pipeline.meeting import say
from gamewarden.pipeline.scoring import event_model
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles
from gamewarden.store import models as stored_models
from gamewarden.streams import WatchedEvents
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.ranking import rank

STYLE, LABEL = "play style", "label"
_NOT_KNOWN = "not known"


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


@dataclass(frozen=True)
class Backtest:
    """Counts by group, and the actors for whom something changes."""

    groups: pl.DataFrame
    changes: pl.DataFrame
    notes: tuple[str, ...]


def backtest(question: Question, run: RunOptions = USUAL, progress: Progress = no_progress) -> Backtest:
    """Score the same past with both models and put the flagged side by side.

    Raises:
        ModelError: a model is missing, damaged, or judges no events.
        ReadError: the source cannot be read or holds no event of that time.
        ConfigError: a column to group by is none of the profiles.
    """
    old, new = (_model(path) for path in question.models)
    events = WatchedEvents(question.source.events(question.since, question.until), progress)
    styles = _styles(days_like(old.feature).measure(events), question.styles)
    listed = (
        _listed(old, events, run, question.prevalence),
        _listed(new, events, run, question.prevalence),
    )
    if not any(one.height for one in listed):
        raise ReadError(f"{question.source.name}: holds no event between {question.since} and {question.until}")
    both = _side_by_side(*listed, question.probability)
    grouped = _grouped(both.join(styles, on="actor", how="left"), question, run.time_zone)
    notes = (
        f"A is {old.card.id}, B is {new.card.id}; flagged from a probability of {question.probability} on.",
        question.prevalence.sentence,
        *_in_short(grouped),
    )
    return Backtest(_counts(grouped, question), _changes(grouped), notes)


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
    said = say(model, shown, run.limits)
    if said.refusal is not None:
        raise ModelError(f"backtest: {said.refusal}")
    return rank(said.at(prevalence), shown.frame)


def _styles(days: pl.DataFrame, styles: Styles) -> pl.DataFrame:
    """The style that an actor shows on most of its days; the first by name of several."""
    told = days.select("actor", styles.tell(days).alias(STYLE)).group_by("actor", STYLE).len()
    return told.sort("actor", "len", STYLE, descending=[False, True, False]).unique("actor", keep="first").drop("len")


def _side_by_side(old: pl.DataFrame, new: pl.DataFrame, probability: float) -> pl.DataFrame:
    both = old.select("actor", a="probability").join(
        new.select("actor", b="probability"), on="actor", how="full", coalesce=True
    )
    flagged = [(pl.col(name) >= probability).fill_null(value=False).alias(f"flagged_{name}") for name in ("a", "b")]
    return both.with_columns(flagged).sort("actor")


def _grouped(found: pl.DataFrame, question: Question, time_zone: str | None) -> pl.DataFrame:
    """Every actor with its groups."""
    if question.labels is not None:
        found = found.join(_labelled(question.labels, time_zone), on="actor", how="left")
    if question.by:
        found = found.join(_profiled(question, time_zone), on="actor", how="left")
    return found.with_columns(pl.col(list(_groups(question))).fill_null(_NOT_KNOWN))


def _labelled(labels: Path, time_zone: str | None) -> pl.DataFrame:
    known = read_labels(labels, time_zone).frame.group_by("actor").agg(pl.col("bot").all(), any=pl.col("bot").any())
    word = pl.when("bot").then(pl.lit("bot")).when("any").then(pl.lit("bot at times")).otherwise(pl.lit("human"))
    return known.select("actor", word.alias(LABEL))


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


def _newly() -> pl.Expr:
    return pl.col("flagged_b") & ~pl.col("flagged_a")


def _spared() -> pl.Expr:
    return pl.col("flagged_a") & ~pl.col("flagged_b")


def _counts(grouped: pl.DataFrame, question: Question) -> pl.DataFrame:
    numbers = (
        pl.len().cast(pl.Int64).alias("actors"),
        pl.col("flagged_a").sum().cast(pl.Int64),
        pl.col("flagged_b").sum().cast(pl.Int64),
        _newly().sum().cast(pl.Int64).alias("newly_flagged"),
        _spared().sum().cast(pl.Int64).alias("spared"),
    )
    parts = [grouped.select(pl.lit("all").alias("by"), pl.lit("everybody").alias("group"), *numbers)]
    for column in _groups(question):
        counted = grouped.group_by(column).agg(*numbers).sort("actors", column, descending=[True, False])
        parts.append(counted.select(pl.lit(column).alias("by"), pl.col(column).alias("group"), *counted.columns[1:]))
    return pl.concat(parts)


def _changes(grouped: pl.DataFrame) -> pl.DataFrame:
    change = pl.when(_newly()).then(pl.lit("newly flagged")).otherwise(pl.lit("spared"))
    changed = grouped.filter(_newly() | _spared()).with_columns(change=change)
    named = changed.rename({"a": "probability_a", "b": "probability_b"}).drop("flagged_a", "flagged_b")
    first = ("actor", "change", "probability_a", "probability_b")
    return named.select(*first, pl.exclude(first)).sort("change", "actor")


def _in_short(grouped: pl.DataFrame) -> tuple[str, ...]:
    newly, spared = grouped.filter(_newly()).height, grouped.filter(_spared()).height
    return (f"{newly:,} actors would newly be flagged and {spared:,} be spared; nothing has been promoted.",)
