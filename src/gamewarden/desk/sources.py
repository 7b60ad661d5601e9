"""Where the logs come from: what was taken in, how far behind it is, and what to do next."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import look
from gamewarden.workspace.status import status

_FRESH = 60  # seconds for which an answer is good enough


@dataclass(frozen=True)
class SourceShown:
    """One source."""

    source: str
    files: int
    rows: int
    last_event: datetime | None
    lag: float | None  # seconds between the newest event and now
    taken_in: datetime | None
    says: str


@dataclass(frozen=True)
class DetectorShown:
    """One detector, and whether it can judge what is there."""

    detector: str
    model: str | None
    trained_until: datetime | None
    scored: int | None
    says: str


@dataclass(frozen=True)
class DayShown:
    """One day, and whether it was judged."""

    day: str
    verdicts: int | None
    kept: int | None
    judged: datetime | None
    says: str


@dataclass(frozen=True)
class SourcesView:
    """How the workspace stands."""

    at: datetime
    sources: tuple[SourceShown, ...]
    detectors: tuple[DetectorShown, ...]
    days: tuple[DayShown, ...]  # the newest first
    retention: tuple[str, ...]
    next_steps: tuple[str, ...]


def sources(desk: Desk) -> SourcesView:
    """How the workspace stood within the last minute.

    Raises:
        ReadError: something that rests is damaged.
    """
    minute = int(desk.now().timestamp()) // _FRESH
    return desk.memory.of("sources", (minute, look(desk)), partial(_sources, desk), most=1)


def _sources(desk: Desk) -> SourcesView:
    at = desk.now()
    found = status(desk.workspace, at)
    return SourcesView(
        at,
        tuple(SourceShown(**_told(row)) for row in found.sources.iter_rows(named=True)),
        tuple(DetectorShown(**_told(row, without=("age",))) for row in found.detectors.iter_rows(named=True)),
        tuple(DayShown(**_told(row)) for row in reversed(found.days.rows(named=True))),
        found.retention,
        found.next_steps,
    )


def _told(row: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in without}
    if kept.get("lag") is not None:
        kept["lag"] = kept["lag"].total_seconds()
    return kept
