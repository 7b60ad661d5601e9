"""Accounts from a topic, over the brokers' real protocols: librdkafka's mock cluster, and a NATS server of our own."""

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from capture_bytes import CLIENT, pcap, up
from commands import run
from gamewarden.errors import ConfigError, ReadError
from gamewarden.online.brokers.account_topic import account_topic
from gamewarden.readers.captures.packets import open_packets

NATS = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")


def said(number):
    return {"address": f"10.0.{number // 250}.{number % 250 + 1}", "actor": f"player{number}"}


class Kafka:
    """A cluster inside this process; whoever speaks the protocol can read it."""

    def __init__(self):
        from confluent_kafka import Producer

        self.producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
        broker = next(iter(self.producer.list_topics(timeout=10).brokers.values()))
        self.address = f"kafka://{broker.host}:{broker.port}/accounts"

    def send(self, *messages):
        for message in messages:
            self.producer.produce("accounts", json.dumps(message), key=message["address"])
        assert self.producer.flush(20) == 0


class Nats:
    """A stream of a server that was started for it."""

    def __init__(self, port):
        self.port = port
        self.address = f"nats://127.0.0.1:{port}/accounts"
        self._do(lambda stream: stream.add_stream(name="accounts", subjects=["accounts.>"]))  # or it is there

    def send(self, *messages):
        async def publish(stream):
            for message in messages:
                await stream.publish("accounts.said", json.dumps(message).encode())

        self._do(publish)

    def _do(self, work):
        import nats

        async def connected():
            client = await nats.connect(f"nats://127.0.0.1:{self.port}", connect_timeout=5)
            await work(client.jetstream())
            await client.close()

        asyncio.run(connected())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def listens(port):
    with socket.socket() as one:
        one.settimeout(0.2)
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nats_server(place, port=None):
    port = port or free_port()
    words = [NATS, "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(place)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 20
            while not listens(port):
                assert server.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield Nats(port)
        finally:
            server.terminate()
            server.wait(20)


@pytest.fixture(params=["kafka", "nats"])
def broker(request, tmp_path):
    if request.param == "kafka":
        yield Kafka()
        return
    if NATS is None:
        pytest.skip("nats-server is not here")
    with nats_server(tmp_path / "nats") as found:
        yield found


@contextmanager
def feed_of(address):
    feed = account_topic(address)
    try:
        yield feed
    finally:
        feed.close()


def names(messages):
    return sorted(json.loads(one)["actor"] for one in messages)


def wait_for(feed, wanted):
    found = []
    deadline = time.monotonic() + 30
    while names(found) != sorted(wanted):
        found += feed.since()
        assert time.monotonic() < deadline, names(found)
        time.sleep(0.01)


def test_a_topic_is_read_from_its_beginning_and_then_as_messages_come(broker):
    broker.send(*map(said, range(500)))
    with feed_of(broker.address) as feed:
        assert names(feed.so_far()) == names(json.dumps(said(n)) for n in range(500))
        assert feed.since() == []

        broker.send(*map(said, range(500, 510)))
        wait_for(feed, [f"player{n}" for n in range(500, 510)])
        assert names(feed.so_far()) == names(json.dumps(said(n)) for n in range(510))


def test_packets_are_named_by_a_topic(broker, tmp_path):
    broker.send({"address": CLIENT, "port": 50000, "actor": "ann"}, {"address": CLIENT, "actor": "cafe"})
    (tmp_path / "a.pcap").write_bytes(pcap([up(1, 1), up(1, 1, port=50001)]))
    with feed_of(broker.address) as feed:
        stream = open_packets(tmp_path / "a.pcap", accounts=feed)
        actors = [row["actor"] for batch in stream.batches() for row in batch.to_pylist()]

    assert actors == ["ann", "cafe"]


def test_an_empty_stream_of_nats_is_waited_for_by_nobody(tmp_path):
    if NATS is None:
        pytest.skip("nats-server is not here")
    with nats_server(tmp_path / "nats") as broker, feed_of(broker.address) as feed:
        assert feed.so_far() == []
        broker.send(said(1))
        wait_for(feed, ["player1"])


def test_a_server_of_nats_that_was_away_is_heard_again(tmp_path):
    if NATS is None:
        pytest.skip("nats-server is not here")
    port = free_port()
    with nats_server(tmp_path / "nats", port) as broker:
        broker.send(said(1))
        feed = account_topic(broker.address)
        assert names(feed.so_far()) == ["player1"]
    try:
        assert feed.since() == []
        with nats_server(tmp_path / "nats", port) as broker:
            broker.send(said(2))
            wait_for(feed, ["player2"])
    finally:
        feed.close()


def test_a_stream_that_is_not_there_is_one_line(tmp_path):
    if NATS is None:
        pytest.skip("nats-server is not here")
    with nats_server(tmp_path / "nats") as broker:
        feed = account_topic(broker.address.replace("/accounts", "/others"))
        with pytest.raises(ReadError, match=r"nats://127.0.0.1:\d+/others: .*look whether the server"):
            feed.so_far()


@pytest.mark.parametrize(
    "text", ["kafka://", "kafka:///x", "kafka://me:secret@host/x", "nats://host", "nats://host/a b"]
)
def test_an_address_that_names_no_topic_is_refused(text):
    with pytest.raises(ConfigError, match=r"names no topic|stand before the host") as refused:
        account_topic(text)
    assert "\n" not in str(refused.value)


def test_a_broker_that_is_away_is_one_line_at_the_command_line(tmp_path):
    (tmp_path / "a.pcap").write_bytes(pcap([up(1, 1)]))

    ended = run("watch", tmp_path / "a.pcap", "--accounts", f"nats://127.0.0.1:{free_port()}/accounts")

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert "look whether the server" in ended.stderr


def test_the_clients_of_brokers_are_not_loaded_before_somebody_asks():
    script = (
        "import sys, gamewarden.online.brokers.account_topic; print({'confluent_kafka', 'nats'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == "set()"
