"""Tasks on a Spark cluster: each is a partition of its own, so that Spark does it again wherever it was lost.

An executor reads its slice itself. What passes through the driver are the words of tasks and their answers.
"""

import os
import socket
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from gamewarden.core.extras import need
from gamewarden.engine.answers import ended, made
from gamewarden.errors import EngineError, short

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PIECE = 1 << 26  # bytes of an answer in one row: a row of Spark holds less than 2 GiB
_SCHEMA = "task bigint, piece bigint, ending binary"
_CONNECT = "sc://"
_STANDALONE = "spark://"
_PORT = 7077
_PATIENCE = 5.0  # seconds
_LOOPBACK = "127.0.0.1"
_SLOTS = 8  # of a cluster that does not say how many it has


class SparkEngine:
    """A session of Spark at a master, or the one that a notebook has already."""

    def __init__(self, master: str) -> None:
        need(f"--on {master}", "pyspark", "pandas")
        self.name = master
        self._session = _session(master)

    @property
    def slots(self) -> int:
        """How many tasks the cluster does at a time."""
        try:
            return max(1, int(self._session.sparkContext.defaultParallelism))
        except Exception:  # noqa: BLE001  Spark Connect has no context, and says so in a way of its own
            return _SLOTS

    def run(self, entry: str, tasks: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        """Each task in a partition of its own.

        Raises:
            GamewardenError: a task says so.
            EngineError: Spark gave a task up.
        """
        numbers = self._session.range(0, len(tasks), 1, len(tasks))
        endings = numbers.mapInArrow(partial(_done, entry, tuple(tasks)), _SCHEMA)
        try:
            rows = endings.collect()  # toLocalIterator would do one task after the other
        except Exception as error:
            raise _told(self.name, error) from error
        pieces: list[bytes] = []
        for row in rows:
            pieces.append(bytes(row.ending))
            if len(pieces[-1]) < _PIECE:
                yield row.task, made(b"".join(pieces))
                pieces = []

    def close(self) -> None:
        """End the session."""
        self._session.stop()


def _done(entry: str, tasks: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On an executor: the tasks whose numbers come, each answered in pieces, of which only the last may be short."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            ending = ended(entry, tasks[number])
            for piece, begin in enumerate(range(0, len(ending) + 1, _PIECE)):
                row = [[number], [piece], [ending[begin : begin + _PIECE]]]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(row[0], pa.int64()), pa.array(row[1], pa.int64()), pa.array(row[2], pa.binary())],
                    names=["task", "piece", "ending"],
                )


def _refuse_away(master: str) -> None:
    """Spark itself would tell of a master that is not there in hundreds of lines, and after a minute and a half."""
    for address in master.removeprefix(_STANDALONE).split(",") if master.startswith(_STANDALONE) else ():
        host, _, port = address.partition(":")
        try:
            socket.create_connection((host, int(port or _PORT)), timeout=_PATIENCE).close()
        except (OSError, ValueError, OverflowError):
            continue
        return
    if master.startswith(_STANDALONE):
        raise EngineError(f"{master}: cannot be reached; look whether the master is up, and its address")


def _session(master: str) -> "SparkSession":
    from pyspark.sql import SparkSession

    _refuse_away(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("gamewarden")
    if not master.startswith(_CONNECT):
        builder = builder.master(master).config("spark.driver.maxResultSize", "0")  # answers are as large as they are
        # The command shows its own progress, and Spark's page would listen to everybody, without a password.
        builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.ui.enabled", "false")
    else:
        builder = builder.remote(master)
    for name, value in _at_home().items() if master.startswith("local") else ():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise _told(master, error) from error


def _at_home() -> dict[str, str]:
    """A cluster of this machine listens to this machine alone."""
    os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    return {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}


def _told(name: str, error: BaseException) -> EngineError:
    """What Spark says in pages, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return EngineError(f"{name}: Spark gave up: {short(lines[0] if lines else type(error).__name__)}")
