"""Lengths of time as people write them ("60s", "15m", "1d") and as we count them (microseconds)."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gamewarden.errors import ConfigError, short

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
LONGEST_PERIOD = 3653 * DAY  # ten years: longer ones run out of calendar

_UNITS = {"us": 1, "ms": 1_000, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_SPAN = re.compile(r"([0-9]{1,15})(us|ms|s|m|h|d|w)")
# Beside the places, systems keep these: what the machine itself is set to, nothing at all, and the places once more.
_NO_PLACE = ("localtime", "posixrules", "Factory")
_OTHER_TREES = ("posix/", "right/")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_span(text: str) -> int:
    """Microseconds of a span such as "60s".

    Raises:
        ConfigError: the text is not a whole number and a unit, or the span is empty or longer than ten years.
    """
    match = _SPAN.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise ConfigError(
            f"span {short(text)} is not a whole number above 0 and a unit; write for example 60s, 15m, 1h or 1d"
        )
    span = int(match[1]) * _UNITS[match[2]]
    if span > LONGEST_PERIOD:
        raise ConfigError(
            f"span {text!r} is longer than ten years, for which calendars have no room; write a shorter one"
        )
    return span


def span_text(micros: int) -> str:
    """The shortest way to write a span: 60000000 -> "1m"."""
    for unit in ("w", "d", "h", "m", "s", "ms"):
        if micros % _UNITS[unit] == 0:
            return f"{micros // _UNITS[unit]}{unit}"
    return f"{micros}us"


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_micros(at: int) -> datetime:
    """The moment so many microseconds after 1970-01-01 in UTC."""
    return _EPOCH + timedelta(microseconds=at)


def parse_zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name.

    Raises:
        ConfigError: there is no such zone, or the name means another one on each machine, or none.
    """
    if name in _NO_PLACE or name.startswith(_OTHER_TREES):
        raise ConfigError(
            f"time zone {name!r} is a file of time zones and not a place; write an IANA name such as Asia/Seoul or UTC"
        )
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(f"time zone {name!r} is unknown; write an IANA name such as Asia/Seoul or UTC") from error
