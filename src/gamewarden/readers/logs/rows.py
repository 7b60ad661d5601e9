"""The rows of a table file as they were written, whatever its format."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from gamewarden.readers.compression import Unpacked
from gamewarden.readers.logs import delimited, jsonlines, lines
from gamewarden.readers.logs.columns import foreign, frame_of, picked
from gamewarden.readers.logs.layout import Layout
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.logs.shapes import Peek, first_line_of, open_parquet, unpacked_parquet
from gamewarden.readers.row_report import Tally
from gamewarden.tables import parquet_batches


def rows_of(shape: Peek, layout: Layout, wanted: Sequence[str], tally: Tally) -> Iterator[pl.DataFrame]:
    """ROW and the wanted columns, or paths, a block of rows at a time.

    Raises:
        ReadError: the file is damaged.
    """
    if shape.format == "parquet":
        yield from _parquet_rows(shape, wanted)
        return
    with Unpacked(shape.path, encoding=shape.encoding) as stream:
        yield from text_rows(stream, shape, layout, wanted, tally)


def text_rows(
    stream: Unpacked,
    shape: Peek,
    layout: Layout,
    wanted: Sequence[str],
    tally: Tally,
    *,
    exact: Mapping[str, pa.DataType] | None = None,
) -> Iterator[pl.DataFrame]:
    """The same of a text that is read from its beginning; JSON numbers in `exact` as types that lose nothing.

    Raises:
        ReadError: the file is damaged.
    """
    if shape.format == "jsonl":
        return jsonlines.read_rows(stream, wanted, tally, exact)
    if layout.line is not None:
        return lines.read_rows(stream, layout.line, wanted, tally, layout)
    delimited.skip_header(stream, first_line_of(stream), layout)
    return delimited.read_rows(stream, shape.names, shape.delimiter, wanted, tally, layout=layout)


def _parquet_rows(shape: Peek, wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
    file, done = open_parquet(shape.path, unpacked_parquet(shape.path), []), 0
    for batch in parquet_batches(file, wanted):
        with foreign(shape.path):
            frame = frame_of(picked(batch, wanted))
        yield frame.with_columns(pl.Series(ROW, np.arange(done, done + frame.height, dtype=np.int64)))
        done += frame.height
