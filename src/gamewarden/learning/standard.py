"""Numbers on a common scale: how many deviations each is from the mean, one that was not measured standing at it."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from gamewarden.learning.reference import Flags, Floats

_CONSTANT = 1e-12  # a deviation this small beside its mean is rounding, not variation
GRID = np.linspace(0.0, 1.0, 101)  # of percentiles


@dataclass(frozen=True)
class Standard:
    """Means and deviations of columns."""

    means: Floats
    deviations: Floats

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Of what was measured; a column that does not vary gets the deviation 1, and so counts as 0."""
        measured = ~np.isnan(values)
        count = np.maximum(measured.sum(axis=0), 1)
        means = np.where(measured, values, 0.0).sum(axis=0) / count
        deviations = np.sqrt((np.where(measured, values - means, 0.0) ** 2).sum(axis=0) / count)
        return cls(means, np.where(steady(means, deviations), 1.0, deviations))

    def scale(self, values: Floats) -> Floats:
        """The values in deviations from the mean, 0 where nothing was measured."""
        scaled: Floats = np.where(np.isnan(values), 0.0, (values - self.means) / self.deviations)
        return scaled


def steady(means: Floats, deviations: Floats) -> Flags:
    """Which columns do not vary, but for rounding."""
    same: Flags = deviations <= _CONSTANT * np.maximum(1.0, np.abs(means))
    return same


def percentiles_of(values: Floats) -> tuple[float, ...]:
    """The percentiles of what was measured, 0 % to 100 %; zeros where nothing was."""
    measured = values[~np.isnan(values)]
    return tuple(float(value) for value in np.quantile(measured if measured.size else np.zeros(1), GRID))
