"""The ledger compared with the game: a ledger that was put back stops all execution until a person has reconciled it.

The head of the audit is noted in the results, outside the ledger, whenever actions are carried out. A ledger without
the noted line is an older copy, or another one: it does not know what the game holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

from gamewarden.cases import BEGUN, DO, DONE, FAILED, STOPPED, UNCERTAIN, UNDO, WAITING, Action, Decision
from gamewarden.core.files import make_directory, write_text
from gamewarden.core.outside import visible
from gamewarden.errors import ResponseError
from gamewarden.response.actions import for_adapter, has_left, place_of, seen
from gamewarden.response.adapters import Adapter, GameState, RefusedError, Ways
from gamewarden.response.carrying import need_person
from gamewarden.store.ledger.audit import Head
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.tables import DataType
from gamewarden.workspace.person_acts import take_back
from gamewarden.workspace.place import Workspace

_OPEN = (WAITING, BEGUN, FAILED, UNCERTAIN, STOPPED)
_COLUMNS: dict[str, DataType] = {
    "action": pl.String,
    "actor": pl.String,
    "step": pl.String,
    "adapter": pl.String,
    "ledger": pl.String,
    "game": pl.String,
    "repair": pl.String,
}


def note_head(workspace: Workspace) -> None:
    """Note the last line of the audit outside the ledger."""
    make_directory(workspace.results)
    write_text(workspace.noted_head, f"{workspace.ledger.head}\n")


def noted_head(workspace: Workspace) -> Head | None:
    """The last line of the audit as the latest run noted it; None where none did.

    Raises:
        LedgerError: what was noted is damaged.
    """
    path = workspace.noted_head
    return Head.of(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None


def restored(workspace: Workspace) -> str | None:
    """Why this ledger is not the one that was last used; None where it is.

    Raises:
        LedgerError: what was noted is damaged.
    """
    noted = noted_head(workspace)
    if noted is None or not workspace.has_ledger or workspace.ledger.has_line(noted):
        return None
    return (
        f"the ledger is older than its last run, or another one: it ends at line {workspace.ledger.head.number}, and"
        f" line {noted.number} was noted in {workspace.noted_head}; nothing is carried out until"
        " `gamewarden decisions reconcile --repair`"
    )


@dataclass(frozen=True)
class Mismatch:
    """An action of which the ledger and the game differ."""

    key: str
    actor: str
    step: str
    adapter: str
    ledger: str
    game: str
    repair: str
    action: Action | None = None  # None: the ledger does not know it
    state: GameState | None = None  # set where the ledger follows the game


@dataclass(frozen=True)
class Reconciling:
    """The actions of a ledger and what adapters see of them in the game."""

    workspace: Workspace
    ways: Ways
    at: datetime

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self.workspace.ledger

    def mismatches(self) -> list[Mismatch]:
        """Where the game is not as the ledger says, one entry per action.

        Raises:
            ResponseError: a game does not answer, or an adapter cannot be used.
        """
        actions = self.ledger.find(Action, verb=DO)
        for name, why in self.ways.missing.items():
            raise ResponseError(f"reconcile: adapter {visible(name)} does not see its game: {why}")
        decisions = {one.id: one for one in self.ledger.find(Decision)}
        found: list[Mismatch] = []
        for name, adapter in self.ways.adapters.items():
            own = [one for one in actions if one.adapter == name]
            found += self._of_adapter(adapter, own, decisions)
        known = self.ways.adapters
        return [*found, *(_unseen(one) for one in actions if one.adapter not in known and has_left(one))]

    def repair(self, by: str) -> list[Mismatch]:
        """Let the ledger record what the game holds and does not hold; what is over then goes on its way back.

        Raises:
            ResponseError: no person signs it, or a game does not answer.
        """
        need_person(by)
        found = self.mismatches()
        with self.ledger.writing(by, self.at) as work:
            for one in found:
                if one.action is not None and one.state is not None:
                    _record(work, one.action, one.state)
                elif one.action is not None and one.repair:
                    decision = work.find(Decision, id=one.action.decision)
                    take_back(work, decision, self.at, by=by, because=f"the game no longer holds it: {one.game}")
            work.audit("reconcile", "game", None, {"mismatches": len(found), "repaired": sum(map(_is_repaired, found))})
        note_head(self.workspace)
        return found

    def _of_adapter(
        self, adapter: Adapter, actions: Sequence[Action], decisions: dict[str, Decision]
    ) -> Iterator[Mismatch]:
        held = adapter.own_keys()
        known = {one.id for one in actions}
        top = _topmost(adapter, actions)
        for one in actions:
            if one.id in held or one.id in top or one.state in _OPEN:
                yield from self._of_action(adapter, one, decisions.get(one.decision), one.id in top)
        for key, text in held.items():
            if key not in known:
                yield Mismatch(key, "", "", adapter.name, "no record", text, "")

    def _of_action(
        self,
        adapter: Adapter,
        action: Action,
        decision: Decision | None,
        is_top: bool,  # noqa: FBT001
    ) -> Iterator[Mismatch]:
        try:
            state = adapter.state(for_adapter(action))
        except RefusedError as error:
            state = GameState(str(error))
        values = (action.id, action.actor, action.step, adapter.name)
        if not has_left(action) and state.own:
            repair = "record it as carried out" + ("" if _stands(decision, self.at) else ", then undo it")
            yield Mismatch(*values, f"{action.state}, not carried out", state.text, repair, action, state)
        elif not has_left(action) and state.holds and state.own is None and action.state in _OPEN:
            yield Mismatch(*values, f"{action.state}, not carried out", state.text, "", action)
        elif is_top and state.holds is False and _stands(decision, self.at):
            yield Mismatch(*values, "in force", state.text, "record it as lifted", action)


def _unseen(action: Action) -> Mismatch:
    text = f"no adapter is named {visible(action.adapter)}; name one in [[response.adapter]]"
    return Mismatch(action.id, action.actor, action.step, action.adapter, action.state, text, "")


def table_of(mismatches: Sequence[Mismatch]) -> pl.DataFrame:
    """Mismatches as a table."""
    rows = [
        {name: getattr(one, "key" if name == "action" else name) for name in _COLUMNS}
        | {"repair": one.repair or "look into the game, then decide"}
        for one in mismatches
    ]
    return pl.DataFrame(rows, schema=_COLUMNS)


def _record(work: Writing, action: Action, state: GameState) -> None:
    """Write down that an action was carried out; its way back then restores an account that was free."""
    place = 1 + max((place_of(one) for one in work.find(Action, actor=action.actor, adapter=action.adapter)), default=0)
    before = seen(state.cleared or {}, place)
    work.change(action, replace(action, state=DONE, before=before, error=None, changed=work.at))
    for undo in work.find(Action, decision=action.decision, adapter=action.adapter, verb=UNDO):
        work.change(undo, replace(undo, state=WAITING, due=work.at, attempts=0, receipt=None, error=None))


def _is_repaired(one: Mismatch) -> bool:
    return bool(one.repair)


def _stands(decision: Decision | None, at: datetime) -> bool:
    return decision is not None and decision.undone_at is None and (decision.until is None or decision.until > at)


def _topmost(adapter: Adapter, actions: Sequence[Action]) -> set[str]:
    """Of the actions in force on the same thing the last one: the others do not show."""
    last: dict[tuple[str, str], Action] = {}
    for one in sorted((one for one in actions if one.state == DONE and has_left(one)), key=place_of):
        last[one.actor, adapter.slot(one.step)] = one
    return {one.id for one in last.values()}
