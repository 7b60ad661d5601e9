"""Packet tables to packets: CSV, JSON Lines and Parquet with actor, at, up and size, each bad row counted by reason."""

import csv
import io
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gamewarden.contracts import Bounds
from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.byte_sources import ByteSource, Origin, Window
from gamewarden.readers.layout import NULLS
from gamewarden.readers.packet_schema import SCHEMA
from gamewarden.readers.times import NO_ZONE, Clock

_WANTED = ("actor", "at", "up", "size")
_BATCH_ROWS = 1 << 16
_LARGEST = 2**31 - 1

Frames = Iterator[pl.DataFrame]


@dataclass(frozen=True)
class PacketMapping:
    """Which of their columns are ours, and what in theirs says "client to server"."""

    columns: Mapping[str, str] = field(default_factory=dict)
    up_is: tuple[str, ...] | None = None
    clock: Clock = field(default_factory=Clock)

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
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read as TOML ({error})") from error

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
        means = up.get("is")
        up_is = None if means is None else tuple(map(str, means if isinstance(means, list) else [means]))
        return cls({ours: str(theirs) for ours, theirs in columns.items()}, up_is, Clock(**time))


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

    def __init__(
        self,
        origin: Origin,
        mapping: PacketMapping | None = None,
        zone: str | None = None,
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
        self._clock = Clock(clock.format, zone or clock.zone)
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
    def remarks(self) -> tuple[str, ...]:
        """What the latest reading counted, and where it had to stop."""
        return tuple(self.report.lines())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All packets in the source's order.

        Raises:
            ReadError: a column is missing, a time has no zone, or not one row is good.
        """
        report = self.report = TableReport()
        wanted = {ours: self._mapping.column(ours) for ours in _WANTED}
        actors: dict[str, int] = {}
        for frame in self._frames(self._origin, wanted, report):
            good = self._good_rows(frame)
            report.read += frame.height
            report.delivered += good.height
            if good.height:
                yield _batch(good, {} if self._bounded else actors)
        if report.examples and not report.delivered:
            raise ReadError(f"{self._origin.name}: no row can be read; {'; '.join(report.lines()[1:])}")

    def _good_rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        moments = self._clock.read(frame["at"])
        if NO_ZONE in moments.faults:
            seen = frame["at"][int(moments.faults[NO_ZONE].argmax())]
            raise ReadError(f"{self._origin.name}: the time {str(seen)!r} has no zone; name it with --zone")
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
            values = ", ".join(f"{column}={frame[column][first]!r}" for column in frame.columns)
            self.report.leave_out(reason, int(rows.sum()), f"row {self.report.read + first + 1} ({values})")

    def _up(self, texts: pl.Series) -> pl.Series:
        texts = texts.cast(pl.String)
        if self._mapping.up_is is not None:
            return texts.is_in(list(self._mapping.up_is))
        plain = texts.str.strip_chars().str.to_lowercase()
        known = {"true": True, "1": True, "false": False, "0": False}
        return plain.replace_strict(known, default=None, return_dtype=pl.Boolean)


def _batch(good: pl.DataFrame, actors: dict[str, int]) -> pa.RecordBatch:
    """Rows as Arrow; codes of actors stay the same from batch to batch."""
    encoded = good["actor"].to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string()).dictionary_encode()
    codes = [actors.setdefault(actor, len(actors)) for actor in encoded.dictionary.to_pylist()]
    indices = np.array(codes, np.int32)[encoded.indices.to_numpy()]
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(list(actors), pa.string()), safe=False),
        pa.array(good["at"].to_physical().to_numpy()).view(SCHEMA.field("at").type),
        pa.array(good["up"].to_numpy()),
        pa.array(good["size"].cast(pl.Int32).to_numpy()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


FrameReader = Callable[[Origin, Mapping[str, str], TableReport], Frames]


def _reader_for(origin: Origin) -> FrameReader:
    head = origin.head()
    if not head:
        raise ReadError(f"{origin.name}: is empty; it should be a capture or a packet table")
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
        blocks = _line_blocks(source)
        header = next(blocks, b"").lstrip(b"\xef\xbb\xbf")
        names = next(csv.reader(io.StringIO(header.decode("utf-8", "replace"))), [])
        _require(wanted, names, origin.name)
        for block in blocks:
            yield _csv_frame(block, names, wanted)
        report.problem = source.problem


def _csv_frame(block: bytes, names: list[str], wanted: Mapping[str, str]) -> pl.DataFrame:
    unique = [f"column_{place}" for place in range(1, len(names) + 1)]  # their names may repeat
    places = [names.index(theirs) for theirs in wanted.values()]
    frame = pl.read_csv(
        block,
        has_header=False,
        schema=dict.fromkeys(unique, pl.String),
        columns=[unique[place] for place in sorted(set(places))],
        encoding="utf8-lossy",
        null_values=list(NULLS),
        truncate_ragged_lines=True,
    )
    return frame.select(pl.col(unique[place]).alias(ours) for ours, place in zip(wanted, places, strict=True))


def _line_blocks(source: ByteSource) -> Iterator[bytes]:
    """First the first line, then as many whole lines at a time as are there."""
    window = Window(source)
    size = 0
    first = True
    while True:
        data = window.take(window.left)
        size = data.find(b"\n") + 1 if first else _whole_lines(data)
        if size:
            first = False
            window.start += size
            yield data[:size]
        elif not window.fill():
            break
    if data:
        yield data


def _whole_lines(data: bytes) -> int:
    """Length of the rows that are complete: a line end inside quotes ends no row."""
    size = data.rfind(b"\n") + 1
    while size and data.count(b'"', 0, size) % 2:
        size = data.rfind(b"\n", 0, size - 1) + 1
    return size


def _json_frames(origin: Origin, wanted: Mapping[str, str], report: TableReport) -> Frames:
    with origin.opened() as source:
        seen = False
        for block in _line_blocks(source):
            rows = [_json_row(line, report) for line in block.splitlines() if line.strip()]
            objects = [row for row in rows if row is not None]
            if objects and not seen:
                _require(wanted, list(objects[0]), origin.name)
                seen = True
            yield pl.DataFrame(
                {ours: [_text(row.get(theirs)) for row in objects] for ours, theirs in wanted.items()},
                schema=dict.fromkeys(wanted, pl.String),
            )
        report.problem = source.problem


def _json_row(line: bytes, report: TableReport) -> dict[str, Any] | None:
    try:
        row = json.loads(line, parse_float=str, parse_int=str)  # numbers stay the text they are
    except (ValueError, RecursionError):
        row = None
    if isinstance(row, dict):
        return row
    report.read += 1
    report.leave_out("that are not a JSON object", 1, f"row {report.read} ({line[:60]!r})")
    return None


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None


def _parquet(origin: Origin) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(origin.path)
    except (OSError, pa.ArrowException) as error:
        raise ReadError(f"{origin.name}: cannot be read as Parquet ({error})") from error


def _parquet_frames(origin: Origin, wanted: Mapping[str, str], _report: TableReport) -> Frames:
    with _parquet(origin) as file:
        _require(wanted, file.schema_arrow.names, origin.name)
        names = list(dict.fromkeys(wanted.values()))
        try:
            for batch in file.iter_batches(_BATCH_ROWS, columns=names):
                frame = pl.DataFrame(pl.from_arrow(batch))
                yield frame.select(pl.col(theirs).alias(ours) for ours, theirs in wanted.items())
        except (OSError, pa.ArrowException) as error:
            raise ReadError(f"{origin.name}: cannot be read as Parquet ({error})") from error


def _require(wanted: Mapping[str, str], names: list[str], name: str) -> None:
    for ours, theirs in wanted.items():
        if theirs not in names:
            raise ReadError(
                f"{name}: has no column {theirs!r} for {ours}; name theirs in a mapping: {', '.join(names) or 'none'}"
            )
