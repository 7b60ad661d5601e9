"""At which hours an account plays, and what it does, beside people who play as it does; from what rests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from gamewarden.core.durations import from_micros
from gamewarden.desk.account import chosen_day
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import MOST_DAYS, day_of, seals, span_of
from gamewarden.desk.peers import Peers, peers_of
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.rest import HOUR_COLUMNS

_MOST_KINDS = 20  # that are drawn
_NEXT_DAY = timedelta(hours=25)  # where clocks are set back


@dataclass(frozen=True)
class HoursOfDay:
    """How many events an account had in each hour of one day, by the workspace's clock."""

    day: str
    since: datetime
    events: int
    hours: tuple[int, ...]  # 24


@dataclass(frozen=True)
class Hours:
    """When an account plays."""

    actor: str
    time_zone: str
    days: tuple[HoursOfDay, ...]  # the earliest first
    busy: int  # hours with an event, of all shown
    longest: int  # hours in a row with an event
    peers: Peers
    peers_by_hour: tuple[float, ...]  # the share of people who are there in each hour of the shown day; none: no peers
    peers_busy: float | None  # hours a day in which a usual one of them has an event


@dataclass(frozen=True)
class KindShare:
    """How much of what an account does is of one kind."""

    kind: str
    n: int
    share: float
    usual: float | None  # the median share among people
    low: float | None  # 80 % of them lie between
    high: float | None


@dataclass(frozen=True)
class Mix:
    """What an account does on a day."""

    actor: str
    day: str
    events: int
    kinds: tuple[KindShare, ...]  # the most different from people's first; then the most common
    more: int  # kinds that are not shown
    peers: Peers


def hours(desk: Desk, actor: str, day: str | None = None) -> Hours:
    """The hours of all days of an account that rest, beside people's hours of the day shown.

    Raises:
        NotThereError: it was not judged on that day.
        ReadError: what rests is damaged.
    """
    seal, tables = chosen_day(desk, actor, day), DeskTables(desk.workspace)
    first = seals(desk)[-MOST_DAYS:][0].since
    rows = tables.table("hours", (from_micros(first), None), [actor]).sort("since")
    names = {one.since: day_of(one) for one in seals(desk)}
    days = tuple(_days(rows, names))
    peers = peers_of(desk, actor, seal)
    theirs = tables.table("hours", span_of(seal), peers.actors) if peers.actors else rows.clear()
    there = theirs.select((pl.col(name) > 0).cast(pl.Float64) for name in HOUR_COLUMNS)
    zone = desk.workspace.time_zone or "UTC"
    return Hours(
        actor=actor,
        time_zone=zone,
        days=days,
        busy=sum(count > 0 for one in days for count in one.hours),
        longest=_longest(days),
        peers=peers,
        peers_by_hour=tuple(float(value) for value in there.mean().row(0)) if there.height else (),
        peers_busy=_usual_busy(there),
    )


def mix(desk: Desk, actor: str, day: str | None = None) -> Mix:
    """What an account does on a day, beside what people do.

    Raises:
        NotThereError: it was not judged on that day.
        ReadError: what rests is damaged.
    """
    seal, tables = chosen_day(desk, actor, day), DeskTables(desk.workspace)
    counted, peers = tables.table("mix", span_of(seal), [actor]), peers_of(desk, actor, seal)
    mine = _shares(counted).drop("actor")
    theirs = _shares(tables.table("mix", span_of(seal), peers.actors) if peers.actors else counted.clear())
    usual = _usual(theirs)
    told = mine.join(usual, on="kind", how="left" if not usual.height else "full", coalesce=True)
    filled = told.with_columns(pl.col("n").fill_null(0), pl.col("share").fill_null(0.0))
    apart = (pl.col("share") - pl.col("usual").fill_null(0.0)).abs()
    ordered = filled.sort(apart, "kind", descending=[True, False])
    kinds = tuple(KindShare(**row) for row in ordered.head(_MOST_KINDS).iter_rows(named=True))
    events = int(mine["n"].sum())
    return Mix(actor, day_of(seal), events, kinds, max(0, ordered.height - _MOST_KINDS), peers)


def _days(rows: pl.DataFrame, names: dict[int, str]) -> Iterator[HoursOfDay]:
    for row in rows.with_columns(micros=pl.col("since").dt.epoch("us")).iter_rows(named=True):
        counts = tuple(row[name] for name in HOUR_COLUMNS)
        yield HoursOfDay(names.get(row["micros"], f"{row['since']:%Y-%m-%d}"), row["since"], row["events"], counts)


def _longest(days: Sequence[HoursOfDay]) -> int:
    """The most hours in a row in which something was done; a day without any ends a row."""
    longest = run = 0
    for before, one in zip([None, *days], days, strict=False):
        run = run if before is not None and one.since - before.since <= _NEXT_DAY else 0
        for count in one.hours:
            run = run + 1 if count else 0
            longest = max(longest, run)
    return longest


def _usual_busy(there: pl.DataFrame) -> float | None:
    return float(pl.select(there.sum_horizontal().median()).item()) if there.height else None


def _shares(rows: pl.DataFrame) -> pl.DataFrame:
    """The share of each kind in what each actor did."""
    counted = rows.group_by("actor", "kind").agg(pl.col("n").sum())
    return counted.with_columns(share=pl.col("n") / pl.col("n").sum().over("actor")).sort("actor", "kind")


def _usual(theirs: pl.DataFrame) -> pl.DataFrame:
    """Of each kind the median share of people, and where 80 % of them lie; who never did it has a share of 0."""
    every = theirs.select("actor").unique().join(theirs.select("kind").unique(), how="cross")
    shares = every.join(theirs, on=["actor", "kind"], how="left").with_columns(pl.col("share").fill_null(0.0))
    return shares.group_by("kind").agg(
        pl.col("share").median().alias("usual"),
        pl.col("share").quantile(0.1).alias("low"),
        pl.col("share").quantile(0.9).alias("high"),
    )
