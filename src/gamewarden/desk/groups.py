"""Accounts that belong together: at one address, of one farm, or by gifts that go one way, as stars and chains.

Being in a group is never enough alone: families, cafés and dormitories share addresses too. So each member is shown
with what speaks about it by itself.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from ipaddress import ip_address
from zoneinfo import ZoneInfo

import polars as pl

from gamewarden.contracts import digest
from gamewarden.core.text import counted
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged import Judged, judged
from gamewarden.desk.known_people import settled_labels
from gamewarden.desk.memory import looks_of
from gamewarden.errors import NotThereError, short
from gamewarden.groups.finding import HUB, find_farms
from gamewarden.groups.flowing import PARTY
from gamewarden.groups.saying import sentences_of
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.workspace.days import EVER, Window
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.exonerated import without_exonerated

ADDRESS, FARM, TRADE = "address", "farm", "trade"
KINDS = (ADDRESS, FARM, TRADE)
ALONE = "Being in a group is never enough alone: look at what speaks about each account by itself."
PAGE = 50
_DAYS = 7  # the newest judged days that addresses and trade are looked at
_MOMENT = timedelta(microseconds=1)  # before a day ends it is that day still
_HOUR = 60.0  # minutes
_CROWD = 4  # accounts at one address from which on a household or a café is named
_MEMBERS = 300  # of a group that are shown one by one
_DRAWN = 120  # accounts that a graph shows
# Who gives to whom; what is bought and sold is paid for, and no gift.
_GIVES, _GETS = ("trade.give", "mail.send"), ("trade.receive", "mail.receive")
_TABLE = {"kind": pl.String, "name": pl.String, "actor": pl.String}


@dataclass(frozen=True)
class GroupRow:
    """One group in the list."""

    id: str
    kind: str
    name: str  # an address is shortened for whoever may not decide
    accounts: int
    act: int  # of them at the point to act
    watch: int
    says: str


@dataclass(frozen=True)
class GroupsView:
    """Groups, those with most suspects first."""

    kind: str  # empty: all
    counts: dict[str, int]
    rows: tuple[GroupRow, ...]
    page: int
    pages: int
    since: datetime | None
    until: datetime | None
    alone: str


@dataclass(frozen=True)
class Member:
    """An account of a group, and what speaks about it by itself."""

    actor: str
    point: str | None
    probability: float | None
    points: int  # days on which it reached a point
    last: date | None  # the latest day on which it was judged
    reason: str | None
    received: int  # gifts from others of the group
    gave: int
    role: str | None = None  # in a group by trade: hub, leaf or link


@dataclass(frozen=True)
class Node:
    """An account, or what accounts share, in a graph."""

    id: str
    label: str
    kind: str  # account, hub, address, farm
    point: str | None


@dataclass(frozen=True)
class Edge:
    """Who gave to whom, or who belongs where."""

    source: str
    target: str
    n: int
    amount: float | None
    kind: str  # gives, belongs


@dataclass(frozen=True)
class Graph:
    """A graph as it is drawn."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class GroupView:
    """One group: its accounts, how they hang together, and what may explain it."""

    row: GroupRow
    members: tuple[Member, ...]
    left_out: int  # accounts that are not shown
    graph: Graph
    hints: tuple[str, ...]
    alone: str


