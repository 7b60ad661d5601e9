"""The same tasks on a real Spark cluster of two workers on this machine, one of which is killed while it measures."""

import os
import shutil
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from engines_made_up import lake_of, unordered_log
from gamewarden import engine, features
from gamewarden.core.extras import installed
from gamewarden.errors import EngineError, ReadError
from gamewarden.features.folding import folded
from gamewarden.spreading import jobs
from gamewarden.spreading.events import spread
from gamewarden.store.source import LakeSource
from paths import SUPPORT
from recipes import name_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java runtime, so no Spark cluster is started"),
    pytest.mark.skipif(not installed("pyspark"), reason="PySpark is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),  # of Spark's own sockets
]
FAMILIES = [features.load(name) for name in features.REGISTRY.own if features.load(name).input == "events"]


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def cluster(marks):
    with pytest.MonkeyPatch.context() as env, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
        env.setenv("GAMEWARDEN_MARKS", str(marks))
        end_java()  # one that other tests have started knows nothing of these variables
        found = engine.open("local-cluster[2,1,1024]")
        yield found
        found.close()
        end_java()


def end_java():
    """End the Java machine behind this process, which outlives its sessions."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return LakeSource(lake_of(unordered_log(11), tmp_path_factory.mktemp("cluster"), compact=True).directory)


@pytest.mark.parametrize("recipe", [family() for family in FAMILIES], ids=name_of)
def test_what_a_cluster_measures_is_what_one_reading_measures(recipe, lake, cluster):
    learned = recipe.learn(lake.events())

    away = folded(learned, spread(lake, cluster).events())

    here = folded(learned, lake.events())
    assert_frame_equal(away.frame, here.frame, check_exact=True)
    assert away.notes.sentences() == here.notes.sentences()


def test_an_executor_killed_while_it_measures_changes_no_bit(lake, cluster, marks, monkeypatch):
    recipe = features.load("self-similarity")().learn(lake.events())
    monkeypatch.setattr(jobs, "ENTRY", "engine_dying:marked")
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(_kill_executor(marks)))
    killer.start()

    away = folded(recipe, spread(lake, cluster).events())

    killer.join()
    assert_frame_equal(away.frame, folded(recipe, lake.events()).frame, check_exact=True)
    began = {one.name.removeprefix("began-") for one in marks.glob("began-*")}
    ended = {one.name.removeprefix("ended-") for one in marks.glob("ended-*")}
    assert killed[0]
    assert len(began - ended) >= 1  # a task began and never ended, and another did its work
    assert ended


def _kill_executor(marks: Path) -> int:
    """Kill the JVM of the executor whose task waits; its number."""
    deadline = time.monotonic() + 90
    while not (marks / "first").exists():
        if time.monotonic() > deadline:
            return 0
        time.sleep(0.05)
    waiting = min(marks.glob("began-*"), key=lambda one: one.stat().st_mtime_ns)
    process = int(waiting.read_text())
    while "java" not in Path(f"/proc/{process}/comm").read_text():
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    if "CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_text():
        return 0
    os.kill(process, signal.SIGKILL)
    return process


def test_an_error_of_a_task_is_the_error_of_the_run(cluster, tmp_path):
    source = spread(LakeSource(lake_of(unordered_log(1, 2_000), tmp_path).directory), cluster).events()
    for part in (tmp_path / "lake").glob("day=*/*.parquet"):
        part.unlink()

    with pytest.raises(ReadError, match="is missing from the lake"):
        folded(features.load("activity")(), source)


def test_an_answer_longer_than_a_row_of_spark_comes_in_pieces(cluster):
    (number, answer), *_ = list(cluster.run("engine_dying:long", ["100000000"]))

    assert number == 0
    assert answer == b"x" * 100_000_000


def test_a_task_that_always_dies_is_given_up_with_a_sentence(cluster):
    with pytest.raises(EngineError, match="Spark gave up"):
        list(cluster.run("engine_dying:die", ["now"]))
