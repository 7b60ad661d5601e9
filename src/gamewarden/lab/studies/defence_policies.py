"""Policies replayed on the same verdicts: lists of accounts to ban, and the graded ladder with challenges.

An account that was stopped does nothing from then on. Nobody answers to a policy otherwise: no bot changes its program
and no author sets up a new account.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from gamewarden.cases import DISCONNECT, PASSED, Challenge, Decision, Observation, Protected, Suspicion
from gamewarden.config import Config
from gamewarden.lab.studies.defence_world import ACT, Player, Population
from gamewarden.lab.world.answers import Answer, Answers, Window
from gamewarden.lab.world.tabling import account_of
from gamewarden.policy import (
    BAN,
    CHALLENGE,
    FREEZE,
    ISOLATE,
    LIMIT,
    REVIEW,
    WATCH,
    ChallengeSettings,
    Response,
    Rung,
)
from gamewarden.response.challenges.outcomes import Likelihoods, likelihoods, observation_of
from gamewarden.response.challenges.waiting import first_moment, postponed, span
from gamewarden.response.evidence import observations_of
from gamewarden.response.ladder import Case, Ladder, climb, ended
from gamewarden.response.on_call import WINDOWS, on_call
from gamewarden.response.persons import decide_by_person
from gamewarden.response.waves import due_of
from gamewarden.verdicts.points import ACT as TO_ACT
from gamewarden.verdicts.prevalence import SUPPOSED

LIMITED = 0.5  # of what is earned is lost while an account is limited
CLEARED_FOR = timedelta(days=28)  # whom a person found to be a person is left alone for so long
VISIBLE = (LIMIT, CHALLENGE, FREEZE, ISOLATE, BAN)
MASTER = "game master"
_SECRET = "defence"  # noqa: S105  of a study: nobody guards it
# The ladder that the published figures were made with: review comes last, and every rung needs the point to act.
STUDY_LADDER = (
    Rung("watched", -1.0, steps=(WATCH,), fpr=1.0, agree=0, lasts="14d"),
    Rung("suspect", 1.0, steps=(LIMIT,)),
    Rung("tested", 2.5, steps=(CHALLENGE,)),
    Rung("review", 4.5, steps=(FREEZE, ISOLATE, REVIEW)),
)
_NO_LIMIT = datetime.max.replace(tzinfo=UTC)  # and a freeze was renewed without a person's look then
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_LOOKS = 43  # a stream of the dice


@dataclass(frozen=True)
class GameMaster:
    """Whoever looks at cases: how often rightly, and how many a day. The numbers are our choice."""

    catches: float = 0.95  # of bots that are looked at
    mistakes: float = 0.02  # of people that are looked at and taken for bots
    a_day: int = 10

    def takes_for_bot(self, player: Player, seed: int, look: int) -> bool:
        """What it says at its n-th look at an account: the same under whichever policy."""
        luck = np.random.default_rng([seed, account_of(player.actor) or 0, look, _LOOKS]).random()
        return bool(luck < (self.catches if player.bot else self.mistakes))


USUAL_MASTER = GameMaster()


@dataclass
class Fate:
    """What became of one account under one policy."""

    player: Player
    reacted: datetime | None = None  # the first step that whoever plays could notice
    stopped: datetime | None = None
    evident: datetime | None = None  # when the first verdict was there from which more than watching may follow
    gold: dict[int, float] = field(default_factory=dict)  # by day, what could be handed on
    held: float = 0.0  # earned and frozen
    lost: float = 0.0  # to limits and to bans
    hours: float = 0.0
    hours_under: dict[str, float] = field(default_factory=dict)  # of play, by step
    challenges: int = 0
    passed: int = 0
    on_call: bool = False  # the call-back pattern was seen
    looks: int = 0  # of a game master
    cleared: datetime | None = None
    mistaken: bool = False  # a person was banned by the mistake of a person

    def noticed(self, at: datetime) -> None:
        """Something was done that can be seen."""
        self.reacted = self.reacted or at

    def live(self, day: int, since: datetime, until: datetime, steps: Iterable[str]) -> None:
        """Play a stretch of a day under these steps."""
        hours = (until - since) / _HOUR
        self.hours += hours
        earned = hours * self._an_hour(day)
        in_force = set(steps)
        for step in in_force:
            self.hours_under[step] = self.hours_under.get(step, 0.0) + hours
        if LIMIT in in_force:
            self.lost += LIMITED * earned
            earned -= LIMITED * earned
        if FREEZE in in_force:
            self.held += earned
        else:
            self.gold[day] = self.gold.get(day, 0.0) + earned + self.held
            self.held = 0.0

    def ban(self, at: datetime) -> None:
        """Stop it; what was frozen never gets out."""
        self.noticed(at)
        self.stopped = at
        self.mistaken = not self.player.bot

    def _an_hour(self, day: int) -> float:
        played = self.player.played.get(day, 0.0)
        return self.player.gold.get(day, 0.0) / played if played else 0.0


@dataclass(frozen=True)
class Replay:
    """One policy on one population."""

    policy: str
    population: Population
    fates: tuple[Fate, ...]
    reviews: int  # cases that a game master looked at
    nights: tuple[int, ...]  # how many decisions of each night would reach the game


def settings(act: float = ACT, agree: int = 2, **changed: object) -> Config:
    """The defaults but for the ladder and the point to act: steps are possible with a few hundred people known.

    One person's look is enough for a ban under every policy: what they are compared by is how many people are shown.
    """
    usual = Config()
    response = replace(usual.response, four_eyes=False, **changed)  # type: ignore[arg-type]  # names of its fields
    verdict = replace(usual.verdict, act=act, agree=agree)
    return replace(usual, verdict=verdict, response=response, ladder=STUDY_LADDER)


def ban_by_list(
    population: Population, policy: str, every: int, master: GameMaster = USUAL_MASTER, *, config: Config | None = None
) -> Replay:
    """Every so many days a list of whom a verdict since the last list gives reason to act on; a person reads it.

    Whom the person takes for a bot is banned with the next wave. What the list holds beyond the person's time waits
    for the next one.
    """
    response = (config or settings()).response
    fates = {one.actor: Fate(one) for one in population.players}
    listed: dict[str, int] = {}
    reviews, nights = 0, []
    for day in range(population.days):
        now = population.day(day + 1)
        for fate in fates.values():
            _live(fate, population, day)
        for row in _to_act(population, day):
            fate = fates[row]
            fate.evident = fate.evident or now
            listed[row] = listed.get(row, 0) + 1
        if (day + 1) % every:
            nights.append(0)
            continue
        waiting = [actor for actor in listed if _open_to_review(fates[actor], now)]
        chosen = sorted(waiting, key=lambda actor: (-listed[actor], actor))[: every * master.a_day]
        banned = [fates[actor] for actor in chosen if _banned_by(master, fates[actor], population, now, response)]
        reviews += len(chosen)
        nights.append(len(banned))
        listed = {actor: listed[actor] for actor in set(waiting) - set(chosen)}
    return Replay(policy, population, tuple(fates.values()), reviews, tuple(nights))


def _to_act(population: Population, day: int) -> Sequence[str]:
    rows = population.by_day.get(day)
    return [] if rows is None else rows.filter(point=TO_ACT)["actor"].to_list()


def _live(fate: Fate, population: Population, day: int) -> None:
    """A day without anything but bans."""
    end = population.day(day + 1)
    until = end if fate.stopped is None else min(end, fate.stopped)
    for begin, finish in fate.player.play(population.day(day), until):
        fate.live(day, begin, finish, ())


def _open_to_review(fate: Fate, now: datetime) -> bool:
    return fate.stopped is None and (fate.cleared is None or now >= fate.cleared)


def _banned_by(master: GameMaster, fate: Fate, population: Population, now: datetime, response: Response) -> bool:
    """One look: banned with the next wave, or cleared for a while."""
    fate.looks += 1
    if not master.takes_for_bot(fate.player, population.seed, fate.looks):
        fate.cleared = now + CLEARED_FOR
        return False
    decision = Decision(
        f"{fate.player.actor} {now}", fate.player.actor, now, BAN, 0, None, (), (), "", MASTER, rehearsal=False
    )
    fate.ban(due_of(decision, response, _SECRET.encode()))
    return True


@dataclass
class _Watched:
    """One account under the ladder: its case, and what became of it."""

    fate: Fate
    ladder: Ladder
    asking: ChallengeSettings
    ratios: Likelihoods
    answers: Answers
    observations: list[Observation] = field(default_factory=list)
    suspicion: Suspicion | None = None
    decisions: list[Decision] = field(default_factory=list)
    last: Challenge | None = None
    last_pass: Challenge | None = None
    protected: Protected | None = None
    tests: list[Challenge] = field(default_factory=list)  # that were passed
    windows: list[Window] = field(default_factory=list)  # of traffic around them

    @property
    def actor(self) -> str:
        return self.fate.player.actor

    @property
    def standing(self) -> Mapping[str, Decision]:
        """The decisions in force, by step."""
        return {one.step: one for one in self.decisions if one.undone_at is None}

    @property
    def case(self) -> Case:
        """All that is known of the account."""
        return Case(self.actor, self.observations, self.suspicion, self.decisions, self.protected, looked_at=_NO_LIMIT)

    def decide(self, now: datetime) -> int:
        """Let the ladder decide; how many steps would reach the game."""
        outcome = climb(self.ladder, self.case, now, rehearsal=False)
        over = {one.id: why for one, why in outcome.lifted}
        by = "ladder"
        self.decisions = [ended(one, now, by, over[one.id]) if one.id in over else one for one in self.decisions]
        self.decisions += outcome.decisions
        self.suspicion = outcome.suspicion
        visible = [one for one in outcome.decisions if one.step in {LIMIT, FREEZE, ISOLATE}]
        if visible:
            self.fate.noticed(now)
        return sum(one.step not in {WATCH, REVIEW} for one in outcome.decisions)

    def live(self, population: Population, day: int) -> None:
        """A day of play with the questions that come in it."""
        end = population.day(day + 1)
        until = end if self.fate.stopped is None else min(end, self.fate.stopped)
        for begin, finish in self.fate.player.play(population.day(day), until):
            at = begin
            while at < finish:
                asked = self._next_question(at)
                stop = finish if asked is None or asked >= finish else max(asked, at)
                self.fate.live(day, at, stop, self.standing)
                at = stop
                if at < finish:
                    self._ask(at)

    def _next_question(self, at: datetime) -> datetime | None:
        """When it is asked next, not before a moment. Whoever waits for a game master is asked no more."""
        standing = self.standing
        if CHALLENGE not in standing or REVIEW in standing or self.suspicion is None:
            return None
        if self.last is None:
            return first_moment(self.asking, self.suspicion, _SECRET)
        history = [one for one in (self.last, self.last_pass) if one is not None]
        later = postponed(self.asking, self.suspicion, at, busy=(), history=history, secret=_SECRET)
        return at if later is None else later.until

    def _ask(self, at: datetime) -> None:
        """Ask, hear the answer, and decide on what it says; a disconnect says nothing."""
        answer = self.answers.answer(self.actor, at, span(self.asking.lasts))
        self.fate.challenges += 1
        self.fate.noticed(at)
        ends = at + answer.after
        score = None if self.suspicion is None else self.suspicion.score
        name = f"{self.actor}-{self.fate.challenges}"
        self.last = Challenge(
            name, self.actor, "", "image", at, ends, "", state=answer.outcome, ended=ends, score=score
        )
        if answer.outcome == PASSED:
            self.fate.passed += 1
            self.last_pass = self.last
            self._look_for_a_call(self.last, answer)
        if answer.outcome == DISCONNECT:
            return
        seen = observation_of(self.last, self.ratios)
        if seen is not None:
            self.observations.append(seen)
            self.decide(ends)

    def _look_for_a_call(self, passed: Challenge, answer: Answer) -> None:
        """Whether traffic around the tests that were passed shows that somebody is called for them."""
        self.tests.append(passed)
        self.windows += self.answers.windows(self.actor, passed.issued, answer)
        rows = [(self.actor, one.since, one.until, one.bot) for one in self.windows]
        seen = on_call(self.asking, pl.DataFrame(rows, schema=dict(WINDOWS.columns), orient="row"), self.tests)
        if seen and self.suspicion is not None:
            self.fate.on_call = True
            self.suspicion = replace(self.suspicion, on_call=True)

    def looked_at(self, master: GameMaster, seed: int, now: datetime) -> bool:
        """A game master looks: a ban with the next wave, or rest for a while; whether it is banned."""
        fate = self.fate
        fate.looks += 1
        if master.takes_for_bot(fate.player, seed, fate.looks):
            says = "looked at: a bot"
            told = decide_by_person(self.ladder, self.case, BAN, by=MASTER, because=says, at=now, rehearsal=False)
            self.decisions.append(told.decision)
            fate.ban(due_of(told.decision, self.ladder.response, _SECRET.encode()))
            return True
        self.protected = Protected(self.actor, now + CLEARED_FOR, MASTER, "looked at: a person", now)
        fate.cleared = self.protected.until
        self.decide(now)
        return False


def graded(
    population: Population, policy: str, master: GameMaster = USUAL_MASTER, *, config: Config | None = None
) -> Replay:
    """The ladder decides every night and after each answer; a game master looks at who it puts up for review."""
    chosen = config or settings()
    ladder, ratios = Ladder.of(chosen), likelihoods(chosen.challenge, (), {})
    watched = {
        one.actor: _Watched(Fate(one), ladder, chosen.challenge, ratios, population.answers)
        for one in population.players
    }
    reviews, nights = 0, []
    for day in range(population.days):
        now = population.day(day + 1)
        active = [one for one in watched.values() if one.fate.stopped is None or one.fate.stopped > population.day(day)]
        for one in active:
            one.live(population, day)
        for actor in _to_act(population, day):
            watched[actor].fate.evident = watched[actor].fate.evident or now
        decided = _nightly(population, day, watched, now)
        cases = [one for one in active if one.fate.stopped is None and REVIEW in one.standing]
        seen = sorted(cases, key=lambda one: (-one.suspicion.score, one.actor))[: master.a_day]  # type: ignore[union-attr]
        banned = sum(one.looked_at(master, population.seed, now) for one in seen)
        reviews += len(seen)
        nights.append(decided + banned)
    return Replay(policy, population, tuple(one.fate for one in watched.values()), reviews, tuple(nights))


def _nightly(population: Population, day: int, watched: Mapping[str, _Watched], now: datetime) -> int:
    """What the night's verdicts add, and what is decided on them; how many steps would reach the game."""
    rows = population.by_day.get(day)
    told = [] if rows is None else observations_of(rows.with_columns(verdict=None), SUPPOSED.bots)
    for one in told:
        watched[one.actor].observations.append(one)
    active = (one for one in watched.values() if one.fate.stopped is None and one.observations)
    return sum(one.decide(now) for one in active)
