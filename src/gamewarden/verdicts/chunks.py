"""From chunks to the actor who played them: how sure one can be, since when, and after how much play."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gamewarden.contracts import Card
from gamewarden.errors import ConfigError
from gamewarden.tables import SCORES, check

_EDGE = 1e-12  # log-odds stay finite
BOT, HUMAN, INSUFFICIENT = "bot", "human", "insufficient"


@dataclass(frozen=True)
class Patience:
    """How chunks add up to a belief: the settings of [chunks], and the model's own prior."""

    sure: float = 0.99  # the belief from which an actor is called a bot, and its opposite a human
    flagged: float = 0.5  # the probability from which a chunk counts as flagged
    # Chunks of one actor are not independent: the same evening, the same habits. The discount is that of consecutive
    # windows of one session; what a chunk shares with the one before counts once.
    discount: float = 0.3
    prior: float = 0.5  # the share of bots that the model's probabilities suppose: `prior_of` its card

    def __post_init__(self) -> None:
        for name in ("sure", "flagged", "prior"):
            if not 0 < getattr(self, name) < 1:
                raise ConfigError(f"chunks: {name} {getattr(self, name)!r} is not a share between 0 and 1")
        if not 0 < self.discount <= 1:
            raise ConfigError(f"chunks: discount {self.discount!r} cannot be used; give a number above 0, at most 1")


def prior_of(card: Card) -> float:
    """The share of bots that a model's probabilities suppose: that among the periods it was calibrated on."""
    if card.recipe.get("calibration") == "none" and card.recipe.get("balanced"):
        return 0.5  # both classes weighed the same, and nothing was calibrated afterwards
    periods = card.training["periods"]
    return float(periods["bot"] / (periods["bot"] + periods["human"]))


def roll_up(scores: pl.DataFrame, patience: Patience | None = None) -> pl.DataFrame:
    """One row an actor and detector: what its chunks add up to, sorted by detector and actor.

    `belief` is the probability after all chunks, `verdict` bot, human or insufficient; `chunks` were judged and
    `unjudged` had too little play; `flagged` chunks look like a bot's, at most `streak` of them in a row (a chunk
    without an answer ends no streak). `chunks_until_sure` and `minutes_until_sure` say after how many judged chunks,
    and how long after the first one began, the belief first was sure of a bot; null where it never was.

    Raises:
        TableError: the scores lack a column.
    """
    rule = patience or Patience()
    table = check(scores, SCORES, "chunks").sort("detector", "actor", "since", "until")
    rows = [
        {"actor": part["actor"][0], "detector": part["detector"][0], **_belief(part, rule)}
        for part in table.partition_by("detector", "actor", maintain_order=True)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _belief(chunks: pl.DataFrame, rule: Patience) -> dict[str, Any]:
    judged = chunks.filter(pl.col("probability").is_not_null())
    log_odds = _log_odds(rule.prior) + np.cumsum(list(_evidence(judged, rule)) or [0.0])
    sure = np.flatnonzero(log_odds >= _log_odds(rule.sure))
    first = int(sure[0]) if sure.size and judged.height else None
    final = float(log_odds[-1])
    flagged = judged["probability"] >= rule.flagged
    return {
        "since": chunks["since"].min(),
        "until": chunks["until"].max(),
        "belief": None if not judged.height else 1 / (1 + float(np.exp(-final))),
        "verdict": _verdict(final, rule) if judged.height else INSUFFICIENT,
        "chunks": judged.height,
        "unjudged": chunks.height - judged.height,
        "flagged": int(flagged.sum()),
        "streak": _longest(flagged.to_list()),
        "chunks_until_sure": None if first is None else first + 1,
        "minutes_until_sure": None
        if first is None
        else (judged["until"][first] - judged["since"][0]).total_seconds() / 60,
    }


def _evidence(judged: pl.DataFrame, rule: Patience) -> Iterator[float]:
    """What each chunk adds to the log-odds: its own, for the share of it that is new, discounted."""
    before = None
    for since, until, probability in judged.select("since", "until", "probability").iter_rows():
        fresh = 1.0 if before is None or before <= since else max(0.0, (until - before) / (until - since))
        yield rule.discount * fresh * (_log_odds(probability) - _log_odds(rule.prior))
        before = until if before is None else max(before, until)


def _verdict(log_odds: float, rule: Patience) -> str:
    bound = _log_odds(rule.sure)
    return BOT if log_odds >= bound else HUMAN if log_odds <= -bound else INSUFFICIENT


def _longest(flagged: list[bool]) -> int:
    longest = now = 0
    for flag in flagged:
        now = now + 1 if flag else 0
        longest = max(longest, now)
    return longest


def _log_odds(probability: float) -> float:
    inside = min(max(probability, _EDGE), 1 - _EDGE)
    return float(np.log(inside / (1 - inside)))


_SCHEMA = {
    "actor": pl.String,
    "detector": pl.String,
    "since": SCORES.columns["since"],
    "until": SCORES.columns["until"],
    "belief": pl.Float64,
    "verdict": pl.String,
    "chunks": pl.Int64,
    "unjudged": pl.Int64,
    "flagged": pl.Int64,
    "streak": pl.Int64,
    "chunks_until_sure": pl.Int64,
    "minutes_until_sure": pl.Float64,
}


def with_time_to_detection(ranking: pl.DataFrame, scores: pl.DataFrame, patience: Patience) -> pl.DataFrame:
    """A ranking with what an actor's chunks add up to."""
    wanted = ("belief", "verdict", "streak", "chunks_until_sure", "minutes_until_sure")
    return ranking.join(
        roll_up(scores, patience).select("actor", *wanted), on="actor", how="left", maintain_order="left"
    )
