"""The message table of one client date, from the headers of today's servers.

rAthena writes `parseable_packet(id, length, function, positions…)` and `packet(id, length)`; Hercules writes functions
as `packet(id, function, positions…)` and lengths, in files of their own, as `packetLen(id, length)`. Which lines count,
the client's date and kind decide. Names and structs may come from any of the headers; what none of them defines is
counted by name and never guessed.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from gamewarden.config import PACKET_CLIENTS
from gamewarden.core.text import counted
from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.ragnarok.headers.declarations import Call, Declarations
from gamewarden.readers.ragnarok.headers.expressions import UnresolvedError
from gamewarden.readers.ragnarok.headers.preprocessing import Macros, Preprocessor
from gamewarden.readers.ragnarok.message_fields import FIELDS, PART_WIDTHS, STRUCT_FIELDS, amount_width, canonical
from gamewarden.readers.ragnarok.message_table import (
    DYNAMIC,
    LONGEST_MESSAGE,
    MOST_POSITIONS,
    NOT_IN_USE,
    Entry,
    MessageTable,
    TableReport,
)

_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|define|include)\b", re.MULTILINE)
_OF_ONE_CLIENT = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+_(?:SHUFFLE|LEN)_(MAIN|RE|ZERO|SAK|AD)_H\b", re.MULTILINE)
_TABLE_LINE = re.compile(r"^[ \t]*(?:packet|parseable_packet|packetLen)[ \t]*\(", re.MULTILINE)
_FIRST_DATE, _LAST_DATE = 2000_01_01, 2099_12_31
# The dates for which rAthena knows only clients of the re kind (its config/packets.hpp).
_ONLY_RE = ((2015_11_05, 2018_07_03), (2020_09_02, 2021_11_18))
_CALLS = frozenset({"packet", "parseable_packet", "packetLen", "packet_keys", "packetKeys"})
_KEYS = ("packet_keys", "packetKeys")
_NO_FUNCTION = ("nullptr", "NULL", "0")
_EXAMPLES = 3
_Tokens: TypeAlias = Sequence[str]


def looks_like_header(head: bytes) -> bool:
    """Whether the first bytes of a text are those of a C header."""
    return _DIRECTIVE.search(head) is not None


def parse_headers(texts: Mapping[str, str], date: int | None, client: str | None = None) -> MessageTable:
    """The message table that headers, by name, give for clients of a date and kind.

    Raises:
        ReadError: they name no packet, or functions without any length.
        ConfigError: the date is missing or none, or they are of another kind of client.
    """
    name = " with ".join(texts)
    date = _date(name, date)
    client, why = _client(name, texts.values(), date, client)
    # What tables refer to comes first, so that it does not matter how the files are named.
    ordered = dict(sorted(texts.items(), key=lambda one: _TABLE_LINE.search(one[1]) is not None))
    reading = Preprocessor(_macros(name, date, client), ordered)
    declared = Declarations(reading.macros)
    declared.read(list(reading.tokens()), _CALLS)
    made = _Table(declared, date)
    for call in declared.calls:
        made.take(call)
    made.refuse_empty(name)
    notes = (f"of {client} clients of {date}{why}", *made.notes(), *_doubts(reading, declared, date))
    return MessageTable(name, made.found, (date,), date, made.report, notes, made.advice)


def _date(name: str, date: int | None) -> int:
    if date is None:
        raise ConfigError(
            f"{name}: holds the messages of many client dates; say which one with --packet-version YYYYMMDD"
        )
    if not _FIRST_DATE <= date <= _LAST_DATE:
        raise ConfigError(f"{name}: version {date} is no date of a client; name one as YYYYMMDD, such as 20180307")
    return date


def _client(name: str, texts: Iterable[str], date: int, told: str | None) -> tuple[str, str]:
    """The kind of client, and why it is that one where nobody said so."""
    named = {found.lower() for text in texts for found in _OF_ONE_CLIENT.findall(text)}
    if len(named) > 1 or (told and named - {told}):
        raise ConfigError(
            f"{name}: is of {' and '.join(sorted(named))} clients{f', not of {told} ones' if told else ''}; "
            "give the files of one kind, and that kind as --packet-client"
        )
    if told:
        return told, ""
    if named:
        return named.pop(), ", as the files say"
    usual = "re" if any(first <= date <= last for first, last in _ONLY_RE) else "main"
    return usual, ", as rAthena has it for that date; --packet-client says otherwise"


def _macros(name: str, date: int, client: str) -> Macros:
    pinned = {"PACKETVER": str(date), "PACKET_OBFUSCATION": "", f"PACKETVER_{client.upper()}_NUM": str(date)}
    if client != "main":
        pinned[f"PACKETVER_{client.upper()}"] = str(date)
    never = {f"PACKETVER_{kind.upper()}{end}" for kind in PACKET_CLIENTS for end in ("", "_NUM")}
    return Macros(name, pinned, never - {*pinned})


def _doubts(reading: Preprocessor, declared: Declarations, date: int) -> list[str]:
    """What of the headers was not understood, or may not mean this client."""
    said = _between_dates(reading.exact_dates, date)
    if reading.undefined:
        asked = _few(reading.undefined)
        said.append(f"conditions ask for {asked}, which no header given defines; that counts as 0, as in C")
    if reading.undecided:
        said.append(f"conditions that could not be decided count as false: {_few(reading.undecided)}")
    if reading.unbalanced:
        said.append(f"conditions do not end where they should in {_few(reading.unbalanced)}")
    if declared.unclosed:
        said.append(f"{counted(declared.unclosed, 'bracket')} not closed; what follows such a bracket does not count")
    return said


def _between_dates(named: set[int], date: int) -> list[str]:
    """A word on a date among those whose ids are shuffled, each by itself, that is none of them."""
    before = [one for one in named if one < date]
    after = [one for one in named if one > date]
    if date in named or not before or not after:
        return []
    near = f"{max(before)} and {min(after)}"
    return [f"ids move by client date, and nothing is said of {date} by itself (nearest: {near}); none is moved for it"]


def _few(names: Collection[str]) -> str:
    shown = ", ".join(name[:60] for name in sorted(names)[:_EXAMPLES])
    return shown + (f" and {len(names) - _EXAMPLES:,} more" if len(names) > _EXAMPLES else "")


@dataclass
class _Table:
    """A message table that grows line by line."""

    declared: Declarations
    date: int
    found: dict[int, Entry] = field(default_factory=dict)
    report: TableReport = field(default_factory=TableReport)
    keys: tuple[int, ...] = ()
    unresolved: dict[str, int] = field(default_factory=dict)  # what no header defines -> lines that need it

    def take(self, call: Call) -> None:
        """Obey a line of the headers."""
        if call.name in _KEYS:
            self.report.other += 1
            self.keys = tuple(self._known(one) or 0 for one in call.arguments)
        elif not call.arguments:
            self._refuse(call, "names no packet")
        elif (identity := self._known(call.arguments[0])) is not None:
            if 0 < identity <= LONGEST_MESSAGE:
                self._line(call, identity)
            else:
                self._refuse(call, "has an id that no message has")

    def _line(self, call: Call, identity: int) -> None:
        match call.name, call.arguments:
            case "packet", (_,):  # Hercules: an id of which there is nothing to say
                self.report.entries += 1
            case "packet", (_, called, *positions) if "->" in called:
                self._functions(call, identity, called, positions)
            case _, (_, length, *rest):
                self._whole(call, identity, length, rest)
            case _:
                self._refuse(call, "has no length")

    def _functions(self, call: Call, identity: int, called: _Tokens, positions: Sequence[_Tokens]) -> None:
        """Hercules' line with a function: the length stays as another file has it."""
        entry = self.found.get(identity, Entry(identity, NOT_IN_USE, version=self.date))
        self._put(call, replace(entry, function=_function(called), positions=()), positions)

    def _whole(self, call: Call, identity: int, tokens: _Tokens, rest: Sequence[_Tokens]) -> None:
        """A line with a length: rAthena's replaces what was there, Hercules' `packetLen` only the length."""
        length = self._known(tokens)
        if length is None:
            self.found.pop(identity, None)  # this line would have replaced it
        elif not DYNAMIC <= length <= LONGEST_MESSAGE:
            self._refuse(call, "has a length that no message has")
        elif call.name == "packetLen" and identity in self.found:
            self._put(call, replace(self.found[identity], length=length), ())
        else:
            called, positions = (_function(rest[0]), rest[1:]) if rest else (None, ())
            self._put(call, Entry(identity, length, called, (), self.date), positions)

    def _put(self, call: Call, entry: Entry, positions: Sequence[_Tokens]) -> None:
        if positions:
            places = tuple(self._known(one) or 0 for one in positions)
            if len(places) > MOST_POSITIONS or not all(0 <= place <= LONGEST_MESSAGE for place in places):
                self._refuse(call, "has positions that no message has")
                return
            entry = replace(entry, positions=places if any(places) else self._places(call, entry.function) or places)
        self.report.entries += 1
        self.report.handlers += entry.function is not None and call.name != "packetLen"
        self.found[entry.id] = entry

    def _places(self, call: Call, function: str | None) -> tuple[int, ...]:
        """Where the parts of a message begin by the fields of its struct; 0 for one that no field names for sure."""
        try:
            fields = self.declared.layout(_struct_of(call)).fields
        except UnresolvedError:
            return ()
        return tuple(_place(fields, part, function) for part in FIELDS.get(function or "", ()))

    def _known(self, tokens: _Tokens) -> int | None:
        try:
            return self.declared.value(tokens)
        except UnresolvedError as unresolved:
            self.unresolved[str(unresolved)] = self.unresolved.get(str(unresolved), 0) + 1
            return None

    def _refuse(self, call: Call, why: str) -> None:
        self.report.bad += 1
        self.report.example = self.report.example or f"{str(call)[:60]!r} {why}"

    def refuse_empty(self, name: str) -> None:
        """Say so when there is no table.

        Raises:
            ReadError: the headers name no packet, or functions without any length.
        """
        if not self.report.entries:
            seen = f" (not defined: {_few(self.unresolved)})" if self.unresolved else ""
            raise ReadError(f"{name}: names no packet{seen}; a message table has lines such as packet(0x0064,55)")
        if all(entry.length == NOT_IN_USE for entry in self.found.values()):
            raise ReadError(
                f"{name}: says nothing of lengths; give Hercules' src/common/packets/packetsYYYY_len_KIND.h too, "
                "with a --packet-db of its own"
            )

    def notes(self) -> list[str]:
        """What a person should know of it."""
        said = []
        if self.unresolved:
            said.append(f"{self._lacking()} not count, since no header given defines {_few(self.unresolved)}")
        if unread := {entry.function for entry in self.found.values() if entry.function and not _is_read(entry)}:
            said.append(f"the parts of {_few(unread)} are not known: no position is given")
        if any(self.keys):
            said.append(
                "clients of this date hide the ids of what they send behind keys; such ids are not decoded here, only "
                "streams that a server wrote after it had taken the keys off"
            )
        return said

    @property
    def advice(self) -> str:
        """What to think of an id that this table does not have."""
        if any(self.keys):
            return "; clients of this date hide ids behind keys, which is not undone here"
        if self.unresolved:
            return f"; {self._lacking()} not count in the headers, and `gamewarden packets` on them says why"
        return ""

    def _lacking(self) -> str:
        lines = sum(self.unresolved.values())
        return f"{counted(lines, 'line')} {'does' if lines == 1 else 'do'}"


def _function(tokens: _Tokens) -> str | None:
    """The name of `clif_parse_WalkToXY` or `clif->pWalkToXY`, as all tables are compared."""
    name = tokens[-1]
    if name in _NO_FUNCTION:
        return None
    return canonical(name.removeprefix("p") if "->" in tokens else name.removeprefix("clif_parse_"))


def _struct_of(call: Call) -> str:
    """The struct that a line's length is that of, or that its id is called after."""
    identity, length = call.arguments[:2]
    named = [token for token in length if token.startswith("PACKET_")]
    return named[0] if named else identity[0].replace("HEADER_", "PACKET_", 1)


def _place(fields: Mapping[str, tuple[int, int]], part: str, function: str | None) -> int:
    width = amount_width(function) if part == "amount" else PART_WIDTHS.get(part)
    found = [
        place
        for name, (place, bytes_) in fields.items()
        if name in STRUCT_FIELDS.get(part, ()) and width in (None, bytes_)
    ]
    return found[0] if len(found) == 1 else 0


def _is_read(entry: Entry) -> bool:
    return len(entry.fields) >= len(FIELDS.get(entry.function or "", ()))
