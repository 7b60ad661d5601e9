"""What is kept of an actor's case: evidence, suspicion, decisions, actions, challenges, appeals.

Frozen records that `response` decides on and the ledger of `store` keeps; times are aware and in UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

LADDER = "ladder"  # who decided, where it was no person
# Kinds of observations.
VERDICT, CHALLENGE, WINDOWS, GROUP, PERSON = "verdict", "challenge", "windows", "group", "person"
# States of an action: waiting -> begun -> done -> undone; or failed (tried again), uncertain and stopped (a person is
# asked), rehearsed and cancelled (it never left).
WAITING, BEGUN, DONE, FAILED, UNDONE = "waiting", "begun", "done", "failed", "undone"
REHEARSED, UNCERTAIN, STOPPED, CANCELLED = "rehearsed", "uncertain", "stopped", "cancelled"
DO, UNDO = "do", "undo"
# Outcomes of a challenge.
OPEN, PASSED, LOST, TIMEOUT, DISCONNECT = "open", "passed", "failed", "timeout", "disconnect"
UPHELD, OVERTURNED = "upheld", "overturned"


@dataclass(frozen=True)
class Observation:
    """One piece of evidence about an actor: the same evidence always has the same id."""

    id: str
    actor: str
    at: datetime  # when what it tells of was over
    kind: str  # verdict, challenge, windows, group, person
    ref: str  # what it rests on: a verdict's id, a challenge's
    llr: float  # log likelihood ratio of bot to human, before any discount
    fpr: float | None = None
    agree: int = 0  # families of evidence that say bot, each on its own
    covered: float | None = None  # the share of the period that the source covers
    far: str | None = None  # what lay beyond all that a model learned from
    since: datetime | None = None
    until: datetime | None = None
    played: float | None = None  # hours of play that it tells of
    because_of: str | None = None  # another actor on whose case it rests
    excluded: str | None = None  # why it no longer counts


@dataclass(frozen=True)
class Suspicion:
    """How suspicious an actor is: what its observations add up to."""

    actor: str
    score: float  # log-odds
    rung: int  # 0 is normal; the first rung of the ladder is 1
    as_of: datetime  # when the newest observation was over
    entered: datetime  # since when on this rung
    observations: int = 0  # how many count
    on_call: bool = False  # a human is called for tests


@dataclass(frozen=True)
class Decision:
    """What was decided about an actor, why, on what, until when, and by whom."""

    id: str
    actor: str
    at: datetime
    step: str
    rung: int
    until: datetime | None  # None: until it is taken back; only a person decides so
    because: tuple[str, ...]  # sentences
    evidence: tuple[str, ...]  # ids of observations
    ladder: str  # digest of the policy
    by: str
    rehearsal: bool
    approved_by: str | None = None  # the second person
    waits_for: str | None = None  # what must happen before it counts, such as approval
    undone_at: datetime | None = None
    undone_by: str | None = None
    undone_because: str | None = None


@dataclass(frozen=True)
class NotTaken:
    """A step that suspicion asked for and evidence did not carry, or a person or a rule forbade."""

    actor: str
    at: datetime
    step: str
    because: str
    ladder: str


@dataclass(frozen=True)
class Action:
    """A decision on its way into the game, or on its way back."""

    id: str  # the idempotency key
    decision: str
    actor: str
    verb: str  # do or undo
    step: str
    adapter: str
    state: str
    due: datetime
    until: datetime | None = None  # until when the step holds
    attempts: int = 0
    before: Mapping[str, Any] | None = None  # what was there before it, as the adapter needs it for the way back
    receipt: Mapping[str, Any] | None = None
    error: str | None = None
    changed: datetime | None = None  # when its state last changed


@dataclass(frozen=True)
class Challenge:
    """A question to one account in one session, and what became of it."""

    id: str
    actor: str
    session: str
    kind: str
    issued: datetime
    expires: datetime
    answer: str  # keyed digest of the answer
    state: str = OPEN
    attempts: int = 0
    ended: datetime | None = None
    decision: str | None = None  # because of which it was asked
    score: float | None = None  # the suspicion when it was asked


@dataclass(frozen=True)
class Appeal:
    """An actor's objection, and what a person decided about it."""

    id: str
    actor: str
    decision: str | None
    opened: datetime
    opened_by: str
    text: str
    outcome: str | None = None
    decided: datetime | None = None
    decided_by: str | None = None
    because: str | None = None


@dataclass(frozen=True)
class Exonerated:
    """An account that was accused wrongly: no later model may flag it on the same evidence."""

    actor: str
    since: datetime | None
    until: datetime | None
    verdicts: tuple[str, ...]  # ids of the verdicts that were wrong
    appeal: str
    at: datetime


@dataclass(frozen=True)
class Protected:
    """An account that no step above watching touches until a moment."""

    actor: str
    until: datetime
    by: str
    because: str
    at: datetime


@dataclass(frozen=True)
class Label:
    """What people say an account is, with each rater's vote."""

    actor: str
    bot: bool
    source: str
    at: datetime
    by: str
    since: datetime | None = None
    until: datetime | None = None
    votes: Mapping[str, bool] = field(default_factory=dict)  # rater -> bot
    because: str | None = None


@dataclass(frozen=True)
class IndexedVerdict:
    """Where a verdict rests that a case rests on."""

    verdict: str
    actor: str
    since: datetime
    until: datetime
    day: str
    bundle: str
    probability: float | None
    fpr: float | None
    point: str | None


@dataclass(frozen=True)
class AuditLine:
    """Who did what: a line bound to all lines before it.

    The hash binds a sealed digest of who, subject, old and new value, not these themselves: whoever forgets a person
    takes the salt away and writes the line without them, and the lines after it still hold.
    """

    number: int
    at: datetime
    who: str
    what: str
    subject: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    salt: str | None  # None once a person was taken out of the line
    seal: str  # the salted digest of what the line was written with
    before: str  # the hash of the line before
    hash: str
