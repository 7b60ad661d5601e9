"""Deciding after judging: verdicts become evidence in the ledger, the ladder decides, and what follows is carried out.

Nothing is carried out that was not written down before, and everything that was decided can be taken back.
"""

import os
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

import polars as pl

from gamewarden.cases import (
    DONE,
    FAILED,
    LADDER,
    REHEARSED,
    STOPPED,
    UNCERTAIN,
    UNDO,
    VERDICT,
    Action,
    Decision,
    Exonerated,
    IndexedVerdict,
    Label,
    Observation,
    Suspicion,
)
from gamewarden.contracts import Progress, no_progress
from gamewarden.core.durations import from_micros, parse_span, to_micros
from gamewarden.core.files import make_directory, write_text
from gamewarden.core.text import counted
from gamewarden.errors import LedgerError, ReadError, ResponseError
from gamewarden.policy import REVIEW
from gamewarden.readers.logs.operator_tables import labels_in
from gamewarden.response.admitting import upper_bounds, upper_llrs, who_could_reach
from gamewarden.response.appeals import kept_out
from gamewarden.response.carrying import Carried, Carrier, resume, settle
from gamewarden.response.evidence import SUPERSEDED, observations_of
from gamewarden.response.persons import approve
from gamewarden.response.suspicion import suspicion_of
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.store.verdict_days import DaySeal
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.workspace.carrying_book import LedgerBook
from gamewarden.workspace.deciding import the_one
from gamewarden.workspace.person_acts import Wish, decide_all, take_back
from gamewarden.workspace.place import LEDGER_VARIABLE, Workspace
from gamewarden.workspace.reconciling import Reconciling, note_head, restored
from gamewarden.workspace.response_settings import record_settings
from gamewarden.workspace.settling import Settled, Settling, remember_judged_again

_DAY = "decided "  # the fact that says which bundle of a day was decided on begins so
_WORKSPACE = "workspace"  # the fact that says whose ledger it is
_BATCH = 5_000  # accounts whose suspicion is counted at once
_POLICY = "policy"  # the fact that says by which policy suspicion was counted
CANONICAL = pl.col("actor").str.replace(r"^0+([0-9]+)$", "$1")  # an account number as the ledger writes it


@dataclass(frozen=True)
class Decided:
    """What one step of deciding did."""

    days: int
    settled: Settled
    armed: bool

    def __str__(self) -> str:
        """In a line."""
        if not self.days and not (self.settled.decisions or self.settled.lifted):
            return "nothing new"
        steps = f"{counted(self.settled.decisions, 'step')} taken, {self.settled.lifted:,} lifted"
        held = f", {self.settled.not_taken:,} not carried by the evidence" if self.settled.not_taken else ""
        rehearsed = "" if self.armed else "; a rehearsal: nothing leaves gamewarden"
        return f"{counted(self.days, 'day')}, {self.settled.actors:,} accounts: {steps}{held}{rehearsed}"


@dataclass(frozen=True)
class CarriedOut:
    """What became of the actions that were due."""

    carried: Carried

    @property
    def troubles(self) -> tuple[str, ...]:
        """What somebody has to look at."""
        lost = self.carried.of(FAILED, STOPPED, UNCERTAIN)
        told = [f"{one.verb} {one.step} for {one.actor}: {one.state}, {one.error}" for one in lost[:3]]
        more = [f"and {len(lost) - 3:,} more"] if len(lost) > 3 else []  # noqa: PLR2004  enough to know what is wrong
        return (*told, *more, *([self.carried.halted] if self.carried.halted else []))

    @property
    def happened(self) -> bool:
        """Whether anything was to be carried out."""
        return bool(self.carried.actions or self.carried.held)

    def __str__(self) -> str:
        """In a line."""
        done = self.carried.of(DONE)
        back = sum(one.verb == UNDO for one in done)
        parts = {
            "carried out": len(done) - back,
            "taken back": back,
            "rehearsed": len(self.carried.of(REHEARSED)),
            "waiting": len(self.carried.held),
        }
        nothing = f"stopped: {self.carried.halted}" if self.carried.halted else "nothing to carry out"
        return ", ".join(f"{count:,} {what}" for what, count in parts.items() if count) or nothing


