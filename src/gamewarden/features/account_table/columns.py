"""What columns of an operator's own table hold: numbers, yes or no, times, a few kinds; and what cannot be true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import polars as pl

from gamewarden.contracts import Side
from gamewarden.errors import MeasureError
from gamewarden.features.account_table.identifiers import words_of

Kind = Literal["number", "truth", "time", "category"]
MOST_KINDS = 16  # of a text column; more are names rather than kinds
_LEAST_SHARE = 0.99  # of what is written in a column must be of a kind for the column to be of it
_KEEPING_TO_IT = 0.95  # of the rows keep to a limit that their column's name suggests, or it is none
_MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "?")
_TRUTH = {"true": 1.0, "yes": 1.0, "t": 1.0, "y": 1.0, "false": 0.0, "no": 0.0, "f": 0.0, "n": 0.0}
_TIMES = ("%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_DAY_S = 86_400.0
_LARGEST = 1e15  # beyond this a number of a table is a mistake, and sums of such numbers are no longer finite
# How long a day is in the units that play time is written in, the shortest first.
_DAYS = ((24.0, "hours"), (1_440.0, "minutes"), (_DAY_S, "seconds"), (_DAY_S * 1000, "milliseconds"))
_A_DAY = "a day has "
_TIME_WORDS = {"playtime", "play", "time", "online", "hours", "minutes", "seconds", "sec", "secs", "min", "mins"}
_COUNTED = {"count", "counts", "number", "num", "times", "level", "playtime", "time", "age", "days", "day", "total"}
_SHARES = {"share", "ratio", "fraction", "percentage", "proportion"}
# What is odd in an operator's own table before anybody has said who is a bot: to play longer than anybody, and to have
# to do with nobody (Kang et al., 2016, of Aion; Thawonmas and others of other games). The first that fits counts.
PLAYS, MIXES = "How long it plays", "Whom it has to do with"
_TOPICS: tuple[tuple[frozenset[str], str, Side], ...] = (
    (
        frozenset(("party", "guild", "social", "friend", "friends", "chat", "whisper", "mail", "clan", "group")),
        MIXES,
        "low",
    ),
    (frozenset(("playtime", "play", "online", "hours", "uptime")), PLAYS, "high"),
)


# Names that tables of ours have themselves; a column called so gets an underscore.
_OURS = frozenset(
    {
        *("actor", "character", "since", "until", "events", "impossible", "bot", "bots", "source", "group", "votes"),
        *("row", "labels", "label_since", "label_until", "held_out", "weight", "style"),
    }
)


@dataclass(frozen=True)
class TableColumn:
    """One column as it was frozen: what it holds, and the values it can truly have."""

    name: str
    kind: Kind = "number"
    low: float | None = None
    high: float | None = None
    because: str = ""  # why a number beyond low or high cannot be true
    levels: tuple[str, ...] = ()  # of a category

    @property
    def names(self) -> tuple[str, ...]:
        """The feature columns it becomes: a category one for each of its kinds."""
        if self.kind == "category":
            return tuple(f"{self.name}={level}" for level in self.levels)
        return (f"{self.name}_" if self.name in _OURS else self.name,)

    @property
    def oddity(self) -> tuple[str, Side] | None:
        """By its name, what it is about and on which side it looks odd; None where nobody can tell."""
        words = set(words_of(self.name))
        if self.kind != "number":
            return None
        return next(((topic, side) for known, topic, side in _TOPICS if words & known), None)

    @property
    def day(self) -> float | None:
        """How long a day is where it holds a time a day; none where it does not."""
        return self.high if self.because.startswith(_A_DAY) else None

    def numbers(self, written: pl.Series) -> tuple[list[pl.Series], pl.Series]:
        """The feature columns of what is written, and what of it cannot be true, as text."""
        text = _tidy(written) if written.dtype == pl.String else written
        if self.kind == "category":
            kinds = [
                (text.cast(pl.String) == level).cast(pl.Float64).alias(f"{self.name}={level}") for level in self.levels
            ]
            return kinds, pl.Series([None] * len(text), dtype=pl.String)
        found = _READ[self.kind](text)
        wrong = self._impossible(found) | (found.is_null() & text.is_not_null())
        told = pl.select(
            pl.when(wrong).then(pl.format("{} is {}", pl.lit(self.name), text.cast(pl.String)))
        ).to_series()
        return [pl.select(pl.when(~wrong).then(found)).to_series().alias(self.names[0])], told

    def _impossible(self, found: pl.Series) -> pl.Series:
        beyond = found.abs() > _LARGEST
        if self.low is not None:
            beyond |= found < self.low
        if self.high is not None:
            beyond |= found > self.high
        return beyond.fill_null(False)

    def to_dict(self) -> dict[str, Any]:
        """The column as JSON values."""
        return {**vars(self), "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The column back from JSON values.

        Raises:
            MeasureError: it is none.
        """
        match values:
            case {"name": str(), "kind": kind, "low": low, "high": high, "because": str(), "levels": [*levels]} if (
                len(values) == len(cls.__dataclass_fields__)
                and kind in get_args(Kind)
                and all(isinstance(bound, int | float | None) for bound in (low, high))
                and all(isinstance(level, str) for level in levels)
            ):
                return cls(**{**values, "levels": tuple(levels)})
        raise MeasureError(f"account-table: {str(values)[:80]!r} is no column of a table; fit the model again")


