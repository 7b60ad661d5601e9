"""What so few players leave possible: intervals of an AUC and of a share that hold where a bootstrap is too sure.

Rows of one player, or of one farm, say nearly the same thing, so that it is groups that count. The spread is that of
leaving each group out once (for an AUC that is the variance of DeLong et al. 1988 for clusters, Obuchowski 1997), on
the scale of log-odds, with Student's t for as many groups as weigh alike. Groups that all agree have no spread at all;
so half a group more is supposed on either side, wholly wrong for the lower end and wholly right for the upper one.
"""

from collections.abc import Iterator, Sequence
from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Interval = tuple[float, float]

LEVEL = 0.95
LEAST_GROUPS = 3  # of two the spread has one degree of freedom: anything is possible, and nothing can be said
_SUPPOSED = 0.5  # of a group: with less, intervals of six groups a side held 91 % at the worst, not 95
_GRID = 4001


class _Side(NamedTuple):
    """By group: the sum of what its rows say, each from 0 to 1, and how many rows; 0 rows where it has none here."""

    sums: Floats
    rows: Floats

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.rows.sum())

    @property
    def groups(self) -> int:
        return int((self.rows > 0).sum())

    @property
    def alike(self) -> float:
        """As many groups of one size as these weigh (Kish)."""
        return float(self.rows.sum() ** 2 / (self.rows**2).sum())

    def moves(self) -> Floats:
        """By how much the mean moves when each group is left out, scaled so that the squares add up to a variance."""
        moved: Floats = (self.sums - self.rows * self.mean) / (self.rows.sum() - self.rows)
        return moved * sqrt((self.groups - 1) / self.groups)

    def beside(self, supposed: float, says: float) -> "_Side":
        """With one group more, of so many rows that say this."""
        return _Side(np.append(self.sums, supposed * says), np.append(self.rows, supposed))

    def typical(self) -> float:
        """The rows of the group that is supposed."""
        return _SUPPOSED * float(self.rows.sum()) / self.groups


def auc_interval(scores: Floats, bot: Flags, groups: NDArray[np.str_]) -> Interval | None:
    """Where the AUC lies with 95 %; None where fewer than three groups have a bot or a human.

    A constant ranks nobody above anybody: its AUC of one half is certain.
    """
    names, of_row = np.unique(groups, return_inverse=True)
    sides = [
        _side(_above(scores[bot], scores[~bot]), of_row[bot], names.size),
        _side(1 - _above(scores[~bot], scores[bot]), of_row[~bot], names.size),
    ]
    found = _interval(sides)
    return found if found is None or np.ptp(scores) > 0 else (0.5, 0.5)


def share_interval(flagged: Flags, groups: NDArray[np.str_]) -> Interval | None:
    """Where the share of rows like these that are flagged lies with 95 %; None with fewer than three groups."""
    names, of_row = np.unique(groups, return_inverse=True)
    return _interval([_side(flagged.astype(np.float64), of_row, names.size)])


def _above(ours: Floats, theirs: Floats) -> Floats:
    """The share of theirs that each of ours is above, ties counting half."""
    ordered = np.sort(theirs)
    below, up_to = np.searchsorted(ordered, ours, "left"), np.searchsorted(ordered, ours, "right")
    share: Floats = (below + up_to) / (2 * max(theirs.size, 1))
    return share


def _side(says: Floats, of_row: NDArray[np.int64], groups: int) -> _Side:
    sums, rows = (np.bincount(of_row, weights=what, minlength=groups) for what in (says, np.ones(says.size)))
    return _Side(sums.astype(np.float64), rows.astype(np.float64))


def _interval(sides: Sequence[_Side]) -> Interval | None:
    if min(side.groups for side in sides) < LEAST_GROUPS:
        return None
    plain = _ends(sides, sides[0].mean)
    low = min(plain[0], *(ends[0] for ends in _supposing(sides, 0.0)))
    high = max(plain[1], *(ends[1] for ends in _supposing(sides, 1.0)))
    return low, high


def _supposing(sides: Sequence[_Side], says: float) -> Iterator[Interval]:
    """The ends with half a group more, on each side in turn."""
    for place, side in enumerate(sides):
        with_one = side.beside(side.typical(), says)
        others = [other.beside(0.0, 0.0) for other in sides]
        yield _ends([*others[:place], with_one, *others[place + 1 :]], with_one.mean)


def _ends(sides: Sequence[_Side], mean: float) -> Interval:
    """The ends on the scale of log-odds, put back."""
    moves = [side.moves() for side in sides]
    variance = float((sum(moves, np.zeros(moves[0].size)) ** 2).sum())
    if variance == 0 or not 0 < mean < 1:
        return mean, mean
    # Satterthwaite: the fewer groups make a variance, the less it is known itself.
    doubts = sum(float((move**2).sum()) ** 2 / (side.alike - 1) for side, move in zip(sides, moves, strict=True))
    wide = student(max(variance**2 / doubts, 1.0)) * sqrt(variance) / (mean * (1 - mean))
    middle = log(mean / (1 - mean))
    low, high = (1 / (1 + np.exp(-np.array([middle - wide, middle + wide]).clip(-700, 700)))).tolist()
    return low, high


def student(freedom: float, level: float = LEVEL) -> float:
    """What Student's t stays within with this chance, by its density over the angle arctan(t / √freedom)."""
    angles = np.linspace(0.0, min(pi / 2, 40 / sqrt(freedom)), _GRID)
    density = np.cos(angles) ** (freedom - 1)
    mass = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2))
    return float(sqrt(freedom) * np.tan(np.interp(level * mass[-1], mass, angles)))
