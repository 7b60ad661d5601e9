"""Groups of accounts with their types, roles and the value that flows in them.

Four kinds of ties are looked at apart, so an account can be in several groups: gifts that go one way, exchanges and
parties, shared addresses, and what accounts do alike. Being in a group says nothing against anybody alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from gamewarden.contracts import digest
from gamewarden.core.extras import installed
from gamewarden.groups import rules
from gamewarden.groups.communities import alone, communities, numbered, pieces
from gamewarden.groups.copied import Copied, copied
from gamewarden.groups.copying import NOBODY, Copying
from gamewarden.groups.flowing import ADDRESS
from gamewarden.groups.graphs import Graph, Ints, clustering_of, coded, graph_of, names_in
from gamewarden.groups.measures import MEASURES, measured, within
from gamewarden.groups.places import Around
from gamewarden.groups.saying import said_of_groups, said_of_members
from gamewarden.tables import DataType

STAR, SMALL_STAR, CHAIN, GIFTS, GIANT, CIRCLE = "star", "small-star", "chain", "gifts", "giant", "circle"
GUILD, TRADER, FRIENDS, HOUSEHOLD, CAFE = "guild", "trader", "friends", "household", "cafe"
COPIES = "copies"
TYPES = (STAR, SMALL_STAR, CHAIN, COPIES, GIFTS, GIANT, CIRCLE, GUILD, TRADER, FRIENDS, HOUSEHOLD, CAFE)
HUB, LEAF, LINK, BUYER, GIVER, BANK, MEMBER = "hub", "leaf", "link", "buyer", "giver", "bank", "member"
COPY = "copy"
ROLES = (HUB, LEAF, LINK, COPY, BUYER, GIVER, BANK, TRADER, MEMBER)

GROUPS: Mapping[str, DataType] = {
    "id": pl.String,
    "by": pl.String,  # gifts, ties, address or copies
    "type": pl.String,
    # How well a star's or a chain's conditions are met: 1 is wholly; of copies how alike they are.
    "score": pl.Float64,
    "flagged": pl.Boolean,  # wholly, the leaves' short play included
    **MEASURES,
    "hub": pl.String,
    "second_hub": pl.String,
    "leaves": pl.Int64,
    "share_to_hub": pl.Float64,  # of all that leaves give
    "leaf_hours": pl.Float64,  # their median play in a week
    "tied": pl.Float64,  # share of leaves with exchanges or parties among each other
    "gifts": pl.Int64,  # one way inside the group; of a star those to its hubs
    "amount": pl.Float64,  # money of them; of a chain at one step, since all steps pass the same on
    "items": pl.Float64,  # pieces of them, likewise
    "value": pl.Float64,
    "passed_on": pl.Float64,  # what the hubs gave on, for each unit they got
    "passed_to": pl.Int64,  # accounts to which they gave it
    "address": pl.String,
    "shared": pl.String,  # what copies have most in common, in words
    "shared_by": pl.Int64,  # how many of them do it
    "shared_n": pl.Int64,  # how often they did it
    "outside": pl.Int64,  # how many others do it, too
    "alike": pl.Float64,  # the median member's likeness to another account, beyond that of peers
    "same_way": pl.Float64,  # the median member's share of its way that another account walks, too
    "says": pl.String,
}
MEMBERS: Mapping[str, DataType] = {
    "group": pl.String,
    "actor": pl.String,
    "role": pl.String,
    "given": pl.Float64,  # value given one way inside the group
    "got": pl.Float64,
    "to_hub": pl.Float64,  # share of all it gave that went one way to the hub
    "hours": pl.Float64,
    "copies": pl.Int64,  # others that it is a copy of, at least
    "times": pl.Int64,  # how often it did what the copies share
    "alike": pl.Float64,  # as in GROUPS
    "same_way": pl.Float64,
    "score": pl.Float64,  # the group's, for copies and for those who give to its hub, gather or pass on; else 0
    "says": pl.String,
}

_PAIRS: Mapping[str, DataType] = {
    "group": pl.String,
    "actor": pl.String,
    "other": pl.String,
    "alike": pl.Float64,
    "same_way": pl.Float64,
}
_GIVEN = ("gifts", "amount", "items", "value")


@dataclass(frozen=True)
class Found:
    """Groups, who is in them, and everybody's place among those who give and take."""

    groups: pl.DataFrame  # GROUPS, the most star-like first
    members: pl.DataFrame  # MEMBERS
    around: Around = field(repr=False)
    # group, actor, other, alike and same_way of those who are copies of each other
    copies: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_PAIRS), repr=False)

    @property
    def flows(self) -> pl.DataFrame:
        """FLOWS that the groups were found in."""
        return self.around.flows

    @cached_property
    def places(self) -> pl.DataFrame:
        """PLACES."""
        return self.around.places()


