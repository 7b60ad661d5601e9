"""Who belongs together though nobody said so: accounts tied by trade or by an address, as a farm's are.

Friends trade too, and a café shares an address. A tie is therefore only where somebody does most of what it does: at
least half of its trades with one partner, or half of its play from one address that few share. Where that still ties
too large a part of all accounts into one group, the share is raised until it does not.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.contracts import EventStream

SHARES = (0.5, 0.75, 0.9, 1.0)  # of an account's trades or play; each next one only if the one before ties too many
LARGEST_SHARE = 0.1  # of all accounts: a group beyond it is a market or a provider, not a farm
SMALLEST_CAP = 50  # a farm may be this large in a small log ("dozens to hundreds", NCSOFT)
PUBLIC = 50  # accounts behind one address from which it says nothing about who they are
FEWEST = 3  # dealings with a partner: one or two are a chance encounter
_HELD = 1 << 20  # pairs that wait to be added up
_KEYS = {"partner": ("actor", "other"), "address": ("actor", "ip"), "kinds": ("actor", "kind")}
Pairs = pl.DataFrame
Node = tuple[str, str]  # what it is (actor, address, name) and how it is called


@dataclass(frozen=True)
class AccountTraces:
    """What a log shows of an account beside its features: partners, addresses, kinds; each with its events."""

    partner: Pairs  # actor, other, n
    address: Pairs  # actor, ip, n
    kinds: Pairs  # actor, kind, n

    @property
    def shows_ties(self) -> bool:
        """Whether the log has a partner or an address at all."""
        return bool(self.partner.height or self.address.height)


@dataclass(frozen=True)
class Ties:
    """Groups of two and more (actor, group), and what has to be said of them."""

    groups: pl.DataFrame
    visible: bool
    notes: tuple[str, ...] = ()


NO_TIES = Ties(pl.DataFrame(schema={"actor": pl.String, "group": pl.String}), visible=False)


def seen_in(events: EventStream, judged: str = "actor") -> AccountTraces:
    """One pass over the log; memory grows with pairs of accounts, not with events.

    Where characters are judged, those of one account are tied as by an address, and partners, who are accounts, are not
    looked at.
    """
    if judged == "character":
        return _characters(events)
    wanted = [name for name in ("actor", "kind", "other", "ip") if name in events.columns]
    usable = {name: key for name, key in _KEYS.items() if set(key) <= set(wanted)}
    parts = {name: _Pairs(key) for name, key in _KEYS.items()}
    for batch in events.batches(wanted):
        frame = pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.col(wanted).cast(pl.String))
        for name, key in usable.items():
            parts[name].add(frame.drop_nulls(key[1]).group_by(key).agg(pl.len().cast(pl.Int64).alias("n")))
    return AccountTraces(**{name: part.total() for name, part in parts.items()})


class _Names:
    """Names as numbers: each text is held once, however many pairs it is in."""

    def __init__(self) -> None:
        self._known = pl.DataFrame(schema={"name": pl.String, "code": pl.UInt32})

    def codes(self, texts: pl.Series) -> pl.Series:
        """The numbers of these names, new ones numbered on."""
        asked = pl.DataFrame({"name": texts})
        new = asked.unique(maintain_order=True).join(self._known, on="name", how="anti", maintain_order="left")
        if new.height:
            first = self._known.height
            numbers = pl.int_range(first, first + new.height, dtype=pl.UInt32, eager=True)
            self._known = pl.concat([self._known, new.with_columns(code=numbers)], rechunk=True)
        return asked.join(self._known, on="name", how="left", maintain_order="left")["code"]

    def texts(self, codes: pl.Series) -> pl.Series:
        """The names of these numbers."""
        return self._known["name"].gather(codes)


class _Pairs:
    """Pairs that are added up as they come, so that none is held as often as it occurs."""

    def __init__(self, key: tuple[str, ...]) -> None:
        self._key = key
        self._names = {name: _Names() for name in key}
        self._parts: list[Pairs] = [pl.DataFrame(schema=dict.fromkeys(key, pl.UInt32) | {"n": pl.Int64})]
        self._waiting = 0

    def add(self, more: Pairs) -> None:
        """Some pairs more."""
        self._parts.append(more.with_columns(self._names[name].codes(more[name]).alias(name) for name in self._key))
        self._waiting += more.height
        # Never before as many wait as are there: adding up costs no more than the pairs that came.
        if self._waiting > max(_HELD, self._parts[0].height):
            self._add_up()

    def total(self) -> Pairs:
        """All of them, each once."""
        self._add_up()
        told = [self._names[name].texts(self._parts[0][name]).alias(name) for name in self._key]
        return self._parts[0].with_columns(told).sort(self._key)

    def _add_up(self) -> None:
        self._parts = [pl.concat(self._parts).group_by(self._key).agg(pl.col("n").sum())]
        self._waiting = 0


def _characters(events: EventStream) -> AccountTraces:
    pairs = _Pairs(("character", "actor", "kind"))
    for batch in events.batches(["character", "actor", "kind"]):
        frame = pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.all().cast(pl.String)).drop_nulls("character")
        pairs.add(frame.group_by("character", "actor", "kind").agg(pl.len().cast(pl.Int64).alias("n")))
    seen = pairs.total()
    accounts, kinds = (seen.select("character", column, "n") for column in ("actor", "kind"))
    return AccountTraces(
        _added([], ("actor", "other")),
        _added([accounts.rename({"actor": "ip"}).rename({"character": "actor"})], ("actor", "ip")),
        _added([kinds.rename({"character": "actor"})], ("actor", "kind")),
    )


def _added(parts: Sequence[Pairs], key: tuple[str, str]) -> Pairs:
    empty = pl.DataFrame(schema={key[0]: pl.String, key[1]: pl.String, "n": pl.Int64})
    return pl.concat([empty, *parts]).group_by(key).agg(pl.col("n").sum()).sort(key)


def ties_of(seen: AccountTraces) -> Ties:
    """The groups that trade and addresses tie together."""
    if not seen.shows_ties:
        return NO_TIES
    everyone = max(seen.kinds["actor"].n_unique(), 1)
    cap = max(SMALLEST_CAP, int(LARGEST_SHARE * everyone))
    users = pl.col("actor").n_unique().over("ip")
    public = seen.address.filter(users > PUBLIC)["ip"].n_unique()
    notes = [f"{public} addresses have over {PUBLIC} accounts each and tie nobody."] if public else []
    addresses = seen.address.with_columns(users=users)
    for share in SHARES:
        groups = components([*_main_partners(seen.partner, share), *_shared_addresses(addresses, share)])
        if _largest(groups) <= cap:
            break
    else:
        crowd = groups.filter(pl.len().over("group") > cap)["actor"].n_unique()
        groups = groups.filter(pl.len().over("group") <= cap)
        notes.append(f"{crowd} accounts hang together in groups of over {cap}: a market, not a farm; they tie nobody.")
    if share > SHARES[0]:
        notes.append(
            f"A tie had to carry {share:.0%} of an account's trades or play, or one group would hold too many."
        )
    return Ties(groups, visible=True, notes=tuple(notes))


def with_named(ties: Ties, named: pl.DataFrame) -> Ties:
    """The ties, and the groups that labels name (actor, group): who is together in either is held out together."""
    found = ((("actor", actor), ("tie", group)) for actor, group in ties.groups.iter_rows())
    told = (
        (("actor", actor), ("name", group)) for actor, group in named.drop_nulls().unique().sort("actor").iter_rows()
    )
    return Ties(components([*found, *told]), True, ties.notes)


def components(edges: Iterable[tuple[Node, Node]]) -> pl.DataFrame:
    """Actors of whom two or more hang together over any number of steps, a group named by its smallest member."""
    parent: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, two in edges:
        first, second = sorted((root(one), root(two)))
        parent[second] = first
    members = [(node[1], "|".join(root(node))) for node in sorted(parent) if node[0] == "actor"]
    found = pl.DataFrame(members, schema={"actor": pl.String, "group": pl.String}, orient="row")
    return found.filter(pl.len().over("group") > 1)


def _main_partners(pairs: Pairs, share: float) -> Iterator[tuple[Node, Node]]:
    """Partners with whom an actor does at least this share of all its dealings."""
    others = pairs.filter(pl.col("actor") != pl.col("other"))
    total = pl.col("n").sum().over("actor")
    main = others.filter(pl.col("n") >= share * total, pl.col("n") >= FEWEST)
    yield from ((("actor", actor), ("actor", other)) for actor, other in main.select("actor", "other").iter_rows())


def _shared_addresses(addresses: Pairs, share: float) -> Iterator[tuple[Node, Node]]:
    """Addresses that few share and from which an actor has at least this share of its play."""
    total = pl.col("n").sum().over("actor")
    shared = addresses.filter(pl.col("n") >= share * total, pl.col("users").is_between(2, PUBLIC))
    yield from ((("actor", actor), ("address", ip)) for actor, ip in shared.select("actor", "ip").iter_rows())


def _largest(groups: pl.DataFrame) -> int:
    sizes = groups.group_by("group").len()["len"].to_list()
    return max(sizes, default=0)
