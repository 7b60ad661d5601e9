"""The audit: lines that hold each other, so that a changed, added or missing one is found.

A line's hash covers its number, time and deed, the hash before it, and a seal: a salted digest of who did it, to what,
and the values before and after. Forgetting a person takes the salt away and writes those four anew without them; a
later line `forget` holds the digest of what stands there instead, so that it cannot be changed either.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Select, Text, or_, select, type_coerce

from gamewarden.contracts import canonical_json
from gamewarden.core.durations import to_micros
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.schema import AUDIT, FACTS
from gamewarden.store.ledger.values import JsonText, json_value

HEAD = "audit"  # the fact that says which line is the last
FORGET = "forget"  # the deed that says which lines were written anew
# What in a line about a forgotten person goes, whether it names them or not.
PERSONAL = frozenset(
    {"because", "text", "undone_because", "error", "before", "receipt", "session", "answer", "far", "votes", "note"}
)
_SALT = 16  # bytes
_AT_ONCE = 5_000


class Head(NamedTuple):
    """The last line: whoever notes it elsewhere can tell later that nothing up to it was changed."""

    number: int
    hash: str

    def __str__(self) -> str:
        """As it is noted."""
        return f"{self.number} {self.hash}"

    @classmethod
    def of(cls, text: str) -> "Head":
        """A head as it was noted.

        Raises:
            LedgerError: it is none.
        """
        number, _, last = text.strip().partition(" ")
        if not (number.isascii() and number.isdecimal()) or bool(int(number)) == (last == ""):
            raise LedgerError(f"audit: {text[:80]!r} is no head; write the number and the hash as audit says them")
        return cls(int(number), last.strip())


class Deed(NamedTuple):
    """What somebody did: to be a line."""

    what: str
    subject: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


def head_of(connection: Connection, *, hold: bool = False) -> Head:
    """The head that the ledger remembers; held until the transaction is over where that is asked for.

    Raises:
        LedgerError: it was changed by hand.
    """
    asked = select(FACTS.c.value).where(FACTS.c.name == HEAD)
    found = connection.execute(asked.with_for_update() if hold else asked).scalar()
    try:
        return Head.of(str(found))
    except LedgerError as error:
        raise LedgerError("ledger: the head of its audit was changed by hand; put a copy back") from error


def bound(head: Head, deeds: Sequence[Deed], who: str, at: datetime) -> tuple[list[dict[str, Any]], Head]:
    """Deeds as rows of the audit, each bound to all before it, and the head that they make."""
    number, last = head
    salts, rows = os.urandom(_SALT * len(deeds)).hex(), []
    for place, (what, subject, old, new) in enumerate(deeds):
        salt = salts[2 * _SALT * place : 2 * _SALT * (place + 1)]
        row: dict[str, Any] = {"who": who, "subject": subject, "old": _json(old), "new": _json(new)}
        seal, number = seal_of(salt, **row), number + 1
        row |= {"number": number, "at": at, "what": what, "salt": salt, "seal": seal, "before": last}
        last = _hash(last, number, to_micros(at), what, seal)
        rows.append({**row, "hash": last})
    return rows, Head(number, last)


def seal_of(salt: str, *, who: str, subject: str, old: str | None, new: str | None) -> str:
    """The digest of what a line says; the values as JSON text."""
    return hashlib.sha256(f"{salt}\n{canonical_json([who, subject])}\n{old}\n{new}".encode()).hexdigest()


def faults(connection: Connection, noted: Head | None = None) -> Iterator[str]:
    """What in the audit is not as it was written: a changed, added or missing line."""
    head, anew = head_of(connection), _written_anew(connection)
    number, last, seen = 0, "", noted is None or noted == Head(0, "")
    for row in connection.execute(every_line()):
        if row.number > number + 1:
            yield f"audit: {_missing(number + 1, row.number - 1)}"
        elif row.before != last:
            yield f"audit: line {row.number} does not follow the one before it"
        if not _is_as_written(row, anew):
            yield f"audit: line {row.number} is not as it was written"
        number, last = row.number, row.hash
        seen = seen or (number, last) == noted
    if (number, last) != head:
        yield f"audit: it ends with line {number} and ended with line {head.number}"
    if not seen and noted is not None:
        yield f"audit: line {noted.number} is not the one that was noted"


def every_line() -> Select[Any]:
    """All lines as they are in the database: values as text, times as numbers; some at a time."""
    plain: dict[str, Any] = {"at": BigInteger, "old": Text, "new": Text}
    columns = [type_coerce(one, plain[one.name]).label(one.name) if one.name in plain else one for one in AUDIT.c]
    return select(*columns).order_by(AUDIT.c.number).execution_options(yield_per=_AT_ONCE)


def subjects_of(connection: Connection, name: str) -> list[str]:
    """What the audit calls an actor and the records about it, also those that are gone; or the one record so named."""
    told = f'"actor":{canonical_json(name)}'
    named = (type_coerce(column, Text).contains(told, autoescape=True) for column in (AUDIT.c.old, AUDIT.c.new))
    return [name, *connection.execute(select(AUDIT.c.subject).where(or_(*named)).distinct()).scalars()]


def _is_as_written(row: Any, anew: Mapping[int, str]) -> bool:  # noqa: ANN401  a row
    try:
        if row.hash != _hash(row.before, row.number, row.at, row.what, row.seal):
            return False
        says = {"who": row.who, "subject": row.subject, "old": row.old, "new": row.new}
        return seal_of(row.salt or "", **says) == (row.seal if row.salt else anew.get(row.number))
    except TypeError:  # bytes where text was
        return False


def _written_anew(connection: Connection) -> dict[int, str]:
    """What stands in lines that people were taken out of, by the latest that says so."""
    asked = select(type_coerce(AUDIT.c.new, Text)).where(AUDIT.c.what == FORGET).order_by(AUDIT.c.number)
    found: dict[int, str] = {}
    for new in connection.execute(asked).scalars():
        found |= _lines_of(new)
    return found


def _lines_of(new: Any) -> dict[int, str]:  # noqa: ANN401  whatever is written there
    try:
        return {int(number): str(digest) for number, digest in json_value(new)["lines"].items()}
    except (LedgerError, LookupError, TypeError, ValueError, AttributeError):  # the line itself is found to be changed
        return {}


def _hash(before: str, number: int, at: int, what: str, seal: str) -> str:
    return hashlib.sha256(canonical_json([before, number, at, what, seal]).encode()).hexdigest()


def _json(value: Mapping[str, Any] | None) -> JsonText | None:
    return None if value is None else JsonText(canonical_json(value))


def _missing(first: int, last: int) -> str:
    return f"line {first} is missing" if first == last else f"lines {first} to {last} are missing"
