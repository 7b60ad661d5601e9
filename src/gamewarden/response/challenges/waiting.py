"""When somebody may be asked: seldom at first, more often the higher suspicion is, never again and again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gamewarden.cases import DISCONNECT, OPEN, PASSED, Challenge, Suspicion
from gamewarden.core.durations import parse_span
from gamewarden.policy import ChallengeSettings
from gamewarden.response.challenges.keeping import chance

_REFERENCE = 2.5  # the suspicion at which T0 is the wait (spec §1.10, rung "tested")
_RISEN = 1.0  # so much more suspicion ends the time of rest after a pass
_BUSY = timedelta(minutes=1)  # until somebody who fights or trades is looked at again
_FAR = 40.0  # halvings or doublings, beyond which a wait is one of its limits anyway


@dataclass(frozen=True)
class Postponed:
    """Nobody is asked now."""

    until: datetime
    because: str


def span(text: str) -> timedelta:
    """A length of time as settings write it."""
    return timedelta(microseconds=parse_span(text))


def interval(settings: ChallengeSettings, score: float) -> timedelta:
    """T = T0·2^−(S−2.5) of spec §1.10, between the shortest wait and the time of rest after a pass."""
    halvings = min(max(score - _REFERENCE, -_FAR), _FAR)
    seconds = span(settings.every).total_seconds() * 2.0**-halvings
    most = max(span(settings.cool_down), span(settings.every)).total_seconds()
    return max(span(settings.least_every), timedelta(seconds=min(seconds, most)))


def wait(settings: ChallengeSettings, score: float, last: Challenge, secret: str) -> timedelta:
    """How long after the last challenge the next one may follow; however often it is asked for, it is the same."""
    if last.state == DISCONNECT:  # it said nothing, so it is asked again soon
        return span(settings.least_every)
    varied = 1 + settings.jitter * (2 * chance(secret, "wait", last.id) - 1)
    return max(span(settings.least_every), interval(settings, score) * varied)


def first_moment(settings: ChallengeSettings, suspicion: Suspicion, secret: str) -> datetime:
    """When somebody is first asked who was never asked: a while after the rung was reached, which tells less of why."""
    share = settings.jitter * chance(secret, "first", suspicion.actor, suspicion.entered.isoformat())
    return suspicion.entered + interval(settings, suspicion.score) * share


def postponed(
    settings: ChallengeSettings,
    suspicion: Suspicion,
    now: datetime,
    *,
    busy: Sequence[str],
    history: Sequence[Challenge],
    secret: str,
) -> Postponed | None:
    """Why somebody is not asked now; None where it may be."""
    reasons = (
        _while_busy(settings, now, busy),
        _while_open(now, history),
        _after_a_pass(settings, suspicion, now, history),
        _too_soon(settings, suspicion, now, history, secret),
    )
    found = [one for one in reasons if one is not None]
    return max(found, key=lambda one: one.until, default=None)


def _while_busy(settings: ChallengeSettings, now: datetime, busy: Sequence[str]) -> Postponed | None:
    never = {word.strip().casefold() for word in settings.never_while.split(",")} - {""}
    doing = [word for word in busy if word.strip().casefold() in never]
    return Postponed(now + _BUSY, doing[0].strip().casefold()) if doing else None


def _while_open(now: datetime, history: Sequence[Challenge]) -> Postponed | None:
    still = [one for one in history if one.state == OPEN and now < one.expires]
    return Postponed(max(one.expires for one in still), "a challenge is open") if still else None


def _after_a_pass(
    settings: ChallengeSettings, suspicion: Suspicion, now: datetime, history: Sequence[Challenge]
) -> Postponed | None:
    passed = [one for one in history if one.state == PASSED and one.ended is not None]
    last = max(passed, key=lambda one: (one.ended, one.id), default=None)
    if last is None or last.ended is None:
        return None
    until = last.ended + span(settings.cool_down)
    risen = last.score is not None and suspicion.score >= last.score + settings.passed + _RISEN
    return None if now >= until or risen else Postponed(until, "the last challenge was passed")


def _too_soon(
    settings: ChallengeSettings, suspicion: Suspicion, now: datetime, history: Sequence[Challenge], secret: str
) -> Postponed | None:
    last = max(history, key=lambda one: (one.issued, one.id), default=None)
    if last is None:
        return None
    until = last.issued + wait(settings, suspicion.score, last, secret)
    return Postponed(until, "the last challenge was not long ago") if now < until else None
