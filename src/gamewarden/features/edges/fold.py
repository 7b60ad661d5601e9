"""Batches of events in, EDGES out: texts are numbers until the end, and memory grows with edges, never with events."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.core.clock import Clock
from gamewarden.features.edges import kernel
from gamewarden.features.edges.floor import ROW, Floor
from gamewarden.features.folding import Lines, whole
from gamewarden.features.slots import frozen, grown
from gamewarden.features.text_columns import Names
from gamewarden.tables import EDGES, TIME, DataType

GIVES = ("trade.give", "mail.send")
RECEIVES = ("trade.receive", "mail.receive")
FLOOR, ADDRESS, PARTY = "floor", "address", "party"
DROPS, PICKS_UP = "loot.drop", "loot.pickup"
# Kinds that name another account, and how EDGES call them: whoever picks something up says who had dropped it.
DEALINGS: Mapping[str, str] = {
    **{kind: kind for kind in (*GIVES, *RECEIVES, "market.buy", "market.sell")},
    "party.join": PARTY,
    PICKS_UP: FLOOR,
}
_KINDS = (*DEALINGS, DROPS)
_SELLS, _BUYS, _PICKS_UP, _DROPS = (_KINDS.index(one) for one in ("market.sell", "market.buy", PICKS_UP, DROPS))
_GIVE = [_KINDS.index(kind) for kind in GIVES]
# What logs that name money in the column `item` call it.
MONEY = frozenset(
    {"adena", "coin", "coins", "gil", "gold", "gold coin", "gold coins", "kinah", "meso", "mesos", "money", "zeny"}
)
_COMPACT = 1 << 20  # events that wait in memory before they are added up
_STRIDE = 1 << 14  # rows a call of the kernel, which bounds how many new entries one call can bring
_FEW_DAYS = 1 << 12
# Money is added up in whole parts of a unit so small that nobody misses less: such a sum has no order.
_GRAIN = 1024.0
_BIGGEST = 2.0**42
_SUMS: Mapping[str, DataType] = {
    "day": pl.Int64,
    "actor": pl.Int32,
    "other": pl.Int32,
    "kind": pl.Int32,
    "n": pl.Int64,
    "amount": pl.Float64,
    "items": pl.Int64,
    "first": pl.Int64,
    "last": pl.Int64,
}
PLAY: Mapping[str, DataType] = {
    "since": TIME,
    "until": TIME,
    "actor": pl.String,
    "n": pl.Int64,
    "minutes": pl.Int64,  # in stretches of ten, each of which has an event
    "first": TIME,
    "last": TIME,
}


def is_money(items: pl.Series) -> pl.Series:
    """Which items are money; none is null."""
    return items.str.strip_chars().str.to_lowercase().is_in(MONEY).fill_null(value=False)


class _Rows(NamedTuple):
    """A batch as numbers."""

    actor: NDArray[np.int32]  # -1: nobody
    kind: NDArray[np.int32]
    at: NDArray[np.int64]


class EdgesFold:
    """Who had to do with whom, from where everybody played and how long, day by day of a clock."""

    columns = ("actor", "at", "kind", "zone", "x", "y", "item", "amount", "other", "ip")

    def __init__(self, clock: Clock, floor: Floor | None = None, *, entity: str = "actor") -> None:
        """`entity` is the column that names who acts; `other` names accounts, whatever it is."""
        self.columns = (entity, *EdgesFold.columns[1:])
        self._clock = clock
        self._accounts, self._addresses, self._things, self._kinds = Names(), Names(), Names(), Names(_KINDS)
        self._table = np.zeros(1 << 14, np.int64)
        self._entries = grown(np.empty(0, kernel.ENTRY), 1 << 12)
        self._count = 0
        self._sums = _Sums()
        self._floor = Floor() if floor is None else floor
        self._seen_all = False

    def push(self, batch: pa.RecordBatch) -> None:
        """Count one batch."""
        if not batch.num_rows:
            return
        columns = dict(zip(EdgesFold.columns, batch.columns, strict=True))
        rows = self._numbered(columns)
        if not self._seen_all:
            days = self._days(rows.at)
            address = self._addresses.numbers(columns["ip"])
            self._tally(kernel.Rows(rows.actor, address, rows.at, days, self._clock.begins(days)))
            self._sums.add(self._dealings(columns, rows))
        self._floor.see(rows.at)
        self._floor.add(self._on_the_floor(columns, rows))

    def again(self) -> bool:
        """Where more things lie on the floor than can be kept, and time went backwards."""
        self._seen_all = True
        return self._floor.again()

    def notes(self) -> Lines:
        """Nothing."""
        return Lines()

    def edges(self) -> pl.DataFrame:
        """EDGES of all that has come."""
        accounts = self._account_names()
        kinds = pl.Series([*DEALINGS.values()], dtype=pl.String)
        named = self._sums.total(self._handed_on())
        between = named.with_columns(_text(accounts, "actor"), _text(accounts, "other"), _text(kinds, "kind"))
        rows = pl.concat([between, self._at_addresses(accounts)])
        timed = self._timed(rows).select(pl.col(name).cast(dtype) for name, dtype in EDGES.columns.items())
        return timed.sort("since", "actor", "other", "kind")

    def play(self) -> pl.DataFrame:
        """PLAY: how much everybody did on each day, and in how many minutes."""
        tens = [pl.col(f"tens{word}").bitwise_or().bitwise_count_ones().cast(pl.Int64) for word in range(3)]
        ends = pl.col("first").min(), pl.col("last").max()
        rows = self._days_at_addresses().group_by("day", "actor")
        days = rows.agg(pl.col("n").sum(), *ends, minutes=10 * pl.sum_horizontal(tens))
        timed = self._timed(days.with_columns(_text(self._account_names(), "actor")))
        return timed.select(pl.col(name).cast(dtype) for name, dtype in PLAY.items()).sort("since", "actor")

    def _numbered(self, columns: Mapping[str, pa.Array]) -> _Rows:
        at = frozen(whole(columns["at"], "at", "edges").view(pa.int64()).to_numpy())
        return _Rows(self._accounts.numbers(columns["actor"]), self._kinds.numbers(columns["kind"]), at)

    def _days(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the days that some times lie in; some more where they are not many."""
        first, last = self._clock.numbers(np.array([at.min(), at.max()])).tolist()
        return np.arange(first, last + 1) if last - first < _FEW_DAYS else np.unique(self._clock.numbers(at))

    def _tally(self, rows: kernel.Rows) -> None:
        for begin in range(0, len(rows.at), _STRIDE):
            end = min(begin + _STRIDE, len(rows.at))
            most = self._count + end - begin
            if most > len(self._entries):
                self._entries = grown(self._entries, 2 * most)
            if 2 * most > len(self._table):
                self._table = kernel.spread(self._entries, self._count, 1 << (4 * most).bit_length())
            self._count = kernel.tally(rows, begin, end, self._table, self._entries, self._count)

    def _dealings(self, columns: Mapping[str, pa.Array], rows: _Rows) -> pl.DataFrame:
        """Events that name another account."""
        named = columns["other"].is_valid().to_numpy(zero_copy_only=False)
        place = np.flatnonzero(named & (rows.kind >= 0) & (rows.kind < len(DEALINGS)) & (rows.actor >= 0))
        other, item, amount = (columns[name].take(pa.array(place)) for name in ("other", "item", "amount"))
        named_items = pl.Series(item, dtype=pl.String)
        return pl.DataFrame(
            {
                "day": self._clock.numbers(rows.at[place]),
                "actor": rows.actor[place],
                "other": self._accounts.numbers(other),
                "kind": rows.kind[place],
                "at": rows.at[place],
                "has_item": named_items.is_not_null() & ~is_money(named_items),
                "amount": _numbers(amount),
            }
        )

    def _on_the_floor(self, columns: Mapping[str, pa.Array], rows: _Rows) -> pl.DataFrame:
        """What is dropped and picked up where no event says between whom."""
        alone = columns["other"].is_null().to_numpy(zero_copy_only=False)
        either = (rows.kind == _DROPS) | (rows.kind == _PICKS_UP)
        place = np.flatnonzero(either & alone & (rows.actor >= 0))
        if not place.size:
            return pl.DataFrame(schema=dict(ROW))
        zone, item, x, y, amount = (
            columns[name].take(pa.array(place)) for name in ("zone", "item", "x", "y", "amount")
        )
        found = {
            "dropped": rows.kind[place] == _DROPS,
            "day": self._clock.numbers(rows.at[place]),
            "zone": self._things.numbers(zone),
            "item": self._things.numbers(item),
            "at": rows.at[place],
            "actor": rows.actor[place],
            "count": _numbers(amount),
            "x": _numbers(x).astype(np.float32),
            "y": _numbers(y).astype(np.float32),
        }
        return pl.DataFrame(found, schema=dict(ROW)).filter(pl.col("item") >= 0)

    def _handed_on(self) -> pl.DataFrame:
        """Floor trades that no event names."""
        count, texts = pl.col("count").fill_nan(1.0), pl.Series(self._things.texts(), dtype=pl.String)
        money = pl.col("item").is_in(pl.arg_where(is_money(texts), eager=True).cast(pl.Int32))
        return self._floor.pairs().select(
            "day",
            "actor",
            "other",
            kind=pl.lit(_PICKS_UP, pl.Int32),
            n=pl.lit(1, pl.Int64),
            amount=pl.when(money).then(-count),
            items=pl.when(~money).then(-count.round().cast(pl.Int64)),
            first="at",
            last="at",
        )

    def _account_names(self) -> pl.Series:
        return pl.Series("account", self._accounts.texts(), dtype=pl.String)

    def _days_at_addresses(self) -> pl.DataFrame:
        entries = self._entries[: self._count]
        return pl.DataFrame({name: entries[name] for name in kernel.ENTRY.names or ()})

    def _at_addresses(self, accounts: pl.Series) -> pl.DataFrame:
        addresses = pl.Series("address", self._addresses.texts(), dtype=pl.String)
        told = self._days_at_addresses().filter(pl.col("address") >= 0)
        named = told.with_columns(
            _text(accounts, "actor"),
            _text(addresses, "address").alias("other"),
            kind=pl.lit(ADDRESS),
            amount=pl.lit(None, pl.Float64),
            items=pl.lit(None, pl.Int64),
        )
        return named.select(list(_SUMS))

    def _timed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the borders of their day."""
        day = rows["day"].to_numpy()
        since, until = (pl.Series(self._clock.begins(day + later)).cast(TIME) for later in (0, 1))
        return rows.with_columns(pl.col("first", "last").cast(TIME), since=since, until=until)


class _Sums:
    """Dealings with others, added up before they are too many."""

    def __init__(self) -> None:
        self._sum = pl.DataFrame(schema=dict(_SUMS))
        self._fresh: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, dealings: pl.DataFrame) -> None:
        """Take some in."""
        if not dealings.height:
            return
        self._fresh.append(dealings)
        self._waiting += dealings.height
        if self._waiting > _COMPACT:
            self._sum = self.total()
            self._fresh, self._waiting = [], 0

    def total(self, more: pl.DataFrame | None = None) -> pl.DataFrame:
        """One row per day, actor, other and kind."""
        fresh = [_added(_told(pl.concat(self._fresh)))] if self._fresh else []
        return _added(pl.concat([self._sum, *fresh, *([] if more is None else [more.select(list(_SUMS))])]))


def _told(dealings: pl.DataFrame) -> pl.DataFrame:
    """Events with money and items told apart.

    On a market the sign tells: who sells gains money, and who buys gives some. Elsewhere what has an item is that
    many of it, one where no number stands there. What is picked up was given by the one that had dropped it.
    """
    amount, kind = pl.col("amount").fill_nan(None), pl.col("kind")
    sells, buys, takes_up = kind == _SELLS, kind == _BUYS, kind == _PICKS_UP
    in_money = ~pl.col("has_item") | (sells & (amount > 0)) | (buys & (amount < 0))
    count = pl.when(~in_money).then(amount).fill_null(pl.when(kind.is_in([*_GIVE, _SELLS])).then(-1).otherwise(1))
    actor, other = (pl.when(takes_up).then(one).otherwise(two) for one, two in (("other", "actor"), ("actor", "other")))
    items = pl.when(takes_up).then(-count.abs()).otherwise(count).round().cast(pl.Int64)
    money = pl.when(in_money).then(pl.when(takes_up).then(-amount.abs()).otherwise(amount))
    return dealings.select(
        "day",
        actor=actor,
        other=other,
        kind="kind",
        n=pl.lit(1, pl.Int64),
        amount=(money * _GRAIN).round() / _GRAIN,
        items=pl.when("has_item").then(items),
        first="at",
        last="at",
    )


def _added(rows: pl.DataFrame) -> pl.DataFrame:
    sums = [pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in ("amount", "items")]
    ends = pl.col("first").min(), pl.col("last").max()
    return rows.group_by("day", "actor", "other", "kind").agg(pl.col("n").sum(), *sums, *ends).select(list(_SUMS))


def _numbers(column: pa.Array) -> NDArray[np.float64]:
    """Numbers that can be counted with, NaN where there is none."""
    found = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.abs(found) < _BIGGEST, found, np.nan)


def _text(texts: pl.Series, name: str) -> pl.Expr:
    """A column of numbers as the texts they stand for."""
    return pl.lit(texts).gather(pl.col(name)).alias(name)
