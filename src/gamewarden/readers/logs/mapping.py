"""Mapping files: how the columns, times, rows and event names of any game's log become ours."""

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from gamewarden.contracts import canonical_json, digest
from gamewarden.errors import ConfigError
from gamewarden.readers.logs import rules
from gamewarden.readers.logs.layout import PLAIN, Layout, known_encoding
from gamewarden.readers.logs.line_patterns import line_pattern
from gamewarden.readers.logs.rules import Condition, Join, Side, Signed
from gamewarden.readers.logs.toml_sections import kind_of, known, lists, names, section, texts
from gamewarden.readers.timestamps import TimeReader
from gamewarden.tables import EVENTS

_SECTIONS = ("columns", "time", "kinds", "only", "amount", "file", "where", "join", "also", "line", "kind", "table")


@dataclass(frozen=True)
class LogMap:
    """What a log's columns and values are called, and what we call them.

    Without columns the log's names already are ours. With some, only those are read, and `actor`, `at` and `kind`
    keep their own names unless they are among them.
    """

    name: str = "none"
    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    format: str = "auto"
    time_zone: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)  # their value -> our kind
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # our column -> their kinds that fill it
    losses: tuple[str, ...] = ()  # their kinds whose amount the actor gives away
    layout: Layout = PLAIN  # how the file itself is written
    kind: str | None = None  # of every row, where no column says it
    signs: Mapping[str, Signed] = field(default_factory=dict)  # their value -> our kinds by the amount's sign
    where: tuple[Condition, ...] = ()  # what a row must have to be meant
    joins: tuple[Join, ...] = ()
    also: tuple[Side, ...] = ()  # the events that a row gives beside its first
    year: int | None = None  # of all times, where the log writes none
    table: str | None = None  # of a database: where the rows are
    key: str | None = None  # of that table: the column with growing numbers, where it is not its primary key

    def theirs(self) -> dict[str, str]:
        """Our columns as the log calls them, for the first event of a row."""
        needed = [name for name in EVENTS.required if name != "kind" or self.kind is None]
        if not self.columns:
            return {name: name for name in EVENTS.columns if name in needed or name not in EVENTS.required}
        return {**{name: name for name in needed}, **self.columns}

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """The events that a row gives, the first one first."""
        theirs = self.theirs()
        return (Side(theirs, self.kind), *(side.beside(theirs) for side in self.also))

    @property
    def references(self) -> tuple[str, ...]:
        """Every column of the log, of a table that is joined, and every path that is looked at."""
        conditions = [*self.where, *(one for side in self.also for one in side.where)]
        named = [theirs for side in self.sides for theirs in side.columns.values()]
        return tuple(dict.fromkeys([*named, *(one.column for one in conditions), *(join.on for join in self.joins)]))

    @property
    def needed(self) -> tuple[str, ...]:
        """Our columns without which no row can be read."""
        return (*EVENTS.required, "amount") if self.signs else EVENTS.required

    @property
    def promised(self) -> frozenset[str]:
        """The kinds that it can give, seen or not."""
        fixed = {side.kind for side in self.sides if side.kind is not None}
        by_sign = {kind for one in self.signs.values() for kind in one.kinds}
        return frozenset({*self.kinds.values(), *by_sign, *fixed})

    def clock(self, time_zone: str | None = None) -> TimeReader:
        """How the log writes its times; a zone given here wins over the file's."""
        return TimeReader(self.format, time_zone or self.time_zone, self.year)

    @property
    def renames_nothing(self) -> bool:
        """Whether every row and every value stays as it is."""
        changes = self.kinds or self.only or self.losses or self.signs or self.where or self.also or self.kind
        return not changes and all(a == b for a, b in self.theirs().items())

    @property
    def digest(self) -> str:
        """Names this mapping by what it does, not by its name; the content of the tables that it joins is not in it."""
        values = [dict(self.theirs()), self.format, self.time_zone, dict(self.kinds), dict(self.only), self.losses]
        # What was read before mappings could say it is known again.
        written = [] if self.layout == PLAIN else [_without_line(self.layout)]
        return digest(canonical_json([*values, *written, *self._further]))

    @property
    def _further(self) -> list[object]:
        signs = {theirs: rules.said(one) for theirs, one in self.signs.items()}
        listed = [[rules.said(one) for one in group] for group in (self.where, self.joins, self.also)]
        line = None if self.layout.line is None else asdict(self.layout.line)
        found = {"kind": self.kind, "signs": signs, "where": listed[0], "joins": listed[1], "also": listed[2]}
        kept = {name: value for name, value in {**found, "line": line, "year": self.year}.items() if value}
        return [kept] if kept else []


def _without_line(layout: Layout) -> dict[str, object]:
    return {name: value for name, value in asdict(layout).items() if name != "line"}


IDENTITY = LogMap()


