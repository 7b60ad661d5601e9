"""How well detectors do on actors they never saw, beside what knowing nothing would do.

Every fold fits anew, with all that fitting involves. Scores of different folds meet in one ranking as `evidence`: the
log-odds of `probability` less the middle between the medians that the fold's own model gives its training bots and its
training humans. Without that a fold that trained on fewer bots would rank all of its own bots lower, and a dummy that
says how common bots are would stand below 0.5. With few actors this still ranks a little low (0.03 with 20 a class, on
synthetic tables); `auc_fold_mean` does not, and is coarse where folds are small.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from gamewarden.config import Evaluate
from gamewarden.errors import ConfigError, TableError
from gamewarden.evaluation.baselines import BASELINES, Fits
from gamewarden.evaluation.metrics import Confusion, Flags, Floats, Ranked, brier, precision_at
from gamewarden.evaluation.splits import Split, by_group
from gamewarden.labels import Labelled, label_periods
from gamewarden.tables import LABELS, check

PREVALENCE = Evaluate.prevalence  # bots among all accounts; a guess that every operator replaces by their own
FPRS = {"1pct": 0.01, "0_1pct": 0.001}
DRAWS = 1000
LEVEL = 0.95
WIDE = 0.10  # an interval wider than this gets a note
_EDGE = 1e-12  # log-odds stay finite
_PERIOD = ("actor", "since", "until")


@dataclass(frozen=True)
class Evaluation:
    """The results, the held-out scores they come from, and what has to be said beside them."""

    summary: pl.DataFrame  # one row a detector and unit (period, actor)
    scores: pl.DataFrame  # actor, since, until, group, fold, bot, detector, probability, evidence (log-odds)
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
    draws: int = DRAWS,
) -> Evaluation:
    """Cross-validate the detectors and two baselines on the same folds and the same periods.

    Folds keep an actor together, or the group that `groups` (actor, group) or the labels' `group` names. Periods that a
    detector cannot judge are left out for all of them and counted.

    Raises:
        ConfigError: the prevalence is not between 0 and 1, or a detector is named twice.
        FitError: too few groups or labelled actors.
    """
    _refuse(detectors, prevalence)
    known = _grouped(labels, groups)
    labelled = label_periods(features, known, "evaluate")
    splits = list(by_group(labelled.rows, folds, seed))
    recipes = [*detectors, *BASELINES]
    held_out = pl.concat([_held_out(recipe, split, features, known) for split in splits for recipe in recipes])
    scores = _judged_by_all(held_out)
    units = {"period": scores, "actor": _by_actor(scores)}
    rows = [
        {"detector": recipe.name, "unit": unit, **_results(part.filter(detector=recipe.name), prevalence, seed, draws)}
        for recipe in recipes
        for unit, part in units.items()
    ]
    summary = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(pl.Null).cast(pl.Float64), folds=len(splits)
    )
    abstained = (held_out.height - scores.height) // len(recipes)
    return Evaluation(summary, scores, (*_notes(distinct_units(summary), labelled, abstained, folds, prevalence),))


def distinct_units(summary: pl.DataFrame) -> pl.DataFrame:
    """The summary without its rows by period where every actor has one period: they would say the same twice."""
    periods, actors = (summary.filter(unit=unit)["bots", "humans"].rows() for unit in ("period", "actor"))
    return summary.filter(unit="actor") if periods == actors else summary


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


def _held_out(recipe: Fits, split: Split, features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The scores of a fold's test periods by a model of its training actors."""
    train = split.train.select("actor").unique()
    model = recipe.fit(features.join(train, on="actor", how="semi"), labels.join(train, on="actor", how="semi"))
    probability = model.score(split.test)["probability"]
    middle = _middle(model.score(split.train)["probability"], split.train["bot"])
    return split.test.select(*_PERIOD, "group", "bot").with_columns(
        pl.lit(split.fold).alias("fold"),
        pl.lit(recipe.name).alias("detector"),
        probability.alias("probability"),
        (_log_odds(probability) - middle).alias("evidence"),
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
    blind = scores.filter(pl.col("probability").is_null()).select(_PERIOD).unique()
    return scores.join(blind, on=_PERIOD, how="anti")


def _by_actor(scores: pl.DataFrame) -> pl.DataFrame:
    """One row an actor and detector: the mean evidence over its periods; one bot period makes a bot."""
    mean = pl.col("log_odds").mean()
    return (
        scores.with_columns(log_odds=_log_odds(scores["probability"]))
        .sort("detector", *_PERIOD)
        .group_by("detector", "actor", maintain_order=True)
        .agg(
            pl.col("group", "fold").first(),
            pl.col("bot").any(),
            pl.col("evidence").mean(),
            (1 / (1 + (-mean).exp())).alias("probability"),
        )
    )


def _results(rows: pl.DataFrame, prevalence: float, seed: int, draws: int) -> dict[str, object]:
    """One line of the summary."""
    bot, evidence, probability = (rows[name].to_numpy() for name in ("bot", "evidence", "probability"))
    ranked = Ranked(evidence, bot)
    tprs = {name: ranked.tpr_at(fpr) for name, fpr in FPRS.items()}
    at_half = Confusion.count(probability >= 0.5, bot)  # noqa: PLR2004 - the middle of a probability
    low, high = _intervals(ranked, rows["group"], seed, draws)
    return {
        "bots": int(bot.sum()),
        "humans": int((~bot).sum()),
        "groups": rows["group"].n_unique(),
        "auc": ranked.auc(),
        "auc_low": low["auc"],
        "auc_high": high["auc"],
        "auc_fold_mean": _fold_mean(rows),
        "tpr_at_1pct": tprs["1pct"],
        "tpr_at_1pct_low": low["tpr"],
        "tpr_at_1pct_high": high["tpr"],
        "tpr_at_0_1pct": tprs["0_1pct"],
        "prevalence": prevalence,
        **{f"precision_at_{name}": _precision(prevalence, tprs[name], fpr, ~bot) for name, fpr in FPRS.items()},
        "brier": brier(probability, bot),
        "accuracy": at_half.accuracy,
        "recall": at_half.recall,
        "fpr": at_half.fpr,
        "false_alarm": at_half.false_alarm,
        "mcc": at_half.mcc,
    }


def _precision(prevalence: float, tpr: float | None, fpr: float, human: Flags) -> float | None:
    """Precision where there are humans enough to show such an FPR; otherwise nobody knows."""
    return precision_at(prevalence, tpr, fpr) if human.sum() * fpr >= 1 else None


def _fold_mean(rows: pl.DataFrame) -> float | None:
    """The mean of the folds' own AUCs, over those that have both classes."""
    parts = [Ranked(part["evidence"].to_numpy(), part["bot"].to_numpy()).auc() for part in rows.partition_by("fold")]
    defined = [part for part in parts if part is not None]
    return sum(defined) / len(defined) if defined else None


def _intervals(
    ranked: Ranked, groups: pl.Series, seed: int, draws: int
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """The bootstrap interval of AUC and TPR at 1 %, drawing whole groups, each class mix for itself."""
    aucs: list[float | None] = []
    tprs: list[float | None] = []
    for weights in _draws(groups, ranked.bot, seed, draws):
        aucs.append(ranked.auc(weights))
        tprs.append(ranked.tpr_at(FPRS["1pct"], weights))
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    (auc_low, auc_high), (tpr_low, tpr_high) = (_quantiles(values, tails) for values in (aucs, tprs))
    if ranked.auc() == 1.0 and auc_low is not None:
        auc_low = min(auc_low, _least_of_a_perfect_row(groups, ranked.bot, tails[0]))
    return {"auc": auc_low, "tpr": tpr_low}, {"auc": auc_high, "tpr": tpr_high}


def _draws(groups: pl.Series, bot: Flags, seed: int, draws: int) -> Iterator[Floats]:
    """Weights of the rows: how often each row's group was drawn."""
    names, of_row = np.unique(groups.to_numpy().astype(np.str_), return_inverse=True)
    has_bot, has_human = (np.bincount(of_row, weights=side, minlength=names.size) > 0 for side in (bot, ~bot))
    mixes = [np.flatnonzero(mix) for mix in (has_bot & ~has_human, has_human & ~has_bot, has_bot & has_human)]
    random = np.random.default_rng(seed)
    for _ in range(draws):
        drawn = np.zeros(names.size)
        for mix in mixes:
            if mix.size:
                drawn[mix] = np.bincount(random.integers(mix.size, size=mix.size), minlength=mix.size)
        yield drawn[of_row]


def _quantiles(values: list[float | None], tails: tuple[float, float]) -> tuple[float | None, float | None]:
    defined = [value for value in values if value is not None]
    if not defined:
        return None, None
    low, high = np.quantile(defined, tails)
    return float(low), float(high)


def _least_of_a_perfect_row(groups: pl.Series, bot: Flags, tail: float) -> float:
    """No draw of a perfect ranking is less than perfect; m right of m still allow a rate of tail^(1/m)."""
    names = groups.to_numpy()
    fewest = min(np.unique(names[side].astype(np.str_)).size for side in (bot, ~bot))
    return float(tail ** (1 / fewest))


def _notes(summary: pl.DataFrame, labelled: Labelled, abstained: int, folds: int, prevalence: float) -> list[str]:
    parts, groups = summary["folds"][0], summary["groups"][0]
    notes = [
        f"{parts} folds, each with its own fit; an actor or its group is on one side only ({groups} groups).",
        "AUC ranks the held-out scores of all folds together, log-odds from the middle of each fold's training scores.",
        f"Intervals hold {LEVEL:.0%}: bootstrap over groups. Precision supposes that {prevalence:.1%} of all are bots.",
    ]
    if parts < folds:
        notes.append(
            f"{folds} folds were asked for; with so few groups of a class only {parts} can each hold out both."
        )
    notes += [f"Left out, {reason}: {count}." for reason, count in labelled.left_out.items()]
    if abstained:
        notes.append(f"Left out, periods with too little play to judge: {abstained}.")
    return notes + _thin(summary) + _wide(summary)


def _thin(summary: pl.DataFrame) -> list[str]:
    """What so few humans cannot show."""
    return [
        f"{humans} human {unit}s cannot show an FPR of {fpr:.1%} ({1 / fpr:,.0f} would): the TPR there counts the bots "
        f"above every human, at a true FPR of up to {min(1.0, 3 / max(humans, 1)):.1%}, and its precision is unknown."
        for unit, humans in summary.select("unit", "humans").unique(maintain_order=True).iter_rows()
        for fpr in FPRS.values()
        if humans * fpr < 1
    ]


def _wide(summary: pl.DataFrame) -> list[str]:
    baselines = [recipe.name for recipe in BASELINES]
    rows = summary.filter(
        pl.col("detector").is_in(baselines).not_(), pl.col("auc_high") - pl.col("auc_low") > WIDE
    ).select("detector", "unit", "auc_low", "auc_high", "groups")
    return [
        f"{detector} by {unit}: AUC is only known to lie in {low:.2f}–{high:.2f}; {groups} groups say no more."
        for detector, unit, low, high, groups in rows.iter_rows()
    ]
