"""How wide text is on a terminal, and where its lines break: at spaces, never inside a name or a command."""

import re
import unicodedata

_WORDS = re.compile(r"`[^`\n]*`\S*|\S+")  # a command in backticks is copied as a whole
_MARK = re.compile(r"(\s*(?:[+−·●-]+ +|\d+\. +)?)")  # what a line begins with: its further lines stand under the text


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: East Asian letters two, accents that stand on others none."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """The text in so many columns."""
    room = " " * (width - cells(text))
    return room + text if right else text + room


def wrapped(line: str, width: int | None, indent: str | None = None) -> list[str]:
    """One line of prose as several that fit; further ones begin with `indent`, or under the text of the first."""
    if width is None or cells(line) <= width or line.startswith("|"):  # a row of a Markdown table stays one
        return [line]
    found = _MARK.match(line)
    mark = found[0] if found else ""
    lines, full = [mark.rstrip() if not line[len(mark) :].strip() else mark], cells(mark)
    hang = " " * cells(mark) if indent is None else indent
    fresh = True
    for word in _WORDS.findall(line[len(mark) :]):
        long = cells(word)
        if not fresh and full + 1 + long > width:
            lines.append(hang)
            full, fresh = cells(hang), True
        lines[-1] += word if fresh else f" {word}"
        full, fresh = full + long + (not fresh), False
    return lines


def _cell(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
