"""What people at the desk do to accounts: decisions about one or many, with some time to think it over, and back."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gamewarden.cases import LADDER, Decision, Protected
from gamewarden.contracts import canonical_json, digest
from gamewarden.core.durations import parse_span
from gamewarden.core.text import counted
from gamewarden.desk.desk import Desk
from gamewarden.desk_records import ActBatch, Note
from gamewarden.errors import NotThereError, ResponseError, short
from gamewarden.response.persons import APPROVAL
from gamewarden.store.ledger.ledger import Writing
from gamewarden.workspace.appealing import end_protection, protect
from gamewarden.workspace.person_acts import Wish, Wished, bring_back, decide_all, take_back, would_decide
from gamewarden.workspace.responding import Responding

DISMISS = "dismiss"  # beside the steps: what was decided about an account is taken back until there is new evidence
MOST = 20_000  # accounts at once: beyond nobody has thought about them
_SHOWN = 12  # accounts that are named with what speaks against a step
_ANY = "anything"  # a reason where only the warnings are looked at
# What speaks against a step, by how the sentence begins or what stands in it.
_KINDS = (
    ("protected", "the account is protected"),
    ("evidence", "the evidence does not carry"),
    ("unknown", "the ledger knows nothing"),
    ("standing", " stood already"),
)


@dataclass(frozen=True)
class Chosen:
    """Whom an act is about: accounts by name, or all that a query finds, as many as whoever acts has seen."""

    actors: tuple[str, ...] = ()
    query: str | None = None
    expected: int | None = None
    seen: str = ""  # what names the accounts that were seen; empty: nobody has noted it


@dataclass(frozen=True)
class Warned:
    """What speaks against a step for one account."""

    actor: str
    kind: str  # protected, evidence, unknown, standing
    says: str


@dataclass(frozen=True)
class Preview:
    """What a step would be about, before anybody decides it."""

    step: str
    accounts: int
    some: tuple[str, ...]  # the first of them
    warned: dict[str, int]  # accounts by what speaks against the step
    warnings: tuple[Warned, ...]  # the first of those
    rehearsal: bool  # nothing leaves gamewarden
    needs_second: bool  # it waits for a second person
    long_ban: str  # from how long on a ban does
    grace: float  # seconds


@dataclass(frozen=True)
class Acted:
    """What was done, and until when it can be taken back before anything leaves."""

    batch: str
    step: str
    accounts: int
    left_out: int  # accounts of which just this was decided before
    undo_until: datetime
    rehearsal: bool
    waits: int  # decisions that wait for a second person
    warned: int  # accounts against whom something spoke: each is in the audit
    says: str


@dataclass(frozen=True)
class Undone:
    """What was taken back."""

    batch: str
    decisions: int
    cancelled: int  # actions that had not left
    on_their_way_back: int
    says: str


@dataclass(frozen=True)
class _Asked:
    """What is kept of an act beside its decisions."""

    because: str
    accounts: int
    until: datetime
    query: str | None


Matching = Callable[[str], Sequence[str]]


def chosen_actors(chosen: Chosen, matching: Matching) -> tuple[str, ...]:
    """The accounts that an act is about, each once.

    Raises:
        ResponseError: there are none or too many, or a query finds others, or another number, than were seen.
    """
    if chosen.query is None:
        found = tuple(dict.fromkeys(chosen.actors))
    else:
        found = tuple(dict.fromkeys(matching(chosen.query)))
        if chosen.expected is None or chosen.expected != len(found):
            seen = "no number" if chosen.expected is None else f"{chosen.expected:,}"
            raise ResponseError(
                f"acts: {len(found):,} accounts match now and {seen} were seen; nothing was done, look again"
            )
        if chosen.seen and chosen.seen != names_of(found):
            raise ResponseError("acts: other accounts match now than were seen; nothing was done, look again")
    if not found:
        raise ResponseError("acts: no account was chosen; choose some")
    if len(found) > MOST:
        raise ResponseError(f"acts: {len(found):,} accounts at once; at most {MOST:,}, choose fewer")
    return found


def names_of(actors: Collection[str]) -> str:
    """What names some accounts together, in whatever order."""
    return digest(canonical_json(sorted(actors)))


def preview(desk: Desk, actors: Collection[str], step: str, *, by: str, span: timedelta | None = None) -> Preview:
    """What a step would be about these accounts, and what speaks against it; nothing is written.

    Raises:
        ResponseError: the step is unknown.
    """
    responding = _responding(desk)
    settling, names = responding.settling, sorted(actors)
    wished: list[Wished] = []
    if step != DISMISS:
        wished = would_decide(responding.ledger, settling, names, Wish(step, by, _ANY, span))
    warnings = _warnings(wished)
    second = any(one.decision.waits_for == APPROVAL for one in wished)
    return Preview(
        step=step,
        accounts=len(names),
        some=tuple(names[:_SHOWN]),
        warned=_by_kind(warnings),
        warnings=tuple(warnings[:_SHOWN]),
        rehearsal=settling.rehearsal,
        needs_second=second,
        long_ban=desk.workspace.config.response.long_ban,
        grace=grace_of(desk).total_seconds(),
    )


def act(
    desk: Desk,
    actors: Collection[str],
    step: str,
    *,
    by: str,
    because: str,
    span: timedelta | None = None,
    query: str | None = None,
) -> Acted:
    """Decide a step about accounts, all in one transaction; nothing of it leaves before the grace is over.

    Raises:
        ResponseError: no account, person or reason is given, the step is unknown, or just this was decided before.
        LedgerError: the ledger cannot be written.
    """
    if step == DISMISS:
        return dismiss(desk, actors, by=by, because=because, query=query)
    responding, until = _responding(desk), _until(desk)
    responding.record_settings()
    with responding.ledger.writing(by, responding.at) as work:
        wish = Wish(step, by, because, span, until)
        made = decide_all(work, responding.settling, set(actors), wish)
        if not made:
            raise ResponseError(f"acts: just this was decided before about {counted(len(actors), 'account')}")
        for one in made:
            if one.warnings:
                told = {"actor": one.decision.actor, "warnings": list(one.warnings)}
                work.audit("warned", one.decision.id, None, told)
        asked = _Asked(because, len(made), until, query)
        batch = _keep(work, step, [one.decision for one in made], asked)
    return _acted(batch, made, len(set(actors)), rehearsal=responding.settling.rehearsal)


def dismiss(desk: Desk, actors: Collection[str], *, by: str, because: str, query: str | None = None) -> Acted:
    """Take back what the ladder decided about accounts, with a note; it decides again only on newer evidence.

    Raises:
        ResponseError: no account, person or reason is given.
        LedgerError: the ledger cannot be written.
    """
    if not actors:
        raise ResponseError("acts: no account was chosen; choose some")
    responding, until, names = _responding(desk), _until(desk), sorted(set(actors))
    with responding.ledger.writing(by, responding.at) as work:
        standing = work.find(Decision, actor=names, undone_at=None, by=LADDER, order=("at",))
        back = take_back(work, standing, responding.moment, by=by, because=because, not_before=until)
        work.add([_note(actor, by, responding.at, f"dismissed: {because.strip()}") for actor in names])
        batch = _keep(work, DISMISS, back.decisions, _Asked(because, len(names), until, query))
    says = f"{counted(len(names), 'account')} dismissed, {counted(len(back.decisions), 'decision')} taken back"
    return Acted(
        batch=batch.id,
        step=DISMISS,
        accounts=len(names),
        left_out=0,
        undo_until=until,
        rehearsal=responding.settling.rehearsal,
        waits=0,
        warned=0,
        says=says,
    )


def undo(desk: Desk, batch: str, *, by: str, because: str = "undone at the desk") -> Undone:
    """Take back all that was decided at once: what has not left never leaves, the rest goes on its way back.

    Raises:
        NotThereError: there is no such act.
        ResponseError: it was taken back before.
        LedgerError: the ledger cannot be written.
    """
    responding = _responding(desk)
    with responding.ledger.writing(by, responding.at) as work:
        found = work.find(ActBatch, id=batch)
        if not found:
            raise NotThereError(f"acts: there is no act {short(batch)}")
        if found[0].undone_at is not None:
            raise ResponseError(f"acts: {batch} was taken back on {found[0].undone_at:%Y-%m-%d %H:%M} UTC already")
        work.change(found[0], replace(found[0], undone_at=responding.at))
        decisions = work.find(Decision, id=set(found[0].decisions)) if found[0].decisions else []
        if found[0].step == DISMISS:
            return _undismissed(batch, bring_back(work, decisions), len(decisions))
        standing = [one for one in decisions if one.undone_at is None]
        back = take_back(work, standing, responding.moment, by=by, because=because)
    says = f"{counted(len(back.decisions), 'decision')} taken back"
    more = f"; {counted(back.on_their_way_back, 'action')} had left, and goes back" if back.on_their_way_back else ""
    return Undone(batch, len(back.decisions), back.cancelled, back.on_their_way_back, says + more)


def undo_one(desk: Desk, decision: str, *, by: str, because: str) -> Decision:
    """Take one decision back.

    Raises:
        NotThereError: there is none of this id.
        ResponseError: it ended before, or no reason is given.
    """
    _there(desk, decision)
    return _responding(desk).undo(decision, by=by, because=because)


def approve_one(desk: Desk, decision: str, *, by: str) -> Decision:
    """Let a decision count that waits for a second person; it leaves no earlier than the grace is over.

    Raises:
        NotThereError: there is none of this id.
        ResponseError: it waits for nobody, or who decided it would approve it.
    """
    _there(desk, decision)
    return _responding(desk).approve(decision, by=by, not_before=_until(desk))


def protect_one(desk: Desk, actor: str, *, span: timedelta, by: str, because: str) -> Protected:
    """Let no step above watching touch an account for so long.

    Raises:
        ResponseError: no reason is given.
    """
    at = desk.now()
    return protect(desk.workspace, actor, until=at + span, by=by, because=because, at=at)


def unprotect_one(desk: Desk, actor: str, *, by: str) -> Protected:
    """Protect an account no longer.

    Raises:
        ResponseError: nobody protects it.
    """
    return end_protection(desk.workspace.ledger, actor, by=by, at=desk.now())


def settle_one(desk: Desk, action: str, *, happened: bool, by: str) -> str:
    """Say what became of an action that nobody knows the end of; what follows, in a sentence.

    Raises:
        ResponseError: there is none of this id, or its end is known.
    """
    made = _responding(desk).settle(action, happened=happened, by=by)
    return f"{made.verb} {made.step} for {made.actor} is {made.state}"


def resume_all(desk: Desk, *, by: str) -> str:
    """Let actions leave again after the breaker stopped them; why they were stopped, in a sentence.

    Raises:
        ResponseError: nothing is stopped.
    """
    why = _responding(desk).resume(by=by)
    if why is None:
        raise ResponseError("policy: nothing is stopped; there is nothing to resume")
    return f"Actions leave again. They were stopped because {why}"


def grace_of(desk: Desk) -> timedelta:
    """How long what was decided at the desk can be taken back before anything of it leaves."""
    return timedelta(microseconds=parse_span(desk.workspace.config.desk.grace))


def span_of(text: str) -> timedelta | None:
    """A span as people write it; None of an empty one: it holds until it is taken back.

    Raises:
        ConfigError: it is none.
    """
    return timedelta(microseconds=parse_span(text)) if text.strip() else None


def _undismissed(batch: str, brought_back: int, decisions: int) -> Undone:
    late = (
        f"; {decisions - brought_back:,} were carried out or cleared by an appeal" if brought_back < decisions else ""
    )
    return Undone(batch, brought_back, 0, 0, f"{counted(brought_back, 'decision')} stand again{late}")


def _responding(desk: Desk) -> Responding:
    return Responding(desk.workspace, desk.now())


def _until(desk: Desk) -> datetime:
    return desk.now() + grace_of(desk)


def _there(desk: Desk, decision: str) -> None:
    if not desk.workspace.has_ledger or not desk.workspace.ledger.find(Decision, id=decision):
        raise NotThereError(f"decisions: there is none with the id {short(decision)}")


def _keep(work: Writing, step: str, decisions: Sequence[Decision], asked: _Asked) -> ActBatch:
    """Write down what was done at once."""
    names = tuple(one.id for one in decisions)
    made = ActBatch(
        id=digest(work.who, work.at.isoformat(), step, asked.because, *names),
        by=work.who,
        at=work.at,
        step=step,
        because=asked.because.strip(),
        actors=asked.accounts,
        decisions=names,
        undo_until=asked.until,
        query=asked.query,
    )
    work.add([made])
    return made


def _note(actor: str, by: str, at: datetime, text: str) -> Note:
    return Note(digest(actor, by, at.isoformat(), text), actor, by, at, text)


def _acted(batch: ActBatch, made: Sequence[Wished], asked: int, *, rehearsal: bool) -> Acted:
    waits = sum(one.decision.waits_for is not None for one in made)
    warned = sum(bool(one.warnings) for one in made)
    says = f"{batch.step}: {counted(len(made), 'account')}"
    says += " (rehearsal: nothing leaves gamewarden)" if rehearsal else ""
    says += f"; {waits:,} wait for a second person" if waits else ""
    says += f"; of {asked - len(made):,} just this was decided before" if asked > len(made) else ""
    return Acted(
        batch=batch.id,
        step=batch.step,
        accounts=len(made),
        left_out=asked - len(made),
        undo_until=batch.undo_until,
        rehearsal=rehearsal,
        waits=waits,
        warned=warned,
        says=says,
    )


def _warnings(wished: Sequence[Wished]) -> list[Warned]:
    return [Warned(one.decision.actor, _kind(says), says) for one in wished for says in one.warnings]


def _kind(says: str) -> str:
    return next((kind for kind, told in _KINDS if told in says), "other")


def _by_kind(warnings: Sequence[Warned]) -> dict[str, int]:
    return dict(Counter(kind for _, kind in {(one.actor, one.kind) for one in warnings}).most_common())
