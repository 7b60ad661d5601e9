"""Thresholds from a budget of wrong accusations: for the models on a shelf, or for held-out scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors
from gamewarden.contracts import Model, Persons
from gamewarden.errors import ReadError, TableError
from gamewarden.learning.exposure import People
from gamewarden.learning.labels import label_periods
from gamewarden.pipeline.scoring import load_models
from gamewarden.readers.logs.operator_tables import read_labels, read_scores
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.verdicts.budget import BUDGET_SCHEMA, Budget, Humans, cost_threshold, no_threshold, threshold
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.prevalence import Prevalence, moved

_NUMBERS = ("fpr", "probability")


def budget_of_models(budget: Budget, models: Path, days: float | None = None) -> pl.DataFrame:
    """A row a model in force, from its held-out humans; the fusion's verdicts first.

    `days` says on how many days each human was seen, instead of what the model keeps of it.

    Raises:
        ModelError: there is no model, or one is damaged.
    """
    rows = [_row_of(budget, model, days) for model in _models(models)]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_of_scores(
    budget: Budget, scores: Path, labels: Path | None, time_zone: str | None = None, days: float | None = None
) -> pl.DataFrame:
    """A row a detector, from scores of people it had not seen, each counted once by the lowest FPR.

    A person is the `group` of its label, or an actor without one. `days` says on how many days each was seen, instead
    of those on which it has a score.

    Raises:
        ReadError: a table cannot be read.
        TableError: nobody in it is known to be human, or it has neither FPR nor probability, or no times.
    """
    table = read_scores(scores, time_zone)
    humans = _known_humans(table, None if labels is None else read_labels(labels, time_zone).frame, scores)
    rows = [_row_among(budget, part, scores, time_zone, days) for part in humans.partition_by("detector")]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_alone(budget: Budget) -> pl.DataFrame:
    """What the budget asks for before there is a model: how many reviewed humans."""
    return pl.DataFrame([threshold(budget, Humans("no model yet", (), ()))], schema=BUDGET_SCHEMA)


def costs_of_models(cost: tuple[float, float], prevalence: Prevalence, models: Path) -> pl.DataFrame:
    """The probability from which to act under each model, where a wrong accusation and a missed bot cost so much."""
    rows = [
        {
            "model": model.card.id,
            "probability": (at := cost_threshold(cost)),
            "prevalence": prevalence.bots,
            "own_probability": (own := moved(at, prevalence.bots, prior := prior_of(model.card))),
            "own_prevalence": prior,
            "says": f"Act from a probability of {at:.4f} on, if {prevalence.text} of all accounts are bots: a wrong "
            f"accusation costs {cost[0] / cost[1]:g} times a missed bot. At the share of bots among its labels, "
            f"{prior:.0%}, that is a probability of {own:.4f}.",
        }
        for model in _models(models)
    ]
    return pl.DataFrame(rows)


def _models(directory: Path) -> Iterator[Any]:
    """The fusion in force, then the detectors' models."""
    for stored in model_registry.in_force(directory):
        if detectors.fuses(stored.detector):
            yield detectors.load_model(stored_models.load(stored.path))
    yield from load_models(directory)


def _row_of(budget: Budget, model: Model, days: float | None) -> dict[str, object]:
    """What a model's reference humans allow, or why they allow nothing."""
    name = model.card.id
    people = model.people
    if people is None:
        return no_threshold(budget, name, model.without_people)
    if days is None and people.days is None:
        return no_threshold(budget, name, "Its rows have no times; say with --days how many days a row covers.")
    smallest = [1 / (humans + 1) for humans in model.compared_with]
    return threshold(budget, Humans(name, people.lowest, _days(people, days), smallest))


def _days(people: Persons, days: float | None) -> tuple[float, ...]:
    return (people.days or ()) if days is None else (days,) * len(people.lowest)


def _known_humans(table: pl.DataFrame, labels: pl.DataFrame | None, path: Path) -> pl.DataFrame:
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


def _row_among(
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
