"""Which columns name a row instead of saying something about it.

An account number given out in order tells when the account was made, and a model that is fed with it remembers who was
banned when instead of learning what bots do. Two things give an identifier away: its name, and its shape. By shape it
is a whole number or a code that hardly ever repeats; but a play time in seconds hardly repeats either. What people do
is many times small and a few times large; identifiers fill their range or crowd at its end.
"""

import re
from collections.abc import Sequence

import polars as pl

# fmt: off
_ENDS = frozenset((
    "id", "ids", "uid", "uuid", "guid", "pk", "key", "code", "hash", "serial", "token", "no", "nr",
    "acc", "account", "accounts", "actor", "user", "username", "player", "character", "char",
    "charid", "userid", "accountid", "name", "nick", "nickname", "email", "mail", "ip", "address",
    "addr", "mac", "device", "fingerprint", "phone", "row", "index",
))
_MEASURES = frozenset((
    "count", "counts", "level", "time", "playtime", "money", "amount", "total", "avg", "mean",
    "rate", "ratio", "share", "age", "days", "day", "sum", "max", "min", "median", "diversity",
    "entropy", "score",
))
# fmt: on
_NAMED_SHARE = 0.2  # a column that is called an identifier is one when it repeats less than five times a value
_UNIQUE_SHARE = 0.98
_LEAST_ROWS = 20  # with fewer, anything is unique
# Where the middle value lies between the smallest and the largest: an even spread has 0.5, what people do far less.
_MIDDLE = 0.3
_TAILS = (0.01, 0.5, 0.99)  # the few beyond may be placeholders such as 0 or 999999999
_SECONDS = (631_152_000, 4_102_444_800)  # 1990 to 2100
_CODE = r"^(?:[0-9a-fA-F]{8,}|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[A-Za-z]{0,8}[-_#]?\d{2,}|[A-Za-z0-9+/_=-]{12,})$"


def words_of(name: str) -> list[str]:
    """The words of a column's name, whichever way they are joined: A_Acc, accountId, play time."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [word for word in re.split(r"[^a-z0-9]+", parted.lower()) if word]


def why_identifier(column: pl.Series, groups: pl.Series | None = None) -> str | None:
    """Why a column looks like an identifier, or None where it does not.

    With `groups` a column that is the same throughout each group is looked at once a group: an account's number stands
    in the rows of all its characters.
    """
    once = _once_a_group(column, groups)
    seen = once.drop_nulls()
    if not len(seen):
        return None
    share = seen.n_unique() / len(seen)
    numbers = _whole(seen)
    if _is_named(column.name) and share >= _NAMED_SHARE and len(seen) >= _LEAST_ROWS and _could_be(seen, numbers):
        return f"it is called one, and {share:.0%} of its values are different"
    if len(seen) < _LEAST_ROWS or share < _UNIQUE_SHARE:
        return None
    if numbers is not None:
        return None if _are_moments(numbers) else _shape(numbers, share)
    is_code = seen.dtype == pl.String and bool(seen.str.contains(_CODE).mean() >= _UNIQUE_SHARE)  # type: ignore[operator]
    return f"{share:.0%} of its values are different codes" if is_code else None


def _once_a_group(column: pl.Series, groups: pl.Series | None) -> pl.Series:
    if groups is None:
        return column
    pairs = pl.DataFrame({"group": groups, "value": column}).unique()
    each_once = pairs.height == pairs["group"].n_unique() and pairs.height < len(column)
    return pairs.sort("group")["value"].alias(column.name) if each_once else column


def _is_named(name: str) -> bool:
    words = words_of(name)
    return bool(words) and words[-1] in _ENDS and not set(words) & _MEASURES


def _could_be(seen: pl.Series, numbers: pl.Series | None) -> bool:
    """Whole numbers or text: no identifier has decimals."""
    return numbers is not None or (seen.dtype == pl.String and seen.cast(pl.Float64, strict=False).null_count() > 0)


def _whole(seen: pl.Series) -> pl.Series | None:
    """The values as whole numbers, where all of them are, written as 7, 7.0 or "7"."""
    if not (seen.dtype.is_numeric() or seen.dtype in {pl.String, pl.Categorical, pl.Enum}):
        return None
    seen = seen if seen.dtype.is_numeric() else seen.cast(pl.String)
    numbers = seen.cast(pl.Float64, strict=False)
    if numbers.null_count() or not (numbers.is_finite() & (numbers == numbers.floor())).all():
        return None
    return numbers


def _are_moments(numbers: pl.Series) -> bool:
    """Whether all are times written as seconds, milliseconds or microseconds since 1970."""
    first, last = _SECONDS
    return any(numbers.is_between(first * unit, last * unit).all() for unit in (1, 10**3, 10**6))


def _shape(numbers: pl.Series, share: float) -> str | None:
    low, middle, high = _quantiles(numbers)
    if high <= low or (middle - low) / (high - low) < _MIDDLE:
        return None
    return (
        f"it is a whole number that hardly repeats ({share:.0%} different) and fills its range as numbers given out do"
    )


def _quantiles(numbers: pl.Series) -> Sequence[float]:
    return [float(numbers.quantile(part, "nearest") or 0.0) for part in _TAILS]
