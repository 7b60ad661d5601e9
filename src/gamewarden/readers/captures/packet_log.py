"""Packet logs to packets: CSV, JSON Lines and Parquet with actor, at, up and size, each bad row counted by reason."""

import codecs
import csv
import io
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import PACKET_COLUMNS, Bounds
from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.byte_sources import Origin
from gamewarden.readers.captures.packet_schema import SCHEMA
from gamewarden.readers.logs.layout import NULLS
from gamewarden.readers.logs.normalize import shown
from gamewarden.readers.places import File, blame_store, confirm, parquet_source
from gamewarden.readers.row_blocks import RowBlocks
from gamewarden.readers.row_report import shorten
from gamewarden.readers.timestamps import NO_ZONE, TimeReader
from gamewarden.tables import PARQUET_FAULTS, first_line

_WANTED = ("actor", "at", "up", "size")
_BATCH_ROWS = 1 << 16
_LARGEST = 2**31 - 1
_MOST_COLUMNS = 4096
_SHOWN = 400  # letters of what a source says, at most
_TIMES = ("at", "from", "until")
_SURROGATE = re.compile("[\ud800-\udfff]")

Frames = Iterator[pl.DataFrame]


@dataclass(frozen=True)
class PacketMapping:
    """Which of their columns are ours, and what in theirs says "client to server"."""

    columns: Mapping[str, str] = field(default_factory=dict)
    up_is: tuple[str, ...] | None = None
    clock: TimeReader = field(default_factory=TimeReader)

    def column(self, ours: str) -> str:
        """Their name of our column."""
        return self.columns.get(ours, ours)

    @classmethod
    def from_toml(cls, path: Path) -> "PacketMapping":
        """Read a mapping file.

        Raises:
            ConfigError: it cannot be read or says something unknown.
        """
        try:
            return cls.from_dict(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"{path}: cannot be read as TOML ({first_line(error)})") from error

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], name: str = "mapping") -> "PacketMapping":
        """Take `[columns]`, `[up]` and `[time]` as a mapping file has them.

        Raises:
            ConfigError: a section, key or value is unknown.
        """
        _refuse_others(values, ("columns", "up", "time"), name)
        columns, up, time = (_section(values, part, name) for part in ("columns", "up", "time"))
        _refuse_others(columns, _WANTED, f"{name}: [columns]")
        _refuse_others(up, ("column", "is"), f"{name}: [up]")
        _refuse_others(time, ("format", "zone"), f"{name}: [time]")
        if "column" in up:
            columns["up"] = up["column"]
        for part, said in (("columns", columns), ("time", time)):
            _refuse_no_text(said, f"{name}: [{part}]")
        return cls(columns, _meanings(up.get("is"), name), TimeReader(time.get("format", "auto"), time.get("zone")))


def _meanings(means: object, name: str) -> tuple[str, ...] | None:
    if means is None:
        return None
    said = means if isinstance(means, list) else [means]
    for one in said:
        if not isinstance(one, str | int):
            raise ConfigError(f"{name}: [up] is = {str(one)[:40]!r}; it takes text, a number, or a list of them")
    return tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in said)


def _refuse_no_text(values: Mapping[str, Any], name: str) -> None:
    for key, value in values.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name}: {key} = {str(value)[:40]!r}; it takes text in quotes")


def _section(values: Mapping[str, Any], part: str, name: str) -> dict[str, Any]:
    section = values.get(part, {})
    if not isinstance(section, Mapping):
        raise ConfigError(f"{name}: {part} is not a section; write [{part}] on a line of its own")
    return dict(section)


def _refuse_others(values: Mapping[str, Any], known: tuple[str, ...], name: str) -> None:
    for key in values:
        if key not in known:
            raise ConfigError(f"{name}: {key!r} is unknown; a packet mapping knows {', '.join(known)}")


@dataclass
class TableReport:
    """How many rows were read, which were left out and why, with the first example of each reason."""

    read: int = 0
    delivered: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    problem: str | None = None

    def leave_out_row(self, reason: str, begins: bytes) -> None:
        """Count a row that did not become one of a table."""
        self.read += 1
        self.leave_out(reason, 1, f"row {self.read} ({begins[:60]!r})")

    @property
    def counts(self) -> dict[str, int]:
        """All counts, in words."""
        return {"rows read": self.read, "packets delivered": self.delivered} | self.left_out

    def lines(self) -> list[str]:
        """One line of counts, one a reason with its first example, and the problem."""
        summary = ", ".join(f"{count} {words}" for words, count in self.counts.items())
        shown = [f"{reason}: first in {example}" for reason, example in self.examples.items()]
        return [line for line in (summary, *shown, self.problem) if line]

    def leave_out(self, reason: str, count: int, example: str | None = None) -> None:
        """Count rows that are not delivered."""
        if count:
            self.left_out[reason] = self.left_out.get(reason, 0) + count
            if example is not None:
                self.examples.setdefault(reason, example)


