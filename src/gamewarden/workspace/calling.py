"""Humans on call, looked for in what rests of packets and events around the challenges that were passed.

Who is found is marked in the ledger: further passes then lower suspicion no further than to being watched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

import polars as pl

from gamewarden.cases import PASSED, Challenge, Exonerated, Suspicion
from gamewarden.contracts import Feature, digest
from gamewarden.core.durations import DAY, to_micros
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.self_similarity.rolling import rolling
from gamewarden.features.self_similarity.windows import windows_of
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.learning.label_sources import agreed_on
from gamewarden.pipeline.measuring import feature_of
from gamewarden.policy import ChallengeSettings
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.response.challenges.waiting import span
from gamewarden.response.on_call import CallBack, on_call
from gamewarden.store.lake import Lake
from gamewarden.store.lake_events import LakeEvents
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.store.partitions import Partition
from gamewarden.workspace.challenging import Settle, settle_later
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import recipe_of

WHO = "on call"  # who says so, for the audit
PACKETS, LOGS = "packets", "events"
_GONE = "no challenge that was passed counts any more"
_RARE = 0.95  # a span looks like a bot's where so many of the known humans' spans are less alike
_HUMANS = (10, 40)  # known humans of a day: with fewer nothing is said, and more are not needed


@dataclass(frozen=True)
class Calls:
    """Who is called for tests, as packets or events show."""

    family: str
    found: CallBack


@dataclass(frozen=True)
class Calling:
    """The humans on call of a workspace."""

    workspace: Workspace
    now: datetime
    settle: Settle = settle_later

    def look(self) -> list[Calls]:
        """Look for them, mark them in the ledger, and take the mark from whom it no longer rests on anything.

        Raises:
            ReadError: what rests is damaged.
            LedgerError: the ledger cannot be written.
        """
        if not self.workspace.has_ledger:
            return []
        challenges = self._passed()
        calls = [*self._by_packets(challenges), *self._by_events(challenges)] if challenges else []
        self._mark(calls, {one.actor for one in challenges})
        return calls

    @property
    def _ledger(self) -> Ledger:
        return self.workspace.ledger

    def _passed(self) -> list[Challenge]:
        """The challenges that count: passed not too long ago, and after the account was last cleared."""
        since = self.now - span(self.workspace.config.response.evidence_for)
        cleared = {one.actor: one.at for one in self._ledger.find(Exonerated, order=("at",))}
        found = self._ledger.find(Challenge, state=PASSED, at_least={"ended": since}, order=("ended",))
        return [one for one in found if one.ended is not None and one.ended > cleared.get(one.actor, since)]

    def _mark(self, calls: Sequence[Calls], passed: set[str]) -> None:
        seen = {one.found.actor: one for one in calls}
        with self._ledger.writing(WHO, self.now) as work:
            for old in work.find(Suspicion, actor={*seen, *(one.actor for one in work.find(Suspicion, on_call=True))}):
                is_called = old.actor in seen or (old.on_call and old.actor in passed)
                if is_called != old.on_call:
                    work.change(old, replace(old, on_call=is_called))
                    said = {"on_call": is_called, "because": str(seen[old.actor].found) if is_called else _GONE}
                    work.audit("human on call", old.actor, {"on_call": old.on_call}, said)
                    self.settle(work, {old.actor})

    @cached_property
    def _features(self) -> list[Feature]:
        return [feature_of(model.feature) for model in self.workspace.models_in_force()]

    def _by_packets(self, challenges: Sequence[Challenge]) -> Iterator[Calls]:
        """From the windows of the traffic test that rest, as the model in force measures them."""
        actors = sorted({one.actor for one in challenges})
        for feature in [one for one in self._features if isinstance(one, TrafficTest)][:1]:
            parts = self.workspace.parts(self.now)
            table = parts.rest.features(recipe_of(feature))
            rows = table.table(self._near(parts.partitions(feature), challenges), actors=actors)
            if rows.height:
                yield from (Calls(PACKETS, one) for one in on_call(self._settings, rows, challenges))

    def _near(self, partitions: Sequence[Partition], challenges: Sequence[Challenge]) -> list[Partition]:
        """What is about a time around a challenge."""
        reach = span(self._settings.on_call_reach)
        times = [(to_micros(one.issued - reach), to_micros(one.expires + reach)) for one in challenges]
        return [one for one in partitions if any(one.since < end and one.until > begin for begin, end in times)]

    def _by_events(self, challenges: Sequence[Challenge]) -> Iterator[Calls]:
        """From the self-similarity of short spans, against those of the humans who are known, day by day."""
        recipes = [one for one in self._features if isinstance(one, SelfSimilarity) and one.entity == "actor"]
        if not recipes or not Lake.is_at(self.workspace.lake):
            return
        days = sorted({to_micros(one.issued) // DAY for one in challenges})
        parts = [self._day(recipes[0], day, challenges) for day in days]
        windows = [one for one in parts if one is not None]
        if windows:
            yield from (Calls(LOGS, one) for one in on_call(self._settings, pl.concat(windows), challenges))

    def _day(self, recipe: SelfSimilarity, day: int, challenges: Sequence[Challenge]) -> pl.DataFrame | None:
        """The spans of those who were tested on a day, bot-like where few spans of known humans are so alike."""
        tested = {one.actor for one in challenges if to_micros(one.issued) // DAY == day}
        wanted = self._events.between(day * DAY, (day + 1) * DAY).of([*tested, *self._humans])
        there = {name for batch in wanted.batches(["actor"]) for name in batch.column(0).unique().to_pylist()}
        spans = {one: rolling(table) for one, table in windows_of(recipe, wanted, sorted(there)).items()}
        known = [spans[one]["self_sim"] for one in self._humans if one in there and spans[one].height]
        mine = [part.with_columns(pl.lit(one).alias("actor")) for one, part in spans.items() if one in tested]
        if len(known) < _HUMANS[0] or not mine:
            return None
        border = pl.concat(known).quantile(_RARE)
        return pl.concat(mine).select("actor", "since", "until", bot=pl.col("self_sim") >= border)

    @cached_property
    def _events(self) -> LakeEvents:
        return self.workspace.days(self.now).events

    @cached_property
    def _humans(self) -> list[str]:
        """Some of those who are known to be human, always the same ones."""
        labels = self.workspace.labels
        if labels is None or (isinstance(labels, Path) and not labels.is_file()):
            return []
        frame = read_labels(labels, self.workspace.time_zone).frame
        return sorted(agreed_on(frame).filter(~pl.col("bot"))["actor"].unique().to_list(), key=digest)[: _HUMANS[1]]

    @property
    def _settings(self) -> ChallengeSettings:
        return self.workspace.config.challenge
