"""What chunks of actions cost: ours beside decoding alone, Polars and pandas, as ratios of one run.

Every measurement has a process of its own and counts the CPU-seconds of all its threads; imports, and for ours loading
its compiled code (0.6 s, by measuring three events first), are left out. The log is the synthetic one of
bench_self_similarity.py. Polars and pandas take the order of the file for the order of time; ours
also would sort what came out of order. Bars: 2 times faster than Polars, 20 times than pandas, and memory that grows
with actors and kinds, not with events, beside the table itself.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from bench_self_similarity import KINDS, assert_agreement, line, write_log
from gamewarden.readers.logs.tables import open_events
from gamewarden.streams import PlainEvents

COLUMNS = ("actor", "at", "kind")
SECOND = 1_000_000
CHUNK = 3600 * SECOND
STEP = CHUNK // 2
LAST_BIN = 60
KEY = ["actor", "number"]
KIND_COLUMNS = {f"a_{kind}": kind for kind in sorted(KINDS)}
GAP_COLUMNS = {f"i_{gap}": gap for gap in range(LAST_BIN + 1)}


def decode(log: Path) -> None:
    """(a) Only decoding: the limit."""
    for _ in open_events(log).batches(COLUMNS):
        pass


def ours(log: Path) -> pl.DataFrame:
    """(b) The kernel, end to end."""
    from gamewarden.features.actions.recipe import Actions

    return Actions(vocabulary=KINDS).measure(open_events(log))


def polars(log: Path) -> pl.DataFrame:
    """(c) Expressions: every action in both of its chunks, counted by kind and by gap, then spread over columns."""
    at = pl.col("at").cast(pl.Int64)
    first, last = pl.col("at").min().over("actor"), pl.col("at").max().over("actor")
    events = (
        pl.scan_parquet(log)
        .select("actor", at, "kind")
        .with_columns(cell=(pl.col("at") - first) // STEP, first=first, last=last)
    )
    both = pl.concat([events.with_columns(number=pl.col("cell") - back) for back in (0, 1)])
    ends = pl.col("first") + pl.col("number") * STEP + CHUNK
    inside = both.filter(pl.col("number") >= 0, ends <= pl.col("last")).collect().lazy()
    gap = pl.col("at").diff().over(KEY) // SECOND
    kinds = inside.group_by(*KEY, "kind").len()
    gaps = inside.with_columns(gap=gap.clip(upper_bound=LAST_BIN)).drop_nulls("gap").group_by(*KEY, "gap").len()
    rows = inside.group_by(KEY).agg(pl.len().alias("events"), pl.col("first").first()).filter(pl.col("events") >= 2)
    wide = [counts.collect().pivot(on=on, index=KEY, values="len") for counts, on in ((kinds, "kind"), (gaps, "gap"))]
    named = [
        table.rename({name: f"{prefix}_{name}" for name in table.columns if name not in KEY})
        for table, prefix in zip(wide, "ai", strict=True)
    ]
    return finished(rows.collect().join(named[0], on=KEY).join(named[1], on=KEY, how="left"))


def pandas(log: Path) -> pl.DataFrame:
    """(d) What a data scientist would write, with categories."""
    import pandas as pd

    events = pq.read_table(log, columns=list(COLUMNS), read_dictionary=["actor", "kind"]).to_pandas()
    events["at"] = events["at"].astype("int64")
    by_actor = events.groupby("actor", observed=True)["at"]
    events["first"], events["last"] = by_actor.transform("min"), by_actor.transform("max")
    cell = (events["at"] - events["first"]) // STEP
    both = pd.concat([events.assign(number=cell - back) for back in (0, 1)])
    inside = both[(both["number"] >= 0) & (both["first"] + both["number"] * STEP + CHUNK <= both["last"])]
    inside = inside.assign(gap=inside.groupby(KEY, observed=True)["at"].diff() // SECOND)
    inside["gap"] = inside["gap"].clip(upper=LAST_BIN)
    rows = inside.groupby(KEY, observed=True).agg(events=("at", "size"), first=("first", "first"))
    kinds = inside.groupby([*KEY, "kind"], observed=True).size().unstack(fill_value=0).add_prefix("a_")  # noqa: PD010 - the counts are there
    gaps = inside.dropna(subset="gap").astype({"gap": int}).groupby([*KEY, "gap"], observed=True).size()
    gaps = gaps.unstack(fill_value=0).add_prefix("i_")  # noqa: PD010 - the same
    joined = rows[rows["events"] >= 2].join(kinds).join(gaps).reset_index()
    return finished(pl.from_pandas(joined.astype({"actor": str})))


def finished(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of the contract from counts."""
    since = pl.col("first") + pl.col("number") * STEP
    missing = [pl.lit(0).alias(name) for name in (*KIND_COLUMNS, *GAP_COLUMNS) if name not in rows.columns]
    counts = rows.with_columns(missing).with_columns(pl.col(*KIND_COLUMNS, *GAP_COLUMNS).cast(pl.Float64).fill_null(0))
    shaped = [
        (pl.col(name) / pl.max_horizontal(list(names))).pow(0.25).alias(name)
        for names in (KIND_COLUMNS, GAP_COLUMNS)
        for name in names
    ]
    times = [
        moment.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias(name)
        for name, moment in (("since", since), ("until", since + CHUNK))
    ]
    return counts.select("actor", *times, pl.col("events").cast(pl.Int64), *shaped).sort("actor", "since")


