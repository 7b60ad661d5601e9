"""Which kinds a source showed when: a feed can lose one on a day, or name all of them anew."""

import numpy as np
import polars as pl

from gamewarden.contracts import Stream
from gamewarden.core.clock import Clock
from gamewarden.features.activity import borders_of
from gamewarden.tables import TIME, DataType

_SCHEMA: dict[str, DataType] = {"since": TIME, "until": TIME, "kind": pl.String, "n": pl.Int64}


def kinds_by_period(events: Stream, clock: Clock) -> pl.DataFrame:
    """One row a period and kind: how many events of everybody there are; memory grows with these rows only."""
    total = pl.DataFrame(schema=_SCHEMA)
    for batch in events.batches(("at", "kind")):
        kind = batch.column("kind")
        coded = kind if hasattr(kind, "dictionary") else kind.dictionary_encode()
        at = batch.column("at").view("int64").to_numpy()
        borders = borders_of(at, clock)
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
            schema=_SCHEMA,
        )
        total = pl.concat([total, part]).group_by("since", "until", "kind").agg(pl.col("n").sum())
    return total.sort("since", "kind")
