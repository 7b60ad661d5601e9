"""Who does the same as others: sketches of many accounts compared without comparing everybody with everybody.

Likeness is what two accounts do both, as shares of all they do, each thing weighed by how few do it: the sum over what
both have of the smaller share times log(N / n) / log N, where n of N accounts have it. What everybody does counts for
nothing. Whoever is compared has a rare thing in common: each account's most telling entries are looked up, and of all
who have one each is compared with the next few, in an order that shuffles them. The work grows with the accounts.
"""

from dataclasses import dataclass, field
from math import log

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.groups.copying_kernel import Floats, Ints, Sketches, in_common, in_step, telling

TELLING = 6  # entries of an account that it is looked up by
NEXT = 8  # others that have the same entry and that it is compared with
BEYOND = 0.2  # likeness beyond that of peers from which on two accounts are copies of each other
SAME_WAY = 0.05  # likeness of ways from which on they are
LEAST_ALIKE = 4  # accounts that make a group where nothing but what they do is alike: people have doubles
PEERS = 20  # accounts of one level range and zone that are enough to say how alike they are to each other
_LEVELS = 10  # a level range
_USUAL = 0.25  # quantile of their best likeness that is usual
_WORDS = 3  # that hold the ten minutes of a day
_SLICE = 50_000  # accounts whose days are added up together
_KINDS = 3  # different ones of a stretch that is more than one thing done over and over
_LEAST = 2  # accounts that can be compared at all


@dataclass(frozen=True)
class Copying:
    """Who is like whom: `accounts` (actor and its likeness) and `pairs` (actor, other, alike, beyond, same_way).

    `varied` of a pair is the part of `alike` that is no work of one or two kinds: whoever stands at an anvil or fishes
    does the same over and over at the game's own pace, and so does the next one.
    """

    accounts: pl.DataFrame
    pairs: pl.DataFrame
    doings: "Doings | None" = field(default=None, repr=False)  # None: nobody was compared

    @property
    def strong(self) -> pl.DataFrame:
        """Pairs that are copies of each other."""
        alike = (pl.col("beyond") >= BEYOND) & (pl.col("varied") >= BEYOND)
        return self.pairs.filter(alike | (pl.col("same_way") >= SAME_WAY))


@dataclass(frozen=True)
class Doings:
    """What everybody does most, and in which words it is told."""

    who: pl.DataFrame  # actor and moments, by name
    stretches: Sketches
    book: pl.DataFrame

    def of(self, members: pl.DataFrame) -> pl.DataFrame:
        """The stretches of some accounts: the columns of `members`, then what, share, rare and times."""
        numbered = self.who.select("actor", "moments", who=pl.int_range(pl.len(), dtype=pl.Int64))
        mine = members.join(numbered, on="actor", maintain_order="left")
        first = self.stretches.first[mine["who"].to_numpy()]
        sizes = self.stretches.first[mine["who"].to_numpy() + 1] - first
        place = np.repeat(np.arange(mine.height), sizes)
        entry = np.arange(len(place)) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        rows = mine.drop("who")[place].with_columns(
            what=pl.Series(self.stretches.what[entry], dtype=pl.Int64),
            share=pl.Series(self.stretches.share[entry], dtype=pl.Float64),
            rare=pl.Series(self.stretches.rare[entry], dtype=pl.Float64),
        )
        return rows.with_columns(times=(pl.col("share") * pl.col("moments")).round().cast(pl.Int64)).drop("moments")


def compared(parts: pl.DataFrame, min_moments: int) -> pl.DataFrame:
    """How alike each account is to the one most like it."""
    return likeness(parts, min_moments).accounts


def likeness(parts: pl.DataFrame, min_moments: int) -> Copying:
    """Compare all who did enough; `parts` are sketches of days as the feature `copies` makes them."""
    who = _accounts(parts, min_moments)
    if who.height < _LEAST:
        return NOBODY
    stretches = _sketches(parts, who, "stretches", "stretch_n", "moments")
    if not stretches.what.size:
        return NOBODY
    ways = _sketches(parts, who, "ways", "way_n", "walks")
    order = _order(who)
    one, other = _unique(
        *map(np.concatenate, zip(_candidates(stretches, order), _candidates(ways, order), strict=True))
    )
    alike, most = in_common(stretches, one, other)
    same_way, _ = in_common(ways, one, other)
    step = in_step(_tenths(parts, who), one, other)
    pairs = pl.DataFrame(
        {"one": one, "other": other, "alike": alike, "same_way": same_way, "together": step, "most": most}
    )
    both = pl.concat([pairs, pairs.select(pl.col("other").alias("one"), pl.col("one").alias("other"), *_OF_PAIRS)])
    book = _book(parts)
    usual = _usual(who, both.group_by("one").agg(pl.col("alike").max()), _doing(book, stretches))
    both = both.with_columns(beyond=pl.col("alike") - pl.Series(usual).gather(both["one"]))
    accounts = _said(_best(who, both, pl.Series(usual)), book, stretches)
    beyond = alike - np.maximum(usual[one], usual[other])
    varied = _varied(stretches, book, one, other, beyond >= BEYOND)
    named = pairs.with_columns(beyond=pl.Series(beyond), varied=pl.Series(varied))
    names = who["actor"]
    return Copying(
        accounts,
        named.select(
            names.gather(one).alias("actor"),
            names.gather(other).alias("other"),
            "alike",
            "beyond",
            "varied",
            "same_way",
            "together",
        ),
        Doings(who.select("actor", "moments"), stretches, book),
    )


