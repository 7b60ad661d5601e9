"""How many bots did nobody find? Two detectors that look independently overlap less the more there are (Lincoln, 1930).

Chapman's form of the estimate, which is defined even when the two share nobody, with Chao's interval (1987), which
never falls below the number already found. Detectors fed by the same log are not independent: what is hard
for one is hard for the other, so that the estimate is too low. It is a floor to argue with, not a census.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import exp, log, sqrt

import polars as pl

_TAIL = 0.025
_NORMAL = 1.959964  # standard deviations of a 95 % interval


@dataclass(frozen=True)
class Estimate:
    """How many there are in all, of whom `found` were found by one or both."""

    found: int
    total: float
    low: float
    high: float | None  # unknown where the two say nothing about each other

    @property
    def missed(self) -> float:
        """By both."""
        return self.total - self.found


def chapman(one: int, two: int, both: int) -> Estimate:
    """The number in all from the numbers that each of two found, and that both found.

    Raises:
        ValueError: more were found by both than by one of them.
    """
    if not 0 <= both <= min(one, two):
        raise ValueError(f"{both} found by both are more than the {one} or {two} found by each")
    found = one + two - both
    total = (one + 1) * (two + 1) / (both + 1) - 1
    variance = (one + 1) * (two + 1) * (one - both) * (two - both) / ((both + 1) ** 2 * (both + 2))
    missed = total - found
    if both == min(one, two):
        # One found nobody that the other had not. All `both` of them found again still allow a chance of tail^(1/both).
        high = max(one, two) / _TAIL ** (1 / both) if both else None
        return Estimate(found, float(found), float(found), high)
    stretch = exp(_NORMAL * sqrt(log(1 + variance / missed**2)))
    return Estimate(found, total, found + missed / stretch, found + missed * stretch)


def missed_between(flagged: Mapping[str, set[str]], among: str, bots: int | None) -> pl.DataFrame:
    """One row a pair of detectors: whom each flags `among` some accounts, and how many that makes in all.

    `flagged` has the flagged accounts of each detector. Where the true number is known, the row also shows how wrong
    the estimate is: `known` beside `estimated`.
    """
    rows = [
        {"among": among, **_row(one, two, flagged[one], flagged[two]), "known": bots}
        for one, two in combinations(flagged, 2)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _row(one: str, two: str, ones: set[str], twos: set[str]) -> dict[str, object]:
    estimate = chapman(len(ones), len(twos), len(ones & twos))
    return {
        "detectors": f"{one} + {two}",
        "first": len(ones),
        "second": len(twos),
        "both": len(ones & twos),
        "found": estimate.found,
        "estimated": estimate.total,
        "estimated_low": estimate.low,
        "estimated_high": estimate.high,
        "missed": estimate.missed,
    }


_SCHEMA = {
    "among": pl.String,
    "detectors": pl.String,
    "first": pl.Int64,
    "second": pl.Int64,
    "both": pl.Int64,
    "found": pl.Int64,
    "estimated": pl.Float64,
    "estimated_low": pl.Float64,
    "estimated_high": pl.Float64,
    "missed": pl.Float64,
    "known": pl.Int64,
}
