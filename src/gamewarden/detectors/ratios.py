"""Which numbers of a table are worth dividing: what was done, by how long or how often there was a chance to do it.

A tree asks about one number at a time and cannot divide. Which columns are such chances is read from their names.
"""

import re
from collections.abc import Callable

MOST = 40  # ratios of one model
_COUNTS = {"count", "counts", "number", "num", "n"}
_DAYS, _LOGINS = {"day", "days"}, {"login", "logins", "session", "sessions"}
_TIMES = {"playtime", "play_time", "online_time", "time_played", "use_time"}


def ratios_of(columns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of what is divided and by what, no pair twice either way, at most so many."""
    chances = tuple(name for kind in (_is_days, _is_logins, _is_time) for name in _first(columns, kind))
    pairs = [
        (over, under)
        for place, under in enumerate(chances)
        for over in columns
        if over not in chances[: place + 1] and "=" not in over
    ]
    return tuple(pairs[:MOST])


def _first(columns: tuple[str, ...], kind: Callable[[str], bool]) -> tuple[str, ...]:
    return next(((name,) for name in columns if kind(name)), ())


def _words(name: str) -> set[str]:
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return {word for word in re.split(r"[^a-z0-9]+", parted.lower()) if word}


def _is_days(name: str) -> bool:
    words = _words(name)
    return "per" not in words and (bool(words & _DAYS and words & _COUNTS) or name.lower() in {"days", "days_played", "active_days"})


def _is_logins(name: str) -> bool:
    words = _words(name)
    return "per" not in words and not words & _DAYS and bool(words & _LOGINS and words & _COUNTS or words <= _LOGINS)


def _is_time(name: str) -> bool:
    return name.lower() in _TIMES or _words(name) in ({"play", "time"}, {"total", "playtime"}, {"playtime", "total"})
