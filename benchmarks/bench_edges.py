"""What EDGES cost beside self-similarity: CPU-seconds of one run, each in a process of its own, imports left out.

The log is a lake of a synthetic society, as `gamewarden run` reads it: a part per day, sorted by actor, so that time
goes backwards all along. The bar is twice the time of self-similarity, which reads fewer columns; decoding the columns
of EDGES alone stands beside it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gamewarden.contracts import EventStream
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.features.edges.fold import EdgesFold
from gamewarden.features.flows import Flows
from gamewarden.features.folding import feed
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.world.world import World
from gamewarden.lab.world.writing import write_events
from gamewarden.readers import open as open_source
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS

SEED = 103  # one of those that the features were designed on
EVENTS_A_DAY = 5500  # of an account, about
BAR = 2.0


def decoded(events: EventStream) -> None:
    """Nothing but the columns."""
    for _batch in events.batches(EdgesFold.columns):
        pass


def edges(events: EventStream) -> None:
    """Edges and play of each day."""
    fold = EdgesFold(Clock(DAY))
    feed(fold, events)
    fold.edges()
    fold.play()


def flows(events: EventStream) -> None:
    """The rows of every day, from the parts of a week."""
    Flows().measure(events)


def similar(events: EventStream) -> None:
    """The feature they are compared with."""
    SelfSimilarity().measure(events)


WAYS: dict[str, Callable[[EventStream], None]] = {
    "decode": decoded,
    "edges": edges,
    "flows": flows,
    "self-similarity": similar,
}


def write_lake(place: Path, events: int, days: int) -> None:
    """A lake of about so many events."""
    accounts = max(20, events // (EVENTS_A_DAY * days))
    world, log = World("lineage", accounts, days, SEED, society=True), place / "events.parquet"
    write_events(world.batches(tuple(EVENTS.columns)), log)
    into = Lake(place / "lake")
    into.add(open_source(str(log)).log())
    into.compact()


def in_this_process(way: str, lake: Path) -> None:
    """Run one way after a small one, whose compiling does not count; print what it cost."""
    WAYS[way](World("lineage", 5, 1, SEED))
    events = Lake(lake).events()
    begun, cpu = time.perf_counter(), time.process_time()
    WAYS[way](events)
    cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - begun, "rows": events.rows}
    print(json.dumps(cost))


def main() -> None:
    """Write the lake, run every way, print the ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=20_000_000)
    options.add_argument("--days", type=int, default=7)
    options.add_argument("--way", choices=WAYS)
    options.add_argument("--lake", type=Path)
    given = options.parse_args()
    if given.way:
        in_this_process(given.way, given.lake)
        return
    with tempfile.TemporaryDirectory() as place:
        write_lake(Path(place), given.events, given.days)
        costs = {way: _cost(way, Path(place) / "lake") for way in WAYS}
    for way, cost in costs.items():
        ratio = cost["cpu"] / costs["self-similarity"]["cpu"]
        print(
            f"{way:16} {cost['cpu']:7.1f} CPU-s {cost['wall']:7.1f} s "
            f"{ratio:5.2f} x self-similarity, {cost['rows']:,} events"
        )
    ratio = costs["edges"]["cpu"] / costs["self-similarity"]["cpu"]
    print(f"edges: {ratio:.2f} x self-similarity, the bar is {BAR:g}")


def _cost(way: str, lake: Path) -> dict[str, float]:
    told = subprocess.run(
        [sys.executable, __file__, "--way", way, "--lake", str(lake)], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(told.stdout)
    return found


if __name__ == "__main__":
    main()
