"""The traffic test as the work on one partition: packets in, decisions and what a model says of them out."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import PACKET_COLUMNS, Bounds
from gamewarden.errors import MeasureError
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.sleeping import Sleeping
from gamewarden.online.watch import Score
from gamewarden.online.work import Note, OpenWork, Work
from gamewarden.tables import SCORES, TRAFFIC, json_lines


class PacketWork:
    """Every player of a partition, awake or asleep."""

    def __init__(self, players: Sleeping, score: Score | None) -> None:
        self._players = players
        self._score = score

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of packets that the test looks at."""
        return PACKET_COLUMNS

    @property
    def counts(self) -> Mapping[str, int]:
        """What the test has seen."""
        return self._players.tally._asdict()

    def take(self, batch: pa.RecordBatch) -> str:
        """Decisions on the windows that these packets complete, and SCORES of them where there is a model.

        Raises:
            MeasureError: a packet has a size that no payload has; then nothing of the batch counts.
        """
        self._refuse_odd_sizes(batch)
        return "".join(map(self._said, self._players.take(batch)))

    def idle(self) -> str:
        """Nothing: a window is complete by its packets alone."""
        return ""

    def save(self, note: Note) -> None:
        """Keep every player, the clock and the note."""
        self._players.save(note)

    def close(self) -> None:
        """Let go of the file of sleepers."""
        self._players.close()

    def _refuse_odd_sizes(self, batch: pa.RecordBatch) -> None:
        """Before any packet counts: the fold sees a batch in pieces and would find out only when some have."""
        size, most = batch.column("size"), self._players.fold.test.longest
        span = pc.min_max(size).as_py()
        if not batch.num_rows or (span["min"] >= 0 and span["max"] <= most):
            return
        odd = pc.and_(batch.column("up"), pc.or_(pc.less(size, 0), pc.greater(size, most)))
        if pc.any(odd).as_py():
            raise MeasureError(f"traffic: a packet has a payload below 0 or above {most:,} bytes; from 0 on can be")

    def _said(self, windows: pl.DataFrame) -> str:
        profile = pl.lit(self._players.fold.test.profile).alias("profile")
        decisions = json_lines(windows.select(pl.lit(TRAFFIC.name).alias("table"), _key("traffic"), pl.all(), profile))
        if self._score is None:
            return decisions
        key = windows.select(_key("traffic-model")).to_series()
        return decisions + json_lines(self._score(windows).select(pl.lit(SCORES.name).alias("table"), key, pl.all()))


def _key(detector: str) -> pl.Expr:
    """What names a row wherever it goes: detector, begin and number of the window, actor."""
    parts = pl.lit(detector), pl.col("since").dt.epoch("us"), pl.col("window"), pl.col("actor")
    return pl.concat_str(*parts, separator=":").alias("key")


def packets_of(test: TrafficTest, bounds: Bounds, score: Score | None = None) -> OpenWork:
    """How the work on a partition of packets is opened; the one place that knows what its directory holds."""

    def opened(directory: Path) -> tuple[Work, Note]:
        players, note = Sleeping.opened(directory, test, bounds)
        return PacketWork(players, score), note

    return opened
