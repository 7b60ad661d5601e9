"""A lake of which rows are dropped, and the texts that are left in it."""

import polars as pl
import pyarrow.parquet as pq

from gamewarden.readers.logs.tables import EventFile
from gamewarden.tables import EVENTS, TEXT_COLUMNS

HEAD = "actor,at,kind,target,other,session,ip\n"

ROWS = (
    "ann,100,trade.give,,bob,session-of-ann,10.0.0.1\n"
    "bob,200,trade.receive,ann,ann,session-of-bob,10.0.0.2\n"
    "cid,86500,combat.kill,wolf,,,10.0.0.3\n"
    "ann,86600,move,,,session-of-ann,10.0.0.1\n"
    "cid,172900,chat,,ann,,10.0.0.3\n"
)


def read_into(lake, path):
    return lake.add(EventFile(path).numbered())


def frame(events):
    parts = [pl.DataFrame(pl.from_arrow(batch)) for batch in events.batches(list(EVENTS.columns))]
    return pl.concat(part.with_columns(pl.col(pl.Categorical).cast(pl.String)) for part in parts).sort(pl.all())


def texts_at_rest(lake):
    """Every text in the files of a lake, used or not."""
    found = {(lake.directory / "lake.json").read_text()}
    for path in lake.directory.rglob("*.parquet"):
        file = pq.ParquetFile(path, read_dictionary=list(TEXT_COLUMNS))
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            for place, name in enumerate(table.schema.names):
                if name in TEXT_COLUMNS:
                    found |= {text for chunk in table[name].chunks for text in chunk.dictionary.to_pylist()}
                    known = file.metadata.row_group(group).column(place).statistics
                    found |= {known.min, known.max} if known is not None and known.has_min_max else set()
    return found
