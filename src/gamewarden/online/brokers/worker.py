"""One worker of several: it works on the partitions that are its own, and only as long as they are.

It goes on from the partition's own state, never from what the broker remembers. It saves and lets go when a partition
is taken away, and writes nothing when it was lost before. A partition that another process still has is waited for
while messages of the others are taken in, so that the worker stays a member of its group.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from gamewarden.errors import MeasureError, ReadError, WriteError
from gamewarden.online.brokers.broker import Broker, Message, expired, made_anew
from gamewarden.online.brokers.held import Held, Lock, holder, locked, opened
from gamewarden.online.brokers.messages import Decoder
from gamewarden.online.brokers.relays import Relay, Sink
from gamewarden.online.stopping import Stop
from gamewarden.online.work import OpenWork

_POLL = 0.2  # seconds that nothing else is done
_TOGETHER = 65_536  # rows of messages that are taken in at once, at most
_IDLE = 1.0  # seconds without a message after which a partition is asked whether it has something to say


@dataclass(frozen=True)
class Pace:
    """How often a worker does something besides taking messages in, and how long it waits; in seconds."""

    save: float = 10.0
    status: float = 1.0
    patience: float = 120.0  # for a partition that another process has, or of which the broker does not say anything


@dataclass
class Progress:
    """What a worker has done since it was started."""

    partitions: int = 0
    messages: int = 0
    rows: int = 0
    bad_messages: int = 0
    handed_over: int = 0
    lost: int = 0
    lag: int | None = None
    latest: int | None = None  # microseconds: the time of the row that came last
    unsaved: float | None = None  # seconds since the partition was saved that waits longest
    counts: Mapping[str, int] = field(default_factory=dict)  # of the works it has, added up

    def __str__(self) -> str:
        lag = "" if self.lag is None else f" · {self.lag:,} messages behind"
        bad = f" · {self.bad_messages:,} messages left out" if self.bad_messages else ""
        return f"{self.partitions} partitions · {self.rows:,} rows of {self.messages:,} messages{lag}{bad}"


Tell = Callable[[str], object]
Status = Callable[[Progress], object]


@dataclass
class _Coming:
    """A partition that is ours and not open yet."""

    until: float
    held: Held | None = None
    said: bool = False


@dataclass
class _Open:
    """A partition that messages come from."""

    held: Held
    decode: Decoder
    relays: Sequence[Relay]
    saved_at: float
    heard_at: float


class Worker:
    """The partitions that a worker has, and what becomes of their messages."""

    def __init__(
        self,
        broker: Broker,
        open_work: OpenWork,
        state: Path,
        sinks: Sequence[Sink] = (),
        *,
        begin: str | None = None,
        pace: Pace | None = None,
        tell: Tell = lambda _line: None,
        status: Status = lambda _progress: None,
    ) -> None:
        self._broker = broker
        self._open_work = open_work
        self._state = state
        self._sinks = sinks
        self._begin = begin
        self._pace = pace or Pace()
        self._tell = tell
        self._status = status
        self._status_at = time.monotonic()
        self._coming: dict[int, _Coming] = {}
        self._open: dict[int, _Open] = {}
        self._reasons: set[str] = set()
        self._trouble: str | None = None
        self.progress = Progress()

    def run(self, stop: Stop) -> Progress:
        """Work until somebody asks to stop; then every partition is saved and let go.

        Raises:
            ReadError: what comes next has expired, a state does not fit, or the broker refuses us.
            WriteError: a state, decisions or an output cannot be written.
        """
        try:
            while not stop.asked:
                self._open_those_coming()
                self._take(self._broker.poll(self, _POLL))
                self._tend()
            self._count()
            self.hand_over([*self._open, *self._coming])
        finally:
            self.lose([*self._open, *self._coming])
            self._broker.close()
            for sink in self._sinks:
                sink.close()
        self._status(self.progress)
        return self.progress

    def at_rest(self) -> Sequence[int]:
        """Those that have a directory."""
        if not self._state.is_dir():
            return []
        return [int(one.name) for one in self._state.iterdir() if one.name.isdecimal() and one.is_dir()]

    def gain(self, partitions: Sequence[int]) -> None:
        """They are opened as soon as nobody else has them."""
        until = time.monotonic() + self._pace.patience
        self._coming |= {partition: _Coming(until) for partition in partitions if partition not in self._open}

    def hand_over(self, partitions: Sequence[int]) -> None:
        """Keep all that is known of them, and let them go."""
        for partition in partitions:
            coming, here = self._coming.pop(partition, None), self._open.pop(partition, None)
            if coming is not None and coming.held is not None:
                coming.held.close()
            if here is not None:
                self._broker.stop(partition)
                try:
                    self._save(partition, here)
                finally:
                    here.held.close()
                self.progress.handed_over += 1

    def lose(self, partitions: Sequence[int]) -> None:
        """Let them go as they were saved last: whoever has them now takes in again what came since."""
        for partition in partitions:
            coming, here = self._coming.pop(partition, None), self._open.pop(partition, None)
            held = here.held if here is not None else coming.held if coming is not None else None
            if held is not None:
                held.close()
            if here is not None:
                self._broker.stop(partition)
                self.progress.lost += 1

    def _open_those_coming(self) -> None:
        for partition, coming in list(self._coming.items()):
            if coming.held is None and (lock := locked(self._directory(partition))) is not None:
                coming.held = self._opened(lock)
            if coming.held is not None and self._started(partition, coming.held):
                self._open[partition] = self._in_hand(coming.held, partition)
                del self._coming[partition]
            elif partition in self._coming:
                self._wait_or_give_up(partition, coming)

    def _opened(self, lock: Lock) -> Held:
        try:
            return opened(lock, self._open_work)
        except BaseException:
            lock.release()
            raise

    def _directory(self, partition: int) -> Path:
        return self._state / str(partition)

    def _started(self, partition: int, held: Held) -> bool:
        """Whether messages come from where the state stands; False where the broker is not that far."""
        reach = self._broker.reach(partition)
        if reach is None:
            return False
        if held.is_new:
            self._refuse_forgotten(partition, held)
            held.begin(reach.next if self._begin == "end" else reach.first, self._broker.identity)
        where = self._broker.source
        if held.source != self._broker.identity or held.offset > reach.next:
            raise made_anew(where, partition, held.offset, reach.next, held.directory)
        if held.offset < reach.first:
            raise expired(where, partition, held.offset, reach.first, held.directory)
        return self._broker.start(partition, held.offset)

    def _refuse_forgotten(self, partition: int, held: Held) -> None:
        """A partition that somebody has worked on, and of which there is no state here, is not begun again silently."""
        remembered = self._broker.remembered(partition)
        if remembered and self._begin is None:
            raise ReadError(
                f"{self._broker.source}: partition {partition}: the group was at offset {remembered:,}, but "
                f"{held.directory} has no state of it; let all workers share one --state directory, or add "
                "?from=beginning or ?from=end to begin anew"
            )

    def _in_hand(self, held: Held, partition: int) -> _Open:
        now = time.monotonic()
        relays = [Relay(sink, held, partition) for sink in self._sinks]
        return _Open(held, Decoder(held.work.columns), relays, now, now)

    def _wait_or_give_up(self, partition: int, coming: _Coming) -> None:
        directory = self._directory(partition)
        if coming.held is None and not coming.said:
            self._tell(f"partition {partition}: waiting until {holder(directory)} lets go of {directory}")
            coming.said = True
        if time.monotonic() < coming.until:
            return
        if coming.held is None:
            raise WriteError(
                f"{directory}: {holder(directory)} has not let go of it for {self._pace.patience:,.0f} s; it hangs or "
                "works on the same partition: end it, or give each worker its own number with --worker"
            )
        raise ReadError(
            f"{self._broker.source}: the broker says nothing of partition {partition} for "
            f"{self._pace.patience:,.0f} s; look whether it is up, and whether we may read the topic"
        )

    def _take(self, messages: Sequence[Message]) -> None:
        """Messages of partitions that are not open are nobody's: they come again to whoever opens them."""
        by_partition: dict[int, list[Message]] = {}
        for message in messages:
            by_partition.setdefault(message.partition, []).append(message)
        for partition, some in by_partition.items():
            if (here := self._open.get(partition)) is not None:
                here.heard_at = time.monotonic()
                _Intake(self, partition, here).take(some)

    def left_out(self, partition: int, offset: int, why: str) -> None:
        """A message of which something is left out: the first of its kind is said."""
        reason = why.partition(" (")[0]
        if reason not in self._reasons and len(self._reasons) < 100:  # noqa: PLR2004  kinds; hostile ones could be endless
            self._reasons.add(reason)
            self._tell(f"partition {partition}, offset {offset:,}: left out: {why}")

    def _tend(self) -> None:
        now = time.monotonic()
        for partition, here in list(self._open.items()):
            if now - here.heard_at >= _IDLE:
                here.heard_at = now
                self._idle(partition, here)
            if now - here.saved_at >= self._pace.save:
                self._save(partition, here)
            for relay in here.relays:
                relay.send_on()
        for sink in self._sinks:
            sink.tend()
        if now - self._status_at >= self._pace.status:
            self._status_at = now
            self._count()
            self._status(self.progress)
            self._say_trouble()

    def _idle(self, partition: int, here: _Open) -> None:
        """Only where nothing is left to read: what was not fetched yet may belong to days that others have passed."""
        end = self._broker.empty_until(partition)
        if end is not None or self._broker.lag(partition) == 0:
            here.held.idle(end)

    def _say_trouble(self) -> None:
        """Once, as long as it stays the same."""
        trouble, self._trouble = self._trouble, self._broker.trouble
        if self._trouble is not None and self._trouble != trouble:
            self._tell(f"{self._broker.source}: {self._trouble}; it is tried again")

    def _save(self, partition: int, here: _Open) -> None:
        """What is saved can leave: no crash takes it back."""
        if not here.held.is_saved:
            here.held.save()
            self._broker.remember({partition: here.held.offset})
        for relay in here.relays:
            relay.send_on()
        here.saved_at = time.monotonic()

    def _count(self) -> None:
        lags = [self._broker.lag(partition) for partition in self._open]
        sums: dict[str, int] = {}
        for here in self._open.values():
            for name, value in here.held.counts.items():
                sums[name] = sums.get(name, 0) + value
        self.progress.partitions = len(self._open)
        known = [lag for lag in lags if lag is not None]
        self.progress.lag = sum(known) if known else None
        self.progress.unsaved = max((time.monotonic() - one.saved_at for one in self._open.values()), default=None)
        self.progress.counts = sums


