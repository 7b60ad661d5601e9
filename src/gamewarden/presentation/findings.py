"""What an evaluation found, in sentences that a manager can repeat and an engineer can stand behind."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from gamewarden.core.binomial import upper_bound
from gamewarden.evaluation.baselines import BASELINES
from gamewarden.evaluation.breakdowns import FPR, detectors_in
from gamewarden.evaluation.compare_splits import SideBySide
from gamewarden.evaluation.split_schemes import ACTOR, FAMILY, FARM, RANDOM, TIME

_OTHERWISE = {
    ACTOR: "accounts it never saw, though perhaps their farm",
    FARM: "whole farms it never saw",
    TIME: "only the past to learn from",
    FAMILY: "kinds of bots it never saw",
}
_STRANGERS = {FARM: "accounts and farms", ACTOR: "accounts"}
_MEASURE = "tpr_at_1pct"
_TAIL = 0.025  # of a 95 % interval, at one end
_ROUNDING = 1e-9
_WITNESS = 0.05  # an AUC this far above that of counting events is worth a detector
DOES_NOT_SHOW = (
    "How many bots there are among all players: precision is stated for a share of bots that somebody chose.",
    "Other players: the labelled accounts are not a random sample of all.",
    "Bots that nobody labelled as such: whoever was never found is in no class here.",
    "What bot authors will do next: they change when they are found, and no split of old data holds that out.",
    "Whether a label is right: raters err, bans are suspicions, and a rater who saw a model's score repeats it.",
    "What a sanction does to the person or to the game's economy. A flag is a reason to look, not a verdict.",
)


def best_detector(result: SideBySide) -> str:
    """The detector that does best on those it never saw, by what an operator acts on."""
    return str(_in_order(result)[0]["detector"])


def _in_order(result: SideBySide) -> list[dict[str, Any]]:
    """The detectors' rows, the best first: by the bots caught where one in a hundred people is flagged, then by AUC.

    With too few people to show such a rate the AUC alone decides. A list is acted on from its top; two AUCs that differ
    in the fourth decimal say nothing of it.
    """
    names = detectors_in(result.scores)
    rows = result.summary.filter(pl.col("detector").is_in(names), split=result.main.name, unit=ACTOR)
    return sorted(rows.to_dicts(), key=lambda row: [-1.0 if row[name] is None else row[name] for name in _by(row)])[
        ::-1
    ]


def _by(row: dict[str, Any]) -> tuple[str, str]:
    """What decides between detectors, and what decides where that is equal."""
    return (_MEASURE, "auc") if row["humans"] * FPR >= 1 else ("auc", _MEASURE)


def headlines(result: SideBySide) -> Iterator[str]:
    """The findings, the most important one first."""
    best = best_detector(result)
    row = _row(result, result.main.name, best)
    if row["auc"] is None:
        yield "Nobody could be judged: one class has no period with enough play."
        return
    yield _caught(row, best, result.main.name)
    yield from (_beside(other, row) for other in _in_order(result)[1:])
    if row["precision_at_1pct"] is not None:
        yield (
            f"If {_percent(row['prevalence'])} of all players are bots, {_of_hundred(row['precision_at_1pct'])} of 100 "
            f"flagged accounts would be bots, and {100 - round(100 * row['precision_at_1pct'])} would be people."
        )
    else:
        yield (
            f"{row['humans']} people are too few to say how many of the flagged would be people: at least "
            f"{round(1 / FPR)} are needed to see one in a hundred."
        )
    yield from _otherwise(result, best, row)
    yield from _beside_counting(result, best, row)
    yield from _in_time(row, best)


def _caught(row: dict[str, Any], best: str, split: str) -> str:
    strangers = _STRANGERS.get(split, "periods")
    if _by(row)[0] == "auc":
        who = f"{row['bots']:,} bots and {row['humans']:,} people"
        return (
            f"{best} ranks a bot above a person {_of_hundred(row['auc'])} times in 100 on {strangers} it never saw "
            f"({_interval(row, 'auc')}; {who})."
        )
    most = 100 * upper_bound(int(FPR * row["humans"] + _ROUNDING), row["humans"], _TAIL)
    return (
        f"On {strangers} it never saw, {best} catches {_of_hundred(row[_MEASURE])} of 100 bots "
        f"({_interval(row, _MEASURE)}; {row['bots']:,} bots) while it flags 1 of 100 people (up to {most:.1f}; "
        f"{row['humans']:,} people)."
    )


def _beside(other: dict[str, Any], best: dict[str, Any]) -> str:
    """How another detector does, and whether the best one is surely better."""
    measure = _by(best)[0]
    ranks = measure == "auc"
    done = f"{_of_hundred(other[measure])}{' times in 100' if ranks else ''} ({_ends(other, measure)})"
    said = f"{other['detector']} {'ranks a bot above a person' if ranks else 'catches'} {done}"
    if other[f"{measure}_high"] is None or best[f"{measure}_low"] is None:
        return f"{said}; so few cannot tell it from {best['detector']}."
    if other[f"{measure}_high"] >= best[f"{measure}_low"]:
        return f"{said}: the intervals overlap, so that so few cannot tell it from {best['detector']}."
    if other["auc"] > best["auc"]:
        return f"{said}, clearly less, though its AUC is {other['auc']:.3f} beside {best['auc']:.3f}."
    return f"{said}, clearly less."


def _interval(row: dict[str, Any], measure: str) -> str:
    return "no interval: too few groups" if row[f"{measure}_low"] is None else f"95 %: {_ends(row, measure)}"


def _ends(row: dict[str, Any], measure: str) -> str:
    low, high = row[f"{measure}_low"], row[f"{measure}_high"]
    return "no interval" if low is None else f"{_of_hundred(low)} to {_of_hundred(high)}"


def _otherwise(result: SideBySide, best: str, row: dict[str, float]) -> Iterator[str]:
    shown = [part.name for part in result.parts]
    measure = _by(row)[0]
    otherwise = [
        f"{_of_hundred(_row(result, name, best)[measure])} with {words}"
        for name, words in _OTHERWISE.items()
        if name in shown and name != result.main.name
    ]
    if otherwise:
        yield f"Asked otherwise, {_of_hundred(row[measure])} becomes {'; '.join(otherwise)}."
    if RANDOM in shown and _row(result, RANDOM, best)["known_actors"]:
        kind = _of_hundred(_row(result, RANDOM, best)[measure])
        yield f"A random split, which lets it know the accounts already, would have said {kind}. Do not quote that one."


def _beside_counting(result: SideBySide, best: str, row: dict[str, float]) -> Iterator[str]:
    counting = BASELINES[-1].name
    simple = _row(result, result.main.name, counting)
    gain = row["auc"] - simple["auc"]
    little = "so it hardly says more than how much somebody plays" if gain > 0 else "so counting alone does better"
    verdict = "so it earns its place" if gain >= _WITNESS else little
    yield f"Counting log entries alone has an AUC of {simple['auc']:.2f}, {best} {row['auc']:.2f}, {verdict}."


def _in_time(row: dict[str, float], best: str) -> Iterator[str]:
    if row["hours_to_detection"] is not None:
        yield (
            f"Watched period by period, with 1 of 100 people ever flagged, {best} catches "
            f"{_of_hundred(row['ever_flagged'])} of 100 bots, half of those within {row['hours_to_detection']:,.0f} "
            "hours of their first play in the test."
        )


def is_synthetic(result: SideBySide) -> bool:
    """Whether all labels come from a simulation."""
    return set(result.provenance["source"]) == {"simulation"}


def _row(result: SideBySide, split: str, detector: str) -> dict[str, float]:
    return result.summary.filter(split=split, detector=detector, unit=ACTOR).row(0, named=True)


def _of_hundred(share: float | None) -> str:
    return "an unknown number" if share is None else f"{100 * share:.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
