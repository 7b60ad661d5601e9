"""Which accounts were seen at which address when: the small table that sharing of addresses is told from."""

import numpy as np
import polars as pl
import pyarrow as pa

from gamewarden.contracts import EventStream
from gamewarden.core.clock import Clock
from gamewarden.features.activity import Coded, borders_of
from gamewarden.tables import TIME, DataType

ADDRESSES: dict[str, DataType] = {"actor": pl.String, "address": pl.String, "since": TIME, "until": TIME}
_COMPACT = 1 << 22  # rows that wait in memory before they are made distinct


def addresses_by_period(events: EventStream, clock: Clock, entity: str = "actor") -> pl.DataFrame:
    """One row per actor, address and period; periods measured apart and joined are all of them together.

    Memory grows with these rows only. Of a log without addresses there is none. An address may be a keyed hash.
    """
    parts, waiting = [pl.DataFrame(schema=ADDRESSES)], 0
    if "ip" not in events.columns:
        return parts[0]
    for batch in events.batches((entity, "at", "ip")):
        parts.append(_seen(batch, clock))
        waiting += parts[-1].height
        if waiting > _COMPACT:
            parts, waiting = [pl.concat(parts).unique()], 0
    return pl.concat(parts).unique().sort("actor", "address", "since")


def _seen(batch: pa.RecordBatch, clock: Clock) -> pl.DataFrame:
    actor, times, address = Coded(batch.column(0)), batch.column(1), Coded(batch.column(2))
    at = times.view(pa.int64()).to_numpy()
    borders = borders_of(at, clock)
    period = np.searchsorted(borders, at, side="right") - 1
    pairs = {"who": period * len(actor.texts) + actor.codes, "where": address.codes}
    found = pl.DataFrame(pairs).unique()
    place, who = np.divmod(found["who"].to_numpy(), len(actor.texts))
    columns = [
        actor.named("actor", who),
        address.named("address", found["where"].to_numpy()),
        pl.Series("since", borders.take(place)).cast(TIME),
        pl.Series("until", borders.take(place + 1)).cast(TIME),
    ]
    return pl.DataFrame(columns).drop_nulls(["actor", "address"])
