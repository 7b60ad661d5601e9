"""Who says so: which labels count as knowledge, which are guesses, and which one holds when two people disagree.

A ban is a suspicion that somebody acted on; an appeal is the same case looked at again, so it holds. "Not banned" is no
review: such an account is unlabelled, not human. What a model said is no label to test a model with.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

APPEAL, BAN, UNNAMED = "appeal", "ban", "unnamed"
# Sources that say nobody looked: what stands beside them is a guess about an account, not knowledge of it.
UNREVIEWED = frozenset({"unreviewed", "not-banned", "not banned", "unlabelled", "assumed", "default", "none"})
_BY_MACHINE = frozenset(
    {"model", "detector", "classifier", "score", "scores", "prediction", "predicted", "machine", "automatic", "pseudo"}
)
# Of three raters one said bot: uncertain, and in no training set (Lee et al., three raters a character; our rule).
UNCERTAIN_VOTES = 1
_FOREVER = 1 << 62  # microseconds
_MODEL_ID = re.compile(r"\S+@[0-9a-f]{6,64}")


@dataclass(frozen=True)
class Resolved:
    """The labels that are knowledge, and how many were left out for which reason."""

    frame: pl.DataFrame
    left_out: Mapping[str, int]


def agreed_on(labels: pl.DataFrame) -> pl.DataFrame:
    """LABELS without those on which reviewers do not agree yet."""
    return labels.filter(pl.col("votes").is_null() | (pl.col("votes") != UNCERTAIN_VOTES))


def resolve(labels: pl.DataFrame) -> Resolved:
    """LABELS without the accounts nobody reviewed, and without the bans that an appeal has decided anew."""
    source = pl.col("source").str.strip_chars().str.to_lowercase()
    not_banned = (source == BAN) & ~pl.col("bot")
    reviewed = labels.filter(~(not_banned | source.is_in(sorted(UNREVIEWED))).fill_null(False))
    appealed = reviewed.filter((source == APPEAL).fill_null(False))
    kept = reviewed
    if appealed.height:
        kept = reviewed.filter(~((source == BAN).fill_null(False) & _decided_anew(reviewed, appealed)))
    left_out = {
        "labels of accounts that nobody reviewed (not banned is not human)": labels.height - reviewed.height,
        "bans that an appeal decided anew": reviewed.height - kept.height,
    }
    return Resolved(kept, {reason: count for reason, count in left_out.items() if count})


def _decided_anew(labels: pl.DataFrame, appeals: pl.DataFrame) -> pl.Series:
    """Which labels overlap in time with an appeal of the same actor.

    Of the appeals that begin before a label ends, only the one that ends last is compared.
    """
    since = pl.col("since").to_physical().fill_null(-_FOREVER)
    until = pl.col("until").to_physical().fill_null(_FOREVER)
    numbered = labels.select("actor", since, last=until - 1).with_row_index("row").sort("last")
    theirs = appeals.select("actor", begin=since, appeal_until=until).sort("begin")
    latest = theirs.select("actor", "begin", pl.col("appeal_until").cum_max().over("actor"))
    met = numbered.join_asof(
        latest, left_on="last", right_on="begin", by="actor", strategy="backward", check_sortedness=False
    )
    return met.sort("row").select((pl.col("appeal_until") > pl.col("since")).fill_null(False)).to_series()


def made_by_a_model(source: str | None, detectors: Collection[str] = ()) -> bool:
    """Whether a label's source names a program: `model`, a model's id such as account-day@4f0c…, or a detector."""
    if source is None:
        return False
    told = source.strip().lower()
    first = re.split(r"[:/@ ]", told, maxsplit=1)[0]
    return first in _BY_MACHINE or bool(_MODEL_ID.fullmatch(told)) or first in {name.lower() for name in detectors}


def without_model_made(labels: pl.DataFrame, detectors: Collection[str] = ()) -> Resolved:
    """LABELS without those a model made, alone or beside a person's; they are counted by source."""
    sources = [name for name in labels["source"].unique().to_list() if made_by_a_model(name, detectors)]
    machine = pl.col("source").is_in(sources).fill_null(False)
    counts = labels.filter(machine)["source"].value_counts(sort=True).rows()
    reasons = {f"labels that a model made ({source})": count for source, count in counts}
    return Resolved(labels.filter(~machine), reasons)
