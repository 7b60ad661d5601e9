"""What stands on a shelf of models: a row a model, one model's whole card, and who put what into force."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import Card, Model, Recipe, canonical_json
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.errors import GamewardenError, ModelError
from gamewarden.pipeline.measuring import feature_of
from gamewarden.presentation.card import card_markdown
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.store.model_registry import Promotion
from gamewarden.store.models import Stored
from gamewarden.store.results import load_results, results_in_short
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


@dataclass(frozen=True)
class Page:
    """All there is to say of a model: its card, what it needs to see, and its place on the shelf."""

    card: Card
    needs: Mapping[str, Any]
    in_force: bool
    history: tuple[Promotion, ...]
    results: Mapping[str, Any] | None = None  # of later evaluations, by split
    offered_by: str | None = None  # the installed package whose detector it is, and its version

    def markdown(self) -> str:
        """For people."""
        results = None if self.results is None else results_in_short(self.results)
        return card_markdown(self.card, needs=self.needs, standing=self._standing(), results=results)

    def json(self) -> str:
        """For machines."""
        history = [asdict(line) | {"at": line.at.isoformat()} for line in self.history]
        beside = {"needs": self.needs, "in_force": self.in_force, "history": history, "results": self.results}
        offered = {} if self.offered_by is None else {"offered_by": self.offered_by}
        return canonical_json(asdict(self.card) | beside | offered)

    def _standing(self) -> list[str]:
        now = "in force" if self.in_force else "not in force"
        offered = [] if self.offered_by is None else [f"a detector of {self.offered_by}"]
        return [now, *offered, *(_told(line, self.card.id) for line in self.history)]


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
    known = card.detector in detectors.REGISTRY.own
    offered_by = None if known else detectors.REGISTRY.origin(card.detector)
    return Page(card, needs_of(model.feature), in_force, tuple(told), load_results(directory, card.id), offered_by)


def needs_of(recipe: Recipe) -> dict[str, Any]:
    """What a feature cannot do without, and what it does better with; what a fusion listens to."""
    if recipe.name == Scores.name:
        return {"scores of": list(recipe.options["models"])}
    feature = features.load(recipe.name)
    columns = list(feature_of(recipe).own_needs)
    better = [f"{seen} (else {column} stays empty)" for seen, column in feature.optional.items()]
    offered = {} if recipe.name in features.REGISTRY.own else {"package": features.REGISTRY.origin(recipe.name)}
    return {"a stream of": feature.input, "columns": columns, **({"better_with": better} if better else {}), **offered}


def models_on(directory: Path) -> pl.DataFrame:
    """One row a model file, the newest last; a file that is refused stands there with the reason."""
    standing = model_registry.active(directory)
    rows = [_row(model, standing.get(model.detector) == model.id) for model in stored_models.stored(directory)]
    return pl.DataFrame(rows, schema=_ROW)


def models_in_short(table: pl.DataFrame) -> pl.DataFrame:
    """The columns of a shelf that a person looks at first."""
    days = [pl.col(name).dt.strftime("%Y-%m-%d") for name in ("since", "until")]
    fitted_on = pl.concat_str(*days, separator=" – ").alias("fitted_on")
    saved = pl.col("saved").dt.strftime("%Y-%m-%d %H:%M")
    problem = ["problem"] if table["problem"].null_count() < table.height else []
    return table.select("model", "in_force", fitted_on, "bots", "humans", "auc", saved, *problem)


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


def actors_of(card: Card) -> tuple[int | None, int | None]:
    """How many bots and humans a model learned from, as far as its card says so."""
    actors = card.training.get("actors")
    if not isinstance(actors, Mapping):
        return None, None
    bots, humans = (actors.get(side) if isinstance(actors.get(side), int) else None for side in ("bot", "human"))
    return bots, humans


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _told(line: Promotion, model: str) -> str:
    """A line of the history as this model sees it."""
    came = "rolled back to" if line.rolled_back else "promoted"
    left = "rolled back" if line.rolled_back else "replaced"
    what = came if line.model == model else f"{left}, {line.model} came in its place"
    return f"{line.at:%Y-%m-%d %H:%M} {what}, by {line.by}: {line.because}"


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError):  # the first and the last day have other names in other zones
        return None
