"""The list of accounts to look at, the most suspect first: one row per actor, whatever its number of periods."""

from collections.abc import Sequence

import polars as pl

from gamewarden.config import Rank
from gamewarden.errors import ConfigError
from gamewarden.learning.phrases import USUAL
from gamewarden.tables import EVIDENCE, FEATURES, PROFILES, SCORES, check
from gamewarden.verdicts.filters import Filter, apply_filters

# The published operator page lists accounts from 0.99 on, of a model that learned from about as many bots as people;
# where one account in twenty is a bot that is the same as about 0.84. A person confirms each.
THRESHOLD = Rank.probability
REASONS = 3
_COMMON = 3 / 4  # of a list: what so many have tells none of them from the others
_SLIGHT = 0.1  # of an actor's heaviest reason: what weighs less is none
EDGE = 1e-12  # log-odds stay finite
_KNOWN = " (profile)"
_KEY = ("actor", "since", "until")


def rank(
    scores: pl.DataFrame,
    features: pl.DataFrame,
    profiles: pl.DataFrame | None = None,
    *,
    facts: pl.DataFrame | None = None,
    filters: Sequence[Filter] = (),
    detector: str | None = None,
    threshold: float = THRESHOLD,
) -> pl.DataFrame:
    """One row per actor: its numbers over all judged periods, what it did, and its profile.

    `probability` is that of the mean log-odds over the judged periods, `fpr` and `self_sim` the median, `level` the
    last one known, `play_minutes` the sum. `zone` is the one a `zone` column of FEATURES names in most periods, or the
    profile's; `far` names a number that lies beyond the model's training, where one does. `facts` are further columns
    by actor. An actor with too little play in every period stands last, without a probability.

    Raises:
        ConfigError: a filter names no column or value of its kind, or scores of several detectors leave open which.
        TableError: a table lacks a column.
    """
    judged = _of_one(check(scores, SCORES, "rank"), detector)
    measured = check(features, FEATURES, "rank")
    listed = _believed(judged, threshold).join(_seen(judged, measured), on="actor", how="left")
    if facts is not None:
        listed = with_facts(listed, facts)
    if profiles is not None:
        listed = with_profiles(listed, check(profiles, PROFILES, "rank"))
    kept = apply_filters(listed, tuple(filters))
    return kept.sort(["probability", "fpr", "actor"], descending=[True, False, False], nulls_last=True)


