"""Thresholds from a budget of wrong accusations: for the models on a shelf, or for held-out scores."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from gamewarden import detectors
from gamewarden.contracts import Model
from gamewarden.pipeline.scoring import load_models
from gamewarden.readers.logs.operator_tables import read_labels, read_scores
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.verdicts.budget import BUDGET_SCHEMA, Budget, Humans, threshold
from gamewarden.verdicts.budget_rows import cost_row, known_humans, row_among, row_of_model
from gamewarden.verdicts.prevalence import Prevalence


def budget_of_models(budget: Budget, models: Path, days: float | None = None) -> pl.DataFrame:
    """A row a model in force, from its held-out humans; the fusion's verdicts first.

    `days` says on how many days each human was seen, instead of what the model keeps of it.

    Raises:
        ModelError: there is no model, or one is damaged.
    """
    rows = [row_of_model(budget, model, days) for model in _models(models)]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_of_scores(
    budget: Budget, scores: Path, labels: Path | None, time_zone: str | None = None, days: float | None = None
) -> pl.DataFrame:
    """A row a detector, from scores of people it had not seen, each counted once by the lowest alarm.

    A person is the `group` of its label, or an actor without one. `days` says on how many days each was seen, instead
    of those on which it has a score.

    Raises:
        ReadError: a table cannot be read.
        TableError: nobody in it is known to be human, or it has neither alarm nor probability, or no times.
    """
    table = read_scores(scores, time_zone)
    humans = known_humans(table, None if labels is None else read_labels(labels, time_zone).frame, scores)
    rows = [row_among(budget, part, scores, time_zone, days) for part in humans.partition_by("detector")]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_alone(budget: Budget) -> pl.DataFrame:
    """What the budget asks for before there is a model: how many reviewed humans."""
    return pl.DataFrame([threshold(budget, Humans("no model yet", (), ()))], schema=BUDGET_SCHEMA)


def costs_of_models(cost: tuple[float, float], prevalence: Prevalence, models: Path) -> pl.DataFrame:
    """The probability from which to act under each model, where a wrong accusation and a missed bot cost so much."""
    return pl.DataFrame([cost_row(cost, prevalence, model.card) for model in _models(models)])


def _models(directory: Path) -> Iterator[Model]:
    """The fusion in force, then the detectors' models."""
    for stored in model_registry.in_force(directory):
        if detectors.fuses(stored.detector):
            yield detectors.load_model(stored_models.load(stored.path))
    yield from load_models(directory)
