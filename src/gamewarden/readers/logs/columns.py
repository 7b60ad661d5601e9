"""Columns of whatever types a stranger's Parquet file has, as the few types that can be looked at without harm.

A library that meets a date far outside the calendar, an unknown zone or a type it has no place for ends the process,
or stops the whole file. So nothing goes from Arrow to Polars but through this door.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.core.durations import DAY, to_micros
from gamewarden.errors import GamewardenError, ReadError
from gamewarden.readers.logs.paths import steps
from gamewarden.readers.places import File
from gamewarden.tables import PARQUET_FAULTS, first_line

# What Python and every library can show. Beyond it lies no time that a log could mean (times.py draws it narrower).
_FIRST = to_micros(datetime(1, 1, 1, tzinfo=UTC))
_LAST = to_micros(datetime(9999, 12, 31, tzinfo=UTC))
_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}  # a nanosecond column cannot leave the calendar
_CLOCK = {"s": 86_400, "ms": DAY // 1_000, "us": DAY, "ns": DAY * 1_000}
_WIDEST_DECIMAL = 38

Ints = npt.NDArray[np.int64]


def frame_of(table: pa.Table | pa.RecordBatch, times: Collection[str] = ()) -> pl.DataFrame:
    """A table as a frame in which every value can be shown, compared and converted.

    Text that is not UTF-8 stays bytes. What the calendar does not hold is text, and in the columns named `times` the
    calendar's first or last day. Zones are UTC. Nested values that hold more than plain values are an empty list.
    """
    named = zip(table.schema.names, table.columns, strict=True)
    columns = {name: plain_column(_whole(column), time=name in times) for name, column in named}
    return pl.DataFrame(pl.from_arrow(pa.table(columns)))


def picked(batch: pa.RecordBatch, wanted: Sequence[str]) -> pa.Table | pa.RecordBatch:
    """The wanted columns of a batch, paths among them; null where a path leads nowhere."""
    if all(name in batch.schema.names for name in wanted):
        return batch
    return pa.table(
        {name: batch.column(name) if name in batch.schema.names else at_path(batch, name) for name in wanted}
    )


def at_path(table: pa.Table | pa.RecordBatch, name: str) -> pa.Array | pa.ChunkedArray:
    """The values at the end of a path into a struct."""
    first, *rest = steps(name) or (name,)
    nothing = pa.nulls(table.num_rows)
    if table.schema.get_field_index(first) < 0:
        return nothing
    column = table.column(first)
    for key in rest:
        place = column.type.get_field_index(key) if pa.types.is_struct(column.type) else -1
        if place < 0:
            return nothing
        column = pc.struct_field(column, place)
    return column


@contextmanager
def foreign(path: File) -> Iterator[None]:
    """What a library says over a stranger's values, or dies of, as one line of ours.

    Raises:
        ReadError: it stopped.
    """
    try:
        yield
    except (GamewardenError, OSError):
        raise
    except (*PARQUET_FAULTS, ArithmeticError, TypeError, pl.exceptions.PolarsError) as error:
        raise _beyond(path, error) from error
    except pl.exceptions.PanicException as error:  # no Exception: it would pass by every handler up to the shell
        raise _beyond(path, error) from error


def _beyond(path: File, error: BaseException) -> ReadError:
    return ReadError(f"{path}: holds a value that cannot be converted ({first_line(error)}); write it as text")


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(found, pa.ChunkedArray):  # text beyond 2 GiB does not fit into one array
        return found.cast(pa.large_string()).combine_chunks()
    return found


def plain_column(column: pa.Array, *, time: bool = False) -> pa.Array:
    """One column of any type in the closest type that is safe; `time` keeps moments moments, whatever they say."""
    column = _stored(column)
    for holds, convert in _CONVERT:
        if holds(column.type):
            return convert(column)
    if _is_moment(column.type):
        return _moments(column, time=time)
    return column if _is_plain(column.type) else _some_list(column)


def _stored(column: pa.Array) -> pa.Array:
    """What lies under an extension type, a dictionary or both."""
    while True:
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        elif pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        elif pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        else:
            return column


def _is_plain(dtype: pa.DataType) -> bool:
    small_float = pa.types.is_float32(dtype) or pa.types.is_float64(dtype)
    return bool(pa.types.is_integer(dtype) or pa.types.is_boolean(dtype) or small_float)


def _is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype))


def _text_or_bytes(column: pa.Array) -> pa.Array:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary())
    return column


def _is_view(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(dtype) or pa.types.is_binary_view(dtype))


def _without_view(column: pa.Array) -> pa.Array:
    if pa.types.is_binary_view(column.type):
        return column.cast(pa.large_binary())
    return _text_or_bytes(column.cast(pa.large_binary()).cast(pa.large_string(), safe=False))


def _is_bytes(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype) or pa.types.is_fixed_size_binary(dtype))


def _bytes(column: pa.Array) -> pa.Array:
    return column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column


def _decimal(column: pa.Array) -> pa.Array:
    """Up to 38 digits as a number, more as text."""
    dtype = column.type
    if dtype.scale >= 0 and dtype.precision <= _WIDEST_DECIMAL and dtype.scale <= dtype.precision:
        return column.cast(pa.decimal128(dtype.precision, dtype.scale))
    return column.cast(pa.string())


def _is_moment(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_date(dtype) or pa.types.is_timestamp(dtype))


def _moments(column: pa.Array, *, time: bool) -> pa.Array:
    """Dates and timestamps as they are where the calendar holds them all."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.view(pa.timestamp(column.type.unit, "UTC"))
    numbers = _numbers(column)
    low, high = _limits(column.type)
    if not len(numbers) or (numbers.min() >= low and numbers.max() <= high):
        return column
    return _within(column, np.clip(numbers, low, high)) if time else _written(column, numbers)


