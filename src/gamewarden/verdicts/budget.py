"""Thresholds from how many wrong accusations a month an operator accepts, and what data can promise of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.core.binomial import chance_of_at_most, chance_of_mean_at_most
from gamewarden.errors import ConfigError

MONTH_DAYS = 30.0
_HALVINGS = 60  # of an interval of rates, until nothing is left of it
_DIGITS = 3  # of a threshold that people copy into their settings


@dataclass(frozen=True)
class Budget:
    """So many wrong accusations a month among so many people, and how sure the promise must be.

    Raises:
        ConfigError: a number cannot be used.
    """

    wrong_per_month: float
    players: int
    confidence: float = 95.0  # per cent

    def __post_init__(self) -> None:
        if self.players < 1 or not 0 < self.wrong_per_month <= self.players:
            raise ConfigError(
                f"budget: {self.wrong_per_month:g} wrong accusations among {self.players:,} players cannot be used; "
                "give more than 0 and at most one a player"
            )
        if not 0 < self.confidence < 100:  # noqa: PLR2004 - per cent
            raise ConfigError(f"budget: a confidence of {self.confidence:g} per cent is none; write for example 95")

    @property
    def rate(self) -> float:
        """The share of people that may be accused wrongly in a month."""
        return self.wrong_per_month / self.players

    @property
    def doubt(self) -> float:
        """The chance that the promise is wrong."""
        return 1 - self.confidence / 100

    def humans_needed(self, days: float = MONTH_DAYS) -> int:
        """How many reviewed humans, none of them accused on so many days each, would show that it holds."""
        rate = self.rate / risk_of(days)
        return 1 if rate >= 1 else math.ceil(math.log(self.doubt) / math.log1p(-rate))


def risk_of(days: float) -> float:
    """How many times as likely an accusation is in a month as on so many days, at the most.

    Whoever was judged on a day is at risk on thirty of them, and at the worst these risks add up.
    """
    return max(1.0, MONTH_DAYS / days)


@dataclass(frozen=True)
class Humans:
    """Reviewed humans as a threshold sees them, an entry a person."""

    name: str
    lowest: Sequence[float]  # the lowest FPR of each
    days: Sequence[float]  # on how many days each was judged
    # The smallest FPR of each style whose humans are these same people: the thresholds of the styles lie where these
    # people happened to be, and every style after the first hides one more of them (Tukey's blocks).
    smallest: Sequence[float] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.lowest)

    @property
    def fewest_days(self) -> float:
        """On how many days the one who was judged least was."""
        return min(self.days, default=MONTH_DAYS)

    @property
    def borders(self) -> list[float]:
        """The FPRs at which a threshold reaches somebody more, rising."""
        return sorted({*self.lowest, *self.smallest})

    def accused(self, fpr: float) -> int:
        """How many reach a threshold."""
        return sum(lowest <= fpr for lowest in self.lowest)

    def chance(self, fpr: float, rate: float) -> float:
        """No less than the chance that they show so little, if this share of people were accused in a month.

        Judged on equally many days they are counted (exact binomial). Otherwise an accusation of somebody judged on
        few days stands for many a month, and their mean is bounded.
        """
        if not self.count:
            return 1.0
        hidden = max(sum(smallest <= fpr for smallest in self.smallest) - 1, 0)
        risks = [risk_of(days) for days in self.days]
        most = max(risks)
        if most == min(risks):
            return chance_of_at_most(self.accused(fpr) + hidden, self.count, rate / most)
        shown = sum(risk for risk, lowest in zip(risks, self.lowest, strict=True) if lowest <= fpr) / most + hidden
        return chance_of_mean_at_most(shown / self.count, self.count, rate / most)

    def upper_bound(self, fpr: float, doubt: float) -> float:
        """The highest share of people accused in a month that they leave possible."""
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.chance(fpr, middle) > doubt else (low, middle)
        return high


def threshold(budget: Budget, humans: Humans) -> dict[str, object]:
    """The highest FPR from which one may act and keep the budget, as a row of the budget's table.

    The people a threshold reaches only grow with it, so that the highest one which a bound for a single, fixed
    threshold allows keeps its confidence (Bates et al. 2021): nothing is spent on choosing it.
    """
    fpr = _highest(humans, lambda border: humans.chance(border, budget.rate) <= budget.doubt)
    return {
        "model": humans.name,
        "humans": humans.count,
        "fewest_days": humans.fewest_days,
        "may_be_accused": budget.rate,
        "confidence": budget.confidence,
        "fpr": fpr,
        "accused": None if fpr is None else humans.accused(fpr),
        "upper_bound": None if fpr is None else humans.upper_bound(fpr, budget.doubt),
        "humans_needed": budget.humans_needed(humans.fewest_days),
        "above_review": fpr is not None,
        "says": _says(budget, humans, fpr),
    }


def no_threshold(budget: Budget, name: str, why: str) -> dict[str, object]:
    """A row of the budget's table for a model whose humans cannot be counted, and why not."""
    row = threshold(budget, Humans(name, (), ()))
    return {**row, "humans": None, "fewest_days": None, "says": f"{why} As it is, allow nothing above review."}


