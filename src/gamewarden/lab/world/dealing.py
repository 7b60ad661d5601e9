"""Deals that were agreed before anybody plays: when two who are tied meet, and what then changes hands.

Both sides log the same deal at the same microsecond within their sessions; a letter arrives when its reader is next
online. Purses are kept in the order of time, so nobody gives what it does not have.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gamewarden.core.kernels import kernel
from gamewarden.lab.world.agenda import DAY, MEETING, MOST_SESSIONS, RAID, Cast, plan, raid_on
from gamewarden.lab.world.dice import Array, Number, Record, jit, key, unit
from gamewarden.lab.world.play import ME
from gamewarden.lab.world.rules import ITEMS, PERSON

if TYPE_CHECKING:
    from gamewarden.lab.world.games import Game

Table = npt.NDArray[np.void]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TRADE, MAIL, MARKET, PARTY, LONG_PARTY = range(5)

# Who deals with whom, how, how often, and what share of what each owns then changes hands; or who joins whose party.
TIE = np.dtype(
    [
        ("giver", np.int64),
        ("taker", np.int64),
        ("how", np.int64),
        ("a_day", np.float64),
        ("money", np.float64),  # of the giver's
        ("goods", np.float64),  # of the giver's
        ("price", np.float64),  # of the taker's money, paid in return
    ]
)
# A moment at which a tie is kept; a letter has a second one, at which it arrives.
_DATE = np.dtype(
    [("t", np.float64), ("tie", np.int64), ("luck", np.uint64), ("letter", np.int64), ("arrives", np.bool_)]
)

KINDS = (
    "trade.give",
    "trade.receive",
    "mail.send",
    "mail.receive",
    "market.sell",
    "market.buy",
    "combat.kill",
    "party.join",
    "party.leave",
)
(GIVE, RECEIVE, SEND, ARRIVE, SELL, BUY, KILL, JOIN, LEAVE) = range(len(KINDS))

NOBODY = -1
_MOST_A_DAY = 4  # dates of one tie
_LEAST = 5.0  # money that is worth a meeting
_SHORT, _LONG = 0.6 * 3600.0, 4.5 * 3600.0  # seconds that a party of people and one of bots lasts (Kang et al.)
_BOSS = 300.0  # seconds between two of the monsters that a raid kills together
_DATES, _BOSSES = 1 << 60, 6400  # purposes of the dice


class Purses(NamedTuple):
    """Money and goods: what each account owns at first, what an hour brings by persona, and what was gained when."""

    owned: Floats
    hourly: Floats
    first_gain: Ints  # the gains of account i are gained[first_gain[i]:first_gain[i + 1]]
    gained: Table


def deals_of(game: "Game", rulebook: Table, cast: Cast, ties: Table, purses: Purses) -> tuple[Ints, Table]:
    """All agreed deals as the kernel that plays takes them: where each account's begin, and the events in time."""
    first, spans = _sessions(rulebook, cast, np.zeros(1, ME))
    kinds = np.array([game.vocabulary.first[kind] for kind in KINDS])
    dates = _dates(cast, ties, first, spans)
    dates = dates[np.argsort(dates["t"], kind="stable")]
    rows = np.concatenate(
        [_settled(cast, ties, dates, (first, spans), purses, kinds), _bosses(cast, first, spans, kinds)]
    )
    rows = rows[np.lexsort((rows["t"], rows["account"]))]
    places = np.zeros(len(cast.persona) + 1, np.int64)
    np.cumsum(np.bincount(rows["account"], minlength=len(cast.persona)), out=places[1:])
    return places, rows


@kernel
def _sessions(rulebook: Array, cast: Record, players: Array) -> Array:
    """The sessions of all accounts: those of account i are spans[first[i]:first[i + 1]]."""
    accounts = len(cast.persona)
    person = np.empty(len(PERSON))
    mine = np.empty((MOST_SESSIONS * (cast.days + 1), 2))
    first = np.zeros(accounts + 1, np.int64)
    spans = np.empty((4 * accounts * (cast.days + 1) + len(mine), 2))
    for account in range(accounts):
        n = plan(rulebook[0], cast, account, person, mine, players[0])
        if first[account] + n > len(spans):
            spans = np.concatenate((spans, np.empty_like(spans)))
        spans[first[account] : first[account] + n] = mine[:n]
        first[account + 1] = first[account] + n
    return first, spans[: first[accounts]]


@jit
def _together(mine: Array, theirs: Array, since: Number, until: Number) -> Number:
    """Seconds that two are online together."""
    seconds = 0.0
    for i in range(len(mine)):
        for j in range(len(theirs)):
            seconds += max(0.0, min(mine[i, 1], theirs[j, 1], until) - max(mine[i, 0], theirs[j, 0], since))
    return seconds


