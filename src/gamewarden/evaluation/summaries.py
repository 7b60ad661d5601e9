"""One line of results: ranking, rates, precision at a stated prevalence, each with what so few actors allow to say."""

import numpy as np
import polars as pl

from gamewarden.core.intervals import LEAST_GROUPS, LEVEL, Interval, auc_interval, share_interval
from gamewarden.evaluation.baselines import BASELINES
from gamewarden.evaluation.metrics import Confusion, Flags, Ranked, brier, precision_at
from gamewarden.learning.labels import Labelled

FPRS = {"1pct": 0.01, "0_1pct": 0.001}
HOW = f"Intervals hold {LEVEL:.0%}, from groups (actors, or whole farms) left out in turn and half a group supposed."
WIDE = 0.10  # an interval wider than this gets a note


def results(rows: pl.DataFrame, prevalence: float) -> dict[str, object]:
    """One line of the summary."""
    bot, evidence, probability = (rows[name].to_numpy() for name in ("bot", "evidence", "probability"))
    ranked = Ranked(evidence, bot)
    tprs = {name: ranked.tpr_at(fpr) for name, fpr in FPRS.items()}
    at_half = Confusion.count(probability >= 0.5, bot)  # noqa: PLR2004 - the middle of a probability
    groups = rows["group"].to_numpy().astype(np.str_)
    caught = ranked.flagged_at(FPRS["1pct"])
    return {
        "bots": int(bot.sum()),
        "humans": int((~bot).sum()),
        "groups": rows["group"].n_unique(),
        "auc": ranked.auc(),
        **_ends("auc", auc_interval(evidence, bot, groups)),
        "auc_fold_mean": _fold_mean(rows),
        "tpr_at_1pct": tprs["1pct"],
        **_ends("tpr_at_1pct", share_interval(caught[bot], groups[bot]) if caught is not None else None),
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


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    """An interval as two columns, empty where so few groups allow none."""
    low, high = (None, None) if interval is None else interval
    return {f"{name}_low": low, f"{name}_high": high}


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
        f"{HOW} Precision supposes that {prevalence:.1%} of all are bots.",
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
    return _thin(shown) + _wide(shown) + _unknown(shown)


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


def _unknown(summary: pl.DataFrame) -> list[str]:
    """That no interval can be given."""
    rows = summary.filter(pl.col("auc").is_not_null(), pl.col("auc_low").is_null())
    return [
        f"By {unit}, fewer than {LEAST_GROUPS} groups have a bot or a human: no interval can be given."
        for unit in rows["unit"].unique(maintain_order=True)
    ]
