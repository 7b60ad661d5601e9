"""Rows as a log wrote them, checked and converted to EVENTS, a whole batch at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from gamewarden.core.durations import DAY
from gamewarden.readers.compression import UNREADABLE
from gamewarden.readers.logs.mapping import LogMap
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.rules import ONE, Side
from gamewarden.readers.row_report import Tally
from gamewarden.readers.timestamps import Mask, TimeReader
from gamewarden.tables import EVENTS, TEXT_COLUMNS

ROW = "\0row"  # where in the source a row stands, from 0, bad ones counted
NOT_UTF8 = "is not UTF-8"
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, counted from 1970-01-01
_NESTED = "is nested"
_BROKEN = "holds a line break or a NUL byte"
_LINES = "holds line breaks (is a closing quote missing?)"
_NOT_A_NUMBER = "is not a number"
_NOT_WHOLE = "is not a whole number"
_NOT_FINITE = "is not finite"
_BEYOND = "is out of range"
_WHOLE = r"^[+-]?[0-9]+(?:\.0*)?$"


@dataclass(frozen=True)
class Lookup:
    """Where a value was to be found in a second table and its key is not there."""

    reason: str
    unknown: Mask
    rows: pl.Series
    keys: pl.Series


@dataclass(frozen=True)
class Conform:
    """Turns raw columns under our names into EVENTS columns, and tells the tally what it could not take."""

    mapping: LogMap
    clock: TimeReader
    tally: Tally
    encoding: str | None = None  # of the file, where it is not UTF-8
    plausible: Plausible = ANY_TIME
    side: Side = ONE

    def __call__(
        self, raw: pl.DataFrame, columns: Sequence[str], lookups: Mapping[str, Lookup] | None = None
    ) -> pl.DataFrame:
        """The good rows of `raw`, which holds ROW and any of our columns, with `columns` and ROW converted."""
        self.tally.rows += raw.height
        bad = np.zeros(raw.height, dtype=np.bool_)
        done: dict[str, pl.Series] = {ROW: raw[ROW]}
        lookups = lookups or {}
        for name in EVENTS.required:
            if name == "kind" and self.side.kind is not None:
                continue
            bad |= self._unknown(lookups.get(name), "bad", f"{name} is unknown", bad)
            done[name], faults, notes = self._required(raw[name], name)
            for reason, mask in faults.items():
                self._count("bad", reason, mask & ~bad, raw, name)
                if reason.endswith(_BROKEN):
                    self._count_swallowed(reason, done[name].filter(pl.Series(mask & ~bad)))
                bad |= mask
            for reason, mask in notes.items():
                self._count("notes", reason, mask & ~bad, raw, name)
        their_kind, done["kind"] = self._kinds(raw, done.get("kind"), bad)
        for name in columns:
            if name not in done and name in raw.columns:
                self._unknown(lookups.get(name), "nulled", f"{name} is unknown", bad)
                done[name] = self._optional(raw, name, their_kind, bad)
        kept = pl.DataFrame([series.alias(name) for name, series in done.items()])
        return kept.filter(pl.Series(~bad)) if bad.any() else kept

    def _unknown(self, lookup: Lookup | None, what: str, reason: str, bad: Mask) -> Mask:
        """Count the rows whose key is in no table; they have no value to be looked at."""
        if lookup is None:
            return np.zeros_like(bad)
        mask = lookup.unknown & ~bad
        if count := int(np.count_nonzero(mask)):
            first = int(np.argmax(mask))
            row = int(lookup.rows[first]) + 1
            self.tally.add(what, f"{reason}: {lookup.reason}", count, row, as_text(lookup.keys)[0][first])
        return mask

    def _kinds(self, raw: pl.DataFrame, found: pl.Series | None, bad: Mask) -> tuple[pl.Series, pl.Series]:
        """The log's word for each row, by which other rules go, and our kind."""
        if self.side.kind is not None:
            fixed = _all(self.side.kind, raw.height)
            theirs = as_text(raw["kind"])[0] if "kind" in raw.columns else _all(self.mapping.kind, raw.height)
            return theirs, fixed
        theirs = pl.Series("kind", [], dtype=pl.String) if found is None else found
        ours = theirs.replace(dict(self.mapping.kinds)) if self.mapping.kinds else theirs
        return theirs, self._by_sign(raw, theirs, ours, bad) if self.mapping.signs else ours

    def _by_sign(self, raw: pl.DataFrame, theirs: pl.Series, ours: pl.Series, bad: Mask) -> pl.Series:
        """Kinds by the sign of the amount; one that says nothing of its sign keeps the log's word, and is counted."""
        amount = as_number(raw["amount"], "amount")[0] * (-1 if self.side.opposite else 1)
        signs = {"positive": amount > 0, "negative": amount < 0, "zero": amount == 0}
        for word, signed in self.mapping.signs.items():
            here = (theirs == word).fill_null(False)
            undecided = here
            for sign, fits in signs.items():
                kind = getattr(signed, sign)
                if kind is not None:
                    now = here & fits.fill_null(False)
                    ours = _all(kind, len(ours)).zip_with(now, ours)
                    undecided &= ~now
            reason = f"kind {word!r} stays: [kinds] names none for the sign of amount"
            self._count("notes", reason, undecided.to_numpy() & ~bad, raw, "amount")
        return ours

    def _required(self, raw: pl.Series, name: str) -> tuple[pl.Series, dict[str, Mask], dict[str, Mask]]:
        typed = name == "at" and (raw.dtype.is_numeric() or raw.dtype.is_temporal())
        text, faults = (raw, {}) if typed else as_text(raw)
        named = {f"{name} {reason}": mask for reason, mask in faults.items()}
        told = np.logical_or.reduce(list(faults.values())) if faults else np.zeros(len(raw), dtype=np.bool_)
        if name == "at":
            moments = self.clock.read(text)
            missing = null_mask(text) & ~told
            faults = {**moments.faults, **self.plausible.faults(moments.at)}
            return moments.at, {"time is missing": missing, **named, **faults}, moments.notes
        missing = null_mask(text) & ~told
        faults = {}
        if may_contain(text, b"\n", b"\r", b"\0"):
            broken = text.str.contains("[\n\r\x00]").fill_null(False).to_numpy()
            faults = _some({f"{name} {_BROKEN}": broken})
        return text, {f"{name} is missing": missing, **named, **faults}, {}

    def _optional(self, raw: pl.DataFrame, name: str, their_kind: pl.Series, bad: Mask) -> pl.Series:
        column = raw[name]
        if name in self.mapping.only:
            fits = their_kind.is_in(list(self.mapping.only[name])).fill_null(False)
            column = column.zip_with(fits, pl.Series([None], dtype=column.dtype))
        value, faults = as_text(column) if name in TEXT_COLUMNS else as_number(column, name)
        for reason, mask in faults.items():
            self._count("nulled", f"{name} {reason}", mask & ~bad, raw, name)
        if value.dtype == pl.String and may_contain(value, b"\n"):
            lines = value.str.contains("\n", literal=True)
            self._count("notes", f"{name} {_LINES}", lines.fill_null(False).to_numpy() & ~bad, raw, name)
        if name == "amount" and self.mapping.losses:
            losing = their_kind.is_in(list(self.mapping.losses)).fill_null(False)
            value = (-value.abs()).zip_with(losing, value)
        return -value if name == "amount" and self.side.opposite else value

    def _count_swallowed(self, reason: str, values: pl.Series) -> None:
        """An unclosed quote draws whole lines into one value: each of them is a lost row."""
        lines = int(values.str.count_matches("\n", literal=True).sum())
        self.tally.rows += lines
        self.tally.add("bad", reason, lines, 0, None)

    def _count(self, what: str, reason: str, mask: Mask, raw: pl.DataFrame, name: str) -> None:
        if count := int(np.count_nonzero(mask)):
            first = int(np.argmax(mask))
            if self.encoding is not None:
                reason = reason.replace(NOT_UTF8, f"is not {self.encoding}")
            self.tally.add(what, reason, count, int(raw[ROW][first]) + 1, _example(raw[name], first))


