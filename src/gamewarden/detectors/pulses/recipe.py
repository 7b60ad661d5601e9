"""How probably a program played some hours of an account's day: logistic regression on its most even hours.

After the pulses of self-similarity that Lee et al. (NDSS 2016) leave as future work; spec §2.10 and decision 148.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from gamewarden.detectors.pulses.model import STEADY, PulseModel
from gamewarden.learning.logistic import EACH_ONCE, LogisticRecipe
from gamewarden.learning.recipe import ByStyle, option

# One-sided, since uneven beats do not speak for a person; and without the evenness of minutes, which speaks against
# the crafter at the anvil (decision 148).
CLOCKWORK = "clockwork"


@dataclass(frozen=True)
class PulseDetector(ByStyle, LogisticRecipe[PulseModel]):
    """How far the beat of the best hours is steadier than hands are; a day without an hour of actions is not judged."""

    name: ClassVar[str] = "pulses"
    says: ClassVar[str] = "How clockwork-like an account's best hours are, as the probability that a bot played them."
    sees: ClassVar[str] = "pulses"
    model: ClassVar[type[Any]] = PulseModel
    too_little: ClassVar[str] = "periods without an hour full of actions"

    columns: tuple[str, ...] = option((CLOCKWORK,), ((CLOCKWORK, "pulse_share"),), EACH_ONCE)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        return tuple(dict.fromkeys((STEADY, *self.columns)))

    def judged(self, rows: pl.DataFrame) -> pl.Series:
        """Which rows say enough to be judged."""
        return rows[STEADY].is_not_null()
