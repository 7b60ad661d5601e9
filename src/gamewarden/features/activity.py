"""Where an actor plays from and to: the zone it is mostly in, how many zones it visits, how many addresses it uses.

The operator page of Lee et al. (NDSS 2016) filters by main activity area; no detector learns from these numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import Divides, Entity, Fold, Sight, StreamKind
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR, LONGEST_PERIOD, span_text
from gamewarden.errors import MeasureError
from gamewarden.features.folding import OnePass, typed
from gamewarden.features.plain import ANY_SIGHT, PlainFeature
from gamewarden.tables import TIME, DataType

_PERIOD = ("actor", "since", "until")
_COUNTED: Mapping[str, DataType] = {
    "actor": pl.String,
    "since": TIME,
    "until": TIME,
    "place": pl.String,
    "ip": pl.String,
    "n": pl.UInt32,
}
_COMPACT = 1 << 22  # partial counts that wait in memory before they are added up


@dataclass(frozen=True)
class Activity(PlainFeature):
    """One row an actor and period: its main zone, and how many zones and addresses it was seen in."""

    every: int = field(
        default=DAY, metadata={"also": (HOUR,), "as": "span", "shown": "1d", "says": "Length of one period."}
    )
    by: Literal["account", "character"] = field(
        default="account", metadata={"also": ("character",), "says": "What stands in the column actor."}
    )
    time_zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul",)})

    name: ClassVar[str] = "activity"
    input: ClassVar[StreamKind] = "events"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "zone")
    optional: ClassVar[Mapping[str, str]] = {"ip": "addresses"}

    def __post_init__(self) -> None:
        """Check the period.

        Raises:
            MeasureError: it is too long for a calendar.
        """
        if not 0 < self.every <= LONGEST_PERIOD:
            raise MeasureError(f"activity: every is {span_text(self.every)}; ten years (3653d) are the most")

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return {"main_zone": pl.String, "zones": pl.Int64, "addresses": pl.Int64}

    @property
    def entity(self) -> Entity:
        """As `by` says."""
        return "character" if self.by == "character" else "actor"

    @property
    def clock(self) -> Clock:
        """Its periods."""
        return Clock(self.every, self.time_zone or "UTC")

    @property
    def divides(self) -> Divides:
        """A period can be counted without the others."""
        return Divides(self.clock)

    def fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """Counts of zones and addresses, added up as batches come."""
        return _ActivityFold(self, sight)


class _ActivityFold(OnePass):
    """Partial counts, added up before they are too many: memory grows with actors, periods and places only."""

    def __init__(self, recipe: Activity, sight: Sight) -> None:
        self.columns = (recipe.entity, "at", "zone", "ip")
        self._recipe = recipe
        self._unseen = [name for name, column in (("zones", "zone"), ("addresses", "ip")) if not sight.has(column)]
        self._parts = [pl.DataFrame(schema=_COUNTED)]

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        self._parts.append(_counts(batch, self._recipe.clock))
        if sum(part.height for part in self._parts[1:]) > _COMPACT:
            self._parts = [_summed(self._parts)]

    def frame(self) -> pl.DataFrame:
        """FEATURES: the main zone is the one with most events; of several the first by name.

        Without a zone in the log all is null.
        """
        counts = _summed(self._parts)
        rows = counts.group_by(_PERIOD).agg(
            pl.col("n").sum().alias("events"),
            pl.col("place").drop_nulls().n_unique().alias("zones"),
            pl.col("ip").drop_nulls().n_unique().alias("addresses"),
        )
        blind = rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in self._unseen)
        return typed(blind.join(_main_zones(counts), on=_PERIOD, how="left"), self._recipe.schema)


def _counts(batch: pa.RecordBatch, clock: Clock) -> pl.DataFrame:
    """How many events each actor has in each period, zone and address of one batch."""
    at = batch.column("at").view(pa.int64()).to_numpy()
    borders = borders_of(at, clock)
    place = np.searchsorted(borders, at, side="right") - 1
    texts = [batch.column(number) for number in (0, 2, 3)]
    columns = {name: pl.Series(name, texts[i], dtype=pl.String) for i, name in enumerate(("actor", "place", "ip"))}
    frame = pl.DataFrame(
        {
            **columns,
            "since": pl.Series(borders.take(place)).cast(TIME),
            "until": pl.Series(borders.take(place + 1)).cast(TIME),
        }
    )
    return frame.filter(pl.col("actor").is_not_null()).group_by(*_PERIOD, "place", "ip").agg(pl.len().alias("n"))


def borders_of(at: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """The beginnings of all periods that hold one of the times, and the end of each."""
    numbers = np.unique(clock.numbers(at))
    return clock.begins(np.union1d(numbers, numbers + 1))


def _summed(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).group_by(*_PERIOD, "place", "ip").agg(pl.col("n").sum())


def _main_zones(counts: pl.DataFrame) -> pl.DataFrame:
    """The zone with most events of each actor and period, the first by name of several."""
    return (
        counts.filter(pl.col("place").is_not_null())
        .group_by(*_PERIOD, "place")
        .agg(pl.col("n").sum())
        .sort("n", "place", descending=[True, False])
        .group_by(_PERIOD)
        .agg(pl.col("place").first().alias("main_zone"))
    )
