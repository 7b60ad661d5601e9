"""Whether the desk can do its work, and the numbers by which its operator watches it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from gamewarden.core.meters import memory
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import everybody_on, seals
from gamewarden.desk.review import queue
from gamewarden.errors import GamewardenError
from gamewarden.store import manifest as manifests
from gamewarden.store.lake import Lake
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.workspace.status import lags

_SECONDS = 5  # between two looks
OK, FAILING = "ok", "failing"


@dataclass(frozen=True)
class Health:
    """Whether all is well, or what is not: lake, ledger, verdicts or disk."""

    status: str
    because: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gauges:
    """How the workspace stands, in numbers; null where something cannot be told."""

    backlog_bytes: Mapping[str, int]
    free_bytes: int
    last_run: float | None  # when the last run behind the desk ended, seconds since 1970
    last_run_seconds: float | None
    last_run_failures: int | None
    running: bool
    days_judged: int | None
    watched: int | None  # accounts at the watch point on the newest day
    acted: int | None
    queue: int | None
    lag_seconds: Mapping[str, float]  # by source: how old its newest event is
    ledger_head: int | None
    memory_bytes: int | None


def health(desk: Desk) -> Health:
    """Look at what every page needs, at most every few seconds."""
    return desk.memory.of("health", int(time.monotonic()) // _SECONDS, partial(_health, desk), most=1)


def gauges(desk: Desk) -> Gauges:
    """Look at all that is watched, at most every few seconds."""
    return desk.memory.of("gauges", int(time.monotonic()) // _SECONDS, partial(_gauges, desk), most=1)


def _health(desk: Desk) -> Health:
    because = tuple(_wrong(desk))
    return Health(FAILING if because else OK, because)


def _wrong(desk: Desk) -> Iterator[str]:
    workspace = desk.workspace
    try:
        if Lake.is_at(workspace.lake):
            manifests.load(workspace.lake)
    except GamewardenError:
        yield "lake"
    try:
        if workspace.has_ledger:
            workspace.ledger.head  # noqa: B018  reading it is the test
    except GamewardenError:
        yield "ledger"
    try:
        seals(desk)
    except GamewardenError:
        yield "verdicts"
    if desk.door.free() < desk.door.limits.free:
        yield "disk"


def _gauges(desk: Desk) -> Gauges:
    behind = desk.background.state()
    last = behind.last if behind.last is not None and behind.last.ended is not None else None
    ended = None if last is None else last.ended
    head = waiting = judged = watched = acted = None
    with suppress(GamewardenError):
        judged, watched, acted = _judged(desk)
    with suppress(GamewardenError):
        head = desk.workspace.ledger.head.number if desk.workspace.has_ledger else None
    with suppress(GamewardenError):
        waiting = queue(desk, "", 1).waiting if judged else 0
    return Gauges(
        backlog_bytes={kind: desk.door.pending(kind) for kind in ("events", "packets")},
        free_bytes=desk.door.free(),
        last_run=None if ended is None else ended.timestamp(),
        last_run_seconds=None if last is None or ended is None else (ended - last.started).total_seconds(),
        last_run_failures=None if last is None else len(last.failures) or int(last.code != 0),
        running=behind.running,
        days_judged=judged,
        watched=watched,
        acted=acted,
        queue=waiting,
        lag_seconds=_lags(desk),
        ledger_head=head,
        memory_bytes=memory(),
    )


def _judged(desk: Desk) -> tuple[int, int, int]:
    """Days that were judged, and how many accounts reach each point on the newest."""
    days = seals(desk)
    if not days:
        return 0, 0, 0
    points = everybody_on(desk, days[-1])["point"]
    return len(days), int((points == WATCH).sum()), int((points == ACT).sum())


def _lags(desk: Desk) -> dict[str, float]:
    try:
        return {name: lag.total_seconds() for name, lag in lags(desk.workspace, desk.now()).items() if lag is not None}
    except GamewardenError:
        return {}
