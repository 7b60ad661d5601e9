"""Whole numbers as C headers write them: conditions, constants, lengths of arrays.

Everything is bounded, since a header may come from anywhere: no number beyond 64 bits, no parentheses without end.
"""

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

_NAME = re.compile(r"[A-Za-z_]\w*")
_TOKEN = re.compile(r"""\d[\w.]*|[A-Za-z_]\w*|"(?:\\.|[^"\\])*"?|->|\#\#|<<|>>|<=|>=|==|!=|&&|\|\||\S""")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|\d{1,19})[uUlL]{0,3}")
_DEEPEST = 32
_LARGEST = 1 << 63
_WIDEST_SHIFT = 63


class UnresolvedError(Exception):
    """Something in a header has no value here; its text names what."""


def tokens_of(code: str) -> list[str]:
    """Code in its smallest parts."""
    return _TOKEN.findall(code)


def is_name(token: str) -> bool:
    """Whether a token is a name and not a number or a sign."""
    return _NAME.fullmatch(token) is not None


def _quotient(left: int, right: int) -> int:
    """A quotient rounded towards zero, as in C."""
    if right == 0:
        raise UnresolvedError("a division by zero")
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _shifted(shift: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shifted(left: int, right: int) -> int:
        if not 0 <= right <= _WIDEST_SHIFT:
            raise UnresolvedError(f"a shift by {right}")
        return shift(left, right)

    return shifted


# How tightly each operator binds, and what it does.
_BINARY: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "||": (1, lambda left, right: bool(left) or bool(right)),
    "&&": (2, lambda left, right: bool(left) and bool(right)),
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "<": (7, operator.lt),
    "<=": (7, operator.le),
    ">": (7, operator.gt),
    ">=": (7, operator.ge),
    "<<": (8, _shifted(operator.lshift)),
    ">>": (8, _shifted(operator.rshift)),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, _quotient),
    "%": (10, lambda left, right: left - right * _quotient(left, right)),
}
_UNARY: dict[str, Callable[[int], int]] = {
    "!": lambda value: int(not value),
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
# What decides an operator before its right side is looked at.
_SHORT = {"||": True, "&&": False}


class Expression:
    """One expression, its names looked up by `value`; `looked_up` are those its value depends on."""

    def __init__(
        self, tokens: Sequence[str], value: Callable[[str], int], size: Callable[[str], int] | None = None
    ) -> None:
        self._tokens = tokens
        self._at = 0
        self._value = value
        self._size = size
        self.looked_up: list[str] = []

    def evaluated(self) -> int:
        """Its value.

        Raises:
            UnresolvedError: it is no expression, or something in it has no value.
        """
        found = self._binary(0, 0)
        if self._at < len(self._tokens):
            raise UnresolvedError(f"{' '.join(self._tokens)[:60]!r}")
        return found

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str | None = None) -> str:
        token = self._next()
        if not token or (wanted is not None and token != wanted):
            raise UnresolvedError(f"{' '.join(self._tokens)[:60]!r}")
        self._at += 1
        return token

    def _binary(self, least: int, depth: int) -> int:
        left = self._unary(depth)
        while (sign := self._next()) in _BINARY and _BINARY[sign][0] >= least:
            binds, apply = _BINARY[sign]
            self._at += 1
            before = len(self.looked_up)
            right = self._binary(binds + 1, depth + 1)
            if bool(left) is _SHORT.get(sign):
                del self.looked_up[before:]
            left = _bounded(int(apply(left, right)))
        return left

    def _unary(self, depth: int) -> int:
        if depth > _DEEPEST:
            raise UnresolvedError(f"an expression more than {_DEEPEST} deep")
        word = self._take()
        if word in _UNARY:
            return _bounded(_UNARY[word](self._unary(depth + 1)))
        if word == "(":
            inside = self._binary(0, depth + 1)
            self._take(")")
            return inside
        if word == "sizeof":
            return self._sizeof()
        if is_name(word):
            self.looked_up.append(word)
            return self._value(word)
        return _number(word)

    def _sizeof(self) -> int:
        self._take("(")
        name = self._take()
        name = self._take() if name == "struct" else name
        self._take(")")
        if self._size is None:
            raise UnresolvedError(f"sizeof( {name} )")
        return self._size(name)


def _bounded(value: int) -> int:
    if not -_LARGEST <= value < _LARGEST:
        raise UnresolvedError("a number beyond 64 bits")
    return value


def _number(token: str) -> int:
    found = _NUMBER.fullmatch(token)
    if found is None:
        raise UnresolvedError(f"{token[:40]!r}")
    digits = found.group(1)
    if digits[:2].lower() == "0x":
        return int(digits, 16)
    try:
        return int(digits, 8 if digits.startswith("0") else 10)
    except ValueError:
        raise UnresolvedError(f"{token[:40]!r}") from None
