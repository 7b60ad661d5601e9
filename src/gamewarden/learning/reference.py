"""The humans whom a decision value is compared with, and what it means beside them.

Every learned score rests on decision values of people the method had not seen: they calibrate `probability`, and they
are the reference of `fpr`, all together and by play style.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.contracts import canonical_json
from gamewarden.core.extras import need
from gamewarden.core.intervals import auc_interval
from gamewarden.learning.exposure import People
from gamewarden.learning.styles import STYLES, Styles
from gamewarden.learning.validation import Natural, Rising, Rule, adds_up

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_Weights = Annotated[
    tuple[float, ...], Rule(lambda v: all(0 < weight <= 1 for weight in v), "a row of numbers above 0, at most 1")
]
LEAST_STEEPNESS = 0.01  # log-odds a standard deviation of the decision values


@dataclass(frozen=True)
class Reference:
    """The training humans' held-out decision values, rising: of each human the most bot-like one, with the weight 1.

    `fpr` is (k + 1) / (n + 1) with the k of n humans whose most bot-like period is at least as bot-like. A new human's
    most bot-like period is exchangeable with theirs, so the rate is per person: at most 1 in 100 people have any period
    at 1 in 100, if they are judged on as many periods as the reference. Models that were fitted before share a human's
    weight among its periods; their rate is per period.
    """

    values: Rising
    weights: _Weights
    humans: Natural

    @classmethod
    def of(cls, humans: pl.DataFrame, person: str = "actor") -> "Reference":
        """From the humans' periods: the column that names the person, and the decision value as `held_out`."""
        highest = humans.group_by(person).agg(pl.col("held_out").max()).sort("held_out")
        return cls(tuple(highest["held_out"].to_list()), (1.0,) * highest.height, highest.height)

    def of_same_kind(self, humans: pl.DataFrame) -> "Reference":
        """A reference of these periods whose weights are made as those of this one, so that older models stay."""
        if min(self.weights) == 1:
            return Reference.of(humans)
        shared = humans.with_columns(weight=1.0 / pl.len().over("actor")).sort("held_out", "weight")
        values, weights = shared["held_out"].to_list(), shared["weight"].to_list()
        return Reference(tuple(values), tuple(weights), shared["actor"].n_unique())

    @cached_property
    def _sorted(self) -> tuple[Floats, Floats]:
        weights = np.asarray(self.weights, dtype=np.float64)
        beyond = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        return np.asarray(self.values, dtype=np.float64), np.minimum(beyond, self.humans)

    def fpr(self, decisions: Floats, new: int = 1) -> Floats:
        """The share of humans that look at least as bot-like, counting this one as one more.

        `new` is 0 for somebody who is one of these humans and counted already.
        """
        values, beyond = self._sorted
        at_least_as_bot_like = beyond[np.searchsorted(values, decisions, side="left")]
        share: Floats = (at_least_as_bot_like + new) / (self.humans + new)
        return share

    def with_group(self, overall: Floats, group: "Reference", decisions: Floats, new: int = 1) -> Floats:
        """The rates over all these humans, raised to those within a group of them, but not beyond the group's share.

        The result is never below `overall`, so it holds over all people. Within the group it holds at every rate up
        to the group's share of people; at larger rates a group so rare is not protected.
        """
        share = (group.humans + new) / (self.humans + new)
        return np.maximum(overall, np.minimum(group.fpr(decisions, new), share))

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield "the reference's values and weights are equally many", len(self.values) == len(self.weights)
        yield "the reference's weights add up to the humans", adds_up(self.weights, self.humans)


