"""Which model of each detector is in force, who put it there and why: a history that only grows.

The history is `promotions.jsonl` beside the models. Each line is written at once and reaches the disk before anybody is
told so; a line that a crash cut short never happened, and the next one takes its place.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from gamewarden.contracts import canonical_json
from gamewarden.errors import ModelError, short
from gamewarden.files import sync_name, unwritable
from gamewarden.learning.validation import misfit
from gamewarden.store import models
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
    path = directory / HISTORY
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise ModelError(f"{path}: {size:,} bytes are too many for a history of promotions (at most {LARGEST:,})")
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from error
    return _lines_of(path, content[: _whole(content)])


def standing(directory: Path) -> dict[str, str]:
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
    chosen = standing(directory)
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
    with _history(directory) as file:
        before = _last(_read(directory, file), chosen.detector)
        if before is not None and before.model == chosen.id:
            return
        instead_of = _newest(directory, chosen) if before is None else before.model
        _append(directory, file, Promotion(at, chosen.detector, chosen.id, instead_of, because, by))


def roll_back(directory: Path, detector: str, *, because: str, by: str, at: datetime) -> str:
    """Take the latest promotion of a detector back that was not taken back yet; the id of the model now in force.

    Raises:
        ModelError: nothing was promoted, nothing was in force before it, or that model is gone or damaged.
        WriteError: the history cannot be written.
    """
    with _history(directory) as file:
        history = [line for line in _read(directory, file) if line.detector == detector]
        undone = _standing_promotion(history)
        if undone is None:
            raise ModelError(f"{directory}: no promotion of {detector!r} is left to take back")
        if undone.instead_of is None:
            raise ModelError(
                f"{directory}: nothing was in force before {undone.model}; promote another {detector} instead"
            )
        before = _only(directory, undone.instead_of)
        models.load(before.path)
        _append(directory, file, Promotion(at, detector, before.id, undone.model, because, by, rolled_back=True))
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


@contextmanager
def _history(directory: Path) -> Iterator[BinaryIO]:
    """The history, open for one writer at a time."""
    path = directory / HISTORY
    models.stored(directory)  # which says how to make the directory
    try:
        with path.open("a+b", buffering=0) as file:
            _wait_for_others(file)
            yield file
    except OSError as error:
        raise unwritable(path, error) from error


def _wait_for_others(file: BinaryIO) -> None:
    if sys.platform == "win32":
        return  # no advisory locks: there it is on people not to promote twice at once
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed


def _read(directory: Path, file: BinaryIO) -> list[Promotion]:
    file.seek(0)
    content = file.read()
    return _lines_of(directory / HISTORY, content[: _whole(content)])


def _append(directory: Path, file: BinaryIO, line: Promotion) -> None:
    """One line more, on the disk before this returns; what a crash left of another is cut off first."""
    file.seek(0)
    content = file.read()
    whole = _whole(content)
    file.truncate(whole)
    values = asdict(line) | {"at": _utc(line.at).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
    start = "" if content[:whole].endswith(b"\n") or not whole else "\n"
    data = f"{start}{canonical_json(values)}\n".encode()
    if file.write(data) != len(data):
        file.truncate(whole)
        raise OSError(None, "the disk is full", str(directory / HISTORY))
    os.fsync(file.fileno())
    if not whole:
        sync_name(directory / HISTORY)


def _whole(content: bytes) -> int:
    """How many bytes are whole lines: a last one without its newline counts when it is whole JSON."""
    complete = content.rfind(b"\n") + 1
    try:
        json.loads(content[complete:])
    except (ValueError, RecursionError):
        return complete
    return len(content)


def _lines_of(path: Path, content: bytes) -> list[Promotion]:
    lines = [line for line in content.splitlines() if line.strip()]
    return [_promotion(f"{path}:{number}", line) for number, line in enumerate(lines, 1)]


def _promotion(where: str, line: bytes) -> Promotion:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _damaged(where, "is not a promotion") from error
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
