"""What stands behind every broker: locators, messages, partitions at rest, workers and outputs."""

import http.server
import json
import random
import threading
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from gamewarden.contracts import Bounds
from gamewarden.errors import ConfigError, ReadError, WriteError
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.brokers.broker import Message, Reach
from gamewarden.online.brokers.held import DECISIONS, LOCK, locked, opened
from gamewarden.online.brokers.locators import locator_of
from gamewarden.online.brokers.messages import LARGEST, Decoder, encoded
from gamewarden.online.brokers.publishing import partition_of, publish
from gamewarden.online.brokers.sinks import FileSink, LinesSink, WebhookSink
from gamewarden.online.brokers.worker import Pace, Worker
from gamewarden.online.packet_work import packets_of
from gamewarden.online.stopping import Stop
from gamewarden.tables import EVENTS, EVENTS_ARROW, FramePackets
from watch_killed import share_scores
from workers_killed import by_key, directly, flowing

pytestmark = pytest.mark.integration

PACKETS = ("actor", "at", "up", "size")
WORK = packets_of(TrafficTest(), Bounds())
AT_ONCE = Pace(save=0.0, status=0.0, patience=0.3)
NEVER = Pace(save=1e9, status=0.0)


def messages_of(frame, rows=500):
    return [encoded(batch) for batch in FramePackets(frame, rows).batches()]


class Kept:
    """A broker in memory, with one partition of messages; what happens at a poll can be planned."""

    source, identity, trouble = "memory://topic", "memory", None

    def __init__(self, values, *, first=0, plan=()):
        self.values, self.first = list(values), first
        self.plan = list(plan)  # of each poll: a function of broker and worker, or None for a message
        self.next = None
        self.at_once = 1
        self.remembered_offset = None
        self.stop = lambda _partition: None

    def poll(self, owner, _seconds):
        if not self.plan:
            return []
        planned = self.plan.pop(0)
        if planned is not None:
            planned(self, owner)
            return []
        if self.next is None:
            return []
        begin, self.next = self.next, min(self.next + self.at_once, len(self.values))
        return [Message(0, at, self.values[at]) for at in range(begin, self.next)]

    def reach(self, _partition):
        return Reach(self.first, len(self.values))

    def remembered(self, _partition):
        return self.remembered_offset

    def start(self, _partition, offset):
        self.next = offset
        return True

    def empty_until(self, _partition):
        return None

    def remember(self, offsets):
        self.remembered_offset = offsets[0]

    def lag(self, _partition):
        return len(self.values) - self.next

    def close(self):
        pass


def gained(_broker, owner):
    owner.gain([0])


def lost(_broker, owner):
    owner.lose([0])


def worked(values, state, *, plan=None, sinks=(), pace=AT_ONCE, work=WORK, begin=None, tell=lambda _line: None, **kept):
    """A worker from its first poll to the last that was planned."""
    plan = [gained, *[None] * (len(values) + 1)] if plan is None else plan
    return worked_on(Kept(values, **kept), plan, state, sinks=sinks, pace=pace, work=work, begin=begin, tell=tell)


def worked_on(broker, plan, state, *, sinks=(), pace=AT_ONCE, work=WORK, begin=None, tell=lambda _line: None):
    stop = Stop()
    broker.plan = [*plan, lambda _broker, _owner: stop.ask()]
    Worker(broker, work, state, sinks, begin=begin, pace=pace, tell=tell).run(stop)
    return broker


