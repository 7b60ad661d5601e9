"""What game servers pushed, as sources that nobody has to write into warden.toml: events and packets of the inbox.

Events go into the lake together with the names of their segments, and only then are the segments removed: whoever is
killed in between reads no row twice. Packets are put together to files that stay, as packets of other sources do.
"""

import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.config import Config, SourceSettings
from gamewarden.contracts import (
    Content,
    Fingerprint,
    LogSource,
    Remembered,
    StreamKind,
    Stretch,
    canonical_json,
    digest,
    nobody_remembered,
)
from gamewarden.core.files import unwritable, whole_file
from gamewarden.errors import ReadError
from gamewarden.readers.compression import Content as FileContent
from gamewarden.readers.pushed import PACKETS_ARROW
from gamewarden.sources import PlainSource
from gamewarden.store.inbox_segments import Closed, checked, closed_segments, files_of, made_at, remove, settle
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS, EVENTS_ARROW, PARQUET_FAULTS, first_line

INBOX = "inbox"  # the directory below the workspace
EVENTS_NAME, PACKETS_NAME = "pushed events", "pushed packets"  # no [[source]] may have a blank in its name
_RECIPE = digest("pushed events", "1")
_PIECE = 2_000_000  # rows that come into the lake at once
_BATCH = 1 << 17  # rows
_FILES = ".parquet"
_SEGMENTS = b"segments"  # of which a file of packets was made
_ENOUGH = 256 << 20  # bytes of packets that are one file at least


def pushed_sources(inbox: Path) -> tuple[SourceSettings, ...]:
    """The sources that an inbox is, once something was pushed."""
    events = SourceSettings(EVENTS_NAME, kind="events")
    packets = SourceSettings(PACKETS_NAME, (str(inbox.absolute() / "packets" / f"*{_FILES}"),), kind="packets")
    return tuple(one for one, kind in ((events, "events"), (packets, "packets")) if (inbox / kind).is_dir())


def named_sources(config: Config, root: Path) -> list[str]:
    """The sources of a workspace whose actors may be names, since nothing says that they are account numbers."""
    named = [one.name for one in config.sources if not one.account_numbers]
    pushed = [] if config.workspace.account_numbers else pushed_sources(root / INBOX)
    return [*named, *(one.name for one in pushed)]


class PushedEvents(PlainSource):
    """The events of an inbox as a source without end."""

    kinds: tuple[StreamKind, ...] = ("events",)
    is_a = "is an inbox"

    def __init__(self, directory: Path) -> None:
        super().__init__(EVENTS_NAME)
        self._directory = directory

    def fingerprint(self) -> Fingerprint:
        """Which inbox it is: what it holds changes with every moment."""
        return Fingerprint("inbox", self.name, hashlib.sha256(str(self._directory).encode()).hexdigest())

    def pieces(self, reached: str, remembered: Remembered = nobody_remembered) -> Iterator[LogSource]:
        """What was pushed since, in pieces; what is in the lake for good is removed from the inbox.

        Raises:
            ReadError: a segment is damaged; all others were taken in before.
            WriteError: the inbox cannot be written.
        """
        del remembered
        settle(self._directory)
        taken = _Taken.of(reached)
        self._remove(taken.segments)
        good, damaged = self._looked_at()
        for piece in _pieces(good):
            after = _Taken(taken.rows + sum(one.rows for one in piece), tuple(one.name for one in piece))
            yield _Piece(piece, taken.rows, Stretch(reached, str(after)))
            self._remove(after.segments)
            taken, reached = after, str(after)
        if damaged:
            raise ReadError("; ".join(damaged))

    def _looked_at(self) -> tuple[list[Closed], list[str]]:
        good, damaged = [], []
        for path in closed_segments(self._directory):
            try:
                good.append(checked(path))
            except ReadError as error:
                damaged.append(str(error))
        return good, damaged

    def _remove(self, names: Sequence[str]) -> None:
        there = {path.stem: path for path in closed_segments(self._directory)}
        _remove([there[name] for name in names if name in there])


@dataclass(frozen=True)
class _Taken:
    """How many events came in so far, and the segments that the last of them were in."""

    rows: int = 0
    segments: tuple[str, ...] = ()

    @classmethod
    def of(cls, reached: str) -> "_Taken":
        if not reached:
            return cls()
        values = json.loads(reached)
        return cls(int(values["rows"]), tuple(map(str, values["segments"])))

    def __str__(self) -> str:
        return canonical_json({"rows": self.rows, "segments": list(self.segments)})


