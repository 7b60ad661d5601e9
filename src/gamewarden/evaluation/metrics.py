"""How good a detector is, in numbers with one meaning each; bot is positive, and undefined is None, never NaN."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_ROUNDING = 1e-9  # 0.07 × 100 is a little more than 7


@dataclass(frozen=True)
class Confusion:
    """How many were flagged and how many of them rightly."""

    tp: int
    fp: int
    tn: int
    fn: int

    @classmethod
    def count(cls, flagged: Flags, bot: Flags) -> "Confusion":
        """The four counts of a decision a row."""
        return cls(*(int(np.sum(cell)) for cell in (flagged & bot, flagged & ~bot, ~flagged & ~bot, ~flagged & bot)))

    @property
    def accuracy(self) -> float | None:
        """The share of right decisions."""
        return _ratio(self.tp + self.tn, self.tp + self.tn + self.fp + self.fn)

    @property
    def false_alarm(self) -> float | None:
        """The share of the flagged that are human (Hilaire et al.): 1 − precision, not the false positive rate."""
        return _ratio(self.fp, self.fp + self.tp)

    @property
    def fpr(self) -> float | None:
        """The share of humans that are flagged."""
        return _ratio(self.fp, self.fp + self.tn)

    @property
    def recall(self) -> float | None:
        """The share of bots that are flagged."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def precision(self) -> float | None:
        """The share of the flagged that are bots."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def mcc(self) -> float:
        """Matthews' correlation; 0 where a margin is empty, by convention."""
        margins = (self.tp + self.fp) * (self.tp + self.fn) * (self.tn + self.fp) * (self.tn + self.fn)
        return (self.tp * self.tn - self.fp * self.fn) / sqrt(margins) if margins else 0.0


class Ranked:
    """Scores put in order once, to be asked many times."""

    def __init__(self, scores: Floats, bot: Flags) -> None:
        self.bot = bot
        self.levels, self._level = np.unique(scores, return_inverse=True)

    def auc(self) -> float | None:
        """The chance that a bot scores above a human, ties counting half (Mann–Whitney)."""
        bots, humans = self._mass()
        below = np.cumsum(humans) - humans
        return _ratio(float(bots @ (below + humans / 2)), float(bots.sum() * humans.sum()))

    def flagged_at(self, fpr: float) -> Flags | None:
        """Which rows the lowest threshold flags that flags at most the share `fpr` of these humans; None without any.

        With n humans that allows floor(fpr × n) of them; with fewer than 1 / fpr none: the rows above every human.
        """
        _, humans = self._mass()
        if not humans.sum():
            return None
        flagged_humans = np.cumsum(humans[::-1])[::-1]
        allowed: Flags = flagged_humans <= (fpr + _ROUNDING) * humans.sum()
        return allowed[self._level]

    def tpr_at(self, fpr: float) -> float | None:
        """The most bots that any threshold flags while it flags at most the share `fpr` of these humans."""
        flagged = self.flagged_at(fpr)
        return None if flagged is None else _ratio(float(flagged[self.bot].sum()), float(self.bot.sum()))

    def curve(self) -> tuple[Floats, Floats]:
        """The false and true positive rates at every threshold, from (0, 0) to (1, 1)."""
        bots, humans = self._mass()
        false, true = (np.append(0.0, np.cumsum(side[::-1])) / max(side.sum(), 1) for side in (humans, bots))
        return false, true

    def _mass(self) -> tuple[Floats, Floats]:
        """How many bots and how many humans have each score."""
        bots, humans = (
            np.bincount(self._level, weights=side, minlength=self.levels.size).astype(np.float64)
            for side in (self.bot, ~self.bot)
        )
        return bots, humans


def auc(scores: Floats, bot: Flags) -> float | None:
    """The chance that a bot scores above a human, ties counting half; None without both classes."""
    return Ranked(scores, bot).auc()


def tpr_at_fpr(scores: Floats, bot: Flags, fpr: float) -> float | None:
    """The most bots that any threshold flags while it flags at most the share `fpr` of these humans."""
    return Ranked(scores, bot).tpr_at(fpr)


def precision_at(prevalence: float, tpr: float | None, fpr: float | None) -> float | None:
    """The share of the flagged that are bots, where the share `prevalence` of all are bots."""
    if tpr is None or fpr is None:
        return None
    return _ratio(prevalence * tpr, prevalence * tpr + (1 - prevalence) * fpr)


def brier(probability: Floats, bot: Flags) -> float | None:
    """The mean squared distance of the probabilities from the truth."""
    return float(np.mean((probability - bot) ** 2)) if bot.size else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