def _limits(dtype: pa.DataType) -> tuple[int, int]:
    unit = DAY if pa.types.is_date32(dtype) else 1_000 if pa.types.is_date64(dtype) else _PER_UNIT.get(dtype.unit)
    if unit is None:
        whole = np.iinfo(np.int64)
        return int(whole.min), int(whole.max)
    return _FIRST // unit, _LAST // unit


def _numbers(column: pa.Array) -> Ints:
    """A column's numbers, 0 for null, without a copy where there is no null."""
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()  # noqa: PLR2004 - dates, and times of day
    numbers: Ints = column.view(width).fill_null(0).to_numpy().astype(np.int64, copy=False)
    return numbers


def _within(column: pa.Array, numbers: Ints) -> pa.Array:
    width = np.dtype(f"i{column.type.bit_width // 8}")
    return pa.array(numbers.astype(width), mask=_missing(column)).view(column.type)


def _written(column: pa.Array, numbers: Ints) -> pa.Array:
    """Moments as text, each as it would be written alone, also where the year has more than four digits."""
    low, high = _limits(column.type)
    near = pl.Series(pl.from_arrow(_within(column, np.clip(numbers, low, high)))).cast(pl.String)
    far = np.flatnonzero((numbers < low) | (numbers > high))
    return near.scatter(far, [_far_moment(column.type, number) for number in numbers[far]]).to_arrow()


def _far_moment(dtype: pa.DataType, number: np.int64) -> str:
    unit = "D" if pa.types.is_date32(dtype) else "ms" if pa.types.is_date64(dtype) else dtype.unit
    text = str(number.view(f"M8[{unit}]"))
    return f"{number} {unit} after 1970" if text == "NaT" else text  # the one number that stands for no time


def _time_of_day(column: pa.Array) -> pa.Array:
    numbers = _numbers(column)
    if not len(numbers) or (numbers.min() >= 0 and numbers.max() < _CLOCK[column.type.unit]):
        return column
    return _counted(column)


def _counted(column: pa.Array) -> pa.Array:
    """A length of time as its number and its unit: "5 ms"."""
    words = [f"{number} {column.type.unit}" for number in _numbers(column).tolist()]
    return pa.array(words, pa.string(), mask=_missing(column))


def _is_list(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_list(dtype) or pa.types.is_large_list(dtype))


def _list(column: pa.Array) -> pa.Array:
    return column if _is_plain(column.type.value_type) else _some_list(column)


def _some_list(column: pa.Array) -> pa.Array:
    """Nested values of which no more is kept than that they are there."""
    nothing = pa.array(np.zeros(len(column) + 1, dtype=np.int32))
    return pa.ListArray.from_arrays(nothing, pa.array([], pa.int8()), mask=pa.array(_missing(column)))


def _missing(column: pa.Array) -> npt.NDArray[np.bool_]:
    missing: npt.NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return missing


# Tried in this order; what is in none of them is a moment, plain, or nested.
_CONVERT: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (_is_text, _text_or_bytes),
    (pa.types.is_null, lambda column: pa.nulls(len(column), pa.string())),
    (pa.types.is_float16, lambda column: column.cast(pa.float32())),
    (pa.types.is_decimal, _decimal),
    (_is_bytes, _bytes),
    (_is_view, _without_view),
    (pa.types.is_time, _time_of_day),
    (pa.types.is_duration, _counted),
    (_is_list, _list),
)
