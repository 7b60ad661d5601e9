"""An account's place among those who give and take: numbers that need nobody but the accounts around it.

No community is looked for here, so a place is the same however the rest of the game is divided.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from gamewarden.core.kernels import kernel
from gamewarden.groups.flowing import ADDRESS, MARKET, PARTY, flows, ties
from gamewarden.groups.graphs import Ints, clustering_of, coded, graph_of, names_in
from gamewarden.groups.rules import LEAST_MEMBERS, LOYAL, MOST_CLUSTERING, PASSES_ON, SHARE_TO_HUB, SHORT_HOURS
from gamewarden.tables import DataType

PLACES: Mapping[str, DataType] = {
    "actor": pl.String,
    "hours": pl.Float64,  # played, in a week
    "takers": pl.Int64,  # accounts it gives to and gets nothing back from
    "givers": pl.Int64,
    "gave": pl.Float64,  # value of what it gave one way; as in FLOWS
    "got": pl.Float64,
    "gave_n": pl.Int64,
    "got_n": pl.Int64,
    "gave_per_hour": pl.Float64,
    "got_per_hour": pl.Float64,
    "one_way": pl.Float64,  # share of the value of all gifts, given and got, that went one way
    "to_one": pl.Float64,  # share of all it gave that went one way to one account
    "from_one": pl.Float64,  # share of all it got that came one way from one account
    "passed_on": pl.Float64,  # what it gave one way for each unit it got so, at most 2
    "main_taker": pl.String,
    "with_taker": pl.Boolean,  # whether it was also in a party with that account
    "loyal": pl.Int64,  # accounts that give nearly all they give to this one, and get nothing back
    "loyal_share": pl.Float64,  # of all with whom it has gifts
    "loyal_hours": pl.Float64,  # their median play in a week
    "mesh": pl.Float64,  # share of pairs among those with whom it has ties that have ties themselves
    "star": pl.String,  # the hub it is around: itself, or its main taker
    "star_n": pl.Int64,  # the hub and those loyal to it; 0: there is none
    "star_share": pl.Float64,  # share of what the hub's givers give that goes to the hub
    "star_hours": pl.Float64,
    "star_mesh": pl.Float64,
    "star_tied": pl.Float64,  # share of the hub's loyal givers that trade or play with it or with each other
    "star_score": pl.Float64,  # 1 where all conditions of a star are met
    "chain_n": pl.Int64,  # accounts in the chain that it is in, each giving nearly all to the next; 1: none
    "exchanges": pl.Int64,  # accounts it gives to and gets from
    "parties": pl.Int64,
    "market": pl.Int64,
    "sharing": pl.Int64,  # other accounts at the address it shares with most
}
_MOST_PASSED = 2.0
_WEEK = 7.0


def places(edges: pl.DataFrame, hours: pl.DataFrame, days: float | None = None) -> pl.DataFrame:
    """PLACES of everybody in `hours` (actor, hours) or in a gift of EDGES.

    `days` is how long the time is that both speak of; by default what `since` and `until` of EDGES tell, else a week.
    Shares are null where there is nothing to share.
    """
    return Around(edges, hours, days).places()


def days_of(edges: pl.DataFrame) -> float:
    """How many days EDGES speak of."""
    if not edges.height or not {"since", "until"} <= set(edges.columns):
        return _WEEK
    seconds = edges.select((pl.col("until").max() - pl.col("since").min()).dt.total_seconds()).item()
    return _WEEK if seconds is None else max(1.0, seconds / 86400)


@dataclass(frozen=True)
class Around:
    """Gifts, ties and hours of some days, and what follows from them."""

    edges: pl.DataFrame
    hours: pl.DataFrame
    days: float | None = None

    @cached_property
    def flows(self) -> pl.DataFrame:
        """FLOWS."""
        return flows(self.edges)

    @cached_property
    def one_way(self) -> pl.DataFrame:
        """FLOWS that go one way, without what came back."""
        return self.flows.filter("one_way").select("giver", "taker", "n", "amount", "items", "value")

    @cached_property
    def exchanged(self) -> pl.DataFrame:
        """Pairs that give to each other: one, other, n."""
        rows = self.flows.filter("exchange", pl.col("giver") < pl.col("taker"))
        return rows.select(one="giver", other="taker", n=pl.col("n") + pl.col("back_n"))

    @cached_property
    def parties(self) -> pl.DataFrame:
        """Pairs that were in a party."""
        return ties(self.edges, (PARTY,))

    @cached_property
    def weekly(self) -> pl.DataFrame:
        """Hours of play by actor, as in a week."""
        week = _WEEK / (days_of(self.edges) if self.days is None else self.days)
        rows = self.hours.select(pl.col("actor").cast(pl.String), pl.col("hours").cast(pl.Float64) * week)
        return rows.group_by("actor").agg(pl.col("hours").sum())

    @cached_property
    def actors(self) -> pl.DataFrame:
        """Everybody, with the hours in which it was seen playing."""
        names = names_in(self.weekly["actor"], self.flows["giver"], self.flows["taker"])
        return pl.DataFrame({"actor": names}).join(self.weekly, on="actor", how="left", maintain_order="left")

    @cached_property
    def giving(self) -> pl.DataFrame:
        """By giver: what it gave one way, to how many, which share of all it gave, and to whom most."""
        return _by_side(self.flows, "giver", "taker")

    @cached_property
    def taking(self) -> pl.DataFrame:
        """By taker: the same of what it got."""
        return _by_side(self.flows, "taker", "giver")

    @cached_property
    def hubs(self) -> pl.DataFrame:
        """By taker with givers: those who give nearly all to it, and how much of a star they are."""
        rows = self.one_way.select("giver", "taker", "value")
        rows = rows.join(self.giving.select("giver", "all_value"), on="giver", maintain_order="left")
        rows = rows.join(self.weekly, left_on="giver", right_on="actor", how="left", maintain_order="left")
        rows = rows.join(self._knowing, on=["giver", "taker"], how="left", maintain_order="left")
        faithful = pl.col("value") >= LOYAL * pl.col("all_value")
        hubs = rows.group_by(hub="taker").agg(
            loyal=faithful.sum().cast(pl.Int64),
            loyal_hours=pl.col("hours").filter(faithful).median(),
            share=pl.col("value").sum() / pl.col("all_value").sum(),
            leaf_hours=pl.col("hours").median(),
            tied=pl.col("known").fill_null(False).filter(faithful).mean(),
        )
        hubs = hubs.join(self._partners, left_on="hub", right_on="actor", how="left")
        return hubs.with_columns(
            loyal_share=pl.col("loyal") / pl.col("partners"),
            score=_star_score(),
        )

    @cached_property
    def _knowing(self) -> pl.DataFrame:
        """Givers that trade or play with their main taker, or with others who give to it: giver, taker, known."""
        main = self.giving.select("giver", taker="main").drop_nulls()
        pairs = pl.concat([self.exchanged.select("one", "other"), self.parties.select("one", "other")])
        both = pl.concat([pairs, pairs.select(one="other", other="one")])
        near = main.join(both, left_on="giver", right_on="one")
        near = near.join(main.select(other="giver", same="taker"), on="other", how="left")
        in_one_party = self.met_by_name("taker", "giver")
        known = near.filter((pl.col("other") == pl.col("taker")) | (pl.col("same") == pl.col("taker")) | in_one_party)
        return known.select("giver", "taker", known=pl.lit(True)).unique()

    def met_by_name(self, around: str, who: str) -> pl.Expr:
        """Whether `other` is the name of a party, no account, in which others of the same `around` were as well."""
        names = names_in(self.actors["actor"], self.edges["actor"])
        return ~pl.col("other").is_in(names.implode()) & (pl.col(who).n_unique().over(around, "other") > 1)

    @cached_property
    def _partners(self) -> pl.DataFrame:
        """By actor: with how many it has gifts, and how many of all pairs around it have ties themselves."""
        gifts = self.flows.filter((pl.col("giver") < pl.col("taker")) | (pl.col("back_n") == 0))  # each pair once
        pairs = pl.concat([gifts.select(one="giver", other="taker"), self.parties.select("one", "other")])
        names = names_in(pairs["one"], pairs["other"])
        numbers = coded(pairs, names, "one", "other")
        graph = graph_of(numbers["one"].to_numpy(), numbers["other"].to_numpy(), np.ones(pairs.height), len(names))
        there = self.flows.group_by(actor="giver").agg(partners=pl.len().cast(pl.Int64))
        only_back = (
            self.flows.filter(pl.col("back_n") == 0).group_by(actor="taker").agg(partners=pl.len().cast(pl.Int64))
        )
        partners = pl.concat([there, only_back]).group_by("actor").agg(pl.col("partners").sum())
        mesh = pl.DataFrame({"actor": names, "mesh": clustering_of(graph), "ties": graph.degrees})
        several = pl.when(pl.col("ties") > 1).then("mesh")
        return partners.join(mesh.select("actor", mesh=several), on="actor", how="left")

    @cached_property
    def chains(self) -> pl.DataFrame:
        """By actor: the chain it is in and how many are in it; a chain is two accounts or more."""
        first = self.giving.filter(pl.col("share") >= LOYAL).select("giver", taker="main")
        last = self.taking.filter(pl.col("share") >= LOYAL).select("taker", giver="main")
        steps = first.join(last, on=["giver", "taker"]).sort("giver")
        names = names_in(steps["giver"], steps["taker"])
        numbers = coded(steps, names, "giver", "taker")
        passes = pl.DataFrame({"actor": names}).join(self.passing, on="actor", how="left", maintain_order="left")
        through = (passes["passed_on"].fill_null(0.0) >= PASSES_ON).to_numpy()
        chain: Ints = _chains(numbers["giver"].to_numpy(), numbers["taker"].to_numpy(), through)
        rows = pl.DataFrame({"actor": names, "chain": chain})
        return rows.with_columns(chain_n=pl.len().over("chain").cast(pl.Int64)).filter(pl.col("chain_n") > 1)

    @cached_property
    def passing(self) -> pl.DataFrame:
        """By actor that got something: how much of it it gave on."""
        rows = self.taking.select("taker", "value").join(
            self.giving.select("giver", gave="value"), left_on="taker", right_on="giver", how="left"
        )
        passed = pl.when(pl.col("value") > 0).then(pl.col("gave").fill_null(0) / pl.col("value")).clip(0, _MOST_PASSED)
        return rows.select(actor="taker", passed_on=passed)

    def places(self) -> pl.DataFrame:
        """PLACES."""
        rows = self.actors
        for part in (self._given(), self._taken(), self.passing, self._as_hub(), self.chains, *self._contacts()):
            rows = rows.join(part, on="actor", how="left", maintain_order="left")
        return _whole(self._with_star(rows))

    def _given(self) -> pl.DataFrame:
        told = self.giving.select(
            actor="giver",
            takers="partners",
            gave="value",
            gave_n="n",
            all_gave="all_value",
            to_one="share",
            main_taker="main",
        )
        pairs = pl.concat([self.parties, self.parties.select("n", one="other", other="one")], how="diagonal")
        known = pairs.select(actor="one", main_taker="other", with_taker=pl.lit(True)).unique()
        joined = told.join(known, on=["actor", "main_taker"], how="left")
        there = pl.when(pl.col("main_taker").is_not_null()).then(pl.col("with_taker").fill_null(False))
        return joined.with_columns(with_taker=there)

    def _taken(self) -> pl.DataFrame:
        return self.taking.select(
            actor="taker", givers="partners", got="value", got_n="n", all_got="all_value", from_one="share"
        )

    def _as_hub(self) -> pl.DataFrame:
        told = self.hubs.select("loyal", "loyal_share", "loyal_hours", actor="hub")
        return self._partners.select("actor", "mesh").join(told, on="actor", how="left")

    def _contacts(self) -> tuple[pl.DataFrame, ...]:
        return (
            _met(self.exchanged, "exchanges"),
            _met(self.parties, "parties"),
            _met(ties(self.edges, MARKET), "market"),
            sharing(self.edges),
        )

    def _with_star(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The star around an account itself, or around its main taker where that is the larger one."""
        star = self.hubs.filter(pl.col("loyal") > 0).select(
            "hub",
            star_n=pl.col("loyal") + 1,
            star_share="share",
            star_hours="leaf_hours",
            star_mesh="mesh",
            star_tied="tied",
            star_score="score",
        )
        columns = [name for name in star.columns if name != "hub"]
        own = rows.join(star, left_on="actor", right_on="hub", how="left", maintain_order="left")
        both = own.join(star, left_on="main_taker", right_on="hub", how="left", maintain_order="left", suffix="_taker")
        is_own = pl.col("star_n").is_not_null() & (pl.col("star_n") >= pl.col("star_n_taker").fill_null(0))
        chosen = [pl.when(is_own).then(name).otherwise(f"{name}_taker").alias(name) for name in columns]
        return both.with_columns(
            *chosen, star=pl.when(is_own).then("actor").when(pl.col("star_n_taker").is_not_null()).then("main_taker")
        )


