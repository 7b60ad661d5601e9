"""Guessing passwords takes for ever: whoever fails often waits longer and longer; nobody is locked out for good.

A try counts as failed until it has succeeded, so that many at once do not slip through. Five failures under a name
from an address are free, and twenty from an address under any names. Where a name is guessed at from everywhere, each
address has one free failure for it: whoever comes from an address of their own still gets in, and from one where they
are logged in they have all five.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address

from gamewarden.desk_records import LoginFailure, LoginSession
from gamewarden.errors import LoginError
from gamewarden.store.ledger.ledger import Ledger, Writing

FREE, FREE_OF_ADDRESS, FREE_UNDER_ATTACK = 5, 20, 1
ATTACKED = 50  # failures under a name from which on it is guessed at
LONGEST = timedelta(minutes=15)
FORGOTTEN = timedelta(days=1)
_FIRST, _FIRST_UNDER_ATTACK = timedelta(seconds=2), timedelta(minutes=1)
_DOUBLED = 20  # times; more would be longer than any calendar
_SECRET = "desk.secret"  # noqa: S105  the name of a fact
_WHO = "desk"


@dataclass(frozen=True)
class Try:
    """One attempt to log in, counted before anybody looks at the password."""

    name: str
    address: str
    at: datetime


def begin(ledger: Ledger, name: str, address: str, at: datetime) -> Try:
    """Count a try.

    Raises:
        LoginError: there were too many; it says for how long to wait.
    """
    tried = Try(name, network_of(address), at)
    with ledger.writing(_WHO, at) as work:
        counts = _Counts(work, tried)
        if (wait := counts.wait()) > timedelta():
            seconds = max(1, -(-int(wait / timedelta(milliseconds=1)) // 1_000))
            raise LoginError(f"log in: too many failed tries; wait {seconds} seconds and try again", seconds)
        counts.count(1)
    return tried


def succeeded(work: Writing, tried: Try) -> None:
    """Take a try back; under this name and from this address all is forgiven."""
    counts = _Counts(work, tried)
    counts.count(-1)
    counts.forgive()


def network_of(address: str) -> str:
    """Who counts as one address: of IPv6 the network that one customer has."""
    try:
        told = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(told, IPv6Address):
        return str(told.ipv4_mapped) if told.ipv4_mapped else f"{IPv6Address(int(told) >> 64 << 64)}/64"
    return str(told)


@dataclass
class _Counts:
    work: Writing
    tried: Try

    def wait(self) -> timedelta:
        """How long until a try counts again."""
        pair = self._found("pair", self.tried.name, self.tried.address)
        if self._is_known:
            return _wait(pair, FREE, _FIRST, self.tried.at)
        name = self._found("name", self.tried.name)
        attacked = name is not None and name.failures >= ATTACKED
        free, first = (FREE_UNDER_ATTACK, _FIRST_UNDER_ATTACK) if attacked else (FREE, _FIRST)
        address = self._found("address", self.tried.address)
        at = self.tried.at
        return max(_wait(pair, free, first, at), _wait(address, FREE_OF_ADDRESS, _FIRST, at))

    def count(self, more: int) -> None:
        """Add to the failures of the name, of the address, and of both together."""
        for parts in self._keys:
            old = self._found(*parts)
            failures = max(0, (old.failures if old else 0) + more)
            self.work.put([LoginFailure(self._id(*parts), failures, self.tried.at)])

    def forgive(self) -> None:
        """Forget the failures under this name from this address."""
        if pair := self._found("pair", self.tried.name, self.tried.address):
            self.work.remove(pair)

    @property
    def _keys(self) -> tuple[tuple[str, ...], ...]:
        name, address = self.tried.name, self.tried.address
        return (("pair", name, address), ("name", name), ("address", address))

    @property
    def _is_known(self) -> bool:
        """Whether somebody of this name is or was logged in from there."""
        sessions = self.work.find(LoginSession, user=self.tried.name)
        return any(network_of(one.address) == self.tried.address for one in sessions)

    def _found(self, *parts: str) -> LoginFailure | None:
        """A count that is not too old to matter."""
        found = self.work.find(LoginFailure, id=self._id(*parts))
        return found[0] if found and found[0].at > self.tried.at - FORGOTTEN else None

    def _id(self, *parts: str) -> str:
        key = secret_of(self.work).encode()
        return hmac.new(key, "\0".join(parts).encode(errors="replace"), hashlib.sha256).hexdigest()


def secret_of(work: Writing) -> str:
    """What only this ledger knows, so that nobody can try names against what is kept of them."""
    if (told := work.fact(_SECRET)) is None:
        told = secrets.token_hex(32)
        work.remember(_SECRET, told)
    return told


def _wait(found: LoginFailure | None, free: int, first: timedelta, at: datetime) -> timedelta:
    if found is None or found.failures < free:
        return timedelta()
    doubled: int = 2 ** min(_DOUBLED, found.failures - free)
    return found.at + min(LONGEST, first * doubled) - at