def groups_of(copying: Copying) -> pl.DataFrame:
    """Accounts that are copies of one another, directly or by others: group, actor, and how many it is a copy of.

    Few that are alike in what they do alone, and share no way, are no group.
    """
    strong = copying.strong
    both = _both_ways(strong)
    heads = _heads(strong["actor"].to_list(), strong["other"].to_list())
    members = both.group_by("actor").agg(pl.len().alias("copies"), pl.col("same_way").max())
    named = members.with_columns(group=pl.col("actor").replace_strict(heads, return_dtype=pl.String))
    groups = named.filter(
        (pl.len().over("group") >= LEAST_ALIKE) | (pl.col("same_way").max().over("group") >= SAME_WAY)
    )
    return groups.select("group", "actor", "copies").sort("group", "actor")


def shared_by(copying: Copying, members: pl.DataFrame) -> pl.DataFrame:
    """What each group of copies has most in common: group, shared (in words), and actor and times of each who did it.

    Of the stretches that two of them do at least it is the one that tells most of all members together, and the more
    so the fewer others do it; `outside` is how many do.
    """
    if copying.doings is None or members.is_empty():
        return pl.DataFrame(schema=_SHARED)
    rows = copying.doings.of(members.select("group", "actor"))
    everybody = copying.doings.who.height
    holders = (everybody ** (1 - pl.col("rare").first())).round().cast(pl.Int64)  # as `rare` was made of it
    tells = (pl.col("share") * pl.col("rare")).sum() * pl.len() / holders
    sums = rows.group_by("group", "what").agg(accounts=pl.len(), outside=holders - pl.len(), tells=tells)
    sums = sums.filter(pl.col("accounts") >= _LEAST).join(
        copying.doings.book, on="what"
    )  # what nobody can say is told to nobody
    most = sums.sort("group", "tells", "words", descending=[False, True, False]).unique("group", keep="first")
    found = rows.join(most.select("group", "what", "outside", shared="words"), on=["group", "what"])
    return found.select(pl.col(name).cast(dtype) for name, dtype in _SHARED.items()).sort("group", "actor")


