"""What self-similarity costs: ours beside decoding alone, Polars, DuckDB and pandas, as ratios of one run.

Every measurement has a process of its own and counts the CPU-seconds of all its threads, imports left out. The log is
synthetic: accounts play one stretch a day, a few events a minute, kinds drawn from a skewed distribution, mostly one
character. It has no session events, so the policies `online` and `gap` are the same and everybody can compute all
columns: Polars, DuckDB and pandas tell vectors apart by a sum of hashes, as ours does, and take the order of the file
for the order of time. Ours also would sort what came out of order.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from polars.testing import assert_frame_equal

COLUMNS = ("actor", "at", "kind", "character", "seq", "level")
TEXTS = ("actor", "kind", "character")
ROLES = {
    "npc_kill_count": "combat.kill",
    "trade_get_count": "trade.receive",
    "trade_give_count": "trade.give",
    "retrieve_count": "storage.withdraw",
    "deposit_count": "storage.deposit",
}
KINDS = (*ROLES.values(), *(f"skill.use.{number}" for number in range(55)))
EVENTS_A_DAY = 500  # of an account: a longer log is a log of more days
RATE = 4.0  # events a minute of play, on average
FIRST_DAY = 19_800  # since the epoch
MINUTE = 60_000_000
DAY = 1440 * MINUTE
SILENCE = 30 * MINUTE
BATCH = 1 << 18
ROW_GROUP = 1 << 20
SCHEMA = pa.schema(
    {
        "actor": pa.string(),
        "at": pa.timestamp("us", "UTC"),
        "kind": pa.string(),
        "character": pa.string(),
        "seq": pa.int64(),
        "level": pa.int16(),
    }
)


# The log.


def write_log(path: Path, events: int, accounts: int, days: int) -> None:
    """A synthetic log in the order of time."""
    chance = np.random.default_rng(2016)
    names = {
        "actor": pa.array([f"account{number:07d}" for number in range(accounts)]),
        "character": pa.array([f"char{number:08d}" for number in range(2 * accounts)]),
        "kind": pa.array(KINDS),
    }
    skew = np.cumsum(1 / np.arange(1, len(KINDS) + 1))
    rate = RATE * chance.gamma(4, 1 / 4, accounts)
    written = 0
    with pq.ParquetWriter(path, SCHEMA, store_schema=False) as writer:
        pending: list[pa.RecordBatch] = []
        for day in range(days):
            length = np.minimum(chance.exponential(events / accounts / days / rate) + 1, 1439).astype(np.int64)
            start = (chance.random(accounts) * (1440 - length)).astype(np.int64)
            for minute in range(1440):
                online = np.flatnonzero((start <= minute) & (minute < start + length))
                now = (FIRST_DAY + day) * 1440 + minute
                pending.append(_minute(chance, names, skew, online, rate, now, written))
                written += pending[-1].num_rows
                pending = _write_full_groups(writer, pending)
        writer.write_table(pa.Table.from_batches(pending, SCHEMA), row_group_size=ROW_GROUP)


def _write_full_groups(writer: pq.ParquetWriter, pending: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if sum(batch.num_rows for batch in pending) < ROW_GROUP:
        return pending
    table = pa.Table.from_batches(pending)
    full = table.num_rows // ROW_GROUP * ROW_GROUP
    writer.write_table(table.slice(0, full), row_group_size=ROW_GROUP)
    return table.slice(full).to_batches()


def _minute(  # noqa: PLR0917 - one row of a long loop
    chance: np.random.Generator,
    names: dict[str, pa.Array],
    skew: np.ndarray,
    online: np.ndarray,
    rate: np.ndarray,
    minute: int,
    written: int,
) -> pa.RecordBatch:
    actor = np.repeat(online, chance.poisson(rate[online]))
    at = chance.integers(0, MINUTE, len(actor))
    order = np.argsort(at)
    actor, at = actor[order], at[order] + minute * MINUTE
    kind = np.searchsorted(skew, chance.random(len(actor)) * skew[-1])
    second = (actor % 5 == 0) & (at // (30 * MINUTE) % 2 == 0)  # every fifth account changes between two characters
    return pa.record_batch(
        [
            names["actor"].take(pa.array(actor)),
            pa.array(at, pa.timestamp("us", "UTC")),
            names["kind"].take(pa.array(kind)),
            names["character"].take(pa.array(2 * actor + second)),
            pa.array(np.arange(written, written + len(actor), dtype=np.int64)),
            pa.array((actor % 60 + 1).astype(np.int16)),
        ],
        schema=SCHEMA,
    )


# The ways.


def decode(log: Path) -> None:
    """(a) Only decoding: the limit."""
    with pq.ParquetFile(log, read_dictionary=list(TEXTS), pre_buffer=False) as file:
        for _ in file.iter_batches(batch_size=BATCH, columns=list(COLUMNS), use_threads=False):
            pass


def ours(log: Path) -> pl.DataFrame:
    """(b) Ours, end to end: reader and kernel."""
    from gamewarden.features.self_similarity.recipe import SelfSimilarity
    from gamewarden.readers.logs.tables import open_events

    return SelfSimilarity().measure(open_events(log))


def polars(log: Path) -> pl.DataFrame:
    """(c) A lazy query on the streaming engine."""
    at = pl.col("at").cast(pl.Int64)
    events = pl.scan_parquet(log).with_columns((at // MINUTE).alias("window"), at.alias("at"))
    size = events.select(pl.col("kind").n_unique()).collect().item()
    word = (pl.col("kind").hash(seed=0) * pl.col("n").cast(pl.UInt64)).sum()
    vectors = (
        events.group_by("actor", "window", "kind")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("at").min().alias("first"), pl.col("at").max().alias("last"))
        .group_by("actor", "window")
        .agg(
            pl.col("n").sum().alias("events"),
            (pl.col("n") ** 2).sum().alias("squares"),
            word.alias("word"),
            pl.col("first").min(),
            pl.col("last").max(),
            *(pl.col("n").filter(pl.col("kind") == kind).sum().alias(name) for name, kind in ROLES.items()),
        )
        .with_columns(
            (pl.col("window") // 1440).alias("period"), (pl.col("events") / pl.col("squares").sqrt()).alias("ratio")
        )
        .sort("actor", "window")
        .collect(engine="streaming")
        .lazy()
    )
    silence = pl.col("first") - pl.col("last").shift(1).over("actor", "period")
    skipped = pl.col("window") - pl.col("window").shift(1).over("actor", "period") - 1
    rows = (
        vectors.with_columns(silence.alias("silence"), skipped.alias("skipped"))
        .group_by("actor", "period")
        .agg(
            pl.col("events", *ROLES).sum(),
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("skipped").filter(pl.col("silence") <= SILENCE).sum().alias("empty"),
            (pl.col("last") - pl.col("first")).sum().alias("inside"),
            pl.col("silence").filter(pl.col("silence") <= SILENCE).sum().alias("between"),
            pl.col("ratio").mean().alias("mean"),
            pl.col("ratio").var(ddof=0).alias("variance"),
        )
    )
    same = (
        vectors.group_by("actor", "period", "word")
        .len()
        .group_by("actor", "period")
        .agg(pl.len().alias("unique"), pl.col("len").max().alias("mode"))
    )
    levels = (
        events.group_by("actor", (pl.col("window") // 1440).alias("period"), "character")
        .agg(pl.len(), pl.col("level").last())
        .group_by("actor", "period")
        .agg(pl.col("level").sort_by(-pl.col("len").cast(pl.Int64), pl.col("character")).first())
    )
    joined = rows.join(same, on=("actor", "period")).join(levels, on=("actor", "period"))
    return finished(joined.collect(engine="streaming"), size)


SQL = """
with counts as (
    select actor, epoch_us("at") // {minute} as number, kind, count(*) as n,
           min(epoch_us("at")) as begun, max(epoch_us("at")) as ended
    from read_parquet('{log}') group by all),
