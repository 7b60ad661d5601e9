"""How long an EWMA chart runs before it signals, by simulation: with known limits, and with limits from few periods."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gamewarden.drift.ewma import Chart, ChartRules, Floats, half_width, step

MOST_PERIODS = 20_000  # a chart that ran this long without a signal is counted as one that signals here


@dataclass(frozen=True)
class KnownLimits:
    """Normal X_t with known μ₀ = 0 and σ₀ = 1, shifted by `shift` from the first period on."""

    rules: ChartRules = field(default_factory=ChartRules)
    shift: float = 0.0

    def run_lengths(self, runs: int, seed: int) -> NDArray[np.int64]:
        """The period of the first signal of each run."""
        dice = np.random.default_rng(seed)
        lengths = np.full(runs, MOST_PERIODS, np.int64)
        going, z = np.arange(runs), np.zeros(runs)
        for t in range(1, MOST_PERIODS + 1):
            z = step(z, dice.normal(self.shift, 1.0, going.size), self.rules.weight)
            half = half_width(t, self.rules.weight, self.rules.width)
            out = (z <= -half) if self.rules.lower_only else (np.abs(z) >= half)
            lengths[going[out]] = t
            going, z = going[~out], z[~out]
            if not going.size:
                break
        return lengths


def false_signals(baseline: int, within: int, runs: int, seed: int, rules: ChartRules | None = None) -> float:
    """The share of runs that signal within so many unchanged periods, μ₀ and σ₀ estimated once from `baseline`."""
    rules = rules or ChartRules()
    dice = np.random.default_rng(seed)
    learned = dice.normal(size=(runs, baseline))
    center, sigma = learned.mean(axis=1), learned.std(axis=1, ddof=1)
    z, signalled = center.copy(), np.zeros(runs, np.bool_)
    for t in range(1, within + 1):
        z = step(z, dice.normal(size=runs), rules.weight)
        signalled |= np.abs(z - center) >= sigma * half_width(t, rules.weight, rules.width)
    return float(signalled.mean())


def false_signals_of_the_chart(within: int, runs: int, seed: int, rules: ChartRules | None = None) -> float:
    """The same for the chart as it runs: provisional limits that are estimated anew until the baseline has settled.

    The periods are counted from the first with limits on.
    """
    rules = rules or ChartRules(sigma_floor=0.0)
    dice = np.random.default_rng(seed)
    return sum(_signals(Chart(rules), dice.normal(size=rules.provisional + within)) for _ in range(runs)) / runs


def _signals(chart: Chart, values: Floats) -> bool:
    for x in values:
        chart, point = chart.observe(float(x))
        if point.signal:
            return True
    return False