def add_reasons(ranking: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """The ranking with `reasons`: up to three that set an actor apart in this list, then those the list has in common.

    A feature weighs its mean over the actor's periods, and speaks with the sentence of the period where it weighs most,
    up to the colon. It sets an actor apart by how much more it weighs than for the middle one of the list, so that the
    reasons depend on the list; the probability does not.
    """
    spoken = _spoken(ranking, evidence)
    common = pl.col("says").is_in(_common(ranking, spoken)["says"].implode())
    place = pl.int_range(pl.len()).over("actor", "common")
    reasons = (
        spoken.with_columns(common=common)
        .filter(place < REASONS)
        .sort("common", maintain_order=True)
        .group_by("actor", maintain_order=True)
        .agg(pl.col("says").str.join("; ").alias("reasons"))
    )
    return ranking.join(reasons, on="actor", how="left", maintain_order="left")


def common_reasons(ranking: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """What speaks for a bot with three in four of several listed actors: `says` and how many `actors`, most first."""
    return _common(ranking, _spoken(ranking, evidence))


def _spoken(ranking: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """What speaks for a bot with each listed actor, alone and beside the rest: what sets it apart first."""
    mine = check(evidence, EVIDENCE, "rank").filter(pl.col("actor").is_in(ranking["actor"].implode()))
    weighed = (
        mine.filter(pl.col("weight").is_not_null())
        .sort("actor", "feature", "weight", "since", descending=[False, False, True, False])
        .group_by("actor", "feature", maintain_order=True)
        .agg(
            pl.col("weight", "alone").mean(),
            pl.col("says").first().str.split(":").list.first().str.strip_suffix("."),
        )
    )
    return (
        weighed.with_columns(apart=pl.col("weight") - pl.col("weight").median().over("feature"))
        .filter(pl.col("weight") > 0, pl.col("alone").is_null() | (pl.col("alone") > 0))
        .filter(~usual_number())
        .filter(pl.col("weight") >= _SLIGHT * pl.col("weight").max().over("actor"))
        .sort("actor", "apart", "weight", "feature", descending=[False, True, True, False])
        .unique(["actor", "says"], keep="first", maintain_order=True)
    )


def usual_number() -> pl.Expr:
    """Whether the sentence in `says` calls a number usual: such a number is no reason."""
    return pl.col("says").str.split(":").list.first().str.contains(USUAL, literal=True)


def _common(ranking: pl.DataFrame, spoken: pl.DataFrame) -> pl.DataFrame:
    enough = max(_COMMON * ranking.height, 2)  # of one actor nothing can be common
    counted = spoken.group_by("says").agg(pl.len().alias("actors"), pl.col("weight").sum())
    most = counted.filter(pl.col("actors") >= enough).sort("actors", "weight", "says", descending=[True, True, False])
    return most.select("says", pl.col("actors").cast(pl.Int64)).head(REASONS)


def _of_one(scores: pl.DataFrame, detector: str | None) -> pl.DataFrame:
    """The scores of the detector asked for, or of the only one."""
    names = scores["detector"].unique().sort().to_list()
    if detector is None and len(names) > 1:
        raise ConfigError(f"rank: there are scores of {', '.join(names)}; choose one detector")
    if detector is not None and detector not in names:
        raise ConfigError(f"rank: there are no scores of {detector!r}, only of {', '.join(names) or 'nobody'}")
    return scores if detector is None else scores.filter(detector=detector)


def mean_probability() -> pl.Expr:
    """The probability of the mean log-odds over all judged periods."""
    inside = pl.col("probability").clip(EDGE, 1 - EDGE)
    return 1 / (1 + (-(inside / (1 - inside)).log().mean()).exp())


def _believed(scores: pl.DataFrame, threshold: float) -> pl.DataFrame:
    return (
        scores.sort(_KEY)
        .group_by("actor", maintain_order=True)
        .agg(
            mean_probability().alias("probability"),
            pl.col("fpr").median(),
            pl.col("probability").count().cast(pl.Int64).alias("periods"),
            (pl.col("probability") >= threshold).sum().cast(pl.Int64).alias("periods_flagged"),
            pl.col("far").drop_nulls().mode().sort().first(),
        )
    )


def _seen(scores: pl.DataFrame, features: pl.DataFrame) -> pl.DataFrame:
    """What the measured numbers say of each actor, in the words of the operator page."""
    blank = {"self_sim": pl.Float64, "main_char_level": pl.Float64, "total_use_time_min": pl.Float64, "zone": pl.String}
    missing = [pl.lit(None, dtype=kind).alias(name) for name, kind in blank.items() if name not in features.columns]
    ordered = features.join(scores.select("actor"), on="actor", how="semi").with_columns(missing).sort(_KEY)
    return ordered.group_by("actor", maintain_order=True).agg(
        pl.col("self_sim").median(),
        pl.col("main_char_level").drop_nulls().last().alias("level"),
        pl.col("total_use_time_min").sum().alias("play_minutes"),
        pl.col("zone").drop_nulls().mode().sort().first(),
    )


def with_facts(ranking: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """The ranking with what else is known of each actor."""
    if twice := [name for name in facts.columns if name in ranking.columns and name != "actor"]:
        raise ConfigError(f"rank: kind {twice[0]!r} is called as a column of the list; map it to another name")
    return ranking.join(facts, on="actor", how="left")


def with_profiles(ranking: pl.DataFrame, profiles: pl.DataFrame) -> pl.DataFrame:
    """The ranking with what the operator knows; what the log says comes first, the profile fills the gaps."""
    known = profiles.unique("actor", keep="last", maintain_order=True)
    told = [name for name in known.columns if name not in ranking.columns and known[name].null_count() < known.height]
    gaps = [name for name in ("level", "zone") if name in known.columns]
    both = ranking.join(known.select("actor", *told, *gaps), on="actor", how="left", suffix=_KNOWN)
    return both.with_columns(pl.coalesce(name, name + _KNOWN).alias(name) for name in gaps).drop(
        name + _KNOWN for name in gaps
    )


def judged_rows(measured: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The rows that have a score: reasons are about nothing else."""
    judged = scores.filter(pl.col("probability").is_not_null()).select("actor", "since", "until")
    return measured.join(judged, on=["actor", "since", "until"], how="semi")


def highest_period(measured: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The period that scores highest, of several the latest."""
    highest = scores.sort("probability", "since", descending=[True, True], nulls_last=True).head(1)
    return measured.join(highest.select("actor", "since"), on=["actor", "since"], how="semi")
