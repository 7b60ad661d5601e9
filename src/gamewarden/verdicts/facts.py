"""What an operator filters a list by beside the scores: money, addresses, accounts that share one, events of a kind."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.errors import ConfigError
from gamewarden.tables import DataType
from gamewarden.verdicts.filters import Filter, range_filters

MONEY, SHARING = "money_gained", "sharing"
_NAMED = 5  # kinds in a message


@dataclass(frozen=True)
class Facts:
    """Which facts somebody filters by."""

    money: str | None = None  # FROM[:TO]
    kinds: tuple[str, ...] = ()
    sharing: int | None = None  # at least so many other accounts at one of its addresses

    @property
    def filters(self) -> tuple[Filter, ...]:
        """As conditions on the list.

        Raises:
            ConfigError: the money is no range.
        """
        least = () if self.sharing is None else (Filter(SHARING, ">=", (str(self.sharing),)),)
        return (*range_filters(MONEY, self.money), *(Filter(kind, ">=", ("1",)) for kind in self.kinds), *least)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that the list shows since somebody asked."""
        money = () if self.money is None else (MONEY,)
        shared = () if self.sharing is None else ("addresses", SHARING)
        return (*money, *shared, *self.kinds)

    @property
    def schema(self) -> Mapping[str, DataType]:
        """What `of` gives."""
        shared = {} if self.sharing is None else {SHARING: pl.Int64}
        return {
            "actor": pl.String,
            MONEY: pl.Float64,
            "addresses": pl.Int64,
            **dict.fromkeys(self.kinds, pl.Int64),
            **shared,
        }

    def refuse_unknown(self, name: str, columns: Collection[str], shows: Collection[str] | None) -> None:
        """Stop over what a source cannot answer, before anything long is done.

        Raises:
            ConfigError: it has no amounts or addresses, or shows no event of a kind.
        """
        for column, asked, option in (
            ("amount", self.money is not None, "--money"),
            ("ip", self.sharing is not None, "--shares-address"),
        ):
            if asked and column not in columns:
                raise ConfigError(f"rank: {name} has no {column}; leave {option} out, or map the column (--map)")
        for kind in self.kinds:
            if shows is not None and kind not in shows:
                raise ConfigError(f"rank: {name} shows no event of kind {kind!r}; it shows {_some(sorted(shows))}")

    def of(self, activity: pl.DataFrame, addresses: pl.DataFrame | None = None) -> pl.DataFrame:
        """One row per actor, from FEATURES of its activity and, for sharing, who was at which address.

        Money and events of a kind are sums over all periods, `addresses` the most in one period.
        """
        sums = [pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in (MONEY, *self.kinds)]
        table = activity.group_by("actor").agg(pl.col("addresses").max(), *sums)
        if self.sharing is not None and addresses is not None:
            table = table.join(sharing_of(addresses), on="actor", how="left")
        return table.select(pl.col(name).cast(dtype) for name, dtype in self.schema.items())


def sharing_of(addresses: pl.DataFrame) -> pl.DataFrame:
    """One row per actor: how many other accounts were seen, on any day, at the address it shares with most."""
    pairs = addresses.select("actor", "address").unique()
    crowd = pairs.group_by("address").agg((pl.len() - 1).cast(pl.Int64).alias(SHARING))
    return pairs.join(crowd, on="address").group_by("actor").agg(pl.col(SHARING).max())


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}" if names else "none"
