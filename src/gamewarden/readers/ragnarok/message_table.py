"""Which bytes a game client sends for what: message tables of Ragnarok servers, read with all their versions.

A table has lines `0xIIII,length[,function,position:position…]`, oldest version first; a later line for an id replaces
the earlier one. Length -1 means that the message says its own length at byte 2, 0 that the id is not in use. Id 0 is
no message: a stream ends with it.

Tables can lie on top of each other, as a server's `db/import` over its `db`: a later table's line for an id counts. One
that names no packet is an empty table, which changes nothing there and is of no use alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gamewarden.core.text import counted
from gamewarden.errors import ConfigError, ReadError
from gamewarden.readers.ragnarok.message_fields import FIELDS, FIXED, canonical

DYNAMIC, NOT_IN_USE = -1, 0
TAG = b"ADAM"  # tells the time in a packetstream
LONGEST_MESSAGE = 0xFFFF
MOST_POSITIONS = 64
_VERSION = re.compile(r"packet_ver\s*:\s*(\d{1,9})\s*$", re.IGNORECASE)
_TABLE_LINE = re.compile(
    rb"^[ \t]*(0[xX][0-9a-fA-F]{1,4}[ \t]*,|packet_ver\s*:|packet_db_ver\s*:|packet_keys\w*\s*:)", re.MULTILINE
)
_SETTING = re.compile(r"\w+\s*:")
_EMPTY_TABLE = re.compile(rb"(?:[ \t\r]*(?://[^\n]*)?(?:\n|\Z))*")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")


@dataclass(frozen=True)
class Entry:
    """What a table says of one id."""

    id: int
    length: int
    function: str | None = None  # in lower case, as older tables write it
    positions: tuple[int, ...] = ()
    version: int | None = None  # of the block whose line counts

    @property
    def fields(self) -> dict[str, int]:
        """Where each part of the message begins, by name; what the table leaves open is not there."""
        names = FIELDS.get(self.function or "", ())
        places = self.positions if any(self.positions) else FIXED.get(self.function or "", ())
        return {name: place for name, place in zip(names, places, strict=False) if place > 0}


@dataclass
class TableReport:
    """What was counted while a table was read."""

    entries: int = 0  # lines that name a packet, of all versions
    handlers: int = 0  # those of them with a function
    other: int = 0  # settings such as packet_keys
    comments: int = 0  # lines of comment only, packets in them too
    prose: int = 0  # lines that are not even a setting
    zero: int = 0  # lines of id 0
    first_zero: int | None = None
    bad: int = 0
    example: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether this is a table in which nothing stands, such as a template, and not something else."""
        return not (self.entries or self.prose or self.bad or self.zero)

    def line(self, versions: int) -> str:
        """The counts, for a person."""
        named = f"{self.entries:,} lines name a packet, {self.handlers:,} of them a function"
        blocks = "1 version" if versions == 1 else f"{versions or 'no'} versions"
        return f"{named}, in {blocks}; {counted(self.other, 'setting')} and {counted(self.comments, 'comment')}"

    def pass_over_zero(self, number: int) -> None:
        """Count a line of id 0."""
        self.zero += 1
        self.first_zero = self.first_zero or number

    def over(self, below: "TableReport") -> "TableReport":
        """The counts of a table and of the one below it."""
        return TableReport(
            below.entries + self.entries,
            below.handlers + self.handlers,
            below.other + self.other,
            below.comments + self.comments,
            below.prose + self.prose,
            below.zero + self.zero,
            below.first_zero or self.first_zero,
            below.bad + self.bad,
            below.example or self.example,
        )

    def refuse(self, number: int, line: str, why: str) -> None:
        """Count a line that is none of these."""
        self.bad += 1
        if self.example is None:
            self.example = f"line {number}: {line[:60]!r} {why}"


@dataclass(frozen=True, eq=False)
class MessageTable:
    """A message table up to one version: each id once. Two readings of a file are two tables."""

    name: str
    entries: Mapping[int, Entry]
    versions: tuple[int, ...] = ()  # all the file has
    upto: int | None = None  # the last version that counts here
    report: TableReport = field(default_factory=TableReport)
    notes: tuple[str, ...] = ()  # what else a person should know of it
    advice: str = ""  # what to think of an id that it does not have

    def of(self, function: str) -> list[Entry]:
        """The ids a function is called for."""
        wanted = canonical(function)
        return [entry for entry in self.entries.values() if entry.function == wanted]

    def lines(self) -> list[str]:
        """What was understood, for a person."""
        functions = sum(entry.function is not None for entry in self.entries.values())
        dynamic = sum(entry.length == DYNAMIC for entry in self.entries.values())
        unused = sum(entry.length == NOT_IN_USE for entry in self.entries.values())
        ids = f"{len(self.entries):,} ids{self._version_text()}, {functions:,} with a function"
        said = [f"{self.name}: {ids}, {dynamic:,} of a length of their own, {unused:,} not in use"]
        if self.report.entries:
            said.append(self.report.line(len(self.versions)))
        if self.report.bad:
            said.append(f"{self.report.bad:,} lines could not be read and do not count (first: {self.report.example})")
        if self.report.zero:
            lines = "1 line is" if self.report.zero == 1 else f"{self.report.zero:,} lines are"
            where = f"first: line {self.report.first_zero}"
            said.append(f"{lines} of id 0, which no message has, and do not count ({where})")
        return [*said, *self.notes]

    def _version_text(self) -> str:
        return f" of version {self.upto}" if self.upto is not None else ""


