"""Where an account went on a day: its way through a zone, and the squares to which it came back."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from gamewarden.desk.account import chosen_day
from gamewarden.desk.day_events import DayEvents, events_of
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import day_of, span_of
from gamewarden.desk.peers import days_recipe
from gamewarden.workspace.desk_tables import DeskTables

MOST_POINTS = 3_000  # of a way that are drawn
ACROSS = 40  # squares of a zone, at the most
_MOST_ZONES = 200  # to choose from


@dataclass(frozen=True)
class Zone:
    """One zone in which positions were seen."""

    zone: str
    positions: int


@dataclass(frozen=True)
class Square:
    """A square to which somebody came."""

    x: float  # its middle
    y: float
    visits: int  # how often it was entered
    events: int


@dataclass(frozen=True)
class Movement:
    """The way of an account through one zone on one day."""

    actor: str
    day: str
    zones: tuple[Zone, ...]  # most positions first
    zone: str | None
    side: float | None  # of a square
    x: tuple[float, ...]  # the way, in the order of time
    y: tuple[float, ...]
    at: tuple[datetime, ...]
    positions: int  # before any was left out
    squares: tuple[Square, ...]
    revisited: float | None  # the share of entries into squares where it had been before
    crowd: tuple[Square, ...]  # where everybody was on that day
    missing: str = ""  # why there is nothing: log (it has no positions), account, zone


def movement(desk: Desk, actor: str, day: str | None = None, zone: str | None = None) -> Movement:
    """The way of an account through a zone; without one named, through the zone where it was most.

    Raises:
        NotThereError: it was not judged on that day.
        ReadError: a part of the lake is missing or damaged.
    """
    seal = chosen_day(desk, actor, day)
    recipe, span = days_recipe(desk), span_of(seal)
    events = events_of(desk, actor, *span, "actor" if recipe is None else recipe.entity)
    places = events.frame.filter(pl.col("x").is_finite(), pl.col("y").is_finite()).with_columns(
        pl.col("zone").fill_null("")
    )
    zones = _zones(places)
    chosen = zone if zone is not None else (zones[0].zone if zones else None)
    mine = places.filter(pl.col("zone") == chosen) if chosen is not None else places.clear()
    missing = "" if mine.height else _missing(events, zones)
    side = side_of(mine)
    squares = squares_of(mine, side) if side else ()
    way = thinned(mine)
    return Movement(
        actor=actor,
        day=day_of(seal),
        zones=zones[:_MOST_ZONES],
        zone=chosen,
        side=side,
        x=tuple(way["x"].cast(pl.Float64)),
        y=tuple(way["y"].cast(pl.Float64)),
        at=tuple(way["at"]),
        positions=mine.height,
        squares=squares,
        revisited=_revisited(squares),
        crowd=_crowd(desk, span, chosen) if mine.height and chosen else (),
        missing=missing,
    )


def _crowd(desk: Desk, span: tuple[datetime, datetime], zone: str) -> tuple[Square, ...]:
    """Where everybody was in a zone, as it rests; how often a square was entered is not known of a crowd."""
    rows = DeskTables(desk.workspace).table("cells", span).filter(pl.col("zone") == zone)
    squares = rows.select((pl.col("x", "y") + 0.5) * pl.col("side"), "n").sort("x", "y")
    return tuple(Square(x, y, 0, n) for x, y, n in squares.iter_rows())


def _missing(events: DayEvents, zones: tuple[Zone, ...]) -> str:
    if zones:
        return "zone"
    return "account" if {"x", "y"} <= events.columns else "log"


def _zones(places: pl.DataFrame) -> tuple[Zone, ...]:
    counted = places["zone"].value_counts(name="n").sort("n", "zone", descending=[True, False])
    return tuple(Zone(name, count) for name, count in counted.iter_rows())


def thinned(places: pl.DataFrame, most: int = MOST_POINTS) -> pl.DataFrame:
    """A way of at most so many points, the first and the last among them."""
    if places.height <= most:
        return places
    kept = pl.int_range(most, eager=True) * (places.height - 1) // (most - 1)
    return places[kept.to_list()]


def side_of(places: pl.DataFrame) -> float | None:
    """The side of a square: a power of two with which a zone is at most so many squares across."""
    if not places.height:
        return None
    wide = max(float(np.ptp(places[name].to_numpy())) for name in ("x", "y"))
    side = 2.0**-6
    while wide / side > ACROSS:
        side *= 2
    return side


def squares_of(places: pl.DataFrame, side: float) -> tuple[Square, ...]:
    """Every square that was entered, and how often."""
    placed = places.select((pl.col("x", "y").cast(pl.Float64) / side).floor().cast(pl.Int64))
    moved = (pl.col("x") != pl.col("x").shift(1)) | (pl.col("y") != pl.col("y").shift(1))
    counted = (
        placed.with_columns(entered=moved.fill_null(value=True).cast(pl.Int64))
        .group_by("x", "y")
        .agg(pl.col("entered").sum(), pl.len().alias("events"))
        .sort("x", "y")
    )
    return tuple(Square((x + 0.5) * side, (y + 0.5) * side, visits, n) for x, y, visits, n in counted.iter_rows())


def _revisited(squares: tuple[Square, ...]) -> float | None:
    visits = sum(one.visits for one in squares)
    return (visits - len(squares)) / visits if visits else None
