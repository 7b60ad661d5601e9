"""When an account played on a day: from when to when, from which addresses, where, and with which characters."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl

from gamewarden.core.durations import MINUTE
from gamewarden.desk.account import chosen_day
from gamewarden.desk.day_events import DayEvents, events_of
from gamewarden.desk.desk import Desk
from gamewarden.desk.groups import shortened
from gamewarden.desk.judged_days import day_of, span_of
from gamewarden.desk.peers import days_recipe

SILENCE = 30 * MINUTE  # a longer silence ends a session where nobody logs out
_MOST_PLACES = 5  # zones of a session that are named
_NAMED = ("zone", "ip", "character")


@dataclass(frozen=True)
class PlayedSession:
    """One stretch of play."""

    since: datetime
    until: datetime
    minutes: float
    events: int
    began: str  # login; before: it goes on from the day before; seen: nobody logged in
    ended: str  # logout; after: it goes on the next day; silence: nobody logged out
    zones: tuple[str, ...]  # with most events first
    addresses: tuple[str, ...]
    characters: tuple[str, ...]
    more_zones: int = 0  # that are not named


@dataclass(frozen=True)
class Sessions:
    """All stretches of play of a day."""

    actor: str
    day: str
    since: datetime
    until: datetime
    sessions: tuple[PlayedSession, ...]
    minutes: float  # in all of them; at the same time counts twice
    longest: float
    addresses: tuple[str, ...] | None  # None: the log says none
    told: bool  # by logins and logouts; else by silences alone
    cut: bool = False  # there were more events than can be shown


def sessions(desk: Desk, actor: str, day: str | None = None, *, whole_addresses: bool = False) -> Sessions:
    """The sessions of an account's day; addresses are shortened for whoever may not decide.

    Raises:
        NotThereError: it was not judged on that day.
        ReadError: a part of the lake is missing or damaged.
    """
    seal = chosen_day(desk, actor, day)
    since, until = span_of(seal)
    recipe = days_recipe(desk)
    entity, edge = "actor" if recipe is None else recipe.entity, timedelta(microseconds=SILENCE)
    events = events_of(desk, actor, since, until, entity)
    around = [events_of(desk, actor, *span, entity) for span in ((since - edge, since), (until, until + edge))]
    found = sessions_in(events, *around)
    minutes = [one.minutes for one in found]
    addresses = sorted({name for one in found for name in one.addresses})
    told = bool(events.frame["kind"].is_in(["session.login", "session.logout"]).any())
    return Sessions(
        actor=actor,
        day=day_of(seal),
        since=since,
        until=until,
        sessions=found if whole_addresses else tuple(map(_shortened, found)),
        minutes=sum(minutes),
        longest=max(minutes, default=0.0),
        addresses=tuple(map(str if whole_addresses else shortened, addresses)) if "ip" in events.columns else None,
        told=told,
        cut=events.cut,
    )


def _shortened(one: PlayedSession) -> PlayedSession:
    return replace(one, addresses=tuple(map(shortened, one.addresses)))


def sessions_in(
    events: DayEvents, before: DayEvents | None = None, after: DayEvents | None = None
) -> tuple[PlayedSession, ...]:
    """Stretches of play: those of one session or character, cut at logins, after logouts and at long silences.

    `before` and `after` are the events around the day: a session that goes on there is cut at midnight, and says so.
    """
    days = ((before, -1), (events, 0), (None if events.cut else after, 1))
    rows = pl.concat([one.frame.with_columns(day=pl.lit(day)) for one, day in days if one is not None])
    rows = rows.with_columns(key=pl.coalesce("session", "character", pl.lit("")))
    kind = pl.col("kind")
    begins = (
        (kind == "session.login")
        | (kind.shift(1) == "session.logout")
        | (pl.col("at") - pl.col("at").shift(1) > timedelta(microseconds=SILENCE))
    )
    numbered = rows.with_columns(stretch=begins.fill_null(value=True).cum_sum().over("key"))
    first, last = (pl.col("day").min(), pl.col("day").max())
    spans = numbered.with_columns(first=first.over("key", "stretch"), last=last.over("key", "stretch"))
    began = pl.when(pl.col("first").first() < 0).then(pl.lit("before")).when(kind.first() == "session.login")
    ended = pl.when(pl.col("last").first() > 0).then(pl.lit("after")).when(kind.last() == "session.logout")
    told = (
        spans.filter(pl.col("day") == 0)
        .group_by("key", "stretch", maintain_order=True)
        .agg(
            pl.col("at").first().alias("since"),
            pl.col("at").last().alias("until"),
            pl.len().alias("events"),
            began.then(pl.lit("login")).otherwise(pl.lit("seen")).alias("began"),
            ended.then(pl.lit("logout")).otherwise(pl.lit("silence")).alias("ended"),
            *(pl.col(name).drop_nulls().value_counts(sort=True).struct.field(name).alias(name) for name in _NAMED),
        )
    )
    return tuple(_session(row) for row in told.sort("since", "key").iter_rows(named=True))


def _session(row: dict[str, object]) -> PlayedSession:
    since, until = row["since"], row["until"]
    assert isinstance(since, datetime)  # noqa: S101  as EVENTS has it
    assert isinstance(until, datetime)  # noqa: S101  as EVENTS has it
    zones, addresses, characters = (tuple(map(str, row[name])) for name in _NAMED)  # type: ignore[call-overload]
    minutes = (until - since) / timedelta(minutes=1)
    more = max(0, len(zones) - _MOST_PLACES)
    head = since, until, minutes, int(str(row["events"])), str(row["began"]), str(row["ended"])
    return PlayedSession(*head, zones[:_MOST_PLACES], addresses, characters, more)
