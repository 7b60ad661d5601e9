"""Tokens: what programs show instead of a password; never more than their owner may do, and shown once."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gamewarden.desk.people import ADMINISTER, RIGHTS, ROLES, Person, person_of, user_of
from gamewarden.desk_records import Token, User
from gamewarden.errors import PeopleError, short
from gamewarden.store.ledger.ledger import Ledger

_PREFIX, _ID_BYTES, _LONGEST_NAME, _LONGEST = "gw", 8, 64, 200
MOST_DAYS = 3650


@dataclass(frozen=True)
class ShownToken:
    """A token as people see it: without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    owner: str
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    works: bool


@dataclass(frozen=True)
class MadeToken:
    """A token in the one moment in which it can be read."""

    text: str
    token: ShownToken


def make_token(
    ledger: Ledger, owner: str, name: str, scopes: Sequence[str], at: datetime, *, days: int | None = None
) -> MadeToken:
    """A new token of somebody, for some of their rights, for some days or until it is revoked.

    Raises:
        PeopleError: it has no name or no scope, or its owner lacks one of them.
    """
    wanted = tuple(right for right in RIGHTS if right in scopes)
    secret, number = secrets.token_urlsafe(32), secrets.token_hex(_ID_BYTES)
    with ledger.writing(owner, at) as work:
        rights = ROLES.get(user_of(work, owner).role, frozenset())
        _refuse(name.strip(), scopes, rights, days)
        expires = None if days is None else at + timedelta(days=days)
        made = Token(number, name.strip(), _digest(secret), wanted, owner, at, expires)
        work.add([made])
    return MadeToken(f"{_PREFIX}_{number}_{secret}", _shown(made, at))


def revoke_token(ledger: Ledger, number: str, by: Person, at: datetime) -> None:
    """Let a token open nothing any more; one's own, or anybody's by who administers.

    Raises:
        PeopleError: there is no such token that they may revoke.
    """
    with ledger.writing(by.name, at) as work:
        found = next(iter(work.find(Token, id=number)), None)
        if found is None or (found.owner != by.name and ADMINISTER not in by.rights):
            raise PeopleError(f"token: there is no token {short(number)} of yours")
        if found.revoked is None:
            work.change(found, replace(found, revoked=at))


def tokens_of(ledger: Ledger, owner: str | None, at: datetime) -> tuple[ShownToken, ...]:
    """The tokens of somebody, or of everybody, the newest first."""
    found = ledger.find(Token, order=("created",))[::-1]
    return tuple(_shown(one, at) for one in found if owner in {None, one.owner})


def person_of_token(ledger: Ledger, text: str, at: datetime) -> Person | None:
    """In whose name a program asks, and what it may do; nobody where the token is none, is over, or its owner is."""
    prefix, _, rest = text[:_LONGEST].partition("_")
    number, _, secret = rest.partition("_")
    found = next(iter(ledger.find(Token, id=number)), None) if prefix == _PREFIX and secret else None
    # The digest is compared also where there is no such token, so that nobody learns which there are.
    right = hmac.compare_digest(_digest(secret), found.digest if found else "0" * 64)
    if found is None or not right or not _works(found, at):
        return None
    owner = next(iter(ledger.find(User, name=found.owner)), None)
    if owner is None or owner.disabled:
        return None
    person = person_of(replace(owner, must_change=False))
    return replace(person, rights=person.rights & frozenset(found.scopes), token=found.id)


def _refuse(name: str, scopes: Sequence[str], rights: frozenset[str], days: int | None) -> None:
    if not 1 <= len(name) <= _LONGEST_NAME:
        raise PeopleError(f"token: its name has {len(name)} letters; it needs 1 to {_LONGEST_NAME}")
    if not scopes:
        raise PeopleError(f"token: it has no scope; it needs one or more of {', '.join(sorted(rights))}")
    for scope in scopes:
        if scope not in rights:
            raise PeopleError(f"token: its owner has no right {short(scope)}; has {', '.join(sorted(rights))}")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise PeopleError(f"token: {days} days are too few or too many; it is 1 to {MOST_DAYS}")


def _works(token: Token, at: datetime) -> bool:
    return token.revoked is None and (token.expires is None or token.expires > at)


def _shown(one: Token, at: datetime) -> ShownToken:
    return ShownToken(
        id=one.id,
        name=one.name,
        scopes=one.scopes,
        owner=one.owner,
        created=one.created,
        expires=one.expires,
        revoked=one.revoked,
        works=_works(one, at),
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
