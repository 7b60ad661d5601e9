"""A budget of wrong accusations as rows: what a model's people allow, or held-out scores of people."""

from pathlib import Path

import polars as pl

from gamewarden.contracts import Card, Model, Persons
from gamewarden.errors import ReadError, TableError
from gamewarden.learning.exposure import People
from gamewarden.learning.labels import label_periods
from gamewarden.learning.reference import smallest_fpr
from gamewarden.verdicts.budget import Budget, Humans, cost_threshold, no_threshold, threshold
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.prevalence import Prevalence, moved

_NUMBERS = ("fpr", "probability")


def cost_row(cost: tuple[float, float], prevalence: Prevalence, card: Card) -> dict[str, object]:
    """The probability from which to act under a model, as people see it and as the model itself gives it."""
    at, prior = cost_threshold(cost), prior_of(card)
    own = moved(at, prevalence.bots, prior)
    return {
        "model": card.id,
        "probability": at,
        "prevalence": prevalence.bots,
        "own_probability": own,
        "own_prevalence": prior,
        "says": f"Act from a probability of {at:.4f} on, if {prevalence.text} of all accounts are bots: a wrong "
        f"accusation costs {cost[0] / cost[1]:g} times a missed bot. At the share of bots among its labels, "
        f"{prior:.0%}, that is a probability of {own:.4f}.",
    }


def row_of_model(budget: Budget, model: Model, days: float | None) -> dict[str, object]:
    """What a model's reference humans allow, or why they allow nothing."""
    name = model.card.id
    people = model.people
    if people is None:
        return no_threshold(budget, name, model.without_people)
    if days is None and people.days is None:
        return no_threshold(budget, name, "Its rows have no times; say with --days how many days a row covers.")
    known = max(len(people.lowest), *model.compared_with)
    smallest = [smallest_fpr(humans, known) for humans in model.compared_with]
    return threshold(budget, Humans(name, people.lowest, _days(people, days), smallest))


def _days(people: Persons, days: float | None) -> tuple[float, ...]:
    return (people.days or ()) if days is None else (days,) * len(people.lowest)


def known_humans(table: pl.DataFrame, labels: pl.DataFrame | None, path: Path) -> pl.DataFrame:
    """The rows of people known to be human, with the person as `group`; one of whose actors is a bot's is no human."""
    if labels is not None:
        columns = [name for name in ("actor", "since", "until", "detector", *_NUMBERS) if name in table.columns]
        events = pl.lit(None, dtype=pl.Int64).alias("events")
        known = label_periods(table.select(*columns, events), labels, str(path)).rows
    elif "bot" in table.columns:
        own = pl.col("group").fill_null(pl.col("actor")) if "group" in table.columns else pl.col("actor")
        known = table.with_columns(group=own.cast(pl.String)).drop_nulls("bot")
    else:
        raise TableError(f"{path}: does not say who is human; give --labels FILE, or a column bot")
    humans = known.filter(~pl.col("bot").any().over("group"))
    if not humans.height:
        raise TableError(f"{path}: nobody in it is known to be human; review some accounts first")
    return humans


def row_among(
    budget: Budget, scores: pl.DataFrame, path: Path, time_zone: str | None, days: float | None
) -> dict[str, object]:
    """What each human's lowest FPR allows; without FPRs, its highest probability turned round."""
    column = next((name for name in _NUMBERS if name in scores.columns and scores[name].count()), None)
    if column is None:
        raise ReadError(f"{path}: has neither FPR nor probability; it has {', '.join(scores.columns)}")
    fpr = pl.col("fpr") if column == "fpr" else 1 - pl.col("probability")
    people = People.of(scores.select("group", "since", "until", fpr=fpr), time_zone or "UTC")
    if days is None and people.days is None:
        raise TableError(f"{path}: rows without since and until; say with --days how many days a row covers")
    name = f"{scores['detector'][0]}" + ("" if column == "fpr" else " (FPR: 1 − probability)")
    return threshold(budget, Humans(name, people.lowest, _days(people, days)))
