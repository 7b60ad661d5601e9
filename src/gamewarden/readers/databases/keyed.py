"""A table with a growing key, read by it: a question costs what it gives, however long the table is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gamewarden.readers.databases.cursors import (
    MOST_GAPS,
    Gap,
    KeyReached,
    Reached,
    digest_of,
    gaps_between,
    without,
)
from gamewarden.readers.databases.database import Asked, Database, Row
from gamewarden.readers.databases.table_rows import FOR_EVER, Mask, RawRows, TableRows, columns_of
from gamewarden.readers.servers.preset import KEY, LogTable

_BOTH = 2  # ends


@dataclass(frozen=True)
class KeyedTable:
    """One such table, its key, and where it is read from."""

    table: LogTable
    key: str
    database: Database

    def read(self, state: Reached, limit: int) -> RawRows:
        """The rows after those that were taken in, after some of the latest of these, which they may belong to."""
        name, columns = self.table.name, columns_of(self.table, self.database)
        reached = state.keys.get(name)
        if reached is None:
            rows = self.database.rows(name, Asked(columns, self.key, limit=limit))
            return RawRows(columns, rows, np.ones(len(rows), np.bool_), len(rows) < limit)
        low = [(gap.first, min(gap.last, reached.context)) for gap in reached.gaps if gap.first <= reached.context]
        again = self.database.rows(name, Asked(columns, self.key, ranges=[*low, (reached.context + 1, reached.after)]))
        rows = self.database.rows(name, Asked(columns, self.key, reached.after, limit=limit))
        every, place = [*again, *rows], columns.index(self.key)
        new = np.array([reached.is_new(row[place]) for row in every], np.bool_)
        return RawRows(columns, every, new, len(rows) < limit)

    def further(self, state: Reached, read: TableRows, before: Mask, now: int) -> Reached:
        """How far the table was read, once the new ones of these rows are in."""
        reached = state.keys.get(self.table.name)
        oldest = now - self.database.options.late
        taken = read.frame[KEY].to_numpy()[before & read.raw.new]
        if not len(taken):
            if reached is None:
                return state
            left = tuple(without(reached.gaps, (), oldest))
            return state.with_key(self.table.name, replace(reached, gaps=left))
        keys = taken.tolist()
        gaps = [] if reached is None else without(reached.gaps, keys, oldest)
        if not self.database.options.offline:
            gaps += self._noticed(read, sorted(keys), reached, now)
        after = max([*keys, *([] if reached is None else [reached.after])])
        told = KeyReached(after, self._context(read, before, reached), self._latest(read, before, reached))
        ends = self._ends(read, min(keys), after, reached)
        return state.with_key(self.table.name, replace(told, gaps=tuple(gaps[-MOST_GAPS:]), ends=ends))

    def is_of_another(self, reached: KeyReached) -> bool:
        """Whether both ends of what was taken in are other rows now, as in a table of another server."""
        known = [end.partition(":") for end in reached.ends]
        if len({key for key, _, _ in known}) < _BOTH or not all(key.lstrip("-").isdecimal() for key, _, _ in known):
            return False
        columns = columns_of(self.table, self.database)
        asked = (Asked(columns, self.key, ranges=[(int(key), int(key))]) for key, _, _ in known)
        found = [self.database.rows(self.table.name, one) for one in asked]
        return all(rows and digest_of(rows[0]) != end[2] for rows, end in zip(found, known, strict=True))

    def _ends(self, read: TableRows, lowest: int, highest: int, reached: KeyReached | None) -> tuple[str, ...]:
        """The lowest row that was ever taken in, and the highest, each as it was."""
        places = {key: place for place, key in enumerate(read.frame[KEY].to_list())}
        first = reached.ends[:1] if reached is not None and reached.ends else (_end(read, places, lowest),)
        if highest in places:
            return (*first, _end(read, places, highest))
        return first if reached is None else reached.ends

    def ends(self, reached: KeyReached) -> list[Row]:
        """Key and time of the lowest row and of the highest that should be known; none where all should be new."""
        name, columns = self.table.name, (self.key, self.table.time)
        lowest = self.database.rows(name, Asked(columns, self.key, limit=1))
        if not lowest or lowest[0][0] > reached.after:
            return []
        known = [(lowest[0][0], reached.after)]
        return lowest + self.database.rows(name, Asked(columns, self.key, ranges=known, limit=1, latest=True))

    def _context(self, read: TableRows, before: Mask, reached: KeyReached | None) -> int:
        """Up to which key no row belongs together with one that is still to come."""
        keys, at = read.frame[KEY].to_numpy(), read.at
        edge = at[before].max(initial=-FOR_EVER) - self.table.reach
        early = keys[before & (at <= edge)]
        found = int(early.max()) if len(early) else int(keys[before].min()) - 1
        return found if reached is None else max(found, reached.context)

    def _latest(self, read: TableRows, before: Mask, reached: KeyReached | None) -> int | None:
        known = [] if reached is None or reached.latest is None else [reached.latest]
        moments = read.at[before & read.readable]
        return max([*known, *moments.tolist()], default=None)

    def _noticed(self, read: TableRows, keys: Sequence[int], reached: KeyReached | None, now: int) -> list[Gap]:
        """Numbers that were left out just now; what was left out long ago was removed, and does not come any more."""
        recent = read.frame[KEY].to_numpy()[read.at > now - self.database.options.late]
        if not len(recent):
            return []
        above = [key for key in keys if reached is None or key > reached.after]
        found = gaps_between(above, None if reached is None else reached.after, now)
        return [gap for gap in found if gap.last + 1 >= recent.min()]  # the row after it is one of them


def _end(read: TableRows, places: Mapping[int, int], key: int) -> str:
    return f"{key}:{digest_of(read.raw.rows[places[key]])}"
