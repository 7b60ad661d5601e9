"""What came into the tables of a game since they were last read, piece by piece, each with how far it reaches."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from gamewarden.readers.databases.cursors import KeyReached, Reached
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
    _held: dict[str, tuple[object, TableRows]] = field(default_factory=dict)  # by where reading stood
    _asked_for: dict[str, str | None] = field(default_factory=dict)  # characters that are gone, and whose they were
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
        read = [self._held_or_read(one, state, now) for one in self._followed]
        settled = FOR_EVER if self.database.options.offline else now - self.database.options.wait
        frontier = min([settled, *(one.whole for one in read if not one.raw.ended and one.readable.any())])
        stuck = [one for one in read if one.is_stuck(frontier) and one.whole < settled]  # else nothing is old enough
        self._widen(stuck)
        self._count(read, frontier)
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
        done = not stuck and all(one.raw.ended or not one.leads_on(frontier) for one in read)
        return Piece(numbered, before, str(after), notes, rows), after, done

    def _held_or_read(self, followed: KeyedTable | TimedTable, state: Reached, now: int) -> TableRows:
        """What is there of a table; what was read of one and has to wait for the others is not asked for again."""
        name = followed.table.name
        where = state.keys.get(name), state.times.get(name), self._limits.get(name)
        if name not in self._held or self._held[name][0] != where or self._held[name][1].raw.ended:
            self._held[name] = where, self._read(followed, state, now)
        return self._held[name][1]

    def _read(self, followed: KeyedTable | TimedTable, state: Reached, now: int) -> TableRows:
        table = followed.table
        raw = followed.read(state, self._limits.get(table.name, self.database.options.piece))
        frame = self.database.framed(raw.columns, raw.rows)
        keys = frame[table.key].cast(pl.Int64) if table.key else pl.Series(range(len(raw.rows)), dtype=pl.Int64)
        moments = TimeReader(table.format, self.time_zone).read(frame[table.time])
        missing = {"time is missing": frame[table.time].is_null().to_numpy()}
        faults = {**missing, **moments.faults, **self.plausible.faults(moments.at)}
        at = _without(moments.at, faults)
        if table.key and (ahead := self._ahead(at, now)).any():
            faults["time is far ahead of the database's clock, and rows after it are not"] = ahead
            at = _without(at, faults)
        return TableRows(table, raw, frame.with_columns(keys.alias(KEY), at.alias("at")), faults, moments.notes)

    def _ahead(self, at: pl.Series, now: int) -> Mask:
        """Rows that would hold back all after them until their time has come.

        They are waited for as long as clocks go back, and where no row after them is of now: then it is the zone that
        is wrong, or the clock. Of a copy nothing is held back.
        """
        if self.database.options.offline:
            return np.zeros(len(at), np.bool_)
        moments = at.to_physical().fill_null(FOR_EVER).to_numpy()
        settled = np.flatnonzero(moments <= now - self.database.options.wait)
        early = np.arange(len(moments)) < (settled[-1] if len(settled) else 0)
        return early & (moments > now + self.database.options.overlap) & at.is_not_null().to_numpy()

    def _count(self, read: Sequence[TableRows], frontier: int) -> None:
        """Count what is wrong with the rows that are taken in now."""
        for one in read:
            taken, name = one.taken(frontier), one.table.name
            self._tally.rows += int(taken.sum())
            for reason, mask in one.faults.items():
                bad, taken = taken & mask, taken & ~mask
                if bad.any():
                    first = int(np.argmax(bad))
                    written = str(one.frame[one.table.time][first])
                    self._tally.add("bad", f"{name}: {reason}", int(bad.sum()), first + 1, written)
            for reason, mask in one.notes.items():
                chosen = int((mask & taken).sum())
                self._tally.add("notes", f"{name}: {reason}", chosen, int(np.argmax(mask & taken)) + 1, None)

    def _widen(self, read: Sequence[TableRows]) -> None:
        """Where a full reading gave nothing, since so many rows belong together, the next ones are longer."""
        for one in read:
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
            if gone := self._gone_since(rows.unknown):
                rows = Rows(frame, self._who.with_characters(gone), self._collected)
                made = table.events(rows)
        self._left.update({f"{table.name}: {why}": count for why, count in rows.left_out.items()})
        return made

    def _gone_since(self, characters: Collection[str]) -> dict[str, str]:
        """The accounts that had these characters; each is asked for once, since somebody has to look at everything."""
        if asked := [one for one in characters if one not in self._asked_for]:
            self._asked_for.update(dict.fromkeys(asked) | dict(self.remembered(asked)))
        return {one: account for one in characters if (account := self._asked_for[one]) is not None}

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
    ) -> tuple[pl.DataFrame, dict[str, tuple[str, int]]]:
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
            if isinstance(one, KeyedTable) and reached is not None and self._is_another(one, reached):
                left = {name: known for name, known in state.keys.items() if name != one.table.name}
                state = replace(state, keys=left)
        return state

    def _is_another(self, followed: KeyedTable, reached: KeyReached) -> bool:
        """Whether rows that should be known are all later than any that is, or are other ones at both ends.

        Then their numbers were given before, or it is the table of another server. A row may change or vanish, and be
        the only one: lowest and highest have to agree.
        """
        if reached.latest is None:
            return False
        if followed.is_of_another(reached):
            return True
        table, ends = followed.table, followed.ends(reached)
        times = self.database.framed((followed.key, table.time), ends)[table.time]
        moments = TimeReader(table.format, self.time_zone).read(times).at.to_physical()
        return bool(ends) and bool((moments > reached.latest).fill_null(value=False).all())


def _without(at: pl.Series, faults: Mapping[str, Mask]) -> pl.Series:
    """Moments without those of rows that are at fault."""
    unfit = np.zeros(len(at), np.bool_)
    for mask in faults.values():
        unfit |= mask
    return at.zip_with(pl.Series(~unfit), pl.Series([None], dtype=at.dtype))


def _as_events(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in EVENTS.columns.items())


def _sentences(left: Counter[str]) -> Iterator[str]:
    return (f"{counted(n, 'row')} left out: {why}" for why, n in left.items() if n)
