"""Who works at the desk, and what each may do."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gamewarden.cases import LADDER
from gamewarden.core.durations import parse_zone
from gamewarden.desk.passwords import digest_of, for_one_log_in
from gamewarden.desk_records import LoginSession, User
from gamewarden.errors import PeopleError, short
from gamewarden.store.ledger.ledger import Ledger, Writing

READ, VOTE, DECIDE, OPERATE, ADMINISTER = "read", "vote", "decide", "operate", "administer"
PUSH, METRICS = "push", "metrics"
RIGHTS = (READ, VOTE, DECIDE, OPERATE, ADMINISTER, PUSH, METRICS)
# Whoever keeps it running need not be somebody who decides about players, and the other way round.
ROLES: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({READ}),
    "reviewer": frozenset({READ, VOTE}),
    "moderator": frozenset({READ, VOTE, DECIDE}),
    "operator": frozenset({READ, OPERATE, METRICS}),
    "admin": frozenset(RIGHTS),
}
ADMIN = "admin"  # the role, and the name of whoever is there first
ONE_TIME = timedelta(days=1)  # for so long a password for one log in is good
THEMES = ("", "light", "dark")
_NAME = re.compile(r"[\w][\w.@+-]{0,63}")
_NOBODYS = frozenset({LADDER, "desk", "nobody", "gamewarden"})  # what the audit calls those who are no person


@dataclass(frozen=True)
class Person:
    """Somebody who looks at a page, or a program with a token."""

    name: str
    role: str
    rights: frozenset[str]
    language: str = ""  # empty: as the browser asks
    theme: str = ""  # light, dark, or empty: as the system has it
    csrf: str = ""  # empty for programs: their tokens are in no cookie
    zone: str = ""  # empty: the workspace's
    shortcuts: bool = True
    must_change: bool = False  # the password, before anything else
    token: str = ""  # its id, where a program asks in somebody's name


@dataclass(frozen=True)
class Listed:
    """A person of the desk as others see them."""

    name: str
    role: str
    disabled: bool
    must_change: bool
    elsewhere: bool  # logs in at an OpenID provider
    created: datetime
    seen: datetime | None  # when they last looked at a page, where that is still known


def person_of(user: User, csrf: str = "") -> Person:
    """What somebody may do, and how they like to see it."""
    return Person(
        name=user.name,
        role=user.role,
        rights=ROLES.get(user.role, frozenset()),
        language=user.language,
        theme=user.theme,
        csrf=csrf,
        zone=user.zone,
        shortcuts=user.shortcuts,
        must_change=user.must_change,
    )


def people(ledger: Ledger) -> tuple[Listed, ...]:
    """Everybody, by name."""
    seen: dict[str, datetime] = {}
    for one in ledger.find(LoginSession):
        seen[one.user] = max(one.seen, seen.get(one.user, one.seen))
    return tuple(
        Listed(
            name=one.name,
            role=one.role,
            disabled=one.disabled,
            must_change=one.must_change,
            elsewhere=one.subject is not None,
            created=one.created,
            seen=seen.get(one.name),
        )
        for one in ledger.find(User)
    )


def user_of(ledger: Ledger | Writing, name: str) -> User:
    """Somebody by name.

    Raises:
        PeopleError: there is nobody of that name.
    """
    found = ledger.find(User, name=name)
    if not found:
        raise PeopleError(f"people: nobody is called {short(name)}; /users lists everybody")
    return found[0]


def first_admin(ledger: Ledger, at: datetime) -> str | None:
    """Make `admin` where there is nobody yet; their password for one log in, which is nowhere kept.

    Raises:
        LedgerError: the ledger cannot be written.
    """
    if ledger.find(User, newest=1):
        return None
    password = for_one_log_in()
    made = User(ADMIN, ADMIN, digest_of(password), True, False, at, expires=at + ONE_TIME)
    with ledger.writing("gamewarden serve", at) as work:
        if work.find(User, newest=1):  # another process was faster
            return None
        work.add([made])
    return password


def reset_admin(ledger: Ledger, at: datetime) -> str:
    """Let whoever has this machine in as `admin` again: a new password for one log in; all sessions of theirs end.

    Raises:
        LedgerError: the ledger cannot be written.
    """
    password = for_one_log_in()
    digest = digest_of(password)
    with ledger.writing("gamewarden serve --reset-admin", at) as work:
        old = next(iter(work.find(User, name=ADMIN)), User(ADMIN, ADMIN, None, True, False, at))
        new = replace(old, role=ADMIN, password=digest, must_change=True, disabled=False, expires=at + ONE_TIME)
        work.put([new])
        end_sessions(work, ADMIN)
    return password


def add_user(ledger: Ledger, name: str, role: str, by: str, at: datetime) -> str:
    """Let somebody in; their password for one log in, to be handed to them.

    Raises:
        PeopleError: the name is taken or none, or there is no such role.
    """
    name = unicodedata.normalize("NFC", name.strip())
    _refuse_name(name)
    _refuse_role(role)
    password = for_one_log_in()
    made = User(name, role, digest_of(password), True, False, at, expires=at + ONE_TIME)
    with ledger.writing(by, at) as work:
        refuse_taken(work, name)
        work.add([made])
    return password


def new_password(ledger: Ledger, name: str, by: str, at: datetime) -> str:
    """Another password for one log in, for whoever forgot theirs; all sessions of theirs end.

    Raises:
        PeopleError: there is nobody of that name, or they log in elsewhere.
    """
    password = for_one_log_in()
    digest = digest_of(password)
    with ledger.writing(by, at) as work:
        old = user_of(work, name)
        if old.subject is not None:
            raise PeopleError(f"people: {name} logs in at an OpenID provider; a password is given there")
        work.change(old, replace(old, password=digest, must_change=True, expires=at + ONE_TIME))
        end_sessions(work, name)
    return password


def change_role(ledger: Ledger, name: str, role: str, by: str, at: datetime) -> None:
    """Let somebody do more or less; from the next page on.

    Raises:
        PeopleError: there is nobody of that name or no such role, or nobody would be left who administers.
    """
    _refuse_role(role)
    with ledger.writing(by, at) as work:
        old = user_of(work, name)
        work.change(old, replace(old, role=role))
        _refuse_no_admin(work)


def disable(ledger: Ledger, name: str, by: str, at: datetime) -> None:
    """Let somebody in no longer: their sessions and tokens end at once.

    Raises:
        PeopleError: there is nobody of that name, or nobody would be left who administers.
    """
    with ledger.writing(by, at) as work:
        old = user_of(work, name)
        work.change(old, replace(old, disabled=True))
        _refuse_no_admin(work)
        end_sessions(work, name)


def enable(ledger: Ledger, name: str, by: str, at: datetime) -> None:
    """Let somebody in again.

    Raises:
        PeopleError: there is nobody of that name.
    """
    with ledger.writing(by, at) as work:
        old = user_of(work, name)
        work.change(old, replace(old, disabled=False))


def change_wishes(ledger: Ledger, name: str, at: datetime, **wishes: str | bool) -> None:
    """How somebody likes to see pages: language, theme, zone, shortcuts.

    Raises:
        PeopleError: there is nobody of that name, or no such theme.
        ConfigError: there is no such time zone.
    """
    if wishes.get("theme", "") not in THEMES:
        raise PeopleError(f"people: there is no theme {short(wishes['theme'])}; it is light, dark or empty")
    if zone := wishes.get("zone"):
        parse_zone(str(zone))
    with ledger.writing(name, at) as work:
        old = user_of(work, name)
        new = replace(old, **wishes)  # type: ignore[arg-type]  # each of its own kind
        if new != old:
            work.change(old, new)


def end_sessions(work: Writing, name: str) -> int:
    """Log somebody out everywhere; how many browsers that were."""
    sessions = work.find(LoginSession, user=name)
    for one in sessions:
        work.remove(one)
    return len(sessions)


def refuse_taken(work: Writing, name: str) -> None:
    """Two people whose names differ only in capitals would be taken for each other.

    Raises:
        PeopleError: somebody is called so.
    """
    for one in work.find(User):
        if one.name.casefold() == name.casefold():
            raise PeopleError(f"people: somebody is called {one.name} already; take another name")


def _refuse_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.casefold() in _NOBODYS:
        raise PeopleError(f"people: {short(name)} is no name; it has 1 to 64 letters, digits, . _ @ + or -")


def _refuse_role(role: str) -> None:
    if role not in ROLES:
        raise PeopleError(f"people: there is no role {short(role)}; it is one of {', '.join(ROLES)}")


def _refuse_no_admin(work: Writing) -> None:
    if not any(one.role == ADMIN and not one.disabled for one in work.find(User)):
        raise PeopleError("people: nobody would be left who administers; make somebody else admin first")
