"""A fitted model of an account's day: what its numbers mean in the words of the method."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import polars as pl

from gamewarden.learning.logistic_model import Column, ColumnModel
from gamewarden.learning.phrases import SeenNumber, says, window_word
from gamewarden.phrases.days import PHRASES

__all__ = ["COUNTS", "SELF_SIM", "Column", "LogisticModel"]

SELF_SIM = "self_sim"  # null here means: too little play to judge
COUNTS = frozenset(
    {
        "cosim_count",
        "cosim_uniq_count",
        "cosim_zero_count",
        "cosim_mode",
        "total_log_count",
        "npc_kill_count",
        "trade_get_count",
        "trade_give_count",
        "retrieve_count",
        "deposit_count",
    }
)

WEAKNESSES = (
    "Self-similarity cannot tell (3, 2) from (2, 3) or (1, 1) from (10, 10): different behaviour may look alike.",
    "It holds for one game and one vocabulary: new event kinds change what is usual, and then a new model is needed.",
    "Bots that play a short time, and people who run a bot for an hour a day, are mostly missed.",
    "People who do one thing for hours (grinding, sitting) look more like bots than they are.",
)


@dataclass(frozen=True, kw_only=True)
class LogisticModel(ColumnModel):
    """A fitted logistic regression on the numbers of an account's day."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    @property
    def counts(self) -> frozenset[str]:
        """The columns that count something, used or not."""
        return COUNTS

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        return tuple(dict.fromkeys((SELF_SIM, *self.recipe["columns"])))

    def judged(self, table: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged: those with enough play to measure self-similarity."""
        return table[SELF_SIM].is_not_null()

    def sentences(self, table: pl.DataFrame, name: str, percentiles: tuple[float, ...]) -> list[str]:
        """What one column says of each row."""
        window = window_word(self.feature.options.get("unit"))
        minutes = (table["until"] - table["since"]).dt.total_seconds() / 60
        windows = table["windows"] if "windows" in table.columns else pl.Series([None] * table.height, dtype=pl.Int64)
        unused, phrase = self.left_out.get(name, ""), PHRASES.get(name)

        @cache  # counts are small numbers, and most rows of a crowd say what another one says
        def said(value: float | None, period: float, count: int | None) -> str:
            return says(SeenNumber(name, value, percentiles, window, period, count, unused), phrase)

        # How many windows there were is told only where there is no number.
        told = windows.zip_with(table[name].is_null(), pl.Series([None], dtype=windows.dtype))
        return list(map(said, table[name].to_list(), minutes.to_list(), told.to_list()))
