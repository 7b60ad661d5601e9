"""What is said of a group and of each member, in sentences for a game master."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from gamewarden.core.text import counted
from gamewarden.groups.copying import BEYOND, SAME_WAY


def said_of_groups(groups: pl.DataFrame) -> pl.Series:
    """One text a group."""
    return pl.Series("says", [_group(row) for row in groups.iter_rows(named=True)], dtype=pl.String)


def sentences_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of a group of GROUPS, a sentence each."""
    several = {"star": _star, "small-star": _star, "chain": _chain, "copies": _copies}.get(row["type"])
    return (_WORDS[row["type"]](row),) if several is None else tuple(several(row))


def _group(row: Mapping[str, Any]) -> str:
    return " ".join(sentences_of(row))


def _star(row: Mapping[str, Any]) -> Iterator[str]:
    two = bool(row["second_hub"])
    hubs, give = (f"{row['hub']} and {row['second_hub']}", "give") if two else (row["hub"], "gives")
    who, share = counted(row["leaves"], "account"), _percent(row["share_to_hub"])
    yield f"{who} hand {share} of all they give to {hubs}, which {give} nothing back."
    yield f"In {counted(row['gifts'], 'gift')} they gave {_things(row)}."
    if row["tied"] is not None and row["tied"] == 0:
        yield "They neither trade nor play with one another."
    if row["leaf_hours"] is not None:
        yield f"Half of them play at most {max(row['leaf_hours'], 0.1):.1f} hours a week."
    if row["passed_on"]:
        on = f"{_percent(min(row['passed_on'], 1))} of it on to {counted(row['passed_to'], 'other')}"
        yield f"{'The hubs hand' if two else 'The hub hands'} {on}."
    if row["type"] == "small-star":
        yield "They are too few for a star that speaks by itself."
    elif not row["flagged"]:
        yield "Not all signs of a farm are there: see who they are."


def _chain(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{counted(row['n'], 'account')} pass things on, each to one and that one to the next."
    yield f"In {counted(row['gifts'], 'gift')} they passed on up to {_things(row)} at a step."


def _copies(row: Mapping[str, Any]) -> Iterator[str]:
    who, walk = counted(row["n"], "account"), (row["same_way"] or 0.0) >= SAME_WAY
    does = (row["alike"] or 0.0) >= BEYOND or not walk
    shared = "" if row["shared"] is None else f"{row['shared']}; {_often(row)}."
    if does:
        yield f"{who} do the same, in the same order and at the same pace{f': {shared}' if shared else '.'}"
    if walk:
        share = f"half of them share {_percent(row['same_way'])} of it or more with another of them"
        yield f"{'They' if does else who} walk the same way, from place to place: {share}."
    if shared and not does:
        yield f"What they do is less telling; most in common they have: {shared}"
    yield "One script on several accounts looks so; so does one person who plays several at the same time."


def _often(row: Mapping[str, Any]) -> str:
    """`214 times on all 6 of them, and on 2 other accounts`."""
    on = f"all {row['n']:,}" if row["shared_by"] == row["n"] else f"{row['shared_by']:,}"
    others = f"on {counted(row['outside'], 'other account')}" if row["outside"] else "on no other account"
    return f"{row['shared_n']:,} times on {on} of them, and {others}"


def _gifts(row: Mapping[str, Any]) -> str:
    return (
        f"{row['hub']} gives to {counted(row['n'] - 1, 'other')} and gathers nothing: {_things(row)}. "
        "Friendly veterans do so, and whoever sells for money outside the game."
    )


def _giant(row: Mapping[str, Any]) -> str:
    return f"{counted(row['n'], 'account')} who give to one another as people do, without a centre."


def _circle(row: Mapping[str, Any]) -> str:
    gifts = counted(row["gifts"], "gift")
    return f"{counted(row['n'], 'account')} with {gifts} among them that went one way, without a centre."


def _guild(row: Mapping[str, Any]) -> str:
    if row["by"] == "gifts":
        given = f"{_things(row)} went one way among them, most to {row['hub']}"
        return f"{counted(row['n'], 'account')} who know one another, as in a guild: {given}."
    bank = f" {row['hub']} keeps what they share, as a guild's bank does." if row["hub"] else ""
    return f"{counted(row['n'], 'account')} who trade and play with one another, as in a guild.{bank}"


def _trader(row: Mapping[str, Any]) -> str:
    return f"{row['hub']} gives to and gets from {counted(row['n'] - 1, 'other')}, as a trader or a guild's bank does."


def _friends(row: Mapping[str, Any]) -> str:
    return f"{counted(row['n'], 'account')} who trade or play with one another."


def _household(row: Mapping[str, Any]) -> str:
    given = f" {_things(row)} went one way among them." if row["gifts"] else ""
    return f"{counted(row['n'], 'account')} at one address, as in a household.{given}"


def _cafe(row: Mapping[str, Any]) -> str:
    given = f" {_things(row)} went one way among them." if row["gifts"] else " None of them gives to another one way."
    crowd = "a café, a dormitory, or a network behind one address"
    return f"{counted(row['n'], 'account')} at one address: {crowd}.{given}"


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "gifts": _gifts,
    "giant": _giant,
    "circle": _circle,
    "guild": _guild,
    "trader": _trader,
    "friends": _friends,
    "household": _household,
    "cafe": _cafe,
}


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.0f} %"


