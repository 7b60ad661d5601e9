"""Who is behind an address, while that changes: a table that is written anew, and messages that go on coming."""

import json
import os
import time
import warnings
from contextlib import contextmanager

import polars as pl
import pytest

from capture_bytes import AT, CLIENT, pcap, up
from gamewarden.errors import ReadError, Remark
from gamewarden.readers.captures import account_sources
from gamewarden.readers.captures.account_sources import AccountFile, FedAccounts
from gamewarden.readers.captures.packets import open_packets

HEADER = "address,port,from,until,account\n"
HEAD = len(pcap([]))


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(account_sources, "SECONDS", 0.01)


def put(place, *rows):
    """Write a table beside its place and move it there, as whoever is careful does."""
    draft = place.with_suffix(".new")
    draft.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    os.replace(draft, place)  # noqa: PTH105  what the words mean


class Feed:
    """Messages that somebody sends."""

    name = "topic"

    def __init__(self, *said):
        self.waiting = [json.dumps(one).encode() for one in said]

    def so_far(self):
        return self.since()

    def since(self):
        came, self.waiting = self.waiting, []
        return came

    def send(self, *said):
        self.waiting += [one if isinstance(one, bytes) else json.dumps(one).encode() for one in said]


@contextmanager
def live(tmp_path, accounts, **options):
    """A pipe with a capture in it: a function that sends a packet and says whose it is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)
    os.write(descriptor, pcap([]))
    stream = open_packets(pipe, accounts=accounts, **options)
    batches = stream.batches()
    sent = 0

    def send(port=50000):
        nonlocal sent
        sent += 1
        os.write(descriptor, pcap([up(sent, 1, port=port)])[HEAD:])
        batch = next(batches)
        assert batch.num_rows == 1
        return batch.to_pylist()[0]["actor"]

    try:
        yield send, stream
    finally:
        batches.close()
        os.close(descriptor)


def until(send, wanted, port=50000):
    """Send packets until one has the actor that is waited for."""
    deadline = time.monotonic() + 20
    while (actor := send(port)) != wanted:
        assert time.monotonic() < deadline, f"still {actor}"
    return actor


def test_a_table_that_is_replaced_counts_for_packets_from_then_on(tmp_path):
    table = tmp_path / "accounts.csv"
    put(table, f"{CLIENT},50000,,,ann")
    with live(tmp_path, table) as (send, stream):
        before = [send(), send(50001)]
        put(table, f"{CLIENT},50000,,,ann", f"{CLIENT},50001,,,bea")
        until(send, "bea", port=50001)

        assert before == ["ann", f"{CLIENT}:50001"]
        assert send() == "ann"
        assert stream.counts["changes of the account table taken"] == 1


def test_an_account_may_leave_a_table_again(tmp_path):
    table = tmp_path / "accounts.csv"
    put(table, f"{CLIENT},50000,,,ann")
    with live(tmp_path, table) as (send, _):
        assert send() == "ann"
        put(table, f"{CLIENT},50007,,,bea")
        until(send, f"{CLIENT}:50000")
        put(table, f"{CLIENT},50000,,,cid", f"{CLIENT},50007,,,bea")
        until(send, "cid")


def test_a_broken_table_is_said_once_and_the_one_before_still_counts(tmp_path):
    table = tmp_path / "accounts.csv"
    put(table, f"{CLIENT},50000,,,ann")
    with live(tmp_path, table) as (send, _), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table.write_text(HEADER + "1.2.3,5,,,bea\n")
        deadline = time.monotonic() + 20
        while not said:
            assert send() == "ann"
            assert time.monotonic() < deadline
        for _ in range(50):
            assert send() == "ann"
            time.sleep(0.002)
        put(table, f"{CLIENT},50000,,,cid")
        until(send, "cid")

    assert [(one.category, str(one.message)) for one in said] == [
        (
            Remark,
            "account table: '1.2.3' is not an IPv4 or IPv6 address; the account table from before still counts",
        )
    ]


def test_a_table_that_vanishes_still_counts(tmp_path):
    table = tmp_path / "accounts.csv"
    put(table, f"{CLIENT},50000,,,ann")
    source = AccountFile(table, None)
    source.now()
    table.unlink()

    assert [source.news() for _ in range(3)] == [None] * 3
    put(table, f"{CLIENT},50000,,,bea")
    assert source.news() is None  # it may still be written
    assert source.news().names == ["bea"]


def test_a_table_is_not_read_while_it_is_written(tmp_path):
    table = tmp_path / "accounts.csv"
    put(table, f"{CLIENT},50000,,,ann")
    source = AccountFile(table, None)
    source.now()
    for number in range(5):
        with table.open("a") as file:
            file.write(f"{CLIENT},{number},,,player{number}\n")
        assert source.news() is None

    assert len(source.news().names) == 6
    assert source.news() is None


def test_a_file_is_read_with_the_table_it_began_with(tmp_path):
    table = tmp_path / "accounts.csv"
    put(table, f"{CLIENT},50000,,,ann")
    (tmp_path / "a.pcap").write_bytes(pcap([up(n, 1) for n in range(200)]))
    stream = open_packets(tmp_path / "a.pcap", accounts=table)
    put(table, f"{CLIENT},50000,,,bea")
    time.sleep(0.05)

    actors = {row["actor"] for _ in range(2) for batch in stream.batches() for row in batch.to_pylist()}
    assert actors == {"ann"}


def test_a_long_look_is_not_taken_again_soon():
    class Slow:
        looked = 0

        def now(self):
            raise NotImplementedError

        def news(self):
            self.looked += 1
            time.sleep(0.05)

    source = Slow()
    looking = account_sources.Looking(source)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        looking.news()

    assert source.looked == 1


def test_what_a_later_message_says_counts_from_its_time_on(tmp_path):
    second = 1_000_000
    feed = Feed(
        {"address": CLIENT, "port": 50000, "actor": "ann", "since": (AT - second) / second},
        {"address": CLIENT, "actor": "cafe"},
    )
    feed.send({"address": CLIENT, "port": 50000, "actor": "bea", "since": (AT + 2 * second) / second, "until": None})
    feed.send({"address": CLIENT, "port": 50000, "actor": None, "since": (AT + 4 * second) / second})
    (tmp_path / "a.pcap").write_bytes(pcap([up(n, 1) for n in range(6)]))

    stream = open_packets(tmp_path / "a.pcap", accounts=feed)

    actors = [row["actor"] for batch in stream.batches() for row in batch.to_pylist()]
    assert actors == ["ann", "ann", "bea", "bea", "cafe", "cafe"]


def test_messages_that_come_meanwhile_name_the_next_packets(tmp_path):
    feed = Feed()
    with live(tmp_path, feed) as (send, _):
        assert send() == f"{CLIENT}:50000"
        feed.send({"address": CLIENT, "port": 50000, "actor": "ann"})
        until(send, "ann")
        feed.send({"address": CLIENT, "port": 50000, "actor": "bea"})
        until(send, "bea")


def test_a_message_that_cannot_be_read_is_left_out_and_said_once_a_kind():
    feed = Feed()
    good = [{"address": f"10.0.0.{n}", "actor": f"p{n}"} for n in range(9)]
    bad = [b"{", b"[1]", b"[" * 100_000, {"address": "1.2.3", "actor": "a"}, {"actor": "b"}]
    bad += [{"address": "1.2.3.4", "port": 70_000, "actor": "a"}, {"address": "1.2.3.4", "since": "soon", "actor": "a"}]
    feed.send(*good[:5], *bad, *good[5:])
    source = FedAccounts(feed, None)

    with pytest.warns(Remark) as said:
        accounts = source.now()

    assert accounts.names == [f"p{n}" for n in range(9)]
    assert source.left_out.total() == len(bad)
    assert any("topic: a message is left out: is no JSON object (b'{')" in str(one.message) for one in said)
    assert len(said) < len(bad)


def test_a_feed_that_breaks_is_said_once_and_what_it_said_still_counts():
    class Broken(Feed):
        def since(self):
            raise ReadError("topic: the broker is gone")

        def so_far(self):
            return super().since()

    source = FedAccounts(Broken({"address": CLIENT, "actor": "ann"}), None)
    source.now()

    with pytest.warns(Remark, match="topic: the broker is gone; what was said") as said:
        assert [source.news() for _ in range(3)] == [None] * 3
    assert len(said) == 1


def test_rows_in_memory_may_say_it_too(tmp_path):
    frame = pl.DataFrame({"address": [CLIENT], "port": [None], "from": [None], "until": [None], "account": ["ann"]})
    with live(tmp_path, frame) as (send, _):
        assert send() == "ann"