@jit
def _moment(mine: Array, theirs: Array, since: Number, until: Number, left: Number) -> Number:
    """The moment at which they have been online together for `left` seconds."""
    for i in range(len(mine)):
        for j in range(len(theirs)):
            low = max(mine[i, 0], theirs[j, 0], since)
            length = min(mine[i, 1], theirs[j, 1], until) - low
            if length > left:
                return low + left
            left -= max(0.0, length)
    return until


@jit
def _arrives(theirs: Array, sent: Number, delay: Number, until: Number) -> Number:
    """When a letter is opened: a while after it came, or after its reader logged in; -1 if that is after all days."""
    for j in range(len(theirs)):
        opened = max(theirs[j, 0], 0.0, sent) + delay
        if opened < min(theirs[j, 1], until):
            return opened
    return -1.0


@kernel
def _dates(cast: Record, ties: Array, first: Array, spans: Array) -> Array:
    """Every moment at which a tie is kept, day by day, in the order of the ties."""
    out = np.empty(1024, _DATE)
    n = 0
    anytime = np.array([[-DAY, DAY * (cast.days + 1)]])
    for number in range(len(ties)):
        tie = ties[number]
        mine, theirs = spans[first[tie.giver] : first[tie.giver + 1]], spans[first[tie.taker] : first[tie.taker + 1]]
        common = anytime if tie.how == MAIL else theirs
        for day in range(cast.days):
            luck = key(cast.seed, tie.giver, _DATES + (tie.taker << 32) + (tie.how << 24) + day * _MOST_A_DAY)
            times = min(_MOST_A_DAY, int(tie.a_day + unit(luck)))
            seconds = _together(mine, common, day * DAY, (day + 1) * DAY) if times > 0 else 0.0
            if seconds <= 0.0:
                continue
            for i in range(times):
                if n + 2 > len(out):
                    out = np.concatenate((out, np.empty_like(out)))
                draw = key(luck, i, 1)
                out[n].t = _moment(mine, common, day * DAY, (day + 1) * DAY, seconds * unit(draw))
                out[n].tie, out[n].luck, out[n].letter, out[n].arrives = number, draw, n, False
                n += 1
                if tie.how == MAIL:
                    opened = _arrives(theirs, out[n - 1].t, 40.0 + 500.0 * unit(key(draw, 1, 2)), cast.days * DAY)
                    if opened >= 0.0:
                        out[n].t, out[n].tie, out[n].luck, out[n].letter, out[n].arrives = (
                            opened,
                            number,
                            draw,
                            n - 1,
                            True,
                        )
                        n += 1
    return out[:n]


@jit
def _earn(purses: Record, looked: Array, seen: Array, persona: Number, mine: Array, account: Number, t: Number) -> None:
    """Add what the account has gained since it was last looked at."""
    owned, seconds = purses.owned[account], 0.0
    for i in range(len(mine)):
        seconds += max(0.0, min(mine[i, 1], t) - max(mine[i, 0], looked[account]))
    owned[0] += purses.hourly[persona, 0] * seconds / 3600.0
    owned[1] += purses.hourly[persona, 1] * seconds / 3600.0
    while seen[account] < purses.first_gain[account + 1] and purses.gained[seen[account]].t <= t:
        owned[0] += purses.gained[seen[account]].money
        owned[1] += purses.gained[seen[account]].goods
        seen[account] += 1
    looked[account] = t


@jit
def _put(
    out: Array, n: Number, account: Number, t: Number, kind: Number, item: Number, amount: Number, other: Number
) -> Number:
    """One event of a deal; nothing where nothing changes hands. Returns how many there are now."""
    if amount == 0.0:
        return n
    row = out[n]
    row.account, row.t, row.other, row.gives, row.takes, row.item = account, t, other, 0, 0, item
    row.kind, row.amount = kind, amount
    return n + 1


@jit
def _joined(out: Array, n: Number, tie: Record, date: Record, kinds: Array, mine: Array) -> Number:
    """Somebody joins another's party for a while, or until it goes offline."""
    lasts = (_SHORT if tie.how == PARTY else _LONG) * np.exp(unit(key(date.luck, 4, 5)) - 0.5)
    for i in range(len(mine)):
        if mine[i, 0] <= date.t < mine[i, 1]:
            left = min(date.t + lasts, mine[i, 1] - 1.0)
            if left > date.t:
                n = _put(out, n, tie.giver, date.t, kinds[JOIN], -1, np.nan, tie.taker)
                n = _put(out, n, tie.giver, left, kinds[LEAVE], -1, np.nan, tie.taker)
    return n


@jit
def _both(out: Array, n: Number, tie: Record, t: Number, kinds: Array, item: Number, amount: Number) -> Number:
    """What goes from hand to hand, as both log it; a negative amount goes the other way."""
    giver, taker = (tie.giver, tie.taker) if amount > 0.0 else (tie.taker, tie.giver)
    n = _put(out, n, giver, t, kinds[GIVE], item, -abs(amount), taker)
    return _put(out, n, taker, t, kinds[RECEIVE], item, abs(amount), giver)


