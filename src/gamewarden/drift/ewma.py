"""The EWMA control chart: whether the likeness of a model's scores from period to period has left its limits.

Published (Lee et al., NDSS 2016; the chart is Roberts'): Z_t = λ·X_t + (1 − λ)·Z_(t−1), limits that widen with t, and
retraining unless LCL_t < Z_t < UCL_t. Which periods make up the limits is our rule.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

LAMBDA, WIDTH = 0.2, 3.0  # λ and L: the textbooks' range for λ is 0.2 to 0.3, three deviations are usual
SETTLED, PROVISIONAL = 20, 8  # periods of a baseline, and of one whose limits are provisional
SIGMA_FLOOR = 0.005  # with many actors σ₀ is so small that a weekend would alarm
HEIRS = 2  # models in a row that may be retrained by limits they took over; a third has to get its own first
FISHER_CLIP = 0.9999  # atanh of 1 has no value

Status = Literal["missing", "learning", "in control", "below", "above"]
Floats = NDArray[np.float64]
Value = TypeVar("Value", float, Floats)


@dataclass(frozen=True)
class ChartRules:
    """How the chart is drawn."""

    weight: float = LAMBDA
    width: float = WIDTH
    sigma_floor: float = SIGMA_FLOOR
    settled: int = SETTLED
    provisional: int = PROVISIONAL
    transform: Literal["none", "fisher"] = "none"
    lower_only: bool = False  # published: both sides
    heirs: int = HEIRS

    def shown(self, x: float) -> float:
        """X_t as it stands on the chart."""
        return float(np.arctanh(np.clip(x, -FISHER_CLIP, FISHER_CLIP))) if self.transform == "fisher" else x


@dataclass(frozen=True)
class Limits:
    """μ₀ and σ₀, and what they rest on."""

    center: float
    sigma: float
    periods: int
    heirs: int = 0  # models that took them over since, one after the other: they hold until one has a baseline

    @property
    def taken_over(self) -> bool:
        """Whether they are those of a model before."""
        return self.heirs > 0

    def provisional(self, rules: ChartRules) -> bool:
        """Whether false signals are frequent with so few periods."""
        return self.taken_over or self.periods < rules.settled


@dataclass(frozen=True)
class Point:
    """One period on the chart."""

    status: Status
    x: float | None = None  # as drawn
    z: float | None = None
    lower: float | None = None
    upper: float | None = None
    provisional: bool = False
    outside: bool = False  # beyond a limit that counts
    signal: bool = False  # and a model must be retrained for it
    counts: bool = False  # in the baseline


@dataclass(frozen=True)
class Chart:
    """All that the chart remembers; a period more makes another chart."""

    rules: ChartRules = field(default_factory=ChartRules)
    limits: Limits | None = None
    baseline: tuple[float, ...] = ()  # of the model in force
    drawn: tuple[float, ...] = ()  # since the last reset
    missing: int = 0  # in a row
    consecutive: int = 0  # periods outside in a row, whatever models took over between them

    def observe(self, x: float | None, *, marked: bool = False) -> tuple["Chart", Point]:
        """The chart with one period more, and where that period stands.

        A marked period (a ban wave, scores not to be trusted) is drawn and may signal, and is in no baseline. A missing
        one changes nothing but its count.
        """
        if x is None:
            return replace(self, missing=self.missing + 1), Point("missing")
        value = self.rules.shown(x)
        if self.limits is None:
            after = replace(self, consecutive=0)
            return _learning(after, () if marked else (value,)), Point("learning", value, counts=not marked)
        drawn = (*self.drawn, value)
        point = _point(drawn, self.limits, self.rules)
        counts = not marked and self._counts(point, self.limits)
        consecutive = self.consecutive + 1 if point.outside else 0
        after = replace(self, drawn=drawn, consecutive=consecutive)
        return _learning(after, (value,) if counts else ()), replace(point, counts=counts)

    def after_retraining(self) -> "Chart":
        """The chart of another model: Z = μ₀, t = 0, the old limits taken over until there are own ones."""
        limits = replace(self.limits, heirs=self.limits.heirs + 1) if self.limits else None
        return replace(self, limits=limits, baseline=(), drawn=())

    def _counts(self, point: Point, limits: Limits) -> bool:
        """Whether a period that was drawn belongs to the baseline.

        Limits taken over say nothing of what is normal for this model, so under them every period counts.
        """
        if limits.taken_over:
            return True
        return len(self.baseline) < self.rules.settled and point.status == "in control"


def _learning(chart: Chart, more: tuple[float, ...]) -> Chart:
    """The baseline with one value more or none, and limits from it once it is long enough.

    The first limits of a model's own begin its chart anew.
    """
    baseline = (*chart.baseline, *more)
    if not more or len(baseline) < chart.rules.provisional:
        return replace(chart, baseline=baseline, missing=0)
    first = chart.limits is None or chart.limits.taken_over
    values = np.array(baseline)
    sigma = max(float(values.std(ddof=1)), chart.rules.sigma_floor)
    limits = Limits(float(values.mean()), sigma, values.size)
    return replace(chart, limits=limits, baseline=baseline, drawn=() if first else chart.drawn, missing=0)


def _point(drawn: tuple[float, ...], limits: Limits, rules: ChartRules) -> Point:
    z = limits.center
    for x in drawn:
        z = step(z, x, rules.weight)
    half = limits.sigma * half_width(len(drawn), rules.weight, rules.width)
    lower, upper = limits.center - half, limits.center + half
    status: Status = "below" if z <= lower else "above" if z >= upper else "in control"
    outside = status == "below" or (status == "above" and not rules.lower_only)
    # Limits that one model after the other leaves are not those of this game any more: they still call, and the model
    # in force is left alone until it has its own. Every retraining would begin its baseline anew.
    signal = outside and limits.heirs <= rules.heirs
    return Point(status, drawn[-1], z, lower, upper, limits.provisional(rules), outside, signal)


def step(z: Value, x: Value, weight: float = LAMBDA) -> Value:
    """Z_t from Z_(t−1) and X_t."""
    return weight * x + (1 - weight) * z


def half_width(t: int, weight: float = LAMBDA, width: float = WIDTH) -> float:
    """The limits' distance from μ₀ at period t since the last reset, in σ₀."""
    return float(width * np.sqrt(weight / (2 - weight) * (1 - (1 - weight) ** (2 * t))))
