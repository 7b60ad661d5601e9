"""Where an actor plays from and to: the zone it is mostly in, how many zones it visits, how many addresses it uses.

The operator page of Lee et al. (NDSS 2016) filters by main activity area; no detector learns from these numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.clock import Clock
from gamewarden.contracts import EventStream, Progress, StreamKind, no_progress
from gamewarden.errors import MeasureError
from gamewarden.spans import DAY, HOUR, LONGEST_PERIOD, span_text
from gamewarden.tables import TIME

_PERIOD = ("actor", "since", "until")
_COMPACT = 1 << 22  # partial counts that wait in memory before they are added up


@dataclass(frozen=True)
class Activity:
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
    def names(self) -> tuple[str, ...]:
        """The feature columns after actor, since, until and events."""
        return ("main_zone", "zones", "addresses")

    def learn(self, events: EventStream, progress: Progress = no_progress) -> Self:
        """Itself: there is nothing to learn."""
        del events, progress
        return self

    def measure(self, events: EventStream, progress: Progress = no_progress) -> pl.DataFrame:
        """FEATURES: one row an actor and period, sorted by actor, then since.

        The main zone is the one with most events; of several the first by name. Without a zone in the log all is null.
        """
        counts = _added_up(self._partial_counts(events, progress))
        rows = counts.group_by(_PERIOD).agg(
            pl.col("n").sum().cast(pl.Int64).alias("events"),
            pl.col("place").drop_nulls().n_unique().cast(pl.Int64).alias("zones"),
            pl.col("ip").drop_nulls().n_unique().cast(pl.Int64).alias("addresses"),
        )
        unseen = [name for name, column in (("zones", "zone"), ("addresses", "ip")) if column not in events.columns]
        blind = rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in unseen)
        named = blind.join(_main_zones(counts), on=_PERIOD, how="left")
        return named.select(*_PERIOD, "events", *self.names).sort("actor", "since")

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values."""
        return cls(**values)

    def _partial_counts(self, events: EventStream, progress: Progress) -> Iterator[pl.DataFrame]:
        who = "actor" if self.by == "account" else "character"
        clock = Clock(self.every, self.time_zone or "UTC")
        for batch in events.batches((who, "at", "zone", "ip")):
            yield _counts(batch, clock)
            progress(batch.num_rows)


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


def _added_up(parts: Iterator[pl.DataFrame]) -> pl.DataFrame:
    """The sum of partial counts, in memory that grows with actors, periods and places only."""
    total = pl.DataFrame(
        schema={"actor": pl.String, "since": TIME, "until": TIME, "place": pl.String, "ip": pl.String, "n": pl.UInt32}
    )
    waiting = [total]
    for part in parts:
        waiting.append(part)
        if sum(one.height for one in waiting[1:]) > _COMPACT:
            waiting = [_summed(waiting)]
    return _summed(waiting)


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
