"""One table of results at rest: Parquet files, each made of something that it names, each replaced as a whole.

A small index names the files that count; whatever it does not name is not there. Rows are sorted by actor and lie in
short row groups, so that one actor's rows are found without reading the others'. Processes may write at the same time:
each change of the index is made alone, and adds to what the others have written.
"""

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.core.files import alone_in, is_draft, whole_file, write_text
from gamewarden.errors import ReadError, TableError, WriteError, short
from gamewarden.learning.validation import Count, Moment, misfit
from gamewarden.tables import PARQUET_FAULTS, Schema, check, first_line, parquet_batches

INDEX = "index.json"
FORMAT = 1
LARGEST = 64 << 20  # bytes of an index: some hundred thousand partitions
ROW_GROUP = 8_192  # rows that are read to find one actor's
_NAME = re.compile(r"[a-z]+=[0-9A-Za-z][0-9A-Za-z.@_+-]{0,120}")
_FILE = re.compile(rf"(?P<name>{_NAME.pattern})/[0-9a-f]{{16}}\.parquet")


@dataclass(frozen=True)
class Partition:
    """One file of a table, and what it was made of."""

    file: str  # `<name>/<digest>.parquet`
    rows: Count
    since: Moment  # microseconds: it is about [since, until)
    until: Moment
    came_from: str  # a digest of all that its rows depend on: the same digest, the same rows
    sha256: str  # of the file
    about: Mapping[str, Any] = field(default_factory=dict)  # what else is known of it

    @property
    def name(self) -> str:
        """By which it is asked for, such as `day=2026-03-01`."""
        return self.file.partition("/")[0]


@dataclass(frozen=True)
class _Index:
    partitions: tuple[Partition, ...]


