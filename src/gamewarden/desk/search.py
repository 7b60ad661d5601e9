"""Searching accounts: who meets all conditions, how many there would be with others, and the list page by page."""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.spreadsheets import harmless
from gamewarden.desk.columns import BARS, Columns, Order, Rows
from gamewarden.desk.conditions import CHOICES, FLAGS, KIND, PROFILE, RANGES, TEXT, UNKNOWN, Conditions, Range, written
from gamewarden.desk.desk import Desk
from gamewarden.desk.population import NOT_JUDGED, Population, population
from gamewarden.errors import ConfigError, short
from gamewarden.tables import json_lines

Picked = slice | NDArray[np.int64]
Value = str | int | float | bool | datetime | None
USUAL = (
    "actor", "name", "probability", "point", "days", "reason", "state", "zone", "level", "class", "server",
    "play_minutes", "self_sim", "sharing", "money_total", "since",
)  # fmt: skip
PUBLISHED = (
    "since", "actor", "name", "probability", "self_sim", "server", "main_character", "level", "class", "first_login",
    "play_minutes", "zone", "customer_grade", "ticket", "payment",
)  # fmt: skip
DRAWING = "days"  # a column that is a drawing, and no value
_HIDDEN = frozenset({"kinds"})
_TEXTS = (pl.String, pl.Enum)  # kinds of columns whose values can be chosen
_TOP = 12  # values of a condition that are shown at once
_FOUND = 50  # and of those that somebody looks for
_SEARCHES = 32  # whose counts are kept, as long as nothing changes
_ORDERS = 4  # of a search that are kept: each is as long as all that match
_CHUNK = 5_000  # rows that leave at once
_MOST_OWN = 20  # further columns of profiles that one can choose by


@dataclass(frozen=True)
class Choice:
    """One value of a condition, and how many accounts have it."""

    value: str  # empty: not known
    accounts: int
    chosen: bool
    url: str


@dataclass(frozen=True)
class Facet:
    """A condition by choice: its values under all other conditions, the most frequent first."""

    name: str
    choices: tuple[Choice, ...]
    more: int  # values that are not shown


@dataclass(frozen=True)
class Spread:
    """A condition on a number: from where to where it goes, and how many lie where under all other conditions."""

    name: str
    column: str
    least: float
    most: float
    edges: tuple[float, ...]
    accounts: tuple[int, ...]
    chosen: Range | None


@dataclass(frozen=True)
class Chip:
    """A condition that holds, and the address without it."""

    name: str
    values: tuple[str, ...]
    url: str
    accounts_without: int  # how many there would be


@dataclass(frozen=True)
class AccountRow:
    """One account of the list."""

    actor: str
    point: str | None
    drawn: tuple[float | None, ...]  # the probability of each of the newest days
    values: dict[str, Value]


@dataclass(frozen=True)
class AccountsView:
    """A page of the list, and what one could ask beside it."""

    total: int  # that match
    judged: int  # all in these days
    first: int  # the place of the first row, from 1; 0 where there is none
    rows: tuple[AccountRow, ...]
    columns: tuple[str, ...]
    all_columns: tuple[str, ...]
    sort: str
    falling: bool
    size: int
    days: tuple[str, ...]  # the dates that are looked at
    drawn_days: tuple[str, ...]
    query: str
    next: str | None
    previous: str | None
    chips: tuple[Chip, ...]
    facets: tuple[Facet, ...]
    spreads: tuple[Spread, ...]


