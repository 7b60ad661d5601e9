"""Answering: once, in time, by the account and in the session that were asked; what else may end a challenge."""

from dataclasses import dataclass, replace
from datetime import datetime

from gamewarden.cases import DISCONNECT, LOST, OPEN, PASSED, TIMEOUT, Challenge
from gamewarden.policy import ChallengeSettings
from gamewarden.response.challenges import load
from gamewarden.response.challenges.keeping import is_answer

# What an answer may lead to, beside the outcomes of a challenge.
WRONG, REFUSED, OVER = "wrong", "refused", "over"


@dataclass(frozen=True)
class Reply:
    """What the game is told after an answer."""

    outcome: str  # passed, wrong, failed, timeout; refused for whom nothing was asked, over for what has ended
    left: int = 0  # tries
    reward: str = ""  # what the game gives


@dataclass(frozen=True)
class Answer:
    """Who says what."""

    actor: str
    session: str
    text: str


def answer(
    settings: ChallengeSettings, challenge: Challenge | None, given: Answer, now: datetime, *, secret: str
) -> tuple[Challenge | None, Reply]:
    """A challenge after an answer, and what follows from it.

    An id that nobody knows, another account and another session are refused alike, so that nobody learns which.

    Raises:
        ResponseError: the kind of the challenge is not there any more; nothing is passed then.
    """
    if challenge is None or (challenge.actor, challenge.session) != (given.actor, given.session):
        return challenge, Reply(REFUSED)
    if challenge.state != OPEN:
        return challenge, Reply(OVER)
    late = expire(challenge, now)
    if late.state != OPEN:
        return late, Reply(late.state)
    text = load(challenge.kind).read(given.text)
    if is_answer(secret, challenge.id, challenge.answer, text):
        passed = replace(challenge, state=PASSED, attempts=challenge.attempts + 1, ended=now)
        return passed, Reply(PASSED, reward=settings.reward)
    return _wrong(settings, challenge, now)


def expire(challenge: Challenge, now: datetime) -> Challenge:
    """A challenge that nobody answered in time, once that is over; else as it is."""
    if challenge.state == OPEN and now >= challenge.expires:
        return replace(challenge, state=TIMEOUT, ended=challenge.expires)
    return challenge


def disconnect(challenge: Challenge, now: datetime) -> Challenge:
    """A challenge whose session has ended: nothing is passed, and nobody is guilty; else as it is."""
    if challenge.state != OPEN or now >= challenge.expires:
        return expire(challenge, now)
    return replace(challenge, state=DISCONNECT, ended=now)


def _wrong(settings: ChallengeSettings, challenge: Challenge, now: datetime) -> tuple[Challenge, Reply]:
    tried = replace(challenge, attempts=challenge.attempts + 1)
    left = settings.attempts - tried.attempts
    if left > 0:
        return tried, Reply(WRONG, left)
    return replace(tried, state=LOST, ended=now), Reply(LOST)