def _things(row: Mapping[str, Any]) -> str:
    """`12,400 in money and 31 items`."""
    parts = []
    if row["amount"]:
        parts.append(f"{row['amount']:,.0f} in money")
    if row["items"]:
        parts.append(counted(round(row["items"]), "item"))
    return " and ".join(parts) or "things"


def said_of_members(members: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """One text a member, by its role."""
    told = groups.select("leaves", "hub", "second_hub", "type", group="id")
    rows = members.join(told, on="group", how="left", maintain_order="left")
    to_hub = (100 * pl.col("to_hub")).round(0).cast(pl.Int64)
    hubs = (
        pl.when(pl.col("second_hub").is_not_null())
        .then(pl.format("{} and {}", "hub", "second_hub"))
        .otherwise(pl.col("hub"))
    )
    leaf = "Hands {} % of all it gives to {}, as {} others do, and gets nothing back."
    role, kind = pl.col("role"), pl.col("type")
    walks, does = pl.col("same_way").fill_null(0) >= SAME_WAY, pl.col("alike") >= BEYOND
    says = (
        pl.when(role == "leaf")
        .then(pl.format(leaf, to_hub, hubs, pl.col("leaves") - 1))
        .when(role == "hub")
        .then(pl.format("Takes from {} accounts that get nothing back.", "leaves"))
        .when((role == "link") & (kind == "chain") & (pl.col("got") == 0))
        .then(pl.lit("Passes things on to the next."))
        .when((role == "link") & (kind == "chain") & (pl.col("given") == 0))
        .then(pl.lit("Gets what the others pass on."))
        .when((role == "link") & (kind == "chain"))
        .then(pl.lit("Gets from one account and passes much of it on to the next."))
        .when((role == "copy") & walks & does)
        .then(pl.lit("Does the same as others of it, and walks the same way."))
        .when((role == "copy") & walks)
        .then(pl.lit("Walks the same way as others of it."))
        .when(role == "copy")
        .then(pl.lit("Does the same as others of it, in the same order and at the same pace."))
        .when(role == "link")
        .then(pl.format("Hands on much of what it gets from {}.", hubs))
        .when(role == "buyer")
        .then(pl.format("Got something from {} and gave nothing back.", hubs))
        .when(role == "giver")
        .then(pl.lit("Gives to the others and takes nothing from them."))
        .when(role == "bank")
        .then(pl.lit("Keeps what the others share."))
        .when(role == "trader")
        .then(pl.lit("Gives to each of the others and gets from them."))
        .when(kind == "trader")
        .then(pl.format("Gave to {} and got something back.", hubs))
        .when(kind == "gifts")
        .then(pl.format("Got something from {}.", hubs))
        .when(kind.is_in(["household", "cafe"]))
        .then(pl.lit("Was at the same address."))
        .when(kind.is_in(["guild", "friends"]))
        .then(pl.lit("Trades or plays with others of it."))
        .otherwise(pl.lit("Gave to others of it, or got something."))
    )
    return rows.select(says=says)["says"]
