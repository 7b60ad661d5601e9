"""What carrying out needs of the ledger: which actions are due, and turning one over with all that depends on it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from gamewarden.cases import Action, Decision, Protected


class Page(Protocol):
    """One transaction: what is read in it does not change until it is over, for no process."""

    def action(self, key: str) -> Action | None:
        """The action of this id, as it is now."""

    def actions(self, actor: str, adapter: str) -> Sequence[Action]:
        """All actions on an actor by an adapter."""

    def decision(self, key: str) -> Decision | None:
        """The decision of this id, as it is now."""

    def protected(self, actor: str) -> Protected | None:
        """Whether somebody protects the actor, and until when."""

    def left_since(self, moment: datetime, but: str, most: int) -> int:
        """How many actions (not those of the way back) were tried since then, beside one; counted up to `most`."""

    def newest_left(self, number: int, since: datetime | None) -> Sequence[Decision]:
        """The decisions of the newest so many actions that were carried out (not those of the way back)."""

    def add(self, actions: Sequence[Action]) -> None:
        """Write the actions that are not there yet."""

    def change(self, old: Action, new: Action) -> None:
        """Write an action in the place of another."""

    def halted(self) -> str | None:
        """Why nothing further leaves until a person resumes; None where all is well."""

    def halt(self, why: str) -> None:
        """Let nothing further leave until a person resumes."""

    def resumed(self) -> datetime | None:
        """When a person last let actions leave again."""

    def resume(self) -> None:
        """Let actions leave again, from now on."""

    def secret(self) -> bytes:
        """The ledger's own secret: the same for ever."""


class Book(Protocol):
    """The ledger, as far as carrying out needs it."""

    def due(self, now: datetime) -> Sequence[Action]:
        """What is to be done: waiting and failed actions whose moment has come, and all that were begun."""

    def standing(self) -> Sequence[tuple[Action, Decision]]:
        """Actions (not those of the way back) that may hold in the game or are on their way, with their decisions."""

    def turning(self, now: datetime, who: str) -> AbstractContextManager[Page]:
        """A transaction, durable once it is over."""
