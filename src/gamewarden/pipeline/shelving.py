"""What stands on a shelf of models: a row a model, one model's whole card, and who put what into force."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import Model, Recipe
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.errors import GamewardenError, ModelError
from gamewarden.pipeline.measuring import feature_of
from gamewarden.presentation.card import actors_of
from gamewarden.presentation.model_page import Page
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.store.models import Stored
from gamewarden.store.results import load_results
from gamewarden.tables import TIME, DataType

_ROW: dict[str, DataType] = {
    "model": pl.String,
    "detector": pl.String,
    "in_force": pl.Boolean,
    "since": TIME,
    "until": TIME,
    "bots": pl.Int64,
    "humans": pl.Int64,
    "auc": pl.Float64,
    "saved": TIME,
    "problem": pl.String,
}
_PROMOTION: dict[str, DataType] = {
    "at": TIME,
    "detector": pl.String,
    "model": pl.String,
    "instead_of": pl.String,
    "rolled_back": pl.Boolean,
    "because": pl.String,
    "by": pl.String,
}


def load_model(directory: Path, text: str) -> Model:
    """A model by its id or an unambiguous part of it.

    Raises:
        ModelError: there is no such model, it is damaged, or of a detector that is unknown here.
    """
    return detectors.load_model(stored_models.load(model_registry.find(directory, text).path))


def page_of(model: Model, directory: Path) -> Page:
    """A stored model's page."""
    card = model.card
    told = [line for line in model_registry.promotions(directory) if card.id in (line.model, line.instead_of)]
    in_force = model_registry.active(directory).get(card.detector) == card.id
    return Page(card, needs_of(model.feature), in_force, tuple(told), load_results(directory, card.id))


def needs_of(recipe: Recipe) -> dict[str, Any]:
    """What a feature cannot do without, and what it does better with; what a fusion listens to."""
    if recipe.name == Scores.name:
        return {"scores of": list(recipe.options["models"])}
    feature = features.load(recipe.name)
    columns = list(feature_of(recipe).own_needs)
    better = [f"{seen} (else {column} stays empty)" for seen, column in feature.optional.items()]
    return {"a stream of": feature.input, "columns": columns, **({"better_with": better} if better else {})}


def models_on(directory: Path) -> pl.DataFrame:
    """One row a model file, the newest last; a file that is refused stands there with the reason."""
    standing = model_registry.active(directory)
    rows = [_row(model, standing.get(model.detector) == model.id) for model in stored_models.stored(directory)]
    return pl.DataFrame(rows, schema=_ROW)


def history_of(directory: Path) -> pl.DataFrame:
    """All promotions and what took them back, the first one first."""
    return pl.DataFrame([asdict(line) for line in model_registry.promotions(directory)], schema=_PROMOTION)


def promote(directory: Path, text: str, *, because: str, by: str, at: datetime) -> str:
    """Put a model into force, found by an unambiguous part of its id; what has to be said of it."""
    model = load_model(directory, text).card
    before = model_registry.active(directory).get(model.detector)
    model_registry.promote(directory, model.id, because=because, by=by, at=at)
    if before == model.id:
        return f"{model.id} is in force, as it was before; whatever is fitted later does not take its place"
    return f"{model.id} is in force instead of {before}"


def roll_back(directory: Path, detector: str, *, because: str, by: str, at: datetime) -> str:
    """Take the latest promotion of a detector back; what has to be said of it.

    Raises:
        ModelError: there is nothing to take back.
    """
    known = sorted({model.detector for model in stored_models.stored(directory)})
    if detector not in known:
        raise ModelError(f"{directory}: there is no model of {detector!r}, only of {', '.join(known) or 'nothing'}")
    before = model_registry.active(directory)[detector]
    now = model_registry.roll_back(directory, detector, because=because, by=by, at=at)
    return f"{now} is in force instead of {before}"


def _row(stored: Stored, in_force: bool) -> dict[str, Any]:  # noqa: FBT001  a column of the row
    saved = datetime.fromtimestamp(stored.path.stat().st_mtime, UTC)
    row = {"model": stored.id, "detector": stored.detector, "in_force": in_force, "saved": saved}
    try:
        card = detectors.load_model(stored_models.load(stored.path)).card
    except GamewardenError as error:
        return row | {"problem": str(error).removeprefix(f"{stored.path}: ")}
    times = {name: _time(card.training.get(name)) for name in ("since", "until")}
    bots, humans = actors_of(card)
    return row | times | {"bots": bots, "humans": humans, "auc": _number(card.validation.get("auc"))}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError):  # the first and the last day have other names in other zones
        return None
