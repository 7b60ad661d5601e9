"""EDGES made up by hand: who gave what to whom, one line a gift."""

import polars as pl

SCHEMA = {
    "actor": pl.String,
    "other": pl.String,
    "kind": pl.String,
    "n": pl.Int64,
    "amount": pl.Float64,
    "items": pl.Float64,
}


def edges(*rows):
    """EDGES of one week from (actor, other, kind, n, money, items); what is left out is nothing."""
    whole = [(*row, *(1, 0.0, 0.0)[len(row) - 3 :]) for row in rows]
    return pl.DataFrame(whole, SCHEMA, orient="row")


def gave(giver, taker, n=1, money=0.0, *, items=0.0, kind="trade.give"):
    """A gift as the one who gave logged it: what it lost."""
    return (giver, taker, kind, n, -money, -items)


def got(taker, giver, n=1, money=0.0, *, items=0.0, kind="trade.receive"):
    """A gift as the one who took logged it."""
    return (taker, giver, kind, n, money, items)


def hours(default=5.0, *names, **known):
    """How long each played in the week."""
    played = {**dict.fromkeys(names, default), **known}
    return pl.DataFrame(
        {"actor": list(played), "hours": list(played.values())}, {"actor": pl.String, "hours": pl.Float64}
    )
