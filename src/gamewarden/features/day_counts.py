"""What accounts did in one day, in counts: at which hours, of which kinds, with whom, from where, and in which places.

One reading of the day's events for all of them; no detector learns from these numbers, people look at them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gamewarden.contracts import EventStream, Progress, no_progress
from gamewarden.core.clock import Clock
from gamewarden.core.durations import HOUR
from gamewarden.features.activity import Coded
from gamewarden.tables import TIME, DataType

_HOURS = 24
_COMPACT = 1 << 22  # partial sums that wait in memory before they are added up
_FINEST = -6  # squares begin with a side of 2 ** -6, and grow until a zone is at most so many wide
_ACROSS = 64
_FARTHEST = 2.0**40  # coordinates beyond are damage
_COLUMNS = ("at", "kind", "zone", "x", "y", "level", "amount", "other", "ip")


class DayCounts:
    """Counts that grow with accounts and what they did, never with events."""

    def __init__(
        self,
        kinds: Sequence[str],
        *,
        other_kinds: str,
        time_zone: str = "UTC",
        entity: str = "actor",
        suspected: Collection[str] = (),
    ) -> None:
        self.columns = (entity, *_COLUMNS)
        self._names = pa.array([*kinds, other_kinds], pa.string())
        self._clock = Clock(HOUR, time_zone)
        self._suspected = pa.array(sorted(suspected), pa.string())
        self._hours = _Sums({"actor": pl.String, "hour": pl.Int8}, {"n": pl.Int64})
        self._levels = _Sums({"actor": pl.String}, {"level": pl.Int64}, "max")
        self._mix = _Sums({"actor": pl.String, "kind": pl.String}, {"n": pl.Int64})
        self._addresses = _Sums({"actor": pl.String, "address": pl.String}, {"n": pl.Int64})
        self._edges = _Edges()
        self._cells = _Cells()

    def read(self, events: EventStream, progress: Progress = no_progress) -> "DayCounts":
        """Count all events of a stream."""
        for batch in events.batches(self.columns):
            self.push(batch)
            progress(batch.num_rows)
        return self

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch; what nobody did is not counted."""
        known = batch.filter(pc.is_valid(batch.column(0)))
        if not known.num_rows:
            return
        actor = Coded(known.column(0))
        hour = self._clock.numbers(known.column("at").view(pa.int64()).to_numpy()) % _HOURS
        self._hours.add(_pairs(actor, hour, _HOURS, lambda codes: pl.Series("hour", codes.astype(np.int8))))
        self._count_kinds(actor, Coded(known.column("kind")))
        self._count_levels(actor, known)
        self._count_addresses(actor, Coded(known.column("ip")))
        self._edges.add(actor, known)
        wanted = pc.is_in(actor.texts, self._suspected).to_numpy(zero_copy_only=False)
        self._cells.add(known, wanted[actor.codes])

    def hours(self) -> pl.DataFrame:
        """One row per actor: its events, its highest level, and the events of each hour."""
        names = [f"h{hour:02}" for hour in range(_HOURS)]
        by_hour = [pl.col("n").filter(pl.col("hour") == hour).sum().alias(name) for hour, name in enumerate(names)]
        rows = self._hours.total().group_by("actor").agg(pl.col("n").sum().alias("events"), *by_hour)
        return rows.join(self._levels.total(), on="actor", how="left").sort("actor")

    def mix(self) -> pl.DataFrame:
        """One row per actor and kind, rare kinds together."""
        return self._mix.total().sort("actor", "kind")

    def edges(self) -> pl.DataFrame:
        """One row per actor, other account and kind."""
        return self._edges.total()

    def addresses(self) -> pl.DataFrame:
        """One row per actor and address."""
        return self._addresses.total().sort("actor", "address")

    def cells(self) -> pl.DataFrame:
        """One row per square of a zone."""
        return self._cells.total()

    def _count_kinds(self, actor: Coded, kind: Coded) -> None:
        others = len(self._names) - 1
        place = pc.index_in(kind.texts, self._names.slice(0, others)).fill_null(others).to_numpy()
        codes = place[kind.codes].astype(np.int64)
        self._mix.add(_pairs(actor, codes, others + 1, lambda found: _texts("kind", self._names, found)))

    def _count_levels(self, actor: Coded, batch: pa.RecordBatch) -> None:
        rows = pl.DataFrame([pl.Series("who", actor.codes), pl.Series("level", batch.column("level"), dtype=pl.Int64)])
        found = rows.drop_nulls().group_by("who").agg(pl.col("level").max())
        self._levels.add(found.select(actor.named("actor", found["who"].to_numpy()), "level"))

    def _count_addresses(self, actor: Coded, address: Coded) -> None:
        width = len(address.texts)
        found = _pairs(actor, address.codes, width, lambda codes: address.named("address", codes))
        self._addresses.add(found.drop_nulls("address"))


class _Sums:
    """Partial sums, added up before they are too many."""

    def __init__(self, keys: Mapping[str, DataType], numbers: Mapping[str, DataType], how: str = "sum") -> None:
        self._schema = {**keys, **numbers}
        self._keys = list(keys)
        self._sums = [pl.col(name).max() if how == "max" else pl.col(name).sum() for name in numbers]
        self._parts = [pl.DataFrame(schema=self._schema)]
        self._waiting = 0

    def add(self, part: pl.DataFrame) -> None:
        """Take some in."""
        if part.height:
            self._parts.append(part.select(pl.col(name).cast(kind) for name, kind in self._schema.items()))
            self._waiting += part.height
        if self._waiting > _COMPACT:
            self._parts, self._waiting = [self.total()], 0

    def total(self) -> pl.DataFrame:
        """One row per key."""
        return pl.concat(self._parts).group_by(self._keys).agg(self._sums)


