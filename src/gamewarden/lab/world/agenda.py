"""When an account is online, and when it meets whom to trade: both sides of a trade work out the same meetings."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gamewarden.lab.world.dice import (
    Array,
    Number,
    Record,
    about,
    among,
    bell,
    chance,
    fixed_bell,
    jit,
    key,
    times,
    unit,
)
from gamewarden.lab.world.rules import ITEMS, PERSON

SEOUL = 9.0  # hours before UTC
MOST_SESSIONS = 8  # a day
MOST_MEETINGS = 64  # a day and partner
FAIR = 0.35  # share of meetings of equals in which both give something
DAY = 86400.0

(HOURS, PLAYS, SESSIONS, START, START_SPREAD, DAY_SPREAD, REST, MOST, TRADES, GIVING, LEVEL) = (
    PERSON.index(name)
    for name in (
        "hours",
        "plays",
        "sessions",
        "start",
        "start_spread",
        "day_spread",
        "rest_minutes",
        "most",
        "trades",
        "giving",
        "level",
    )
)

# One hand-to-hand trade as one of the two sees it; or, with a kind, the one event that an agreed deal leaves with it.
MEETING = np.dtype(
    [
        ("account", np.int64),
        ("t", np.float64),
        ("other", np.int64),
        ("gives", np.int64),
        ("takes", np.int64),
        ("item", np.int64),
        ("kind", np.int64),
        ("amount", np.float64),
    ]
)
JUST_TRADE = -1  # the kind of a meeting that is none of the agreed ones

# When and where a raid calls its members; an hour below 0 calls nobody.
CALL = np.dtype([("hour", np.float64), ("weekday", np.int64), ("zone", np.int64), ("leader", np.int64)])
RAID = 2.5 * 3600.0  # seconds
SECOND_EVENING = 3  # days after the first of the week
NEVER = 1e12  # seconds
_COMES = 0.85  # chance that a member comes
_ATTENDS = 6000  # purpose of the dice

NOBODY = np.zeros(0, np.int64)


class Cast(NamedTuple):
    """The roster and the days of a world, as the kernel takes them."""

    seed: np.uint64
    start: int  # microseconds since the epoch
    days: int
    persona: npt.NDArray[np.int64]
    first_partner: npt.NDArray[np.int64]
    partner: npt.NDArray[np.int64]
    chapter: int = 0  # the same accounts with the same habits on other days: only what chance decides differs
    # Of a society; empty where there is none.
    way: npt.NDArray[np.int64] = NOBODY  # whose way-points and manner an account's script has
    rotation: npt.NDArray[np.int64] = NOBODY  # whose favourite skills it has
    call: npt.NDArray[np.void] = np.zeros(0, CALL)
    first_deal: npt.NDArray[np.int64] = NOBODY
    deal: npt.NDArray[np.void] = np.zeros(0, MEETING)


CHAPTER = 1 << 32  # between the dice of two chapters; the purposes of fixed numbers are far smaller


@jit
def own(table: Array, row: Number, seed: Number, account: Number, salt: Number, out: Array) -> None:
    """An account's own values of a row of spread values: the same whenever and by whomever they are asked for."""
    for field in range(table.shape[1]):
        out[field] = table[row, field, 0] * np.exp(table[row, field, 1] * fixed_bell(key(seed, account, salt + field)))


@jit
def raid_on(cast: Record, account: Number, day: Number) -> Number:
    """When the raid of a day begins in which an account takes part, in seconds; NEVER where there is none."""
    if len(cast.call) == 0 or cast.call[account].hour < 0.0:
        return NEVER
    weekday = cast.call[account].weekday
    if day % 7 not in (weekday, (weekday + SECOND_EVENING) % 7):
        return NEVER
    if unit(key(cast.seed, account, _ATTENDS + day + 1)) >= _COMES:
        return NEVER
    return day * DAY + 3600.0 * (cast.call[account].hour - SEOUL)


@jit
def next_raid(cast: Record, account: Number, t: Number) -> Number:
    """When the raid begins that is on or comes next; NEVER where there is none."""
    if len(cast.call) == 0 or cast.call[account].hour < 0.0:
        return NEVER
    for day in range(int(t / DAY) - 1, cast.days + 1):
        begin = raid_on(cast, account, day)
        if begin < NEVER and begin + RAID > t:
            return begin
    return NEVER