class TableStream:
    """The packets of one table.

    A file can be read as often as needed, standard input once. `report` speaks of the latest reading.
    """

    withheld = 0  # whoever wrote the log has seen them

    def __init__(
        self,
        origin: Origin,
        mapping: PacketMapping | None = None,
        time_zone: str | None = None,
        *,
        include_empty: bool = False,
        only_up: bool = False,
        bounds: Bounds | None = None,
    ) -> None:
        """Look at the head of the source; nothing else is read yet.

        Raises:
            ReadError: it is empty, or Parquet from a pipe.
        """
        self.report = TableReport()
        self._origin = origin
        self._mapping = mapping or PacketMapping()
        clock = self._mapping.clock
        self._clock = TimeReader(clock.format, time_zone or clock.time_zone)
        self._include_empty = include_empty
        self._only_up = only_up
        self._bounded = bounds is not None
        self._frames = _reader_for(origin)

    @property
    def rows(self) -> int | None:
        """As a Parquet file says, with the rows that will be left out; not known for others."""
        if self._frames is not _parquet_frames or self._only_up:
            return None
        return int(_parquet(self._origin).metadata.num_rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading counted, and where it had to stop."""
        return tuple(self.report.lines())

    @property
    def counts(self) -> dict[str, int]:
        """What the latest reading has counted so far, in words."""
        return self.report.counts

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Iterator[pa.RecordBatch]:
        """All packets in the source's order.

        Raises:
            ReadError: a column is missing, a time has no zone, or not one row is good.
        """
        report = self.report = TableReport()
        wanted = {ours: self._mapping.column(ours) for ours in _WANTED}
        actors = _Actors()
        for frame in self._frames(self._origin, wanted, report):
            good = self._good_rows(frame)
            report.read += frame.height
            report.delivered += good.height
            if good.height:
                yield _batch(good, _Actors() if self._bounded else actors).select(columns)
        if report.examples and not report.delivered:
            raise ReadError(f"{self._origin.name}: no row can be read; {'; '.join(report.lines()[1:])}")

    def _good_rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        moments = self._clock.read(frame["at"])
        if NO_ZONE in moments.faults:
            seen = frame["at"][int(moments.faults[NO_ZONE].argmax())]
            raise ReadError(f"{self._origin.name}: the time {str(seen)[:40]!r} has no zone; name it with --time-zone")
        size = frame["size"].cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False)
        read = pl.DataFrame(
            {"actor": frame["actor"].cast(pl.String), "at": moments.at, "up": self._up(frame["up"]), "size": size}
        )
        bad = {
            "without an actor": read["actor"].fill_null("") == "",
            **{why: pl.Series(mask) for why, mask in moments.faults.items()},
            "without a time": read["at"].is_null(),
            "with a direction that is neither true nor false": read["up"].is_null(),
            "with a size that is not a whole number of bytes": ~size.is_between(0, _LARGEST).fill_null(value=False),
        }
        keep = pl.repeat(True, frame.height, eager=True, dtype=pl.Boolean)
        for reason, rows in bad.items():
            self._leave_out(reason, frame, rows & keep)
            keep &= ~rows
        for reason, rows in self._unwanted(read).items():
            self.report.leave_out(reason, int((rows & keep).sum()))
            keep &= ~rows
        return read.filter(keep)

    def _unwanted(self, read: pl.DataFrame) -> dict[str, pl.Series]:
        unwanted = {}
        if not self._include_empty:
            unwanted["without payload"] = (read["size"] == 0).fill_null(value=False)
        if self._only_up:
            unwanted["from server to client"] = (~read["up"]).fill_null(value=False)
        return unwanted

    def _leave_out(self, reason: str, frame: pl.DataFrame, rows: pl.Series) -> None:
        if rows.any():
            first = int(rows.arg_true()[0])
            values = ", ".join(f"{column}={shorten(shown(frame[column], first))}" for column in frame.columns)
            self.report.leave_out(reason, int(rows.sum()), f"row {self.report.read + first + 1} ({values})")

    def _up(self, texts: pl.Series) -> pl.Series:
        texts = texts.cast(pl.String)
        if self._mapping.up_is is not None:
            return texts.is_in(list(self._mapping.up_is))
        plain = texts.str.strip_chars().str.to_lowercase()
        known = {"true": True, "1": True, "false": False, "0": False}
        return plain.replace_strict(known, default=None, return_dtype=pl.Boolean)


class _Actors:
    """Codes of actors that stay the same from batch to batch; the dictionary grows by those that are new."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._names = pa.array([], pa.string())

    def coded(self, actors: pl.Series) -> pa.DictionaryArray:
        """The actors of a batch."""
        encoded = actors.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string()).dictionary_encode()
        known = len(self._codes)
        codes = [self._codes.setdefault(actor, len(self._codes)) for actor in encoded.dictionary.to_pylist()]
        if len(self._codes) > known:
            new = pa.array(codes, pa.int32())
            self._names = pa.concat_arrays([self._names, encoded.dictionary.filter(pc.greater_equal(new, known))])
        indices = np.array(codes, np.int32)[encoded.indices.to_numpy()]
        return pa.DictionaryArray.from_arrays(pa.array(indices), self._names, safe=False)


