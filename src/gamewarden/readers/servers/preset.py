"""What is known of one kind of game server: its log tables, its accounts, and what its rows mean."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.core.durations import SECOND
from gamewarden.tables import EVENTS

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database
    from gamewarden.readers.servers.advice import Advice

KEY = "_key"  # the number of a row in its table, or its place among those that were read
COUNTS = "_counts"  # whether a row is taken in now; others are there for those to be understood
LEVEL_REACH = 24 * 3600 * SECOND  # a level that is there now is told of events of the last day, and of none before


@dataclass(frozen=True)
class Directory:
    """Who is who in a game at the moment it is read.

    `characters` has character, actor and, where the server knows them, name and level; `accounts` has user, the name
    somebody logs in with, and actor. All of them are texts but the level.
    """

    characters: pl.DataFrame
    accounts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"user": pl.String, "actor": pl.String}))
    at: datetime | None = None  # when it was so

    def with_characters(self, remembered: Mapping[str, str]) -> "Directory":
        """The same with characters that are gone since."""
        gone = pl.DataFrame(
            {"character": list(remembered), "actor": list(remembered.values())}, schema_overrides=_TEXTS
        )
        known = pl.concat([self.characters, gone], how="diagonal_relaxed").unique("character", keep="first")
        return Directory(known, self.accounts, self.at)


_TEXTS = {"character": pl.String, "actor": pl.String}


@dataclass
class Rows:
    """Rows of one table in their order, each with its number and its moment, and who is who."""

    frame: pl.DataFrame
    who: Directory
    collected: datetime | None = None  # since when a collector of ours writes what happens, too
    left_out: Counter[str] = field(default_factory=Counter)  # rows that are no events, by why
    unknown: set[str] = field(default_factory=set)  # characters that nobody knows

    def without(self, frame: pl.DataFrame, rows: pl.Expr, why: str) -> pl.DataFrame:
        """The frame without some rows, which are counted."""
        gone = rows.fill_null(value=False)
        self.left_out[why] += int(frame.select((gone & pl.col(COUNTS)).sum()).item())
        return frame.filter(~gone)

    def of_characters(self, frame: pl.DataFrame, column: str = "character") -> pl.DataFrame:
        """The rows with the account, and where it is known the level, of the character that each names."""
        levels = [pl.col("level")] if "level" in self.who.characters.columns else []
        people = self.who.characters.select("character", "actor", *levels)
        named = frame.with_columns(pl.col(column).cast(pl.String).alias("character"))
        joined = named.join(people, on="character", how="left", maintain_order="left")
        self.unknown |= set(joined.filter(pl.col("actor").is_null())["character"].drop_nulls())
        known = self.without(joined, pl.col("actor").is_null(), "their character belongs to no account any more")
        return self._with_fresh_levels(known) if levels else known

    def of_accounts(self, frame: pl.DataFrame, column: str) -> pl.DataFrame:
        """The rows, whose actor is known, with the character that each names and its level.

        A character of another account is none of theirs: servers that share accounts have characters of equal numbers.
        """
        people = self.who.characters.select("character", "level", _owner="actor")
        named = frame.with_columns(character=text(column))
        joined = named.join(people, on="character", how="left", maintain_order="left")
        foreign = (pl.col("_owner") != pl.col("actor")).fill_null(value=False)
        own = joined.with_columns(pl.when(~foreign).then(name).alias(name) for name in ("character", "level"))
        return self._with_fresh_levels(own).drop("_owner")

    def with_other(self, frame: pl.DataFrame, column: str) -> pl.DataFrame:
        """The rows with the account of another character that each may name, as `other`; nobody is their own other."""
        people = self.who.characters.select(pl.col("character").alias("_other"), pl.col("actor").alias("other"))
        named = frame.with_columns(pl.col(column).cast(pl.String).alias("_other"))
        joined = named.join(people, on="_other", how="left", maintain_order="left").drop("_other")
        own = pl.when(pl.col("other") != pl.col("actor")).then("other")
        return joined.with_columns(own.alias("other")) if "actor" in joined.columns else joined

    def _with_fresh_levels(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Of older events nobody knows the level: it is the one that is there now."""
        if self.who.at is None:
            return frame.with_columns(pl.lit(None, pl.Int16).alias("level"))
        old = (pl.lit(self.who.at) - pl.col("at")).dt.total_microseconds() > LEVEL_REACH
        return frame.with_columns(pl.when(~old).then(pl.col("level").cast(pl.Int16, strict=False)).alias("level"))


def _all_written(_database: "Database") -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True)
class LogTable:
    """One log table: what is read of it, and what its rows mean.

    `events` gives columns of EVENTS and KEY, from rows that have the columns, `at` and KEY. It sees rows before and
    after those that count, as far as `reach` says, so that what belongs together is seen together.
    """

    name: str
    time: str
    columns: tuple[str, ...]
    events: Callable[[Rows], pl.DataFrame]
    kinds: frozenset[str]  # that it can give
    key: str | None = None
    format: str = "auto"  # of its times, as mappings name them; a date and time without a zone is the server's
    reach: int = 2 * SECOND
    may: tuple[str, ...] = ()  # columns that some versions of the server have
    muted: "Callable[[Database], frozenset[str]]" = _all_written  # kinds that the server's settings keep out of it

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that it must have."""
        return tuple(dict.fromkeys([*([self.key] if self.key else []), self.time, *self.columns]))


@dataclass(frozen=True)
class Preset:
    """One kind of server."""

    name: str
    title: str
    tables: tuple[LogTable, ...]
    directory: "Callable[[Database], Directory]"
    profiles: "Callable[[Database], pl.DataFrame]"
    wrote: "Callable[[Database], bool]"
    advice: "Callable[[Database], Sequence[Advice]]"
    seen: str = ""  # with which real data it was tried; empty: with none
    purges: str = "nothing is removed from them by the server itself"  # what becomes of old rows, in a few words
    # Whether log-ins and silence tell sessions, the log itself says who left (False), or rows name theirs (None).
    sessions: bool | None = True
    version: int = 1  # of what rows become: another one needs a new lake
    beside: tuple[str, ...] = ()  # the other tables that it reads, of people; empty: any may be one

    def wants(self, table: str) -> bool:
        """Whether the rows of a table are of use."""
        return self.logged(table) is not None or not self.beside or table in self.beside

    def logged(self, table: str) -> LogTable | None:
        """What is known of a table that is a log."""
        return next((one for one in self.tables if one.name == table), None)

    def table(self, name: str) -> LogTable:
        """One of its tables."""
        return next(one for one in self.tables if one.name == name)


def empty_events() -> pl.DataFrame:
    """No events."""
    return pl.DataFrame(schema={KEY: pl.Int64, **EVENTS.columns})


def text(name: str) -> pl.Expr:
    """A column as text, nothing where it is empty or zero: servers write 0 for nobody."""
    value = pl.col(name).cast(pl.String)
    return pl.when(~value.is_in(["", "0"])).then(value)


def number(name: str) -> pl.Expr:
    """A column as a number, nothing where it is none."""
    return pl.col(name).cast(pl.Float64, strict=False)
