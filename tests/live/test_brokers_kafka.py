"""Workers over the real Kafka protocol: each decision once, whoever is killed (all packets here are synthetic)."""

import json
import signal

import pytest

import kafka_cluster
from commands import run
from workers_killed import Workers, by_key, decided, directly, flowing, hunt, publishing, said, waited, written

pytestmark = pytest.mark.integration

KILLS = 15


@pytest.fixture(scope="module")
def cluster():
    with kafka_cluster.served() as found:
        yield found


@pytest.fixture
def quick(tmp_path):
    """The environment in which a dead member of a group is noticed soon."""
    path = tmp_path / "client.properties"
    path.write_text("# a test's own\nsession.timeout.ms=2500\nheartbeat.interval.ms=300\n")
    return {"GAMEWARDEN_KAFKA_CONFIG": str(path)}


@pytest.fixture
def log(tmp_path):
    place = tmp_path / "log"
    place.mkdir()
    return place


def published(frame, topic, tmp_path, *options):
    frame.write_parquet(tmp_path / "packets.parquet")
    ended = run("publish", tmp_path / "packets.parquet", topic, *options)
    assert ended.returncode == 0, ended.stderr
    return ended


def of_topic(address, topic):
    """All messages of a topic: their values and headers."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    reader = Consumer({"bootstrap.servers": address, "group.id": "test", "enable.auto.commit": False})
    numbers = reader.list_topics(topic, timeout=10).topics[topic].partitions
    ends = {number: reader.get_watermark_offsets(TopicPartition(topic, number), timeout=10)[1] for number in numbers}
    reader.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
    found = []
    while len(found) < sum(ends.values()):
        found += [one for one in reader.consume(1000, 1.0) if one.error() is None]
    reader.close()
    return found


def test_each_decision_is_made_and_sent_once_whoever_is_killed(cluster, quick, tmp_path, log):
    frame = flowing(300, 300_000)
    expected = directly(frame)
    topic, out = cluster.topic("hunted", 4), cluster.topic("hunted-decisions", 3)
    frame.write_parquet(tmp_path / "packets.parquet")
    rate = ("--rate", "5000", "--rows", "1000")
    with (
        publishing(tmp_path / "packets.parquet", topic, *rate) as publisher,
        Workers(topic, tmp_path / "state", "--to", out, env=quick, log=log) as workers,
    ):
        for _ in range(3):
            workers.start()
        hunt(workers, KILLS, 7, lambda _victim: (), publisher.wait)
        address, name = cluster.address, "hunted-decisions"
        waited(lambda: written(tmp_path / "state") >= len(expected), seconds=120, what="the last decision")
        waited(lambda: len(of_topic(address, name)) >= len(expected), seconds=120, what="the last message")
        for one in list(workers.alive):
            workers.stop(one)

    assert workers.killed_at_work >= KILLS // 2
    sent = of_topic(address, name)
    assert decided(tmp_path / "state") == expected
    assert by_key(json.loads(one.value()) for one in sent) == expected
    assert {one.key().decode() for one in sent} == {json.loads(one.value())["key"] for one in sent}


def test_a_worker_that_was_frozen_lets_go_of_what_it_lost_and_writes_nothing(cluster, quick, tmp_path, log):
    frame = flowing(100, 60_000, seed=2)
    topic, state = cluster.topic("frozen", 2), tmp_path / "state"
    published(frame.head(30_000), topic, tmp_path, "--rows", "1000")
    with Workers(topic, state, env=quick, log=log) as workers:
        first = workers.start()
        before = len(directly(frame.head(30_000)))
        waited(lambda: written(state) == before, what="the first half")
        first.send_signal(signal.SIGSTOP)
        second = workers.start()
        waited(lambda: "waiting until process" in said(second), what="the wait for the lock")
        published(frame.tail(30_000), topic, tmp_path, "--rows", "1000")
        kept = {path: path.read_bytes() for path in state.glob("*/*/*") if path.name != "lock"}
        assert all(f"process {first.pid} " in path.read_text() for path in state.glob("*/*/lock"))
        first.send_signal(signal.SIGCONT)
        waited(lambda: f"process {second.pid} " in "".join(p.read_text() for p in state.glob("*/*/lock")), what="it")
        expected = directly(frame)
        waited(lambda: written(state) == len(expected), what="the second half")
        for one in list(workers.alive):
            workers.stop(one)

    assert kept
    assert decided(state) == expected
    assert "partitions lost" in said(first)


def test_an_offset_that_has_expired_is_an_error_in_one_sentence(cluster, quick, tmp_path, log):
    frame = flowing(50, 20_000, seed=3)
    topic, state = cluster.topic("expired", 1), tmp_path / "state"
    published(frame.head(10_000), topic, tmp_path, "--rows", "1000")
    with Workers(topic, state, env=quick, log=log) as workers:
        worker = workers.start()
        waited(lambda: written(state) == len(directly(frame.head(10_000))))
        workers.stop(worker)
        published(frame.tail(10_000), topic, tmp_path, "--rows", "1000")
        cluster.expire("expired", 0, 15)
        worker = workers.start()
        assert worker.wait(60) == 1
        workers.alive.clear()

    *_, line = said(worker).splitlines()  # after the caveat about the published thresholds
    assert f"{topic}: partition 0: the state of {state}/expired/0 goes on at offset 10, but the broker" in line
    assert "nothing before 15" in line
    assert len(decided(state)) == len(directly(frame.head(10_000)))


def test_a_state_that_is_gone_is_not_begun_anew_silently(cluster, quick, tmp_path, log):
    topic = cluster.topic("gone", 1)
    published(flowing(20, 5_000), topic, tmp_path, "--rows", "1000")
    with Workers(topic, tmp_path / "one", env=quick, log=log) as workers:
        worker = workers.start()
        waited(lambda: written(tmp_path / "one"))
        workers.stop(worker)
        workers.state = tmp_path / "other"
        stranger = workers.start()
        assert stranger.wait(60) == 1
        assert "the group was at offset 5" in said(stranger)
        workers.alive.clear()
        workers.source = f"{topic}?from=beginning"
        anew = workers.start()
        waited(lambda: written(tmp_path / "other"))
        workers.stop(anew)

    assert decided(tmp_path / "other") == decided(tmp_path / "one")


def test_poison_is_counted_and_skipped(cluster, quick, tmp_path, log):
    from confluent_kafka import Producer

    frame = flowing(20, 8_000, seed=4)
    topic, state = cluster.topic("poison", 1), tmp_path / "state"
    published(frame.head(4_000), topic, tmp_path, "--rows", "1000")
    producer = Producer({"bootstrap.servers": cluster.address})
    for value in (b"", b"\xff\xff\xff\xff\x00", b"{", b'{"actor":"x"}', b"\x1f\x8b" * 100, b"[" * 1000):
        producer.produce("poison", value, partition=0)
    producer.flush(10)
    published(frame.tail(4_000), topic, tmp_path, "--rows", "1000")
    with Workers(topic, state, env=quick, log=log) as workers:
        worker = workers.start("--counts", tmp_path / "counts.json")
        waited(lambda: written(state) == len(directly(frame)))
        workers.stop(worker)

    assert decided(state) == directly(frame)
    assert json.loads((tmp_path / "counts.json").read_text())["bad_messages"] == 6
    assert "partition 0, offset 4: left out: it begins with b''" in said(worker)
    assert "6 messages left out" in said(worker)
