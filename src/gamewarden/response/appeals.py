"""Appeals: who may object and decide, and what has to change where an account was accused wrongly.

Nothing here has an effect: records come in and records go out, and whoever keeps them writes all of it or nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from gamewarden.cases import LADDER, OVERTURNED, UPHELD, VERDICT, Appeal, Decision, Exonerated, Label, Observation
from gamewarden.contracts import digest
from gamewarden.errors import ResponseError, short

LONGEST = 4_000  # letters of an appeal, and of a reason
SOURCE = "appeal"  # what labels call it


def opened(actor: str, decision: str | None, text: str, *, by: str, at: datetime, earlier: Iterable[Appeal]) -> Appeal:
    """An actor's objection.

    Raises:
        ResponseError: it says nothing, too much, or the same as one that was decided; or another one is open.
    """
    said = bounded(text, "appeal")
    for one in earlier:
        if one.outcome is None:
            raise ResponseError(f"appeal: {one.id} is open for {short(actor)}; it has to be decided before another")
        if _same(one.text, said):
            raise ResponseError(
                f"appeal: it says the same as {one.id}, which was decided ({one.outcome}); write what is new"
            )
    made = digest("appeal", actor, decision or "", said, at.isoformat())
    return Appeal(f"appeal-{made}", actor, decision, at, _named(by), said)


def settled(
    appeal: Appeal,
    outcome: str,
    *,
    by: str,
    because: str,
    at: datetime,
    decisions: Iterable[Decision],
    four_eyes: bool,
) -> Appeal:
    """The appeal as somebody has decided it, who took none of the decisions that it is about.

    Raises:
        ResponseError: it was decided before, there is no reason, or this person may not decide it.
    """
    if outcome not in {UPHELD, OVERTURNED}:
        raise ResponseError(f"appeal: {short(outcome)} is no outcome; the decision is upheld or overturned")
    if appeal.outcome is not None:
        raise ResponseError(
            f"appeal: {appeal.id} was decided by {appeal.decided_by} ({appeal.outcome}); only an appeal with a new "
            "text opens the case again"
        )
    who = _named(by)
    if who == LADDER:
        raise ResponseError("appeal: a person decides it, and the ladder is none; name who decides with --by")
    took_part = {name.strip().casefold() for one in decisions for name in (one.by, one.approved_by) if name}
    if four_eyes and who.strip().casefold() in took_part:
        raise ResponseError(
            f"appeal: {short(who)} took part in the decision that it is about; somebody else has to decide "
            "([response] four_eyes)"
        )
    return replace(appeal, outcome=outcome, decided=at, decided_by=who, because=bounded(because, "reason"))


@dataclass(frozen=True)
class Innocence:
    """What an overturned appeal makes known: what no longer counts, what the account is, and what no model may flag."""

    excluded: tuple[tuple[Observation, Observation], ...]  # as it was, and as it is now
    label: Label
    exonerated: Exonerated


def exonerate(appeal: Appeal, own: Iterable[Observation], tied: Iterable[Observation]) -> Innocence:
    """Of an overturned appeal, the actor's own observations, and those of others that rest on the actor's case.

    What speaks for the actor still counts; what others were suspected for because of the actor does not, however it
    speaks.
    """
    if appeal.outcome != OVERTURNED or appeal.decided is None or appeal.decided_by is None:
        raise ResponseError(f"appeal: {appeal.id} was not overturned, so nobody is exonerated by it")
    wrong = [one for one in own if one.excluded is None and one.llr > 0]
    misled = [one for one in tied if one.excluded is None]
    since = min((one.since for one in wrong if one.since is not None), default=None)
    until = max((one.until for one in wrong if one.until is not None), default=None)
    verdicts = tuple(dict.fromkeys(one.ref for one in wrong if one.kind == VERDICT))
    return Innocence(
        excluded=tuple((one, replace(one, excluded=appeal.id)) for one in (*wrong, *misled)),
        label=Label(
            actor=appeal.actor,
            bot=False,
            source=SOURCE,
            at=appeal.decided,
            by=appeal.decided_by,
            since=since,
            until=until,
            votes={appeal.decided_by: False},
            because=appeal.because,
        ),
        exonerated=Exonerated(appeal.actor, since, until, verdicts, appeal.id, appeal.decided),
    )


def kept_out(observations: Iterable[Observation], exonerated: Iterable[Exonerated]) -> list[Observation]:
    """New observations, those excluded that say again of an exonerated time what an appeal has refuted.

    A day that is judged again has a verdict of another name, and the same evidence behind it.
    """
    by_actor: dict[str, list[Exonerated]] = {}
    for one in exonerated:
        by_actor.setdefault(one.actor, []).append(one)
    return [_judged_before(one, by_actor) for one in observations]


def _judged_before(observation: Observation, by_actor: dict[str, list[Exonerated]]) -> Observation:
    known = by_actor.get(observation.actor, ()) if observation.llr > 0 else ()
    appeals = [one.appeal for one in known if _within(observation, one)]
    theirs = by_actor.get(observation.because_of, ()) if observation.because_of is not None else ()
    appeals += [one.appeal for one in theirs if observation.at <= one.at]
    if observation.excluded is not None or not appeals:
        return observation
    return replace(observation, excluded=appeals[0])


def _within(observation: Observation, exonerated: Exonerated) -> bool:
    """Whether it is a verdict about a time that was looked at again."""
    if observation.kind != VERDICT or None in {observation.since, observation.until}:
        return False
    if exonerated.since is None or exonerated.until is None or observation.since is None or observation.until is None:
        return False
    return observation.since < exonerated.until and observation.until > exonerated.since


def bounded(text: str, what: str) -> str:
    """A text of people that is neither empty nor endless.

    Raises:
        ResponseError: it is.
    """
    said = text.strip()
    if not 0 < len(said) <= LONGEST:
        raise ResponseError(f"appeal: the {what} has {len(said):,} letters; write a text of 1 to {LONGEST:,}")
    return said


def _named(by: str) -> str:
    if not by.strip():
        raise ResponseError("appeal: nobody is named; give the name of who speaks with --by")
    return by.strip()


def _same(one: str, other: str) -> bool:
    return one.casefold().split() == other.casefold().split()
