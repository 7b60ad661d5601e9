"""Who gives to whom: gifts of some days by pair, and whether they go one way or are an exchange.

A transfer that both sides logged is counted once. What is bought and sold on a market is paid for, and no gift.
"""

from collections.abc import Mapping

import polars as pl

from gamewarden.groups.graphs import names_in
from gamewarden.tables import TIME, Schema

FLOWS = Schema(
    "FLOWS",  # one row per pair of accounts and direction in which something was given
    {
        "giver": pl.String,
        "taker": pl.String,
        "n": pl.Int64,  # gifts
        "amount": pl.Float64,  # money
        "items": pl.Float64,  # pieces
        "value": pl.Float64,  # money, and for each gift of items what a usual gift of money has
        "back_n": pl.Int64,  # the same from taker to giver
        "back_amount": pl.Float64,
        "back_items": pl.Float64,
        "back_value": pl.Float64,
        "one_way": pl.Boolean,
        "exchange": pl.Boolean,  # neither direction is one-way
        "first": TIME,
        "last": TIME,
    },
    required=("giver", "taker", "n", "value", "one_way", "exchange"),
)
# How gifts are logged: by the one who gives, and by the one who takes. A floor trade has one row for both.
GIVEN: Mapping[str, str] = {"trade.give": "trade", "mail.send": "mail", "floor": "floor"}
TAKEN: Mapping[str, str] = {"trade.receive": "trade", "mail.receive": "mail"}
MARKET = ("market.buy", "market.sell")
PARTY, ADDRESS = "party", "address"
BACK_GIFTS = 1 / 3  # a hub that hands a tool to its farmer now and then still only takes
BACK_MONEY = 0.1
_DIGITS = 6  # of a sum: so it is the same in whatever order it was added up
_TIMES = ("first", "last")
_CHANNELS = pl.Enum(["trade", "mail", "floor"])
_NUMBERS = ("n", "amount", "items", "value")


def flows(edges: pl.DataFrame) -> pl.DataFrame:
    """FLOWS of all days in EDGES together.

    A flow is one-way where at most a third as many gifts and a tenth as much money come back; where only items are
    given, any money that comes back pays for them.
    """
    told, names = _numbered(edges)
    given = _valued(_gifts(told))
    sums = given.group_by("giver", "taker").agg(pl.col(*_NUMBERS).sum(), pl.col("first").min(), pl.col("last").max())
    back = sums.select(giver="taker", taker="giver", **{f"back_{name}": pl.col(name) for name in _NUMBERS})
    both = sums.join(back, on=["giver", "taker"], how="left").with_columns(pl.col("^back_.*$").fill_null(0))
    both = both.sort("giver", "taker").with_columns(one_way=_one_way("", "back_"))
    both = both.with_columns(exchange=~pl.col("one_way") & ~_one_way("back_", ""))
    named = both.with_columns(names.gather(both[side]).alias(side) for side in ("giver", "taker"))
    return named.select(pl.col(name).cast(dtype) for name, dtype in FLOWS.columns.items())


def _numbered(edges: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Gifts with numbers instead of names, which take a fraction of the room; and the names in order."""
    times = [pl.col(name).cast(TIME) if name in edges.columns else pl.lit(None, TIME).alias(name) for name in _TIMES]
    kinds = pl.col("kind").cast(pl.String)
    rows = edges.filter(kinds.is_in([*GIVEN, *TAKEN])).select(
        pl.col("actor", "other").cast(pl.String),
        kinds.cast(pl.Enum([*GIVEN, *TAKEN])),
        pl.col("n").cast(pl.Int64),
        pl.col("amount", "items").cast(pl.Float64).fill_null(0.0).abs(),  # who gives loses, who takes gains
        *times,
    )
    names = names_in(rows["actor"], rows["other"])
    numbers = [pl.col(side).cast(pl.Enum(names)).to_physical().cast(pl.UInt32) for side in ("actor", "other")]
    return rows.with_columns(numbers), names


def _one_way(there: str, back: str) -> pl.Expr:
    few = pl.col(f"{back}n") <= BACK_GIFTS * pl.col(f"{there}n")
    cheap = pl.col(f"{back}amount") <= BACK_MONEY * pl.col(f"{there}amount")
    return few & cheap


def _gifts(edges: pl.DataFrame) -> pl.DataFrame:
    """Gifts by pair and channel; of both sides' reports the one that tells more counts."""
    sides = pl.concat([_side(edges, GIVEN, "actor", "other"), _side(edges, TAKEN, "other", "actor")])
    known = sides.filter(pl.col("giver").is_not_null() & pl.col("taker").is_not_null())
    known = known.filter(pl.col("giver") != pl.col("taker"))
    pair = ("giver", "taker", "channel")
    ends = pl.col("first").min(), pl.col("last").max()
    reports = known.group_by(*pair, "told_by").agg(
        pl.col("n").sum(), pl.col("amount", "items").sum().round(_DIGITS), *ends
    )
    return reports.group_by(*pair).agg(pl.col("n", "amount", "items").max(), *ends)


def _side(edges: pl.DataFrame, kinds: Mapping[str, str], giver: str, taker: str) -> pl.DataFrame:
    rows = edges.filter(pl.col("kind").is_in(list(kinds)))
    channel = pl.col("kind").cast(pl.String).replace_strict(kinds, return_dtype=_CHANNELS)
    told_by = pl.lit(giver == "actor")
    return rows.select("n", "amount", "items", *_TIMES, giver=giver, taker=taker, channel=channel, told_by=told_by)


def _valued(gifts: pl.DataFrame) -> pl.DataFrame:
    """Gifts with one number for money and items: nobody knows what an item is worth, so a gift of items counts as one.

    It counts as much as the usual gift of money, and as 1 where no money was given at all; so does a gift of which the
    log does not say what it was.
    """
    money = gifts.filter((pl.col("amount") > 0) & (pl.col("items") == 0))
    usual = money.select((pl.col("amount") / pl.col("n")).median()).item()
    with_items = pl.when(pl.col("amount") == 0).then(pl.col("n")).when(pl.col("items") == 0).then(0)
    # A pair with gifts of both sorts has at least one of each; how many of each the table does not tell.
    of_both = pl.max_horizontal(1, pl.col("n") // 2)
    return gifts.with_columns(value=pl.col("amount") + with_items.otherwise(of_both) * pl.lit(usual or 1.0))


def ties(edges: pl.DataFrame, kinds: tuple[str, ...]) -> pl.DataFrame:
    """Pairs that did something of these kinds with each other, whoever of them logged it: one, other, n."""
    rows = edges.filter(pl.col("kind").cast(pl.String).is_in(list(kinds))).select(
        pl.col("actor", "other").cast(pl.String), pl.col("n").cast(pl.Int64)
    )
    known = rows.drop_nulls(["actor", "other"]).filter(pl.col("actor") != pl.col("other"))
    ordered = known.select("n", one=pl.min_horizontal("actor", "other"), other=pl.max_horizontal("actor", "other"))
    return ordered.group_by("one", "other").agg(pl.col("n").sum()).sort("one", "other")
