"""What a server with a clock of its own writes: one line per event, `actor tick kind`."""

from typing import ClassVar

import polars as pl

from gamewarden.core.durations import SECOND
from gamewarden.readers.plain import PlainFile

TICK = SECOND // 10  # since 1970


class Ticks(PlainFile):
    """A file of ticks: ten of them are a second."""

    suffix: ClassVar[str] = ".ticks"
    is_a: ClassVar[str] = "is a file of ticks"

    def table(self, data: bytes) -> pl.DataFrame:
        """One event per line; what is no tick is null."""
        lines = pl.Series(data.decode("utf-8", "replace").splitlines(), dtype=pl.String)
        words = lines.str.split_exact(" ", 2).struct.rename_fields(["actor", "tick", "kind"]).struct.unnest()
        at = pl.col("tick").cast(pl.Int64, strict=False) * TICK
        return words.select("actor", "kind", at=at.cast(pl.Datetime("us", "UTC")))
