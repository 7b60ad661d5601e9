"""The raw events of one hour of an account, a page at a time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from gamewarden.core.durations import HOUR
from gamewarden.desk.account import chosen_day
from gamewarden.desk.day_events import events_of
from gamewarden.desk.desk import Desk
from gamewarden.desk.groups import shortened
from gamewarden.desk.judged_days import day_of, span_of
from gamewarden.desk.peers import days_recipe
from gamewarden.errors import ConfigError, short
from gamewarden.tables import EVENTS

Row = dict[str, str | int | float | datetime | None]
PAGE = 200  # events
_HOUR = timedelta(hours=1)
_KEY = (pl.col("at").dt.epoch("us"), pl.col("seq").fill_null(-(1 << 62)))  # what events are sorted by
_LATER = ("character", "session", "ip")
_SHOWN = (*(name for name in EVENTS.columns if name not in {"actor", "seq", *_LATER}), *_LATER)


@dataclass(frozen=True)
class Hour:
    """An hour of the day, and how much was done in it."""

    number: int  # from the beginning of the day
    since: datetime
    events: int


@dataclass(frozen=True)
class EventPage:
    """Some events of an hour, in the order of time."""

    actor: str
    day: str
    hours: tuple[Hour, ...]
    hour: int | None  # None: the whole day
    kind: str | None  # None: all kinds
    kinds: tuple[str, ...]  # of that hour
    columns: tuple[str, ...]  # that have a value in some row
    rows: tuple[Row, ...]
    shown: int
    of: int
    next: str | None  # where the next page begins


def events(
    desk: Desk,
    actor: str,
    day: str | None = None,
    *,
    hour: int | None = None,
    kind: str | None = None,
    after: str | None = None,
    whole_addresses: bool = False,
) -> EventPage:
    """The events of an hour, or of a whole day, after those that were shown already.

    Addresses are shortened for whoever may not decide.

    Raises:
        NotThereError: it was not judged on that day.
        ConfigError: `after` is nothing that an earlier page said.
        ReadError: a part of the lake is missing or damaged.
    """
    seal = chosen_day(desk, actor, day)
    since, until = span_of(seal)
    recipe = days_recipe(desk)
    frame = events_of(desk, actor, since, until, "actor" if recipe is None else recipe.entity).frame
    inside = frame if hour is None else frame.filter(_in_hour(since, hour))
    mine = inside if kind is None else inside.filter(pl.col("kind") == kind)
    begin = _place(mine, after)
    rows = mine.slice(begin, PAGE)
    shown = tuple(name for name in _SHOWN if rows[name].null_count() < rows.height)
    return EventPage(
        actor=actor,
        day=day_of(seal),
        hours=_hours(frame, since, until),
        hour=hour,
        kind=kind,
        kinds=tuple(inside["kind"].unique().sort()),
        columns=shown,
        rows=tuple(row if whole_addresses else _shortened(row) for row in rows.select(shown).iter_rows(named=True)),
        shown=rows.height,
        of=mine.height,
        next=_after(mine, begin + PAGE) if begin + PAGE < mine.height else None,
    )


def _shortened(row: Row) -> Row:
    address = row.get("ip")
    return {**row, "ip": shortened(address)} if isinstance(address, str) else row


def _in_hour(since: datetime, hour: int) -> pl.Expr:
    begin = since + hour * _HOUR
    return (pl.col("at") >= begin) & (pl.col("at") < begin + _HOUR)


def _hours(frame: pl.DataFrame, since: datetime, until: datetime) -> tuple[Hour, ...]:
    number = (pl.col("at") - since).dt.total_microseconds() // HOUR
    counted = dict(frame.group_by(number.alias("hour")).agg(pl.len()).iter_rows())
    many = -((since - until) // _HOUR)
    return tuple(Hour(hour, since + hour * _HOUR, counted.get(hour, 0)) for hour in range(many))


def _after(rows: pl.DataFrame, place: int) -> str:
    """The last row before a place as a text: when it was, its number, and how many of the same there are up to it."""
    keys = rows.select(_KEY).slice(0, place)
    at, seq = keys.row(-1)
    return f"{at}.{seq}.{keys.filter(at=at, seq=seq).height}"


def _place(rows: pl.DataFrame, after: str | None) -> int:
    """Where the rows begin that come after those already shown."""
    if not after:
        return 0
    try:
        at, seq, same = map(int, after.split("."))
        keys = rows.select(_KEY)
        earlier = keys.filter((pl.col("at") < at) | ((pl.col("at") == at) & (pl.col("seq") < seq))).height
    except (ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ConfigError(f"after {short(after)}: is no place among these events; take `next` of a page") from error
    return earlier + min(same, keys.filter(at=at, seq=seq).height)
