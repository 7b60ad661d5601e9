"""Passwords of the desk: kept as argon2id digests, long enough, and for one log in where somebody else made them."""

import secrets
from functools import lru_cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from gamewarden.core.extras import need
from gamewarden.errors import PeopleError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LEAST, MOST = 12, 256  # letters
_DIFFERENT = 5
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is taken for another
_GROUPS, _IN_GROUP = 4, 4
# Each digest takes 64 MiB: whoever sends many passwords at once must not take all memory.
_at_once = BoundedSemaphore(2)


def digest_of(password: str) -> str:
    """What is kept of a password."""
    with _at_once:
        return _hasher().hash(password)


def is_right(password: str, digest: str | None) -> bool:
    """Whether it is the password; as slow where there is none to compare with."""
    from argon2.exceptions import InvalidHashError, VerificationError

    if len(password) > MOST:
        return False
    with _at_once:
        try:
            return _hasher().verify(digest or _nobodys(), password) and digest is not None
        except (VerificationError, InvalidHashError, UnicodeEncodeError):
            return False


def is_outdated(digest: str) -> bool:
    """Whether it was made with other parameters than are used now."""
    return _hasher().check_needs_rehash(digest)


def refuse_weak(password: str, name: str) -> None:
    """Say what is wrong with a password.

    Raises:
        PeopleError: it is too short or too long, of few different letters, or little but the name.
    """
    if not LEAST <= len(password) <= MOST:
        raise PeopleError(f"password: has {len(password)} letters; it needs {LEAST} to {MOST}, a sentence is best")
    if len(set(password)) < _DIFFERENT:
        raise PeopleError(f"password: has too few different letters; it needs {_DIFFERENT} at least")
    left = password.casefold().replace(name.casefold(), "") if name else password
    if len(left) < LEAST // 2:
        raise PeopleError("password: is little more than the name; it needs words that nobody would guess")
    try:
        password.encode()
    except UnicodeEncodeError:
        raise PeopleError("password: has half a letter in it; type it again") from None


def for_one_log_in() -> str:
    """A password that somebody reads once and types once: 79 bits."""
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(_IN_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


@lru_cache
def _hasher() -> "PasswordHasher":
    need("logging in at the desk", "argon2")
    from argon2 import PasswordHasher

    return PasswordHasher()


@lru_cache
def _nobodys() -> str:
    return _hasher().hash(secrets.token_hex())
