"""What of a C header counts for one client: comments gone, conditions decided, macros kept for later."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from gamewarden.errors import ReadError
from gamewarden.readers.ragnarok.headers.expressions import Expression, UnresolvedError, is_name, tokens_of

_QUOTED_OR_COMMENT = re.compile(r"""//.*|/\*.*?(?:\*/|$)|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?""")
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)(.*)", re.DOTALL)
_EXACT_DATE = re.compile(r"\bPACKETVER\s*==\s*(\d{8})\b")
_PACK = re.compile(r"\s*pack\s*\(\s*(?:push\s*,\s*)?(1?)")
PACKED, UNPACKED = "#packed", "#unpacked"
_MOST_INCLUDED = 16
_MOST_CONDITIONS = 64
_MOST_STEPS = 20_000  # of one expansion
_MOST_STEPS_IN_ALL = 1_000_000  # a server's headers take some 12,000
_MOST_NESTED = 64
_DEFINED_IN_PARENTHESES = 4  # defined ( X )


def code_lines(text: str) -> Iterator[str]:
    """The lines of a header, continued ones joined, without their comments."""
    inside = False  # a comment
    for line in _joined(text.splitlines()):
        code, inside = _without_comments(line, inside=inside)
        if code.strip():
            yield code


def _joined(lines: Iterable[str]) -> Iterator[str]:
    parts: list[str] = []
    for line in lines:
        if line.endswith("\\"):
            parts.append(line[:-1])
        else:
            yield "".join((*parts, line))
            parts.clear()
    if parts:
        yield "".join(parts)


def _without_comments(line: str, *, inside: bool) -> tuple[str, bool]:
    """The code of a line, and whether it ends within a comment."""
    if inside:
        _, closed, line = line.partition("*/")
        if not closed:
            return "", True
    unclosed = False

    def kept(found: re.Match[str]) -> str:
        nonlocal unclosed
        piece = found.group()
        unclosed = piece.startswith("/*") and (not piece.endswith("*/") or piece == "/*/")
        return " " if piece.startswith("/") else piece

    return _QUOTED_OR_COMMENT.sub(kept, line), unclosed


class Macros:
    """Names that headers define; of those that take arguments only that they are there."""

    def __init__(self, headers: str, pinned: Mapping[str, str], never: Iterable[str] = ()) -> None:
        """Of `pinned` names the client decides, `never` are those it does not have: no header changes either."""
        self._headers = headers
        self._steps = 0
        self._plain = {name: tuple(tokens_of(text)) for name, text in pinned.items()}
        self._fixed = {*pinned, *never}
        self._calls: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._plain or name in self._calls

    def define(self, text: str) -> None:
        """Obey what stands behind #define."""
        name = re.match(r"\s*([A-Za-z_]\w*)(\(?)", text)
        if name is None or name.group(1) in self._fixed:
            return
        if name.group(2):
            self._calls.add(name.group(1))
        else:
            self._plain[name.group(1)] = tuple(tokens_of(text[name.end() :]))

    def undefine(self, text: str) -> None:
        """Obey what stands behind #undef."""
        name = text.strip()
        if name not in self._fixed:
            self._plain.pop(name, None)
            self._calls.discard(name)

    def expanded(self, tokens: Sequence[str]) -> list[str]:
        """Tokens with all macros of them put in; those that take arguments stay.

        Raises:
            UnresolvedError: there is no end of it.
            ReadError: there is no end of all of them together.
        """
        out: list[str] = []
        if self._steps > _MOST_STEPS_IN_ALL:
            raise ReadError(f"{self._headers}: macros stand for too much; a server's header has short ones")
        self._expand(tokens, frozenset(), out, self._steps + _MOST_STEPS)
        return out

    def _expand(self, tokens: Sequence[str], within: frozenset[str], out: list[str], most: int) -> None:
        for token in tokens:
            self._steps += 1
            if self._steps > most or len(within) > _MOST_NESTED:
                raise UnresolvedError(f"{token[:40]}, an expansion without end,")
            body = None if token in within else self._plain.get(token)
            if body is None:
                out.append(token)
            else:
                self._expand(body, within | {token}, out, most)


