"""Packet logs and account tables made to hurt, at the command line: one clear line, bounded time and memory."""

import gzip
import resource
import subprocess
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floods import Known, capture, game

pytestmark = pytest.mark.integration

GAMEWARDEN = [sys.executable, "-m", "gamewarden"]
HEADER = "actor,at,up,size\n"
GOOD = "ann,1700000000,true,12\n"
ACCOUNTS = "address,port,from,until,account\n"
FIELDS = {"actor": pa.array(["ann"]), "at": pa.array([1]), "up": pa.array([True]), "size": pa.array([1])}


def limited(cpu_seconds, memory):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return limit


def run(*arguments, cpu_seconds=30, memory=8 << 30):
    return subprocess.run(
        [*GAMEWARDEN, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited(cpu_seconds, memory),
    )


def ends_well(ended):
    """Exit 0 or 1, no traceback, and no line that is longer than a person reads."""
    assert ended.returncode in (0, 1), ended.stderr[-500:]
    assert "Traceback" not in ended.stderr
    assert "panicked" not in ended.stderr
    assert all(len(line) < 1000 for line in ended.stderr.splitlines())
    return ended


TEXTS = {
    "too few fields": (HEADER + "ann\n", 1, "without a time"),
    "too many fields": (HEADER + "ann,1,true,1,2,3\n", 0, "1 packets delivered"),
    "a quote in a field": (HEADER + GOOD + 'a"nn,1,true,1\n', 0, "with a quote that is not closed"),
    "letters behind a quote": (HEADER + '"a"nn,1,true,1\n' + GOOD, 0, "2 packets delivered"),
    "half a letter": ('{"actor":"\\ud800","at":1,"up":true,"size":1}\n', 1, "lone surrogate"),
    "a header without end": ("a" * 200_000 + "," + HEADER + GOOD, 1, "names no columns"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_odd_text_gives_a_count_or_one_line(tmp_path, kind):
    text, code, says = TEXTS[kind]
    (tmp_path / "p").write_text(text)

    ended = ends_well(run("measure", "traffic", tmp_path / "p"))

    assert (ended.returncode, says in ended.stderr) == (code, True), ended.stderr


KINDS = {
    "a list": pa.array([[1]]),
    "a duration": pa.array([5], pa.duration("us")),
    "bytes": pa.array([b"\xff"]),
    "a wide decimal": pa.array([1]).cast(pa.decimal256(60, 2)),
    "a date out of range": pa.array([2**31 - 1], pa.date32()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_parquet_column_of_a_type_we_do_not_read_is_named(tmp_path, kind):
    pq.write_table(pa.table(FIELDS | {"at": KINDS[kind]}), tmp_path / "p.parquet")

    ended = ends_well(run("measure", "traffic", tmp_path / "p.parquet"))

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "column 'at' for at is" in ended.stderr


def test_a_mapping_whose_format_is_no_text_is_refused_in_one_line(tmp_path):
    (tmp_path / "p.csv").write_text(HEADER + GOOD)
    (tmp_path / "map.toml").write_text("[time]\nformat = 5\n")

    ended = ends_well(run("measure", "traffic", tmp_path / "p.csv", "--map", tmp_path / "map.toml"))

    assert ended.returncode == 1
    assert "format = '5'; it takes text" in ended.stderr


def test_a_watch_goes_on_behind_an_unclosed_quote(tmp_path):
    (tmp_path / "p.csv").write_text(HEADER + '"oops,1,true,1\n' + GOOD * 60_000)

    ended = ends_well(run("watch", tmp_path / "p.csv"))

    assert ended.returncode == 0
    assert "60000 packets delivered" in ended.stderr
    assert "1 with a quote that is not closed" in ended.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [(ACCOUNTS + "192.0.2.1\n", "cannot be read"), (ACCOUNTS + '192.0.2.1,"1"x,,,ann\n', "cannot be read")],
)
def test_an_odd_account_table_gives_one_line(tmp_path, text, says):
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "c.pcap").write_bytes(capture(game([Known(1)], 20)))

    ended = ends_well(run("measure", "traffic", tmp_path / "c.pcap", "--accounts", tmp_path / "a.csv"))

    assert (ended.returncode, ended.stderr.count("\n"), says in ended.stderr) == (1, 1, True), ended.stderr


def bomb(size):
    """Zeros, packed a thousand to one."""
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(HEADER.encode() + GOOD.encode())
    return head + b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()


def peak_of(path):
    code = (
        "import resource, sys; from gamewarden.readers.captures.packets import open_packets; "
        "sum(b.num_rows for b in open_packets(sys.argv[1]).batches()); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return int(ended.stdout) / 1024


def test_a_gzip_bomb_takes_no_more_memory_than_a_small_file(tmp_path):
    (tmp_path / "small.gz").write_bytes(gzip.compress((HEADER + GOOD).encode()))
    (tmp_path / "bomb.gz").write_bytes(bomb(600 << 20))

    assert peak_of(tmp_path / "bomb.gz") < peak_of(tmp_path / "small.gz") + 60
