"""Run a watch in child processes, kill each at a random moment, and start the next where it stood.

Usage: python watch_killed.py SOURCE OUT STATE KILLS SEED [SCORES|sleeping]. With `sleeping` idle players go to disk.
Prints how often a child was killed, how often it
had written decisions beyond its last snapshot, and how many different results there were. Children are forked, so that
fifty of them do not load every library fifty times.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Bounds
from gamewarden.features.traffic.fold import Fold
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.journal import load_state
from gamewarden.online.watch import UNBOUNDED, Pace, watch_to_file
from gamewarden.streams import PlainPackets


class ArrowPackets(PlainPackets):
    def __init__(self, path):
        self.path = path

    def batches(self):
        with pa.ipc.open_file(self.path) as file:
            for at in range(file.num_record_batches):
                yield file.get_batch(at)


def share_scores(windows):
    """Something to say of each window, as a model would."""
    said = pl.col("sizes_over_1").cast(pl.Float64) * 0.25
    return windows.select("actor", "since", "until", "window", probability=said)


def run(source, out, state, scores, **options):
    sleeping = scores is not None and scores.name == "sleeping"
    scored = {} if scores is None or sleeping else {"scores": scores, "score": share_scores}
    bounds = Bounds(keep=1 << 59, idle=60_000_000) if sleeping else UNBOUNDED
    watch_to_file(ArrowPackets(source), TrafficTest(), out, state=state, bounds=bounds, **scored, **options)


def there(*paths):
    return [path for path in paths if path is not None and path.exists()]


def child(source, out, state, scores):
    try:
        run(source, out, state, scores, pace=Pace(snapshot_packets=3000))
    finally:
        os._exit(0)


def load_compiled_code(source):
    fold = TrafficTest().live()
    fold.push(next(ArrowPackets(source).batches()).slice(0, 10))
    Fold.from_bytes(fold.to_bytes(), TrafficTest())


def beyond_the_snapshot(out, state):
    """Whether decisions stand in the file that the state does not know of."""
    return state.exists() and out.stat().st_size > load_state(state, TrafficTest())[1]["out"]


def main(files, kills, seed):
    source, out, state, scores = (*files, None)[:4]
    draw = random.Random(seed)  # noqa: S311 - moments to kill at, not secrets
    load_compiled_code(source)
    killed = beyond = 0
    results = set()
    while killed < kills:
        pid = os.fork()
        if pid == 0:
            child(source, out, state, scores)
        time.sleep(draw.uniform(0.001, 0.25))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            beyond += beyond_the_snapshot(out, state)
        else:
            results.add(tuple(path.read_bytes() for path in there(out, scores)))
            for path in there(out, state, scores):
                path.unlink()
    run(source, out, state, scores)
    results.add(tuple(path.read_bytes() for path in there(out, scores)))
    sys.stdout.write(f"{killed} {beyond} {len(results)}")


if __name__ == "__main__":
    main([Path(name) for name in (*sys.argv[1:4], *sys.argv[6:])], *map(int, sys.argv[4:6]))
