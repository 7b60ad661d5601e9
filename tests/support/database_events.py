"""Events that a lake has from a game server's database."""

from pathlib import Path

import polars as pl

from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.store.lake import Lake

OFFLINE = SourceOptions(LogOptions(time_zone="UTC"), databases=DatabaseOptions(offline=True))


def events_in(lake, *columns):
    """The events of a lake, as text."""
    wanted = columns or ("actor", "character", "at", "seq", "kind", "item", "amount", "other", "session", "ip")
    batches = list(Lake(Path(lake)).events().batches(wanted))
    frames = [
        pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.selectors.categorical().cast(pl.String)) for batch in batches
    ]
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(wanted, pl.String))
