"""A model that looks after itself: every period of a lake is scored, watched and answered once, in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.clock import Clock, Period
from gamewarden.config import Config
from gamewarden.contracts import Model
from gamewarden.drift.flow import LATE, Day, History, Ledger, Tick, as_written, no_tick
from gamewarden.drift.settings import policy_of
from gamewarden.errors import ReadError
from gamewarden.notices import Notices, now
from gamewarden.pipeline.measuring import feature_of
from gamewarden.pipeline.scoring import event_model
from gamewarden.pipeline.sources import limits_of
from gamewarden.pipeline.upkeep import BY, EPOCH, LakeHands
from gamewarden.presentation.maintenance_story import story
from gamewarden.presentation.maintenance_table import remarks, table_of
from gamewarden.readers.logs.plausible import Plausible
from gamewarden.spans import parse_span
from gamewarden.store import model_registry
from gamewarden.store.source import LakeSource
from gamewarden.store.stretches import Stretches, content_of
from gamewarden.store.upkeep import Upkeep


@dataclass(frozen=True)
class Upkept:
    """What maintenance is asked to look after."""

    lake: Path
    models: Path
    labels: Path | None = None
    detector: str | None = None
    since: datetime | None = None  # where the first run begins
    until: datetime | None = None
    ban_waves: tuple[datetime, ...] = ()
    time_zone: str | None = None
    config: Config = field(default_factory=Config)
    clock: Callable[[], datetime] = now


@dataclass(frozen=True)
class Maintained:
    """What became of the periods, all of them and those of this run."""

    detector: str
    periods: pl.DataFrame
    new: int
    notes: tuple[str, ...]


def maintain(task: Upkept, tick: Tick = no_tick, stop: Callable[[], bool] = lambda: False) -> Maintained:
    """Do all that is left to do of every period that is over; `stop` is asked between two periods.

    Raises:
        ReadError: there is no lake, it is empty, or the history was damaged.
        ModelError: there is no model of events.
        WriteError: another process maintains these models, or the directory cannot be written.
    """
    model = event_model(task.models, task.detector)
    place = Upkeep(task.models, model.card.detector)
    new = late = 0
    with place.alone():
        history = place.history()
        ledger = Ledger(history, policy_of(task.config.maintain))
        stretches = _stretches(task)
        periods = _periods(task, _calendar(task, model), stretches, _begun(history))
        hands = _hands(task, model, place, _begun(history) or periods[0], stretches) if periods else None
        for period in _due(periods, stretches, ledger):
            if hands is None or stop():
                break
            if _came_late(ledger, period, stretches):
                ledger.open_again(period)
                late += 1
            _notice_other_model(task, model.card.detector, ledger, period)
            Day(period, hands, ledger, tick).run()
            new += 1
    frame = table_of(history.records)
    return Maintained(model.card.detector, frame, new, tuple(remarks(frame, new, late)))


def told(task: Upkept) -> list[str]:
    """The story of what maintenance did, in sentences; nothing is changed.

    Raises:
        ReadError: the history was damaged.
        ModelError: there is no model of events.
    """
    detector = event_model(task.models, task.detector).card.detector
    return list(story(Upkeep(task.models, detector).history().records))


def _due(periods: Sequence[Period], stretches: Stretches, ledger: Ledger) -> Iterator[Period]:
    """The periods with something left to do: in order what the chart has not passed, then what came late for it."""
    for period in periods:
        steps = ledger.of(period.name)
        begun = "done" not in steps and bool({"score", LATE} & steps.keys())
        fresh = not ledger.passed(period) and ("done" not in steps or _came_late(ledger, period, stretches))
        if begun or fresh:
            yield period
    yield from (one for one in periods if ledger.passed(one) and _came_late(ledger, one, stretches))


def _came_late(ledger: Ledger, period: Period, stretches: Stretches) -> bool:
    """Whether the lake has events of a period that was done, or passed by, without them."""
    content, steps = content_of(stretches, period), ledger.of(period.name)
    if content is None:
        return False
    if "done" not in steps:
        return ledger.passed(period) and not {"score", LATE} & steps.keys()
    with as_written():
        scored = steps.get("rescore") or steps["score"]
        # Histories from before contents were recorded tell late events only where there were none before.
        return bool(scored["content"] != content if "content" in scored else not scored["events"])


def _periods(task: Upkept, calendar: Clock, stretches: Stretches, begun: Period | None) -> list[Period]:
    """The periods that are over and have events, and as many after each as make an empty log worth a word."""
    over = task.until or _over(task, calendar, stretches)
    if over is None:
        return []
    start, _ = next(iter(stretches))
    opened = EPOCH + timedelta(microseconds=start)
    first = begun or calendar.holding(max(opened, task.since or opened))
    touched = calendar.over(stretches, over, task.config.maintain.missing)
    return [period for period in touched if period >= first]


def _over(task: Upkept, calendar: Clock, stretches: Stretches) -> datetime | None:
    """Up to when periods are over: an event that cannot be true yet does not say that time has passed."""
    last = stretches.last_by(Plausible.of(task.config.read, task.clock()).latest)
    return None if last is None else calendar.holding(EPOCH + timedelta(microseconds=last)).since


def _stretches(task: Upkept) -> Stretches:
    stretches = LakeSource(task.lake).lake.stretches
    if not stretches.parts:
        raise ReadError(f"{task.lake}: has no events yet; `gamewarden read FILE… --to {task.lake}` brings them in")
    return stretches


def _calendar(task: Upkept, model: Model) -> Clock:
    return Clock(parse_span(task.config.maintain.period), feature_of(model.feature).time_zone or "UTC")


def _begun(history: History) -> Period | None:
    """The period that maintenance began with."""
    first = next((record for record in history.records if record["step"] == "begin"), None)
    if first is None:
        return None
    with as_written():
        return Period(datetime.fromisoformat(first["period"]), datetime.fromisoformat(first["until"]))


def _hands(task: Upkept, model: Model, place: Upkeep, first: Period, stretches: Stretches) -> LakeHands:
    calendar = _calendar(task, model)
    return LakeHands(
        lake=LakeSource(task.lake).lake,
        models=task.models,
        place=place,
        calendar=calendar,
        first=first,
        policy=task.config.maintain,
        labels=task.labels,
        time_zone=task.time_zone,
        notices=Notices(task.config.notify, place.notices, task.clock),
        clock=task.clock,
        limits=limits_of(task.config),
        ban_waves=frozenset(calendar.holding(moment).name for moment in task.ban_waves),
        stretches=stretches,
    )


def _notice_other_model(task: Upkept, detector: str, ledger: Ledger, period: Period) -> None:
    """Begin, or record that a person has put another model into force since.

    Within a period that has begun nothing is noticed: there the difference is a promotion that a crash kept from being
    recorded.
    """
    current = next(one.id for one in model_registry.in_force(task.models) if one.detector == detector)
    before = ledger.standing.model
    if before is None:
        # From here on nothing takes over by being the newest file.
        model_registry.promote(task.models, current, because="maintenance begins with it", by=BY, at=task.clock())
        ledger.append({"period": period.name, "until": period.until.isoformat(), "step": "begin", "model": current})
    elif current != before and _nothing_decided(ledger.of(period.name)):
        ledger.append({"period": period.name, "step": "changed", "model": current, "instead_of": before})


def _nothing_decided(steps: Mapping[str, Mapping[str, Any]]) -> bool:
    return "score" not in steps or bool(steps.get(LATE, {}).get("only_scored"))
