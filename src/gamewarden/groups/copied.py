"""Groups of copies as groups are told: who is in them, what they share, and how alike they are."""

from dataclasses import dataclass

import polars as pl

from gamewarden.groups.copying import Copying, groups_of, shared_by


@dataclass(frozen=True)
class Copied:
    """Accounts that run one script, as it seems."""

    groups: pl.DataFrame  # label, first, n, ties, score, shared, shared_by, shared_n, outside, alike, same_way
    members: pl.DataFrame  # label, actor, copies, times, alike, same_way, score
    pairs: pl.DataFrame  # label, actor, other, alike, same_way: those who are copies of each other


def copied(copying: Copying) -> Copied:
    """The groups among those who were compared; a group's label is its first account by name."""
    members = groups_of(copying)
    told = shared_by(copying, members)
    members = members.join(copying.accounts.drop("shared"), on="actor", how="left")
    members = members.join(told.select("group", "actor", "times"), on=["group", "actor"], how="left")
    # A likeness, not a chance: it only says whom to look at first.
    score = pl.max_horizontal("alike", "same_way").clip(0, 1).median().over("group")
    members = members.with_columns(pl.col("copies").cast(pl.Int64), alike="alike_beyond", score=score)
    members = members.select("actor", "copies", "times", "alike", "same_way", "score", label="group")
    pairs = copying.strong.join(members.select("actor", "label"), on="actor")
    pairs = pairs.select("label", "actor", "other", "alike", "same_way")
    return Copied(_groups(members, pairs, told), members.sort("label", "actor"), pairs.sort("label", "actor", "other"))


def _groups(members: pl.DataFrame, pairs: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    groups = members.group_by("label").agg(
        pl.col("alike", "same_way").median(),
        pl.col("score").first(),
        first=pl.col("actor").min(),
        n=pl.len().cast(pl.Int64),
    )
    ties = pairs.group_by("label").agg(ties=pl.len().cast(pl.Int64))
    shared = told.group_by(label="group").agg(
        pl.col("shared", "outside").first(), shared_by=pl.len().cast(pl.Int64), shared_n=pl.col("times").sum()
    )
    return groups.join(ties, on="label", how="left").join(shared, on="label", how="left").sort("label")
