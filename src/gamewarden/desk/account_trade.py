"""With whom an account trades: what it gave and received, and what those did with others."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.core.durations import from_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import seals
from gamewarden.desk.population import Span, population
from gamewarden.workspace.days import Window
from gamewarden.workspace.desk_tables import DeskTables

MOST_NODES = 150
NEAR = 60  # neighbours of the account that are shown at the most; the others' neighbours share what is left
FOLLOWED = 8  # the biggest of them, whose own neighbours are looked up: each more costs as much as the account itself
DAYS = 30  # the latest that are looked at
GIVES = ("trade.give", "mail.send")
RECEIVES = ("trade.receive", "mail.receive")


@dataclass(frozen=True)
class TradeNode:
    """An account of the neighbourhood."""

    actor: str
    depth: int  # 0 is the account itself
    point: str | None  # that of its highest day; None: not judged, or hidden


@dataclass(frozen=True)
class TradeEdge:
    """What one account gave to another."""

    giver: str
    receiver: str
    n: int  # times
    amount: float | None  # None where no event tells one


@dataclass(frozen=True)
class Partner:
    """What passed between the account and one other."""

    actor: str
    given: float | None  # amounts, as the log has them
    received: float | None
    gave: int  # times
    got: int
    met: int  # other dealings that name the other account
    point: str | None


@dataclass(frozen=True)
class Trade:
    """The neighbourhood of an account."""

    actor: str
    days: int  # that were looked at
    nodes: tuple[TradeNode, ...]
    edges: tuple[TradeEdge, ...]
    partners: tuple[Partner, ...]  # the biggest flows first
    more: int  # partners that are not shown
    missing: str = ""  # why there is nothing: day (nothing rests yet), account
    blind: bool = False


def trade(desk: Desk, actor: str, *, depth: int = 2, blind: bool = False) -> Trade:
    """Whom an account gave to and received from in the latest days, and whom those did.

    Raises:
        ReadError: what rests is damaged.
    """
    tables, latest = DeskTables(desk.workspace), seals(desk)[-DAYS:]
    window: Window = (from_micros(latest[0].since), None) if latest else (None, None)
    resting = tables.days(window, "edges")
    mine = _dealings(tables, window, [actor])
    if not mine.height:
        return Trade(
            actor=actor,
            days=len(resting),
            nodes=(),
            edges=(),
            partners=(),
            more=0,
            missing="account" if resting else "day",
            blind=blind,
        )
    near = _partners(mine)
    shown = near["other"].head(NEAR).to_list()
    further = _dealings(tables, window, shown[:FOLLOWED]) if depth > 1 and shown else mine.clear()
    flows = flows_of(pl.concat([mine, further]))
    names, depths = nodes_of(actor, shown, flows)
    points = {} if blind else _points(desk, names)
    inside = flows.filter(pl.col("giver").is_in(names), pl.col("receiver").is_in(names))
    return Trade(
        actor=actor,
        days=len(resting),
        nodes=tuple(TradeNode(name, depths[name], points.get(name)) for name in names),
        edges=tuple(TradeEdge(**row) for row in inside.iter_rows(named=True)),
        partners=tuple(
            Partner(**row, point=points.get(row["actor"])) for row in _told(near.head(NEAR)).iter_rows(named=True)
        ),
        more=max(0, near.height - NEAR),
        missing="",
        blind=blind,
    )


def _dealings(tables: DeskTables, window: Window, actors: Sequence[str]) -> pl.DataFrame:
    """What some accounts did with others, by direction: actor, other, way, n, amount.

    A log may write what is given as a loss, below zero: the direction says so already.
    """
    rows = tables.table("edges", window, actors, ("actor", "other", "kind", "n", "amount"))
    kind = pl.col("kind")
    way = pl.when(kind.is_in(GIVES)).then(pl.lit("gave")).when(kind.is_in(RECEIVES)).then(pl.lit("got"))
    amount = pl.when(pl.col("amount").count() > 0).then(pl.col("amount").sum().abs()).alias("amount")
    named = rows.with_columns(way=way.otherwise(pl.lit("met"))).filter(pl.col("actor") != pl.col("other"))
    return named.group_by("actor", "other", "way").agg(pl.col("n").sum(), amount).sort("actor", "other", "way")


def _partners(mine: pl.DataFrame) -> pl.DataFrame:
    """One row per partner, the biggest flow first."""
    ways = [
        expression
        for way in ("gave", "got", "met")
        for expression in (
            pl.col("n").filter(pl.col("way") == way).sum().alias(way),
            pl.col("amount").filter(pl.col("way") == way).drop_nulls().first().alias(f"{way}_amount"),
        )
    ]
    partners = mine.group_by("other").agg(*ways)
    flow = pl.sum_horizontal("gave_amount", "got_amount")
    times = pl.col("gave") + pl.col("got")
    return partners.sort(flow, times, "met", "other", descending=[True, True, True, False])


def _told(near: pl.DataFrame) -> pl.DataFrame:
    return near.select(
        pl.col("other").alias("actor"),
        pl.when(pl.col("gave") > 0).then("gave_amount").alias("given"),
        pl.when(pl.col("got") > 0).then("got_amount").alias("received"),
        "gave",
        "got",
        "met",
    )


def flows_of(dealings: pl.DataFrame) -> pl.DataFrame:
    """giver, receiver, n, amount; what both sides tell of counts once, as the one that tells more of it has it."""
    gave = dealings.filter(pl.col("way") == "gave").select("actor", "other", "n", "amount")
    got = dealings.filter(pl.col("way") == "got").select(
        pl.col("other").alias("actor"), pl.col("actor").alias("other"), "n", "amount"
    )
    both = pl.concat([gave, got]).rename({"actor": "giver", "other": "receiver"})
    return both.group_by("giver", "receiver").agg(pl.col("n", "amount").max()).sort("giver", "receiver")


def nodes_of(actor: str, near: Sequence[str], flows: pl.DataFrame) -> tuple[list[str], dict[str, int]]:
    """The account, its partners, and as many of theirs as there is room for, the biggest flows first."""
    depths = {actor: 0} | dict.fromkeys(near, 1)
    known = list(depths)
    outside = pl.concat(
        [
            flows.filter(~pl.col(end).is_in(known)).select(pl.col(end).alias("actor"), "n", "amount")
            for end in ("giver", "receiver")
        ]
    )
    ordered = outside.group_by("actor").agg(pl.col("amount").sum(), pl.col("n").sum())
    far = ordered.sort("amount", "n", "actor", descending=[True, True, False])["actor"]
    depths |= dict.fromkeys(far.head(MOST_NODES - len(depths)), 2)
    return list(depths), depths


def _points(desk: Desk, names: Sequence[str]) -> dict[str, str]:
    """The point that each account reached on its highest day."""
    everybody = population(desk, Span(DAYS)).frame
    found = everybody.filter(pl.col("actor").is_in(names)).select("actor", pl.col("point").cast(pl.String))
    return dict(found.drop_nulls("point").iter_rows())