def find(edges: pl.DataFrame, hours: pl.DataFrame, days: float | None = None, copying: Copying = NOBODY) -> Found:
    """Groups in EDGES of some days, with `hours` (actor, hours) that each played in them.

    `days` is how long that time is; by default what EDGES say, else a week. `copying` says who is like whom.

    Raises:
        InstallError: the library that finds communities is not installed.
    """
    around = Around(edges, hours, days)
    same = copied(copying)
    parts = (_ByGifts(around).found(), _ByTies(around).found(), _by_address(around), _by_copies(same))
    groups = pl.concat([_typed(told, GROUPS) for told, _ in parts])
    members = pl.concat([_typed(who, MEMBERS) for _, who in parts])
    names = same.groups.select("label", _ids(COPIES, same.groups["first"]).alias("group"))
    return replace(_told(groups, members, around), copies=_typed(same.pairs.join(names, on="label"), _PAIRS))


def find_farms(edges: pl.DataFrame, hours: pl.DataFrame, days: float | None = None) -> Found:
    """Stars and chains alone, as `find` finds them.

    Where the library is missing, only those are left out whose leaves give to two hubs in turn: the others need none.
    """
    around = Around(edges, hours, days)
    split = communities if installed("graspologic_native") else alone
    groups, members = _ByGifts(around, split).found()
    groups = groups.filter(pl.col("type").is_in([STAR, SMALL_STAR, CHAIN]))
    members = members.join(groups.select(group="id"), on="group", how="semi")
    return _told(_typed(groups, GROUPS), _typed(members, MEMBERS), around)


def _told(groups: pl.DataFrame, members: pl.DataFrame, around: Around) -> Found:
    """In their order, and with sentences."""
    order = ["flagged", "score", "n", "by", "id"]
    groups = groups.sort(order, descending=[True, True, True, False, False])
    groups = groups.with_columns(says=said_of_groups(groups))
    members = members.join(around.weekly.select("actor", weekly="hours"), on="actor", how="left")
    members = members.with_columns(hours="weekly").drop("weekly")
    members = members.with_columns(says=said_of_members(members, groups)).sort("group", "actor")
    return Found(groups, _typed(members, MEMBERS), around)


def _typed(rows: pl.DataFrame, schema: Mapping[str, DataType]) -> pl.DataFrame:
    there = (pl.col(name) if name in rows.columns else pl.lit(None).alias(name) for name in schema)
    return rows.select(one.cast(dtype) for one, dtype in zip(there, schema.values(), strict=True))


def _ids(by: str, keys: pl.Series) -> pl.Series:
    """Names of groups that hold nothing of an account's own name."""
    return pl.Series("id", [f"{by}-{digest('group', by, key)[:16]}" for key in keys.to_list()], dtype=pl.String)


