"""A table without a key, read by its time; what lies shortly before is read again, and known by its values."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from gamewarden.errors import ReadError
from gamewarden.readers.databases.cursors import Reached, TimeReached, digest_of, fresh
from gamewarden.readers.databases.database import Asked, Database
from gamewarden.readers.databases.table_rows import Mask, RawRows, TableRows, columns_of
from gamewarden.readers.servers.preset import LogTable

_UNITS = {"epoch_ms": 1_000, "epoch_us": 1}  # microseconds of one; else it is a second


@dataclass(frozen=True)
class TimedTable:
    """One such table, and where it is read from."""

    table: LogTable
    database: Database

    def read(self, state: Reached, limit: int) -> RawRows:
        """The rows of the latest time and after it, and those of some time before."""
        columns, reached = columns_of(self.table, self.database), state.times.get(self.table.name)
        since = self._first() if reached is None else self._earlier(reached.since)
        seen: Mapping[str, int] = {} if reached is None else reached.seen
        most = None if self.database.options.offline else limit + sum(seen.values())
        asked = Asked(columns, self.table.time, since=since, limit=most, unique=False)
        rows = self.database.rows(self.table.name, asked)
        return RawRows(columns, rows, np.array(fresh(rows, seen), np.bool_), most is None or len(rows) < most)

    def _first(self) -> str | int | None:
        """The time to begin with; None where all of the table is asked for at once."""
        if self.database.options.offline:
            return None
        least = _comparable(self.database.least(self.table.name, self.table.time))
        # PyMySQL gives times that are none, such as zeros, as texts.
        return least if isinstance(least, int) else str(least) if isinstance(least, datetime) else None

    def further(self, state: Reached, read: TableRows, before: Mask, now: int) -> Reached:
        """How far the table was read, once the new ones of these rows are in."""
        del now
        known = before & read.readable
        if not (known & read.raw.new).any():
            return state
        times, taken = read.raw.values(self.table.time), np.flatnonzero(known).tolist()
        written = {place: _comparable(times[place]) for place in taken}
        if len({type(value) for value in written.values()}) > 1:
            raise ReadError(f"{self.database.name}: {self.table.name}.{self.table.time} mixes numbers and texts")
        since = max(written.values())
        again = self._earlier(since)
        kept = Counter(digest_of(read.raw.rows[place]) for place in taken if written[place] >= again)
        reached = TimeReached(since if isinstance(since, int) else str(since), dict(sorted(kept.items())))
        return state.with_time(self.table.name, reached)

    def _earlier(self, since: Any) -> Any:  # noqa: ANN401  a number, a text or a moment, and so is the answer
        """A time of the table so much earlier, as the table writes it."""
        overlap = self.database.options.overlap
        if isinstance(since, int):
            return since - overlap // _UNITS.get(self.table.format, 1_000_000)
        try:
            if isinstance(since, datetime):
                return since - timedelta(microseconds=overlap)
            return str(datetime.fromisoformat(since) - timedelta(microseconds=overlap))
        except (ValueError, OverflowError) as error:
            raise ReadError(
                f"{self.database.name}: {self.table.name}.{self.table.time} is {since!r}, no time to read on from"
            ) from error


def _comparable(value: object) -> Any:  # noqa: ANN401  as above
    """A time as the database compares it; Python compares moments of one zone by what a clock there shows."""
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    return value if isinstance(value, int) else str(value)
