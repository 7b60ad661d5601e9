"""Workers on a broker as processes of their own, and somebody who kills, stops and adds them at random."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import polars as pl

from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.watch import watch
from gamewarden.tables import FramePackets
from packets_made_up import START

GAMEWARDEN = (sys.executable, "-m", "gamewarden")


def flowing(players, packets, seed=1):
    """PACKETS of players whose clocks agree, in the order of time."""
    draw = np.random.default_rng(seed)
    who = draw.integers(0, players, packets)
    at = START + np.cumsum(draw.integers(1, 800_000 // players, packets))
    sizes = np.where(who % 3 == 0, 30, draw.choice([14, 30, 38, 52, 60], packets))
    columns = {
        "actor": [f"player {one} é" for one in who],
        "at": pl.Series(at).cast(pl.Datetime("us", "UTC")),
        "up": draw.random(packets) < 0.95,
        "size": pl.Series(sizes, dtype=pl.Int32),
    }
    return pl.DataFrame(columns)


def directly(frame):
    """The decisions of one run over the same packets, by actor and begin."""
    lines = []
    watch(FramePackets(frame), TrafficTest(), lines.append)
    return by_key(json.loads(line) for line in "".join(lines).splitlines())


def by_key(rows):
    """Rows by what names them, each of which may be there once."""
    rows = [{name: value for name, value in row.items() if name not in {"key", "table"}} for row in rows]
    found = {(row["actor"], row["since"], row["window"]): row for row in rows}
    assert len(found) == len(rows), f"{len(rows) - len(found)} decisions are there twice"
    return found


def decided(state):
    """The decisions in the files of all partitions."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(state.glob("*/*/decisions.jsonl"))]
    rows = [json.loads(line) for text in texts for line in text.splitlines()]
    assert len({row["key"] for row in rows}) == len(rows)
    return by_key(rows)


def written(state):
    """How many decisions there are by now, whole or not."""
    return sum(path.read_bytes().count(b"\n") for path in state.glob("*/*/decisions.jsonl"))


def waited(condition, seconds=60, what="it"):
    """Wait for something to be so."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"{what} did not come within {seconds} s"
        time.sleep(0.05)
    return found


class Workers:
    """Workers that share a state."""

    def __init__(self, source, state, *options, env=None, log):
        self.source, self.state, self.options = source, state, options
        self.env = {**os.environ, **(env or {})}
        self.log = log
        self.alive = []
        self.killed = 0
        self.killed_at_work = 0
        self._started = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.alive:
            one.send_signal(signal.SIGCONT)
            one.kill()
            one.wait()

    def start(self, *options):
        """One more."""
        self._started += 1
        command = [*GAMEWARDEN, "watch", self.source, "--state", self.state, "--save-every", "1s"]
        log, out = (self.log / f"{self._started}.{ending}" for ending in ("log", "jsonl"))
        with log.open("wb") as err, out.open("wb") as lines:
            worker = subprocess.Popen([*command, *self.options, *options], env=self.env, stdout=lines, stderr=err)
        worker.log = log
        self.alive.append(worker)
        return worker

    def kill(self, worker):
        """Without a word."""
        self.killed_at_work += worker in self.at_work()
        worker.kill()
        worker.wait()
        self.alive.remove(worker)
        self.killed += 1

    def at_work(self):
        """Those that have a partition."""
        holders = " ".join(path.read_text() for path in self.state.glob("*/*/lock"))
        return [one for one in self.alive if f"process {one.pid} " in holders]

    def stop(self, worker):
        """As a supervisor does."""
        worker.terminate()
        # One that is still being loaded knows of no signal yet, and has nothing to save.
        assert worker.wait(60) in {0, -signal.SIGTERM}, said(worker)
        self.alive.remove(worker)

    def all_well(self):
        """Nobody has ended by itself."""
        for one in self.alive:
            assert one.poll() is None, said(one)


@contextmanager
def publishing(packets, topic, *options):
    """Packets on their way to a topic, by a process of its own."""
    with subprocess.Popen([*GAMEWARDEN, "publish", packets, topic, *options]) as process:
        try:
            yield process
        finally:
            process.kill()


def said(worker):
    """What a worker said."""
    return worker.log.read_text(encoding="utf-8")


def hunt(workers, kills, seed, replacement, busy):
    """Kill, stop and freeze workers at random while `busy`, and put others in their place."""
    dice = random.Random(seed)  # noqa: S311 - repeatable, not a secret
    while workers.killed < kills:
        workers.all_well()
        working = waited(workers.at_work, 120, "a worker at work")
        victim = dice.choice(working if dice.random() < 0.8 else workers.alive)
        fate = dice.random()
        if fate < 0.8:
            workers.kill(victim)
        elif fate < 0.9:
            workers.stop(victim)
        else:
            victim.send_signal(signal.SIGSTOP)
            time.sleep(dice.uniform(0.2, 1.5))
            victim.send_signal(signal.SIGCONT)
            continue
        workers.start(*replacement(victim))
        time.sleep(dice.uniform(0.0, 2.0))
    busy()
