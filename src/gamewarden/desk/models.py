"""Models as people at the desk look at them: cards, control charts, why scores moved, and which is in force."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.contracts import Model
from gamewarden.core.durations import from_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.jobs import Job, jobs
from gamewarden.desk.memory import looks_of
from gamewarden.errors import GamewardenError, ModelError, NotThereError, ResponseError, short
from gamewarden.evaluation.two_models import by_both, crossings
from gamewarden.pipeline import models as shelf
from gamewarden.presentation.maintenance_story import story
from gamewarden.presentation.maintenance_table import table_of
from gamewarden.presentation.model_difference import compare
from gamewarden.store import model_registry
from gamewarden.store.maintenance_state import DIRECTORY, MaintenanceState
from gamewarden.store.model_registry import Promotion
from gamewarden.workspace.gate import Gate

_PERIODS = 120  # of a control chart that are shown
_STORY = 40  # lines of it
_CHANGED = 50  # accounts of a back-test that are named
_TRIED_ON = timedelta(days=7)  # the newest days that two models are tried on


@dataclass(frozen=True)
class ModelRow:
    """One model file."""

    id: str
    detector: str
    in_force: bool
    since: datetime | None  # what it learned from
    until: datetime | None
    bots: int | None
    humans: int | None
    auc: float | None
    saved: datetime | None
    problem: str | None


@dataclass(frozen=True)
class Period:
    """One point of a control chart."""

    period: datetime
    status: str
    x: float | None
    z: float | None
    lower: float | None
    upper: float | None
    provisional: bool
    common: int | None
    actors: int | None
    flagged: int | None
    model: str | None
    answer: str | None
    doubts: str | None


@dataclass(frozen=True)
class CauseFound:
    """Why scores may have moved."""

    name: str
    strength: float
    says: str


@dataclass(frozen=True)
class Control:
    """The control chart of a detector, its story, and why its scores last moved."""

    detector: str
    periods: tuple[Period, ...]
    story: tuple[str, ...]  # the newest first
    causes: tuple[CauseFound, ...]
    causes_of: str | None  # the period
    health: str  # in one line


@dataclass(frozen=True)
class ModelsView:
    """All models, who put which into force, and how each detector keeps."""

    rows: tuple[ModelRow, ...]
    history: tuple[Promotion, ...]  # the newest first
    controls: tuple[Control, ...]
    may_roll_back: tuple[str, ...]  # detectors


@dataclass(frozen=True)
class CardSection:
    """A part of a card."""

    title: str
    lines: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ModelView:
    """One model's card."""

    row: ModelRow
    sections: tuple[CardSection, ...]
    others: tuple[str, ...]  # models of the same detector
    history: tuple[Promotion, ...]


@dataclass(frozen=True)
class Changed:
    """An account that two models see differently."""

    actor: str
    since: datetime | None
    first: float | None
    second: float | None
    change: float | None


@dataclass(frozen=True)
class BackTest:
    """What two models say of the newest days."""

    sentences: tuple[str, ...]
    changed: tuple[Changed, ...]


@dataclass(frozen=True)
class DifferenceRow:
    """A value that two models do not share."""

    part: str
    what: str
    first: str | None
    second: str | None
    change: float | None


@dataclass(frozen=True)
class DifferenceView:
    """Two models beside each other, and, once somebody asked for it, what they say of the newest days."""

    first: str
    second: str
    sentences: tuple[str, ...]
    rows: tuple[DifferenceRow, ...]
    state: str | None  # of the back-test: running, ready, failed; None: nobody asked
    at: datetime | None
    error: str | None
    test: BackTest | None


def models(desk: Desk) -> ModelsView:
    """All models, and how each detector keeps.

    Raises:
        ModelError: the history of promotions is damaged.
    """
    place = desk.workspace.models
    if not place.is_dir():
        return ModelsView((), (), (), ())
    history = tuple(reversed(model_registry.promotions(place)))
    detectors = sorted(path.name for path in (place / DIRECTORY).glob("*") if path.is_dir())
    controls = tuple(found for name in detectors if (found := control(desk, name)) is not None)
    return ModelsView(_rows(desk), history, controls, _may_roll_back(history))