def _whole(rows: pl.DataFrame) -> pl.DataFrame:
    """PLACES, where who gave nothing gave 0; a share of nothing stays null."""
    counts = [name for name, dtype in PLACES.items() if dtype == pl.Int64 and name != "chain_n"]
    filled = rows.with_columns(
        pl.col(*counts, "gave", "got", "star_score").fill_null(0), pl.col("chain_n").fill_null(1)
    )
    played = pl.col("hours") > 0
    told = filled.with_columns(
        gave_per_hour=pl.when(played).then(pl.col("gave") / pl.col("hours")),
        got_per_hour=pl.when(played).then(pl.col("got") / pl.col("hours")),
        one_way=_share(pl.sum_horizontal("gave", "got"), pl.sum_horizontal("all_gave", "all_got")),
    )
    return told.select(pl.col(name).cast(dtype) for name, dtype in PLACES.items())


def _by_side(told: pl.DataFrame, side: str, far: str) -> pl.DataFrame:
    """Gifts by those on one side: accounts, gifts and value one way, the value of all gifts, and with whom most."""
    one_way = pl.col("one_way")
    rows = told.select(side, far, "n", "value", "one_way")
    rows = rows.sort(side, pl.col("value") * one_way, far, descending=[False, True, False])
    main = pl.col(far).filter(one_way).first()
    most = pl.col("value").filter(one_way).max()
    return rows.group_by(side, maintain_order=True).agg(
        partners=one_way.sum().cast(pl.Int64),
        n=pl.col("n").filter(one_way).sum(),
        value=pl.col("value").filter(one_way).sum(),
        all_value=pl.col("value").sum(),
        share=_share(most.fill_null(0.0), pl.col("value").sum()),
        main=main,
    )


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole)


