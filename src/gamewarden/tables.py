"""The tables rooms pass to each other, and the check each room makes at its door."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.core.coverage import Coverage
from gamewarden.core.files import bad_ending, whole_file
from gamewarden.core.outside import plain_json
from gamewarden.core.spreadsheets import harmless
from gamewarden.errors import ReadError, TableError

DataType = pl.DataType | type[pl.DataType]
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")  # how Polars tells that the system refused a file operation
TIME = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Schema:
    """A table's name, its columns in order, which of them must be there, and which of those may hold null."""

    name: str
    columns: Mapping[str, DataType]
    required: tuple[str, ...]
    may_be_null: tuple[str, ...] = ()  # required, but null where a source has no such thing
    open: bool = False  # further columns are welcome and kept


# How the rows of every feature begin: who, when, and how many events, packets or messages the row was made of.
FEATURE_HEAD: Mapping[str, DataType] = {"actor": pl.String, "since": TIME, "until": TIME, "events": pl.Int64}
EVENTS = Schema(
    "EVENTS",
    {
        "actor": pl.String,
        "character": pl.String,
        "at": TIME,
        "seq": pl.Int64,
        "kind": pl.String,
        "zone": pl.String,
        "x": pl.Float32,
        "y": pl.Float32,
        "level": pl.Int16,
        "target": pl.String,
        "item": pl.String,
        "amount": pl.Float64,
        "other": pl.String,
        "session": pl.String,
        "ip": pl.String,
    },
    required=("actor", "at", "kind"),
)
RESERVED_KINDS = (
    "session.login",
    "session.logout",
    "zone.enter",
    "move",
    "combat.kill",
    "combat.death",
    "combat.attack",
    "loot.pickup",
    "loot.drop",
    "item.use",
    "item.craft",
    "npc.buy",
    "npc.sell",
    "trade.give",
    "trade.receive",
    "market.buy",
    "market.sell",
    "mail.send",
    "mail.receive",
    "storage.deposit",
    "storage.withdraw",
    "level.up",
    "exp.gain",
    "currency.gain",
    "currency.loss",
    "skill.use",
    "chat",
    "party.join",
    "party.leave",
    "challenge.issued",
    "challenge.passed",
    "challenge.failed",
    "challenge.timeout",
    "report.filed",
)
TEXT_COLUMNS = frozenset(name for name, dtype in EVENTS.columns.items() if dtype == pl.String)
EVENTS_ARROW = pa.schema(
    [
        (name, pa.string() if name in TEXT_COLUMNS else pl.Series(name, [], dtype).to_arrow().type)
        for name, dtype in EVENTS.columns.items()
    ]
)
PACKETS = Schema(
    "PACKETS",
    {
        "flow": pl.String,
        "actor": pl.String,
        "at": TIME,
        "seq": pl.Int64,
        "up": pl.Boolean,  # client to server
        "size": pl.Int32,  # payload bytes
    },
    required=("actor", "at", "up", "size"),
)
TRAFFIC = Schema(
    "TRAFFIC",  # one row a completed window of client packets
    {
        **FEATURE_HEAD,  # events are the client packets of the window
        "window": pl.Int64,
        "gaps_over_1": pl.Int64,
        "gaps_over_2": pl.Int64,
        "sizes_over_1": pl.Int64,
        "sizes_over_2": pl.Int64,
        "votes": pl.Int64,
        "valid": pl.Int64,
        "autocorrelation": pl.Boolean,
        "interarrival": pl.Boolean,
        "lengths": pl.Boolean,
        "regular": pl.Boolean,
        "peak": pl.Boolean,
        "bot": pl.Boolean,
    },
    required=("actor", "since", "until", "events", "interarrival", "lengths"),
)
MESSAGES = Schema(
    "MESSAGES",  # one row a message of a game client, decoded
    {
        "stream": pl.Int32,  # number of the file or connection
        "client": pl.String,  # address:port, where a capture tells it
        "session": pl.Int64,  # number of the play session: from one connect message to the next
        "actor": pl.String,  # account; null before any connect message
        "character": pl.String,
        "at": TIME,  # null where a stream says no time
        "id": pl.UInt16,
        "function": pl.String,  # what the server does with it, by the message table's name in lower case
        "size": pl.Int32,
        "x": pl.Int16,
        "y": pl.Int16,
        "target": pl.UInt32,
        "action": pl.UInt8,
        "item": pl.UInt16,  # place in the inventory or storage
        "skill": pl.UInt16,
        "amount": pl.Int64,
    },
    required=("session",),
)
SESSIONS = Schema(
    "SESSIONS",  # one row a play session, with the features of Cornelissen and its turns
    {
        **FEATURE_HEAD,  # events are the client's messages
        "character": pl.String,
        "valid": pl.Boolean,  # longer than ten minutes
        "enough": pl.Boolean,  # enough was done to judge it
        "packets_per_s": pl.Float64,
        "move_dx": pl.Float64,
        "move_dy": pl.Float64,
        "move_distance": pl.Float64,
        "move_gap_ms": pl.Float64,
        "take_gap_ms": pl.Float64,
        "turn_to_take_ms": pl.Float64,
        "attack_to_take_ms": pl.Float64,
        "continuous_attacks_per_s": pl.Float64,
        "turn_mean_deg": pl.Float64,
        "turn_circular_variance": pl.Float64,
        "turn_back_share": pl.Float64,
        "once_attacks_per_s": pl.Float64,
    },
    required=("events", "valid", "enough"),
)
LABELS = Schema(
    "LABELS",
    {
        "actor": pl.String,
        "character": pl.String,
        "since": TIME,
        "until": TIME,
        "bot": pl.Boolean,
        "source": pl.String,
        "votes": pl.Int32,
        "group": pl.String,  # who belongs together (a player, a farm) and is held out together
        "at": TIME,  # when the label was given: it judges nothing that ended later
    },
    required=("actor", "bot"),
    open=True,
)
FEATURES = Schema(
    "FEATURES",
    FEATURE_HEAD,
    required=tuple(FEATURE_HEAD),
    may_be_null=("since", "until", "events"),  # an operator's own table has a row an actor, without a period
    open=True,
)
SCORES = Schema(
    "SCORES",
    {
        "actor": pl.String,
        "since": TIME,
        "until": TIME,
        "detector": pl.String,
        "model": pl.String,
        "probability": pl.Float64,
        "fpr": pl.Float64,
        "fpr_peers": pl.Float64,  # within the style of play; null where nobody of it was reviewed or none is told apart
        "events": pl.Int64,
        "covered": pl.Float64,  # the share of the period that the source covers, where that is known
        "far": pl.String,  # the number that lies furthest beyond what the model learned from; null where none does
    },
    required=("actor", "since", "until", "detector", "model", "events"),
    may_be_null=("since", "until", "events"),
)
ODDNESS = Schema(
    "ODDNESS",
    {
        "actor": pl.String,
        "since": TIME,
        "until": TIME,
        "detector": pl.String,
        "model": pl.String,
        "oddness": pl.Float64,  # what its signs add up to
        "as_odd": pl.Float64,  # the share of all players who look at least as odd; nobody has said who is human
        "events": pl.Int64,
    },
    required=("actor", "since", "until", "detector", "model", "events"),
    may_be_null=("since", "until", "events"),
)
EVIDENCE = Schema(
    "EVIDENCE",
    {
        "actor": pl.String,
        "since": TIME,
        "until": TIME,
        "detector": pl.String,
        "feature": pl.String,
        "value": pl.Float64,
        "typical": pl.Float64,
        "weight": pl.Float64,
        "alone": pl.Float64,  # what the number would say if it were all that is known
        "says": pl.String,
    },
    required=("actor", "since", "until", "detector", "feature"),
    may_be_null=("since", "until"),
)
VERDICTS = Schema(
    "VERDICTS",
    {
        "actor": pl.String,
        "since": TIME,
        "until": TIME,
        "probability": pl.Float64,
        "fpr": pl.Float64,
        "agree": pl.Int64,  # families of features that say bot, each on its own
        "streak": pl.Int64,  # judged periods in a row, up to this one, that say bot
        "covered": pl.Float64,  # the share of the period that the source covers, where that is known
        "far": pl.String,  # models that were shown what lies far beyond what they learned from, null where none was
    },
    required=("actor", "since", "until", "agree", "streak"),
)
EDGES = Schema(
    "EDGES",  # what an account had to do with another, or with an address, in a period
    {
        "since": TIME,
        "until": TIME,
        "actor": pl.String,
        "other": pl.String,  # an account; an address where the kind says so
        "kind": pl.String,  # trade.*, mail.*, market.*, or floor, address, party
        "n": pl.Int64,
        "amount": pl.Float64,  # of money, positive where the actor gains; null where none is told
        "items": pl.Int64,  # how many, positive where the actor gains; null where none is told
        "first": TIME,
        "last": TIME,
    },
    required=("since", "until", "actor", "other", "kind", "n", "first", "last"),
)
PROFILES = Schema(
    "PROFILES",
    {
        "actor": pl.String,
        "name": pl.String,
        "server": pl.String,
        "class": pl.String,
        "main_character": pl.String,
        "level": pl.Int16,
        "first_login": TIME,
        "customer_grade": pl.String,
        "ticket": pl.String,
        "payment": pl.Float64,
        "guard_pattern": pl.String,
    },
    required=("actor",),
    open=True,
)


