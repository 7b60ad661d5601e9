"""How players and bots answer when they are asked to show that somebody is there.

People mostly pass; some are away, some do not understand. Bots have no help, a program that reads images, the habit of
leaving, or a person who is called. All shares here are our choice, set after no recording (docs/world.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from gamewarden.cases import DISCONNECT, LOST, PASSED, TIMEOUT
from gamewarden.core.durations import to_micros
from gamewarden.errors import ConfigError
from gamewarden.lab.world.dice import fixed_bell, key, unit
from gamewarden.lab.world.personas import PERSONAS, Around
from gamewarden.lab.world.tabling import account_of

# Who answers for an account.
PERSON, ALONE, SOLVER, LEAVES, ON_CALL = "person", "alone", "solver", "leaves", "on call"
HELPERS = (ALONE, SOLVER, LEAVES, ON_CALL)
BEFORE, DURING, AFTER = "before", "during", "after"
# Of one window of traffic (Hilaire et al. 2025, Table II): how often a bot's and a person's is called a bot's.
CALLED_BOT: Mapping[bool, float] = {True: 0.787, False: 0.066}
WINDOW = timedelta(seconds=25)  # about as long as a hundred packets of a client take
AROUND = 4  # windows before and after a test that are looked at
_BLOCK = 30 * 60 * 1_000_000  # µs: whoever is away or asleep is so for the whole of it
# Purposes of the dice; other files use small numbers.
_HELPER, _AWAY, _OUTCOME, _DELAY, _WINDOWS = 70_001, 70_002, 70_003, 70_004, 70_005
_READING = Around(18, 1.6)


@dataclass(frozen=True)
class Manner:
    """How somebody answers who is there, how long it takes, and how often nobody is there at all."""

    passed: float
    failed: float
    disconnect: float
    away: float = 0.0  # share of half hours in which nobody looks at the screen
    seconds: Around = _READING

    def outcome(self, luck: float) -> str:
        """What a share in [0, 1) makes of it; what is left over is no answer."""
        for outcome, share in ((PASSED, self.passed), (LOST, self.failed), (DISCONNECT, self.disconnect)):
            if luck < share:
                return outcome
            luck -= share
        return TIMEOUT


PEOPLE: Mapping[str, Manner] = {
    "casual": Manner(0.965, 0.015, 0.01, away=0.02),
    "sharer": Manner(0.965, 0.015, 0.01, away=0.02),
    "hard-core": Manner(0.97, 0.01, 0.01, away=0.15),  # eats and sleeps beside the running game
    "grinder": Manner(0.96, 0.015, 0.015, away=0.06),
    "trader": Manner(0.97, 0.01, 0.01, away=0.05),
    "newbie": Manner(0.89, 0.07, 0.02, away=0.03, seconds=Around(40, 1.6)),
    "sitter": Manner(0.95, 0.01, 0.02, away=0.5),
    "guild-bank": Manner(0.96, 0.01, 0.01, away=0.25),
    "veteran": Manner(0.97, 0.01, 0.01, away=0.03),
    "crafter": Manner(0.96, 0.015, 0.01, away=0.08),
    "fisher": Manner(0.96, 0.015, 0.01, away=0.1),
    "rounder": Manner(0.96, 0.015, 0.015, away=0.06),
}
PROGRAMS: Mapping[str, Manner] = {
    ALONE: Manner(0.01, 0.14, 0.05),
    SOLVER: Manner(0.6, 0.35, 0.01, seconds=Around(6, 1.3)),
    LEAVES: Manner(0.0, 0.0, 0.98, seconds=Around(4, 1.2)),
    # Called to the screen: asleep for a third of the day, at times too late.
    ON_CALL: Manner(0.95, 0.02, 0.01, away=0.33, seconds=Around(60, 2.2)),
}
# Shares of the kinds of help, in the order of HELPERS: whoever plays beside a bot is near it.
_USUAL = (0.5, 0.2, 0.1, 0.2)
_NEAR = (0.25, 0.1, 0.05, 0.6)
_NEAR_IT = ("semi-autonomous", "occasional", "cheat")


class Answer(NamedTuple):
    """What became of a challenge, and how long after it was asked."""

    outcome: str
    after: timedelta


class Window(NamedTuple):
    """One window of traffic around a test: where it lies, and whether it is called a bot's."""

    since: datetime
    until: datetime
    part: str
    bot: bool


