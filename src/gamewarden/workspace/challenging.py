"""Challenges and the ledger: asked, answered and ended in one transaction each, together with the evidence of it."""

import math
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from gamewarden.cases import DO, DONE, OPEN, Action, Challenge, Decision, Label, Protected, Suspicion
from gamewarden.config import Config
from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError, ResponseError
from gamewarden.policy import CHALLENGE, Response
from gamewarden.response.challenges.answering import REFUSED, Answer, Reply, answer, disconnect, expire
from gamewarden.response.challenges.asking import SYSTEM, Issued, exchange, issue
from gamewarden.response.challenges.outcomes import TELLING, Likelihoods, likelihoods, observation_of
from gamewarden.response.challenges.question import Game
from gamewarden.response.challenges.waiting import Postponed, first_moment, postponed
from gamewarden.response.challenges.words import words_of
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.workspace.carrying_book import HALTED
from gamewarden.workspace.place import Workspace

SECRET = "challenges"  # noqa: S105  the fact under which the ledger keeps the key of its answers
NOT_YOURS = "challenge: there is no such challenge of this account in this session"
_LARGEST = 1 << 20  # bytes of words
_NEWEST = 5_000  # outcomes that are learned from
_LOOK_AGAIN = timedelta(minutes=5)
GAME = "game"  # who asks and answers, for the audit
Settle = Callable[[Writing, Collection[str]], object]


@dataclass(frozen=True)
class Asked:
    """Whom to ask, in which session, and how."""

    actor: str
    session: str
    busy: tuple[str, ...] = ()
    kind: str | None = None
    instead: str | None = None  # the open challenge in whose place another kind is asked


@dataclass(frozen=True)
class Due:
    """Somebody who is to be asked, from when on, and why not before."""

    actor: str
    at: datetime
    decision: str
    because: str


def settle_later(work: Writing, actors: Collection[str]) -> None:
    """The next run lets the ladder decide on the new evidence."""
    del work, actors


