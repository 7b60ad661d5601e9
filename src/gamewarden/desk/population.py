"""Everybody who was judged in some days, a row each: the highest day, what the days add up to, and what else is known.

It is held in memory by column and found anew only when what it rests on changes; a page reads from it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.durations import from_micros
from gamewarden.desk.desk import Desk
from gamewarden.desk.everybody import everybody, places
from gamewarden.desk.known_people import profiles
from gamewarden.desk.memory import Memory, looks_of
from gamewarden.desk.standing import HUMAN, standing
from gamewarden.errors import ConfigError, short
from gamewarden.policy import INTERNAL
from gamewarden.store.partitions import INDEX, Partition, Partitions
from gamewarden.tables import TIME
from gamewarden.verdicts.points import ACT, NEITHER, WATCH
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.exonerated import blank_exonerated
from gamewarden.workspace.rest import ACCOUNT_DAYS

T = TypeVar("T")
POINTS = (ACT, WATCH, NEITHER)
REVIEW, WATCHING, ACTIONED, DISMISSED = STATES = ("review", "watching", "actioned", "dismissed")
# Columns that acts at the desk change.
STANDING = frozenset({"rung", "step", "rehearsal", "protected", "appeal", "votes", "label", "family", "group", "state"})
SHOWN_DAYS = 30  # that are drawn in a row of the list
NOT_JUDGED = 255  # in a drawing; else the probability in 254ths
_ACT, _WATCH = 0, 1  # their places among the points
_NOTHING = -1.0  # below every probability
_HELD = 3  # populations: the latest few ranges that somebody looked at
_MOST_BITS = 63
_DAYS = re.compile(r"[1-9][0-9]{0,3}")
_VOTES = 2  # that settle what an account is, where they agree (three raters, of whom two decide)
_FEW = 1_000  # different texts of a profile column that one can still choose from
_NUMBERS = {
    "probability": pl.Float64,
    "fpr": pl.Float64,
    "agree": pl.Int16,
    "covered": pl.Float64,
    "events": pl.Int64,
    "self_sim": pl.Float64,
    "play_minutes": pl.Float64,
    "level": pl.Int16,
    "zones": pl.Int16,
    "addresses": pl.Int32,
    "money_gained": pl.Float64,
}
_TEXTS = ("zone", "detector", "far")
_SUMS = {"events": "events_total", "play_minutes": "play_total", "money_gained": "money_total"}
_COLUMNS = ("actor", "since", *_NUMBERS, *_TEXTS, "point", "sharing", "kinds", "verdict", "reason")


@dataclass(frozen=True)
class Span:
    """The days somebody looks at: the newest so many, or from one to another, both of them included."""

    newest: int | None = None  # None with no dates: all
    since: date | None = None
    until: date | None = None

    @classmethod
    def parse(cls, days: str = "", since: str = "", until: str = "") -> "Span":
        """From the parts of an address: days is a number of newest days or `all`; 30 where nothing is said.

        Raises:
            ConfigError: it is no number of days, or a date is none.
        """
        if since or until:
            return cls(None, _date("since", since), _date("until", until))
        if days == "all":
            return cls()
        if days and not _DAYS.fullmatch(days):
            raise ConfigError(f"days is {short(days)}; give a number of days such as 7, or all")
        return cls(int(days or 30))

    def of(self, days: Sequence["JudgedDay"]) -> tuple["JudgedDay", ...]:
        """Those days that it means, of all in their order."""
        if self.newest is not None:
            return tuple(days[-self.newest :])
        return tuple(
            one
            for one in days
            if (self.since is None or one.date >= self.since) and (self.until is None or one.date <= self.until)
        )

    @property
    def query(self) -> dict[str, str]:
        """As parts of an address."""
        if self.newest is not None:
            return {"days": str(self.newest)}
        ends = {"since": self.since, "until": self.until}
        return {name: str(end) for name, end in ends.items() if end} or {"days": "all"}


def _date(name: str, text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise ConfigError(f"{name} is {short(text)}; give a date such as 2026-03-01") from error


@dataclass(frozen=True)
class JudgedDay:
    """A day that rests for the desk."""

    date: date
    since: datetime
    partition: Partition


@dataclass(frozen=True)
class Population:
    """Everybody of some days."""

    frame: pl.DataFrame  # sorted by actor
    days: tuple[JudgedDay, ...]
    drawn: NDArray[np.uint8]  # accounts by the newest days: NOT_JUDGED, or the probability in 254ths
    kinds: tuple[str, ...]  # what the bits of the column `kinds` mean
    # What is found of columns when somebody first asks: of those that acts at the desk change, and of all others.
    passing: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    lasting: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    searches: Memory = field(default_factory=Memory, repr=False, compare=False)

    def kept(self, column: str, what: str, make: Callable[[], T]) -> T:
        """What was found of a column, as long as the column is the same."""
        shelf = self.passing if column in STANDING else self.lasting
        if (column, what) not in shelf:
            shelf[column, what] = make()  # two who ask at once find the same
        found: T = shelf[column, what]
        return found

    @property
    def drawn_days(self) -> tuple[JudgedDay, ...]:
        """The days of the drawing."""
        return self.days[-self.drawn.shape[1] :] if self.drawn.shape[1] else ()


class Latest:
    """What is slow to find: while it is found anew, what was found last is shown, and nobody waits."""

    def __init__(self, patience: float = 0.5) -> None:
        self._patience = patience  # seconds that a reader may wait for what is new
        self._lock = Lock()
        self._key: object = None
        self._value: Population | None = None
        self._took = 0.0
        self._wanted: object = None

    def of(self, key: object, make: Callable[[], Population]) -> Population:
        """What belongs to a key; or what was there before, where that takes long and is being found."""
        with self._lock:
            value = self._value
            if value is None or (key != self._key and self._took <= self._patience):
                return self._make(key, make)
            if key not in (self._key, self._wanted):
                self._wanted = key
                Thread(target=self._later, args=(key, make), daemon=True).start()
            return value

    def _make(self, key: object, make: Callable[[], Population]) -> Population:
        begun = monotonic()
        value = make()
        self._key, self._value, self._took = key, value, monotonic() - begun
        return value

    def _later(self, key: object, make: Callable[[], Population]) -> None:
        begun = monotonic()
        try:
            value = make()
            with self._lock:
                self._key, self._value, self._took = key, value, monotonic() - begun
        finally:
            with self._lock:
                self._wanted = None


def judged_days(desk: Desk) -> tuple[JudgedDay, ...]:
    """All days that rest for the desk, the earliest first.

    Raises:
        ReadError: their index is damaged.
    """
    tables = DeskTables(desk.workspace)
    look = looks_of(tables.rest("accounts").directory / INDEX)
    return desk.memory.of("judged days", look, lambda: tuple(map(_day, tables.days())), 2)


def _day(one: Partition) -> JudgedDay:
    return JudgedDay(date.fromisoformat(one.name.removeprefix("day=")), from_micros(one.since), one)


def population(desk: Desk, span: Span) -> Population:
    """Everybody who was judged in the days of a span.

    Raises:
        ReadError: what rests, or a file of the operator's, is damaged.
        LedgerError: the ledger cannot be read.
    """
    days = span.of(judged_days(desk))
    files = tuple(one.partition.file for one in days)
    look = looks_of(desk.workspace.profiles)
    # A new day may be shown later, while it is folded; what an appeal has refuted is never shown again.
    latest = desk.memory.of("latest", (span, *sorted(desk.workspace.exonerated.items())), Latest, _HELD)
    known = latest.of((files, look), lambda: _known(desk, days, look))
    state = standing(desk)
    key = (*(one.partition.file for one in known.days), id(known), state.rests_on)
    return desk.memory.of("population", key, lambda: _joined(known, state.frame), _HELD)


def _known(desk: Desk, days: Sequence[JudgedDay], look: tuple[object, ...]) -> Population:
    """What days and profiles say: all that no act at the desk changes."""
    files = tuple(one.partition.file for one in days)
    cleared = desk.workspace.exonerated
    found = desk.memory.of("folded", (files, *sorted(cleared.items())), lambda: _folded(desk, days, cleared), 1)
    known = profiles(desk)
    if known.is_empty():
        return replace(found, lasting={})
    chosen = desk.memory.of("chosen profiles", look, lambda: _chosen(known), 1)
    return replace(found, frame=_beside(found.frame, chosen), lasting={})


def _joined(known: Population, state: pl.DataFrame) -> Population:
    told = known.frame.select("actor").join(state, on="actor", how="left", maintain_order="left").drop("actor")
    return replace(known, frame=known.frame.hstack(_stated(known.frame, told)), passing={}, searches=Memory())


def _stated(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Where each account stands: somebody has to look, it is watched, something was done, or nothing need be."""
    suspected = known["point"].cast(pl.String).is_in([ACT, WATCH]).fill_null(value=False)
    filled = told.with_columns(pl.col("protected", "appeal").fill_null(False), pl.col("votes").fill_null(0))
    cleared = (pl.col("label") == HUMAN) & pl.col("reviewed")
    step = pl.col("step").cast(pl.String)
    felt, is_case = step.is_not_null() & ~step.is_in(INTERNAL) & ~pl.col("rehearsal"), step == REVIEW
    state = (
        pl.when(felt.fill_null(False))
        .then(pl.lit(ACTIONED))
        .when(cleared.fill_null(False))
        .then(pl.lit(DISMISSED))
        .when((pl.lit(suspected) | is_case.fill_null(False)) & (pl.col("votes") < _VOTES))
        .then(pl.lit(REVIEW))
        .when(pl.lit(suspected) | (pl.col("rung") > 0))
        .then(pl.lit(WATCHING))
    )
    return filled.with_columns(state.cast(pl.Enum(STATES)).alias("state")).drop("reviewed")


