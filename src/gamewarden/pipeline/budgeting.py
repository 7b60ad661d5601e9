"""Thresholds from a budget of wrong accusations: for the models on a shelf, or for held-out scores."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gamewarden.contracts import Card
from gamewarden.errors import ReadError, TableError
from gamewarden.pipeline.scoring import load_models
from gamewarden.pipeline.sources import Reading
from gamewarden.readers.small import read_labels, read_scores
from gamewarden.reference import Reference
from gamewarden.store import models as stored_models
from gamewarden.store import shelf
from gamewarden.verdicts.budget import BUDGET_SCHEMA, MONTH_DAYS, Budget, Humans, cost_threshold, threshold
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.fusion_model import NAME as FUSION
from gamewarden.verdicts.fusion_model import FusionModel
from gamewarden.verdicts.prevalence import Prevalence, moved

_DAY_SECONDS = 86400.0


def budget_of_models(budget: Budget, models: Path) -> pl.DataFrame:
    """A row a model in force, from its held-out humans; the fusion's verdicts first.

    Raises:
        ModelError: there is no model, or one is damaged.
    """
    rows = [threshold(budget, humans) for model in _models(models) if (humans := _humans_of(model)) is not None]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_of_scores(budget: Budget, scores: Path, labels: Path | None, reading: Reading) -> pl.DataFrame:
    """A row a detector, from scores of people it had not seen, each counted once by the lowest alarm.

    Raises:
        ReadError: a table cannot be read.
        TableError: nobody in it is known to be human, or it has neither alarm nor probability.
    """
    table = read_scores(scores, reading.zone)
    humans = _known_humans(table, None if labels is None else read_labels(labels, reading.zone).frame, scores)
    rows = [threshold(budget, _humans_among(part, scores)) for part in humans.partition_by("detector")]
    return pl.DataFrame(rows, schema=BUDGET_SCHEMA)


def budget_alone(budget: Budget) -> pl.DataFrame:
    """What the budget asks for before there is a model: how many reviewed humans."""
    return pl.DataFrame([threshold(budget, Humans("no model yet", (), (), 0, MONTH_DAYS))], schema=BUDGET_SCHEMA)


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
    for stored in shelf.in_force(directory):
        if stored.detector == FUSION:
            yield FusionModel.from_dict(stored_models.load(stored.path))
    yield from load_models(directory)


def _humans_of(model: Any) -> Humans | None:  # noqa: ANN401  a model of events, a fusion
    """A model's reference humans; None where it keeps none that a threshold could be set by."""
    if not isinstance(getattr(model, "reference", None), Reference):
        return None
    styles = getattr(model, "styles", None)
    own = {"all": model.reference} if styles is None else dict(styles.by_style)
    alarms, attainable = [], []
    for reference in own.values():
        values = np.asarray(reference.values)
        found = np.maximum(reference.alarm(values), model.reference.alarm(values))
        alarms += found.tolist()
        attainable += [1 / (reference.humans + 1), *found.tolist()]
    return Humans(model.card.id, alarms, attainable, model.reference.humans, _days_of(model.card))


def _days_of(card: Card) -> float:
    since, until = (datetime.fromisoformat(card.training[name]) for name in ("since", "until"))
    return (until - since).total_seconds() / _DAY_SECONDS


def _known_humans(table: pl.DataFrame, labels: pl.DataFrame | None, path: Path) -> pl.DataFrame:
    if labels is not None:
        human = labels.group_by("actor").agg(pl.col("bot").max()).filter(~pl.col("bot"))
        known = table.join(human.select("actor"), on="actor", how="semi")
    elif "bot" in table.columns:
        known = table.filter(~pl.col("bot"))
    else:
        raise TableError(f"{path}: does not say who is human; give --labels FILE, or a column bot")
    if not known.height:
        raise TableError(f"{path}: nobody in it is known to be human; review some accounts first")
    return known


def _humans_among(scores: pl.DataFrame, path: Path) -> Humans:
    """Each human by its lowest alarm; without alarms, by its highest probability turned round."""
    column = "alarm" if "alarm" in scores.columns and scores["alarm"].null_count() < scores.height else "probability"
    if column not in scores.columns:
        raise ReadError(f"{path}: has neither alarm nor probability; it has {', '.join(scores.columns)}")
    judged = scores.drop_nulls(column)
    alarm = pl.col("alarm") if column == "alarm" else 1 - pl.col("probability")
    lowest = judged.group_by("actor").agg(alarm.min().alias("alarm"))["alarm"].to_list()
    span = (judged["until"].max() - judged["since"].min()).total_seconds() / _DAY_SECONDS  # type: ignore[operator, union-attr]  # times that are never null
    name = f"{scores['detector'][0]}" + ("" if column == "alarm" else " (alarm: 1 − probability)")
    return Humans(name, lowest, [*lowest, 0.0], len(lowest), span)