def check(frame: pl.DataFrame, table: Schema, door: str) -> pl.DataFrame:
    """The frame with the table's columns in the table's order; `door` says who asks.

    A missing optional column becomes null. Columns a closed table does not know are dropped.

    Raises:
        TableError: a required column is missing or has nulls, a column does not convert, or a float is NaN.
    """
    missing = [name for name in table.required if name not in frame.columns]
    if missing:
        raise TableError(
            f"{door}: {table.name} lacks {', '.join(missing)}; it has {', '.join(frame.columns) or 'no columns'}"
        )
    columns = [_column(frame, name, dtype, table, door) for name, dtype in table.columns.items()]
    extra = [frame[name] for name in frame.columns if name not in table.columns] if table.open else []
    checked = pl.DataFrame([*columns, *extra])
    _refuse_holes(checked, table, door)
    return checked


def _column(frame: pl.DataFrame, name: str, dtype: DataType, table: Schema, door: str) -> pl.Series:
    if name not in frame.columns:
        return pl.Series(name, [None] * frame.height, dtype=dtype)
    try:
        return frame[name].cast(dtype)
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f"{door}: {table.name}.{name} is {frame[name].dtype} and does not convert to {dtype}"
        ) from error


def _refuse_holes(frame: pl.DataFrame, table: Schema, door: str) -> None:
    for name in table.required:
        if name not in table.may_be_null and (holes := frame[name].null_count()):
            raise TableError(
                f"{door}: {table.name}.{name} is null in {holes} of {frame.height} rows; it must always be there"
            )
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    for name, broken in zip(floats, frame.select(pl.col(floats).is_nan().any()).row(0) if floats else (), strict=True):
        if broken:
            raise TableError(f"{door}: {table.name}.{name} holds NaN; write null for what was not measured")


