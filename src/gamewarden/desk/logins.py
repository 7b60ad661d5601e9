"""Logging in and out: a browser holds a secret, the ledger only its digest; whoever is idle or disabled is out."""

import hashlib
import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from gamewarden.config import DeskSettings
from gamewarden.core.durations import parse_span
from gamewarden.desk.desk import Desk
from gamewarden.desk.passwords import digest_of, is_outdated, is_right, refuse_weak
from gamewarden.desk.people import Person, end_sessions, person_of, user_of
from gamewarden.desk.throttling import begin, succeeded
from gamewarden.desk_records import LoginSession, User
from gamewarden.errors import LedgerError, LoginError
from gamewarden.store.ledger.ledger import Ledger, Writing, subject_of_user

SEEN_EVERY = timedelta(minutes=5)  # pages do not write, except that somebody was there, so often at the most
KEPT = timedelta(days=30)  # where somebody was logged in is known for so long: see throttling
_IMPATIENT = 0.2  # seconds that a page waits to write down that somebody was there
_NOBODY = "nobody"
_NOT_IN = "log in: name or password is wrong"


@dataclass(frozen=True)
class LoggedIn:
    """A session that begins: the cookie's secret, which is nowhere kept, and who it is."""

    secret: str
    person: Person
    until: datetime


@dataclass
class Logins:
    """The sessions of a desk."""

    ledger: Ledger
    idle: timedelta
    most: timedelta

    @classmethod
    def of(cls, desk: Desk) -> "Logins":
        """As the settings of the desk say."""
        return cls.by(desk.workspace.ledger, desk.workspace.config.desk)

    @classmethod
    def by(cls, ledger: Ledger, settings: DeskSettings) -> "Logins":
        """As settings say."""
        idle, most = (timedelta(microseconds=parse_span(one)) for one in (settings.session_idle, settings.session_most))
        return cls(ledger, idle, most)

    def log_in(self, name: str, password: str, address: str, at: datetime) -> LoggedIn:
        """Let somebody in who knows the password.

        Raises:
            LoginError: they do not, or too many tries failed, or they are disabled.
        """
        tried = begin(self.ledger, name, address, at)
        found = next(iter(self.ledger.find(User, name=name)), None)
        right = is_right(password, found.password if found else None)
        if found is None or not right or found.disabled:
            self._audit_failure(found, address, at)
            raise LoginError(_NOT_IN)
        if found.must_change and found.expires is not None and found.expires <= at:
            raise LoginError("log in: this password for one log in has run out; an admin gives another")
        digest = digest_of(password) if found.password and is_outdated(found.password) else None
        with self.ledger.writing(name, at) as work:
            user = _still(work, found)
            succeeded(work, tried)
            if digest:
                work.change(user, user := replace(user, password=digest))
            return self.begin(work, user, address, at)

    def begin(self, work: Writing, user: User, address: str, at: datetime) -> LoggedIn:
        """A new session of somebody who has proven who they are."""
        self._remove_old(work, user.name, at)
        secret, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        work.add([LoginSession(_digest(secret), user.name, csrf, at, at, at + self.most, address)])
        work.audit("log in", subject_of_user(user.name), None, {"address": address})
        return LoggedIn(secret, person_of(user, csrf), at + self.most)

    def person(self, secret: str, at: datetime) -> Person | None:
        """Whose session a cookie is of; nobody's where it is over or its user is disabled."""
        session = self._session(secret, at)
        user = next(iter(self.ledger.find(User, name=session.user)), None) if session else None
        if session is None or user is None or user.disabled:
            return None
        if at - session.seen >= SEEN_EVERY:
            self._was_there(session, at)
        return person_of(user, session.csrf)

    def log_out(self, secret: str, at: datetime) -> None:
        """End one session."""
        if not (session := self._session(secret, at)):
            return
        with self.ledger.writing(session.user, at) as work:
            work.remove(session)
            work.audit("log out", subject_of_user(session.user))

    def log_out_everywhere(self, name: str, at: datetime) -> int:
        """End all sessions of somebody; how many that were."""
        with self.ledger.writing(name, at) as work:
            work.audit("log out everywhere", subject_of_user(name))
            return end_sessions(work, name)

    def change_password(self, name: str, old: str, new: str, address: str, at: datetime) -> LoggedIn:
        """Give oneself another password; all sessions end, and a new one begins.

        Raises:
            LoginError: the old one is wrong, or too many tries failed.
            PeopleError: the new one is too weak, or they log in elsewhere.
        """
        user = user_of(self.ledger, name)
        refuse_weak(new, name)
        tried = begin(self.ledger, name, address, at)
        if not is_right(old, user.password):
            self._audit_failure(user, address, at)
            raise LoginError("password: the old one is wrong; type it again")
        if hmac.compare_digest(old.encode(), new.encode()):
            raise LoginError("password: the new one is the old one; take another")
        digest = digest_of(new)
        with self.ledger.writing(name, at) as work:
            succeeded(work, tried)
            changed = replace(_still(work, user), password=digest, must_change=False, expires=None)
            work.change(user, changed)
            end_sessions(work, name)
            return self.begin(work, changed, address, at)

    def close(self) -> None:
        """Let go of the database, as far as it is one's own connection to it."""
        if "_impatient" in vars(self):
            self._impatient.close()

    def _session(self, secret: str, at: datetime) -> LoginSession | None:
        found = next(iter(self.ledger.find(LoginSession, id=_digest(secret))), None)
        return found if found and found.expires > at and found.seen + self.idle > at else None

    def _was_there(self, session: LoginSession, at: datetime) -> None:
        """Write down that somebody was there; not where that would keep a page waiting."""
        with suppress(LedgerError), self._impatient.writing(session.user, at) as work:
            if work.find(LoginSession, id=session.id):
                work.put([replace(session, seen=at)])

    @cached_property
    def _impatient(self) -> Ledger:
        return Ledger.at(self.ledger.engine.url.render_as_string(hide_password=False), _IMPATIENT)

    def _remove_old(self, work: Writing, name: str, at: datetime) -> None:
        for one in work.find(LoginSession, user=name):
            if one.expires < at - KEPT:
                work.remove(one)

    def _audit_failure(self, user: User | None, address: str, at: datetime) -> None:
        """Of a name that nobody has nothing is kept: people also type passwords there."""
        subject = subject_of_user(user.name) if user else "unknown user"
        with self.ledger.writing(_NOBODY, at) as work:
            work.audit("failed log in", subject, None, {"address": address})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _still(work: Writing, user: User) -> User:
    """Somebody as they were a moment ago, when the password was looked at."""
    found = work.find(User, name=user.name)
    if not found or found[0].disabled or found[0].password != user.password:
        raise LoginError(_NOT_IN)
    return found[0]
