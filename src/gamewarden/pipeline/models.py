"""A shelf of models: those in force, those that can judge a source, each one's page, and who put what into force."""

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import PACKET_COLUMNS, Feature, Model, Recipe, Source, StreamKind
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.errors import ConfigError, GamewardenError, ModelError, ReadError, Remark
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.pipeline.measuring import days_like, feature_of
from gamewarden.presentation.card import actors_of
from gamewarden.presentation.model_page import Page
from gamewarden.presentation.vocabularies import Days
from gamewarden.readers.together import KnownAs, Together
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.store.evaluations import load_results
from gamewarden.store.models import Stored
from gamewarden.tables import TIME, DataType

_log = logging.getLogger("gamewarden")
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


def load_models(directory: Path, detector: str | None = None) -> list[Model]:
    """The model in force of each detector, those that see most first; or of one detector.

    Raises:
        ModelError: there is no such model, or it is damaged.
    """
    found = {
        stored.detector: stored for stored in model_registry.in_force(directory) if not detectors.fuses(stored.detector)
    }
    if detector is not None and detector not in found:
        raise ModelError(f"{directory}: there is no model of {detector!r}, only of {', '.join(found)}")
    names = [name for name in (*detectors.names(), *found) if name in found] if detector is None else [detector]
    return [_loaded(found[name].path) for name in dict.fromkeys(names)]


def _loaded(path: Path) -> Model:
    """A model, which never changes: a file that is as it was is not looked through again."""
    try:
        there = path.stat()
    except OSError:
        return detectors.load_model(stored_models.load(path))  # which says what is wrong
    _log.info("model: %s", path)
    return _load(path.absolute(), there.st_ino, there.st_mtime_ns, there.st_size, path)


@lru_cache(maxsize=32)
def _load(_place: Path, _number: int, _changed: int, _size: int, path: Path) -> Model:
    return detectors.load_model(stored_models.load(path))


def event_model(models: Path, detector: str | None) -> Model:
    """The model of events that sees most, or the one asked for.

    Raises:
        ModelError: there is none.
    """
    loaded = load_models(models, detector)
    found = next((one for one in loaded if features.load(one.feature.name).input == "events"), loaded[0])
    if features.load(found.feature.name).input != "events":
        raise ModelError(
            f"{models}: {found.card.id} judges {features.load(found.feature.name).input}; `gamewarden score` uses it, "
            "this needs a detector of events"
        )
    return found


def traffic_profile(models: Path) -> TrafficTest:
    """The profile of the traffic model in force of a directory.

    Raises:
        ModelError: there is none, or it is damaged.
    """
    (model,) = load_models(models, TrafficTest.name)
    return TrafficTest.from_dict(model.feature.options)


def model_for(source: Source, models: Path, detector: str | None) -> Model:
    """The model asked for, or the one that sees most of what the source holds.

    Raises:
        ModelError: there is none.
    """
    found = load_models(models, detector) if detector else models_for(load_models(models), source, models)
    return next((model for model in found if features.load(model.feature.name).input != "packets"), found[0])


def models_for(models: Sequence[Model], source: Source, shelf: Path) -> list[Model]:
    """The models of what the source holds; where nobody is sure of that, of the likeliest kind that they judge.

    A file with all the columns that a model of tables learned from is such a table.

    Raises:
        ModelError: none of them judges what the source holds.
    """
    by_input: dict[StreamKind, list[Model]] = {}
    for model in models:
        by_input.setdefault(features.load(model.feature.name).input, []).append(model)
    held = _held(source, by_input)
    if not held:
        needed = " or ".join(source.kinds)
        raise ModelError(
            f"{shelf}: judges {', '.join(by_input)} and {source.name} holds {needed}; fit a detector of {needed}"
        )
    return [model for kind in held for model in by_input[kind]]


def together(sources: Sequence[Source], shelf: Path) -> Source:
    """Several sources as one, each read as the likeliest thing that a model of the shelf judges; one stays as it is.

    A source that none of them judges is left out, with a remark.

    Raises:
        ModelError: there is no model, or none judges any of the sources.
    """
    if len(sources) == 1:
        return sources[0]
    judged: dict[StreamKind, list[Model]] = {}
    for model in load_models(shelf):
        judged.setdefault(features.load(model.feature.name).input, []).append(model)
    held = [(source, _held(source, judged)) for source in sources]
    for source, kinds in held:
        if not kinds:
            needed = "packets" if _is_packet_log(source) else " or ".join(source.kinds)
            warnings.warn(f"{source.name} is left out: {shelf} has no model of {needed}", Remark, stacklevel=2)
    used = [_known_as(source, kinds, held) for source, kinds in held if kinds]
    if not used:
        raise ModelError(
            f"{shelf}: judges {', '.join(judged)}, which none of the sources holds; fit a detector of them"
        )
    return Together(used)


