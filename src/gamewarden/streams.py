"""Streams seen otherwise: watched, or with a part of their rows, or without what their source is known for."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import (
    PACKET_COLUMNS,
    Content,
    EventStream,
    LogSource,
    MeasuredElsewhere,
    MessageStream,
    PacketStream,
    PartedEvents,
    Progress,
    RowStream,
    Stream,
    Stretch,
    no_progress,
)
from gamewarden.core.coverage import Coverage
from gamewarden.core.durations import to_micros
from gamewarden.core.text import counted as counted_text
from gamewarden.core.time_ranges import TimeRange

Batches = Iterator[pa.RecordBatch]
_EVER = 1 << 62


class PlainEvents:
    """What a stream of events says of itself where it knows nothing better; its columns and batches are its own."""

    @property
    def rows(self) -> int | None:
        """Nobody knows."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    @property
    def shows(self) -> Mapping[str, int] | None:
        """Whatever it is asked for."""
        return None

    @property
    def coverage(self) -> Coverage | None:
        """Nobody knows."""
        return None

    @property
    def whole(self) -> Self:
        """It leaves nothing out."""
        return self


class PlainPackets:
    """What a stream of packets says of itself where it counts nothing; its batches are its own."""

    @property
    def rows(self) -> int | None:
        """Nobody knows."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Nothing."""
        return {}

    @property
    def withheld(self) -> int:
        """None."""
        return 0


class EventView:
    """Events seen through something: all of it is that of the stream behind, but for what a view changes."""

    def __init__(self, events: EventStream) -> None:
        self._events = events

    @property
    def behind(self) -> EventStream:
        """The stream that is looked at."""
        return self._events

    @property
    def columns(self) -> frozenset[str]:
        """Those of the stream."""
        return self._events.columns

    @property
    def rows(self) -> int | None:
        """As many as the stream has."""
        return self._events.rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What the stream has to say."""
        return self._events.notes

    @property
    def shows(self) -> Mapping[str, int] | None:
        """What the source can show."""
        return self._events.shows

    @property
    def coverage(self) -> Coverage | None:
        """When the source was there."""
        return self._events.coverage

    @property
    def whole(self) -> EventStream:
        """The whole of the stream."""
        return self._events.whole

    def batches(self, columns: Sequence[str]) -> Batches:
        """Those of the stream."""
        return self._events.batches(columns)


class WatchedEvents(EventView):
    """Events that report how many have passed."""

    def __init__(self, events: EventStream, progress: Progress) -> None:
        super().__init__(events)
        self.progress = progress

    @property
    def whole(self) -> EventStream:
        """The whole of the stream, watched too."""
        return WatchedEvents(self._events.whole, self.progress)

    def batches(self, columns: Sequence[str]) -> Batches:
        """The stream's own."""
        return counted(self._events.batches(columns), self.progress)


class Unquestioned(EventView):
    """Events of whose source nobody asks what it can show, or when it was there."""

    @property
    def shows(self) -> None:
        """Whatever it is asked for."""
        return

    @property
    def coverage(self) -> None:
        """Nobody asks."""
        return


class ChosenEvents(EventView):
    """The events whose value in one column stays; what the source shows and covers is that of all."""

    def __init__(self, events: EventStream, column: str, stays: Callable[[pa.Array], pa.Array]) -> None:
        super().__init__(events)
        self._column = column
        self._stays = stays

    @property
    def rows(self) -> None:
        """Nobody knows before they have been looked at."""
        return

    def batches(self, columns: Sequence[str]) -> Batches:
        """The rows that stay, in the source's order."""
        needed = list(dict.fromkeys([*columns, self._column]))
        for batch in self._events.batches(needed):
            kept = batch.filter(self._stays(batch.column(self._column)))
            if kept.num_rows:
                yield kept.select(list(columns))


class EventsWithin(ChosenEvents):
    """The events of a stretch of time, which is all there is for whoever asks for the whole."""

    @property
    def whole(self) -> EventStream:
        """All of the stretch."""
        return self


def behind_views(stream: Stream) -> Stream:
    """The stream behind those who only watch, or do not ask."""
    while isinstance(stream, WatchedEvents | Unquestioned):
        stream = stream.behind
    return stream


def watched_by(stream: Stream, progress: Progress) -> Progress:
    """Whoever is told how many rows of a stream have passed."""
    watchers = [progress]
    while isinstance(stream, WatchedEvents | Unquestioned):
        watchers += [stream.progress] if isinstance(stream, WatchedEvents) else []
        stream = stream.behind

    def tell(rows: int) -> None:
        for watcher in watchers:
            watcher(rows)

    return tell


