"""Who was judged, and on how many days: a promise to people counts people, and each for as long as it was looked at."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Self

import polars as pl

from gamewarden.core.durations import DAY
from gamewarden.learning.validation import Rising, Rule

_Fprs = Annotated[
    Rising, Rule(lambda v: bool(v) and 0 < v[0] <= v[-1] <= 1, "a row of rising numbers above 0, at most 1")
]
_Days = Annotated[tuple[float, ...], Rule(lambda v: all(days >= 1 for days in v), "a row of numbers from 1 on")]
_LAST_MOMENT = pl.col("until") - pl.duration(microseconds=1)


@dataclass(frozen=True)
class People:
    """Humans as a budget counts them: one entry a person, whatever its number of actors and rows; nobody is named."""

    lowest: _Fprs  # the lowest FPR of all rows of a person
    days: _Days | None  # on how many days it was judged; None where rows have no times

    @classmethod
    def of(cls, rows: pl.DataFrame, time_zone: str = "UTC") -> Self:
        """From rows with group (the person), since, until and FPR; a row without an FPR judges nobody."""
        judged = rows.drop_nulls("fpr")
        timeless = judged["since"].null_count() + judged["until"].null_count() > 0
        days = pl.lit(None, dtype=pl.Float64) if timeless else _days(time_zone)
        fresh = judged.sort("group", "since", "until").with_columns(fresh=_fresh())
        each = fresh.group_by("group").agg(pl.col("fpr").min(), days.alias("days")).sort("fpr", "days")
        return cls(tuple(each["fpr"].to_list()), None if timeless else tuple(each["days"].to_list()))

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield "people lowest and days are equally many", self.days is None or len(self.days) == len(self.lowest)


def _days(time_zone: str) -> pl.Expr:
    """Days on which a row of a person ends; a row longer than a day counts as long as it is."""
    dates = _LAST_MOMENT.dt.convert_time_zone(time_zone).dt.date().n_unique()
    return pl.max_horizontal(dates.cast(pl.Int64), pl.col("fresh").sum() // DAY).cast(pl.Float64)


def _fresh() -> pl.Expr:
    """How much of a row's time no earlier row of the same person has covered."""
    before = pl.col("until").cum_max().shift(1).over("group")
    begin = pl.max_horizontal(pl.col("since"), before)
    return (pl.col("until") - begin).dt.total_microseconds().clip(lower_bound=0)
