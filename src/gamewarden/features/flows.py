"""An account's place among those who give and take: the week's one-way gifts around it.

Short-time bots play little and hand all they earn to a hub (Lee et al., NDSS 2016, future work): no day of theirs looks
strange, and the week's trade does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Fold, Notes, Sight
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.features.edges.fold import DEALINGS, DROPS, EdgesFold
from gamewarden.features.looking_back import LooksBack
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.groups.places import places
from gamewarden.phrases import Phrase
from gamewarden.phrases.gifts import PHRASES
from gamewarden.tables import EDGES, DataType

PLAY = "play"  # a kind of part that is no edge: what an account did on a day, and in how many minutes
_DIGITS = 9  # of a number: so it is the same in whatever order it was added up
_COUNTS = ("takers", "givers", "gave_n", "got_n", "loyal", "star_n", "chain_n", "exchanges")
_SHARES = ("to_one", "from_one", "one_way", "passed_on", "loyal_share", "star_score")
_OF_THE_LOG = {"parties": "party.join", "market": "market.sell", "sharing": "ip"}  # null where it does not show them
_SCHEMA: Mapping[str, DataType] = {
    "play_hours": pl.Float64(),
    **dict.fromkeys(_COUNTS, pl.Int64()),
    **dict.fromkeys(_SHARES, pl.Float64()),
    "mesh": pl.Float64(),
    **dict.fromkeys(_OF_THE_LOG, pl.Int64()),
}


@dataclass(frozen=True)
class Flows(LooksBack):
    """One row per account and day: whom it gave to and got from in the days before, and who is around those.

    Every number is null of an account that neither gave nor got anything, but for trades on a market.
    """

    name: ClassVar[str] = "flows"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind", "other")
    optional: ClassVar[Mapping[str, str]] = {seen: name for name, seen in _OF_THE_LOG.items()}
    about_others: ClassVar[bool] = True
    one_sided: ClassVar[bool] = True
    schema: ClassVar[Mapping[str, DataType]] = _SCHEMA
    phrases: ClassVar[Mapping[str, Phrase]] = PHRASES
    parts: ClassVar[Mapping[str, DataType]] = {
        name: dtype for name, dtype in EDGES.columns.items() if name not in {"since", "until"}
    }
    naming: ClassVar[tuple[str, ...]] = ("actor", "other")

    def part_fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """EDGES of each day, and how much everybody played."""
        del sight
        return _Parts(self.clock)

    def rows_of(self, parts: pl.DataFrame, since: datetime, until: datetime) -> pl.DataFrame:
        """The places of all who played on the last day, in the gifts of all days."""
        play, edges = parts.filter(kind=PLAY), parts.filter(pl.col("kind") != PLAY)
        seen = parts.select((until - pl.col("since").min()).dt.total_microseconds()).item()
        days = None if seen is None else seen / DAY
        hours = play.group_by("actor").agg(hours=pl.col("items").sum() / 60)
        told = _told(places(edges, hours, days))
        today = play.filter(since=since).select("actor", "since", "until", events="n")
        return today.join(told, on="actor", how="left")

    def unseen(self, sight: Sight) -> Sequence[str]:
        """All of it where nobody is named, and what the log does not show."""
        shows = sight.shows()
        dealt = shows is None or any(kind in shows for kind in (*DEALINGS, DROPS))
        if not sight.has("other") or not dealt:
            return self.names
        seen = {
            name: sight.has(what) if what == "ip" else shows is None or what in shows
            for name, what in _OF_THE_LOG.items()
        }
        return [name for name, there in seen.items() if not there]


def _told(found: pl.DataFrame) -> pl.DataFrame:
    """Places as columns of the feature; a share of nothing is 0 for whoever gave or got something else."""
    dealt = pl.sum_horizontal("takers", "givers", "exchanges") > 0
    shares = [pl.col(name).fill_null(0.0).round(_DIGITS) for name in _SHARES]
    numbers = found.with_columns(*shares, pl.col("mesh").round(_DIGITS), play_hours=pl.col("hours").fill_null(0))
    return numbers.select("actor", *(pl.when(dealt).then(name).alias(name) for name in _SCHEMA))


class _Parts:
    """Edges and play of every day that has come."""

    def __init__(self, clock: Clock) -> None:
        self._fold = EdgesFold(clock)
        self.columns = self._fold.columns

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        self._fold.push(batch)

    def again(self) -> bool:
        """As the fold of the edges needs it."""
        return self._fold.again()

    def notes(self) -> Notes:
        """Nothing."""
        return self._fold.notes()

    def frame(self) -> pl.DataFrame:
        """EDGES, and a row of play per account and day."""
        play = self._fold.play().select(
            "since",
            "until",
            "actor",
            other=pl.lit(None, pl.String),
            kind=pl.lit(PLAY),
            n="n",
            amount=pl.lit(None, pl.Float64),
            items="minutes",
            first="first",
            last="last",
        )
        return pl.concat([self._fold.edges(), play]).sort("since", "actor", "other", "kind")
