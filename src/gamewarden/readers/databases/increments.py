"""What came into the tables of a game since they were last read, piece by piece, each with how far it reaches."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import numpy as np
import polars as pl

from gamewarden.contracts import Remembered
from gamewarden.core.durations import to_micros
from gamewarden.core.outside import visible
from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.readers.databases.cursors import Reached
from gamewarden.readers.databases.database import Asked, Database
from gamewarden.readers.databases.keyed import KeyedTable
from gamewarden.readers.databases.sessions import with_own_sessions, with_sessions
from gamewarden.readers.databases.table_rows import FOR_EVER, Mask, TableRows
from gamewarden.readers.databases.timed import TimedTable
from gamewarden.readers.logs.plausible import Plausible
from gamewarden.readers.row_report import Tally
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.preset import COUNTS, KEY, Directory, LogTable, Preset, Rows, empty_events
from gamewarden.readers.timestamps import TimeReader
from gamewarden.tables import EVENTS, first_line

_ORDER = "_table"


@dataclass(frozen=True)
class Piece:
    """Events of some rows, and how far reading stands after them."""

    events: pl.DataFrame
    before: str
    after: str
    notes: tuple[str, ...]
    rows: int  # that were taken in, events or not


@dataclass
class Increments:
    """The tables of one game, read further and further."""

    database: Database
    preset: Preset
    tables: Sequence[LogTable]
    time_zone: str | None
    plausible: Plausible
    max_bad_share: float
    remembered: Remembered
    _limits: dict[str, int] = field(default_factory=dict)
    _left: Counter[str] = field(default_factory=Counter)  # rows of all pieces so far that are no events, by why

    def pieces(self, reached: str) -> Iterator[Piece]:
        """All there is after where reading stood.

        Raises:
            ReadError: the database does not answer, or too many rows are bad.
        """
        state = self._begun_anew(Reached.of(reached, self.database.name))
        before, done = reached, False
        while not done:
            piece, state, done = self._piece(before, state)
            if piece.rows or piece.events.height:
                yield piece
                before = piece.after

    @cached_property
    def _followed(self) -> tuple[KeyedTable | TimedTable, ...]:
        return tuple(
            KeyedTable(one, one.key, self.database) if one.key else TimedTable(one, self.database)
            for one in self.tables
        )

    @cached_property
    def _tally(self) -> Tally:
        return Tally(self.database.name, self.max_bad_share)

    @cached_property
    def _who(self) -> Directory:
        with self._of_its_server("its tables of people"):
            return self.preset.directory(self.database)

    @cached_property
    def _collected(self) -> datetime | None:
        """Since when a collector of ours writes what happens."""
        if GW_EVENTS not in self.tables:
            return None
        rows = self.database.rows(GW_EVENTS.name, Asked(("id", "at"), "id", limit=1))
        return TimeReader("epoch_ms").read(pl.Series("at", [row[1] for row in rows])).at[0] if rows else None

    def _piece(self, before: str, state: Reached) -> tuple[Piece, Reached, bool]:
        now = to_micros(self.database.now().utc)
        read = [self._read(one, state) for one in self._followed]
        settled = FOR_EVER if self.database.options.offline else now - self.database.options.wait
        frontier = min([settled, *(one.last - one.table.reach for one in read if not one.raw.ended)])
        self._widen(read, frontier)
        events = self._events(read, frontier)
        events, actors = self._in_sessions(events, state, min(frontier, max(one.last for one in read)))
        after = replace(state, actors=actors, rows=state.rows + events.height)
        for followed, one in zip(self._followed, read, strict=True):
            after = followed.further(after, one, one.before(frontier), now)
        self._tally.kept += events.height
        self._tally.judge(ended=False)
        numbered = events.with_columns(seq=pl.int_range(state.rows, after.rows, dtype=pl.Int64))
        rows = sum(int(one.taken(frontier).sum()) for one in read)
        notes = (*self._tally.report().sentences()[1:], *_sentences(self._left))
        return Piece(numbered, before, str(after), notes, rows), after, all(one.raw.ended for one in read)

    def _read(self, followed: KeyedTable | TimedTable, state: Reached) -> TableRows:
        table = followed.table
        raw = followed.read(state, self._limits.get(table.name, self.database.options.piece))
        frame = self.database.framed(raw.columns, raw.rows)
        keys = frame[table.key].cast(pl.Int64) if table.key else pl.Series(range(len(raw.rows)), dtype=pl.Int64)
        at = self._moments(table, frame[table.time], raw.new)
        return TableRows(table, raw, frame.with_columns(keys.alias(KEY), at.alias("at")))

    def _moments(self, table: LogTable, written: pl.Series, new: Mask) -> pl.Series:
        """When each row was written; one whose time cannot be read is bad, and has none."""
        moments = TimeReader(table.format, self.time_zone).read(written)
        self._tally.rows += int(new.sum())
        unfit = np.zeros(len(written), np.bool_)
        missing = {"time is missing": written.is_null().to_numpy()}
        for reason, mask in {**missing, **moments.faults, **self.plausible.faults(moments.at)}.items():
            if count := int((mask & new & ~unfit).sum()):
                first = int(np.argmax(mask))
                self._tally.add("bad", f"{table.name}: {reason}", count, first + 1, str(written[first]))
            unfit |= mask
        for reason, mask in moments.notes.items():
            self._tally.add("notes", f"{table.name}: {reason}", int((mask & new).sum()), int(np.argmax(mask)) + 1, None)
        return moments.at.zip_with(pl.Series(~unfit), pl.Series([None], dtype=moments.at.dtype))

    def _widen(self, read: Sequence[TableRows], frontier: int) -> None:
        """Where a full reading gave nothing, since so many rows belong together, the next ones are longer."""
        for one in read:
            if not one.raw.ended and not one.taken(frontier).any():
                name = one.table.name
                self._limits[name] = 2 * self._limits.get(name, self.database.options.piece)

    def _events(self, read: Sequence[TableRows], frontier: int) -> pl.DataFrame:
        """What the rows mean that are taken in now, in the order of time."""
        parts = [empty_events().with_columns(pl.lit(0).alias(_ORDER))]
        for order, one in enumerate(read):
            marked = one.frame.with_columns(pl.Series(COUNTS, one.taken(frontier)))
            readable = marked.filter(pl.col("at").is_not_null())
            if readable[COUNTS].any():
                made = self._meant(one.table, readable)
                keys = readable.filter(COUNTS)[KEY]
                mine = made.filter(pl.col(KEY).is_in(keys.implode()))
                parts.append(mine.with_columns(pl.lit(order).alias(_ORDER)))
        # A row may give several events, which stay in their order.
        whole = pl.concat(parts, how="diagonal_relaxed").sort("at", _ORDER, KEY, maintain_order=True)
        return _as_events(whole)

    def _meant(self, table: LogTable, frame: pl.DataFrame) -> pl.DataFrame:
        """What a table's rows mean; characters that are gone are looked for where somebody may remember them."""
        rows = Rows(frame, self._who, self._collected)
        with self._of_its_server(table.name):
            made = table.events(rows)
            if rows.unknown and (found := self.remembered(rows.unknown)):
                rows = Rows(frame, self._who.with_characters(found), self._collected)
                made = table.events(rows)
        self._left.update({f"{table.name}: {why}": count for why, count in rows.left_out.items()})
        return made

    @contextmanager
    def _of_its_server(self, table: str) -> Iterator[None]:
        """Say of tables that only look like those of the server what they are."""
        try:
            yield
        except pl.exceptions.PolarsError as error:
            raise ReadError(
                f"{self.database.name}: {table} cannot be what {self.preset.title} writes "
                f"({visible(first_line(error))}); name the right server with --map"
            ) from error

    def _in_sessions(
        self, events: pl.DataFrame, state: Reached, until: int
    ) -> tuple[pl.DataFrame, dict[str, tuple[object, ...]]]:
        """The events with sessions, where no collector says when somebody left."""
        if self.preset.sessions is None:
            return events, {}
        since = pl.lit(self._collected, EVENTS.columns["at"])
        before = events.filter((pl.col("at") < since).fill_null(value=True)).drop("session")
        if self.preset.sessions:
            told, actors = with_sessions(before, state.actors, until)
        else:
            told, actors = with_own_sessions(before, state.actors)
        collected = events.filter(pl.col("at") >= since)
        whole = pl.concat([empty_events(), told, collected], how="diagonal_relaxed")
        return _as_events(whole), dict(actors)

    def _begun_anew(self, state: Reached) -> Reached:
        """Without what is known of tables whose numbers began anew."""
        for one in self._followed:
            reached = state.keys.get(one.table.name)
            if isinstance(one, KeyedTable) and reached is not None and one.begun_anew(reached):
                left = {name: known for name, known in state.keys.items() if name != one.table.name}
                state = replace(state, keys=left)
        return state


def _as_events(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in EVENTS.columns.items())


def _sentences(left: Counter[str]) -> Iterator[str]:
    return (f"{counted(n, 'row')} left out: {why}" for why, n in left.items() if n)
