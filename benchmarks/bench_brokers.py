"""What a broker costs: packets a CPU-second of one worker through Kafka and NATS, beside the same test without them.

Synthetic packets of 20,000 players, in messages of 10,000. Kafka is librdkafka's own cluster, which speaks the real
protocol and keeps some 5 MB a partition; NATS is a real server. Each contender is a process of its own that takes a
part in before its clock starts; CPU-seconds are of all its threads, the broker's are not counted. Ratios are of one
run, the best of several rounds taken in turn; absolute figures depend on the machine.

`--kills N` kills workers at random instead, N times on each broker, and looks for each decision in the output topic.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import kafka_cluster
import nats_served
import workers_killed
from gamewarden.contracts import Bounds
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.brokers.locators import locator_of
from gamewarden.online.brokers.opening import broker_of, publisher_of
from gamewarden.online.brokers.publishing import publish
from gamewarden.online.brokers.worker import Pace, Progress, Worker
from gamewarden.online.packet_work import packets_of
from gamewarden.online.stopping import Stop
from gamewarden.online.watch import watch
from gamewarden.streams import PlainPackets

PLAYERS, PACKETS, PARTITIONS, ROUNDS = 20_000, 8_000_000, 48, 3
MESSAGE = 10_000
HALF = 0.5  # of the rate without a broker


def packets() -> pa.RecordBatch:
    """Packets of interleaved players."""
    draw = np.random.default_rng(20260301)
    names = pa.array([f"203.0.{at >> 8}.{at & 255}:{50_000 + at % 9_000}" for at in range(PLAYERS)])
    code = draw.integers(0, PLAYERS, PACKETS).astype(np.int32)
    at = 1_700_000_000_000_000 + np.cumsum(draw.exponential(400_000 / PLAYERS, PACKETS)).astype(np.int64)
    size = draw.choice(np.array([14, 30, 38, 44, 52, 60], np.int32), PACKETS, p=[0.3, 0.3, 0.2, 0.14, 0.05, 0.01])
    columns = {
        "actor": pa.DictionaryArray.from_arrays(pa.array(code), names),
        "at": pa.array(at, pa.timestamp("us", "UTC")),
        "up": pa.array(draw.random(PACKETS) < 0.95),
        "size": pa.array(size),
    }
    return pa.record_batch(columns)


def cpu() -> float:
    """CPU-seconds of this process and all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class _Meter:
    """The clock starts when a part is taken in, and stops at the last packet."""

    def __init__(self, total: int) -> None:
        self.total, self.begin, self.seconds, self.rows = total, (0, 0.0), 0.0, 0

    def take(self, rows: int) -> bool:
        """Whether all is there."""
        if self.begin[0] == 0 and rows >= self.total // 4:
            self.begin = (rows, cpu())
        if rows >= self.total and not self.seconds:
            self.rows, self.seconds = rows - self.begin[0], cpu() - self.begin[1]
        return rows >= self.total

    def said(self) -> None:
        """For whoever started us."""
        print(json.dumps({"rows": self.rows, "seconds": self.seconds}))


def direct(folder: Path) -> None:
    """The same fold over the same packets as `watch` runs it, decisions to a file."""
    batch, meter = packets(), _Meter(PACKETS)

    class Memory(PlainPackets):
        def batches(self, _columns: object = None) -> Iterator[pa.RecordBatch]:
            for begin in range(0, PACKETS, MESSAGE):
                meter.take(begin)
                yield batch.slice(begin, MESSAGE)
            meter.take(PACKETS)

    with (folder / "direct.jsonl").open("w") as out:
        watch(Memory(), TrafficTest(), out.write)
    meter.said()


def worker(source: str, folder: Path) -> None:
    """One worker on all partitions, as `watch` runs it, decisions in its files."""
    meter, stop = _Meter(PACKETS), Stop()

    def told(done: Progress) -> None:
        if meter.take(done.rows) and not stop.asked:
            stop.ask()

    with tempfile.TemporaryDirectory(dir=folder) as state:
        work = packets_of(TrafficTest(), Bounds())
        broker = broker_of(locator_of(source), None)
        Worker(broker, work, Path(state), pace=Pace(status=0.0), status=told).run(stop)
    meter.said()


def alone(*arguments: str) -> float:
    """Packets a CPU-second of a process of its own."""
    ended = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    told = json.loads(ended.stdout)
    return float(told["rows"] / told["seconds"])


def rates(sources: dict[str, Callable[[int], str]], folder: Path) -> dict[str, float]:
    """The best of several rounds, in turn."""
    contenders: dict[str, Callable[[int], float]] = {"direct": lambda _round: alone("direct", str(folder))}
    for name, source in sources.items():
        contenders[name] = lambda turn, source=source: alone("worker", source(turn), str(folder))
    found = dict.fromkeys(contenders, 0.0)
    for turn in range(ROUNDS):
        for name, measure in contenders.items():
            found[name] = max(found[name], measure(turn))
    return found


