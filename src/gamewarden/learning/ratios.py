"""Which numbers of a table are worth dividing: what was done, by how many days or logins there were to do it.

A tree asks about one number at a time and cannot divide. Which columns count days and logins is read from their names.
"""

import re
from collections.abc import Callable

MOST = 60  # ratios of one model
_COUNTS = {"count", "counts", "number", "num", "n", "total"}
_DAYS, _LOGINS = {"day", "days"}, {"login", "logins", "session", "sessions"}
_PER = {"per", "avg", "average", "mean"}  # what is divided already
_BESIDE = {"played", "active", "online", "seen"}


def ratios_of(columns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of what is divided and by what: by the first column of days and the first of logins, no pair twice."""
    chances = (*_first(columns, _counts_days), *_first(columns, _counts_logins))
    pairs = [
        (over, under)
        for place, under in enumerate(chances)
        for over in columns
        if over not in chances[: place + 1] and "=" not in over
    ]
    return tuple(pairs[:MOST])


def _first(columns: tuple[str, ...], kind: Callable[[set[str]], bool]) -> tuple[str, ...]:
    return next(((name,) for name in columns if kind(_words(name))), ())


def _counts_days(words: set[str]) -> bool:
    return bool(words & _DAYS) and bool(words & (_COUNTS | _BESIDE) or words <= _DAYS) and not words & _PER


def _counts_logins(words: set[str]) -> bool:
    return bool(words & _LOGINS) and bool(words & _COUNTS or words <= _LOGINS) and not words & (_PER | _DAYS)


def _words(name: str) -> set[str]:
    """The words of a column's name, whichever way they are joined."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return {word for word in re.split(r"[^a-z0-9]+", parted.lower()) if word}
