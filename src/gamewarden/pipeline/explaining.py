"""One actor's story under one model."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gamewarden import features
from gamewarden.contracts import Model, Progress, Source, no_progress
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.pipeline.account_tables import row_of
from gamewarden.pipeline.doubting import doubted
from gamewarden.pipeline.measuring import feature_of, measured
from gamewarden.pipeline.meeting import Said, say
from gamewarden.pipeline.scoring import event_model, model_for, rows_to_judge
from gamewarden.pipeline.sources import USUAL, RunOptions, Table
from gamewarden.pipeline.vocabularies import days_of
from gamewarden.streams import WatchedEvents, only
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence


@dataclass(frozen=True)
class Story:
    """All that is known of one actor under one model."""

    actor: str
    model: Model
    scores: pl.DataFrame
    evidence: pl.DataFrame  # of the period that scores highest
    measured: pl.DataFrame
    windows: pl.DataFrame
    prevalence: Prevalence = SUPPOSED
    again: str = ""  # how to get the same self-similarity
    time_zone: str = "UTC"  # by which its days begin
    caveats: tuple[str, ...] = ()  # what stands beside every word of the model on this source


def explain(
    actor: str,
    source: Source,
    models: Path,
    detector: str | None,
    *,
    run: RunOptions = USUAL,
    prevalence: Prevalence = SUPPOSED,
    progress: Progress = no_progress,
) -> Story:
    """What one actor did, and why it scores as it does.

    Raises:
        ReadError: the source has no event or row of this actor.
    """
    model = model_for(source, models, detector)
    kind = features.load(model.feature.name).input
    if kind == "messages":
        return _session_story(actor, source, model, prevalence, run=run, progress=progress)
    if kind == "table":
        return _row_story(actor, source, model, prevalence, run=run, progress=progress)
    model = event_model(models, model.card.detector)
    feature = feature_of(model.feature)
    by = feature.entity
    alone = only(WatchedEvents(source.events(), progress), by, actor)
    shown = measured(feature, alone, run.limits)
    if not shown.frame.height:
        raise ReadError(f"{source.name}: has no event of {by} {actor!r}")
    said = _said(model, shown, source, run)
    scores = said.at(prevalence)
    period = _highest(shown.frame, scores)
    days = days_of(model, models)
    windows = days.recipe.windows(alone, actor)
    inside = windows.filter(pl.col("since") >= period["since"][0], pl.col("since") < period["until"][0])
    again = days.again(source, models) if days.model is model else ""
    caveats = (*doubted(models, [model], scores), *said.caveats)
    zone = days.recipe.time_zone or "UTC"
    return Story(actor, model, scores, model.explain(period), period, inside, prevalence, again, zone, caveats)


def _row_story(
    actor: str, source: Source, model: Model, prevalence: Prevalence, *, run: RunOptions, progress: Progress
) -> Story:
    """The story of one row of an operator's own table: there are no windows in it."""
    row = row_of(actor, source, AccountTable.from_dict(model.feature.options), progress)
    said = _said(model, Table(row), source, run)
    return Story(
        actor, model, said.at(prevalence), model.explain(row), row, pl.DataFrame(), prevalence, caveats=said.caveats
    )


def _session_story(
    actor: str, source: Source, model: Model, prevalence: Prevalence, *, run: RunOptions, progress: Progress
) -> Story:
    sessions = rows_to_judge(feature_of(model.feature), source, run, progress).frame
    mine = sessions.filter(actor=actor)
    if not mine.height:
        raise ReadError(f"{source.name}: has no session of actor {actor!r}")
    said = _said(model, Table(mine), source, run)
    scores = said.at(prevalence)
    session = _highest(mine, scores)
    return Story(
        actor, model, scores, model.explain(session), session, pl.DataFrame(), prevalence, caveats=said.caveats
    )


def _said(model: Model, shown: Table, source: Source, run: RunOptions) -> Said:
    """What the model says of one actor.

    Raises:
        ModelError: it cannot judge the source.
    """
    said = say(model, shown, run.limits)
    if said.refusal is not None:
        raise ModelError(f"{source.name}: {said.refusal}")
    return said


def _highest(measured: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The period that scores highest, of several the latest."""
    highest = scores.sort("probability", "since", descending=[True, True], nulls_last=True).head(1)
    return measured.join(highest.select("actor", "since"), on=["actor", "since"], how="semi")


def draw_story(story: Story, path: Path) -> None:
    """One actor's windows as a picture.

    Raises:
        ConfigError: the model looks at something that has no windows.
    """
    from gamewarden.presentation.plots import plot_windows

    if not story.windows.height:
        raise ConfigError(f"explain: {story.model.feature.name} has no windows to draw; leave --plot out")
    plot_windows(story.windows, path, f"{story.actor}: one dot a window; a flat band is a routine")
