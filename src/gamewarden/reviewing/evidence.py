"""What a rater is shown of an account, whoever listed it: its story before the answer, the list's word after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import polars as pl

from gamewarden.core.text import counted
from gamewarden.reviewing.order import Candidate

_NUMBERS = {
    "total_use_time_min": "minutes played a day",
    "log_count_per_min": "events a minute",
    "npc_kill_count": "kills a day",
    "trade_give_count": "trades given a day",
    "trade_get_count": "trades received a day",
}


class Evidence(Protocol):
    """A list of accounts, and what is known of each."""

    def candidates(self) -> Sequence[Candidate]:
        """Everybody who may be looked at, each once."""

    def story(self, actor: str) -> str:
        """What an account did, in lines for a person: nothing of it tells what the list thinks."""

    def said(self, actor: str) -> str:
        """What the list said of an account, in one line; shown once a rater has answered."""


@dataclass(frozen=True)
class SelfSimilarityEvidence:
    """Accounts by how alike their minutes are, from FEATURES of self-similarity."""

    features: pl.DataFrame

    def candidates(self) -> Sequence[Candidate]:
        """Everybody with a self-similarity, by the share of all whose median is at least as high."""
        ranked = self._everybody.with_columns(as_odd=pl.col("self_sim").rank("max", descending=True) / pl.len())
        return [Candidate(actor, share) for actor, share in ranked.select("actor", "as_odd").iter_rows()]

    def story(self, actor: str) -> str:
        """The account's numbers, each beside that of the account in the middle of all."""
        mine, typical = self._everybody.filter(pl.col("actor") == actor), self._everybody.median()
        lines = [
            f"{words}: {mine[name][0]:.4g}; half of all have more than {typical[name][0]:.4g}"
            for name, words in _NUMBERS.items()
            if mine[name][0] is not None
        ]
        return "\n".join([f"seen on {counted(mine['days'][0], 'day')}", *lines])

    def said(self, actor: str) -> str:
        """The share of all who look at least as odd."""
        share = next(one.as_odd for one in self.candidates() if one.actor == actor)
        return f"The list: {100 * share:.2g} of 100 accounts have minutes at least as alike."

    @cached_property
    def _everybody(self) -> pl.DataFrame:
        medians = (pl.col(name).median() for name in ("self_sim", *_NUMBERS))
        everybody = self.features.group_by("actor").agg(pl.len().alias("days"), *medians)
        return everybody.filter(pl.col("self_sim").is_not_null()).sort("actor")
