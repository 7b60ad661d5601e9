"""What a dump says of its tables: the names and types of their columns, as CREATE TABLE declares them."""

import re
from dataclasses import dataclass

from gamewarden.errors import ReadError

MOST_COLUMNS = 1_000
NAME = rb"(?:`(?:[^`]|``)*+`|\"(?:[^\"]|\"\")*+\"|[\w$]++)"
_TOKEN = re.compile(
    rb"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'|`(?:[^`]|``)*+`|\"(?:[^\"]|\"\")*+\"|[(),]|[^'`\"(),]++", re.DOTALL
)
_FIRST = re.compile(rb"\s*(" + NAME + rb")\s*(.*)", re.DOTALL)
_NOT_A_COLUMN = {
    b"PRIMARY", b"KEY", b"UNIQUE", b"INDEX", b"CONSTRAINT", b"FULLTEXT", b"SPATIAL", b"FOREIGN", b"CHECK", b"PERIOD",
    b"EXCLUDE", b"LIKE",
}  # fmt: skip
_AFTER_TYPE = re.compile(
    r"\s(?:NOT|NULL|DEFAULT|COLLATE|CHARACTER SET|CHARSET|AUTO_INCREMENT|COMMENT|GENERATED|PRIMARY|UNIQUE|CONSTRAINT|"
    r"REFERENCES|CHECK|ON|AS|VISIBLE|INVISIBLE)\b.*",
    re.DOTALL,
)
_LETTERS = re.compile(rb"(?:CHARACTER SET|CHARSET)[\s=]+(\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One column: its name, its type as the server wrote it, and the letters that a text in it is kept in."""

    name: str
    type: str = ""  # empty: nobody said
    letters: str = ""


def plain_name(written: bytes) -> str:
    """A name without its quotes."""
    text = written.decode(errors="replace")
    quote = text[:1]
    return text[1:-1].replace(quote * 2, quote) if quote in {"`", '"'} and text else text


def names_in(written: bytes) -> tuple[str, ...]:
    """The names of a list in brackets."""
    return tuple(plain_name(name) for name in re.findall(NAME, written))


def columns_in(statement: bytes, where: str) -> tuple[Column, ...]:
    """The columns of a statement that begins with the bracket after the table's name.

    Raises:
        ReadError: there are far too many.
    """
    parts, after = _split(statement)
    kept = _LETTERS.search(after)
    letters = kept[1].decode() if kept else ""
    found = [column for part in parts if (column := _column(part, letters)) is not None]
    if len(found) > MOST_COLUMNS:
        raise ReadError(f"{where}: declares {len(found):,} columns; a table of a game has {MOST_COLUMNS:,} at the most")
    return tuple(found)


def _split(statement: bytes) -> tuple[list[bytes], bytes]:
    """What stands between the commas in the outermost brackets, and what stands after these."""
    parts, depth, begun = [bytearray()], 0, False
    tokens = _TOKEN.finditer(statement)
    for token in tokens:
        word = token[0]
        depth += (word == b"(") - (word == b")")
        if begun and depth == 0:
            return [bytes(part) for part in parts], statement[token.end() :]
        if word == b"," and depth == 1:
            parts.append(bytearray())
        elif begun:
            parts[-1] += word
        begun = True
    return [bytes(part) for part in parts], b""


def _column(part: bytes, letters: str) -> Column | None:
    found = _FIRST.match(part)
    if found is None or found[1].upper() in _NOT_A_COLUMN:
        return None
    own = _LETTERS.search(found[2])
    declared = " ".join(found[2].decode(errors="replace").upper().split())
    return Column(plain_name(found[1]), _AFTER_TYPE.sub("", declared), own[1].decode() if own else letters)
