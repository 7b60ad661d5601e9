"""Several sources as one: logs, captures, what clients said and an account table of the same players.

An actor is one account, whichever source names it. Sources of one kind are read one after the other, as if somebody had
joined the files; of several kinds each is read for the features that are measured from it.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import NoReturn

import pyarrow as pa

from gamewarden.contracts import (
    PACKET_COLUMNS,
    Bounds,
    EventStream,
    Fingerprint,
    MessageStream,
    PacketStream,
    PartedEvents,
    RowStream,
    Source,
    StreamKind,
    canonical_json,
)
from gamewarden.core.coverage import Coverage, Pulse
from gamewarden.errors import ReadError
from gamewarden.sources import PlainSource, SourceView


class KnownAs(SourceView):
    """A source whose bytes do not say what it is, once somebody has said it."""

    def __init__(self, source: Source, kinds: tuple[StreamKind, ...]) -> None:
        super().__init__(source)
        self._kinds = kinds

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """What somebody has said."""
        return self._kinds

    @property
    def sure(self) -> bool:
        """It is what was said."""
        return True


class Together(PlainSource):
    """Several sources, each of which says for sure what it holds.

    Raises:
        ReadError: there is none, or one of them may be one thing or another.
    """

    is_a = "are several sources"

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(", ".join(one.name for one in sources))
        if not sources:
            raise ReadError("several sources: there is none; name at least one")
        for one in sources:
            if not one.sure:
                raise ReadError(f"{one.name}: may be read as {' or '.join(one.kinds)}; say which it is")
        self.sources = tuple(sources)

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """Those of each, each kind once."""
        return tuple(dict.fromkeys(kind for one in self.sources for kind in one.kinds))

    @property
    def nameable(self) -> bool:
        """Whether all of them can be named."""
        return all(one.nameable for one in self.sources)

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of the first that has some: one command reads all of its sources in one way."""
        return next((one.flags for one in self.sources if one.flags), ())

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of its account table."""
        return next((one.columns for one in self.of_kind("table")), ())

    @property
    def parts(self) -> Sequence[Source]:
        """The files that hold messages; all of them where none does."""
        return [part for one in self.of_kind("messages") or self.sources for part in one.parts]

    def of_kind(self, kind: StreamKind) -> tuple[Source, ...]:
        """The sources that hold this."""
        return tuple(one for one in self.sources if kind in one.kinds)

    def fingerprint(self) -> Fingerprint:
        """A digest of what each of them holds, whatever their order."""
        held = [(one.kinds, one.fingerprint()) for one in self.sources]
        known = sorted([list(kinds), mark.kind, mark.name, mark.digest] for kinds, mark in held)
        name = ", ".join(mark.name for _, mark in held)
        return Fingerprint("several", name, hashlib.sha256(canonical_json(known).encode()).hexdigest())

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """The events of all logs and lakes, one after the other.

        Raises:
            ReadError: none of them holds events, or one cannot be read.
        """
        found = [one.events(since, until, actors) for one in self._held("events")]
        return found[0] if len(found) == 1 else JoinedEvents(found)

    def parted(self) -> PartedEvents | None:
        """The events of the one source that has some, where parts of its time can be read alone."""
        found = self.of_kind("events")
        return found[0].parted() if len(found) == 1 else None

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """The packets of all captures and packet logs, one after the other.

        Raises:
            ReadError: none of them holds packets, or one cannot be read.
        """
        found = [one.packets(bounds) for one in self._held("packets")]
        return found[0] if len(found) == 1 else JoinedPackets(found)

    def messages(self, *, strict: bool = False) -> MessageStream:
        """The messages of all of them, one after the other.

        Raises:
            ReadError: none of them holds messages, or one cannot be read.
        """
        from gamewarden.readers.ragnarok.joined import JoinedMessages

        found = {one.name: one.messages(strict=strict) for one in self._held("messages")}
        return next(iter(found.values())) if len(found) == 1 else JoinedMessages(found)

    def rows(self) -> RowStream:
        """The rows of its account table.

        Raises:
            ReadError: there is none, or there are two.
        """
        found = self._held("table")
        if len(found) > 1:
            named = " and ".join(one.name for one in found)
            raise ReadError(f"{named}: only one account table can stand beside other sources; join them to one file")
        return found[0].rows()

    def _held(self, kind: StreamKind) -> tuple[Source, ...]:
        return self.of_kind(kind) or self._nobody(kind)

    def _nobody(self, kind: StreamKind) -> NoReturn:
        self._refuse(kind)


class JoinedEvents:
    """The events of several sources, one after the other; it says of itself what one log of all of them would."""

    def __init__(self, streams: Sequence[EventStream]) -> None:
        self._streams = tuple(streams)

    @property
    def columns(self) -> frozenset[str]:
        """Those that one of them has."""
        return frozenset().union(*(one.columns for one in self._streams))

    @property
    def rows(self) -> int | None:
        """As many as all have."""
        return _total(one.rows for one in self._streams)

    @property
    def notes(self) -> tuple[str, ...]:
        """What each has to say."""
        return _said(self._streams)

    @property
    def shows(self) -> Mapping[str, int] | None:
        """The kinds that one of them shows; whatever is asked for where one of them shows that."""
        known = [one.shows for one in self._streams]
        counts: dict[str, int] = {}
        for shown in known:
            if shown is None:
                return None
            for kind, count in shown.items():
                counts[kind] = counts.get(kind, 0) + count
        return counts

    @cached_property
    def coverage(self) -> Coverage | None:
        """When there were events of any of them; nobody knows where it is not known of one.

        Where one log falls silent and another does not, the players go on: only together do they show a gap.
        """
        if any(one.coverage is None for one in self._streams):
            return None
        return Pulse.of(self.whole.batches(("actor", "at", "kind"))).coverage()

    @property
    def whole(self) -> EventStream:
        """The whole of each."""
        return JoinedEvents([one.whole for one in self._streams])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Source by source."""
        for one in self._streams:
            yield from one.batches(columns)


