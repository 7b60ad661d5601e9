"""What a notebook hands over, looked at before anything is done with it: no command line has."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

from gamewarden import readers, requests
from gamewarden.config import load_config
from gamewarden.contracts import Source
from gamewarden.core.durations import parse_span, parse_zone
from gamewarden.core.time_ranges import TimeRange, in_utc
from gamewarden.errors import ConfigError
from gamewarden.pipeline import RunOptions
from gamewarden.readers import ArrowTable, Locator
from gamewarden.readers.logs.operator_tables import OwnTable
from gamewarden.readers.places import files_at
from gamewarden.verdicts.prevalence import Prevalence

Place: TypeAlias = str | PathLike[str]
Moment: TypeAlias = datetime | str | None
Length: TypeAlias = timedelta | str | None
Data: TypeAlias = Place | ArrowTable | Sequence[Place]  # where it stands, several such places, or the table itself


def opened(
    source: Data,
    mapping: Place | None,
    time_zone: str | None,
    asked: tuple[Moment, Moment, Length] = (None, None, None),
) -> tuple[Source, RunOptions]:
    """What somebody has as a source, of a time that is asked for (since, until, last), and what a run goes by."""
    config = load_config(None)
    if time_zone is not None:
        parse_zone(time_zone)
    places = [source] if isinstance(source, str | PathLike) else source if isinstance(source, Sequence) else ()
    reading = requests.reading_of(config, None if mapping is None else str(mapping), time_zone, places=places)
    limited = replace(reading, time_range=_time_range(asked, reading.logs.time_zone or "UTC"))
    return readers.open(_locator(source), limited), requests.run_of(config, reading)


def _time_range(asked: tuple[Moment, Moment, Length], time_zone: str) -> TimeRange:
    since, until, last = asked
    length = last // timedelta(microseconds=1) if isinstance(last, timedelta) else last
    if not (length is None or isinstance(length, str) or (isinstance(last, timedelta) and length > 0)):
        raise ConfigError(f"last: {last!r} is no length of time; write for example '7d' or timedelta(days=7)")
    span = parse_span(length) if isinstance(length, str) else length
    return TimeRange(moment(since, "since", time_zone), moment(until, "until", time_zone), span, time_zone)


def _locator(source: Data) -> Locator | str:
    if hasattr(source, "__arrow_c_stream__"):
        return cast("ArrowTable", source)
    if isinstance(source, str | PathLike):
        return source if isinstance(source, str) else Path(source)
    if isinstance(source, Sequence) and source and all(isinstance(one, str | PathLike) for one in source):
        return [file for one in source for file in (files_at(one) if isinstance(one, str) else [Path(one)])]
    raise ConfigError(
        f"source: {type(source).__name__} is nothing to read; give a path, several, or a table of Polars, pandas or "
        "Arrow (of a LazyFrame, what collect() gives)"
    )


def own(table: Place | ArrowTable, what: str) -> OwnTable:
    """A small table by its place, or itself."""
    if isinstance(table, str | PathLike):
        return Path(table)
    if not hasattr(table, "__arrow_c_stream__"):
        raise ConfigError(f"{what}: {type(table).__name__} is no table; give a path, or one of Polars, pandas or Arrow")
    return table


def path(place: Place, what: str) -> Path:
    """A place."""
    if not isinstance(place, str | PathLike):
        raise ConfigError(f"{what}: {place!r} is no path")
    return Path(place)


def moment(at: Moment, what: str, time_zone: str | None = None) -> datetime | None:
    """A time in UTC; one written without a zone is of this one."""
    if at is None:
        return None
    try:
        return in_utc(at if isinstance(at, datetime) else datetime.fromisoformat(at), time_zone or "UTC")
    except (ValueError, OverflowError, TypeError, AttributeError) as error:
        raise ConfigError(f"{what}: {at!r} is not ISO 8601; write for example 2026-03-01T12:00:00Z") from error


def prevalence(share: float | None) -> Prevalence:
    """The share of bots that probabilities suppose: as given, else by the settings."""
    return Prevalence.of(load_config(None), number(share, "prevalence"))


def refuse_unknown(who: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Stop over an option that nobody takes."""
    if others := [name for name in given if name not in known]:
        raise ConfigError(f"{who}: there is no option {', '.join(others)}; it takes {', '.join(known) or 'none'}")


def number(value: float | None, what: str, *, least: float = 0, most: float | None = 1) -> Any:  # noqa: ANN401  as it came
    """A number within its borders, or none.

    Raises:
        ConfigError: it is something else.
    """
    if value is None:
        return None
    borders = f"from {least} to {most}" if most is not None else f"of {least} or more"
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or value < least or (most is not None and value > most):
        raise ConfigError(f"{what}: {value!r} is no number {borders}")
    return value


def whole(value: int | None, what: str, least: int) -> int | None:
    """A whole number that is large enough, or none.

    Raises:
        ConfigError: it is something else.
    """
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise ConfigError(f"{what}: {value!r} is no whole number of {least} or more")
    return value


def texts(value: Collection[str] | str, what: str) -> tuple[str, ...]:
    """One text or several.

    Raises:
        ConfigError: it is something else.
    """
    several = [value] if isinstance(value, str) else value
    if not hasattr(several, "__iter__") or not all(isinstance(one, str) for one in several):
        raise ConfigError(f"{what}: {value!r} is no text and no list of texts")
    return tuple(several)
