"""What a watch counts about itself, for Prometheus: lag, rates, players, what was left out, and its snapshots.

Counts are those after the latest batch; ages and lags are told as of the moment somebody asks. Whoever reads from a
broker sets what only it knows, by the names that stand here.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from gamewarden.contracts import PACKET_COLUMNS, PacketStream, no_progress
from gamewarden.core.meters import MEMORY, Meter, Meters, memory
from gamewarden.features.traffic.fold import Tally
from gamewarden.online.watch import Status
from gamewarden.streams import WatchedPackets

_WATCH = "gamewarden_watch_"
PLAYERS = Meter(f"{_WATCH}players", "gauge", "Players whose state is in memory (live) or on disk (asleep).", ("state",))
SOURCE = Meter(f"{_WATCH}source", "counter", "What the reader of packets has counted, in its words.", ("what",))
LEFT_OUT = Meter(f"{_WATCH}left_out", "counter", "Messages that could not be used, by reason.", ("reason",))
OTHER = Meter(f"{_WATCH}other", "gauge", "Whatever else was counted, by its name.", ("what",))
LAG = Meter(f"{_WATCH}lag_seconds", "gauge", "Seconds from the time of the latest packet or event to now.")
BEHIND = Meter(
    f"{_WATCH}lag_messages", "gauge", "Messages that were not read yet, of a partition or of all.", ("partition",)
)
PARTITIONS = Meter(f"{_WATCH}partitions", "gauge", "Partitions that this worker has.")
STATE_BYTES = Meter(f"{_WATCH}state_bytes", "gauge", "Bytes of the state on disk.")
SNAPSHOT_AGE = Meter(f"{_WATCH}snapshot_age_seconds", "gauge", "Seconds since the state was saved.")
SNAPSHOT = Meter(f"{_WATCH}snapshot_seconds", "gauge", "How long it took to save the state, the last time.")
STARTED = Meter(f"{_WATCH}started", "gauge", "When this watch began, in seconds since 1970.")
# What a fold or a worker counts, by its name there.
_COUNTS = {
    "packets": "Packets taken in, either way.",
    "counted": "Packets of clients among them.",
    "events": "Events taken in.",
    "decisions": "Decisions.",
    "bots": "Decisions that say bot.",
    "refused": "Packets of players for whom there was no place.",
    "forgotten": "Players that were forgotten after a long silence.",
    "withheld": "Packets of sources that have not proven to be there, or for which there was no place.",
    "backwards": "Packets whose time went backwards.",
    "woken": "Times that a player came back whose state was on disk.",
    "dropped": "Silent newcomers that made room for others.",
    "late": "Events that came too late.",
    "ahead": "Events with a time too far ahead.",
    "messages": "Messages of a broker that were taken in.",
    "rows": "Rows in them.",
    "handed_over": "Partitions that were handed over to another worker.",
    "lost": "Partitions that another worker took before they could be handed over.",
    "provisional": "SCORES of open days.",
    "final": "SCORES of days that are over.",
}
_NAMES = {"counted": "client_packets"}
COUNTERS = {name: Meter(f"{_WATCH}{_NAMES.get(name, name)}", "counter", says) for name, says in _COUNTS.items()}
_STATES = {"players": "live", "asleep": "asleep"}
WATCH = (
    *COUNTERS.values(),
    PLAYERS,
    SOURCE,
    LEFT_OUT,
    OTHER,
    LAG,
    BEHIND,
    PARTITIONS,
    STATE_BYTES,
    SNAPSHOT_AGE,
    SNAPSHOT,
    STARTED,
    MEMORY,
)


class WorkerProgress(Protocol):
    """What a worker on a broker's partitions knows of itself."""

    partitions: int
    messages: int
    rows: int
    bad_messages: int
    handed_over: int
    lost: int
    lag: int | None
    latest: int | None
    unsaved: float | None
    counts: Mapping[str, int]


class WatchMeters:
    """The numbers of one watch."""

    def __init__(self, state: Path | None = None) -> None:
        """Count; `state` is the file, or the directory of files, that snapshots go to."""
        self.meters = Meters(*WATCH)
        self.latest: int | None = None  # time of the latest packet or event, µs since 1970
        self._state = state
        self._saved: float | None = None  # when a worker's partitions were all saved; else the files tell
        self.meters.set(STARTED.name, time.time())
        self.meters.when_asked(self._look)

    def take(self, counts: Mapping[str, int]) -> None:
        """What a fold or a worker has counted so far, by its own names."""
        for name, count in counts.items():
            if name in COUNTERS:
                self.meters.set(COUNTERS[name].name, count)
            elif name in _STATES:
                self.meters.set(PLAYERS.name, count, {"state": _STATES[name]})
            else:
                self.meters.set(OTHER.name, count, {"what": name})

    def progress(self, done: WorkerProgress) -> None:
        """What a worker on a broker's partitions has done so far."""
        own = {name: getattr(done, name) for name in ("messages", "rows", "handed_over", "lost")}
        self.take({**done.counts, **own})
        self.meters.set(PARTITIONS.name, done.partitions)
        self.meters.set(BEHIND.name, done.lag, {"partition": "all"})
        self.latest = done.latest
        self._saved = None if done.unsaved is None else time.time() - done.unsaved
        self.meters.set(LEFT_OUT.name, done.bad_messages, {"reason": "cannot be read"})

    def _look(self) -> None:
        """Set what changes while nothing happens."""
        now = time.time()
        self.meters.set(LAG.name, None if self.latest is None else now - self.latest / 1_000_000)
        self.meters.set(MEMORY.name, memory())
        files = [] if self._state is None else _files(self._state)
        self.meters.set(STATE_BYTES.name, sum(size for size, _ in files) if files else None)
        saved = max((at for _, at in files), default=None) if self._saved is None else self._saved
        self.meters.set(SNAPSHOT_AGE.name, None if saved is None else now - saved)


def _files(state: Path) -> list[tuple[int, float]]:
    """(bytes, when it was written) of each file of a state."""
    try:
        places = [place for place in state.rglob("*") if place.is_file()] if state.is_dir() else [state]
        return [(found.st_size, found.st_mtime) for found in (place.stat() for place in places)]
    except OSError:  # one was replaced just now, or none is there yet
        return []


class MeteredPackets(WatchedPackets):
    """The packets of a watch as they pass by, and what is counted of them."""

    def __init__(self, packets: PacketStream, meters: WatchMeters) -> None:
        super().__init__(packets, no_progress)
        self._meters = meters

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Iterator[pa.RecordBatch]:
        """The packets."""
        for batch in super().batches(columns):
            if batch.num_rows and "at" in columns:
                self._meters.latest = batch.column("at").cast(pa.int64())[-1].as_py()
            yield batch

    def count(self, tally: Tally) -> None:
        """What the watch has counted, and what the reader has beside it."""
        self._meters.take({**tally._asdict(), "withheld": self._packets.withheld})
        for what, count in self._packets.counts.items():
            self._meters.meters.set(SOURCE.name, count, {"what": what})

    def told(self, said: Status) -> None:
        """What only a status knows."""
        self._meters.meters.set(SNAPSHOT.name, said.snapshot_seconds)