class EventsOfRange(EventView):
    """Events of a stretch of time that somebody asked for: the source was not looked at outside it.

    The stream has only those events already; what it shows stays that of the whole source.
    """

    def __init__(self, events: EventStream, asked: TimeRange) -> None:
        super().__init__(events)
        self._asked = asked

    @property
    def notes(self) -> tuple[str, ...]:
        """What the stream has to say, and what was left out."""
        return (*self._events.notes, *self._asked.notes)

    @property
    def coverage(self) -> Coverage | None:
        """When the source was there, within the stretch."""
        known = self._events.coverage
        return None if known is None else known.within(*self._asked.micros)

    @property
    def whole(self) -> EventStream:
        """All of the stretch."""
        return EventsOfRange(self._events.whole, self._asked)


class PartedEventsOfRange(EventsOfRange):
    """Events of a stretch of time, of which any part and any actors can be read alone."""

    def __init__(self, events: PartedEvents, asked: TimeRange) -> None:
        super().__init__(events, asked)
        self._parted = events

    @property
    def shows(self) -> Mapping[str, int]:
        """What the source can show."""
        return self._parted.shows

    @property
    def coverage(self) -> Coverage:
        """When the source was there, within the stretch."""
        return self._parted.coverage.within(*self._asked.micros)

    @property
    def stretches(self) -> Iterable[tuple[int, int]]:
        """When there are events in it."""
        first, end = self._asked.micros
        return [
            (max(begin, first), min(last, end - 1))
            for begin, last in self._parted.stretches
            if last >= first and begin < end
        ]

    def between(self, since: int, until: int) -> "PartedEventsOfRange":
        """Those of [since, until) that lie in the stretch."""
        first, end = self._asked.micros
        return PartedEventsOfRange(self._parted.between(max(since, first), min(until, end)), self._asked)

    def of(self, actors: Collection[str]) -> "PartedEventsOfRange":
        """Those of these actors."""
        return PartedEventsOfRange(self._parted.of(actors), self._asked)


def only(events: EventStream, column: str, value: str) -> ChosenEvents:
    """The events of one actor, or of one character."""
    return ChosenEvents(events, column, lambda values: pc.equal(values.cast(pa.string()), value))


def of_actors(events: EventStream, actors: Collection[str]) -> ChosenEvents:
    """The events of these actors."""
    named = pa.array(sorted(set(actors)), pa.string())
    return ChosenEvents(events, "actor", lambda values: pc.is_in(values.cast(pa.string()), named))


def without(events: EventStream, kinds: Sequence[str]) -> ChosenEvents:
    """The events of all other kinds."""
    named = pa.array(kinds, pa.string())
    return ChosenEvents(events, "kind", lambda values: pc.invert(pc.is_in(values.cast(pa.string()), named)))


def within(events: EventStream, since: datetime | None = None, until: datetime | None = None) -> EventStream:
    """The events of [since, until); all where neither is said."""
    if since is None and until is None:
        return events
    first, end = to_micros(since) if since else -_EVER, to_micros(until) if until else _EVER
    if isinstance(away := behind_views(events), MeasuredElsewhere):
        return away.between(first, end)
    return EventsWithin(events, "at", lambda times: _inside(times, first, end))


def _inside(times: pa.Array, first: int, end: int) -> pa.Array:
    """Which of the times lie in [first, end); null where there is none."""
    at = times.cast(pa.int64())
    return pc.and_(pc.greater_equal(at, first), pc.less(at, end))


def newest(batches: Batches) -> int | None:
    """The latest time among rows, in microseconds."""
    latest = (pc.max(batch.column("at").cast(pa.int64())).as_py() for batch in batches)
    return max((at for at in latest if at is not None), default=None)


def counted(batches: Batches, progress: Progress) -> Batches:
    """The batches, each counted once it was used."""
    for batch in batches:
        yield batch
        progress(batch.num_rows)


class WatchedLog(WatchedEvents):
    """A log on its way into a lake that reports how many rows have passed."""

    def __init__(self, log: LogSource, progress: Progress) -> None:
        super().__init__(log, progress)
        self._log = log

    @property
    def name(self) -> str:
        """The log's name."""
        return self._log.name

    @property
    def recipe(self) -> str:
        """What decides what its rows become."""
        return self._log.recipe

    @property
    def own_seq(self) -> bool:
        """Whether its rows are numbered by themselves."""
        return self._log.own_seq

    @property
    def promised(self) -> frozenset[str]:
        """The kinds it can give."""
        return self._log.promised

    @property
    def time_zone(self) -> str | None:
        """The time zone that its times were written in."""
        return self._log.time_zone

    @property
    def stretch(self) -> Stretch | None:
        """Where in a source without end its rows are."""
        return self._log.stretch

    def content(self, beginnings: Sequence[int]) -> Content:
        """What it holds."""
        return self._log.content(beginnings)


