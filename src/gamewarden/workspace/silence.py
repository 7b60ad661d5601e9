"""Which sources and detectors have no rows, since when and why; and which detectors to fit on what was taken in."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from gamewarden import detectors, features
from gamewarden.contracts import Model
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, from_micros, to_micros
from gamewarden.errors import GamewardenError
from gamewarden.store.lake import Lake
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.scored import KIND_NOUNS, Scored


def newest_rows(workspace: Workspace, at: datetime) -> dict[str, int]:
    """The end of the newest row of each source whose files stay where they are, as far as these were measured."""
    newest: dict[str, int] = {}
    try:
        parts, recipes = workspace.parts(at), workspace.features(workspace.models_in_force())
    except GamewardenError:
        return {}
    source_of = {part.name: part.source for part in parts.parts}
    for feature in recipes:
        for one in parts.partitions(feature) if feature.input in {"packets", "messages"} else ():
            if one.rows:
                newest[source_of[one.name]] = max(newest.get(source_of[one.name], one.until), one.until)
    return newest


def last_day_begins(workspace: Workspace, at: datetime, newest: Sequence[datetime]) -> datetime | None:
    """When the last day began that is over and may have rows of some source; a source without newer rows is silent."""
    if not newest:
        return None
    clock = Clock(DAY, workspace.time_zone or "UTC")
    day = clock.holding(max(newest))
    return (day if day.until <= at else clock.before(day)).since


def silent_since(last: datetime | None, since: datetime | None, time_zone: str) -> str:
    """Since when a source is silent; empty where it has rows on the last day, or nobody knows."""
    return "" if last is None or since is None or last >= since else f"silent since {_minute(last, time_zone)}"


def abstains(scored: Scored, model: Model, since: datetime | None) -> str:
    """Why a detector has no rows to judge, or no newer ones than the last day; empty where it has, or will have."""
    if (why := scored.no_rows(model)) is not None:
        return f"abstains: {why}"
    newest = max((one.until for one in scored.measured(model) if one.rows), default=None)
    if newest is None or since is None or newest > to_micros(since):
        return ""
    at = _minute(from_micros(newest), scored.days.time_zone)
    return f"abstains since {at}: no newer {KIND_NOUNS[scored.features[model.card.id].input]}"


def first_fits(workspace: Workspace) -> Iterator[str]:
    """How to get a first model of each kind of file that was taken in besides logs, with the files to fit it on."""
    files: dict[str, list[str]] = {}
    for source in workspace.sources:
        # A capture may also hold client messages; whether it does depends on the game, its packets are always there.
        kinds = {one.kinds[0] for one in workspace.states.load(source.name).files if one.kinds and not one.error}
        for kind in kinds - {"events"}:
            files.setdefault(kind, []).extend((*source.locator, *(f"--server-port {n}" for n in source.server_ports)))
    for kind, words in sorted(files.items()):
        name = next(one for one in detectors.of_sources() if features.load(detectors.feature_of(one)).input == kind)
        command = " ".join(["gamewarden fit", name, *words])
        yield f"`{command}` learns a first model of {KIND_NOUNS[kind]} from labels"


def has_events(workspace: Workspace) -> bool:
    """Whether a log was taken in."""
    return Lake.is_at(workspace.lake) and Lake(workspace.lake).span is not None


def _minute(moment: datetime, time_zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(time_zone)):%Y-%m-%d %H:%M} {time_zone}"
