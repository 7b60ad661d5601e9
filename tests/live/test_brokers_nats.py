"""Workers over a real NATS JetStream server: each decision once, whoever is killed (all packets here are synthetic)."""

import asyncio
import json
import signal
import time

import pytest

import nats_served
from commands import run
from workers_killed import Workers, by_key, decided, directly, flowing, hunt, publishing, said, waited, written

pytestmark = pytest.mark.integration

KILLS = 15


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with nats_served.served(tmp_path_factory.mktemp("nats")) as address:
        yield address


@pytest.fixture
def log(tmp_path):
    place = tmp_path / "log"
    place.mkdir()
    return place


def published(frame, stream, tmp_path, *options):
    frame.write_parquet(tmp_path / "packets.parquet")
    ended = run("publish", tmp_path / "packets.parquet", stream, *options)
    assert ended.returncode == 0, ended.stderr
    return ended


def asked(address, question):
    """What a client of our own says of the server."""
    import nats

    async def ask():
        client = await nats.connect(address)
        try:
            return await question(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(ask())


def of_stream(address, stream):
    """All messages of a stream, by their order."""

    async def read(jetstream):
        state = (await jetstream.stream_info(stream)).state
        return [await jetstream.get_msg(stream, number) for number in range(state.first_seq, state.last_seq + 1)]

    return asked(address, read)


def number_of(worker):
    """The number that a worker was given."""
    return ("--worker", worker.args[worker.args.index("--worker") + 1])


def test_each_decision_is_made_and_sent_once_whoever_is_killed(server, tmp_path, log):
    frame = flowing(300, 300_000)
    expected = directly(frame)
    stream, out = f"nats://{server}/hunted", f"nats://{server}/hunted-decisions"
    frame.write_parquet(tmp_path / "packets.parquet")
    rate = ("--rate", "5000", "--rows", "1000", "--partitions", "6")
    with (
        publishing(tmp_path / "packets.parquet", stream, *rate) as publisher,
        Workers(stream, tmp_path / "state", "--to", out, log=log) as workers,
    ):
        waited(lambda: "hunted" in asked(server, names))
        for number in (1, 2, 3):
            workers.start("--worker", f"{number}/3")
        hunt(workers, KILLS, 7, number_of, publisher.wait)
        waited(lambda: written(tmp_path / "state") >= len(expected), seconds=120, what="the last decision")
        waited(
            lambda: len(of_stream(server, "hunted-decisions")) >= len(expected), seconds=120, what="the last message"
        )
        for one in list(workers.alive):
            workers.stop(one)

    assert workers.killed_at_work >= KILLS // 2
    sent = of_stream(server, "hunted-decisions")
    assert decided(tmp_path / "state") == expected
    assert by_key(json.loads(one.data) for one in sent) == expected


async def names(jetstream):
    return {one.config.name for one in await jetstream.streams_info()}


def test_two_workers_of_the_same_number_do_not_work_on_one_partition(server, tmp_path, log):
    frame = flowing(100, 40_000, seed=2)
    stream, state = f"nats://{server}/twins", tmp_path / "state"
    published(frame.head(20_000), stream, tmp_path, "--rows", "1000", "--partitions", "2")
    with Workers(stream, state, log=log) as workers:
        first = workers.start()
        waited(lambda: written(state) == len(directly(frame.head(20_000))))
        second = workers.start()
        waited(lambda: said(second).count("waiting until process") == 2)
        published(frame.tail(20_000), stream, tmp_path, "--rows", "1000")
        waited(lambda: written(state) == len(directly(frame)))
        first.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        workers.kill(first)
        waited(lambda: all(f"process {second.pid} " in path.read_text() for path in state.glob("*/*/lock")))
        waited(lambda: written(state) == len(directly(frame)))
        workers.stop(second)

    assert decided(state) == directly(frame)


def test_a_sequence_that_has_expired_is_an_error_in_one_sentence(server, tmp_path, log):
    frame = flowing(50, 20_000, seed=3)
    stream, state = f"nats://{server}/expired", tmp_path / "state"
    published(frame.head(10_000), stream, tmp_path, "--rows", "1000", "--partitions", "1")
    with Workers(stream, state, log=log) as workers:
        worker = workers.start()
        waited(lambda: written(state) == len(directly(frame.head(10_000))))
        workers.stop(worker)
        published(frame.tail(10_000), stream, tmp_path, "--rows", "1000")
        asked(server, lambda jetstream: jetstream.purge_stream("expired", seq=16))
        worker = workers.start()
        assert worker.wait(60) == 1
        workers.alive.clear()

    *_, line = said(worker).splitlines()  # after the caveat about the published thresholds
    assert f"{stream}: partition 0: the state of {state}/expired/0 goes on at offset 11, but the broker" in line
    assert "nothing before 16" in line


def test_a_partition_without_traffic_is_not_taken_for_an_expired_one(server, tmp_path, log):
    frame = flowing(50, 20_000, seed=3)
    stream, state = f"nats://{server}/quiet", tmp_path / "state"
    published(frame, stream, tmp_path, "--rows", "1000", "--partitions", "2")
    actor = frame["actor"][0]
    with Workers(stream, state, log=log) as workers:
        worker = workers.start()
        waited(lambda: written(state) == len(directly(frame)))
        alone = frame.filter(frame["actor"] == actor)
        published(alone, stream, tmp_path, "--rows", "10")
        ends = asked(server, lambda jetstream: jetstream.stream_info("quiet")).state.last_seq
        time.sleep(2.5)  # a partition is asked each second of silence
        workers.stop(worker)
        asked(server, lambda jetstream: jetstream.purge_stream("quiet", seq=ends))
        worker = workers.start()
        waited(lambda: all(f"process {worker.pid} " in path.read_text() for path in state.glob("*/*/lock")))
        time.sleep(0.5)
        workers.all_well()
        workers.stop(worker)


def test_a_stream_that_was_made_anew_is_not_taken_for_the_old_one(server, tmp_path, log):
    frame = flowing(20, 5_000)
    stream, state = f"nats://{server}/anew", tmp_path / "state"
    published(frame, stream, tmp_path, "--rows", "1000", "--partitions", "1")
    with Workers(stream, state, log=log) as workers:
        worker = workers.start()
        waited(lambda: written(state) == len(directly(frame)))
        workers.stop(worker)
        asked(server, lambda jetstream: jetstream.delete_stream("anew"))
        published(frame, stream, tmp_path, "--rows", "1000", "--partitions", "1")
        worker = workers.start()
        assert worker.wait(60) == 1
        workers.alive.clear()

    assert "the topic was made anew" in said(worker)


def test_poison_is_counted_and_skipped(server, tmp_path, log):
    frame = flowing(20, 8_000, seed=4)
    stream, state = f"nats://{server}/poison", tmp_path / "state"
    published(frame.head(4_000), stream, tmp_path, "--rows", "1000", "--partitions", "1")

    async def poison(jetstream):
        for value in (b"", b"\xff\xff\xff\xff\x00", b"{", b'{"actor":"x"}'):
            await jetstream.publish("poison.0", value)

    asked(server, poison)
    published(frame.tail(4_000), stream, tmp_path, "--rows", "1000")
    with Workers(stream, state, log=log) as workers:
        worker = workers.start()
        waited(lambda: written(state) == len(directly(frame)))
        workers.stop(worker)

    assert decided(state) == directly(frame)
    assert "4 messages left out" in said(worker)
