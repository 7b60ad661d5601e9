"""Splits that cannot flatter: who belongs together is held out together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from gamewarden.errors import FitError
from gamewarden.learning.folds import assign_folds, max_folds

_LEAST = 2
PERIOD = ("actor", "since", "until")


@dataclass(frozen=True)
class Sides:
    """The periods to learn from and the periods held out, with no promise about who stands where."""

    fold: int
    train: pl.DataFrame
    test: pl.DataFrame
    cut: datetime | None = None  # nothing that was known only later may be learned from


@dataclass(frozen=True)
class Split(Sides):
    """One fold: no actor and no group is on both sides."""

    def __post_init__(self) -> None:
        for unit in ("actor", "group"):
            refuse_shared(self.train, self.test, unit)


@dataclass(frozen=True)
class Forward(Split):
    """One fold in time: all that is learned from was over when the held-out periods began."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_later(self.train, self.test)


def refuse_shared(train: pl.DataFrame, test: pl.DataFrame, unit: str) -> None:
    """Stop when someone is on both sides.

    Raises:
        FitError: an actor or a group is to be learned from and tested on.
    """
    shared = sorted(set(train[unit]) & set(test[unit]))
    if shared:
        raise FitError(
            f"split: {len(shared)} {unit}s are on both sides, first {shared[0]!r}; testing on known {unit}s flatters"
        )


def refuse_later(train: pl.DataFrame, test: pl.DataFrame) -> None:
    """Stop when something is to be learned from that happened after the test began.

    Raises:
        FitError: a period to learn from reaches into the time of the test.
    """
    late = train.filter(pl.col("until") > test["since"].min())
    if late.height:
        first = late.row(0, named=True)
        raise FitError(
            f"split: {late.height} periods to learn from reach into the time of the test, first that of "
            f"{first['actor']!r} until {first['until']}; the future is not known when a model is made"
        )


def by_group(rows: pl.DataFrame, folds: int, seed: int) -> Iterator[Split]:
    """Grouped and stratified folds of labelled periods (actor, group, bot); fewer where groups are few.

    Raises:
        FitError: a class has fewer than two groups, so that it cannot be learned from and tested on.
    """
    fold = _dealt(rows, folds, seed)
    for part in fold.unique().sort().to_list():
        yield Split(part, rows.filter(fold != part), rows.filter(fold == part))


def by_period(rows: pl.DataFrame, folds: int, seed: int) -> Iterator[Sides]:
    """Folds of single periods, whoever played them. It flatters, and is there to show by how much.

    Raises:
        FitError: a class has fewer than two periods.
    """
    alone = rows.with_columns(group=pl.format("{} {}", "actor", pl.col("since").to_physical()))
    fold = _dealt(alone, folds, seed)
    for part in fold.unique().sort().to_list():
        yield Sides(part, rows.filter(fold != part), rows.filter(fold == part))


def forward(early: pl.DataFrame, rows: pl.DataFrame, cut: datetime, folds: int, seed: int) -> Iterator[Forward]:
    """Groups held out, and time too: learn from `early` (what was over and labelled at the cut), test what came after.

    Raises:
        FitError: a class is missing before the cut, or after it.
    """
    before, after = early.filter(pl.col("until") <= cut), rows.filter(pl.col("since") >= cut)
    for side, when in ((before, "over before"), (after, "begun after")):
        classes = side.group_by("bot").agg(pl.col("group").n_unique())
        if classes.height < _LEAST:
            bots = "no bot" if not side["bot"].any() else "no human"
            raise FitError(f"evaluate: {bots} has a labelled period {when} {cut}; choose another cut with --cut")
    both = pl.concat([before, after], how="diagonal_relaxed")
    fold_of = dict(zip(both["group"], _dealt(both, folds, seed), strict=True))
    parts = max(fold_of.values()) + 1
    ours, theirs = (pl.Series([fold_of[group] for group in side["group"]], dtype=pl.Int64) for side in (before, after))
    for part in range(parts):
        yield Forward(part, before.filter(ours != part), after.filter(theirs == part), cut)


def by_family(rows: pl.DataFrame, seed: int) -> Iterator[Split]:
    """Each bot family held out once, with a part of the humans; rows have `family`, null where none is known.

    Who shares a group with somebody held out is not learned from.

    Raises:
        FitError: fewer than two families, or fewer humans than can be held out.
    """
    families = rows.filter("bot")["family"].drop_nulls().unique().sort().to_list()
    humans = rows.filter(~pl.col("bot"))
    if len(families) < _LEAST or humans["group"].n_unique() < _LEAST:
        raise FitError(
            f"evaluate: the labels name {len(families)} bot families and {humans['group'].n_unique()} humans; "
            "2 of each are needed to hold a family out"
        )
    parts = min(len(families), humans["group"].n_unique())
    names = humans["group"].to_numpy().astype(np.str_)
    fold_of = dict(zip(names, assign_folds(names, np.zeros(names.size, np.bool_), parts, seed), strict=True))
    part_of = rows["group"].replace_strict(fold_of, default=None, return_dtype=pl.Int64)
    for place, family in enumerate(families):
        strangers = (~rows["bot"]) & (part_of == place % parts).fill_null(False)
        out = (rows["bot"] & (rows["family"] == family).fill_null(False)) | strangers
        test = rows.filter(out)
        relatives = rows["group"].is_in(test["group"].unique().implode())
        yield Split(place, rows.filter(~out & ~relatives), test)


def middle_of(rows: pl.DataFrame) -> datetime:
    """The beginning of a period that leaves about as many labelled periods before it as after it.

    Raises:
        FitError: all periods are of one time.
    """
    begins = rows["since"].unique().sort()
    before = rows["until"].sort().search_sorted(begins, side="right").cast(pl.Int64)
    after = rows.height - rows["since"].sort().search_sorted(begins, side="left").cast(pl.Int64)
    balance = pl.Series([min(b, a) for b, a in zip(before, after, strict=True)])
    if not balance.len() or not balance.max():
        raise FitError("evaluate: all periods are of one time, so none is later than another; measure a longer log")
    found = begins[int(balance.arg_max() or 0)]
    if not isinstance(found, datetime):
        raise FitError(f"evaluate: a period begins at {found!r}, which is no time")
    return found


def _dealt(rows: pl.DataFrame, folds: int, seed: int) -> pl.Series:
    groups, bot = rows["group"].to_numpy().astype(np.str_), rows["bot"].to_numpy()
    parts = max_folds(groups, bot, folds)
    if parts < _LEAST:
        counts = [np.unique(groups[side]).size for side in (bot, ~bot)]
        raise FitError(
            f"evaluate: {counts[0]} groups have a bot and {counts[1]} a human; 2 of each are needed to hold one out"
        )
    return pl.Series(assign_folds(groups, bot, parts, seed))
