"""Text from outside, such as a player's name: shown to people as it is written, never obeyed."""

import html
import re

# Controls (C0, C1), formats (bidirectional, zero-width, tags), halves of surrogate pairs, line and paragraph
# separators: the Unicode categories Cc, Cf, Cs, Zl and Zp; and the Hangul fillers, letters that nobody can see.
_HIDDEN = (
    r"\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_NOT_FOR_PEOPLE = re.compile(rf"[\x00-\x1f{_HIDDEN}]")
_NOT_IN_JSON = re.compile(f"[{_HIDDEN}]")  # the first 32 are escaped there already, or stand between two values
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_DIGITS = 20  # of a number that any database keeps
_LAST_OF_TWO, _LAST_OF_FOUR = 0xFF, 0xFFFF  # digits


def visible(text: str) -> str:
    r"""One line for a person: what cannot be seen, or would steer a terminal, is written out (`\x1b`, `\u202e`)."""
    return _NOT_FOR_PEOPLE.sub(lambda found: _SHORT.get(found[0]) or code_point(found[0]), text)


def canonical_number(name: str) -> str:
    """A name of digits without leading zeros; every other name as it is."""
    return str(int(name)) if name.isascii() and name.isdecimal() and len(name) <= _DIGITS else name


def cut(text: str, most: int = 3_000) -> str:
    """A line that somebody can read: of a longer one its beginning and its end, and how much was left out."""
    if len(text) <= most:
        return text
    begin, end = 2 * most // 3, most // 6
    return f"{text[:begin]} … ({len(text) - begin - end:,} letters left out) … {text[-end:]}"


def escape(text: str) -> str:
    """The same for a page: nothing in it is a tag."""
    return html.escape(visible(text))


def plain_json(text: str) -> str:
    """JSON of the same value in which nothing steers a terminal that shows it."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _NOT_IN_JSON.sub(lambda found: _utf16(found[0]), text)


def code_point(letter: str) -> str:
    r"""A letter as its number: `\x1b`, `\u202e`, `\U000e0001`."""
    number = ord(letter)
    if number <= _LAST_OF_TWO:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= _LAST_OF_FOUR else f"\\U{number:08x}"


def _utf16(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
