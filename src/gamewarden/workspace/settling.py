"""What the ladder says of some actors, written into the ledger within one transaction: all of it or nothing."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from gamewarden.cases import LADDER, Action, Decision, Observation, Protected, Suspicion
from gamewarden.config import Config
from gamewarden.response.actions import actions_of
from gamewarden.response.adapters import Ways, ways_of
from gamewarden.response.ladder import Case, Ladder, climb, ended
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.workspace.carrying_book import LedgerPage


@dataclass(frozen=True)
class Settled:
    """How much was decided."""

    actors: int = 0
    decisions: int = 0
    lifted: int = 0
    not_taken: int = 0


@dataclass(frozen=True)
class Settling:
    """The policy of a workspace, applied to its ledger."""

    config: Config
    root: Path
    moment: datetime  # what counts as now: while rehearsing the newest moment that was judged

    @cached_property
    def ladder(self) -> Ladder:
        """The policy."""
        return Ladder.of(self.config)

    @cached_property
    def ways(self) -> Ways:
        """The adapters."""
        return ways_of(self.config.adapters, self.root)

    @property
    def rehearsal(self) -> bool:
        """Whether nothing leaves."""
        return not self.config.response.armed

    def settle(self, work: Writing, actors: Collection[str]) -> Settled:
        """Let the ladder decide about actors anew, and write down what it says."""
        if not actors:
            return Settled()
        cases = cases_of(work, actors)
        outcomes = [climb(self.ladder, case, self.moment, rehearsal=self.rehearsal) for case in cases]
        work.put([one.suspicion for one in outcomes])
        new = work.add([decision for one in outcomes for decision in one.decisions])
        self.send(work, new)
        lifted = [(decision, why) for one in outcomes for decision, why in one.lifted]
        for decision, why in lifted:
            work.change(decision, ended(decision, self.moment, LADDER, why))
        missed = [step for one in outcomes for step in one.not_taken]
        work.put(missed)
        return Settled(len(outcomes), len(new), len(lifted), len(missed))

    def send(self, work: Writing, decisions: Iterable[Decision], *, not_before: datetime | None = None) -> list[Action]:
        """Put decisions on their way, each with its wave, none before a moment; what waits for approval stays."""
        secret = LedgerPage(work).secret()
        counting = [one for one in decisions if one.waits_for is None]
        actions = [action for one in counting for action in actions_of(one, self.ways, self.config.response, secret)]
        return work.add([one if not_before is None else replace(one, due=max(one.due, not_before)) for one in actions])


def cases_of(work: Ledger | Writing, actors: Collection[str]) -> list[Case]:
    """All that the ledger knows of actors, what no longer counts or stands included, in their order."""
    observations: dict[str, list[Observation]] = defaultdict(list)
    for one in work.find(Observation, actor=actors, order=("actor", "at")):
        observations[one.actor].append(one)
    decisions: dict[str, list[Decision]] = defaultdict(list)
    for decision in work.find(Decision, actor=actors, order=("at",)):
        decisions[decision.actor].append(decision)
    suspicions = {one.actor: one for one in work.find(Suspicion, actor=actors)}
    protected = {one.actor: one for one in work.find(Protected, actor=actors)}
    return [
        Case(actor, observations[actor], suspicions.get(actor), decisions[actor], protected.get(actor))
        for actor in sorted(actors)
    ]
