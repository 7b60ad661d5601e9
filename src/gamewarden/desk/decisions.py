"""Decisions and appeals as people at the desk look at them: what waits, holds, was only rehearsed, or ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gamewarden.cases import BEGUN, DO, DONE, FAILED, STOPPED, UNCERTAIN, WAITING, Action, Appeal, Decision, Protected
from gamewarden.desk.desk import Desk
from gamewarden.errors import NotThereError, ResponseError
from gamewarden.policy import Response
from gamewarden.response.persons import APPROVAL, waits_for_approval
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.workspace.appealing import Appealing
from gamewarden.workspace.deciding import state_of

PENDING, ACTIVE, REHEARSED, ENDED = "pending", "active", "rehearsed", "ended"
TABS = (PENDING, ACTIVE, REHEARSED, ENDED)
PAGE = 50
_OPEN = (WAITING, BEGUN, FAILED, UNCERTAIN, STOPPED)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_MANY = 4_000  # decisions whose actions have not left; more of them are not looked at one by one


@dataclass(frozen=True)
class DecisionRow:
    """One decision."""

    id: str
    actor: str
    step: str
    stands: str
    at: datetime
    until: datetime | None
    by: str
    because: tuple[str, ...]
    rehearsal: bool
    approved_by: str | None
    leaves: datetime | None  # when the next of its actions is due
    trouble: str | None  # what an action of it ran into
    undone_by: str | None
    undone_because: str | None
    may_undo: bool
    needs_second: bool


@dataclass(frozen=True)
class DecisionsView:
    """One page of decisions, the newest first."""

    tab: str
    counts: dict[str, int]  # by tab
    armed: bool
    rows: tuple[DecisionRow, ...]
    next: str | None  # where the list goes on
    actor: str
    step: str
    by: str


@dataclass(frozen=True)
class AppealRow:
    """One appeal."""

    id: str
    actor: str
    decision: str | None
    opened: datetime
    opened_by: str
    text: str
    outcome: str | None
    decided: datetime | None
    decided_by: str | None
    because: str | None


@dataclass(frozen=True)
class AppealsView:
    """Appeals, the newest first, and who is protected."""

    open: int
    only_open: bool
    rows: tuple[AppealRow, ...]
    protected: tuple[Protected, ...]


def decisions(
    desk: Desk, tab: str = ACTIVE, *, after: str = "", actor: str = "", step: str = "", by: str = ""
) -> DecisionsView:
    """One page of the decisions of a tab.

    Raises:
        NotThereError: there is no such tab.
        LedgerError: the ledger cannot be read.
    """
    if tab not in TABS:
        raise NotThereError(f"decisions: there is no tab {tab!r}, only {', '.join(TABS)}")
    armed = desk.workspace.config.response.armed
    if not desk.workspace.has_ledger:
        return DecisionsView(
            tab=tab, counts=dict.fromkeys(TABS, 0), armed=armed, rows=(), next=None, actor=actor, step=step, by=by
        )
    ledger = desk.workspace.ledger
    asked = {name: value for name, value in (("actor", actor), ("step", step), ("by", by)) if value}
    found = ledger.find(
        Decision,
        order=("at",),
        newest=PAGE + 1,
        below=_place(after),
        at_least=_ended_only(tab),
        **{**asked, **_where(ledger, tab)},
    )
    rows = _rows(ledger, found[:PAGE], desk.workspace.config.response)
    goes_on = _told(found[PAGE - 1]) if len(found) > PAGE else None
    return DecisionsView(
        tab=tab, counts=_counts(ledger), armed=armed, rows=rows, next=goes_on, actor=actor, step=step, by=by
    )


def appeals(desk: Desk, *, only_open: bool = True) -> AppealsView:
    """The appeals, the newest first.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    if not desk.workspace.has_ledger:
        return AppealsView(0, only_open, (), ())
    ledger = desk.workspace.ledger
    where: dict[str, Any] = {"outcome": None} if only_open else {}
    found = ledger.find(Appeal, order=("opened",), newest=10 * PAGE, **where)
    names = AppealRow.__dataclass_fields__
    rows = tuple(AppealRow(**{name: getattr(one, name) for name in names}) for one in found)
    shielded = ledger.find(Protected, at_least={"until": desk.now()}, order=("until",))
    return AppealsView(ledger.count(Appeal, outcome=None), only_open, rows, tuple(shielded))


