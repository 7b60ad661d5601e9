"""Play sessions of streams, captures and folders of them: as rows to judge, as labels, and as a model on the shelf."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gamewarden.contracts import Detector, Feature, MessageStream, Model, Progress, Source, no_progress
from gamewarden.errors import ReadError
from gamewarden.learning.labels import unspoken_of
from gamewarden.pipeline.fitting import Fitted, kept
from gamewarden.pipeline.measuring import measured
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.readers.label_folders import (
    LABEL_FOLDERS,
    folder_labels,
    in_label_folder,
    messages_in_short,
    named_after_file,
    sessions_lost,
)
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.streams import WatchedMessages
from gamewarden.tables import SESSIONS, Table, check
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence, scored

_SAME = ("actor", "since", "until", "events")  # a session that comes twice: as a stream and in a capture


@dataclass(frozen=True)
class FittedSessions:
    """A model with where it is kept, and what it says of the sessions nobody had labelled."""

    fitted: Fitted
    unknown: pl.DataFrame  # SCORES


@dataclass(frozen=True)
class Gathered:
    """Sessions that can be judged, each once, with the label its folder gives, and what has to be said of them."""

    rows: pl.DataFrame  # SESSIONS, and folder_says: true, false or null
    notes: tuple[str, ...]


def sessions_to_judge(feature: Feature, source: Source, progress: Progress = no_progress) -> Table:
    """The sessions that have an actor and a time, as FEATURES: `events` counts their messages."""
    gathered = _gather(feature, source.parts, progress)
    return Table(gathered.rows.drop("folder_says"), gathered.notes)


def fit_sessions(
    detector: Detector,
    source: Source,
    labels: Path | None,
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
    gathered = _gather(detector.feature, used, progress)
    known, notes = _labels(gathered.rows, labels, run.time_zone)
    model = detector.on_clock(run.time_zone).fit(gathered.rows.drop("folder_says"), known)
    left_out = [f"{one.name}: left out, no folder says what it is" for one in found if one not in used]
    notes = (*gathered.notes, *notes, *left_out)
    return FittedSessions(kept(model, to, notes), _unknown(model, gathered.rows, known, prevalence))


def _gather(feature: Feature, sources: Sequence[Source], progress: Progress) -> Gathered:
    parts: list[pl.DataFrame] = []
    streams: dict[str, MessageStream] = {}
    for source in sources:
        stream = streams[source.name] = source.messages(strict=feature.strict)
        told = measured(feature, WatchedMessages(stream, progress))
        parts.append(named_after_file(check(told.frame, SESSIONS, source.name), Path(source.name)))
    rows = pl.concat(parts)
    notes = messages_in_short(streams)
    placed = rows.drop_nulls(["since", "until"]).unique(subset=_SAME, keep="first", maintain_order=True)
    return Gathered(placed.sort("actor", "since", maintain_order=True), (*notes, *sessions_lost(rows, placed)))


def _labels(rows: pl.DataFrame, labels: Path | None, time_zone: str | None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Of the table that was named; otherwise of the folders, each label for its own session alone."""
    if labels is not None:
        told = read_labels(labels, time_zone)
        return told.frame, tuple(told.notes)
    return folder_labels(rows), ()


def _unknown(model: Model, rows: pl.DataFrame, labels: pl.DataFrame, prevalence: Prevalence) -> pl.DataFrame:
    """The scores of the sessions that no label speaks of."""
    return scored(model, unspoken_of(rows.drop("folder_says"), labels), prevalence)
