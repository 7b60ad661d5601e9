"""CSV and its relatives: a header, then one row a line, fields split by a comma, a tab, a semicolon or a bar."""

import codecs
import csv
import io
from array import array
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv

from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.readers.compression import MARKING, Unpacked
from gamewarden.readers.logs.layout import PLAIN, Layout, advice
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.places import File
from gamewarden.readers.row_report import Tally, rows_text
from gamewarden.tables import first_line

DELIMITERS = (",", "\t", ";", "|")
LONGEST_ROW = 4 << 20
_BOM = b"\xef\xbb\xbf"
# Stands alone in a last row that we add: if the parser does not give it back, an open quote has swallowed it.
_LAST = "\x01end\x01"
_HOPELESS = 1_000  # malformed rows, more than half of all, after which nobody need read on


def split_header(line: bytes, wanted: Sequence[str], path: File, layout: Layout = PLAIN) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the column names, stripped of stray blanks, by a file's first line.

    The delimiter is the one that shows most of the wanted columns, then the one that shows most columns. Where the
    first line is a row already, the layout names the columns, or their places do.

    Raises:
        ReadError: the line is not UTF-8, a quote in it never closes, or it has not as many columns as were named.
    """
    try:
        text = line.removeprefix(_BOM).decode().strip("\r\n")
    except UnicodeDecodeError as error:
        raise ReadError(f"{path}: the header is not UTF-8; {advice(path, None)}") from error
    if text.count('"') % 2:
        raise ReadError(f"{path}: a quote in the header never closes; the first line must name the columns")
    splits = {mark: _names(text, mark) for mark in DELIMITERS}
    if not layout.header:
        return _split_row(splits, layout.names, path)
    best = max(DELIMITERS, key=lambda mark: (len(set(wanted) & set(splits[mark])), len(splits[mark])))
    return best, splits[best]


def _split_row(
    splits: Mapping[str, tuple[str, ...]], names: tuple[str, ...], path: File
) -> tuple[str, tuple[str, ...]]:
    best = max(DELIMITERS, key=lambda mark: (len(splits[mark]) == len(names), len(splits[mark])))
    found = len(splits[best])
    if names and len(names) != found:
        raise ReadError(
            f"{path}: header under [file] names {counted(len(names), 'column')}, the first row has {found}; "
            "name each column once, in the file's order"
        )
    return best, names or tuple(str(place) for place in range(1, found + 1))


def skip_header(stream: Unpacked, line: bytes, layout: Layout) -> None:
    """Go on after the first line, or with it where it is a row."""
    if not layout.header:
        stream.put_back(line.removeprefix(_BOM))


def read_rows(
    stream: Unpacked,
    names: tuple[str, ...],
    delimiter: str,
    wanted: Sequence[str],
    tally: Tally,
    *,
    layout: Layout = PLAIN,
) -> Iterator[pl.DataFrame]:
    """The rows after the header: ROW and the wanted columns as text, a block at a time.

    What the layout takes for null is null, and counted by column.

    Raises:
        ReadError: a quote never closes, a row is absurdly long, or the bytes under the rows cannot be read.
    """
    unique = _told_apart(names)
    skipped = _Skipped(tally)
    try:
        reader = pyarrow.csv.open_csv(
            pa.PythonFile(_WithEnd(stream, len(names), delimiter), "r"),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=LONGEST_ROW, column_names=unique),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skipped
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=list(dict.fromkeys([unique[0], *wanted])),
                column_types=dict.fromkeys(unique, pa.string()),
                check_utf8=False,  # done below the parser, which could only stop at such a byte
                null_values=list(layout.nulls),
                strings_can_be_null=True,
                quoted_strings_can_be_null=layout.null is not None,
            ),
        )
        for frame in _numbered(reader, unique[0], wanted, skipped, stream.path):
            _count_nulls(frame, layout, tally)
            yield frame
    except pa.ArrowInvalid as error:
        raise _unreadable(error, stream.path, tally) from error


def _count_nulls(frame: pl.DataFrame, layout: Layout, tally: Tally) -> None:
    said = " or ".join(layout.nulls)
    for column in frame:
        if column.name != ROW and (count := column.null_count()):
            row = int(frame[ROW][int(column.is_null().arg_true()[0])]) + 1
            tally.add("notes", f"column {column.name!r} says null ({said})", count, row, None)


class _WithEnd(io.RawIOBase):
    """The rest of a stream as sound UTF-8, and one row more that shows whether every quote was closed."""

    def __init__(self, stream: Unpacked, width: int, delimiter: str) -> None:
        super().__init__()
        self._stream = stream
        self._end = b"\n" + _LAST.encode() + delimiter.encode() * (width - 1) + b"\n"
        self._decoder = codecs.getincrementaldecoder("utf-8")(MARKING)

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """About `size` bytes, a little more where a byte was marked."""
        chunk = self._stream.read(size)
        if not chunk:
            last = self._decoder.decode(b"", final=True).encode()
            chunk, self._end = last + self._end, b""
            return chunk
        if chunk.isascii() and not self._decoder.getstate()[0]:
            return chunk
        return self._decoder.decode(chunk).encode() or self.read(size)


class _Skipped:
    """Where the rows with too many or too few fields stood, and what they said."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.shifts = array("q")  # for each such row: how many good rows came before it
        self.last_text = ""

    def __call__(self, row: pyarrow.csv.InvalidRow) -> str:
        self.last_text = row.text
        self.shifts.append(row.number - 1 - len(self.shifts))
        lost = 1 + row.text.count("\n")  # lines that an unclosed quote drew into one row
        self.tally.rows += lost
        reason = f"row has not the {row.expected_columns} fields of the header"
        self.tally.add("bad", reason, lost, row.number, f"{row.actual_columns} fields: {row.text[:80]}")
        hopeless = len(self.shifts) > _HOPELESS and len(self.shifts) > row.number / 2
        return "error" if hopeless else "skip"

    def places(self, first: int, count: int) -> pl.Series:
        """ROW for `count` good rows from the good row `first` on."""
        good = np.arange(first, first + count, dtype=np.int64)
        before = np.searchsorted(np.frombuffer(self.shifts, dtype=np.int64), good, side="right") if self.shifts else 0
        return pl.Series(ROW, good + np.asarray(before, dtype=np.int64))


