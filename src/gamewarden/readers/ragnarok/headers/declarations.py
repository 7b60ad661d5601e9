"""What headers declare: structs of messages, constants, and the calls that make up a message table.

Only what message tables need is understood: packed structs of numbers, letters, arrays and other such structs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from gamewarden.readers.ragnarok.headers.expressions import Expression, UnresolvedError, is_name
from gamewarden.readers.ragnarok.headers.preprocessing import PACKED, UNPACKED, Macros

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_DEEPEST = 8  # each may hold an expression, which is bounded too: Python's stack is not
_LARGEST = 1 << 20  # bytes of a struct; a message has 65,535
_AFTER_ENUM = frozenset("{;()")
_HEADER = ("DEFINE_PACKET_HEADER", "DEFINE_PACKET_ID")
_WIDTHS = {
    **dict.fromkeys(("int8", "uint8", "char", "bool", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("int16", "uint16", "short", "int16_t", "uint16_t"), 2),
    **dict.fromkeys(("int32", "uint32", "int", "float", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("int64", "uint64", "double", "int64_t", "uint64_t"), 8),
}
_SIGNS = frozenset({"const", "signed", "unsigned", "struct"})


@dataclass(frozen=True)
class Layout:
    """A struct in memory: its bytes, and of each field where it begins and its bytes."""

    size: int
    fields: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Call:
    """A line such as `packet(0x0064, 55)`: its name, and the tokens of each argument."""

    name: str
    arguments: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(' '.join(one) for one in self.arguments)})"


@dataclass
class Declarations:
    """All that headers declared; values are looked up when they are asked for, whatever came first."""

    macros: Macros
    calls: list[Call] = field(default_factory=list)
    unclosed: int = 0  # things that begin and do not end
    _structs: dict[str, tuple[Sequence[str], bool]] = field(default_factory=dict)  # body, whether it is packed
    _constants: dict[str, tuple[Sequence[str], int]] = field(default_factory=dict)  # expression, what is added to it
    _packs: bool = False  # whether structs are packed from here on
    _values: dict[str, int] = field(default_factory=dict)
    _layouts: dict[str, Layout] = field(default_factory=dict)
    _asked: list[str] = field(default_factory=list)  # names and structs that are being looked up

    def read(self, tokens: Sequence[str], wanted: frozenset[str]) -> None:
        """Take in what a header declares, and its calls of `wanted` names."""
        at = 0
        while at < len(tokens):
            match tokens[at : at + 3]:
                case [pack, *_] if pack in (PACKED, UNPACKED):
                    self._packs = pack == PACKED
                    at += 1
                case ["struct", name, "{"]:
                    at = self._struct(tokens, at, name)
                case ["enum", *_]:
                    at = self._enum(tokens, at)
                case ["const", *_]:
                    at = self._constant(tokens, at)
                case [name, "(", *_] if name in wanted or name in _HEADER:
                    at = self._call(tokens, at, name)
                case _:
                    at += 1

    def value(self, tokens: Sequence[str]) -> int:
        """What an expression is worth.

        Raises:
            UnresolvedError: something in it is not known.
        """
        return Expression(self.macros.expanded(tokens), self._constant_value, self._size).evaluated()

    def layout(self, name: str) -> Layout:
        """A struct in memory.

        Raises:
            UnresolvedError: it is not known, or none of those that are understood.
        """
        if name not in self._layouts:
            body, packed = self._structs.get(name, ((), False))
            if not packed:
                raise UnresolvedError(f"sizeof {name}" + (", which is not packed" if body else ""))
            with self._looking_up(f"sizeof {name}"):
                self._layouts[name] = self._measured(self.macros.expanded(body), name)
        return self._layouts[name]

    def _size(self, name: str) -> int:
        return _WIDTHS.get(name) or self.layout(name).size

    def _constant_value(self, name: str) -> int:
        if name not in self._constants:
            raise UnresolvedError(name)
        if name not in self._values:
            with self._looking_up(name):
                tokens, more = self._constants[name]
                self._values[name] = (self.value(tokens) if tokens else 0) + more
        return self._values[name]

    @contextmanager
    def _looking_up(self, name: str) -> Iterator[None]:
        """While something is looked up: nothing is looked up for itself, or without end."""
        if name in self._asked or len(self._asked) == _DEEPEST:
            raise UnresolvedError(f"{name}, which has no end,")
        self._asked.append(name)
        try:
            yield
        finally:
            self._asked.pop()

    def _struct(self, tokens: Sequence[str], at: int, name: str) -> int:
        end = self._end(tokens, at + 2)
        tail = tokens[end : end + 4]  # } __attribute__ ( ( packed ) )
        self._structs[name] = (tokens[at + 3 : end], self._packs or "__attribute__" in tail)
        return end + 1

    def _enum(self, tokens: Sequence[str], at: int) -> int:
        begin = at + 1
        while begin < len(tokens) and tokens[begin] not in _AFTER_ENUM:
            begin += 1
        if begin == len(tokens) or tokens[begin] != "{":
            return begin
        end = self._end(tokens, begin)
        base: Sequence[str] = ()
        more = 0
        for name, *given in _split(tokens[begin + 1 : end], ","):
            if given[:1] == ["="]:
                base, more = given[1:], 0
            self._constants[name] = (base, more)
            more += 1
        return end + 1

    def _constant(self, tokens: Sequence[str], at: int) -> int:
        match tokens[at + 1 : at + 4]:
            case [_, name, "="] if is_name(name):
                end = at + 4
                while end < len(tokens) and tokens[end] != ";":
                    end += 1
                self._constants[name] = (tokens[at + 4 : end], 0)
                return end
        return at + 1

    def _call(self, tokens: Sequence[str], at: int, name: str) -> int:
        end = self._end(tokens, at + 1)
        arguments = tuple(tuple(one) for one in _split(tokens[at + 2 : end], ","))
        if name not in _HEADER:
            self.calls.append(Call(name, arguments))
        elif len(arguments) == 2 and len(arguments[0]) == 1:  # noqa: PLR2004  a name and its id
            self._constants[f"HEADER_{arguments[0][0]}"] = (arguments[1], 0)
        return end + 1

    def _end(self, tokens: Sequence[str], at: int) -> int:
        """Where what begins at a place ends; a thing without end takes all that follows."""
        end = _closing(tokens, at)
        self.unclosed += end == len(tokens)
        return end

    def _measured(self, tokens: Sequence[str], name: str) -> Layout:
        fields: dict[str, tuple[int, int]] = {}
        size = 0
        for declared in _split(tokens, ";"):
            field_name, width = self._field(declared, name)
            fields[field_name] = (size, width)
            size += width
            if size > _LARGEST:
                raise UnresolvedError(f"sizeof {name}, which is larger than any message,")
        return Layout(size, fields)

    def _field(self, tokens: Sequence[str], within: str) -> tuple[str, int]:
        """The name of a field, and its bytes."""
        width, rest = self._type(tokens, within)
        match rest:
            case [name, *lengths] if is_name(name):
                for length in _lengths(lengths, within):
                    width *= self.value(length) if length else 0  # an array without a length takes no bytes
                    if not 0 <= width <= _LARGEST:
                        raise UnresolvedError(f"sizeof {within}, which is larger than any message,")
                return name, width
        raise _odd(tokens, within)

    def _type(self, tokens: Sequence[str], within: str) -> tuple[int, Sequence[str]]:
        """The bytes of a field's type, and the tokens that follow it."""
        if tokens[0] == "struct" and "{" in tokens:
            begin = tokens.index("{")
            end = _closing(tokens, begin)
            with self._looking_up(f"{within}, {len(self._asked)} deep"):
                inner = self._measured(tokens[begin + 1 : end], within)
            return inner.size, tokens[end + 1 :]
        words = [token for token in tokens if token not in _SIGNS]
        if not words:
            raise _odd(tokens, within)
        return self._size(words[0]), words[1:]


def _odd(tokens: Sequence[str], within: str) -> UnresolvedError:
    return UnresolvedError(f"sizeof {within}, which has a field {' '.join(tokens)[:40]!r},")


def _lengths(tokens: Sequence[str], within: str) -> Iterator[Sequence[str]]:
    """What stands in the brackets behind a field's name."""
    while tokens:
        end = _closing(tokens, 0) if tokens[0] == "[" else len(tokens)
        if end == len(tokens):
            raise _odd(tokens, within)
        yield tokens[1:end]
        tokens = tokens[end + 1 :]


def _closing(tokens: Sequence[str], at: int) -> int:
    """Where the bracket at a place is closed, or the end."""
    opens, closes = tokens[at], _CLOSING[tokens[at]]
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] == opens) - (tokens[place] == closes)
        if depth == 0:
            return place
    return len(tokens)


def _split(tokens: Sequence[str], by: str) -> list[list[str]]:
    """What stands between the signs that are in no brackets; empty parts are left out."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in _CLOSING) - (token in _CLOSING.values())
        if token == by and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
