"""From a method's own decision values to the two numbers of every score: a calibrated probability, and an alarm.

Whatever the method, its decision values on held-out actors calibrate `probability`, and those of held-out humans are
the reference of `alarm`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.contracts import canonical_json, digest
from gamewarden.spans import span_text
from gamewarden.tables import SCORES, check

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

KEY = ("actor", "since", "until")
CALIBRATIONS = ("platt", "none")
LEAST_STEEPNESS = 0.01  # log-odds a standard deviation of the decision values
_CHANCE = 0.5  # the AUC of a coin
_SPANS = ("unit", "every", "chunk")  # options that may be microseconds


@dataclass(frozen=True)
class Reference:
    """The training humans' held-out decision values, rising; each human weighs 1, shared among its periods.

    With one period a human, `alarm` is (k + 1) / (n + 1) to the letter. With several, k adds the share of each human's
    periods that look at least as bot-like, so that a human seen on thirty days is still one human and n humans can
    never claim less than 1 in n + 1 (the hierarchical form of conformal prediction).
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]
    humans: int

    @classmethod
    def of(cls, humans: pl.DataFrame) -> "Reference":
        """From the humans' periods: actor, and the decision value as `held_out`."""
        shared = humans.with_columns(weight=1.0 / pl.len().over("actor")).sort("held_out", "weight")
        return cls(tuple(shared["held_out"].to_list()), tuple(shared["weight"].to_list()), shared["actor"].n_unique())

    @cached_property
    def _sorted(self) -> tuple[Floats, Floats]:
        weights = np.asarray(self.weights, dtype=np.float64)
        beyond = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        return np.asarray(self.values, dtype=np.float64), np.minimum(beyond, self.humans)

    def alarm(self, decisions: Floats) -> Floats:
        """The share of humans that look at least as bot-like, counting this one as one more."""
        values, beyond = self._sorted
        at_least_as_bot_like = beyond[np.searchsorted(values, decisions, side="left")]
        share: Floats = (at_least_as_bot_like + 1.0) / (self.humans + 1.0)
        return share


@dataclass(frozen=True)
class Calibration:
    """What turns a decision value into a probability and an alarm: log-odds = slope × decision + offset."""

    slope: float
    offset: float
    reference: Reference

    def scores(self, table: pl.DataFrame, decisions: Floats, enough: pl.Series, name: tuple[str, str]) -> pl.DataFrame:
        """SCORES of a table's rows by a detector and model of this name; null where there is not enough evidence."""
        detector, model = name
        scores = table.select(*KEY, "events").with_columns(
            pl.lit(detector).alias("detector"),
            pl.lit(model).alias("model"),
            pl.Series("probability", sigmoid(self.slope * decisions + self.offset)),
            pl.Series("alarm", self.reference.alarm(decisions)),
        )
        blind = [pl.when(enough).then(pl.col(name)).alias(name) for name in ("probability", "alarm")]
        return check(scores.with_columns(blind), SCORES, f"score {detector}")


def sigmoid(log_odds: Floats) -> Floats:
    """Probabilities of log-odds of any size."""
    small = np.exp(-np.abs(log_odds))
    probability: Floats = np.where(log_odds >= 0, 1.0, small) / (1.0 + small)
    return probability


def platt(decisions: Floats, bot: Flags) -> tuple[float, float]:
    """Slope and offset of the log-odds, with Platt's softened targets so that a perfect split stays finite.

    A falling slope would turn the ranking round: a model that is worse than chance on held-out actors keeps its order
    and says hardly more than how common bots were.
    """
    from sklearn.linear_model import LogisticRegression

    spread = float(decisions.std()) or 1.0
    target = np.where(bot, (bot.sum() + 1) / (bot.sum() + 2), 1 / ((~bot).sum() + 2))
    twice = np.tile(decisions / spread, 2)[:, None]
    says_bot = np.repeat([True, False], bot.size)
    fitted = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8, max_iter=1000).fit(
        twice, says_bot, sample_weight=np.concatenate([target, 1 - target])
    )
    steepness = float(fitted.coef_[0, 0])
    if steepness > LEAST_STEEPNESS:
        return steepness / spread, float(fitted.intercept_[0])
    share = target.mean()
    return LEAST_STEEPNESS / spread, float(np.log(share / (1 - share)))


def validation_of(decisions: Floats, bot: Flags, slope: float, offset: float) -> dict[str, Any]:
    """How good the held-out decision values are."""
    from sklearn.metrics import roc_auc_score

    probability = sigmoid(slope * decisions + offset)
    return {"auc": float(roc_auc_score(bot, decisions)), "brier": float(np.mean((probability - bot) ** 2))}


def weak_here(training: Mapping[str, Any], validation: Mapping[str, Any], humans: int) -> list[str]:
    """What has to be said of any model with these counts and results."""
    bots = training["periods"]["bot"] / sum(training["periods"].values())
    weak = [
        f"The probability supposes that bots play {bots:.0%} of the periods, as among its labels.",
        "Where bots are rarer the probability is too high; the alarm does not depend on their share.",
        f"It saw {humans} humans, so no alarm is below 1 in {humans + 1}.",
    ]
    if validation["auc"] <= _CHANCE:
        weak.append("On held-out actors it was no better than chance: it says hardly more than how common bots were.")
    return weak


def short_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for a card: a list, such as a vocabulary, as its size and digest; spans as people write them."""

    def short(name: str, value: object) -> object:
        if isinstance(value, list):
            return {"size": len(value), "digest": digest(canonical_json(value))}
        return span_text(value) if name in _SPANS and isinstance(value, int) else value

    return {name: short(name, value) for name, value in options.items()}


def plain_json(values: dict[str, Any]) -> dict[str, Any]:
    """The values as JSON gives them back, so that a stored model equals the one that was stored."""
    plain: dict[str, Any] = json.loads(canonical_json(values))
    return plain