class Matches:
    """Who meets conditions, and how many would under others: found once for all pages and orders of a search."""

    def __init__(self, people: Population, wanted: Conditions) -> None:
        self.wanted = wanted
        self.people = people
        self.columns = Columns(people)
        self._counts: dict[str, dict[str, int]] = {}
        self._bars: dict[str, tuple[int, ...]] = {}
        self._ordered: dict[tuple[str, bool], NDArray[np.uint32]] = {}

    @cached_property
    def masks(self) -> dict[str, Rows]:
        """Who meets each condition."""
        wanted, columns = self.wanted, self.columns
        found = {name: columns.within(RANGES[name], one.least, one.most) for name, one in wanted.ranges}
        found |= {name: columns.are(column_of(name), values) for name, values in wanted.choices}
        found |= {name: columns.yes(FLAGS[name]) for name in wanted.flags}
        if wanted.kinds:
            found[KIND] = np.logical_and.reduce([columns.did(kind) for kind in wanted.kinds])
        if wanted.text:
            found[TEXT] = columns.named(wanted.text)
        return found

    @cached_property
    def _failed(self) -> NDArray[np.int8]:
        """How many conditions each account does not meet."""
        failed = np.zeros(self.people.frame.height, np.int8)
        for mask in self.masks.values():
            failed += ~mask
        return failed

    @cached_property
    def matching(self) -> Rows:
        """Who meets all of them."""
        found: Rows = self._failed == 0
        return found

    @cached_property
    def total(self) -> int:
        """How many meet all of them."""
        return int(np.count_nonzero(self.matching))

    def but(self, name: str) -> Rows:
        """Who meets all of them but one, whatever that one says."""
        own = self.masks.get(name)
        found: Rows = self.matching if own is None else (self._failed - ~own) == 0
        return found

    def _picked(self, name: str) -> Picked:
        """The same as what an array is asked for: all of it, or places in it."""
        return self._matching_places if name not in self.masks else np.flatnonzero(self.but(name))

    @cached_property
    def _matching_places(self) -> Picked:
        return np.flatnonzero(self.matching) if self.masks else slice(None)

    def counts(self, name: str) -> dict[str, int]:
        """How many of those who meet all other conditions have each value of one."""
        if name not in self._counts:
            rows = self._picked(name)
            self._counts[name] = self.columns.kinds(rows) if name == KIND else self._counted(name, rows)
        return self._counts[name]

    def _counted(self, name: str, rows: Picked) -> dict[str, int]:
        texts, codes = self.columns.codes(column_of(name))
        counted = np.bincount(codes[rows], minlength=len(texts) + 1).tolist()
        return {text: n for text, n in zip((*texts, UNKNOWN), counted, strict=True) if n}

    def bars(self, name: str) -> tuple[int, ...]:
        """How many of those who meet all other conditions lie in each bar of a number."""
        if name not in self._bars:
            places = self.columns.bars(RANGES[name]).places[self._picked(name)]
            self._bars[name] = tuple(np.bincount(places, minlength=BARS + 1)[:BARS].tolist())
        return self._bars[name]

    def ordered(self, column: str, *, falling: bool) -> NDArray[np.uint32]:
        """The places of all that match, in the order of a column."""
        known = self._ordered
        if (column, falling) not in known:
            places = self.columns.order(column, falling=falling).places
            found = places[self.matching[places]] if self.masks else places
            self._ordered = known = (
                {**known, (column, falling): found} if len(known) < _ORDERS else {(column, falling): found}
            )
        return known[column, falling]


def column_of(name: str) -> str:
    """The column that a condition by choice is about."""
    return CHOICES.get(name) or name.removeprefix(PROFILE)


