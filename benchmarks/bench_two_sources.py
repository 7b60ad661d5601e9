"""What it costs that players stand in two logs: one ordered source, the same rows as two, and both after compaction.

The log is that of bench_self_similarity.py. The two sources are its fights and everything else, as a game writes a
combat log and a trade log, so that all players are in both. Every measurement has a process of its own and counts the
CPU-seconds of all its threads, imports left out; ratios are against the one ordered source. All results must be the
same to the last bit.

    python benchmarks/bench_two_sources.py                       # 4 million events, a minute or two
    python benchmarks/bench_two_sources.py --events 20000000
    python benchmarks/bench_two_sources.py --one-actor 20000000  # the peak memory of one actor in disorder
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench_self_similarity import COLUMNS, EVENTS_A_DAY, FIRST_DAY, MINUTE, SCHEMA, write_log

FEATURES = ("self-similarity", "actions")
COMPACT = "compact"
_CHUNK = 1 << 20


def main() -> int:
    """Print one table a feature."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--events", type=int, default=4_000_000)
    asked.add_argument("--one-actor", type=int, default=0, metavar="EVENTS")
    asked.add_argument("--child", nargs=2, metavar=("LAKE", "FEATURE"))
    options = asked.parse_args()
    if options.child:
        sys.stdout.write(json.dumps(measured(Path(options.child[0]), options.child[1])) + "\n")
        return 0
    with tempfile.TemporaryDirectory() as made:
        return _one_actor(Path(made), options.one_actor) if options.one_actor else _ratios(Path(made), options.events)


def _ratios(place: Path, events: int) -> int:
    days = 4
    write_log(place / "log.parquet", events, max(events // EVENTS_A_DAY // days, 1), days)
    _in_two(place / "log.parquet", place / "fights.parquet", place / "rest.parquet")
    lake_of(place / "one", place / "log.parquet")
    lake_of(place / "two", place / "fights.parquet", place / "rest.parquet")
    found = {name: {feature: _apart(place / name, feature) for feature in FEATURES} for name in ("one", "two")}
    _say_compaction(_apart(place / "two", COMPACT))
    found["compacted"] = {feature: _apart(place / "two", feature) for feature in FEATURES}
    same = True
    for feature in FEATURES:
        first = found["one"][feature]
        for name, row in ((name, rows[feature]) for name, rows in found.items()):
            same &= row["digest"] == first["digest"]
            ratio, peak = row["cpu"] / first["cpu"], row["peak"] >> 10
            line = f"{feature:16} {name:10} {row['cpu']:7.2f} CPU-s  {ratio:6.2f} x  {peak:5} MiB"
            sys.stdout.write(f"{line}  {row['digest'][:12]}\n")
    sys.stdout.write("all the same to the last bit\n" if same else "RESULTS DIFFER\n")
    return 0 if same else 1


def _one_actor(place: Path, events: int) -> int:
    """One actor whose rows come in no order at all."""
    chance = np.random.default_rng(5)
    path = place / "log.parquet"
    with pq.ParquetWriter(path, SCHEMA, store_schema=False) as writer:
        for begin in range(0, events, _CHUNK):
            rows = min(_CHUNK, events - begin)
            at = (FIRST_DAY * 1440 + chance.integers(0, 1440, rows)) * MINUTE + chance.integers(0, MINUTE, rows)
            kinds = pa.array(["combat.kill", "move", "chat"]).take(pa.array(chance.integers(0, 3, rows)))
            columns = [
                pa.array(["one"] * rows),
                pa.array(at, pa.timestamp("us", "UTC")),
                kinds,
                pa.array(["main"] * rows),
                pa.array(np.arange(begin, begin + rows)),
                pa.array(chance.integers(1, 60, rows).astype(np.int16)),
            ]
            writer.write_batch(pa.record_batch(columns, schema=SCHEMA), row_group_size=rows)
    lake_of(place / "lake", path)
    for feature in FEATURES:
        row = _apart(place / "lake", feature)
        sys.stdout.write(f"{feature:16} {events:,} events of one actor: {row['cpu']:.1f} CPU-s, ")
        sys.stdout.write(f"peak {row['peak'] >> 10} MiB\n")
    _say_compaction(_apart(place / "lake", COMPACT))
    return 0


def _in_two(log: Path, fights: Path, rest: Path) -> None:
    file = pq.ParquetFile(log)
    with (
        pq.ParquetWriter(fights, SCHEMA, store_schema=False) as one,
        pq.ParquetWriter(rest, SCHEMA, store_schema=False) as other,
    ):
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=list(COLUMNS)).select(SCHEMA.names)
            fought = pc.equal(table["kind"], "combat.kill")
            one.write_table(table.filter(fought))
            other.write_table(table.filter(pc.invert(fought)))


def lake_of(directory: Path, *logs: Path) -> None:
    """Read logs into a new lake."""
    from gamewarden.readers.logs.tables import EventFile
    from gamewarden.store.lake import Lake

    for log in logs:
        Lake(directory).add(EventFile(log).numbered())


def _say_compaction(row: dict[str, float]) -> None:
    sys.stdout.write(f"compaction       {row['cpu']:.1f} CPU-s, peak {int(row['peak']) >> 10} MiB\n")


def _apart(lake: Path, feature: str) -> dict[str, float]:
    line = [sys.executable, __file__, "--child", str(lake), feature]
    return json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


def measured(lake: Path, name: str) -> dict[str, float | str]:
    """Measure a lake; CPU-seconds without imports, peak memory with them, and a digest of the rows."""
    from gamewarden import features
    from gamewarden.store.lake import Lake
    from gamewarden.tables import FrameEvents

    if name == COMPACT:
        began = time.process_time()
        Lake(lake).compact()
        return {"cpu": time.process_time() - began, "peak": _peak()}
    recipe = features.load(name)()
    recipe.measure(FrameEvents(_few_rows()))  # whatever has to be compiled or loaded
    began = time.process_time()
    frame = recipe.measure(Lake(lake).events())
    cpu, peak = time.process_time() - began, _peak()
    return {"cpu": cpu, "peak": peak, "digest": hashlib.sha256(frame.write_csv().encode()).hexdigest()}


def _peak() -> int:
    """The most memory that was resident, in KiB; getrusage would also tell that of the process this one was made by."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def _few_rows() -> pl.DataFrame:
    minutes: Sequence[int] = (0, 5, 9, 2)
    at = [(FIRST_DAY * 1440 + minute) * MINUTE for minute in minutes]
    return pl.DataFrame(
        {"actor": ["a"] * 4, "at": at, "kind": ["combat.kill"] * 4, "seq": range(4), "level": [1] * 4}
    ).with_columns(pl.col("at").cast(pl.Datetime("us", "UTC")))


if __name__ == "__main__":
    sys.exit(main())
