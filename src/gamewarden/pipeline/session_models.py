"""Play sessions of streams, captures and folders of them: as rows to judge, as labels, and as a model on the shelf."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gamewarden.contracts import Detector, Feature, MessageStream, Model, Progress, Source, no_progress
from gamewarden.errors import FitError, ReadError
from gamewarden.pipeline.fitting import Fitted, kept
from gamewarden.pipeline.measuring import measured
from gamewarden.pipeline.prevalence import scored
from gamewarden.pipeline.sources import USUAL, RunOptions, Table
from gamewarden.readers.logs.operator_tables import OwnTable, read_labels
from gamewarden.streams import WatchedMessages
from gamewarden.tables import LABELS, SESSIONS, check
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.words import counted

# Folders whose name says what stands in them, as the thesis' own tool had them.
LABEL_FOLDERS: Mapping[str, bool | None] = {"players": False, "bots": True, "unknown": None}
FOLDER = "folder"  # the source of a label that a folder's name gives
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
    used = found if labels is not None else [one for one in found if _in_label_folder(Path(one.name))]
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
        parts.append(_named(check(told.frame, SESSIONS, source.name), Path(source.name)))
    rows = pl.concat(parts)
    notes = _counted(streams)
    placed = rows.drop_nulls(["since", "until"]).unique(subset=_SAME, keep="first", maintain_order=True)
    return Gathered(placed.sort("actor", "since", maintain_order=True), (*notes, *_lost(rows, placed)))


def _named(sessions: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Who was there before any connect message goes by the file's name."""
    return sessions.with_columns(
        pl.col("actor").fill_null(file.name.partition(".")[0]),
        folder_says=pl.lit(folder_label(file), pl.Boolean),
    )


def _counted(streams: Mapping[str, MessageStream]) -> list[str]:
    """All that one file has to say; of several, how much they hold together, and what went wrong in which."""
    if len(streams) == 1:
        return [line for stream in streams.values() for line in stream.notes]
    messages = sum(one.messages for one in streams.values())
    sessions = sum(one.sessions for one in streams.values())
    wrong = {name: one for name, one in streams.items() if one.damaged}
    lines = [line if line.startswith(name) else f"{name}: {line}" for name, one in wrong.items() for line in one.notes]
    return [f"{counted(messages, 'message')} in {counted(sessions, 'session')} of {len(streams):,} files", *lines]


def _lost(rows: pl.DataFrame, placed: pl.DataFrame) -> Iterator[str]:
    timed = rows.drop_nulls(["since", "until"]).height
    if timed < rows.height:
        yield f"{counted(rows.height - timed, 'session')} without a time cannot be judged: no time headers"
    if placed.height < timed:
        yield f"{counted(timed - placed.height, 'session')} came twice, as in stream and capture, and counted once"


def folder_label(file: Path) -> bool | None:
    """What the nearest folder called `players`, `bots` or `unknown` says: human, bot, or not known, as any other."""
    named = [part.lower() for part in reversed(file.parts[:-1]) if part.lower() in LABEL_FOLDERS]
    return LABEL_FOLDERS[named[0]] if named else None


def _in_label_folder(file: Path) -> bool:
    return any(part.lower() in LABEL_FOLDERS for part in file.parts[:-1])


def _labels(rows: pl.DataFrame, labels: OwnTable | None, time_zone: str | None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Of the table that was named; otherwise of the folders, each label for its own session alone."""
    if labels is not None:
        told = read_labels(labels, time_zone)
        return told.frame, tuple(told.notes)
    known = rows.drop_nulls("folder_says").select(
        "actor", "since", pl.col("until"), bot="folder_says", source=pl.lit(FOLDER)
    )
    if not known.height:
        raise FitError("fit: no session stands in a folder called players or bots; sort some there, or use --labels")
    return check(known, LABELS, "fit"), ()


def _unknown(model: Model, rows: pl.DataFrame, labels: pl.DataFrame, prevalence: Prevalence) -> pl.DataFrame:
    """The scores of the sessions that no label speaks of."""
    spoken_of = labels.select("actor", label_since="since", label_until="until")
    hits = (
        rows.select("actor", "since", "until")
        .join(spoken_of, on="actor")
        .filter(
            pl.col("label_since").is_null() | (pl.col("label_since") < pl.col("until")),
            pl.col("label_until").is_null() | (pl.col("label_until") > pl.col("since")),
        )
    )
    return scored(model, rows.drop("folder_says").join(hits, on=["actor", "since"], how="anti"), prevalence)
