"""What reading from an object store costs beside reading the same files here, in processor time of the reader.

The store is moto's server on the loopback, in a process of its own; its processor time is not counted.
Bar: at most 1.5 x the processor time of local files, with Parquet read ahead.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
PARQUET = 6  # times as many rows, since they cost so much less
RUNS = 3
BUCKET = "bench"
KEYS = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
SERVER = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("{}:{}".format(*server.get_host_and_port()), flush=True)
sys.stdin.read()
"""
READ = """
import json, sys, time
from gamewarden import readers
import polars, pyarrow.parquet
stream = readers.open(sys.argv[1]).events()
before = time.process_time(), time.perf_counter()
rows = sum(batch.num_rows for batch in stream.batches(("actor", "at", "kind", "zone", "level")))
print(json.dumps([rows, time.process_time() - before[0], time.perf_counter() - before[1]]))
"""


def events(rows: int) -> pl.DataFrame:
    """A day of many accounts."""
    dice = np.random.default_rng(1)
    at = np.sort(dice.integers(0, 86_400_000_000, rows)) + 1_772_000_000_000_000
    return pl.DataFrame(
        {
            "actor": pl.Series(dice.integers(0, 20_000, rows)).cast(pl.String),
            "at": pl.Series(at).cast(pl.Datetime("us", "UTC")),
            "kind": pl.Series(np.array(["combat.kill", "loot.item", "move.step"])[dice.integers(0, 3, rows)]),
            "zone": pl.Series(np.array([f"z{number}" for number in range(50)])[dice.integers(0, 50, rows)]),
            "level": pl.Series(dice.integers(1, 99, rows).astype(np.int16)),
        }
    )


@contextmanager
def store() -> Iterator[str]:
    """A server for as long as it is needed."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if server.stdout is None or server.stdin is None:
        raise SystemExit("bench: the server has no pipes")
    try:
        yield next(
            line.strip() for line in server.stdout if line.startswith("127.0.0.1") and not line.strip().endswith(":0")
        )
    finally:
        server.stdin.close()
        server.wait()


def put(endpoint: str, files: list[Path]) -> None:
    """Copy files into the store."""
    from pyarrow.fs import S3FileSystem

    system = S3FileSystem(endpoint_override=endpoint, scheme="http", allow_bucket_creation=True)
    system.create_dir(BUCKET)
    for file in files:
        with system.open_output_stream(f"{BUCKET}/{file.name}", compression=None) as stream:
            stream.write(file.read_bytes())


def measured(locators: dict[str, str], expected: int) -> dict[str, tuple[float, float]]:
    """Processor and clock seconds of reading each, medians of runs that take turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in locators}
    for _ in range(RUNS):
        for name, locator in locators.items():
            told = subprocess.run([sys.executable, "-c", READ, locator], check=True, capture_output=True, text=True)
            rows, processor, clock = json.loads(told.stdout)
            if rows != expected:
                raise SystemExit(f"bench: {locator} gave {rows:,} rows")
            found[name].append((processor, clock))
    return {name: (median(one[0] for one in runs), median(one[1] for one in runs)) for name, runs in found.items()}


def main() -> None:
    """Print both for each format, and their ratio."""
    os.environ.update(KEYS)
    with tempfile.TemporaryDirectory() as place, store() as endpoint:
        files = [Path(place) / name for name in ("log.parquet", "log.csv", "log.csv.gz")]
        frame = events(ROWS)
        events(PARQUET * ROWS).write_parquet(files[0], row_group_size=500_000)
        frame.write_csv(files[1], datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
        files[2].write_bytes(gzip.compress(files[1].read_bytes(), 1))
        os.environ["AWS_ENDPOINT_URL"] = f"http://{endpoint}"
        put(endpoint, files)
        for file in files:
            rows = PARQUET * ROWS if file.suffix == ".parquet" else ROWS
            found = measured({"here": str(file), "store": f"s3://{BUCKET}/{file.name}"}, rows)
            (here, clock_here), (there, clock_there) = found["here"], found["store"]
            print(
                f"{file.name:12} {file.stat().st_size >> 20:5} MiB   here {here:6.2f} CPU-s {clock_here:6.2f} s   "
                f"S3 {there:6.2f} CPU-s {clock_there:6.2f} s   {there / here:5.2f} x"
            )


if __name__ == "__main__":
    main()