class _Intake:
    """Messages of one partition on their way in, those that came at once together: it is cheaper."""

    def __init__(self, worker: Worker, partition: int, here: _Open) -> None:
        self._worker = worker
        self._partition = partition
        self._here = here
        self._waiting: list[tuple[Message, pa.RecordBatch]] = []

    def take(self, messages: Sequence[Message]) -> None:
        """Take them in, in their order; those that were taken in before are not."""
        expected = self._here.held.offset
        for message in messages:
            if message.offset < expected:
                continue
            expected = message.offset + 1
            self._worker.progress.messages += 1
            self._decode(message)
        self._flush()

    def _decode(self, message: Message) -> None:
        try:
            rows = self._here.decode(message.value)
        except ReadError as error:
            self._flush()
            self._leave_out(message, str(error))
            return
        for why in rows.left_out:
            self._worker.left_out(self._partition, message.offset, why)
        if self._waiting and not self._fits(rows.batch):
            self._flush()
        self._waiting.append((message, rows.batch))

    def _fits(self, batch: pa.RecordBatch) -> bool:
        together = sum(waiting.num_rows for _, waiting in self._waiting) + batch.num_rows
        return together <= _TOGETHER and bool(batch.schema == self._waiting[0][1].schema)

    def _flush(self) -> None:
        """Take in what waits: all at once, or, if a row of it cannot be measured, a message at a time."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            self._push(_joined([batch for _, batch in waiting]), waiting[-1][0])
        except MeasureError:
            for message, batch in waiting:
                self._push_alone(batch, message)

    def _push_alone(self, batch: pa.RecordBatch, message: Message) -> None:
        try:
            self._push(batch, message)
        except MeasureError as error:
            self._leave_out(message, str(error))

    def _push(self, batch: pa.RecordBatch, last: Message) -> None:
        self._here.held.take(batch, last.offset + 1)
        self._worker.progress.rows += batch.num_rows
        if batch.num_rows:
            self._worker.progress.latest = batch.column("at").cast(pa.int64())[-1].as_py()

    def _leave_out(self, message: Message, why: str) -> None:
        self._here.held.leave_out(message.offset + 1)
        self._worker.progress.bad_messages += 1
        self._worker.left_out(self._partition, message.offset, why)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    return table.to_batches()[0]