def rows_of(path):
    return by_key(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


@pytest.fixture(scope="module")
def frame():
    return flowing(30, 12_000)


@pytest.fixture(scope="module")
def values(frame):
    return messages_of(frame)


def test_a_locator_names_broker_topic_and_options():
    found = locator_of("kafka://one,two:9093/packets?group=wardens&from=end")

    assert (found.kind, found.servers, found.name) == ("kafka", ("one:9092", "two:9093"), "packets")
    assert (found.group, found.begin, str(found)) == ("wardens", "end", "kafka://one:9092,two:9093/packets")
    assert locator_of("nats://host/stream?subject=game.packets").subject == "game.packets"


@pytest.mark.parametrize(
    "text",
    [
        "kafka://host",
        "kafka:///topic",
        "kafka://host/a/b",
        "kafka://host:x/topic",
        "kafka://host:99999/topic",
        "kafka://host/../etc",
        "kafka://host/topic?sasl.password=x",
        "kafka://host/topic?from=middle",
        "kafka://user:secret@host/topic",
        "nats://host/stream?subject=a b",
        "nats://host/stream#part",
        "kafka://[::1/topic",
    ],
)
def test_a_locator_that_is_none_is_refused_and_no_secret_is_shown(text):
    with pytest.raises(ConfigError) as error:
        locator_of(text)

    assert "secret" not in str(error.value)


def test_packets_and_events_come_back_from_a_message_as_they_were(frame):
    batch = next(FramePackets(frame).batches())
    events = pa.RecordBatch.from_pylist(
        [{"actor": "a", "at": 1_700_000_000_000_000, "kind": "move", "x": 1.5, "level": 3}], EVENTS_ARROW
    )

    assert Decoder(PACKETS)(encoded(batch)).batch.equals(batch)
    assert Decoder(tuple(EVENTS.columns))(encoded(events)).batch.equals(events)


def test_json_is_one_object_or_lines_with_times_as_text_seconds_or_microseconds():
    written = ("1700000000.000001", "1700000000000001", '"2023-11-14T22:13:20.000001Z"')
    lines = [f'{{"actor":"a","at":{at},"up":true,"size":7}}'.encode() for at in written]

    rows = Decoder(PACKETS)(b"\n".join(lines)).batch.to_pylist()
    assert rows == [Decoder(PACKETS)(line).batch.to_pylist()[0] for line in lines]
    assert {row["at"].isoformat() for row in rows} == {"2023-11-14T22:13:20.000001+00:00"}


def test_bad_rows_of_json_are_left_out_and_said():
    found = Decoder(PACKETS)(b'{"actor":"a","at":1700000000,"up":true,"size":7}\n{"actor":"a","up":true,"size":7}')

    assert found.batch.num_rows == 1
    assert "time is missing" in found.left_out[0]


def streamed(batch, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def packets(**columns):
    whole = {
        "actor": pa.array(["a"]),
        "at": pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC")),
        "up": pa.array([True]),
        "size": pa.array([5], pa.int32()),
    } | columns
    return pa.record_batch(
        [column for column in whole.values() if column is not None],
        names=[name for name, column in whole.items() if column is not None],
    )


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"x" * (LARGEST + 1), "too many for a message"),
        (b"PAR1", "neither an Arrow stream nor JSON"),
        (streamed(packets(), compression="zstd"), "compressed"),
        (streamed(packets(actor=pa.array(["a"]).dictionary_encode()), compression="lz4"), "compressed"),
        (streamed(packets(size=None)), "lacks the column size"),
        (streamed(packets(size=pa.array(["5"]))), "its size is string"),
        (streamed(packets(at=pa.array([5]))), "its at is int64"),
        (streamed(packets(actor=pa.array([None], pa.string()))), "have no actor"),
        (streamed(packets(actor=pa.array(["a\nb"]))), "line break"),
        (streamed(packets(actor=pa.array([""]))), "is empty"),
        (streamed(packets(actor=pa.array(["a" * 5000]))), "more than 4,096 bytes"),
        (streamed(packets(size=pa.array([1 << 40]))), "cannot be int32"),
        (streamed(packets(at=pa.array([1 << 62], pa.timestamp("us", "UTC")))), "outside the years"),
        (streamed(packets())[:-40], "damaged"),
        (streamed(packets().slice(0, 0)), "0 rows"),
        (b'{"actor": "a"}', "time is missing"),
    ],
)
def test_a_message_that_cannot_be_read_is_refused_with_a_reason(message, why):
    with pytest.raises(ReadError, match=why):
        Decoder(PACKETS)(message)


