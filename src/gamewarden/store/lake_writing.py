"""Writing into a lake: draft parts of the days a source touches, which get their names together."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.core.coverage import Pulse
from gamewarden.core.durations import DAY
from gamewarden.core.files import make_directory, sync, sync_name
from gamewarden.errors import WriteError
from gamewarden.store.lake_parts import COMPACT, SCHEMA, micros
from gamewarden.store.manifest import Part

ROW_GROUP = 1 << 20
HELD_ROWS = 4 << 20  # rows waiting in memory for a row group of their own, all days together
OPEN_FILES = 32
_SMALL = 100  # rows of a part that zstd makes no smaller; preparing it takes a third of the time of writing the part
DRAFTS = ".drafts"
_DICTIONARY = 16 << 20  # bytes of a dictionary page; beyond, texts would stand in full in every row


class Writers:
    """Draft parts of the days a source touches: one open file a day, row groups of one day."""

    def __init__(self, directory: Path, name: str) -> None:
        self.rows = 0
        self._directory = directory
        self._name = name
        self._held: dict[int, list[pa.RecordBatch]] = {}
        self._held_rows: dict[int, int] = {}
        self._open: dict[int, _Draft] = {}
        self._done: list[_Draft] = []
        self._count: dict[int, int] = {}
        (directory / DRAFTS).mkdir(exist_ok=True)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of any days, as it shall be stored."""
        if not batch.num_rows:
            return
        self.rows += batch.num_rows
        for day, piece in _by_day(batch):
            self._held.setdefault(day, []).append(piece)
            self._held_rows[day] = self._held_rows.get(day, 0) + piece.num_rows
            if self._held_rows[day] >= ROW_GROUP:
                self._flush(day)
        while sum(self._held_rows.values()) > HELD_ROWS:
            self._flush(max(self._held_rows, key=lambda day: self._held_rows[day]))

    def publish(self, source: int) -> tuple[Part, ...]:
        """Close all drafts and give them their names; they count once a manifest names them."""
        for day in sorted(self._held):
            self._flush(day)
        for day in sorted(self._open):
            self._close(day)
        for draft in self._done:
            publish(draft.path, self._directory / draft.file)
        return tuple(draft.part(source) for draft in sorted(self._done, key=lambda draft: draft.file))

    def abandon(self) -> None:
        """Leave nothing behind but what was published."""
        for draft in self._open.values():
            with suppress(OSError, pa.ArrowException):
                draft.writer.close()
        try:
            (self._directory / DRAFTS).rmdir()  # empty where all was published
        except OSError:
            shutil.rmtree(self._directory / DRAFTS, ignore_errors=True)

    def _flush(self, day: int) -> None:
        batches = self._held.pop(day)
        del self._held_rows[day]
        if day not in self._open:
            if len(self._open) >= OPEN_FILES:
                self._close(next(iter(self._open)))
            self._open[day] = self._draft(day, small=sum(batch.num_rows for batch in batches) < _SMALL)
        draft = self._open.pop(day)
        self._open[day] = draft  # the last in line to be closed
        draft.write(pa.Table.from_batches(batches, SCHEMA))

    def _draft(self, day: int, *, small: bool) -> "_Draft":
        count = self._count.get(day, 0)
        self._count[day] = count + 1
        file = f"day={np.datetime64(day, 'D')}/part-{self._name}-{count:04d}.parquet"
        return _Draft(file, self._directory / DRAFTS / file.replace("/", "-"), "none" if small else "zstd")

    def _close(self, day: int) -> None:
        draft = self._open.pop(day)
        draft.writer.close()
        self._done.append(draft)


class _Draft:
    """A part that is being written."""

    def __init__(self, file: str, path: Path, compression: str) -> None:
        self.file, self.path = file, path
        self.rows, self.since, self.last = 0, 1 << 62, -(1 << 62)
        self.seqs: list[int] = []
        self.pulse = Pulse()
        self.writer = pq.ParquetWriter(path, SCHEMA, compression=compression, write_statistics=True)

    def write(self, table: pa.Table) -> None:
        """Add one row group."""
        times = pc.min_max(table.column("at").cast(pa.int64())).as_py()
        self.since, self.last = min(self.since, times["min"]), max(self.last, times["max"])
        seqs = pc.min_max(table.column("seq")).as_py()
        self.seqs += [seq for seq in seqs.values() if seq is not None]
        self.rows += table.num_rows
        pulse = Pulse.of(table.select(["actor", "at", "kind"]).to_batches())
        self.pulse = self.pulse + pulse if self.rows > table.num_rows else pulse
        self.writer.write_table(table, row_group_size=table.num_rows)

    def part(self, source: int) -> Part:
        """What the manifest says of it."""
        first, last = min(self.seqs, default=None), max(self.seqs, default=None)
        return Part(self.file, source, self.rows, self.since, self.last, first, last, self.pulse.to_dict())


def compact_writer(path: Path) -> pq.ParquetWriter:
    """A file for rows that are sorted by actor."""
    return pq.ParquetWriter(
        path, COMPACT, compression="zstd", write_statistics=True, dictionary_pagesize_limit=_DICTIONARY
    )


def publish(draft: Path, target: Path) -> None:
    """Give a draft its name as a part; it counts once a manifest names it.

    Raises:
        WriteError: its day is a link.
        OSError: it cannot be renamed.
    """
    _make_day(target.parent)
    sync(draft)
    draft.replace(target)
    sync_name(target)


def _make_day(day: Path) -> None:
    if day.is_symlink():
        raise WriteError(f"{day}: is a link; a lake writes only into days of its own, so put a directory in its place")
    make_directory(day)


def _by_day(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The batch cut by day, each piece in the source's order."""
    days = micros(batch) // DAY
    if days[0] == days[-1] and (days == days[0]).all():
        yield int(days[0]), batch
        return
    order = np.argsort(days, kind="stable")
    in_order = bool((days[1:] >= days[:-1]).all())
    cuts = [0, *(np.flatnonzero(np.diff(days[order])) + 1).tolist(), len(days)]
    for start, end in pairwise(cuts):
        day = int(days[order[start]])
        yield day, batch.slice(start, end - start) if in_order else batch.take(pa.array(order[start:end]))
