"""One line of results: ranking, rates, precision at a stated prevalence, each with what so few actors allow to say."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from gamewarden.evaluation.baselines import BASELINES
from gamewarden.evaluation.metrics import Confusion, Flags, Floats, Ranked, brier, precision_at
from gamewarden.labels import Labelled

FPRS = {"1pct": 0.01, "0_1pct": 0.001}
LEVEL = 0.95
WIDE = 0.10  # an interval wider than this gets a note


def results(rows: pl.DataFrame, prevalence: float, seed: int, draws: int) -> dict[str, object]:
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
    for weights in group_draws(groups, ranked.bot, seed, draws):
        aucs.append(ranked.auc(weights))
        tprs.append(ranked.tpr_at(FPRS["1pct"], weights))
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    (auc_low, auc_high), (tpr_low, tpr_high) = (_quantiles(values, tails) for values in (aucs, tprs))
    if ranked.auc() == 1.0 and auc_low is not None:
        auc_low = min(auc_low, _least_of_a_perfect_row(groups, ranked.bot, tails[0]))
    return {"auc": auc_low, "tpr": tpr_low}, {"auc": auc_high, "tpr": tpr_high}


def group_draws(groups: pl.Series, bot: Flags, seed: int, draws: int) -> Iterator[Floats]:
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


def distinct_units(summary: pl.DataFrame) -> pl.DataFrame:
    """The summary without its rows by period where every actor has one period: they would say the same twice."""
    periods, actors = (summary.filter(unit=unit)["bots", "humans"].rows() for unit in ("period", "actor"))
    return summary.filter(unit="actor") if periods == actors else summary


def notes_of(summary: pl.DataFrame, labelled: Labelled, abstained: int, folds: int) -> list[str]:
    """What has to be said beside a summary of folds."""
    parts, groups, prevalence = (summary[name][0] for name in ("folds", "groups", "prevalence"))
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
    return notes + caveats(summary)


def caveats(summary: pl.DataFrame) -> list[str]:
    """What so few humans and groups cannot show."""
    shown = distinct_units(summary)
    return _thin(shown) + _wide(shown)


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