@given(st.binary(max_size=200), st.sampled_from([b"", b"{", b"\xff\xff\xff\xff", b'{"actor":']))
def test_no_bytes_break_the_decoder(data, begin):
    for columns in (PACKETS, tuple(EVENTS.columns)):
        try:
            rows = Decoder(columns)(begin + data).batch
        except ReadError:
            continue
        assert rows.schema.names == list(columns)


def test_no_damage_to_a_good_message_breaks_the_decoder(values):
    dice, decode = random.Random(5), Decoder(PACKETS)  # noqa: S311 - repeatable, not a secret
    for _ in range(600):
        message = bytearray(values[0])
        for _ in range(dice.choice([1, 2, 8])):
            message[dice.randrange(min(len(message), dice.choice([200, 1000, len(message)])))] = dice.randrange(256)
        try:
            rows = decode(bytes(message)).batch
        except ReadError:
            continue
        rows.validate(full=True)
        sizes = np.asarray(rows.column("size"))
        TrafficTest().live().push(rows.filter(pa.array((sizes >= 0) & (sizes < 1000))))


def test_a_player_is_in_the_partition_that_the_crc_of_the_name_says():
    assert partition_of("123456789", 1000) == 0xCBF43926 % 1000
    assert partition_of("é", 7) == zlib.crc32("é".encode()) % 7


def test_all_rows_of_a_player_are_sent_in_order_to_one_partition(frame):
    sent = {}

    class Publisher:
        partitions = 5

        def send(self, partition, value):
            sent.setdefault(partition, []).append(Decoder(PACKETS)(value).batch)

        def flush(self):
            pass

    done = publish(FramePackets(frame, 700).batches(), Publisher(), rows=300)

    tables = {partition: pl.from_arrow(pa.Table.from_batches(parts)) for partition, parts in sent.items()}
    for partition, table in tables.items():
        mine = frame.filter(pl.col("actor").map_elements(lambda name: partition_of(name, 5), pl.Int64) == partition)
        assert table.cast({"actor": pl.String}).equals(mine.select(table.columns))
    assert done.rows == frame.height == sum(table.height for table in tables.values())


def test_a_worker_decides_as_one_direct_run(frame, values, tmp_path):
    worked(values, tmp_path)

    assert rows_of(tmp_path / "0" / DECISIONS) == directly(frame)


def test_small_messages_are_taken_in_together_and_a_row_that_cannot_be_measured_costs_its_message_alone(tmp_path):
    frame = flowing(5, 900)
    lines = [encoded(batch) for batch in FramePackets(frame, 1).batches()]
    odd = encoded(packets(size=pa.array([2_000_000_000], pa.int32())))
    lines[450:450] = [odd]
    said = []
    together = Kept(lines)
    together.at_once = len(lines)
    worked_on(together, [gained, None], tmp_path, tell=said.append)

    assert rows_of(tmp_path / "0" / DECISIONS) == directly(frame)
    assert len(said) == 1
    assert "partition 0, offset 450: left out: traffic: a packet has a payload" in said[0]


def test_scores_stand_beside_their_decisions_under_keys_of_their_own(values, tmp_path):
    worked(values, tmp_path, work=packets_of(TrafficTest(), Bounds(), share_scores))

    rows = [json.loads(line) for line in (tmp_path / "0" / DECISIONS).read_text(encoding="utf-8").splitlines()]
    made, scored = ([row for row in rows if row["table"] == name] for name in ("TRAFFIC", "SCORES"))
    assert [(row["actor"], row["since"]) for row in made] == [(row["actor"], row["since"]) for row in scored]
    assert [row["key"].replace("traffic:", "traffic-model:") for row in made] == [row["key"] for row in scored]
    assert len({row["key"] for row in rows}) == len(rows) > 100