def _batch(good: pl.DataFrame, actors: _Actors) -> pa.RecordBatch:
    """Rows as Arrow."""
    columns = [
        actors.coded(good["actor"]),
        pa.array(good["at"].to_physical().to_numpy()).view(SCHEMA.field("at").type),
        pa.array(good["up"].to_numpy()),
        pa.array(good["size"].cast(pl.Int32).to_numpy()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


FrameReader = Callable[[Origin, Mapping[str, str], TableReport], Frames]


def _reader_for(origin: Origin) -> FrameReader:
    head = origin.head()
    if not head:
        raise ReadError(f"{origin.name}: is empty; it should be a capture or a packet log")
    if head == b"PAR1":
        if not origin.rereadable:
            raise ReadError(f"{origin.name}: Parquet cannot be read from a pipe; name the file")
        return _parquet_frames
    return _json_frames if head.lstrip()[:1] == b"{" else _csv_frames


def frames_of(origin: Origin, columns: Sequence[str]) -> Frames:
    """Any table a piece at a time, these columns of it.

    Raises:
        ReadError: a column is missing, or the source is empty.
    """
    return _reader_for(origin)(origin, {name: name for name in columns}, TableReport())


def _csv_frames(origin: Origin, wanted: Mapping[str, str], report: TableReport) -> Frames:
    with origin.opened() as source:
        blocks = RowBlocks(source, report.leave_out_row, quotes=True)
        names = _header(blocks.first_line(origin.name), origin.name)
        _require(wanted, names, origin.name)
        for block in blocks:
            yield _csv_frame(block, names, wanted, report)
        report.problem = source.problem


def _header(line: bytes, name: str) -> list[str]:
    text = line.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace").rstrip("\r\n")
    try:
        names = next(csv.reader([text]), [])
    except csv.Error as error:
        raise ReadError(f"{name}: its first line names no columns ({error}); it begins {text[:40]!r}") from error
    if len(names) > _MOST_COLUMNS:
        raise ReadError(f"{name}: has {len(names):,} columns; a packet log has up to {_MOST_COLUMNS:,}")
    return names


def _csv_frame(block: bytes, names: list[str], wanted: Mapping[str, str], report: TableReport) -> pl.DataFrame:
    unique = [f"column_{place}" for place in range(1, len(names) + 1)]  # their names may repeat
    places = [names.index(theirs) for theirs in wanted.values()]
    try:
        frame = pl.read_csv(
            b"".join((",".join(unique).encode(), b"\n", block)),  # so that no row says how many columns there are
            infer_schema=False,
            columns=[unique[place] for place in sorted(set(places))],
            encoding="utf8-lossy",
            null_values=list(NULLS),
            truncate_ragged_lines=True,
        )
    except pl.exceptions.PolarsError:
        return _odd_csv_frame(block, places, wanted, report)
    return frame.select(pl.col(unique[place]).alias(ours) for ours, place in zip(wanted, places, strict=True))


def _odd_csv_frame(block: bytes, places: list[int], wanted: Mapping[str, str], report: TableReport) -> pl.DataFrame:
    """Rows that a fast reader gives up, read one by one: a quote in the middle of a field is a letter."""
    rows = csv.reader(io.StringIO(block.decode("utf-8", "replace"), newline=""))
    kept: list[list[str | None]] = []
    while True:
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error as error:
            report.leave_out_row(f"that cannot be read ({error})", b"")
            continue
        if row:
            kept.append([_value(row[place]) if place < len(row) else None for place in places])
    return pl.DataFrame(kept, schema=dict.fromkeys(wanted, pl.String), orient="row")


def _value(text: str) -> str | None:
    return None if text in {"", *NULLS} else text


def _json_frames(origin: Origin, wanted: Mapping[str, str], report: TableReport) -> Frames:
    with origin.opened() as source:
        seen = False
        for block in RowBlocks(source, report.leave_out_row, quotes=False):
            rows = [_json_row(line, wanted, report) for line in block.splitlines() if line.strip()]
            objects = [row for row in rows if row is not None]
            if objects and not seen:
                _require(wanted, list(objects[0]), origin.name)
                seen = True
            yield pl.DataFrame(
                {ours: [_text(row.get(theirs)) for row in objects] for ours, theirs in wanted.items()},
                schema=dict.fromkeys(wanted, pl.String),
            )
        report.problem = source.problem


def _json_row(line: bytes, wanted: Mapping[str, str], report: TableReport) -> dict[str, Any] | None:
    try:
        row = json.loads(line, parse_float=str, parse_int=str)  # numbers stay the text they are
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        report.leave_out_row("that are not a JSON object", line)
        return None
    if any(_is_torn(row.get(theirs)) for theirs in wanted.values()):
        report.leave_out_row("with half a letter (a lone surrogate)", line)
        return None
    return row


def _is_torn(value: object) -> bool:
    return isinstance(value, str) and not value.isascii() and _SURROGATE.search(value) is not None


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None


def _file_of(origin: Origin) -> File:
    if origin.path is None:
        raise ReadError(f"{origin.name}: Parquet cannot be read from a pipe; name the file")
    return origin.path


def _parquet(origin: Origin) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(parquet_source(_file_of(origin)))
    except PARQUET_FAULTS as error:
        blame_store(_file_of(origin), error)
        raise ReadError(f"{origin.name}: cannot be read as Parquet ({first_line(error)})") from error


def _parquet_frames(origin: Origin, wanted: Mapping[str, str], _report: TableReport) -> Frames:
    with _parquet(origin) as file:
        try:
            schema = file.schema_arrow
        except PARQUET_FAULTS as error:
            raise ReadError(f"{origin.name}: cannot be read as Parquet ({first_line(error)})") from error
        _require(wanted, schema.names, origin.name)
        for ours, theirs in wanted.items():
            _refuse_type(schema, ours, theirs, origin.name)
        names = list(dict.fromkeys(wanted.values()))
        try:
            for batch in file.iter_batches(_BATCH_ROWS, columns=names):
                batch.validate(full=True)
                frame = pl.DataFrame({theirs: _column(batch.column(theirs)) for theirs in names})
                yield frame.select(pl.col(theirs).alias(ours) for ours, theirs in wanted.items())
            confirm(_file_of(origin))
        except PARQUET_FAULTS as error:
            blame_store(_file_of(origin), error)
            raise ReadError(f"{origin.name}: cannot be read as Parquet ({first_line(error)})") from error


def _refuse_type(schema: pa.Schema, ours: str, theirs: str, name: str) -> None:
    """Only what text and numbers are made of goes on: other libraries stop at the rest, some with the process."""
    if schema.names.count(theirs) > 1:
        raise ReadError(f"{name}: has more than one column {visible(theirs)!r}; name the one for {ours} in a mapping")
    kind = schema.field(theirs).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null)
    numbers = (pa.types.is_float32, pa.types.is_float64, pa.types.is_decimal128)
    times = (pa.types.is_timestamp,) if ours in _TIMES else ()
    if not any(fits(plain) for fits in (*known, *numbers, *times)):
        needed = "a time, text or a number" if ours in _TIMES else "text or a number"
        raise ReadError(f"{name}: column {visible(theirs)!r} for {ours} is {str(kind)[:60]}; it takes {needed}")


def _column(column: pa.Array) -> pl.Series:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))  # the same moments, whatever the zone is called
    return pl.Series(pl.from_arrow(column))


def _require(wanted: Mapping[str, str], names: list[str], name: str) -> None:
    for ours, theirs in wanted.items():
        if theirs not in names:
            there = visible(", ".join(names))[:_SHOWN] or "none"
            raise ReadError(f"{name}: has no column {theirs!r} for {ours}; name theirs in a mapping: {there}")
