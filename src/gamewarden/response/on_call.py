"""A human on call: a program plays, and somebody is fetched to pass the test.

Hilaire et al. couple the traffic test with the challenge: windows that look like a bot before and after it, and like a
person during it. Whatever is cut into windows that say bot or not will do: packets, or spans of a log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from gamewarden.cases import PASSED, Challenge
from gamewarden.core.durations import parse_span
from gamewarden.policy import ChallengeSettings
from gamewarden.tables import TIME, DataType, Schema, check

WINDOWS = Schema(
    "WINDOWS",  # one row a window that says bot or not
    {"actor": pl.String, "since": TIME, "until": TIME, "bot": pl.Boolean},
    required=("actor", "since", "until"),
)
_PLACES = _BEFORE, _DURING, _AFTER = "before", "during", "after"
_ROUND: dict[str, DataType] = {"actor": pl.String, "issued": TIME, "ended": TIME}


@dataclass(frozen=True)
class CallBack:
    """The windows around the passed challenges of an actor: what share of them looks like a bot, and how many."""

    actor: str
    before: float
    during: float
    after: float
    windows: tuple[int, int, int]
    challenges: int

    def is_seen(self, settings: ChallengeSettings) -> bool:
        """Whether somebody is called for tests."""
        enough = min(self.windows) >= settings.on_call_windows
        return enough and min(self.before, self.after) - self.during >= settings.on_call_difference

    def __str__(self) -> str:
        """In a sentence."""
        first, second, third = self.windows
        return (
            f"{self.before:.0%} of {first} windows before {self.challenges} passed challenges look like a bot, "
            f"{self.during:.0%} of {second} during them, {self.after:.0%} of {third} after them"
        )


def call_backs(
    settings: ChallengeSettings, windows: pl.DataFrame, challenges: Sequence[Challenge]
) -> tuple[CallBack, ...]:
    """What windows say around the challenges that were passed, for each actor with windows before, during and after.

    A window belongs to the time in which its middle lies. Windows that do not say bot or not do not count.

    Raises:
        TableError: the table lacks a column.
    """
    told = check(windows, WINDOWS, "response").filter(pl.col("bot").is_not_null()).join(_rounds(challenges), on="actor")
    counted = (
        told.with_columns(_place(timedelta(microseconds=parse_span(settings.on_call_reach))))
        .filter(pl.col("place").is_not_null())
        .unique(["actor", "since", "until", "place"], maintain_order=True)  # between two tests: after and before once
        .group_by("actor", "place")
        .agg(pl.len().alias("windows"), pl.col("bot").mean().alias("share"), pl.col("issued").n_unique().alias("tests"))
    )
    by_actor = counted.sort("actor", "place").partition_by("actor", as_dict=True, maintain_order=True)
    return tuple(_call_back(str(actor), part) for (actor,), part in by_actor.items() if part.height == len(_PLACES))


def on_call(
    settings: ChallengeSettings, windows: pl.DataFrame, challenges: Sequence[Challenge]
) -> tuple[CallBack, ...]:
    """Those of them that show the pattern."""
    return tuple(one for one in call_backs(settings, windows, challenges) if one.is_seen(settings))


def _rounds(challenges: Sequence[Challenge]) -> pl.DataFrame:
    passed = [one for one in challenges if one.state == PASSED and one.ended is not None]
    rows = [(one.actor, one.issued, one.ended) for one in passed]
    return pl.DataFrame(rows, schema=_ROUND, orient="row")


def _place(reach: timedelta) -> pl.Expr:
    """Whether a window lies before, during or after a challenge; null where it lies too far from it."""
    middle = pl.col("since") + (pl.col("until") - pl.col("since")) / 2
    issued, ended = pl.col("issued"), pl.col("ended")
    return (
        pl.when((middle >= issued) & (middle <= ended))
        .then(pl.lit(_DURING))
        .when((middle < issued) & (middle >= issued - reach))
        .then(pl.lit(_BEFORE))
        .when((middle > ended) & (middle <= ended + reach))
        .then(pl.lit(_AFTER))
        .alias("place")
    )


def _call_back(actor: str, part: pl.DataFrame) -> CallBack:
    by_place = {row["place"]: row for row in part.iter_rows(named=True)}
    first, second, third = (by_place[place] for place in _PLACES)
    return CallBack(
        actor,
        first["share"],
        second["share"],
        third["share"],
        (first["windows"], second["windows"], third["windows"]),
        second["tests"],
    )
