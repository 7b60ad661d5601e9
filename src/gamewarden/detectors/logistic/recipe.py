"""How probably an account's day was played by a bot: logistic regression on self-similarity (Lee et al., NDSS 2016).

Two recipes of one method: `self-similarity` looks at self-similarity alone (model 1 of the paper), `account-day` at all
fourteen features (model 2).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from gamewarden.detectors.logistic.model import COUNTS, SELF_SIM, LogisticModel
from gamewarden.learning.logistic import EACH_ONCE, LogisticRecipe
from gamewarden.learning.recipe import ByStyle, option
from gamewarden.phrases import Phrase

FOURTEEN = (
    SELF_SIM,
    "cosim_count",
    "cosim_uniq_count",
    "cosim_zero_count",
    "cosim_mode",
    "total_log_count",
    "main_char_level",
    "total_use_time_min",
    "npc_kill_count",
    "trade_get_count",
    "trade_give_count",
    "retrieve_count",
    "deposit_count",
    "log_count_per_min",
)
# Columns that a source may not show at all: those of one kind of event each, and the level.
MAY_BE_ABSENT = frozenset(
    ("main_char_level", "npc_kill_count", "trade_get_count", "trade_give_count", "retrieve_count", "deposit_count")
)


@dataclass(frozen=True)
class _OfDays(ByStyle, LogisticRecipe[LogisticModel]):
    """What both recipes share: a day without self-similarity has too little play to judge."""

    sees: ClassVar[str] = "self-similarity"
    model: ClassVar[type[Any]] = LogisticModel
    version: ClassVar[int] = 6
    too_little: ClassVar[str] = "periods with too little play"
    counts: ClassVar[frozenset[str]] = COUNTS
    may_be_absent: ClassVar[frozenset[str]] = MAY_BE_ABSENT

    columns: tuple[str, ...] = option(FOURTEEN, ((SELF_SIM, "log_count_per_min"),), EACH_ONCE)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        return tuple(dict.fromkeys((SELF_SIM, *self.columns)))

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged."""
        return rows[SELF_SIM].is_not_null()

    def phrases(self) -> dict[str, Phrase] | None:
        """None: the method has words of its own."""
        return None


@dataclass(frozen=True)
class SelfSimilarityAlone(_OfDays):
    """Model 1 of the paper: self-similarity and nothing else."""

    name: ClassVar[str] = "self-similarity"
    says: ClassVar[str] = "How alike an account's minutes are, as the probability that a bot played them."

    columns: tuple[str, ...] = option((SELF_SIM,), ((SELF_SIM, "cosim_zero_count"),), EACH_ONCE)


@dataclass(frozen=True)
class AccountDay(_OfDays):
    """Model 2 of the paper: self-similarity and thirteen counts of the account's day."""

    name: ClassVar[str] = "account-day"
    says: ClassVar[str] = "Fourteen numbers of an account's day, as the probability that a bot played it."
