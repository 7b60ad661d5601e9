"""How far out a number lies among all players, on one side: the share of them who have at least as much of it.

Nobody has said who is human here, so this is no false-positive rate: where one player in five is a bot, the bots are
among those who are counted. It goes by ranks alone, so that no number however wild moves what is said of the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Self

import numpy as np

from gamewarden.contracts import Side
from gamewarden.learning.reference import Floats
from gamewarden.learning.validation import Natural, Rising, Rule

_ROUNDED = 1e-9  # what a quotient times its divisor may lack
KNOTS = 400  # of a tail: 200 evenly in shares, and 200 evenly in their logarithms, where it thins out

_Shares = Annotated[
    tuple[float, ...],
    Rule(lambda v: bool(v) and v[0] <= 1 and all(0 < b < a for a, b in pairwise(v)), "falling shares"),
]


@dataclass(frozen=True)
class Tail:
    """Rising values, and the share of players who have at least each of them."""

    values: Rising
    shares: _Shares
    players: Natural

    @classmethod
    def of(cls, numbers: Floats) -> Self:
        """Of one number per player, none of them missing."""
        rising = np.sort(numbers)
        values, first = np.unique(rising, return_index=True)
        at_least = (rising.size - first) / rising.size
        kept = _knots(at_least)
        return cls(tuple(values[kept].tolist()), tuple(at_least[kept].tolist()), int(rising.size))

    def share(self, numbers: Floats) -> Floats:
        """The share of players with at least so much, never less than one of them; NaN of what was not measured.

        Between two values that were kept it is the share of the lower one: rather too many than too few.
        """
        values, shares = self._arrays
        places = np.searchsorted(values, numbers, side="right") - 1
        found = np.where(places < 0, 1.0, shares[np.maximum(places, 0)])
        return np.where(np.isnan(numbers), np.nan, found)

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        return np.asarray(self.values, dtype=np.float64), np.asarray(self.shares, dtype=np.float64)

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield "a tail's values and shares are equally many", len(self.values) == len(self.shares)
        yield "no share of a tail is below one of its players", self.shares[-1] * self.players > 1 - _ROUNDED


def _knots(shares: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Which of falling shares are kept."""
    if shares.size <= KNOTS:
        return np.arange(shares.size)
    even = np.linspace(1.0, 0.0, KNOTS // 2)
    thin = np.geomspace(1.0, shares[-1], KNOTS // 2)
    wanted = np.searchsorted(-shares, -np.concatenate([even, thin]), side="left")
    return np.unique(np.append(np.minimum(wanted, shares.size - 1), [0, shares.size - 1]))


def outward(numbers: Floats, side: Side) -> Floats:
    """Numbers that rise towards the side on which they are odd."""
    return numbers if side == "high" else -numbers


def surprise(share: Floats) -> Floats:
    """How surprising it is to be among so few: 0 of everybody, 1 more for each time they are e times fewer."""
    told: Floats = 0.0 - np.log(share)  # there is one zero
    return told
