"""Which measured periods are known to be a bot's or a human's, and which labels could not be used."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from gamewarden.learning.label_sources import UNCERTAIN_VOTES, UNNAMED, agreed_on, resolve
from gamewarden.tables import FEATURES, LABELS, check

_ONE_VOTE = "labels with one vote, where two reviewers must agree"


@dataclass(frozen=True)
class Labelled:
    """The periods with one verdict each, and what was left out by reason."""

    rows: pl.DataFrame  # FEATURES with bot, source and group (the actor's own id where no group is given)
    left_out: Mapping[str, int]


def label_periods(features: pl.DataFrame, labels: pl.DataFrame, door: str) -> Labelled:
    """The periods that overlap a label's time, sorted by actor and period; a label without times holds always.

    A period with a bot and a human label is in neither class; an appeal holds against a ban, and "not banned" is no
    label. A label that says when it was given (`at`) judges no period that ends later: nobody can have seen it. Groups
    become `group:name`, actors without one `actor:name`, so that the two cannot meet.

    Raises:
        TableError: one of the tables lacks a column or holds NaN.
    """
    periods = check(features, FEATURES, door)
    told = check(labels, LABELS, door).unique(maintain_order=True)
    resolved = resolve(told)
    given = resolved.frame
    certain = agreed_on(given)
    one_vote = _one_vote(given)
    judged = _judged(periods, certain)
    contradicted = judged.filter(pl.col("bots") != pl.col("labels"), pl.col("bots") > 0)
    agreed = judged.join(contradicted.select("row"), on="row", how="anti")
    known = certain.join(periods, on="actor", how="semi")
    left_out = {
        **resolved.left_out,
        _ONE_VOTE: one_vote,
        "labels that reviewers do not agree on": given.height - certain.height - one_vote,
        "labelled actors without a row to learn from": certain["actor"].n_unique() - known["actor"].n_unique(),
        "periods that end after their label was given": _too_late(periods, certain),
        "labelled actors without a period in their label's time": known["actor"].n_unique()
        - judged["actor"].n_unique(),
        "actors with contradictory labels": contradicted["actor"].n_unique(),
        "periods with contradictory labels": contradicted.height,
    }
    rows = agreed.with_columns(pl.col("bots") > 0).rename({"bots": "bot"}).drop("labels", "row")
    return Labelled(rows, {reason: count for reason, count in left_out.items() if count})


def more_labels(left_out: Mapping[str, int], otherwise: str) -> str:
    """What to do where too few labels are left: a second vote where single votes wait for one, else `otherwise`."""
    if not left_out.get(_ONE_VOTE):
        return otherwise
    return "let a second reviewer vote, or set [workspace] one_rater = true if one vote is enough"


def _one_vote(labels: pl.DataFrame) -> int:
    """How many labels no second reviewer has confirmed; a workspace says in `raters` how many people voted."""
    if "raters" not in labels.columns:
        return 0
    return labels.filter(pl.col("votes") == UNCERTAIN_VOTES, pl.col("raters").cast(pl.Int64, strict=False) == 1).height


_IN_TIME = (
    pl.col("label_since").is_null() | (pl.col("label_since") < pl.col("until")),
    pl.col("label_until").is_null() | (pl.col("label_until") > pl.col("since")),
)
# A row without times, of an operator's own table, ends at no moment that could come after its label.
_SEEN = pl.col("given").is_null() | pl.col("until").is_null() | (pl.col("given") >= pl.col("until"))


def _too_late(periods: pl.DataFrame, labels: pl.DataFrame) -> int:
    """How many periods lie in a label's time, and end only after every such label was given."""
    theirs = labels.select("actor", label_since="since", label_until="until", given="at")
    hits = periods.select("actor", "since", "until").join(theirs, on="actor", how="inner").filter(*_IN_TIME)
    return hits.group_by("actor", "since", "until").agg(_SEEN.any().alias("seen")).filter(~pl.col("seen")).height


def _judged(periods: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """One row a labelled period, with the number of its labels and of those that say bot."""
    columns = [name for name in periods.columns if name not in {"bot", "source", "group"}]
    spoken_of = periods.select(columns).join(labels, on="actor", how="semi")
    mine = spoken_of.sort(columns, nulls_last=True).with_row_index("row")
    # An actor is in one group only, or its periods could stand on both sides of a split.
    group = pl.col("group").min().over("actor")
    theirs = labels.select("actor", "bot", "source", group, label_since="since", label_until="until", given="at")
    hits = mine.select("row", "actor", "since", "until").join(theirs, on="actor", how="inner")
    votes = (
        hits.filter(*_IN_TIME, _SEEN)
        .group_by("row")
        .agg(
            pl.len().alias("labels"),
            pl.col("bot").cast(pl.Int64).sum().alias("bots"),
            pl.col("source").fill_null(UNNAMED).unique().sort().str.join("+"),
            pl.col("group").first(),
        )
    )
    own = pl.when(pl.col("group").is_null()).then("actor:" + pl.col("actor")).otherwise("group:" + pl.col("group"))
    return mine.join(votes, on="row", how="inner").sort("row").with_columns(own.alias("group"))


def unspoken_of(rows: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The rows that no label speaks of."""
    spoken_of = labels.select("actor", label_since="since", label_until="until")
    hits = (
        rows.select("actor", "since", "until")
        .join(spoken_of, on="actor")
        .filter(
            pl.col("label_since").is_null() | (pl.col("label_since") < pl.col("until")),
            pl.col("label_until").is_null() | (pl.col("label_until") > pl.col("since")),
        )
    )
    return rows.join(hits, on=["actor", "since"], how="anti")