def _chosen(told: pl.DataFrame) -> pl.DataFrame:
    """Profiles whose texts are held once, where there are few of them."""
    own = ("actor", "name", "main_character")
    texts = [name for name, kind in told.schema.items() if kind == pl.String and name not in own]
    found = {name: told[name].drop_nulls().unique().sort() for name in texts}
    return told.with_columns(pl.col(name).cast(pl.Enum(few)) for name, few in found.items() if len(few) <= _FEW)


def _beside(frame: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """What the operator knows beside what was judged; of a level the one that was played counts."""
    clash = {name: f"profile_{name}" for name in told.columns if name in {*frame.columns, *STANDING} - {"actor"}}
    joined = frame.join(told.rename(clash), on="actor", how="left", maintain_order="left")
    if "profile_level" not in joined.columns:
        return joined
    level = pl.col("level").fill_null(pl.col("profile_level").cast(pl.Int16))
    return joined.with_columns(level).drop("profile_level")


def _folded(desk: Desk, days: Sequence[JudgedDay], cleared: Mapping[str, datetime]) -> Population:
    """The days one after the other, so that no more than one of them is held beside what they add up to."""
    table = DeskTables(desk.workspace).rest("accounts")
    fold = _Fold(everybody(_rows(table, one.partition, ["actor"])["actor"] for one in days), days)
    for place, one in enumerate(days):
        fold.add(place, _once(blank_exonerated(_rows(table, one.partition, _COLUMNS), cleared)))
    return Population(fold.frame(), tuple(days), fold.drawn, fold.kinds)


def _rows(table: Partitions, one: Partition, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of a day: read at once, and only where that fails looked through for what is wrong."""
    try:
        found = pl.read_parquet(table.directory / one.file, columns=list(columns), glob=False)
    except (OSError, pl.exceptions.PolarsError):
        return table.table([one], columns)
    as_it_is = all(found.schema[name] == ACCOUNT_DAYS.columns[name] for name in columns)
    return found if as_it_is else table.table([one], columns)


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per actor: where a day was judged in pieces, the highest of them, and of equal ones the latest."""
    actors = rows["actor"]
    if not (actors == actors.shift()).any():  # they are sorted
        return rows
    ordered = rows.sort("actor", "probability", "since", descending=[False, True, True], nulls_last=True)
    return ordered.unique("actor", keep="first", maintain_order=True)


class _Fold:
    """What days add up to, an array a column."""

    def __init__(self, actors: pl.Series, days: Sequence[JudgedDay]) -> None:
        self._actors = actors
        count = len(actors)
        self._best = np.full(count, -1, np.int16)  # which day
        self._highest = np.full(count, _NOTHING)
        self._numbers = {name: np.full(count, np.nan) for name in _NUMBERS}
        self._sums = {name: np.full(count, np.nan) for name in _SUMS}
        self._texts = {name: np.full(count, -1, np.int32) for name in _TEXTS}
        self._known: dict[str, dict[str, int]] = {name: {} for name in _TEXTS}
        self._point = np.full(count, -1, np.int8)
        self._sharing = np.full(count, np.nan)
        self._bits = np.zeros(count, np.uint64)
        self._judged, self._reached, self._streak = (np.zeros(count, np.int16) for _ in range(3))
        self._last = np.full(count, -1, np.int16)
        self._said: list[pl.DataFrame] = []
        self._days = days
        self.kinds = _all_kinds(days)
        self.drawn = np.full((count, min(len(days), SHOWN_DAYS)), NOT_JUDGED, np.uint8)

    def add(self, place: int, rows: pl.DataFrame) -> None:
        """Take a day in; they come in their order."""
        codes = places(self._actors, rows["actor"]).to_numpy()
        point = _codes(rows["point"], {name: at for at, name in enumerate(POINTS)})
        probability = rows["probability"].fill_null(_NOTHING).to_numpy()
        higher = probability >= self._highest[codes]
        self._take(codes[higher], rows.filter(pl.Series(higher)), place)
        self._highest[codes[higher]] = probability[higher]
        self._point[codes[higher]] = point[higher]
        self._add_up(codes, rows, point, place)
        self._draw(codes, probability, place)

    def _take(self, codes: NDArray[np.uint32], rows: pl.DataFrame, place: int) -> None:
        """Days that are higher than all before, or as high."""
        self._best[codes] = place
        for name, held in self._numbers.items():
            held[codes] = _floats(rows[name])
        for name, texts in self._texts.items():
            texts[codes] = self._text_codes(name, rows[name])
        told = rows.select("verdict", "reason").with_columns(pl.Series("code", codes), day=pl.lit(place, pl.Int16))
        self._said.append(told.filter(pl.col("verdict").is_not_null()))

    def _add_up(self, codes: NDArray[np.uint32], rows: pl.DataFrame, point: NDArray[np.int8], place: int) -> None:
        for name, held in self._sums.items():
            values = _floats(rows[name])
            before = held[codes]
            held[codes] = np.where(np.isnan(values), before, np.where(np.isnan(before), 0.0, before) + values)
        self._sharing[codes] = np.fmax(self._sharing[codes], _floats(rows["sharing"]))
        self._bits[codes] |= self._moved(rows["kinds"], place)
        suspected = (point == _ACT) | (point == _WATCH)
        self._judged[codes] += point >= 0
        self._reached[codes] += suspected
        kept = np.where(point < 0, self._streak[codes], 0)
        self._streak[codes] = np.where(suspected, self._streak[codes] + 1, kept)
        self._last[codes] = place

    def _draw(self, codes: NDArray[np.uint32], probability: NDArray[np.float64], place: int) -> None:
        column = place - (len(self._days) - self.drawn.shape[1])
        if column >= 0:
            steps = np.where(probability < 0, NOT_JUDGED, np.rint(probability * (NOT_JUDGED - 1)))
            self.drawn[codes, column] = steps.astype(np.uint8)

    def _text_codes(self, name: str, texts: pl.Series) -> NDArray[np.int32]:
        known = self._known[name]
        for text in texts.drop_nulls().unique().sort():
            known.setdefault(text, len(known))
        return _codes(texts, known).astype(np.int32)

    def _moved(self, bits: pl.Series, place: int) -> NDArray[np.uint64]:
        """The kinds of a day in the places that they have here."""
        values = bits.fill_null(0).to_numpy()
        own = tuple(self._days[place].partition.about.get("kinds", ()))
        if own == self.kinds[: len(own)]:
            return values
        moved = np.zeros(len(values), np.uint64)
        for at, kind in enumerate(own[:_MOST_BITS]):
            if kind in self.kinds:
                bit = (values >> np.uint64(at)) & np.uint64(1)
                moved |= bit << np.uint64(self.kinds.index(kind))
        return moved

    def frame(self) -> pl.DataFrame:
        """A row per actor."""
        begins = pl.Series("begins", [one.since for one in self._days], dtype=TIME)
        columns = [
            self._actors,
            _taken("since", begins, self._best),
            _taken("last", begins, self._last),
            *(_series(name, self._numbers[name], kind) for name, kind in _NUMBERS.items()),
            *(_series(total, self._sums[name], pl.Float64) for name, total in _SUMS.items()),
            _series("sharing", self._sharing, pl.Int32),
            pl.Series("days_judged", self._judged),
            pl.Series("days_reached", self._reached),
            pl.Series("streak", self._streak),
            pl.Series("kinds", self._bits),
            _named("point", self._point, POINTS),
            *(_named(name, codes, tuple(self._known[name])) for name, codes in self._texts.items()),
        ]
        return pl.DataFrame(columns).hstack(self._sayings())

    def _sayings(self) -> pl.DataFrame:
        """The verdict and the first reason of the highest day, of those who have one."""
        empty = {"verdict": pl.String, "reason": pl.String, "code": pl.UInt32, "day": pl.Int16}
        said = pl.concat([pl.DataFrame(schema=empty), *(one.select(*empty) for one in self._said)])
        best = pl.DataFrame({"code": np.arange(len(self._actors), dtype=np.uint32), "day": self._best})
        return best.join(said, on=["code", "day"], how="left", maintain_order="left").select("verdict", "reason")


def _all_kinds(days: Sequence[JudgedDay]) -> tuple[str, ...]:
    """The kinds of all days; of the newest first, where there are more than bits."""
    newest = [kind for one in reversed(days) for kind in one.partition.about.get("kinds", ())]
    return tuple(dict.fromkeys(newest))[:_MOST_BITS]


def _floats(values: pl.Series) -> NDArray[np.float64]:
    """Numbers inside this fold alone: what was not measured is NaN here, and null again when it leaves."""
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _codes(texts: pl.Series, known: dict[str, int]) -> NDArray[np.int8]:
    found: NDArray[np.int8] = texts.replace_strict(known, default=-1, return_dtype=pl.Int32).to_numpy()
    return found


def _series(name: str, values: NDArray[np.float64], kind: type[pl.DataType]) -> pl.Series:
    return pl.Series(name, values, nan_to_null=True).cast(kind)


def _taken(name: str, values: pl.Series, places: NDArray[Any]) -> pl.Series:
    known = pl.Series(places.astype(np.int64))
    return values.gather(known.set(known < 0, None)).alias(name)


def _named(name: str, codes: NDArray[Any], names: Sequence[str]) -> pl.Series:
    """Texts by their places among some."""
    return _taken(name, pl.Series(names, dtype=pl.Enum(names)), codes)
