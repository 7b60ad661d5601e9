"""Records as rows of the ledger, and as what the audit says of them; what no database could keep is refused."""

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gamewarden.core.durations import from_micros
from gamewarden.core.outside import cut
from gamewarden.errors import LedgerError

_LARGEST = (1 << 31) - 1  # a whole number in PostgreSQL

_AS_THEY_ARE = frozenset({str, int, float, bool})


class JsonText(str):
    """A value that is canonical JSON already."""

    __slots__ = ()


def row_of(record: Any) -> dict[str, Any]:  # noqa: ANN401  any record of a case
    """A record as a row: a value per field."""
    return dict(vars(record))


def told(record: Any) -> dict[str, Any]:  # noqa: ANN401  any record of a case
    """A record as JSON can say it: times in ISO 8601."""
    return {name: _plain(value) for name, value in vars(record).items()}


def refuse_unwritable(what: str, row: Mapping[str, Any]) -> None:
    """Say what no database could keep, before anything is written.

    Raises:
        LedgerError: there is something of that sort.
    """
    for name, value in row.items():
        if value is None or (type(value) is str and is_writable(value)):
            continue  # most are
        if wrong := _wrong(value):
            raise LedgerError(f"ledger: {name} of {what} is {cut(ascii(value), 60)}, {wrong}")


def is_writable(text: str) -> bool:
    """Whether every database takes a text: without NUL and without halves of letters."""
    return "\0" not in text and (text.isascii() or _encodes(text))


def json_value(text: Any) -> Any:  # noqa: ANN401  whatever was written
    """What a text of JSON says, its lists as tuples.

    Raises:
        LedgerError: it is no JSON.
    """
    try:
        return _frozen(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        shown = cut(ascii(text), 60)
        raise LedgerError(f"ledger: {shown} is not JSON, so it was changed by hand; put a copy back") from error


def moment_of(value: Any) -> datetime:  # noqa: ANN401  whatever was written
    """A time that was written as microseconds.

    Raises:
        LedgerError: it is none.
    """
    try:
        if type(value) is int:
            return from_micros(value)
    except OverflowError:
        pass
    raise LedgerError(f"ledger: {cut(ascii(value), 60)} is no time, so it was changed by hand; put a copy back")


def flag_of(value: Any) -> bool | None:  # noqa: ANN401  whatever was written
    """A yes or no that was written.

    Raises:
        LedgerError: it is neither.
    """
    if value is None or (type(value) in {bool, int} and value in {0, 1}):
        return None if value is None else bool(value)
    raise LedgerError(f"ledger: {cut(ascii(value), 60)} is no flag, so it was changed by hand; put a copy back")


def _wrong(value: Any) -> str:  # noqa: ANN401  the value of a column
    if isinstance(value, datetime):
        return "" if value.tzinfo else "a time of no time zone; write it in UTC"
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        return f"a larger number than {_LARGEST}, which is the largest that it keeps"
    return "" if _is_kept(value) else "which no database keeps; write it without NUL, NaN and halves of letters"


def _is_kept(value: Any) -> bool:  # noqa: ANN401  as JSON
    """Whether a database keeps all that is in a value."""
    if isinstance(value, str):
        return is_writable(value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_kept(name) and _is_kept(one) for name, one in value.items())
    return not isinstance(value, tuple | list) or all(map(_is_kept, value))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any) -> Any:  # noqa: ANN401  as JSON
    if value is None or type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


def _frozen(value: Any) -> Any:  # noqa: ANN401  as JSON
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
