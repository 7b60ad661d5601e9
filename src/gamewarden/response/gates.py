"""What stands between a decision and the game: each reason for which an action does not leave."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gamewarden.cases import CANCELLED, DO, LADDER, REHEARSED, STOPPED, WAITING, Action, Decision, Protected
from gamewarden.core.outside import visible
from gamewarden.policy import INTERNAL, SANCTIONS, STEPS, Response
from gamewarden.response.actions import IN_REHEARSAL
from gamewarden.response.adapters import Adapter
from gamewarden.response.persons import waits_for_approval
from gamewarden.response.waves import in_canary


@dataclass(frozen=True)
class Gate:
    """Why an action does not leave, and what becomes of it."""

    state: str
    why: str


@dataclass(frozen=True)
class Known:
    """All that says whether an action may leave."""

    action: Action
    decision: Decision | None
    protected: Protected | None
    adapter: Adapter | None
    missing: str | None  # why there is no adapter
    halted: str | None
    now: datetime


def first_gate(known: Known, settings: Response, secret: bytes) -> Gate | None:
    """What stops an action (not one of the way back); None where it may leave."""
    if known.decision is None:
        return Gate(STOPPED, f"decision {known.action.decision} is not in the ledger; cancel this action")
    return next(_gates(known, known.decision, settings, secret), None)


def _gates(known: Known, decision: Decision, settings: Response, secret: bytes) -> Iterator[Gate]:
    """The gates in their order: what is over for ever first, what a person can still open last."""
    yield from _never(known, decision)
    if decision.rehearsal:
        yield Gate(REHEARSED, IN_REHEARSAL)
    if not settings.armed:
        yield Gate(REHEARSED, "[response] armed is false")
    if not in_canary(decision.actor, settings.canary, secret):
        yield Gate(REHEARSED, f"the account is not among the share of [response] canary = {settings.canary}")
    yield from _closed_for_now(known, decision, settings)


def _never(known: Known, decision: Decision) -> Iterator[Gate]:
    """What no later moment changes."""
    action, protected = known.action, known.protected
    if (action.actor, action.step) != (decision.actor, decision.step):
        yield Gate(STOPPED, "it says something else than its decision; look at both")
    if action.step in INTERNAL or action.step not in STEPS:
        yield Gate(CANCELLED, f"{visible(action.step)} is no step that leaves gamewarden")
    if action.step in SANCTIONS and decision.by == LADDER:
        yield Gate(CANCELLED, f"only a person decides a {action.step}, and the ladder did")
    if decision.undone_at is not None:
        yield Gate(CANCELLED, "the decision was taken back before")
    if decision.until is not None and decision.until <= known.now:
        yield Gate(CANCELLED, "its time was over before it could be carried out")
    if protected is not None and protected.until > known.now:
        who, until = visible(protected.by), protected.until.isoformat()
        yield Gate(CANCELLED, f"the account is protected until {until} by {who}")


def _closed_for_now(known: Known, decision: Decision, settings: Response) -> Iterator[Gate]:
    """What a person can open."""
    action, adapter = known.action, known.adapter
    if decision.waits_for is not None:
        yield Gate(WAITING, f"it waits for {visible(decision.waits_for)}")
    if waits_for_approval(settings, decision):
        what = f"a permanent {decision.step}" if decision.until is None else _long(decision.step, settings)
        yield Gate(WAITING, f"{what} waits for a second person who approves it")
    if (missing := lacking(action, adapter, known.missing)) is not None:
        yield Gate(WAITING, missing)
    if known.halted is not None:
        yield Gate(WAITING, known.halted)


def _long(step: str, settings: Response) -> str:
    return f"a {step} for longer than {settings.long_ban}"


def lacking(action: Action, adapter: Adapter | None, missing: str | None) -> str | None:
    """What is missing in the settings for an action to be carried out."""
    if adapter is None:
        named = f"no adapter is named {visible(action.adapter)}" if action.adapter else f"no adapter can {action.step}"
        return missing or f"{named}; name one in [[response.adapter]]"
    if missing is not None:
        return missing
    if action.verb == DO and action.step not in adapter.steps:
        return f"adapter {adapter.name} does not {action.step}; add it to its steps in [[response.adapter]]"
    return None
