"""A small cluster of Spark's own on this machine, for tests: two executors with a process each, on loopback alone."""

import json
import os
import shutil
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa

from paths import ROOT

SECOND_LOOK = '''
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from gamewarden.features.folding import Lines
from gamewarden.features.plain import PlainFeature
from gamewarden.tables import FEATURES

DAY = pl.col("at").dt.truncate("1d")


@dataclass(frozen=True)
class LongestSilence(PlainFeature):
    """A short feature: a function of a table of all rows."""

    name: ClassVar[str] = "table-of-all"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    schema: ClassVar[dict] = {"kinds": pl.UInt32(), "first": pl.Datetime("us", "UTC")}

    def rows(self, table):
        told = {"kinds": pl.col("kind").n_unique(), "first": pl.col("at").min()}
        days = table.group_by("actor", since=DAY).agg(events=pl.len(), **told)
        return days.with_columns(until=pl.col("since").dt.offset_by("1d"))


@dataclass(frozen=True)
class Twice(PlainFeature):
    """A feature that has to see all rows twice, whatever their order."""

    name: ClassVar[str] = "second-look"
    schema: ClassVar[dict] = {"later": pl.Int64()}

    def fold(self, sight=None):
        return _Twice()


class _Twice:
    columns = ("actor", "at")

    def __init__(self):
        self.middle, self.passes, self.seen = {}, 0, []

    def push(self, batch):
        rows = pl.DataFrame(pl.from_arrow(batch))
        if self.passes == 0:
            for actor, at in rows.group_by("actor").agg(pl.col("at").max()).iter_rows():
                self.middle[actor] = max(at, self.middle.get(actor, at))
        else:
            self.seen.append(rows)

    def again(self):
        self.passes += 1
        return self.passes == 1

    def notes(self):
        return Lines()

    def frame(self):
        last = pl.DataFrame({"actor": list(self.middle), "last": list(self.middle.values())})
        rows = pl.concat(self.seen).with_columns(pl.col("actor").cast(pl.String)).join(last, on="actor")
        near = (pl.col("at") > pl.col("last").dt.offset_by("-2d")).sum().cast(pl.Int64)
        found = rows.group_by("actor", since=DAY).agg(events=pl.len().cast(pl.Int64), later=near)
        timed = found.with_columns(until=pl.col("since").dt.offset_by("1d"))
        return timed.select(*FEATURES.columns, "later").sort("actor", "since")
'''


def why_not() -> str | None:
    """Why no cluster can be started here, or nothing."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "PySpark is not installed; pip install 'gamewarden[spark]'"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "there is no Java; install a headless runtime of version 17"
    return None


def offer_parts(place: Path) -> None:
    """A package with features of others, as an installed one would be."""
    (place / "made_up_looks.py").write_text(SECOND_LOOK)
    meta = place / "made_up_looks-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up-looks\nVersion: 1.0\n")
    named = "table-of-all = made_up_looks:LongestSilence\nsecond-look = made_up_looks:Twice\n"
    (meta / "entry_points.txt").write_text(f"[gamewarden.features]\n{named}")


@contextmanager
def started(place: Path, *more: Path):
    """A session on a cluster of two executors, whose tasks find what is on our path and in these directories."""
    from pyspark.sql import SparkSession

    source = ROOT / "src"
    path = os.pathsep.join(str(one) for one in (source, *more))
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executorEnv.PYTHONPATH": path,
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",  # small logs would all be in one task
        "spark.task.maxFailures": "2",  # a task may be lost with its executor, and what fails by itself fails soon
        "spark.sql.session.timeZone": "Asia/Kathmandu",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.local.dir": str(place / "local"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": place.as_uri(),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("gamewarden")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def frame_of(df) -> pl.DataFrame:
    """A frame of Spark in memory, times in UTC."""
    batches = df.toArrow() if hasattr(df, "toArrow") else pa.Table.from_batches(df._collect_as_arrow())
    return pl.DataFrame(pl.from_arrow(batches)).with_columns(pl.col(pl.Datetime).dt.convert_time_zone("UTC"))


def executors(session) -> dict[int, int]:
    """The processes of our executors, by their number."""
    mine = session.sparkContext.applicationId
    found = {}
    for entry in Path("/proc").iterdir():
        words = _command(entry) if entry.name.isdigit() else []
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and mine in words:
            found[int(words[words.index("--executor-id") + 1])] = int(entry.name)
    return found


def _command(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def kill_one(session) -> None:
    """End one executor as a power cut would."""
    os.kill(min(executors(session).items())[1], signal.SIGKILL)


def busy(session) -> list:
    """The stages that are under way: how many tasks each has, and how many of them run or are done."""
    tracker = session.sparkContext.statusTracker()
    known = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return [one for one in known if one is not None]


def events_told(place: Path) -> list[dict]:
    """What Spark has written of its own doings."""
    (log,) = [one for one in place.iterdir() if one.name.startswith(("app-", "eventlog", "local")) and one.is_file()]
    return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]


def measuring_stages(told: list[dict]) -> set[int]:
    """The stages in which Python maps batches of Arrow."""
    submitted = [one["Stage Info"] for one in told if one["Event"] == "SparkListenerStageSubmitted"]
    return {one["Stage ID"] for one in submitted if any("InArrow" in rdd.get("Scope", "") for rdd in one["RDD Info"])}


def lost_tasks(told: list[dict]) -> set[tuple[int, int]]:
    """Stage and number of the tasks that began and ended with their executor."""
    begun = {one["Task Info"]["Task ID"] for one in told if one["Event"] == "SparkListenerTaskStart"}
    ends = [one for one in told if one["Event"] == "SparkListenerTaskEnd"]
    lost = [one for one in ends if one["Task End Reason"]["Reason"] == "ExecutorLostFailure"]
    return {(one["Stage ID"], one["Task Info"]["Task ID"]) for one in lost if one["Task Info"]["Task ID"] in begun}
