"""What the accounts that chance chose say of all accounts: how many are bots, and how many of them a list misses."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gamewarden.core.binomial import lower_bound, upper_bound
from gamewarden.core.text import counted
from gamewarden.desk_records import BOT, UNSURE, Review
from gamewarden.reviewing.votes import votes_in

_LEAST, _LEAST_BOTS = 10, 5  # with fewer, an interval says nearly nothing, and somebody would still quote the share
_BESIDE = 0.025  # on either side of an interval that holds 95 in 100 times


@dataclass(frozen=True)
class Estimate:
    """A share of all, with where it lies in 95 of 100 cases; no share where too few were looked at."""

    says: str  # for people
    counted: int
    of: int
    share: float | None = None
    low: float | None = None
    high: float | None = None


def share_of_bots(reviews: Iterable[Review]) -> Estimate:
    """How many of all accounts are bots, by those that chance chose.

    Raises:
        InstallError: exact intervals need a library that is not there.
    """
    told, unsure = _drawn(reviews)
    bots, people = sum(told.values()), len(told)
    beside = f" Of {unsure} more that it chose nobody is sure." if unsure else ""
    if people < _LEAST:
        says = f"Chance chose {counted(people, 'account')} so far of which somebody is sure; from {_LEAST} on they say "
        return Estimate(f"{says}how many of all are bots.{beside}", bots, people)
    share, low, high = _interval(bots, people)
    says = (
        f"Of {people:,} accounts that chance chose {_are(bots, 'a bot', 'bots')}: {_percent(share)} % of all accounts, "
    )
    return Estimate(f"{says}between {_percent(low)} and {_percent(high)} %.{beside}", bots, people, share, low, high)


def missed_by(reviews: Iterable[Review], listed: Collection[str]) -> Estimate:
    """How many of all bots are not on a list, by those that chance found.

    Raises:
        InstallError: exact intervals need a library that is not there.
    """
    bots = [actor for actor, bot in _drawn(reviews)[0].items() if bot]
    missed = len(set(bots) - set(listed))
    if len(bots) < _LEAST_BOTS:
        says = (
            f"Chance found {counted(len(bots), 'bot')} so far; from {_LEAST_BOTS} on they say how many a list misses."
        )
        return Estimate(says, missed, len(bots))
    share, low, high = _interval(missed, len(bots))
    where = f"{_are(missed, 'not', 'not')} among the {len(listed):,} oddest accounts"
    says = f"Of {len(bots):,} bots that chance found {where}: such a list misses {_percent(share)} % of all bots, "
    return Estimate(f"{says}between {_percent(low)} and {_percent(high)} %.", missed, len(bots), share, low, high)


def _drawn(reviews: Iterable[Review]) -> tuple[dict[str, bool], int]:
    """Of the accounts that chance named: which are bots, and of how many it is open."""
    known = [one for one in reviews if one.undone_at is None]
    named = {one.actor for one in known if one.drawn}
    told = {actor: _together(votes) for actor, votes in votes_in(known).items() if actor in named}
    sure = {actor: bot for actor, bot in told.items() if bot is not None}
    return sure, len(named) - len(sure)


def _together(votes: Mapping[str, Review]) -> bool | None:
    """What most say; where two say two things, or nobody is sure, nothing."""
    sure = [one.says == BOT for one in votes.values() if one.says != UNSURE]
    return None if 2 * sum(sure) == len(sure) else 2 * sum(sure) > len(sure)


def _interval(found: int, of: int) -> tuple[float, float, float]:
    return found / of, lower_bound(found, of, _BESIDE), upper_bound(found, of, _BESIDE)


def _are(count: int, one: str, several: str) -> str:
    return f"none is {one}" if not count else f"1 is {one}" if count == 1 else f"{count:,} are {several}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 1 or not percent else f"{percent:.1g}"
