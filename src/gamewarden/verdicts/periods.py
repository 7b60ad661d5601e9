"""Scores inside a period become one answer a detector: what overlaps counts once, what repeats counts less."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from gamewarden.contracts import Model
from gamewarden.core.clock import LAST_MOMENT, Clock
from gamewarden.learning.days import log_odds
from gamewarden.learning.model_info import ModelInfo, family_of
from gamewarden.learning.styles import Styles
from gamewarden.tables import SCORES, check
from gamewarden.verdicts.chunks import prior_of

__all__ = [
    "KEY",
    "Clock",
    "ModelInfo",
    "discounted",
    "log_odds",
    "marks_of",
    "periods_of",
    "played",
    "roll_up",
    "side_by_side",
]

KEY = ("actor", "since", "until")
Key = tuple[Any, ...]  # the values of KEY


def periods_of(table: pl.DataFrame, cut: Clock) -> pl.DataFrame:
    """Actor, since and until of the period that each row ends in."""
    begin, end = cut.borders(LAST_MOMENT)
    return table.select("actor", begin.alias("since"), end.alias("until"))


def marks_of(scores: pl.DataFrame, cut: Clock) -> pl.DataFrame:
    """One row an actor and period that has a score: how much of it the source covers, and who was shown the unknown.

    `far` names the detectors one of whose rows lies far beyond what they learned from.
    """
    marked = pl.concat([periods_of(scores, cut), scores.select("detector", "covered", "far")], how="horizontal")
    unknown = pl.col("detector").filter(pl.col("far").is_not_null()).unique().sort().str.join(", ")
    told = marked.group_by(KEY, maintain_order=True).agg(pl.col("covered").min(), unknown.first().alias("far"))
    return told.with_columns(pl.when(pl.col("far") != "").then(pl.col("far")))


def discounted(total: pl.Expr, parts: pl.Expr, discount: float) -> pl.Expr:
    """A sum of evidence whose first part counts whole and every further one only `discount` of it."""
    return total / parts * (1 + discount * (parts - 1).clip(lower_bound=0))


def roll_up(scores: pl.DataFrame, models: Mapping[str, ModelInfo], cut: Clock, discount: float) -> pl.DataFrame:
    """One row an actor, period and detector that had enough evidence, sorted by these.

    A score belongs to the period it ends in, so that a verdict rests on nothing that came after it. `evidence` is what
    the scores add to the log-odds beyond the model's own prior; `order` the model's place, those that see most first;
    `rows` how many scores there were. `fpr` is that of the whole period, ranked among the human periods of the model;
    without such, it is the mean of the rows' own, and `voices` says of how many.

    Raises:
        TableError: the scores lack a column.
    """
    known = pl.DataFrame(
        [(model, info.family, info.prior, order) for order, (model, info) in enumerate(models.items())],
        schema={"model": pl.String, "family": pl.String, "prior": pl.Float64, "order": pl.Int64},
        orient="row",
    )
    judged = check(scores, SCORES, "verdicts").drop_nulls("probability").join(known, on="model")
    begin, end = cut.borders(LAST_MOMENT)
    placed = judged.with_columns(begin.alias("begin"), end.alias("end")).sort("detector", "actor", "since", "until")
    group = ("actor", "begin", "end", "detector", "model", "family")
    beyond_prior = log_odds(pl.col("probability")) - log_odds(pl.col("prior"))
    rolled = (
        placed.with_columns(fresh=_fresh(group), beyond=beyond_prior)
        .group_by(group, maintain_order=True)
        .agg(
            discounted((pl.col("fresh") * pl.col("beyond")).sum(), pl.col("fresh").sum(), discount).alias("evidence"),
            pl.col("fpr").mean(),
            log_odds(pl.col("probability")).mean().alias("mean"),
            pl.col("order").first(),
            pl.len().cast(pl.Int64).alias("rows"),
        )
        .rename({"begin": "since", "end": "until"})
        .sort("actor", "since", "detector")
    )
    return _ranked(rolled, models, cut).drop("mean")


def _ranked(rolled: pl.DataFrame, models: Mapping[str, ModelInfo], cut: Clock) -> pl.DataFrame:
    """The FPRs of whole periods in the place of their rows' mean, where a model knows human periods like these."""
    fprs, voices = rolled["fpr"].to_numpy().copy(), rolled["rows"].to_numpy().copy()
    for model, info in models.items():
        if info.days is not None and info.days.cut == cut:
            mine = (rolled["model"] == model).to_numpy()
            fprs[mine] = info.days.fpr(rolled["mean"].to_numpy()[mine], rolled["rows"].to_numpy()[mine])
            voices[mine] = 1
    return rolled.with_columns(fpr=pl.Series(fprs), voices=pl.Series(voices))


def _fresh(group: tuple[str, ...]) -> pl.Expr:
    """The share of a score's time that no earlier one of its group has covered."""
    covered = pl.col("until").cum_max().shift(1).over(group)
    left = (pl.col("until") - covered).dt.total_microseconds() / (
        (pl.col("until") - pl.col("since")).dt.total_microseconds().clip(lower_bound=1)
    )
    return pl.when(covered.is_null() | (covered <= pl.col("since"))).then(1.0).otherwise(left.clip(0.0, 1.0))


def without_periods(table: pl.DataFrame) -> bool:
    """Whether a table has rows and none of them belongs to a period."""
    return table.height > 0 and table["until"].null_count() == table.height


def side_by_side(parts: pl.DataFrame, played: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row an actor and period: each model's evidence in a column of its name, null where it was silent.

    `events` counts the scores; what tells styles apart is joined from `played`.
    """
    wide = parts.pivot(on="model", index=KEY, values="evidence")
    counts = parts.group_by(KEY).agg(pl.col("rows").sum().alias("events"))
    table = wide.join(counts, on=KEY).sort("actor", "since")
    return table if played is None else table.join(played, on=KEY, how="left", maintain_order="left")


def played(features: Iterable[pl.DataFrame], styles: Styles, cut: Clock) -> pl.DataFrame | None:
    """What tells styles apart, an actor and period: time and kills added up, and the highest level.

    Taken from the first table of periods that has the time played; None where none has.
    """
    for table in features:
        if styles.minutes in table.columns and not without_periods(table):
            begin, end = cut.borders(LAST_MOMENT)
            added = [_added(name) for name in (styles.minutes, styles.kills) if name in table.columns]
            level = [pl.col(styles.level).cast(pl.Float64).max()] if styles.level in table.columns else []
            placed = table.select(pl.exclude("since", "until"), begin.alias("since"), end.alias("until"))
            return placed.group_by(KEY).agg(*added, *level)
    return None


def _added(name: str) -> pl.Expr:
    """A sum that is null where nothing was measured."""
    column = pl.col(name).cast(pl.Float64)
    return pl.when(column.count() > 0).then(column.sum()).alias(name)


def infos_of(models: Sequence[Model]) -> dict[str, ModelInfo]:
    """What has to be known of each model before its scores are added to others', by the model's id."""
    return {
        model.card.id: ModelInfo(model.card.detector, family_of(model.feature.name), prior_of(model.card), model.days)
        for model in models
    }