def _all(text: str | None, rows: int) -> pl.Series:
    return pl.repeat(text, rows, dtype=pl.String, eager=True)


def _example(column: pl.Series, place: int) -> object:
    value = shown(column, place)
    return value.replace(UNREADABLE, "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def shown(column: pl.Series, place: int) -> object:
    """One value of a column for a message; a time that Python cannot show is the number that stands for it."""
    if column.dtype.is_temporal() and not _in_calendar(column, place):
        return column.to_physical()[place]
    value = column[place]
    return value.to_list() if isinstance(value, pl.Series) else value


def _in_calendar(column: pl.Series, place: int) -> bool:
    number = column.to_physical()[place]
    if number is None or column.dtype == pl.Time:
        return True
    if column.dtype == pl.Date:
        return _FIRST_DAY <= number <= _LAST_DAY
    a_day = {"ms": DAY // 1_000, "us": DAY, "ns": DAY * 1_000}[column.dtype.time_unit]  # type: ignore[attr-defined]
    return _FIRST_DAY < number // a_day < _LAST_DAY


def as_text(raw: pl.Series) -> tuple[pl.Series, dict[str, Mask]]:
    """A column as text just as it was written, empty text as null, and why a value could not be taken."""
    if raw.dtype == pl.Binary:
        return _decode(raw)
    if raw.dtype.is_nested() or raw.dtype == pl.Object:
        nothing = pl.Series(raw.name, [None] * len(raw), dtype=pl.String)
        return nothing, _some({_NESTED: raw.is_not_null().to_numpy()})
    if raw.dtype.is_float():
        # A table that has holes writes whole ids as floats; 7.0 was 7 before.
        whole = raw.cast(pl.Int64, strict=False)
        same = (whole.cast(pl.Float64) == raw).fill_null(False) & (raw.abs() < 2**53).fill_null(False)
        return whole.cast(pl.String).zip_with(same, raw.fill_nan(None).cast(pl.String)), {}
    text = _empty_as_null(raw.cast(pl.String))
    if not may_contain(text, UNREADABLE.encode()):
        return text, {}
    marked = text.str.contains(UNREADABLE, literal=True).fill_null(False)
    return text.zip_with(~marked, pl.Series([None], dtype=pl.String)), _some({NOT_UTF8: marked.to_numpy()})


def as_number(raw: pl.Series, name: str) -> tuple[pl.Series, dict[str, Mask]]:
    """A column as the numbers EVENTS wants, null and a reason where that cannot be."""
    dtype = EVENTS.columns[name]
    if raw.dtype == pl.String and (plain := _plain_numbers(_empty_as_null(raw), dtype)) is not None:
        return plain, {}
    given = ~null_mask(raw)
    if not raw.dtype.is_numeric() and raw.dtype != pl.String:
        raw, _ = as_text(raw)
    if raw.dtype == pl.String:
        raw = raw.str.strip_chars()
        given &= (raw != "").fill_null(True).to_numpy()
    value, well_formed = _whole_number(raw, dtype) if dtype in (pl.Int64, pl.Int16) else _real_number(raw, dtype)
    unfit = given & null_mask(value)
    if not unfit.any():
        return value, {}
    beyond = _BEYOND if dtype in (pl.Int64, pl.Int16) else _NOT_FINITE
    malformed = _NOT_WHOLE if dtype in (pl.Int64, pl.Int16) else _NOT_A_NUMBER
    return value, _some({malformed: unfit & ~well_formed, beyond: unfit & well_formed})


def _plain_numbers(text: pl.Series, dtype: pl.DataType | type[pl.DataType]) -> pl.Series | None:
    """The numbers of a column of text in which every value is one as it stands; else None."""
    value = (text.cast(pl.Float64, strict=False) if dtype.is_float() else text).cast(dtype, strict=False)
    numbers = len(value) - value.null_count()
    if value.null_count() > text.null_count() or (dtype.is_float() and np.isfinite(value.to_numpy()).sum() < numbers):
        return None
    return value


def _whole_number(raw: pl.Series, dtype: pl.DataType | type[pl.DataType]) -> tuple[pl.Series, Mask]:
    if raw.dtype == pl.String:
        well_formed = raw.str.contains(_WHOLE).fill_null(False)
        digits = raw.str.replace(r"\.0*$", "").str.replace(r"^\+", "")
        value = digits.cast(dtype, strict=False).zip_with(well_formed, pl.Series([None], dtype=dtype))
        return value, well_formed.to_numpy()
    well_formed = (raw == raw.floor()).fill_null(False) if raw.dtype.is_float() else raw.is_not_null()
    value = raw.cast(dtype, strict=False).zip_with(well_formed, pl.Series([None], dtype=dtype))
    return value, well_formed.to_numpy()


def _real_number(raw: pl.Series, dtype: pl.DataType | type[pl.DataType]) -> tuple[pl.Series, Mask]:
    value = raw.cast(pl.Float64, strict=False)
    finite = value.cast(dtype).is_finite().fill_null(False)
    return value.cast(dtype).zip_with(finite, pl.Series([None], dtype=dtype)), value.is_not_null().to_numpy()


def _decode(raw: pl.Series) -> tuple[pl.Series, dict[str, Mask]]:
    try:
        return _empty_as_null(raw.cast(pl.String)), {}
    except pl.exceptions.ComputeError:
        text = pl.Series(raw.name, [_utf8(value) for value in raw], dtype=pl.String)
        return _empty_as_null(text), _some({NOT_UTF8: text.is_null().to_numpy() & raw.is_not_null().to_numpy()})


def _utf8(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _empty_as_null(text: pl.Series) -> pl.Series:
    if text.dtype != pl.String:
        return text
    empty = text == ""
    return text.zip_with(~empty.fill_null(False), pl.Series([None], dtype=pl.String)) if empty.any() else text


def null_mask(values: pl.Series) -> Mask:
    """Where a column is null; a call into Polars costs more than the ten values of a small file."""
    return values.is_null().to_numpy() if values.null_count() else np.zeros(len(values), dtype=np.bool_)


def may_contain(text: pl.Series, *marks: bytes) -> bool:
    """Whether any value may contain one of these bytes; False is certain. All values are searched at once."""
    data = text.to_arrow(compat_level=pl.CompatLevel.oldest()).buffers()[2]
    joined = b"" if data is None else data.to_pybytes()
    return any(mark in joined for mark in marks)


def _some(faults: dict[str, Mask]) -> dict[str, Mask]:
    return {reason: mask for reason, mask in faults.items() if mask.any()}