def _numbered(
    reader: pyarrow.csv.CSVStreamingReader, first: str, wanted: Sequence[str], skipped: _Skipped, path: File
) -> Iterator[pl.DataFrame]:
    good, ended = 0, False
    for batch in reader:
        if ended or not batch.num_rows:
            continue
        ended = batch.column(first)[-1].as_py() == _LAST
        count = batch.num_rows - ended
        frame = pl.DataFrame(pl.from_arrow(batch.slice(0, count).select(list(wanted))))
        if count:
            yield frame.hstack([skipped.places(good, count)])
        good += count
    if not ended:
        near = skipped.last_text.partition(_LAST)[0].strip()[:40] if skipped.last_text else ""
        opened = f" (near {near!r})" if near else ""
        raise ReadError(f"{path}: a quoted field opens and never closes{opened}; mend the quotes near the end")


def _unreadable(error: pa.ArrowInvalid, path: File, tally: Tally) -> ReadError:
    if "straddling" in str(error):
        return ReadError(
            f"{path}: after {rows_text(tally.rows)} a row is longer than {LONGEST_ROW >> 20} MiB, or a quoted field "
            "opens and never closes; is this a table?"
        )
    tally.judge(ended=True)
    return ReadError(f"{path}: after {rows_text(tally.rows)} the table cannot be read ({first_line(error)})")


def _names(text: str, delimiter: str) -> tuple[str, ...]:
    try:
        row = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        row = [text]
    return tuple(name.strip() for name in row)


def _told_apart(names: tuple[str, ...]) -> list[str]:
    """The names, each once: a second column of a name, or of none, gets its place for a name."""
    seen: set[str] = set()
    unique = []
    for place, name in enumerate(names):
        unique.append(name if name and name not in seen else f"\x01{place}")
        seen.add(name)
    return unique