class WatchedPackets:
    """Packets that report how many have passed."""

    def __init__(self, packets: PacketStream, progress: Progress) -> None:
        self._packets = packets
        self._progress = progress

    @property
    def rows(self) -> int | None:
        """As many as the stream has."""
        return self._packets.rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What the stream has to say."""
        return self._packets.notes

    @property
    def counts(self) -> Mapping[str, int]:
        """What it has counted."""
        return self._packets.counts

    @property
    def withheld(self) -> int:
        """What it has held back."""
        return self._packets.withheld

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Batches:
        """The stream's own."""
        return counted(self._packets.batches(columns), self._progress)


class PacketsOfRange(WatchedPackets):
    """The packets of a stretch of time; what was counted and held back is that of the whole source."""

    def __init__(self, packets: PacketStream, asked: TimeRange) -> None:
        super().__init__(packets, no_progress)
        self._asked = asked

    @property
    def rows(self) -> None:
        """Nobody knows before they have been looked at."""
        return

    @property
    def notes(self) -> tuple[str, ...]:
        """What the stream has to say, and what was left out."""
        return (*self._packets.notes, *self._asked.notes)

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Batches:
        """Those of the stretch."""
        first, end = self._asked.micros
        for batch in self._packets.batches(list(dict.fromkeys([*columns, "at"]))):
            yield batch.filter(_inside(batch.column("at"), first, end)).select(list(columns))


class WatchedMessages:
    """Messages that report how many have passed."""

    def __init__(self, messages: MessageStream, progress: Progress) -> None:
        self._messages = messages
        self._progress = progress

    @property
    def rows(self) -> int | None:
        """As many as the stream has."""
        return self._messages.rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What the stream has to say."""
        return self._messages.notes

    @property
    def messages(self) -> int:
        """How many there were."""
        return self._messages.messages

    @property
    def sessions(self) -> int:
        """In how many sessions."""
        return self._messages.sessions

    @property
    def damaged(self) -> bool:
        """Whether something was skipped."""
        return self._messages.damaged

    def batches(self, columns: Sequence[str]) -> Batches:
        """The stream's own."""
        return counted(self._messages.batches(columns), self._progress)


class MessagesOfRange(WatchedMessages):
    """The messages of a stretch of time; one without a time is in none."""

    def __init__(self, messages: MessageStream, asked: TimeRange) -> None:
        super().__init__(messages, no_progress)
        self._asked = asked
        self._given, self._timeless = 0, 0
        self._sessions: set[tuple[int, int]] = set()

    @property
    def rows(self) -> None:
        """Nobody knows before they have been looked at."""
        return

    @property
    def notes(self) -> tuple[str, ...]:
        """What the stream has to say, and what was left out."""
        timeless = (f"{counted_text(self._timeless, 'message')} without a time left out",) if self._timeless else ()
        return (*self._messages.notes, *self._asked.notes, *timeless)

    @property
    def messages(self) -> int:
        """How many there were in the stretch."""
        return self._given

    @property
    def sessions(self) -> int:
        """In how many sessions."""
        return len(self._sessions)

    def batches(self, columns: Sequence[str]) -> Batches:
        """Those of the stretch."""
        self._given, self._timeless, self._sessions = 0, 0, set()
        first, end = self._asked.micros
        for batch in self._messages.batches(list(dict.fromkeys([*columns, "at", "stream", "session"]))):
            kept = batch.filter(_inside(batch.column("at"), first, end))
            self._given += kept.num_rows
            self._timeless += batch.column("at").null_count
            pairs = pa.Table.from_batches([kept]).group_by(["stream", "session"]).aggregate([])
            self._sessions.update(zip(*(pairs[name].to_pylist() for name in ("stream", "session")), strict=True))
            yield kept.select(list(columns))


class WatchedRows:
    """Rows of an operator's table that report how many have passed."""

    def __init__(self, table: RowStream, progress: Progress) -> None:
        self._table = table
        self._progress = progress

    @property
    def name(self) -> str:
        """The table's name."""
        return self._table.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns."""
        return self._table.columns

    @property
    def rows(self) -> int | None:
        """As many as it has."""
        return self._table.rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What it has to say."""
        return self._table.notes

    def batches(self, columns: Sequence[str]) -> Batches:
        """The table's own."""
        return counted(self._table.batches(columns), self._progress)
