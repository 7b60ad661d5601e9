"""Packetstreams, captures and folders of them: as one stream of client messages, as sessions, as events."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import Feature, LogSource, MessageStream, Progress, no_progress
from gamewarden.errors import ConfigError, ReadError
from gamewarden.features.session.recipe import Sessions
from gamewarden.pipeline.measuring import measured
from gamewarden.pipeline.sources import Reading, Table, Watched
from gamewarden.readers.logs.operator_tables import read_table
from gamewarden.readers.ragnarok.events import MessageEvents
from gamewarden.readers.ragnarok.messages import holds_messages, message_table, open_messages
from gamewarden.tables import MESSAGES
from gamewarden.words import counted

GAMES = ("ragnarok",)
# Folders whose name says what stands in them, as the thesis' own tool had them.
LABEL_FOLDERS: Mapping[str, bool | None] = {"players": False, "bots": True, "unknown": None}
NAME_COLUMNS = ("character", "name")
_NUMBERS = ("session", "stream")  # columns whose numbers a source counts by itself


def session_sources(paths: Sequence[Path]) -> list[tuple[Path, bool | None]]:
    """The packetstreams and captures among these paths, folders read recursively, with the label their folder gives.

    The nearest folder called `players`, `bots` or `unknown` says it: human, bot, or not known, as anywhere else.
    In a folder, hidden files and text such as labels and notes are passed over. A file named twice is there once.

    Raises:
        ReadError: a path is not there, or a folder holds no messages.
    """
    found = [file for path in paths for file in (_inside(path) if path.is_dir() else [path])]
    return [(file, _label(file)) for file in dict.fromkeys(found)]


def _inside(folder: Path) -> list[Path]:
    files = sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )
    kept = [file for file in files if holds_messages(file)]
    if not kept:
        there = f"only {counted(len(files), 'other file')}" if files else "it is empty"
        raise ReadError(f"{folder}: holds no packetstream and no capture, {there}; name a folder that does")
    return kept


def _label(file: Path) -> bool | None:
    named = [part.lower() for part in reversed(file.parts[:-1]) if part.lower() in LABEL_FOLDERS]
    return LABEL_FOLDERS[named[0]] if named else None


def open_message_source(sources: Sequence[Path], reading: Reading) -> "JoinedMessages":
    """Packetstreams, captures and folders of them as one stream of client messages.

    Raises:
        ReadError: a source or the message table cannot be read.
        ConfigError: a capture without a port, or a version the table does not have.
    """
    db = message_table(reading.packet_db, reading.packet_version)
    files = [file for file, _ in session_sources(sources)]
    return JoinedMessages(
        {str(file): open_messages(file, db, reading.server_ports, strict=reading.strict) for file in files}
    )


class JoinedMessages:
    """The messages of several sources, one after the other, under numbers of their own."""

    rows: int | None = None

    def __init__(self, streams: Mapping[str, MessageStream]) -> None:
        self._streams = streams

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading of each source counted."""
        several = len(self._streams) > 1
        return tuple(
            f"{name}: {line}" if several and not line.startswith(name) else line
            for name, stream in self._streams.items()
            for line in getattr(stream, "notes", ())
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Source by source; a number of a session or a stream never means two of them."""
        used: dict[str, int] = dict.fromkeys(_NUMBERS, 0)
        for stream in self._streams.values():
            before = dict(used)
            for batch in stream.batches(columns):
                moved = _moved(batch, before)
                used |= {name: max(used[name], _highest(moved, name) + 1) for name in _NUMBERS if name in columns}
                yield moved


def _moved(batch: pa.RecordBatch, by: Mapping[str, int]) -> pa.RecordBatch:
    for name in (name for name in _NUMBERS if name in batch.schema.names):
        column = batch.column(name)
        moved = pc.add(column, pa.scalar(by[name], column.type))
        batch = batch.set_column(batch.schema.get_field_index(name), name, moved)
    return batch


def _highest(batch: pa.RecordBatch, name: str) -> int:
    found = pc.max(batch.column(name)).as_py()
    return -1 if found is None else int(found)


class SummedUp:
    """Messages that pass by once, as from standard input, and are measured as they pass."""

    def __init__(self, stream: JoinedMessages) -> None:
        self._stream = stream
        self._fold = Sessions().fold()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All columns of the messages."""
        for batch in self._stream.batches(tuple(MESSAGES.columns)):
            self._fold.push(batch.select(list(self._fold.columns)))
            yield batch

    def read(self, progress: Progress = no_progress) -> None:
        """Let them all pass."""
        for batch in self.batches():
            progress(batch.num_rows)

    def sessions(self) -> pl.DataFrame:
        """SESSIONS of what has passed, in the order they began."""
        return self._fold.sessions()


def measure_sessions(
    feature: Feature, sources: Sequence[Path], reading: Reading, progress: Progress = no_progress
) -> Table:
    """SESSIONS of any number of packetstreams, captures and folders of them."""
    return measured(feature, Watched(open_message_source(sources, as_strict(feature, reading)), progress))


def as_strict(feature: Feature, reading: Reading) -> Reading:
    """As published also means as strict: the published reader gives a file up at the first id it does not know."""
    return replace(reading, strict=True) if feature.strict else reading


def open_message_events(source: Path, reading: Reading) -> LogSource:
    """A packetstream or a capture as a log of events.

    Raises:
        ReadError: the source or the message table cannot be read.
        ConfigError: the game is unknown, a capture without a port, or a version the table does not have.
    """
    if reading.game not in GAMES:
        raise ConfigError(f"{source}: cannot be read as {reading.game!r}; there is {', '.join(GAMES)}")
    db = message_table(reading.packet_db, reading.packet_version)
    messages = open_messages(source, db, reading.server_ports, strict=reading.strict)
    return MessageEvents(source, messages, db, list(reading.server_ports), reading.strict, plausible=reading.plausible)


def character_names(path: Path) -> dict[str, str]:
    """Character id -> name, from a table `character,name`.

    Raises:
        ReadError: it cannot be read, or lacks a column.
    """
    frame = read_table(path)
    if missing := [name for name in NAME_COLUMNS if name not in frame.columns]:
        raise ReadError(f"{path}: lacks {', '.join(missing)}; a table of names has {', '.join(NAME_COLUMNS)}")
    texts = frame.select(pl.col(NAME_COLUMNS).cast(pl.String)).drop_nulls()
    return dict(texts.iter_rows())


def describe_table(paths: Sequence[Path], version: int | None = None) -> Table:
    """What a message table says, or several on top of each other: one row an id, up to a version.

    Raises:
        ReadError: it cannot be read, or is none.
        ConfigError: it has no such version.
    """
    db = message_table(paths, version)
    rows = [
        {
            "id": f"0x{entry.id:04x}",
            "length": entry.length,
            "function": entry.function,
            "parts": " ".join(f"{name}@{place}" for name, place in entry.fields.items())
            or ":".join(str(place) for place in entry.positions if place)
            or None,
            "version": entry.version,
        }
        for entry in db.entries.values()
    ]
    schema = {"id": pl.String, "length": pl.Int32, "function": pl.String, "parts": pl.String, "version": pl.Int32}
    return Table(pl.DataFrame(rows, schema=schema), tuple(db.lines()))
