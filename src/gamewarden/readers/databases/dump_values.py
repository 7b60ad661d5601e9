"""Values as dumps and exports write them: with quotes, escapes and words for nothing, in letters of many kinds."""

import codecs
import re
from collections.abc import Callable
from contextlib import suppress

from gamewarden.readers.databases.dump_tables import Column

Value = int | float | str | bytes | None
Plain = Callable[[bytes], bytes | None]  # what was meant, without quotes and escapes; None: nothing
Convert = Callable[[bytes], Value]

_STRING = rb"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'"
# By who writes it, a value in a row of VALUES: a number or a word, a string, a string with a word before it.
VALUES = {
    "mysql": rb"(?:[^'(),;\s]++(?:\s*+" + _STRING + rb")?|" + _STRING + rb")",
    "postgresql": rb"(?:[Ee]" + _STRING + rb"|[^'(),;\s]*+'[^']*+(?:''[^']*+)*+'|[^'(),;\s]++)",
}
_LARGEST = (1 << 63) - 1
_MYSQL = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a", b"%": b"\\%", b"_": b"\\_"}
# Of PostgreSQL's COPY and of MySQL's files; neither writes what the other would read otherwise.
_COPIED = _MYSQL | {b"f": b"\f", b"v": b"\v", b"%": b"%", b"_": b"_"}
_IN_STRING = re.compile(rb"\\(.)|''", re.DOTALL)
_IN_COPY = re.compile(rb"\\(.)", re.DOTALL)
_PREFIX = re.compile(rb"([^'\s]*)\s*'")
_TRUE = (b"t", b"true", b"1", b"TRUE")
# What MySQL calls latin1 is this, with five letters that Windows leaves out.
_LATIN1 = "".join(bytes([n]).decode("cp1252", errors="ignore") or chr(n) for n in range(256))
_TO_LATIN1 = codecs.charmap_build(_LATIN1)
_CODECS = {
    "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13", "win1251": "cp1251", "win1252": "cp1252",
    "euckr": "cp949", "uhc": "cp949", "sjis": "cp932", "ujis": "euc_jp", "gb2312": "gbk", "koi8r": "koi8_r",
}  # fmt: skip


def of_mysql(token: bytes) -> bytes | None:
    """A value of an INSERT that MySQL, MariaDB or phpMyAdmin wrote."""
    if token[:1] == b"'":
        return _unescaped(token[1:-1])
    if token[-1:] == b"'":
        return _prefixed(token, _unescaped)
    if token in {b"NULL", b"null", b"\\N"}:
        return None
    if token[:2] in {b"0x", b"0X"}:
        return _from_hex(token[2:])
    return token


def of_postgresql(token: bytes) -> bytes | None:
    """A value of an INSERT that PostgreSQL wrote: a backslash is one, unless an E stands before the string."""
    if token[:1] == b"'":
        return token[1:-1].replace(b"''", b"'")
    if token[-1:] == b"'":
        return _prefixed(token, _unescaped if token[:1] in b"Ee" else lambda inner: inner.replace(b"''", b"'"))
    return None if token in {b"NULL", b"null"} else token


def of_copy(token: bytes) -> bytes | None:
    """A value of COPY, or of a file that a server wrote with tabs between them."""
    if b"\\" not in token:
        return token
    return None if token == b"\\N" else without_backslashes(token)


def without_backslashes(text: bytes) -> bytes:
    """What was meant by a text with backslashes before what would end it."""
    return _IN_COPY.sub(lambda found: _COPIED.get(found[1], found[1]), text)


def _unescaped(inner: bytes) -> bytes:
    return _IN_STRING.sub(_meant, inner) if b"\\" in inner or b"'" in inner else inner


def _meant(found: re.Match[bytes]) -> bytes:
    return b"'" if found[1] is None else _MYSQL.get(found[1], found[1])