def understood(written: pl.Series) -> TableColumn | str:
    """What a column holds; or why nothing can be learned from it."""
    text = _tidy(written) if written.dtype == pl.String else written
    seen = text.drop_nulls()
    if not len(seen):
        return "it is empty"
    if isinstance(seen.dtype, pl.List | pl.Struct | pl.Array | pl.Object) or seen.dtype == pl.Binary:
        return f"it holds {seen.dtype}, which is neither number, time nor kind"
    if seen.n_unique() == 1:
        return "it is the same in every row"
    for kind in ("number", "truth", "time"):
        found = _READ[kind](seen)
        if found.null_count() <= (1 - _LEAST_SHARE) * len(seen):
            return _limited(written.name, found.drop_nulls()) if kind == "number" else TableColumn(written.name, kind)
    levels = seen.cast(pl.String).unique().sort().to_list()
    if len(levels) > MOST_KINDS:
        return f"it is text with {len(levels):,} different values, and more than {MOST_KINDS} are names, not kinds"
    return TableColumn(written.name, "category", levels=tuple(levels))


def _limited(name: str, numbers: pl.Series) -> TableColumn:
    """A column of numbers with what its name says about values that cannot be true.

    A limit holds only where nearly all rows keep to it: a column of another meaning is not cut to ours.
    """
    words = set(words_of(name))
    if _is_time_a_day(name, words):
        for length, unit in _DAYS:
            if _mostly(numbers.is_between(0, length)):
                return TableColumn(name, low=0.0, high=length, because=f"{_A_DAY}{length:,.0f} {unit}")
    if words & _SHARES and _mostly(numbers.is_between(0, 1)):
        return TableColumn(name, low=0.0, high=1.0, because="a share lies from 0 to 1")
    if words & _COUNTED and _mostly(numbers >= 0):
        return TableColumn(name, low=0.0, because="it counts or lasts, and nothing does so less than 0 times")
    return TableColumn(name)


def _is_time_a_day(name: str, words: set[str]) -> bool:
    daily = "daily" in words or "per_day" in name.lower().replace(" ", "_") or {"per", "day"} <= words
    return daily and bool(words & _TIME_WORDS)


def _mostly(holds: pl.Series) -> bool:
    return bool(holds.mean() >= _KEEPING_TO_IT)  # type: ignore[operator]  # a mean of truths is a number


def _tidy(text: pl.Series) -> pl.Series:
    """Text without blanks around it, null where it says that nothing is there."""
    bare = text.str.strip_chars()
    return pl.select(pl.when(~bare.str.to_lowercase().is_in(list(_MISSING))).then(bare)).to_series().alias(text.name)


def _as_numbers(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Boolean or column.dtype.is_temporal():
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
    numbers = column.cast(pl.Float64, strict=False)
    return pl.select(pl.when(numbers.is_finite()).then(numbers)).to_series().alias(column.name)


def _as_truth(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Boolean:
        return column.cast(pl.Float64)
    text = column.cast(pl.String, strict=False).str.to_lowercase()
    return text.replace_strict(_TRUTH, default=None, return_dtype=pl.Float64)


def _as_days(column: pl.Series) -> pl.Series:
    """Days since 1970."""
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        moments = column.cast(pl.Datetime("us"))
    else:
        moments = _parsed(column.cast(pl.String, strict=False), _TIMES)
    return moments.to_physical().cast(pl.Float64) / (_DAY_S * 1e6)


def _parsed(text: pl.Series, formats: Sequence[str]) -> pl.Series:
    tried = [pl.lit(text).str.to_datetime(form, time_unit="us", strict=False) for form in formats]
    return pl.select(pl.coalesce(tried)).to_series()


_READ = {"number": _as_numbers, "truth": _as_truth, "time": _as_days}