class Search:
    """A search as it is asked for: conditions, order, page and columns."""

    def __init__(self, desk: Desk, wanted: Conditions) -> None:
        self.wanted = wanted
        self.people: Population = population(desk, wanted.span)
        self._refuse_unknown()
        alone = Conditions(wanted.span, wanted.ranges, wanted.choices, wanted.flags, wanted.kinds, wanted.text)
        self.matches = self.people.searches.of("matches", alone, lambda: Matches(self.people, alone), _SEARCHES)

    @cached_property
    def order(self) -> Order:
        """The order that is asked for."""
        return self.matches.columns.order(self.wanted.sort, falling=self.wanted.falling)

    @cached_property
    def ordered(self) -> NDArray[np.uint32]:
        """The places of all that match, in their order."""
        return self.matches.ordered(self.wanted.sort, falling=self.wanted.falling)

    def page(self) -> tuple[int, NDArray[np.uint32]]:
        """Where a page begins among all that match, and the places of its rows."""
        wanted, found = self.wanted, self.ordered
        begin = 0
        if wanted.after:
            begin = found.size - int(np.count_nonzero(self._beyond(wanted.after)[found]))
        elif wanted.before:
            beyond = self._beyond(wanted.before, itself=True)
            begin = max(found.size - int(np.count_nonzero(beyond[found])) - wanted.size, 0)
        return begin, found[begin : begin + wanted.size]

    def cursor(self, place: int) -> str:
        """What names a row's place in the order: its value and its account."""
        told = [self.order.keys[place], self.people.frame["actor"][place]]
        return base64.urlsafe_b64encode(json.dumps(told, ensure_ascii=False).encode()).decode().rstrip("=")

    def _beyond(self, cursor: str, *, itself: bool = False) -> Rows:
        """Who stands behind a place in the order; an account that is gone has a place there still."""
        value, actor = self._place(cursor)
        keys, actors = self.order.keys, self.people.frame["actor"]
        later = actors >= actor if itself else actors > actor
        if value is None:
            return (keys.is_null() & later).to_numpy()
        try:
            farther = keys < value if self.wanted.falling else keys > value
            equal = keys == value
        except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
            raise _lost(cursor) from error
        return (keys.is_null() | farther.fill_null(value=False) | (equal.fill_null(value=False) & later)).to_numpy()

    def _place(self, cursor: str) -> tuple[Value, str]:
        try:
            value, actor = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            f"{value}{actor}".encode()  # half a letter stands nowhere
        except (ValueError, TypeError, RecursionError) as error:
            raise _lost(cursor) from error
        text = self.order.keys.dtype == pl.String
        fits = value is None or (isinstance(value, str) if text else _is_number(value))
        if not fits or not isinstance(actor, str):
            raise _lost(cursor)
        return value, actor

    def _refuse_unknown(self) -> None:
        there = self.people.frame.schema
        for name in (one for one, _ in self.wanted.ranges):
            if RANGES[name] not in there:
                raise ConfigError(f"{name}: nothing is known of it here; profiles have no such column")
        for name in (one for one, _ in self.wanted.choices):
            if there.get(column_of(name)) not in _TEXTS:
                raise ConfigError(f"{short(name)}: nothing is known of it here; profiles have no such column")
        for name in (self.wanted.sort, *self.wanted.columns):
            if name not in self.all_columns or (name == DRAWING and name == self.wanted.sort):
                raise ConfigError(f"{short(name)} is no column that can be shown; there are {', '.join(USUAL)}")

    @cached_property
    def all_columns(self) -> tuple[str, ...]:
        """All that can be shown, the usual ones first."""
        there = [name for name in self.people.frame.columns if name not in _HIDDEN]
        usual = [name for name in USUAL if name in there or name == DRAWING]
        return tuple(dict.fromkeys((*usual, *there)))

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that are shown."""
        return self.wanted.columns or tuple(name for name in USUAL if name in self.all_columns)


def accounts(desk: Desk, wanted: Conditions) -> AccountsView:
    """One page of the accounts that meet conditions.

    Raises:
        ConfigError: a condition is about something that nothing is known of here.
        ReadError: what rests is damaged.
    """
    found = Search(desk, wanted)
    begin, places = found.page()
    people, total = found.people, found.matches.total
    ends = places.size and (found.cursor(int(places[0])), found.cursor(int(places[-1])))
    bare = wanted.first_page()
    return AccountsView(
        total=total,
        judged=people.frame.height,
        first=begin + 1 if places.size else 0,
        rows=rows_of(found, places),
        columns=found.shown,
        all_columns=found.all_columns,
        sort=wanted.sort,
        falling=wanted.falling,
        size=wanted.size,
        days=tuple(str(one.date) for one in people.days),
        drawn_days=tuple(str(one.date) for one in people.drawn_days),
        query=bare.url("").removeprefix("?"),
        next=replace(bare, after=ends[1]).url() if ends and begin + places.size < total else None,
        previous=replace(bare, before=ends[0]).url() if ends and begin else None,
        chips=tuple(_chips(found)),
        facets=tuple(_facets(found)),
        spreads=tuple(_spreads(found)),
    )


def rows_of(found: Search, places: NDArray[np.uint32]) -> tuple[AccountRow, ...]:
    """Accounts at some places."""
    shown = [name for name in found.shown if name != DRAWING]
    frame = found.people.frame.select(list(dict.fromkeys(("actor", "point", *shown))))[places]
    texts = frame.select(pl.col(pl.Enum).cast(pl.String), pl.exclude(pl.Enum))
    drawn = found.people.drawn[places].tolist()
    values = texts.select(shown).to_dicts() if shown else [{} for _ in drawn]
    told = zip(texts["actor"], texts["point"], drawn, values, strict=True)
    return tuple(AccountRow(actor, point, _shares(days), row) for actor, point, days, row in told)


def _shares(days: Sequence[int]) -> tuple[float | None, ...]:
    return tuple(None if day == NOT_JUDGED else round(day / (NOT_JUDGED - 1), 3) for day in days)


def matching(desk: Desk, wanted: Conditions) -> list[str]:
    """All accounts that meet conditions, in their order: what an act on all that match is about.

    Raises:
        ConfigError: a condition is about something that nothing is known of here.
    """
    found = Search(desk, wanted)
    return found.people.frame["actor"].gather(found.ordered).to_list()


def count(desk: Desk, wanted: Conditions) -> int:
    """How many accounts meet conditions."""
    return Search(desk, wanted).matches.total


def facet(desk: Desk, wanted: Conditions, name: str, find: str = "") -> Facet:
    """One condition by choice, with the values that somebody looks for.

    Raises:
        ConfigError: there is no such condition.
    """
    found = Search(desk, wanted)
    if name != KIND and name not in _choosable(found):
        raise ConfigError(f"{short(name)} is no condition by choice; there are {', '.join((*_choosable(found), KIND))}")
    return _facet(found, name, find.strip().lower(), _FOUND)


def exported(desk: Desk, wanted: Conditions, form: str) -> Iterator[str]:
    """All that match as CSV or as lines of JSON, in pieces: the columns, conditions and order that are shown.

    Raises:
        ConfigError: a condition is about something that nothing is known of here.
    """
    found = Search(desk, wanted)
    columns = list(dict.fromkeys(name for name in ("actor", *found.shown) if name != DRAWING))
    frame, places = found.people.frame.select(columns), found.ordered
    return _pieces(frame, places, form)


def _pieces(frame: pl.DataFrame, places: NDArray[np.uint32], form: str) -> Iterator[str]:
    begins = range(0, max(places.size, 1), _CHUNK)
    if form == "csv":
        for begin in begins:
            some = harmless(frame[places[begin : begin + _CHUNK]])
            yield some.write_csv(include_header=begin == 0, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
        return
    yield "["
    for begin in begins:
        lines = json_lines(frame[places[begin : begin + _CHUNK]]).splitlines()
        yield ("\n" if begin == 0 else ",\n" if lines else "") + ",\n".join(lines)
    yield "\n]\n"


def _chips(found: Search) -> Iterator[Chip]:
    wanted = found.wanted
    for name in wanted.names:
        without = int(np.count_nonzero(found.matches.but(name)))
        yield Chip(name, _told(wanted, name), wanted.without(name).url(), without)


def _told(wanted: Conditions, name: str) -> tuple[str, ...]:
    """A condition's values in words that need no translation."""
    if name == TEXT:
        return (wanted.text,)
    if name == KIND:
        return wanted.kinds
    if name in dict(wanted.ranges):
        one = dict(wanted.ranges)[name]
        ends = tuple("" if end is None else written(end) for end in (one.least, one.most))
        return (f"{ends[0]} – {ends[1]}".strip() if all(ends) else f"≥ {ends[0]}" if ends[0] else f"≤ {ends[1]}",)
    return dict(wanted.choices).get(name, ())


