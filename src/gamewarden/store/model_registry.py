"""Which model of each detector is in force, who put it there and why: a history that only grows.

The history is `promotions.jsonl` beside the models, an append log.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gamewarden.errors import ModelError, short
from gamewarden.learning.validation import misfit
from gamewarden.store import models
from gamewarden.store.append_log import AppendLog
from gamewarden.store.models import Stored

HISTORY = "promotions.jsonl"
LARGEST = 16 << 20  # bytes: fifty thousand promotions


@dataclass(frozen=True)
class Promotion:
    """One change of the model in force."""

    at: datetime
    detector: str
    model: str  # in force from here on
    instead_of: str | None  # what was in force until then
    because: str
    by: str
    rolled_back: bool = False  # whether it took a promotion back


@dataclass(frozen=True)
class _Line:
    """A promotion as the history writes it."""

    at: str
    detector: str
    model: str
    instead_of: str | None
    because: str
    by: str
    rolled_back: bool = False


def promotions(directory: Path) -> list[Promotion]:
    """All changes of the models in force, the first one first; none where nothing was ever promoted.

    Raises:
        ModelError: the history is damaged.
    """
    return _promotions(_log(directory))


def active(directory: Path) -> dict[str, str]:
    """The id of the model in force by detector: promoted, or else the newest file; a promoted one may be gone.

    Raises:
        ModelError: there is no such directory, or the history is damaged.
    """
    unpromoted = {model.detector: model.id for model in models.stored(directory)}  # the newest file comes last
    return unpromoted | {line.detector: line.model for line in promotions(directory)}


def in_force(directory: Path) -> list[Stored]:
    """The promoted model of each detector, or its newest file where none was promoted; sorted by the detector's name.

    Raises:
        ModelError: there is no model, the history is damaged, or a promoted model is not there any more.
    """
    there = {model.id: model for model in models.stored(directory)}
    chosen = active(directory)
    for detector, model in chosen.items():
        if model not in there:
            raise ModelError(
                f"{directory}: {model} was promoted and its file is gone; put it back, or promote another "
                f"{detector} with `gamewarden model promote ID --models {directory} --because …`"
            )
    if not chosen:
        models.newest(directory)  # which says how to make one
    return [there[chosen[detector]] for detector in sorted(chosen)]


def promote(directory: Path, model_id: str, *, because: str, by: str, at: datetime) -> None:
    """Put a model into force; one that was promoted and is in force already stays so, and nothing is written.

    Raises:
        ModelError: there is no such model, it is damaged, or the history is.
        WriteError: the history cannot be written.
    """
    chosen = _only(directory, model_id)
    models.load(chosen.path)
    with _alone(directory) as log:
        before = _last(_promotions(log), chosen.detector)
        if before is not None and before.model == chosen.id:
            return
        instead_of = _newest(directory, chosen) if before is None else before.model
        _append(log, Promotion(at, chosen.detector, chosen.id, instead_of, because, by))


def roll_back(directory: Path, detector: str, *, because: str, by: str, at: datetime) -> str:
    """Take the latest promotion of a detector back that was not taken back yet; the id of the model now in force.

    Raises:
        ModelError: nothing was promoted, nothing was in force before it, or that model is gone or damaged.
        WriteError: the history cannot be written.
    """
    with _alone(directory) as log:
        history = [line for line in _promotions(log) if line.detector == detector]
        undone = _standing_promotion(history)
        if undone is None:
            raise ModelError(f"{directory}: no promotion of {detector!r} is left to take back")
        if undone.instead_of is None:
            raise ModelError(
                f"{directory}: nothing was in force before {undone.model}; promote another {detector} instead"
            )
        before = _only(directory, undone.instead_of)
        models.load(before.path)
        _append(log, Promotion(at, detector, before.id, undone.model, because, by, rolled_back=True))
    return before.id


def find(directory: Path, text: str) -> Stored:
    """A model by its id, or by as much of the id or of its digest as names one model only.

    Raises:
        ModelError: no model is named so, or several are.
    """
    there = models.stored(directory)
    exact = [model for model in there if model.id == text]
    near = exact or [model for model in there if model.id.startswith(text) or _digest(model).startswith(text)]
    if len(near) == 1:
        return near[0]
    if near:
        raise ModelError(f"{directory}: {text!r} may be {' or '.join(sorted(model.id for model in near))}; write more")
    names = ", ".join(sorted(model.id for model in there)) or "no model"
    raise ModelError(f"{directory}: there is no model {text!r} in it, only {names}")


def _digest(model: Stored) -> str:
    return model.id.partition("@")[2]


def _only(directory: Path, model_id: str) -> Stored:
    found = find(directory, model_id)
    if found.id != model_id:
        raise ModelError(f"{directory}: there is no model {model_id!r} in it; is {found.id} meant?")
    return found


def _newest(directory: Path, chosen: Stored) -> str | None:
    """What was in force unpromoted before `chosen`, if that was another one."""
    standing = next(model for model in models.newest(directory) if model.detector == chosen.detector)
    return None if standing.id == chosen.id else standing.id


def _last(history: list[Promotion], detector: str) -> Promotion | None:
    return next((line for line in reversed(history) if line.detector == detector), None)


def _standing_promotion(history: list[Promotion]) -> Promotion | None:
    """The latest promotion of one detector that no roll-back has taken back."""
    standing: list[Promotion] = []
    for line in history:
        if not line.rolled_back:
            standing.append(line)
        elif standing:
            standing.pop()
    return standing[-1] if standing else None


def _log(directory: Path) -> AppendLog:
    return AppendLog(directory / HISTORY, ModelError, called="history of promotions", largest=LARGEST, unbound=True)


def _promotions(log: AppendLog) -> list[Promotion]:
    return [_promotion(f"{log.path}:{number}", values) for number, values in enumerate(log.records, 1)]


@contextmanager
def _alone(directory: Path) -> Iterator[AppendLog]:
    """The history, for one writer at a time."""
    models.stored(directory)  # which says how to make the directory
    log = _log(directory)
    with log.alone():
        yield log


def _append(log: AppendLog, line: Promotion) -> None:
    log.append(asdict(line) | {"at": _utc(line.at).strftime("%Y-%m-%dT%H:%M:%S.%fZ")})


def _promotion(where: str, values: Mapping[str, Any]) -> Promotion:
    if wrong := misfit(_Line, values, "it"):
        raise _damaged(where, wrong)
    try:
        promotion = Promotion(**{**values, "at": _utc(datetime.fromisoformat(values["at"]))})
    except (ValueError, OverflowError) as error:
        raise _damaged(where, f"is of {short(values['at'])}, which is no time") from error
    if wrong := _wrong(values, promotion):
        raise _damaged(where, wrong)
    return promotion


def _utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError(f"promotion: the time {at} has no zone; give it one")
    return at.astimezone(UTC)


def _wrong(values: Mapping[str, Any], promotion: Promotion) -> str | None:
    """What in a line cannot be, or nothing."""
    ids = [promotion.model, *([promotion.instead_of] if promotion.instead_of else [])]
    if any(not models.is_id(model) or model.partition("@")[0] != promotion.detector for model in ids):
        return f"names {short(values['model'])}, which is no model of {short(promotion.detector)}"
    return None


def _damaged(where: str, why: str) -> ModelError:
    return ModelError(f"{where}: {why}; the history of promotions was edited or damaged, put a copy of it back")