def groups(desk: Desk, kind: str = "", *, page: int = 1, whole_addresses: bool = False) -> GroupsView:
    """Groups of the newest days, those with most suspects first.

    Raises:
        NotThereError: there is no such kind of group.
        ReadError: what rests is damaged.
    """
    if kind and kind not in KINDS:
        raise NotThereError(f"groups: there are none by {short(kind)}, only by {', '.join(KINDS)}")
    found = _found(desk)
    told = found.listed.filter(pl.col("kind") == kind) if kind else found.listed
    pages = max(1, -(-told.height // PAGE))
    page = min(max(page, 1), pages)
    rows = told.slice((page - 1) * PAGE, PAGE)
    counts = {one: found.listed.filter(pl.col("kind") == one).height for one in KINDS}
    made = tuple(_row(row, found.trade, whole_addresses=whole_addresses) for row in rows.iter_rows(named=True))
    days = found.judged.days[-_DAYS:]
    since, until = (days[0] - timedelta(days=1), days[-1]) if days else (None, None)
    return GroupsView(
        kind=kind, counts=counts, rows=made, page=page, pages=pages, since=since, until=until, alone=ALONE
    )


def group(desk: Desk, name: str, *, whole_addresses: bool = False) -> GroupView:
    """One group, with its accounts and how they hang together.

    Raises:
        NotThereError: there is no such group in the newest days.
        ReadError: what rests is damaged.
    """
    found = _found(desk)
    told = found.listed.filter(pl.col("id") == name)
    if not told.height:
        raise NotThereError(f"groups: there is no group {short(name)} in the newest days")
    kind, shared = told["kind"][0], told["name"][0]
    actors = found.members.filter(pl.col("kind") == kind, pl.col("name") == shared)["actor"].to_list()
    row = _row(told.row(0, named=True), found.trade, whole_addresses=whole_addresses)
    gifts = _gifts_among(found.gifts, actors)
    made = partial(_members, desk, found, actors, gifts, with_roles=kind == TRADE)
    members = desk.memory.of("group", (look(desk), name), made, most=32)
    shown = [one.actor for one in members[:_DRAWN]]
    graph = _graph(row, [one for one in members if one.actor in set(shown)], gifts)
    hints = (*found.trade.says.get(shared, ())[1:], *_hints(kind, len(actors), gifts))
    return GroupView(row, members, max(len(actors) - len(members), 0), graph, hints, ALONE)


def group_of(desk: Desk) -> Mapping[str, str]:
    """A group for each account that belongs to some: a farm before gifts, gifts before an address."""
    return _found(desk).by_actor


def shortened(address: str) -> str:
    """An address of which the last part is not told."""
    try:
        known = ip_address(address)
    except ValueError:
        return f"{address[:4]}…"
    return ".".join(address.split(".")[:2]) + ".…" if known.version == 4 else ":".join(address.split(":")[:2]) + ":…"  # noqa: PLR2004


@dataclass(frozen=True)
class _Found:
    """All groups of the newest days."""

    judged: Judged
    members: pl.DataFrame  # kind, name, actor
    listed: pl.DataFrame  # id, kind, name, accounts, act, watch
    gifts: pl.DataFrame  # giver, taker, n, amount
    trade: "_Trade"

    @cached_property
    def by_actor(self) -> Mapping[str, str]:
        """One group for each account that is in some."""
        order = {kind: place for place, kind in enumerate((ADDRESS, TRADE, FARM))}
        rows = self.members.sort(pl.col("kind").replace_strict(order, return_dtype=pl.Int8), maintain_order=True)
        return dict(zip(rows["actor"].to_list(), (rows["kind"] + ":" + rows["name"]).to_list(), strict=True))


def look(desk: Desk) -> Hashable:
    """What changes whenever there may be other groups."""
    known = judged(desk)
    tables, window = DeskTables(desk.workspace), _window(known)
    rest = tuple(one.came_from for name in ("edges", "addresses") for one in tables.days(window, name))
    return known.key, rest, looks_of(desk.workspace.labels_file)


def _found(desk: Desk) -> _Found:
    known = judged(desk)
    return desk.memory.of("groups", look(desk), partial(_look, desk, known, _window(known)), most=2)


def _window(known: Judged) -> Window:
    days = known.days[-_DAYS:]
    return (days[0] - timedelta(days=1), None) if days else EVER


def _look(desk: Desk, known: Judged, window: Window) -> _Found:
    tables = DeskTables(desk.workspace)
    edges = tables.table("edges", window)
    trade = _by_trade(
        edges, tables.table("accounts", window, columns=["actor", "play_minutes"]), len(known.days[-_DAYS:])
    )
    parts = (_at_addresses(tables, window), _farms(desk), trade.members.select("kind", "name", "actor"))
    members = pl.concat([pl.DataFrame(schema=_TABLE), *parts]).unique(maintain_order=True)
    return _Found(known, members, _listed(members, known), gifts_in(edges), trade)


def _at_addresses(tables: DeskTables, window: Window) -> pl.DataFrame:
    rows = tables.table("addresses", window, columns=["actor", "address"]).unique()
    shared = rows.filter(pl.len().over("address") > 1).sort("address", "actor")
    return shared.select(kind=pl.lit(ADDRESS), name="address", actor="actor")


def _farms(desk: Desk) -> pl.DataFrame:
    """Who the labels say belongs together."""
    labels = settled_labels(desk)
    named = [name for name in ("group", "farm") if name in labels.columns]
    if not named:
        return pl.DataFrame(schema=_TABLE)
    known = labels.select("actor", name=pl.coalesce(pl.col(one).cast(pl.String) for one in named)).drop_nulls().unique()
    shared = known.filter(pl.len().over("name") > 1).sort("name", "actor")
    return shared.select(kind=pl.lit(FARM), name="name", actor="actor")


def gifts_in(edges: pl.DataFrame) -> pl.DataFrame:
    """Who gave to whom and how often; where both sides were logged, the side that tells more counts."""
    gives = edges.filter(pl.col("kind").is_in(_GIVES)).select(
        "n", "amount", giver="actor", taker="other", side=pl.lit(0)
    )
    gets = edges.filter(pl.col("kind").is_in(_GETS)).select("n", "amount", giver="other", taker="actor", side=pl.lit(1))
    told = (
        pl.concat([gives, gets]).group_by("giver", "taker", "side").agg(pl.col("n").sum(), pl.col("amount").sum().abs())
    )
    return told.group_by("giver", "taker").agg(pl.col("n").max(), pl.col("amount").max()).sort("giver", "taker")


@dataclass(frozen=True)
class _Trade:
    """Stars and chains: who is in them, and what is said of each."""

    members: pl.DataFrame  # kind, name, actor, role
    says: Mapping[str, tuple[str, ...]]  # by name

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """By account, which is in one of them at most."""
        return dict(self.members.select("actor", "role").iter_rows())


def _by_trade(edges: pl.DataFrame, played: pl.DataFrame, days: int) -> _Trade:
    """Stars and chains by the week's gifts; a star is called as its hub, a chain as the first of its accounts."""
    hours = played.drop_nulls().group_by("actor").agg(hours=pl.col("play_minutes").sum() / _HOUR)
    told = edges.with_columns(pl.col("kind").replace({"party.join": PARTY}))
    if "items" not in told.columns:
        told = told.with_columns(items=pl.lit(None, pl.Int64))
    found = find_farms(told, hours, max(days, 1))
    first = found.members.group_by("group").agg(first=pl.col("actor").min())
    named = found.groups.join(first, left_on="id", right_on="group", maintain_order="left")
    named = named.with_columns(name=pl.coalesce("hub", "first"))
    members = found.members.join(named.select("name", group="id"), on="group").sort("name", "actor")
    says = {row["name"]: sentences_of(row) for row in named.iter_rows(named=True)}
    return _Trade(members.select("name", "actor", "role", kind=pl.lit(TRADE)), says)


def _listed(members: pl.DataFrame, known: Judged) -> pl.DataFrame:
    points = known.frame.select("actor", "point")
    tallied = (
        members.join(points, on="actor", how="left")
        .group_by("kind", "name")
        .agg(
            accounts=pl.len(),
            act=(pl.col("point") == ACT).sum(),
            watch=(pl.col("point") == WATCH).sum(),
        )
    )
    named = tallied.with_columns(
        id=pl.struct("kind", "name").map_elements(lambda one: _id(one["kind"], one["name"]), return_dtype=pl.String)
    )
    suspects = pl.col("act") + pl.col("watch")
    return named.sort(suspects, pl.col("act"), "accounts", "kind", "name", descending=[True, True, True, False, False])


def _id(kind: str, name: str) -> str:
    return f"{kind}-{digest('group', kind, name)[:16]}"


def _row(row: Mapping[str, object], trade: _Trade, *, whole_addresses: bool) -> GroupRow:
    kind, name, accounts = str(row["kind"]), str(row["name"]), int(str(row["accounts"]))
    shown = name if kind != ADDRESS or whole_addresses else shortened(name)
    said = {
        ADDRESS: f"{counted(accounts, 'account')} were seen at one address",
        FARM: f"labels say that {counted(accounts, 'account')} belong together",
        TRADE: next(iter(trade.says.get(name, ())), "").removesuffix("."),
    }
    return GroupRow(
        id=str(row["id"]),
        kind=kind,
        name=shown,
        accounts=accounts,
        act=int(str(row["act"])),
        watch=int(str(row["watch"])),
        says=said[kind],
    )


def _gifts_among(gifts: pl.DataFrame, actors: Sequence[str]) -> pl.DataFrame:
    return gifts.filter(pl.col("giver").is_in(actors) & pl.col("taker").is_in(actors))


def _members(
    desk: Desk, found: _Found, actors: Sequence[str], gifts: pl.DataFrame, *, with_roles: bool
) -> tuple[Member, ...]:
    """Those with most against them first."""
    reasons = _reasons(desk, found.judged, actors)
    received = dict(gifts.group_by("taker").agg(pl.col("n").sum()).iter_rows())
    gave = dict(gifts.group_by("giver").agg(pl.col("n").sum()).iter_rows())
    zone = ZoneInfo(desk.workspace.time_zone or "UTC")
    made = []
    for actor in actors:
        told = found.judged.of(actor)
        made.append(
            Member(
                actor=actor,
                point=None if told is None else told.point,
                probability=None if told is None else told.probability,
                points=0 if told is None else told.points,
                last=None if told is None or told.until is None else (told.until - _MOMENT).astimezone(zone).date(),
                reason=reasons.get(actor),
                received=int(received.get(actor, 0)),
                gave=int(gave.get(actor, 0)),
                role=found.trade.roles.get(actor) if with_roles else None,
            )
        )
    return tuple(sorted(made, key=lambda one: (-_rank(one.point), -(one.probability or 0.0), one.actor))[:_MEMBERS])


def _rank(point: str | None) -> int:
    return {ACT: 2, WATCH: 1}.get(point or "", 0)


def _reasons(desk: Desk, known: Judged, actors: Sequence[str]) -> dict[str, str]:
    """The sentence that weighs most on each account's newest day that has one."""
    columns = ["actor", "since", "reason"]
    rows = DeskTables(desk.workspace).table("accounts", _window(known), actors, columns).drop_nulls("reason")
    rows = without_exonerated(rows, desk.workspace.exonerated)
    newest = rows.sort("actor", "since").unique("actor", keep="last")
    return dict(newest.select("actor", "reason").iter_rows())


def _graph(row: GroupRow, members: Sequence[Member], gifts: pl.DataFrame) -> Graph:
    nodes = [Node(one.actor, one.actor, "hub" if one.role == HUB else "account", one.point) for one in members]
    shown = {one.actor for one in members}
    edges = [
        Edge(giver, taker, n, amount, "gives")
        for giver, taker, n, amount in gifts.select("giver", "taker", "n", "amount").iter_rows()
        if giver in shown and taker in shown
    ]
    if row.kind != TRADE:
        center = Node(row.id, row.name, row.kind, None)
        nodes.append(center)
        edges += [Edge(one.actor, center.id, 1, None, "belongs") for one in members]
    return Graph(tuple(nodes), tuple(edges))


def _hints(kind: str, accounts: int, gifts: pl.DataFrame) -> Iterator[str]:
    """What may explain a group otherwise."""
    back = gifts.select(giver="taker", taker="giver")
    one_way = gifts.join(back, on=["giver", "taker"], how="anti").height
    if kind == ADDRESS and accounts >= _CROWD and not one_way:
        yield (
            "Nobody here gives to another who gives nothing back: it may be a household, a café or a dormitory, "
            "or a network that gives many people one address."
        )
    if kind == ADDRESS and one_way:
        yield f"{counted(one_way, 'pair')} of accounts at this address trade in one direction only."
    if kind == TRADE:
        yield "A guild's bank and a friend who sells for others look like this too: see what speaks about each account."
