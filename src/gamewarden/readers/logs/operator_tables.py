"""The small tables beside a log: labels, profiles, and the list of kinds a game has."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl
import pyarrow as pa

from gamewarden.core.spreadsheets import restored
from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.learning.label_sources import agreed_on, resolve, without_model_made
from gamewarden.readers import ArrowTable
from gamewarden.readers.compression import Unpacked
from gamewarden.readers.logs import delimited
from gamewarden.readers.logs.columns import foreign, frame_of
from gamewarden.readers.logs.layout import PLAIN, Layout, advice
from gamewarden.readers.logs.normalize import ROW, as_text, shown
from gamewarden.readers.logs.rows import text_rows
from gamewarden.readers.logs.shapes import open_parquet, peek, unpacked_parquet
from gamewarden.readers.places import File, blame_store, confirm
from gamewarden.readers.row_report import Tally, shorten
from gamewarden.readers.timestamps import TimeReader
from gamewarden.tables import LABELS, PARQUET_FAULTS, PROFILES, SCORES, TIME, Schema, check

_SCORED = Schema(
    "SCORES",
    {**SCORES.columns, "bot": pl.Boolean},
    required=("actor", "since", "until", "detector"),
    may_be_null=("since", "until"),  # scores of an operator's own table have no period
    open=True,
)
OwnTable: TypeAlias = Path | ArrowTable  # where it stands, or the table itself
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_NUMBER = r"^[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$"  # an id such as 007 stays text


@dataclass(frozen=True)
class Labels:
    """LABELS, and what was seen in the file that its owner should know."""

    frame: pl.DataFrame
    notes: tuple[str, ...]


def read_labels(place: OwnTable, time_zone: str | None = None) -> Labels:
    """Who is a bot and who is not: `actor,bot`, and optionally `character,since,until,source,votes,group,at`.

    From a file, or from a table in memory, which is checked like one.

    A row that is there twice counts once. An actor who is called both at the same time is left out and named, unless
    one is a ban and the other the appeal against it, one was made by a model, or reviewers do not agree on one yet.

    Raises:
        ReadError: it is no table, a column is missing, or a value is none we know.
    """
    path = named(place, "labels")
    frame, undone = _labels(place, time_zone)
    once = frame.unique(maintain_order=True)
    torn = _torn(agreed_on(without_model_made(resolve(once).frame).frame))
    notes = [undone] if undone else []
    if doubles := frame.height - once.height:
        notes.append(f"{path}: {doubles:,} rows are there twice and count once")
    if torn:
        notes.append(f"{path}: {len(torn):,} actors are called bot and human at once and are left out ({torn[0]}, …)")
    return Labels(once.filter(~pl.col("actor").is_in(torn)), tuple(notes))


def labels_in(path: Path, time_zone: str | None = None) -> pl.DataFrame:
    """LABELS as a file has them: what disagrees in them is there too.

    Raises:
        ReadError: it is no table, a column is missing, or a value is none we know.
    """
    return _labels(path, time_zone)[0]


def _labels(place: OwnTable, time_zone: str | None) -> tuple[pl.DataFrame, str | None]:
    path = named(place, "labels")
    text, undone = _read_own(place, LABELS, path)
    return check(_typed(text, LABELS, TimeReader(time_zone=time_zone), path), LABELS, str(path)), undone


def read_profiles(place: OwnTable, time_zone: str | None = None) -> pl.DataFrame:
    """PROFILES: what the operator knows of an account, one row each; further columns are kept, numbers as numbers.

    Raises:
        ReadError: it is no table, `actor` is missing, twice or empty, or a value does not fit its column.
    """
    path = named(place, "profiles")
    text, _ = _read_own(place, PROFILES, path)
    frame = check(_typed(text, PROFILES, TimeReader(time_zone=time_zone), path), PROFILES, str(path))
    twice = frame.filter(pl.col("actor").is_duplicated())["actor"]
    if len(twice):
        raise ReadError(f"{path}: actor {twice[0]!r} has more than one row; a profile is one row an account")
    return frame


def read_scores(path: Path, time_zone: str | None = None) -> pl.DataFrame:
    """Scores that stand in a file: actor, since, until, detector, and FPR or probability; further columns are kept.

    Raises:
        ReadError: the file is no table, a column is missing, or a value does not fit its column.
    """
    text, _ = _read_own(path, _SCORED, path)
    return check(_typed(text, _SCORED, TimeReader(time_zone=time_zone), path), _SCORED, str(path))


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """The kinds a game has, one a line, in any order.

    Raises:
        ReadError: the file cannot be read, is not UTF-8, or names no kind.
    """
    with Unpacked(path) as stream:
        data = stream.read(delimited.LONGEST_ROW + 1)
    if len(data) > delimited.LONGEST_ROW:
        raise ReadError(f"{path}: is longer than {delimited.LONGEST_ROW >> 20} MiB; a vocabulary has one kind a line")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ReadError(
            f"{path}: byte {error.start} is not UTF-8; a vocabulary is a text with one kind a line"
        ) from error
    kinds = tuple(sorted({line.strip() for line in lines} - {""}))
    if not kinds:
        raise ReadError(f"{path}: names no kind; write one a line")
    return kinds


def read_table(path: File, layout: Layout = PLAIN, times: Collection[str] = ()) -> pl.DataFrame:
    """A whole small table: text as it was written, or a Parquet file's own types, as far as they can be shown.

    In the columns named `times` a moment that no calendar holds stays a moment, and is out of range.

    Raises:
        ReadError: it is no table we read, or any of its rows is malformed.
    """
    shape = peek(path, layout=layout)
    _refuse_names(shape.names, path)
    if shape.format == "parquet":
        return _parquet(path, times)
    tally = Tally(str(path), 0.0)
    with Unpacked(path, encoding=shape.encoding) as stream:
        raw = list(text_rows(stream, shape, layout, shape.names, tally))
    tally.judge(ended=True)
    frames = [_texts(frame.drop(ROW), path, shape.encoding) for frame in raw]
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(shape.names, pl.String))


def named(place: OwnTable, what: str) -> Path:
    """What to call a table in a message: its place, or what it is."""
    return place if isinstance(place, Path) else Path(f"{what} in memory")


def _read_own(place: OwnTable, table: Schema, path: Path) -> tuple[pl.DataFrame, str | None]:
    """A table that may come from a list of ours: CSV without the apostrophes before formulas, and a word on them."""
    times = [name for name, dtype in table.columns.items() if dtype == TIME]
    found = read_table(path, times=times) if isinstance(place, Path) else _in_memory(place, path, times)
    _demand(found, table, path)
    if not isinstance(place, Path) or peek(path).format != "csv":
        return found, None
    frame = restored(found)
    changed = sum(int(new.ne_missing(old).sum()) for new, old in zip(frame, found, strict=True))
    if not changed:
        return frame, None
    are = "is" if changed == 1 else "are"
    return frame, f"{path}: {counted(changed, 'text')} with an apostrophe before a formula's sign {are} read without it"


def _in_memory(place: object, path: Path, times: Collection[str]) -> pl.DataFrame:
    """A table in memory as a Parquet file of it would be read."""
    if not hasattr(place, "__arrow_c_stream__"):
        raise ReadError(f"{path}: {type(place).__name__} is no table; give a path, or one of Polars, pandas or Arrow")
    with foreign(path):
        table = pa.table(place)
        _refuse_names(table.schema.names, path)
        return frame_of(table, times)


def _refuse_names(names: Sequence[str], path: File) -> None:
    if not names or len(set(names)) < len(names) or "" in names:
        raise ReadError(f"{path}: two columns have the same name, or one has none")
    if nul := next((name for name in names if "\0" in name), None):
        raise ReadError(f"{path}: the column {nul!r} has a NUL in its name; call it something else")


def _parquet(path: File, times: Collection[str]) -> pl.DataFrame:
    try:
        table = open_parquet(path, unpacked_parquet(path), []).read()
        table.validate(full=True)
        confirm(path)
    except PARQUET_FAULTS as error:
        blame_store(path, error)
        raise ReadError(f"{path}: the Parquet file is damaged") from error
    with foreign(path):
        return frame_of(table, times)


def _texts(frame: pl.DataFrame, path: File, encoding: str | None) -> pl.DataFrame:
    done = []
    for column in frame:
        text, faults = as_text(column)
        if faults:
            raise ReadError(
                f"{path}: column {column.name!r} is not {encoding or 'UTF-8'}; save the file as UTF-8 "
                f"({advice(path, encoding)})"
            )
        done.append(text)
    return pl.DataFrame(done)


def _demand(frame: pl.DataFrame, table: Schema, path: Path) -> None:
    if missing := [name for name in table.required if name not in frame.columns]:
        raise ReadError(f"{path}: lacks {', '.join(missing)}; it has {', '.join(frame.columns)}")


def _typed(frame: pl.DataFrame, table: Schema, clock: TimeReader, path: Path) -> pl.DataFrame:
    with foreign(path):
        return pl.DataFrame([_fit(column, table, clock, path) for column in frame])


def _fit(column: pl.Series, table: Schema, clock: TimeReader, path: Path) -> pl.Series:
    dtype = table.columns.get(column.name)
    if dtype is None:
        return _numbers_as_numbers(_showable(column))
    if dtype == TIME:
        moments = clock.read(column)
        for reason, mask in moments.faults.items():
            raise _unfit(path, column, int(mask.argmax()), reason)
        return moments.at
    text, faults = as_text(column)
    for reason, mask in faults.items():
        raise _unfit(path, column, int(mask.argmax()), f"{column.name} {reason}")
    fitted = _truth(text) if dtype == pl.Boolean else text.cast(dtype, strict=False)
    wrong = (fitted.is_null() & text.is_not_null()).arg_true()
    if len(wrong):
        needed = "true, false, 1 or 0" if dtype == pl.Boolean else str(dtype)
        raise _unfit(path, column, int(wrong[0]), f"it must be {needed}")
    if column.name in table.required and column.name not in table.may_be_null and fitted.null_count():
        raise _unfit(path, column, int(fitted.is_null().arg_true()[0]), "it must always be there")
    return fitted


def _truth(text: pl.Series) -> pl.Series:
    return text.str.strip_chars().str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)


def _showable(column: pl.Series) -> pl.Series:
    """A further column as it can stand in a list for people: bytes as text or their digits, nested values as text."""
    if column.dtype.is_nested():
        words = [None if value is None else str(value) for value in column.to_list()]
        return pl.Series(column.name, words, dtype=pl.String)
    if column.dtype != pl.Binary:
        return column
    text, faults = as_text(column)
    return column.bin.encode("hex") if faults else text


def _numbers_as_numbers(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String or not column.str.contains(_NUMBER).all():
        return column
    whole = column.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == column.null_count() else column.cast(pl.Float64, strict=False)


def _unfit(path: Path, column: pl.Series, place: int, why: str) -> ReadError:
    return ReadError(f"{path}: row {place + 1:,}: {column.name} is {shorten(shown(column, place))}; {why}")


def _torn(labels: pl.DataFrame) -> list[str]:
    """Actors with two labels that disagree at one moment.

    Looked for in the order of the labels' beginnings: a label disagrees with an earlier one if it begins before the
    latest end of those that say otherwise.
    """
    who, bot = ["actor", "character"], pl.col("bot")
    begin = pl.col("since").to_physical().fill_null(-(1 << 62))
    end = pl.col("until").to_physical().fill_null(1 << 62)
    mixed = labels.filter(bot.n_unique().over("actor") > 1).select(*who, bot, begin, end)
    ordered = mixed.filter(pl.col("since") < pl.col("until")).sort("since")
    latest = [
        pl.when(said).then(pl.col("until")).cum_max().forward_fill().over(who).alias(name)
        for name, said in (("bot_until", bot), ("human_until", ~bot))
    ]
    other = pl.when(bot).then(pl.col("human_until")).otherwise(pl.col("bot_until"))
    torn = ordered.with_columns(latest).filter(pl.col("since") < other)
    return torn["actor"].unique().sort().to_list()
