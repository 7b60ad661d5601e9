"""What was seen, said, decided and done about an account, in the order of time; and how its suspicion added up."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from gamewarden.cases import (
    Action,
    Appeal,
    Challenge,
    Decision,
    Exonerated,
    Label,
    NotTaken,
    Observation,
    Protected,
    Suspicion,
)
from gamewarden.desk.account import refuse_unknown
from gamewarden.desk.desk import Desk
from gamewarden.desk_records import Note, Review
from gamewarden.errors import ResponseError
from gamewarden.response.suspicion import Moment, Scale, path

if TYPE_CHECKING:
    from gamewarden.store.ledger.ledger import Ledger

LONGEST_NOTE = 4_000  # letters


@dataclass(frozen=True)
class Event:
    """Something that happened to an account's case."""

    at: datetime
    kind: str  # observation, decision, undone, not-taken, action, challenge, challenge-ended, appeal, appeal-decided,
    # exonerated, protected, label, vote, note
    title: str  # a word of ours for it: the step, the state, the outcome …
    by: str = ""
    says: tuple[str, ...] = ()  # sentences, and what people wrote
    ref: str = ""  # its id
    until: datetime | None = None
    rehearsal: bool = False
    undo: str = ""  # the decision that can still be taken back


@dataclass(frozen=True)
class SuspicionMoment:
    """How suspicious the account was right after an observation."""

    at: datetime
    score: float  # log-odds
    rung: int
    kind: str  # of the observation
    llr: float
    ref: str


@dataclass(frozen=True)
class RungBorder:
    """From which suspicion on a rung is entered."""

    name: str
    enter: float


@dataclass(frozen=True)
class Timeline:
    """All of it."""

    actor: str
    events: tuple[Event, ...]  # the latest first
    suspicion: tuple[SuspicionMoment, ...]
    rungs: tuple[RungBorder, ...]
    blind: bool = False


def timeline(desk: Desk, actor: str, *, blind: bool = False, reader: str = "") -> Timeline:
    """What happened; blind, only what the reader wrote down: all else is what models or others say.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    if not desk.workspace.has_ledger:
        return Timeline(actor, (), (), (), blind)
    ledger = desk.workspace.ledger
    if blind:
        return Timeline(actor, _latest_first(_notes(ledger, actor, reader)), (), (), blind=True)
    config = desk.workspace.config
    seen = ledger.find(Observation, actor=actor)
    known = ledger.find(Suspicion, actor=actor)
    moments = path(Scale.of(config.response, config.ladder), seen, on_call=bool(known and known[0].on_call))
    rungs = tuple(RungBorder(one.name, one.enter) for one in config.ladder)
    told = (
        *_observed(seen),
        *_decided(ledger, actor, desk.now()),
        *_asked(ledger, actor),
        *_appealed(ledger, actor),
        *_said(ledger, actor),
        *_notes(ledger, actor),
    )
    return Timeline(actor, _latest_first(told), tuple(map(_moment, moments)), rungs)


def add_note(desk: Desk, actor: str, by: str, text: str) -> Note:
    """Keep what somebody writes about an account.

    Raises:
        NotThereError: nothing is known of the account.
        ResponseError: nothing is written, or too much.
        LedgerError: the ledger cannot be written.
    """
    written = text.strip()
    if not written or len(written) > LONGEST_NOTE:
        raise ResponseError(f"note: {len(written):,} letters; write 1 to {LONGEST_NOTE:,}")
    refuse_unknown(desk, actor)
    note = Note(uuid4().hex[:16], actor, by, desk.now(), written)
    with desk.workspace.ledger.writing(by, note.at) as work:
        work.add([note])
    return note


def _latest_first(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda one: (one.at, one.kind, one.ref), reverse=True))


def _moment(moment: Moment) -> SuspicionMoment:
    seen = moment.observation
    return SuspicionMoment(seen.at, moment.score, moment.rung, seen.kind, seen.llr, seen.ref)


def _observed(seen: Iterable[Observation]) -> Iterator[Event]:
    for one in seen:
        why = () if one.excluded is None else (f"It no longer counts: {one.excluded}.",)
        says = (f"log likelihood ratio {one.llr:+.2f}", *why)
        yield Event(one.at, "observation", one.kind, says=says, ref=one.ref)


def _decided(ledger: "Ledger", actor: str, now: datetime) -> Iterator[Event]:
    for one in ledger.find(Decision, actor=actor):
        open_still = one.undone_at is None and (one.until is None or one.until > now or one.rehearsal)
        undo, says = one.id if open_still else "", one.because
        yield Event(
            at=one.at,
            kind="decision",
            title=one.step,
            by=one.by,
            says=says,
            ref=one.id,
            until=one.until,
            rehearsal=one.rehearsal,
            undo=undo,
        )
        if one.undone_at is not None:
            because = (one.undone_because,) if one.undone_because else ()
            yield Event(one.undone_at, "undone", one.step, one.undone_by or "", because, one.id)
    for held in ledger.find(NotTaken, actor=actor):
        yield Event(held.at, "not-taken", held.step, says=(held.because,))
    for act in ledger.find(Action, actor=actor):
        says = (act.error,) if act.error else ()
        yield Event(act.changed or act.due, "action", f"{act.verb} {act.step}: {act.state}", act.adapter, says, act.id)


def _asked(ledger: "Ledger", actor: str) -> Iterator[Event]:
    for one in ledger.find(Challenge, actor=actor):
        yield Event(one.issued, "challenge", one.kind, ref=one.id, until=one.expires)
        if one.ended is not None:
            yield Event(one.ended, "challenge-ended", one.state, ref=one.id)


def _appealed(ledger: "Ledger", actor: str) -> Iterator[Event]:
    for one in ledger.find(Appeal, actor=actor):
        yield Event(one.opened, "appeal", "opened", one.opened_by, (one.text,), one.id)
        if one.decided is not None:
            because = (one.because,) if one.because else ()
            yield Event(one.decided, "appeal-decided", one.outcome or "", one.decided_by or "", because, one.id)
    for freed in ledger.find(Exonerated, actor=actor):
        yield Event(freed.at, "exonerated", "exonerated", ref=freed.appeal)


def _said(ledger: "Ledger", actor: str) -> Iterator[Event]:
    for one in ledger.find(Label, actor=actor):
        votes = tuple(f"{rater}: {'bot' if bot else 'human'}" for rater, bot in sorted(one.votes.items()))
        says = (*votes, *((one.because,) if one.because else ()))
        yield Event(one.at, "label", "bot" if one.bot else "human", one.by, says, one.source)
    for vote in ledger.find(Review, actor=actor, undone_at=None):
        yield Event(vote.at, "vote", vote.says, vote.rater, (vote.note,) if vote.note else (), vote.id)
    for guarded in ledger.find(Protected, actor=actor):
        yield Event(guarded.at, "protected", "protected", guarded.by, (guarded.because,), until=guarded.until)


def _notes(ledger: "Ledger", actor: str, reader: str | None = None) -> Iterator[Event]:
    for one in ledger.find(Note, actor=actor):
        if reader in {None, one.by}:
            yield Event(one.at, "note", "note", one.by, (one.text,), one.id)
