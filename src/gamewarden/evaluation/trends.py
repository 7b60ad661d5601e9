"""Does a yes or no grow more likely along a number? A logistic trend, honest about answers that come in bundles."""

from dataclasses import dataclass
from math import erfc, exp, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_ROUNDS = 50
_ENOUGH = 1e-10
_CERTAIN = 1.959964  # standard deviations of a 95 % interval


@dataclass(frozen=True)
class Trend:
    """The change of the log-odds for one step of the number, with its standard error over bundles."""

    slope: float
    error: float

    @property
    def p(self) -> float:
        """How often chance alone would give a slope at least this far from none."""
        return erfc(abs(self.slope) / self.error / sqrt(2)) if self.error > 0 else 1.0

    def __str__(self) -> str:
        low, high = (exp(self.slope + side * _CERTAIN * self.error) for side in (-1, 1))
        return f"odds × {exp(self.slope):.2f} a step (95 %: {low:.2f} – {high:.2f}, p {self.p:.2g})"


def trend(number: Floats, answer: npt.NDArray[np.bool_], bundle: npt.NDArray[np.object_]) -> Trend:
    """The logistic slope of the answers along the number; answers of one bundle count as related to each other."""
    design = np.stack([np.ones(len(number)), number - number.mean()], axis=1)
    weights = _fitted(design, answer.astype(np.float64))
    chance = _chance(design, weights)
    bread = np.linalg.pinv(_curvature(design, chance))
    _, place = np.unique(bundle, return_inverse=True)
    scores = design * (answer - chance)[:, None]
    sums = np.stack([np.bincount(place, column) for column in scores.T], axis=1)
    few = len(sums) / max(1, len(sums) - 1)
    spread = few * bread @ (sums.T @ sums) @ bread
    return Trend(float(weights[1]), float(np.sqrt(max(0.0, spread[1, 1]))))


def _fitted(design: Floats, answer: Floats) -> Floats:
    """Newton's method; two weights need few rounds."""
    weights = np.zeros(design.shape[1])
    for _ in range(_ROUNDS):
        chance = _chance(design, weights)
        step = np.linalg.pinv(_curvature(design, chance)) @ (design.T @ (answer - chance))
        weights = weights + step
        if np.abs(step).max() < _ENOUGH:
            break
    return weights


def _chance(design: Floats, weights: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
    return chance


def _curvature(design: Floats, chance: Floats) -> Floats:
    curvature: Floats = design.T @ (design * (chance * (1 - chance))[:, None])
    return curvature
