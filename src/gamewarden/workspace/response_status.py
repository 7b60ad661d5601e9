"""How the response stands, in a few lines: what is in force, what waits, what asks for a person."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gamewarden.cases import BEGUN, DO, DONE, FAILED, STOPPED, UNCERTAIN, WAITING, Action, Appeal, Decision
from gamewarden.core.text import counted
from gamewarden.policy import REVIEW, STEPS
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.workspace.carrying_book import HALTED
from gamewarden.workspace.ladder_reach import unreachable_steps
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.reconciling import restored


@dataclass(frozen=True)
class ResponseStatus:
    """What is in force, what waits, and what a person should look at."""

    armed: bool
    standing: dict[str, int]  # decisions in force, by step
    in_game: dict[str, int]  # steps that were carried out and hold there
    actions: dict[str, int]  # on their way, by state
    halted: str | None
    waiting: int  # decisions that wait for a second person
    appeals: int  # open ones
    unreachable: tuple[str, ...] = ()  # which steps nobody can reach, and why
    restored: str | None = None  # why this ledger is not the one that was last used

    def lines(self) -> Iterator[str]:
        """For a terminal."""
        how = "armed: decisions are carried out" if self.armed else "a rehearsal: nothing leaves gamewarden"
        standing = ", ".join(f"{count:,} {step}" for step, count in self.standing.items())
        yield f"The response is {how}; decided: {standing or 'nothing'}."
        if self.in_game:
            yield f"In the game now: {', '.join(f'{count:,} {step}' for step, count in self.in_game.items())}."
        if self.actions:
            yield f"Actions: {', '.join(f'{count:,} {state}' for state, count in self.actions.items())}."
        yield from (f"{line[0].upper()}{line[1:]}." for line in self.unreachable)
        if self.restored or self.halted:
            yield f"All actions are stopped: {self.restored or self.halted}"

    def next_steps(self) -> Iterator[str]:
        """What to do, the most urgent first."""
        if self.restored:
            yield "compare the ledger with the game: `gamewarden decisions reconcile`"
        if self.halted:
            yield "look at `gamewarden decisions actions --all`, then let actions leave: `decisions resume --by NAME`"
        if self.appeals:
            yield f"`gamewarden appeal list` shows {counted(self.appeals, 'open appeal')}"
        if lost := self.actions.get(UNCERTAIN, 0) + self.actions.get(STOPPED, 0):
            yield f"nobody knows what became of {counted(lost, 'action')}: `gamewarden decisions actions`"
        if self.waiting:
            yield f"{counted(self.waiting, 'decision')} wait for a second person: `gamewarden decisions list`"
        if cases := self.standing.get(REVIEW, 0):
            yield f"`gamewarden decisions list --step review` shows {counted(cases, 'case')} for a game master"


def response_status(workspace: Workspace) -> ResponseStatus | None:
    """How the response stands; None where nothing was ever decided.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    if not workspace.has_ledger:
        return None
    ledger = workspace.ledger
    decisions = ledger.find(Decision, undone_at=None)
    appeals = len(ledger.find(Appeal, outcome=None))
    waiting = sum(one.waits_for is not None for one in decisions)
    halted = ledger.fact(HALTED) or None
    armed = workspace.config.response.armed
    there = Counter(one.step for one in ledger.find(Action, verb=DO, state=DONE))
    in_game = {step: there[step] for step in STEPS if there[step]}
    return ResponseStatus(
        armed,
        _by_step(decisions),
        in_game,
        _on_their_way(ledger),
        halted,
        waiting,
        appeals,
        unreachable_steps(workspace),
        restored(workspace),
    )


def _by_step(decisions: Sequence[Decision]) -> dict[str, int]:
    found = Counter(one.step for one in decisions if one.waits_for is None)
    return {step: found[step] for step in STEPS if found[step]}


def _on_their_way(ledger: Ledger) -> dict[str, int]:
    states = (WAITING, BEGUN, FAILED, UNCERTAIN, STOPPED)
    found = Counter(one.state for one in ledger.find(Action, state=states))
    return {state: found[state] for state in states if found[state]}
