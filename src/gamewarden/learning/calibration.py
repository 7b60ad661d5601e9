"""From a method's own decision values to the two numbers of every score: a calibrated probability, and an FPR.

Whatever the method, its decision values on held-out actors calibrate `probability`, and those of held-out humans are
the reference of `fpr`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from gamewarden.contracts import canonical_json, digest
from gamewarden.core.coverage import COVERED
from gamewarden.core.durations import span_text
from gamewarden.learning.days import Days
from gamewarden.learning.reference import (
    Comparison,
    Flags,
    Floats,
    Reference,
    StyleReferences,
    people_of,
    plain_json,
    platt,
    sigmoid,
    smallest_fpr,
    validation_of,
)
from gamewarden.tables import SCORES, check

__all__ = [  # what a method needs for its two numbers stands in one place, wherever it lives
    "CALIBRATIONS",
    "KEY",
    "PERSON",
    "RATED",
    "Calibration",
    "Flags",
    "Floats",
    "Reference",
    "StyleReferences",
    "by_style",
    "counted",
    "people_of",
    "plain_json",
    "platt",
    "short_options",
    "sigmoid",
    "validation_of",
    "weak_here",
]

KEY = ("actor", "since", "until")
PERSON = (*KEY, "group")  # whose row it is, and when: what reference humans are counted by
CALIBRATIONS = ("platt", "none")
RATED = ("probability", "fpr", "fpr_peers")  # the numbers of a score; null where there is not enough evidence
_CHANCE = 0.5  # the AUC of a coin
_SPANS = ("unit", "every", "chunk")  # options that may be microseconds


@dataclass(frozen=True)
class Calibration:
    """What turns a decision value into a probability and an FPR: log-odds = slope × decision + offset."""

    slope: float
    offset: float
    reference: Reference
    styles: StyleReferences | None = None
    peers: Comparison | None = None  # where people are compared by other than style

    def scores(self, table: pl.DataFrame, decisions: Floats, enough: pl.Series, name: tuple[str, str]) -> pl.DataFrame:
        """SCORES of a table's rows by a detector and model of this name; null where there is not enough evidence."""
        detector, model = name
        known = [COVERED] if COVERED in table.columns else []
        beside = self.peers or self.styles
        scores = table.select(*KEY, "events", *known).with_columns(
            pl.lit(detector).alias("detector"),
            pl.lit(model).alias("model"),
            pl.Series("probability", sigmoid(self.slope * decisions + self.offset)),
            pl.Series("fpr", self._fprs(table, decisions)),
            pl.lit(None, pl.Float64).alias("fpr_peers") if beside is None else beside.within(table, decisions),
        )
        blind = [pl.when(enough).then(pl.col(name)).alias(name) for name in RATED]
        return check(scores.with_columns(blind), SCORES, f"score {detector}")

    def _fprs(self, table: pl.DataFrame, decisions: Floats) -> Floats:
        beside = self.peers or self.styles
        if beside is None:
            return self.reference.fpr(decisions)
        return beside.fpr(table, decisions, self.reference)


def counted(humans: pl.DataFrame, calibration: Calibration, time_zone: str | None) -> dict[str, Any]:
    """The reference humans' whole days on the clock of a zone, and the people that a budget counts by them.

    From their rows: PERSON and the value as `held_out`. Where no day has two rows, a row is a day.
    """
    probability = sigmoid(calibration.slope * humans["held_out"].to_numpy() + calibration.offset)
    rows = humans.select(*PERSON, probability=pl.Series(probability)).sort(KEY)
    days = Days.of(rows, time_zone)
    beside = calibration.peers or calibration.styles
    people = people_of(humans, calibration.reference, beside) if days is None else days.people(rows)
    return {"days": days, "people": people}


def weak_here(training: Mapping[str, Any], validation: Mapping[str, Any], humans: int, compared: str) -> list[str]:
    """What has to be said of any model with these counts and results; `compared` says with whom its FPR compares."""
    bots = training["periods"]["bot"] / sum(training["periods"].values())
    weak = [
        f"Its own probability supposes that bots play {bots:.0%} of the periods, as among its labels.",
        "What lists show is moved to their share among all accounts, [population] bots; the FPR depends on neither.",
        f"It saw {humans} humans, so no FPR is below 1 in {humans + 1}.",
        compared,
    ]
    if validation["auc"] <= _CHANCE:
        weak.append("On held-out actors it was no better than chance: it says hardly more than how common bots were.")
    return weak


def short_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for a card: a list, such as a vocabulary, as its size and digest; spans as people write them."""

    def short(name: str, value: object) -> object:
        if isinstance(value, dict):
            return short_options(value)
        if isinstance(value, list):
            return {"size": len(value), "digest": digest(canonical_json(value))}
        return span_text(value) if name in _SPANS and isinstance(value, int) else value

    return {name: short(name, value) for name, value in options.items()}


def by_style(styles: StyleReferences | None, humans: int) -> str:
    """With whom the FPR of a model with these styles and humans compares, and where it promises nothing."""
    if styles is None:
        return (
            "Its rows show neither hours nor level, so that it cannot tell styles of play apart: its FPR holds for "
            "people as a whole, not for the busiest."
        )
    counts = styles.counts().items()
    least = ", ".join(f"1 in {1 / smallest_fpr(people, humans):.3g} for a {style}" for style, people in counts)
    return (
        "Its FPR compares with people of the same style of play too, where more people play in that style than the "
        f"rate: it is at least {least}. Within rarer styles it promises nothing; it holds over all people."
    )
