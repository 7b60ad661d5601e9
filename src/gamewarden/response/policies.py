"""A ladder on the past: who would have been touched day by day, and what another ladder would have done instead.

Nothing is decided here. Outcomes of challenges are those of the policy that was in force then: whom another ladder
would have asked, nobody knows the answers of.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import inf

import polars as pl

from gamewarden.cases import LADDER, Decision, NotTaken, Observation, Suspicion
from gamewarden.contracts import Progress, no_progress
from gamewarden.policy import INTERNAL, REVIEW, WATCH
from gamewarden.response.grounds import reasons_in
from gamewarden.response.ladder import Case, Ladder, climb, ended
from gamewarden.response.review_cases import places_left, ranked
from gamewarden.response.suspicion import counting
from gamewarden.tables import TIME, DataType

BOT, HUMAN, NOT_KNOWN = "bot", "human", "not known"
KNOWN: Mapping[str, DataType] = {"actor": pl.String, "label": pl.String, "style": pl.String, "group": pl.String}
_TAKEN: Mapping[str, DataType] = {
    "actor": pl.String,
    "step": pl.String,
    "rung": pl.Int64,
    "first": TIME,
    "times": pl.Int64,
}
_ONLY_A, _ONLY_B, _EARLIER, _LATER, _SAME = "only A", "only B", "earlier in B", "later in B", "as early"


@dataclass(frozen=True)
class Account:
    """What a ladder would have done with one account."""

    actor: str
    rung: int  # the highest it was on
    suspicion: float  # the highest
    decisions: tuple[Decision, ...]  # all that were ever taken, those that ended included
    not_taken: tuple[NotTaken, ...]  # each reason once

    def first(self) -> dict[str, Decision]:
        """The first decision on each step."""
        found: dict[str, Decision] = {}
        for one in self.decisions:
            found.setdefault(one.step, one)
        return found

    @property
    def touched(self) -> bool:
        """Whether a step would have followed that a player could feel."""
        return any(one.step not in INTERNAL for one in self.decisions)


@dataclass(frozen=True)
class History:
    """What a ladder would have done, by account; accounts that it left alone are only counted."""

    ladder: Ladder
    days: tuple[datetime, ...]
    accounts: Mapping[str, Account]

    @cached_property
    def taken(self) -> pl.DataFrame:
        """One row per account and step that was taken: on which rung, when first, and how often."""
        rows = (row for account in self.accounts.values() for row in _taken(account))
        return pl.DataFrame(list(rows), schema=dict(_TAKEN), orient="row")

    def by_step(self, known: pl.DataFrame) -> pl.DataFrame:
        """One row per step of the ladder: how many accounts, by what is known of them, and when first."""
        steps = {step: self.ladder.name(rung) for step, rung in self.ladder.first_rung.items()}
        order = pl.DataFrame({"step": list(steps), "rung": list(steps.values())}, schema_overrides={"step": pl.String})
        told = self.taken.drop("rung").join(known, on="actor", how="left")
        counts = [(pl.col("label") == label).sum().alias(name) for label, name in ((BOT, "bots"), (HUMAN, "humans"))]
        found = told.group_by("step").agg(
            pl.len().alias("accounts"), *counts, pl.col("first").min(), pl.col("times").sum().alias("decisions")
        )
        joined = order.join(found, on="step", how="left", maintain_order="left")
        counted = [pl.col(name).fill_null(0).cast(pl.Int64) for name in ("accounts", "bots", "humans", "decisions")]
        others = (pl.col("accounts") - pl.col("bots") - pl.col("humans")).alias(NOT_KNOWN)
        return joined.with_columns(counted).select(
            "step", "rung", "accounts", "bots", "humans", others, "first", "decisions"
        )

    def by(self, column: str, known: pl.DataFrame) -> pl.DataFrame:
        """One row per value of a column of `known`: accounts, and how many were watched, touched and reviewed."""
        marked = known.select("actor", pl.col(column).fill_null(NOT_KNOWN)).join(self._marks, on="actor", how="left")
        names = ("watched", "touched", "review")
        counts = [pl.col(name).fill_null(value=False).sum().cast(pl.Int64) for name in names]
        found = marked.group_by(column).agg(pl.len().cast(pl.Int64).alias("accounts"), *counts, pl.col("first").min())
        share = (pl.col("touched") / pl.col("accounts")).alias("share")
        return found.select(column, "accounts", *names, share, "first").sort(
            "touched", column, descending=[True, False]
        )

    @cached_property
    def _marks(self) -> pl.DataFrame:
        """Who was watched, touched and reviewed, and when first touched."""
        step = pl.col("step")
        return self.taken.group_by("actor").agg(
            (step == WATCH).any().alias("watched"),
            (~step.is_in(INTERNAL)).any().alias("touched"),
            (step == REVIEW).any().alias("review"),
            pl.col("first").filter(~step.is_in(INTERNAL)).min(),
        )

    def refused(self) -> pl.DataFrame:
        """One row per step and reason why it was not taken, and for how many accounts."""
        told = Counter(
            (step, reason)
            for account in self.accounts.values()
            for step, reason in {(one.step, why) for one in account.not_taken for why in reasons_in(one.because)}
        )
        rows = [(step, why, count) for (step, why), count in told.items()]
        schema = {"step": pl.String, "because": pl.String, "accounts": pl.Int64}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        return frame.sort("accounts", "step", "because", descending=[True, False, False])

    def listed(self, known: pl.DataFrame) -> pl.DataFrame:
        """One row per account with a review case or more, or that suspicion alone asked more for, by suspicion."""
        schema: dict[str, DataType] = {"actor": pl.String, "rung": pl.String, "suspicion": pl.Float64, "first": TIME}
        schema |= {"steps": pl.String, "because": pl.String}
        rows = [self._row(one) for one in self.accounts.values() if set(one.first()) - {WATCH} or one.not_taken]
        frame = pl.DataFrame(rows, schema=schema, orient="row").join(known, on="actor", how="left")
        shown = ("actor", "label", "style", "group", "rung", "suspicion", "first", "steps", "because")
        return frame.select(shown).sort("suspicion", "actor", descending=[True, False])

    def _row(self, one: Account) -> tuple[object, ...]:
        steps = [step for step in one.first() if step != WATCH]
        first = min((made.at for made in one.decisions if made.step != WATCH), default=None)
        felt = [made for made in one.decisions if made.step not in INTERNAL]
        told = felt or [made for made in one.decisions if made.step != WATCH and not one.not_taken]
        because = "; ".join(told[-1].because) if told else f"not taken: {one.not_taken[-1].because}"
        return one.actor, self.ladder.name(one.rung), one.suspicion, first, ", ".join(steps), because


def replay(
    ladder: Ladder,
    observations: Mapping[str, Sequence[Observation]],
    days: Iterable[datetime],
    *,
    met: Mapping[str, datetime] | None = None,
    on_call: Collection[str] = (),
    progress: Progress = no_progress,
) -> History:
    """What a ladder would have decided at the end of each of these days.

    `met` says from when on an account is looked at; what was too old by then to carry a step counts nothing.
    """
    moments, replayed = tuple(sorted(set(days))), []
    for actor in sorted(observations):
        since = None if met is None else met.get(actor)
        seen = _not_too_old(ladder, counting(observations[actor]), since)
        if _is_left_alone(ladder, seen):
            progress(1)
        else:
            replayed.append(_Replayed(ladder, actor, seen, since, on_call=actor in on_call))
    for now in moments:
        present = [one for one in replayed if one.since is None or one.since <= now]
        for one in present:
            one.look(now)
        _open_cases(ladder, present, now)
    progress(len(replayed))
    accounts = {one.actor: one.account for one in replayed if one.highest or one.decisions}
    return History(ladder, moments, accounts)


def difference(one: History, other: History) -> pl.DataFrame:
    """One row per account and step that ladders A and B do not take alike: who takes it, and how many hours later B."""
    key = ["actor", "step"]
    both = one.taken.select(*key, a="first").join(
        other.taken.select(*key, b="first"), on=key, how="full", coalesce=True
    )
    hours = ((pl.col("b") - pl.col("a")).dt.total_minutes() / 60).alias("hours")
    return both.with_columns(_how_they_differ(), hours).filter(pl.col("differs") != _SAME).sort("step", "differs", *key)


def difference_by_step(one: History, other: History) -> pl.DataFrame:
    """One row per step: accounts under A and under B, and how many of them only under one, earlier or later."""
    key = ["actor", "step"]
    both = one.taken.select(*key, a="first").join(
        other.taken.select(*key, b="first"), on=key, how="full", coalesce=True
    )
    words = (_ONLY_A, _ONLY_B, _EARLIER, _LATER, _SAME)
    counts = [(pl.col("differs") == word).sum().cast(pl.Int64).alias(word) for word in words]
    sides = [pl.col(name).count().cast(pl.Int64).alias(name.upper()) for name in ("a", "b")]
    told = both.with_columns(_how_they_differ()).group_by("step").agg(*sides, *counts)
    steps = list(dict.fromkeys([*one.ladder.first_rung, *other.ladder.first_rung]))
    order = pl.DataFrame({"step": steps}, schema={"step": pl.String})
    joined = order.join(told, on="step", how="left", maintain_order="left")
    return joined.with_columns(pl.col("A", "B", *words).fill_null(0))


def _how_they_differ() -> pl.Expr:
    a, b = pl.col("a"), pl.col("b")
    return (
        pl.when(b.is_null())
        .then(pl.lit(_ONLY_A))
        .when(a.is_null())
        .then(pl.lit(_ONLY_B))
        .when(b < a)
        .then(pl.lit(_EARLIER))
        .when(b > a)
        .then(pl.lit(_LATER))
        .otherwise(pl.lit(_SAME))
        .alias("differs")
    )


def _not_too_old(ladder: Ladder, seen: list[Observation], since: datetime | None) -> list[Observation]:
    return seen if since is None else [one for one in seen if one.at > since - ladder.evidence_for]


def _is_left_alone(ladder: Ladder, seen: Sequence[Observation]) -> bool:
    """Whether an account never leaves the ground: nothing speaks against it, and nobody starts on a rung."""
    enters = ladder.scale.enters
    return not enters or not seen or (ladder.scale.prior < enters[0] and all(one.llr <= 0 for one in seen))


@dataclass
class _Replayed:
    """One account while its past is replayed."""

    ladder: Ladder
    actor: str
    seen: Sequence[Observation]  # in the order of time
    since: datetime | None  # from when on it is looked at
    on_call: bool
    decisions: list[Decision] = field(default_factory=list)
    missed: dict[tuple[str, str], NotTaken] = field(default_factory=dict)
    suspicion: Suspicion | None = None
    highest: int = 0
    peak: float = -inf
    known: int = 0  # observations so far

    @property
    def account(self) -> Account:
        """What became of it."""
        peak = max(self.peak, self.ladder.scale.prior)
        return Account(self.actor, self.highest, peak, tuple(self.decisions), tuple(self.missed.values()))

    @property
    def cases(self) -> Iterator[Decision]:
        """Its review cases, open and ended."""
        return (one for one in self.decisions if one.step == REVIEW)

    def look(self, now: datetime) -> None:
        """Let the ladder decide where something is new about the account or a decision ends."""
        before = self.known
        while self.known < len(self.seen) and self.seen[self.known].at <= now:
            self.known += 1
        ends = any(one.undone_at is None and one.until is not None and one.until <= now for one in self.decisions)
        if self.known > before or ends:
            self.climb(now)

    def climb(self, now: datetime, *, among_first: bool = False) -> None:
        """Let the ladder decide, as if no person had looked at the account."""
        first = self.seen[0].at
        before = Suspicion(self.actor, self.ladder.scale.prior, 0, first, first, on_call=self.on_call)
        case = Case(self.actor, self.seen[: self.known], before, tuple(self.decisions), among_first=among_first)
        outcome = climb(self.ladder, case, now, rehearsal=True)
        self.suspicion = outcome.suspicion
        self.highest, self.peak = max(self.highest, self.suspicion.rung), max(self.peak, self.suspicion.score)
        lifted = {one.id: why for one, why in outcome.lifted}
        stand = [ended(one, now, LADDER, lifted[one.id]) if one.id in lifted else one for one in self.decisions]
        self.decisions = [*stand, *outcome.decisions]
        for one in outcome.not_taken:
            self.missed.setdefault((one.step, one.because), one)


def _open_cases(ladder: Ladder, accounts: Sequence[_Replayed], now: datetime) -> None:
    """Open the review cases of a day as deciding does; labelled accounts too, since they measure a ladder."""
    if ladder.review_by_rank is None:
        return
    by_name = {one.actor: one for one in accounts}
    cases = [case for one in accounts for case in one.cases]
    places = places_left(ladder, cases, now)
    for actor in ranked(ladder, (one.suspicion for one in accounts if one.suspicion is not None), cases):
        if places <= 0:
            return
        before = len(by_name[actor].decisions)
        by_name[actor].climb(now, among_first=True)
        places -= any(one.step == REVIEW for one in by_name[actor].decisions[before:])


def _taken(account: Account) -> Iterator[tuple[object, ...]]:
    times = Counter(one.step for one in account.decisions)
    for step, one in account.first().items():
        yield account.actor, step, one.rung, one.at, times[step]