@jit
def _logged(out: Array, n: Number, tie: Record, date: Record, kinds: Array, worth: Array) -> Number:
    """The events of a deal on the day it is made."""
    money, goods, price = worth
    item = int(ITEMS * unit(key(date.luck, 2, 3)))
    if tie.how == MAIL:
        n = _put(out, n, tie.giver, date.t, kinds[SEND], -1, -money, tie.taker)
        return _put(out, n, tie.giver, date.t, kinds[SEND], item, -goods, tie.taker)
    if tie.how == MARKET:
        n = _put(out, n, tie.giver, date.t, kinds[SELL], item, price, tie.taker)
        return _put(out, n, tie.taker, date.t, kinds[BUY], item, -price, tie.giver)
    n = _both(out, n, tie, date.t, kinds, -1, money)
    n = _both(out, n, tie, date.t, kinds, item, goods)
    return _both(out, n, tie, date.t, kinds, -1, -price)


@jit
def _worth(tie: Record, luck: Number, owned: Array) -> Array:
    """The money, the goods and the price of a deal; all 0 where it is not worth a meeting."""
    some = 0.7 + 0.6 * unit(key(luck, 3, 4))
    money = np.floor(min(1.0, some * tie.money) * owned[tie.giver, 0])
    goods = np.ceil(min(1.0, some * tie.goods) * np.floor(owned[tie.giver, 1]))
    price = np.floor(min(1.0, some * tie.price) * owned[tie.taker, 0])
    if tie.price > 0.0 and (price < _LEAST or goods < 1.0):
        return 0.0, 0.0, 0.0
    return (money if money >= _LEAST else 0.0), goods, price


@kernel
def _settled(cast: Record, ties: Array, dates: Array, online: Array, purses: Record, kinds: Array) -> Array:
    """What changes hands at each date, in the order of time, as the events of both sides."""
    first, spans = online
    owned, seen, looked = purses.owned, purses.first_gain.copy(), np.zeros(len(cast.persona))
    letters = np.zeros((len(dates), 2))  # on their way: money, goods
    out = np.empty(1024, MEETING)
    n = 0
    for d in range(len(dates)):
        date = dates[d]
        tie = ties[date.tie]
        if n + 6 > len(out):
            out = np.concatenate((out, np.empty_like(out)))
        if date.arrives:
            item = int(ITEMS * unit(key(date.luck, 2, 3)))
            n = _put(out, n, tie.taker, date.t, kinds[ARRIVE], -1, letters[date.letter, 0], tie.giver)
            n = _put(out, n, tie.taker, date.t, kinds[ARRIVE], item, letters[date.letter, 1], tie.giver)
            owned[tie.taker] += letters[date.letter]
            continue
        if tie.how >= PARTY:
            n = _joined(out, n, tie, date, kinds, spans[first[tie.giver] : first[tie.giver + 1]])
            continue
        for account in (tie.giver, tie.taker):
            mine = spans[first[account] : first[account + 1]]
            _earn(purses, looked, seen, cast.persona[account], mine, account, date.t)
        money, goods, price = _worth(tie, date.luck, owned)
        n = _logged(out, n, tie, date, kinds, (money, goods, price))
        owned[tie.giver, 0] += price - money
        owned[tie.giver, 1] -= goods
        if tie.how == MAIL:
            letters[date.letter, 0], letters[date.letter, 1] = money, goods
        else:
            owned[tie.taker, 0] += money - price
            owned[tie.taker, 1] += goods
    return out[:n]


@jit
def _there(mine: Array, since: Number, until: Number) -> Number:
    """Whether an account is online all that time."""
    for i in range(len(mine)):  # noqa: SIM110 -- a kernel has no any()
        if mine[i, 0] <= since and until < mine[i, 1]:
            return True
    return False


@kernel
def _bosses(cast: Record, first: Array, spans: Array, kinds: Array) -> Array:
    """The monsters that a raid kills together, at the same moment for all of its members who are there."""
    out = np.empty(1024, MEETING)
    n = 0
    for account in range(len(cast.call)):
        mine = spans[first[account] : first[account + 1]]
        for day in range(cast.days):
            begin = raid_on(cast, account, day)
            if begin >= cast.days * DAY:
                continue
            for i in range(1, int(RAID / _BOSS)):
                luck = key(cast.seed, cast.call[account].leader, (_BOSSES + day) * 1024 + i)
                t = begin + _BOSS * (i + 0.6 * unit(luck))
                if _there(mine, t - _BOSS, t) and t < min(begin + RAID, cast.days * DAY):
                    if n == len(out):
                        out = np.concatenate((out, np.empty_like(out)))
                    n = _put(out, n, account, t, kinds[KILL], -1, np.nan, NOBODY)
    return out[:n]
