"""What people decide and take back, about one account or many, written within one transaction: all of it or nothing."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gamewarden.cases import CANCELLED, DO, FAILED, LADDER, UNDO, WAITING, Action, Decision, Exonerated
from gamewarden.errors import ResponseError
from gamewarden.response.actions import has_left, undo_of
from gamewarden.response.ladder import Case, ended
from gamewarden.response.persons import Decided, decide_by_person
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.workspace.settling import Settling, cases_of

_BEFORE_IT_LEFT = "taken back before it left"


@dataclass(frozen=True)
class Wish:
    """What a person wants of accounts: the same of all of them."""

    step: str
    by: str
    because: str
    span: timedelta | None = None  # None: it holds until it is taken back
    not_before: datetime | None = None  # nothing leaves before this moment, so that it can still be thought over


@dataclass(frozen=True)
class Wished:
    """What became of a wish: a decision about each account, and what speaks against it."""

    decision: Decision
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class TakenBack:
    """What was taken back: decisions, actions that never left, and actions that are on their way back."""

    decisions: tuple[Decision, ...]
    cancelled: int
    on_their_way_back: int


def would_decide(known: Ledger | Writing, settling: Settling, actors: Collection[str], wish: Wish) -> list[Wished]:
    """What a person's wish would be about each account, in the accounts' order; nothing is written.

    Raises:
        ResponseError: nobody signs it, no reason is given, or the step is unknown.
    """
    return [_wished(settling, case, wish) for case in cases_of(known, actors)]


def decide_all(work: Writing, settling: Settling, actors: Collection[str], wish: Wish) -> list[Wished]:
    """Decide a person's wish about accounts, and put it on its way; those of whom just this was decided are left out.

    Raises:
        ResponseError: no account is named, nobody signs it, no reason is given, or the step is unknown.
        LedgerError: the ledger cannot be written.
    """
    if not actors or any(not actor.strip() for actor in actors):
        raise ResponseError("decide: no account is named; give its name")
    wished = would_decide(work, settling, set(actors), wish)
    new = work.add([one.decision for one in wished])
    settling.send(work, new, not_before=wish.not_before)
    added = {one.id for one in new}
    return [one for one in wished if one.decision.id in added]


def take_back(
    work: Writing,
    decisions: Sequence[Decision],
    at: datetime,
    *,
    by: str,
    because: str,
    not_before: datetime | None = None,
) -> TakenBack:
    """End decisions: of their actions those that never left are cancelled, and all others go on their way back.

    `not_before` keeps the way back waiting, for as long as somebody may think it over.

    Raises:
        ResponseError: no person signs it, or no reason is given.
        LedgerError: somebody else changed one of them meanwhile.
    """
    if by.strip().casefold() in {"", LADDER} or not because.strip():
        raise ResponseError("decisions undo: say which person takes it back, and why; both are kept")
    new = tuple(ended(one, at, by.strip(), because.strip()) for one in decisions)
    for old, over in zip(decisions, new, strict=True):
        work.change(old, over)
    return TakenBack(new, cancel_waiting(work, new), send_back(work, new, max(at, not_before or at)))


def bring_back(work: Writing, decisions: Sequence[Decision]) -> int:
    """Let decisions stand again that were taken back, as far as nothing of that has reached the game; how many do.

    Whom an appeal has cleared since stays cleared.
    """
    back = work.find(Action, decision={one.id for one in decisions}, verb=UNDO) if decisions else []
    too_late = {one.decision for one in back if one.state != WAITING or one.attempts}
    cleared = _cleared(work, decisions)
    fit = [one for one in decisions if one.undone_at is not None and one.id not in too_late | cleared]
    for one in fit:
        work.change(one, replace(one, undone_at=None, undone_by=None, undone_because=None))
    names = {one.id for one in fit}
    for action in back:
        if action.decision in names:
            work.remove(action)
    for action in _actions(work, fit, (CANCELLED,)):
        if action.error == _BEFORE_IT_LEFT:
            work.change(action, replace(action, state=WAITING, error=None, changed=None))
    return len(fit)


def _cleared(work: Writing, decisions: Sequence[Decision]) -> set[str]:
    """Which decisions are about somebody who was exonerated after they were taken back."""
    freed = work.find(Exonerated, actor={one.actor for one in decisions}) if decisions else []
    since = {one.actor: one.at for one in sorted(freed, key=lambda one: one.at)}
    return {one.id for one in decisions if one.undone_at and one.actor in since and since[one.actor] >= one.undone_at}


def cancel_waiting(work: Writing, decisions: Collection[Decision]) -> int:
    """Cancel the actions of decisions that never left; how many there were."""
    waiting = [one for one in _actions(work, decisions, (WAITING, FAILED)) if not has_left(one)]
    for one in waiting:
        work.change(one, replace(one, state=CANCELLED, error=_BEFORE_IT_LEFT, changed=work.at))
    return len(waiting)


def send_back(work: Writing, decisions: Collection[Decision], at: datetime) -> int:
    """Let all that may hold in the game of decisions that ended wait for its way back; how much that is."""
    left = [one for one in _actions(work, decisions, None) if has_left(one)]
    return len(work.add([undo_of(one, at) for one in left]))


def _actions(work: Writing, decisions: Collection[Decision], states: Sequence[str] | None) -> list[Action]:
    names = {one.id for one in decisions}
    if not names:
        return []
    found = work.find(Action, decision=names, verb=DO)
    return found if states is None else [one for one in found if one.state in states]


def _wished(settling: Settling, case: Case, wish: Wish) -> Wished:
    at = settling.moment
    made: Decided = decide_by_person(
        settling.ladder,
        case,
        wish.step,
        by=wish.by,
        because=wish.because,
        at=at,
        until=None if wish.span is None else at + wish.span,
        rehearsal=settling.rehearsal,
    )
    return Wished(made.decision, (*_beside(case, wish.step), *made.warnings))


def _beside(case: Case, step: str) -> Iterator[str]:
    """What whoever decides should know of the account."""
    if not case.observations and not case.standing:
        yield f"the ledger knows nothing of {case.actor!r}; look how it is written"
    for one in case.standing:
        if one.step == step and one.undone_at is None:
            until = "it is taken back" if one.until is None else f"{one.until:%Y-%m-%d %H:%M} UTC"
            yield f"{step} stood already, until {until} ({one.id})"
