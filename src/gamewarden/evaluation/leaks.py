"""Ways in which an answer slips into the question, each looked for and either refused, left out or said aloud."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from gamewarden.errors import FitError
from gamewarden.evaluation.metrics import auc
from gamewarden.evaluation.splits import PERIOD, Sides

# What a log says of an account because somebody already suspects it: sanctions, and our own challenges.
_SANCTIONS = frozenset(
    [
        "ban",
        "banned",
        "bans",
        "unban",
        "suspend",
        "suspended",
        "suspension",
        "sanction",
        "sanctioned",
        "jail",
        "jailed",
        "punish",
        "punished",
    ]
)
_SUSPICION = ("challenge.",)
TELLING_SHARE = 0.5  # of the bots; a kind that so many have and no human does
TOO_GOOD = 0.999  # the AUC from which one column alone is suspected of being the label
FEWEST = 10  # actors a class before such a suspicion is worth a word


@dataclass(frozen=True)
class Shared:
    """How many of the actors tested on are tied to somebody learned from."""

    tied: int
    tested: int

    @property
    def share(self) -> float | None:
        """Of the actors tested; unknown where there are none."""
        return self.tied / self.tested if self.tested else None


def tied_across(splits: Sequence[Sides], groups: pl.DataFrame) -> Shared:
    """Actors held out while a member of their group (actor, group) was learned from, themselves not counted."""
    tied: set[str] = set()
    tested: set[str] = set()
    for split in splits:
        train, test = (side.select("actor").unique() for side in (split.train, split.test))
        known = groups.join(train, on="actor", how="semi")
        pairs = groups.join(test, on="actor", how="semi").join(known, on="group", suffix="_known")
        tied |= set(pairs.filter(pl.col("actor") != pl.col("actor_known"))["actor"])
        tested |= set(test["actor"])
    return Shared(len(tied), len(tested))


def actors_across(splits: Sequence[Sides]) -> Shared:
    """Actors who are tested on in a fold that learned from other periods of theirs."""
    both = {actor for split in splits for actor in set(split.train["actor"]) & set(split.test["actor"])}
    return Shared(len(both), len({actor for split in splits for actor in split.test["actor"]}))


def sanction_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """The kinds of events that are there because an account is already suspected or judged."""
    return tuple(sorted(kind for kind in kinds if kind.startswith(_SUSPICION) or _SANCTIONS & set(_words(kind))))


def _words(kind: str) -> list[str]:
    return re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower())


def refuse_future(whole: pl.DataFrame, cut_short: pl.DataFrame, cut: datetime) -> None:
    """Stop when a feature of a period that was over at the cut is another one once later events are taken away.

    Raises:
        FitError: a column knows the future.
    """
    ended = pl.col("until") <= cut
    one, two = (frame.filter(ended).sort(PERIOD) for frame in (whole, cut_short))
    if not one.select(PERIOD).equals(two.select(PERIOD)):
        raise FitError(f"evaluate: which periods there are before {cut} depends on what happens after it")
    columns = [name for name in one.columns if name not in PERIOD]
    knowing = [name for name in columns if name not in two.columns or not one[name].equals(two[name])]
    if knowing:
        changed = int((one[knowing[0]] != two[knowing[0]]).sum()) if knowing[0] in two.columns else one.height
        raise FitError(
            f"evaluate: {', '.join(knowing)} of periods before {cut} change when later events are taken away "
            f"({knowing[0]} in {changed} of {one.height} periods); a feature that knows the future flatters"
        )


def telling_kinds(kinds: pl.DataFrame, rows: pl.DataFrame) -> Iterator[str]:
    """A word on each kind that most labelled bots have and no labelled human: is it there because of the label?"""
    classes = rows.group_by("actor").agg(pl.col("bot").any())
    bots, humans = int(classes["bot"].sum()), int((~classes["bot"]).sum())
    if min(bots, humans) < FEWEST:
        return
    having = (
        kinds.join(classes, on="actor")
        .group_by("kind")
        .agg(pl.col("bot").sum().alias("bots"), (~pl.col("bot")).sum().alias("humans"))
    )
    for kind, mine, _ in (
        having.filter(pl.col("humans") == 0, pl.col("bots") >= TELLING_SHARE * bots).sort("kind").iter_rows()
    ):
        yield f"{kind!r} occurs with {mine} of {bots} bots and with no human: is it there because of the label?"


def telling_columns(rows: pl.DataFrame) -> Iterator[str]:
    """A word on each feature that alone tells the classes apart all but perfectly: is the label made from it?"""
    bot = rows["bot"].to_numpy()
    if min(rows.filter(bot)["actor"].n_unique(), rows.filter(~bot)["actor"].n_unique()) < FEWEST:
        return
    for name, dtype in rows.schema.items():
        if name in {"bot", *PERIOD} or not dtype.is_numeric():
            continue
        measured = rows[name].is_not_null().to_numpy()
        ranked = auc(rows[name].cast(pl.Float64).to_numpy()[measured], bot[measured])
        if ranked is not None and max(ranked, 1 - ranked) >= TOO_GOOD and _both(bot[measured]):
            yield f"{name} alone tells bots from humans with an AUC of {max(ranked, 1 - ranked):.4f}: is it the label?"


def _both(bot: "np.typing.NDArray[np.bool_]") -> bool:
    return bool(min(bot.sum(), (~bot).sum()) >= FEWEST)


def left_out_kinds(kinds: Sequence[str]) -> Iterator[str]:
    """What was left out of a log because it gives the label away."""
    if kinds:
        yield (
            f"Left out of the log before measuring: {', '.join(kinds)}. Such events are there because somebody was "
            "already suspected, so they would give the label away."
        )