def _star_score() -> pl.Expr:
    """The conditions of a star around one hub, each as far as it is met, multiplied.

    With `L` accounts around the hub and `e` ties among them, Freeman's centralisation is 1 - e / (L (L - 1) / 2), which
    is 1 - mesh: a mesh that is sparse enough for the condition on clustering is centralised enough, too. Who knows the
    hub or other givers counts against it.
    """
    size = ((pl.col("loyal") + 1) / LEAST_MEMBERS).clip(0, 1)
    sparse = pl.when(pl.col("mesh") > MOST_CLUSTERING).then(MOST_CLUSTERING / pl.col("mesh")).otherwise(1.0)
    given = (pl.col("share") / SHARE_TO_HUB).clip(0, 1)
    short = pl.when(pl.col("leaf_hours") > SHORT_HOURS).then(SHORT_HOURS / pl.col("leaf_hours")).otherwise(1.0)
    return size * sparse * given * short * (1 - pl.col("tied").fill_null(0.0))


def _met(pairs: pl.DataFrame, name: str) -> pl.DataFrame:
    both = pl.concat([pairs.select("one", "other"), pairs.select(one="other", other="one")])
    return both.group_by(actor="one").agg(pl.len().cast(pl.Int64).alias(name))


def sharing(edges: pl.DataFrame) -> pl.DataFrame:
    """By actor: how many other accounts were at the address it shares with most."""
    rows = edges.filter(pl.col("kind").cast(pl.String) == ADDRESS).select(pl.col("actor", "other").cast(pl.String))
    there = rows.unique().with_columns(sharing=pl.len().over("other").cast(pl.Int64) - 1)
    return there.group_by("actor").agg(pl.col("sharing").max())


@kernel
def _chains(giver: Ints, taker: Ints, through: np.ndarray) -> Ints:
    """The number of the chain each account is in; a step counts where what comes in at one end goes on.

    Every account has at most one step in and one step out: chains are ways and rings.
    """
    n = len(through)
    after, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for i in range(len(giver)):
        after[giver[i]] = taker[i]
        before[taker[i]] = giver[i]
    for v in range(n):  # somebody who keeps what it got ends a chain
        if after[v] >= 0 and before[v] >= 0 and not through[v]:
            before[after[v]] = -1
            after[v] = -1
    chain = np.full(n, -1, np.int64)
    for begin in range(2 * n):  # ways from their first account on, then rings
        v = begin % n
        if chain[v] >= 0 or (begin < n and before[v] >= 0):
            continue
        here = v
        while here >= 0 and chain[here] < 0:
            chain[here] = v
            here = after[here]
    return chain
