"""Which of two methods is better when both were tried on the same worlds: the differences, and how sure they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

DRAWS = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class Paired:
    """The differences of one method less another over the same worlds."""

    mean: float
    low: float  # bootstrap over worlds
    high: float
    won: int
    lost: int
    p: float  # two-sided sign test; ties say nothing

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float], seed: int = 0) -> "Paired":
        """Compare value with value: the nth of both are of one world."""
        differences = np.subtract(np.asarray(ours, np.float64), np.asarray(theirs, np.float64))
        picks = np.random.default_rng(seed).integers(len(differences), size=(DRAWS, len(differences)))
        low, high = np.quantile(differences[picks].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        won, lost = int((differences > 0).sum()), int((differences < 0).sum())
        return cls(float(differences.mean()), float(low), float(high), won, lost, sign_test(won, lost))

    @property
    def verdict(self) -> str:
        """Whether the first is better: `yes` or `no` when interval and sign test both say so, else `open`.

        Of a handful of worlds the bootstrap alone is too sure: three that agree leave 0 out, whatever they are.
        """
        if self.p > 1 - LEVEL or self.low <= 0 <= self.high:
            return "open"
        return "yes" if self.low > 0 else "no"


def sign_test(won: int, lost: int) -> float:
    """How probable so lopsided a result is, or a worse one, between equals."""
    n = won + lost
    tail = sum(comb(n, k) for k in range(min(won, lost) + 1))
    return float(min(1.0, 2 * tail / 2**n))
