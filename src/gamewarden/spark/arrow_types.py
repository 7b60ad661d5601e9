"""One type in three languages: as a table of ours names it, as Arrow carries it, and as Spark declares it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import polars as pl
import pyarrow as pa

from gamewarden.errors import MeasureError
from gamewarden.tables import DataType

_TYPES: Mapping[type[pl.DataType], tuple[pa.DataType, str]] = {
    pl.String: (pa.string(), "string"),
    pl.Categorical: (pa.string(), "string"),
    pl.Enum: (pa.string(), "string"),
    pl.Boolean: (pa.bool_(), "boolean"),
    pl.Int8: (pa.int8(), "tinyint"),
    pl.Int16: (pa.int16(), "smallint"),
    pl.Int32: (pa.int32(), "int"),
    pl.Int64: (pa.int64(), "bigint"),
    pl.UInt8: (pa.int16(), "smallint"),  # Spark has no unsigned numbers
    pl.UInt16: (pa.int32(), "int"),
    pl.UInt32: (pa.int64(), "bigint"),
    pl.Float32: (pa.float32(), "float"),
    pl.Float64: (pa.float64(), "double"),
    pl.Date: (pa.date32(), "date"),
    pl.Datetime: (pa.timestamp("us", "UTC"), "timestamp"),
    pl.Binary: (pa.binary(), "binary"),
}
_ROWS = 1 << 13  # of a batch on its way back


def arrow_type(dtype: DataType) -> pa.DataType:
    """As Arrow carries it to Spark.

    Raises:
        MeasureError: Spark has nothing like it.
    """
    if dtype.base_type() is pl.List:
        return pa.list_(arrow_type(_inner(dtype)))
    return _known(dtype)[0]


def spark_type(dtype: DataType) -> str:
    """As Spark declares it.

    Raises:
        MeasureError: Spark has nothing like it.
    """
    if dtype.base_type() is pl.List:
        return f"array<{spark_type(_inner(dtype))}>"
    return _known(dtype)[1]


def batches_of(frame: pl.DataFrame, columns: Mapping[str, DataType]) -> Iterator[pa.RecordBatch]:
    """A table as Spark takes it: these columns, a few rows at a time."""
    schema = pa.schema([(name, arrow_type(dtype)) for name, dtype in columns.items()])
    typed = frame.select(pl.col(name).cast(dtype) for name, dtype in columns.items())
    for part in typed.iter_slices(_ROWS):
        plain = part.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        yield from plain.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema).combine_chunks().to_batches()


def frame_of(batches: Sequence[pa.RecordBatch], columns: Mapping[str, DataType]) -> pl.DataFrame:
    """A table back from Spark: these columns, times in UTC whatever zone the session shows them in."""
    nothing = pl.DataFrame(schema=dict(columns))
    parts = [pl.DataFrame(pl.from_arrow(_in_utc(batch.select(list(columns))))) for batch in batches]
    return pl.concat([nothing, *(part.select(pl.col(name).cast(columns[name]) for name in columns) for part in parts)])


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays = [
        column.view(pa.int64()).view(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _inner(dtype: DataType) -> DataType:
    return cast("DataType", cast("pl.List", dtype).inner)


def _known(dtype: DataType) -> tuple[pa.DataType, str]:
    found = _TYPES.get(dtype.base_type())
    if found is None:
        raise MeasureError(f"spark: a column of {dtype} has no like in Spark; give it as Int64, Float64 or String")
    return found
