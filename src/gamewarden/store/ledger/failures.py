"""What goes wrong in a database, in one line without a password."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Engine
from sqlalchemy.exc import SQLAlchemyError

from gamewarden.core.outside import cut, visible
from gamewarden.errors import LedgerError

# What drivers say, and what somebody can do about it.
_ADVICE = (
    (
        "not a database",
        "is no ledger: it is not of SQLite; name another file in [workspace] ledger, or put a copy back",
    ),
    ("malformed", "is damaged; put a copy back"),
    ("no such table", "is damaged: a table is missing; put a copy back"),
    ("no such column", "is damaged: a column is missing; put a copy back"),
    ("decode to utf-8", "is damaged: a text is not UTF-8; put a copy back"),
    ("locked", "another process has been writing for too long; look which, and try again"),
    ("lock timeout", "another process has been writing for too long; look which, and try again"),
    ("readonly", "may not be written; change its permissions, or those of its directory"),
    ("unable to open", "cannot be opened: it must be a file, in a directory that may be written"),
    ("disk is full", "the disk is full, and nothing was written; make room"),
    ("disk i/o", "the disk fails; look at it, and put a copy back if the ledger is damaged"),
)
_SECRETS = ("password", "sslpassword", "passfile")


@contextmanager
def in_a_line(engine: Engine, name: str) -> Iterator[None]:
    """Whatever a database raises within is told.

    Raises:
        LedgerError: it raised something.
    """
    try:
        yield
    except SQLAlchemyError as error:
        raise LedgerError(f"{name}: {_advice(_cause(error, engine.url))}") from error


def secrets_of(url: URL) -> list[str]:
    """What in a URL nobody may read."""
    named = [str(url.query[name]) for name in _SECRETS if name in url.query]
    return [one for one in (url.password, *named) if one]


def _cause(error: SQLAlchemyError, url: URL) -> str:
    cause = visible(str(getattr(error, "orig", None) or error).strip().split("\n", 1)[0])
    for secret in secrets_of(url):
        cause = cause.replace(secret, "***")
    return cut(cause, 300)


def _advice(cause: str) -> str:
    low = cause.lower()
    return next((advice for words, advice in _ADVICE if words in low), cause)