class _Edges:
    """Who did what with whom: few events name another account, and those are added up."""

    _KEYS: Mapping[str, DataType] = {"actor": pl.String, "other": pl.String, "kind": pl.String}
    _NUMBERS: Mapping[str, DataType] = {"n": pl.Int64, "amount": pl.Float64, "first": TIME, "last": TIME}

    def __init__(self) -> None:
        self._parts = [pl.DataFrame(schema={**self._KEYS, **self._NUMBERS})]
        self._waiting = 0

    def add(self, actor: Coded, batch: pa.RecordBatch) -> None:
        """Take a batch in."""
        named = pc.is_valid(batch.column("other"))
        some = batch.filter(named)
        if not some.num_rows:
            return
        who = actor.named("actor", actor.codes[named.to_numpy(zero_copy_only=False)])
        texts = [Coded(some.column(name)) for name in ("other", "kind")]
        amount = pl.Series("amount", some.column("amount"), dtype=pl.Float64)
        at = pl.Series("at", some.column("at"), dtype=TIME)
        rows = pl.DataFrame(
            [who, *(one.named(name, one.codes) for name, one in zip(("other", "kind"), texts, strict=True))]
        )
        rows = rows.with_columns(
            n=pl.lit(1, pl.Int64), amount=pl.when(amount.is_finite()).then(amount), first=at, last=at
        )
        self._parts.append(self._added([rows]))
        self._waiting += self._parts[-1].height
        if self._waiting > _COMPACT:
            self._parts, self._waiting = [self._added(self._parts)], 0

    def total(self) -> pl.DataFrame:
        """One row per actor, other and kind."""
        return self._added(self._parts).sort("actor", "other", "kind")

    def _added(self, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        amount = pl.when(pl.col("amount").count() > 0).then(pl.col("amount").sum()).alias("amount")
        ends = pl.col("first").min(), pl.col("last").max()
        return pl.concat(parts).group_by(list(self._KEYS)).agg(pl.col("n").sum(), amount, *ends)


class _Cells:
    """Squares of zones: their sides double whenever a zone turns out to be wider."""

    _SCHEMA: Mapping[str, DataType] = {
        "zone": pl.String,
        "grain": pl.Int8,
        "x": pl.Int64,
        "y": pl.Int64,
        "n": pl.Int64,
        "suspected": pl.Int64,
    }

    def __init__(self) -> None:
        self._total = pl.DataFrame(schema=dict(self._SCHEMA))

    def add(self, batch: pa.RecordBatch, suspected: NDArray[np.bool_]) -> None:
        """Take a batch in."""
        x, y = (pl.Series(name, batch.column(name), dtype=pl.Float64) for name in ("x", "y"))
        if x.null_count() == len(x) or y.null_count() == len(y):
            return
        zone = Coded(batch.column("zone"))
        rows = pl.DataFrame([pl.Series("place", zone.codes), x, y, pl.Series("suspected", suspected)])
        near = rows.drop_nulls().filter((pl.col("x").abs() < _FARTHEST) & (pl.col("y").abs() < _FARTHEST))
        side = 2.0**_FINEST
        squares = near.with_columns((pl.col("x", "y") / side).floor().cast(pl.Int64), grain=pl.lit(_FINEST, pl.Int8))
        counted = squares.group_by("place", "grain", "x", "y").agg(
            pl.len().cast(pl.Int64).alias("n"), pl.col("suspected").sum().cast(pl.Int64)
        )
        named = counted.with_columns(zone.named("zone", counted["place"].to_numpy())).drop_nulls("zone")
        self._total = coarsened(pl.concat([self._total, named.select(*self._SCHEMA)]))

    def total(self) -> pl.DataFrame:
        """One row per square."""
        rows = self._total.sort("zone", "x", "y")
        return rows.select("zone", (2.0 ** pl.col("grain").cast(pl.Float64)).alias("side"), "x", "y", "n", "suspected")


def coarsened(cells: pl.DataFrame) -> pl.DataFrame:
    """Squares of several sizes as squares of one size a zone, so large that no zone is more than some across."""
    size = 2.0 ** pl.col("grain").cast(pl.Float64)
    ends = cells.group_by("zone").agg(
        pl.col("grain").max().cast(pl.Int64).alias("coarse"),
        *((pl.col(side) * size).min().alias(f"{side}0") for side in "xy"),
        *(((pl.col(side) + 1) * size).max().alias(f"{side}1") for side in "xy"),
    )
    wide = pl.max_horizontal(pl.col("x1") - pl.col("x0"), pl.col("y1") - pl.col("y0"))
    needed = (wide / _ACROSS).log(2).ceil().cast(pl.Int64)
    grains = ends.select("zone", pl.max_horizontal("coarse", needed).alias("to"))
    moved = cells.join(grains, on="zone").with_columns(
        pl.col("x", "y") // pl.lit(2, pl.Int64).pow(pl.col("to") - pl.col("grain")), grain=pl.col("to").cast(pl.Int8)
    )
    return moved.group_by("zone", "grain", "x", "y").agg(pl.col("n", "suspected").sum())


def _pairs(
    actor: Coded, what: NDArray[np.int64], width: int, named: Callable[[NDArray[np.int64]], pl.Series]
) -> pl.DataFrame:
    """How often each pair of an actor and something else is there."""
    both = pl.DataFrame({"both": actor.codes * width + what}).group_by("both").agg(pl.len().alias("n"))
    who, other = np.divmod(both["both"].to_numpy(), width)
    return both.select(actor.named("actor", who), named(other), "n")


def _texts(name: str, texts: pa.Array, codes: NDArray[np.int64]) -> pl.Series:
    return pl.Series(name, texts.take(pa.array(codes)), dtype=pl.String)
