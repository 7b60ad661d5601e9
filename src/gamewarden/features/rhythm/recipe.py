"""When an account plays, and how evenly: what a week of an account around the clock has and a person's has not.

People sleep, work and pause, their weekends are no Mondays, and no two of their gaps are quite the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from gamewarden.contracts import Side, Sight
from gamewarden.errors import MeasureError
from gamewarden.features.looking_back import LooksBack
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.phrases import Phrase
from gamewarden.phrases.rhythm import phrases
from gamewarden.tables import TIME, DataType

if TYPE_CHECKING:
    from gamewarden.features.rhythm.stream import RhythmFold

_LONGEST_REST = 24  # hours


@dataclass(frozen=True)
class Rhythm(LooksBack):
    """One row per actor and day: the hours it played in its last days, how long it went without rest, how evenly.

    Gaps are those between two moments of play up to half an hour. A period is one of 6 minutes to 2 hours in which its
    pace goes up and down; days on which it was not there for three hours do not tell of any.
    """

    rest: int = field(
        default=5, metadata={"also": (8,), "says": "So many idle hours in a row are a rest, as a night's sleep is."}
    )

    name: ClassVar[str] = "rhythm"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at")
    one_sided: ClassVar[bool] = True
    odd_when: ClassVar[Mapping[str, Side]] = {
        "play_hours": "high",
        "awake_hours": "high",
        "hours_of_day": "high",
        "day_spread": "low",
        "gap_entropy": "low",
        "periodic": "high",
        "busiest_min": "high",
        "busiest_hour": "high",
    }
    schema: ClassVar[Mapping[str, DataType]] = {
        "days_seen": pl.Int64(),
        "days_played": pl.Int64(),
        "play_hours": pl.Float64(),
        "awake_hours": pl.Float64(),
        "hours_of_day": pl.Int64(),
        "day_spread": pl.Float64(),
        "gap_entropy": pl.Float64(),
        "periodic": pl.Float64(),
        "period_min": pl.Float64(),
        "busiest_min": pl.Int64(),
        "busiest_hour": pl.Int64(),
    }
    parts: ClassVar[Mapping[str, DataType]] = {
        "actor": pl.String(),
        "events": pl.Int64(),
        "active_min": pl.Int64(),
        "hours": pl.Int64(),  # a bit for each hour since the day began, the lowest for the first
        "gap_entropy": pl.Float64(),
        "periodic": pl.Float64(),
        "period_min": pl.Float64(),
        "busiest_min": pl.Int64(),
        "busiest_hour": pl.Int64(),
    }

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            MeasureError: an option has a value that nothing can be measured with.
        """
        super().__post_init__()
        if not 1 <= self.rest <= _LONGEST_REST:
            raise MeasureError(f"rhythm: rest is {self.rest}; it is from 1 to {_LONGEST_REST} hours")

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """The words for rhythm."""
        return phrases(self.rest)

    def part_fold(self, sight: Sight = ANY_SIGHT) -> "RhythmFold":
        """The rhythm of each day; memory grows with actors and their days only."""
        from gamewarden.features.rhythm.stream import RhythmFold

        return RhythmFold(self, sight)

    def rows_of(self, parts: pl.DataFrame, since: datetime, until: datetime) -> pl.DataFrame:
        """The rhythm of everybody who has events on the day."""
        from gamewarden.features.rhythm.week import told

        today = parts.filter(since=since).select("actor", "events", since=pl.lit(since), until=pl.lit(until))
        week = parts.join(today, on="actor", how="semi")
        return today.join(told(week, self.clock, self._days_seen(parts, since), self.rest), on="actor")

    def _days_seen(self, parts: pl.DataFrame, last: datetime) -> int:
        """How many days there are from the first of which anything is known up to the last."""
        ends = pl.concat([parts["since"], pl.Series([last], dtype=TIME)]).to_physical()
        first, this = self.clock.numbers(np.array([ends.min(), ends.max()], np.int64)).tolist()
        return int(this - first) + 1
