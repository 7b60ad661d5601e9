"""Thresholds from how many wrong accusations a month an operator accepts, and what data can promise of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.chances import chance_of_at_most, upper_bound
from gamewarden.errors import ConfigError

MONTH_DAYS = 30.0


@dataclass(frozen=True)
class Budget:
    """So many wrong accusations a month among so many players, and how sure the promise must be.

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
        """The share of players that may be accused wrongly in a month."""
        return self.wrong_per_month / self.players

    @property
    def doubt(self) -> float:
        """The chance that the promise is wrong."""
        return 1 - self.confidence / 100

    def rate_over(self, days: float) -> float:
        """The share that may be accused while watched for so long: a month's in proportion, and no more than that.

        Whoever was watched for a day is at risk on thirty of them, and at the worst these risks add up.
        """
        return self.rate * min(1.0, days / MONTH_DAYS)

    def humans_needed(self, days: float = MONTH_DAYS) -> int:
        """How many reviewed humans, none of them accused while watched for so long, would show that it holds."""
        rate = self.rate_over(days)
        return 1 if rate >= 1 else math.ceil(math.log(self.doubt) / math.log1p(-rate))

    def allowed(self, humans: int, days: float) -> int | None:
        """How many of the reviewed humans a threshold may accuse and keep the promise; None where none is too many."""
        rate = self.rate_over(days)
        if not humans or chance_of_at_most(0, humans, rate) > self.doubt:
            return None
        low, high = 0, humans
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if chance_of_at_most(middle, humans, rate) <= self.doubt else (low, middle - 1)
        return low


@dataclass(frozen=True)
class Humans:
    """Held-out humans as a threshold sees them: how low an alarm each of their rows has."""

    name: str
    alarms: Sequence[float]  # one a human, its lowest; or one a row, which counts a human once or more often
    attainable: Sequence[float]  # the alarms that a new row can have
    count: int  # humans
    days: float  # how long each was watched


def threshold(budget: Budget, humans: Humans) -> dict[str, object]:
    """The highest alarm from which one may act and keep the budget, as a row of the budget's table.

    With k of n humans allowed, the threshold lies between the alarm of the k-th and of the next. k follows from n and
    the budget alone, before any score is looked at, so that the exact bound (Clopper–Pearson) holds for what is found.
    """
    allowed = budget.allowed(humans.count, humans.days)
    alarm, accused = (None, 0) if allowed is None else _highest(sorted(humans.alarms), humans.attainable, allowed)
    shown = None if alarm is None else upper_bound(accused, humans.count, budget.doubt)
    return {
        "model": humans.name,
        "humans": humans.count,
        "days_watched": humans.days,
        "may_be_accused": budget.rate_over(humans.days),
        "confidence": budget.confidence,
        "alarm": alarm,
        "accused": None if alarm is None else accused,
        "upper_bound": shown,
        "humans_needed": budget.humans_needed(humans.days),
        "above_review": alarm is not None,
        "says": _says(budget, humans, alarm, accused),
    }


def _highest(alarms: Sequence[float], attainable: Sequence[float], allowed: int) -> tuple[float | None, int]:
    """The highest attainable alarm that at most `allowed` humans reach, and how many do."""
    from bisect import bisect_right

    fitting = [alarm for alarm in set(attainable) if bisect_right(alarms, alarm) <= allowed]
    return (max(fitting), bisect_right(alarms, max(fitting))) if fitting else (None, 0)


def _says(budget: Budget, humans: Humans, alarm: float | None, accused: int) -> str:
    promise = f"{budget.wrong_per_month:g} wrong accusations a month among {budget.players:,} players"
    if alarm is not None:
        return (
            f"Act from an alarm of {alarm:.3g} down: {accused:,} of {humans.count:,} reviewed humans reach it, so that "
            f"at most {promise} can be promised with {budget.confidence:g} % confidence ([verdict] conservative)."
        )
    month = humans.days >= MONTH_DAYS
    watched = "a month" if month else f"{humans.days:.3g} days"
    shorter = "" if month else f", or {budget.humans_needed(humans.days):,} for {watched} each"
    return (
        f"{humans.count:,} reviewed humans, watched for {watched} each, are too few to promise at most {promise}: "
        f"{budget.humans_needed():,} watched for a month each{shorter}, none of them accused, would be needed. Let a "
        "person review everything the model flags, and allow nothing above review ([verdict] conservative = 0.0)."
    )


BUDGET_SCHEMA: dict[str, type[pl.DataType]] = {
    "model": pl.String,
    "humans": pl.Int64,
    "days_watched": pl.Float64,
    "may_be_accused": pl.Float64,
    "confidence": pl.Float64,
    "alarm": pl.Float64,
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
