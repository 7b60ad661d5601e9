"""Events at the door of a live run: the columns that its folds need, each of one type, and no hole in what must be."""

from collections.abc import Sequence

import pyarrow as pa

from gamewarden.errors import MeasureError
from gamewarden.tables import EVENTS, EVENTS_ARROW, TEXT_COLUMNS, first_line


def at_the_door(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """The columns of EVENTS that are wanted, in that order; one that is not there is null.

    Raises:
        MeasureError: a column that must be there is not, or has holes, or one does not convert.
    """
    found = [_column(batch, name) for name in columns]
    for name, column in zip(columns, found, strict=True):
        if name in EVENTS.required and column.null_count:
            raise MeasureError(
                f"live events: {name} is null in {column.null_count} of {batch.num_rows} rows; it must always be there"
            )
    return pa.RecordBatch.from_arrays(found, names=list(columns))


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    wanted = EVENTS_ARROW.field(name).type
    place = batch.schema.get_field_index(name)
    if place < 0:
        return pa.nulls(batch.num_rows, wanted)
    column = batch.column(place)
    if name in TEXT_COLUMNS and pa.types.is_dictionary(column.type):
        return column
    try:
        return column.cast(wanted)
    except pa.ArrowException as error:
        raise MeasureError(
            f"live events: {name} is {column.type} and does not become {wanted} ({first_line(error)})"
        ) from error


def as_block(pieces: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Rows of several batches as one, each text in it once."""
    names = pieces[0].schema.names
    columns = [_joined([piece.column(place) for piece in pieces], name) for place, name in enumerate(names)]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _joined(parts: list[pa.Array], name: str) -> pa.Array:
    if name not in TEXT_COLUMNS:
        return pa.concat_arrays(parts)
    plain = [
        (part.dictionary_decode() if pa.types.is_dictionary(part.type) else part).cast(pa.string()) for part in parts
    ]
    return pa.concat_arrays(plain).dictionary_encode()
