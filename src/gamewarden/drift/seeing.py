"""What a stretch of a log holds: events by kind, and how many actors show each kind."""

from collections.abc import Iterator
from math import log
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.contracts import EventStream, Feature
from gamewarden.drift.causes import LogSummary

# Actors are counted by the slots their names fall into (linear counting, Whang et al. 1990): a few kilobytes a kind,
# however many actors there are, and exact enough for "one in twenty".
SLOTS = 1 << 13


class _Tally:
    def __init__(self) -> None:
        self.events: dict[str, int] = {}
        self.slots: dict[str, NDArray[np.bool_]] = {}
        self.all = np.zeros(SLOTS, np.bool_)
        self._names: pa.Array | None = None
        self._slots = np.zeros(0, np.int64)

    def add(self, batch: pa.RecordBatch) -> None:
        actors, kinds = (_coded(batch.column(name)) for name in ("actor", "kind"))
        of_row = self._slots_of(actors.dictionary)[np.asarray(actors.indices)]
        codes = np.asarray(kinds.indices)
        self.all[of_row] = True
        pairs = np.unique(codes.astype(np.int64) * SLOTS + of_row)
        counts = np.bincount(codes, minlength=len(kinds.dictionary))
        for code in np.flatnonzero(counts).tolist():
            name = kinds.dictionary[code].as_py()
            first, end = np.searchsorted(pairs, (code * SLOTS, (code + 1) * SLOTS))
            self.slots.setdefault(name, np.zeros(SLOTS, np.bool_))[pairs[first:end] % SLOTS] = True
            self.events[name] = self.events.get(name, 0) + int(counts[code])

    def _slots_of(self, names: pa.Array) -> NDArray[np.int64]:
        """Where names fall; the batches of one row group have one dictionary, which is looked through once."""
        if self._names is None or not self._names.equals(names):
            self._names = names
            self._slots = np.array([crc32(str(name).encode()) % SLOTS for name in names.to_pylist()], np.int64)
        return self._slots

    def seen(self) -> LogSummary:
        kinds = sorted(self.events)
        return LogSummary(
            _estimate(self.all),
            {kind: self.events[kind] for kind in kinds},
            {kind: _estimate(self.slots[kind]) for kind in kinds},
        )


def seen_in(events: EventStream) -> LogSummary:
    """What these events hold."""
    tally = _Tally()
    for batch in _filled(events):
        tally.add(batch)
    return tally.seen()


def _filled(events: EventStream) -> Iterator[pa.RecordBatch]:
    return (batch for batch in events.batches(["actor", "kind"]) if batch.num_rows)


def _coded(column: pa.Array) -> pa.DictionaryArray:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _estimate(slots: NDArray[np.bool_]) -> int:
    free = SLOTS - int(slots.sum())
    return round(-SLOTS * log(max(free, 1) / SLOTS))


def known_kinds(feature: Feature, kinds: tuple[str, ...]) -> frozenset[str]:
    """Kinds that are not new to a recipe: those of its vocabulary, and those it would leave out anyway."""
    learned = feature.learned
    if learned is None or not learned.kinds:
        return frozenset()
    return frozenset(learned.kinds) | {kind for kind in kinds if not learned.counts(kind)}


def shares_of(feature: Feature) -> dict[str, float]:
    """How common each kind was in training, where the recipe has kept it."""
    learned = feature.learned
    return {} if learned is None or learned.shares is None else learned.common
