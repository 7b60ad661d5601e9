"""What an FPR promises and what that costs: the choices side by side, so that an operator chooses with open eyes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gamewarden.learning.ladders import LEAST, Ladder
from gamewarden.learning.peers import Peers
from gamewarden.learning.reference import Reference

ACCOUNT, ROW = "account", "row"
RATES = (0.01, 0.001)
_ROUNDING = 1e-9  # an FPR is a quotient of counts
_PERSON = {ACCOUNT: "group", ROW: "actor"}


def as_persons(rows: pl.DataFrame, promise: str) -> pl.DataFrame:
    """The rows with the `person` that the promise is made to: the group that was held out together, or the row."""
    return rows.with_columns(person=pl.col(_PERSON[promise]))


@dataclass(frozen=True)
class Choice:
    """One promise: to whom, and beside whom."""

    promise: str
    peers: str
    ladders: tuple[Ladder, ...]

    @property
    def words(self) -> str:
        """The choice as it is written on the command line."""
        return f"--promise {self.promise} --peers {self.peers}"


def prices(rows: pl.DataFrame, choices: Sequence[Choice], eyes: Sequence[Ladder]) -> dict[str, dict[str, Any]]:
    """Under each choice the share of bots caught, and of people flagged: all, and on the step of `eyes` worst off.

    The rows are labelled and have the decision on each as a stranger's as `held_out`. A human is compared with the
    others only. People are accounts here, whatever the promise; a step of fewer than 99 is too few to speak of.
    """
    bots, humans = rows.filter("bot"), rows.filter(~pl.col("bot"))
    return {choice.words: _price(choice, bots, humans, eyes) for choice in choices}


def _price(choice: Choice, bots: pl.DataFrame, humans: pl.DataFrame, eyes: Sequence[Ladder]) -> dict[str, Any]:
    persons = as_persons(humans, choice.promise)
    peers, pooled = Peers.of(choice.ladders, persons), Reference.of(persons, "person")
    caught = peers.fpr(bots, bots["held_out"].to_numpy(), pooled)
    flagged = peers.fpr(humans, humans["held_out"].to_numpy(), pooled, new=0)
    most = RATES[0] + _ROUNDING
    return {
        **{_caught(rate): float((caught <= rate + _ROUNDING).mean()) for rate in RATES},
        f"people flagged at {RATES[0]:.1%}": _share(humans, flagged <= most)[0],
        "worst off": _worst(humans, flagged <= most, eyes),
    }


def _caught(rate: float) -> str:
    return f"bots caught at {rate:.1%}"


def _share(humans: pl.DataFrame, flagged: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[float, int]:
    """How many people have a flagged row, and how many there are."""
    persons = humans.select("group", flagged=pl.Series(flagged)).group_by("group").agg(pl.col("flagged").any())
    return (float(persons["flagged"].mean()) if persons.height else 0.0), persons.height  # type: ignore[arg-type]


def _worst(humans: pl.DataFrame, flagged: np.ndarray[Any, np.dtype[np.bool_]], eyes: Sequence[Ladder]) -> str:
    worst = (0.0, "")
    for ladder in eyes:
        steps = ladder.steps(humans)
        for step in np.unique(steps):
            own = steps == step
            rate, people = _share(humans.filter(pl.Series(own)), flagged[own])
            if people >= LEAST:
                worst = max(worst, (rate, f"{rate:.1%} of {people:,} ({ladder.words(int(step))})"))
    return worst[1] or "too few people on every step to say"


def told(prices: Mapping[str, Mapping[str, Any]], chosen: str) -> str:
    """One line on what was chosen."""
    price = prices[chosen]
    caught = " and ".join(f"{price[_caught(rate)]:.0%} at a promised {rate:.1%}" for rate in RATES)
    return f"{chosen} catches of the bots {caught}; people worst off: {price['worst off']}; the card has other choices"
