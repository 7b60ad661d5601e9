"""Run a watch in child processes, kill each at a random moment, and start the next where it stood.

Usage: python watch_killed.py SOURCE OUT STATE KILLS SEED. Prints how often a child was killed, how often it had written
decisions beyond its last snapshot, and how many different results there were. Children are forked, so that fifty of
them do not load every library fifty times.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa

from gamewarden.features.traffic.fold import Fold
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.journal import load_state
from gamewarden.online.watch import Pace, watch_to_file
from gamewarden.streams import PlainPackets


class ArrowPackets(PlainPackets):
    def __init__(self, path):
        self.path = path

    def batches(self):
        with pa.ipc.open_file(self.path) as file:
            for at in range(file.num_record_batches):
                yield file.get_batch(at)


def child(source, out, state):
    try:
        watch_to_file(ArrowPackets(source), TrafficTest(), out, state=state, pace=Pace(snapshot_packets=3000))
    finally:
        os._exit(0)


def load_compiled_code(source):
    fold = TrafficTest().live()
    fold.push(next(ArrowPackets(source).batches()).slice(0, 10))
    Fold.from_bytes(fold.to_bytes(), TrafficTest())


def beyond_the_snapshot(out, state):
    """Whether decisions stand in the file that the state does not know of."""
    return state.exists() and out.stat().st_size > load_state(state, TrafficTest())[1]["out"]


def main(source, out, state, kills, seed):
    draw = random.Random(seed)  # noqa: S311 - moments to kill at, not secrets
    load_compiled_code(source)
    killed = beyond = 0
    results = set()
    while killed < kills:
        pid = os.fork()
        if pid == 0:
            child(source, out, state)
        time.sleep(draw.uniform(0.001, 0.25))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            beyond += beyond_the_snapshot(out, state)
        else:
            results.add(out.read_bytes())
            out.unlink()
            state.unlink()
    watch_to_file(ArrowPackets(source), TrafficTest(), out, state=state)
    results.add(out.read_bytes())
    sys.stdout.write(f"{killed} {beyond} {len(results)}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *map(int, sys.argv[4:]))