def _prefixed(token: bytes, unescape: Callable[[bytes], bytes]) -> bytes:
    """A string with a word before it: _binary, x, b, N, E."""
    found = _PREFIX.match(token)
    if found is None:
        return token
    inner = token[found.end() : -1]
    match found[1].lower():
        case b"x":
            return _from_hex(inner)
        case b"b":
            return str(int(inner, 2)).encode() if inner and not inner.strip(b"01") and len(inner) <= 64 else inner  # noqa: PLR2004  bits
        case _:
            return unescape(inner)


def _from_hex(digits: bytes) -> bytes:
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        return digits


def letters_of(name: str) -> Callable[[bytes], str]:
    """How bytes become text in what a server calls some letters; UTF-8 where we do not know them."""
    known = name.lower().replace("-", "").replace("_", "")
    if known == "latin1":
        return lambda raw: codecs.charmap_decode(raw, "replace", _LATIN1)[0]
    try:
        codec = codecs.lookup(_CODECS.get(known, known))
    except LookupError:
        codec = codecs.lookup("utf-8")
    if codec.name == "utf-8" or not getattr(codec, "_is_text_encoding", True):
        return lambda raw: raw.decode("utf-8", "replace")
    return lambda raw: codec.decode(raw, "replace")[0]


def converter(column: Column, plain: Plain, letters: Callable[[bytes], str], *, kept: bool, utc: bool) -> Convert:
    """How a column's values are read: by its type; where it has none, by how each is written.

    `kept` leaves texts as the bytes that the server kept, for somebody who knows their letters better than it does;
    `utc` says that the dump wrote moments in UTC.
    """
    kind = column.type
    if not kind and plain is not of_copy:
        return lambda token: _as_written(token, plain, letters)
    typed = _typed(kind, letters)
    if kept and any(word in kind for word in ("CHAR", "TEXT", "ENUM")):
        typed = _as_kept(column, letters)
    elif utc and kind.startswith("TIMESTAMP"):
        typed = lambda raw: f"{letters(raw)}+00:00"  # noqa: E731  one of several

    def convert(token: bytes) -> Value:
        raw = plain(token)
        return None if raw is None else typed(raw)

    return convert


def _typed(kind: str, letters: Callable[[bytes], str]) -> Callable[[bytes], Value]:
    if kind.startswith("BOOL"):
        return lambda raw: int(raw in _TRUE)
    if "INT" in kind.split("(", maxsplit=1)[0] and "INTERVAL" not in kind and "POINT" not in kind:
        return whole
    if kind.startswith(("SERIAL", "BIGSERIAL", "YEAR")):
        return whole
    if kind.startswith(("FLOAT", "DOUBLE", "REAL", "DEC", "NUMERIC")):
        return _number
    if "BLOB" in kind or "BINARY" in kind or kind.startswith(("BYTEA", "BIT")):
        return lambda raw: _from_hex(raw[2:]) if raw[:2] == b"\\x" else raw
    return letters


def _as_kept(column: Column, letters: Callable[[bytes], str]) -> Callable[[bytes], Value]:
    """The bytes that the server has: a dump writes them in other letters where it takes them for latin1."""
    if column.letters.lower() != "latin1":
        return lambda raw: raw
    return lambda raw: codecs.charmap_encode(letters(raw), "replace", _TO_LATIN1)[0]


def whole(raw: bytes) -> Value:
    """A whole number; what is none stays a text, and so does what is longer than the numbers of a database."""
    with suppress(ValueError):
        number = int(raw)
        if -_LARGEST <= number <= _LARGEST:
            return number
    return raw.decode("utf-8", "replace")


def _number(raw: bytes) -> Value:
    with suppress(ValueError):
        number = float(raw)
        if number - number == 0:
            return number
    return None


def _as_written(token: bytes, plain: Plain, letters: Callable[[bytes], str]) -> Value:
    """A value of a column without a type: servers put texts in quotes, and numbers not."""
    raw = plain(token)
    if raw is None:
        return None
    if token[-1:] == b"'" or (not token[:1].isdigit() and token[:1] != b"-"):
        return letters(raw)
    found = whole(raw)
    return found if isinstance(found, int) else _number(raw)
