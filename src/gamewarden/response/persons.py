"""What a person decides: any step, with a reason; a long ban or suspension only where a second person approves it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gamewarden.cases import LADDER, Decision
from gamewarden.core.durations import parse_span
from gamewarden.errors import ResponseError, short
from gamewarden.policy import BAN, STEPS, SUSPEND, Response
from gamewarden.response.grounds import Reach, day
from gamewarden.response.ladder import Case, Ladder, decision_id
from gamewarden.response.suspicion import counting, suspicion_of

APPROVAL = "approval"  # what a long ban or suspension waits for


@dataclass(frozen=True)
class Decided:
    """A person's decision, and what speaks against it: the person may decide so, and is told."""

    decision: Decision
    warnings: tuple[str, ...]


def decide_by_person(
    ladder: Ladder,
    case: Case,
    step: str,
    *,
    by: str,
    because: str,
    at: datetime,
    until: datetime | None = None,
    rehearsal: bool,
) -> Decided:
    """What a person decides about an actor; without `until` it holds until it is taken back.

    Raises:
        ResponseError: nobody signs it, no reason is given, the step is unknown, or it would be over already.
    """
    _refuse(step, by, because, at, until)
    known = counting(case.observations)
    on_call = case.suspicion is not None and case.suspicion.on_call
    suspicion = suspicion_of(ladder.scale, case.actor, known, at=at, on_call=on_call)
    reach = Reach.of(known, at, ladder.evidence_for)
    evidence = tuple(one.id for one in reach.supporting)
    earlier = sum(one.step == step and one.undone_at is not None for one in case.standing)
    apart = (because, str(until), *([str(earlier)] if earlier else ()))  # what was taken back may be decided again
    waits = APPROVAL if needs_second_person(ladder.response, step, at, until) else None
    decision = Decision(
        id=decision_id(case.actor, step, at, ladder.digest, evidence=(*evidence, *apart), by=by.strip()),
        actor=case.actor,
        at=at,
        step=step,
        rung=suspicion.rung,
        until=until,
        because=(because.strip(), f"suspicion was {suspicion.score:.2f} ({ladder.name(suspicion.rung)})"),
        evidence=evidence,
        ladder=ladder.digest,
        by=by.strip(),
        rehearsal=rehearsal,
        waits_for=waits,
    )
    return Decided(decision, tuple(_warnings(ladder, case, step, reach, at)))


def needs_second_person(settings: Response, step: str, at: datetime, until: datetime | None) -> bool:
    """Whether a step counts only once a second person approves it: a ban or suspension without an end, or a long one.

    In a game a suspension is a ban with an end, so one for ten years is no less than a ban.
    """
    if step not in {SUSPEND, BAN} or not settings.four_eyes:
        return False
    return until is None or until - at > timedelta(microseconds=parse_span(settings.long_ban))


def waits_for_approval(settings: Response, decision: Decision) -> bool:
    """Whether a second person has to approve: the decision says so, or it was made before these settings held."""
    needed = needs_second_person(settings, decision.step, decision.at, decision.until)
    return decision.waits_for == APPROVAL or (needed and decision.approved_by in {None, LADDER, decision.by})


def approve(settings: Response, decision: Decision, by: str, at: datetime) -> Decision:
    """A decision that a second person approves of: from now on it counts.

    Raises:
        ResponseError: it waits for nothing, was taken back, or whoever decided it would approve it.
    """
    _refuse_nobody(by)
    if not waits_for_approval(settings, decision):
        raise ResponseError(f"decision {decision.id}: does not wait for approval; there is nothing to approve")
    if decision.undone_at is not None:
        raise ResponseError(f"decision {decision.id}: was taken back on {day(decision.undone_at)}; decide anew")
    if decision.until is not None and decision.until <= at:
        raise ResponseError(f"decision {decision.id}: its time was over on {day(decision.until)}; decide anew")
    if _same(by, decision.by):
        raise ResponseError(
            f"decision {decision.id}: {short(by)} decided it; four eyes are two people, somebody else must approve"
        )
    if at < decision.at:
        raise ResponseError(f"decision {decision.id}: {at.isoformat()} is before it was decided; look at the clock")
    return replace(decision, approved_by=by.strip(), waits_for=None)


def _refuse(step: str, by: str, because: str, at: datetime, until: datetime | None) -> None:
    _refuse_nobody(by)
    if step not in STEPS:
        raise ResponseError(f"decide: {short(step)} is no step; known are {', '.join(STEPS)}")
    if not because.strip():
        raise ResponseError("decide: no reason is given; say because of what, the player may ask")
    if until is not None and until <= at:
        raise ResponseError(f"decide: {until.isoformat()} is over already; give a time to come")


def _refuse_nobody(by: str) -> None:
    if not by.strip() or _same(by, LADDER):
        raise ResponseError(f"decide: {short(by)} is nobody; say which person decides")


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _warnings(ladder: Ladder, case: Case, step: str, reach: Reach, at: datetime) -> list[str]:
    """What speaks against a step: the account is protected, or the evidence would not carry it by itself."""
    told = []
    if case.protected is not None and case.protected.until > at:
        shield = case.protected
        told.append(f"the account is protected until {day(shield.until)} by {shield.by}: {shield.because}")
    rung = ladder.first_rung.get(step, len(ladder.rungs))
    for needs in ladder.needs[:rung]:
        if needs is not None and reach.carrier(needs) is None:
            told.append(f"the evidence does not carry {step}: {reach.lacking(needs)}")
            break
    return told
