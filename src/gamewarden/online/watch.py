"""Watch packets as they come: each decision is written the moment its window completes."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Bounds, PacketStream
from gamewarden.errors import ReadError
from gamewarden.features.traffic.fold import MOST_PLAYERS, Fold, Tally
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.forgetting import NEVER
from gamewarden.online.journal import Journal, Origin, load_state, save_state
from gamewarden.online.sleeping import Sleeping
from gamewarden.online.stopping import Stop
from gamewarden.tables import json_lines

Score = Callable[[pl.DataFrame], pl.DataFrame]  # SCORES of windows
MICRO_BATCH = 10_000  # packets taken in before decisions are written, at most
Write = Callable[[str], object]


@dataclass(frozen=True)
class Status:
    """How the watch is doing: totals, and the rates since the last status."""

    tally: Tally
    packets_per_second: float
    decisions_per_second: float
    left_out: int = 0  # packets of sources that have not proven to be there, or for which there was no place
    snapshot_seconds: float | None = None  # that the last snapshot took

    @property
    def bot_share(self) -> float | None:
        """The share of all decisions that say bot."""
        return self.tally.bots / self.tally.decisions if self.tally.decisions else None

    def __str__(self) -> str:
        share = "no decision yet" if self.bot_share is None else f"{self.bot_share:.1%} bot"
        asleep = f" and {self.tally.asleep:,} asleep" if self.tally.asleep else ""
        return (
            f"{self.tally.players:,} players{asleep} · {self.packets_per_second:,.0f} packets/s · "
            f"{self.decisions_per_second:,.1f} decisions/s · {share}{self._left_out_text()}"
        )

    def _left_out_text(self) -> str:
        left_out = self.left_out + self.tally.refused
        dropped = f" · {self.tally.dropped:,} newcomers dropped to make room" if self.tally.dropped else ""
        return (f" · {left_out:,} packets of unproven or too many sources left out" if left_out else "") + dropped


@dataclass(frozen=True)
class Pace:
    """How often something is done besides taking packets in."""

    status_seconds: float = 1.0
    snapshot_seconds: float = 10.0
    snapshot_packets: int = 10_000_000


USUAL = Pace()
UNBOUNDED = Bounds(players=MOST_PLAYERS, keep=NEVER)  # for packets that are all there


def no_status(_status: Status) -> None:
    """Nobody is watching the watch."""


def no_count(_tally: Tally) -> None:
    """Nobody counts along."""


def _nowhere(_lines: str) -> None:
    """Nobody wants them."""


def watch(
    packets: PacketStream,
    test: TrafficTest,
    write: Write,
    *,
    state: Path | None = None,
    replayed: bool = True,
    status: Callable[[Status], object] = no_status,
    count: Callable[[Tally], object] = no_count,
    pace: Pace = USUAL,
    stop: Stop | None = None,
    bounds: Bounds = UNBOUNDED,
    score: Score | None = None,
    write_scores: Write = _nowhere,
) -> Tally:
    """Decide on every player until the packets end; `write` gets decisions as JSON Lines.

    `write_scores` gets what `score` says of the same windows, likewise.

    With `state` the watch goes on where that file was saved last. A source that is `replayed` from its beginning, such
    as a file, has the packets taken in before skipped; one that is not, such as a pipe, goes on with what comes. What
    was written after the last snapshot is written again: `watch_to_file` is the one that never doubles a decision.
    `count` gets what was counted after every micro-batch, `status` every second while packets come.
    When `stop` is asked the watch ends as if the packets had ended. `bounds` say how many players are kept at a time
    and when a silent one is forgotten.

    Raises:
        ReadError: the state is damaged, of another profile, or of another source.
        WriteError: the state cannot be written.
    """
    most = bounds.players
    fold, note = load_state(state, test, most) if state and state.exists() else (Fold(test, most), {})
    with Sleeping(fold, bounds, note, state) as players:
        origin = Origin()
        coming = _after(packets, fold, note, origin) if replayed else packets.batches()

        def snapshot() -> None:
            if state is not None:
                save_state(state, fold, origin, **players.settled())

        coming = (stop or Stop()).until(coming, live=not replayed)
        told = _telling(status, packets)
        hand_over = _handing_over(test, write, score, write_scores)
        return _run(coming, players, write=hand_over, snapshot=snapshot, status=told, count=count, pace=pace)


def _handing_over(
    test: TrafficTest, write: Write, score: Score | None, write_scores: Write
) -> Callable[[pl.DataFrame], None]:
    """What becomes of completed windows: decisions with the profile they follow, and what a model says of them."""
    profile = pl.lit(test.profile).alias("profile")

    def hand_over(windows: pl.DataFrame) -> None:
        write(json_lines(windows.with_columns(profile)))
        if score is not None:
            write_scores(json_lines(score(windows)))

    return hand_over


def watch_to_file(
    packets: PacketStream,
    test: TrafficTest,
    out: Path,
    *,
    state: Path,
    status: Callable[[Status], object] = no_status,
    count: Callable[[Tally], object] = no_count,
    pace: Pace = USUAL,
    stop: Stop | None = None,
    bounds: Bounds = UNBOUNDED,
    scores: Path | None = None,
    score: Score | None = None,
) -> Tally:
    """Decide on every player of a source that can be read again; after any crash `out` has each decision once.

    `scores` gets what `score` says of the same windows, each once too; a state that was made without it goes on, and
    the scores begin there.

    Raises:
        ReadError: the state is damaged, or of another profile, source or file of decisions.
        WriteError: a file cannot be written, is written to by another watch, or has decisions without a state.
    """
    with Journal(out, state, scores) as journal, ExitStack() as opened:
        fold, note = journal.resume(test, bounds.players)
        players = opened.enter_context(Sleeping(fold, bounds, note, state))
        origin = Origin()
        coming = _after(packets, fold, note, origin)

        def snapshot() -> None:
            journal.snapshot(fold, origin, **players.settled())

        if not note:
            snapshot()  # before the first decision, so that decisions never stand without a state
        coming = (stop or Stop()).until(coming, live=False)
        told = _telling(status, packets)
        hand_over = _handing_over(test, journal.write, score, journal.write_scores)
        return _run(coming, players, write=hand_over, snapshot=snapshot, status=told, count=count, pace=pace)


def _telling(status: Callable[[Status], object], packets: PacketStream) -> Callable[[Status], object]:
    """The status with what the reader leaves out."""
    return lambda said: status(replace(said, left_out=packets.withheld))


def _run(
    batches: Iterator[pa.RecordBatch],
    players: Sleeping,
    *,
    write: Callable[[pl.DataFrame], None],
    snapshot: Callable[[], None],
    status: Callable[[Status], object],
    count: Callable[[Tally], object],
    pace: Pace,
) -> Tally:
    meter = _Meter(players.tally)
    snapshot = meter.timed(snapshot)
    saved, saved_at = players.tally.packets, time.monotonic()
    for batch in _micro(batches):
        for windows in players.take(batch):
            write(windows)
        count(players.tally)
        now = time.monotonic()
        if players.tally.packets - saved >= pace.snapshot_packets or now - saved_at >= pace.snapshot_seconds:
            snapshot()
            saved, saved_at = players.tally.packets, time.monotonic()
        if now - meter.at >= pace.status_seconds:
            status(meter.read(players.tally))
    snapshot()
    status(meter.read(players.tally))
    return players.tally


class _Meter:
    """Rates since it was read last."""

    def __init__(self, tally: Tally) -> None:
        self.at = time.monotonic()
        self._tally = tally
        self._snapshot_seconds: float | None = None

    def timed(self, snapshot: Callable[[], None]) -> Callable[[], None]:
        """The same, and how long it takes is told with the next status."""

        def taken() -> None:
            begun = time.monotonic()
            snapshot()
            self._snapshot_seconds = time.monotonic() - begun

        return taken

    def read(self, tally: Tally) -> Status:
        now = time.monotonic()
        seconds = max(now - self.at, 1e-9)
        packets, decisions = tally.packets - self._tally.packets, tally.decisions - self._tally.decisions
        self.at, self._tally = now, tally
        return Status(tally, packets / seconds, decisions / seconds, snapshot_seconds=self._snapshot_seconds)


def _micro(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for begin in range(0, batch.num_rows, MICRO_BATCH):
            yield batch.slice(begin, MICRO_BATCH)


def _after(packets: PacketStream, fold: Fold, note: dict[str, object], origin: Origin) -> Iterator[pa.RecordBatch]:
    """The packets after those the fold has taken in, when they begin as the state's source did."""
    skip = fold.tally.packets
    for batch in packets.batches():
        passed = min(skip, batch.num_rows)
        origin.take(batch.slice(0, passed))
        skip -= passed
        if skip == 0 and note:
            _refuse_other_origin(note, origin)
            note = {}
        if passed < batch.num_rows:
            origin.take(batch.slice(passed))
            yield batch.slice(passed)
    if skip:
        raise ReadError(
            f"the source has {fold.tally.packets - skip:,} packets, but the state has taken in {fold.tally.packets:,}; "
            "name the source it was made with, or remove the state to start anew"
        )


def _refuse_other_origin(note: dict[str, object], origin: Origin) -> None:
    if (origin.packets, origin.digest) != (note.get("origin_packets"), note.get("origin")):
        raise ReadError(
            f"the first {origin.packets:,} packets are not those the state was made with; name the source it was made "
            "with, or remove the state to start anew"
        )
