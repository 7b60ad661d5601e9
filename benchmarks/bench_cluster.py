"""What a cluster costs beside one process: CPU of the same measurement of one lake, as a ratio of one run.

The lake is that of `bench_self_similarity.py`, compacted. One process measures it; then processes of this machine and
a Spark cluster of two workers do, each task a range of row groups. Counted are the CPU-seconds of all processes that
belong to a way (of Spark its driver, its executors' Java machines and their Python workers), from the moment at which
a first, tiny measurement by the same engine has ended to the end of the real one: starting a cluster, importing and
loading compiled kernels are not counted, everything else is. All ways must give the same bits.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polars.testing import assert_frame_equal

from bench_self_similarity import EVENTS_A_DAY, KINDS, write_log
from gamewarden import engine, readers
from gamewarden.contracts import EventStream
from gamewarden.features.folding import Measured, folded
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.spreading.events import spread
from gamewarden.store.lake import Lake
from gamewarden.store.source import LakeSource

MOST_OF_ONE, MOST_MEMORY = 1.5, 1024  # times the CPU of one process, MiB of an executor and its Python worker
_TICK = os.sysconf("SC_CLK_TCK")
_RECIPE = SelfSimilarity(vocabulary=KINDS)


def make_lake(place: Path, events: int, accounts: int) -> Lake:
    """A synthetic log in a compact lake."""
    lake = Lake(place / f"lake-{events}")
    if not Lake.is_at(lake.directory):
        log = place / "log.parquet"
        write_log(log, events, accounts, max(1, events // accounts // EVENTS_A_DAY))
        lake.add(readers.open(log).log())
        lake.compact()
        log.unlink()
    return lake


def family() -> list[int]:
    """This process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = [os.getpid()]
    for one in found:
        found += parents.get(one, [])
    return found


def cpu() -> Counter[str]:
    """CPU-seconds of the family so far by kind of process, those that ended and were waited for included."""
    total: Counter[str] = Counter()
    for one in family():
        try:
            ticks = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()[11:15]
        except OSError:
            continue
        total[_kind(one)] += sum(map(int, ticks)) / _TICK
    return total


def _kind(process: int) -> str:
    """Whether it is this process, a worker in Python, or one of Spark's Java machines."""
    if process == os.getpid():
        return "driver"
    try:
        words = Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return "gone"
    if "CoarseGrainedExecutorBackend" in words:
        return "executor"
    return "java" if "java" in words.split("\0")[0] else "worker"


@contextmanager
def highest(kinds: dict[str, int]) -> Iterator[None]:
    """While this lasts, the highest resident memory of an executor's Java machine and of a Python worker, in MiB."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            for one in family()[1:]:
                kind, size = _memory(one)
                kinds[kind] = max(kinds.get(kind, 0), size)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _memory(process: int) -> tuple[str, int]:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return "gone", 0
    return _kind(process), pages * os.sysconf("SC_PAGE_SIZE") >> 20


def measured_by(where: str, lake: Lake, tiny: Lake) -> tuple[Measured, Counter[str], dict[str, int]]:
    """FEATURES, the CPU-seconds they took by kind of process, and the highest memory."""
    kinds: dict[str, int] = {}
    way = _Way(where)
    try:
        folded(_RECIPE, way.events(tiny))
        with highest(kinds):
            before = cpu()
            found = folded(_RECIPE, way.events(lake))
            spent = cpu() - before
    finally:
        way.close()
    return found, spent, kinds


class _Way:
    """One process, or an engine."""

    def __init__(self, where: str) -> None:
        self._engine = None if where == "one" else engine.open(where)

    def events(self, lake: Lake) -> EventStream:
        """The lake's events, as this way measures them."""
        source = LakeSource(lake.directory)
        return source.events() if self._engine is None else spread(source, self._engine).events()

    def close(self) -> None:
        """End what was started."""
        if self._engine is not None:
            self._engine.close()


def main() -> None:
    """Compare the ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--accounts", type=int, default=20_000)
    parser.add_argument("--place", type=Path, help="Keep the lake here, and use it again.")
    parser.add_argument("--on", action="append", help="Engines.  [default: local:2 and local-cluster[2,1,1024]]")
    asked = parser.parse_args()
    ways = asked.on or ["local:2", "local-cluster[2,1,1024]"]
    with tempfile.TemporaryDirectory() as temporary:
        place = asked.place or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        lake, tiny = make_lake(place, asked.events, asked.accounts), make_lake(place, 200_000, 400)
        print(f"a lake of {asked.events:,} events in {time.monotonic() - begun:.0f} s", flush=True)
        failed = compare(ways, lake, tiny)
    sys.exit(failed)


def compare(ways: list[str], lake: Lake, tiny: Lake) -> int:
    """Print a line for each way; how many bars were not met."""
    here, spent_here, _ = measured_by("one", lake, tiny)
    alone = spent_here.total()
    print(f"{'one process':28} {alone:8.2f} CPU-s  {here.frame.height:,} rows", flush=True)
    failed = 0
    for where in ways:
        away, kinds, memory = measured_by(where, lake, tiny)
        spent = kinds.total()
        assert_frame_equal(away.frame, here.frame, check_exact=True)
        most = memory.get("executor", 0) + memory.get("worker", 0)
        met = spent <= MOST_OF_ONE * alone and most <= MOST_MEMORY
        failed += not met
        sizes = ", ".join(f"{kind} {kinds[kind]:.2f} CPU-s {memory.get(kind, 0):,} MiB" for kind in sorted(kinds))
        print(f"{where:28} {spent:8.2f} CPU-s  {spent / alone:5.2f} of one process  {sizes}  {'' if met else 'MISSED'}")
    return failed


if __name__ == "__main__":
    main()
