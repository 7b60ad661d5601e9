"""Appeals in a workspace: opened, decided by a person, and healed in one transaction; accounts that are protected."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from gamewarden.cases import (
    LADDER,
    OVERTURNED,
    Appeal,
    Decision,
    Observation,
    Protected,
    Suspicion,
)
from gamewarden.core.text import counted
from gamewarden.errors import ResponseError, short
from gamewarden.response.appeals import bounded, exonerate, opened, settled
from gamewarden.response.ladder import ended
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.tables import TIME, DataType
from gamewarden.workspace.person_acts import send_back
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.responding import Responding

_LEAST = 6  # letters of an id that name a decision
_APPEALS: dict[str, DataType] = {
    "appeal": pl.String,
    "actor": pl.String,
    "decision": pl.String,
    "opened": TIME,
    "opened_by": pl.String,
    "outcome": pl.String,
    "decided": TIME,
    "decided_by": pl.String,
    "text": pl.String,
    "because": pl.String,
}
_PROTECTED: dict[str, DataType] = {
    "actor": pl.String,
    "until": TIME,
    "by": pl.String,
    "at": TIME,
    "because": pl.String,
}


@dataclass(frozen=True)
class Healed:
    """A decided appeal, and what followed from it."""

    appeal: Appeal
    taken_back: int = 0  # decisions about the account
    excluded: int = 0  # pieces of evidence
    others: int = 0  # accounts that were suspected because of it
    lifted: int = 0  # decisions about those
    undone: int = 0  # actions on their way back

    def sentences(self) -> list[str]:
        """It in words."""
        if self.appeal.outcome != OVERTURNED:
            return [f"{self.appeal.id} is upheld: the decision stands, and the reason is kept"]
        told = f"{counted(self.taken_back, 'decision')} taken back, {counted(self.excluded, 'piece')} of evidence"
        lines = [f"{self.appeal.id} is overturned: {told} excluded, the account is labelled human"]
        if self.others:
            lines.append(f"{counted(self.others, 'other account')} scored anew, {self.lifted:,} of their steps lifted")
        if self.undone:
            lines.append(f"{counted(self.undone, 'action')} on the way back; the next run carries that out")
        return lines


@dataclass(frozen=True)
class Appealing:
    """The appeals of a workspace."""

    workspace: Workspace
    at: datetime

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self.workspace.ledger

    def open(self, about: str, text: str, *, by: str) -> Appeal:
        """Open an appeal against a decision, or against all about an actor.

        Raises:
            ResponseError: nothing was decided about it, the text is empty, endless or known, or an appeal is open.
            LedgerError: the ledger cannot be written.
        """
        actor, decision = self._meant(about)
        with self.ledger.writing(by, self.at) as work:
            earlier = work.find(Appeal, actor=actor, order=("opened",))
            made = opened(actor, decision, text, by=by, at=self.at, earlier=earlier)
            work.add([made])
        return made

    def decide(self, name: str, outcome: str, *, by: str, because: str) -> Healed:
        """Decide an appeal, once; all that follows from it is written together or not at all.

        Raises:
            ResponseError: there is no such appeal, it was decided, or this person may not decide it.
            LedgerError: the ledger cannot be written.
        """
        four_eyes = self.workspace.config.response.four_eyes
        with self.ledger.writing(by, self.at) as work:
            old = _the_appeal(work, name)
            standing = work.find(Decision, actor=old.actor, undone_at=None, order=("at",))
            meant = work.find(Decision, id=old.decision) if old.decision else []
            new = settled(
                old, outcome, by=by, because=because, at=self.at, decisions=[*standing, *meant], four_eyes=four_eyes
            )
            work.change(old, new)
            return self._heal(work, new, standing) if new.outcome == OVERTURNED else Healed(new)

    def listed(self, *, only_open: bool = False) -> pl.DataFrame:
        """Appeals as a table, the newest first."""
        where: dict[str, Any] = {"outcome": None} if only_open else {}
        found = self.ledger.find(Appeal, order=("opened",), **where)
        rows = [{name: one.id if name == "appeal" else getattr(one, name) for name in _APPEALS} for one in found]
        return pl.DataFrame(rows[::-1], schema=_APPEALS)

    def _meant(self, about: str) -> tuple[str, str | None]:
        """The actor and the decision that a name means: a decision's id, an actor's, or the beginning of an id."""
        exact = self.ledger.find(Decision, id=about)
        if not exact and self.ledger.find(Decision, actor=about, newest=1):
            return about, None
        begin = [one for one in self.ledger.find(Decision) if one.id.startswith(about)] if len(about) >= _LEAST else []
        found = exact or begin
        if len(found) > 1:
            raise ResponseError(f"appeal: so begin {len(found):,} decisions ({short(about)}); write more of it")
        if not found:
            raise ResponseError(
                f"appeal: nothing was decided about {short(about)}; `gamewarden decisions list` shows accounts and ids"
            )
        return found[0].actor, found[0].id

    def _heal(self, work: Writing, appeal: Appeal, standing: Collection[Decision]) -> Healed:
        responding = Responding(self.workspace, self.at)
        why = f"appeal {appeal.id} was overturned: {appeal.because}"
        undone = [ended(one, responding.moment, str(appeal.decided_by), why) for one in standing]
        for old, new in zip(standing, undone, strict=True):
            work.change(old, new)
        own, tied = work.find(Observation, actor=appeal.actor), work.find(Observation, because_of=appeal.actor)
        found = exonerate(appeal, own, [one for one in tied if one.actor != appeal.actor])
        work.put([new for _, new in found.excluded])
        work.add([found.label])
        work.add([found.exonerated])
        misled = {new.actor for _, new in found.excluded} - {appeal.actor}
        _nobody_is_called(work, appeal.actor)
        before = {one.id for one in work.find(Decision, actor=misled, undone_at=None)} if misled else set()
        responding.settling.settle(work, {appeal.actor, *misled})
        lifted = [one for one in work.find(Decision, id=before) if one.undone_at is not None] if before else []
        back = send_back(work, [*undone, *lifted], responding.moment)
        return Healed(appeal, len(undone), len(found.excluded), len(misled), len(lifted), back)


def _nobody_is_called(work: Writing, actor: str) -> None:
    """That a human is called for tests was concluded from what no longer counts."""
    work.put([replace(one, on_call=False) for one in work.find(Suspicion, actor=actor) if one.on_call])


def _the_appeal(work: Writing, name: str) -> Appeal:
    """The appeal of an id, or of the beginning of one."""
    exact = work.find(Appeal, id=name)
    begin = (name, f"appeal-{name}")
    found = exact or ([one for one in work.find(Appeal) if one.id.startswith(begin)] if name else [])
    if len(found) != 1:
        what = f"{len(found):,} begin so" if found else "there is none"
        raise ResponseError(f"appeal: no appeal is {short(name)}: {what}; `gamewarden appeal list` shows them")
    return found[0]


def protect(workspace: Workspace, actor: str, *, until: datetime, by: str, because: str, at: datetime) -> Protected:
    """Let no step above watching touch an account until a moment; what the ladder decided about it is lifted.

    Raises:
        ResponseError: no person is named, or no reason given.
        LedgerError: the ledger cannot be written.
    """
    made = Protected(actor, until, _person(by), bounded(because, "reason"), at)
    settling = Responding(workspace, at).settling
    with workspace.ledger.writing(made.by, at) as work:
        work.put([made])
        if work.find(Suspicion, actor=actor):
            settling.settle(work, {actor})
    return made


def end_protection(ledger: Ledger, actor: str, *, by: str, at: datetime) -> Protected:
    """Protect an account no longer.

    Raises:
        ResponseError: nobody protects it.
        LedgerError: the ledger cannot be written.
    """
    with ledger.writing(_person(by), at) as work:
        known = work.find(Protected, actor=actor)
        if not known:
            raise ResponseError(f"protect: {short(actor)} is not protected; `gamewarden protect --list` shows who is")
        work.remove(known[0])
    return known[0]


def protected(ledger: Ledger, at: datetime) -> pl.DataFrame:
    """Who is protected now, as a table."""
    found = ledger.find(Protected, at_least={"until": at}, order=("until",))
    return pl.DataFrame([{name: getattr(one, name) for name in _PROTECTED} for one in found], schema=_PROTECTED)


def _person(by: str) -> str:
    if by.strip().casefold() in {"", LADDER}:
        raise ResponseError("protect: a person protects, and nobody is named; give a name with --by")
    return by.strip()