def presets() -> tuple[str, ...]:
    """The names of the mappings that come with gamewarden."""
    folder = resources.files("gamewarden.readers") / "presets"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_mapping(name: str | Path) -> LogMap:
    """A mapping by a preset's name or a file's path.

    Raises:
        ConfigError: there is neither, or it says something we cannot follow.
    """
    if str(name) in presets():
        preset = resources.files("gamewarden.readers") / "presets" / f"{name}.toml"
        return parse_mapping(preset.read_text(encoding="utf-8"), str(name))
    path = Path(name)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the mapping file as UTF-8") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"mapping {str(name)!r} is neither a preset ({', '.join(presets())}) nor a file that can be read ({reason})"
        ) from error
    return parse_mapping(text, str(path), path.parent)


def parse_mapping(text: str, name: str, folder: Path = Path()) -> LogMap:
    """A mapping from the text of its TOML file; the tables it joins stand in that folder.

    Raises:
        ConfigError: it is not TOML, or says something we cannot follow.
    """
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: is not TOML: {str(error) or 'nested too deep'}") from error
    known(values, _SECTIONS, name, "section")
    columns = texts(values, "columns", name)
    known(columns, tuple(EVENTS.columns), f"{name}: [columns]", "column")
    clock = _clock(section(values, "time", name), name)
    amount = lists(values, "amount", name)
    known(amount, ("losses",), f"{name}: [amount]", "key")
    only = lists(values, "only", name)
    known(only, tuple(set(EVENTS.columns) - set(EVENTS.required)), f"{name}: [only]", "optional column")
    kinds, signs = _kinds(section(values, "kinds", name), name)
    found = LogMap(
        name,
        columns,
        clock.format,
        clock.time_zone,
        kinds,
        only,
        amount.get("losses", ()),
        _layout(values, name),
        None if "kind" not in values else kind_of(values["kind"], f"{name}: kind"),
        signs,
        rules.conditions(values.get("where", {}), f"{name}: [where]"),
        rules.joins(section(values, "join", name), name, folder),
        rules.sides(values.get("also", []), name),
        clock.year,
        **_table(values, name),
    )
    _refuse_contradictions(found)
    return found


def _table(values: Mapping[str, Any], name: str) -> dict[str, str | None]:
    """Which table of a database is meant; a file has none."""
    said = texts(values, "table", name)
    known(said, ("name", "key"), f"{name}: [table]", "key")
    return {"table": said.get("name"), "key": said.get("key")}


def _clock(said: Mapping[str, Any], name: str) -> TimeReader:
    known(said, ("format", "zone", "year"), f"{name}: [time]", "key")
    year = said.get("year")
    if year is not None and (type(year) is not int or not 1 <= year <= dt.MAXYEAR):
        raise ConfigError(f"{name}: [time] year is {year!r}; it must be a number such as 2026")
    time = texts({"time": {key: value for key, value in said.items() if key != "year"}}, "time", name)
    try:
        return TimeReader(time.get("format", "auto"), time.get("zone"), year)
    except ConfigError as error:
        raise ConfigError(f"{name}: [time] {error}") from error


def _kinds(values: Mapping[str, Any], name: str) -> tuple[dict[str, str], dict[str, Signed]]:
    """What a value of theirs is called, and what those are called that go by the amount's sign."""
    where = {theirs: f"{name}: [kinds] {theirs!r}" for theirs in values}
    signs = {one: rules.signed(ours, where[one]) for one, ours in values.items() if isinstance(ours, dict)}
    return {one: kind_of(ours, where[one]) for one, ours in values.items() if one not in signs}, signs


def _refuse_contradictions(found: LogMap) -> None:
    if found.kind is not None and "kind" in found.columns:
        raise ConfigError(f"{found.name}: has its kind twice, as kind and under [columns]; write one of them")
    if found.kind is not None and (found.kinds or found.signs):
        raise ConfigError(
            f"{found.name}: kind = {found.kind!r} names every row, so [kinds] names none; write one of them"
        )
    if found.signs and found.columns and "amount" not in found.columns:
        raise ConfigError(f"{found.name}: [kinds] goes by the sign of amount; name that column under [columns]")
    if both := sorted({*found.signs} & {*found.losses}):
        raise ConfigError(f"{found.name}: {both[0]!r} goes by its sign and is a loss in any case; write one of them")


def _layout(values: Mapping[str, Any], name: str) -> Layout:
    said = section(values, "file", name)
    known(said, ("encoding", "header", "null"), f"{name}: [file]", "key")
    header, null, encoding = said.get("header", True), said.get("null"), said.get("encoding")
    if not isinstance(header, bool):
        header = names(header, f"{name}: [file] header", 'true, false, or the columns in order, as in ["time", "id"]')
    if null is not None:
        null = names(null, f"{name}: [file] null", r"a list of quoted values, as in ['\N', 'NULL']")
    if encoding is not None:
        try:
            known_encoding(encoding)
        except ConfigError as error:
            raise ConfigError(f"{name}: [file] {error}") from error
    line = line_pattern(section(values, "line", name), name) if "line" in values else None
    if line is not None and header is not True:
        raise ConfigError(f"{name}: [file] header and [line] both name the columns; write one of them")
    return Layout(encoding, header is True, () if isinstance(header, bool) else header, null, line)