class FrameEvents:
    """Events that already stand in memory, as a stream that says nothing of where they come from."""

    notes: tuple[str, ...] = ()

    def __init__(self, frame: pl.DataFrame, batch: int = 1 << 20) -> None:
        self.frame = check(frame, EVENTS, "events")
        self.columns = frozenset(
            name for name in self.frame.columns if self.frame[name].null_count() < self.frame.height
        )
        self.rows = self.frame.height
        self._batch = batch

    @property
    def shows(self) -> Mapping[str, int] | None:
        """Whatever they are asked for."""
        return None

    @property
    def coverage(self) -> Coverage | None:
        """Nobody knows."""
        return None

    @property
    def whole(self) -> Self:
        """All of them are there."""
        return self

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in their order, `columns` only."""
        arrow = self.frame.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
        yield from arrow.to_batches(max_chunksize=self._batch)


class FramePackets:
    """Packets that already stand in memory, as a stream."""

    notes: tuple[str, ...] = ()
    withheld: int = 0

    def __init__(self, frame: pl.DataFrame, batch: int = 1 << 16) -> None:
        self.frame = check(frame, PACKETS, "packets")
        self.rows = self.frame.height
        self.counts: Mapping[str, int] = {}
        self._batch = batch

    def batches(self, columns: Sequence[str] = ("actor", "at", "up", "size")) -> Iterator[pa.RecordBatch]:
        """The rows in their order."""
        arrow = self.frame.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
        actors = arrow["actor"].cast(pa.string()).combine_chunks().dictionary_encode()
        yield from arrow.set_column(columns.index("actor"), "actor", actors).to_batches(max_chunksize=self._batch)


class FrameRows:
    """An operator's own table in memory, as a stream: one row per actor, whatever its columns are called."""

    notes: tuple[str, ...] = ()

    def __init__(self, frame: pl.DataFrame, name: str = "table", batch: int = 1 << 16) -> None:
        self.frame = frame
        self.name = name
        self.columns = tuple(frame.columns)
        self.rows = frame.height
        self._batch = batch

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in their order, `columns` only, each of its own type."""
        arrow = self.frame.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
        yield from arrow.to_batches(max_chunksize=self._batch)


class FrameMessages:
    """Decoded messages that already stand in memory, as a stream."""

    notes: tuple[str, ...] = ()
    damaged: bool = False

    def __init__(self, frame: pl.DataFrame, batch: int = 1 << 16) -> None:
        self.frame = check(frame, MESSAGES, "messages")
        self.rows = self.messages = self.frame.height
        self._batch = batch

    @property
    def sessions(self) -> int:
        """How many sessions the messages are of."""
        return self.frame.select("stream", "session").n_unique()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in their order, `columns` only."""
        arrow = self.frame.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
        for place, name in enumerate(columns):
            if MESSAGES.columns[name] == pl.String:
                coded = arrow[name].cast(pa.string()).combine_chunks().dictionary_encode()
                arrow = arrow.set_column(place, name, coded)
        yield from arrow.to_batches(max_chunksize=self._batch)


