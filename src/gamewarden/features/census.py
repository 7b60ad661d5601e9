"""What is said of all events together, counted apart and added up: events by kind and period, and who was there when.

A row scores by its own numbers alone; whether its source could show a kind, and was there all day, is known only from
everybody's events. Parts of a source, each with actors of its own, are counted where they lie, and their sum is what
one reading of all of them counts.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Self

import polars as pl
import pyarrow as pa

from gamewarden.contracts import EventStream, canonical_json
from gamewarden.core.clock import Clock
from gamewarden.core.coverage import Coverage, Pulse, PulseFold
from gamewarden.core.durations import DAY
from gamewarden.features.folding import OnePass
from gamewarden.features.kinds import SCHEMA, KindFold
from gamewarden.streams import EventView

COLUMNS = ("actor", "at", "kind")


@dataclass(frozen=True)
class Census:
    """Events by kind and period of some clocks, and the pulse of a source."""

    kinds: Mapping[Clock, pl.DataFrame] = field(default_factory=dict)
    pulse: Pulse = field(default=Pulse())

    def __add__(self, other: Self) -> Self:
        """Both together, as if nobody were in both."""
        clocks = dict.fromkeys((*self.kinds, *other.kinds))
        added = {clock: _added(one.kinds[clock] for one in (self, other) if clock in one.kinds) for clock in clocks}
        return type(self)(added, self.pulse + other.pulse)

    @cached_property
    def shows(self) -> Mapping[str, int]:
        """The kinds that were seen, and how many events there are of each."""
        counted: Counter[str] = Counter()
        for table in list(self.kinds.values())[:1]:
            counted.update(dict(table.group_by("kind").agg(pl.col("n").sum()).iter_rows()))
        return dict(sorted(counted.items()))

    @cached_property
    def coverage(self) -> Coverage:
        """When the source was there."""
        return self.pulse.coverage()

    def to_bytes(self) -> bytes:
        """The census as an Arrow file."""
        rows = [
            table.with_columns(every=pl.lit(clock.every, pl.Int64), time_zone=pl.lit(clock.time_zone))
            for clock, table in self.kinds.items()
        ]
        table = pl.concat([pl.DataFrame(schema={**SCHEMA, "every": pl.Int64, "time_zone": pl.String}), *rows])
        arrow = table.to_arrow().replace_schema_metadata(
            {
                "pulse": canonical_json(self.pulse.to_dict()),
                "clocks": canonical_json([[clock.every, clock.time_zone] for clock in self.kinds]),
            }
        )
        sink = BytesIO()
        with pa.ipc.new_stream(sink, arrow.schema) as writer:
            writer.write_table(arrow)
        return sink.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The census back.

        Raises:
            ValueError: these are not the bytes of one.
        """
        try:
            arrow = pa.ipc.open_stream(data).read_all()
            said = arrow.schema.metadata or {}
            clocks = [Clock(*one) for one in json.loads(said[b"clocks"])]
            pulse = Pulse.from_dict(json.loads(said[b"pulse"]))
            table = pl.DataFrame(pl.from_arrow(arrow.replace_schema_metadata(None)))
            kinds = {
                clock: table.filter(every=clock.every, time_zone=clock.time_zone).select(list(SCHEMA))
                for clock in clocks
            }
        except (pa.ArrowException, KeyError, TypeError) as error:
            raise ValueError("is no census") from error
        return cls(kinds, pulse)


def _added(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    parts = [pl.DataFrame(schema=SCHEMA), *tables]
    return pl.concat(parts).group_by("since", "until", "kind").agg(pl.col("n").sum()).sort("since", "kind")


class CensusFold(OnePass):
    """A census under way; memory grows with kinds, periods and whoever plays in a beat."""

    columns = COLUMNS

    def __init__(self, clocks: Collection[Clock]) -> None:
        self._kinds = {clock: KindFold(clock) for clock in dict.fromkeys(clocks or (Clock(DAY),))}
        self._pulse = PulseFold()

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        for fold in self._kinds.values():
            fold.push(batch.select(list(fold.columns)))
        self._pulse.push(batch)

    def census(self) -> Census:
        """What was counted so far."""
        return Census(self._counted(), self._pulse.pulse())

    def kinds(self) -> Census:
        """The same without a pulse, which costs more the longer everybody has played."""
        return Census(self._counted())

    def _counted(self) -> dict[Clock, pl.DataFrame]:
        return {clock: fold.frame() for clock, fold in self._kinds.items()}


class CountedEvents(EventView):
    """Events of a part of a source, in the light of a census of the whole."""

    def __init__(self, events: EventStream, census: Census) -> None:
        super().__init__(events)
        self._census = census

    @property
    def shows(self) -> Mapping[str, int]:
        """What the whole source showed."""
        return self._census.shows

    @property
    def coverage(self) -> Coverage:
        """When the whole source was there."""
        return self._census.coverage

    @property
    def whole(self) -> EventStream:
        """Itself: the whole was counted."""
        return self

    def kinds_by_period(self, clock: Clock) -> pl.DataFrame:
        """Events of the whole source, as they were counted."""
        return self._census.kinds[clock]