vectors as (
    select actor, number, number // 1440 as period, sum(n)::bigint as events, sum(n) / sqrt(sum(n * n)) as ratio,
           sum(hash(kind)::hugeint * n) as word, min(begun) as begun, max(ended) as ended, {roles}
    from counts group by actor, number),
spaced as (
    select *, begun - lag(ended) over past as silence, number - lag(number) over past - 1 as skipped
    from vectors window past as (partition by actor, period order by number)),
periods as (
    select actor, period, sum(events)::bigint as events, count(*) as count,
           coalesce(sum(skipped) filter (silence <= {silence}), 0)::bigint as empty,
           sum(ended - begun)::bigint as inside,
           coalesce(sum(silence) filter (silence <= {silence}), 0)::bigint as "between",
           avg(ratio) as mean, var_pop(ratio) as variance, {sums}
    from spaced group by actor, period),
same as (
    select actor, period, count(*) as "unique", max(n) as mode
    from (select actor, period, word, count(*) as n from vectors group by all) group by actor, period),
levels as (
    select actor, period, first(level order by n desc, character) as level
    from (select actor, epoch_us("at") // {day} as period, character, count(*) as n, arg_max(level, seq) as level
          from read_parquet('{log}') group by all)
    group by actor, period)
select * from periods join same using (actor, period) join levels using (actor, period)
"""


def duckdb(log: Path) -> pl.DataFrame:
    """(d) SQL."""
    import duckdb as database

    roles = ", ".join(f"sum(n) filter (kind = '{kind}') as {name}" for name, kind in ROLES.items())
    sums = ", ".join(f"coalesce(sum({name}), 0)::bigint as {name}" for name in ROLES)
    query = SQL.format(log=log, minute=MINUTE, day=DAY, silence=SILENCE, roles=roles, sums=sums)
    with database.connect() as connection:
        size = connection.sql(f"select count(distinct kind) from read_parquet('{log}')").fetchall()[0][0]  # noqa: S608 - our own file
        return finished(pl.from_arrow(connection.sql(query).to_arrow_table()), size)


def pandas(log: Path) -> pl.DataFrame:
    """(e) What a data scientist would write, with categories."""
    import pandas as pd

    events = pq.read_table(log, columns=list(COLUMNS), read_dictionary=list(TEXTS)).to_pandas()
    events["at"] = events["at"].astype("int64")
    events["window"] = events["at"] // MINUTE
    counts = events.groupby(["actor", "window", "kind"], observed=True).agg(
        n=("at", "size"), first=("at", "min"), last=("at", "max")
    )
    counts = counts.reset_index()
    counts["squares"] = counts["n"] ** 2
    counts["word"] = pd.util.hash_array(counts["kind"].to_numpy(str)) * counts["n"].to_numpy(np.uint64)
    for name, kind in ROLES.items():
        counts[name] = counts["n"].where(counts["kind"] == kind, 0)
    parts = {name: (name, "sum") for name in ("squares", "word", *ROLES)}
    vectors = counts.groupby(["actor", "window"], observed=True).agg(
        events=("n", "sum"), first=("first", "min"), last=("last", "max"), **parts
    )
    vectors = vectors.reset_index().sort_values(["actor", "window"])
    vectors["period"] = vectors["window"] // 1440
    vectors["ratio"] = vectors["events"] / np.sqrt(vectors["squares"])
    past = vectors.groupby(["actor", "period"], observed=True)
    silence = vectors["first"] - past["last"].shift()
    near = silence <= SILENCE
    vectors["between"] = silence.where(near, 0)
    vectors["empty"] = (vectors["window"] - past["window"].shift() - 1).where(near, 0)
    vectors["inside"] = vectors["last"] - vectors["first"]
    sums = {name: (name, "sum") for name in ("events", "empty", "inside", "between", *ROLES)}
    rows = vectors.groupby(["actor", "period"], observed=True).agg(
        count=("window", "size"), mean=("ratio", "mean"), variance=("ratio", lambda ratio: ratio.var(ddof=0)), **sums
    )
    same = vectors.groupby(["actor", "period", "word"], observed=True).size()
    same = same.groupby(["actor", "period"], observed=True).agg(unique="size", mode="max")
    events["period"] = events["at"] // DAY
    levels = events.groupby(["actor", "period", "character"], observed=True)["level"].agg(n="size", level="last")
    levels = levels.reset_index().sort_values(["n", "character"], ascending=[False, True])
    levels = levels.groupby(["actor", "period"], observed=True)["level"].first()
    joined = rows.join(same).join(levels).reset_index().astype({"actor": str})
    return finished(pl.from_pandas(joined), int(events["kind"].nunique()))


def finished(rows: pl.DataFrame, size: int) -> pl.DataFrame:
    """The columns of the contract from the sums that Polars, DuckDB and pandas share."""
    windows = pl.col("count") + pl.col("empty")
    minutes = (pl.col("inside") + pl.col("between")) / MINUTE
    variance = (pl.col("variance") + pl.col("mean") ** 2 * pl.col("empty") / windows) * pl.col("count") / windows / size
    since = pl.col("period") * DAY
    return rows.select(
        "actor",
        since.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias("since"),
        (since + DAY).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias("until"),
        "events",
        windows.alias("windows"),
        pl.when(windows >= 30).then(1 - variance.sqrt() / 2).alias("self_sim"),
        pl.col("count").alias("cosim_count"),
        pl.col("unique").alias("cosim_uniq_count"),
        pl.col("empty").alias("cosim_zero_count"),
        pl.col("mode").alias("cosim_mode"),
        pl.col("events").alias("total_log_count"),
        pl.col("level").alias("main_char_level"),
        minutes.alias("total_use_time_min"),
        *ROLES,
        pl.when(minutes > 0).then(pl.col("events") / minutes).alias("log_count_per_min"),
    ).sort("actor", "since")


WAYS: dict[str, Callable[[Path], pl.DataFrame | None]] = {
    "decode": decode,
    "ours": ours,
    "polars": polars,
    "duckdb": duckdb,
    "pandas": pandas,
}


# The measuring.


def in_this_process(way: str, log: Path, result: Path) -> None:
    """Run one way, keep its rows and print what it cost."""
    if way in {"duckdb", "pandas"}:
        __import__(way)
    begun, cpu = time.perf_counter(), time.process_time()
    rows = WAYS[way](log)
    cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - begun}
    if rows is not None:
        rows.write_parquet(result)
    kibibytes = 1024 if sys.platform != "darwin" else 1
    print(json.dumps({**cost, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kibibytes}))


def in_its_own_process(way: str, log: Path, result: Path, times: int = 1) -> dict[str, float]:
    """The median of some runs, each in a fresh process."""
    command = [sys.executable, __file__, "--way", way, "--log", str(log), "--result", str(result)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(times)
    ]
    return {name: median(run[name] for run in runs) for name in runs[0]}


def assert_agreement(one: Path, other: Path) -> None:
    """The same rows, whole numbers exactly and others to 1e-9."""
    mine, theirs = pl.read_parquet(one), pl.read_parquet(other)
    assert_frame_equal(mine, theirs.cast(dict(mine.schema)), rel_tol=1e-9, abs_tol=1e-9)


def line(name: str, cost: dict[str, float], limit: float, what: str) -> None:
    """One line of the table."""
    print(
        f"{name:<8}{cost['cpu']:>9.2f} s{cost['cpu'] / limit:>8.1f} x{cost['wall']:>9.1f} s"
        f"{cost['peak'] / 2**20:>9.0f} MiB   {what}",
        flush=True,
    )


def compare(folder: Path, events: int, accounts: int, days: int, ways: Sequence[str]) -> None:
    """Measure all ways and print the table."""
    log, tenth = folder / "log.parquet", folder / "tenth.parquet"
    for path, share in ((log, 1), (tenth, 10)):
        if not path.exists():
            write_log(path, events // share, accounts // share, days)
    rows = pq.ParquetFile(log).metadata.num_rows
    print(
        f"synthetic log: {rows:,} events, {accounts:,} accounts, {len(KINDS)} kinds, {days} days, "
        f"{log.stat().st_size / 2**20:,.0f} MiB"
    )
    in_its_own_process("ours", tenth, folder / "ours-tenth.parquet")  # compiles, once a machine
    print(f"{'way':<8}{'CPU':>11}{'ratio':>10}{'wall':>11}{'peak':>13}   what it computes")
    limit = in_its_own_process("decode", log, folder / "none", 3)
    line("decode", limit, limit["cpu"], "six columns with pyarrow, nothing kept")
    costs = {"ours": in_its_own_process("ours", log, folder / "ours.parquet", 3)}
    line("ours", costs["ours"], limit["cpu"], "all columns; late rows would be found")
    for way in ways:
        small = way == "pandas"
        result = folder / f"{way}.parquet"
        cost = in_its_own_process(way, tenth if small else log, result)
        assert_agreement(folder / ("ours-tenth.parquet" if small else "ours.parquet"), result)
        scale = rows / pq.ParquetFile(tenth).metadata.num_rows if small else 1
        costs[way] = {**cost, "cpu": cost["cpu"] * scale, "wall": cost["wall"] * scale}
        what = f"all columns; {'a tenth, times scaled' if small else 'order of the file taken for order of time'}"
        line(way, costs[way], limit["cpu"], what)
    print("agreement to 1e-9: yes")
    for way in ways:
        print(f"ours is {costs[way]['cpu'] / costs['ours']['cpu']:.1f} x faster than {way}")


def main() -> None:
    """Read the options and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--accounts", type=int, default=100_000)
    parser.add_argument("--days", type=int, help="default: as many as give an account 500 events a day")
    parser.add_argument("--dir", type=Path, help="where the log is written and kept; default: a temporary place")
    parser.add_argument("--only", nargs="*", default=["polars", "duckdb", "pandas"], help="which others to run")
    parser.add_argument("--way", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        in_this_process(options.way, options.log, options.result)
        return
    days = options.days or max(1, round(options.events / options.accounts / EVENTS_A_DAY))
    with tempfile.TemporaryDirectory() as place:
        folder = options.dir or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        compare(folder, options.events, options.accounts, days, options.only)


if __name__ == "__main__":
    main()
