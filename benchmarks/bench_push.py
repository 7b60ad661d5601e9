"""Events pushed to `gamewarden serve` by a second process: how many a second are durable, and what that costs.

python benchmarks/bench_push.py [--events 2000000] [--connections 4] [--to DIR]

A server of an empty workspace is started as people start it. This process sends the events as NDJSON with keys, plain
and with gzip, in batches of 1,000 and of 10,000, over some connections; a batch counts once the server has said that it
is on the disk. The reference is the same bytes written to a file with one fsync a batch, one after the other, in the
same run and on the same disk. Then `gamewarden run` takes everything in, and every row has to be in the lake. The
bodies are made before the clock starts. Everything is synthetic.
"""

import argparse
import gzip
import http.client
import json
import os
import queue
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from gamewarden.desk.tokens import make_token
from gamewarden.desk_records import User
from gamewarden.store.lake import Lake
from gamewarden.workspace.place import Workspace

BAR = 50_000  # events a second, durable, on two cores with the client on them
SIZES, PACKINGS = (1_000, 10_000), ("plain", "gzip")
KINDS = ("combat.kill", "loot.pickup", "move", "trade.give", "item.use", "exp.gain")
POOL = 16  # different bodies of a case
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Case:
    """One way of sending."""

    size: int
    packing: str
    batches: int

    @property
    def rows(self) -> int:
        """All events of it."""
        return self.size * self.batches

    def __str__(self) -> str:
        """As a line of the table begins."""
        return f"{self.packing:<6} {self.size:>6,} a batch"


def bodies(case: Case) -> list[bytes]:
    """Batches of a made-up game."""
    dice = np.random.default_rng(case.size)
    plain = ["\n".join(json.dumps(one) for one in events(dice, case.size)).encode() for _ in range(POOL)]
    return [gzip.compress(body, 6) for body in plain] if case.packing == "gzip" else plain


def events(dice: np.random.Generator, count: int) -> Iterator[dict[str, object]]:
    """Events of a few thousand players in one week."""
    begin = datetime(2025, 3, 1, tzinfo=UTC)
    numbers = dice.integers(0, 1 << 30, (count, 4)).tolist()
    for who, when, what, where in numbers:
        at = begin + timedelta(microseconds=when * 563)
        told: dict[str, object] = {
            "actor": f"account{who % 5_000}",
            "character": f"character{who % 9_000}",
            "at": at.isoformat().replace("+00:00", "Z"),
            "kind": KINDS[what % len(KINDS)],
            "zone": f"zone{where % 40}",
            "x": where % 4_000 / 4,
            "y": what % 4_000 / 4,
            "level": who % 80,
        }
        if what % 3:
            told |= {"target": f"monster{where % 500}", "amount": what % 90}
        yield told


def written(case: Case, batches: list[bytes], directory: Path) -> float:
    """The reference: rows a second when the same bytes are written with a sync a batch."""
    begun = time.perf_counter()
    with (directory / "reference").open("wb", buffering=0) as file:
        for number in range(case.batches):
            file.write(batches[number % POOL])
            os.fsync(file.fileno())
    (directory / "reference").unlink()
    return case.rows / (time.perf_counter() - begun)


def pushed(case: Case, batches: list[bytes], port: int, token: str, connections: int) -> float:
    """Rows a second that are durable."""
    left: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(case.batches):
        left.put(number)
    refused: list[str] = []

    def send() -> None:
        line = http.client.HTTPConnection("127.0.0.1", port)
        while not left.empty() and not refused:
            number = left.get()
            headers = {"Authorization": token, "Idempotency-Key": f"{case}-{number}"}
            packed = {"Content-Encoding": "gzip"} if case.packing == "gzip" else {}
            line.request("POST", "/events", batches[number % POOL], headers | packed)
            answer = line.getresponse()
            told = answer.read()
            if answer.status != 200:
                refused.append(told.decode())
        line.close()

    threads = [threading.Thread(target=send) for _ in range(connections)]
    begun = time.perf_counter()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if refused:
        raise SystemExit(f"a batch was refused: {refused[0]}")
    return case.rows / (time.perf_counter() - begun)


def cpu_of(pid: int) -> float:
    """Seconds of processor that a process has used."""
    parts = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICK


def memory_of(pid: int) -> int:
    """The most memory that a process has had, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


def made(root: Path) -> tuple[Workspace, str]:
    """A workspace without any source, and a token that may push."""
    root.mkdir()
    (root / "warden.toml").write_text("[workspace]\n", encoding="utf-8")
    workspace, now = Workspace.at(root), datetime.now(UTC)
    with workspace.ledger.writing("benchmark", now) as work:
        work.add([User("game", "admin", None, must_change=False, disabled=False, created=now)])
    return workspace, f"Bearer {make_token(workspace.ledger, 'game', 'benchmark', ['push'], now).text}"


def served(workspace: Workspace) -> tuple["subprocess.Popen[bytes]", int]:
    """The server, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gamewarden", "--workspace", str(workspace.root), "serve", "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return server, port


def taken_in(workspace: Workspace, rows: int) -> None:
    """Run, and look whether every row is there."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "gamewarden", "--workspace", str(workspace.root), "run"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = sum(batch.num_rows for batch in Lake(workspace.lake).events().batches(("actor",)))
    print(f"run takes them in: {rows / took:,.0f} rows/s, {cpu / rows * 1e6:.2f} CPU-s a million rows, start-up in it")
    if found != rows:
        raise SystemExit(f"{rows:,} rows were acknowledged, and {found:,} are in the lake")


def main() -> None:
    """Push, and print."""
    asked = argparse.ArgumentParser(description="Events pushed over HTTP by a second process.")
    asked.add_argument("--events", type=int, default=2_000_000, help="in all, shared by the four ways of sending")
    asked.add_argument("--connections", type=int, default=4)
    asked.add_argument("--to", type=Path, help="where the workspace is made; else a temporary directory")
    options = asked.parse_args()
    ways = [(size, packing) for packing in PACKINGS for size in SIZES]
    cases = [Case(size, packing, max(options.events // len(ways) // size, 1)) for size, packing in ways]
    slowest = float("inf")
    with tempfile.TemporaryDirectory(dir=options.to) as directory:
        workspace, token = made(Path(directory) / "ws")
        server, port = served(workspace)
        try:
            for case in cases:
                batches = bodies(case)
                reference, before = written(case, batches, Path(directory)), cpu_of(server.pid)
                rate = pushed(case, batches, port, token, options.connections)
                cpu = (cpu_of(server.pid) - before) / case.rows * 1e6
                slowest = min(slowest, rate)
                ratio = f"{rate / reference:.3f} of writing and syncing the same bytes ({reference:,.0f} rows/s)"
                print(f"{case}: {rate:>9,.0f} rows/s durable, {cpu:5.2f} CPU-s of the server a million rows, {ratio}")
            print(f"memory of the server: {memory_of(server.pid)} MiB at most")
        finally:
            server.terminate()
            server.wait()
        taken_in(workspace, sum(case.rows for case in cases))
    if slowest < BAR:
        raise SystemExit(f"{slowest:,.0f} rows/s are fewer than {BAR:,}")


if __name__ == "__main__":
    main()
