"""A list of accounts for people: what it rests on, why it is empty, and what all on it share."""

from dataclasses import dataclass

import polars as pl

from gamewarden.contracts import Model
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.tables import Table

_NOTHING_APART = "what the list has in common"


@dataclass(frozen=True)
class Behind:
    """What a list rests on, for whoever shows more of it than a table."""

    model: Model
    rows: pl.DataFrame  # FEATURES the model looked at
    scores: pl.DataFrame
    evidence: pl.DataFrame  # of the accounts listed
    days: SelfSimilarity  # the recipe that shows a day to people
    played: pl.DataFrame  # FEATURES of that recipe


@dataclass(frozen=True, kw_only=True)
class Ranked(Table):
    """The list, what has to be said beside it, and the reasons that nearly all on it share."""

    behind: Behind
    common: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()  # further columns that somebody filtered by


def why_nobody(listed: pl.DataFrame, suspects: pl.DataFrame, probability: float) -> tuple[str, ...]:
    """Why a list is empty, and what would fill it."""
    if suspects.height:
        return ()
    judged = listed.drop_nulls("probability")
    if not judged.height:
        return ("No account that fits the conditions has enough play to be judged.",)
    actor, highest = judged.row(0, named=True)["actor"], judged["probability"][0]
    reached = f"No account reaches {probability}; the highest is {actor} with {highest:.3f}"
    return (f"{reached}; --probability lists from a lower one on",)


def in_common(common: pl.DataFrame, listed: int) -> tuple[str, ...]:
    """The reasons that stand above a list instead of in each of its rows."""
    told = "; ".join(f"{says} ({actors:,} of {listed:,})" for says, actors in common.iter_rows())
    return (f"The accounts listed have in common: {told}.",) if told else ()


def ranking_in_short(ranked: Ranked) -> pl.DataFrame:
    """The columns of a ranking that a person looks at first, with the reasons that the others on it do not share."""
    several = ("highest", "rolling") if (ranked.frame["periods"] > 1).any() else ()
    first = ("actor", "probability", "fpr", "point", *several, "periods_flagged")
    chunks = ("verdict", "streak", "minutes_until_sure")
    then = ("self_sim", "level", "play_minutes", "zone", "far", "reasons")
    there = [name for name in (*first, *chunks, *ranked.asked, *then) if name in ranked.frame.columns]
    short = ranked.frame.select(name for name in there if name != "far" or ranked.frame["far"].count())
    return own_reasons(short, ranked.common)


def own_reasons(listing: pl.DataFrame, common: tuple[str, ...]) -> pl.DataFrame:
    """A list with the reasons that the others on it do not share."""
    own = pl.col("reasons").str.split("; ").list.filter(~pl.element().is_in(list(common))).list.join("; ")
    return listing.with_columns(pl.when(own == "").then(pl.lit(_NOTHING_APART)).otherwise(own).alias("reasons"))