def model(desk: Desk, name: str) -> ModelView:
    """One model's card.

    Raises:
        NotThereError: there is no such model.
        ModelError: it is damaged.
    """
    rows = {one.id: one for one in _rows(desk)}
    if name not in rows:
        raise NotThereError(f"models: there is no model {short(name)} here")
    page = shelf.page_of(_loaded(desk, name), desk.workspace.models)
    sections = tuple(CardSection(one.title, one.lines, one.heads, one.rows) for one in page.sections())
    others = tuple(one.id for one in rows.values() if one.detector == rows[name].detector and one.id != name)
    return ModelView(rows[name], sections, others, page.history)


def control(desk: Desk, detector: str) -> Control | None:
    """The control chart of a detector; None where maintenance never looked at it.

    Raises:
        ReadError: the history of maintenance was edited or damaged.
    """
    path = desk.workspace.models / DIRECTORY / detector / "history.jsonl"
    if not path.is_file():
        return None
    return desk.memory.of("control", (detector, looks_of(path)), partial(_control, desk.workspace.models, detector))


def difference(desk: Desk, first: str, second: str) -> DifferenceView:
    """Two models beside each other; the back-test only where somebody asked for it before.

    Raises:
        NotThereError: one of them is not there.
    """
    told = compare(*(_found(desk, one) for one in (first, second)))
    rows = tuple(DifferenceRow(**row) for row in told.table.iter_rows(named=True))
    job = jobs(desk).last("back-test", (first, second))
    return DifferenceView(
        first=first,
        second=second,
        sentences=told.sentences,
        rows=rows,
        state=None if job is None else job.state,
        at=None if job is None else job.ended or job.begun,
        error=None if job is None else job.error,
        test=None if job is None else job.value,
    )


def begin_back_test(desk: Desk, first: str, second: str) -> Job:
    """Let two models be tried on the newest days, beside whatever else happens.

    Raises:
        NotThereError: one of them is not there.
    """
    both = _found(desk, first), _found(desk, second)
    return jobs(desk).begin(desk, "back-test", (first, second), partial(back_test, desk, *both))


def back_test(desk: Desk, first: Model, second: Model) -> BackTest:
    """What two models say of what was measured of the newest days.

    Raises:
        ReadError: what was measured is damaged.
    """
    scored = replace(desk.workspace.scored(desk.now()), models=(first, second))
    measured = {one.card.id: scored.measured(one) for one in (first, second)}
    if unseen := [name for name, those in measured.items() if not those]:
        raise ModelError(f"{unseen[0]}: nothing that it looks at rests here; `gamewarden backtest` measures it anew")
    newest = max(one.until for those in measured.values() for one in those)
    window = (from_micros(newest) - _TRIED_ON, None)
    scores = [one.score(scored.rows(one, scored.measured(one, window))) for one in (first, second)]
    table = by_both(*scores)
    shown = table.drop_nulls("change").filter(pl.col("change") != 0).head(_CHANGED)
    changed = tuple(
        Changed(row["actor"], row["since"], row["probability_first"], row["probability_second"], row["change"])
        for row in shown.iter_rows(named=True)
    )
    return BackTest(crossings(table, desk.workspace.config.rank.probability), changed)


def promote(desk: Desk, name: str, *, by: str, because: str) -> str:
    """Put a model into force, unless it flags whom an appeal has exonerated; what has to be said of it.

    Raises:
        NotThereError: there is no such model.
        ModelError: it is damaged, or flags somebody whom an appeal has exonerated.
        ResponseError: no reason is given.
    """
    _need_reason(because)
    _found(desk, name)
    at, place = desk.now(), desk.workspace.models
    with desk.workspace.ledger.writing(by, at) as work:
        before = model_registry.active(place).get(name.partition("@")[0])
        says = shelf.promote(place, name, because=because, by=by, at=at, objections=partial(_objections, desk))
        work.audit("promote model", name, {"in_force": before}, {"in_force": name, "because": because})
    return says