@dataclass(frozen=True)
class _ByGifts:
    """Groups by gifts that go one way."""

    around: Around
    split: Callable[[Graph], Ints] = communities

    def found(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """GROUPS and MEMBERS."""
        groups = self.types
        ids = _ids("gifts", groups.select(pl.coalesce("hub", "first"))["hub"])
        groups = groups.with_columns(ids).with_columns(by=pl.lit("gifts"))
        members = self.people.join(groups.select("label", "type", "score", "id"), on="label")
        roles = members.with_columns(role=_role(), score=pl.when(_acts()).then("score").otherwise(0.0))
        return groups, roles.with_columns(group="id")

    @cached_property
    def names(self) -> pl.Series:
        """Those who give or take one way."""
        return names_in(self.around.one_way["giver"], self.around.one_way["taker"])

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Gifts that go one way, with numbers for accounts: g, t, and the label of each."""
        rows = self.around.one_way.select("n", "amount", "items", "value", g="giver", t="taker")
        return coded(rows, self.names, "g", "t")

    @cached_property
    def graph(self) -> Graph:
        """Ties without their direction; several gifts are a stronger tie than one."""
        weight = np.log2(1.0 + self.flows["n"].to_numpy())
        return graph_of(self.flows["g"].to_numpy(), self.flows["t"].to_numpy(), weight, len(self.names))

    @cached_property
    def labels(self) -> Ints:
        """Communities, out of which stars and chains are taken as they are: a hub, and those who give all to it."""
        return numbered(pieces(self.graph, _with_stars(self.split(self.graph), *self._stars())))

    def _stars(self) -> tuple[Ints, Ints]:
        """Accounts of stars and chains, and to whom each belongs: a hub to itself or to a further hub."""
        hubs = self.around.hubs.filter(pl.col("loyal") >= rules.SMALL_STAR - 1).select("hub")
        loyal = self.around.giving.filter(pl.col("share") >= rules.LOYAL).select(actor="giver", hub="main")
        leaves = loyal.join(hubs, on="hub")
        rest = hubs.join(leaves, left_on="hub", right_on="actor", how="anti").select(actor="hub", hub="hub")
        mules = self.around.taking.filter(pl.col("share") >= rules.LOYAL).select(actor="taker", hub="main")
        links = self.around.passing.filter(pl.col("passed_on") >= rules.PASSES_ON).select("actor")
        mules = mules.join(links, on="actor").join(hubs, on="hub").join(leaves, on="actor", how="anti")
        mules = mules.join(hubs, left_on="actor", right_on="hub", how="anti")
        whole = pl.concat([leaves, rest, mules, self._chains()]).unique("actor", keep="first", maintain_order=True)
        numbers = coded(whole, self.names, "actor", "hub")
        return numbers["actor"].to_numpy(), numbers["hub"].to_numpy()

    def _chains(self) -> pl.DataFrame:
        """Accounts of chains, and the first of each by name."""
        chains = self.around.chains.filter(pl.col("chain_n") >= rules.CHAIN)
        return chains.select("actor", hub=pl.col("actor").min().over("chain"))

    @cached_property
    def people(self) -> pl.DataFrame:
        """Members with their numbers inside their group."""
        rows = self._members.join(self._inside("g", "given", "out"), left_on="v", right_on="g", how="left")
        rows = rows.join(self._inside("t", "got", "in"), left_on="v", right_on="t", how="left")
        rows = rows.with_columns(pl.col("given", "got", "out", "in").fill_null(0))
        return self._with_hubs(rows)

    @cached_property
    def _members(self) -> pl.DataFrame:
        rows = pl.DataFrame({"v": np.arange(len(self.names)), "actor": self.names, "label": self.labels})
        rows = rows.filter(pl.len().over("label") >= rules.FEWEST)
        rows = rows.join(self.around.weekly, on="actor", how="left", maintain_order="left")
        given = self.around.giving.select(actor="giver", all_given="all_value", takers="partners")
        passing = self.around.passing
        chains = self.around.chains.select("actor", "chain", "chain_n")
        for part in (given, passing, chains):
            rows = rows.join(part, on="actor", how="left", maintain_order="left")
        return rows

    @cached_property
    def inner(self) -> pl.DataFrame:
        """Gifts inside groups."""
        labels = pl.Series(self.labels)
        both = self.flows.with_columns(label=labels.gather(self.flows["g"]), other=labels.gather(self.flows["t"]))
        return both.filter(pl.col("label") == pl.col("other")).drop("other")

    def _inside(self, side: str, value: str, count: str) -> pl.DataFrame:
        return self.inner.group_by(side).agg(pl.col("value").sum().alias(value), pl.len().cast(pl.Int64).alias(count))

    def _with_hubs(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Which member is the hub, which a second one, and who gives to them and takes from them."""
        order = rows.sort("label", "in", "got", "v", descending=[False, True, True, False])
        place = pl.int_range(pl.len()).over("label")
        enough = pl.col("in") >= rules.HUB_GIVERS
        second = enough & (place == 1) & (pl.col("in") >= rules.SECOND_HUB * (pl.len().over("label") - 2))
        order = order.with_columns(is_hub=(enough & (place == 0)) | second, second=second)
        hubs = order.filter("is_hub").select(hub="v")
        to_hub = self.inner.join(hubs, left_on="t", right_on="hub").group_by("g").agg(to_value=pl.col("value").sum())
        from_hub = self.inner.join(hubs, left_on="g", right_on="hub").group_by("t").agg(of_value=pl.col("value").sum())
        order = order.join(to_hub, left_on="v", right_on="g", how="left")
        order = order.join(from_hub, left_on="v", right_on="t", how="left")
        order = order.with_columns(pl.col("to_value", "of_value").fill_null(0.0))
        leaf = ~pl.col("is_hub") & (pl.col("to_value") > 0) & (pl.col("of_value") == 0)
        order = order.with_columns(is_leaf=leaf)
        to_hub_share = pl.when(pl.col("all_given") > 0).then(pl.col("to_value") / pl.col("all_given"))
        order = order.with_columns(to_hub=pl.when(~pl.col("is_hub")).then(to_hub_share))
        return order.join(self._tied(order), on="v", how="left").with_columns(pl.col("tied").fill_null(False)).sort("v")

    def _tied(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Leaves that have exchanges or parties with another member who is no hub."""
        pairs = pl.concat([self.around.exchanged.select("one", "other"), self.around.parties.select("one", "other")])
        both = pl.concat([pairs, pairs.select(one="other", other="one")])
        near = rows.filter(~pl.col("is_hub")).select("actor", "label", "v")
        theirs = both.join(near, left_on="one", right_on="actor")
        known = theirs.join(near.select("actor", "label"), left_on=["other", "label"], right_on=["actor", "label"])
        in_one_party = theirs.filter(self.around.met_by_name("label", "v"))
        return pl.concat([known.select("v"), in_one_party.select("v")]).unique().with_columns(tied=pl.lit(True))

    @cached_property
    def types(self) -> pl.DataFrame:
        """Groups with their measures and types."""
        told, _ = measured(self.graph, self.labels)
        told = told.with_columns(label=pl.int_range(pl.len(), dtype=pl.Int64)).filter(pl.col("n") >= rules.FEWEST)
        for part in (self._sums, self._of_people, self._with_one_hub):
            told = told.join(part, on="label", how="left", maintain_order="left")
        told = told.with_columns(_centre())
        return told.with_columns(score=_star_score()).with_columns(type=_type()).with_columns(_scored())

    @cached_property
    def _sums(self) -> pl.DataFrame:
        """What was given inside each group, and what of it went from leaves to hubs."""
        who = self.people.select("v", "is_hub", "is_leaf")
        rows = self.inner.join(who.select(t="v", gathers="is_hub"), on="t", how="left", maintain_order="left")
        rows = rows.join(who.select(g="v", hands="is_leaf"), on="g", how="left", maintain_order="left")
        names = {"gifts": "n", "amount": "amount", "items": "items", "value": "value"}
        handed = pl.col("gathers") & pl.col("hands")
        every = {name: pl.col(column).sum() for name, column in names.items()}
        to_hub = {f"hub_{name}": pl.col(column).filter(handed).sum() for name, column in names.items()}
        step = {f"step_{name}": pl.col(column).max() for name, column in names.items()}
        return rows.group_by("label").agg(**every, **to_hub, **step)

    @cached_property
    def _of_people(self) -> pl.DataFrame:
        leaf, hub = pl.col("is_leaf"), pl.col("is_hub")
        given = pl.col("all_given").filter(leaf).sum()
        chain_n = pl.when(pl.col("chain").is_not_null()).then(pl.len().over("label", "chain")).otherwise(0)
        rows = self.people.with_columns(in_chain=chain_n)
        return rows.group_by("label").agg(
            first=pl.col("actor").min(),
            hub=pl.col("actor").filter(hub & ~pl.col("second")).first(),
            second_hub=pl.col("actor").filter("second").first(),
            leaves=leaf.sum().cast(pl.Int64),
            hubs=hub.sum().cast(pl.Int64),
            share_to_hub=pl.when(given > 0).then(pl.col("to_value").filter(leaf).sum() / given),
            leaf_hours=pl.col("hours").filter(leaf).median(),
            tied=pl.when(leaf.any()).then(pl.col("tied").filter(leaf).mean()),
            passed_on=pl.col("passed_on").filter(hub).max(),
            passed_to=pl.col("takers").filter(hub).sum(),
            chain=pl.col("in_chain").max(),
            most_out=pl.col("out").max(),
            giver=pl.col("actor").sort_by("out", descending=True).first(),
        )

    @cached_property
    def _with_one_hub(self) -> pl.DataFrame:
        """Centralisation and clustering where two hubs are taken for one."""
        rows = self.people.select("v", "label", "is_hub", "second")
        pair = rows.filter("second").join(rows.filter(pl.col("is_hub") & ~pl.col("second")), on="label", suffix="_1")
        into = np.arange(len(self.names))
        into[pair["v"].to_numpy()] = pair["v_1"].to_numpy()
        g, t = into[self.flows["g"].to_numpy()], into[self.flows["t"].to_numpy()]
        one = graph_of(g, t, np.ones(len(g)), len(self.names))
        inside, order, begins = within(one, self.labels)
        table = pl.DataFrame(
            {"label": np.repeat(np.arange(len(begins) - 1), np.diff(begins)), "v": order, "d": inside.degrees}
        ).with_columns(clustering=pl.Series(clustering_of(inside)))
        table = table.join(pair.select("v"), on="v", how="anti").filter(pl.col("label").is_in(pair["label"].implode()))
        n, d = pl.len().cast(pl.Float64), pl.col("d")
        freeman = (d.max() * n - d.sum()) / ((n - 1) * (n - 2))
        return table.group_by("label").agg(
            centralisation_1=pl.when(n >= rules.FEWEST).then(freeman), clustering_1=pl.col("clustering").mean()
        )


def _with_stars(labels: Ints, accounts: Ints, hubs: Ints) -> Ints:
    """Communities with each star as one of its own; hubs that give all to a further hub are of its star."""
    root = np.arange(len(labels))
    root[accounts] = hubs
    for _ in range(4):  # leaf, mule, hub, and the one behind it
        root[accounts] = root[root[accounts]]
    starred = labels.copy()
    taken = np.zeros(len(labels), bool)
    taken[accounts] = True
    starred[taken] = len(labels) + root[taken]
    return starred


def _centre() -> list[pl.Expr]:
    """Where there are two hubs, the numbers as if they were one."""
    return [
        pl.coalesce("centralisation_1", "centralisation").alias("centre"),
        pl.coalesce("clustering_1", "clustering").alias("mesh"),
    ]


def _star_score() -> pl.Expr:
    """The conditions of a star, each as far as it is met, multiplied."""
    size = ((pl.col("leaves") + pl.col("hubs")) / rules.LEAST_MEMBERS).clip(0, 1)
    centre = (pl.col("centre") / rules.CENTRALISATION).clip(0, 1)
    sparse = _under("mesh", rules.MOST_CLUSTERING)
    given = (pl.col("share_to_hub") / rules.SHARE_TO_HUB).clip(0, 1)
    return (size * centre * sparse * given * _under("leaf_hours", rules.SHORT_HOURS)).fill_null(0.0)


def _under(name: str, most: float) -> pl.Expr:
    return pl.when(pl.col(name) > most).then(most / pl.col(name)).otherwise(1.0)


def _type() -> pl.Expr:
    others, around = pl.col("n") - 1, pl.col("leaves") + pl.col("hubs")
    round_one = (
        (pl.col("centre") >= rules.CENTRALISATION)
        & (pl.col("mesh") <= rules.MOST_CLUSTERING)
        & (pl.col("share_to_hub") >= rules.SHARE_TO_HUB)
    )
    knows = pl.col("tied") >= rules.TIED
    chain = (pl.col("chain") >= rules.CHAIN) & (pl.col("chain") >= pl.col("n") / 2)
    return (
        pl.when(round_one & knows & (around >= rules.GUILD))
        .then(pl.lit(GUILD))
        .when(round_one & (around >= rules.LEAST_MEMBERS))
        .then(pl.lit(STAR))
        .when(round_one & (around >= rules.SMALL_STAR))
        .then(pl.lit(SMALL_STAR))
        .when(chain)
        .then(pl.lit(CHAIN))
        .when(pl.col("n") >= rules.GIANT)
        .then(pl.lit(GIANT))
        .when((pl.col("most_out") >= rules.HUB_GIVERS) & (pl.col("most_out") >= rules.CENTRALISATION * others))
        .then(pl.lit(GIFTS))
        .otherwise(pl.lit(CIRCLE))
    )


def _scored() -> list[pl.Expr]:
    star = pl.col("type").is_in([STAR, SMALL_STAR])
    score = pl.when(star).then("score").when(pl.col("type") == CHAIN).then(1.0).otherwise(0.0)
    unseen = star & pl.col("leaf_hours").is_null()  # leaves that only others' logs name may play all day
    hub = pl.when(star | (pl.col("type") == GUILD)).then("hub").when(pl.col("type") == GIFTS).then("giver")
    handed = [
        pl.when(star)
        .then(f"hub_{name}")
        .when((pl.col("type") == CHAIN) & (name != "gifts"))
        .then(f"step_{name}")
        .otherwise(name)
        .alias(name)
        for name in _GIVEN
    ]
    return [
        *handed,
        score.alias("score"),
        ((score >= 1) & (pl.col("type") != SMALL_STAR) & ~unseen).alias("flagged"),
        hub.alias("hub"),
        pl.when(star).then("second_hub").alias("second_hub"),
    ]


def _role() -> pl.Expr:
    star = pl.col("type").is_in([STAR, SMALL_STAR])
    passes = (pl.col("passed_on") >= rules.PASSES_ON) & (pl.col("got") > 0)
    return (
        pl.when(star & pl.col("is_hub"))
        .then(pl.lit(HUB))
        .when(star & pl.col("is_leaf"))
        .then(pl.lit(LEAF))
        .when(star & passes)
        .then(pl.lit(LINK))
        .when(star)
        .then(pl.lit(BUYER))
        .when((pl.col("type") == CHAIN) & (pl.col("chain_n") >= rules.CHAIN))
        .then(pl.lit(LINK))
        .when((pl.col("type") == GUILD) & pl.col("is_hub"))
        .then(pl.lit(BANK))
        .when((pl.col("type") == GIFTS) & (pl.col("out") == pl.col("out").max().over("label")))
        .then(pl.lit(GIVER))
        .otherwise(pl.lit(MEMBER))
    )


def _acts() -> pl.Expr:
    return _role().is_in([HUB, LEAF, LINK])


@dataclass(frozen=True)
class _ByTies:
    """Groups by exchanges and parties: guilds and friends."""

    around: Around

    def found(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """GROUPS and MEMBERS."""
        names = names_in(self._pairs["one"], self._pairs["other"])
        pairs = coded(self._pairs, names, "one", "other")
        weight = np.log2(1.0 + pairs["n"].to_numpy())
        graph = graph_of(pairs["one"].to_numpy(), pairs["other"].to_numpy(), weight, len(names))
        labels = communities(graph)
        members = self._members(pl.DataFrame({"actor": names, "label": labels}))
        told, _ = measured(graph, labels)
        told = told.with_columns(label=pl.int_range(pl.len(), dtype=pl.Int64)).drop("n")
        people = members.group_by("label").agg(
            n=pl.len().cast(pl.Int64),
            first=pl.col("actor").min(),
            hub=pl.col("actor").filter("is_bank").first(),
        )
        around_one = (pl.col("centralisation") >= rules.CENTRALISATION) & (
            pl.col("clustering") <= rules.MOST_CLUSTERING
        )
        kind = (
            pl.when((pl.col("n") >= rules.GUILD) & pl.col("hub").is_not_null() & around_one)
            .then(pl.lit(TRADER))
            .when(pl.col("n") >= rules.GUILD)
            .then(pl.lit(GUILD))
            .otherwise(pl.lit(FRIENDS))
        )
        groups = told.join(people, on="label").with_columns(
            by=pl.lit("ties"), type=kind, score=pl.lit(0.0), flagged=pl.lit(False)
        )
        groups = groups.with_columns(_ids("ties", groups["first"]))
        told_members = members.join(groups.select("label", "type", group="id"), on="label")
        bank = pl.when(pl.col("type") == TRADER).then(pl.lit(TRADER)).otherwise(pl.lit(BANK))
        role = pl.when("is_bank").then(bank).otherwise(pl.lit(MEMBER))
        return groups, told_members.with_columns(role=role, score=pl.lit(0.0))

    @cached_property
    def _pairs(self) -> pl.DataFrame:
        both = pl.concat([self.around.exchanged, self.around.parties], how="vertical_relaxed")
        return both.group_by("one", "other").agg(pl.col("n").sum()).sort("one", "other")

    def _members(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Accounts of communities, without the names of parties; which of them is a bank."""
        known = names_in(self.around.actors["actor"], self.around.edges["actor"])
        rows = rows.filter(pl.col("actor").is_in(known.implode()))
        rows = rows.filter(pl.len().over("label") >= rules.FEWEST)
        pairs = self.around.exchanged.select("one", "other")
        both = pl.concat([pairs, pairs.select(one="other", other="one")])
        inside = both.join(rows, left_on="one", right_on="actor").join(
            rows, left_on=["other", "label"], right_on=["actor", "label"]
        )
        dealt = inside.group_by(actor="one").agg(dealt=pl.len().cast(pl.Int64))
        rows = rows.join(dealt, on="actor", how="left").with_columns(pl.col("dealt").fill_null(0))
        size = pl.len().over("label")
        rows = rows.sort("label", "dealt", "actor", descending=[False, True, False])
        first = pl.int_range(pl.len()).over("label") == 0
        enough = (pl.col("dealt") >= rules.BANK * (size - 1)) & (size >= rules.GUILD)
        return rows.with_columns(is_bank=first & enough)


def _by_address(around: Around) -> tuple[pl.DataFrame, pl.DataFrame]:
    """GROUPS and MEMBERS by address: one group for all who are tied by shared addresses to the same one first."""
    edges = around.edges
    rows = edges.filter(pl.col("kind").cast(pl.String) == ADDRESS)
    rows = rows.select(pl.col("actor", "other").cast(pl.String)).drop_nulls().unique()
    rows = rows.filter(pl.len().over("other") > 1)
    # A household on the move has several addresses: the same accounts at another one are the same group.
    who = rows.sort("other", "actor").group_by("other", maintain_order=True).agg("actor")
    who = who.group_by("actor", maintain_order=True).agg(address=pl.col("other").min())
    who = who.with_columns(_ids("address", who["address"]), n=pl.col("actor").list.len().cast(pl.Int64))
    kind = pl.when(pl.col("n") <= rules.HOUSEHOLD).then(pl.lit(HOUSEHOLD)).otherwise(pl.lit(CAFE))
    groups = who.drop("actor").with_columns(by=pl.lit("address"), type=kind, score=pl.lit(0.0), flagged=pl.lit(False))
    members = who.select("actor", group="id").explode("actor")
    members = members.with_columns(role=pl.lit(MEMBER), score=pl.lit(0.0))
    inside = _gifts_among(around.one_way, members).group_by(id="group")
    sums = inside.agg(pl.col("value", "amount", "items").sum(), gifts=pl.col("n").sum())
    return groups.join(sums, on="id", how="left"), members


def _by_copies(same: Copied) -> tuple[pl.DataFrame, pl.DataFrame]:
    """GROUPS and MEMBERS of copies: they are alike, which is never all signs of a farm."""
    groups = same.groups.with_columns(_ids(COPIES, same.groups["first"]))
    groups = groups.with_columns(by=pl.lit(COPIES), type=pl.lit(COPIES), flagged=pl.lit(False))
    members = same.members.join(groups.select("label", group="id"), on="label")
    return groups, members.with_columns(role=pl.lit(COPY))


def _gifts_among(one_way: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Gifts between two members of the same group."""
    who = members.select("actor", "group")
    giving = one_way.join(who, left_on="giver", right_on="actor")
    return giving.join(who, left_on=["taker", "group"], right_on=["actor", "group"])
