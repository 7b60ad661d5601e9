"""What an operator asks about an actor's day: where it played, from how many addresses, what money it gained.

The operator page of Lee et al. (NDSS 2016) filters by main activity area, acquired money, sharing of addresses and kind
of log; no detector learns from these numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gamewarden.contracts import Fold, Sight, StreamKind
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR
from gamewarden.errors import MeasureError
from gamewarden.features.folding import OnePass, typed
from gamewarden.features.periods import ByPeriod
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.tables import FEATURES, TIME, DataType

_PERIOD = ("actor", "since", "until")
_COUNTED: Mapping[str, DataType] = {
    "actor": pl.String,
    "since": TIME,
    "until": TIME,
    "place": pl.String,
    "ip": pl.String,
    "n": pl.UInt32,
}
# What gains money: `amount` is what the actor gains, and whoever sells something gains no items. What is received is
# money only where it is no item. A log that writes one gain under two of these kinds counts it twice.
GAINS = ("currency.gain", "npc.sell", "market.sell")
GAINS_WITHOUT_ITEM = ("trade.receive", "mail.receive")
_MONEY: Mapping[str, DataType] = {"actor": pl.String, "since": TIME, "until": TIME, "money_gained": pl.Float64}
_KINDS: Mapping[str, DataType] = {
    "actor": pl.String,
    "since": TIME,
    "until": TIME,
    "kind": pl.String,
    "n": pl.UInt32,
}
_COMPACT = 1 << 22  # partial counts that wait in memory before they are added up


_FACTS: Mapping[str, DataType] = {
    "main_zone": pl.String,
    "zones": pl.Int64,
    "addresses": pl.Int64,
    "money_gained": pl.Float64,
}


@dataclass(frozen=True)
class Activity(ByPeriod):
    """One row per actor and period: its main zone, how many zones and addresses it was seen in, what money it gained.

    Money is gained by currency.gain, npc.sell and market.sell, and by trade.receive and mail.receive without an item.
    """

    every: int = field(
        default=DAY, metadata={"also": (HOUR,), "as": "span", "shown": "1d", "says": "Length of one period."}
    )
    by: Literal["account", "character"] = field(
        default="account", metadata={"also": ("character",), "says": "What stands in the column actor."}
    )
    time_zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul",)})
    kinds: tuple[str, ...] = field(
        default=(),
        metadata={
            "also": (("combat.kill", "chat"),),
            "as": "kinds",
            "says": "Count the events of these kinds too, a column each.",
        },
    )

    name: ClassVar[str] = "activity"
    input: ClassVar[StreamKind] = "events"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "zone")
    optional: ClassVar[Mapping[str, str]] = {"ip": "addresses", "amount": "money_gained"}

    def __post_init__(self) -> None:
        """Check the period and the kinds.

        Raises:
            MeasureError: the period is too long for a calendar, or a kind is called as another column.
        """
        self._check_every()
        for kind in self.kinds:
            if kind in {*FEATURES.columns, *_FACTS}:
                raise MeasureError(f"activity: kinds: {kind!r} is a column already; map the kind to another name")

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return {**_FACTS, **dict.fromkeys(self.kinds, pl.Int64)}

    def fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """Counts of zones and addresses, added up as batches come."""
        return _ActivityFold(self, sight)


class _Sums:
    """Partial sums, added up before they are too many: memory grows with their keys only."""

    def __init__(self, schema: Mapping[str, DataType]) -> None:
        *self._keys, self._number = schema
        self._parts = [pl.DataFrame(schema=dict(schema))]
        self._waiting = 0

    def add(self, part: pl.DataFrame) -> None:
        """Take some in."""
        if part.height:
            self._parts.append(part)
            self._waiting += part.height
        if self._waiting > _COMPACT:
            self._parts, self._waiting = [self.total()], 0

    def total(self) -> pl.DataFrame:
        """One row per key."""
        return pl.concat(self._parts).group_by(self._keys).agg(pl.col(self._number).sum())


class _ActivityFold(OnePass):
    """Counts of events, money and kinds: memory grows with actors, periods and places only."""

    def __init__(self, recipe: Activity, sight: Sight) -> None:
        self.columns = (recipe.entity, "at", "zone", "ip", "kind", "amount", "item")
        self._recipe = recipe
        self._sight = sight
        self._counts, self._money, self._kinds = _Sums(_COUNTED), _Sums(_MONEY), _Sums(_KINDS)

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        rows = _Rows(batch, self._recipe.clock)
        self._counts.add(rows.counts())
        self._money.add(rows.money())
        if self._recipe.kinds:
            self._kinds.add(rows.kinds(self._recipe.kinds))

    def frame(self) -> pl.DataFrame:
        """FEATURES: the main zone is the one with most events; of several the first by name.

        What the log cannot show is null: zones without zones in it, money without amounts, a kind it never shows.
        """
        counts = self._counts.total()
        rows = counts.group_by(_PERIOD).agg(
            pl.col("n").sum().alias("events"),
            pl.col("place").drop_nulls().n_unique().alias("zones"),
            pl.col("ip").drop_nulls().n_unique().alias("addresses"),
        )
        full = rows.join(_main_zones(counts), on=_PERIOD, how="left").join(self._money.total(), on=_PERIOD, how="left")
        for kind in self._recipe.kinds:
            mine = self._kinds.total().filter(kind=kind).select(*_PERIOD, pl.col("n").alias(kind))
            full = full.join(mine, on=_PERIOD, how="left")
        zeros = full.with_columns(pl.col("money_gained", *self._recipe.kinds).fill_null(0))
        blind = zeros.with_columns(pl.lit(None).alias(name) for name in self._unseen())
        return typed(blind, self._recipe.schema)

    def _unseen(self) -> list[str]:
        """The columns of which the source says nothing; asked when all rows have come."""
        shows = self._sight.shows()
        money = shows is None or any(kind in shows for kind in (*GAINS, *GAINS_WITHOUT_ITEM))
        seen = {
            "zones": self._sight.has("zone"),
            "addresses": self._sight.has("ip"),
            "money_gained": self._sight.has("amount") and money,
            **{kind: shows is None or kind in shows for kind in self._recipe.kinds},
        }
        return [name for name, there in seen.items() if not there]


class Coded:
    """A column of texts as numbers; null has the highest."""

    def __init__(self, column: pa.Array) -> None:
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        self.texts = pa.concat_arrays([coded.dictionary.cast(pa.string()), pa.nulls(1, pa.string())])
        self.codes = coded.indices.fill_null(len(self.texts) - 1).to_numpy().astype(np.int64)

    def named(self, name: str, codes: NDArray[np.int64]) -> pl.Series:
        """The texts of some numbers."""
        return pl.Series(name, self.texts.take(pa.array(codes)), dtype=pl.String)


class _Rows:
    """The rows of a batch: numbers are counted, and only those that there are become texts.

    Counting the texts themselves costs about three times as much.
    """

    def __init__(self, batch: pa.RecordBatch, clock: Clock) -> None:
        at = batch.column("at").view(pa.int64()).to_numpy()
        self.borders = borders_of(at, clock)
        self.actor, self.place, self.ip, self.kind = (Coded(batch.column(number)) for number in (0, 2, 3, 4))
        self.amount, self.item = batch.column("amount"), batch.column("item")
        period = np.searchsorted(self.borders, at, side="right") - 1
        self.who = period * len(self.actor.texts) + self.actor.codes  # an actor and a period as one number

    def counts(self) -> pl.DataFrame:
        """How many events each actor has in each period, zone and address."""
        where = self.place.codes * len(self.ip.texts) + self.ip.codes
        found = pl.DataFrame({"who": self.who, "where": where}).group_by("who", "where").agg(pl.len().alias("n"))
        zone, address = np.divmod(found["where"].to_numpy(), len(self.ip.texts))
        return self._named(found, self.place.named("place", zone), self.ip.named("ip", address)).select(*_COUNTED)

    def money(self) -> pl.DataFrame:
        """How much money each actor gained in each period, in whole units: their sum has no order."""
        received = self._is(GAINS_WITHOUT_ITEM) & self.item.is_null().to_numpy(zero_copy_only=False)
        amount = pl.Series("money_gained", self.amount, dtype=pl.Float64)
        gained = pl.Series(self._is(GAINS) | received) & (amount > 0) & amount.is_finite()
        some = pl.DataFrame([pl.Series("who", self.who), amount]).filter(gained.fill_null(value=False))
        return self._named(some.group_by("who").agg(pl.col("money_gained").round().sum())).select(*_MONEY)

    def kinds(self, kinds: tuple[str, ...]) -> pl.DataFrame:
        """How many events of some kinds each actor has in each period."""
        some = pl.DataFrame({"who": self.who, "what": self.kind.codes}).filter(pl.Series(self._is(kinds)))
        found = some.group_by("who", "what").agg(pl.len().alias("n"))
        return self._named(found, self.kind.named("kind", found["what"].to_numpy())).select(*_KINDS)

    def _is(self, kinds: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which events are of one of these kinds."""
        wanted = pc.is_in(self.kind.texts, pa.array(kinds, pa.string())).to_numpy(zero_copy_only=False)
        found: NDArray[np.bool_] = wanted[self.kind.codes]
        return found

    def _named(self, found: pl.DataFrame, *more: pl.Series) -> pl.DataFrame:
        """Rows by their `who`, with actor and period; nobody is not counted."""
        period, who = np.divmod(found["who"].to_numpy(), len(self.actor.texts))
        ends = {"since": self.borders.take(period), "until": self.borders.take(period + 1)}
        times = [pl.Series(name, values).cast(TIME) for name, values in ends.items()]
        return found.with_columns(self.actor.named("actor", who), *times, *more).drop_nulls("actor")


def borders_of(at: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """The beginnings of all periods that hold one of the times, and the end of each."""
    numbers = np.unique(clock.numbers(at))
    return clock.begins(np.union1d(numbers, numbers + 1))


def _main_zones(counts: pl.DataFrame) -> pl.DataFrame:
    """The zone with most events of each actor and period, the first by name of several."""
    return (
        counts.filter(pl.col("place").is_not_null())
        .group_by(*_PERIOD, "place")
        .agg(pl.col("n").sum())
        .sort("n", "place", descending=[True, False])
        .group_by(_PERIOD)
        .agg(pl.col("place").first().alias("main_zone"))
    )
