"""Accounts and characters that are called alike but for a number: whoever makes accounts by the dozen numbers them.

Many people have a number in their name, and few of them have the numbers beside it played by somebody else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Fold, Side, Sight
from gamewarden.core.clock import Clock
from gamewarden.core.kernels import kernel
from gamewarden.features.folding import OnePass, whole
from gamewarden.features.looking_back import LooksBack
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.features.text_columns import Names as Texts
from gamewarden.phrases import Phrase
from gamewarden.phrases.names import PHRASES
from gamewarden.tables import TIME, DataType

NEAR = 50  # numbers of a series that lie further apart belong to two
_OWN_WAY = 5  # where more than one account in so many is called alike, the game numbers them
_LETTERS = 2  # of a stem; shorter ones are shared by chance
_NUMBERED = r"(?s)^(?<stem>.*?)(?<digits>[0-9]{1,18})(?<after>[^0-9]*)$"
_COMPACT = 1 << 22  # partial counts that wait in memory before they are added up
_PAIR: Mapping[str, DataType] = {"day": pl.Int64(), "actor": pl.Int32(), "character": pl.Int32(), "events": pl.Int64()}

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Names(LooksBack):
    """One row per actor and day: how many other accounts have its name with another number near its own.

    The names are those of accounts and of their characters in the days before, whichever find more others. A series to
    which more than a fifth of all accounts belong is the game's own way to number them, and says nothing.
    """

    name: ClassVar[str] = "names"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at")
    optional: ClassVar[Mapping[str, str]] = {"character": "series among the names of characters"}
    about_others: ClassVar[bool] = True
    one_sided: ClassVar[bool] = True
    odd_when: ClassVar[Mapping[str, Side]] = {"name_series": "high"}
    schema: ClassVar[Mapping[str, DataType]] = {"name_series": pl.Int64()}
    phrases: ClassVar[Mapping[str, Phrase]] = PHRASES
    parts: ClassVar[Mapping[str, DataType]] = {
        "actor": pl.String(),
        "character": pl.String(),
        "events": pl.Int64(),
    }

    def part_fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """The characters of every account on each day."""
        del sight
        return _Parts(self.clock)

    def rows_of(self, parts: pl.DataFrame, since: datetime, until: datetime) -> pl.DataFrame:
        """How many others are called as everybody is who has events on the day."""
        today = parts.filter(since=since).group_by("actor").agg(pl.col("events").sum())
        accounts = parts.select("actor", name="actor").unique()
        characters = parts.select("actor", name="character").drop_nulls().unique()
        found = pl.concat([_others(names, accounts.height) for names in (accounts, characters)])
        most = found.group_by("actor").agg(name_series=pl.col("others").max())
        return today.join(most, on="actor", how="left").with_columns(since=pl.lit(since), until=pl.lit(until))


def _others(names: pl.DataFrame, accounts: int) -> pl.DataFrame:
    """Of each name how many other accounts have one of its series near it; null of a series that says nothing."""
    series = names.with_columns(pl.col("name").str.extract_groups(_NUMBERED).alias("found")).unnest("found")
    stem = ["stem", "after"]
    length, number = pl.col("digits").str.len_chars(), pl.col("digits").cast(pl.Int64)
    numbered = series.drop_nulls("digits").with_columns(length=length, number=number).sort(*stem, "length", "number")
    letters = pl.col("stem").str.count_matches(r"\pL")
    sharing = pl.col("actor").n_unique().over(stem)
    tells = (letters >= _LETTERS) & ((sharing == 1) | (_OWN_WAY * sharing <= accounts))
    counted = numbered.select("actor", pl.when(tells).then(_near(numbered)).alias("others"))
    plain = series.filter(pl.col("digits").is_null()).select("actor", others=pl.lit(0, pl.Int64))
    return pl.concat([counted, plain])


def _near(numbered: pl.DataFrame) -> pl.Series:
    """How many other accounts have a name of the same series whose number is near; names sorted by series."""
    series = numbered.select(pl.struct("stem", "after", "length").rle_id()).to_series().to_numpy().astype(np.int64)
    who = numbered["actor"].rank("dense").to_numpy().astype(np.int64)
    found = np.zeros(numbered.height, np.int64)
    if numbered.height:
        _count_others(series, numbered["number"].to_numpy().copy(), who, np.zeros(int(who.max()) + 1, np.int64), found)
    return pl.Series(found)


@kernel
def _count_others(series: Ints, number: Ints, who: Ints, there: Ints, found: Ints) -> None:
    """Two ends go over the names; of each account it is known how many names it has between them."""
    first, end, accounts = 0, 0, 0
    for name in range(len(series)):
        while end < len(series) and _is_near(series, number, name, end):
            accounts += there[who[end]] == 0
            there[who[end]] += 1
            end += 1
        while not _is_near(series, number, first, name):
            there[who[first]] -= 1
            accounts -= there[who[first]] == 0
            first += 1
        found[name] = accounts - 1


@kernel
def _is_near(series: Ints, number: Ints, one: int, later: int) -> bool:
    return series[one] == series[later] and number[later] - number[one] <= NEAR


class _Parts(OnePass):
    """How often every account played each of its characters on each day; texts are numbers until the end."""

    columns = ("actor", "at", "character")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._actors, self._characters = Texts(), Texts()
        self._counts = [pl.DataFrame(schema=dict(_PAIR))]
        self._waiting = 0

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        actor, at, character = batch.columns
        rows = pl.DataFrame(
            {
                "day": self._clock.numbers(whole(at, "at", Names.name).view(pa.int64()).to_numpy()),
                "actor": self._actors.numbers(whole(actor, "actor", Names.name)),
                "character": self._characters.numbers(character),
                "events": 1,
            },
            schema_overrides=dict(_PAIR),
        )
        self._counts.append(_added([rows]))
        self._waiting += self._counts[-1].height
        if self._waiting > _COMPACT:
            self._counts, self._waiting = [_added(self._counts)], 0

    def frame(self) -> pl.DataFrame:
        """The parts of every day."""
        counts = _added(self._counts)
        day = counts["day"].to_numpy()
        times = {"since": self._clock.begins(day), "until": self._clock.begins(day + 1)}
        parts = counts.select(
            *(pl.Series(name, values).cast(TIME) for name, values in times.items()),
            _named(self._actors, counts["actor"]).alias("actor"),
            _named(self._characters, counts["character"]).alias("character"),
            "events",
        )
        return parts.sort("since", "actor", "character")


def _added(counts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(counts).group_by("day", "actor", "character").agg(pl.col("events").sum())


def _named(texts: Texts, numbers: pl.Series) -> pl.Series:
    """The texts of some numbers; null of a number below 0."""
    names = pl.Series(texts.texts(), dtype=pl.String)
    known = pl.select(pl.when(numbers >= 0).then(numbers)).to_series().cast(pl.UInt32)
    return names.gather(known)