def _both_ways(pairs: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([pairs, pairs.rename({"actor": "other", "other": "actor"}).select(pairs.columns)])


def _heads(one: list[str], other: list[str]) -> dict[str, str]:
    """For everybody the first by name of those it hangs together with."""
    above = {name: name for name in (*one, *other)}

    def head(name: str) -> str:
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    for here, there in zip(one, other, strict=True):
        first, second = sorted((head(here), head(there)))
        above[second] = first
    return {name: head(name) for name in above}


_OF_PAIRS = ("alike", "same_way", "together", "most")
_ACCOUNTS = {
    "actor": pl.String,
    "alike": pl.Float64,
    "alike_beyond": pl.Float64,
    "alike_with": pl.Int64,
    "same_way": pl.Float64,
    "same_way_with": pl.Int64,
    "together": pl.Float64,
    "shared": pl.String,
}
_PAIRS = {
    "actor": pl.String,
    "other": pl.String,
    "alike": pl.Float64,
    "beyond": pl.Float64,
    "varied": pl.Float64,
    "same_way": pl.Float64,
    "together": pl.Float64,
}
_SHARED = {"group": pl.String, "shared": pl.String, "outside": pl.Int64, "actor": pl.String, "times": pl.Int64}
NOBODY = Copying(pl.DataFrame(schema=_ACCOUNTS), pl.DataFrame(schema=_PAIRS))


def _accounts(parts: pl.DataFrame, min_moments: int) -> pl.DataFrame:
    """Those who did enough, by name, with their level range and the zone of their fullest day."""
    days = parts.filter(pl.col("actor").is_not_null()).sort("actor", "moments", "zone", "since")
    whole = days.group_by("actor", maintain_order=True).agg(
        pl.col("moments", "walks").sum(), pl.col("level").max() // _LEVELS, pl.col("zone").last()
    )
    return whole.filter(pl.col("moments") >= min_moments).sort("actor")


def _sketches(parts: pl.DataFrame, who: pl.DataFrame, what: str, times: str, total: str) -> Sketches:
    """The sketches of all days of each account, added up."""
    numbered = who.select("actor", who=pl.int_range(pl.len(), dtype=pl.UInt32))
    lists = parts.select("actor", what=pl.col(what), n=pl.col(times).cast(pl.List(pl.Int32)))
    days = lists.join(numbered, on="actor").drop("actor").sort("who")
    sums = pl.concat([_added(days.filter(pl.col("who") // _SLICE == part)) for part in range(-(-who.height // _SLICE))])
    holders = sums.select(pl.len().over("what")).to_series().to_numpy()
    rare = np.log(who.height / holders) / log(who.height)
    holder = sums["who"].to_numpy()
    first = np.searchsorted(holder, np.arange(who.height + 1))
    share = sums["n"].to_numpy() / who[total].to_numpy()[holder]
    return Sketches(first.astype(np.int64), sums["what"].to_numpy(), share, np.where(holders > 1, rare, 1.0))


def _added(days: pl.DataFrame) -> pl.DataFrame:
    """The entries of some accounts, those of several days added up."""
    entries = days.explode("what", "n").drop_nulls("what")
    return entries.group_by("who", "what").agg(pl.col("n").sum()).sort("who", "what")


def _tenths(parts: pl.DataFrame, who: pl.DataFrame) -> NDArray[np.uint64]:
    """When each account did something: the bits of all days side by side."""
    days = parts.filter(pl.col("actor").is_not_null()).select("actor", "tenths", day=pl.col("since").rank("dense") - 1)
    mine = days.join(who.select("actor", who=pl.int_range(pl.len())), on="actor")
    bits = np.stack([mine["tenths"].list.get(word).to_numpy() for word in range(_WORDS)], axis=1).view(np.uint64)
    found = np.zeros((who.height, int(days["day"].max() or 0) + 1, _WORDS), np.uint64)  # type: ignore[arg-type]
    found[mine["who"].to_numpy(), mine["day"].to_numpy()] = bits
    return found.reshape(who.height, -1)


def _order(who: pl.DataFrame) -> Ints:
    """A place for each account that its name decides, and that is no order of names."""
    scattered = (pl.int_range(pl.len(), dtype=pl.UInt64) + 1) * 0x9E3779B97F4A7C15
    place: Ints = who.select(((scattered % (1 << 61)) // (1 << 20)).cast(pl.Int64)).to_series().to_numpy()
    return place


def _candidates(sketches: Sketches, order: Ints) -> tuple[Ints, Ints]:
    """Pairs that have one of their most telling entries in common: each account with the next few who have it."""
    entry = telling(sketches, TELLING)
    holder = np.searchsorted(sketches.first, entry, side="right") - 1
    keys = pl.DataFrame({"who": holder, "what": sketches.what[entry], "order": order[holder]})
    keys = keys.sort("what", "order", "who")
    who, what = keys["who"].to_numpy(), keys["what"].to_numpy()
    found = [_steps(who, what, step) for step in range(1, NEXT + 1)]
    return np.concatenate([one for one, _ in found]), np.concatenate([other for _, other in found])


def _steps(who: Ints, group: Ints, step: int) -> tuple[Ints, Ints]:
    """Each one with the one so many places further on in the same group."""
    same = group[step:] == group[:-step]
    return who[:-step][same], who[step:][same]


def _unique(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    low, high = np.minimum(one, other), np.maximum(one, other)
    pairs = (
        pl.DataFrame({"low": low, "high": high}).filter(pl.col("low") != pl.col("high")).unique().sort("low", "high")
    )
    return pairs["low"].to_numpy(), pairs["high"].to_numpy()


def _usual(who: pl.DataFrame, best: pl.DataFrame, doing: pl.Series) -> Floats:
    """How alike accounts that do the same kind of thing, of one level range and zone, are to the one most like them.

    It is the lower quartile of their best likeness, so that farms must be three in four of them before they pass for
    usual. Where there are few of them the zone does not count, then the level range, and then nothing.
    """
    peers = who.select("level", "zone", who=pl.int_range(pl.len(), dtype=pl.Int64)).with_columns(doing=doing)
    peers = peers.join(best.select(who="one", alike="alike"), on="who", how="left").with_columns(
        pl.col("alike").fill_null(0.0)
    )
    usual = pl.lit(0.0)
    for keys in ((), ("doing",), ("doing", "level"), ("doing", "level", "zone")):
        over = pl.struct(*keys).rank("dense") if keys else pl.lit(0)
        enough = pl.len().over(over) >= (PEERS if keys else 0)
        usual = pl.when(enough).then(pl.col("alike").quantile(_USUAL).over(over)).otherwise(usual)
    found: Floats = peers.sort("who").select(usual.alias("usual")).to_series().to_numpy()
    return found


def _best(who: pl.DataFrame, both: pl.DataFrame, usual: pl.Series) -> pl.DataFrame:
    """One row per account: the likeness of the one most like it, and how many are as like."""
    best = both.group_by("one").agg(
        pl.col("alike", "same_way").max(),
        (pl.col("beyond") >= BEYOND).sum().alias("alike_with"),
        (pl.col("same_way") >= SAME_WAY).sum().alias("same_way_with"),
    )
    top = both.filter(pl.col("most") >= 0).sort("one", "alike", "other", descending=[False, True, False])
    shared = top.group_by("one", maintain_order=True).agg(pl.col("most", "together").first())
    whole = (
        who.select("actor", "walks", "moments", one=pl.int_range(pl.len(), dtype=pl.Int64))
        .with_columns(usual=usual)
        .join(best, on="one", how="left")
        .join(shared, on="one", how="left")
        .with_columns(pl.col("alike", "same_way", "alike_with", "same_way_with").fill_null(0))
    )
    return whole.select(
        "actor",
        "alike",
        (pl.col("alike") - pl.col("usual")).alias("alike_beyond"),
        "alike_with",
        *(pl.when(pl.col("walks") > 0).then(pl.col(name)).alias(name) for name in ("same_way", "same_way_with")),
        "together",
        "moments",
        "most",
    )


def _book(parts: pl.DataFrame) -> pl.DataFrame:
    """What the numbers of stretches mean, in words."""
    book = parts.filter(pl.col("actor").is_null()).select(what="stretches", words="words").explode("what", "words")
    return book.drop_nulls().unique("what", keep="any")


def _varied(stretches: Sketches, book: pl.DataFrame, one: Ints, other: Ints, asked: NDArray[np.bool_]) -> Floats:
    """How alike pairs are in stretches of three different kinds; 0 for pairs that nobody asks about."""
    kinds = pl.col("words").str.replace_all(r", within \S+ s ", "\n").str.split("\n").list.n_unique()
    plain = book.filter(kinds < _KINDS)["what"].to_numpy()
    rare = np.where(np.isin(stretches.what, plain), 0.0, stretches.rare)
    found = np.zeros(len(one))
    found[asked], _ = in_common(stretches._replace(rare=rare), one[asked], other[asked])
    return found


def _doing(book: pl.DataFrame, stretches: Sketches) -> pl.Series:
    """What each account does most: the first words of the kinds of its most frequent stretch."""
    most = pl.DataFrame({"what": stretches.what[_most_frequent(stretches)]})
    kinds = pl.col("words").str.extract_all(r"(?:^|s )[a-z]+\.").list.eval(pl.element().str.replace("^s ", ""))
    doing = kinds.list.unique().list.sort().list.join(" ").fill_null("")
    named = most.join(book.with_columns(doing=doing), on="what", how="left", maintain_order="left")
    return named["doing"].fill_null("")


def _most_frequent(stretches: Sketches) -> Ints:
    """The entry of each account that it does most, the first of several; any for whoever has none."""
    sizes = np.diff(stretches.first)
    holder = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((stretches.what, -stretches.share, holder))
    found: Ints = np.zeros(len(sizes), np.int64)
    found[sizes > 0] = order[stretches.first[:-1][sizes > 0]]
    return found


def _said(accounts: pl.DataFrame, book: pl.DataFrame, stretches: Sketches) -> pl.DataFrame:
    """The accounts with the stretch that they share with the one most like them, and how often they did it."""
    entry = accounts["most"].fill_null(0).to_numpy()
    share = pl.Series(stretches.share[entry])
    told = accounts.with_columns(
        what=pl.when(pl.col("most").is_not_null()).then(pl.Series(stretches.what[entry])),
        times=(pl.col("moments") * share).round().cast(pl.Int64),
    ).join(book, on="what", how="left", maintain_order="left")
    shared = told.with_columns(shared=pl.format("{}, {} times", "words", "times"))
    return shared.select(pl.col(name).cast(dtype) for name, dtype in _ACCOUNTS.items())
