"""Folders whose name says what stands in them, and what is said of the sessions in their files."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from gamewarden.contracts import MessageStream
from gamewarden.core.text import counted
from gamewarden.errors import FitError
from gamewarden.tables import LABELS, check

# Folders whose name says what stands in them, as the thesis' own tool had them.
LABEL_FOLDERS: Mapping[str, bool | None] = {"players": False, "bots": True, "unknown": None}
FOLDER = "folder"  # the source of a label that a folder's name gives


def named_after_file(sessions: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Who was there before any connect message goes by the file's name."""
    return sessions.with_columns(
        pl.col("actor").fill_null(file.name.partition(".")[0]),
        folder_says=pl.lit(folder_label(file), pl.Boolean),
    )


def messages_in_short(streams: Mapping[str, MessageStream]) -> list[str]:
    """All that one file has to say; of several, how much they hold together, and what went wrong in which."""
    if len(streams) == 1:
        return [line for stream in streams.values() for line in stream.notes]
    messages = sum(one.messages for one in streams.values())
    sessions = sum(one.sessions for one in streams.values())
    wrong = {name: one for name, one in streams.items() if one.damaged}
    lines = [line if line.startswith(name) else f"{name}: {line}" for name, one in wrong.items() for line in one.notes]
    return [f"{counted(messages, 'message')} in {counted(sessions, 'session')} of {len(streams):,} files", *lines]


def sessions_lost(rows: pl.DataFrame, placed: pl.DataFrame) -> Iterator[str]:
    """How many sessions are not judged, and why."""
    timed = rows.drop_nulls(["since", "until"]).height
    if timed < rows.height:
        yield f"{counted(rows.height - timed, 'session')} without a time cannot be judged: no time headers"
    if placed.height < timed:
        yield f"{counted(timed - placed.height, 'session')} came twice, as in stream and capture, and counted once"


def folder_label(file: Path) -> bool | None:
    """What the nearest folder called `players`, `bots` or `unknown` says: human, bot, or not known, as any other."""
    named = [part.lower() for part in reversed(file.parts[:-1]) if part.lower() in LABEL_FOLDERS]
    return LABEL_FOLDERS[named[0]] if named else None


def in_label_folder(file: Path) -> bool:
    """Whether some folder above a file says what it holds."""
    return any(part.lower() in LABEL_FOLDERS for part in file.parts[:-1])


def folder_labels(rows: pl.DataFrame) -> pl.DataFrame:
    """LABELS of the folders, each for its own session alone.

    Raises:
        FitError: no session stands in a folder of bots or players.
    """
    known = rows.drop_nulls("folder_says").select(
        "actor", "since", pl.col("until"), bot="folder_says", source=pl.lit(FOLDER)
    )
    if not known.height:
        raise FitError("fit: no session stands in a folder called players or bots; sort some there, or use --labels")
    return check(known, LABELS, "fit")