# What pyarrow raises over a file that somebody else has damaged, its names not being text included.
PARQUET_FAULTS = (OSError, ValueError, KeyError, IndexError, pa.ArrowException)


BATCH = 1 << 18  # rows


def parquet_batches(
    file: pq.ParquetFile, columns: Sequence[str], groups: Sequence[int] | None = None, batch: int = BATCH
) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file in their order, `columns` only, no batch across two row groups.

    Raises:
        ReadError: a page is damaged.
    """
    for group in range(file.num_row_groups) if groups is None else groups:
        try:
            for found in file.iter_batches(batch, row_groups=[group], columns=columns, use_threads=False):
                _refuse_wild_codes(found, group)
                yield found
        except PARQUET_FAULTS as error:
            raise ReadError(f"row group {group} is damaged ({first_line(error)})") from error


def _refuse_wild_codes(batch: pa.RecordBatch, group: int) -> None:
    """Damaged bytes can be codes that name no text; whoever looks one up would read past the end."""
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and len(column):
            codes = pc.min_max(column.indices).as_py()
            if codes["max"] is not None and not 0 <= codes["min"] <= codes["max"] < len(column.dictionary):
                raise ReadError(f"row group {group} is damaged (a code in it names no text)")


def signed_seq(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with seq as a signed number, which was unsigned once.

    Raises:
        ArrowInvalid: a number is beyond 2^63 - 1.
    """
    place = batch.schema.get_field_index("seq")
    if place < 0 or batch.schema.field(place).type != pa.uint64():
        return batch
    return batch.set_column(place, "seq", batch.column(place).cast(pa.int64()))


def kinds_in(column: pa.Array) -> dict[str, int]:
    """How often each kind stands in a column of kinds."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    counts = np.bincount(column.indices.to_numpy(zero_copy_only=False), minlength=len(column.dictionary))
    return {kind: count for kind, count in zip(column.dictionary.to_pylist(), counts.tolist(), strict=True) if count}


def first_line(error: BaseException) -> str:
    """What a library says, on one line and not too long."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]


def write_table(frame: pl.DataFrame, path: Path, *, exact: bool = False) -> None:
    """Write a table as CSV, Parquet, JSON or JSON Lines by the file's ending, whole or not at all.

    Raises:
        WriteError: the ending is another one, or the place cannot be written.
    """
    with whole_file(path) as draft:
        _writer(path, exact=exact)(frame, draft)


def write_parquet(frame: pl.DataFrame, draft: Path) -> None:
    """Write a table as Parquet under the name of a draft.

    Raises:
        OSError: the disk is full, or fails otherwise.
    """
    try:
        frame.write_parquet(draft)
    except pl.exceptions.ComputeError as error:
        found = _SYSTEM_ERROR.search(str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1])), str(draft)) from error


def csv_text(frame: pl.DataFrame, *, exact: bool = False) -> str:
    """The table as CSV: UTC times with six decimals and Z, null as an empty field, shortest floats.

    A text that a spreadsheet would take for a formula gets an apostrophe before it, unless it is to be `exact`.
    """
    return (frame if exact else harmless(frame)).write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


def json_text(frame: pl.DataFrame) -> str:
    """The table as a JSON array with one object a row."""
    return plain_json(_with_written_times(frame).write_json()) + "\n"


def json_lines(frame: pl.DataFrame) -> str:
    """The table as one JSON object a line."""
    return plain_json(_with_written_times(frame).write_ndjson())


def _with_written_times(frame: pl.DataFrame) -> pl.DataFrame:
    times = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Datetime)]
    return frame.with_columns(pl.col(times).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"))


def _writer(path: Path, *, exact: bool) -> Callable[[pl.DataFrame, Path], object]:
    match path.suffix.lower():
        case ".csv":
            return lambda frame, draft: draft.write_text(csv_text(frame, exact=exact), encoding="utf-8", newline="")
        case ".json":
            return lambda frame, draft: draft.write_text(json_text(frame), encoding="utf-8")
        case ".jsonl":
            return lambda frame, draft: draft.write_text(json_lines(frame), encoding="utf-8")
        case ".parquet":
            return write_parquet
        case _:
            raise bad_ending(path)


@dataclass(frozen=True)
class Table:
    """A table, and what has to be said beside it."""

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    shows: Mapping[str, int] | None = None  # what the source behind it can show, where it is one of events