@pytest.mark.parametrize("until", [1, 2, 7, 13, 24])
def test_what_was_not_saved_is_taken_in_again(frame, values, tmp_path, until):
    stop = Stop()
    broken = Kept(values, plan=[gained, *[None] * until, lambda _broker, _owner: 1 / 0])
    with pytest.raises(ZeroDivisionError):
        Worker(broken, WORK, tmp_path, pace=NEVER).run(stop)
    worked(values, tmp_path, pace=NEVER)

    assert rows_of(tmp_path / "0" / DECISIONS) == directly(frame)


def test_a_message_that_comes_again_is_not_taken_in_again(frame, values, tmp_path):
    def back(broker, _owner):
        broker.next = 3

    worked(values, tmp_path, plan=[gained, *[None] * 10, back, *[None] * len(values)])

    assert rows_of(tmp_path / "0" / DECISIONS) == directly(frame)


def test_nothing_is_written_of_a_partition_that_was_lost(frame, values, tmp_path):
    seen = []

    def look(_broker, _owner):
        seen.append({path.name: path.read_bytes() for path in (tmp_path / "0").iterdir()})

    plan = [gained, *[None] * 10, lost, look, *[None] * 10, look]
    worked(values, tmp_path, plan=plan, pace=NEVER)

    after = {path.name: path.read_bytes() for path in (tmp_path / "0").iterdir()}
    assert seen[0] == seen[1] == after
    held = opened(locked(tmp_path / "0"), WORK)
    assert held.offset == 0
    held.close()
    worked(values, tmp_path, pace=NEVER)
    assert rows_of(tmp_path / "0" / DECISIONS) == directly(frame)


def test_a_partition_that_is_taken_away_is_saved_and_let_go(frame, values, tmp_path):
    worked(values, tmp_path, plan=[gained, *[None] * 10, lambda _broker, owner: owner.hand_over([0])], pace=NEVER)

    held = opened(locked(tmp_path / "0"), WORK)
    assert held.offset == 10
    held.close()
    worked(values, tmp_path)
    assert rows_of(tmp_path / "0" / DECISIONS) == directly(frame)


def test_a_worker_whose_lock_was_removed_writes_nothing_more(values, tmp_path):
    seen = []

    def remove(_broker, _owner):
        (tmp_path / "0" / LOCK).unlink()
        seen.append((tmp_path / "0" / DECISIONS).read_bytes())

    with pytest.raises(WriteError, match="its lock was removed"):
        worked(values, tmp_path, plan=[gained, *[None] * 8, remove, *[None] * 15], pace=NEVER)

    assert (tmp_path / "0" / DECISIONS).read_bytes() == seen[0]


def test_a_partition_that_another_process_has_is_waited_for_and_then_given_up(values, tmp_path):
    lock, said = locked(tmp_path / "0"), []
    with pytest.raises(WriteError, match="has not let go of it"):
        worked(values, tmp_path, plan=[gained, *[lambda _b, _o: threading.Event().wait(0.2)] * 4], tell=said.append)
    lock.release()

    assert len(said) == 1
    assert "waiting until process" in said[0]


def test_an_offset_before_the_first_or_after_the_last_is_an_error(values, tmp_path):
    worked(values[:10], tmp_path)

    with pytest.raises(ReadError, match=r"partition 0: the state of .* goes on at offset 10, .* nothing before 12"):
        worked(values, tmp_path, first=12)
    with pytest.raises(ReadError, match="made anew"):
        worked(values[:3], tmp_path)


def test_a_state_of_another_profile_is_refused(values, tmp_path):
    worked(values[:10], tmp_path)
    other = packets_of(TrafficTest(session_gap=1_000_000_000), Bounds())

    with pytest.raises(ReadError, match="another profile"):
        worked(values, tmp_path, work=other)


def test_a_partition_can_begin_at_its_end(values, tmp_path):
    broker = worked(values, tmp_path, begin="end")

    assert broker.next == len(values)
    assert not (tmp_path / "0" / DECISIONS).read_bytes()


