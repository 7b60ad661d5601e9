"""The days of reference humans: what a day that is made of several rows is compared with.

The FPR of a chunk holds for a chunk of a random human. A day is a mean over as many chunks as were played, and those
who play little may look unlike those who play much: what is judged is the day, so it has to be ranked among days.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.clock import LAST_MOMENT, Clock
from gamewarden.core.durations import DAY, LONGEST_PERIOD
from gamewarden.learning.exposure import People
from gamewarden.learning.reference import Floats, Reference
from gamewarden.learning.validation import Natural, Rule, TimeZone

EDGE = 1e-6  # probabilities closer to certainty than a millionth say no more than that
LEAST_SHARE = 0.2  # of the reference humans: the longest days are those of a fifth of them at least


def log_odds(probability: pl.Expr) -> pl.Expr:
    """Log-odds that stay finite."""
    inside = probability.clip(EDGE, 1 - EDGE)
    return (inside / (1 - inside)).log()


@dataclass(frozen=True)
class Days:
    """The reference humans' days: the mean log-odds of a day's rows, by how many rows it had and all together.

    Every human counts once, with the most bot-like day, and once in each length. Lengths are 1, 2 to 3, 4 to 7 rows and
    so on. A new human's most bot-like day of a length is exchangeable with those of the reference humans, so that `fpr`
    holds for short days as for long ones, at every rate up to the share of people who have such days; it is never below
    the rate over all days either.
    """

    every: Annotated[Natural, Rule(lambda v: v <= LONGEST_PERIOD, "the length of a period in microseconds")]
    time_zone: TimeZone
    pooled: Reference
    by_length: Annotated[Mapping[int, Reference], Rule(bool, "humans by the fewest rows of a day")]

    @classmethod
    def of(cls, humans: pl.DataFrame, time_zone: str | None) -> Self | None:
        """From the humans' rows (actor, until, and the held-out `probability`); None where no day has two."""
        cut = Clock(DAY, time_zone or "UTC")
        days = _whole(humans, cut)
        if not days.height or days["rows"].max() == 1:
            return None
        lengths = _lengths(days)
        told = days.with_columns(length=pl.Series(_length_of(days["rows"].to_numpy(), lengths)))
        parts = {least: Reference.of(told.filter(length=least)) for least in lengths}
        return cls(cut.every, cut.time_zone, Reference.of(days), parts)

    @property
    def cut(self) -> Clock:
        """The periods they are of."""
        return Clock(self.every, self.time_zone)

    def fpr(self, means: Floats, rows: NDArray[np.int64]) -> Floats:
        """The rate over all human days, or that over days of this length up to its share, if that is larger."""
        length = _length_of(rows, sorted(self.by_length))  # a file has them by their first digits
        fprs = self.pooled.fpr(means)
        for least, reference in self.by_length.items():
            own = np.flatnonzero(length == least)
            fprs[own] = self.pooled.with_group(fprs[own], reference, means[own])
        return fprs

    def people(self, humans: pl.DataFrame) -> People:
        """The same humans as a budget counts them, by the FPRs of their whole days; `group` is the person."""
        days = _whole(humans, self.cut)
        fprs = self.fpr(days["held_out"].to_numpy(), days["rows"].to_numpy())
        return People.of(days.with_columns(fpr=pl.Series(fprs)), self.time_zone)

    def counts(self) -> dict[str, int]:
        """How many humans had a day of each length, by the fewest rows."""
        return {str(least): reference.humans for least, reference in self.by_length.items()}


def _whole(rows: pl.DataFrame, cut: Clock) -> pl.DataFrame:
    """One row an actor and period: the mean log-odds of its rows as `held_out`, and how many there were."""
    begin, end = cut.borders(LAST_MOMENT)
    who = [name for name in ("actor", "group") if name in rows.columns]
    periods = rows.drop_nulls("until").group_by(*who, begin.alias("since"), end.alias("until"))
    return periods.agg(log_odds(pl.col("probability")).mean().alias("held_out"), pl.len().alias("rows"))


def _lengths(days: pl.DataFrame) -> list[int]:
    """The fewest rows of each length that somebody had; the longest are joined until a fifth of all humans had one."""
    doubled = 2 ** np.floor(np.log2(days["rows"].to_numpy())).astype(np.int64)
    told = days.with_columns(length=pl.Series(doubled))
    lengths = sorted(set(doubled.tolist()))
    enough = LEAST_SHARE * days["actor"].n_unique()
    while len(lengths) > 1 and told.filter(pl.col("length") >= lengths[-1])["actor"].n_unique() < enough:
        lengths.pop()
    return lengths


def _length_of(rows: NDArray[Any], lengths: list[int]) -> NDArray[np.int64]:
    """The length each number of rows falls under; fewer than anybody had fall under the shortest."""
    places = np.searchsorted(lengths, rows, side="right") - 1
    return np.asarray(lengths, dtype=np.int64)[np.maximum(places, 0)]
