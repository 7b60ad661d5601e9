"""Whoever never pauses: the longest silence of an account's day, as the probability of a bot."""

from dataclasses import dataclass
from typing import ClassVar

from gamewarden.learning.logistic import EACH_ONCE, LogisticRecipe
from gamewarden.learning.logistic_model import ColumnModel
from gamewarden.learning.recipe import option


@dataclass(frozen=True)
class LongestSilence(LogisticRecipe[ColumnModel]):
    """A logistic regression on the longest silence, and on how many there are."""

    name: ClassVar[str] = "longest-silence"
    says: ClassVar[str] = "How long an account falls silent, as the probability that a bot plays it."
    sees: ClassVar[str] = "silence"

    columns: tuple[str, ...] = option(("longest_silence_s", "silences"), (("longest_silence_s",),), EACH_ONCE)
