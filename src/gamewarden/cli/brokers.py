"""Commands for live streams over a broker: the part of `watch` that reads one, and `publish`."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.settings import current
from gamewarden.cli.show import hand_over, progress, say, status_line
from gamewarden.online.brokers.locators import Locator, is_broker, locator_of

if TYPE_CHECKING:
    import pyarrow as pa

    from gamewarden.contracts import Source
    from gamewarden.core.listening import Listener
    from gamewarden.online.brokers.relays import Sink
    from gamewarden.online.brokers.worker import Progress
    from gamewarden.online.work import OpenWork
    from gamewarden.readers.options import SourceOptions

    Told = Callable[[Progress], object]


class Watched(options.SourcePath):
    """What `watch` looks at: whatever a source can be, or a topic of a broker."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401  click's signature
        """A locator where a broker is named, else as any source."""
        from gamewarden.core.database_urls import is_database
        from gamewarden.readers.remote import is_remote

        if is_broker(value):
            return locator_of(value)
        if "://" in str(value) and not (is_remote(value) or is_database(value)):
            self.fail(f"{value!r} is no source; a broker is kafka://host:9092/topic or nats://host:4222/stream")
        return super().convert(value, param, ctx)


class Topic(click.ParamType[Locator]):
    """A topic of a broker."""

    name = "topic"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Locator:  # noqa: ANN401  click's signature
        """The topic that was named."""
        if not is_broker(value):
            self.fail(f"{value!r} is no topic; write kafka://host:9092/topic or nats://host:4222/stream", param, ctx)
        return locator_of(value)


class WorkerNumber(click.ParamType[tuple[int, int]]):
    """Which worker of how many, such as 2/4."""

    name = "worker"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:  # noqa: ANN401  click's signature
        """The two numbers."""
        first, _, of = str(value).partition("/")
        if not (first.isdecimal() and of.isdecimal() and 1 <= int(first) <= int(of)):
            self.fail(f"{value!r} is no worker; write for example 2/4, the second of four", param, ctx)
        return int(first), int(of)


WATCHED = Watched(path_type=Path)
broker_options = options.together(
    click.option("--worker", type=WorkerNumber(), metavar="I/N", help="NATS: which worker of how many this is."),
    click.option("--to", metavar="PLACE", help="Broker: send decisions to kafka://…, nats://… or https://…"),
    click.option("--allow-private", is_flag=True, help="Let --to be a web server with an address that is not public."),
    click.option(
        "--save-every", type=options.Span(), metavar="SPAN", help="Broker: save and send on so often.  [default: 10s]"
    ),
)


@dataclass(frozen=True)
class Asked:
    """What `watch` was asked for besides its broker."""

    state: Path | None
    out: Path | None
    counts: Path | None
    worker: tuple[int, int] | None
    to: str | None
    allow_private: bool
    save_every: int | None

    def refuse_without_broker(self) -> None:
        """What only a broker needs has no meaning elsewhere."""
        only = {"worker": self.worker, "to": self.to, "save-every": self.save_every}
        for name, value in {**only, "allow-private": self.allow_private or None}.items():
            if value is not None:
                raise click.UsageError(f"--{name} is for kafka:// and nats://; leave it out, or name a broker")


def watch_broker(
    locator: Locator,
    asked: Asked,
    work_of: "Callable[[int | None], OpenWork]",
    metrics: "Listener | None" = None,
) -> None:
    """Work on a broker's partitions until somebody asks to stop; the work may need to know how many there are."""
    from gamewarden.online.brokers.opening import broker_of
    from gamewarden.online.brokers.worker import Pace, Worker
    from gamewarden.online.stopping import Stop

    if asked.state is None:
        raise click.UsageError(f"{locator} needs --state DIR: what is known of every player, shared by all workers")
    pace = Pace() if asked.save_every is None else Pace(save=asked.save_every / 1_000_000)
    broker = broker_of(locator, asked.worker)
    with (
        _closed(broker),
        status_line() as status,
        _metered(asked.state, metrics) as counted,
        Stop().on_interrupt(signal.SIGTERM) as stop,
    ):
        worker = Worker(
            broker,
            work_of(broker.partitions),
            asked.state / locator.name,
            _sinks(asked),
            begin=locator.begin,
            pace=pace,
            tell=say,
            status=_told(status, asked.counts, counted),
        )
        done = worker.run(stop)
    say(_summary(done))