def looks_like_packet_table(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a message table: text, with a line only such a table has."""
    return not looks_like_bytes(head) and _TABLE_LINE.search(head) is not None


def looks_like_bytes(head: bytes) -> bool:
    """Whether these are no text: every message begins with an id, and one of its two bytes is no letter."""
    return _NOT_TEXT.search(head) is not None


def looks_like_empty_table(head: bytes) -> bool:
    """Whether there are only comments, as in the templates of `db/import`."""
    return b"//" in head and _EMPTY_TABLE.fullmatch(head) is not None


def parse_packet_db(lines: Iterable[str], name: str, max_version: int | None = None) -> MessageTable:
    """A message table from its lines.

    Raises:
        ReadError: no line names a packet.
        ConfigError: the table has no such version.
    """
    return stacked([parsed(lines, name, max_version)], max_version)


def stacked(tables: Sequence[MessageTable], max_version: int | None = None) -> MessageTable:
    """Tables on top of each other, the last uppermost.

    Raises:
        ReadError: none of them names a packet, or one is no table.
        ConfigError: none of them has such a version.
    """
    name = " with ".join(table.name for table in tables)
    found: dict[int, Entry] = {}
    report = TableReport()
    for table in tables:
        _refuse_other(table)
        found |= table.entries
        report = table.report.over(report)
    if not report.entries:
        raise ReadError(
            f"{name}: names no packet, it is an empty message table; give it on top of a whole one, each with a "
            "--packet-db of its own"
        )
    versions = tuple(dict.fromkeys(version for table in tables for version in table.versions))
    return MessageTable(
        name,
        dict(sorted(found.items())),
        versions,
        _upto(name, versions, max_version),
        report,
        tuple(note for table in tables for note in table.notes),
        next((table.advice for table in tables if table.advice), ""),
    )


def parsed(lines: Iterable[str], name: str, max_version: int | None) -> MessageTable:
    """A table by itself, as one of those to be stacked: it may be empty, and may be none."""
    report = TableReport()
    found: dict[int, Entry] = {}
    versions: list[int] = []
    for number, line in enumerate(lines, 1):
        said, slashes, _ = line.partition("//")
        said = said.strip()
        if not said:
            report.comments += bool(slashes)
        elif version := _VERSION.match(said):
            versions.append(int(version.group(1)))
        elif said[:2].lower() != "0x":
            report.other += 1
            report.prose += _SETTING.match(said) is None
        elif (entry := _entry(said, number, versions[-1] if versions else None, report)) is not None:
            _keep(found, entry, max_version)
    return MessageTable(name, found, tuple(versions), None, report)


def _keep(found: dict[int, Entry], entry: Entry, max_version: int | None) -> None:
    if max_version is None or entry.version is None or entry.version <= max_version:
        found[entry.id] = entry


def _refuse_other(table: MessageTable) -> None:
    report = table.report
    if not report.entries and not report.is_empty:
        seen = f" (first of {report.bad} bad lines: {report.example})" if report.bad else ""
        raise ReadError(
            f"{table.name}: names no packet{seen}; a message table has lines such as 0x0085,11,changedir,7:10"
        )


def _upto(name: str, versions: Sequence[int], max_version: int | None) -> int | None:
    if max_version is None:
        return max(versions, default=None)
    if not versions:
        raise ConfigError(f"{name}: has no versions, so version {max_version} cannot be chosen; leave it out")
    known = [version for version in versions if version <= max_version]
    if not known:
        raise ConfigError(
            f"{name}: has versions {min(versions)} to {max(versions)}, none up to {max_version}; choose one of them"
        )
    return max(known)


def _entry(said: str, number: int, version: int | None, report: TableReport) -> Entry | None:
    """The line as an entry, or nothing, counted, when it is none."""
    tokens = [token for token in re.split(r"[,\s]+", said) if token]
    try:
        identity, length = int(tokens[0], 16), int(tokens[1])
        positions = _positions(tokens[3:])
    except (IndexError, ValueError):
        report.refuse(number, said, "is not 0xIIII,length[,function,positions]")
        return None
    if not 0 <= identity <= LONGEST_MESSAGE or not DYNAMIC <= length <= LONGEST_MESSAGE:
        report.refuse(number, said, "has an id or a length beyond 16 bits")
        return None
    if len(positions) > MOST_POSITIONS or not all(0 <= place <= LONGEST_MESSAGE for place in positions):
        report.refuse(number, said, "has positions no message has")
        return None
    if identity == 0:
        report.pass_over_zero(number)
        return None
    function = canonical(tokens[2]) if len(tokens) > 2 else None  # noqa: PLR2004 - after id and length
    report.entries += 1
    report.handlers += function is not None
    return Entry(identity, length, function, positions, version)


def _positions(tokens: list[str]) -> tuple[int, ...]:
    """Numbers between colons; a comma in the place of a colon is understood, words behind them are not looked at."""
    numbers: list[int] = []
    for token in tokens:
        if not token.replace(":", "").isdecimal():
            break
        numbers += [int(place) for place in token.split(":") if place]
    return tuple(numbers)
