"""Where periods begin and end on the clock of a zone."""

from dataclasses import dataclass

import polars as pl

from gamewarden.spans import DAY
from gamewarden.tables import TIME

LAST_MOMENT = pl.col("until") - pl.duration(microseconds=1)  # a row belongs to the period it ends in


@dataclass(frozen=True)
class Cut:
    """Where periods begin and end: multiples of `every` since 1970 on the clock of a zone."""

    every: int  # microseconds
    zone: str = "UTC"

    @property
    def text(self) -> str:
        """The length as a calendar counts it: days keep their name across changes of the clock."""
        return f"{self.every // DAY}d" if self.every % DAY == 0 else f"{self.every}us"

    def borders(self, at: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        """The beginning and the end of the period that holds a moment."""
        begin = at.dt.convert_time_zone(self.zone).dt.truncate(self.text)
        end = begin.dt.offset_by(self.text)
        return begin.dt.convert_time_zone("UTC").cast(TIME), end.dt.convert_time_zone("UTC").cast(TIME)
