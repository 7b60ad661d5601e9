"""The ledger as the book that carrying out reads and writes."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from gamewarden.cases import (
    BEGUN,
    DO,
    DONE,
    FAILED,
    STOPPED,
    UNCERTAIN,
    UNDO,
    UNDONE,
    WAITING,
    Action,
    Decision,
    Exonerated,
    Protected,
)
from gamewarden.core.durations import from_micros, to_micros
from gamewarden.response.actions import MAY_HOLD
from gamewarden.store.ledger.ledger import Ledger, Writing

HALTED, RESUMED, SECRET = "carrying.halted", "carrying.resumed", "carrying.secret"
_LEFT = (BEGUN, DONE, UNDONE, FAILED, UNCERTAIN, STOPPED)
_SECRET_BYTES = 32


@dataclass(frozen=True)
class LedgerBook:
    """A ledger, as carrying out sees it."""

    ledger: Ledger

    def due(self, now: datetime) -> Sequence[Action]:
        """What was begun, then the ways back, then the rest, each by its moment."""
        begun = self.ledger.find(Action, state=BEGUN, order=("due",))
        due = self.ledger.find(Action, state=(WAITING, FAILED), at_most={"due": now}, order=("due",))
        return [*begun, *sorted(due, key=lambda one: one.verb != UNDO)]

    def standing(self) -> Sequence[tuple[Action, Decision]]:
        """Actions that may hold, with their decisions."""
        actions = self.ledger.find(Action, verb=DO, state=MAY_HOLD)
        known = {one.id: one for one in self.ledger.find(Decision, id={one.decision for one in actions})}
        return [(one, known[one.decision]) for one in actions if one.decision in known]

    @contextmanager
    def turning(self, now: datetime, who: str) -> Iterator["LedgerPage"]:
        """A transaction on the ledger; whoever writes is alone."""
        with self.ledger.writing(who, now) as work:
            yield LedgerPage(work)

    def secret(self, now: datetime, who: str) -> bytes:
        """The ledger's own secret, made where there is none yet."""
        if (told := self.ledger.fact(SECRET)) is not None:
            return bytes.fromhex(told)
        with self.turning(now, who) as page:
            return page.secret()

    def halted(self) -> str | None:
        """Why nothing further leaves."""
        return self.ledger.fact(HALTED) or None


@dataclass(frozen=True)
class LedgerPage:
    """One transaction on the ledger."""

    work: Writing

    def action(self, key: str) -> Action | None:
        """The action of this id."""
        return next(iter(self.work.find(Action, id=key)), None)

    def actions(self, actor: str, adapter: str) -> Sequence[Action]:
        """All actions on an actor by an adapter."""
        return self.work.find(Action, actor=actor, adapter=adapter)

    def decision(self, key: str) -> Decision | None:
        """The decision of this id."""
        return next(iter(self.work.find(Decision, id=key)), None)

    def protected(self, actor: str) -> Protected | None:
        """Whether somebody protects the actor."""
        return next(iter(self.work.find(Protected, actor=actor)), None)

    def left_since(self, moment: datetime, but: str, most: int) -> int:
        """How many actions were tried since then, beside one; counted up to `most`."""
        since, order = {"changed": moment}, ("changed",)
        found = self.work.find(Action, verb=DO, state=_LEFT, at_least=since, order=order, newest=most + 1)
        return min(most, sum(one.id != but for one in found))

    def newest_left(self, number: int, since: datetime | None) -> Sequence[Decision]:
        """The decisions of the newest so many actions that were carried out."""
        after = {} if since is None else {"changed": since}
        found = self.work.find(Action, verb=DO, state=(DONE, UNDONE), at_least=after, order=("changed",), newest=number)
        known = {one.id: one for one in self.work.find(Decision, id={one.decision for one in found})}
        return [self._judged(known[one.decision]) for one in found if one.decision in known]

    def _judged(self, decision: Decision) -> Decision:
        """A decision as taken back by a person where an appeal found it wrong, though it had ended before."""
        for one in self.work.find(Exonerated, actor=decision.actor, at_least={"at": decision.at}):
            return replace(decision, undone_by=one.appeal)
        return decision

    def add(self, actions: Sequence[Action]) -> None:
        """Write the actions that are not there yet."""
        self.work.add(actions)

    def change(self, old: Action, new: Action) -> None:
        """Write an action in the place of another."""
        self.work.change(old, new)

    def halted(self) -> str | None:
        """Why nothing further leaves."""
        return self.work.fact(HALTED) or None

    def halt(self, why: str) -> None:
        """Let nothing further leave until a person resumes."""
        self.work.remember(HALTED, why)
        self.work.audit("halt", "carrying", None, {"why": why})

    def resumed(self) -> datetime | None:
        """When a person last let actions leave again."""
        told = self.work.fact(RESUMED)
        return None if told is None else from_micros(int(told))

    def resume(self) -> None:
        """Let actions leave again."""
        self.work.audit("resume", "carrying", {"why": self.halted()}, None)
        self.work.remember(HALTED, "")
        self.work.remember(RESUMED, str(to_micros(self.work.at)))

    def secret(self) -> bytes:
        """The ledger's own secret, made where there is none yet."""
        if (told := self.work.fact(SECRET)) is None:
            told = secrets.token_hex(_SECRET_BYTES)
            self.work.remember(SECRET, told)
        return bytes.fromhex(told)
