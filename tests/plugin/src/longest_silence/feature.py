"""The longest silence of an account's day, and how many silences of a minute it has."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import polars as pl

from gamewarden.clock import Clock
from gamewarden.contracts import EventStream, Progress, StreamKind, no_progress
from gamewarden.spans import DAY, HOUR, MINUTE

_PERIOD = ("actor", "since", "until")


@dataclass(frozen=True)
class Silence:
    """One row per actor and period."""

    every: int = field(default=DAY, metadata={"also": (HOUR,), "as": "span", "shown": "1d", "says": "One period."})
    zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul",)})

    name: ClassVar[str] = "silence"
    input: ClassVar[StreamKind] = "events"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at")
    optional: ClassVar[Mapping[str, str]] = {}
    schema: ClassVar[Mapping[str, Any]] = {"longest_silence_s": pl.Float64, "silences": pl.Int64}
    phrases: ClassVar[Mapping[str, str]] = {"longest_silence_s": "The longest silence in seconds"}

    @property
    def names(self) -> tuple[str, ...]:
        """The feature columns after actor, since, until and events."""
        return tuple(self.schema)

    def learn(self, events: EventStream, progress: Progress = no_progress) -> Self:
        """Itself: there is nothing to learn."""
        del events, progress
        return self

    def measure(self, events: EventStream, progress: Progress = no_progress) -> pl.DataFrame:
        """FEATURES: one row per actor and period, sorted by actor, then since; one event alone has no silence."""
        parts = [pl.DataFrame(schema={"actor": pl.String, "at": pl.Datetime("us", "UTC")})]
        for batch in events.batches(("actor", "at")):
            parts.append(pl.DataFrame(batch).cast({"actor": pl.String}))
            progress(batch.num_rows)
        begin, end = Clock(self.every, self.time_zone or "UTC").borders(pl.col("at"))
        rows = pl.concat(parts).drop_nulls("actor").sort("actor", "at")
        placed = rows.with_columns(begin.alias("since"), end.alias("until"))
        gaps = placed.with_columns(gap=pl.col("at").diff().over(_PERIOD).dt.total_microseconds())
        told = gaps.group_by(_PERIOD).agg(
            pl.len().cast(pl.Int64).alias("events"),
            (pl.col("gap").max() / 1e6).alias("longest_silence_s"),
            pl.when(pl.len() > 1).then((pl.col("gap") >= MINUTE).sum().cast(pl.Int64)).alias("silences"),
        )
        return told.sort("actor", "since")

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values."""
        return cls(**values)
