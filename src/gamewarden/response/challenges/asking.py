"""Asking: a challenge for one account in one session, or why nobody is asked now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from secrets import SystemRandom

from gamewarden.cases import DISCONNECT, OPEN, Challenge, Suspicion
from gamewarden.errors import ResponseError
from gamewarden.policy import ChallengeSettings
from gamewarden.response.challenges import load
from gamewarden.response.challenges.keeping import kept_answers
from gamewarden.response.challenges.question import Game, Question
from gamewarden.response.challenges.waiting import Postponed, postponed, span

_NAME = 16  # bytes of an id: nobody guesses one
_MINUTE = 60.0
SYSTEM: Random = SystemRandom()


@dataclass(frozen=True)
class Issued:
    """A challenge that was made: what the ledger keeps, and what the game shows."""

    challenge: Challenge
    question: Question
    text: str  # the question, and how long there is


def issue(
    settings: ChallengeSettings,
    suspicion: Suspicion,
    session: str,
    now: datetime,
    *,
    secret: str,
    history: Sequence[Challenge] = (),
    busy: Sequence[str] = (),
    kind: str | None = None,
    game: Game | None = None,
    rng: Random = SYSTEM,
    decision: str | None = None,
) -> Issued | Postponed:
    """Ask the actor of a suspicion; `history` holds all challenges of this actor.

    Raises:
        ResponseError: there is no such kind, or what it would speak of is missing.
        InstallError: a library that the kind needs is not installed.
    """
    later = postponed(settings, suspicion, now, busy=busy, history=history, secret=secret)
    if later is not None:
        return later
    made = Challenge(
        rng.randbytes(_NAME).hex(), suspicion.actor, session, "", now, now + span(settings.lasts), answer=""
    )
    return _asked(replace(made, decision=decision, score=suspicion.score), kind or settings.kind, secret, game, rng)


def exchange(
    old: Challenge,
    kind: str,
    now: datetime,
    *,
    secret: str,
    history: Sequence[Challenge],
    game: Game | None = None,
    rng: Random = SYSTEM,
) -> tuple[Challenge, Issued]:
    """An open challenge that ends without guilt, and another kind in its place for who cannot answer such a question.

    It is done once, with the time and the tries that are left.

    Raises:
        ResponseError: it is over, of that kind, or was asked in the place of another one; or there is no such kind.
        InstallError: a library that the kind needs is not installed.
    """
    if old.state != OPEN or now >= old.expires:
        raise ResponseError(f"challenge {old.id} is over, so nothing can be asked in its place")
    if old.kind == kind:
        raise ResponseError(f"challenge {old.id} is of the kind {kind} already; choose another one")
    if any(one.state == DISCONNECT and one.ended == old.issued and one.session == old.session for one in history):
        raise ResponseError(f"challenge {old.id} was asked in the place of another one already; it has to be answered")
    new = replace(old, id=rng.randbytes(_NAME).hex(), issued=now)
    return replace(old, state=DISCONNECT, ended=now), _asked(new, kind, secret, game, rng)


def _asked(challenge: Challenge, kind: str, secret: str, game: Game | None, rng: Random) -> Issued:
    """A challenge with a question of a kind."""
    chosen, spoken = load(kind), game or Game()
    question = chosen.ask(spoken, rng)
    kept = kept_answers(secret, challenge.id, [chosen.read(one) for one in question.answers])
    minutes = round((challenge.expires - challenge.issued).total_seconds() / _MINUTE, 1)
    said = f"{question.text} {spoken.say('time', minutes=f'{minutes:g}')}"
    return Issued(replace(challenge, kind=chosen.name, answer=kept), question, said)