class JoinedPackets:
    """The packets of several sources, one after the other, with one dictionary of actors that only grows."""

    def __init__(self, streams: Sequence[PacketStream]) -> None:
        self._streams = tuple(streams)

    @property
    def rows(self) -> int | None:
        """As many as all have."""
        return _total(one.rows for one in self._streams)

    @property
    def notes(self) -> tuple[str, ...]:
        """What each counted."""
        return _said(self._streams)

    @property
    def counts(self) -> Mapping[str, int]:
        """What all of them counted."""
        counts: dict[str, int] = {}
        for one in self._streams:
            for words, count in one.counts.items():
                counts[words] = counts.get(words, 0) + count
        return counts

    @property
    def withheld(self) -> int:
        """Of all of them."""
        return sum(one.withheld for one in self._streams)

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Iterator[pa.RecordBatch]:
        """Source by source; a code never means two actors."""
        names = _Names()
        for one in self._streams:
            for batch in one.batches(columns):
                yield names.coded(batch) if "actor" in batch.schema.names else batch


class _Names:
    """All actors so far, each with one number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._known: pa.Array = pa.array([], pa.string())

    def coded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with its actors under these numbers."""
        place = batch.schema.get_field_index("actor")
        actor = batch.column(place)
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in actor.dictionary.to_pylist()]
        if len(self._numbers) > len(self._known):
            self._known = pa.array(list(self._numbers), pa.string())
        codes = pa.array(numbers, pa.int32()).take(actor.indices)
        return batch.set_column(place, "actor", pa.DictionaryArray.from_arrays(codes, self._known))


def _total(counts: Iterator[int | None]) -> int | None:
    found = list(counts)
    known = [count for count in found if count is not None]
    return sum(known) if len(known) == len(found) else None


def _said(streams: Sequence[EventStream] | Sequence[PacketStream]) -> tuple[str, ...]:
    """What each has to say, the same words once."""
    return tuple(dict.fromkeys(line for one in streams for line in one.notes))