def _highest(humans: Humans, holds: Callable[[float], bool]) -> float | None:
    """The highest FPR that reaches only as many as `holds` allows; None where nobody could be accused under it."""
    borders = [0.0, *humans.borders]
    if not humans.count or not holds(0.0):
        return None
    low, high = 0, len(borders)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(borders[middle]) else (low, middle)
    if high == len(borders):
        return 1.0
    found = max(borders[low], _just_below(borders[high]))
    return found if found >= min(humans.smallest, default=0.0) and found > 0 else None


def _just_below(fpr: float) -> float:
    """A number of a few digits below an FPR, as near as those digits allow."""
    if fpr <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(fpr)) - _DIGITS + 1)
    steps = math.ceil(fpr / unit) - 1
    found = float(f"{steps * unit:.{_DIGITS}g}")
    return found if found < fpr else math.nextafter(fpr, 0.0)


def _says(budget: Budget, humans: Humans, fpr: float | None) -> str:
    promise = f"{budget.wrong_per_month:g} wrong accusations a month among {budget.players:,} people"
    if fpr is not None:
        return (
            f"Act from an FPR of {_written(fpr)} down: {humans.accused(fpr):,} of {humans.count:,} reviewed "
            f"humans{_seen(humans)} reach it, so that on average at most {promise} can be promised with "
            f"{budget.confidence:g} % confidence ([verdict] act)."
        )
    fewest = humans.fewest_days
    month = fewest >= MONTH_DAYS
    shorter = "" if month else f", or {budget.humans_needed(fewest):,} seen on {_days(fewest)} each"
    return (
        f"{humans.count:,} reviewed humans{_seen(humans)} are too few to promise on average at most {promise}: "
        f"{budget.humans_needed():,} seen for a month each{shorter}, none of them accused, would be needed. Let a "
        "person review everything the model flags, and allow nothing above review ([verdict] act = 0.0)."
    )


def _written(fpr: float) -> str:
    """Few digits, and all where few would be another threshold."""
    short = f"{fpr:.{_DIGITS}g}"
    return short if float(short) == fpr else repr(fpr)


def _seen(humans: Humans) -> str:
    if not humans.count:
        return ""
    least, most = min(humans.days), max(humans.days)
    return f", each seen on {_days(least)}," if least == most else f", seen on {least:.3g} to {_days(most)},"


def _days(days: float) -> str:
    return "1 day" if days == 1 else f"{days:.3g} days"


BUDGET_SCHEMA: dict[str, type[pl.DataType]] = {
    "model": pl.String,
    "humans": pl.Int64,
    "fewest_days": pl.Float64,
    "may_be_accused": pl.Float64,
    "confidence": pl.Float64,
    "fpr": pl.Float64,
    "accused": pl.Int64,
    "upper_bound": pl.Float64,
    "humans_needed": pl.Int64,
    "above_review": pl.Boolean,
    "says": pl.String,
}


def cost_threshold(cost: tuple[float, float]) -> float:
    """The probability, at the share of bots there is, from which accusing costs less than missing: C_fp : C_fn.

    Raises:
        ConfigError: a cost cannot be used.
    """
    wrong, missed = cost
    if not (wrong > 0 and missed > 0):
        raise ConfigError(f"budget: costs {wrong:g}:{missed:g} cannot be used; give two numbers above 0")
    return wrong / (wrong + missed)
