"""One million players live and five million known and asleep: how much memory does the whole process take?

python benchmarks/bench_sleepers.py [--live 1000000] [--asleep 5000000]

Waves of synthetic players come, complete a window each and leave; the next wave comes two hours later by the packets'
own clock, and the one before goes to sleep on disk. All is saved after each wave, as a watch does. At the end a
hundredth of the sleepers come back. Windows have six packets and not a hundred, so that it does not take all day; a
player's state is the same. Memory is the peak of the whole process, as the system tells it.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gamewarden.contracts import Bounds
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.sleeping import Sleeping
from peak_memory import peak

SHORT = TrafficTest(win=6, acn=2, acv=2)
TOGETHER = 1500  # players in a batch
HOUR = 3_600_000_000
START = 1_700_000_000_000_000
MOST_MIB, MOST_BYTES = 1024, 130


def batch(first: int, count: int, at: int, packets: int) -> pa.RecordBatch:
    """So many packets each of so many players, as a reader would give them."""
    names = pa.array(
        [
            f"203.{who >> 16 & 255}.{who >> 8 & 255}.{who & 255}:{1024 + who % 60_000}"
            for who in range(first, first + count)
        ]
    )
    actor = np.tile(np.arange(count, dtype=np.int32), packets)
    times = at + np.repeat(np.arange(packets, dtype=np.int64), count) * 1_000_000
    return pa.record_batch(
        {
            "actor": pa.DictionaryArray.from_arrays(pa.array(actor), names),
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "up": pa.array(np.ones(len(actor), np.bool_)),
            "size": pa.array(np.where(actor % 3 == 0, 40, 20 + actor % 50).astype(np.int32)),
        }
    )


def wave(players: Sleeping, numbers: range, at: int, packets: int = 8) -> int:
    """Let these players play; how many windows they completed."""
    done = 0
    for first in range(numbers.start, numbers.stop, TOGETHER):
        part = batch(first, min(TOGETHER, numbers.stop - first), at + (first - numbers.start) * 1000, packets)
        done += sum(windows.height for windows in players.take(part))
    return done


def main() -> int:
    """Print the figures; 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", type=int, default=1_000_000)
    parser.add_argument("--asleep", type=int, default=5_000_000)
    given = parser.parse_args()
    base = peak() / 1024
    with tempfile.TemporaryDirectory(prefix="gamewarden-bench-") as folder:
        place = Path(folder)
        bounds = Bounds(players=given.live + 2 * TOGETHER, keep=30 * 24 * HOUR)
        players, _ = Sleeping.opened(place, SHORT, bounds)
        at, first = START, 0
        print(f"{'':32}{'live':>12}{'asleep':>12}{'peak MiB':>10}{'CPU-s':>8}")
        said = "{:32}{:>12,}{:>12,}{:>10.0f}{:>8.0f}".format
        while first < given.asleep + given.live:
            last = min(first + given.live, given.asleep + given.live)
            wave(players, range(first, last), at)
            players.save({})
            tally = players.tally
            print(said(f"after {last:,} players", tally.players, tally.asleep, peak() / 1024, time.process_time()))
            first, at = last, at + 2 * HOUR
        tally, a_player = players.tally, players.fold.nbytes / players.tally.players
        files = {path.name: path.stat().st_size for path in place.iterdir()}
        reached = (tally.players, tally.asleep)
        windows = wave(players, range(given.asleep // 100), at - 2 * HOUR + 2_000_000_000, packets=6)
        players.save({})
        woken, highest = players.tally.woken, peak() / 1024
        print(said("some came back", players.tally.players, players.tally.asleep, highest, time.process_time()))
        players.close()
        clock = time.process_time()
        again, _ = Sleeping.opened(place, SHORT, bounds)
        opened, same = time.process_time() - clock, again.tally == players.tally
        again.close()
    print(f"{base:.0f} MiB before the first packet; {a_player:.0f} bytes a live player")
    print(f"opened again in {opened:.1f} CPU-s")
    print("on disk: " + ", ".join(f"{name} {size / 2**20:.0f} MiB" for name, size in sorted(files.items())))
    promises = {
        f"{given.live:,} players live and {given.asleep:,} asleep": reached == (given.live, given.asleep),
        f"below {MOST_MIB} MiB": highest < MOST_MIB,
        f"at most {MOST_BYTES} bytes a live player": a_player <= MOST_BYTES,
        "who came back went on in the middle of the window": (woken, windows) == (given.asleep // 100,) * 2,
        "all are there again after a restart": same,
    }
    for promise, kept in promises.items():
        print(f"  {'kept' if kept else 'BROKEN'}: {promise}")
    return 0 if all(promises.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
