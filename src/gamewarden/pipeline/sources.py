"""Opening what a command was given: logs, lakes, captures and packet logs as streams."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden import detectors, features
from gamewarden.config import Config
from gamewarden.contracts import (
    Bounds,
    EventStream,
    Feature,
    LogSource,
    PacketStream,
    Progress,
    RowStream,
    Stream,
    StreamKind,
    no_progress,
)
from gamewarden.errors import ReadError
from gamewarden.readers.captures.packets import open_packets
from gamewarden.readers.logs.layout import PLAIN
from gamewarden.readers.logs.lint import Lint, lint_events
from gamewarden.readers.logs.lint import lint as lint_file
from gamewarden.readers.logs.mapping import load_mapping
from gamewarden.readers.logs.operator_tables import read_table
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.tables import MAX_BAD_SHARE, EventFile, open_events
from gamewarden.spans import parse_span
from gamewarden.store.lake import Lake
from gamewarden.tables import FrameRows
from gamewarden.verdicts.meeting import Limits


@dataclass(frozen=True)
class Reading:
    """How sources are read in this run."""

    mapping: str | None = None
    time_zone: str | None = None
    max_bad_share: float = MAX_BAD_SHARE
    keep_truncated: bool = False
    server_ports: tuple[int, ...] = ()  # of captures
    accounts: Path | None = None  # who used which address when, for captures
    include_empty: bool = False  # packets without payload
    packet_db: tuple[Path, ...] = ()  # what the messages of game clients mean, the last uppermost; else the thesis' own
    packet_version: int | None = None  # up to which version of it
    strict: bool = False  # the first message that cannot be read ends its stream
    game: str | None = None  # whose client messages a packetstream or capture holds, to be read as events
    limits: Limits = field(default=Limits())  # how much a model and a source must have in common
    plausible: Plausible = ANY_TIME  # the times that events can have


@dataclass(frozen=True)
class Table:
    """A table, and what has to be said beside it."""

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    shows: Mapping[str, int] | None = None  # what the source behind it can show, where it is one of events


def limits_of(config: Config) -> Limits:
    """How much a model and a source must have in common, by the settings."""
    return Limits(**asdict(config.origin), covered=config.coverage.least)


def open_source(source: Path, reading: Reading) -> EventStream:
    """A lake or a log file as a stream of events.

    Raises:
        ReadError: there is neither, or it cannot be read.
    """
    if source.is_dir():
        if Lake.is_at(source):
            return Lake(source).events()
        raise ReadError(f"{source}: is a directory and not a lake; `gamewarden read FILE… --to {source}` makes one")
    return _open_file(source, reading)


def _open_file(source: Path, reading: Reading) -> EventFile:
    mapping = None if reading.mapping is None else load_mapping(reading.mapping)
    return open_events(
        source,
        mapping,
        time_zone=reading.time_zone,
        max_bad_share=reading.max_bad_share,
        keep_truncated=reading.keep_truncated,
        plausible=reading.plausible,
    )


def bounds_of(config: Config, *, one_sided: bool = False) -> Bounds:
    """How much a watch may remember, by the settings."""
    watch = config.watch
    return Bounds(watch.players, watch.unproven, parse_span(watch.keep), one_sided)


def open_packet_source(source: Path, reading: Reading, bounds: Bounds | None = None) -> PacketStream:
    """A capture or a packet log, or standard input for `-`, as a stream of packets; with bounds for one without end.

    Raises:
        ReadError: it cannot be read.
        ConfigError: a port, the zone or the mapping is none.
    """
    if source.is_dir():
        raise ReadError(f"{source}: is a directory; packets are read from a capture or a packet log")
    return open_packets(
        source,
        reading.server_ports,
        reading.accounts,
        include_empty=reading.include_empty,
        mapping=reading.mapping,
        time_zone=reading.time_zone,
        bounds=bounds,
    )


def open_table(source: Path, reading: Reading) -> RowStream:
    """An operator's own table: CSV, JSON Lines or Parquet, one row an actor; of a mapping only [file] matters.

    Raises:
        ReadError: it cannot be read.
    """
    if source.is_dir():
        raise ReadError(f"{source}: is a directory; an account table is one CSV, JSON Lines or Parquet file")
    layout = PLAIN if reading.mapping is None else load_mapping(reading.mapping).layout
    return FrameRows(read_table(source, layout), str(source))


def lint(source: Path, reading: Reading) -> Lint:
    """What of a log or a lake can be read, and which detectors of events stay blind."""
    if not source.exists():
        raise ReadError(f"{source}: there is no such file or lake")
    seeing = {name: feature_class_of(name)() for name in detectors.names() if input_of(name) == "events"}
    if source.is_dir():
        return lint_events(open_source(source, reading), str(source), seeing)
    mapping = None if reading.mapping is None else load_mapping(reading.mapping)
    return lint_file(source, mapping, time_zone=reading.time_zone, detectors=seeing, plausible=reading.plausible)


def feature_class_of(detector: str) -> type[Feature]:
    """The recipe class of the feature a detector sees."""
    return features.load(detectors.feature_of(detector))


def input_of(detector: str) -> StreamKind:
    """What a detector's feature is measured from."""
    return feature_class_of(detector).input