@dataclass(frozen=True)
class Responding:
    """The response of a workspace."""

    workspace: Workspace
    at: datetime

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger, made where there is none yet.

        Raises:
            LedgerError: it is another workspace's: each would carry out what the other decided.
        """
        if os.environ.get(LEDGER_VARIABLE):
            _claim(self.workspace, self.at)
        return self.workspace.ledger

    @cached_property
    def moment(self) -> datetime:
        """What counts as now; while rehearsing an old log, the newest moment of it that was judged."""
        newest = max((seal.until for seal in self._seals.values()), default=None)
        if newest is None or self.workspace.config.response.armed or self._in_earnest():
            return self.at
        return min(self.at, from_micros(newest))

    def _in_earnest(self) -> bool:
        """Whether something stands that was meant to be carried out: it ends by the clock on the wall."""
        return bool(self.ledger.find(Decision, rehearsal=False, undone_at=None, newest=1))

    @cached_property
    def settling(self) -> Settling:
        """The policy."""
        return Settling(self.workspace.config, self.workspace.root, self.moment)

    def record_settings(self) -> None:
        """Write into the audit what has changed in the settings since they were last used.

        Raises:
            LedgerError: the ledger cannot be written.
        """
        record_settings(self.ledger, self.workspace.config, self.at, self.workspace.settings)

    def decide(self, progress: Progress = no_progress) -> Decided:
        """Take in the verdicts that are new, and let the ladder decide about everybody whom they touch.

        Raises:
            LedgerError: the ledger cannot be read or written.
            ReadError: verdicts that rest are missing or damaged.
        """
        settling = self.settling
        self.record_settings()
        with self.ledger.writing(LADDER, self.at) as work:
            if work.fact(_POLICY) != settling.ladder.digest:
                settling.count_again(work)
                work.remember(_POLICY, settling.ladder.digest)
            recent = self._recent()  # read now: another process may have judged and decided while this one waited
            due = [seal for seal in recent if work.fact(_DAY + seal.day) != seal.bundle]
            touched = set(self._expired(work))
            known, reviewed = {one.actor for one in work.find(Suspicion)}, self._reviewed(work)
            touched |= {one.actor for one in work.find(Decision, step=REVIEW, by=LADDER, undone_at=None)} & reviewed
            new = self._suspected(due, recent, known | reviewed, progress) - known
            for seal in recent:
                touched |= self._observe(work, seal, known | new if seal in due else new, due=seal in due)
            remember_judged_again(work, past_days_judged_again(self.workspace.verdicts.seals()))
            settled = settling.settle(work, touched) + settling.open_cases(work, reviewed)
        return Decided(len(due), settled, self.workspace.config.response.armed)

    def carry(self) -> "CarriedOut":
        """Carry out what is due, as far as the settings allow, and take back what is over.

        A ledger that is older than its last run carries out nothing.

        Raises:
            LedgerError: the ledger cannot be read or written.
        """
        self.record_settings()
        carrier = Carrier(self.workspace.config.response, self.settling.ways, LedgerBook(self.ledger))
        if (why := restored(self.workspace)) is not None:
            return CarriedOut(Carried(halted=why))
        try:
            return CarriedOut(carrier.carry(self.at))  # by the clock on the wall: nothing of a rehearsal leaves
        finally:
            note_head(self.workspace)

    @property
    def reconciling(self) -> Reconciling:
        """The ledger and the game side by side."""
        return Reconciling(self.workspace, self.settling.ways, self.at)

    def by_person(
        self, actor: str, step: str, *, by: str, because: str, span: timedelta | None
    ) -> tuple[Decision, tuple[str, ...]]:
        """What a person decides, and what speaks against it; without a span it holds until it is taken back.

        Raises:
            ResponseError: nobody signs it, or no reason is given.
            LedgerError: the ledger cannot be written.
        """
        self.record_settings()
        with self.ledger.writing(by, self.at) as work:
            made = decide_all(work, self.settling, [actor], Wish(step, by, because, span))
        if not made:
            raise ResponseError(f"decide: just this was decided before about {actor!r}; `decisions list` shows it")
        return made[0].decision, made[0].warnings

    def undo(self, name: str, *, by: str, because: str) -> Decision:
        """Take a decision back; `carry` undoes what was carried out of it.

        Raises:
            ResponseError: there is none of this name, it no longer stands, or nobody signs.
            LedgerError: the ledger cannot be written.
        """
        found = the_one(self.ledger, Decision, name)
        if found.undone_at is not None:
            raise ResponseError(f"decision {found.id}: ended on {found.undone_at:%Y-%m-%d}; there is nothing to undo")
        with self.ledger.writing(by, self.at) as work:
            return take_back(work, [found], self.moment, by=by, because=because).decisions[0]

    def approve(self, name: str, *, by: str, not_before: datetime | None = None) -> Decision:
        """Let a decision count that waits for a second person; nothing of it leaves before a moment.

        Raises:
            ResponseError: there is none of this name, it waits for nobody, or the same person would approve.
            LedgerError: the ledger cannot be written.
        """
        found = the_one(self.ledger, Decision, name)
        new = approve(self.workspace.config.response, found, by, self.moment)
        self.record_settings()
        with self.ledger.writing(by, self.at) as work:
            work.change(found, new)
            self.settling.send(work, [new], not_before=not_before)
        return new

    def settle(self, name: str, *, happened: bool, by: str) -> Action:
        """Say what became of an action that nobody knows the end of.

        Raises:
            ResponseError: there is none of this name, or its end is known.
        """
        found = the_one(self.ledger, Action, name)
        return settle(LedgerBook(self.ledger), found.id, by, self.at, happened=happened)

    def resume(self, *, by: str) -> str | None:
        """Let actions leave again after a breaker stopped them; why they were stopped.

        Raises:
            ResponseError: nobody signs for it.
        """
        return resume(LedgerBook(self.ledger), by, self.at)

    @cached_property
    def _seals(self) -> dict[str, DaySeal]:
        return self.workspace.verdicts.current()

    def _recent(self) -> list[DaySeal]:
        """The days that are not too old to count."""
        oldest = to_micros(self.moment - timedelta(microseconds=self._evidence_for))
        return [seal for seal in self.workspace.verdicts.current().values() if seal.until > oldest]

    def _suspected(
        self, due: Sequence[DaySeal], recent: Sequence[DaySeal], looked_at: Collection[str], progress: Progress
    ) -> set[str]:
        """Who reaches a point on a new day and by all recent days could reach the first rung, and the most suspicious.

        Of the others only as many are taken in as a day has review cases, and nobody of `looked_at`.
        """
        pointed: set[str] = set()
        llrs = []
        for seal in recent if due else ():
            verdicts = self._verdicts(seal, columns=("actor", "point", "probability", "fpr"))
            llrs.append(upper_llrs(verdicts, self._bots(seal)).filter(pl.col("llr") > 0))
            if seal in due:
                pointed |= set(verdicts.filter(pl.col("point").is_in([WATCH, ACT]))["actor"].to_list())
                progress(seal.verdicts)
        if not llrs:
            return set()
        scale, evidence = self.settling.ladder.scale, pl.concat(llrs)
        others = upper_bounds(evidence.filter(~pl.col("actor").is_in({*looked_at, *pointed})), scale)
        return pointed & who_could_reach(evidence, scale) | self._most_suspicious(others, recent)

    def _most_suspicious(self, bounds: pl.DataFrame, recent: Sequence[DaySeal]) -> set[str]:
        """As many of these actors as a day has review cases; `bounds` have the highest possible suspicion first."""
        ladder, most = self.settling.ladder, self.workspace.config.response.cases_per_day
        if ladder.review_by_rank is None or not most:
            return set()
        least = max(ladder.scale.prior, ladder.scale.enters[ladder.review_by_rank - 1])
        scores: dict[str, float] = {}
        for batch in bounds.filter(pl.col("bound") > least).iter_slices(_BATCH):
            best = sorted(scores.values(), reverse=True)[:most]
            if len(best) == most and best[-1] >= batch["bound"][0]:
                break
            scores |= self._scores(batch["actor"].to_list(), recent)
        first = sorted(scores, key=lambda actor: (-scores[actor], actor))[:most]
        return {actor for actor in first if scores[actor] > least}

    def _scores(self, actors: Collection[str], recent: Sequence[DaySeal]) -> dict[str, float]:
        """The suspicion of actors by what recent days say of them."""
        found: dict[str, list[Observation]] = {}
        for seal in recent:
            for one in observations_of(self._verdicts(seal, actors=actors), self._bots(seal)):
                found.setdefault(one.actor, []).append(one)
        scale = self.settling.ladder.scale
        return {actor: suspicion_of(scale, actor, seen, at=self.moment).score for actor, seen in found.items()}

    def _reviewed(self, work: Writing) -> set[str]:
        """On whom a person has voted, and who is known by the operator's own file, as far as that can be read."""
        known, file = {one.actor for one in work.find(Label)}, self.workspace.labels_file
        if file is not None:
            # Other steps report a file that cannot be read; here it would keep steps from ending.
            with suppress(ReadError):
                known.update(labels_in(file, self.workspace.time_zone)["actor"].to_list())
        return known

    @property
    def _evidence_for(self) -> int:
        return parse_span(self.workspace.config.response.evidence_for)

    def _expired(self, work: Writing) -> Iterator[str]:
        """Whose steps end now; once armed, also those of rehearsals."""
        yield from (one.actor for one in work.find(Decision, undone_at=None, at_most={"until": self.moment}))
        if self.workspace.config.response.armed:
            yield from (one.actor for one in work.find(Decision, undone_at=None, rehearsal=True, by=LADDER))

    def _observe(self, work: Writing, seal: DaySeal, actors: Collection[str], *, due: bool) -> set[str]:
        """Take in what a day says of actors: for them and against them, whether or not they reach a point on it."""
        if not actors and not due:
            return set()
        verdicts = self._verdicts(seal, actors=actors)
        found = kept_out(observations_of(verdicts, self._bots(seal)), work.find(Exonerated))
        gone = _superseded(work, found, seal) if due else []
        work.put([replace(one, excluded=SUPERSEDED) for one in gone])
        work.put(_back_again(work, found))
        work.add(found)
        kept = verdicts.filter(pl.col("verdict").is_not_null())
        work.add([_indexed(row, seal) for row in kept.iter_rows(named=True)])
        work.remember(_DAY + seal.day, seal.bundle)
        return {one.actor for one in (*found, *gone)}

    def _verdicts(
        self, seal: DaySeal, actors: Collection[str] | None = None, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """The verdicts of a day, without those of whoever was forgotten."""
        store = self.workspace.verdicts
        if self.workspace.account_numbers and actors is not None:
            written = store.table(seal, columns=("actor",))
            actors = written.filter(CANONICAL.is_in(list(actors)))["actor"].to_list()
        found = store.table(seal, columns=columns, actors=actors).filter(~pl.col("actor").is_in(store.stubs(seal)))
        if self.workspace.account_numbers:
            found = found.with_columns(actor=CANONICAL)
        return found.filter(~pl.col("actor").str.contains("\0", literal=True))  # no database keeps such a name

    def _bots(self, seal: DaySeal) -> float:
        """The share of bots that the probabilities of a day suppose."""
        return float(self.workspace.verdicts.facts(seal)["rules"]["bots"])


def past_days_judged_again(seals: Sequence[DaySeal]) -> list[tuple[int, int]]:
    """Begin and end of the days that were sealed again in a run that knew of a later day, or by other rules alone.

    The newest day is none of them where its data changed. The same data under the same rules give the same verdicts.
    """
    latest, newest = 0, dict[str, int]()  # by when it was judged: all days of a run have one time
    for seal in seals:
        latest = max(latest, seal.until)
        newest[seal.at] = latest
    again, rested_on = set[tuple[int, int]](), defaultdict[str, dict[str, set[str]]](dict)  # by day: rules by content
    for seal in seals:
        earlier = rested_on[seal.day]
        past = seal.until < newest[seal.at] or seal.content in earlier
        if earlier and past and seal.rules not in earlier.get(seal.content, ()):
            again.add((seal.since, seal.until))
        earlier.setdefault(seal.content, set()).add(seal.rules)
    return sorted(again)


def _claim(workspace: Workspace, at: datetime) -> None:
    """A ledger that the environment names belongs to the workspace that first decided in it."""
    path = workspace.results / "ledger.id"
    mine = path.read_text(encoding="utf-8").strip() if path.is_file() else None
    theirs = workspace.ledger.fact(_WORKSPACE)
    if theirs is not None and theirs == mine:
        return
    if theirs is not None:
        raise LedgerError(
            f"{workspace.ledger.name}: is the ledger of another workspace; name another in {LEDGER_VARIABLE}, or, if "
            f"this workspace was set up anew, bring its {path.name} back into {path.parent}"
        )
    name = mine or secrets.token_hex(8)
    make_directory(path.parent)
    write_text(path, f"{name}\n")
    with workspace.ledger.writing(LADDER, at) as work:
        work.remember(_WORKSPACE, name)


def _back_again(work: Writing, found: Sequence[Observation]) -> list[Observation]:
    """Evidence that was superseded and is what the day says after all."""
    known = {one.id for one in work.find(Observation, id=[one.id for one in found], excluded=SUPERSEDED)}
    return [one for one in found if one.id in known]


def _superseded(work: Writing, found: Sequence[Observation], seal: DaySeal) -> list[Observation]:
    """Evidence of the same day that no longer counts because it was judged again."""
    kept = {one.id for one in found}
    since, until = {"since": from_micros(seal.since)}, {"until": from_micros(seal.until)}
    known = work.find(Observation, kind=VERDICT, excluded=None, at_least=since, at_most=until)
    return [one for one in known if one.id not in kept]


def _indexed(row: dict[str, object], seal: DaySeal) -> IndexedVerdict:
    names = ("verdict", "actor", "since", "until", "probability", "fpr", "point")
    return IndexedVerdict(day=seal.day, bundle=seal.bundle, **{name: row[name] for name in names})  # type: ignore[arg-type]
