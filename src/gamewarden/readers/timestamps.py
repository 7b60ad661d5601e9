"""Times as logs write them, to whole microseconds UTC, exactly: no time ever passes through a float."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import polars as pl

from gamewarden.core.durations import DAY, HOUR, MINUTE, SECOND, parse_zone, to_micros
from gamewarden.errors import ConfigError
from gamewarden.tables import TIME

# So far inside what a calendar holds that the borders of any period (ten years at the most) can still be written.
EARLIEST = to_micros(datetime(20, 1, 1, tzinfo=UTC))
LATEST = to_micros(datetime(9980, 1, 1, tzinfo=UTC))

UNREADABLE = "time does not parse"
NO_ZONE = "time has no zone (name the log's own with --time-zone or [time] zone)"
OUT_OF_RANGE = "time is outside the years 20 to 9979 (is it in other units? set [time] format)"
REPEATED = "local time occurs twice when clocks go back; the first was taken"
SKIPPED = "local time is skipped when clocks go forward; it was read with the offset before the change"

_LARGEST = (1 << 63) - 1
_EPOCH_DIGITS = {"epoch_s": 6, "epoch_ms": 3, "epoch_us": 0, "epoch_ns": -3}  # decimals that are whole microseconds
# Digits are ASCII: \d would take those of every script, which no conversion to a number does.
_EPOCH = r"^(?<sign>[+-]?)(?<whole>[0-9]{1,30})(?:\.(?<f>[0-9]*))?$"
_POWER = r"^[+-]?[0-9]{1,20}(?:\.[0-9]{0,40})?[eE][+-]?[0-9]{1,2}$"
_ISO = (
    r"^(?<Y>[0-9]{4})-(?<m>[0-9]{2})-(?<d>[0-9]{2})"
    r"(?:[Tt ](?<H>[0-9]{2}):(?<M>[0-9]{2})(?::(?<S>[0-9]{2})(?:[.,](?<f>[0-9]+))?)?"
    r" ?(?:(?<z>[Zz]|UTC|GMT|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)(?<go> .*)?)?)?$"
)
# What Go's time.Time prints behind the offset: the zone's name, and a monotonic clock that tells nothing of the day.
_GO = r"^ (?:[A-Z]{1,6}|[+-][0-9]{2,4})(?: m=[+-][0-9]+(?:\.[0-9]+)?)?$"
_FIXED_ISO = re.compile(rb"0000-00-00[T ]00:00:00(?:\.(?P<f>0+))?(?P<z>Z)?")  # with 0 for any digit
_UTC = ("Z", "z", "UTC", "GMT")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DIRECTIVES = {
    "Y": r"[0-9]{4}",
    "y": r"[0-9]{2}",
    "m": r"[0-9]{1,2}",
    "d": r"[0-9]{1,2}",
    "b": r"[A-Za-z]+",
    "H": r"[0-9]{1,2}",
    "I": r"[0-9]{1,2}",
    "p": r"[AaPp][Mm]",
    "M": r"[0-9]{1,2}",
    "S": r"[0-9]{1,2}",
    "f": r"[0-9]+",
    "z": r"[Zz]|UTC|GMT|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9]",
}
_SHORTHANDS = {"%T": "%H:%M:%S", "%R": "%H:%M", "%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%B": "%b", "%e": "%d"}

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Moments:
    """Times read from one column: null where a fault says why."""

    at: pl.Series
    faults: dict[str, Mask]
    notes: dict[str, Mask]


@dataclass(frozen=True)
class TimeReader:
    """How a log writes its times.

    `format` is "auto" (ISO 8601, as databases and Go write it too, or epoch seconds), "iso", "epoch_s", "epoch_ms",
    "epoch_us", "epoch_ns" or a strptime pattern; `zone` is where the log's times without a zone were written, `year`
    the one in which a log was that never writes it, as Java's and syslog's do.

    Raises:
        ConfigError: the format or the zone says something we cannot follow.
    """

    format: str = "auto"
    time_zone: str | None = None
    year: int | None = None

    def __post_init__(self) -> None:
        if self.format not in {"auto", "iso", *_EPOCH_DIGITS}:
            layout(self.format, with_year=self.year is None)
        elif self.year is not None:
            raise ConfigError(f"year {self.year} is for a pattern without one; time format {self.format!r} has its own")
        if self.time_zone is not None:
            _refuse_unknown(parse_zone(self.time_zone).key)

    def read(self, raw: pl.Series) -> Moments:
        """The times of a column of any type."""
        if isinstance(raw.dtype, pl.Datetime) or raw.dtype == pl.Date:
            return self._from_timestamps(raw)
        if raw.dtype.is_integer() and (self.format == "auto" or self.format in _EPOCH_DIGITS):
            return self._from_integers(raw)
        if raw.dtype.is_numeric():
            return self._from_text(raw.cast(pl.String))
        if raw.dtype == pl.String:
            return self._from_text(raw)
        nothing = pl.Series(raw.name, [None] * len(raw), dtype=TIME)
        return Moments(nothing, {UNREADABLE: raw.is_not_null().to_numpy()}, {})

    @property
    def _digits(self) -> int:
        return _EPOCH_DIGITS.get(self.format, 6)

    def _from_timestamps(self, raw: pl.Series) -> Moments:
        present = raw.is_not_null().to_numpy()
        time_zone = raw.dtype.time_zone if isinstance(raw.dtype, pl.Datetime) else None
        local = present if time_zone is None else np.zeros_like(present)
        return self._moments(raw.name, _micros(raw), local, present, {})

    def _from_integers(self, raw: pl.Series) -> Moments:
        present = raw.is_not_null().to_numpy()
        factor = 10 ** max(self._digits, 0)
        whole = _cut(raw.cast(pl.Int64, strict=False), -self._digits)
        beyond = (whole.is_null() | (whole < EARLIEST // factor) | (whole > LATEST // factor)).to_numpy() & present
        micros = whole.fill_null(0).to_numpy() * np.where(beyond, 0, factor)
        nowhere = np.zeros_like(present)
        return self._moments(raw.name, micros, nowhere, present & ~beyond, {OUT_OF_RANGE: beyond})

    def _from_text(self, raw: pl.Series) -> Moments:
        if self.format in {"auto", "iso"} and (fixed := _fixed_iso(raw)) is not None:
            micros, zoned = fixed
            every = np.ones(len(raw), dtype=np.bool_)
            return self._moments(raw.name, micros, every if not zoned else ~every, every, {})
        text = raw.str.strip_chars()
        if self.format in _EPOCH_DIGITS:
            return self._from_numbers(text)
        if self.format == "auto":
            numeric = text.str.contains(_EPOCH)
            if not numeric.all():
                numeric |= text.str.contains(_POWER)
            if numeric.all():
                return self._from_numbers(text)
            if numeric.any():
                return _either(numeric.fill_null(False).to_numpy(), self._from_numbers(text), self._from_layout(text))
        return self._from_layout(text)

    def _from_numbers(self, text: pl.Series) -> Moments:
        present = text.is_not_null().to_numpy()
        text = _without_powers(text)
        parts = text.str.extract_groups(_EPOCH).struct.unnest()
        matched = parts["whole"].is_not_null().to_numpy()
        factor = 10 ** max(self._digits, 0)
        whole = _cut(parts["whole"].cast(pl.Int64, strict=False), -self._digits)
        beyond = matched & (whole.is_null() | (whole > LATEST // factor)).to_numpy()
        micros = whole.fill_null(0).to_numpy() * np.where(beyond, 0, factor) + _fraction(parts["f"], self._digits)
        micros = np.where((parts["sign"] == "-").fill_null(False).to_numpy(), -micros, micros)
        beyond |= matched & (micros < EARLIEST)
        faults = {OUT_OF_RANGE: beyond, UNREADABLE: present & ~matched}
        return self._moments(text.name, micros, np.zeros_like(present), matched & ~beyond, faults)

    def _from_layout(self, text: pl.Series) -> Moments:
        present = text.is_not_null().to_numpy()
        pattern = _ISO if self.format in {"auto", "iso"} else layout(self.format, with_year=self.year is None)
        parts = text.str.extract_groups(pattern).struct.unnest()
        if self.year is not None:
            parts = parts.with_columns(pl.lit(str(self.year)).alias("Y"))
        micros, matched = _civil(parts)
        if "go" in parts.columns and parts["go"].null_count() < parts.height:
            matched &= parts["go"].is_null().to_numpy() | parts["go"].str.contains(_GO).fill_null(False).to_numpy()
        offset, zoned = _offset(parts)
        faults = {UNREADABLE: present & ~matched}
        return self._moments(text.name, micros - offset, matched & ~zoned, matched, faults)

    def _moments(self, name: str, micros: Ints, local: Mask, good: Mask, faults: dict[str, Mask]) -> Moments:
        notes: dict[str, Mask] = {}
        good, faults = _in_calendar(micros, good, faults)  # first: a clock far outside it has no offset in any zone
        if local.any():
            if self.time_zone is None:
                faults = {**faults, NO_ZONE: local & good}
                good = good & ~local
            else:
                micros, notes = _from_zone(micros, local & good, self.time_zone)
                good, faults = _in_calendar(micros, good, faults)
        at = pl.Series(name, np.where(good, micros, 0), dtype=pl.Int64)
        if not good.all():
            at = at.zip_with(pl.Series(good), pl.Series([None], dtype=pl.Int64))
        return Moments(at.cast(TIME), {why: mask for why, mask in faults.items() if mask.any()}, notes)


def _micros(raw: pl.Series) -> Ints:
    """The microseconds of dates and timestamps; what does not fit into a number stays as far out as fits."""
    numbers: Ints = raw.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
    unit = raw.dtype.time_unit if isinstance(raw.dtype, pl.Datetime) else "day"
    if unit == "ns":
        return numbers // 1_000
    factor = {"day": DAY, "ms": 1_000}.get(str(unit), 1)
    return numbers if factor == 1 else np.clip(numbers, -_LARGEST // factor + 1, _LARGEST // factor) * factor


def _in_calendar(micros: Ints, good: Mask, faults: dict[str, Mask]) -> tuple[Mask, dict[str, Mask]]:
    beyond = good & ((micros < EARLIEST) | (micros > LATEST))
    if not beyond.any():
        return good, faults
    return good & ~beyond, {**faults, OUT_OF_RANGE: faults.get(OUT_OF_RANGE, beyond) | beyond}


def layout(pattern: str, *, with_year: bool = True) -> str:
    """A strptime pattern as a regular expression with one named group a directive.

    Raises:
        ConfigError: the pattern holds a directive we do not know, one twice, or no whole date.
    """
    for short, long in _SHORTHANDS.items():
        pattern = pattern.replace(short, long)
    pieces = re.findall(r"%.?|\s+|[^%\s]+", pattern)
    seen: list[str] = []
    found = [_piece(piece, pieces[index + 1 : index + 2], pattern, seen) for index, piece in enumerate(pieces)]
    years = {"Y", "y"} & set(seen)
    if years and not with_year:
        raise ConfigError(f"time format {pattern!r} has a year of its own; leave out year, or the pattern's")
    if not ((years or not with_year) and {"m", "b"} & set(seen) and "d" in seen):
        raise ConfigError(
            f"time format {pattern!r} names no year, month and day; write auto, iso, epoch_s, epoch_ms, epoch_us, "
            'epoch_ns or a pattern such as "%Y-%m-%d %H:%M:%S.%f"'
        )
    return f"^{''.join(found)}$"


def _piece(piece: str, following: Sequence[str], pattern: str, seen: list[str]) -> str:
    if piece == "%%":
        return "%"
    if not piece.startswith("%"):
        return r"\s+" if piece.isspace() else re.escape(piece)
    name = piece[1:]
    if name not in _DIRECTIVES or name in seen:
        what = "twice" if name in seen else "which is not one of " + " ".join(f"%{known}" for known in _DIRECTIVES)
        raise ConfigError(f"time format {pattern!r} has {piece}, {what}")
    seen.append(name)
    tight = following and following[0].startswith("%")
    return f"(?<{name}>{_DIRECTIVES[name].replace('{1,2}', '{2}') if tight else _DIRECTIVES[name]})"


def _without_powers(text: pl.Series) -> pl.Series:
    powers = text.str.contains(_POWER)
    if not powers.any():
        return text
    plain = [f"{Decimal(value):f}" for value in text.filter(powers)]
    return text.scatter(powers.arg_true(), plain)


def _cut(numbers: pl.Series, digits: int) -> pl.Series:
    """Numbers without so many of their last digits, as if these had never been written."""
    if digits <= 0:
        return numbers
    below = numbers // 10**digits  # which goes away from zero where a number is negative
    return below + ((numbers < 0) & (numbers % 10**digits != 0)).cast(pl.Int64)


def _fraction(digits: pl.Series, count: int) -> Ints:
    if count <= 0 or digits.null_count() == len(digits):
        return np.zeros(len(digits), dtype=np.int64)
    cut = digits.fill_null("").str.slice(0, count).str.pad_end(count, "0")
    return cut.cast(pl.Int64).to_numpy()


def _number(parts: pl.DataFrame, name: str, default: int) -> Ints:
    if name not in parts.columns:
        return np.full(parts.height, default, dtype=np.int64)
    return parts[name].cast(pl.Int64, strict=False).fill_null(default).to_numpy()


def _civil(parts: pl.DataFrame) -> tuple[Ints, Mask]:
    """Microseconds of a wall clock since 1970, and where the parts are a date and a time that exist."""
    date = _year(parts), _month(parts), _number(parts, "d", 0)
    micros, exists = _civil_time(*date, _hour(parts), _number(parts, "M", 0), _number(parts, "S", 0))
    return micros + _fraction(parts["f"], 6) if "f" in parts.columns else micros, exists


def _civil_time(*fields: Ints) -> tuple[Ints, Mask]:
    """The same of year, month, day, hour, minute and second."""
    year, month, day, hour, minute, second = fields
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    length = lengths[np.clip(month, 0, 12)] + (leap & (month == 2))  # noqa: PLR2004 - February
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= length)  # noqa: PLR2004 - a calendar
    # 60 is a leap second: it counts as the first second of the next minute.
    exists &= (hour >= 0) & (hour <= 23) & (minute <= 59) & (second <= 60)  # noqa: PLR2004 - a clock
    return _days(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second * SECOND, exists


def _fixed_iso(text: pl.Series) -> tuple[Ints, bool] | None:
    """Microseconds of a column of ISO times of one width, and whether they end with Z; None for any other column.

    Most logs write such times. No regular expression is needed for them, and no call into Polars.
    """
    array = text.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, ends, data = array.buffers()
    if not len(array) or array.null_count or data is None:
        return None
    borders = np.frombuffer(ends, np.int64)[array.offset : array.offset + len(array) + 1]
    width = int(borders[1] - borders[0])
    if not width or (np.diff(borders) != width).any():
        return None
    letters = np.frombuffer(data, np.uint8)[borders[0] : borders[-1]].reshape(-1, width)
    shapes = np.where((letters >= ord("0")) & (letters <= ord("9")), np.uint8(ord("0")), letters)
    shape = _FIXED_ISO.fullmatch(shapes[0].tobytes())
    if shape is None or (shapes != shapes[0]).any():
        return None

    def number(begin: int, end: int) -> Ints:
        powers: Ints = 10 ** np.arange(end - begin, dtype=np.int64)[::-1]
        return (letters[:, begin:end] - np.uint8(ord("0"))) @ powers

    micros, exists = _civil_time(number(0, 4), *(number(begin, begin + 2) for begin in (5, 8, 11, 14, 17)))
    decimals = min(len(shape["f"] or b""), 6)
    micros += number(20, 20 + decimals) * 10 ** (6 - decimals)
    return (micros, shape["z"] is not None) if exists.all() else None


def _days(year: Ints, month: Ints, day: Ints) -> Ints:
    """Days since 1970-01-01 of the Gregorian calendar, years counted from March so that leap days come last."""
    shifted = year - (month <= 2)  # noqa: PLR2004 - January and February end the year before
    since_march = (month + 9) % 12
    in_year = (153 * since_march + 2) // 5 + day - 1
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + in_year - 719_468


def _year(parts: pl.DataFrame) -> Ints:
    if "y" not in parts.columns:
        return _number(parts, "Y", 0)
    short = _number(parts, "y", -1)
    return np.where(short < 0, 0, short + np.where(short < 69, 2000, 1900))  # noqa: PLR2004 - as POSIX reads %y


def _month(parts: pl.DataFrame) -> Ints:
    if "b" not in parts.columns:
        return _number(parts, "m", 0)
    names = parts["b"].str.to_lowercase().str.slice(0, 3)
    return names.replace_strict(_MONTHS, range(1, 13), default=0).to_numpy()


def _hour(parts: pl.DataFrame) -> Ints:
    if "I" not in parts.columns:
        return _number(parts, "H", 0)
    hour = _number(parts, "I", -1)
    after_noon = np.zeros_like(hour)
    if "p" in parts.columns:
        after_noon = (parts["p"].str.to_lowercase() == "pm").fill_null(False).cast(pl.Int64).to_numpy()
    return np.where((hour < 1) | (hour > 12), -1, hour % 12 + 12 * after_noon)  # noqa: PLR2004 - a twelve-hour clock


def _offset(parts: pl.DataFrame) -> tuple[Ints, Mask]:
    """Microseconds the wall clock is ahead of UTC, and where the text says so."""
    if "z" not in parts.columns:
        return np.zeros(parts.height, dtype=np.int64), np.zeros(parts.height, dtype=np.bool_)
    time_zone = parts["z"]
    if time_zone.is_in(_UTC).all():
        return np.zeros(parts.height, dtype=np.int64), time_zone.is_not_null().to_numpy()
    digits = time_zone.str.replace_all("[^0-9]", "").str.pad_end(4, "0")
    hours = digits.str.slice(0, 2).cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    minutes = digits.str.slice(2, 2).cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    sign = np.where(time_zone.str.starts_with("-").fill_null(False).to_numpy(), -1, 1)
    return sign * (hours * HOUR + minutes * MINUTE), time_zone.is_not_null().to_numpy()


def _refuse_unknown(time_zone: str) -> None:
    """The table of zones that converts columns is not the system's, and may lack a zone that it has."""
    try:
        pl.Series([0]).cast(pl.Datetime("us")).dt.replace_time_zone(time_zone)
    except pl.exceptions.PolarsError as error:
        raise ConfigError(
            f"time zone {time_zone!r} is known to this system and not to the Polars that converts times; write the "
            "name of a place with the same clocks, such as Asia/Seoul"
        ) from error


