"""Text logs: one event a line, its parts found by a pattern."""

import codecs
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from gamewarden.readers.compression import MARKING, Unpacked
from gamewarden.readers.logs.jsonlines import blocks
from gamewarden.readers.logs.layout import Layout
from gamewarden.readers.logs.line_patterns import WHOLE, LinePattern
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.row_report import Tally

LONGEST_LINE = 1 << 16  # bytes; a pattern is asked of no more
_TOO_LONG = f"line is longer than {LONGEST_LINE >> 10} KiB"
_OTHERWISE = "line does not fit the pattern of [line]"


def read_rows(
    stream: Unpacked, line: LinePattern, wanted: Sequence[str], tally: Tally, layout: Layout
) -> Iterator[pl.DataFrame]:
    """ROW and the wanted groups of each line that fits, as text, a block of lines at a time.

    Raises:
        ReadError: a line is absurdly long, or the bytes under the lines cannot be read.
    """
    row = 0
    for block in blocks(stream, "are these lines of text?"):
        text = block.removeprefix(codecs.BOM_UTF8) if row == 0 else block
        lines = pl.Series(text.decode("utf-8", MARKING).split("\n"), dtype=pl.String).str.strip_chars_end("\r")
        lines = lines.filter(lines.str.contains(r"\S"))
        places = pl.Series(ROW, np.arange(row, row + len(lines), dtype=np.int64))
        row += len(lines)
        frame = _fitting(pl.DataFrame([lines.alias(WHOLE), places]), line, tally)
        if frame.height:
            yield frame.select(ROW, *(_without_nulls(name, layout) for name in wanted))


def _fitting(frame: pl.DataFrame, line: LinePattern, tally: Tally) -> pl.DataFrame:
    """The groups of the lines that read as they should; the others are counted."""
    long = frame[WHOLE].str.len_bytes() > LONGEST_LINE
    if long.any():
        _count(frame.filter(long), "bad", _TOO_LONG, tally)
        frame = frame.filter(~long)
    groups = frame[WHOLE].str.extract_groups(line.whole).struct.unnest()
    fits = groups[WHOLE].is_not_null()
    if not fits.all():
        what = ("skipped", "by [line] other") if line.skips else ("bad", _OTHERWISE)
        _count(frame.filter(~fits), *what, tally)
    return groups.with_columns(frame[ROW]).filter(fits)


def _count(frame: pl.DataFrame, what: str, reason: str, tally: Tally) -> None:
    tally.rows += frame.height
    tally.add(what, reason, frame.height, int(frame[ROW][0]) + 1, frame[WHOLE][0])


def _without_nulls(name: str, layout: Layout) -> pl.Expr:
    return pl.when(~pl.col(name).is_in(list(layout.nulls))).then(pl.col(name)).alias(name)