class Partitions:
    """The partitions of one table in a directory of their own, made with the first of them."""

    def __init__(self, directory: Path, schema: Schema) -> None:
        self.directory = directory
        self.schema = schema

    def all(self) -> dict[str, Partition]:
        """Every partition by its name, the earliest first.

        Raises:
            ReadError: the index is damaged.
        """
        found = sorted(self._load().partitions, key=lambda one: (one.since, one.file))
        return {one.name: one for one in found}

    def within(self, since: int, until: int) -> list[Partition]:
        """The partitions that are about a part of [since, until) in microseconds."""
        return [one for one in self.all().values() if one.since < until and one.until > since]

    def still_holds(self, there: Partition | None, came_from: str) -> bool:
        """Whether what is there was made of just this, and its file is there too."""
        return there is not None and there.came_from == came_from and (self.directory / there.file).is_file()

    def put(
        self,
        name: str,
        frame: pl.DataFrame,
        *,
        came_from: str,
        since: int,
        until: int,
        about: Mapping[str, Any] | None = None,
    ) -> Partition:
        """Write a partition in the place of the one of its name, whole or not at all.

        Raises:
            TableError: the rows are none of this table.
            WriteError: the directory cannot be written.
        """
        rows = check(frame, self.schema, str(self.directory))
        self._refuse_strange([name])
        with alone_in(self.directory):
            file = f"{name}/{hashlib.sha256(came_from.encode()).hexdigest()[:16]}.parquet"
            with whole_file(self.directory / file) as draft:
                digest = write_rows(_by_actor(rows), draft)
            made = Partition(file, rows.height, since, until, came_from, digest, dict(about or {}))
            others = [one for one in self._load().partitions if one.name != name]
            self._save(_Index((*others, made)))
            self._sweep(name, {file})
        return made

    def empty(self, partition: Partition) -> None:
        """Take the rows of a partition away and leave its entry: what it was made of is known, and not read again.

        Raises:
            ReadError: its file is missing or damaged.
            WriteError: the directory cannot be written.
        """
        nothing = self.read(partition).clear()
        since, until = partition.since, partition.until
        self.put(partition.name, nothing, came_from=partition.came_from, since=since, until=until, about={})

    def drop(self, names: Collection[str]) -> None:
        """Take partitions away.

        Raises:
            WriteError: a name is none of a partition, or the directory cannot be written.
        """
        self._refuse_strange(names)
        with alone_in(self.directory):
            kept = [one for one in self._load().partitions if one.name not in names]
            self._save(_Index(tuple(kept)))
            for name in names:
                self._sweep(name, set())

    def sweep(self) -> None:
        """Remove what a crash has left: files of partitions that the index does not name, and drafts.

        Raises:
            ReadError: the index is damaged.
            WriteError: the directory cannot be written.
        """
        if not self._left_over():
            return
        with alone_in(self.directory):
            for path in self._left_over():
                path.unlink(missing_ok=True)
                if not any(path.parent.iterdir()):
                    path.parent.rmdir()

    def _left_over(self) -> list[Path]:
        """Files of ours that do not count; while another process writes there may be some that will."""
        named = {one.file for one in self._load().partitions}
        places = (place for place in self.directory.glob("*=*") if _NAME.fullmatch(place.name) and place.is_dir())
        return [path for place in places for path in place.iterdir() if _is_ours(path) and _file(path) not in named]

    def read(
        self,
        partition: Partition,
        columns: Sequence[str] | None = None,
        actors: Collection[str] | None = None,
    ) -> pl.DataFrame:
        """The rows of a partition, of these actors only or of all.

        Raises:
            ReadError: its file is missing, damaged, or not what this table holds.
        """
        path = self.directory / partition.file
        frame = read_rows(path, columns, actors)
        try:
            return check(frame, self._schema_of(frame.columns if columns else None), "it").select(columns or pl.all())
        except TableError as error:
            raise _spoiled(path, error) from error

    def table(
        self,
        partitions: Sequence[Partition] | None = None,
        columns: Sequence[str] | None = None,
        actors: Collection[str] | None = None,
    ) -> pl.DataFrame:
        """The rows of several partitions, or of all, one after the other; one replaced meanwhile is read as it is now.

        Raises:
            ReadError: a file is missing or damaged.
        """
        wanted = list(self.all().values()) if partitions is None else partitions
        kinds = self.schema.columns
        empty = pl.DataFrame(schema={name: kinds[name] for name in (columns or kinds) if name in kinds})
        parts = [self._now(one, columns, actors) for one in wanted]
        return pl.concat([empty, *parts], how="diagonal") if parts else empty

    def _now(self, one: Partition, columns: Sequence[str] | None, actors: Collection[str] | None) -> pl.DataFrame:
        try:
            return self.read(one, columns, actors)
        except ReadError:
            newer = self.all().get(one.name)
            if newer is None or newer.file == one.file:
                raise
            return self.read(newer, columns, actors)

    def _schema_of(self, columns: Sequence[str] | None) -> Schema:
        """What some columns must be, or all."""
        if columns is None:
            return self.schema
        kinds = {name: kind for name, kind in self.schema.columns.items() if name in columns}
        return replace(
            self.schema, columns=kinds, required=tuple(name for name in self.schema.required if name in kinds)
        )

    def _refuse_strange(self, names: Iterable[str]) -> None:
        if strange := [name for name in names if not _NAME.fullmatch(name)]:
            raise WriteError(f"{self.directory}: {short(strange[0])} names no partition; such as day=2026-03-01 does")

    def _load(self) -> _Index:
        path = self.directory / INDEX
        try:
            if not path.exists():
                return _Index(())
            if path.stat().st_size > LARGEST:
                raise ReadError(f"{path}: is too large to be an index of results (at most {LARGEST:,} bytes)")
            values = json.loads(path.read_bytes())
        except OSError as error:
            raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error
        except (ValueError, RecursionError) as error:
            raise _damaged(path, "it is not JSON") from error
        return _index_of(values, path)

    def _save(self, index: _Index) -> None:
        ordered = sorted(index.partitions, key=lambda one: (one.since, one.file))
        values = {"format": FORMAT, "partitions": [asdict(one) for one in ordered]}
        write_text(self.directory / INDEX, json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n")

    def _sweep(self, name: str, kept: set[str]) -> None:
        """Remove the files of a partition that no longer count; all are named while the index is ours alone."""
        place = self.directory / name
        for path in place.glob("*.parquet") if place.is_dir() else ():
            if f"{name}/{path.name}" not in kept:
                path.unlink(missing_ok=True)
        if not kept and place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def _is_ours(path: Path) -> bool:
    return is_draft(path.name) or _FILE.fullmatch(_file(path)) is not None


def _file(path: Path) -> str:
    """As an index names it."""
    return f"{path.parent.name}/{path.name}"


def _by_actor(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("actor", maintain_order=True) if "actor" in rows.columns else rows


def write_rows(rows: pl.DataFrame, draft: Path) -> str:
    """Write rows as Parquet in short row groups; the SHA-256 of the file.

    Raises:
        OSError: the disk is full, or fails otherwise.
    """
    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    try:
        pq.write_table(table, draft, row_group_size=ROW_GROUP, compression="zstd", write_statistics=True)
    except pa.ArrowException as error:
        raise OSError(None, first_line(error), str(draft)) from error
    return file_digest(draft)


def read_rows(path: Path, columns: Sequence[str] | None = None, actors: Collection[str] | None = None) -> pl.DataFrame:
    """The rows of a file of results, of these actors only or of all; only row groups that may hold them are read.

    What is held of the rows of others does not grow with the row groups.

    Raises:
        ReadError: the file is missing or damaged.
    """
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            own = file.schema_arrow  # made anew whenever it is asked for
            _refuse_foreign(own)
            names = list(columns or own.names)
            wanted = list(dict.fromkeys([*names, "actor"])) if actors is not None else names
            batches = list(parquet_batches(file, wanted) if actors is None else _batches_of(file, wanted, actors))
            schema = pa.schema([own.field(name) for name in wanted])
        return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches, schema))).select(names)
    except FileNotFoundError as error:
        raise ReadError(f"{path}: is missing from the results; compute it anew with --fresh") from error
    except ReadError as error:
        raise ReadError(f"{path}: {error}; compute it anew with --fresh") from error
    except (*PARQUET_FAULTS, TableError, pl.exceptions.PolarsError) as error:
        raise _spoiled(path, error) from error
    except pl.exceptions.PanicException as error:  # no Exception: of a type that Polars does not know
        raise _spoiled(path, error) from error