class _Piece(PlainEvents):
    """Some segments on their way into a lake; their rows are numbered as they came."""

    name, recipe, own_seq = EVENTS_NAME, _RECIPE, True
    promised: frozenset[str] = frozenset()
    time_zone: str | None = None
    columns = frozenset(EVENTS.columns)

    def __init__(self, segments: Sequence[Closed], first: int, stretch: Stretch) -> None:
        self._segments, self._first = segments, first
        self.stretch = stretch

    @property
    def rows(self) -> int:
        """Its events."""
        return sum(one.rows for one in self._segments)

    def content(self, beginnings: Sequence[int] = ()) -> Content:
        """Known by where it stands, not by its bytes."""
        del beginnings
        return FileContent(hashlib.sha256(self.stretch.after.encode()).hexdigest(), 0, True, {})

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its events."""
        done = self._first
        for table in tables_of(self._segments, EVENTS_ARROW):
            numbers = pa.array(np.arange(done, done + table.num_rows))
            done += table.num_rows
            numbered = table.set_column(table.column_names.index("seq"), "seq", numbers)
            yield from numbered.select(list(columns)).combine_chunks().to_batches()


def _pieces(segments: Sequence[Closed]) -> Iterator[list[Closed]]:
    """Segments that are taken in together."""
    piece: list[Closed] = []
    for one in segments:
        if piece and sum(each.rows for each in piece) + one.rows > _PIECE:
            yield piece
            piece = []
        piece.append(one)
    if piece:
        yield piece


def tables_of(segments: Sequence[Closed], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of segments, many batches at a time.

    Raises:
        ReadError: a batch is not what this schema says.
    """
    held: list[pa.Table] = []
    for segment in segments:
        for content in segment.contents():
            held.append(_table(content, schema, segment.path))
            if sum(map(len, held)) >= _BATCH:
                yield pa.concat_tables(held)
                held = []
    if held:
        yield pa.concat_tables(held)


def _table(content: bytes, schema: pa.Schema, path: Path) -> pa.Table:
    try:
        table = pa.ipc.open_stream(io.BytesIO(content)).read_all()
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path}: holds what is no table ({error}); move it away") from error
    if not table.schema.equals(schema):
        raise ReadError(f"{path}: holds another table; move it away, or take it in with the version that wrote it")
    return table


def gather_packets(directory: Path, *, before: float) -> int:
    """Put pushed packets together to a file, once they are many or the first are from before then; how many.

    Files are made seldom: a window of packets does not go on from one file to the next. `before` are seconds.

    Raises:
        ReadError: a segment is damaged.
        WriteError: the inbox cannot be written.
    """
    settle(directory)
    _remove([directory / f"{name}.segment" for name in _gathered(directory)])
    paths = closed_segments(directory)
    if not paths or (made_at(paths[0].stem) >= before and sum(one.stat().st_size for one in paths) < _ENOUGH):
        return 0
    segments = [checked(path) for path in paths]
    rows = pa.concat_tables(tables_of(segments, PACKETS_ARROW))
    ordered = rows.take(pc.sort_indices(rows, sort_keys=[("at", "ascending")]))
    told = ordered.replace_schema_metadata({_SEGMENTS: json.dumps([one.name for one in segments])})
    with whole_file(directory / f"{segments[-1].name}{_FILES}") as draft:
        pq.write_table(told, draft, compression="zstd")
        os.utime(draft, (made_at(segments[-1].name),) * 2)  # as old as what is in it, whenever it was put together
    _remove(paths)
    return len(rows)


def _gathered(directory: Path) -> list[str]:
    """The segments whose packets are in the latest file."""
    files = files_of(directory, _FILES)
    if not files:
        return []
    with _of_ours(files[-1]):
        said = pq.read_schema(files[-1]).metadata or {}
        return [str(name) for name in json.loads(said.get(_SEGMENTS, b"[]"))]


@contextmanager
def _of_ours(path: Path) -> Iterator[None]:
    """Say of a file that is damaged, or was put there by somebody else, that it is."""
    try:
        yield
    except (*PARQUET_FAULTS, TypeError) as error:
        why = first_line(error)
        raise ReadError(f"{path}: is no file of pushed packets ({why}); restore it, or move it away") from error


def _remove(paths: Sequence[Path]) -> None:
    try:
        if there := [path for path in paths if path.exists()]:
            remove(there)
    except OSError as error:
        raise unwritable(paths[0].parent, error) from error


def pending_rows(inbox: Path, names: Sequence[str]) -> int:
    """How many events wait that are of somebody, or name them.

    Raises:
        ReadError: a segment is damaged.
    """
    segments = [checked(path) for path in closed_segments(inbox / "events")]
    found = 0
    for table in tables_of(segments, EVENTS_ARROW):
        frame = pl.DataFrame(pl.from_arrow(table.select(["actor", "other", "target"])))
        found += frame.filter(pl.any_horizontal(pl.all().is_in(list(names)))).height
    return found


def packet_files(inbox: Path) -> list[Path]:
    """The files that pushed packets were put together to."""
    return files_of(inbox / "packets", _FILES)


def without_actors(path: Path, names: Sequence[str]) -> None:
    """Rewrite a file of packets without those of some actors; it looks as old as it was.

    Raises:
        ReadError: it is no such file.
        WriteError: it cannot be written.
    """
    with _of_ours(path):
        found = pq.read_table(path)
        rows = found.cast(PACKETS_ARROW).replace_schema_metadata(found.schema.metadata)
    kept = rows.filter(pc.invert(pc.is_in(rows.column("actor"), pa.array(list(names), pa.string()))))
    if kept.num_rows == rows.num_rows:
        return
    looked = path.stat()
    with whole_file(path) as draft:
        pq.write_table(kept, draft, compression="zstd")
    os.utime(path, ns=(looked.st_atime_ns, looked.st_mtime_ns))