WAYS: dict[str, Callable[[Path], pl.DataFrame | None]] = {
    "decode": decode,
    "ours": ours,
    "polars": polars,
    "pandas": pandas,
}


def load(way: str) -> None:
    """What a way needs before it can begin."""
    if way == "pandas":
        import_module("pandas")
    if way == "ours":
        from gamewarden.features.actions.recipe import Actions

        Actions().measure(ThreeEvents())


class ThreeEvents(PlainEvents):
    """The smallest log with a chunk, in the types that the large one has."""

    columns = frozenset(COLUMNS)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """One batch."""
        text = pa.array(["a"] * 3).dictionary_encode()
        at = pa.array([0, 1, CHUNK], pa.timestamp("us", "UTC"))
        yield pa.record_batch({name: at if name == "at" else text for name in columns})


def in_this_process(way: str, log: Path, result: Path) -> None:
    """Run one way, keep its rows and print what it cost."""
    load(way)
    begun, cpu = time.perf_counter(), time.process_time()
    rows = WAYS[way](log)
    cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - begun}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if rows is not None:
        cost["table"] = rows.estimated_size()
        rows.write_parquet(result)
    print(json.dumps({**cost, "peak": peak}))


def in_its_own_process(way: str, log: Path, result: Path, times: int = 1) -> dict[str, float]:
    """The median of some runs, each in a fresh process."""
    command = [sys.executable, __file__, "--way", way, "--log", str(log), "--result", str(result)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(times)
    ]
    return {name: median(run[name] for run in runs) for name in runs[0]}


def compare(folder: Path, events: int, accounts: int) -> None:
    """Measure all ways and print the table."""
    log, tenth = folder / "log.parquet", folder / "tenth.parquet"
    for path, share in ((log, 1), (tenth, 10)):
        if not path.exists():
            write_log(path, events // share, accounts // share, 1)
    rows = pq.ParquetFile(log).metadata.num_rows
    print(f"synthetic log: {rows:,} events, {accounts:,} accounts, {len(KINDS)} kinds, chunks of 60 minutes, t = 60")
    small = in_its_own_process("ours", tenth, folder / "ours-tenth.parquet")  # compiles, once a machine
    small = in_its_own_process("ours", tenth, folder / "ours-tenth.parquet")
    print(f"{'way':<8}{'CPU':>11}{'ratio':>10}{'wall':>11}{'peak':>13}   what it computes")
    limit = in_its_own_process("decode", log, folder / "none", 3)
    line("decode", limit, limit["cpu"], "three columns with pyarrow, nothing kept")
    mine = in_its_own_process("ours", log, folder / "ours.parquet", 3)
    chunks = pq.ParquetFile(folder / "ours.parquet").metadata.num_rows
    line("ours", mine, limit["cpu"], f"{chunks:,} chunks; {mine['table'] / 2**20:,.0f} MiB of it is the table")
    for way, bar in (("polars", 2), ("pandas", 20)):
        result = folder / f"{way}.parquet"
        cost = in_its_own_process(way, log, result)
        assert_agreement(folder / "ours.parquet", result)
        line(way, cost, limit["cpu"], "the same")
        print(f"  ours is {cost['cpu'] / mine['cpu']:.1f} x faster than {way} (bar {bar})", flush=True)
    base = limit["peak"]
    grown = [(cost["peak"] - base - 1.5 * cost["table"]) / 2**20 for cost in (small, mine)]
    print(f"agreement to 1e-9: yes; beside decoding and the table: {grown[0]:.0f} MiB for a tenth, {grown[1]:.0f} MiB")


def main() -> None:
    """Read the options and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--accounts", type=int, default=20_000)
    parser.add_argument("--dir", type=Path, help="where the log is written and kept; default: a temporary place")
    parser.add_argument("--way", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        in_this_process(options.way, options.log, options.result)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = options.dir or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        compare(folder, options.events, options.accounts)


if __name__ == "__main__":
    main()
