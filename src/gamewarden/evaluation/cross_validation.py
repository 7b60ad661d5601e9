"""How well detectors do on actors they never saw, beside what knowing nothing would do.

Every fold fits anew, with all that fitting involves. Scores of different folds meet in one ranking as `evidence`: the
log-odds of `probability` less the middle between the medians that the fold's own model gives its training bots and its
training humans. Without that a fold that trained on fewer bots would rank all of its own bots lower, and a dummy that
says how common bots are would stand below 0.5. With few actors this still ranks a little low (0.03 with 20 a class, on
synthetic tables); `auc_fold_mean` does not, and is coarse where folds are small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.config import Population
from gamewarden.contracts import Progress, no_progress
from gamewarden.errors import ConfigError, TableError
from gamewarden.evaluation.baselines import BASELINES, Fits
from gamewarden.evaluation.counting import RANKED, beaten, beside_counting
from gamewarden.evaluation.splits import PERIOD, Sides, by_group
from gamewarden.evaluation.summaries import notes_of, results
from gamewarden.learning.labels import label_periods
from gamewarden.tables import LABELS, check

PREVALENCE = Population.bots  # a guess that every operator replaces by their own
_EDGE = 1e-12  # log-odds stay finite


@dataclass(frozen=True)
class Evaluation:
    """The results, the held-out scores they come from, and what has to be said beside them."""

    summary: pl.DataFrame  # one row a detector and unit (period, actor)
    scores: pl.DataFrame  # actor, since, until, group, fold, bot, detector, probability, FPR, evidence (log-odds)
    notes: tuple[str, ...]


def evaluate(
    detectors: Sequence[Fits],
    features: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    groups: pl.DataFrame | None = None,
    folds: int = 10,
    prevalence: float = PREVALENCE,
    seed: int = 0,
) -> Evaluation:
    """Cross-validate the detectors and two baselines on the same folds and the same periods.

    Folds keep an actor together, or the group that `groups` (actor, group) or the labels' `group` names. Periods that a
    detector cannot judge are left out for all of them and counted.

    Raises:
        ConfigError: the prevalence is not between 0 and 1, or a detector is named twice.
        FitError: too few groups or labelled actors.
    """
    known = _grouped(labels, groups)
    labelled = label_periods(features, known, "evaluate")
    splits = list(by_group(labelled.rows, folds, seed))
    judged = judge(detectors, splits, features, known, prevalence=prevalence)
    notes = notes_of(judged.summary, labelled, judged.unjudged, folds)
    return Evaluation(judged.summary, judged.scores, (*notes, *beaten(judged.summary)))


@dataclass(frozen=True)
class Judged:
    """The results and held-out scores of one way of splitting, and how many periods could not be judged."""

    summary: pl.DataFrame
    scores: pl.DataFrame
    unjudged: int


def judge(
    detectors: Sequence[Fits],
    splits: Sequence[Sides],
    features: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    prevalence: float = PREVALENCE,
    progress: Progress = no_progress,
) -> Judged:
    """Fit the detectors and the baselines anew on one side of every split, and judge them on the other.

    Raises:
        ConfigError: the prevalence is not between 0 and 1, or a detector is named twice.
        FitError: a side has too few labelled actors.
    """
    _refuse(detectors, prevalence)
    recipes = [*detectors, *BASELINES]
    parts = []
    for split in splits:
        parts += [held_out(recipe, split, features, labels) for recipe in recipes]
        progress(1)
    together = pl.concat(parts)
    scores = _judged_by_all(together)
    units = {"period": scores, "actor": by_actor(scores)}
    rows = [
        {"detector": recipe.name, "unit": unit, **results(part.filter(detector=recipe.name), prevalence)}
        for recipe in recipes
        for unit, part in units.items()
    ]
    summary = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(pl.Null).cast(pl.Float64), folds=len(splits)
    )
    return Judged(beside_counting(summary, RANKED), scores, (together.height - scores.height) // len(recipes))


def _refuse(detectors: Sequence[Fits], prevalence: float) -> None:
    if not 0 < prevalence < 1:
        raise ConfigError(f"evaluate: prevalence {prevalence!r} is not a share; write for example 0.05 for 5 %")
    names = [recipe.name for recipe in (*detectors, *BASELINES)]
    if len(set(names)) < len(names):
        raise ConfigError(f"evaluate: a detector is named twice in {', '.join(names)}; each is evaluated once")


def _grouped(labels: pl.DataFrame, groups: pl.DataFrame | None) -> pl.DataFrame:
    """LABELS with the groups given beside them."""
    known = check(labels, LABELS, "evaluate")
    if groups is None:
        return known
    missing = [name for name in ("actor", "group") if name not in groups.columns]
    if missing:
        raise TableError(f"evaluate: the groups lack {', '.join(missing)}; they need actor and group")
    named = groups.group_by("actor").agg(pl.col("group").cast(pl.String).min())
    return known.drop("group").join(named, on="actor", how="left", maintain_order="left")


def held_out(recipe: Fits, split: Sides, features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The scores of a fold's test periods by a model of its training periods."""
    known = labels.join(split.train, on="actor", how="semi")
    if split.cut is not None:
        known = known.filter(pl.col("at").is_null() | (pl.col("at") <= split.cut))
    model = recipe.fit(features.join(split.train, on=PERIOD, how="semi"), known)
    scored = model.score(split.test)
    middle = _middle(model.score(split.train)["probability"], split.train["bot"])
    return split.test.select(*PERIOD, "group", "bot").with_columns(
        pl.lit(split.fold).alias("fold"),
        pl.lit(recipe.name).alias("detector"),
        scored["probability"],
        scored["fpr"],
        (_log_odds(scored["probability"]) - middle).alias("evidence"),
    )


def _middle(probability: pl.Series, bot: pl.Series) -> float:
    """Half-way between the typical bot and the typical human; exactly the constant of a model that says one thing."""
    typical = [_log_odds(probability.filter(side)).median() for side in (bot, ~bot)]
    known = [float(value) for value in typical if isinstance(value, float)]
    return sum(known) / len(known)


def _log_odds(probability: pl.Series) -> pl.Series:
    inside = probability.clip(_EDGE, 1 - _EDGE)
    return (inside / (1 - inside)).log()


def _judged_by_all(scores: pl.DataFrame) -> pl.DataFrame:
    blind = scores.filter(pl.col("probability").is_null()).select(PERIOD).unique()
    return scores.join(blind, on=PERIOD, how="anti")


def by_actor(scores: pl.DataFrame) -> pl.DataFrame:
    """One row an actor and detector: the mean evidence over its periods; one bot period makes a bot."""
    mean = pl.col("log_odds").mean()
    return (
        scores.with_columns(log_odds=_log_odds(scores["probability"]))
        .sort("detector", *PERIOD)
        .group_by("detector", "actor", maintain_order=True)
        .agg(
            pl.col("group", "fold").first(),
            pl.col("bot").any(),
            pl.col("evidence").mean(),
            (1 / (1 + (-mean).exp())).alias("probability"),
        )
    )