@jit
def plan(rules: Record, cast: Record, account: Number, person: Array, spans: Array, me: Record) -> Number:
    """The sessions of an account that touch the world's days, as pairs of seconds; returns how many.

    The day before the world begins is planned too, so that a session may reach into the first day. An account with a
    negative persona is not there.
    """
    own(rules.person, max(cast.persona[account], 0), cast.seed, account, 100, person)
    if cast.persona[account] < 0:
        return 0
    me.dice = key(cast.seed, account, 1)
    home_hour = person[START] + person[START_SPREAD] * bell(me) - SEOUL
    if cast.chapter > 0:
        me.dice = key(cast.seed, account, 1 + CHAPTER * cast.chapter)
    n = 0
    free = -2.0 * DAY
    for day in range(-1, cast.days):
        raid = raid_on(cast, account, day)
        raids = raid < NEVER
        if chance(me) >= person[PLAYS] and not raids:
            continue
        hours = min(person[MOST], person[HOURS] * np.exp(person[DAY_SPREAD] * bell(me)))
        sittings = min(MOST_SESSIONS, 1 + times(me, person[SESSIONS] - 1.0))
        begin = day * DAY + 3600.0 * (home_hour + 0.7 * bell(me))
        if raids:
            sittings = 1
            if begin > raid or begin + 3600.0 * hours < raid + RAID:
                begin = raid - 1500.0 * unit(key(cast.seed, account, _ATTENDS - 1))
                hours = max(hours, (raid + RAID - begin) / 3600.0 + 0.1)
        for _ in range(sittings):
            begin = max(begin, free)
            finish = begin + 3600.0 * hours / sittings
            free = finish + max(60.0, 60.0 * about(me, person[REST], 0.5))
            if finish > 0.0 and begin < cast.days * DAY:
                spans[n, 0], spans[n, 1] = begin, finish
                n += 1
            begin = free
    return n


@jit
def _common(mine: Array, theirs: Array, horizon: Number) -> Number:
    """Seconds that two accounts are online together."""
    seconds = 0.0
    for i in range(len(mine)):
        for j in range(len(theirs)):
            seconds += max(0.0, min(mine[i, 1], theirs[j, 1], horizon) - max(mine[i, 0], theirs[j, 0], 0.0))
    return seconds


@jit
def _moment(mine: Array, theirs: Array, horizon: Number, left: Number) -> Number:
    """The moment at which they have been online together for `left` seconds."""
    for i in range(len(mine)):
        for j in range(len(theirs)):
            low = max(mine[i, 0], theirs[j, 0], 0.0)
            length = min(mine[i, 1], theirs[j, 1], horizon) - low
            if length > left:
                return low + left
            left -= max(0.0, length)
    return horizon


@jit
def _meet(
    cast: Record, one: Number, two: Number, gifts: Array, rate: Number, spans: Array, dice: Record, out: Array
) -> Number:
    """The trades of a pair (one < two) in the eyes of the first; returns how many."""
    horizon = cast.days * DAY
    common = _common(spans[0], spans[1], horizon)
    dice.dice = key(cast.seed, one + 1_000_003, two + CHAPTER * cast.chapter)
    n = min(len(out), times(dice, rate * common / 3600.0))
    for i in range(n):
        out[i].t = _moment(spans[0], spans[1], horizon, chance(dice) * common)
        first_gives = chance(dice) < gifts[0] / (gifts[0] + gifts[1])
        both = chance(dice) < FAIR * min(gifts[0], gifts[1]) / max(gifts[0], gifts[1])
        count = 1 + int(3.0 * chance(dice))
        out[i].gives = count if first_gives or both else 0
        out[i].takes = count if both or not first_gives else 0
        out[i].item = among(ITEMS, chance(dice))
        out[i].kind = JUST_TRADE
        out[i].amount = np.nan
    return n


@jit
def meetings_of(rules: Record, cast: Record, account: Number, person: Array, spans: Array, dice: Record) -> Array:
    """All trades of an account with its partners, in time."""
    first, end = cast.first_partner[account], cast.first_partner[account + 1]
    room = MOST_MEETINGS * cast.days
    out = np.empty((end - first) * room, MEETING)
    their_person = np.empty(len(PERSON))
    their_spans = np.empty((MOST_SESSIONS * (cast.days + 1), 2))
    n = 0
    for p in range(first, end):
        other = cast.partner[p]
        theirs = their_spans[: plan(rules, cast, other, their_person, their_spans, dice)]
        rate = np.sqrt(person[TRADES] * their_person[TRADES])
        here = out[n : n + room]
        if account < other:
            gifts = (person[GIVING], their_person[GIVING])
            new = _meet(cast, account, other, gifts, rate, (spans, theirs), dice, here)
        else:
            gifts = (their_person[GIVING], person[GIVING])
            new = _meet(cast, other, account, gifts, rate, (theirs, spans), dice, here)
        for i in range(new):
            here[i].account, here[i].other = account, other
            if account > other:
                here[i].gives, here[i].takes = here[i].takes, here[i].gives
        n += new
    if len(cast.first_deal) > 0:
        return _by_time(np.concatenate((out[:n], cast.deal[cast.first_deal[account] : cast.first_deal[account + 1]])))
    return _by_time(out[:n])


@jit
def _by_time(meetings: Array) -> Array:
    when = np.empty(len(meetings))
    for i in range(len(meetings)):
        when[i] = meetings[i].t
    return meetings[np.argsort(when, kind="mergesort")]


@jit
def first_level(rules: Record, seed: Number, persona: Number, account: Number) -> Number:
    """The level an account's main character has when the world begins."""
    bell_value = fixed_bell(key(seed, account, 100 + LEVEL))
    share = rules.person[persona, LEVEL, 0] * np.exp(rules.person[persona, LEVEL, 1] * bell_value)
    return max(1, min(rules.limits[0], int(rules.limits[0] * share)))


@jit
def first_levels(rulebook: Array, seed: Number, persona: Array) -> Array:
    """The same for every account."""
    levels = np.empty(len(persona), np.int64)
    for account in range(len(persona)):
        levels[account] = first_level(rulebook[0], seed, persona[account], account)
    return levels
