"""A part of a lake written again without some of its rows: of a source that is read anew, or of an actor."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gamewarden.errors import ReadError
from gamewarden.store.lake_parts import COMPACT, SCHEMA, open_part, part_batches
from gamewarden.store.lake_writing import compact_writer
from gamewarden.store.manifest import Part, Piece
from gamewarden.tables import kinds_in

Change = Callable[[pa.RecordBatch], pa.RecordBatch]
Removed = Counter[tuple[int, str]]  # rows by source and kind


@dataclass(frozen=True)
class Rewritten:
    """What became of a part."""

    draft: Path
    part: Part | None  # none where no row is left
    removed: Removed


def rewritten(directory: Path, part: Part, change: Change, draft: Path, because: str) -> Rewritten:
    """Write a part again under the name of a draft, each batch changed; `because` tells the new name from the old.

    Raises:
        ReadError: the part is missing or damaged.
    """
    removed: Removed = Counter()
    writer = compact_writer(draft) if part.is_compact else pq.ParquetWriter(draft, SCHEMA, compression="zstd")
    with writer:
        for batch in read_part(directory, part):
            kept = change(batch)
            removed += _counted(batch, part) - _counted(kept, part)
            if kept.num_rows:
                writer.write_batch(kept, row_group_size=kept.num_rows)
    digest = blake2b(f"{part.file}\n{because}".encode(), digest_size=6).hexdigest()
    file = f"day={part.day}/part-{digest}-0000.parquet"
    return Rewritten(draft, _less(part, file, removed), removed)


def read_part(directory: Path, part: Part, columns: tuple[str, ...] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a part, all its columns or some.

    Raises:
        ReadError: it is missing or damaged.
    """
    wanted = columns or (COMPACT.names if part.is_compact else SCHEMA.names)
    try:
        yield from part_batches(open_part(directory / part.file, wanted), wanted)
    except ReadError as error:
        raise ReadError(f"{directory / part.file}: {error}") from error


def kinds_of(directory: Path, part: Part) -> Removed:
    """How many rows a part has, by source and kind.

    Raises:
        ReadError: it is missing or damaged.
    """
    columns = ("kind", "source") if part.is_compact else ("kind",)
    return sum((_counted(batch, part) for batch in read_part(directory, part, columns)), Counter())


def _counted(batch: pa.RecordBatch, part: Part) -> Removed:
    if not part.is_compact:
        return Counter({(part.source, kind): count for kind, count in kinds_in(batch.column("kind")).items()})
    counted: Removed = Counter()
    for source in batch.column("source").unique().to_pylist():
        mine = batch.filter(pc.equal(batch.column("source"), source))
        counted.update({(source, kind): count for kind, count in kinds_in(mine.column("kind")).items()})
    return counted


def _less(part: Part, file: str, removed: Removed) -> Part | None:
    gone: Counter[int] = Counter()
    for (source, _), count in removed.items():
        gone[source] += count
    pieces = [left for one in part.origins if (left := _piece_less(one, gone)).rows]
    if not pieces:
        return None
    if part.is_compact:
        return Part.of_pieces(file, tuple(pieces))
    return replace(part, file=file, rows=pieces[0].rows)


def _piece_less(piece: Piece, gone: Counter[int]) -> Piece:
    """A piece with fewer rows; of several of one source nobody knows whose rows went, and the first has less."""
    less = min(piece.rows, gone[piece.source])
    gone[piece.source] -= less
    return replace(piece, rows=piece.rows - less)