def _known_as(
    source: Source, kinds: tuple[StreamKind, ...], all_held: Sequence[tuple[Source, tuple[StreamKind, ...]]]
) -> Source:
    """A source as what it is read for: a capture beside streams of what clients said is read for its packets."""
    both = {"packets", "messages"}
    if both <= set(kinds) and any("messages" in other and "packets" not in other for _, other in all_held):
        warnings.warn(
            f"{source.name} is read for its packets alone: another source has what clients said", Remark, stacklevel=3
        )
        return KnownAs(source, tuple(kind for kind in kinds if kind != "messages"))
    return source if source.sure else KnownAs(source, kinds)


def _held(source: Source, judged: Mapping[StreamKind, Sequence[Model]]) -> tuple[StreamKind, ...]:
    """What of a source these models can judge: all it holds, or the one thing that it is."""
    known = tuple(kind for kind in source.kinds if kind in judged)
    if source.sure:
        return known
    if "packets" in source.kinds and _is_packet_log(source):
        return tuple(kind for kind in known if kind == "packets")
    if "table" in known and any(_has_columns_of(source, model) for model in judged["table"]):
        return ("table",)
    return (*(kind for kind in known if kind != "table"), *known)[:1]


def _is_packet_log(source: Source) -> bool:
    """Whether a table has the columns of packets and not the kind that every event has."""
    try:
        named = set(source.columns)
    except ReadError:  # no table that we read: whoever reads it says so
        return False
    return set(PACKET_COLUMNS) <= named and "kind" not in named


def _has_columns_of(source: Source, model: Model) -> bool:
    """Whether a source has all the columns that a model of tables learned from."""
    return set(AccountTable.from_dict(model.feature.options).own_needs) <= set(source.columns)


def models_in_force(directory: Path) -> Iterator[Model]:
    """The fusion in force, then the detectors' models."""
    for stored in model_registry.in_force(directory):
        if detectors.fuses(stored.detector):
            yield detectors.load_model(stored_models.load(stored.path))
    yield from load_models(directory)


def days_of(model: Model, models: Path) -> Days:
    """How the days of this model's actors are shown: as it sees them itself, else as its shelf's model of days does.

    So that an account has one self-similarity, whichever detector of a shelf is asked.
    """
    own = days_like(model.feature)
    if model.feature.name == SelfSimilarity.name:
        return Days(own, model)
    beside = _model_of_days(models)
    if beside is None:
        return Days(own, None)
    recipe = days_like(beside.feature)
    return Days(recipe, beside) if recipe.by == own.by else Days(own, None)


def _model_of_days(models: Path) -> Model | None:
    """The model of a shelf that sees most of a day, where there is one."""
    seen = {stored.detector for stored in model_registry.in_force(models)}
    names = [name for name in detectors.of_feature(SelfSimilarity.name) if name in seen]
    return load_models(models, names[0])[0] if names else None


def recipe_like(name: str, models: Path, detector: str | None, given: Mapping[str, Any]) -> tuple[Feature, Model]:
    """The recipe that a model in force measures this feature with, and the model.

    Raises:
        ConfigError: options were given beside the model's own.
        ModelError: no model looks at this feature.
    """
    if given:
        flags = ", ".join("--" + option.replace("_", "-") for option in given)
        raise ConfigError(f"measure: {flags} beside --models, which measures as its model does; leave one of them out")
    found = [model for model in load_models(models, detector) if model.feature.name == name]
    if not found:
        nobody = "no model looks" if detector is None else f"{detector} does not look"
        raise ModelError(f"{models}: {nobody} at {name}; fit a detector that does, or leave --models out")
    return feature_of(found[0].feature), found[0]


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


def history_of(directory: Path) -> pl.DataFrame:
    """All promotions and what took them back, the first one first."""
    return pl.DataFrame([asdict(line) for line in model_registry.promotions(directory)], schema=_PROMOTION)


def promote(
    directory: Path,
    text: str,
    *,
    because: str,
    by: str,
    at: datetime,
    objections: Callable[[Model], Sequence[str]] = lambda _: (),
) -> str:
    """Put a model into force, found by an unambiguous part of its id; what has to be said of it.

    Raises:
        ModelError: there is no such model, it is damaged, or somebody objects to it.
    """
    found = load_model(directory, text)
    if against := objections(found):
        raise ModelError(f"{found.card.id} is not put into force: {'; '.join(against)}; fit another one")
    model = found.card
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
