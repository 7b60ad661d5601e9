"""Two models on the same past: who would newly be flagged and who be spared, by group."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.learning.label_sources import agreed_on
from gamewarden.learning.styles import Styles

STYLE, LABEL = "play style", "label"
NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Backtest:
    """Counts by group, and the actors for whom something changes."""

    groups: pl.DataFrame
    changes: pl.DataFrame
    notes: tuple[str, ...]


def usual_styles(days: pl.DataFrame, styles: Styles) -> pl.DataFrame:
    """The style that an actor shows on most of its days; the first by name of several."""
    told = days.select("actor", styles.tell(days).alias(STYLE)).group_by("actor", STYLE).len()
    return told.sort("actor", "len", STYLE, descending=[False, True, False]).unique("actor", keep="first").drop("len")


def flagged_by_both(old: pl.DataFrame, new: pl.DataFrame, probability: float) -> pl.DataFrame:
    """Every actor of two lists, with the probability under each and whether it is flagged by it."""
    both = old.select("actor", a="probability").join(
        new.select("actor", b="probability"), on="actor", how="full", coalesce=True
    )
    flagged = [(pl.col(name) >= probability).fill_null(value=False).alias(f"flagged_{name}") for name in ("a", "b")]
    return both.with_columns(flagged).sort("actor")


def called(labels: pl.DataFrame) -> pl.DataFrame:
    """What labels call each actor, where reviewers agree."""
    known = agreed_on(labels).group_by("actor").agg(pl.col("bot").all(), any=pl.col("bot").any())
    word = pl.when("bot").then(pl.lit("bot")).when("any").then(pl.lit("bot at times")).otherwise(pl.lit("human"))
    return known.select("actor", word.alias(LABEL))


def _newly() -> pl.Expr:
    return pl.col("flagged_b") & ~pl.col("flagged_a")


def _spared() -> pl.Expr:
    return pl.col("flagged_a") & ~pl.col("flagged_b")


def counts_by_group(grouped: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """How many of each group both models flag, newly or no longer."""
    numbers = (
        pl.len().cast(pl.Int64).alias("actors"),
        pl.col("flagged_a").sum().cast(pl.Int64),
        pl.col("flagged_b").sum().cast(pl.Int64),
        _newly().sum().cast(pl.Int64).alias("newly_flagged"),
        _spared().sum().cast(pl.Int64).alias("spared"),
    )
    parts = [grouped.select(pl.lit("all").alias("by"), pl.lit("everybody").alias("group"), *numbers)]
    for column in groups:
        counted = grouped.group_by(column).agg(*numbers).sort("actors", column, descending=[True, False])
        parts.append(counted.select(pl.lit(column).alias("by"), pl.col(column).alias("group"), *counted.columns[1:]))
    return pl.concat(parts)


def changes(grouped: pl.DataFrame) -> pl.DataFrame:
    """The actors for whom something changes, and what."""
    change = pl.when(_newly()).then(pl.lit("newly flagged")).otherwise(pl.lit("spared"))
    changed = grouped.filter(_newly() | _spared()).with_columns(change=change)
    named = changed.rename({"a": "probability_a", "b": "probability_b"}).drop("flagged_a", "flagged_b")
    first = ("actor", "change", "probability_a", "probability_b")
    return named.select(*first, pl.exclude(first)).sort("change", "actor")


def changes_in_short(grouped: pl.DataFrame) -> tuple[str, ...]:
    """How many would newly be flagged, and how many no longer."""
    newly, spared = grouped.filter(_newly()).height, grouped.filter(_spared()).height
    return (f"{newly:,} actors would newly be flagged and {spared:,} be spared; nothing has been promoted.",)
