"""Which accounts get a review case without a rate: the most suspicious of a day, as many as people can look at."""

from collections.abc import Collection, Iterable
from datetime import datetime

from gamewarden.cases import LADDER, Decision, Suspicion
from gamewarden.policy import REVIEW
from gamewarden.response.ladder import Ladder


def ranked(
    ladder: Ladder, suspicions: Iterable[Suspicion], cases: Iterable[Decision], reviewed: Collection[str] = ()
) -> list[str]:
    """The accounts that may get a case, the most suspicious first.

    Their suspicion is above the prior, nobody has reviewed them, none of their `cases` is open, and there is evidence
    newer than their last case.
    """
    rung = ladder.review_by_rank
    if rung is None:
        return []
    open_cases, last = set(reviewed), dict[str, datetime]()
    for one in cases:
        last[one.actor] = max(one.at, last.get(one.actor, one.at))
        if one.undone_at is None:
            open_cases.add(one.actor)
    eligible = [
        one
        for one in suspicions
        if one.rung >= rung
        and one.score > ladder.scale.prior
        and one.actor not in open_cases
        and (one.actor not in last or one.as_of > last[one.actor])
    ]
    return [one.actor for one in sorted(eligible, key=lambda one: (-one.score, one.actor))]


def places_left(ladder: Ladder, cases: Iterable[Decision], now: datetime) -> int:
    """How many cases the ladder may still open on the day (UTC) of a moment."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    opened = sum(one.step == REVIEW and one.by == LADDER and today <= one.at <= now for one in cases)
    return max(ladder.response.cases_per_day - opened, 0)
