"""What a first look costs: CPU-seconds beside self-similarity of the same events, and of comparing everybody.

The events are those of a lake of a synthetic society, as `gamewarden rank` reads them without models.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gamewarden.contracts import EventStream
from gamewarden.detectors.signs.oddness import Oddness, newest_rows
from gamewarden.features.rhythm.recipe import Rhythm
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.signs import Signs
from gamewarden.lab.world.world import World
from gamewarden.lab.world.writing import write_events
from gamewarden.readers import open as open_source
from gamewarden.store.lake import Lake

SEED = 103  # one of those that the features were designed on


def spent(work: Callable[[], object]) -> float:
    """CPU-seconds of something that was done once before, so that nothing is compiled any more."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def lake_of(place: Path, accounts: int, days: int) -> EventStream:
    """The events of a lake of a synthetic society."""
    write_events(World("lineage", accounts, days, SEED, society=True).batches(), place / "events.parquet")
    Lake(place / "lake").add(open_source(place / "events.parquet").log())
    return open_source(place / "lake").events()


def main() -> None:
    """Print what each costs, and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accounts", type=int, default=600)
    parser.add_argument("--days", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        events = lake_of(Path(place), given.accounts, given.days)
        alike, signs, rhythm = SelfSimilarity().learn(events), Signs().learn(events), Rhythm()
        for warm in (alike, signs):
            warm.measure(World("lineage", 30, 2, SEED, society=True))
        times = {
            feature.name: spent(lambda feature=feature: feature.measure(events)) for feature in (alike, rhythm, signs)
        }
        rows = signs.measure(events)
        newest = newest_rows(rows)
        times["compare everybody"] = spent(lambda: Oddness(signs).fit(rows).score(newest))
    print(f"{events.rows or 0:,} events, {given.accounts:,} accounts, {given.days} days, synthetic")
    for name, seconds in times.items():
        print(f"{name:>20}  {seconds:7.1f} CPU-s  {seconds / times[alike.name]:5.2f} × self-similarity")


if __name__ == "__main__":
    main()
