"""The ladder: from evidence, what was decided before and now, to what is decided, lifted and not done.

Pure: the same case at the same moment has the same outcome, whoever asks and how often. Nothing that a ladder decides
is a sanction, every decision of it ends by itself, and what a person decided is the person's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from gamewarden.cases import LADDER, VERDICT, Decision, NotTaken, Observation, Protected, Suspicion
from gamewarden.config import Config
from gamewarden.contracts import canonical_json, digest
from gamewarden.core.durations import parse_span
from gamewarden.errors import ResponseError
from gamewarden.policy import (
    FAMILIES,
    FEWEST_FAMILIES,
    INTERNAL,
    REVIEW,
    SANCTIONS,
    WATCH,
    WITHOUT_A_LOOK,
    Response,
    Rung,
)
from gamewarden.response.evidence import Span, as_judged_before
from gamewarden.response.grounds import Needs, Reach, day
from gamewarden.response.suspicion import Scale, counting, suspicion_of

_ONLY_JUDGED_AGAIN = "only past days that were judged again lead to it"

# What of [response] only says how decisions are carried out: a policy is the same policy without it.
_CARRYING_OUT = (
    "armed",
    "canary",
    "actions_per_hour",
    "overturned_most",
    "overturned_of",
    "wave",
    "jitter",
)


@dataclass(frozen=True)
class Ladder:
    """A policy of responses: the rungs, how suspicion is counted, and what evidence must have.

    Raises:
        ResponseError: a rung names a sanction, which only a person decides.
    """

    rungs: tuple[Rung, ...]
    response: Response
    act: float  # the false-positive rate from which more than watching may follow
    agree: int  # families of evidence
    covered: float  # the least share of a period

    def __post_init__(self) -> None:
        for rung in self.rungs:
            for step in rung.steps:
                if step in SANCTIONS:
                    raise ResponseError(f"ladder: rung {rung.name!r} names {step!r}; only a person decides that")

    @classmethod
    def of(cls, config: Config) -> "Ladder":
        """The ladder that the settings describe."""
        verdict = config.verdict
        return cls(config.ladder, config.response, verdict.act, verdict.agree, config.coverage.least)

    @cached_property
    def digest(self) -> str:
        """What names the policy: all that decides."""
        numbers = {name: value for name, value in asdict(self.response).items() if name not in _CARRYING_OUT}
        rungs = [asdict(rung) for rung in self.rungs]
        return digest(canonical_json([rungs, numbers, self.act, self.agree, self.covered]))

    @cached_property
    def scale(self) -> Scale:
        """How suspicion is counted."""
        return Scale.of(self.response, self.rungs)

    @cached_property
    def evidence_for(self) -> timedelta:
        """How old evidence may be that carries a step."""
        return timedelta(microseconds=parse_span(self.response.evidence_for))

    @cached_property
    def needs(self) -> tuple[Needs | None, ...]:
        """What evidence each rung needs; None where it needs none: watching, and review by rank."""
        return tuple(self._needs(rung) for rung in self.rungs)

    @cached_property
    def lasting(self) -> tuple[timedelta, ...]:
        """How long a step of each rung holds."""
        return tuple(timedelta(microseconds=parse_span(rung.lasts)) for rung in self.rungs)

    @cached_property
    def first_rung(self) -> Mapping[str, int]:
        """From which rung on each step stands; the first rung is 1."""
        found: dict[str, int] = {}
        for number, rung in enumerate(self.rungs, 1):
            for step in rung.steps:
                found.setdefault(step, number)
        return found

    @cached_property
    def review_by_rank(self) -> int | None:
        """The rung whose cases of review need no evidence, only a place among the first of a day; None without one."""
        rung = self.first_rung.get(REVIEW)
        return rung if rung is not None and self.needs[rung - 1] is None else None

    def detectors_for(self, rung: int) -> tuple[str, ...]:
        """Which detectors are switched on for somebody on a rung, beside those that judge everybody."""
        return tuple(dict.fromkeys(name for one in self.rungs[: max(rung, 0)] for name in one.detectors))

    def name(self, rung: int) -> str:
        """What a rung is called."""
        return "normal" if rung < 1 else self.rungs[rung - 1].name

    def _needs(self, rung: Rung) -> Needs | None:
        if not rung.needs_evidence:
            return None
        fpr = self.act if rung.fpr is None else rung.fpr
        agree = max(self.agree, FAMILIES) if rung.agree is None else rung.agree
        fewest = (FEWEST_FAMILIES.get(step, 0) for step in rung.steps)
        return Needs(fpr, max(agree, *fewest, 0), self.covered)


@dataclass(frozen=True)
class Case:
    """All that is known of one actor.

    `standing` are the decisions in force. Those that ended may be among them, and should be for as long as evidence
    carries: what expired or was undone by a person is not decided again on the evidence that there was then.
    A past day of `judged_again` leads to no step that a player can feel which its earlier verdicts did not lead to.
    `looked_at` is when a person last voted on the account, decided about it or decided its appeal.
    """

    actor: str
    observations: Sequence[Observation]
    suspicion: Suspicion | None
    standing: Sequence[Decision]
    protected: Protected | None = None
    judged_again: Sequence[Span] = ()  # begin and end of past days
    looked_at: datetime | None = None
    among_first: bool = False  # it has a place among the first cases of the day


@dataclass(frozen=True)
class Outcome:
    """What follows from a case at a moment."""

    suspicion: Suspicion
    decisions: tuple[Decision, ...]
    lifted: tuple[tuple[Decision, str], ...]  # and why
    not_taken: tuple[NotTaken, ...]


def climb(ladder: Ladder, case: Case, now: datetime, *, rehearsal: bool) -> Outcome:
    """What the ladder decides about an actor now."""
    known = counting(case.observations)
    at = _moment(ladder, case, now, known, rehearsal=rehearsal)
    kept, lifted = at.standing()
    standing = {one.step for one in kept}
    decided, not_taken = at.taken(standing)
    before = as_judged_before(known, case.observations, case.judged_again)
    if before != known:
        carried, _ = _moment(ladder, case, now, before, rehearsal=rehearsal).taken(standing)
        allowed = {*INTERNAL, *(one.step for one in carried)}
        missed = [one.step for one in decided if one.step not in allowed]
        not_taken += [NotTaken(case.actor, now, step, _ONLY_JUDGED_AGAIN, ladder.digest) for step in missed]
        decided = [one for one in decided if one.step in allowed]
    again = {one.step for one in decided}
    told = tuple((one, at.said_of_expired(one, again) if at.expired(one) else why) for one, why in lifted)
    return Outcome(at.suspicion, tuple(decided), told, tuple(not_taken))


def _moment(
    ladder: Ladder, case: Case, now: datetime, observations: Sequence[Observation], *, rehearsal: bool
) -> "_Moment":
    on_call = case.suspicion is not None and case.suspicion.on_call
    suspicion = suspicion_of(ladder.scale, case.actor, observations, at=now, on_call=on_call)
    return _Moment(ladder, case, now, rehearsal, suspicion, Reach.of(observations, now, ladder.evidence_for))


def decision_id(actor: str, step: str, at: datetime, ladder: str, *, evidence: Sequence[str], by: str) -> str:
    """What names a decision: to decide twice is to decide once."""
    return digest(actor, step, at.isoformat(), ladder, by, canonical_json(list(evidence)))


def ended(decision: Decision, at: datetime, by: str, because: str) -> Decision:
    """A decision that was taken back."""
    return replace(decision, undone_at=at, undone_by=by, undone_because=because)


def switched_on(ladder: Ladder, suspicions: Iterable[Suspicion]) -> dict[str, set[str]]:
    """For whom each detector of the ladder is switched on."""
    found: dict[str, set[str]] = {name: set() for name in ladder.detectors_for(len(ladder.rungs))}
    for one in suspicions:
        for name in ladder.detectors_for(one.rung):
            found[name].add(one.actor)
    return found


@dataclass(frozen=True)
class _Moment:
    """One case at one moment, with what it adds up to."""

    ladder: Ladder
    case: Case
    now: datetime
    rehearsal: bool
    suspicion: Suspicion
    reach: Reach

    # What stands.

    def standing(self) -> tuple[list[Decision], list[tuple[Decision, str]]]:
        """The decisions that stay in force, and those that do not, with why."""
        kept, lifted = [], []
        for one in self.case.standing:
            if one.undone_at is not None or one.waits_for is not None or self._only_rehearsed(one):
                continue
            why = self._why_lifted(one)
            if why is None:
                kept.append(one)
            else:
                lifted.append((one, why))
        return kept, lifted

    def _only_rehearsed(self, one: Decision) -> bool:
        """Whether a person rehearsed a step that is in nobody's way now that decisions are carried out."""
        return one.by != LADDER and one.rehearsal and not self.rehearsal and not self.expired(one)

    def expired(self, one: Decision) -> bool:
        """Whether a decision ended by itself, now or before."""
        return one.until is not None and one.until <= (one.undone_at or self.now)

    def said_of_expired(self, one: Decision, again: set[str]) -> str:
        """Why an expired decision was lifted, and what follows."""
        if one.by != LADDER:
            return f"it held until {day(one.until or self.now)}, as {one.by} decided"
        follows = "decided again on newer evidence" if one.step in again else "no newer evidence carries it"
        return f"expired, {follows}"

    def _why_lifted(self, one: Decision) -> str | None:
        """Why a decision no longer stands, None where it does; a person's stands for as long as the person said."""
        if self.expired(one):
            return "expired"
        if one.by != LADDER:
            return None
        if one.rehearsal and not self.rehearsal:
            return "it was a rehearsal, and decisions are carried out now"
        if self._is_by_rank(one.step) and self.case.looked_at is not None and self.case.looked_at > one.at:
            return "a person has looked at the account since"
        return self._why_not_wanted(one.step) or self._why_without_evidence(one)

    def _is_by_rank(self, step: str) -> bool:
        """Whether a step is a case of review that needs no evidence, only a place among the first."""
        return step == REVIEW and self.ladder.review_by_rank is not None

    def _why_not_wanted(self, step: str) -> str | None:
        first = self.ladder.first_rung.get(step)
        if first is None:
            return f"the ladder has no step {step} any more"
        if first > self.suspicion.rung:
            leave = self.ladder.scale.leaves[first - 1]
            return f"suspicion {self.suspicion.score:.2f} is below {leave:g}, where {self.ladder.name(first)} is left"
        return self._forbidden() if step != WATCH else None

    def _why_without_evidence(self, one: Decision) -> str | None:
        """What a decision rested on may have been excluded; then it stands only if the rest carries it."""
        excluded = {seen.id: seen.excluded for seen in self.case.observations if seen.excluded is not None}
        gone = [excluded[name] for name in one.evidence if name in excluded]
        if not gone or one.step == WATCH or self._lacking(self.ladder.first_rung[one.step]) is None:
            return None
        return f"{len(gone)} of the {len(one.evidence)} observations it rested on no longer count ({gone[0]})"

    # What is taken.

    def taken(self, standing: set[str]) -> tuple[list[Decision], list[NotTaken]]:
        """The steps that are decided now, and those that suspicion asks for and that are not taken."""
        decided, not_taken = [], []
        for step, rung in self.ladder.first_rung.items():
            if rung > self.suspicion.rung or step in standing:
                continue
            if self._is_by_rank(step) and not self._has_place:
                continue
            why = self._why_not_taken(step, rung)
            if why is None:
                decided.append(self._decision(step, rung))
            else:
                not_taken.append(NotTaken(self.case.actor, self.now, step, why, self.ladder.digest))
        return decided, not_taken

    @property
    def _has_place(self) -> bool:
        """Whether a case of review is opened by rank: it is among the first, or was open in a rehearsal."""
        rehearsed = (one for one in self.case.standing if one.step == REVIEW and one.by == LADDER and one.rehearsal)
        return self.case.among_first or (not self.rehearsal and any(one.undone_at is None for one in rehearsed))

    def _why_not_taken(self, step: str, rung: int) -> str | None:
        after = self._decided_up_to(step)
        forbidden = None if step == WATCH else self._forbidden()
        if forbidden is not None:
            return forbidden
        if step != WATCH and self.ladder.needs[rung - 1] is not None:
            return self._lacking(rung) or self._lacking_after(rung, after) or self._too_long(step)
        if after is None or any(one.at > after for one in self.reach.supporting):
            return None
        return f"nothing after {day(after)} says bot, and what came before was decided on already"

    def _forbidden(self) -> str | None:
        shield = self.case.protected
        if shield is None or shield.until <= self.now:
            return None
        return f"the account is protected until {day(shield.until)} by {shield.by}: {shield.because}"

    @cached_property
    def _carriers(self) -> dict[Needs, Observation | None]:
        """The newest verdict that carries what each of the rungs needs up to that of suspicion."""
        asked = self.ladder.needs[: self.suspicion.rung]
        return {needs: self.reach.carrier(needs) for needs in set(asked) if needs is not None}

    @cached_property
    def _lacks(self) -> tuple[str | None, ...]:
        """Why evidence does not carry each of these rungs, or one below it."""
        found: list[str | None] = []
        lack: str | None = None
        for needs in self.ladder.needs[: self.suspicion.rung]:
            if lack is None and needs is not None and self._carriers[needs] is None:
                lack = self.reach.lacking(needs)
            found.append(lack)
        return tuple(found)

    def _lacking(self, rung: int) -> str | None:
        """Why evidence does not carry a rung or one below it."""
        return self._lacks[rung - 1]

    def _lacking_after(self, rung: int, after: datetime | None) -> str | None:
        needs = self.ladder.needs[rung - 1]
        if after is None or needs is None or self.reach.carrier(needs, after) is not None:
            return None
        return self.reach.lacking(needs, after)

    def _too_long(self, step: str) -> str | None:
        """Why a step may not hold any longer before a person has looked at the account."""
        if self._time_left(step) > timedelta(0):
            return None
        days = WITHOUT_A_LOOK[step].days
        return f"{step} held for {days} days without a person's look; a person has to look at the account first"

    def _time_left(self, step: str) -> timedelta:
        """How long a step may hold from now on before a person has looked at the account."""
        if step not in WITHOUT_A_LOOK:
            return timedelta.max
        earlier = (one for one in self.case.standing if one.step == step and one.by == LADDER)
        felt = (one for one in earlier if self.rehearsal or not one.rehearsal)
        return WITHOUT_A_LOOK[step] - sum(map(self._held_since_a_look, felt), timedelta(0))

    def _held_since_a_look(self, one: Decision) -> timedelta:
        end = min(moment for moment in (self.now, one.until, one.undone_at) if moment is not None)
        start = one.at if self.case.looked_at is None else max(one.at, self.case.looked_at)
        return max(end - start, timedelta(0))

    def _decided_up_to(self, step: str) -> datetime | None:
        """Up to when evidence has been decided on: by decisions that expired, or that a person took back."""
        return max(
            (moment for one in self.case.standing if one.step == step for moment in self._settled(one)), default=None
        )

    def _settled(self, one: Decision) -> Iterator[datetime]:
        if one.undone_at is not None and one.undone_by != LADDER and not one.waits_for:
            yield one.undone_at
        elif self.expired(one):
            yield self._newest_of(one.evidence) or one.at

    def _newest_of(self, evidence: Sequence[str]) -> datetime | None:
        """When the newest verdict was over that a decision rested on, or the newest of what there was beside."""
        names = set(evidence)
        seen = [one for one in self.case.observations if one.id in names]
        verdicts = [one.at for one in seen if one.kind == VERDICT]
        return max(verdicts or [one.at for one in seen], default=None)

    @cached_property
    def _evidence(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.reach.supporting)

    def _decision(self, step: str, rung: int) -> Decision:
        evidence = self._evidence
        actor, policy = self.case.actor, self.ladder.digest
        return Decision(
            id=decision_id(actor, step, self.now, policy, evidence=evidence, by=LADDER),
            actor=actor,
            at=self.now,
            step=step,
            rung=rung,
            until=self.now + min(self.ladder.lasting[rung - 1], self._time_left(step)),
            because=tuple(self._because(step, rung)),
            evidence=evidence,
            ladder=policy,
            by=LADDER,
            rehearsal=self.rehearsal,
        )

    def _because(self, step: str, rung: int) -> Iterator[str]:
        score, enter = self.suspicion.score, self.ladder.scale.enters[rung - 1]
        yield f"suspicion {score:.2f} of {enter:g} needed for {self.ladder.name(rung)} (rung {rung})"
        if self._is_by_rank(step):
            yield f"among the first {self.ladder.response.cases_per_day} accounts of the day that nobody has reviewed"
        needs = self.ladder.needs[rung - 1]
        carrier = None if needs is None else self._carriers[needs]
        if needs is not None and carrier is not None:
            yield _said_of(carrier, needs)
        if self.reach.failed:
            yield f"challenges not passed in the last {self.reach.span}: {self.reach.failed}"
        count = self.suspicion.observations
        counted = "1 observation counts, that" if count == 1 else f"{count} observations count, the newest"
        yield f"{counted} of {day(self.suspicion.as_of)}"


def _said_of(verdict: Observation, needs: Needs) -> str:
    """What makes a verdict one that carries a rung."""
    covered = "" if verdict.covered is None else f"; {verdict.covered:.0%} of the period covered"
    families = "1 family of features says" if verdict.agree == 1 else f"{verdict.agree} families of features say"
    return (
        f"verdict of {day(verdict.since or verdict.at)}: false-positive rate {verdict.fpr:.2g} of at most "
        f"{needs.fpr:g}; {families} bot, {needs.agree} needed{covered}"
    )
