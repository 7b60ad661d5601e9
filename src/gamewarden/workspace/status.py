"""How a workspace stands, for one screen: sources, detectors, days, and what to do next."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import polars as pl

from gamewarden.core.durations import from_micros
from gamewarden.core.text import counted
from gamewarden.errors import GamewardenError
from gamewarden.store.lake import Lake
from gamewarden.store.verdict_days import DaySeal
from gamewarden.tables import TIME, DataType
from gamewarden.workspace.beside import facts_of
from gamewarden.workspace.days import day_name
from gamewarden.workspace.exonerated import is_exonerated
from gamewarden.workspace.judged import CHANGED, NEW, OUTDATED, reasons_counted
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.response_status import ResponseStatus, response_status
from gamewarden.workspace.retention import sentences
from gamewarden.workspace.silence import abstains, first_fits, has_events, last_day_begins, newest_rows, silent_since

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
    "trained_until": TIME,  # the end of the newest labelled period; null where the model's rows have no times
    "age": pl.Duration("us"),
    "scored": pl.Int64,  # days or files
    "says": pl.String,
}
_WHY_DUE = {
    None: "",
    NEW: "missing",
    CHANGED: "its data changed after it was judged",
    OUTDATED: "judged by earlier models or settings",
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
    rows = list(_sources(workspace, at, newest_rows(workspace, at)))
    last_day = last_day_begins(workspace, at, [one["last_event"] for one in rows if one["last_event"] is not None])
    zone = workspace.time_zone or "UTC"
    for one in rows:
        one["says"] = "; ".join(filter(None, [silent_since(one["last_event"], last_day, zone), one["says"]]))
    sources = pl.DataFrame(rows, schema=_SOURCES)
    detectors = pl.DataFrame(list(_detectors(workspace, at, last_day)), schema=_DETECTORS)
    due = _due(workspace, at)
    days = pl.DataFrame(list(_days(workspace, due)), schema=_DAYS)
    response = response_status(workspace)
    asked = () if response is None else response.next_steps()
    next_steps = (*_missing_models(workspace), *_next(workspace, sources, detectors, days, due), *asked)
    return Status(sources, detectors, days, response, tuple(sentences(workspace.config.retention)), next_steps)


def lags(workspace: Workspace, at: datetime) -> dict[str, timedelta | None]:
    """How old the newest event of each source is; None where it has brought none yet.

    Raises:
        ReadError: what is known of a source is damaged.
    """
    return {str(one["source"]): cast("timedelta | None", one["lag"]) for one in _sources(workspace, at, {})}


def _sources(workspace: Workspace, at: datetime, newest: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for source in workspace.sources:
        files = workspace.states.load(source.name).files
        last = max((one.last for one in files if one.last is not None), default=newest.get(source.name))
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


def _detectors(workspace: Workspace, at: datetime, last_day: datetime | None) -> Iterator[dict[str, object]]:
    try:
        models = workspace.models_in_force()
        if not models:
            return
        scored = workspace.scored(at)
        blind = scored.refusals()
    except GamewardenError as error:
        yield {"detector": "", "says": str(error)}
        return
    for model in models:
        written = model.card.training.get("until")
        trained_until = datetime.fromisoformat(written) if isinstance(written, str) else None
        yield {
            "detector": model.card.detector,
            "model": model.card.id,
            "trained_until": trained_until,
            "age": None if trained_until is None else at - trained_until,
            "scored": len(scored.partitions(model)),
            "says": f"blind: {why}" if (why := blind.get(model.card.id)) else abstains(scored, model, last_day),
        }


def _days(workspace: Workspace, due: Mapping[str, str]) -> Iterator[dict[str, object]]:
    sealed, cleared = workspace.verdicts.current(), workspace.exonerated
    for name in sorted({*sealed, *due}):
        seal = sealed.get(name)
        yield {
            "day": name.removeprefix("day="),
            "verdicts": None if seal is None else seal.verdicts,
            "kept": None if seal is None else seal.kept - _refuted(workspace, seal, cleared),
            "judged": None if seal is None else datetime.fromisoformat(seal.at),
            "says": _WHY_DUE[due.get(name)],
        }


def _refuted(workspace: Workspace, seal: DaySeal, cleared: Mapping[str, datetime]) -> int:
    """How many kept verdicts of a day no longer count, because an appeal was overturned."""
    if not cleared:
        return 0
    rows = workspace.verdicts.table(seal, columns=["actor", "since", "verdict"], actors=list(cleared))
    return int(is_exonerated(rows.drop_nulls("verdict"), cleared).sum())


def _due(workspace: Workspace, at: datetime) -> dict[str, str]:
    """The days that a run would judge, and why."""
    try:
        judged = workspace.judged(at)
        return {day_name(one.period, judged.clock): one.reason for one in judged.due()}
    except GamewardenError:
        return {}


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


def _next(
    workspace: Workspace, sources: pl.DataFrame, detectors: pl.DataFrame, days: pl.DataFrame, due: Mapping[str, str]
) -> Iterator[str]:
    """What to do, the most urgent first."""
    if not workspace.sources:
        yield "say in warden.toml where the logs are: one [[source]] for each kind of files"
    failed = sources.filter(pl.col("says").str.len_chars() > 0, pl.col("files") == 0)["source"].to_list()
    if failed and Lake.is_at(workspace.lake):
        yield f"look at {', '.join(failed)}: nothing of it could be taken in"
    if workspace.sources and not sources["files"].sum():
        yield "`gamewarden run` takes in what there is"
    if not detectors.height and (has_events(workspace) or not any(first_fits(workspace))):
        yield "`gamewarden rank` lists who looks odd, and `gamewarden review` makes labels of looking at them"
        yield "`gamewarden fit signs` learns a first model from reviewed accounts, or from --labels FILE"
    if not detectors.height:
        yield from first_fits(workspace)
    blind = detectors.filter(pl.col("says").str.starts_with("blind"))["detector"].to_list()
    if blind:
        yield f"{', '.join(blind)} cannot judge this log: fit on it, or map its kinds"
    if disputed := len(workspace.disputed):
        waits = "account waits" if disputed == 1 else "accounts wait"
        yield f"`gamewarden review --by NAME` by a third person: {disputed:,} {waits} because votes contradict"
    if due:
        yield f"`gamewarden run` judges {counted(len(due), 'day')}: {reasons_counted(due.values())}"
    kept = days["kept"].sum()
    if kept:
        yield f"`gamewarden rank` lists whom to look at; {kept:,} verdicts reach a point to watch or to act"
