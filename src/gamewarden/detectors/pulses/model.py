"""A fitted model of the most even hours of a day."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import polars as pl

from gamewarden.learning.logistic_model import ColumnModel
from gamewarden.learning.phrases import SeenNumber, says, window_word

STEADY = "span_steady"  # null here means: nothing is done often enough, or no hour is full
WEAKNESSES = (
    "A program that waits at random times as long as a person does is not seen by its beat.",
    "It needs an hour of play without long breaks: whoever lets a program play for less is missed.",
    "Where the game itself sets the time of actions, everybody acts as a clock does: such kinds have to be left out.",
)


@dataclass(frozen=True, kw_only=True)
class PulseModel(ColumnModel):
    """A fitted logistic regression on the most even hours of a day."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        return tuple(dict.fromkeys((STEADY, *self.recipe["columns"])))

    def judged(self, table: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged: those whose beat could be measured for an hour."""
        return table[STEADY].is_not_null()

    def sentences(self, table: pl.DataFrame, name: str, percentiles: tuple[float, ...]) -> list[str]:
        """What one column says of each row."""
        window = window_word(self.feature.options.get("unit"))
        phrase, unused = (self.phrases or {}).get(name), self.left_out.get(name, "")

        @cache
        def said(value: float | None) -> str:
            return says(SeenNumber(name, value, percentiles, window, unused=unused), phrase)

        return list(map(said, table[name].to_list()))
