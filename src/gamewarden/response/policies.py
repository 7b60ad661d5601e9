"""A ladder on the past: who would have been touched day by day, and what another ladder would have done instead.

Nothing is decided here. Outcomes of challenges are those of the policy that was in force then: whom another ladder
would have asked, nobody knows the answers of.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import polars as pl

from gamewarden.cases import LADDER, Decision, NotTaken, Observation, Suspicion
from gamewarden.contracts import Progress, no_progress
from gamewarden.policy import WATCH
from gamewarden.response.grounds import reasons_in
from gamewarden.response.ladder import Case, Ladder, climb, ended
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
        """Whether more than watching would have followed."""
        return any(one.step != WATCH for one in self.decisions)


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
            (step != WATCH).any().alias("touched"),
            (step == "review").any().alias("review"),
            pl.col("first").filter(step != WATCH).min(),
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
        """One row per account that was touched or would have been by suspicion alone, the most suspicious first."""
        schema: dict[str, DataType] = {"actor": pl.String, "rung": pl.String, "suspicion": pl.Float64, "first": TIME}
        schema |= {"steps": pl.String, "because": pl.String}
        rows = [self._row(one) for one in self.accounts.values() if one.touched or one.not_taken]
        frame = pl.DataFrame(rows, schema=schema, orient="row").join(known, on="actor", how="left")
        shown = ("actor", "label", "style", "group", "rung", "suspicion", "first", "steps", "because")
        return frame.select(shown).sort("suspicion", "actor", descending=[True, False])

    def _row(self, one: Account) -> tuple[object, ...]:
        steps = [step for step in one.first() if step != WATCH]
        first = min((made.at for made in one.decisions if made.step != WATCH), default=None)
        told = [made for made in one.decisions if made.step != WATCH]
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
    """What a ladder would have decided at the end of each of these days, each account by itself.

    `met` says from when on an account is looked at; what was too old by then to carry a step counts nothing.
    """
    moments, found = tuple(sorted(set(days))), {}
    for actor in sorted(observations):
        progress(1)
        since = None if met is None else met.get(actor)
        seen = _not_too_old(ladder, counting(observations[actor]), since)
        if _is_left_alone(ladder, seen):
            continue
        looked_at = moments if since is None else moments[bisect_left(moments, since) :]
        account = _account(ladder, actor, seen, looked_at, on_call=actor in on_call)
        if account.rung or account.decisions:
            found[actor] = account
    return History(ladder, moments, found)


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


def _account(
    ladder: Ladder, actor: str, seen: Sequence[Observation], days: Sequence[datetime], *, on_call: bool
) -> Account:
    decisions: list[Decision] = []
    missed: dict[tuple[str, str], NotTaken] = {}
    highest, peak = 0, ladder.scale.prior
    known = Suspicion(actor, peak, 0, seen[0].at, seen[0].at, on_call=on_call)
    for now, so_far in _eventful(seen, days, decisions):
        found = climb(ladder, Case(actor, so_far, known, tuple(decisions)), now, rehearsal=True)
        highest, peak = max(highest, found.suspicion.rung), max(peak, found.suspicion.score)
        lifted = {one.id: why for one, why in found.lifted}
        decisions[:] = [ended(one, now, LADDER, lifted[one.id]) if one.id in lifted else one for one in decisions]
        decisions.extend(found.decisions)
        for one in found.not_taken:
            missed.setdefault((one.step, one.because), one)
    return Account(actor, highest, peak, tuple(decisions), tuple(missed.values()))


def _eventful(
    seen: Sequence[Observation], days: Sequence[datetime], decisions: Sequence[Decision]
) -> Iterator[tuple[datetime, Sequence[Observation]]]:
    """The days on which something is new about an account or a decision ends, with what is known of it by then."""
    known = 0
    for now in days:
        before = known
        while known < len(seen) and seen[known].at <= now:
            known += 1
        ends = any(one.undone_at is None and one.until is not None and one.until <= now for one in decisions)
        if known > before or ends:
            yield now, seen[:known]


def _taken(account: Account) -> Iterator[tuple[object, ...]]:
    times = Counter(one.step for one in account.decisions)
    for step, one in account.first().items():
        yield account.actor, step, one.rung, one.at, times[step]
