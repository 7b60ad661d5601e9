"""Play sessions of streams, captures and folders of them: as rows to judge, as labels, and as a model on the shelf."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.contracts import Detector, Feature, Model, Progress, no_progress
from gamewarden.errors import FitError, ReadError
from gamewarden.pipeline.fitting import Fitted, kept
from gamewarden.pipeline.measuring import measured
from gamewarden.pipeline.prevalence import scored
from gamewarden.pipeline.sessions import LABEL_FOLDERS, as_strict, session_sources
from gamewarden.pipeline.sources import Reading, Table, Watched
from gamewarden.pipeline.wholes import on_clock
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.readers.ragnarok.messages import message_table, open_messages
from gamewarden.tables import LABELS, SESSIONS, check
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.words import counted

if TYPE_CHECKING:
    from gamewarden.readers.ragnarok.report import MessageReport

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


def sessions_to_judge(
    feature: Feature, sources: Sequence[Path], reading: Reading, progress: Progress = no_progress
) -> Table:
    """The sessions that have an actor and a time, as FEATURES: `events` counts their messages."""
    gathered = _gather(feature, session_sources(sources), reading, progress)
    return Table(gathered.rows.drop("folder_says"), gathered.notes)


def fit_sessions(
    detector: Detector,
    sources: Sequence[Path],
    labels: Path | None,
    to: Path,
    *,
    reading: Reading,
    prevalence: Prevalence = SUPPOSED,
    progress: Progress = no_progress,
) -> FittedSessions:
    """Learn from sessions whose label a table gives, or the folder they stand in; judge those without a label.

    Raises:
        ReadError: a source cannot be read, or no file stands in a folder `players`, `bots` or `unknown`.
        FitError: too few labelled sessions say enough.
    """
    found = session_sources(sources)
    used = found if labels is not None else [one for one in found if _in_label_folder(one[0])]
    if not used:
        raise ReadError(
            f"{', '.join(map(str, sources))}: no file stands in a folder called {', '.join(LABEL_FOLDERS)}; "
            "sort them so, or name their labels with --labels"
        )
    gathered = _gather(detector.feature, used, reading, progress)
    known, notes = _labels(gathered.rows, labels, reading)
    model = on_clock(detector, reading).fit(gathered.rows.drop("folder_says"), known)
    left_out = [f"{file}: left out, no folder says what it is" for file, _ in found if (file, _) not in used]
    notes = (*gathered.notes, *notes, *left_out)
    return FittedSessions(kept(model, to, notes), _unknown(model, gathered.rows, known, prevalence))


def _gather(
    feature: Feature, files: Sequence[tuple[Path, bool | None]], reading: Reading, progress: Progress
) -> Gathered:
    db = message_table(reading.packet_db, reading.packet_version)
    parts: list[pl.DataFrame] = []
    reports: list[MessageReport] = []
    for file, label in files:
        stream = open_messages(file, db, reading.server_ports, strict=as_strict(feature, reading).strict)
        told = measured(feature, Watched(stream, progress))
        reports.append(stream.report)
        parts.append(_named(check(told.frame, SESSIONS, str(file)), file, label))
    rows = pl.concat(parts)
    notes = _counted(reports)
    placed = rows.drop_nulls(["since", "until"]).unique(subset=_SAME, keep="first", maintain_order=True)
    return Gathered(placed.sort("actor", "since", maintain_order=True), (*notes, *_lost(rows, placed)))


def _named(sessions: pl.DataFrame, file: Path, label: bool | None) -> pl.DataFrame:  # noqa: FBT001  human, bot or not known
    """Who was there before any connect message goes by the file's name."""
    return sessions.with_columns(
        pl.col("actor").fill_null(file.name.partition(".")[0]),
        folder_says=pl.lit(label, pl.Boolean),
    )


def _counted(reports: "Sequence[MessageReport]") -> list[str]:
    """All that one file has to say; of several, how much they hold together, and what went wrong in which."""
    if len(reports) == 1:
        return reports[0].lines()
    messages, sessions = sum(one.messages for one in reports), sum(one.sessions for one in reports)
    wrong = [one for one in reports if one.skipped or one.lost or one.problem]
    lines = [line if line.startswith(one.source) else f"{one.source}: {line}" for one in wrong for line in one.lines()]
    return [f"{counted(messages, 'message')} in {counted(sessions, 'session')} of {len(reports):,} files", *lines]


def _lost(rows: pl.DataFrame, placed: pl.DataFrame) -> Iterator[str]:
    timed = rows.drop_nulls(["since", "until"]).height
    if timed < rows.height:
        yield f"{counted(rows.height - timed, 'session')} without a time cannot be judged: no time headers"
    if placed.height < timed:
        yield f"{counted(timed - placed.height, 'session')} came twice, as in stream and capture, and counted once"


def _in_label_folder(file: Path) -> bool:
    return any(part.lower() in LABEL_FOLDERS for part in file.parts[:-1])


def _labels(rows: pl.DataFrame, labels: Path | None, reading: Reading) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Of the table that was named; otherwise of the folders, each label for its own session alone."""
    if labels is not None:
        told = read_labels(labels, reading.time_zone)
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
