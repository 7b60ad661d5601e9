"""A Kafka cluster that speaks the real protocol: the one inside librdkafka, in a process of its own.

`python kafka_cluster.py` prints its address and takes lines: `topic NAME PARTITIONS`, `expire NAME PARTITION OFFSET`.
"""

import ctypes
import importlib.util
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

_REBALANCE_DELAY = 100  # milliseconds that a group waits for more members


class Cluster:
    """The cluster as a test sees it."""

    def __init__(self, process):
        self._process = process
        self.address = process.stdout.readline().strip()

    def topic(self, name, partitions):
        """Make a topic."""
        self._do(f"topic {name} {partitions}")
        return f"kafka://{self.address}/{name}"

    def expire(self, name, partition, offset):
        """Let a partition begin at an offset."""
        self._do(f"expire {name} {partition} {offset}")

    def _do(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline().strip() == "0", line


@contextmanager
def served():
    """A cluster for as long as this lasts."""
    if importlib.util.find_spec("confluent_kafka") is None:
        pytest.skip("confluent-kafka is not installed: nothing was tried with Kafka")
    command = [sys.executable, Path(__file__)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Cluster(process)
        finally:
            process.kill()


def _library():
    import confluent_kafka

    beside = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    library = ctypes.CDLL(str(next(beside.glob("librdkafka-*"))))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


def _serve():
    library, said = _library(), ctypes.create_string_buffer(512)
    client = library.rd_kafka_new(0, ctypes.c_void_p(library.rd_kafka_conf_new()), said, 512)
    cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(ctypes.c_void_p(client), 1))
    library.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, ctypes.c_int32(_REBALANCE_DELAY))
    sys.stdout.write(library.rd_kafka_mock_cluster_bootstraps(cluster).decode() + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        word, name, *numbers = line.split()
        if word == "topic":
            answer = library.rd_kafka_mock_topic_create(cluster, name.encode(), int(numbers[0]), 1)
        else:
            place = ctypes.c_int32(int(numbers[0])), ctypes.c_int64(int(numbers[1]))
            answer = library.rd_kafka_mock_partition_delete_records(cluster, name.encode(), *place)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