def compare() -> bool:
    """Print the rates, and whether the promise is kept."""
    batch = packets()
    batches = [batch.slice(begin, 1_000_000) for begin in range(0, PACKETS, 1_000_000)]  # so that messages are full
    with tempfile.TemporaryDirectory() as name, kafka_cluster.served() as cluster:
        folder = Path(name)
        with nats_served.served(folder / "nats") as address:
            topic, stream = cluster.topic("bench", PARTITIONS), f"nats://{address}/bench"
            for place in (topic, stream):
                publisher = publisher_of(locator_of(place), PARTITIONS)
                sent = publish(batches, publisher, rows=MESSAGE)
                publisher.close()
            found = rates(
                {"kafka": lambda turn: f"{topic}?group=round-{turn}", "nats": lambda _turn: stream},
                folder,
            )
    print(f"{PACKETS:,} packets of {PLAYERS:,} players in {sent.messages:,} messages, {sent.bytes / 1e6:.0f} MB")
    for contender, rate in found.items():
        print(f"  {contender:8} {rate / 1e6:6.2f} M packets/CPU-s   {rate / found['direct']:5.2f} × direct")
    kept = all(rate >= HALF * found["direct"] for rate in found.values())
    print(f"  {'kept' if kept else 'BROKEN'}: at least {HALF} × the direct rate through each broker")
    return kept


def hunted(kills: int, source: str, out: str, *, env: dict[str, str], numbers: bool, folder: Path) -> None:
    """Kill workers of one broker, and find each decision once."""
    frame = workers_killed.flowing(300, max(300_000, 20_000 * kills), seed=kills)
    expected = workers_killed.directly(frame)
    frame.write_parquet(folder / "packets.parquet")
    log, state = folder / "log", folder / "state"
    log.mkdir()
    rate = ("--rate", "5000", "--rows", "1000", "--partitions", "6")
    begun = time.monotonic()
    with (
        workers_killed.publishing(folder / "packets.parquet", source, *rate) as publisher,
        workers_killed.Workers(source, state, "--to", out, env=env, log=log) as workers,
    ):
        time.sleep(3)
        for number in (1, 2, 3):
            workers.start(*(("--worker", f"{number}/3") if numbers else ()))
        again = _number_of if numbers else lambda _victim: ()
        workers_killed.hunt(workers, kills, kills, again, publisher.wait)
        workers_killed.waited(lambda: workers_killed.written(state) >= len(expected), 300, "the last decision")
        for one in list(workers.alive):
            workers.stop(one)
    found = workers_killed.decided(state)
    same = "the same as" if found == expected else "NOT the same as"
    seconds = time.monotonic() - begun
    print(
        f"  {source.partition(':')[0]:6} {workers.killed} workers killed in {seconds:,.0f} s; {frame.height:,} "
        f"packets, {len(found):,} decisions, {same} one undisturbed run, none twice"
    )


def _number_of(victim: subprocess.Popen[bytes]) -> tuple[str, str]:
    arguments = list(victim.args)  # type: ignore[arg-type]
    return "--worker", str(arguments[arguments.index("--worker") + 1])


def kill(kills: int) -> None:
    """Hundreds of times, on each broker."""
    with tempfile.TemporaryDirectory() as name, kafka_cluster.served() as cluster:
        folder = Path(name) / "kafka"
        folder.mkdir()
        (folder / "properties").write_text("session.timeout.ms=2500\nheartbeat.interval.ms=300\n")
        source, out = cluster.topic("hunted", 6), cluster.topic("decisions", 3)
        env = {"GAMEWARDEN_KAFKA_CONFIG": str(folder / "properties")}
        hunted(kills, source, out, env=env, numbers=False, folder=folder)
    with tempfile.TemporaryDirectory() as name, nats_served.served(Path(name) / "server") as address:
        folder = Path(name) / "nats"
        folder.mkdir()
        source, out = (f"nats://{address}/{stream}" for stream in ("hunted", "decisions"))
        hunted(kills, source, out, env={}, numbers=True, folder=folder)


@click.command()
@click.argument("role", required=False)
@click.argument("arguments", nargs=-1)
@click.option("--kills", type=int, default=0, help="Kill workers so often, instead of comparing rates.")
def main(role: str | None, arguments: tuple[str, ...], kills: int) -> None:
    """Compare rates, or kill workers."""
    if role == "direct":
        direct(Path(arguments[0]))
    elif role == "worker":
        worker(arguments[0], Path(arguments[1]))
    elif kills:
        kill(kills)
    else:
        sys.exit(0 if compare() else 1)


if __name__ == "__main__":
    main()
