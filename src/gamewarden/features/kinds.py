"""Which kinds a source showed when: a feed can lose one on a day, or name all of them anew."""

import numpy as np
import polars as pl
import pyarrow as pa

from gamewarden.contracts import CountedByPeriod, Stream
from gamewarden.core.clock import Clock
from gamewarden.features.activity import borders_of
from gamewarden.features.folding import OnePass
from gamewarden.streams import behind_views
from gamewarden.tables import TIME, DataType

SCHEMA: dict[str, DataType] = {"since": TIME, "until": TIME, "kind": pl.String, "n": pl.Int64}


class KindFold(OnePass):
    """How many events of each kind there are in each period, of everybody; memory grows with these rows only."""

    columns = ("at", "kind")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._total = pl.DataFrame(schema=SCHEMA)

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        kind = batch.column("kind")
        coded = kind if hasattr(kind, "dictionary") else kind.dictionary_encode()
        at = batch.column("at").view("int64").to_numpy()
        borders = borders_of(at, self._clock)
        place = np.searchsorted(borders, at, side="right") - 1
        width = len(coded.dictionary)
        keys = place.astype(np.int64) * width + coded.indices.to_numpy(zero_copy_only=False)
        found, counts = np.unique(keys, return_counts=True)
        part = pl.DataFrame(
            {
                "since": pl.Series(borders[found // width]).cast(TIME),
                "until": pl.Series(borders[found // width + 1]).cast(TIME),
                "kind": pl.Series(coded.dictionary.cast("string").take(found % width), dtype=pl.String),
                "n": counts,
            },
            schema=SCHEMA,
        )
        self._total = pl.concat([self._total, part]).group_by("since", "until", "kind").agg(pl.col("n").sum())

    def frame(self) -> pl.DataFrame:
        """One row per period and kind."""
        return self._total.sort("since", "kind")


def kinds_by_period(events: Stream, clock: Clock) -> pl.DataFrame:
    """One row a period and kind: how many events of everybody there are."""
    source = behind_views(events)
    if isinstance(source, CountedByPeriod):
        return source.kinds_by_period(clock)
    fold = KindFold(clock)
    for batch in events.batches(fold.columns):
        fold.push(batch)
    return fold.frame()
