"""What is kept of the work at the desk: its people, their votes and notes, what they did to many accounts at once.

Frozen records beside those of `cases`; the ledger of `store` keeps them. Of a password, a token or a cookie only a
digest is kept, and the audit has not even that.
"""

from dataclasses import dataclass
from datetime import datetime

# What a rater says of an account.
BOT, HUMAN, UNSURE, SKIP = "bot", "human", "unsure", "skip"
# What is drawn on trends.
PATCH, BAN_WAVE, OTHER = "patch", "ban wave", "other"


@dataclass(frozen=True)
class User:
    """Somebody who may log in."""

    name: str
    role: str
    password: str | None  # argon2id's own text; None: they log in elsewhere
    must_change: bool  # the password is for one log in
    disabled: bool
    created: datetime
    language: str = ""  # empty: as the browser asks
    theme: str = ""  # light, dark, or empty: as the system has it
    subject: str | None = None  # issuer and sub, where they log in elsewhere
    zone: str = ""  # empty: the workspace's
    shortcuts: bool = True
    expires: datetime | None = None  # until when a password for one log in is good


@dataclass(frozen=True)
class LoginSession:
    """A browser in which somebody is logged in."""

    id: str  # SHA-256 of the cookie
    user: str
    csrf: str
    created: datetime
    seen: datetime
    expires: datetime
    address: str


@dataclass(frozen=True)
class Token:
    """What a program shows instead of a password."""

    id: str
    name: str
    digest: str  # SHA-256 of the secret
    scopes: tuple[str, ...]
    owner: str
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None


@dataclass(frozen=True)
class LoginFailure:
    """How often somebody failed to log in: under one name, from one address, or under that name from there."""

    id: str  # a keyed digest: people also type passwords where a name belongs
    failures: int
    at: datetime  # of the last one


@dataclass(frozen=True)
class SavedView:
    """A page with its filters that somebody wants to see again."""

    id: str
    owner: str
    name: str
    path: str
    query: str
    shared: bool
    created: datetime


@dataclass(frozen=True)
class Review:
    """What one rater says of an account."""

    id: str
    actor: str
    rater: str
    at: datetime
    says: str  # bot, human, unsure, skip
    score_seen: bool
    note: str | None = None
    undone_at: datetime | None = None
    milliseconds: int | None = None  # that were spent on it
    drawn: bool | None = None  # whether chance named the account, at the latest after the vote; None: not known


@dataclass(frozen=True)
class ActBatch:
    """What was decided about many accounts at once, and until when it can be taken back at once."""

    id: str
    by: str
    at: datetime
    step: str
    because: str
    actors: int  # how many
    decisions: tuple[str, ...]  # their ids
    undo_until: datetime
    undone_at: datetime | None = None
    query: str | None = None  # by which the accounts were found


@dataclass(frozen=True)
class Note:
    """What somebody wrote about an account."""

    id: str
    actor: str
    by: str
    at: datetime
    text: str


@dataclass(frozen=True)
class Mark:
    """Something that happened to the game, drawn on trends: a patch, a ban wave."""

    id: str
    at: datetime
    kind: str
    text: str
    by: str
    created: datetime
