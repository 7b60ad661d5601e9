"""Features that look back: what is kept of each day is counted once, and a day's rows are made of several days' parts.

A week of trade is nothing that can be seen in one day, and nobody wants to read seven days of events for every day.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Divides, Fold, Notes, Sight
from gamewarden.core.clock import Clock, Period
from gamewarden.core.durations import DAY
from gamewarden.errors import MeasureError
from gamewarden.features.folding import typed
from gamewarden.features.plain import ANY_SIGHT, PlainFeature
from gamewarden.tables import FEATURES, TIME, DataType

_MOST_DAYS = 366
_DAY: Mapping[str, DataType] = {"since": TIME, "until": TIME}


@dataclass(frozen=True)
class LooksBack(PlainFeature):
    """A feature in two steps: events to the parts of each day, and the parts of some days to the rows of the last.

    One says its `parts` and its `schema`, and writes `part_fold` and `rows_of`. Parts of a day that is measured alone
    are those of the same day measured with others, and they grow with what is kept, never with events.
    """

    back: int = field(
        default=7, metadata={"also": (2,), "says": "How many days a row looks back on, its own day included."}
    )
    time_zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul",)})

    parts: ClassVar[Mapping[str, DataType]]  # columns of a day's parts after since and until
    naming: ClassVar[tuple[str, ...]] = ("actor",)  # columns of the parts that name accounts

    def __post_init__(self) -> None:
        """Look at the days.

        Raises:
            MeasureError: nobody looks back on so many.
        """
        if not 1 <= self.back <= _MOST_DAYS:
            raise MeasureError(f"{self.name}: back is {self.back}; it is from 1 to {_MOST_DAYS} days")

    @property
    def clock(self) -> Clock:
        """Its days."""
        return Clock(DAY, self.time_zone or "UTC")

    @property
    def divides(self) -> Divides:
        """A row speaks of several days, and of others: nothing can be measured apart but the parts of a day."""
        return Divides(None, actors=False, before=self.back * DAY)

    @abstractmethod
    def part_fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """A measurement whose `frame` gives the parts of every day, in an order that their values decide."""

    @abstractmethod
    def rows_of(self, parts: pl.DataFrame, since: datetime, until: datetime) -> pl.DataFrame:
        """FEATURES of the day [since, until) from the parts of the days that end with it, and from nothing else.

        There is a row for whoever has events on that day and a part in one of the days. The order of the parts does
        not matter.
        """

    @classmethod
    def without_rest(cls, parts: pl.DataFrame) -> pl.DataFrame:
        """Parts from which somebody's rows were taken, without what rows of nobody told of those rows alone."""
        return parts

    def unseen(self, sight: Sight) -> Sequence[str]:
        """Columns of which a source says nothing: they are null whatever the parts hold."""
        del sight
        return ()

    def window(self, day: Period) -> Period:
        """The time that the rows of a day speak of."""
        return Period(self.clock.before(day, self.back - 1).since, day.until)

    def rows_from(self, parts: pl.DataFrame, day: Period, sight: Sight = ANY_SIGHT) -> pl.DataFrame:
        """FEATURES of a day from parts of which some may be of other times, typed, and null where nothing is seen."""
        window = self.window(day)
        mine = parts.filter(pl.col("since") >= window.since, pl.col("since") < window.until)
        blind = [pl.lit(None).alias(name) for name in self.unseen(sight)]
        return typed(self.rows_of(mine, day.since, day.until).with_columns(blind), self.schema)

    @property
    def parts_schema(self) -> dict[str, DataType]:
        """All columns of the parts."""
        return {**_DAY, **self.parts}

    def fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """The parts of all days, and then the rows of each."""
        return _LookingBack(self, sight)


class _LookingBack:
    """The parts of all days that have come; their rows are made when they are asked for."""

    def __init__(self, recipe: LooksBack, sight: Sight) -> None:
        self._recipe = recipe
        self._sight = sight
        self._parts = recipe.part_fold(sight)
        self.columns = self._parts.columns

    def push(self, batch: pa.RecordBatch) -> None:
        """Let the parts grow."""
        self._parts.push(batch)

    def again(self) -> bool:
        """As the parts need it."""
        return self._parts.again()

    def notes(self) -> Notes:
        """As the parts have it."""
        return self._parts.notes()

    def frame(self) -> pl.DataFrame:
        """FEATURES of every day that has parts."""
        parts = self._parts.frame()
        nobody = pl.DataFrame(schema={**FEATURES.columns, **self._recipe.schema})
        days = [self._recipe.rows_from(parts, day, self._sight) for day in days_of(parts)]
        return pl.concat([nobody, *days]).sort("actor", "since")


def days_of(parts: pl.DataFrame) -> Iterator[Period]:
    """The days that there are parts of, the earliest first."""
    for since, until in parts.select("since", "until").unique().sort("since").iter_rows():
        yield Period(since, until)
