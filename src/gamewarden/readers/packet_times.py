"""Times of packet tables as text: ISO 8601 or epoch seconds, cut to whole microseconds without a detour over floats."""

import polars as pl

from gamewarden.errors import ReadError

_EPOCH = r"^\s*(?<sign>-?)(?<whole>\d{1,12})(?:\.(?<part>\d*))?\s*$"
_ISO = (
    r"^\s*(?<day>\d{4}-\d{2}-\d{2})[Tt ](?<minute>\d{2}:\d{2})(?::(?<second>\d{2})(?:[.,](?<part>\d+))?)?"
    r"\s*(?:(?<utc>[Zz])|(?<sign>[+-])(?<hours>\d{2}):?(?<minutes>\d{2})?)?\s*$"
)


def micros_of(times: pl.Series, zone: str | None, name: str) -> pl.Series:
    """Microseconds since 1970 of texts or timestamps; null where a text is no time.

    Raises:
        ReadError: an ISO time has no zone, and none was given.
    """
    if isinstance(times.dtype, pl.Datetime):
        return _of_timestamps(times, zone, name)
    texts = times.cast(pl.String)
    epochs = _of_epochs(texts)
    if times.dtype.is_float():  # too small or large to be written without an exponent
        epochs = epochs.fill_null((times * 1e6).floor().cast(pl.Int64, strict=False))
    if epochs.null_count() == texts.null_count():
        return epochs
    return pl.select(pl.coalesce(epochs, _of_iso(texts, zone, name))).to_series()


def _of_timestamps(times: pl.Series, zone: str | None, name: str) -> pl.Series:
    if getattr(times.dtype, "time_zone", None) is None:
        if zone is None:
            raise _zoneless(name, str(times.drop_nulls()[0]) if times.null_count() < len(times) else "")
        times = times.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    return times.dt.epoch("us")


def _of_epochs(texts: pl.Series) -> pl.Series:
    found = texts.str.extract_groups(_EPOCH).struct
    size = found.field("whole").cast(pl.Int64) * 1_000_000 + _cut(found.field("part"))
    return pl.select(pl.when(found.field("sign") == "-").then(-size).otherwise(size)).to_series()


def _of_iso(texts: pl.Series, zone: str | None, name: str) -> pl.Series:
    found = texts.str.extract_groups(_ISO).struct
    text = found.field("day") + " " + found.field("minute") + ":" + found.field("second").fill_null("00")
    moments = text.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    sign = found.field("sign")
    bare = moments.is_not_null() & found.field("utc").is_null() & sign.is_null()
    if bare.any():
        if zone is None:
            raise _zoneless(name, texts.filter(bare)[0])
        local = moments.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("us")
    else:
        local = moments.dt.epoch("us")
    minutes = found.field("hours").cast(pl.Int64) * 60 + found.field("minutes").fill_null("0").cast(pl.Int64)
    east = pl.select(pl.when(sign == "-").then(-minutes).otherwise(minutes)).to_series().fill_null(0)
    utc = moments.dt.epoch("us") - east * 60_000_000
    return pl.select(pl.when(bare).then(local).otherwise(utc)).to_series() + _cut(found.field("part"))


def _cut(digits: pl.Series) -> pl.Series:
    """Microseconds of the digits behind the point."""
    return digits.fill_null("").str.slice(0, 6).str.pad_end(6, "0").cast(pl.Int64)


def _zoneless(name: str, seen: str) -> ReadError:
    return ReadError(
        f"{name}: the time {seen!r} has no zone; say which it is with --zone, for example --zone Asia/Seoul"
    )