@dataclass(frozen=True)
class Challenging:
    """The challenges of a ledger."""

    ledger: Ledger
    config: Config
    game: Game
    rng: Random = SYSTEM
    settle: Settle = settle_later  # what follows from new evidence, within the same transaction

    @classmethod
    def of(cls, workspace: "Workspace", language: str | None = None, settle: Settle = settle_later) -> "Challenging":
        """Those of a workspace, in its own language or in another.

        Raises:
            ConfigError: the file with the game's words cannot be followed.
            ResponseError: nothing was translated into this language.
            LedgerError: the ledger cannot be opened.
        """
        settings = workspace.config.challenge
        items, npcs = words_of(*_read(workspace.root / settings.words)) if settings.words else ({}, ())
        return cls(workspace.ledger, workspace.config, Game(language or settings.language, items, npcs), settle=settle)

    def issue(self, asked: Asked, now: datetime) -> Issued | Postponed:
        """Ask somebody, if it may be now.

        Raises:
            ResponseError: this is a rehearsal, or there is no such kind.
            InstallError: a library that the kind needs is not installed.
            LedgerError: the ledger cannot be written.
        """
        if not self.config.response.armed:
            raise ResponseError(
                "challenge: [response] armed is false, so nobody is asked; set it to true, or look at a question with "
                "--rehearse"
            )
        if halted := self.ledger.fact(HALTED):
            raise ResponseError(f"challenge: all actions are stopped, so nobody is asked: {halted}")
        with self.ledger.writing(GAME, now) as work:
            made = self._issue(work, asked, now) if asked.instead is None else self._exchange(work, asked, now)
            if isinstance(made, Issued) and not work.add([made.challenge]):
                raise ResponseError("challenge: its id is taken, which chance does not do; look at the random numbers")
        return made

    def rehearse(self, asked: Asked, now: datetime) -> Issued | Postponed:
        """A question as it would be asked; nothing is written, and nobody can answer it."""
        history = self.ledger.find(Challenge, actor=asked.actor)
        suspicion = self._suspicion(self.ledger.find(Suspicion, actor=asked.actor), asked.actor, now)
        return self._ask(asked, now, suspicion, history, None, secrets.token_hex())

    def answer(self, name: str, given: Answer, now: datetime) -> Reply:
        """Take an answer.

        Raises:
            ResponseError: the kind of the challenge is not there any more; nothing is passed then.
            LedgerError: the ledger cannot be written.
        """
        with self.ledger.writing(GAME, now) as work:
            found = next(iter(work.find(Challenge, id=name)), None)
            after, reply = answer(self.config.challenge, found, given, now, secret=_secret(work))
            if found is not None and after is not None and reply.outcome != REFUSED:
                self._become(work, found, after)
            if reply.reward:
                work.audit("reward", name, None, {"actor": given.actor, "reward": reply.reward})
        return reply

    def end(self, name: str, now: datetime) -> Challenge:
        """The session of a challenge has ended.

        Raises:
            ResponseError: there is no such challenge.
            LedgerError: the ledger cannot be written.
        """
        with self.ledger.writing(GAME, now) as work:
            found = next(iter(work.find(Challenge, id=name)), None)
            if found is None:
                raise ResponseError(
                    f"challenge {visible(name[:80])!r} is unknown; `gamewarden challenge list` shows all"
                )
            after = disconnect(found, now)
            self._become(work, found, after)
        return after

    def expire(self, now: datetime) -> list[Challenge]:
        """End all whose time is over; which those were.

        Raises:
            LedgerError: the ledger cannot be written.
        """
        with self.ledger.writing(GAME, now) as work:
            late = work.find(Challenge, state=OPEN, at_most={"expires": now}, order=("expires",))
            return [self._become(work, one, expire(one, now)) for one in late]

    def due(self, now: datetime) -> list[Due]:
        """Who is to be asked because of a step that was carried out, and from when on; the first ones first.

        In a rehearsal nobody is, and neither is whoever is held back by a breaker, by the canary or by protection.
        """
        if not self.config.response.armed or self.ledger.fact(HALTED):
            return []
        steps = self._carried_out(now)
        actors = sorted(steps)
        secret = self.ledger.fact(SECRET) or ""
        suspicions = {one.actor: one for one in self.ledger.find(Suspicion, actor=actors)}
        histories = _by_actor(self.ledger.find(Challenge, actor=actors))
        found = [self._due(steps[actor], suspicions.get(actor), histories[actor], now, secret) for actor in actors]
        return sorted(found, key=lambda one: (one.at, one.actor))

    def likelihoods(self, work: Writing) -> Likelihoods:
        """What outcomes are worth, as those of known accounts say."""
        outcomes = work.find(Challenge, state=TELLING, order=("ended",), newest=_NEWEST)
        known = work.find(Label, actor={one.actor for one in outcomes}, order=("at",))
        return likelihoods(self.config.challenge, outcomes, {one.actor: one.bot for one in known})

    def _exchange(self, work: Writing, asked: Asked, now: datetime) -> Issued:
        """Another kind of question in the place of an open one."""
        history = work.find(Challenge, actor=asked.actor, session=asked.session)
        old = next((one for one in history if one.id == asked.instead), None)
        if old is None:
            raise ResponseError(NOT_YOURS)
        kind = asked.kind or self.config.challenge.kind
        ended, made = exchange(old, kind, now, secret=_secret(work), history=history, game=self.game, rng=self.rng)
        self._become(work, old, ended)
        return made

    def _issue(self, work: Writing, asked: Asked, now: datetime) -> Issued | Postponed:
        self._end_before(work, asked, now)
        safe = next((one for one in work.find(Protected, actor=asked.actor) if one.until > now), None)
        if safe is not None:
            return Postponed(safe.until, "the account is protected")
        standing = work.find(Decision, actor=asked.actor, step=CHALLENGE, undone_at=None, order=("at",))
        in_force = [one.id for one in standing if _in_force(one, now)]
        if in_force and not work.find(Action, decision=in_force, verb=DO, state=DONE):
            return Postponed(now + _LOOK_AGAIN, "its step has not left yet, or is held back")
        suspicion = self._suspicion(work.find(Suspicion, actor=asked.actor), asked.actor, now)
        history = work.find(Challenge, actor=asked.actor)
        return self._ask(asked, now, suspicion, history, in_force[-1] if in_force else None, _secret(work))

    def _ask(  # noqa: PLR0917  all that a question depends on
        self,
        asked: Asked,
        now: datetime,
        suspicion: Suspicion,
        history: Sequence[Challenge],
        decision: str | None,
        secret: str,
    ) -> Issued | Postponed:
        return issue(
            self.config.challenge,
            suspicion,
            asked.session,
            now,
            secret=secret,
            history=history,
            busy=asked.busy,
            kind=asked.kind,
            game=self.game,
            rng=self.rng,
            decision=decision,
        )

    def _end_before(self, work: Writing, asked: Asked, now: datetime) -> None:
        """End what is open of the actor and late, or of a session that is no more since there is a new one."""
        for one in work.find(Challenge, actor=asked.actor, state=OPEN):
            self._become(work, one, expire(one, now) if one.session == asked.session else disconnect(one, now))

    def _become(self, work: Writing, old: Challenge, new: Challenge) -> Challenge:
        """Write down what became of a challenge, and what it is evidence of."""
        if old == new:
            return new
        work.change(old, new)
        told = observation_of(new, self.likelihoods(work))
        if told is not None:
            work.add([told])
            self.settle(work, {new.actor})
        return new

    def _suspicion(self, known: Sequence[Suspicion], actor: str, now: datetime) -> Suspicion:
        """How suspicious somebody is; whom nothing is known of, as everybody is before any evidence."""
        return known[0] if known else Suspicion(actor, _log_odds(self.config.response), 0, now, now)

    def _carried_out(self, now: datetime) -> dict[str, Decision]:
        """The newest step in force for each actor that went out into the game."""
        steps = self.ledger.find(Decision, step=CHALLENGE, undone_at=None, order=("at",))
        standing = {one.id: one for one in steps if _in_force(one, now)}
        done = self.ledger.find(Action, decision=list(standing), verb=DO, state=DONE)
        safe = {one.actor for one in self.ledger.find(Protected) if one.until > now}
        carried = {one.decision for one in done}
        return {one.actor: one for one in standing.values() if one.id in carried and one.actor not in safe}

    def _due(
        self, step: Decision, known: Suspicion | None, history: Sequence[Challenge], now: datetime, secret: str
    ) -> Due:
        suspicion = self._suspicion([known] if known else [], step.actor, step.at)
        later = postponed(self.config.challenge, suspicion, now, busy=(), history=history, secret=secret)
        if later is not None:
            return Due(step.actor, later.until, step.id, later.because)
        first = first_moment(self.config.challenge, suspicion, secret) if not history else now
        return Due(step.actor, max(first, now), step.id, "" if first <= now else "the rung was just reached")


def _read(path: Path) -> tuple[str, str]:
    """The text of a file, and what errors call it.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"{path}: is too large for words of a game (at most {_LARGEST:,} bytes)")
        return path.read_text(encoding="utf-8"), str(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise ConfigError(f"{path}: is not UTF-8; write it as UTF-8") from error


def _log_odds(response: Response) -> float:
    if not 0 < response.prior < 1:
        return response.most if response.prior else response.least
    return min(max(math.log(response.prior / (1 - response.prior)), response.least), response.most)


def _by_actor(challenges: Sequence[Challenge]) -> dict[str, list[Challenge]]:
    found: dict[str, list[Challenge]] = defaultdict(list)
    for one in challenges:
        found[one.actor].append(one)
    return found


def _in_force(step: Decision, now: datetime) -> bool:
    return not step.rehearsal and step.waits_for is None and (step.until is None or now < step.until)


def _secret(work: Writing) -> str:
    """The key of the answers, made when the first is kept."""
    known = work.fact(SECRET)
    if known is None:
        known = secrets.token_hex()
        work.remember(SECRET, known)
    return known
