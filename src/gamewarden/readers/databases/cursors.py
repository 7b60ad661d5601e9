"""How far each table was read, so that whatever happens between two readings no row is lost and none comes twice.

A table with a growing key is read by it. Rows of other writers may still come below the highest key that was seen:
numbers that were left out are remembered for a while and asked for again. A table without a key is read by its time,
and what lies in the last hour and a quarter is read again: a row is known by a digest of its values, and of equal rows
it is counted how many there were.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from gamewarden.contracts import canonical_json
from gamewarden.errors import ReadError
from gamewarden.learning.validation import Count, misfit

MOST_GAPS = 1_000


@dataclass(frozen=True)
class Gap:
    """Numbers that were left out when their table was read, and when that was noticed."""

    first: int
    last: int
    noticed: int  # microseconds


@dataclass(frozen=True)
class KeyReached:
    """How far a table with a key was read."""

    after: int  # the highest key that was taken in
    context: int  # from which key on rows are looked at once more: some belong together with later ones
    latest: int | None = None  # microseconds: where even the lowest row is later, the numbers began anew
    gaps: tuple[Gap, ...] = ()
    ends: tuple[str, ...] = ()  # key:digest of the lowest row and of the highest, by which another table is noticed

    def is_new(self, key: int) -> bool:
        """Whether a row of this key has not been taken in."""
        return key > self.after or any(gap.first <= key <= gap.last for gap in self.gaps)


@dataclass(frozen=True)
class TimeReached:
    """How far a table without a key was read."""

    since: str | int  # the latest time that was taken in, as the table writes it
    seen: Mapping[str, Count] = field(default_factory=dict)  # of rows that are read again: how many of each


@dataclass(frozen=True)
class Reached:
    """How far all tables of a source were read, and what has to be known of those who are playing."""

    keys: Mapping[str, KeyReached] = field(default_factory=dict)
    times: Mapping[str, TimeReached] = field(default_factory=dict)
    actors: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # who is in a session: its name, its last event
    rows: Count = 0  # that were taken in: the next one's number

    @classmethod
    def of(cls, text: str, where: str) -> "Reached":
        """What was kept.

        Raises:
            ReadError: it is something else.
        """
        if not text:
            return cls()
        try:
            values = json.loads(text)
            wrong = misfit(cls, values, "it")
        except (ValueError, RecursionError) as error:
            raise _damaged(where, str(error)) from error
        if wrong:
            raise _damaged(where, wrong)
        keys = {name: _key_reached(one) for name, one in values.get("keys", {}).items()}
        times = {name: TimeReached(**one) for name, one in values.get("times", {}).items()}
        actors = {name: (session, last) for name, (session, last) in values.get("actors", {}).items()}
        return cls(keys, times, actors, values.get("rows", 0))

    def __str__(self) -> str:
        """As it is kept."""
        keys = {name: {**vars(one), "gaps": [vars(gap) for gap in one.gaps]} for name, one in self.keys.items()}
        times = {name: {"since": one.since, "seen": dict(one.seen)} for name, one in self.times.items()}
        actors = {name: list(one) for name, one in self.actors.items()}
        return canonical_json({"keys": keys, "times": times, "actors": actors, "rows": self.rows})

    def with_key(self, table: str, reached: KeyReached) -> "Reached":
        """The same with one table read further."""
        return replace(self, keys={**self.keys, table: reached})

    def with_time(self, table: str, reached: TimeReached) -> "Reached":
        """The same with one table read further."""
        return replace(self, times={**self.times, table: reached})


def _key_reached(values: Mapping[str, Any]) -> KeyReached:
    gaps = tuple(Gap(**gap) for gap in values.get("gaps", ()))
    return KeyReached(**{**values, "gaps": gaps, "ends": tuple(values.get("ends", ()))})


def _damaged(where: str, why: str) -> ReadError:
    return ReadError(f"{where}: how far it was read cannot be understood ({why}); read it into a new lake")


def digest_of(row: Sequence[object]) -> str:
    """A row by its values, the same in every process."""
    return hashlib.blake2b(repr(tuple(row)).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def gaps_between(keys: Sequence[int], before: int | None, now: int) -> list[Gap]:
    """The numbers that are left out in a row of growing keys, with those between it and the key before it."""
    known = keys if before is None else [before, *keys]
    return [Gap(one + 1, other - 1, now) for one, other in pairwise(known) if other - one > 1]


def without(gaps: Sequence[Gap], keys: Sequence[int], oldest: int) -> list[Gap]:
    """The gaps that stay when some of their numbers have come; those noticed before `oldest` are given up."""
    left: list[Gap] = []
    for gap in gaps:
        if gap.noticed >= oldest:
            inside = sorted(key for key in keys if gap.first <= key <= gap.last)
            edges = [gap.first - 1, *inside, gap.last + 1]
            left += [replace(one, noticed=gap.noticed) for one in gaps_between(edges, None, 0)]
    return left


def fresh(rows: Sequence[Sequence[object]], seen: Mapping[str, int]) -> list[bool]:
    """Which of rows that are read again have not been taken in: of equal ones those beyond the number seen."""
    left = Counter(seen)
    new: list[bool] = []
    for row in rows:
        digest = digest_of(row)
        new.append(left[digest] <= 0)
        left[digest] -= 1
    return new