@pytest.mark.parametrize("cut", [0, 1, 5_000, 5_001])
def test_a_file_gets_every_decision_once_wherever_its_writing_broke_off(frame, values, tmp_path, cut):
    worked(values[:12], tmp_path / "state", sinks=[FileSink(tmp_path / "out")])
    path = tmp_path / "out" / "state-0.jsonl"
    path.write_bytes(path.read_bytes()[:cut])
    worked(values, tmp_path / "state", sinks=[FileSink(tmp_path / "out")])

    assert path.read_bytes() == (tmp_path / "state" / "0" / DECISIONS).read_bytes()
    assert rows_of(path) == directly(frame)


def test_a_file_with_other_decisions_is_not_added_to(values, tmp_path):
    (tmp_path / "state-0.jsonl").write_text("something else\n")
    with pytest.raises(WriteError, match="move it away"):
        worked(values, tmp_path / "state", sinks=[FileSink(tmp_path)])


def test_nothing_leaves_before_a_saved_state_knows_it(frame, values, tmp_path):
    lines = []
    worked(values, tmp_path, plan=[gained, *[None] * 20, lost], sinks=[LinesSink(lines.append)], pace=NEVER)
    assert not lines

    worked(values, tmp_path, sinks=[LinesSink(lines.append)], pace=NEVER)
    assert by_key(json.loads(line) for line in "".join(lines).splitlines()) == directly(frame)


class Server(http.server.BaseHTTPRequestHandler):
    """A web server that answers each second request with an error after it has taken it."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.came.append((dict(self.headers), body))
        self.send_response(503 if len(self.server.came) % 2 else 200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_web_server_gets_signed_requests_and_a_repeated_one_has_the_same_id(frame, values, tmp_path, monkeypatch):
    from gamewarden.online.brokers import relays
    from gamewarden.response.adapters.webhook import signed

    monkeypatch.setattr(relays, "_PATIENCE", 0.0)
    monkeypatch.setenv("GAMEWARDEN_WEBHOOK_SECRET", "x" * 32)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        server.came = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sink = WebhookSink(f"http://127.0.0.1:{server.server_port}/in", private=True, tell=lambda _line: None)
        worked(values, tmp_path, sinks=[sink], plan=[gained, *[None] * 60])
        server.shutdown()

    once = {headers["idempotency-key"]: body for headers, body in server.came}
    assert len(server.came) == 2 * len(once)
    assert all(once[headers["idempotency-key"]] == body for headers, body in server.came)
    assert by_key(row for body in once.values() for row in json.loads(body)["data"]) == directly(frame)
    for headers, body in server.came:
        at = int(headers["webhook-timestamp"])
        expected = signed(b"x" * 32, headers["webhook-id"], at, body)["webhook-signature"]
        assert headers["webhook-signature"] == expected


def test_a_web_server_needs_a_secret_in_the_environment(monkeypatch):
    monkeypatch.delenv("GAMEWARDEN_WEBHOOK_SECRET", raising=False)
    with pytest.raises(ConfigError, match="GAMEWARDEN_WEBHOOK_SECRET has 0 bytes"):
        WebhookSink("https://example.com/in", private=False, tell=lambda _line: None)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["watch", "kafka://127.0.0.1:1/t"], "needs --state DIR"),
        (["watch", "packets.csv", "--worker", "1/2"], "--worker is for kafka:// and nats://"),
        (["watch", "nats://127.0.0.1:1/t", "--worker", "3/2"], "is no worker"),
        (["watch", "nats://127.0.0.1:1/t", "--state", "s", "--scores", "f"], "among the decisions"),
        (["publish", "packets.csv", "elsewhere"], "is no topic"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(arguments, why):
    ended = run(*arguments)

    assert ended.returncode == 2
    assert why in ended.stderr


def test_a_broker_that_is_not_there_is_one_line(tmp_path):
    ended = run("watch", "nats://127.0.0.1:1/t", "--state", tmp_path)

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert ended.stderr.startswith("gamewarden: nats://127.0.0.1:1/t: ")


def test_states_of_topics_stand_beside_each_other():
    assert Path("state") / locator_of("kafka://host/a.b").name == Path("state/a.b")