def read(source: Path, lake: Path, reading: Reading, progress: Progress = no_progress) -> Table:
    """Take a log file into a lake; one row of what came in, with what was wrong in it as notes."""
    file = _open_log(source, reading)
    added = Lake(lake).add(cast("Any", Watched(file, progress)))
    notes = notes_of(file) if added.new else ()
    row = {
        "source": str(source),
        "new": added.new,
        "already_there": added.known,
        "days": len(added.days),
        "note": added.note,
    }
    return Table(pl.DataFrame([row], schema_overrides={"note": pl.String}), notes)


def _open_log(source: Path, reading: Reading) -> LogSource:
    if reading.game is None:
        return _open_file(source, reading).numbered()
    from gamewarden.pipeline.sessions import open_message_events

    return open_message_events(source, reading)


def _open_messages(source: Path, reading: Reading) -> Any:  # noqa: ANN401  a MessageStream, opened by its own module
    from gamewarden.pipeline.sessions import open_message_source

    return open_message_source([source], reading)


# How the source of each kind of stream is opened: what a feature takes, and who brings it.
OPENERS: Mapping[str, Callable[[Path, Reading], Any]] = {
    "events": open_source,
    "packets": open_packet_source,
    "messages": _open_messages,
    "table": open_table,
}


def open_for(feature: Feature, source: Path, reading: Reading, progress: Progress = no_progress) -> Any:  # noqa: ANN401  what the feature takes
    """The source as the stream that this feature measures, watched.

    Raises:
        ReadError: it cannot be read as such.
        ConfigError: a way of reading it is none.
    """
    return Watched(OPENERS[feature.input](source, reading), progress)


def notes_of(stream: object) -> tuple[str, ...]:
    """What the latest reading of a stream has to say: rows left out, where it had to stop."""
    return tuple(getattr(stream, "notes", ()))


class Watched:
    """A stream that reports how many rows have passed."""

    def __init__(self, stream: Any, progress: Progress) -> None:  # noqa: ANN401  of events, of packets
        self._stream = stream
        self._progress = progress

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stream has beside its batches
        return getattr(self._stream, name)

    def batches(self, *columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The stream's own batches."""
        for batch in self._stream.batches(*columns):
            yield batch
            self._progress(batch.num_rows)


class Unquestioned(Watched):
    """A stream of whose source nobody asks what it can show, or when it was there."""

    shows = None
    coverage = None

    def __init__(self, stream: Any) -> None:  # noqa: ANN401  of events, of packets
        super().__init__(stream, no_progress)


def whole_of(events: Stream) -> Stream:
    """All events behind a stream that leaves some out."""
    whole: Stream = getattr(events, "whole", events)
    return whole


class Filtered:
    """The events of a stream whose value in one column stays."""

    def __init__(self, events: EventStream, column: str, stays: Callable[[pa.Array], pa.Array]) -> None:
        self._events = events
        self._column = column
        self._stays = stays
        self.columns = events.columns
        self.rows: int | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stream has beside its batches
        return getattr(self._events, name)

    @property
    def whole(self) -> Stream:
        """The events of everybody, those that do not stay too."""
        return whole_of(self._events)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows that stay, in the source's order."""
        needed = list(dict.fromkeys([*columns, self._column]))
        for batch in self._events.batches(needed):
            kept = batch.filter(self._stays(batch.column(self._column)))
            if kept.num_rows:
                yield kept.select(list(columns))


def only(events: EventStream, column: str, value: str) -> Filtered:
    """The events of one actor, or of one character."""
    return Filtered(events, column, lambda values: pc.equal(values.cast(pa.string()), value))


def without(events: EventStream, kinds: Sequence[str]) -> Filtered:
    """The events of all other kinds."""
    named = pa.array(kinds, pa.string())
    return Filtered(events, "kind", lambda values: pc.invert(pc.is_in(values.cast(pa.string()), named)))


def before(events: EventStream, moment: datetime) -> Filtered:
    """The events up to a moment."""
    border = pa.scalar(moment, pa.timestamp("us", "UTC"))
    return Filtered(events, "at", lambda values: pc.less(values, border))
