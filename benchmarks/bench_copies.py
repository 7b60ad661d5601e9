"""What copies and ways cost: sketching beside self-similarity on the same log, and comparing 300,000 accounts.

Sketching is measured on a synthetic world that is played before the clock starts, each feature a second time so that
nothing is compiled under way; CPU-seconds of all threads, as ratios to self-similarity. Comparing is measured on
made-up sketches of seven days, in which one account in fifty runs a script with seven others.
Bar: 300,000 accounts by 7 days within minutes; work that grows with the accounts and not with their pairs.
"""

import argparse
import resource
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from gamewarden.features.copies.recipe import Copies
from gamewarden.features.paths.recipe import Paths
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.groups.copying import groups_of, likeness
from gamewarden.lab.world.world import World
from gamewarden.tables import FrameEvents

START = datetime(2026, 3, 2, tzinfo=UTC)
FARM, ONE_IN = 8, 50
STRETCHES, WAYS = 16, 16
COMMON, OWN = 400, 1 << 40  # what everybody draws from, and what is one's own


def sketches(accounts: int, days: int) -> pl.DataFrame:
    """Parts as the feature keeps them: half of what somebody does is common, half its own; a farm shares all of it."""
    draw = np.random.default_rng(1)
    script = np.arange(accounts)
    farmers = accounts // ONE_IN
    script[:farmers] = script[:farmers] // FARM * FARM
    names = pl.Series([f"u{number:07}" for number in range(accounts)])
    return pl.concat([_day(names, script, draw, START + timedelta(days=day)) for day in range(days)])


def _day(names: pl.Series, script: np.ndarray, draw: np.random.Generator, since: datetime) -> pl.DataFrame:
    accounts = len(names)
    common = (COMMON * draw.random((accounts, STRETCHES // 2)) ** 2).astype(np.int64)
    own = OWN + script[:, None] * 64 + np.arange(STRETCHES // 2)
    ways = 2 * OWN + script[:, None] * 64 + np.arange(WAYS)
    counts = draw.integers(3, 60, (accounts, STRETCHES))
    return pl.DataFrame(
        {
            "since": since,
            "until": since + timedelta(days=1),
            "actor": names,
            "events": 2000,
            "level": draw.integers(1, 60, accounts),
            "zone": draw.integers(0, 40, accounts),
            "tenths": draw.integers(0, 1 << 62, (accounts, 3)),
            "moments": 1800,
            "stretches": np.concatenate([common, own], axis=1),
            "stretch_n": counts,
            "walks": 900,
            "ways": ways,
            "way_n": counts[:, :WAYS],
        }
    ).select(
        *(
            (pl.col(name).arr.to_list() if isinstance(dtype, pl.List) else pl.col(name)).cast(dtype)
            if name != "words"
            else pl.lit(None, dtype).alias("words")
            for name, dtype in Copies().parts_schema.items()
        )
    )


def compare(accounts: int, days: int) -> None:
    """The comparison alone: CPU-seconds, wall, memory and what was found."""
    parts = sketches(accounts, days)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = time.process_time(), time.perf_counter()
    found = likeness(parts, 200)
    groups = groups_of(found)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{accounts:>8,} accounts x {days} days: {cpu:6.1f} CPU-s, {wall:6.1f} s, peak {most >> 10:,} MiB "
        f"(sketches alone {before >> 10:,} MiB), {found.pairs.height:,} pairs compared; {groups.height:,} accounts "
        f"in {groups['group'].n_unique():,} groups; made up were {accounts // ONE_IN:,}"
    )


def sketch(accounts: int) -> None:
    """Both features beside self-similarity on one log in memory."""
    world = World("blade-and-soul", accounts, 1, 101)
    events = FrameEvents(pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in world.batches()]), 1 << 17)
    taken = {}
    for feature in (SelfSimilarity(), Paths(), Copies()):
        feature.measure(events)
        begin = time.process_time()
        feature.measure(events)
        taken[feature.name] = time.process_time() - begin
    for name, seconds in taken.items():
        rate, ratio = events.rows / seconds / 1e6, seconds / taken["self-similarity"]
        print(f"{name:>16}: {seconds:5.2f} CPU-s for {events.rows:,} events, {rate:4.1f} M a CPU-s, ratio {ratio:.2f}")


def main() -> None:
    """Both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=300_000)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--played", type=int, default=800, help="accounts of the world that is sketched")
    options = parser.parse_args()
    compare(options.accounts // 10, options.days)
    compare(options.accounts, options.days)
    sketch(options.played)


if __name__ == "__main__":
    main()
