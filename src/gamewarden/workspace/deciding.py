"""Decisions and actions as people ask for them: lists, and the one of a name."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, TypeVar

import polars as pl

from gamewarden.cases import (
    BEGUN,
    CANCELLED,
    DO,
    DONE,
    FAILED,
    LADDER,
    REHEARSED,
    STOPPED,
    UNCERTAIN,
    WAITING,
    Action,
    Decision,
)
from gamewarden.errors import ResponseError, short
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.tables import TIME, DataType

_SHOWN = 12  # letters of an action's id, which name it
T = TypeVar("T", Decision, Action)
_COLUMNS: dict[str, DataType] = {
    "id": pl.String,
    "actor": pl.String,
    "step": pl.String,
    "stands": pl.String,
    "by": pl.String,
    "until": TIME,
    "at": TIME,
    "because": pl.String,
}

_ACTION_COLUMNS: dict[str, DataType] = {
    "id": pl.String,
    "actor": pl.String,
    "verb": pl.String,
    "step": pl.String,
    "state": pl.String,
    "due": TIME,
    "adapter": pl.String,
    "attempts": pl.Int64,
    "error": pl.String,
}


def listed(
    ledger: Ledger, *, actor: str | None = None, step: str | None = None, since: datetime | None = None, standing: bool
) -> pl.DataFrame:
    """Decisions as a table, the newest first."""
    where: dict[str, Any] = {"actor": actor, "step": step}
    wanted = {name: value for name, value in where.items() if value is not None}
    if standing:
        wanted["undone_at"] = None
    found = ledger.find(Decision, at_least={} if since is None else {"at": since}, order=("at", "rung"), **wanted)
    became = _became(ledger, found)
    return pl.DataFrame([_row(one, became.get(one.id, set())) for one in reversed(found)], schema=_COLUMNS)


def _became(ledger: Ledger, decisions: Sequence[Decision]) -> dict[str, set[str]]:
    """The states of the actions of decisions."""
    found: dict[str, set[str]] = {}
    for one in ledger.find(Action, decision=[one.id for one in decisions if not one.rehearsal], verb=DO):
        found.setdefault(one.decision, set()).add(one.state)
    return found


def on_their_way(ledger: Ledger, *, everything: bool) -> pl.DataFrame:
    """Actions as a table, the newest first; those that are done or never left where everything is asked for."""
    asked: dict[str, Any] = {} if everything else {"state": (WAITING, BEGUN, FAILED, UNCERTAIN, STOPPED)}
    found = ledger.find(Action, order=("due",), **asked)
    rows = [{name: getattr(one, name) for name in _ACTION_COLUMNS} | {"id": one.id[:_SHOWN]} for one in reversed(found)]
    return pl.DataFrame(rows, schema=_ACTION_COLUMNS)


def _row(one: Decision, became: set[str]) -> dict[str, object]:
    shown: dict[str, object] = {name: getattr(one, name) for name in _COLUMNS if name not in {"stands", "because"}}
    return {**shown, "stands": state_of(one, became), "because": "; ".join(one.because)}


def state_of(decision: Decision, became: Collection[str] = ()) -> str:
    """How a decision stands, in a word or two; `became` are the states of its actions."""
    if decision.undone_at is not None:
        return "taken back" if decision.undone_by != LADDER else "ended"
    if decision.waits_for is not None:
        return f"waits for {decision.waits_for}"
    if decision.rehearsal:
        return "rehearsed"
    told = {DONE: "carried out", UNCERTAIN: "uncertain", STOPPED: "stopped", BEGUN: "waits", WAITING: "waits"}
    told |= {FAILED: "waits", REHEARSED: "rehearsed", CANCELLED: "cancelled"}
    return next((says for state, says in told.items() if state in became), "stands")


def the_one(ledger: Ledger, kind: type[T], name: str) -> T:
    """The decision or action of an id, or of the beginning of one.

    Raises:
        ResponseError: there is none, or more than one.
    """
    exact = ledger.find(kind, id=name)
    found = exact or [one for one in ledger.find(kind) if name and one.id.startswith(name)]
    if len(found) != 1:
        what = f"{len(found)} begin so" if found else "there is none"
        where = "decisions list --all" if kind is Decision else "decisions actions --all"
        raise ResponseError(f"{ledger.name}: no {kind.__name__.lower()} is {short(name)}: {what}; see `{where}`")
    return found[0]
