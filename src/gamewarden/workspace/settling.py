"""What the ladder says of some actors, written into the ledger within one transaction: all of it or nothing."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from gamewarden.cases import LADDER, Action, Appeal, Decision, Label, Observation, Protected, Suspicion
from gamewarden.config import Config
from gamewarden.contracts import canonical_json
from gamewarden.core.durations import from_micros
from gamewarden.policy import REVIEW
from gamewarden.response.actions import actions_of
from gamewarden.response.adapters import Ways, ways_of
from gamewarden.response.ladder import Case, Ladder, climb, ended
from gamewarden.response.review_cases import places_left, ranked
from gamewarden.response.suspicion import suspicion_of
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.workspace.carrying_book import LedgerPage
from gamewarden.workspace.pushed import named_sources

_JUDGED_AGAIN = "judged again"  # the fact that names past days whose verdicts replace earlier ones


@dataclass(frozen=True)
class Settled:
    """How much was decided."""

    actors: int = 0
    decisions: int = 0
    lifted: int = 0
    not_taken: int = 0

    def __add__(self, more: "Settled") -> "Settled":
        """Both together, of the same accounts."""
        decisions, lifted = self.decisions + more.decisions, self.lifted + more.lifted
        return Settled(self.actors, decisions, lifted, self.not_taken + more.not_taken)


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
        return ways_of(self.config.adapters, self.root, named_sources(self.config, self.root))

    @property
    def rehearsal(self) -> bool:
        """Whether nothing leaves."""
        return not self.config.response.armed

    def settle(self, work: Writing, actors: Collection[str]) -> Settled:
        """Let the ladder decide about actors anew, and write down what it says."""
        if not actors:
            return Settled()
        return self._settle(work, cases_of(work, actors))

    def count_again(self, work: Writing) -> None:
        """Count suspicion by this policy: rungs of another one have other numbers. Nothing is decided."""
        known = {one.actor: one for one in work.find(Suspicion)}
        scale = self.ladder.scale
        work.put(
            [
                suspicion_of(scale, case.actor, case.observations, at=old.as_of, on_call=old.on_call)
                for case in cases_of(work, known)
                if (old := known[case.actor])
            ]
        )

    def open_cases(self, work: Writing, reviewed: Collection[str]) -> Settled:
        """Open review cases for the most suspicious accounts that nobody has reviewed, as many as a day has places."""
        if self.ladder.review_by_rank is None:
            return Settled()
        earlier = work.find(Decision, step=REVIEW)
        waiting = ranked(self.ladder, work.find(Suspicion), earlier, reviewed)
        places, settled = places_left(self.ladder, earlier, self.moment), Settled()
        while waiting and places > 0:
            cases = [replace(case, among_first=True) for case in cases_of(work, waiting[:places])]
            settled += self._settle(work, cases)
            waiting = waiting[places:]
            places = places_left(self.ladder, work.find(Decision, step=REVIEW), self.moment)
        return settled

    def _settle(self, work: Writing, cases: Sequence[Case]) -> Settled:
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


def remember_judged_again(work: Writing, days: Sequence[tuple[int, int]]) -> None:
    """Keep in the ledger which past days were judged again: begin and end in microseconds."""
    if work.fact(_JUDGED_AGAIN) != (told := canonical_json(days)) and days:
        work.remember(_JUDGED_AGAIN, told)


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
    again = [(from_micros(since), from_micros(until)) for since, until in json.loads(work.fact(_JUDGED_AGAIN) or "[]")]
    looks: dict[str, datetime] = {}
    for actor, at in _looks(work, actors, decisions):
        looks[actor] = max(at, looks.get(actor, at))
    return [
        Case(
            actor,
            observations[actor],
            suspicions.get(actor),
            decisions[actor],
            protected.get(actor),
            again,
            looks.get(actor),
        )
        for actor in sorted(actors)
    ]


def _looks(
    work: Ledger | Writing, actors: Collection[str], decisions: Mapping[str, Sequence[Decision]]
) -> Iterator[tuple[str, datetime]]:
    """When people looked at actors: they voted, decided, took a decision back, or decided an appeal."""
    yield from ((one.actor, one.at) for one in work.find(Label, actor=actors))
    yield from ((one.actor, one.decided) for one in work.find(Appeal, actor=actors) if one.decided is not None)
    for one in (one for own in decisions.values() for one in own):
        if one.by != LADDER:
            yield one.actor, one.at
        if one.undone_at is not None and one.undone_by != LADDER:
            yield one.actor, one.undone_at