def decide_appeal(desk: Desk, appeal: str, outcome: str, *, by: str, because: str) -> str:
    """Decide an appeal; what follows from it, in sentences.

    Raises:
        ResponseError: it was decided, or this person may not decide it.
    """
    if not desk.workspace.has_ledger:
        raise ResponseError("appeals: nothing was ever decided here, so there is no appeal")
    healed = Appealing(desk.workspace, desk.now()).decide(appeal, outcome, by=by, because=because)
    return ". ".join(healed.sentences())


def open_appeal(desk: Desk, about: str, text: str, *, by: str) -> Appeal:
    """Open an appeal for a player who wrote to the game's people.

    Raises:
        ResponseError: nothing was decided about the account, or an appeal is open.
    """
    return Appealing(desk.workspace, desk.now()).open(about, text, by=by)


def _where(ledger: Ledger, tab: str) -> dict[str, Any]:
    if tab == ACTIVE:
        return {"undone_at": None, "rehearsal": False}
    if tab == REHEARSED:
        return {"undone_at": None, "rehearsal": True}
    return {"undone_at": None, "id": _waiting(ledger)} if tab == PENDING else {}


def _ended_only(tab: str) -> dict[str, datetime]:
    return {"undone_at": _LONG_AGO} if tab == ENDED else {}


def _waiting(ledger: Ledger) -> set[str]:
    """The decisions that wait for a second person, and those of which something has not left yet."""
    second = {one.id for one in ledger.find(Decision, waits_for=APPROVAL, undone_at=None)}
    actions = ledger.find(Action, verb=DO, state=_OPEN, order=("due",), newest=_MANY)
    return second | {one.decision for one in actions}


def _counts(ledger: Ledger) -> dict[str, int]:
    return {tab: ledger.count(Decision, at_least=_ended_only(tab), **_where(ledger, tab)) for tab in TABS}


def _rows(ledger: Ledger, found: Sequence[Decision], settings: Response) -> tuple[DecisionRow, ...]:
    actions: dict[str, list[Action]] = {}
    for one in ledger.find(Action, decision=[one.id for one in found], verb=DO) if found else ():
        actions.setdefault(one.decision, []).append(one)
    return tuple(_row(one, actions.get(one.id, []), settings) for one in found)


def _row(one: Decision, actions: Sequence[Action], settings: Response) -> DecisionRow:
    is_open = one.undone_at is None and all(action.state != DONE for action in actions)
    waiting = [action for action in actions if action.state in {WAITING, FAILED}]
    troubled = [action.error for action in actions if action.state in {FAILED, STOPPED, UNCERTAIN, WAITING}]
    return DecisionRow(
        id=one.id,
        actor=one.actor,
        step=one.step,
        stands=state_of(one, {action.state for action in actions}),
        at=one.at,
        until=one.until,
        by=one.by,
        because=one.because,
        rehearsal=one.rehearsal,
        approved_by=one.approved_by,
        leaves=min((action.due for action in waiting), default=None),
        trouble=next(filter(None, troubled), None),
        undone_by=one.undone_by,
        undone_because=one.undone_because,
        may_undo=one.undone_at is None,
        needs_second=is_open and waits_for_approval(settings, one),
    )


def _told(last: Decision) -> str:
    """The place of a decision in the list, as an address holds it."""
    return f"{last.at.isoformat()}~{last.id}"


def _place(after: str) -> tuple[datetime, str] | None:
    if not after:
        return None
    at, _, name = after.partition("~")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return (moment, name) if moment.tzinfo is not None else None
