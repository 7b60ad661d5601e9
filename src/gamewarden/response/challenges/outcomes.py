"""Outcomes as evidence: by how much a challenge that was passed, failed or left without an answer speaks for a bot."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gamewarden.cases import CHALLENGE, DISCONNECT, LOST, OPEN, PASSED, TIMEOUT, Challenge, Observation
from gamewarden.core.text import counted
from gamewarden.policy import ChallengeSettings

TELLING = (PASSED, LOST, TIMEOUT)  # a disconnect says nothing
_OF_ONE = 3  # outcomes of one account that count, the newest: further ones are no news about bots or humans
_SMOOTHING = 1.0  # each outcome counts as seen once more than it was, so that none is impossible


@dataclass(frozen=True)
class Likelihoods:
    """The log likelihood ratio (bot to human) of each outcome, and where it comes from."""

    passed: float
    failed: float
    timeout: float
    learned: str = ""  # from what; empty where it stands in the settings

    def of(self, outcome: str) -> float:
        """That of an outcome."""
        return {PASSED: self.passed, LOST: self.failed, TIMEOUT: self.timeout, DISCONNECT: 0.0}[outcome]


def likelihoods(settings: ChallengeSettings, outcomes: Iterable[Challenge], labels: Mapping[str, bool]) -> Likelihoods:
    """From the outcomes of those who are known (actor -> is a bot), once there are enough; else from the settings.

    A pass never adds suspicion and a failure never takes some away, whatever few outcomes say.
    """
    seen = {bot: Counter[str]() for bot in (True, False)}
    for one in _newest(outcomes):
        if one.actor in labels:
            seen[labels[one.actor]][one.state] += 1
    bots, humans = seen[True], seen[False]
    if min(bots.total(), humans.total()) < settings.learned_from:
        return Likelihoods(settings.passed, settings.failed, settings.timeout)
    ratio = {outcome: _rate(bots, outcome) - _rate(humans, outcome) for outcome in TELLING}
    told = f"{counted(bots.total(), 'outcome')} of known bots and {humans.total():,} of known humans"
    return Likelihoods(min(ratio[PASSED], 0.0), max(ratio[LOST], 0.0), max(ratio[TIMEOUT], 0.0), told)


def observation_of(challenge: Challenge, ratios: Likelihoods) -> Observation | None:
    """What a challenge says about its actor once it is over; the same challenge always has the same observation."""
    if challenge.state == OPEN or challenge.ended is None:
        return None
    return Observation(
        id=f"{CHALLENGE} {challenge.id}",
        actor=challenge.actor,
        at=challenge.ended,
        kind=CHALLENGE,
        ref=challenge.id,
        llr=ratios.of(challenge.state),
        since=challenge.issued,
        until=challenge.ended,
    )


def _rate(seen: Counter[str], outcome: str) -> float:
    return math.log((seen[outcome] + _SMOOTHING) / (seen.total() + _SMOOTHING * len(TELLING)))


def _newest(outcomes: Iterable[Challenge]) -> Sequence[Challenge]:
    """The newest telling outcomes of each account, so many that none counts for a crowd."""
    told = [one for one in outcomes if one.state in TELLING and one.ended is not None]
    told.sort(key=lambda one: (one.ended, one.id), reverse=True)
    taken = Counter[str]()
    kept = []
    for one in told:
        taken[one.actor] += 1
        if taken[one.actor] <= _OF_ONE:
            kept.append(one)
    return kept