def _sinks(asked: Asked) -> "list[Sink]":
    """Where decisions go from the state's own files: standard output, where nothing else was said."""
    from gamewarden.online.brokers.sinks import FileSink, LinesSink, sink_of

    sinks: list[Sink] = []
    if asked.out is not None:
        if asked.out.is_file() or asked.out.suffix in {".jsonl", ".json"}:
            raise click.UsageError(f"--out {asked.out}: every partition gets a file of its own; name a directory")
        sinks.append(FileSink(asked.out))
    if asked.to is not None:
        sinks.append(sink_of(asked.to, private=asked.allow_private, tell=say))
    return sinks or [LinesSink(hand_over)]


def _told(status: Any, counts: Path | None, counted: "Told") -> "Told":  # noqa: ANN401  a function
    """The status for people, and the counts for machines where they are wanted."""
    import json
    from dataclasses import asdict

    from gamewarden.core.files import write_text

    def told(done: "Progress") -> None:
        if counts is not None:
            write_text(counts, json.dumps(asdict(done), indent=2) + "\n")
        counted(done)
        status(done)

    return told


@contextmanager
def _metered(state: Path, listener: "Listener | None") -> "Iterator[Told]":
    """What takes the counts of a worker, on a page for Prometheus where one is wanted."""
    if listener is None:
        yield lambda _done: None
        return
    from gamewarden.core.metrics_page import metrics_page
    from gamewarden.online.metrics import WatchMeters

    meters = WatchMeters(state)
    with metrics_page(meters.meters, listener) as address:
        say(f"metrics are at {address}")
        yield meters.progress


def _summary(done: "Progress") -> str:
    bad = f", {done.bad_messages:,} messages left out" if done.bad_messages else ""
    lost = f", {done.lost} partitions lost" if done.lost else ""
    decisions = done.counts.get("decisions")
    made = "" if decisions is None else f", {decisions:,} decisions in all"
    return f"{done.rows:,} rows of {done.messages:,} messages{bad}{made}{lost}; everything is saved"


@click.command()
@click.argument("source", type=options.SOURCE, metavar="SOURCE|-")
@click.argument("to", type=Topic(), metavar="TO")
@click.option("--partitions", type=click.IntRange(1, 10_000), metavar="N", help="Make the topic with so many.")
@click.option("--rate", type=click.FloatRange(1), metavar="ROWS", help="Send at most so many rows a second.")
@click.option("--rows", type=click.IntRange(1, 1_000_000), default=10_000, show_default=True, help="Rows of a message.")
@click.option("--as", "kind", type=click.Choice(["packets", "events"]), help="What SOURCE holds, if it could be both.")
@options.packet_reading
def publish(
    *,
    source: options.Where,
    to: Locator,
    partitions: int | None,
    rate: float | None,
    rows: int,
    kind: str | None,
    reading: "SourceOptions",
) -> None:
    """Send packets or events to a broker.

    SOURCE is a capture, a packet log, an event log or a lake; `-` is standard input. TO is kafka://host:9092/topic or
    nats://host:4222/stream. Rows go as batched Arrow messages; all rows of a player are in one partition, in their
    order: the CRC-32 of the name, modulo the number of partitions. A publish that was stopped and is run again sends
    all rows again.
    """
    from gamewarden.online.brokers.opening import publisher_of
    from gamewarden.online.brokers.publishing import publish as send_rows
    from gamewarden.online.stopping import Stop

    found = options.opened(source, reading)
    live = isinstance(source, Path) and not source.exists()
    publisher = publisher_of(to, partitions)
    with Stop().on_interrupt(signal.SIGTERM) as stop, _closed(publisher), progress("publish") as done:
        coming = stop.until(_rows(found, kind or _likely(found)), live=live)
        sent = send_rows(coming, publisher, rows=rows, rate=rate, progress=done)
    stopped = " (stopped before the end)" if stop.asked else ""
    say(f"{sent.rows:,} rows in {sent.messages:,} messages, {sent.bytes / 1e6:,.1f} MB, sent to {to}{stopped}")


@contextmanager
def _closed(opened: Any) -> Iterator[None]:  # noqa: ANN401  whatever can be closed
    try:
        yield
    finally:
        opened.close()


def _likely(found: "Source") -> str:
    """What a source holds, as its kind or the names of its columns say."""
    if "packets" in found.kinds and ("events" not in found.kinds or {"up", "size"} <= set(found.columns)):
        return "packets"
    return "packets" if found.kinds[:1] == ("packets",) else "events"


def _rows(found: "Source", kind: str) -> "Iterator[pa.RecordBatch]":
    """The rows of a source that a broker gets."""
    from gamewarden import pipeline
    from gamewarden.tables import EVENTS

    if kind == "packets":
        yield from found.packets(pipeline.bounds_of(current())).batches()
        return
    stream = found.events()
    yield from stream.batches([name for name in EVENTS.columns if name in stream.columns])