@dataclass(frozen=True)
class StyleReferences:
    """The same humans by play style: a row is compared with people who play as it does.

    Given its style, a new human's row is exchangeable with the rows of that style of the reference humans, whatever the
    other styles look like, so that the rate within a style holds style by style, for any number of humans. `fpr` is
    never below the rate over all humans either, and people of a kind the styles do not know are not accused for being
    rare in theirs. It holds within every style whose share of people is larger than the rate. Within rarer styles
    nothing is promised: a style that no human has would otherwise protect every bot in it (decision 161).
    """

    rule: Styles
    by_style: Annotated[Mapping[str, Reference], Rule(lambda v: v.keys() <= set(STYLES), "reference humans by style")]

    @classmethod
    def of(cls, rule: Styles, humans: pl.DataFrame) -> Self:
        """From the humans' rows of FEATURES, with the decision value as `held_out`."""
        settled = rule.frozen(humans)
        parts = humans.with_columns(style=settled.tell(humans)).partition_by("style", as_dict=True)
        return cls(settled, {str(style): Reference.of(part) for (style,), part in sorted(parts.items())})

    def fpr(self, table: pl.DataFrame, decisions: Floats, pooled: Reference) -> Floats:
        """The rate over all humans, or the rate within the row's style up to the style's share, if that is larger."""
        style = self.rule.tell(table).to_numpy()
        fprs = pooled.fpr(decisions)
        for name, reference in self.by_style.items():
            own = np.flatnonzero(style == name)
            fprs[own] = pooled.with_group(fprs[own], reference, decisions[own])
        return fprs

    def within(self, table: pl.DataFrame, decisions: Floats) -> pl.Series:
        """The rate within each row's style; null where nobody who plays in this style has been reviewed."""
        style = self.rule.tell(table).to_numpy()
        rates = np.full(decisions.size, np.nan)
        for name, reference in self.by_style.items():
            own = np.flatnonzero(style == name)
            rates[own] = reference.fpr(decisions[own])
        return pl.Series("fpr_peers", rates).fill_nan(None)

    def counts(self) -> dict[str, int]:
        """How many humans showed each style."""
        return {name: reference.humans for name, reference in self.by_style.items()}


class Comparison(Protocol):
    """People to be compared with beside people as a whole."""

    def fpr(self, table: pl.DataFrame, decisions: Floats, pooled: Reference) -> Floats:
        """The rate over all people, or the rate within a group up to the group's share, if that is larger."""

    def within(self, table: pl.DataFrame, decisions: Floats) -> pl.Series:
        """The rate within the row's group, the largest of several; null where nobody in it has been reviewed."""


def smallest_fpr(group: int, humans: int) -> float:
    """The smallest rate that a row of a group can have, from the humans of the group and all humans."""
    return max(1 / (humans + 1), min(1 / (group + 1), (group + 1) / (humans + 1)))


def people_of(humans: pl.DataFrame, pooled: Reference, styles: Comparison | None = None) -> People:
    """The reference humans as a budget counts them, from their rows: group, times, and the value as `held_out`."""
    values = humans["held_out"].to_numpy()
    fprs = pooled.fpr(values) if styles is None else styles.fpr(humans, values, pooled)
    return People.of(humans.select("group", "since", "until", fpr=pl.Series(fprs)))


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
    need("learning a model", "sklearn")
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


def validation_of(
    decisions: Floats, bot: Flags, slope: float, offset: float, groups: NDArray[np.str_]
) -> dict[str, Any]:
    """How good the held-out decision values are, and what so few groups leave possible: null where that is all."""
    need("an AUC", "sklearn")
    from sklearn.metrics import roc_auc_score

    probability = sigmoid(slope * decisions + offset)
    low, high = auc_interval(decisions, bot, groups) or (None, None)
    return {
        "auc": float(roc_auc_score(bot, decisions)),
        "auc_low": low,
        "auc_high": high,
        "brier": float(np.mean((probability - bot) ** 2)),
    }


def plain_json(values: dict[str, Any]) -> dict[str, Any]:
    """The values as JSON gives them back, so that a stored model equals the one that was stored."""
    plain: dict[str, Any] = json.loads(canonical_json(values))
    return plain
