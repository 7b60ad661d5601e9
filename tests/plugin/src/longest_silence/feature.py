"""How long an actor pauses: the longest silence of a period."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from gamewarden.contracts import Divides
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR, MINUTE, SECOND
from gamewarden.features.plain import PlainFeature
from gamewarden.phrases import Phrase

SAYS = Phrase(
    "Pauses longer than {humans}",
    "Pauses as usual",
    "Pauses less than {humans}",
    "at most {value} s",
    "One event alone has no pause.",
    has="a typical human up to",
    unit="s",
    topic="Its pauses",
)


@dataclass(frozen=True)
class Silence(PlainFeature):
    """One row per actor and period: its longest silence."""

    every: int = field(default=DAY, metadata={"also": (HOUR,), "as": "span", "says": "Length of one period."})

    name: ClassVar[str] = "silence"
    schema: ClassVar[Mapping[str, pl.DataType]] = {"longest_silence_s": pl.Float64(), "silences": pl.Int64()}
    phrases: ClassVar[Mapping[str, Phrase]] = {"longest_silence_s": SAYS, "silences": Phrase.plain("silences")}

    @property
    def divides(self) -> Divides:
        """A period is measured without the others."""
        return Divides(Clock(self.every))

    def rows(self, events: pl.DataFrame) -> pl.DataFrame:
        """The times between two events of a period, null where there is one."""
        since, until = Clock(self.every).borders(pl.col("at"))
        periods = events.sort("at").with_columns(since=since, until=until).group_by("actor", "since", "until")
        gap = pl.col("at").diff().drop_nulls().dt.total_microseconds()
        silences = pl.when(pl.len() > 1).then((gap >= MINUTE).sum())
        return periods.agg(events=pl.len(), longest_silence_s=gap.max() / SECOND, silences=silences)
