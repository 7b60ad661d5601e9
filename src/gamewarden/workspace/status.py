"""How a workspace stands, for one screen: sources, detectors, days, and what to do next."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

import polars as pl

from gamewarden.core.durations import from_micros
from gamewarden.core.text import counted
from gamewarden.errors import GamewardenError
from gamewarden.store.lake import Lake
from gamewarden.tables import TIME, DataType
from gamewarden.workspace.beside import facts_of
from gamewarden.workspace.days import day_name
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.response_status import ResponseStatus, response_status
from gamewarden.workspace.retention import sentences

_SOURCES: dict[str, DataType] = {
    "source": pl.String,
    "files": pl.Int64,
    "rows": pl.Int64,
    "last_event": TIME,
    "lag": pl.Duration("us"),
    "taken_in": TIME,
    "says": pl.String,
}
_DETECTORS: dict[str, DataType] = {
    "detector": pl.String,
    "model": pl.String,
    "fitted": TIME,
    "age": pl.Duration("us"),
    "scored": pl.Int64,  # days or files
    "says": pl.String,
}
_DAYS: dict[str, DataType] = {
    "day": pl.String,
    "verdicts": pl.Int64,
    "kept": pl.Int64,
    "judged": TIME,
    "says": pl.String,
}


@dataclass(frozen=True)
class Status:
    """How a workspace stands."""

    sources: pl.DataFrame
    detectors: pl.DataFrame
    days: pl.DataFrame
    response: ResponseStatus | None  # None: nothing was ever decided
    retention: tuple[str, ...]  # what is kept how long
    next_steps: tuple[str, ...]


def status(workspace: Workspace, at: datetime) -> Status:
    """Look at everything, and compute nothing.

    Raises:
        ReadError: something that rests is damaged.
    """
    sources = pl.DataFrame(list(_sources(workspace, at)), schema=_SOURCES)
    detectors = pl.DataFrame(list(_detectors(workspace, at)), schema=_DETECTORS)
    days = pl.DataFrame(list(_days(workspace, at)), schema=_DAYS)
    response = response_status(workspace)
    asked = () if response is None else response.next_steps()
    next_steps = (*_missing_models(workspace), *_next(workspace, sources, detectors, days), *asked)
    return Status(sources, detectors, days, response, tuple(sentences(workspace.config.retention)), next_steps)


def lags(workspace: Workspace, at: datetime) -> dict[str, timedelta | None]:
    """How old the newest event of each source is; None where it has brought none yet.

    Raises:
        ReadError: what is known of a source is damaged.
    """
    return {str(one["source"]): cast("timedelta | None", one["lag"]) for one in _sources(workspace, at)}


def _sources(workspace: Workspace, at: datetime) -> Iterator[dict[str, object]]:
    for source in workspace.sources:
        files = workspace.states.load(source.name).files
        last = max((one.last for one in files if one.last is not None), default=None)
        failed = [one.error for one in files if one.error]
        notes = list(dict.fromkeys(note for one in files for note in one.notes))
        yield {
            "source": source.name,
            "files": len(files) - len(failed),
            "rows": sum(one.rows for one in files),
            "last_event": None if last is None else from_micros(last),
            "lag": None if last is None else at - from_micros(last),
            "taken_in": max((from_micros(one.taken) for one in files), default=None),
            "says": "; ".join([*failed, *notes]) or ("" if files else "nothing was taken in yet"),
        }


def _detectors(workspace: Workspace, at: datetime) -> Iterator[dict[str, object]]:
    try:
        models = workspace.models_in_force()
        scored = workspace.scored(at) if models else None
        blind = scored.refusals() if scored is not None and models else {}
    except GamewardenError as error:
        yield {"detector": "", "says": str(error)}
        return
    for model in models:
        path = workspace.models / f"{model.card.id}.json"
        fitted = datetime.fromtimestamp(path.stat().st_mtime, at.tzinfo)
        yield {
            "detector": model.card.detector,
            "model": model.card.id,
            "fitted": fitted,
            "age": at - fitted,
            "scored": 0 if scored is None else len(scored.partitions(model)),
            "says": f"blind: {blind[model.card.id]}" if model.card.id in blind else "",
        }


def _days(workspace: Workspace, at: datetime) -> Iterator[dict[str, object]]:
    sealed = workspace.verdicts.current()
    due = _due(workspace, at)
    for name in sorted({*sealed, *due}):
        seal = sealed.get(name)
        yield {
            "day": name.removeprefix("day="),
            "verdicts": None if seal is None else seal.verdicts,
            "kept": None if seal is None else seal.kept,
            "judged": None if seal is None else datetime.fromisoformat(seal.at),
            "says": "" if name not in due else "missing" if seal is None else "events came after it was judged",
        }


def _due(workspace: Workspace, at: datetime) -> set[str]:
    """The days that a run would judge."""
    try:
        judged = workspace.judged(at)
        return {day_name(one, judged.clock) for one in judged.due()}
    except GamewardenError:
        return set()


def _missing_models(workspace: Workspace) -> Iterator[str]:
    """The models that kept verdicts rest on and that are not there: nobody could verify these verdicts."""
    days: dict[str, set[str]] = {}
    for seal in workspace.verdicts.seals():
        facts = facts_of(workspace.verdicts, seal)
        for model in (*facts["models"], *([facts["fusion"]] if facts["fusion"] else [])):
            days.setdefault(str(model["id"]), set()).add(seal.day)
    for name, rest in sorted(days.items()):
        if not (workspace.models / f"{name}.json").is_file():
            yield f"put {name} back into {workspace.models}: the verdicts of {counted(len(rest), 'day')} rest on it"


def _next(workspace: Workspace, sources: pl.DataFrame, detectors: pl.DataFrame, days: pl.DataFrame) -> Iterator[str]:
    """What to do, the most urgent first."""
    if not workspace.sources:
        yield "say in warden.toml where the logs are: one [[source]] for each kind of files"
    failed = sources.filter(pl.col("says").str.len_chars() > 0, pl.col("files") == 0)["source"].to_list()
    if failed and Lake.is_at(workspace.lake):
        yield f"look at {', '.join(failed)}: nothing of it could be taken in"
    if workspace.sources and not sources["files"].sum():
        yield "`gamewarden run` takes in what there is"
    if not detectors.height:
        yield "`gamewarden rank` lists who looks odd, and `gamewarden review` makes labels of looking at them"
        yield "`gamewarden fit signs` learns a first model from reviewed accounts, or from --labels FILE"
    blind = detectors.filter(pl.col("says").str.starts_with("blind"))["detector"].to_list()
    if blind:
        yield f"{', '.join(blind)} cannot judge this log: fit on it, or map its kinds"
    missing = days.filter(pl.col("says") != "").height
    if missing:
        yield f"`gamewarden run` judges {missing} {'day' if missing == 1 else 'days'}"
    kept = days["kept"].sum()
    if kept:
        yield f"`gamewarden rank` lists whom to look at; {kept:,} verdicts reach a point to watch or to act"