def _choosable(found: Search) -> tuple[str, ...]:
    """The conditions by choice that something is known of."""
    frame = found.people.frame
    ours = [name for name, column in CHOICES.items() if column in frame.columns and frame[column].dtype == pl.Enum]
    taken = {CHOICES[name] for name in ours} | {"far"}
    own = [name for name, kind in frame.schema.items() if kind == pl.Enum and name not in taken]
    return (*ours, *(f"{PROFILE}{name}" for name in own[:_MOST_OWN]))


def _facets(found: Search) -> Iterator[Facet]:
    for name in _choosable(found):
        one = _facet(found, name, "", _TOP)
        if any(choice.value != UNKNOWN or choice.chosen for choice in one.choices):
            yield one
    if found.people.kinds:
        yield _facet(found, KIND, "", _TOP)


def _facet(found: Search, name: str, find: str, most: int) -> Facet:
    chosen = found.wanted.kinds if name == KIND else dict(found.wanted.choices).get(name, ())
    counts = found.matches.counts(name)
    listed = {value: counts.get(value, 0) for value in (*chosen, *counts)}
    wanted = {value: n for value, n in listed.items() if find in value.lower()}
    # What is chosen stands first, so that it can be taken back; then the most frequent, of equal ones by name.
    ordered = sorted(wanted, key=lambda value: (value not in chosen, -wanted[value], value))
    shown = ordered[: max(most, len(chosen))]
    choices = (
        Choice(value, wanted[value], value in chosen, found.wanted.with_choice(name, value).url()) for value in shown
    )
    return Facet(name, tuple(choices), len(ordered) - len(shown))


def _spreads(found: Search) -> Iterator[Spread]:
    for name, column in RANGES.items():
        if column not in found.people.frame.columns:
            continue
        edges = found.matches.columns.bars(column).edges
        if edges:
            chosen = dict(found.wanted.ranges).get(name)
            yield Spread(
                name=name,
                column=column,
                least=edges[0],
                most=edges[-1],
                edges=edges,
                accounts=found.matches.bars(name),
                chosen=chosen,
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lost(cursor: str) -> ConfigError:
    return ConfigError(f"{short(cursor)} is no place in this list; begin at its first page")