def roll_back(desk: Desk, detector: str, *, by: str, because: str) -> str:
    """Take the latest promotion of a detector back; what has to be said of it.

    Raises:
        ModelError: there is nothing to take back.
        ResponseError: no reason is given.
    """
    _need_reason(because)
    at, place = desk.now(), desk.workspace.models
    with desk.workspace.ledger.writing(by, at) as work:
        before = model_registry.active(place).get(detector)
        says = shelf.roll_back(place, detector, because=because, by=by, at=at)
        now = model_registry.active(place).get(detector)
        work.audit("roll back model", detector, {"in_force": before}, {"in_force": now, "because": because})
    return says


def _objections(desk: Desk, found: Model) -> Sequence[str]:
    return Gate(desk.workspace).look(found).with_names()


def _need_reason(because: str) -> None:
    if not because.strip():
        raise ResponseError("models: no reason is given; say why, it is kept for ever")


def _rows(desk: Desk) -> tuple[ModelRow, ...]:
    """All model files, those in force first, then the newest."""
    place = desk.workspace.models
    files = sorted(place.glob("*@*.json")) if place.is_dir() else []
    if not files:
        return ()
    key = (tuple(path.name for path in files), looks_of(*files, place / model_registry.HISTORY))
    return desk.memory.of("models", key, partial(_read_rows, place), most=2)


def _read_rows(place: Path) -> tuple[ModelRow, ...]:
    rows = [ModelRow(id=row.pop("model"), **row) for row in shelf.models_on(place).iter_rows(named=True)]
    rows.reverse()  # the newest file first
    return tuple(sorted(rows, key=lambda one: (not one.in_force, one.detector)))


def _found(desk: Desk, name: str) -> Model:
    if name not in {one.id for one in _rows(desk)}:
        raise NotThereError(f"models: there is no model {short(name)} here")
    return _loaded(desk, name)


def _loaded(desk: Desk, name: str) -> Model:
    path = desk.workspace.models / f"{name}.json"
    return desk.memory.of(
        "model", (name, looks_of(path)), partial(shelf.load_model, desk.workspace.models, name), most=8
    )


def _may_roll_back(history: Sequence[Promotion]) -> tuple[str, ...]:
    """The detectors of which a promotion stands that had something before it; `history` is the newest first."""
    standing: dict[str, list[Promotion]] = {}
    for line in reversed(history):
        those = standing.setdefault(line.detector, [])
        if not line.rolled_back:
            those.append(line)
        elif those:
            those.pop()
    return tuple(sorted(name for name, those in standing.items() if those and those[-1].instead_of))


def _control(place: Path, detector: str) -> Control:
    records = MaintenanceState(place, detector).history().records
    frame = table_of(records).tail(_PERIODS)
    names = Period.__dataclass_fields__
    periods = tuple(Period(**{name: row[name] for name in names}) for row in frame.iter_rows(named=True))
    told = [record for record in records if record.get("step") == "causes"]
    causes = tuple(_causes(told[-1])) if told else ()
    lines = tuple(reversed([*story(records)][-_STORY:]))
    of = str(told[-1]["period"])[:10] if told else None
    return Control(detector, periods, lines, causes, of, _health(periods))


def _causes(record: Mapping[str, Any]) -> list[CauseFound]:
    return [CauseFound(str(one["name"]), float(one["strength"]), str(one["says"])) for one in record["causes"]]


def _health(periods: Sequence[Period]) -> str:
    if not periods:
        return "no period is over yet"
    last = periods[-1]
    day = f"{last.period:%Y-%m-%d}"
    if last.doubts:
        return f"scores of {day} are not to be trusted: {last.doubts}"
    limits = "provisional limits" if last.provisional else "its limits"
    said = {
        "in control": f"in control on {day}, within {limits}",
        "learning": f"its limits are still being learned ({day})",
        "missing": f"nothing could be compared on {day}",
    }
    return said.get(last.status, f"out of control on {day}: {last.status} {limits}")


def health_of(desk: Desk) -> str:
    """How the models keep, in one line; empty where maintenance never looked."""
    try:
        return "; ".join(f"{one.detector}: {one.health}" for one in models(desk).controls)
    except GamewardenError as error:
        return str(error)