class Preprocessor:
    """Reads headers by name, each once and where another includes it; what it could not decide is kept by name."""

    def __init__(self, macros: Macros, texts: Mapping[str, str]) -> None:
        self.macros = macros
        self._unread = dict(texts)
        self.undefined: set[str] = set()  # names that conditions depend on and nobody defines
        self._doubts: set[str] = set()  # such names of the condition just read
        self.undecided: set[str] = set()  # conditions that are none
        self.exact_dates: set[int] = set()  # client dates that a condition asks for by equality
        self.unbalanced: set[str] = set()  # headers whose conditions do not end
        self._open: list[tuple[bool, bool]] = []  # of each condition: whether it counts now, and whether it ever did

    def tokens(self) -> Iterator[str]:
        """What of all headers counts; `PACKED` and `UNPACKED` stand where structs begin to be so.

        Raises:
            ReadError: conditions nest without end.
        """
        while self._unread:
            yield from self._tokens_of(next(iter(self._unread)), 0)

    def _tokens_of(self, name: str, depth: int) -> Iterator[str]:
        outer, self._open = self._open, []
        for line in code_lines(self._unread.pop(name)):
            directive = _DIRECTIVE.match(line)
            self._keep_doubts(directive)
            if directive is not None:
                self._obey(directive.group(1), directive.group(2), name)
                yield from self._inserted(directive.group(1), directive.group(2), depth)
            elif self._counts:
                yield from tokens_of(line)
        if self._open:
            self.unbalanced.add(name)
        self._open = outer

    def _inserted(self, directive: str, rest: str, depth: int) -> Iterator[str]:
        """What an include or a pragma puts in its place."""
        if directive == "include" and self._counts and depth < _MOST_INCLUDED:
            wanted = PurePosixPath(rest.strip().strip('<>"')).name
            given = next((name for name in self._unread if Path(name).name == wanted), None)
            yield from () if given is None else self._tokens_of(given, depth + 1)
        elif directive == "pragma" and self._counts and (pack := _PACK.match(rest)):
            yield PACKED if pack.group(1) else UNPACKED

    def _keep_doubts(self, directive: re.Match[str] | None) -> None:
        """Keep the names that the condition before this line depends on, unless it is a check that ends in #error."""
        if directive is None or directive.group(1) != "error":
            self.undefined |= self._doubts
        self._doubts = set()

    @property
    def _counts(self) -> bool:
        return not self._open or self._open[-1][0]

    def _obey(self, directive: str, rest: str, name: str) -> None:
        match directive:
            case "if" | "ifdef" | "ifndef":
                self._begin(directive, rest, name)
            case "elif" | "else" | "endif":
                self._go_on(directive, rest, name)
            case "define" if self._counts:
                self.macros.define(rest)
            case "undef" if self._counts:
                self.macros.undefine(rest)

    def _begin(self, directive: str, rest: str, name: str) -> None:
        if len(self._open) == _MOST_CONDITIONS:
            raise ReadError(f"{name}: nests more than {_MOST_CONDITIONS} conditions; a server's header has a few")
        counts = self._counts and self._holds(directive, rest)
        # Inside what does not count, no branch ever does.
        self._open.append((counts, counts or not self._counts))

    def _go_on(self, directive: str, rest: str, name: str) -> None:
        if not self._open:
            self.unbalanced.add(name)
            return
        _, done = self._open.pop()
        if directive == "endif":
            return
        counts = not done and (directive == "else" or self._holds("if", rest))
        self._open.append((counts, done or counts))

    def _holds(self, directive: str, rest: str) -> bool:
        tokens = tokens_of(rest)
        if directive != "if":
            return (tokens[:1] != [] and tokens[0] in self.macros) is (directive == "ifdef")
        self.exact_dates.update(int(date) for date in _EXACT_DATE.findall(rest))
        try:
            condition = Expression(self.macros.expanded(self._with_defined(tokens)), self._zero)
            held = condition.evaluated() != 0
        except UnresolvedError:
            self.undecided.add(rest.strip())
            return False
        self._doubts = {looked for looked in condition.looked_up if not looked.startswith("PACKETVER")}
        return held

    def _zero(self, name: str) -> int:
        """What a name is worth that nobody defined, as in C."""
        if name in self.macros:
            raise UnresolvedError(name)  # it takes arguments
        return 0

    def _with_defined(self, tokens: Sequence[str]) -> list[str]:
        """Tokens with 1 or 0 in the place of defined(X)."""
        out: list[str] = []
        at = 0
        while at < len(tokens):
            name, taken = _asked_for(tokens[at : at + _DEFINED_IN_PARENTHESES])
            out.append(tokens[at] if name is None else str(int(name in self.macros)))
            at += taken
        return out


def _asked_for(tokens: Sequence[str]) -> tuple[str | None, int]:
    """The name after a leading `defined`, if there is one, and how many tokens say so."""
    match tokens:
        case ["defined", "(", name, ")", *_] if is_name(name):
            return name, _DEFINED_IN_PARENTHESES
        case ["defined", name, *_] if is_name(name):
            return name, 2
    return None, 1
