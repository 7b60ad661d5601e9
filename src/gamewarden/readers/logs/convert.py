"""Rows of a log, or of a table in a database, as EVENTS: all that a mapping says of them, in one place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from gamewarden.contracts import canonical_json, digest
from gamewarden.errors import ReadError
from gamewarden.readers.logs.joins import Joined
from gamewarden.readers.logs.mapping import LogMap
from gamewarden.readers.logs.normalize import ROW, Conform, Lookup, as_text
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.rules import Condition, Side
from gamewarden.readers.row_report import Tally
from gamewarden.readers.timestamps import Mask, TimeReader

_LARGEST = (1 << 63) - 1
_SIDE = "\0side"


@dataclass(frozen=True)
class Convert:
    """Turns rows under the log's own names into EVENTS, and tells the tally what was left out and why.

    `sides` are the mapping's where all that it names is there, and fewer columns where it is not. `tables` are those
    that the mapping joins (`joins.joined`). With `number_rows` a row's place is its seq.
    """

    mapping: LogMap
    clock: TimeReader
    tally: Tally
    sides: Sequence[Side] = ()
    tables: Sequence[Joined] = ()
    encoding: str | None = None  # of the file, where it is not UTF-8
    plausible: Plausible = ANY_TIME
    number_rows: bool = False

    def reads(self, columns: Iterable[str]) -> list[str]:
        """The log's columns, and paths into them, that `columns` of ours are made of."""
        return reads(self.mapping, self._sides, self.tables, columns)

    def __call__(self, raw: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """The events of these rows with `columns`, as far as there are such, and ROW.

        `raw` holds ROW and what `reads` names; every other column is left alone.

        Raises:
            ReadError: a column without which there is no event is missing.
        """
        for table in self.tables:
            raw = table.below(raw)
        if self.mapping.where:
            raw = self._meant(raw)
        events = [self._side(raw, columns, place) for place in range(len(self._sides))]
        if len(events) == 1:
            return events[0]
        return pl.concat(events, how="diagonal").sort(ROW, _SIDE).drop(_SIDE)

    @property
    def _sides(self) -> Sequence[Side]:
        return self.sides or self.mapping.sides

    @cached_property
    def _conform(self) -> tuple[Conform, ...]:
        """One for each event of a row."""
        return tuple(
            Conform(self.mapping, self.clock, self.tally, self.encoding, self.plausible, side) for side in self._sides
        )

    @cached_property
    def _looked_up(self) -> dict[str, Joined]:
        return {column: table for table in self.tables for column in table.columns}

    def _meant(self, raw: pl.DataFrame) -> pl.DataFrame:
        """The rows that [where] means; the others are counted, and those of which nobody can say it are bad."""
        fits, bad = np.ones(raw.height, dtype=np.bool_), np.zeros(raw.height, dtype=np.bool_)
        for condition in self.mapping.where:
            here, unsure = self._fits(condition, raw)
            for reason, mask in unsure.items():
                self._count("bad", reason, mask & fits & ~bad, raw, condition.column)
                bad |= mask & fits
            self._count("skipped", "by [where]", fits & ~here & ~bad, raw, condition.column)
            fits &= here
        kept = fits & ~bad
        self.tally.rows += int(np.count_nonzero(~kept))
        return raw.filter(pl.Series(kept)) if not kept.all() else raw

    def _fits(self, condition: Condition, raw: pl.DataFrame) -> tuple[Mask, dict[str, Mask]]:
        """Where a row has what is wanted, and where that cannot be told, by reason."""
        if condition.column not in raw.columns:
            raise ReadError(f"[where] of {self.mapping.name} names {condition.column!r}, and there is no such column")
        text, faults = as_text(raw[condition.column])
        unsure = {f"{condition.column} {reason}": mask for reason, mask in faults.items()}
        if (table := self._looked_up.get(condition.column)) is not None:
            unsure[table.reason] = raw[table.unknown].to_numpy()
        there = text.fill_null("").is_in(list(condition.values)).to_numpy()
        return there if condition.wanted else ~there, {why: mask for why, mask in unsure.items() if mask.any()}

    def _count(self, what: str, reason: str, mask: Mask, raw: pl.DataFrame, column: str) -> None:
        if count := int(np.count_nonzero(mask)):
            first = int(np.argmax(mask))
            self.tally.add(what, reason, count, int(raw[ROW][first]) + 1, as_text(raw[column])[0][first])

    def _side(self, raw: pl.DataFrame, columns: Sequence[str], place: int) -> pl.DataFrame:
        side = self._sides[place]
        for condition in side.where:
            here, unsure = self._fits(condition, raw)
            for mask in unsure.values():
                here = here & ~mask
            raw = raw.filter(pl.Series(here))
        if missing := [name for name in self._needed(side) if side.columns.get(name) not in raw.columns]:
            raise ReadError(f"{self.mapping.name}: no column gives {missing[0]!r} ({side.columns.get(missing[0])!r})")
        ours = [(name, theirs) for name, theirs in side.columns.items() if theirs in raw.columns]
        events = self._conform[place](
            pl.DataFrame([*(raw[theirs].alias(name) for name, theirs in ours), raw[ROW]]),
            columns,
            {name: self._lookup(self._looked_up[theirs], raw) for name, theirs in ours if theirs in self._looked_up},
        )
        return self._numbered(events, place)

    def _needed(self, side: Side) -> list[str]:
        return [name for name in self.mapping.needed if name != "kind" or side.kind is None]

    def _lookup(self, table: Joined, raw: pl.DataFrame) -> Lookup:
        return Lookup(table.reason, raw[table.unknown].to_numpy(), raw[ROW], raw[table.join.on])

    def _numbered(self, events: pl.DataFrame, place: int) -> pl.DataFrame:
        """With a seq that no other event has: the events of a row follow each other from n times its own seq on."""
        many = len(self._sides)
        if self.number_rows:
            seq = (events[ROW] * many + place).alias("seq")
            events = pl.DataFrame([*(column for column in events if column.name != "seq"), seq])
        elif many > 1 and "seq" in events.columns:
            events = events.with_columns(self._spread(events, place))
        return events if many == 1 else events.with_columns(pl.lit(place).alias(_SIDE))

    def _spread(self, events: pl.DataFrame, place: int) -> pl.Expr:
        many = len(self._sides)
        seq = pl.col("seq")
        beyond = events.filter((seq > (_LARGEST - many) // many) | (seq < -(_LARGEST - many) // many))
        if beyond.height:
            reason = "seq is out of range, since each row gives several events"
            self.tally.add("nulled", reason, beyond.height, int(beyond[ROW][0]) + 1, beyond["seq"][0])
        fits = seq.abs() <= (_LARGEST - many) // many
        return pl.when(fits).then(seq * many + place).alias("seq")


def reads(mapping: LogMap, sides: Sequence[Side], tables: Sequence[Joined], columns: Iterable[str]) -> list[str]:
    """The log's columns, and paths into them, that `columns` of ours are made of."""
    asked = {*columns, *mapping.needed}
    looked_up = {column: table.join.on for table in tables for column in table.columns}
    named = [theirs for side in sides for ours, theirs in side.columns.items() if ours in asked]
    tested = [one.column for one in (*mapping.where, *(one for side in sides for one in side.where))]
    return list(dict.fromkeys(looked_up.get(name, name) for name in (*named, *tested)))


def recipe_of(mapping: LogMap, clock: TimeReader, tables: Sequence[Joined] = ()) -> str:
    """Names all that decides what a row becomes."""
    joined = [table.digest for table in tables if not table.join.grows]
    return digest(mapping.digest, canonical_json([clock.format, clock.time_zone]), *joined)