@dataclass(frozen=True)
class Answers:
    """How the accounts of a world answer; the same account, moment and seed always gives the same answer.

    Raises:
        ConfigError: somebody plays a persona that nobody knows.
    """

    truth: Mapping[str, str]  # actor -> persona
    seed: int

    def __post_init__(self) -> None:
        known = {persona.name for persona in PERSONAS}
        for actor, name in self.truth.items():
            if name not in known or account_of(actor) is None:
                raise ConfigError(f"world: there is no persona {name!r} or no account {actor!r} who could answer")

    def helper(self, actor: str) -> str:
        """Who answers for an account: the person who plays, or what a bot has for that."""
        if self.truth[actor] in _PEOPLE:
            return PERSON
        shares = _NEAR if self.truth[actor] in _NEAR_IT else _USUAL
        place = np.searchsorted(np.cumsum(shares)[:-1], unit(self._drawn(actor, _HELPER, 0)), side="right")
        return HELPERS[int(place)]

    def answer(self, actor: str, at: datetime, lasts: timedelta) -> Answer:
        """What an account does about a challenge issued at a moment."""
        manner = self._manner(actor)
        moment = to_micros(at)
        if unit(self._drawn(actor, _AWAY, moment // _BLOCK)) < manner.away:
            return Answer(TIMEOUT, lasts)
        outcome = manner.outcome(unit(self._drawn(actor, _OUTCOME, moment)))
        taken = _around(manner.seconds, self._drawn(actor, _DELAY, moment))
        if outcome == TIMEOUT or taken >= lasts:
            return Answer(DISCONNECT if outcome == DISCONNECT else TIMEOUT, lasts)
        return Answer(outcome, taken)

    def windows(self, actor: str, at: datetime, answer: Answer) -> list[Window]:
        """Traffic before, during and after a test; a person who was called is there from its beginning to its end."""
        bot = self.truth[actor] not in _PEOPLE
        called = self.helper(actor) == ON_CALL and answer.outcome in {PASSED, LOST}
        ended = at + answer.after
        return [
            *self._seen(actor, BEFORE, at - AROUND * WINDOW, AROUND, like=bot),
            *self._seen(actor, DURING, at, answer.after // WINDOW, like=bot and not called),
            *self._seen(actor, AFTER, ended, AROUND, like=bot),
        ]

    def _seen(self, actor: str, part: str, first: datetime, count: int, *, like: bool) -> Iterator[Window]:
        """So many windows from a moment on, of traffic like a bot's or like a person's."""
        for since in (first + place * WINDOW for place in range(count)):
            says = unit(self._drawn(actor, _WINDOWS, to_micros(since))) < CALLED_BOT[like]
            yield Window(since, since + WINDOW, part, bool(says))

    def _manner(self, actor: str) -> Manner:
        helper = self.helper(actor)
        return PEOPLE[self.truth[actor]] if helper == PERSON else PROGRAMS[helper]

    def _drawn(self, actor: str, purpose: int, number: int) -> np.uint64:
        """A number that is the account's own, for a purpose and a moment."""
        own = np.uint64(key(np.uint64(self.seed), account_of(actor), purpose))
        return np.uint64(key(own, number, purpose))


def _around(value: Around, fixed: np.uint64) -> timedelta:
    return timedelta(seconds=float(value.center * np.exp(np.log(value.factor) * fixed_bell(fixed))))


_PEOPLE = frozenset(persona.name for persona in PERSONAS if not persona.bot)
