"""The front page: how many bots there are and where, what waits for people, and whether all of it still holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import numpy as np
import polars as pl

from gamewarden.core.durations import parse_zone
from gamewarden.desk.columns import Columns, Rows
from gamewarden.desk.conditions import Conditions, Range
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import seals
from gamewarden.desk.models import health_of, models
from gamewarden.desk.population import REVIEW, JudgedDay, Population, Span, judged_days, population
from gamewarden.desk_records import Mark
from gamewarden.errors import GamewardenError
from gamewarden.features.day_counts import coarsened
from gamewarden.store.model_registry import promotions
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.exonerated import without_exonerated
from gamewarden.workspace.status import lags

SUSPECTED = (ACT, WATCH)
MODEL, DRIFT = "model", "drift"  # kinds of marks beside those that people make
_BARS = 20
_CELL_DAYS = 7  # the newest days that a map shows
_DAYS_HELD = 400


@dataclass(frozen=True)
class TrendDay:
    """How many were judged on a day, and how many of them look like bots."""

    day: str
    judged: int
    watch: int
    act: int
    listed: int  # from the probability on that lists go by
    rate: float | None  # watched or acted on, of those who were judged
    url: str


@dataclass(frozen=True)
class Marked:
    """Something that happened: a patch, a ban wave, another model, a change that the watch of models saw."""

    day: str
    kind: str
    text: str
    id: str = ""  # of a mark that a person made


@dataclass(frozen=True)
class Part:
    """Suspected accounts that have something in common."""

    name: str  # empty: not known
    suspected: int
    judged: int
    share: float
    url: str


@dataclass(frozen=True)
class SourceLag:
    """How old the newest event of a source is."""

    source: str
    minutes: float | None


@dataclass(frozen=True)
class ToDo:
    """What somebody should do next, and where."""

    what: str  # run, fit, review, appeals, source, model
    count: int
    url: str


@dataclass(frozen=True)
class OverviewView:
    """The front page."""

    accounts: int  # judged in these days
    suspected: int
    act: int
    rate: float | None
    queue: int
    appeals: int
    threshold: float  # the probability from which lists go
    days: tuple[str, ...]
    span: dict[str, str]
    trend: tuple[TrendDay, ...]
    marks: tuple[Marked, ...]
    zones: tuple[Part, ...]
    families: tuple[Part, ...]
    detectors: tuple[Part, ...]
    map_zones: tuple[str, ...]  # of which there is a map
    health: str
    models: int
    last_judged: datetime | None
    sources: tuple[SourceLag, ...]
    to_do: tuple[ToDo, ...]
    urls: dict[str, str]  # the rows behind the numbers above


@dataclass(frozen=True)
class Cell:
    """A square of a zone with events in it."""

    x: float  # where it begins
    y: float
    events: int
    suspected: int


@dataclass(frozen=True)
class CellsView:
    """A map of a zone: where accounts that reach a point were, and where all others."""

    zone: str
    zones: tuple[str, ...]
    side: float | None
    cells: tuple[Cell, ...]
    days: tuple[str, ...]


def overview(desk: Desk, span: Span) -> OverviewView:
    """The front page over some days.

    Raises:
        ReadError: what rests is damaged.
        LedgerError: the ledger cannot be read.
    """
    people = population(desk, span)
    wanted = Conditions(span=span)
    suspected = _suspected(people)
    reached = int(np.count_nonzero(suspected))
    columns = Columns(people)
    act, queue = (int(np.count_nonzero(columns.are(name, [one]))) for name, one in (("point", ACT), ("state", REVIEW)))
    appeals = int(np.count_nonzero(columns.yes("appeal")))
    judged = people.frame.height - people.frame["point"].null_count()
    days = span.of(judged_days(desk))
    sources, last = _lags(desk), _last_judged(desk)
    found = models_in_force(desk)
    return OverviewView(
        accounts=judged,
        suspected=reached,
        act=act,
        rate=reached / judged if judged else None,
        queue=queue,
        appeals=appeals,
        threshold=desk.workspace.config.rank.probability,
        days=tuple(str(one.date) for one in people.days),
        span=span.query,
        trend=tuple(_trend(desk, days)),
        marks=tuple(_marks(desk, days)),
        zones=_parts(people, suspected, "zone", wanted),
        families=_parts(people, suspected, "family", wanted, known_only=True),
        detectors=_parts(people, suspected, "detector", wanted, known_only=True),
        map_zones=_map_zones(desk, days),
        health=health_of(desk),
        models=found,
        last_judged=last,
        sources=sources,
        to_do=tuple(_to_do(desk, found, len(people.days), queue, appeals)),
        urls=_urls(wanted, desk.workspace.config.rank.probability),
    )


def models_in_force(desk: Desk) -> int:
    """How many detectors have a model; a damaged one is none."""
    try:
        return sum(one.in_force for one in models(desk).rows)
    except GamewardenError:
        return 0


def cells(desk: Desk, span: Span, zone: str = "") -> CellsView:
    """A map of a zone over the newest of some days; of the one with most suspected events where none is named.

    Raises:
        ReadError: what rests is damaged.
    """
    days = span.of(judged_days(desk))[-_CELL_DAYS:]
    found = desk.memory.of("cells", _files(desk, days), lambda: _all_cells(desk, days), 2)
    totals = found.group_by("zone").agg(pl.col("suspected", "n").sum())
    ordered = totals.sort("suspected", "n", "zone", descending=[True, True, False])["zone"].to_list()
    chosen = zone or next(iter(ordered), "")
    mine = found.filter(pl.col("zone") == chosen)
    side = 2.0 ** int(mine["grain"][0]) if mine.height else None
    squares = mine.sort("x", "y").select("x", "y", "n", "suspected").rows()
    told = (Cell(x * (side or 0), y * (side or 0), n, some) for x, y, n, some in squares)
    return CellsView(chosen, tuple(sorted(ordered)), side, tuple(told), tuple(str(one.date) for one in days))


def _files(desk: Desk, days: Sequence[JudgedDay]) -> tuple[str, ...]:
    there = DeskTables(desk.workspace).rest("cells").all()
    names = (one.partition.name for one in days)
    return tuple(there[name].file for name in names if name in there)


def _all_cells(desk: Desk, days: Sequence[JudgedDay]) -> pl.DataFrame:
    """The squares of all zones, of one size a zone."""
    table = DeskTables(desk.workspace).rest("cells")
    there = table.all()
    rows = table.table([there[one.partition.name] for one in days if one.partition.name in there])
    grained = rows.select(
        "zone", pl.col("side").log(2).round().cast(pl.Int8).alias("grain"), "x", "y", "n", "suspected"
    )
    return coarsened(grained) if grained.height else grained


def _map_zones(desk: Desk, days: Sequence[JudgedDay]) -> tuple[str, ...]:
    """The zones with places in them on the newest day."""
    if not days:
        return ()
    table = DeskTables(desk.workspace).rest("cells")
    there = table.all().get(days[-1].partition.name)
    if there is None or not there.rows:
        return ()
    return desk.memory.of(
        "map zones", there.file, lambda: tuple(table.read(there, ["zone"])["zone"].unique().sort()), 1
    )


def _suspected(people: Population) -> Rows:
    return Columns(people).are("point", SUSPECTED)


def _trend(desk: Desk, days: Sequence[JudgedDay]) -> Iterator[TrendDay]:
    least, cleared = desk.workspace.config.rank.probability, sorted(desk.workspace.exonerated.items())
    for one in days:
        key = (one.partition.file, least, *cleared)
        judged, watch, act, listed = desk.memory.of("trend", key, partial(_counted, desk, one, least), _DAYS_HELD)
        rate = (watch + act) / judged if judged else None
        there = Conditions(span=Span(None, one.date, one.date), choices=(("point", SUSPECTED),))
        yield TrendDay(
            day=str(one.date), judged=judged, watch=watch, act=act, listed=listed, rate=rate, url=there.url()
        )


def _counted(desk: Desk, one: JudgedDay, least: float) -> tuple[int, int, int, int]:
    table = DeskTables(desk.workspace).rest("accounts")
    rows = table.read(one.partition, ["actor", "since", "probability", "point"])
    rows = without_exonerated(rows, desk.workspace.exonerated)
    points = dict(rows.drop_nulls("point").group_by("point").agg(pl.col("actor").n_unique()).rows())
    judged = rows.drop_nulls("point")["actor"].n_unique()
    listed = rows.filter(pl.col("probability") >= least)["actor"].n_unique()
    return judged, points.get(WATCH, 0), points.get(ACT, 0), listed


def _marks(desk: Desk, days: Sequence[JudgedDay]) -> Iterator[Marked]:
    """What happened in these days, the earliest first."""
    if not days:
        return
    since, until = days[0].since, days[-1].since + timedelta(days=1)
    found = sorted(_all_marks(desk), key=lambda one: one[0])
    zone = desk.workspace.time_zone or "UTC"
    for at, *told in found:
        if since <= at < until:
            yield Marked(_date_of(at, zone), *told)


def _date_of(at: datetime, zone: str) -> str:
    return str(at.astimezone(parse_zone(zone)).date())


def _all_marks(desk: Desk) -> Iterator[tuple[datetime, str, str, str]]:
    workspace = desk.workspace
    if workspace.has_ledger:
        yield from ((one.at, one.kind, one.text, one.id) for one in workspace.ledger.find(Mark))
    try:
        yield from ((one.at, MODEL, f"{one.detector}: {one.model}", "") for one in promotions(workspace.models))
        for control in models(desk).controls:
            last = control.periods[-1].period if control.periods else None
            if last is not None:
                yield from ((last, DRIFT, cause.says, "") for cause in control.causes[:1])
    except GamewardenError:
        return


def _parts(
    people: Population, suspected: Rows, column: str, wanted: Conditions, *, known_only: bool = False
) -> tuple[Part, ...]:
    """Suspected accounts by something, those with most first."""
    if not people.frame.height or column not in people.frame.columns:
        return ()
    counts = people.searches.of("parts", column, lambda: _by(people, suspected, column))
    told = [_part(name, n, of, column, wanted) for name, n, of in counts if n and (name or not known_only)]
    return tuple(sorted(told, key=lambda one: (-one.suspected, one.name))[:_BARS])


def _by(people: Population, suspected: Rows, column: str) -> list[tuple[str, int, int]]:
    """How many suspected accounts, and how many in all, have each value of a column."""
    texts, codes = Columns(people).codes(column)
    everybody = np.bincount(codes, minlength=len(texts) + 1).tolist()
    some = np.bincount(codes[suspected], minlength=len(texts) + 1).tolist()
    return list(zip((*texts, ""), some, everybody, strict=True))


def _part(name: str, suspected: int, judged: int, column: str, wanted: Conditions) -> Part:
    there = replace(wanted, choices=((column, (name,)), ("point", SUSPECTED)))
    return Part(name, suspected, judged, suspected / judged, there.url())


def _urls(wanted: Conditions, listed: float) -> dict[str, str]:
    suspected = wanted.with_choice("point", ACT).with_choice("point", WATCH)
    return {
        "accounts": wanted.url(),
        "suspected": suspected.url(),
        "act": wanted.with_choice("point", ACT).url(),
        "queue": wanted.with_choice("state", "review").url(),
        "appeals": wanted.with_choice("appeal", "yes").url(),
        "listed": wanted.with_range("probability", Range(listed)).url(),
    }


def _lags(desk: Desk) -> tuple[SourceLag, ...]:
    try:
        found = lags(desk.workspace, desk.now())
    except GamewardenError:
        return ()
    return tuple(SourceLag(name, None if lag is None else lag.total_seconds() / 60) for name, lag in found.items())


def _last_judged(desk: Desk) -> datetime | None:
    """When a day was last judged."""
    try:
        return max((datetime.fromisoformat(one.at) for one in seals(desk)), default=None)
    except GamewardenError:
        return None


def _to_do(desk: Desk, found: int, days: int, queue: int, appeals: int) -> Iterator[ToDo]:
    if not desk.workspace.sources:
        yield ToDo("source", 0, "/sources")
    if not found:
        yield ToDo("fit", 0, "/models")
    elif not days:
        yield ToDo("run", 0, "/sources")
    if appeals:
        yield ToDo("appeals", appeals, "/appeals")
    if queue:
        yield ToDo("review", queue, "/review")
