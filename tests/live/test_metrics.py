"""What a watch tells Prometheus while it runs (all packets here are synthetic)."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from commands import run
from gamewarden.core import extras, metrics_page
from gamewarden.core.listening import Listener
from gamewarden.core.meters import Meter, Meters
from gamewarden.errors import ConfigError, InstallError
from gamewarden.features.traffic.fold import Tally
from gamewarden.online.brokers.worker import Progress
from gamewarden.online.metrics import BEHIND, COUNTERS, LEFT_OUT, WATCH, MeteredPackets, WatchMeters
from metrics_made_up import families, free_port, page, value, wait_for
from packets_made_up import START

pytestmark = pytest.mark.integration

SECOND = 1_000_000
HEAD = "actor,at,up,size\n"


def lines(players, count, first=0):
    """Packets of some players, ten a second each, in the order of their times."""
    times = pl.from_epoch(pl.Series([START + (first + n) * SECOND // 10 for n in range(count)]), "us")
    moments = times.dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
    return "".join(f"p{player},{at},true,{10 + n % 7}\n" for n, at in enumerate(moments) for player in range(players))


@contextmanager
def watching(tmp_path, *words):
    """A watch of a pipe that tells its metrics: the pipe, and the port."""
    port = free_port()
    command = [sys.executable, "-m", "gamewarden", "watch", "-", "--metrics", str(port), *map(str, words)]
    with (tmp_path / "said").open("wb") as said:
        live = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
    try:
        yield live.stdin, port
    finally:
        live.stdin.close()
        assert live.wait(60) == 0, (tmp_path / "said").read_text()


def send(pipe, text):
    pipe.write(text.encode())
    pipe.flush()


def test_a_watch_tells_what_it_has_counted_and_counts_on(tmp_path):
    with watching(tmp_path, "--state", tmp_path / "state", "--out", tmp_path / "out.jsonl") as (pipe, port):
        send(pipe, HEAD + lines(3, 400))
        first = wait_for(port, "gamewarden_watch_packets", 1200)
        send(pipe, lines(3, 400, first=400))
        found = wait_for(port, "gamewarden_watch_packets", 2400)

    assert value(first, "gamewarden_watch_packets") == 1200
    assert value(found, "gamewarden_watch_packets") == value(found, "gamewarden_watch_client_packets") == 2400
    assert value(found, "gamewarden_watch_decisions") > value(first, "gamewarden_watch_decisions") > 0
    assert value(found, "gamewarden_watch_decisions") == len((tmp_path / "out.jsonl").read_text().splitlines())
    assert value(found, "gamewarden_watch_bots") <= value(found, "gamewarden_watch_decisions")
    assert value(found, "gamewarden_watch_players", state="live") == 3
    assert value(found, "gamewarden_watch_source", what="packets delivered") == 2400
    assert abs(time.time() - START / SECOND - 79.9 - value(found, "gamewarden_watch_lag_seconds")) < 120
    assert value(found, "gamewarden_memory_bytes") > 1 << 20
    assert time.time() - value(found, "gamewarden_watch_started") < 300


def test_snapshots_have_an_age_a_length_and_a_size(tmp_path):
    state = tmp_path / "state"
    meters = WatchMeters(state)
    before = dict(meters.meters.read())
    state.write_bytes(b"x" * 77)
    os.utime(state, (time.time() - 50, time.time() - 50))
    after = {meter.name: values.get(()) for meter, values in meters.meters.read()}

    assert not any(values for meter, values in before.items() if meter.name.startswith("gamewarden_watch_snapshot"))
    assert after["gamewarden_watch_state_bytes"] == 77
    assert 49 < after["gamewarden_watch_snapshot_age_seconds"] < 60


def test_how_long_a_snapshot_took_is_told_with_the_status(tmp_path):
    from gamewarden.features.traffic.recipe import TrafficTest
    from gamewarden.online.watch import watch
    from gamewarden.readers.captures.packets import open_packets

    (tmp_path / "packets.csv").write_text(HEAD + lines(1, 30))
    meters = WatchMeters(tmp_path / "state")
    packets = MeteredPackets(open_packets(tmp_path / "packets.csv"), meters)
    watch(packets, TrafficTest(), lambda _: None, state=tmp_path / "state", status=packets.told, count=packets.count)

    found = {meter.name: values.get(()) for meter, values in meters.meters.read()}
    assert 0 < found["gamewarden_watch_snapshot_seconds"] < 60
    assert found["gamewarden_watch_state_bytes"] == (tmp_path / "state").stat().st_size
    assert meters.latest == START + 29 * SECOND // 10
    assert found["gamewarden_watch_packets"] == 30


def test_every_metric_has_a_type_and_a_sentence(tmp_path):
    meters = WatchMeters(tmp_path / "state")
    port = free_port()
    with metrics_page.metrics_page(meters.meters, Listener("127.0.0.1", port)):
        found = families(port)

    assert set(found) == {meter.name for meter in WATCH}
    for meter in WATCH:
        assert (found[meter.name].type, found[meter.name].documentation) == (meter.kind, meter.says)
        assert meter.name.startswith("gamewarden_")
        assert meter.says.endswith(".")
        assert not meter.name.endswith("_total")


def test_whatever_a_fold_counts_is_told():
    meters = WatchMeters()
    meters.take({**dict.fromkeys(Tally._fields, 1), "something new": 7})
    told = {meter.name: values for meter, values in meters.meters.read()}

    for name in set(Tally._fields) - {"players", "asleep"}:
        assert told[COUNTERS[name].name] == {(): 1}, name
    assert told["gamewarden_watch_players"][("live",)] == 1
    assert told["gamewarden_watch_other"] == {("something new",): 7}


def test_whoever_reads_a_broker_sets_what_only_it_knows():
    meters = WatchMeters().meters
    meters.set(BEHIND.name, 12, {"partition": "3"})
    meters.add(LEFT_OUT.name, 2, {"reason": "no JSON"})
    meters.add(LEFT_OUT.name, 1, {"reason": "no JSON"})
    told = {meter.name: values for meter, values in meters.read()}

    assert told[BEHIND.name] == {("3",): 12}
    assert told[LEFT_OUT.name] == {("no JSON",): 3}
    meters.set(BEHIND.name, None, {"partition": "3"})  # it was handed over
    assert {meter.name: values for meter, values in meters.read()}[BEHIND.name] == {}
    with pytest.raises(KeyError, match="has the labels"):
        meters.set(BEHIND.name, 1)


def test_a_worker_on_partitions_tells_how_far_behind_it_is():
    latest = int((time.time() - 90) * 1_000_000)
    counts = {"decisions": 5, "players": 9}
    done = Progress(3, 40, 4_000, 2, 1, 0, 17, latest=latest, unsaved=4.0, counts=counts)
    meters = WatchMeters()
    meters.progress(done)
    told = {meter.name.removeprefix("gamewarden_watch_"): values for meter, values in meters.meters.read()}

    assert told["lag_messages"] == {("all",): 17}
    assert told["left_out"] == {("cannot be read",): 2}
    assert (told["partitions"], told["rows"], told["decisions"]) == ({(): 3}, {(): 4_000}, {(): 5})
    assert told["players"] == {("live",): 9}
    assert 89 < told["lag_seconds"][()] < 150
    assert 3.9 < told["snapshot_age_seconds"][()] < 60
    meters.progress(replace(done, lag=None))
    assert {meter.name: values for meter, values in meters.meters.read()}[BEHIND.name] == {}


def test_the_page_is_the_only_one_and_nobody_else_reaches_it():
    meters = Meters(Meter("gamewarden_x", "gauge", "X."))
    port = free_port()
    with metrics_page.metrics_page(meters, Listener.of(str(port))) as address:
        assert address == f"http://127.0.0.1:{port}/metrics"
        assert "# TYPE gamewarden_x gauge" in page(port)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            page(port, "/")
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()]
        listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")]
        assert listening == [f"0100007F:{port:04X}"]
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", port)) != 0


def test_names_of_anything_stand_in_a_label_as_text():
    meters = Meters(Meter("gamewarden_x", "counter", "X.", ("what",)))
    meters.set("gamewarden_x", 3, {"what": 'a "b"\n\\c é'})
    port = free_port()
    with metrics_page.metrics_page(meters, Listener("127.0.0.1", port)):
        assert value(families(port), "gamewarden_x", what='a "b"\n\\c é') == 3


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("9400", "127.0.0.1", 9400), ("192.0.2.1:1", "192.0.2.1", 1), ("[::1]:65535", "::1", 65535)],
)
def test_an_address_names_a_port_and_perhaps_a_host(text, host, port):
    assert Listener.of(text) == (host, port)


@pytest.mark.parametrize("text", ["", "0", "host", "host:", "1.2.3.4:0", "65536", "-1", "٣", "host:9x"])
def test_an_address_without_a_port_is_refused(text):
    with pytest.raises(ConfigError, match="names no port to listen on"):
        Listener.of(text)


def test_port_0_and_a_port_in_use_are_one_line(tmp_path):
    (tmp_path / "packets.csv").write_text(HEAD + lines(1, 3))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        used = run("watch", tmp_path / "packets.csv", "--metrics", taken.getsockname()[1])
    none = run("watch", tmp_path / "packets.csv", "--metrics", 0)

    assert (used.returncode, used.stderr.count("\n")) == (1, 1), used.stderr
    assert "cannot be listened on (Address already in use); name another with --metrics HOST:PORT" in used.stderr
    assert none.returncode == 2
    assert "'0' names no port to listen on" in none.stderr


def test_without_the_library_it_is_one_line(monkeypatch):
    monkeypatch.setattr(extras, "installed", lambda _library: False)

    with (
        pytest.raises(InstallError, match=r"--metrics needs prometheus-client; pip install 'gamewarden\[metrics\]'"),
        metrics_page.metrics_page(Meters(), Listener("127.0.0.1", free_port())),
    ):
        pass


def test_a_watch_without_metrics_loads_nothing_of_them(tmp_path):
    (tmp_path / "packets.csv").write_text(HEAD + lines(1, 3))
    script = (
        "import sys; from gamewarden.cli import root; "
        f"root.main(['watch', {str(tmp_path / 'packets.csv')!r}], standalone_mode=False); "
        "print(sorted({'prometheus_client', 'wsgiref'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ended.stdout.splitlines()[-1] == "[]"