_FOREIGN = (pa.types.is_decimal, pa.types.is_map, pa.types.is_interval, pa.types.is_union, pa.types.is_struct)


def _refuse_foreign(schema: pa.Schema) -> None:
    """Types that no table of results has, and of which Polars may die with many words."""
    for column in schema:
        if any(is_such(column.type) for is_such in _FOREIGN):
            raise TableError(f"{column.name} is {column.type}, which no table of results holds")


def _batches_of(file: pq.ParquetFile, columns: Sequence[str], actors: Collection[str]) -> Iterator[pa.RecordBatch]:
    """The rows of some actors, from the row groups that may hold them."""
    kind = file.schema_arrow.field("actor").type
    if not (pa.types.is_large_string(kind) or pa.types.is_string(kind)):
        raise TableError(f"actor is {kind}, not text")
    for group, some in groups_of(file, sorted(filter(_is_text, set(actors)))).items():
        wanted = pa.array(some, kind)
        for batch in parquet_batches(file, columns, [group]):
            yield batch.filter(pc.is_in(batch.column("actor"), value_set=wanted))


def _is_text(name: str) -> bool:
    """Whether a file can hold it: what a terminal passes on may hold bytes that are no text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def groups_of(file: pq.ParquetFile, actors: Sequence[str]) -> dict[int, Sequence[str]]:
    """The row groups around whose actors some of these lie, which are sorted, and which of them."""
    place = file.schema_arrow.get_field_index("actor")
    found = {}
    for group in range(file.num_row_groups):
        told = file.metadata.row_group(group).column(place).statistics
        known = told is not None and told.has_min_max
        some = actors[bisect_left(actors, str(told.min)) : bisect_right(actors, str(told.max))] if known else actors
        if some or not known:
            found[group] = some
    return found


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _index_of(values: Any, path: Path) -> _Index:  # noqa: ANN401  whatever JSON holds
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise _damaged(path, f"its format is not {FORMAT}")
    if wrong := misfit(_Index, {name: part for name, part in values.items() if name != "format"}, "it"):
        raise _damaged(path, wrong)
    made = tuple(Partition(**one) for one in values["partitions"])
    strange = [one for one in made if not _FILE.fullmatch(one.file) or one.since > one.until]
    if strange or len({one.name for one in made}) < len(made):
        raise _damaged(path, "it names a file that is no partition")
    return _Index(made)


def _spoiled(path: Path, error: BaseException) -> ReadError:
    return ReadError(f"{path}: is damaged ({first_line(error)}); compute it anew with --fresh")


def _damaged(path: Path, why: str) -> ReadError:
    return ReadError(f"{path}: {why}; it was not written by this version of gamewarden, or has been damaged")