def _from_zone(micros: Ints, local: Mask, time_zone: str) -> tuple[Ints, dict[str, Mask]]:
    """Wall-clock times of a zone as UTC; where the clock is ambiguous, the offset before the change holds."""
    wall = pl.Series(np.where(local, micros, 0)).cast(pl.Datetime("us"))
    first = wall.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    last = wall.dt.replace_time_zone(time_zone, ambiguous="latest", non_existent="null")
    skipped = first.is_null().to_numpy() & local
    repeated = (first != last).fill_null(False).to_numpy() & local
    utc = first.to_physical().fill_null(0).to_numpy().copy()
    if skipped.any():
        utc[skipped] = [_before_the_change(value, time_zone) for value in micros[skipped].tolist()]
    notes = {why: mask for why, mask in ((SKIPPED, skipped), (REPEATED, repeated)) if mask.any()}
    return np.where(local, utc, micros), notes


def _before_the_change(micros: int, time_zone: str) -> int:
    wall = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return to_micros(wall.replace(tzinfo=parse_zone(time_zone)))


def _either(numeric: Mask, numbers: Moments, layouts: Moments) -> Moments:
    at = numbers.at.zip_with(pl.Series(numeric), layouts.at)
    faults = {why: mask & numeric for why, mask in numbers.faults.items()}
    for why, mask in layouts.faults.items():
        faults[why] = faults.get(why, np.zeros_like(mask)) | (mask & ~numeric)
    notes = {why: mask & ~numeric for why, mask in layouts.notes.items()}
    return Moments(at, {why: mask for why, mask in faults.items() if mask.any()}, notes)
