"""Decisions as actions: one per adapter that takes the step, and one per action for the way back."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from gamewarden.cases import BEGUN, DO, DONE, FAILED, REHEARSED, STOPPED, UNCERTAIN, UNDO, WAITING, Action, Decision
from gamewarden.policy import INTERNAL, Response
from gamewarden.response.adapters import Ways
from gamewarden.response.waves import due_of

# What may hold in the game: all that left and was not taken back.
MAY_HOLD = (BEGUN, DONE, FAILED, UNCERTAIN, STOPPED)
# What is kept as `before`: what `look` saw, the number of the action among those on the same thing, and what earlier
# actions of ours may have left there.
THERE, PLACE, OVER = "there", "place", "over"
IN_REHEARSAL = "the decision was made in rehearsal"


def actions_of(decision: Decision, ways: Ways, settings: Response, secret: bytes) -> list[Action]:
    """What is to be carried out of a decision: an action for each adapter that takes its step.

    Where none does there is still one, which waits until somebody names an adapter.
    """
    if decision.step in INTERNAL:
        return []
    able = [name for name, adapter in ways.adapters.items() if decision.step in adapter.steps]
    one = Action(
        id="",
        decision=decision.id,
        actor=decision.actor,
        verb=DO,
        step=decision.step,
        adapter="",
        state=WAITING,
        due=due_of(decision, settings, secret),
        until=decision.until,
    )
    if decision.rehearsal:  # the last step asks again; so it need not look at each
        one = replace(one, state=REHEARSED, error=IN_REHEARSAL, changed=decision.at)
    return [replace(one, id=_key(DO, decision.id, name), adapter=name) for name in (*able, *ways.missing) or ("",)]


def undo_of(action: Action, now: datetime) -> Action:
    """The way back of an action: never delayed."""
    key = _key(UNDO, action.id)
    return replace(action, id=key, verb=UNDO, state=WAITING, due=now, attempts=0, before=None, receipt=None,
                   error=None, changed=None)  # fmt: skip


def do_key(action: Action) -> str:
    """The id of an action, or of the one that it takes back."""
    return _key(DO, action.decision, action.adapter)


def undos_due(standing: Iterable[tuple[Action, Decision]], now: datetime) -> list[Action]:
    """The ways back of all that holds although its time is over or its decision was taken back."""
    return [undo_of(action, now) for action, decision in standing if has_left(action) and _is_over(decision, now)]


def has_left(action: Action) -> bool:
    """Whether an action may hold in the game."""
    return action.state in MAY_HOLD and action.before is not None


def place_of(action: Action) -> int:
    """Its number among the actions on the same thing; 0 before it has one."""
    return 0 if action.before is None else int(action.before[PLACE])


def for_adapter(action: Action) -> Action:
    """An action as an adapter sees it: `before` is what it saw, and what else of ours may lie over it."""
    if action.before is None:
        return action
    return replace(action, before={**action.before[THERE], OVER: action.before[OVER]})


def seen(there: Mapping[str, Any], place: int) -> dict[str, Any]:
    """What is kept of a look."""
    return {THERE: dict(there), PLACE: place, OVER: ()}


def beneath(lower: Mapping[str, Any], upper: Mapping[str, Any], left: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the upper of two actions restores once the lower one was taken back beneath it.

    That is what was there before the lower one, unless somebody else changed it between the two.
    """
    if left is not None and dict(left) != dict(upper[THERE]):
        return dict(upper)
    over = (*upper[OVER], *lower[OVER], upper[THERE])
    return {**upper, THERE: lower[THERE], OVER: over}


def others(actions: Sequence[Action], action: Action) -> Iterator[Action]:
    """All of these actions but one."""
    return (one for one in actions if one.id != action.id)


def _is_over(decision: Decision, now: datetime) -> bool:
    return decision.undone_at is not None or (decision.until is not None and decision.until <= now)


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
