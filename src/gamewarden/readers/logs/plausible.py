"""Which times an event can have: neither long before any such game nor after it was read.

No true event is later than the moment it is read. That is why the door may know the clock and nothing behind it does:
whatever the clock, a true row comes in, and what comes in scores the same.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.config import Read, moment_of
from gamewarden.core.durations import to_micros
from gamewarden.readers.timestamps import EARLIEST, LATEST, Mask

AHEAD = timedelta(days=1)  # of the clock: how far the clock of whoever wrote a log may be ahead, zones included


@dataclass(frozen=True)
class Plausible:
    """The first and the last moment, in microseconds, and how a person writes them."""

    earliest: int = EARLIEST
    latest: int = LATEST
    named: tuple[str, str] = ("the year 20", "the year 9979")

    @classmethod
    def of(cls, settings: Read, now: datetime) -> "Plausible":
        """By the settings; where they name no latest time, up to a day ahead of `now`."""
        until = f"{now.astimezone(UTC) + AHEAD:%Y-%m-%dT%H:%M:%SZ}"
        named = settings.earliest, settings.latest or until
        first, last = (min(max(to_micros(moment_of(name)), EARLIEST), LATEST) for name in named)
        return cls(first, last, named)

    def hold(self, micros: NDArray[np.int64]) -> bool:
        """Whether all of these times can be true."""
        return not len(micros) or bool(micros.min() >= self.earliest and micros.max() <= self.latest)

    @property
    def beyond(self) -> dict[str, pl.Expr]:
        """What has to be said of a time that cannot be true, and where a column `at` has such."""
        micros, (first, last) = pl.col("at").to_physical(), self.named
        return {
            f"time is before {first} ([read] earliest of warden.toml)": (micros < self.earliest).fill_null(False),
            f"time is after {last} ([read] latest of warden.toml)": (micros > self.latest).fill_null(False),
        }

    def faults(self, at: pl.Series) -> dict[str, Mask]:
        """The rows whose time cannot be true, by what has to be said of them."""
        if self.hold((at.drop_nulls() if at.null_count() else at).cast(pl.Int64).to_numpy()):
            return {}
        found = pl.DataFrame({"at": at}).select(**self.beyond)
        return {why: mask.to_numpy() for why, mask in found.to_dict().items() if mask.any()}


ANY_TIME = Plausible()  # that a calendar can show
