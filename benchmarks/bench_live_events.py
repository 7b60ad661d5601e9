"""What a day of events costs live, beside the batch run's folds over the same events in the same run.

    python benchmarks/bench_live_events.py [--accounts 300] [--copies 5] [--tick 5m] [--batch 10000] [--save 1000000]

A day of a synthetic world, some times over under other names, in the order of time, as batches of plain columns such as
a broker's messages hold them. The batch run folds self-similarity, pulses and action chunks and counts what is said of
all events together; the live one does the same, keeps the rows, speaks at every tick, and saves after so many events.
All times are CPU-seconds of the process; both must say the same of the day.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Model
from gamewarden.core.durations import parse_span
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.census import CensusFold
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.world import World
from gamewarden.online.live_events import LiveEvents, Pace
from gamewarden.online.live_judges import Judge, Judges
from gamewarden.pipeline.fitting import detector_recipe
from gamewarden.pipeline.measuring import feature_of
from gamewarden.tables import FrameEvents

COLUMNS = ("actor", "at", "kind", "seq", "character", "level", "session")
MINE = {"account-day": SelfSimilarity(), "pulses": Pulses(), "actions-interval": Actions(max_freq=True)}


def fitted(world: World, events: FrameEvents) -> list[Model]:
    """A model of each family, from the world's own answers."""
    models = []
    for name, feature in MINE.items():
        frozen = feature.learn(events)
        models.append(detector_recipe(name, frozen, {}).fit(frozen.measure(events), world.labels()))
    return models


def copied(events: pl.DataFrame, copies: int) -> pa.RecordBatch:
    """The same day under several names, in the order of time."""
    who = ("actor", "character", "session")
    parts = [events.with_columns(pl.col(*who) + f"~{copy}") for copy in range(copies)]
    table = pl.concat(parts).sort("at", maintain_order=True).to_arrow(compat_level=pl.CompatLevel.oldest())
    text = [column.cast(pa.string()) if pa.types.is_large_string(column.type) else column for column in table.columns]
    return pa.table(text, names=table.column_names).combine_chunks().to_batches()[0]


def batch_run(judges: Judges, day: pa.RecordBatch, size: int) -> float:
    """CPU-seconds of the folds, and of what is counted for all of them."""
    begun = time.process_time()
    folds = [judge.feature.fold() for judge in judges.judges]
    for fold in (*folds, CensusFold(judges.clocks(judges.cuts[0]))):
        for begin in range(0, day.num_rows, size):
            fold.push(day.slice(begin, size).select(list(fold.columns)))
    for fold in folds:
        fold.again()
        fold.frame()
    return time.process_time() - begun


def live_run(
    judges: Judges, day: pa.RecordBatch, directory: Path, given: argparse.Namespace
) -> tuple[float, LiveEvents]:
    """CPU-seconds of a day as it comes."""
    work = LiveEvents(directory, judges, Pace(tick=parse_span(given.tick), partitions=1))
    begun, saved, said = time.process_time(), 0, 0
    for begin in range(0, day.num_rows, given.batch):
        said += len(work.take(day.slice(begin, given.batch)))
        if begin - saved >= given.save:
            work.save({"offset": begin, "length": said})
            saved = begin
    work.finish()
    work.save({"offset": day.num_rows})
    return time.process_time() - begun, work


def main() -> None:
    """Print both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accounts", type=int, default=300)
    parser.add_argument("--copies", type=int, default=5)
    parser.add_argument("--tick", default="15m")
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--save", type=int, default=1_000_000)
    given = parser.parse_args()
    world = World("aion", given.accounts, days=1, seed=1)
    frame = pl.concat(pl.DataFrame(pl.from_arrow(batch)) for batch in world.batches(COLUMNS))
    frame = frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).select(COLUMNS)
    judges = Judges(tuple(Judge(model, feature_of(model.feature)) for model in fitted(world, FrameEvents(frame))))
    day = copied(frame, given.copies)
    batch_run(judges, day.slice(0, 50_000), given.batch)  # compiled before anything is measured
    alone = batch_run(judges, day, given.batch)
    with tempfile.TemporaryDirectory() as place:
        live, work = live_run(judges, day, Path(place) / "0", given)
    rows, counts = day.num_rows, work.counts
    print(f"{rows:,} events of {given.accounts * given.copies:,} accounts, {counts['ticks']} ticks of {given.tick}")
    print(f"batch: {alone:6.1f} CPU-seconds, {rows / alone:>10,.0f} events a CPU-second")
    print(f"live:  {live:6.1f} CPU-seconds, {rows / live:>10,.0f} events a CPU-second, {live / alone:.2f} of the batch")
    print(f"lines: {counts['provisional']:,} provisional, {counts['final']:,} final")
    print(
        f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB, the day in memory included"
    )


if __name__ == "__main__":
    main()
