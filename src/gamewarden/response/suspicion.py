"""How suspicious an actor is: evidence added up as log-odds that decay towards the prior with play (spec §1.10).

Suspicion is what all observations say, in the order of their times; it is the same whatever order and batches they
came in, and an observation that is excluded leaves no trace.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp

from gamewarden.cases import CHALLENGE, PERSON, VERDICT, Observation, Suspicion
from gamewarden.core.durations import HOUR, parse_span
from gamewarden.policy import REVIEW, Response, Rung
from gamewarden.response.evidence import log_odds

_HOUR = timedelta(hours=1)
_DAY = 24.0  # hours
_INDEPENDENT = (CHALLENGE, PERSON)  # each of them was asked for by itself


@dataclass(frozen=True)
class Scale:
    """The numbers that suspicion is counted with, and where rungs begin and end on it."""

    prior: float  # log-odds: S0
    tau: float  # hours of play
    played_a_day: float  # hours
    least: float
    most: float
    discount: float
    enters: tuple[float, ...] = ()
    leaves: tuple[float, ...] = ()
    on_call_least: float | None = None  # passed tests lower nobody below this who has a human on call

    @classmethod
    def of(cls, response: Response, rungs: Sequence[Rung]) -> "Scale":
        """As the settings say."""
        tau, played = (parse_span(text) / HOUR for text in (response.tau, response.played_a_day))
        prior = min(max(log_odds(response.prior), response.least), response.most)
        leaves = tuple(rung.enter - response.hysteresis if rung.leave is None else rung.leave for rung in rungs)
        enters = tuple(rung.enter for rung in rungs)
        on_call = next((rung.enter for rung in rungs if set(rung.steps) != {REVIEW} or rung.needs_evidence), None)
        return cls(prior, tau, played, response.least, response.most, response.discount, enters, leaves, on_call)

    def rung(self, score: float, current: int) -> int:
        """On which rung somebody is with this score who was on `current`: entered at once, left with hysteresis."""
        highest = bisect_right(self.enters, score)
        if highest >= current:
            return highest
        while current > highest and score < self.leaves[current - 1]:
            current -= 1
        return current


@dataclass(frozen=True)
class Moment:
    """The suspicion right after an observation."""

    observation: Observation
    score: float
    rung: int


def suspicion_of(
    scale: Scale, actor: str, observations: Iterable[Observation], *, at: datetime, on_call: bool = False
) -> Suspicion:
    """What the observations of an actor add up to; `at` is when, where none counts."""
    score, rung, as_of, entered, count = scale.prior, 0, at, at, 0
    for moment in path(scale, observations, on_call=on_call):
        as_of = moment.observation.at
        if moment.rung != rung or not count:
            entered = as_of
        score, rung, count = moment.score, moment.rung, count + 1
    return Suspicion(actor, score, rung, as_of, entered, count, on_call)


def path(scale: Scale, observations: Iterable[Observation], *, on_call: bool = False) -> Iterator[Moment]:
    """How suspicion went, observation by observation."""
    score, rung, before, judged = scale.prior, 0, None, False
    for one in counting(observations):
        if before is not None:
            score = scale.prior + (score - scale.prior) * exp(-_played(scale, one, before) / scale.tau)
        after = score + _weight(scale, one, judged=judged) * one.llr
        if on_call and one.kind == CHALLENGE and one.llr < 0 and scale.on_call_least is not None:
            after = max(after, min(score, scale.on_call_least))  # somebody was called to pass it
        score = min(max(after, scale.least), scale.most)
        rung, before, judged = scale.rung(score, rung), one.at, judged or one.kind == VERDICT
        yield Moment(one, score, rung)


def counting(observations: Iterable[Observation]) -> list[Observation]:
    """The observations that count, each once, in the order of their times."""
    known = {one.id: one for one in observations if one.excluded is None}
    return sorted(known.values(), key=lambda one: (one.at, one.id))


def _played(scale: Scale, one: Observation, before: datetime) -> float:
    """Hours of play since the observation before."""
    passed = (one.at - before) / _HOUR
    return passed * scale.played_a_day / _DAY if one.played is None else min(max(one.played, 0.0), passed)


def _weight(scale: Scale, one: Observation, *, judged: bool) -> float:
    """How much an observation counts: what was seen of one player on several days is not independent."""
    if one.kind in _INDEPENDENT or (one.kind == VERDICT and not judged):
        return 1.0
    return scale.discount
